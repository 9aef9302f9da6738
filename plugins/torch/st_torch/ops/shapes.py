"""Data movement."""

import math

from ..emitter import unsupported
from .table import op


def axis(dim, rank):
    """A dimension counted from the front."""
    return dim + max(rank, 1) if dim < 0 else dim


def axes(dims, rank):
    """Dimensions counted from the front; all of them for None or []."""
    if dims is None or dims == []:
        return list(range(rank))
    return [axis(dim, rank) for dim in (dims if isinstance(dims, (list, tuple)) else [dims]) if rank]


@op("view.default", "_unsafe_view.default", "reshape.default", "view_copy.default", "squeeze.dim", "squeeze.dims", "squeeze.default",
    "unsqueeze.default", "flatten.using_ints")
def reshape(e, out, x, *_):
    return e.reshape(x, out.shape)


@op("permute.default", "permute_copy.default")
def permute(e, out, x, dims):
    return e.transpose(x, axes(dims, x.rank))


@op("transpose.int", "transpose_copy.int")
def transpose(e, out, x, a, b):
    order = list(range(x.rank))
    a, b = axis(a, x.rank), axis(b, x.rank)
    if x.rank:
        order[a], order[b] = b, a
    return e.transpose(x, order)


@op("t.default", "numpy_T.default")
def t(e, out, x):
    return e.transpose(x, list(range(x.rank))[::-1])


@op("expand.default", "expand_copy.default", "broadcast_to.default")
def expand(e, out, x, *_, **__):
    return e.expand(x, out.shape)


@op("expand_as.default")
def expand_as(e, out, x, other):
    return e.expand(x, out.shape)


@op("slice.Tensor", "slice_copy.Tensor")
def slice_(e, out, x, dim=0, start=None, end=None, step=1):
    dim = axis(dim, x.rank)
    start, end, step = slice(start, end, step).indices(x.shape[dim])
    return e.slice_dim(x, dim, start, max(start, end), step)


@op("narrow.default")
def narrow(e, out, x, dim, start, length):
    return slice_(e, out, x, dim, start, start + length if start >= 0 else x.shape[dim] + start + length)


@op("select.int", "select_copy.int")
def select(e, out, x, dim, index):
    dim = axis(dim, x.rank)
    index = axis(index, x.shape[dim])
    return e.reshape(e.slice_dim(x, dim, index, index + 1), out.shape)


@op("slice_scatter.default")
def slice_scatter(e, out, x, source, dim=0, start=None, end=None, step=1):
    dim = axis(dim, x.rank)
    start, end, step = slice(start, end, step).indices(x.shape[dim])
    if step != 1:
        unsupported(f"a step of {step}")
    source = e.convert(source, x.dtype)
    parts = [e.slice_dim(x, dim, 0, start), source, e.slice_dim(x, dim, max(start, end), x.shape[dim])]
    return e.concatenate([part for part in parts if part.shape[dim]] or [x], dim)


@op("select_scatter.default")
def select_scatter(e, out, x, source, dim, index):
    dim = axis(dim, x.rank)
    index = axis(index, x.shape[dim])
    shape = [1 if i == dim else size for i, size in enumerate(x.shape)]
    return slice_scatter(e, out, x, e.reshape(source, shape), dim, index, index + 1)


@op("cat.default", "concat.default")
def cat(e, out, values, dim=0):
    # PyTorch skips vectors without elements.
    kept = [v for v in values if v.shape != (0,) or len(out.shape) == 1]
    return e.concatenate([e.convert(v, out.dtype) for v in kept], axis(dim, len(out.shape)))


@op("stack.default")
def stack(e, out, values, dim=0):
    dim = axis(dim, len(out.shape))
    shape = [1 if i == dim else size for i, size in enumerate(out.shape)]
    return e.concatenate([e.reshape(e.convert(v, out.dtype), shape) for v in values], dim)


@op("split_with_sizes.default", "split_with_sizes_copy.default")
def split_with_sizes(e, out, x, sizes, dim=0):
    dim, start, parts = axis(dim, x.rank), 0, []
    for size in sizes:
        parts.append(e.slice_dim(x, dim, start, start + size))
        start += size
    return tuple(parts)


