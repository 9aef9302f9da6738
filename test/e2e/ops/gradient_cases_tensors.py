"""Gradients of ops on whole tensors: a table from each op to its cases."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from gradient_cases_algebra import LINEAR_ALGEBRA, NORMALIZATION
from gradient_cases_windows import WINDOWS
from gradient_testing import Case, drawn, of, refused, type_of
from jax import lax

A = (3, 4)
TIES = np.array([[1, 2, 2], [3, 3, 3]])


@drawn()
def broadcasts(draw):
    shape = draw.shape(high=4)
    dims = draw.subset(len(shape))
    operand = tuple(shape[d] if draw.flag() else 1 for d in dims)
    return Case(lambda x: -lax.broadcast_in_dim(x, shape, dims), operand)


@drawn()
def reshapes(draw):
    shape = draw.shape()
    split = draw.integer(0, len(shape))
    merged = (math.prod(shape[:split]), 1, math.prod(shape[split:]))
    return Case(lambda x: jnp.sin(lax.reshape(x, merged)), shape)


@drawn()
def transposes(draw):
    shape = draw.shape(high=4)
    order = draw.order(len(shape))
    return Case(lambda x: jnp.sin(lax.transpose(x, order)), shape)


@drawn()
def reversals(draw):
    shape = draw.shape()
    dims = draw.subset(len(shape))
    return Case(lambda x: lax.rev(x, dims), shape)


@drawn()
def slices(draw):
    shape = draw.shape()
    starts = [draw.integer(0, d) for d in shape]
    limits = [draw.integer(start, d) for start, d in zip(starts, shape)]
    strides = [draw.integer(1, 3) for _ in shape]
    return Case(lambda x: lax.slice(x, starts, limits, strides), shape)


@drawn()
def pads(draw):
    """Pads that grow, crop and spread."""
    shape = draw.shape()
    config = []
    for d in shape:
        low, high, interior = draw.integer(-2, 3), draw.integer(-2, 3), draw.integer(0, 2)
        size = max(0, d + (d - 1) * interior)
        config.append((low, max(high, -low - size, -size), interior) if low + size >= 0 else (0, 1, interior))
    return Case(lambda x, v: lax.pad(x, v, config), shape, ())


@drawn()
def concatenations(draw):
    shape = draw.shape(low=1)
    dim = draw.integer(0, len(shape) - 1)
    shapes = [(*shape[:dim], draw.size(), *shape[dim + 1:]) for _ in range(draw.integer(1, 3))]
    return Case(lambda *xs: lax.concatenate([*xs, xs[0]], dim), *shapes)


def places(draw, shape):
    """Starts, some of which are out of bounds."""
    return [jnp.int32(draw.integer(-2, d + 1)) for d in shape]


@drawn()
def dynamic_slices(draw):
    shape = draw.shape(low=1)
    starts, sizes = places(draw, shape), [draw.integer(0, d) for d in shape]
    return Case(lambda x: lax.dynamic_slice(x, starts, sizes), shape)


@drawn()
def dynamic_updates(draw):
    shape = draw.shape(low=1)
    starts, sizes = places(draw, shape), [draw.integer(0, d) for d in shape]
    return Case(lambda x, u: lax.dynamic_update_slice(x, u, starts), shape, sizes)


SHAPES = {
    "stablehlo.broadcast_in_dim": [
        ("shapes", broadcasts),
        ("to nothing", Case(lambda x, y: jnp.concatenate([lax.broadcast_in_dim(x, (0,), ()), y]), (), (2,)))],
    "stablehlo.reshape": [("shapes", reshapes)],
    "stablehlo.transpose": [("shapes", transposes)],
    "stablehlo.reverse": [("shapes", reversals)],
    "stablehlo.slice": [
        ("shapes", slices),
        ("tiles", Case(lambda x: lax.slice(x, (2, 0), (3, 4)) * lax.slice(x, (0, 0), (2, 4)).sum(), A)),
        ("overlap", Case(lambda x: x[:2] * x[1:], A))],
    "stablehlo.pad": [("shapes", pads)],
    "stablehlo.concatenate": [("shapes", concatenations)],
    "stablehlo.dynamic_slice": [
        ("shapes", dynamic_slices),
        ("where the operand says", Case(lambda x: lax.dynamic_slice(
            x, ((x[0, 0] * 9).astype(jnp.int32), jnp.int32(1)), (1, 2)), A)),
        ("rank 0", Case(lambda x: lax.dynamic_slice(x * x, (), ()), (), text="""
  %p = stablehlo.multiply %x0, %x0 : tensor<TYPE>
  %y = stablehlo.dynamic_slice %p, sizes = [] : (tensor<TYPE>) -> tensor<TYPE>""", reference=lambda x: x * x))],
    "stablehlo.dynamic_update_slice": [("shapes", dynamic_updates)],
}


def reduction(function, empty=True, **options):
    """Reduces over dimensions in any order; dimensions of a maximum or minimum are not empty."""
    @drawn()
    def make(draw):
        shape = list(draw.shape())
        dims = draw.subset(len(shape))
        for dim in dims:
            shape[dim] = shape[dim] or (0 if empty else 2)
        return Case(lambda x: function(x, dims), tuple(shape), **options)
    return make


def hypotenuse(x, dims):
    """A computation of several ops; zero is its identity for positive numbers."""
    return lax.reduce(x, of(x, 0), lambda a, b: lax.sqrt(a * a + b * b), dims)


def log_sum_exp(x, dims):
    return lax.reduce(x, of(x, -np.inf), jnp.logaddexp, dims)


@drawn("plain", "scalar")
def pairs(draw):
    """A reduction of pairs: the largest element and its companion."""
    shape = draw.shape()
    dims = draw.subset(len(shape))

    def choose(a, b):
        first = a[0] > b[0]
        return jnp.where(first, a[0], b[0]), jnp.where(first, a[1], b[1])
    return Case(lambda x, y: jnp.stack(lax.reduce((x, y), (of(x, -np.inf), of(x, 0)), choose, dims)), shape, shape)


@drawn()
def products(draw):
    """Any numbers of batch, contracted and free dimensions, each side in its own order."""
    batch, contracted = draw.shape(high=2), draw.shape(high=2)

    def side():
        free = draw.shape(high=2, largest=4)
        sizes = [*batch, *contracted, *free]
        order = draw.order(len(sizes))
        where = [order.index(i) for i in range(len(sizes))]
        return tuple(sizes[i] for i in order), where[:len(batch)], where[len(batch):len(batch) + len(contracted)]
    (lhs, lhs_batch, lhs_contracted), (rhs, rhs_batch, rhs_contracted) = side(), side()
    return Case(lambda x, y: lax.dot_general(
        x, y, ((lhs_contracted, rhs_contracted), (lhs_batch, rhs_batch))), lhs, rhs)


def attention(q, k, v):
    weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k))
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(q.shape[0], q.shape[1], -1)


@drawn("plain")
def attentions(draw):
    shape = tuple(draw.integer(1, 4) for _ in range(4))
    return Case(attention, shape, shape, shape)


REDUCTIONS = {
    "stablehlo.reduce": [
        ("add", reduction(lambda x, dims: jnp.sum(x, dims))),
        ("multiply", reduction(lambda x, dims: jnp.prod(x, dims))),
        ("multiply with zeros", Case(lambda x: jnp.prod(x, 1), values=[np.array([[1.5, 0, 2], [0, 3, 0], [1, 2, 3]])])),
        ("maximum", reduction(lambda x, dims: jnp.max(x, dims), empty=False)),
        ("maximum of equals", Case(lambda x: x.max(1), values=[TIES])),
        ("minimum", reduction(lambda x, dims: jnp.min(x, dims), empty=False)),
        ("minimum of equals", Case(lambda x: x.min(1), values=[TIES])),
        ("add, initial value", Case(lambda x, i: lax.reduce(x, i, lax.add, (0,)), A, (),
                                    reference=lambda x, i: x.sum(0) + i)),
        ("multiply, initial value", Case(lambda x, i: lax.reduce(x, i, lax.mul, (0,)), A, (),
                                         reference=lambda x, i: jnp.prod(x, 0) * i)),
        ("maximum, initial value", Case(lambda x, i: lax.reduce(x, i, lax.max, (0,)), A, (),
                                        reference=lambda x, i: jnp.maximum(x.max(0), i))),
        ("complex", Case(lambda x, y: lax.imag(jnp.prod(lax.complex(x, y), 0) * jnp.sum(lax.complex(x, y))), A, A)),
        ("complex maximum", Case(lambda x, y: lax.imag(jnp.max(lax.complex(x, y), 1) ** 2), A, A)),
        ("hypotenuse", reduction(hypotenuse, low=0.3)),
        ("log of sum of exponentials", reduction(log_sum_exp, empty=False)),
        ("pairs", pairs),
        ("softmax", reduction(jax.nn.softmax)), ("log_softmax", reduction(jax.nn.log_softmax)),
        ("logsumexp", reduction(jax.nn.logsumexp, empty=False)),
        ("standard deviation", Case(lambda x: jnp.std(x, 0), A)),
        ("layer norm", Case(lambda x: jax.nn.standardize(x, axis=-1), A)),
        ("a computation that is not elementwise", refused("""
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = "stablehlo.reduce"(%w, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = stablehlo.reshape %a : (tensor<f32>) -> tensor<1xf32>
    %s = stablehlo.reshape %r : (tensor<1xf32>) -> tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>""",
                                                          "has no gradient rule: expected a computation of elementwise "
                                                          "ops"))],
    "stablehlo.dot_general": [
        ("shapes", products),
        ("transposes", Case(lambda x, y: lax.dot_general(
            x.transpose(0, 2, 1), y.T, (((1,), (0,)), ((), ()))), (2, 3, 4), (5, 4))),
        ("complex", Case(lambda x, y, u: lax.imag(lax.complex(x, x * 2) @ lax.complex(y, u)), A, (4, 5), (4, 5))),
        ("attention", attentions)],
}


def indices_of(draw, batch, limits):
    """Starts, some of which are out of bounds; one vector for each position of `batch`."""
    return np.array([[draw.integer(-1, max(limit, 0) + 1) for limit in limits] for _ in range(math.prod(batch))],
                    np.int32).reshape(*batch, len(limits))


def windows(draw, batch=None):
    """An operand, indices into it, and dimension numbers that are valid for both a gather and a scatter of windows."""
    operand = draw.shape(low=1)
    rank = len(operand)
    collapsed = tuple(d for d in draw.subset(rank) if operand[d])
    sizes = [1 if d in collapsed else draw.integer(0, operand[d]) for d in range(rank)]
    indexed = draw.order(rank)[:draw.integer(1, rank)]
    batch = draw.shape(high=2) if batch is None else batch
    kept = [sizes[d] for d in range(rank) if d not in collapsed]
    offsets = sorted(draw.order(len(batch) + len(kept))[:len(kept)])
    windowed, batched = iter(kept), iter(batch)
    result = tuple(next(windowed) if i in offsets else next(batched) for i in range(len(batch) + len(kept)))
    indices = indices_of(draw, batch, [operand[d] - sizes[d] for d in indexed])
    return operand, indices, sizes, tuple(offsets), collapsed, tuple(indexed), result


@drawn()
def gathers(draw):
    operand, indices, sizes, offsets, collapsed, indexed, _ = windows(draw)
    numbers = lax.GatherDimensionNumbers(offsets, collapsed, indexed)
    return Case(lambda x: lax.gather(x, indices, numbers, sizes, mode="clip"), operand)


def scatters(scatter, unique=False):
    """Scatters to indices that may repeat, or to a single index."""
    @drawn()
    def make(draw):
        operand, indices, _, offsets, collapsed, indexed, updates = windows(draw, () if unique else None)
        numbers = lax.ScatterDimensionNumbers(offsets, collapsed, indexed)
        return Case(lambda x, u: scatter(x, indices, u, numbers, mode="drop", unique_indices=unique), operand, updates)
    return make


def take(x, indices, dtype=np.int32, **changed):
    numbers = lax.GatherDimensionNumbers(**({"offset_dims": (1,), "collapsed_slice_dims": (0,),
                                             "start_index_map": (0,)} | changed.pop("numbers", {})))
    return lax.gather(x, np.array(indices, dtype), numbers, **({"slice_sizes": (1, x.shape[1]), "mode": "clip"} | changed))


def put(kind, **options):
    """A scatter to rows; two updates may share an index, and some are out of bounds."""
    def run(x, u):
        return getattr(x.at[np.array([1, 9, 0, 1])[:u.shape[0]]], kind)(u, mode="drop", **options)
    return run


@drawn()
def batched_gathers(draw):
    batch, rows, size = draw.size(), draw.integer(1, 5), draw.size()
    indices = indices_of(draw, (batch, size), [rows - 1])
    return Case(lambda x: take(x, indices, slice_sizes=(1, 1), numbers={
        "offset_dims": (), "collapsed_slice_dims": (1,), "start_index_map": (1,), "operand_batching_dims": (0,),
        "start_indices_batching_dims": (0,)}), (batch, rows))


@drawn()
def sorts(draw):
    """One or several operands, one or two keys, stable or not."""
    shape = draw.shape(low=1)
    dim, count, stable = draw.integer(0, len(shape) - 1), draw.integer(1, 3), draw.flag()
    keys = draw.integer(1, count)

    def run(*xs):
        return jnp.stack(lax.sort(xs, dimension=dim, num_keys=keys, is_stable=stable))
    return Case(run, *[shape] * count)


@drawn()
def largest(draw):
    shape = (*draw.shape(high=2), draw.integer(1, 6))
    k = draw.integer(1, shape[-1])
    return Case(lambda x: lax.top_k(x, k)[0], shape)


@drawn("plain")
def no_gathers(draw):
    """JAX does not print a gather of nothing."""
    rows, columns = draw.integer(1, 4), draw.integer(1, 4)
    return Case(None, (rows, columns), reference=lambda x: x[:0], text=f"""
  %i = stablehlo.constant dense<0> : tensor<0x1xi32>
  %y = "stablehlo.gather"(%x0, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, {columns}>}}>
    : ({type_of((rows, columns), "TYPE")}, tensor<0x1xi32>) -> {type_of((0, columns), "TYPE")}""")


INDEXING = {
    "stablehlo.gather": [
        ("shapes", gathers), ("batches", batched_gathers), ("nothing", no_gathers),
        # The largest start, 299, is not a number of eight bits.
        *[(f"{np.dtype(dtype)} indices", Case(lambda x, dtype=dtype: take(x, [[3], [120], [7]], dtype), (300, 2)))
          for dtype in (np.int8, np.uint8, np.int16)],
        ("i8 indices of blocks", Case(lambda x: take(x, [[100, 2], [5, 1]], np.int8, slice_sizes=(2, 1), numbers={
            "offset_dims": (1, 2), "collapsed_slice_dims": (), "start_index_map": (0, 1)}), (300, 6))),
        ("of scalars", Case(lambda x: x[2] * x[jnp.array([0, 4, 2])], (5,))),
        ("complex", Case(lambda x, y: lax.imag(take(lax.complex(x, y), [[1], [1]]) ** 2), A, A))],
    "stablehlo.scatter": [
        ("add", scatters(lax.scatter_add)),
        ("overwrite", scatters(lax.scatter)),
        ("multiply", scatters(lax.scatter_mul, unique=True)),
        ("maximum", scatters(lax.scatter_max)),
        ("minimum", scatters(lax.scatter_min)),
        ("add of one", Case(lambda x, u: x.at[1, 2].add(u), A, ())),
        ("multiply of the operand", Case(lambda x: put("multiply")(x, np.full((4, 4), 1.5, x.dtype)), A)),
        ("maximum of equals", Case(put("max"), values=[
            np.array([[1, 2], [4, 3.]]), np.array([[1, 0], [9, 9], [0, 2], [4, 3.]])])),
        ("i8 indices", Case(lambda x, u: lax.scatter_add(
            x, np.array([[3], [120], [3]], np.int8), u, lax.ScatterDimensionNumbers((1,), (0,), (0,)), mode="clip"),
            (300, 2), (3, 2))),
        ("complex", Case(lambda x, y: lax.imag(
            lax.complex(x, y).at[jnp.array([1, 1])].add(lax.complex(y, x)[:2]) ** 2), A, A)),
        ("another computation", refused("""
  %u = stablehlo.constant dense<2.0> : tensor<1xf32>
  %i = stablehlo.constant dense<0> : tensor<1x1xi32>
  %0 = "stablehlo.scatter"(%w, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
    inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.atan2 %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<1x1xi32>, tensor<1xf32>) -> tensor<4xf32>
  %1 = stablehlo.slice %0 [0:1] : (tensor<4xf32>) -> tensor<1xf32>
  %y = stablehlo.reshape %1 : (tensor<1xf32>) -> tensor<f32>"""))],
    "stablehlo.sort": [
        ("shapes", sorts),
        *[(f"of equals, {'stable' if stable else 'unstable'}", Case(lambda x, y, stable=stable: lax.sort(
            (x, y), num_keys=1, is_stable=stable)[1], values=[TIES, 2 * TIES])) for stable in (True, False)]],
    "chlo.top_k": [("shapes", largest)],
}


TENSORS = SHAPES | REDUCTIONS | INDEXING | WINDOWS | LINEAR_ALGEBRA | NORMALIZATION
