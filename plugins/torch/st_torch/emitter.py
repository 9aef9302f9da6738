"""Writes StableHLO text, an op at a time, with shapes and element types checked as far as the functions here need them."""

import dataclasses
import functools
import math
import struct

from .graph import SIZES, Type, UnsupportedError

FLOATS = ("f64", "f32", "bf16", "f16")
# The order of promotion within each category.
INTEGERS = ("ui8", "i8", "i16", "i32", "i64")
_FLOAT_CODES = {"f64": "d", "f32": "f", "f16": "e"}
_BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "remainder", "and", "or", "xor", "atan2",
           "shift_left", "shift_right_logical")


@dataclasses.dataclass(frozen=True)
class Value:
    """An SSA value. `data` are the bytes of a constant that is known while printing."""
    name: str
    type: Type
    data: bytes | None = None

    @property
    def shape(self):
        return self.type.shape

    @property
    def dtype(self):
        return self.type.dtype

    @property
    def rank(self):
        return len(self.type.shape)


def is_float(dtype):
    return dtype in FLOATS


def promote(*operands):
    """PyTorch's element type of an op on `operands`, Values and Python numbers: a number, then a tensor without dimensions,
    changes the type only if its category (bool, integer, float) is higher."""
    tensors = [v.dtype for v in operands if isinstance(v, Value) and v.rank]
    scalars = [v.dtype for v in operands if isinstance(v, Value) and not v.rank]
    numbers = ["i1" if isinstance(v, bool) else "i64" if isinstance(v, int) else "f32" for v in operands if not isinstance(v, Value)]
    result = None
    for level in (tensors, scalars, numbers):
        if level and (result is None or _category(functools.reduce(_widest, level)) > _category(result)):
            result = functools.reduce(_widest, level)
    return result


def _category(dtype):
    return 2 if is_float(dtype) else 1 if dtype in INTEGERS else 0


def _widest(a, b):
    if _category(a) != _category(b):
        return a if _category(a) > _category(b) else b
    if {a, b} == {"bf16", "f16"}:
        return "f32"
    if {a, b} == {"ui8", "i8"}:
        return "i16"
    order = INTEGERS if a in INTEGERS else tuple(reversed(FLOATS))
    return max(a, b, key=lambda dtype: order.index(dtype) if dtype in order else -1)


def splat_literal(value, dtype):
    """A number as the element of a `dense` attribute."""
    if dtype == "i1":
        return "true" if value else "false"
    if not is_float(dtype):
        return str(int(value))
    value = float(value)
    if math.isfinite(value):
        return f"{value:.17e}" if dtype == "f64" else f"{value:.9e}"
    if dtype == "bf16":
        return f"0x{struct.unpack('<I', struct.pack('<f', value))[0] >> 16:04X}"
    bits = int.from_bytes(struct.pack("<" + _FLOAT_CODES[dtype], value), "little")
    return f"0x{bits:0{2 * SIZES[dtype]}X}"


