"""Reductions, softmax and normalisation. Sums of 16-bit elements are computed in f32."""

import math

from ..emitter import is_float, unsupported
from .shapes import axes, axis
from .table import op

LOWEST = {"ui8": 0, "i1": 0, "i8": -2**7, "i16": -2**15, "i32": -2**31, "i64": -2**63}


def wide(e, x):
    """16-bit floats as f32."""
    return e.convert(x, "f32") if x.dtype in ("bf16", "f16") else x


def count(shape, dims):
    return math.prod(shape[i] for i in dims)


@op("sum.dim_IntList", "sum.default")
def sum_(e, out, x, dims=None, keepdim=False, dtype=None):
    total = e.sum(wide(e, e.convert(x, out.dtype)), axes(dims, x.rank))
    return e.reshape(e.convert(total, out.dtype), out.shape)


@op("mean.dim", "mean.default")
def mean(e, out, x, dims=None, keepdim=False, dtype=None):
    dims = axes(dims, x.rank)
    total = e.sum(wide(e, e.convert(x, out.dtype)), dims)
    return e.reshape(e.convert(e.scale(total, _inverse(count(x.shape, dims))), out.dtype), out.shape)


def _inverse(number):
    return 1 / number if number else math.nan


@op("var.correction", "var.dim")
def var(e, out, x, dims=None, correction=1, keepdim=False):
    dims = axes(dims, x.rank)
    elements = count(x.shape, dims)
    centered, _ = _center(e, wide(e, x), dims)
    total = e.sum(e.mul(centered, centered), dims)
    return e.reshape(e.convert(e.scale(total, _inverse(max(elements - correction, 0))), out.dtype), out.shape)


@op("std.correction")
def std(e, out, x, dims=None, correction=1, keepdim=False):
    return e.unary("sqrt", var(e, out, x, dims, correction, keepdim))


def lowest(dtype):
    return -math.inf if is_float(dtype) else LOWEST[dtype]


def highest(dtype):
    return math.inf if is_float(dtype) else {"i1": 1, "ui8": 255}.get(dtype, -1 - LOWEST[dtype])


@op("amax.default", "max.default")
def amax(e, out, x, dims=None, keepdim=False):
    return e.reshape(e.reduce("maximum", x, axes(dims, x.rank), lowest(x.dtype)), out.shape)


@op("amin.default", "min.default")
def amin(e, out, x, dims=None, keepdim=False):
    return e.reshape(e.reduce("minimum", x, axes(dims, x.rank), highest(x.dtype)), out.shape)


@op("prod.dim_int", "prod.default")
def prod(e, out, x, dim=None, keepdim=False, dtype=None):
    return e.reshape(e.reduce("multiply", e.convert(x, out.dtype), axes(dim, x.rank), 1), out.shape)


@op("any.dim", "any.dims", "any.default")
def any_(e, out, x, dims=None, keepdim=False):
    return e.reshape(e.convert(e.sum(e.convert(x, "i1"), axes(dims, x.rank)), out.dtype), out.shape)


@op("all.dim", "all.dims", "all.default")
def all_(e, out, x, dims=None, keepdim=False):
    return e.reshape(e.convert(e.reduce("and", e.convert(x, "i1"), axes(dims, x.rank), 1), out.dtype), out.shape)


@op("linalg_vector_norm.default")
def vector_norm(e, out, x, order=2, dims=None, keepdim=False, dtype=None):
    if order != 2:
        unsupported(f"a norm of order {order}")
    x = wide(e, x)
    total = e.sum(e.mul(x, x), axes(dims, x.rank))
    # The gradient at zero is zero.
    zeros = e.like(total, 0)
    positive = e.compare("GT", total, zeros)
    root = e.unary("sqrt", e.select(positive, total, e.like(total, 1)))
    return e.reshape(e.convert(e.select(positive, root, zeros), out.dtype), out.shape)


@op("cumsum.default")
def cumsum(e, out, x, dim, dtype=None):
    x = e.convert(x, out.dtype)
    if not x.rank:
        return x
    dim = axis(dim, x.rank)
    ones = [1] * x.rank
    sizes = [x.shape[i] if i == dim else 1 for i in range(x.rank)]
    padding = [(x.shape[i] - 1, 0) if i == dim else (0, 0) for i in range(x.rank)]
    return e.convert(e.window("add", wide(e, x), sizes, ones, ones, padding, 0), out.dtype)


# Softmax. The maximum of a row changes neither result, so no gradient flows through it.


def _shifted(e, x, dim):
    maximum = e.reduce("maximum", x, [dim], -math.inf, passes_gradient=False)
    return e.sub(x, e.spread(maximum, [dim], x.shape))


@op("_softmax.default", "softmax.int", "_safe_softmax.default")
def softmax(e, out, x, dim, half_to_float=False, dtype=None):
    x = wide(e, e.convert(x, out.dtype))
    if not x.rank:
        return e.convert(e.like(x, 1), out.dtype)
    dim = axis(dim, x.rank)
    exponential = e.unary("exponential", _shifted(e, x, dim))
    total = e.sum(exponential, [dim])
    inverse = e.div(e.like(total, 1), total)
    return e.convert(e.mul(exponential, e.spread(inverse, [dim], x.shape)), out.dtype)


@op("_log_softmax.default", "log_softmax.int")
def log_softmax(e, out, x, dim, half_to_float=False, dtype=None):
    x = wide(e, e.convert(x, out.dtype))
    if not x.rank:
        return e.convert(e.like(x, 0), out.dtype)
    dim = axis(dim, x.rank)
    shifted = _shifted(e, x, dim)
    total = e.unary("log", e.sum(e.unary("exponential", shifted), [dim]))
    return e.convert(e.sub(shifted, e.spread(total, [dim], x.shape)), out.dtype)


