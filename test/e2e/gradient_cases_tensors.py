"""Gradients of ops on whole tensors: a table from each op to its cases."""

import jax
import jax.numpy as jnp
import numpy as np
from gradient_testing import Case, each, refused
from jax import lax

A, B = (3, 4), (4, 5)
TIES = np.array([[1, 2, 2], [3, 3, 3]])


def single(function, *shapes, **options):
    return each(function, *([shape] for shape in shapes), **options)


def of(x, value):
    return np.asarray(value, x.dtype)


SHAPES = {
    "stablehlo.broadcast_in_dim": [
        ("shapes", each(lambda x: lax.broadcast_in_dim(x, (2, *x.shape[:1], 5, *x.shape[1:]), tuple(
            d for d in (1, 3)[:x.ndim])), [A], [(3,)], [()], [(0, 4)])),
        ("size one", Case(lambda x: lax.broadcast_in_dim(x, (3, 6, 4), (0, 1, 2)), (3, 1, 4))),
        ("to nothing", Case(lambda x, y: jnp.concatenate([lax.broadcast_in_dim(x, (0,), ()), y]), (), (2,))),
        ("negated", Case(lambda x: -lax.broadcast_in_dim(x, (3, 4), ()), ()))],
    "stablehlo.reshape": [("shapes", each(lambda x, y: jnp.outer(lax.reshape(x, (x.size,)), y), [A, (2,)], [(), (2,)],
                                          [(0, 3), (2,)]))],
    "stablehlo.transpose": [("shapes", each(lambda x: jnp.sin(lax.transpose(x, tuple(reversed(range(x.ndim))))),
                                            [(2, 3, 4)], [A], [(0, 2)])),
                            ("order", Case(lambda x: lax.transpose(x, (2, 0, 1)), (2, 3, 4)))],
    "stablehlo.reverse": [("shapes", each(lambda x: lax.rev(x, (x.ndim - 1,)), [A], [(3,)], [(0, 3)]))],
    "stablehlo.slice": [
        ("strides", Case(lambda x: lax.slice(x, (1, 0), (3, 4), (1, 3)), A)),
        ("tiles", Case(lambda x: lax.slice(x, (2, 0), (3, 4)) * lax.slice(x, (0, 0), (2, 4)).sum(), A)),
        ("overlap", Case(lambda x: x[:2] * x[1:], A)),
        ("nothing", Case(lambda x, y: jnp.concatenate([x[2:2], y[:, 1:][:0]]), A, (2, 5)))],
    "stablehlo.pad": [
        ("shapes", each(lambda x, v: lax.pad(x, v, tuple((1, 2, i) for i in range(x.ndim))), [A, ()], [(3,), ()], [(), ()],
                        [(0, 2), ()])),
        ("that crops", Case(lambda x, v: lax.pad(x, v, ((-1, 2, 1), (1, -2, 0))), A, ())),
        ("that spreads and crops", Case(lambda x, v: lax.pad(x, v, ((0, -2, 1), (0, 0, 0))), A, ()))],
    "stablehlo.concatenate": [("shapes", each(lambda x, y: lax.concatenate([x, y, x], 0), [A, (2, 4)], [(3,), (1,)],
                                              [(0, 2), (3, 2)], [(0,), (0,)]))],
    "stablehlo.dynamic_slice": [
        ("clamped", Case(lambda x: lax.dynamic_slice(x, (jnp.int32(1), jnp.int32(9)), (2, 2)), A)),
        ("where the operand says", Case(lambda x: lax.dynamic_slice(
            x, ((x[0, 0] * 9).astype(jnp.int32), jnp.int32(1)), (1, 2)), A)),
        ("nothing", Case(lambda x: lax.dynamic_slice(x, (jnp.int32(1), jnp.int32(0)), (0, 2)), A)),
        ("rank 0", Case(lambda x: lax.dynamic_slice(x * x, (), ()), (), text="""
  %p = stablehlo.multiply %x0, %x0 : tensor<TYPE>
  %y = stablehlo.dynamic_slice %p, sizes = [] : (tensor<TYPE>) -> tensor<TYPE>""", reference=lambda x: x * x))],
    "stablehlo.dynamic_update_slice": [
        ("clamped", Case(lambda x, y: lax.dynamic_update_slice(x, y, (jnp.int32(1), jnp.int32(7))), A, (2, 2))),
        ("nothing", Case(lambda x, y: lax.dynamic_update_slice(x, y, (jnp.int32(1), jnp.int32(2))), A, (0, 2)))],
}

