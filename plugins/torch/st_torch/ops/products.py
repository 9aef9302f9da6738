"""Matrix products, attention, convolution and pooling."""

import itertools
import math
import struct

from ..emitter import is_float, unsupported
from ..graph import Type
from .elementwise import operand
from .random import native_dropout
from .reductions import LOWEST, softmax, wide
from .shapes import axis
from .table import op

# Matrix products


@op("mm.default", "mv.default", "dot.default")
def mm(e, out, a, b):
    return e.dot(a, b, contract=([a.rank - 1], [0]))


@op("bmm.default")
def bmm(e, out, a, b):
    return e.dot(a, b, ([0], [0]), ([2], [1]))


def _with_addend(e, out, addend, product, beta, alpha):
    product = product if alpha == 1 else e.scale(product, alpha)
    if beta == 0:
        return product
    addend = operand(e, addend, out.dtype, out.shape)
    return e.add(product, addend if beta == 1 else e.scale(addend, beta))


@op("addmm.default", "addmv.default")
def addmm(e, out, addend, a, b, beta=1, alpha=1):
    return _with_addend(e, out, addend, mm(e, out, a, b), beta, alpha)


@op("baddbmm.default")
def baddbmm(e, out, addend, a, b, beta=1, alpha=1):
    return _with_addend(e, out, addend, bmm(e, out, a, b), beta, alpha)


@op("linear.default")
def linear(e, out, x, weight, bias=None):
    product = e.dot(x, weight, contract=([x.rank - 1], [weight.rank - 1]))
    return product if bias is None else e.add(product, e.expand(bias, out.shape))


@op("matmul.default")
def matmul(e, out, a, b):
    if b.rank <= 2:
        return e.dot(a, b, contract=([a.rank - 1], [max(b.rank - 2, 0)]))
    if a.rank == 1:
        return e.dot(b, a, contract=([b.rank - 2], [0]))
    lead = len(out.shape) - 2
    a = e.expand(a, out.shape[:lead] + a.shape[-2:])
    b = e.expand(b, out.shape[:lead] + b.shape[-2:])
    batch = list(range(lead))
    return e.dot(a, b, (batch, batch), ([lead + 1], [lead]))


@op("scaled_dot_product_attention.default")
def attention(e, out, query, key, value, mask=None, dropout=0.0, is_causal=False, scale=None, enable_gqa=False):
    lead = list(query.shape[:-2])
    n = len(lead)
    if enable_gqa:
        key, value = (_repeat_heads(e, v, lead[-1]) for v in (key, value))
    key, value = (e.expand(v, (*lead, *v.shape[-2:])) for v in (key, value))
    batch = list(range(n))
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = e.dot(e.scale(query, scale), key, (batch, batch), ([n + 1], [n + 1]))
    if is_causal:
        rows, columns = e.iota(scores.shape[-2:], 0), e.iota(scores.shape[-2:], 1)
        mask = e.compare("GE", rows, columns)
    masked = None
    if mask is not None and mask.dtype == "i1":
        masked = e.expand(mask, scores.shape)
        scores = e.select(masked, scores, e.like(scores, -3.4028234663852886e38 if scores.dtype != "f16" else -65504.0))
    elif mask is not None:
        scores = e.add(scores, e.expand(e.convert(mask, scores.dtype), scores.shape))
    weights = softmax(e, scores.type, scores, -1)
    if masked is not None and not is_causal:
        # A row without any allowed column is zero.
        allowed = e.spread(e.sum(masked, [n + 1]), [n + 1], scores.shape)
        weights = e.select(allowed, weights, e.like(weights, 0))
    weights, _ = native_dropout(e, weights.type, weights, dropout)
    return e.dot(weights, value, (batch, batch), ([n + 1], [n]))


