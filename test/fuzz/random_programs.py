"""Random stablehlo programs on a random mesh, with random shardings on arguments, results and values between.

Values stay of order one, and nothing depends on the sign of a rounding error, so that two correct ways to run a program
agree. They do not use collectives of stablehlo, replica_id and partition_id (programs for one shard are first imported
as programs on whole tensors), or tuples, composites and custom calls (inlined or refused by the import).
"""

import math

from program_builder import INFINITY, LARGEST, SIZES, WIDE, Builder
from random_arrangements import ArrangementOps
from random_control import ControlOps
from random_elementwise import ElementwiseOps


class Program(Builder, ElementwiseOps, ArrangementOps, ControlOps):
    """A function of random ops. A function for a device has no micro-batches, which only steps have there, and only ops
    with a kernel."""

    def __init__(self, rng, uneven=0.0, for_device=False):
        super().__init__(rng, uneven)
        ops = OPS
        if for_device:
            self.micro, self.element = 1, "f32"
            ops = [op for op in OPS if op not in NOT_ON_DEVICE]
        if self.micro > 1:
            rows = rng.randint(self.micro, 16) if rng.random() < uneven else rng.choice([8, 16])
            self.argument((rows, *self.shape(rank=rng.randint(0, 2), largest=LARGEST // 16)), is_batch=True)
        for _ in range(rng.randint(2, 4)):
            self.argument(self.shape())
        self.argument(self.shape(rank=rng.randint(1, 2)), "i32")
        for _ in range(rng.randint(5, 14)):
            getattr(self, "op_" + rng.choice(ops))()

    def window(self, size, lengths=(1, 2, 3, 4), dilates=False):
        """A window over a dimension of `size`, adjacent or not, and how often it fits."""
        length = self.rng.choice([n for n in lengths if n <= size])
        window = {"length": length, "stride": length, "pad": (0, 0), "base": 1, "dilation": 1}
        if self.rng.random() < 0.6:
            window = {"length": length, "stride": self.rng.randint(1, length),
                      "pad": (self.rng.randrange(length), self.rng.randrange(length)),
                      "base": self.rng.choice([1, 1, 2]) if dilates else 1,
                      "dilation": self.rng.choice([1, 1, 2]) if dilates else 1}
            # One window per stride, so that all parts of the dimension have the same number.
            low, places = window["pad"][0], size * window["base"]
            high = (places - window["stride"] - low + (length - 1) * window["dilation"] + 1 - (size - 1) * window["base"] - 1)
            if places % window["stride"] == 0 and high >= 0 and self.rng.random() < 0.6:
                window["pad"] = (low, high)
        left = (size - 1) * window["base"] + 1 + sum(window["pad"]) - ((length - 1) * window["dilation"] + 1)
        return window, max(left // window["stride"] + 1, 0)

    @staticmethod
    def window_attributes(windows):
        """Attributes as in pooling ops."""
        lists = {"window_dimensions": "length", "window_strides": "stride"}
        arrays = ", ".join(f"{name} = array<i64: {', '.join(str(w[key]) for w in windows)}>" for name, key in lists.items())
        return f"<{{{arrays}, padding = dense<{[list(w['pad']) for w in windows]}> : tensor<{len(windows)}x2xi64>}}>"

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
                          self.element, x[0])

    def op_transpose(self):
        x = self.pick(lambda v: len(v[1]) >= 2)
        if x:
            order = self.rng.sample(range(len(x[1])), len(x[1]))
            self.emit(f"stablehlo.transpose {x[0]}, dims = {order} : ({self.type(x)}) -> RESULT",
                      [x[1][d] for d in order], self.element, x[0])

    def op_reshape(self):
        """Merges two dimensions or splits one, as in attention heads."""
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
        self.emit(f"stablehlo.reshape {x[0]} : ({self.type(x)}) -> RESULT", shape, self.element, x[0])

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
                      f"({self.type(x)}, {self.type(y)}) -> RESULT", shape, self.element, x[0], y[0])
        self.scaled(z, 1 / x[1][i])

    def op_partial_sums(self):
        """A sum over a split dimension, followed by linear ops, which may run before it is complete, and others."""
        n, m, k = self.rng.choice([2, 4, 8]), self.rng.choice([1, 4, 8]), self.rng.choice([4, 8, 16])
        x = self.pick(lambda v: len(v[1]) == 2 and v[1][0] in (4, 8, 16)) or self.argument((k, n))
        (k, n), y = x[1], self.argument((x[1][0], m))
        # A sum of positive numbers is a valid divisor.
        divides = self.rng.random() < 0.25
        if divides:
            x, y = self.prepared(x, "positive"), self.prepared(y, "positive")
        y = self.scaled(y, 1 / k)
        z = self.emit(f"stablehlo.dot_general {x[0]}, {y[0]}, contracting_dims = [0] x [0] : ({self.type(x)}, {self.type(y)})"
                      " -> RESULT", (n, m), self.element, x[0], y[0])
        if divides:
            z = self.apply("divide", self.pick(lambda v: v[1] == (n, m)) or self.argument((n, m)), z)
        for _ in range(self.rng.randint(1, 4)):
            op = self.rng.choice(["add", "subtract", "multiply", "divide", "negate", "select", "square", "maximum"])
            other = self.pick(lambda v: v[1] == (n, m)) or self.argument((n, m))
            if op == "negate":
                z = self.apply("negate", z)
            elif op == "square":
                z = self.apply("multiply", z, z)
            elif op == "divide":
                z = self.apply("divide", *((z, self.prepared(other, "positive")) if self.rng.random() < 0.7 else
                                           (other, self.prepared(z, "positive"))))
            elif op == "select":
                mask = self.compare("GT", self.argument((n, m)), self.constant("0.0", (n, m)))
                z = self.emit(f"stablehlo.select {mask[0]}, {z[0]}, {other[0]} : {self.type(mask)}, RESULT", (n, m),
                              self.element, mask[0], z[0], other[0])
            else:
                z = self.apply(op, *((z, other) if self.rng.random() < 0.5 else (other, z)))
            if op in ("multiply", "square"):
                z = self.apply("tanh", z) if self.rng.random() < 0.3 else self.scaled(z, 0.25)

    def op_reduce(self):
        x = self.pick(lambda v: v[1])
        if not x:
            return
        dims = sorted(self.rng.sample(range(len(x[1])), self.rng.randint(1, len(x[1]))))
        shape = [s for d, s in enumerate(x[1]) if d not in dims]
        op, start = self.rng.choice([("add", "0.0"), ("add", "0.75"), ("maximum", INFINITY[self.element][0]),
                                     ("maximum", "0.25"), ("minimum", INFINITY[self.element][1]), ("multiply", "0.5")])
        if op == "multiply":
            x = self.apply("cosine", x)
        init = self.constant(start)
        z = self.emit(f"stablehlo.reduce({x[0]} init: {init[0]}) applies stablehlo.{op} across dimensions = {dims} : "
                      f"({self.type(x)}, tensor<{self.element}>) -> RESULT", shape, self.element, x[0])
        if op == "add":
            scale = self.constant(1 / math.prod(x[1][d] for d in dims), shape)
            self.emit(f"stablehlo.multiply {z[0]}, {scale[0]} : RESULT", shape, self.element, z[0])

    def op_softmax(self):
        x = self.pick(lambda v: v[1] and v[1][-1] > 1)
        if not x:
            return
        d, kept = len(x[1]) - 1, x[1][:-1]
        t = self.emit(f"stablehlo.tanh {x[0]} : RESULT", x[1], self.element, x[0])
        e = self.emit(f"stablehlo.exponential {t[0]} : RESULT", x[1], self.element, t[0])
        init = self.constant("0.0")
        s = self.emit(f"stablehlo.reduce({e[0]} init: {init[0]}) applies stablehlo.add across dimensions = [{d}] : "
                      f"({self.type(e)}, tensor<{self.element}>) -> RESULT", kept, self.element, e[0])
        b = self.emit(f"stablehlo.broadcast_in_dim {s[0]}, dims = {list(range(d))} : ({self.type(s)}) -> RESULT",
                      x[1], self.element, s[0])
        self.emit(f"stablehlo.divide {e[0]}, {b[0]} : RESULT", x[1], self.element, e[0], b[0])

    def op_concatenate(self):
        x = self.pick(lambda v: v[1])
        y = x and self.pick(lambda v: v[1] == x[1])
        if y:
            d = self.rng.randrange(len(x[1]))
            shape = [s * (1 + (e == d)) for e, s in enumerate(x[1])]
            if math.prod(shape) <= LARGEST:
                self.emit(f"stablehlo.concatenate {x[0]}, {y[0]}, dim = {d} : ({self.type(x)}, {self.type(y)}) -> "
                          "RESULT", shape, self.element, x[0], y[0])

    def op_slice(self):
        x = self.pick(lambda v: any(s >= 8 for s in v[1]))
        if x:
            d = self.rng.choice([d for d, s in enumerate(x[1]) if s >= 8])
            begin = self.rng.choice([0, 2, x[1][d] - 4])
            shape = [4 if e == d else s for e, s in enumerate(x[1])]
            ranges = ", ".join(f"{begin}:{begin + 4}" if e == d else f"0:{s}" for e, s in enumerate(x[1]))
            self.emit(f"stablehlo.slice {x[0]} [{ranges}] : ({self.type(x)}) -> RESULT", shape, self.element, x[0])

    def indices(self):
        """Row indices in one of several types; some are out of bounds."""
        x = self.given(element="i32")
        element = self.rng.choice(["i32", "i32", "i64", "i8", "i16", "ui32", "ui8"])
        if not element.startswith("u") and self.rng.random() < 0.4:
            x = self.apply("subtract", x, self.constant(self.rng.choice([1, 2]), x[1], "i32"))
        if self.rng.random() < 0.3:
            x = self.apply("multiply", x, self.constant(self.rng.choice([2, 3]), x[1], "i32"))
        if element != "i32":
            x = self.emit(f"stablehlo.convert {x[0]} : ({self.type(x)}) -> RESULT", x[1], element, x[0])
        return x

    def op_gather(self):
        """Gathers rows of a table, as in an embedding, or of a table in blocks that are split over devices."""
        table = self.pick(lambda v: len(v[1]) == 2 and v[1][0] > 1)
        indices = None
        if self.rng.random() < 0.25:
            # Few lookups in a large table, which then stays in place.
            blocks = self.argument((self.rng.choice([2, 3]), self.rng.choice([4, 8, 16]), self.rng.choice([8, 16])))
            indices = self.argument((self.rng.choice([1, 2, 3]),), "i32")
            table = self.emit(f"stablehlo.reshape {blocks[0]} : ({self.type(blocks)}) -> RESULT",
                              (blocks[1][0] * blocks[1][1], blocks[1][2]), self.element, blocks[0])
        elif not table or self.rng.random() < 0.4:
            table = self.argument((self.rng.choice([2, 4, 6, 8]), self.rng.choice([1, 4, 8])))
        indices = indices or self.indices()
        if math.prod(indices[1]) * table[1][1] > LARGEST:
            return
        rank = len(indices[1])
        self.emit(f'"stablehlo.gather"({table[0]}, {indices[0]}) <{{dimension_numbers = #stablehlo.gather<offset_dims = '
                  f"[{rank}], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = {rank}>, slice_sizes = "
                  f"array<i64: 1, {table[1][1]}>}}> : ({self.type(table)}, {self.type(indices)}) -> RESULT",
                  (*indices[1], table[1][1]), self.element, table[0], indices[0])

    def op_scatter(self):
        """The gradient of a gather, and other commutative scatters, into zeros or a table."""
        indices = self.indices()
        updates = self.pick(lambda v: len(v[1]) == len(indices[1]) + 1 and v[1][:-1] == indices[1])
        updates = updates or self.argument((*indices[1], self.rng.choice([2, 4, 8])))
        table = self.pick(lambda v: len(v[1]) == 2 and v[1][1] == updates[1][-1])
        if not table or self.rng.random() < 0.5:
            table = self.constant("0.0", (self.rng.choice([3, 4, 8]), updates[1][-1]))
        rank, t, op = len(indices[1]), f"tensor<{self.element}>", self.rng.choice(["add", "add", "maximum", "minimum"])
        z = self.emit(f'"stablehlo.scatter"({table[0]}, {indices[0]}, {updates[0]}) <{{scatter_dimension_numbers = '
                      f"#stablehlo.scatter<update_window_dims = [{rank}], inserted_window_dims = [0], "
                      f"scatter_dims_to_operand_dims = [0], index_vector_dim = {rank}>}}> ({{\n"
                      f"  ^bb0(%a: {t}, %b: {t}):\n    %c = stablehlo.{op} %a, %b : {t}\n    stablehlo.return %c : {t}\n"
                      f"  }}) : ({self.type(table)}, {self.type(indices)}, {self.type(updates)}) -> RESULT", table[1],
                      self.element, table[0], indices[0], updates[0])
        self.scaled(z, 1 / 4)

    def op_convolution(self):
        """The kernel is a weight or a value, as in the gradient of a weight."""
        x = self.pick(lambda v: len(v[1]) in (3, 4) and math.prod(v[1]) <= LARGEST // 2)
        if not x:
            return
        rank = len(x[1])
        batch, feature, *spatial = self.rng.sample(range(rank), rank)
        groups, by_batch = self.rng.choice([1, 1, 2, 4, 8]), self.rng.random() < 0.3
        if x[1][batch if by_batch else feature] % groups:
            return
        inputs = x[1][feature] // (1 if by_batch else groups)
        kernel = self.rng.sample(range(rank), rank)
        y = self.pick(lambda v: len(v[1]) == rank and v[1][kernel[0]] == inputs and v[1][kernel[1]] % groups == 0)
        if not y or self.rng.random() < 0.5:
            # Windows as large as the input, as in the gradient of a weight, or small ones.
            is_whole = self.rng.random() < 0.3
            shape = [self.rng.choice([1, 2, 3, 4]) for _ in range(rank)]
            for d, k in zip(spatial, kernel[2:]):
                shape[k] = x[1][d] if is_whole else shape[k]
            shape[kernel[0]], shape[kernel[1]] = inputs, self.rng.choice([g for g in (4, 8, 16) if g % groups == 0])
            y = self.argument(shape, self.element)
        windows = [self.window(x[1][d], [y[1][k]], dilates=True) if y[1][k] <= x[1][d] else ({}, 0)
                   for d, k in zip(spatial, kernel[2:])]
        if not all(count for _, count in windows):
            return
        out = self.rng.sample(range(rank), rank)
        shape = [0] * rank
        sizes = [x[1][batch] // (groups if by_batch else 1), y[1][kernel[1]], *(count for _, count in windows)]
        for place, size in zip(out, sizes):
            shape[place] = size
        if math.prod(shape) > LARGEST:
            return
        window = ", ".join(f"{name} = {[w[key] for w, _ in windows]}" for name, key in
                           (("stride", "stride"), ("pad", "pad"), ("lhs_dilate", "base"), ("rhs_dilate", "dilation")))
        layouts = []
        for letters, order in (("bf", (batch, feature, *spatial)), ("io", kernel), ("bf", out)):
            names = dict(zip(order, [*letters, *map(str, range(rank - 2))]))
            layouts.append(f"[{', '.join(names[d] for d in range(rank))}]")
        window = window.replace("(", "[").replace(")", "]")
        z = self.emit(f"stablehlo.convolution({x[0]}, {y[0]}) dim_numbers = {layouts[0]}x{layouts[1]}->{layouts[2]}, "
                      f"window = {{{window}}} {{batch_group_count = {groups if by_batch else 1} : i64, "
                      f"feature_group_count = {1 if by_batch else groups} : i64}} : ({self.type(x)}, {self.type(y)}) -> "
                      "RESULT", shape, self.element, x[0], y[0])
        self.scaled(z, 1 / (inputs * math.prod(y[1][k] for k in kernel[2:])))

    def op_reduce_window(self):
        x = self.pick(lambda v: v[1])
        if not x:
            return
        windows = [self.window(size) for size in x[1]]
        shape = [count for _, count in windows]
        if not all(shape) or math.prod(shape) > LARGEST:
            return
        op, start = self.rng.choice([("add", "0.0"), ("maximum", "-4.0")])
        init = self.constant(start)
        attributes = self.window_attributes([w for w, _ in windows])
        z = self.emit(f'"stablehlo.reduce_window"({x[0]}, {init[0]}) {attributes} ({{\n'
                      f"  ^bb0(%a: tensor<{self.element}>, %b: tensor<{self.element}>):\n    %c = stablehlo.{op} %a, %b : tensor<{self.element}>\n"
                      f"    stablehlo.return %c : tensor<{self.element}>\n"
                      f"  }}) : ({self.type(x)}, tensor<{self.element}>) -> RESULT", shape, self.element, x[0])
        self.scaled(z, 1 / math.prod(w["length"] for w, _ in windows))

    def op_select_and_scatter(self):
        """The gradient of a maximum over windows; arguments have no two nearly equal values."""
        x = self.pick(lambda v: v[1] and v[0].startswith("%arg"))
        if not x:
            return
        windows = [self.window(size) for size in x[1]]
        shape = tuple(count for _, count in windows)
        if not all(shape) or math.prod(shape) > LARGEST:
            return
        source = self.pick(lambda v: v[1] == shape) or self.argument(shape, self.element)
        init = self.constant("0.0")
        z = self.emit(f'"stablehlo.select_and_scatter"({x[0]}, {source[0]}, {init[0]}) '
                      f"{self.window_attributes([w for w, _ in windows])} ({{\n"
                      f"  ^bb0(%a: tensor<{self.element}>, %b: tensor<{self.element}>):\n    %c = stablehlo.compare GE, %a, %b : "
                      f"(tensor<{self.element}>, tensor<{self.element}>) -> tensor<i1>\n    stablehlo.return %c : tensor<i1>\n  }}, {{\n"
                      f"  ^bb0(%a: tensor<{self.element}>, %b: tensor<{self.element}>):\n    %c = stablehlo.add %a, %b : tensor<{self.element}>\n"
                      f"    stablehlo.return %c : tensor<{self.element}>\n"
                      f"  }}) : ({self.type(x)}, {self.type(source)}, tensor<{self.element}>) -> RESULT", x[1], self.element, x[0], source[0])
        self.scaled(z, 1 / math.prod(w["length"] for w, _ in windows))

    def op_fft(self):
        x = self.pick(lambda v: v[1])
        if not x or self.element not in WIDE:
            return
        shape, lengths = list(x[1]), list(x[1][-self.rng.randint(1, min(3, len(x[1]))):])
        kind = self.rng.choice(["RFFT", "FFT", "IFFT"])
        if kind == "RFFT":
            operand, shape[-1] = x, x[1][-1] // 2 + 1
        else:
            operand = self.emit(f"stablehlo.complex {x[0]}, {x[0]} : RESULT", x[1], f"complex<{self.element}>", x[0])
        z = self.emit(f"stablehlo.fft {operand[0]}, type = {kind}, length = {lengths} : ({self.type(operand)}) -> RESULT",
                      shape, f"complex<{self.element}>", operand[0])
        part = self.emit(f"stablehlo.{self.rng.choice(['real', 'imag'])} {z[0]} : ({self.type(z)}) -> RESULT", shape, self.element,
                         z[0])
        self.scaled(part, 1 / math.prod(lengths) if kind != "IFFT" else 1.0)

    def op_solve(self):
        """Systems whose matrices are well conditioned: 1 + t t' / size, of a t whose elements are below 1.

        The eigenvalues are between 1 and 1 + columns; with an unbounded t, two orders of summation would differ by more
        than any bound that still detects faults.
        """
        x = self.pick(lambda v: len(v[1]) >= 2)
        if not x or self.element not in WIDE:
            return
        batch, size, rank = list(range(len(x[1]) - 2)), x[1][-2], len(x[1])
        shape = (*x[1][:-2], size, size)
        x = self.emit(f"stablehlo.tanh {x[0]} : RESULT", x[1], self.element, x[0])
        square = self.emit(f"stablehlo.dot_general {x[0]}, {x[0]}, batching_dims = {batch} x {batch}, contracting_dims = "
                           f"[{rank - 1}] x [{rank - 1}] : ({self.type(x)}, {self.type(x)}) -> RESULT", shape, self.element, x[0])
        square = self.scaled(square, 1 / size)
        rows, columns = (self.emit(f"stablehlo.iota dim = {d} : RESULT", shape, "i32") for d in (rank - 2, rank - 1))
        diagonal = self.emit(f"stablehlo.compare EQ, {rows[0]}, {columns[0]} : ({self.type(rows)}, {self.type(rows)}) -> "
                             "RESULT", shape, "i1", rows[0], columns[0])
        ones = self.emit(f"stablehlo.convert {diagonal[0]} : ({self.type(diagonal)}) -> RESULT", shape, self.element, diagonal[0])
        matrix = self.emit(f"stablehlo.add {square[0]}, {ones[0]} : RESULT", shape, self.element, square[0], ones[0])
        lower = self.rng.random() < 0.5
        triangle = self.emit(f"stablehlo.cholesky {matrix[0]}, lower = {str(lower).lower()} : RESULT", shape, self.element,
                             matrix[0])
        left = self.rng.random() < 0.5
        fits = (lambda v: v[1][:-2] == shape[:-2] and len(v[1]) == rank and v[1][-2 if left else -1] == size)
        b = self.pick(fits)
        transpose = self.rng.choice(["NO_TRANSPOSE", "TRANSPOSE"])
        self.emit(f'"stablehlo.triangular_solve"({triangle[0]}, {b[0]}) <{{left_side = {str(left).lower()}, lower = '
                  f"{str(lower).lower()}, transpose_a = #stablehlo<transpose {transpose}>, unit_diagonal = false}}> : "
                  f"({self.type(triangle)}, {self.type(b)}) -> RESULT", b[1], self.element, triangle[0], b[0])

    def op_loop(self):
        """Layers with one weight: results of each layer are stacked, and a product of them is summed, as in
        gradients."""
        x = self.pick(lambda v: len(v[1]) == 2 and v[1][1] > 1 and math.prod(v[1]) <= LARGEST // 4)
        if not x:
            return
        b, h = x[1]
        w = self.pick(lambda v: v[1] == (h, h)) or self.argument((h, h), self.element)
        row, one, many, square = (f"tensor<{s}x{self.element}>" for s in (f"{b}x{h}", f"1x{b}x{h}", f"4x{b}x{h}", f"{h}x{h}"))
        first = self.pick(lambda v: v[1] == (4, b, h))
        stack = first or self.constant("0.0", (4, b, h))
        total = self.pick(lambda v: v[1] == (h, h)) if self.rng.random() < 0.3 else self.constant("0.0", (h, h))
        zero, count = (self.constant(n, element="i32") for n in (0, 4))
        step, scale = self.constant(1, element="i32"), self.constant(1 / h, (b, h))
        mean = self.constant(1 / b, (h, h))
        lines = [f"%d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : ({row}, {square}) -> {row}",
                 f"%e = stablehlo.multiply %d, {scale[0]} : {row}", f"%t = stablehlo.tanh %e : {row}"]
        if first:
            lines += [f"%p = stablehlo.dynamic_slice %s, %i, {zero[0]}, {zero[0]}, sizes = [1, {b}, {h}] : ({many}, "
                      f"tensor<i32>, tensor<i32>, tensor<i32>) -> {one}", f"%q = stablehlo.reshape %p : ({one}) -> {row}",
                      f"%y = stablehlo.add %t, %q : {row}"]
        else:
            lines += [f"%y = stablehlo.{self.rng.choice(['sine', 'negate', 'optimization_barrier'])} %t : {row}"]
        lines += [f"%r = stablehlo.reshape %y : ({row}) -> {one}",
                  f"%u = stablehlo.dynamic_update_slice %s, %r, %i, {zero[0]}, {zero[0]} : ({many}, {one}, tensor<i32>, "
                  f"tensor<i32>, tensor<i32>) -> {many}",
                  f"%g = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : ({row}, {row}) -> {square}",
                  f"%m = stablehlo.multiply %g, {mean[0]} : {square}", f"%a = stablehlo.add %n, %m : {square}",
                  f"%j = stablehlo.add %i, {step[0]} : tensor<i32>"]
        types = f"tensor<i32>, {row}, {square}, {many}, {square}"
        name = next(self.names)
        start = f"%i = {zero[0]}, %x = {x[0]}, %w = {w[0]}, %s = {stack[0]}, %n = {total[0]}"
        self.lines.append(
            f"{name}:5 = stablehlo.while({start}) : {types}\n   cond {{\n    %c = stablehlo.compare LT, %i, "
            f"{count[0]} : (tensor<i32>, tensor<i32>) -> tensor<i1>\n    stablehlo.return %c : tensor<i1>\n  }} do {{"
            "\n    " + "\n    ".join(lines) +
            f"\n    stablehlo.return %j, %y, %w, %u, %a : {types}\n  }}")
        self.values += [(f"{name}#{i}", shape, self.element) for i, shape in ((1, (b, h)), (3, (4, b, h)), (4, (h, h)))]
        self.used.update([x[0], w[0], stack[0], total[0]])


OPS = sorted(name.removeprefix("op_") for name in dir(Program) if name.startswith("op_"))
OPS += ["partial_sums", "dot", "dot", "binary", "unary", "unary", "convolution"]
# Ops that the device has no kernel for; and dynamic_slice: its update of a window at the end of the device's memory is
# refused when it runs.
NOT_ON_DEVICE = ("batch_norm", "complex", "dot_exact", "dynamic_slice", "fft", "map", "solve")
