"""Builds a function of stablehlo op by op, on a random mesh with random shardings.

Values stay of order one, and nothing depends on the sign of a rounding error, so that two correct
ways to run a program agree.
"""

import itertools
import json
import math

# Sizes that many axes divide are more likely.
SIZES = (1, 1, 2, 3, 4, 4, 4, 5, 6, 8, 8, 8, 12, 16, 16)
LARGEST = 4096
MESHES = (
    {"tensor": 2}, {"tensor": 4}, {"tensor": 8}, {"tensor": 3}, {"tensor": 16}, {"data": 2, "tensor": 2},
    {"data": 4, "tensor": 2}, {"data": 2, "tensor": 4}, {"data": 2, "tensor": 3}, {"data": 4, "tensor": 4},
    {"data": 8, "tensor": 2}, {"data": 2, "expert": 2, "tensor": 2}, {"data": 2, "expert": 4, "tensor": 2},
    {"data": 2, "expert": 2, "tensor": 4}, {"data": 3, "expert": 2, "tensor": 2})
# The bits of minus and plus infinity.
INFINITY = {"f64": ("0xFFF0000000000000", "0x7FF0000000000000"), "f32": ("0xFF800000", "0x7F800000"),
            "f16": ("0xFC00", "0x7C00"), "bf16": ("0xFF80", "0x7F80")}
# Types for complex numbers, factorizations and similar ops.
WIDE = ("f32", "f64")
PARTITION = "expand-branches,pad-dimensions,propagate-shardings,insert-reshards,global-to-local"


def seed_text(rng, axes, dims):
    """A sharding of these dimensions; some are open, have priorities and leave axes to others."""
    if rng.random() < 0.75:
        return f"<@mesh, [{', '.join('{' + ', '.join(d) + '}' for d in dims)}]>"
    text = ", ".join("{" + ", ".join(d + ["?"] * (rng.random() < 0.6)) + "}" +
                     rng.choice(["", "", "", "p1", "p2"]) for d in dims)
    used = {axis for dim in dims for axis in dim}
    free = [f'"{axis}"' for axis in axes if f'"{axis}"' not in used and rng.random() < 0.2]
    return f"<@mesh, [{text}]{', replicated = [' + ', '.join(free) + ']' if free else ''}>"


def constraint_text(rng, seed, group):
    """The text after the operand of an st.constrain."""
    chance = rng.random()
    extra = f" direction {rng.choice(['none', 'forward', 'backward'])}" if chance < 0.2 else ""
    return f"to {seed}{extra}{f' group {group}' if 0.2 <= chance < 0.4 else ''}"


