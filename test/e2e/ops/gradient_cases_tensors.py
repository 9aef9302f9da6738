"""Gradients of ops on whole tensors: a table from each op to its cases."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from gradient_testing import Case, drawn, refused, type_of
from jax import lax

A = (3, 4)
TIES = np.array([[1, 2, 2], [3, 3, 3]])


def of(x, value):
    return np.asarray(value, x.dtype)


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


@drawn("plain", "empty")
def convolutions(draw):
    """Any strides, padding, dilations and layout, and groups of one kind."""
    rank = draw.rank(0, 2)
    groups, feature_groups = draw.choice(1, 1, 2, 3), draw.flag()
    batch, features = draw.size(1, 3) * (1 if feature_groups else groups), draw.integer(1, 2)
    outputs = draw.integer(1, 2) * groups
    kernel = [draw.integer(1, 3) for _ in range(rank)]
    strides, base, dilations = ([draw.integer(1, 3) for _ in range(rank)] for _ in range(3))
    padding = [(draw.integer(-1, 3), draw.integer(-1, 3)) for _ in range(rank)]
    # The input is at least as large as its cropping and the kernel.
    image = [draw.integer(2, 4) + (k - 1) * d for k, d in zip(kernel, dilations)]
    space = "HW"[:rank]
    layout = draw.choice(("NC" + space, "OI" + space, "NC" + space), ("N" + space + "C", space + "IO", "N" + space + "C"),
                         (space + "CN", "I" + space + "O", "C" + space + "N"))
    sizes = dict(zip("HW", image)) | {"N": batch, "C": features * (groups if feature_groups else 1)}
    weights = dict(zip("HW", kernel)) | {"I": features, "O": outputs}
    return Case(lambda x, k: lax.conv_general_dilated(
        x, k, strides, padding, base, dilations, layout, groups if feature_groups else 1,
        1 if feature_groups else groups), [sizes[c] for c in layout[0]], [weights[c] for c in layout[1]])


IDENTITIES = {"add": 0, "mul": 1, "max": -np.inf, "min": np.inf}


def pooling(name, dilated=False, reference=None):
    """Windows that overlap, leave gaps and cross the edges; no window of a maximum or minimum is entirely outside the
    operand."""
    @drawn("plain", "empty")
    def make(draw):
        shape = draw.shape(low=1, high=2, largest=6)
        window = [draw.integer(1, 3) for _ in shape]
        strides = [draw.integer(1, 3) for _ in shape]
        base, dilations = ([draw.integer(1, 3) if dilated else 1 for _ in shape] for _ in range(2))
        padding = [(draw.integer(0, w - 1), draw.integer(0, w - 1)) if d else (0, 0) for w, d in zip(window, shape)]
        arguments = window, strides, padding, base, dilations

        def run(x):
            return lax.reduce_window(x, of(x, IDENTITIES[name]), getattr(lax, name), *arguments)
        return Case(run, shape, reference=reference and (lambda x: reference(x, *arguments)))
    return make


@drawn("plain")
def selections(draw):
    """The transpose of pooling: the operand's windows determine where the source goes."""
    shape = (draw.integer(3, 6), draw.integer(3, 6))
    window, strides = [draw.integer(1, 3) for _ in shape], [draw.integer(1, 3) for _ in shape]
    padding = [(draw.integer(0, w - 1), draw.integer(0, w - 1)) for w in window]

    def pool(x):
        return lax.reduce_window(x, of(x, -np.inf), lax.max, window, strides, padding)
    return Case(lambda x, source: jax.vjp(pool, x)[1](source)[0], shape,
                jax.eval_shape(pool, jax.ShapeDtypeStruct(shape, np.float32)).shape)


