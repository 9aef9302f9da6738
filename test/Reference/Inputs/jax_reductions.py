"""Reductions, windows, sorts."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

RNG = np.random.default_rng(2)


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def reductions():
    x = normal(4, 5, 6)
    for axes in [(0,), (1,), (2,), (0, 2), (0, 1, 2), ()]:
        yield f"sum{axes}", lambda v, a=axes: jnp.sum(v, axis=a), [x], {"atol": 1e-5}
        yield f"max{axes}", lambda v, a=axes: (jnp.max(v, axis=a), jnp.min(v, axis=a)), [x], {}
    yield "prod", lambda v: jnp.prod(v, axis=1), [x], {"rtol": 1e-5}
    yield "sum_large", jnp.sum, [normal(1000, 37)], {"rtol": 1e-4}
    yield "sum_empty", lambda v: jnp.sum(v, axis=0), [normal(0, 3)], {}
    yield "nan", lambda v: (jnp.max(v), jnp.min(v), jnp.sum(v)), [np.array([1, np.nan, 2], np.float32)], {}
    for dtype in (np.int8, np.uint16, np.int64):
        ints = RNG.integers(0, 100, (5, 7)).astype(dtype)
        yield f"ints_{np.dtype(dtype).name}", lambda v, t=dtype: (
            jnp.sum(v, axis=0, dtype=t), jnp.prod(v, axis=1, dtype=t), jnp.max(v), jnp.min(v, axis=0)), [ints], {}
    for dtype in (np.float16, ml_dtypes.bfloat16):
        yield f"sum_{np.dtype(dtype).name}", lambda v: lax.reduce(v, v.dtype.type(0), lax.add, (1,)), \
            [normal(5, 9, dtype=dtype)], {"atol": 0.1}
    bools = RNG.random((6, 3)) < 0.6
    yield "any_all", lambda v: (jnp.any(v, axis=0), jnp.all(v, axis=1), jnp.all(v)), [bools], {}
    ties = RNG.integers(0, 3, (6, 11)).astype(np.float32)
    ties[2, 5] = np.nan
    yield "argmax", lambda v: (jnp.argmax(v, axis=1), jnp.argmin(v, axis=0), jnp.argmax(v)), [ties], {}
    yield "init_value", lambda v, i: lax.reduce(v, i, lax.add, (0,)), [x, np.float32(3)], {"atol": 1e-5}
    yield "bitwise", lambda v: (lax.reduce(v, np.uint32(0), lax.bitwise_xor, (0,)),
                                lax.reduce(v, ~np.uint32(0), lax.bitwise_and, (0,)),
                                lax.reduce(v, np.uint32(0), lax.bitwise_or, (1,))), \
        [RNG.integers(0, 2**32, (4, 5), dtype=np.uint32)], {}
    yield "general_body", lambda v, w: lax.reduce(
        (v, w), (np.float32(0), np.float32(1)), lambda a, b: (a[0] + b[0], a[1] * b[1] + 0 * a[0]), (1,)), \
        [normal(3, 4), normal(3, 4)], {"atol": 1e-5}
    yield "softmax", lambda v: jax.nn.softmax(v, axis=-1), [x], {}
    yield "logsumexp", lambda v: jax.nn.logsumexp(v, axis=1), [x], {}
    yield "variance", lambda v: (jnp.mean(v, axis=-1), jnp.var(v, axis=-1)), [x], {"atol": 1e-6}


def windows():
    x = normal(3, 12)
    yield "cumulative", lambda v: (jnp.cumsum(v, axis=1), jnp.cumprod(v, axis=0), lax.cummax(v, axis=1),
                                   lax.cummin(v, axis=1, reverse=True), lax.cumlogsumexp(v, axis=1)), [x], {"atol": 1e-5}
    yield "cumsum_int", lambda v: jnp.cumsum(v, axis=0), [RNG.integers(0, 9, (20, 3))], {}
    image = normal(2, 8, 9, 3)

    def pool(v, padding):
        return lax.reduce_window(v, -np.inf, lax.max, (1, 3, 2, 1), (1, 2, 2, 1), padding)

    for padding in ("SAME", "VALID"):
        yield f"max_pool_{padding}", lambda v, p=padding: pool(v, p), [image], {}
        yield f"max_pool_gradient_{padding}", lambda v, p=padding: jax.grad(lambda u: jnp.sum(pool(u, p) ** 2))(v), \
            [image], {}
    yield "dilated_window", lambda v: lax.reduce_window(
        v, np.float32(0), lax.add, (2, 3), (1, 2), ((1, 0), (2, 3)), base_dilation=(2, 3), window_dilation=(1, 2)), \
        [normal(4, 5)], {"atol": 1e-6}


def sorts():
    x = RNG.integers(-5, 5, (4, 9)).astype(np.float32)
    x[1, 3], x[2, 2], x[3, :2] = np.nan, -np.inf, (-0.0, 0.0)
    yield "sort", lambda v: (lax.sort(v, dimension=1), lax.sort(v, dimension=0)), [x], {}
    yield "sort_descending", lambda v: jnp.sort(v, axis=-1, descending=True), [x], {}
    yield "argsort", lambda v: jnp.argsort(v, axis=1), [x], {}
    keys = RNG.integers(0, 3, (5, 20))
    yield "sort_pairs", lambda k, v: lax.sort((k, v), dimension=1, num_keys=1), \
        [keys, np.arange(100.0).reshape(5, 20)], {}
    yield "sort_two_keys", lambda k, v, w: lax.sort((k, v, w), dimension=1, num_keys=2), \
        [keys, np.flip(keys, 0) % 2, np.arange(100).reshape(5, 20)], {}
    for dtype in (np.uint8, np.int16, np.float64, ml_dtypes.bfloat16):
        yield f"sort_{np.dtype(dtype).name}", lax.sort, [RNG.integers(0, 100, 33).astype(dtype)], {}
    yield "sort_empty", lax.sort, [normal(0)], {}
    yield "top_k", lambda v: lax.top_k(v, 4), [x], {}
    yield "top_k_int", lambda v: lax.top_k(v, 5), [keys], {}
    yield "median", jnp.median, [normal(21)], {}


def cases():
    yield from reductions()
    yield from windows()
    yield from sorts()
