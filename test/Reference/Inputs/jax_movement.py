"""Ops that move data, and matrix products."""

import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

RNG = np.random.default_rng(1)


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def shapes():
    x = normal(2, 3, 5)
    yield "broadcast_in_dim", lambda v: lax.broadcast_in_dim(v, (4, 2, 3, 6, 5), (1, 2, 4)), [x], {}
    yield "broadcast_ones", lambda v: lax.broadcast_in_dim(v, (2, 3, 5), (0, 1, 2)), [normal(2, 1, 5)], {}
    yield "broadcast_scalar", lambda v: lax.broadcast_in_dim(v, (2, 3), ()), [np.float16(1.5)], {}
    yield "reshape", lambda v: lax.reshape(v, (5, 6)), [x], {}
    for order in [(0, 2, 1), (2, 1, 0), (1, 0, 2)]:
        yield f"transpose{order}", lambda v, o=order: lax.transpose(v, o), [x], {}
    yield "transpose_bool", lambda v: lax.transpose(v, (1, 0)), [normal(3, 4) > 0], {}
    yield "reverse", lambda v: lax.rev(v, (0, 2)), [x], {}
    yield "iota", lambda: [lax.broadcasted_iota(t, (3, 4), d) for t in (np.int8, np.uint64, np.float32, np.float16)
                           for d in (0, 1)], [], {}
    yield "empty", lambda v: (lax.transpose(v, (1, 0)), v + v, lax.concatenate([v, v], 1)), [normal(0, 3)], {}


def pieces():
    x = normal(7, 9)
    yield "slice", lambda v: lax.slice(v, (1, 2), (6, 9), (2, 3)), [x], {}
    yield "slice_empty", lambda v: lax.slice(v, (1, 2), (1, 9)), [x], {}
    yield "concatenate", lambda u, v, w: lax.concatenate([u, v, w], 1), [normal(2, 3), normal(2, 0), normal(2, 4)], {}
    for low, high, interior in [((1, 2), (3, 0), (0, 0)), ((0, 0), (0, 0), (2, 1)), ((-2, 1), (-1, -4), (0, 2)),
                                ((-3, -5), (2, 3), (3, 1)), ((-8, 0), (-20, 0), (4, 0)), ((-30, 0), (40, 0), (4, 0))]:
        config = list(zip(low, high, interior))
        yield f"pad{config}", lambda v, p, c=config: lax.pad(v, p, c), [x, np.float32(9)], {}
    yield "pad_empty", lambda v, p: lax.pad(v, p, [(1, 2, 3)]), [normal(0), np.float32(9)], {}
    for i, j in [(0, 0), (2, 3), (-1, -1), (100, 4), (3, -100)]:
        at = [np.int32(i), np.int32(j)]
        yield f"dynamic_slice({i},{j})", lambda v, i, j: lax.dynamic_slice(v, (i, j), (3, 4)), [x, *at], {}
        yield f"dynamic_update_slice({i},{j})", lambda v, u, i, j: lax.dynamic_update_slice(v, u, (i, j)), \
            [x, normal(3, 4), *at], {}
    yield "dynamic_slice_uint8", lambda v, i: lax.dynamic_slice(v, (i,), (30,)), [normal(256), np.uint8(200)], {}


def products():
    for contracting, batch in [(((1,), (0,)), ((), ())), (((0,), (1,)), ((), ())), (((0, 1), (1, 0)), ((), ()))]:
        yield f"dot{contracting}", lambda a, b, d=(contracting, batch): lax.dot_general(a, b, d), \
            [normal(6, 6), normal(6, 6)], {"atol": 1e-5}
    dims = (((3,), (2,)), ((0, 1), (0, 2 - 1)))
    yield "dot_batched", lambda a, b: lax.dot_general(a, b, dims), [normal(2, 3, 4, 5), normal(2, 3, 5, 6)], {"atol": 1e-5}
    dims = (((0,), (3,)), ((2,), (1,)))
    yield "dot_batch_in_the_middle", lambda a, b: lax.dot_general(a, b, dims), \
        [normal(5, 4, 3), normal(2, 3, 6, 5)], {"atol": 1e-5}
    yield "dot_outer", lambda a, b: lax.dot_general(a, b, (((), ()), ((), ()))), [normal(3), normal(4)], {}
    yield "dot_empty_contraction", lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ()))), \
        [normal(3, 0), normal(0, 4)], {}
    yield "dot_large", lambda a, b: a @ b, [normal(37, 300), normal(300, 530)], {"atol": 2e-4}
    yield "dot_f64", lambda a, b: a @ b, [normal(8, 9, dtype=np.float64), normal(9, 5, dtype=np.float64)], {"atol": 1e-13}
    for dtype in (np.float16, ml_dtypes.bfloat16):
        args = [normal(8, 9, dtype=dtype), normal(9, 5, dtype=dtype)]
        yield f"dot_{np.dtype(dtype).name}", lambda a, b: a @ b, args, {"atol": 2e-2}
        yield f"dot_{np.dtype(dtype).name}_to_f32", \
            lambda a, b: lax.dot(a, b, preferred_element_type=jnp.float32), args, {"atol": 1e-5}
    for dtype in (np.int8, np.int32, np.uint8, np.int64):
        info = np.iinfo(dtype)
        args = [RNG.integers(info.min, info.max, (5, 7), dtype=dtype), RNG.integers(info.min, info.max, (7, 3), dtype=dtype)]
        yield f"dot_{np.dtype(dtype).name}", lambda a, b: lax.dot(a, b), args, {}
    yield "dot_int8_to_int32", lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32), \
        [RNG.integers(-128, 128, (5, 7), dtype=np.int8), RNG.integers(-128, 128, (7, 3), dtype=np.int8)], {}
    yield "einsum", lambda a, b: jnp.einsum("bthd,bshd->bhts", a, b), [normal(2, 4, 3, 5), normal(2, 6, 3, 5)], {"atol": 1e-5}


def cases():
    yield from shapes()
    yield from pieces()
    yield from products()
