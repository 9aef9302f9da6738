"""Random ops with regions, and normalizations."""

import math

from program_builder import LARGEST


class ControlOps:
    def branch(self, x, y, kind):
        """A region that returns a value of x's shape."""
        lines = {"sine": [f"%r = stablehlo.sine {x[0]} : {self.type(x)}"],
                 "add": [f"%r = stablehlo.add {x[0]}, {y[0]} : {self.type(x)}"],
                 "reverse": [f"%r = stablehlo.reverse {x[0]}, dims = [0] : {self.type(x)}"]}[kind]
        return "{\n    " + "\n    ".join(lines) + f"\n    stablehlo.return %r : {self.type(x)}\n  }}"

    def op_branch(self):
        x = self.pick(lambda v: v[1])
        y = x and self.pick(lambda v: v[1] == x[1])
        if not y:
            return
        index = self.start(3)
        kinds = [self.rng.choice(["sine", "add", "reverse"]) for _ in range(3)]
        if self.rng.random() < 0.5:
            branches = ", ".join(self.branch(x, y, kind) for kind in kinds)
            self.emit(f'"stablehlo.case"({index[0]}) ({branches}) : (tensor<i32>) -> RESULT', x[1], x[2], index[0], x[0],
                      y[0])
            return
        predicate = self.compare("GT", index, self.constant(1, element="i32"))
        branches = ", ".join(self.branch(x, y, kind) for kind in kinds[:2])
        self.emit(f'"stablehlo.if"({predicate[0]}) ({branches}) : (tensor<i1>) -> RESULT', x[1], x[2], predicate[0], x[0],
                  y[0])

    def op_map(self):
        x = self.pick(lambda v: v[1])
        y = x and self.pick(lambda v: v[1] == x[1])
        if y:
            dims, t = ", ".join(map(str, range(len(x[1])))), f"tensor<{self.element}>"
            self.emit(f'"stablehlo.map"({x[0]}, {y[0]}) <{{dimensions = array<i64: {dims}>}}> ({{\n  ^bb0(%a: {t}, %b: {t}):\n'
                      f"    %c = stablehlo.sine %a : {t}\n    %d = stablehlo.subtract %c, %b : {t}\n"
                      f"    stablehlo.return %d : {t}\n  }}) : ({self.type(x)}, {self.type(y)}) -> RESULT", x[1], x[2], x[0],
                      y[0])

    def op_argmax(self):
        """The position of an argument's largest element."""
        x = self.given(lambda v: v[1])
        if not x:
            return
        d = self.rng.randrange(len(x[1]))
        shape = [s for e, s in enumerate(x[1]) if e != d]
        places = self.emit(f"stablehlo.iota dim = {d} : RESULT", x[1], "i32")
        lowest, zero, t = self.constant("-100.0"), self.constant(0, element="i32"), f"tensor<{self.element}>"
        self.emit_many(
            f'"stablehlo.reduce"({x[0]}, {places[0]}, {lowest[0]}, {zero[0]}) <{{dimensions = array<i64: {d}>}}> ({{\n'
            f"  ^bb0(%a: {t}, %i: tensor<i32>, %b: {t}, %j: tensor<i32>):\n"
            f"    %p = stablehlo.compare GE, %a, %b : ({t}, {t}) -> tensor<i1>\n"
            f"    %m = stablehlo.select %p, %a, %b : tensor<i1>, {t}\n"
            "    %k = stablehlo.select %p, %i, %j : tensor<i1>, tensor<i32>\n"
            f"    stablehlo.return %m, %k : {t}, tensor<i32>\n  }}) : ({self.type(x)}, {self.type(places)}, {t}, tensor<i32>)"
            " -> (RESULTS)", [shape, shape], x[0], places[0], elements=[self.element, "i32"])

    def op_reduce_exact(self):
        """Predicates and integers, whose reductions do not round."""
        element = self.rng.choice(["i1", "i32"])
        x = self.pick(lambda v: v[1], element)
        if not x:
            return
        dims = sorted(self.rng.sample(range(len(x[1])), self.rng.randint(1, len(x[1]))))
        shape = [s for d, s in enumerate(x[1]) if d not in dims]
        op, start = self.rng.choice([("and", "true"), ("or", "false")] if element == "i1" else
                                    [("add", 0), ("maximum", -2147483648), ("multiply", 1), ("xor", 0), ("minimum", 2147483647)])
        init = self.constant(start, element=element)
        self.emit(f"stablehlo.reduce({x[0]} init: {init[0]}) applies stablehlo.{op} across dimensions = {dims} : "
                  f"({self.type(x)}, {self.type(init)}) -> RESULT", shape, element, x[0])

    def op_dot_exact(self):
        """Products of integers or booleans."""
        element = self.rng.choice(["i1", "i32"])
        x = self.pick(lambda v: v[1], element)
        y = x and self.pick(lambda v: v[1] and v[1][0] == x[1][-1], element)
        if not y:
            return
        shape = (*x[1][:-1], *y[1][1:])
        if math.prod(shape) <= LARGEST and len(shape) <= 4:
            self.emit(f"stablehlo.dot_general {x[0]}, {y[0]}, contracting_dims = [{len(x[1]) - 1}] x [0] : "
                      f"({self.type(x)}, {self.type(y)}) -> RESULT", shape, element, x[0], y[0])

    def op_batch_norm(self):
        x = self.pick(lambda v: len(v[1]) >= 2)
        if not x or self.element not in ("f32", "f64"):
            return
        feature = self.rng.randrange(len(x[1]))
        vectors = [self.argument([x[1][feature]]) for _ in range(2)]
        attributes = f"<{{epsilon = 1.0 : f32, feature_index = {feature} : i64}}>"
        kind = self.rng.choice(["training", "inference", "grad"])
        shapes = [x[1], vectors[0][1], vectors[0][1]]
        if kind == "inference":
            variance = self.prepared(vectors[1], "positive")
            operands, shapes = [x, *vectors, vectors[0], variance], [x[1]]
        elif kind == "grad":
            variance = self.prepared(vectors[1], "positive")
            y = self.pick(lambda v: v[1] == x[1])
            operands = [x, vectors[0], vectors[1], variance, y]
        else:
            operands = [x, *vectors]
        names, types = ", ".join(v[0] for v in operands), ", ".join(self.type(v) for v in operands)
        results = self.emit_many(f'"stablehlo.batch_norm_{kind}"({names}) {attributes} : ({types}) -> (RESULTS)', shapes,
                                 *(v[0] for v in operands))
        if kind == "grad":
            # Sums over all dimensions but the feature.
            for value in results[1:]:
                self.scaled(value, value[1][0] / math.prod(x[1]))

    def op_barrier(self):
        operands = [v for v in (self.pick() for _ in range(self.rng.randint(1, 3))) if v]
        names = ", ".join(v[0] for v in operands)
        self.emit_many(f"stablehlo.optimization_barrier {names} : RESULTS", [v[1] for v in operands],
                       *(v[0] for v in operands))
