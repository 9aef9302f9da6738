"""Arithmetic, comparisons and functions of each element."""

import math

from ..emitter import Value, is_float, promote, unsupported
from .table import op

LN2 = math.log(2.0)


def operand(e, value, dtype, shape):
    """A tensor or a number as a tensor of the given type."""
    if isinstance(value, Value):
        return e.expand(e.convert(value, dtype), shape)
    return e.splat(value, dtype, shape)


def operands(e, out, *values):
    """Operands of arithmetic, in the result's type."""
    return [operand(e, value, out.dtype, out.shape) for value in values]


def floats(e, out, x):
    """The operand of a function that converts integers to floats."""
    return e.convert(x, out.dtype)


# Arithmetic


@op("add.Tensor", "add.Scalar")
def add(e, out, x, y, alpha=1):
    x, y = operands(e, out, x, y)
    if out.dtype == "i1":
        return e.binary("or", x, y)
    return e.add(x, y if alpha == 1 else e.scale(y, alpha))


@op("sub.Tensor", "sub.Scalar")
def sub(e, out, x, y, alpha=1):
    x, y = operands(e, out, x, y)
    return e.sub(x, y if alpha == 1 else e.scale(y, alpha))


@op("rsub.Tensor", "rsub.Scalar")
def rsub(e, out, x, y, alpha=1):
    return sub(e, out, y, x) if alpha == 1 else sub(e, out, y, e.scale(e.convert(x, out.dtype), alpha))


@op("mul.Tensor", "mul.Scalar")
def mul(e, out, x, y):
    x, y = operands(e, out, x, y)
    return e.binary("and", x, y) if out.dtype == "i1" else e.mul(x, y)


@op("div.Tensor", "div.Scalar", "true_divide.Tensor")
def div(e, out, x, y):
    return e.div(*operands(e, out, x, y))


@op("div.Tensor_mode", "div.Scalar_mode")
def div_mode(e, out, x, y, rounding_mode=None):
    if rounding_mode is None:
        return div(e, out, x, y)
    if rounding_mode == "floor":
        return floor_divide(e, out, x, y)
    x, y = operands(e, out, x, y)
    return trunc(e, out, e.div(x, y))


@op("floor_divide.default", "floor_divide.Scalar")
def floor_divide(e, out, x, y):
    x, y = operands(e, out, x, y)
    quotient = e.div(x, y)
    if is_float(out.dtype):
        return e.unary("floor", quotient)
    # Integers are divided towards zero.
    zeros = e.like(x, 0)
    inexact = e.compare("NE", e.mul(quotient, y), x)
    opposite = e.compare("NE", e.compare("LT", x, zeros), e.compare("LT", y, zeros))
    return e.select(e.binary("and", inexact, opposite), e.offset(quotient, -1), quotient)


@op("fmod.Tensor", "fmod.Scalar")
def fmod(e, out, x, y):
    return e.binary("remainder", *operands(e, out, x, y))


@op("remainder.Tensor", "remainder.Scalar")
def remainder(e, out, x, y):
    x, y = operands(e, out, x, y)
    left, zeros = e.binary("remainder", x, y), e.like(x, 0)
    opposite = e.compare("NE", e.compare("LT", left, zeros), e.compare("LT", y, zeros))
    return e.select(e.binary("and", opposite, e.compare("NE", left, zeros)), e.add(left, y), left)


@op("pow.Tensor_Tensor", "pow.Scalar")
def power(e, out, x, y):
    return e.binary("power", *operands(e, out, x, y))


@op("pow.Tensor_Scalar")
def power_scalar(e, out, x, exponent):
    x = e.convert(x, out.dtype)
    if exponent in (2, 3, 4) or exponent == 1:
        result = x
        for _ in range(int(exponent) - 1):
            result = e.mul(result, x)
        return result
    if exponent == 0:
        return e.like(x, 1)
    if is_float(out.dtype) and exponent in (0.5, -0.5):
        return e.unary("sqrt" if exponent > 0 else "rsqrt", x)
    if is_float(out.dtype) and exponent == -1:
        return e.div(e.like(x, 1), x)
    return e.binary("power", x, e.like(x, exponent))


@op("maximum.default")
def maximum(e, out, x, y):
    return e.binary("maximum", *operands(e, out, x, y))


@op("minimum.default")
def minimum(e, out, x, y):
    return e.binary("minimum", *operands(e, out, x, y))


@op("atan2.default")
def atan2(e, out, y, x):
    return e.binary("atan2", *operands(e, out, y, x))


@op("hypot.default")
def hypot(e, out, x, y):
    x, y = operands(e, out, x, y)
    return e.unary("sqrt", e.add(e.mul(x, x), e.mul(y, y)))


