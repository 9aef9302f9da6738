"""Random ops that read, write, order or create elements."""

import math

from program_builder import LARGEST, constraint_text


class ArrangementOps:
    def op_pad(self):
        x = self.pick(lambda v: v[1])
        if not x:
            return
        low, high, interior = ([self.rng.choice([0, 0, 0, 1, 2, -1]) for _ in x[1]] for _ in range(3))
        interior = [max(i, 0) for i in interior]
        shape = [s + max(s - 1, 0) * i + a + b for s, a, b, i in zip(x[1], low, high, interior)]
        if min(shape) < 1 or math.prod(shape) > LARGEST:
            return
        value = self.constant(self.rng.choice(["0.0", "0.5"]))
        self.emit(f"stablehlo.pad {x[0]}, {value[0]}, low = {low}, high = {high}, interior = {interior} : "
                  f"({self.type(x)}, {self.type(value)}) -> RESULT", shape, x[2], x[0])

    def op_reverse(self):
        x = self.pick(lambda v: v[1])
        if x:
            dims = sorted(self.rng.sample(range(len(x[1])), self.rng.randint(1, len(x[1]))))
            self.emit(f"stablehlo.reverse {x[0]}, dims = {dims} : RESULT", x[1], x[2], x[0])

    def op_strided_slice(self):
        x = self.pick(lambda v: v[1])
        if not x:
            return
        ranges, shape = [], []
        for size in x[1]:
            first, step = self.rng.choice([0, 0, size // 2, self.rng.randrange(size)]), self.rng.choice([1, 1, 1, 2, 3])
            last = self.rng.choice([size, size, self.rng.randint(first + 1, size)])
            ranges.append(f"{first}:{last}" + (f":{step}" if step > 1 else ""))
            shape.append(-(-(last - first) // step))
        self.emit(f"stablehlo.slice {x[0]} [{', '.join(ranges)}] : ({self.type(x)}) -> RESULT", shape, x[2], x[0])

    

    def start(self, size):
        """A scalar index, constant or not; one beyond the last position is moved into bounds."""
        if self.rng.random() < 0.4:
            return self.constant(self.rng.randint(-1, size), element="i32")
        x = self.given(lambda v: v[1], "i32")
        ranges = ", ".join(f"{i}:{i + 1}" for i in (self.rng.randrange(s) for s in x[1]))
        one = self.emit(f"stablehlo.slice {x[0]} [{ranges}] : ({self.type(x)}) -> RESULT", [1] * len(x[1]), "i32", x[0])
        return self.emit(f"stablehlo.reshape {one[0]} : ({self.type(one)}) -> RESULT", (), "i32", one[0])

    def op_dynamic_slice(self):
        x = self.pick(lambda v: v[1])
        if not x:
            return
        shape = [self.rng.choice([s, s, self.rng.randint(1, s)]) for s in x[1]]
        starts = [self.start(s) for s in x[1]]
        names, types = ", ".join(v[0] for v in starts), ", ".join(self.type(v) for v in starts)
        if self.rng.random() < 0.5:
            self.emit(f"stablehlo.dynamic_slice {x[0]}, {names}, sizes = {shape} : ({self.type(x)}, {types}) -> RESULT",
                      shape, x[2], x[0], *(v[0] for v in starts))
            return
        fits = (lambda v: len(v[1]) == len(x[1]) and all(a <= b for a, b in zip(v[1], x[1])))
        y = self.pick(lambda v: fits(v) and v[1] != x[1]) or self.argument(shape)
        self.emit(f"stablehlo.dynamic_update_slice {x[0]}, {y[0]}, {names} : ({self.type(x)}, {self.type(y)}, {types}) -> "
                  "RESULT", x[1], x[2], x[0], y[0], *(v[0] for v in starts))

    def op_sort(self):
        """Sorts values, or an argument together with a value computed from it."""
        if self.rng.random() < 0.6:
            operands = [self.pick(lambda v: v[1])]
        else:
            key = self.given(lambda v: v[1])
            operands = [key, key and self.pick(lambda v: v[1] == key[1])]
        if not all(operands):
            return
        dim, direction = self.rng.randrange(len(operands[0][1])), self.rng.choice(["LT", "GT"])
        scalars = ", ".join(f"%{c}{i}: tensor<{self.element}>" for i in range(len(operands)) for c in "ab")
        names, types = ", ".join(v[0] for v in operands), ", ".join(self.type(v) for v in operands)
        self.emit_many(f'"stablehlo.sort"({names}) <{{dimension = {dim} : i64, is_stable = true}}> ({{\n  ^bb0({scalars}):\n'
                       f"    %p = stablehlo.compare {direction}, %a0, %b0 : (tensor<{self.element}>, "
                       f"tensor<{self.element}>) -> tensor<i1>\n    stablehlo.return %p : tensor<i1>\n  }}) : ({types}) -> "
                       "(RESULTS)", [v[1] for v in operands], *(v[0] for v in operands))

    def op_top_k(self):
        x = self.given(lambda v: v[1])
        if x:
            k = self.rng.randint(1, min(4, x[1][-1]))
            shape = (*x[1][:-1], k)
            self.emit_many(f"chlo.top_k({x[0]}, k = {k}) : {self.type(x)} -> (RESULTS)", [shape, shape], x[0],
                           elements=[self.element, "i32"])

    def op_random_bits(self):
        state = self.argument((2,), "ui64")
        shape = self.shape(largest=LARGEST // 8)
        algorithm = self.rng.choice(["THREE_FRY", "PHILOX", "DEFAULT"])
        _, bits = self.emit_many(f"stablehlo.rng_bit_generator {state[0]}, algorithm = {algorithm} : "
                                 f"({self.type(state)}) -> (RESULTS)", [(2,), shape], state[0], elements=["ui64", "ui32"])
        top = self.apply("shift_right_logical", bits, self.constant(30, shape, "ui32"))
        self.emit(f"stablehlo.convert {top[0]} : ({self.type(top)}) -> RESULT", shape, self.element, top[0])

    def op_constrain(self):
        x = self.pick(lambda v: v[1])
        if x:
            # One group for each type.
            group = self.groups.setdefault(self.type(x), len(self.groups))
            seed = constraint_text(self.rng, self.sharding(x[1]).removeprefix("#st.sharding"), group)
            self.emit(f"st.constrain {x[0]} {seed} : RESULT", x[1], x[2], x[0])