@op("split.Tensor", "split_copy.Tensor")
def split(e, out, x, size, dim=0):
    length = x.shape[axis(dim, x.rank)]
    return split_with_sizes(e, out, x, [min(size, length - start) for start in range(0, length, size)], dim)


@op("chunk.default")
def chunk(e, out, x, chunks, dim=0):
    return split(e, out, x, -(-x.shape[axis(dim, x.rank)] // chunks), dim)


@op("unbind.int", "unbind_copy.int")
def unbind(e, out, x, dim=0):
    return tuple(select(e, out, x, dim, i) for i in range(x.shape[axis(dim, x.rank)]))


@op("repeat.default", "tile.default")
def repeat(e, out, x, repeats):
    shape = [1] * (len(repeats) - x.rank) + list(x.shape)
    repeats = [1] * (len(shape) - len(repeats)) + list(repeats)
    # [d] becomes [repeats, d], then one dimension.
    pairs = [v for pair in zip(repeats, shape) for v in pair]
    kept = range(2 * (len(shape) - x.rank) + 1, len(pairs), 2)
    return e.reshape(e.broadcast(x, kept, pairs), out.shape)


@op("flip.default")
def flip(e, out, x, dims):
    dims = axes(dims, x.rank) if dims else []
    return e.reverse(x, dims) if dims else x


@op("roll.default")
def roll(e, out, x, shifts, dims=()):
    if not dims:
        return e.reshape(roll(e, out, e.reshape(x, [math.prod(x.shape)]), shifts, [0]), x.shape)
    for shift, dim in zip(shifts, axes(dims, x.rank)):
        length = x.shape[dim]
        cut = -shift % length if length else 0
        if cut:
            x = e.concatenate([e.slice_dim(x, dim, cut, length), e.slice_dim(x, dim, 0, cut)], dim)
    return x


@op("constant_pad_nd.default")
def constant_pad(e, out, x, padding, value=0):
    low, high = [0] * x.rank, [0] * x.rank
    for i in range(len(padding) // 2):
        low[x.rank - 1 - i], high[x.rank - 1 - i] = padding[2 * i], padding[2 * i + 1]
    return e.pad(x, value, low, high)


def _reflect(e, x, dim, low, high):
    length = x.shape[dim]
    parts = [x]
    if low:
        parts.insert(0, e.reverse(e.slice_dim(x, dim, 1, low + 1), [dim]))
    if high:
        parts.append(e.reverse(e.slice_dim(x, dim, length - 1 - high, length - 1), [dim]))
    return e.concatenate(parts, dim)


@op("reflection_pad1d.default", "reflection_pad2d.default", "reflection_pad3d.default")
def reflection_pad(e, out, x, padding):
    for i in range(len(padding) // 2):
        x = _reflect(e, x, x.rank - 1 - i, padding[2 * i], padding[2 * i + 1])
    return x


@op("as_strided.default", "as_strided_copy.default")
def as_strided(e, out, x, size, stride, offset=0):
    # Row-major elements: a view, or a part of the leading elements.
    expected, step = [], 1
    for length in reversed(size):
        expected.insert(0, step)
        step *= length
    if any(s != w for s, w, length in zip(stride, expected, size) if length != 1):
        unsupported(f"strides {list(stride)} for the shape {list(size)}")
    flat = e.reshape(x, [math.prod(x.shape)])
    return e.reshape(e.slice_dim(flat, 0, offset or 0, (offset or 0) + math.prod(size)), out.shape)


def _triangle(e, x, diagonal, direction, out):
    rows, columns = e.iota(x.shape[-2:], 0), e.iota(x.shape[-2:], 1)
    kept = e.compare(direction, columns, e.offset(rows, diagonal) if diagonal else rows)
    return e.select(e.expand(kept, x.shape), x, e.like(x, 0))


@op("tril.default")
def tril(e, out, x, diagonal=0):
    return _triangle(e, x, diagonal, "LE", out)


@op("triu.default")
def triu(e, out, x, diagonal=0):
    return _triangle(e, x, diagonal, "GE", out)


@op("pixel_shuffle.default")
def pixel_shuffle(e, out, x, factor):
    *lead, channels, height, width = x.shape
    n = len(lead)
    x = e.reshape(x, [*lead, channels // factor**2, factor, factor, height, width])
    return e.reshape(e.transpose(x, [*range(n), n, n + 3, n + 1, n + 4, n + 2]), out.shape)