class Builder:
    """The text of a function and the values that its ops may read. A value is (name, shape, element type)."""

    def __init__(self, rng, uneven):
        self.rng = rng
        self.uneven = uneven
        self.lines, self.arguments, self.values, self.used = [], [], [], set()
        self.names = (f"%{i}" for i in itertools.count())
        self.axes = rng.choice(MESHES)
        self.micro = rng.choice([1, 1, 1, 2, 4])
        self.groups = {}
        self.element = rng.choice(["f32"] * 7 + ["f64", "bf16", "f16"])

    # ---- text

    @staticmethod
    def type(value):
        return f"tensor<{''.join(f'{d}x' for d in value[1])}{value[2]}>"

    def emit(self, text, shape, element, *operands):
        """An op of one result."""
        value = (next(self.names), tuple(shape), element)
        self.lines.append(f"{value[0]} = {text.replace('RESULT', self.type(value))}")
        self.values.append(value)
        self.used.update(operands)
        return value

    def emit_many(self, text, shapes, *operands, elements=None):
        """An op with several results; its types follow the text."""
        name = next(self.names)
        values = [(f"{name}#{i}", tuple(shape), elements[i] if elements else self.element)
                  for i, shape in enumerate(shapes)]
        types = ", ".join(self.type(v) for v in values)
        self.lines.append(f"{name}:{len(values)} = {text.replace('RESULTS', types)}")
        self.values += values
        self.used.update(operands)
        return values

    def apply(self, op, *operands, element=None, shape=None):
        """An elementwise op; all operands have the result's type."""
        x = operands[0]
        names = [v[0] for v in operands]
        result = (x[1] if shape is None else shape, element or x[2])
        # `chlo` spells out the types of operands.
        types = f"{', '.join(self.type(v) for v in operands)} -> RESULT" if op.startswith("chlo.") else "RESULT"
        op = op if "." in op else f"stablehlo.{op}"
        return self.emit(f"{op} {', '.join(names)} : {types}", *result, *names)

    def constant(self, value, shape=(), element=None):
        result = self.emit(f"stablehlo.constant dense<{value}> : RESULT", shape, element or self.element)
        self.values.pop()
        return result

    def scaled(self, value, factor):
        """Other ops do not read the unscaled value: a sine of it in 16 bits would be only rounding errors."""
        if value in self.values:
            self.values.remove(value)
        return self.apply("multiply", value, self.constant(factor, value[1]))

    def compare(self, direction, x, y):
        return self.emit(f"stablehlo.compare {direction}, {x[0]}, {y[0]} : ({self.type(x)}, {self.type(y)}) -> RESULT",
                         x[1], "i1", x[0], y[0])

    # ---- shardings and arguments

    def sharding(self, shape, is_batch=False):
        """Each axis splits a dimension that it divides (or any, if sizes may be uneven), or none; `micro` splits the
        first dimension of a batch."""
        dims, left = [[] for _ in shape], list(shape)
        if is_batch:
            dims[0].append('"micro"')
            left[0] = -(-left[0] // self.micro)
        for axis in self.rng.sample(list(self.axes), len(self.axes)):
            size = self.axes[axis]
            fitting = [d for d, part in enumerate(left) if part % size == 0]
            if self.uneven and self.rng.random() < self.uneven:
                fitting = [d for d, part in enumerate(left) if part > 1]
            if fitting and self.rng.random() < 0.8:
                dim = self.rng.choice(fitting)
                dims[dim].append(f'"{axis}"')
                left[dim] = -(-left[dim] // size)
        return "#st.sharding" + seed_text(self.rng, self.axes, dims)

    def argument(self, shape, element=None, is_batch=False):
        value = (f"%arg{len(self.arguments)}", tuple(shape), element or self.element)
        attribute = ""
        if is_batch or self.rng.random() < 0.8:
            attribute = f" {{st.sharding = {self.sharding(shape, is_batch)}}}"
        self.arguments.append((value, attribute))
        self.values.append(value)
        return value

    # ---- choices

    def shape(self, rank=None, largest=LARGEST):
        rank = self.rng.randint(1, 3) if rank is None else rank
        while True:
            shape = tuple(self.rng.choice(SIZES) for _ in range(rank))
            if math.prod(shape) <= largest:
                return shape

    def pick(self, condition=lambda value: True, element=None):
        """A value that fits, preferably a new one, or None."""
        fitting = [v for v in self.values if v[2] == (element or self.element) and condition(v)]
        if not fitting:
            return None
        return fitting[-1 - min(int(self.rng.expovariate(0.5)), len(fitting) - 1)]

    def given(self, condition=lambda value: True, element=None):
        """An argument: all ways to compute a program agree about its bits."""
        return self.pick(lambda v: v[0].startswith("%arg") and condition(v), element)

    # ---- the whole

    def text(self):
        results = [v for v in self.values if v[0] not in self.used and not v[0].startswith("%arg")][:6]
        results = results or [self.values[0]]
        mesh = ", ".join(f'"{name}"={size}' for name, size in self.axes.items())
        arguments = ", ".join(f"{v[0]}: {self.type(v)}{a}" for v, a in self.arguments)
        types = ", ".join(self.type(v) for v in results)
        # Values that vary along the micro-batches must leave the function that way.
        annotates = self.micro == 1
        annotated = ", ".join(
            self.type(v) + (f" {{st.sharding = {self.sharding(v[1])}}}" if annotates and self.rng.random() < 0.3 else "")
            for v in results)
        body = "\n  ".join(self.lines)
        return (f"module attributes {{st.passes = {json.dumps(PARTITION)}}} {{\n"
                f"st.mesh @mesh <[{mesh}], micro={self.micro}>\nfunc.func @main({arguments}) -> ({annotated}) {{\n"
                f"  {body}\n  return {', '.join(v[0] for v in results)} : {types}\n}}\n}}\n")