@op("logsumexp.default")
def logsumexp(e, out, x, dims, keepdim=False):
    x, dims = wide(e, x), axes(dims, x.rank)
    maximum = e.reduce("maximum", x, dims, -math.inf, passes_gradient=False)
    total = e.sum(e.unary("exponential", e.sub(x, e.spread(maximum, dims, x.shape))), dims)
    return e.reshape(e.convert(e.add(e.unary("log", total), maximum), out.dtype), out.shape)


# Normalisation


def _center(e, x, dims):
    """The distances from the mean over `dims`, and the mean."""
    average = e.scale(e.sum(x, dims), _inverse(count(x.shape, dims)))
    return e.sub(x, e.spread(average, dims, x.shape)), average


def _normalize(e, x, dims, eps):
    """The normalised values, the mean, the variance and the inverse deviation."""
    centered, average = _center(e, x, dims)
    variance = e.scale(e.sum(e.mul(centered, centered), dims), _inverse(count(x.shape, dims)))
    inverse = e.unary("rsqrt", e.offset(variance, eps))
    return e.mul(centered, e.spread(inverse, dims, x.shape)), average, variance, inverse


def _scale_and_shift(e, x, weight, bias, dims):
    """Multiplies by `weight` and adds `bias`, whose dimensions are `dims` of `x`."""
    if weight is not None:
        x = e.mul(x, e.broadcast(e.convert(weight, x.dtype), dims, x.shape))
    return x if bias is None else e.add(x, e.broadcast(e.convert(bias, x.dtype), dims, x.shape))


@op("native_layer_norm.default", "layer_norm.default")
def layer_norm(e, out, x, shape, weight=None, bias=None, eps=1e-5, _=None):
    dims = list(range(x.rank - len(shape), x.rank))
    normalized, average, _, inverse = _normalize(e, wide(e, x), dims, eps)
    result = e.convert(_scale_and_shift(e, normalized, weight, bias, dims), out.dtype)
    kept = [1 if i in dims else size for i, size in enumerate(x.shape)]
    return result, e.reshape(average, kept), e.reshape(inverse, kept)


@op("rms_norm.default", "_fused_rms_norm.default")
def rms_norm(e, out, x, shape, weight=None, eps=None):
    dims = list(range(x.rank - len(shape), x.rank))
    if eps is None:
        eps = {"f64": 2.0**-52, "f32": 2.0**-23, "bf16": 2.0**-7, "f16": 2.0**-10}[x.dtype]
    given = wide(e, x)
    square = e.scale(e.sum(e.mul(given, given), dims), _inverse(count(x.shape, dims)))
    normalized = e.mul(given, e.spread(e.unary("rsqrt", e.offset(square, eps)), dims, x.shape))
    return e.convert(_scale_and_shift(e, normalized, weight, None, dims), out.dtype), None


@op("native_group_norm.default")
def group_norm(e, out, x, weight, bias, batch, channels, size, groups, eps):
    given = e.reshape(wide(e, x), [batch, groups, channels // groups * size])
    normalized, average, _, inverse = _normalize(e, given, [2], eps)
    result = _scale_and_shift(e, e.reshape(normalized, x.shape), weight, bias, [1])
    return e.convert(result, out.dtype), average, inverse


def _batch_norm_with_statistics(e, out, x, weight, bias, average, variance, eps):
    inverse = e.unary("rsqrt", e.offset(variance, eps))
    x = wide(e, x)
    centered = e.sub(x, e.broadcast(e.convert(average, x.dtype), [1], x.shape))
    normalized = e.mul(centered, e.broadcast(e.convert(inverse, x.dtype), [1], x.shape))
    return e.convert(_scale_and_shift(e, normalized, weight, bias, [1]), out.dtype)


@op("_native_batch_norm_legit_no_training.default")
def batch_norm_inference(e, out, x, weight, bias, running_mean, running_var, momentum, eps):
    return _batch_norm_with_statistics(e, out, x, weight, bias, running_mean, running_var, eps), None, None


@op("_native_batch_norm_legit_functional.default")
def batch_norm_training(e, out, x, weight, bias, running_mean, running_var, training, momentum, eps):
    """The result, and the new running statistics as results 3 and 4."""
    if not training:
        result = _batch_norm_with_statistics(e, out, x, weight, bias, running_mean, running_var, eps)
        return result, None, None, running_mean, running_var
    dims = [i for i in range(x.rank) if i != 1]
    normalized, average, variance, inverse = _normalize(e, wide(e, x), dims, eps)
    elements = count(x.shape, dims)
    unbiased = e.scale(variance, _inverse(elements - 1) * elements)

    def moved(running, found):
        return e.add(e.scale(running, 1 - momentum), e.scale(e.convert(found, running.dtype), momentum))

    result = e.convert(_scale_and_shift(e, normalized, weight, bias, [1]), out.dtype)
    return result, average, inverse, moved(running_mean, average), moved(running_var, unbiased)


@op("_native_batch_norm_legit.no_stats")
def batch_norm_without_statistics(e, out, x, weight, bias, training, momentum, eps):
    dims = [i for i in range(x.rank) if i != 1]
    normalized, average, _, inverse = _normalize(e, wide(e, x), dims, eps)
    return e.convert(_scale_and_shift(e, normalized, weight, bias, [1]), out.dtype), average, inverse