REDUCTIONS = {
    "stablehlo.reduce": [
        ("add", each(lambda x: x.sum(tuple(range(0, x.ndim, 2))), [(2, 3, 4)], [(5,)], [(0, 3)], [()])),
        ("multiply", each(lambda x: jnp.prod(x, tuple(range(0, x.ndim, 2))), [(2, 3, 4)], [(5,)], [(0, 3)], [(3, 0)], [()])),
        ("multiply, all", Case(lambda x: jnp.prod(x) * x, (2, 4))),
        ("multiply with zeros", Case(lambda x: jnp.prod(x, 1), values=[np.array([[1.5, 0, 2], [0, 3, 0], [1, 2, 3]])])),
        ("maximum", each(lambda x: x.max(-1), [A], [(5,)], [(0, 3)])),
        ("maximum of equals", Case(lambda x: x.max(1), values=[TIES])),
        ("minimum", each(lambda x: x.min(0), [A], [(5,)], [(3, 0)])),
        ("minimum of equals", Case(lambda x: x.min(1), values=[TIES])),
        ("add, initial value", Case(lambda x, i: lax.reduce(x, i, lax.add, (0,)), A, (),
                                    reference=lambda x, i: x.sum(0) + i)),
        ("multiply, initial value", Case(lambda x, i: lax.reduce(x, i, lax.mul, (0,)), A, (),
                                         reference=lambda x, i: jnp.prod(x, 0) * i)),
        ("complex", Case(lambda x, y: lax.imag(jnp.prod(lax.complex(x, y), 0) * jnp.sum(lax.complex(x, y))), A, A)),
        ("softmax", Case(jax.nn.softmax, A)), ("log_softmax", Case(jax.nn.log_softmax, A)),
        ("logsumexp", each(lambda x: jax.nn.logsumexp(x, -1), [A], [(5,)])),
        ("standard deviation", Case(lambda x: jnp.std(x, 0), A)),
        ("layer norm", Case(lambda x: jax.nn.standardize(x, axis=-1), A)),
        ("another computation", refused("""
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = "stablehlo.reduce"(%w, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.atan2 %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>""",
                                        "has no gradient rule: expected one operand and a body that is one add or "
                                        "multiply of its arguments, or one maximum or minimum and a constant initial "
                                        "value"))],
    "stablehlo.dot_general": [
        ("matrices", Case(lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ()))), A, B)),
        ("right transposed", Case(lambda x, y: lax.dot_general(x, y, (((1,), (1,)), ((), ()))), A, (5, 4))),
        ("left transposed", Case(lambda x, y: lax.dot_general(x, y, (((0,), (1,)), ((), ()))), A, (5, 3))),
        ("batch", Case(lambda x, y: lax.dot_general(x, y, (((3,), (1,)), ((0, 2), (0, 3)))), (2, 3, 4, 5), (2, 5, 6, 4))),
        ("two contracted", Case(lambda x, y: lax.dot_general(x, y, (((1, 3), (2, 0)), ((), ()))), (2, 3, 4, 5), (5, 6, 3))),
        ("batch in another order", Case(
            lambda x, y: lax.dot_general(x, y, (((0,), (2,)), ((2, 1), (0, 1)))), (2, 3, 4), (4, 3, 2, 5))),
        ("outer", Case(lambda x, y: lax.dot_general(x, y, (((), ()), ((), ()))), (3,), (2, 2))),
        ("vectors", Case(lambda x, y: lax.dot_general(x, y, (((0,), (0,)), ((), ()))), (4,), (4,))),
        ("scalars", Case(lambda x, y: lax.dot_general(x, y, (((), ()), ((), ()))), (), (2,))),
        ("nothing", each(lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ()))), [(3, 0), (0, 2)], [(0, 3), (3, 2)])),
        ("transposes", Case(lambda x, y: lax.dot_general(
            x.transpose(0, 2, 1), y.T, (((1,), (0,)), ((), ()))), (2, 3, 4), (5, 4))),
        ("complex", Case(lambda x, y, u: lax.imag(lax.complex(x, x * 2) @ lax.complex(y, u)), A, B, B)),
        ("attention", Case(lambda q, k, v: jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(
            jnp.einsum("bqhd,bkhd->bhqk", q, k)), v).reshape(2, 3, 8), (2, 3, 2, 4), (2, 3, 2, 4), (2, 3, 2, 4)))],
}