def window_products(x, window, strides, padding, base, dilations):
    """Products over windows, from slices: JAX does not differentiate its own."""
    x = lax.pad(x, of(x, 1), tuple((low, high, d - 1) for (low, high), d in zip(padding, base)))
    counts = [(x.shape[d] - (w - 1) * dilations[d] - 1) // strides[d] + 1 for d, w in enumerate(window)]
    result = jnp.ones([max(0, count) for count in counts], x.dtype)
    if result.size:
        for place in np.ndindex(*window):
            start = [i * d for i, d in zip(place, dilations)]
            limit = [s + (c - 1) * t + 1 for s, c, t in zip(start, counts, strides)]
            result = result * lax.slice(x, start, limit, strides)
    return result


CUMULATIVE = [lax.cumsum, lax.cumprod, lax.cummax, lax.cummin, lax.cumlogsumexp]


def cumulative(function, platform):
    @drawn("plain", "empty")
    def make(draw):
        shape = draw.shape(low=1, largest=9)
        dim, reverse = draw.integer(0, len(shape) - 1), draw.flag()
        return Case(lambda x: function(x, dim, reverse=reverse), shape, platform=platform)
    return make


WINDOWS = {
    "stablehlo.convolution": [
        ("shapes", convolutions),
        ("depthwise", Case(lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "VALID", feature_group_count=3),
                           (2, 3, 4, 5), (6, 1, 2, 2))),
        ("complex", Case(lambda x, y: lax.imag(lax.conv_general_dilated(
            lax.complex(x, y), lax.complex(y, x)[:, :, :2, :2], (2, 1), "SAME")), (3, 3, 4, 4), (3, 3, 4, 4),
            platform="tpu"))],
    "stablehlo.reduce_window": [
        ("add", pooling("add", dilated=True)),
        ("maximum", pooling("max")),
        ("minimum", pooling("min")),
        ("multiply", pooling("mul", dilated=True, reference=window_products)),
        ("nothing", Case(lambda x: lax.reduce_window(x, of(x, 0), lax.add, (2,), (1,), "VALID"), (1,))),
        ("multiply of nothing", Case(lambda x: lax.reduce_window(x, of(x, 1), lax.mul, (2,), (1,), "VALID"), (1,),
                                     reference=lambda x: x[:0])),
        ("maximum, spread", Case(lambda x: lax.reduce_window(
            x, of(x, -np.inf), lax.max, (2, 3), (1, 2), ((1, 1), (1, 0)), (2, 2)), (4, 5))),
        ("maximum, dilated", Case(lambda x: lax.reduce_window(x, of(x, -np.inf), lax.max, (2,), (1,), "VALID", (1,), (2,)),
                                  (6,), reference=lambda x: jnp.maximum(x[:-2], x[2:]))),
        ("maximum and more", Case(lambda x: lax.reduce_window(x, of(x, 0.5), lax.max, (2,), (1,), "VALID"), (6,),
                                  reference=lambda x: jnp.maximum(jnp.maximum(x[:-1], x[1:]), 0.5))),
        ("logs of sums of exponentials", Case(
            lambda x: lax.reduce_window(x, of(x, -np.inf), jnp.logaddexp, (3,), (1,), ((2, 1),)), (6,),
            reference=lambda x: jax.nn.logsumexp(jnp.stack([lax.pad(x, of(x, -np.inf), [(2 - i, i - 1, 0)])
                                                            for i in range(3)]), 0))),
        *[(f"{function.__name__} for {platform}", cumulative(function, platform))
          for function in CUMULATIVE for platform in ("cpu", "cuda", "tpu")],
        *[(f"{function.__name__} of equals", Case(lambda x, function=function: function(x, 1), values=[
            np.array([[1, 2, 2, 2, 0, 2, 3], [0, 0, 0, -1, -1, 0, 1]])])) for function in CUMULATIVE],
        ("a computation that is not elementwise", refused("""
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%w, %low) <{window_dimensions = array<i64: 4>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = stablehlo.reshape %a : (tensor<f32>) -> tensor<1xf32>
    %s = stablehlo.reshape %r : (tensor<1xf32>) -> tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<1xf32>
  %y = stablehlo.reshape %0 : (tensor<1xf32>) -> tensor<f32>""",
                                                          "has no gradient rule: expected a computation of elementwise "
                                                          "ops"))],
    "stablehlo.select_and_scatter": [
        ("shapes", selections),
        ("nothing", Case(lambda x, source: jax.vjp(lambda x: lax.reduce_window(
            x, of(x, -np.inf), lax.max, (2, 1), (2, 1), "VALID"), x)[1](source)[0], (4, 0), (2, 0))),
        ("another selection", refused("""
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.slice %w [0:2] : (tensor<4xf32>) -> tensor<2xf32>
  %0 = "stablehlo.select_and_scatter"(%w, %s, %zero) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare NE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.slice %0 [0:1] : (tensor<4xf32>) -> tensor<1xf32>
  %y = stablehlo.reshape %1 : (tensor<1xf32>) -> tensor<f32>"""))],
}