@op("addcmul.default")
def addcmul(e, out, x, a, b, value=1):
    x, a, b = operands(e, out, x, a, b)
    product = e.mul(a, b)
    return e.add(x, product if value == 1 else e.scale(product, value))


@op("addcdiv.default")
def addcdiv(e, out, x, a, b, value=1):
    x, a, b = operands(e, out, x, a, b)
    quotient = e.div(a, b)
    return e.add(x, quotient if value == 1 else e.scale(quotient, value))


@op("lerp.Scalar", "lerp.Tensor")
def lerp(e, out, x, end, weight):
    x, end, weight = operands(e, out, x, end, weight)
    return e.add(x, e.mul(weight, e.sub(end, x)))


# Comparisons and logic


def _comparison(direction):
    def function(e, out, x, y):
        dtype = promote(x, y)
        return e.compare(direction, operand(e, x, dtype, out.shape), operand(e, y, dtype, out.shape))
    return function


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    op(f"{_name}.Tensor", f"{_name}.Scalar")(_comparison(_name.upper()))


def _bitwise(name):
    def function(e, out, x, y):
        return e.binary(name, *operands(e, out, x, y))
    return function


for _name in ("and", "or", "xor"):
    op(f"bitwise_{_name}.Tensor", f"bitwise_{_name}.Scalar", f"logical_{_name}.default")(_bitwise(_name))


@op("logical_not.default")
def logical_not(e, out, x):
    return e.compare("EQ", x, e.like(x, 0))


@op("bitwise_not.default")
def bitwise_not(e, out, x):
    return e.unary("not", x)


