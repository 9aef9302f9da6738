"""Programs of one op each, assembled from parts, in the generic form of the dialects."""

import functools

import ml_dtypes
import numpy as np

FLOATS = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
SIGNED = {"i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8}
UNSIGNED = {"ui64": np.uint64, "ui32": np.uint32, "ui16": np.uint16, "ui8": np.uint8}
INTEGERS = SIGNED | UNSIGNED
COMPLEX = {"complex<f32>": np.float32, "complex<f64>": np.float64}
# Every numeric element type; for complex types, the type of their parts.
TYPES = FLOATS | INTEGERS | {"i1": np.bool_} | COMPLEX


def part_of(element):
    """The real type of a complex type's parts; any other type unchanged."""
    return element[8:-1] if element in COMPLEX else element


def tensor(shape, element):
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def bits(element):
    return 2 * bits(part_of(element)) if element in COMPLEX else 8 * np.dtype(TYPES[element]).itemsize


# ---- values -------------------------------------------------------------------------------------


def special_values(element):
    """Ends of ranges, zeros, poles and non-finite values. For a complex type, those of its parts."""
    dtype = TYPES[element]
    if element == "i1":
        return np.array([True, False])
    if element in INTEGERS:
        info, width = np.iinfo(dtype), bits(element)
        values = [info.min, info.max, 0, 1, 2, 3, 7, info.max // 3, info.max - 1, width - 1, width, width + 1]
        return np.array(values + ([-1, -2, -7, info.min + 1] if info.min else []), dtype)
    info = ml_dtypes.finfo(dtype)
    values = [0, 1, 2, 3, 0.5, 0.75, 2.5, 1.5, 9.25, 21, float(info.eps), float(info.tiny), float(info.max), np.inf]
    return np.array(values + [-v for v in values] + [np.nan], dtype)


def random_values(rng, element, shape):
    """For integers many equal values; for floats several magnitudes."""
    if element == "i1":
        return rng.random(shape) < 0.5
    if element in INTEGERS:
        return rng.integers(-40 if element in SIGNED else 0, 90, shape).astype(TYPES[element])
    return (rng.standard_normal(shape) * 2.0 ** rng.integers(-3, 4, shape)).astype(TYPES[element])


def fill(rng, element, shape, values):
    """`values` in a random order, and random values for the rest of the shape."""
    result = random_values(rng, element, int(np.prod(shape)))
    result[: len(values)] = values
    return rng.permutation(result).reshape(shape)


# ---- programs -----------------------------------------------------------------------------------


class Function:
    """The text of a function, op by op. A value is its name and its type."""

    def __init__(self, element):
        self.element, self.lines = element, []
        self.arguments, self.results = {}, []  # name -> array; (value, element type)
        self.symbols = ""  # Functions that ops name.
        self.names, self.made = 0, {}

    def name(self):
        self.names += 1
        return f"%{self.names}"

    # Inputs.

    def argument(self, array, element):
        """An argument with these values; a complex argument is made of two arguments."""
        if element in COMPLEX:
            parts = [self.argument(part, part_of(element)) for part in (array.real, array.imag)]
            return self.op("stablehlo.complex", parts, array.shape, element)
        name = f"%arg{len(self.arguments)}"
        self.arguments[name] = np.asarray(array, order="C")
        return name, tensor(array.shape, element)

    def once(self, key, make):
        """A value that cases share."""
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def numbers(self, seed, *shape, element=None):
        """An argument with random values."""
        element = element or self.element

        def make():
            rng = np.random.default_rng(seed)
            values = random_values(rng, part_of(element), shape)
            if element in COMPLEX:
                values = values + 1j * random_values(rng, part_of(element), shape)
            return self.argument(values, element)
        return self.once((seed, shape, element), make)

    def specials(self, shape=(5, 3, 7), element=None, seed=1):
        """All special values and random ones; for a complex type, pairs of them."""
        element = element or self.element

        def make():
            rng, part = np.random.default_rng(seed), part_of(element)
            values = special_values(part)
            if element not in COMPLEX:
                return self.argument(fill(rng, part, shape, values), element)
            # Implementations disagree about infinities and NaN in complex functions.
            few = values[np.isfinite(values) & (np.abs(values.astype(np.float64)) < 4)]
            first, second = pairs_of(few)
            order = rng.permutation(np.resize(np.arange(len(first)), int(np.prod(shape))))
            return self.argument((first + 1j * second)[order].reshape(shape), element)
        return self.once(("special", shape, element, seed), make)

    def pairs(self, element=None):
        """Each special value paired with each."""
        element = element or self.element

        def make():
            rng, part = np.random.default_rng(2), part_of(element)
            if element in COMPLEX:
                values = np.array([0, 1, -1, 2.5, -0.75, 3], TYPES[part])
                first, second = pairs_of(values)
                numbers = first + 1j * second
                return [self.argument(v.reshape(48, 27), element) for v in pairs_of(numbers)]
            values = special_values(part)
            shape = (3, 7, 41) if len(values) > 20 else (3, 7, 17)
            count = int(np.prod(shape)) - len(values) ** 2
            more = random_values(rng, part, (2, count))
            return [self.argument(np.concatenate([v, m]).reshape(shape), element)
                    for v, m in zip(pairs_of(values), more)]
        return self.once(("pairs", element), make)

    # Ops.

    def op(self, name, operands, shape, element=None, attributes="", region=""):
        return self.ops(name, operands, [tensor(shape, element or self.element)], attributes, region)[0]

    def ops(self, name, operands, types, attributes="", region=""):
        """The op's results."""
        result, names = self.name(), ", ".join(o for o, _ in operands)
        count = f":{len(types)}" if len(types) != 1 else ""
        given = f" <{{{attributes}}}>" if attributes else ""
        body = f" ({region})" if region else ""
        self.lines.append(f'{result}{count} = "{name}"({names}){given}{body} : '
                          f"({', '.join(t for _, t in operands)}) -> ({', '.join(types)})")
        return [(result if len(types) == 1 else f"{result}#{i}", t) for i, t in enumerate(types)]

    def constant(self, text, shape=(), element=None):
        type_ = tensor(shape, element or self.element)
        return self.ops("stablehlo.constant", [], [type_], f"value = dense<{text}> : {type_}")[0]

    def number(self, value, element=None):
        """A scalar constant."""
        element = element or self.element
        if element == "i1":
            return self.constant("true" if value else "false", (), element)
        if element in COMPLEX:
            return self.constant(f"({float(value)},0.0)", (), element)
        return self.constant(f"{float(value)}" if element in FLOATS else f"{int(value)}", (), element)

    def region(self, types, body):
        """A block whose arguments have these types; `body` gets the arguments and returns the block's results."""
        arguments = [(self.name().replace("%", "%b"), t) for t in types]
        outside, self.lines = self.lines, []
        results = body(*arguments)
        results = results if isinstance(results, list) else [results]
        self.lines.append(f'"stablehlo.return"({", ".join(r for r, _ in results)}) : '
                          f"({', '.join(t for _, t in results)}) -> ()")
        inside, self.lines = self.lines, outside
        head = ", ".join(f"{name}: {type_}" for name, type_ in arguments)
        return "{\n^bb0" + (f"({head})" if head else "") + ":\n" + "\n".join(inside) + "\n}"

    def combiner(self, op, element=None):
        """The region that combines two scalars by an op."""
        scalar = tensor((), element or self.element)
        return self.region([scalar] * 2, lambda a, b: self.ops(op, [a, b], [scalar]))

    def result(self, value):
        """Adds a result to compare; a complex one as two parts."""
        element = element_in(value[1])
        if element in COMPLEX:
            real = value[1].replace(element, part_of(element))
            for part in ("real", "imag"):
                self.result(self.ops(f"stablehlo.{part}", [value], [real])[0])
            return
        self.results.append((value, element))

    def text(self):
        types = [t for (_, t), _ in self.results]
        arguments = ", ".join(f"{name}: {tensor(array.shape, element_of(array))}"
                              for name, array in self.arguments.items())
        names = ", ".join(n for (n, _), _ in self.results)
        return (f"func.func @main({arguments}) -> ({', '.join(types)}) {{\n" + "\n".join(self.lines)
                + f"\nreturn {names} : {', '.join(types)}\n}}\n{self.symbols}")


class Shard(Function):
    """The program of one of four devices. Each has its part of the first dimension of all arguments and results."""

    DEVICES = 4
    MESH = 'sdy.mesh @mesh = <["x"=4]>\n'

    def shape_of(self, array):
        return (array.shape[0] // self.DEVICES, *array.shape[1:])

    def argument(self, array, element):
        if element in COMPLEX:
            parts = [self.argument(part, part_of(element)) for part in (array.real, array.imag)]
            return self.op("stablehlo.complex", parts, self.shape_of(array), element)
        return super().argument(array, element)[0], tensor(self.shape_of(array), element)

    def numbers(self, seed, *shape, element=None):
        name = super().numbers(seed, self.DEVICES * shape[0], *shape[1:], element=element)[0]
        return name, tensor(shape, element or self.element)

    def text(self):
        """Inside, %argN is a part of %globalN outside."""
        def global_type(type_):
            size, rest = type_[len("tensor<"):].split("x", 1)
            return f"tensor<{int(size) * self.DEVICES}x{rest}"
        arguments = {name: tensor(self.shape_of(array), element_of(array)) for name, array in self.arguments.items()}
        types = [t for (_, t), _ in self.results]
        global_types = [global_type(t) for t in types]
        given = ", ".join(f"{n.replace('arg', 'global')}: {global_type(t)}" for n, t in arguments.items())
        first = '<@mesh, [{"x"}'
        split = [first + ", {}" * (t.count("x", 0, t.index(element_in(t))) - 1) + "]>"
                 for t in [*arguments.values(), *types]]
        return (f"module attributes {{mhlo.num_partitions = {self.DEVICES} : i32}} {{\n{self.MESH}"
                f"func.func @main({given}) -> ({', '.join(global_types)}) {{\n"
                f"%r:{len(types)} = sdy.manual_computation({', '.join(n.replace('arg', 'global') for n in arguments)}) "
                f"in_shardings=[{', '.join(split[:len(arguments)])}] "
                f"out_shardings=[{', '.join(split[len(arguments):])}] "
                'manual_axes={"x"} ' f"({', '.join(f'{n}: {t}' for n, t in arguments.items())}) {{\n"
                + "\n".join(self.lines)
                + f"\nsdy.return {', '.join(n for (n, _), _ in self.results)} : {', '.join(types)}\n"
                f"}} : ({', '.join(map(global_type, arguments.values()))}) -> ({', '.join(global_types)})\n"
                f"return {', '.join(f'%r#{i}' for i in range(len(types)))} : "
                f"{', '.join(global_types)}\n}}\n{self.symbols}}}\n")


def pairs_of(values):
    return np.repeat(values, len(values)), np.tile(values, len(values))


@functools.cache
def name_of(dtype):
    return next(name for name, t in TYPES.items() if np.dtype(t) == dtype and name not in COMPLEX)


def element_of(array):
    return name_of(array.dtype)


def element_in(type_):
    """The element type of a tensor type."""
    return type_[type_.index("complex"):-1] if "complex" in type_ else type_[len("tensor<"):-1].split("x")[-1]