def adjoint(x):
    return jnp.conj(x.swapaxes(-1, -2))


def positive(x):
    return x @ adjoint(x) + 2 * jnp.eye(x.shape[-1], dtype=x.dtype)


def parts(z):
    return jnp.concatenate([jnp.ravel(lax.real(z)), jnp.ravel(lax.imag(z))])


@drawn()
def factors(draw):
    n = draw.integer(1, 4)
    return Case(lambda x: lax.linalg.cholesky(positive(x), symmetrize_input=False), (*draw.shape(high=2), n, n),
                platform="tpu")


@drawn("plain")
def complex_factors(draw):
    shape = (draw.integer(1, 2), *[draw.integer(1, 4)] * 2)
    return Case(lambda x, y: parts(lax.linalg.cholesky(positive(lax.complex(x, y)), symmetrize_input=False)),
                shape, shape, platform="tpu")


@drawn("plain")
def upper_factors(draw):
    kind = type_of([draw.integer(1, 4)] * 2, "TYPE")
    number = kind.replace("TYPE", "complex<TYPE>")
    shape = tuple(int(d) for d in kind[7:].split("x")[:2])
    return Case(None, shape, shape, text=f"""
  %z = stablehlo.complex %x0, %x1 : {number}
  %c = chlo.conj %z : {number} -> {number}
  %t = stablehlo.transpose %c, dims = [1, 0] : ({number}) -> {number}
  %p = stablehlo.dot_general %z, %t, contracting_dims = [1] x [0] : ({number}, {number}) -> {number}
  %u = stablehlo.cholesky %p, lower = false : {number}
  %i = stablehlo.imag %u : ({number}) -> {kind}
  %r = stablehlo.real %u : ({number}) -> {kind}
  %y = stablehlo.subtract %r, %i : {kind}""", reference=lambda x, y: (lambda u: lax.real(u) - lax.imag(u))(
        adjoint(lax.linalg.cholesky(lax.complex(x, y) @ adjoint(lax.complex(x, y))))))


def triangular(x, lower):
    identity = jnp.eye(x.shape[-1], dtype=x.dtype)
    return (jnp.tril(x, -1) if lower else jnp.triu(x, 1)) + (3 + x) * identity


def solver(left, lower, transpose, unit, is_complex=False):
    @drawn("plain", "empty")
    def make(draw):
        n, batch = draw.integer(1, 4), draw.shape(high=1)
        right = (*batch, n, draw.size()) if left else (*batch, draw.size(), n)

        def run(a, b):
            if is_complex:
                a, b = lax.complex(a, a[..., ::-1]), lax.complex(b, 2 * b)
            x = lax.linalg.triangular_solve(
                a if unit else triangular(a, lower), b, left_side=left, lower=lower, transpose_a=transpose != "no",
                conjugate_a=transpose == "adjoint", unit_diagonal=unit)
            return parts(x) if is_complex else x
        return Case(run, (*batch, n, n), right, platform="tpu", low=-1.0, high=1.0)
    return make