@op("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def where(e, out, condition, x, y):
    return e.select(e.expand(condition, out.shape), *operands(e, out, x, y))


@op("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(e, out, x, mask, value):
    return where(e, out, mask, value, x)


@op("isnan.default")
def isnan(e, out, x):
    return e.compare("NE", x, x)


@op("isinf.default")
def isinf(e, out, x):
    return e.compare("EQ", e.unary("abs", x), e.like(x, math.inf))


# Functions of one element


def _function(name):
    def function(e, out, x):
        return e.unary(name, floats(e, out, x))
    return function


for _name, _op in (("exp", "exponential"), ("expm1", "exponential_minus_one"), ("log", "log"), ("log1p", "log_plus_one"),
                   ("sqrt", "sqrt"), ("rsqrt", "rsqrt"), ("sin", "sine"), ("cos", "cosine"), ("tan", "tan"), ("tanh", "tanh"),
                   ("sigmoid", "logistic"), ("neg", "negate"), ("floor", "floor"), ("ceil", "ceil"), ("sign", "sign"),
                   ("round", "round_nearest_even")):
    op(f"{_name}.default")(_function(_op))


def _chlo(name):
    def function(e, out, x):
        x = floats(e, out, x)
        return e.emit(f"chlo.{name} {x.name} : {x.type} -> {x.type}", x.type)
    return function


for _name in ("erf", "erfc", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh"):
    op(f"{_name}.default")(_chlo(_name))


@op("erfinv.default")
def erfinv(e, out, x):
    return _chlo("erf_inv")(e, out, x)


@op("log2.default")
def log2(e, out, x):
    return e.scale(e.unary("log", floats(e, out, x)), 1 / LN2)


@op("log10.default")
def log10(e, out, x):
    return e.scale(e.unary("log", floats(e, out, x)), 1 / math.log(10.0))


@op("exp2.default")
def exp2(e, out, x):
    return e.unary("exponential", e.scale(floats(e, out, x), LN2))


@op("reciprocal.default")
def reciprocal(e, out, x):
    x = floats(e, out, x)
    return e.div(e.like(x, 1), x)


@op("square.default")
def square(e, out, x):
    return e.mul(x, x)


@op("abs.default")
def absolute(e, out, x):
    # The gradient at zero is zero.
    return e.mul(x, e.unary("sign", x)) if is_float(x.dtype) else e.unary("abs", x)


@op("trunc.default")
def trunc(e, out, x):
    if not is_float(x.dtype):
        return x
    return e.mul(e.unary("sign", x), e.unary("floor", e.unary("abs", x)))


# Activations. Selections, where a maximum would have another gradient at equal operands.


@op("relu.default")
def relu(e, out, x):
    zeros = e.like(x, 0)
    return e.select(e.compare("GT", x, zeros), x, zeros)


@op("clamp.default", "clamp.Tensor")
def clamp(e, out, x, low=None, high=None):
    x = e.expand(e.convert(x, out.dtype), out.shape)
    for bound, beyond in ((low, "LT"), (high, "GT")):
        if bound is not None:
            bound = operand(e, bound, out.dtype, out.shape)
            x = e.select(e.compare(beyond, x, bound), bound, x)
    return x


@op("clamp_min.default", "clamp_min.Tensor")
def clamp_min(e, out, x, low):
    return clamp(e, out, x, low)


@op("clamp_max.default", "clamp_max.Tensor")
def clamp_max(e, out, x, high):
    return clamp(e, out, x, None, high)


@op("hardtanh.default")
def hardtanh(e, out, x, low=-1.0, high=1.0):
    for bound, beyond in ((low, "LE"), (high, "GE")):
        bound = e.like(x, bound)
        x = e.select(e.compare(beyond, x, bound), bound, x)
    return x


@op("relu6.default")
def relu6(e, out, x):
    return hardtanh(e, out, x, 0.0, 6.0)


@op("hardsigmoid.default")
def hardsigmoid(e, out, x):
    return e.scale(hardtanh(e, out, e.offset(x, 3.0), 0.0, 6.0), 1 / 6)


@op("hardswish.default")
def hardswish(e, out, x):
    return e.mul(x, hardsigmoid(e, out, x))


@op("leaky_relu.default")
def leaky_relu(e, out, x, slope=0.01):
    return e.select(e.compare("GT", x, e.like(x, 0)), x, e.scale(x, slope))


@op("elu.default")
def elu(e, out, x, alpha=1.0, scale=1.0, input_scale=1.0):
    zeros = e.like(x, 0)
    positive = e.compare("GT", x, zeros)
    # The other branch must not overflow: its gradient would be infinity times zero.
    safe = e.select(positive, zeros, x)
    low = e.scale(e.unary("exponential_minus_one", e.scale(safe, input_scale)), alpha * scale)
    return e.select(positive, e.scale(x, scale), low)


@op("silu.default")
def silu(e, out, x):
    return e.mul(x, e.unary("logistic", x))


@op("softplus.default")
def softplus(e, out, x, beta=1.0, threshold=20.0):
    scaled = e.scale(x, beta)
    linear = e.compare("GT", scaled, e.like(x, threshold))
    safe = e.select(linear, e.like(x, 0), scaled)
    soft = e.scale(e.unary("log_plus_one", e.unary("exponential", safe)), 1 / beta)
    return e.select(linear, x, soft)


@op("gelu.default")
def gelu(e, out, x, approximate="none"):
    half = e.scale(x, 0.5)
    if approximate == "none":
        inner = e.scale(x, math.sqrt(0.5))
        return e.mul(half, e.offset(e.emit(f"chlo.erf {inner.name} : {inner.type} -> {inner.type}", inner.type), 1.0))
    slope = e.offset(e.scale(e.mul(x, x), 0.044715), 1.0)
    inner = e.scale(e.mul(x, slope), math.sqrt(2 / math.pi))
    return e.mul(half, e.offset(e.unary("tanh", inner), 1.0))


@op("log_sigmoid.default")
def log_sigmoid(e, out, x):
    return e.unary("negate", softplus(e, out, e.unary("negate", x), 1.0, math.inf))


# Copies


@op("clone.default", "alias.default", "lift_fresh_copy.default", "contiguous.default", "view_of.default")
def same(e, out, x, memory_format=None):
    return x


@op("_to_copy.default", "to.dtype", "_conj.default")
def to_copy(e, out, x, dtype=None, **_):
    if is_float(x.dtype) and not is_float(out.dtype) and out.dtype != "i1":
        return e.convert(trunc(e, out, x), out.dtype)
    return e.convert(x, out.dtype)


@op("copy.default")
def copy(e, out, x, source, non_blocking=False):
    return operand(e, source, out.dtype, out.shape)


@op("detach.default")
def detach(e, out, x):
    return e.stop_gradient(x)


@op("_assert_tensor_metadata.default", "_assert_scalar.default", "_assert_async.msg")
def nothing(e, out, *_, **__):
    return ()


# Constants


@op("full.default", "scalar_tensor.default")
def full(e, out, *args, **_):
    number = args[-1]
    return e.splat(number, out.dtype, out.shape)


@op("full_like.default")
def full_like(e, out, x, number, **_):
    return e.splat(number, out.dtype, out.shape)


@op("zeros.default", "zeros_like.default", "new_zeros.default")
def zeros(e, out, *_, **__):
    return e.splat(0, out.dtype, out.shape)


@op("ones.default", "ones_like.default", "new_ones.default")
def ones(e, out, *_, **__):
    return e.splat(1, out.dtype, out.shape)


@op("arange.start_step", "arange.start", "arange.default")
def arange(e, out, *args, **_):
    start, _, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    numbers = e.convert(e.iota(out.shape, 0), out.dtype)
    numbers = numbers if step == 1 else e.scale(numbers, step)
    return numbers if start == 0 else e.offset(numbers, start)


@op("item.default", "_local_scalar_dense.default")
def item(e, out, x):
    return unsupported("a number that depends on data")
