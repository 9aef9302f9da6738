"""Reads and writes at positions that are data."""

import math
import struct

from ..emitter import unsupported
from .elementwise import operand
from .shapes import axis
from .table import op

_CODES = {"i64": "q", "i32": "i", "i16": "h", "i8": "b", "ui8": "B"}


def known_numbers(value):
    """The elements of an integer constant, or None."""
    if value.data is None or value.dtype not in _CODES:
        return None
    return struct.unpack(f"<{math.prod(value.shape)}{_CODES[value.dtype]}", value.data)


def wrap(e, index, length):
    """Counts negative positions from the end."""
    numbers = known_numbers(index)
    if numbers is not None and all(0 <= n < length for n in numbers):
        return index
    return e.select(e.compare("LT", index, e.like(index, 0)), e.offset(index, length), index)


@op("embedding.default")
def embedding(e, out, table, index, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    if scale_grad_by_freq:
        unsupported("scale_grad_by_freq")
    column = e.reshape(index, [*index.shape, 1])
    size = table.shape[1]

    def rows(passes_gradient):
        return e.gather(table, column, offset_dims=[index.rank], collapsed=[0], start_map=[0], sizes=[1, size], shape=out.shape,
                        passes_gradient=passes_gradient)

    if padding_idx < 0:
        return rows(True)
    # The row of the padding gets no gradient.
    padding = e.compare("EQ", index, e.like(index, padding_idx))
    return e.select(e.broadcast(padding, range(index.rank), out.shape), rows(False), rows(True))


@op("index_select.default")
def index_select(e, out, x, dim, index):
    if not x.rank:
        return x
    return _take(e, out, x, axis(dim, x.rank), e.reshape(index, [math.prod(index.shape)]))


def _take(e, out, x, dim, index):
    """The slices of `x` at the positions in `index`, whose dimensions replace `dim`."""
    index = wrap(e, index, x.shape[dim])
    numbers = known_numbers(index)
    if numbers is not None and numbers == tuple(range(numbers[0], numbers[0] + len(numbers))) if numbers else False:
        return e.reshape(e.slice_dim(x, dim, numbers[0], numbers[0] + len(numbers)), out.shape)
    kept = [i for i in range(x.rank) if i != dim]
    offsets = [i if i < dim else i + index.rank - 1 for i in kept]
    return e.gather(x, e.reshape(index, [*index.shape, 1]), offset_dims=offsets, collapsed=[dim], start_map=[dim],
                    sizes=[1 if i == dim else x.shape[i] for i in range(x.rank)], shape=out.shape)


@op("gather.default")
def gather(e, out, x, dim, index, sparse_grad=False):
    if not x.rank:
        return e.reshape(x, out.shape)
    dim = axis(dim, x.rank)
    # Each position of the other dimensions reads its own row.
    x = e.slice(x, [0] * x.rank, [x.shape[i] if i == dim else index.shape[i] for i in range(x.rank)])
    rows = [i for i in range(x.rank) if i != dim]
    return e.gather(x, e.reshape(wrap(e, index, x.shape[dim]), [*index.shape, 1]), offset_dims=[], collapsed=[dim], start_map=[dim],
                    sizes=[1] * x.rank, shape=out.shape, batching=(rows, rows))


def _axis_of_iota(numbers, shape, length):
    """The dimension along which a constant index counts all positions of a dimension of `length`, or None."""
    for dim, size in enumerate(shape):
        if size == length and math.prod(shape) == size and numbers == tuple(range(size)):
            return dim
    return None


def _as_broadcast(e, out, x, indices):
    """x[arange[:, None], arange[None, :]] and similar positions only repeat `x`; returns None for other positions."""
    rank = len(out.shape)
    dims = []
    for index, length in zip(indices, x.shape):
        numbers = known_numbers(index)
        found = _axis_of_iota(numbers, index.shape, length) if numbers is not None else None
        if found is None:
            return None
        dims.append(found + rank - index.rank)
    return e.broadcast(x, dims, out.shape) if dims == sorted(set(dims)) else None


def _coordinates(e, indices, lengths):
    """Index tensors, broadcast, as the last dimension of one tensor."""
    rank = max(i.rank for i in indices)
    shape = [max(1, 1)] * rank
    for index in indices:
        for i, size in enumerate(index.shape):
            at = rank - index.rank + i
            shape[at] = size if shape[at] == 1 else shape[at]
    columns = [e.reshape(e.expand(wrap(e, e.convert(i, "i64"), n), shape), [*shape, 1]) for i, n in zip(indices, lengths)]
    return e.concatenate(columns, rank), shape


@op("index.Tensor", "_unsafe_index.Tensor")
def index(e, out, x, indices):
    indices = list(indices) + [None] * (x.rank - len(indices))
    dims = [i for i, index in enumerate(indices) if index is not None]
    given = [indices[i] for i in dims]
    if any(i.dtype in ("i1", "ui8") for i in given):
        unsupported("a mask as index: the shape of its result depends on data")
    if len(dims) == x.rank and (repeated := _as_broadcast(e, out, x, given)):
        return repeated
    if len(dims) == 1:
        return _take(e, out, x, dims[0], given[0])
    coordinates, shape = _coordinates(e, given, [x.shape[i] for i in dims])
    # Adjacent index dimensions stay in place, others move to the front.
    first = dims[0] if dims == list(range(dims[0], dims[-1] + 1)) else 0
    kept = [i for i in range(x.rank) if i not in dims]
    offsets = [n if n < first else n + len(shape) for n in range(len(kept))]
    return e.gather(x, coordinates, offset_dims=offsets, collapsed=dims, start_map=dims,
                    sizes=[1 if i in dims else x.shape[i] for i in range(x.rank)], shape=out.shape)


@op("index_put.default", "_unsafe_index_put.default")
def index_put(e, out, x, indices, values, accumulate=False):
    dims = [i for i, index in enumerate(indices) if index is not None]
    given = [indices[i] for i in dims]
    if any(i.dtype in ("i1", "ui8") for i in given):
        mask = given[0]
        if len(given) == 1 and dims == [0] and not values.rank:
            mask = e.broadcast(e.convert(mask, "i1"), range(mask.rank), x.shape)
            return e.select(mask, operand(e, values, x.dtype, x.shape), x)
        unsupported("a mask as index: the shape of the result depends on data")
    if dims != list(range(dims[0], dims[-1] + 1)):
        unsupported("positions in dimensions that are not adjacent")
    coordinates, shape = _coordinates(e, given, [x.shape[i] for i in dims])
    first, kept = dims[0], [i for i in range(x.rank) if i not in dims]
    window = [n if n < first else n + len(shape) for n in range(len(kept))]
    full = [x.shape[i] for i in kept[:first]] + shape + [x.shape[i] for i in kept[first:]]
    updates = operand(e, values, x.dtype, full)
    return e.scatter(x, coordinates, updates, window_dims=window, inserted=dims, to_operand=dims, op="add" if accumulate else None)


def _scatter(e, x, dim, index, source, op_name):
    """Writes each element of `source` at its position in `dim` and its own positions elsewhere."""
    dim = axis(dim, x.rank)
    columns = [wrap(e, index, x.shape[dim]) if i == dim else e.iota(index.shape, i) for i in range(x.rank)]
    coordinates = e.concatenate([e.reshape(c, [*index.shape, 1]) for c in columns], index.rank)
    source = e.slice(source, [0] * source.rank, index.shape)
    every = list(range(x.rank))
    return e.scatter(x, coordinates, source, window_dims=[], inserted=every, to_operand=every, op=op_name)


@op("scatter_add.default")
def scatter_add(e, out, x, dim, index, source):
    return _scatter(e, x, dim, index, source, "add")


@op("scatter.src")
def scatter_source(e, out, x, dim, index, source):
    return _scatter(e, x, dim, index, source, None)


@op("scatter.value")
def scatter_value(e, out, x, dim, index, value):
    return _scatter(e, x, dim, index, e.splat(value, x.dtype, index.shape), None)


@op("nonzero.default", "masked_select.default", "_unique2.default", "unique_consecutive.default")
def data_dependent(e, out, *_, **__):
    unsupported("a shape that depends on data")