def take(x, indices, dtype=np.int32, **changed):
    numbers = lax.GatherDimensionNumbers(**({"offset_dims": (1,), "collapsed_slice_dims": (0,),
                                             "start_index_map": (0,)} | changed.pop("numbers", {})))
    return lax.gather(x, np.array(indices, dtype), numbers, **({"slice_sizes": (1, x.shape[1]), "mode": "clip"} | changed))


def put(kind, **options):
    """A scatter to rows; two updates may share a place, and some lie outside."""
    def run(x, u):
        return getattr(x.at[np.array([1, 9, 0, 1])[:u.shape[0]]], kind)(u, mode="drop", **options)
    return run


INDEXING = {
    "stablehlo.gather": [
        ("rows", Case(lambda x: take(x, [[1], [0], [1], [1]]), A)),
        ("out of bounds", Case(lambda x: take(x, [[7], [-3], [1]]), A)),
        ("blocks", Case(lambda x: take(x, [[0, 9], [1, 1], [2, 0]], slice_sizes=(2, 2), numbers={
            "offset_dims": (1, 2), "collapsed_slice_dims": (), "start_index_map": (0, 1)}), (4, 4))),
        ("blocks of unequal bounds", Case(lambda x: take(x, [[0, 9], [5, 1], [2, 0]], slice_sizes=(2, 1), numbers={
            "offset_dims": (1, 2), "collapsed_slice_dims": (), "start_index_map": (0, 1)}), (4, 6))),
        ("batches", Case(lambda x: take(x, [[[0], [1]], [[3], [3]]], slice_sizes=(1, 1), numbers={
            "offset_dims": (), "collapsed_slice_dims": (1,), "start_index_map": (1,), "operand_batching_dims": (0,),
            "start_indices_batching_dims": (0,)}), (2, 4))),
        # The largest start, 299, is not a number of eight bits.
        *[(f"{np.dtype(dtype)} indices", Case(lambda x, dtype=dtype: take(x, [[3], [120], [7]], dtype), (300, 2)))
          for dtype in (np.int8, np.uint8, np.int16)],
        ("i8 indices of blocks", Case(lambda x: take(x, [[100, 2], [5, 1]], np.int8, slice_sizes=(2, 1), numbers={
            "offset_dims": (1, 2), "collapsed_slice_dims": (), "start_index_map": (0, 1)}), (300, 6))),
        ("nothing", Case(None, A, reference=lambda x: x[:0], text="""
  %i = stablehlo.constant dense<0> : tensor<0x1xi32>
  %y = "stablehlo.gather"(%x0, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
    start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}>
    : (tensor<3x4xTYPE>, tensor<0x1xi32>) -> tensor<0x4xTYPE>""")),
        ("of scalars", Case(lambda x: x[2] * x[jnp.array([0, 4, 2])], (5,))),
        ("complex", Case(lambda x, y: lax.imag(take(lax.complex(x, y), [[1], [1]]) ** 2), A, A))],
    "stablehlo.scatter": [
        ("add", each(put("add"), [A, (4, 4)], [(5,), (3,)], [A, (0, 4)])),
        ("add of one", Case(lambda x, u: x.at[1, 2].add(u), A, ())),
        ("add to points", Case(lambda x, u: x.at[jnp.array([1, 9, 0]), jnp.array([0, 1, 7])].add(u), A, (3,))),
        ("overwrite", each(put("set"), [A, (4, 4)], [(5,), (3,)], [A, (0, 4)])),
        ("multiply", Case(put("multiply", unique_indices=True), A, (3, 4))),
        ("multiply of the operand", Case(lambda x: put("multiply")(x, np.full((4, 4), 1.5, x.dtype)), A)),
        ("maximum", each(put("max"), [A, (4, 4)], [(5,), (3,)], [A, (0, 4)])),
        ("minimum", Case(put("min"), A, (4, 4))),
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
        ("one", each(lambda x: lax.sort(x, dimension=0), [(5, 3)], [(4,)], [(0, 3)])),
        ("several by a key", Case(lambda x, y: lax.sort((x, y * 2, x + y), dimension=1, num_keys=1)[1], A, A)),
        ("of equals", Case(lambda x, y: lax.sort((x, y), num_keys=1)[1], values=[TIES, 2 * TIES])),
        ("unstable", refused("""
  %s:2 = "stablehlo.sort"(%w, %w) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %1 = stablehlo.slice %s#1 [0:1] : (tensor<4xf32>) -> tensor<1xf32>
  %y = stablehlo.reshape %1 : (tensor<1xf32>) -> tensor<f32>"""))],
    "chlo.top_k": [("rows", Case(lambda x: lax.top_k(x, 2)[0], (3, 5))),
                   ("vector", Case(lambda x: lax.top_k(x, 3)[0], (6,))),
                   ("nothing", Case(lambda x: lax.top_k(x, 2)[0], (0, 5)))],
}