def spectra(kind):
    """A transform of real operands; both parts of the value count."""
    @drawn("plain", "empty")
    def make(draw):
        length = tuple(draw.integer(1, 6) for _ in range(draw.integer(1, 3)))
        shape = (*draw.shape(high=1), *length)
        if kind == "IRFFT":
            shape = (*shape[:-1], length[-1] // 2 + 1)

        def run(x, y):
            z = lax.fft(x if kind == "RFFT" else lax.complex(x, y), kind, length)
            z = lax.complex(z, z * 0) if kind == "IRFFT" else z
            return parts(z) + y.sum()
        return Case(run, shape, shape)
    return make


YES_NO = (True, False)
LINEAR_ALGEBRA = {
    "stablehlo.cholesky": [("shapes", factors), ("complex", complex_factors), ("upper", upper_factors)],
    "stablehlo.triangular_solve": [
        *[(f"left={left} lower={lower} transposed={transpose} unit={unit}", solver(left, lower, transpose, unit))
          for left in YES_NO for lower in YES_NO for transpose in ("no", "yes") for unit in YES_NO],
        *[(f"complex, left={left} transposed={transpose}", solver(left, True, transpose, False, True))
          for left in YES_NO for transpose in ("no", "yes", "adjoint")]],
    "stablehlo.fft": [(kind, spectra(kind)) for kind in ("FFT", "IFFT", "RFFT", "IRFFT")],
}


def normalize(x, scale, offset, mean, variance, feature):
    axes = [d for d in range(x.ndim) if d != feature]
    spread = lambda v: jnp.expand_dims(v, axes)
    return spread(scale) * (x - spread(mean)) / jnp.sqrt(spread(variance) + 0.0078125) + spread(offset)


@drawn("plain")
def trained(draw):
    """The gradient includes the statistics."""
    shape = tuple(draw.integer(2, 4) for _ in range(draw.integer(1, 4)))
    feature = draw.integer(0, len(shape) - 1)
    whole, single = type_of(shape, "TYPE"), type_of((shape[feature],), "TYPE")
    axes = tuple(d for d in range(len(shape)) if d != feature)

    def training(x, scale, offset):
        mean, variance = x.mean(axes), x.var(axes)
        return normalize(x, scale, offset, mean, variance, feature) * jnp.expand_dims(mean * jnp.sin(variance), axes)
    return Case(None, shape, *[(shape[feature],)] * 2, reference=training, text=f"""
  %n:3 = "stablehlo.batch_norm_training"(%x0, %x1, %x2) <{{epsilon = 0.0078125 : f32, feature_index = {feature} : i64}}>
    : ({whole}, {single}, {single}) -> ({whole}, {single}, {single})
  %s = stablehlo.sine %n#2 : {single}
  %m = stablehlo.multiply %n#1, %s : {single}
  %b = stablehlo.broadcast_in_dim %m, dims = [{feature}] : ({single}) -> {whole}
  %y = stablehlo.multiply %n#0, %b : {whole}""")


@drawn("plain", "empty")
def inferred(draw):
    shape = draw.shape(low=1, high=4)
    feature = draw.integer(0, len(shape) - 1)
    whole, single = type_of(shape, "TYPE"), type_of((shape[feature],), "TYPE")
    return Case(None, shape, *[(shape[feature],)] * 4, reference=lambda x, s, o, m, v: normalize(x, s, o, m, v * v, feature),
                text=f"""
  %v = stablehlo.multiply %x4, %x4 : {single}
  %y = "stablehlo.batch_norm_inference"(%x0, %x1, %x2, %x3, %v) <{{epsilon = 0.0078125 : f32,
    feature_index = {feature} : i64}}> : ({whole}, {single}, {single}, {single}, {single}) -> {whole}""")


NORMALIZATION = {
    "stablehlo.batch_norm_training": [("shapes", trained)],
    "stablehlo.batch_norm_inference": [("shapes", inferred)],
    "stablehlo.batch_norm_grad": [("refused", refused("""
  %one = stablehlo.constant dense<1.0> : tensor<1xf32>
  %g:3 = "stablehlo.batch_norm_grad"(%w, %one, %one, %one, %w) <{epsilon = 0.0078125 : f32, feature_index = 1 : i64}>
    : (tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<2x1xf32>)
    -> (tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>)
  %y = stablehlo.reshape %g#1 : (tensor<1xf32>) -> tensor<f32>""", parameter="tensor<2x1xf32>"))],
}

TENSORS = SHAPES | REDUCTIONS | INDEXING | WINDOWS | LINEAR_ALGEBRA | NORMALIZATION