class Emitter:
    """Collects the lines of a function's body. Ops with equal operands and attributes are emitted once."""

    def __init__(self):
        self.lines = []
        self.known = {}
        self.place = ""
        self.sites = 0  # random masks so far

    def emit(self, text, type, data=None, results=1):
        """Adds an op, `text` with its types; returns its first result, of type `type`."""
        if text in self.known:
            return self.known[text]
        name = f"%{len(self.lines)}"
        value = Value(name if results == 1 else f"{name}#0", type, data)
        left = name if results == 1 else f"{name}:{results}"
        self.lines.append(f"    {left} = {text} loc(\"{self.place}\")" if self.place else f"    {left} = {text}")
        self.known[text] = value
        return value

    # Random masks

    def random_key(self):
        """The program's argument [seed, step]."""
        return Value("%key", Type((2,), "ui32"))

    def next_site(self):
        """The number of a random mask."""
        self.sites += 1
        return self.sites - 1

    # Constants

    def splat(self, number, dtype, shape=()):
        type = Type(tuple(shape), dtype)
        return self.emit(f"stablehlo.constant dense<{splat_literal(number, dtype)}> : {type}", type)

    def like(self, value, number):
        return self.splat(number, value.dtype, value.shape)

    def constant(self, type, data):
        """A tensor of the given bytes."""
        size = SIZES[type.dtype]
        if type.dtype == "i1":
            text = self._nested(type.shape, ["true" if byte else "false" for byte in data])
        elif data and data == data[:size] * (len(data) // size):
            text = f'"0x{data[:size].hex().upper()}"'
        else:
            text = f'"0x{data.hex().upper()}"' if data else ""
        return self.emit(f"stablehlo.constant dense<{text}> : {type}", type, data)

    def _nested(self, shape, items):
        if not shape:
            return items[0]
        step = math.prod(shape[1:])
        return "[" + ", ".join(self._nested(shape[1:], items[i * step:(i + 1) * step]) for i in range(shape[0])) + "]"

    def integers(self, numbers, shape=None):
        """An i64 constant."""
        numbers = list(numbers)
        return self.constant(Type(tuple(shape) if shape is not None else (len(numbers),), "i64"), struct.pack(f"<{len(numbers)}q", *numbers))

    def iota(self, shape, dim, dtype="i64"):
        type = Type(tuple(shape), dtype)
        return self.emit(f"stablehlo.iota dim = {dim} : {type}", type)

    # Elementwise

    def unary(self, op, x):
        return self.emit(f"stablehlo.{op} {x.name} : {x.type}", x.type)

    def binary(self, op, a, b):
        assert op in _BINARY and a.type == b.type, (op, a, b)
        return self.emit(f"stablehlo.{op} {a.name}, {b.name} : {a.type}", a.type)

    def add(self, a, b):
        return self.binary("add", a, b)

    def sub(self, a, b):
        return self.binary("subtract", a, b)

    def mul(self, a, b):
        return self.binary("multiply", a, b)

    def div(self, a, b):
        return self.binary("divide", a, b)

    def scale(self, x, number):
        return self.mul(x, self.like(x, number))

    def offset(self, x, number):
        return self.add(x, self.like(x, number))

    def compare(self, direction, a, b):
        assert a.type == b.type, (a, b)
        kind = "FLOAT" if is_float(a.dtype) else "UNSIGNED" if a.dtype in ("i1", "ui8", "ui32", "ui64") else "SIGNED"
        type = Type(a.shape, "i1")
        return self.emit(f"stablehlo.compare {direction}, {a.name}, {b.name}, {kind} : ({a.type}, {b.type}) -> {type}", type)

    def select(self, condition, a, b):
        assert a.type == b.type and condition.shape == a.shape, (condition, a, b)
        return self.emit(f"stablehlo.select {condition.name}, {a.name}, {b.name} : {condition.type}, {a.type}", a.type)

    def convert(self, x, dtype):
        if x.dtype == dtype:
            return x
        if dtype == "i1":
            return self.compare("NE", x, self.like(x, 0))
        type = Type(x.shape, dtype)
        return self.emit(f"stablehlo.convert {x.name} : ({x.type}) -> {type}", type)

    def stop_gradient(self, x):
        """The same value, which passes no gradient on."""
        return self.emit(f"stablehlo.optimization_barrier {{st.stop_gradient}} {x.name} : {x.type}", x.type)

    # Shapes

    def reshape(self, x, shape):
        type = Type(tuple(shape), x.dtype)
        if x.shape == type.shape:
            return x
        assert math.prod(type.shape) == math.prod(x.shape), (x, shape)
        return self.emit(f"stablehlo.reshape {x.name} : ({x.type}) -> {type}", type, x.data)

    def broadcast(self, x, dims, shape):
        """Dimension i of `x` becomes dims[i] of `shape`."""
        type = Type(tuple(shape), x.dtype)
        if x.shape == type.shape and list(dims) == list(range(x.rank)):
            return x
        return self.emit(f"stablehlo.broadcast_in_dim {x.name}, dims = {list(dims)} : ({x.type}) -> {type}", type)

    def expand(self, x, shape):
        """PyTorch's broadcast: dimensions are aligned on the right."""
        first = len(shape) - x.rank
        return self.broadcast(x, range(first, len(shape)), shape)

    def transpose(self, x, order):
        order = list(order)
        if order == sorted(order):
            return x
        type = Type(tuple(x.shape[i] for i in order), x.dtype)
        return self.emit(f"stablehlo.transpose {x.name}, dims = {order} : ({x.type}) -> {type}", type)

    def slice(self, x, starts, ends, steps=None):
        steps = steps or [1] * x.rank
        type = Type(tuple(len(range(s, e, step)) for s, e, step in zip(starts, ends, steps)), x.dtype)
        if type.shape == x.shape:
            return x
        ranges = ", ".join(f"{s}:{e}" + (f":{step}" if step != 1 else "") for s, e, step in zip(starts, ends, steps))
        return self.emit(f"stablehlo.slice {x.name} [{ranges}] : ({x.type}) -> {type}", type)

    def slice_dim(self, x, dim, start, end, step=1):
        starts, ends, steps = [0] * x.rank, list(x.shape), [1] * x.rank
        starts[dim], ends[dim], steps[dim] = start, end, step
        return self.slice(x, starts, ends, steps)

    def concatenate(self, values, dim):
        if len(values) == 1:
            return values[0]
        shape = list(values[0].shape)
        shape[dim] = sum(v.shape[dim] for v in values)
        type = Type(tuple(shape), values[0].dtype)
        names, types = ", ".join(v.name for v in values), ", ".join(str(v.type) for v in values)
        return self.emit(f"stablehlo.concatenate {names}, dim = {dim} : ({types}) -> {type}", type)

    def pad(self, x, number, low, high):
        """Negative amounts remove elements."""
        type = Type(tuple(low[i] + x.shape[i] + high[i] for i in range(x.rank)), x.dtype)
        if type == x.type and not any(low):
            return x
        value = self.splat(number, x.dtype)
        return self.emit(f"stablehlo.pad {x.name}, {value.name}, low = {list(low)}, high = {list(high)}, interior = {[0] * x.rank} : "
                         f"({x.type}, {value.type}) -> {type}", type)

    def reverse(self, x, dims):
        return self.emit(f"stablehlo.reverse {x.name}, dims = {sorted(dims)} : {x.type}", x.type)

    # Reductions and products

    def reduce(self, op, x, dims, initial, passes_gradient=True):
        if not dims:
            return x
        type = Type(tuple(size for i, size in enumerate(x.shape) if i not in dims), x.dtype)
        zero, mark = self.splat(initial, x.dtype), "" if passes_gradient else " {st.stop_gradient}"
        return self.emit(f"stablehlo.reduce({x.name} init: {zero.name}) applies stablehlo.{op} across dimensions = {sorted(dims)}{mark} : "
                         f"({x.type}, {zero.type}) -> {type}", type)

    def sum(self, x, dims):
        return self.reduce("or" if x.dtype == "i1" else "add", x, dims, 0)

    def spread(self, x, dims, shape):
        """Undoes the removal of `dims` by a reduction: repeats `x` along them."""
        return self.broadcast(x, [i for i in range(len(shape)) if i not in dims], shape)

    def dot(self, a, b, batch=((), ()), contract=((), ())):
        free = [[i for i in range(v.rank) if i not in (*batch[side], *contract[side])] for side, v in enumerate((a, b))]
        shape = [a.shape[i] for i in batch[0]] + [a.shape[i] for i in free[0]] + [b.shape[i] for i in free[1]]
        type = Type(tuple(shape), a.dtype)
        batching = f"batching_dims = {list(batch[0])} x {list(batch[1])}, " if batch[0] else ""
        return self.emit(f"stablehlo.dot_general {a.name}, {b.name}, {batching}contracting_dims = {list(contract[0])} x {list(contract[1])} : "
                         f"({a.type}, {b.type}) -> {type}", type)

    def window(self, op, x, sizes, strides, dilations, padding, initial):
        """A window reduction; `padding` is a pair for each dimension."""
        shape = []
        for i, (low, high) in enumerate(padding):
            shape.append((x.shape[i] + low + high - dilations[i] * (sizes[i] - 1) - 1) // strides[i] + 1)
        type, zero = Type(tuple(shape), x.dtype), self.splat(initial, x.dtype)
        pads = ", ".join(f"[{low}, {high}]" for low, high in padding)
        arrays = [", ".join(map(str, v)) for v in (sizes, strides, [1] * x.rank, dilations)]
        element = zero.type
        return self.emit(
            f'"stablehlo.reduce_window"({x.name}, {zero.name}) <{{window_dimensions = array<i64: {arrays[0]}>, window_strides = array<i64: {arrays[1]}>, '
            f"base_dilations = array<i64: {arrays[2]}>, window_dilations = array<i64: {arrays[3]}>, "
            f"padding = dense<[{pads}]> : tensor<{x.rank}x2xi64>}}> ({{\n    ^bb0(%a: {element}, %b: {element}):\n"
            f"      %r = stablehlo.{op} %a, %b : {element}\n      stablehlo.return %r : {element}\n    }}) : ({x.type}, {element}) -> {type}", type)

    # Indexing

    def gather(self, x, indices, *, offset_dims, collapsed, start_map, sizes, shape, batching=((), ()), passes_gradient=True):
        """stablehlo.gather; the coordinates are the last dimension of `indices`."""
        type = Type(tuple(shape), x.dtype)
        batch = f"operand_batching_dims = {list(batching[0])}, start_indices_batching_dims = {list(batching[1])}, " if batching[0] else ""
        mark = "" if passes_gradient else " {st.stop_gradient}"
        return self.emit(
            f'"stablehlo.gather"({x.name}, {indices.name}) <{{dimension_numbers = #stablehlo.gather<offset_dims = {list(offset_dims)}, '
            f"collapsed_slice_dims = {list(collapsed)}, {batch}start_index_map = {list(start_map)}, index_vector_dim = {indices.rank - 1}>, "
            f"indices_are_sorted = false, slice_sizes = array<i64: {', '.join(map(str, sizes))}>}}>{mark} : ({x.type}, {indices.type}) -> {type}", type)

    def scatter(self, x, indices, updates, *, window_dims, inserted, to_operand, op):
        """stablehlo.scatter; the coordinates are the last dimension of `indices`. `op` combines old and new elements, or None."""
        element = Type((), x.dtype)
        body = f"%r = stablehlo.{op} %a, %b : {element}\n      stablehlo.return %r : {element}" if op else f"stablehlo.return %b : {element}"
        return self.emit(
            f'"stablehlo.scatter"({x.name}, {indices.name}, {updates.name}) <{{indices_are_sorted = false, scatter_dimension_numbers = '
            f"#stablehlo.scatter<update_window_dims = {list(window_dims)}, inserted_window_dims = {list(inserted)}, "
            f"scatter_dims_to_operand_dims = {list(to_operand)}, index_vector_dim = {indices.rank - 1}>, unique_indices = false}}> "
            f"({{\n    ^bb0(%a: {element}, %b: {element}):\n      {body}\n    }}) : ({x.type}, {indices.type}, {updates.type}) -> {x.type}", x.type)


def unsupported(message):
    raise UnsupportedError(message)