def conv(strides, padding, lhs_dilation, rhs_dilation, layout, feature_groups=1, batch_groups=1):
    return lambda x, k: lax.conv_general_dilated(x, k, strides, padding, lhs_dilation, rhs_dilation, layout,
                                                 feature_groups, batch_groups)


def window(name, *arguments):
    start = {"add": 0, "mul": 1, "max": -np.inf, "min": np.inf}[name]
    return lambda x: lax.reduce_window(x, of(x, start), getattr(lax, name), *arguments)


def selected(window, strides, padding):
    """The transpose of a pooling: where the source goes, the operand's windows say."""
    def run(x, source):
        pool = lambda x: lax.reduce_window(x, of(x, -np.inf), lax.max, window, strides, padding)
        return jax.vjp(pool, x)[1](source)[0]
    return run


NCHW, NHWC = ("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC")
NO, ONES = ((0, 0), (0, 0)), (1, 1)
DILATED = ((2, 1), ((1, 2), (0, 3)), (1, 2), (2, 1))
DILATIONS = ((2, 3), (2, 1), ((1, 0), (0, 2)), (1, 2), (2, 1))
WINDOWS = {
    "stablehlo.convolution": [
        ("plain", Case(conv(ONES, NO, ONES, ONES, NCHW), (2, 3, 5, 4), (4, 3, 3, 2))),
        ("strided beyond the kernel", Case(conv((3, 2), NO, ONES, ONES, NHWC), (2, 8, 7, 3), (2, 1, 3, 4))),
        ("padded and dilated", Case(conv(*DILATED, NHWC), (2, 6, 5, 3), (3, 2, 3, 4))),
        ("that crops", Case(conv((1, 2), ((-1, 2), (3, -2)), ONES, ONES, NCHW), (1, 2, 6, 7), (3, 2, 2, 3))),
        ("feature groups", Case(conv(*DILATED, NHWC, 2), (2, 6, 5, 4), (3, 2, 2, 6))),
        ("depthwise", Case(conv(ONES, NO, ONES, ONES, NCHW, 3), (2, 3, 4, 5), (6, 1, 2, 2))),
        ("batch groups", Case(conv(*DILATED, NCHW, 1, 2), (4, 3, 6, 5), (6, 3, 3, 2))),
        ("no batch", Case(conv(ONES, NO, ONES, ONES, NCHW), (0, 3, 5, 4), (4, 3, 3, 2))),
        ("no space", Case(conv((), (), (), (), ("NC", "OI", "NC")), (2, 3), (4, 3)))],
    "stablehlo.reduce_window": [
        ("add", Case(window("add", *DILATIONS), (5, 6))),
        ("add, strided beyond the window", Case(window("add", (2, 1), (3, 2), "VALID"), (6, 6))),
        ("maximum", Case(window("max", (2, 3), (1, 2), ((1, 0), (1, 2))), (5, 6))),
        ("minimum", Case(window("min", (2, 2), (2, 2), "VALID"), (4, 6))),
        ("nothing", each(window("add", (2,), (1,), "VALID"), [(0,)], [(1,)])),
        ("multiply", Case(window("mul", (2, 3), (1, 2), ((1, 0), (1, 2))), (5, 6), reference=lambda x: products(
            x, (2, 3), (1, 2), ((1, 0), (1, 2))))),
        ("multiply, dilated", Case(window("mul", *DILATIONS), (5, 6), reference=lambda x: products(x, *DILATIONS))),
        ("multiply of nothing", Case(lambda x: lax.reduce_window(x, of(x, 1), lax.mul, (2,), (1,), "VALID"), (1,),
                                     reference=lambda x: x[:0])),
        ("cumsum", Case(lambda x: lax.cumsum(x, 0), (5, 3))),
        ("cumsum, reversed", Case(lambda x: lax.cumsum(x, 1, reverse=True), (3, 5))),
        ("cummax", Case(lambda x: lax.cummax(x, 0), (5, 3))),
        ("cummin, reversed", Case(lambda x: lax.cummin(x, 0, reverse=True), (5, 3))),
        ("cumprod", Case(lambda x: lax.cumprod(x, 0), (5, 3))),
        ("cumprod, reversed", Case(lambda x: lax.cumprod(x, 1, reverse=True), (2, 6))),
        ("cumprod with zeros", Case(lambda x: lax.cumprod(x), values=[np.array([1.5, 2, 0, 3, 0, 2])])),
        ("maximum, dilated", refused("""
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%w, %low) <{window_dimensions = array<i64: 2>, window_dilations = array<i64: 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<1xf32>
  %y = stablehlo.reshape %0 : (tensor<1xf32>) -> tensor<f32>"""))],
    "stablehlo.select_and_scatter": [
        ("tiles", Case(selected((2, 2), (2, 2), "VALID"), (4, 6), (2, 3))),
        ("overlap", Case(selected((2, 3), (1, 2), ((1, 0), (1, 2))), (5, 6), (5, 4))),
        ("nothing", Case(selected((2, 1), (2, 1), "VALID"), (4, 0), (2, 0))),
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


def products(x, window, strides, padding, base=(1, 1), dilations=(1, 1)):
    """Products over windows, out of slices: JAX does not differentiate its own."""
    x = lax.pad(x, of(x, 1), tuple((low, high, d - 1) for (low, high), d in zip(padding, base)))
    result = 1
    for i in range(window[0]):
        for j in range(window[1]):
            start = (i * dilations[0], j * dilations[1])
            counts = [(x.shape[d] - (window[d] - 1) * dilations[d] - 1) // strides[d] + 1 for d in range(2)]
            limit = tuple(s + (c - 1) * t + 1 for s, c, t in zip(start, counts, strides))
            result = result * lax.slice(x, start, limit, strides)
    return result


def positive(x):
    return x @ x.swapaxes(-1, -2) + 2 * jnp.eye(x.shape[-1], dtype=x.dtype)


def triangular(lower):
    def run(x):
        part = jnp.tril(x, -1) if lower else jnp.triu(x, 1)
        return part + 3 * jnp.eye(x.shape[-1], dtype=x.dtype) + x * jnp.eye(x.shape[-1], dtype=x.dtype)
    return run


def solver(left, lower, transpose, unit):
    def run(a, b):
        return lax.linalg.triangular_solve(a if unit else triangular(lower)(a), b, left_side=left, lower=lower,
                                           transpose_a=transpose, unit_diagonal=unit)
    return run


def spectrum(kind, length):
    """A transform of real operands; both parts of the value count."""
    def run(x, y):
        z = x if kind == "RFFT" else lax.complex(x, y)
        z = lax.fft(z, kind, length)
        z = lax.complex(z, z * 0) if kind == "IRFFT" else z
        return jnp.concatenate([jnp.ravel(lax.real(z)), jnp.ravel(lax.imag(z) + y.sum())])
    return run


LINEAR_ALGEBRA = {
    "stablehlo.cholesky": [
        ("shapes", each(lambda x: lax.linalg.cholesky(positive(x), symmetrize_input=False), [(4, 4)], [(2, 3, 3)], [(1, 1)],
                        [(0, 2, 2)], platform="tpu")),
        ("upper", Case(None, (3, 3), text="""
  %t = stablehlo.transpose %x0, dims = [1, 0] : (tensor<3x3xTYPE>) -> tensor<3x3xTYPE>
  %p = stablehlo.dot_general %x0, %t, contracting_dims = [1] x [0] : (tensor<3x3xTYPE>, tensor<3x3xTYPE>) -> tensor<3x3xTYPE>
  %y = stablehlo.cholesky %p, lower = false : tensor<3x3xTYPE>""", reference=lambda x: lax.linalg.cholesky(x @ x.T).T)),
        ("complex", refused("""
  %z = stablehlo.complex %w, %w : tensor<1x1xcomplex<f32>>
  %c = stablehlo.cholesky %z, lower = true : tensor<1x1xcomplex<f32>>
  %r = stablehlo.real %c : (tensor<1x1xcomplex<f32>>) -> tensor<1x1xf32>
  %y = stablehlo.reshape %r : (tensor<1x1xf32>) -> tensor<f32>""", "has a complex operand", "tensor<1x1xf32>"))],
    "stablehlo.triangular_solve": [
        *[(f"left={left} lower={lower} transposed={transpose} unit={unit}",
           each(solver(left, lower, transpose, unit), [(3, 3), (3, 2) if left else (2, 3)],
                [(2, 2, 2), (2, 2, 4) if left else (2, 4, 2)], platform="tpu", low=-1.0, high=1.0))
          for left in (True, False) for lower in (True, False) for transpose in (True, False) for unit in (True, False)],
        ("nothing", Case(solver(True, True, False, False), (0, 2, 2), (0, 2, 3), platform="tpu"))],
    "stablehlo.fft": [
        *[(f"{kind} {shape}", Case(spectrum(kind, length), shape, shape)) for kind, length, shape in (
            ("FFT", (6,), (2, 6)), ("IFFT", (5,), (5,)), ("FFT", (3, 4), (2, 3, 4)),
            ("RFFT", (6,), (2, 6)), ("RFFT", (5,), (2, 5)),
            ("RFFT", (3, 4), (3, 4)), ("RFFT", (1,), (2, 1)), ("IRFFT", (6,), (2, 4)), ("IRFFT", (5,), (2, 3)),
            ("IRFFT", (3, 4), (3, 3)), ("FFT", (4,), (0, 4)))]],
}


def normalize(x, scale, offset, mean, variance, feature):
    axes = [d for d in range(x.ndim) if d != feature]
    spread = lambda v: jnp.expand_dims(v, axes)
    return spread(scale) * (x - spread(mean)) / jnp.sqrt(spread(variance) + 0.0078125) + spread(offset)


def training(x, scale, offset):
    mean, variance = x.mean((0, 2)), x.var((0, 2))
    y = normalize(x, scale, offset, mean, variance, 1)
    return y * jnp.expand_dims(mean * jnp.sin(variance), (0, 2))


TRAINING = """
  %n:3 = "stablehlo.batch_norm_training"(%x0, %x1, %x2) <{epsilon = 0.0078125 : f32, feature_index = 1 : i64}>
    : (tensor<4x3x2xTYPE>, tensor<3xTYPE>, tensor<3xTYPE>) -> (tensor<4x3x2xTYPE>, tensor<3xTYPE>, tensor<3xTYPE>)
  %s = stablehlo.sine %n#2 : tensor<3xTYPE>
  %m = stablehlo.multiply %n#1, %s : tensor<3xTYPE>
  %b = stablehlo.broadcast_in_dim %m, dims = [1] : (tensor<3xTYPE>) -> tensor<4x3x2xTYPE>
  %y = stablehlo.multiply %n#0, %b : tensor<4x3x2xTYPE>"""
INFERENCE = """
  %v = stablehlo.multiply %x4, %x4 : tensor<3xTYPE>
  %y = "stablehlo.batch_norm_inference"(%x0, %x1, %x2, %x3, %v) <{epsilon = 0.0078125 : f32, feature_index = 1 : i64}>
    : (tensor<4x3xTYPE>, tensor<3xTYPE>, tensor<3xTYPE>, tensor<3xTYPE>, tensor<3xTYPE>) -> tensor<4x3xTYPE>"""
FEATURES = [(3,)] * 4
NORMALIZATION = {
    "stablehlo.batch_norm_training": [
        ("statistics too", Case(None, (4, 3, 2), (3,), (3,), text=TRAINING, reference=training)),
        ("one feature", Case(None, (4, 1, 2), (1,), (1,), reference=training,
                             text=TRAINING.replace("4x3x2", "4x1x2").replace("tensor<3x", "tensor<1x")))],
    "stablehlo.batch_norm_inference": [
        ("all operands", Case(None, (4, 3), *FEATURES, text=INFERENCE,
                              reference=lambda x, s, o, m, v: normalize(x, s, o, m, v * v, 1))),
        ("nothing", Case(None, (0, 3), *FEATURES, text=INFERENCE.replace("4x3", "0x3"),
                         reference=lambda x, s, o, m, v: normalize(x, s, o, m, v * v, 1)))],
    "stablehlo.batch_norm_grad": [("refused", refused("""
  %one = stablehlo.constant dense<1.0> : tensor<1xf32>
  %g:3 = "stablehlo.batch_norm_grad"(%w, %one, %one, %one, %w) <{epsilon = 0.0078125 : f32, feature_index = 1 : i64}>
    : (tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<2x1xf32>)
    -> (tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>)
  %y = stablehlo.reshape %g#1 : (tensor<1xf32>) -> tensor<f32>""", parameter="tensor<2x1xf32>"))],
}

TENSORS = SHAPES | REDUCTIONS | INDEXING | WINDOWS | LINEAR_ALGEBRA | NORMALIZATION