def _repeat_heads(e, x, heads):
    groups = x.shape[-3]
    shape = [*x.shape[:-2], heads // groups, *x.shape[-2:]]
    repeated = e.broadcast(x, [i for i in range(len(shape)) if i != x.rank - 2], shape)
    return e.reshape(repeated, [*x.shape[:-3], heads, *x.shape[-2:]])


# Convolution


def _each(values, n):
    """One number for each spatial dimension."""
    values = [values] if isinstance(values, int) else list(values)
    return values * n if len(values) == 1 else values


def _transposed_kernel(e, weight, groups):
    """[in, out / groups, ...] as the kernel [out, in / groups, ...] of the convolution, reversed."""
    n = weight.rank - 2
    inputs, outputs, *window = weight.shape
    kernel = e.reshape(weight, [groups, inputs // groups, outputs, *window])
    kernel = e.transpose(kernel, [0, 2, 1, *range(3, 3 + n)])
    kernel = e.reshape(kernel, [groups * outputs, inputs // groups, *window])
    return e.reverse(kernel, range(2, 2 + n))


@op("convolution.default")
def convolution(e, out, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    n = weight.rank - 2
    if x.rank != weight.rank:
        unsupported(f"an input of {x.rank} dimensions with a weight of {weight.rank}")
    stride, padding, dilation, output_padding = (_each(v, n) for v in (stride, padding, dilation, output_padding))
    window, base = weight.shape[2:], [1] * n
    pads = [(p, p) for p in padding]
    if transposed:
        weight = _transposed_kernel(e, weight, groups)
        reach = [dilation[i] * (window[i] - 1) - padding[i] for i in range(n)]
        pads = [(reach[i], reach[i] + output_padding[i]) for i in range(n)]
        base, stride = stride, [1] * n
    names = ", ".join(map(str, range(n)))
    result = e.emit(
        f"stablehlo.convolution({x.name}, {weight.name}) dim_numbers = [b, f, {names}]x[o, i, {names}]->[b, f, {names}], "
        f"window = {{stride = {stride}, pad = {[list(p) for p in pads]}, lhs_dilate = {base}, rhs_dilate = {dilation}}} "
        f"{{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}} : ({x.type}, {weight.type}) -> {out}", out)
    return result if bias is None else e.add(result, e.broadcast(bias, [1], out.shape))


# Pooling


def _pooling_windows(out, x, sizes, strides, padding, dilation):
    """The arguments of a window reduction over the last dimensions of `x`; the shape determines the padding on the right."""
    n = len(sizes)
    lead = x.rank - n
    pads = []
    for i in range(n):
        length = x.shape[lead + i]
        reach = strides[i] * (out.shape[lead + i] - 1) + dilation[i] * (sizes[i] - 1) + 1
        # The last window may end before the padding does.
        pads.append((padding[i], reach - length - padding[i]))
    ones, zeros = [1] * lead, [(0, 0)] * lead
    return ones + list(sizes), ones + list(strides), ones + list(dilation), zeros + pads


def _trim(e, x, pads):
    """Removes the elements that negative padding on the right leaves out."""
    for i, (low, high) in enumerate(pads):
        if high < 0:
            x = e.slice_dim(x, i, 0, x.shape[i] + high)
    return x, [(low, max(high, 0)) for low, high in pads]


def _pool(e, op_name, out, x, sizes, strides, padding, dilation, initial):
    sizes, strides, dilation, pads = _pooling_windows(out, x, sizes, strides, padding, dilation)
    x, pads = _trim(e, x, pads)
    return e.window(op_name, x, sizes, strides, dilation, pads, initial)


@op("max_pool2d_with_indices.default", "max_pool3d_with_indices.default", "max_pool2d.default")
def max_pool(e, out, x, sizes, strides=(), padding=0, dilation=1, ceil_mode=False):
    n = 3 if len(out.shape) - x.rank == 0 and isinstance(sizes, (list, tuple)) and len(sizes) == 3 else 2
    sizes = _each(sizes, n)
    strides = _each(strides, n) if strides else sizes
    initial = -math.inf if is_float(x.dtype) else LOWEST[x.dtype]
    return _pool(e, "maximum", out, x, sizes, strides, _each(padding, n), _each(dilation, n), initial), None


def _window_counts(length, outputs, size, stride, padding, includes_padding):
    """The number of elements that each window is divided by, along one dimension."""
    counts = []
    for i in range(outputs):
        start = i * stride - padding
        if includes_padding:
            counts.append(min(start + size, length + padding) - start)
        else:
            counts.append(min(start + size, length) - max(start, 0))
    return counts


@op("avg_pool1d.default", "avg_pool2d.default", "avg_pool3d.default")
def avg_pool(e, out, x, sizes, strides=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    n = len(sizes)
    strides = _each(strides, n) if strides else list(sizes)
    padding = _each(padding, n)
    total = _pool(e, "add", out, wide(e, x), sizes, strides, padding, [1] * n, 0)
    lead = x.rank - n
    counts = [_window_counts(x.shape[lead + i], out.shape[lead + i], sizes[i], strides[i], padding[i], count_include_pad) for i in range(n)]
    products = [float(divisor_override or math.prod(c)) for c in itertools.product(*counts)]
    if len(set(products)) == 1:
        return e.convert(e.scale(total, 1 / products[0]), out.dtype)
    code = {"f32": "f", "f64": "d"}[total.dtype]
    factors = e.constant(Type(out.shape[lead:], total.dtype), struct.pack(f"<{len(products)}{code}", *(1 / p for p in products)))
    return e.convert(e.mul(total, e.expand(factors, out.shape)), out.dtype)


def _product_along(e, x, dim, rows):
    """Multiplies by a matrix along a dimension, whose size becomes the number of rows."""
    code = {"f32": "f", "f64": "d"}[x.dtype]
    numbers = [number for row in rows for number in row]
    matrix = e.constant(Type((len(rows), x.shape[dim]), x.dtype), struct.pack(f"<{len(numbers)}{code}", *numbers))
    order = list(range(x.rank - 1))
    order.insert(dim, x.rank - 1)
    return e.transpose(e.dot(x, matrix, contract=([dim], [1])), order)


@op("_adaptive_avg_pool2d.default", "_adaptive_avg_pool3d.default", "adaptive_avg_pool1d.default")
def adaptive_avg_pool(e, out, x, sizes):
    """A product with a matrix of averages for each dimension."""
    result = wide(e, x)
    for dim in range(x.rank - len(sizes), x.rank):
        length, outputs = x.shape[dim], out.shape[dim]
        rows = []
        for i in range(outputs):
            start, end = i * length // outputs, -(-(i + 1) * length // outputs)
            rows.append([1 / (end - start) if start <= j < end else 0.0 for j in range(length)])
        if length != outputs:
            result = _product_along(e, result, dim, rows)
    return e.convert(result, out.dtype)


def _interpolation(length, outputs, align_corners, factor):
    """The weights of linear interpolation: a row for each output."""
    rows = []
    for i in range(outputs):
        if align_corners:
            at = i * (length - 1) / (outputs - 1) if outputs > 1 else 0.0
        else:
            at = max((i + 0.5) * (1 / factor if factor else length / outputs) - 0.5, 0.0)
        left = min(int(at), length - 1)
        right, share = min(left + 1, length - 1), at - left
        row = [0.0] * length
        row[left] += 1 - share
        row[right] += share
        rows.append(row)
    return rows


@op("upsample_bilinear2d.vec", "upsample_linear1d.vec")
def upsample_linear(e, out, x, size, align_corners, factors=None):
    result = wide(e, x)
    for dim in range(2, x.rank):
        factor = factors[dim - 2] if factors else None
        result = _product_along(e, result, dim, _interpolation(x.shape[dim], out.shape[dim], align_corners, factor))
    return e.convert(result, out.dtype)


@op("upsample_nearest2d.vec", "upsample_nearest2d.default")
def upsample_nearest(e, out, x, *_, **__):
    for dim in range(2, x.rank):
        length, outputs = x.shape[dim], out.shape[dim]
        if outputs % length:
            unsupported(f"a size of {outputs} from {length}: not a multiple")
        shape = list(x.shape)
        shape.insert(dim + 1, outputs // length)
        x = e.broadcast(x, [i for i in range(len(shape)) if i != dim + 1], shape)
        x = e.reshape(x, [*shape[:dim], outputs, *shape[dim + 2:]])
    return x


@op("glu.default")
def glu(e, out, x, dim=-1):
    dim = axis(dim, x.rank)
    half = x.shape[dim] // 2
    return e.mul(e.slice_dim(x, dim, 0, half), e.unary("logistic", e.slice_dim(x, dim, half, 2 * half)))
