"""Random stablehlo programs with random shardings on their arguments.

Dimensions are 1 or multiples of every mesh axis that may split them. Values stay of order one, and
nothing depends on the sign of a rounding error, so that two correct ways to run a program agree.
"""

import itertools
import math

SIZES = (1, 4, 8, 16)
LARGEST = 4096


class Program:
    """A function that grows op by op. A value is (name, shape, element type)."""

    def __init__(self, rng):
        self.rng = rng
        self.lines = []
        self.arguments = []
        self.values = []
        self.used = set()
        self.names = (f"%{i}" for i in itertools.count())
        self.axes = rng.choice([{"tensor": 2}, {"tensor": 4}, {"data": 2, "tensor": 2}, {"data": 4, "tensor": 2}])
        self.micro = rng.choice([1, 1, 2, 4])
        if self.micro > 1:
            self.argument((rng.choice([8, 16]), *self.shape(rank=rng.randint(0, 2), largest=LARGEST // 16)), "f32", True)
        for _ in range(rng.randint(2, 4)):
            self.argument(self.shape(), "f32")
        self.argument(self.shape(rank=rng.randint(1, 2)), "i32")
        for _ in range(rng.randint(5, 14)):
            getattr(self, "op_" + rng.choice(OPS))()

    # ---- pieces of text

    @staticmethod
    def type(value):
        return f"tensor<{''.join(f'{d}x' for d in value[1])}{value[2]}>"

    def emit(self, text, shape, element, *operands):
        name = next(self.names)
        value = (name, tuple(shape), element)
        self.lines.append(f"{name} = {text.replace('RESULT', self.type(value))}")
        self.values.append(value)
        self.used.update(operands)
        return value

    def constant(self, value, shape=(), element="f32"):
        result = self.emit(f"stablehlo.constant dense<{value}> : RESULT", shape, element)
        self.values.pop()
        return result

    def sharding(self, shape, is_batch=False):
        """Each axis splits a dimension that it divides, or none; `micro` the first one of a batch."""
        dims, left = [[] for _ in shape], list(shape)
        if is_batch:
            dims[0].append('"micro"')
            left[0] //= self.micro
        for axis in self.rng.sample(list(self.axes), len(self.axes)):
            fitting = [d for d, size in enumerate(left) if size % self.axes[axis] == 0]
            if fitting and self.rng.random() < 0.8:
                dim = self.rng.choice(fitting)
                dims[dim].append(f'"{axis}"')
                left[dim] //= self.axes[axis]
        return f"#st.sharding<@mesh, [{', '.join('{' + ', '.join(d) + '}' for d in dims)}]>"

    def argument(self, shape, element, is_batch=False):
        value = (f"%arg{len(self.arguments)}", tuple(shape), element)
        attribute = ""
        if is_batch or self.rng.random() < 0.8:
            attribute = f" {{st.sharding = {self.sharding(shape, is_batch)}}}"
        self.arguments.append((value, attribute))
        self.values.append(value)

    # ---- choices

    def shape(self, rank=None, largest=LARGEST):
        rank = self.rng.randint(1, 3) if rank is None else rank
        while True:
            shape = tuple(self.rng.choice(SIZES) for _ in range(rank))
            if math.prod(shape) <= largest:
                return shape

    def pick(self, condition=lambda value: True, element="f32"):
        """A value, rather a new one; an argument of a fitting shape where there is none."""
        fitting = [v for v in self.values if v[2] == element and condition(v)]
        if not fitting:
            return None
        return fitting[-1 - min(int(self.rng.expovariate(0.5)), len(fitting) - 1)]

    # ---- ops

    def op_unary(self):
        x = self.pick()
        if x:
            op = self.rng.choice(["tanh", "negate", "abs", "logistic", "sine"])
            self.emit(f"stablehlo.{op} {x[0]} : RESULT", x[1], "f32", x[0])

    def op_binary(self):
        x = self.pick()
        y = x and self.pick(lambda v: v[1] == x[1])
        if y:
            op = self.rng.choice(["add", "subtract", "multiply", "maximum", "minimum"])
            z = self.emit(f"stablehlo.{op} {x[0]}, {y[0]} : RESULT", x[1], "f32", x[0], y[0])
            if op == "multiply":
                self.emit(f"stablehlo.tanh {z[0]} : RESULT", x[1], "f32", z[0])

    def op_mask(self):
        """A choice by position, as in a causal mask."""
        x = self.pick(lambda v: len(v[1]) >= 2)
        if not x:
            return
        d, e = self.rng.sample(range(len(x[1])), 2)
        index = ("", x[1], "i32")
        rows = self.emit(f"stablehlo.iota dim = {d} : RESULT", x[1], "i32")
        columns = self.emit(f"stablehlo.iota dim = {e} : RESULT", x[1], "i32")
        mask = self.emit(f"stablehlo.compare GE, {rows[0]}, {columns[0]} : ({self.type(index)}, {self.type(index)})"
                         " -> RESULT", x[1], "i1", rows[0], columns[0])
        zero = self.constant("0.0", x[1])
        self.emit(f"stablehlo.select {mask[0]}, {x[0]}, {zero[0]} : {self.type(mask)}, RESULT", x[1], "f32",
                  mask[0], x[0])

    def op_broadcast(self):
        x = self.pick(lambda v: len(v[1]) <= 2 and math.prod(v[1]) <= LARGEST // 8)
        if x:
            rank = self.rng.randint(len(x[1]), 3)
            dims = sorted(self.rng.sample(range(rank), len(x[1])))
            shape = [self.rng.choice(SIZES[:3]) for _ in range(rank)]
            for d, size in zip(dims, x[1]):
                shape[d] = size if size > 1 else shape[d]
            if math.prod(shape) <= LARGEST:
                self.emit(f"stablehlo.broadcast_in_dim {x[0]}, dims = {dims} : ({self.type(x)}) -> RESULT", shape,
                          "f32", x[0])

    def op_transpose(self):
        x = self.pick(lambda v: len(v[1]) >= 2)
        if x:
            order = self.rng.sample(range(len(x[1])), len(x[1]))
            self.emit(f"stablehlo.transpose {x[0]}, dims = {order} : ({self.type(x)}) -> RESULT",
                      [x[1][d] for d in order], "f32", x[0])

    def op_reshape(self):
        """Merges two dimensions or splits one, as attention heads are."""
        x = self.pick(lambda v: v[1])
        if not x:
            return
        shape = list(x[1])
        d = self.rng.randrange(len(shape))
        if d + 1 < len(shape) and self.rng.random() < 0.5:
            shape[d:d + 2] = [shape[d] * shape[d + 1]]
        elif shape[d] == 16 and len(shape) < 4:
            shape[d:d + 1] = [4, 4]
        elif len(shape) < 4:
            shape.insert(d, 1)
        self.emit(f"stablehlo.reshape {x[0]} : ({self.type(x)}) -> RESULT", shape, "f32", x[0])

    def op_dot(self):
        x = self.pick(lambda v: len(v[1]) >= 1)
        y = x and self.pick(lambda v: any(size in x[1] for size in v[1]))
        if not y:
            return
        i, j = self.rng.choice([(i, j) for i, a in enumerate(x[1]) for j, b in enumerate(y[1]) if a == b])
        batch = [(a, b) for a in range(len(x[1])) for b in range(len(y[1]))
                 if a != i and b != j and x[1][a] == y[1][b]]
        batch = [self.rng.choice(batch)] if batch and self.rng.random() < 0.6 else []
        lhs, rhs = [a for a, _ in batch], [b for _, b in batch]
        shape = [x[1][a] for a in lhs] + [s for d, s in enumerate(x[1]) if d not in lhs + [i]] + [
            s for d, s in enumerate(y[1]) if d not in rhs + [j]]
        if math.prod(shape) > LARGEST or len(shape) > 4:
            return
        batching = f"batching_dims = {lhs} x {rhs}, " if batch else ""
        z = self.emit(f"stablehlo.dot_general {x[0]}, {y[0]}, {batching}contracting_dims = [{i}] x [{j}] : "
                      f"({self.type(x)}, {self.type(y)}) -> RESULT", shape, "f32", x[0], y[0])
        scale = self.constant(1 / x[1][i], shape)
        self.emit(f"stablehlo.multiply {z[0]}, {scale[0]} : RESULT", shape, "f32", z[0])

    def op_reduce(self):
        x = self.pick(lambda v: v[1])
        if not x:
            return
        dims = sorted(self.rng.sample(range(len(x[1])), self.rng.randint(1, len(x[1]))))
        shape = [s for d, s in enumerate(x[1]) if d not in dims]
        op, start = self.rng.choice([("add", "0.0"), ("maximum", "0xFF800000"), ("minimum", "0x7F800000")])
        init = self.constant(start)
        z = self.emit(f"stablehlo.reduce({x[0]} init: {init[0]}) applies stablehlo.{op} across dimensions = {dims} : "
                      f"({self.type(x)}, tensor<f32>) -> RESULT", shape, "f32", x[0])
        if op == "add":
            scale = self.constant(1 / math.prod(x[1][d] for d in dims), shape)
            self.emit(f"stablehlo.multiply {z[0]}, {scale[0]} : RESULT", shape, "f32", z[0])

    def op_softmax(self):
        x = self.pick(lambda v: v[1] and v[1][-1] > 1)
        if not x:
            return
        d, kept = len(x[1]) - 1, x[1][:-1]
        t = self.emit(f"stablehlo.tanh {x[0]} : RESULT", x[1], "f32", x[0])
        e = self.emit(f"stablehlo.exponential {t[0]} : RESULT", x[1], "f32", t[0])
        init = self.constant("0.0")
        s = self.emit(f"stablehlo.reduce({e[0]} init: {init[0]}) applies stablehlo.add across dimensions = [{d}] : "
                      f"({self.type(e)}, tensor<f32>) -> RESULT", kept, "f32", e[0])
        b = self.emit(f"stablehlo.broadcast_in_dim {s[0]}, dims = {list(range(d))} : ({self.type(s)}) -> RESULT",
                      x[1], "f32", s[0])
        self.emit(f"stablehlo.divide {e[0]}, {b[0]} : RESULT", x[1], "f32", e[0], b[0])

    def op_concatenate(self):
        x = self.pick(lambda v: v[1])
        y = x and self.pick(lambda v: v[1] == x[1])
        if y:
            d = self.rng.randrange(len(x[1]))
            shape = [s * (1 + (e == d)) for e, s in enumerate(x[1])]
            if math.prod(shape) <= LARGEST:
                self.emit(f"stablehlo.concatenate {x[0]}, {y[0]}, dim = {d} : ({self.type(x)}, {self.type(y)}) -> "
                          "RESULT", shape, "f32", x[0], y[0])

    def op_slice(self):
        x = self.pick(lambda v: any(s >= 8 for s in v[1]))
        if x:
            d = self.rng.choice([d for d, s in enumerate(x[1]) if s >= 8])
            begin = self.rng.choice([0, 2, x[1][d] - 4])
            shape = [4 if e == d else s for e, s in enumerate(x[1])]
            ranges = ", ".join(f"{begin}:{begin + 4}" if e == d else f"0:{s}" for e, s in enumerate(x[1]))
            self.emit(f"stablehlo.slice {x[0]} [{ranges}] : ({self.type(x)}) -> RESULT", shape, "f32", x[0])

    def op_gather(self):
        """Rows of a table, as in an embedding."""
        table = self.pick(lambda v: len(v[1]) == 2 and v[1][0] > 1)
        indices = self.pick(element="i32", condition=lambda v: v[0].startswith("%arg"))
        if not table or math.prod(indices[1]) * table[1][1] > LARGEST:
            return
        rank = len(indices[1])
        self.emit(f'"stablehlo.gather"({table[0]}, {indices[0]}) <{{dimension_numbers = #stablehlo.gather<offset_dims = '
                  f"[{rank}], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = {rank}>, slice_sizes = "
                  f"array<i64: 1, {table[1][1]}>}}> : ({self.type(table)}, {self.type(indices)}) -> RESULT",
                  (*indices[1], table[1][1]), "f32", table[0], indices[0])

    def op_scatter(self):
        """The gradient of a gather."""
        indices = self.pick(element="i32", condition=lambda v: v[0].startswith("%arg"))
        updates = self.pick(lambda v: len(v[1]) == len(indices[1]) + 1 and v[1][:-1] == indices[1])
        if not updates:
            return
        rank, table = len(indices[1]), ("", (8, updates[1][-1]), "f32")
        zero = self.constant("0.0", table[1])
        self.emit(f'"stablehlo.scatter"({zero[0]}, {indices[0]}, {updates[0]}) <{{scatter_dimension_numbers = '
                  f"#stablehlo.scatter<update_window_dims = [{rank}], inserted_window_dims = [0], "
                  f"scatter_dims_to_operand_dims = [0], index_vector_dim = {rank}>}}> ({{\n"
                  "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n    %c = stablehlo.add %a, %b : tensor<f32>\n"
                  "    stablehlo.return %c : tensor<f32>\n"
                  f"  }}) : ({self.type(zero)}, {self.type(indices)}, {self.type(updates)}) -> RESULT",
                  table[1], "f32", indices[0], updates[0])

    def op_constrain(self):
        x = self.pick(lambda v: v[1])
        if x:
            sharding = self.sharding(x[1]).removeprefix("#st.sharding")
            self.emit(f"st.constrain {x[0]} to {sharding} : RESULT", x[1], "f32", x[0])

    # ---- the whole

    def text(self):
        results = [v for v in self.values if v[0] not in self.used and not v[0].startswith("%arg")][:6]
        results = results or [self.values[0]]
        mesh = ", ".join(f'"{name}"={size}' for name, size in self.axes.items())
        arguments = ", ".join(f"{v[0]}: {self.type(v)}{a}" for v, a in self.arguments)
        types = ", ".join(self.type(v) for v in results)
        body = "\n  ".join(self.lines)
        return (f"st.mesh @mesh <[{mesh}], micro={self.micro}>\nfunc.func @main({arguments}) -> ({types}) {{\n  {body}\n"
                f"  return {', '.join(v[0] for v in results)} : {types}\n}}\n")


OPS = [name.removeprefix("op_") for name in dir(Program) if name.startswith("op_")] + ["dot", "binary", "unary"]
