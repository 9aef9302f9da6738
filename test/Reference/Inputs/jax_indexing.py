"""Gather and scatter in all their modes."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax
from jax.lax import GatherScatterMode

RNG = np.random.default_rng(3)
MODES = ["clip", "fill", "drop", "promise_in_bounds"]


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def gathers():
    x, y = normal(7, 5), normal(4, 6, 8)
    inside, outside = RNG.integers(0, 7, (3, 4)), np.array([-9, -7, -1, 0, 6, 7, 100])
    for mode in ("clip", "fill", "wrap"):
        yield f"take_{mode}", lambda v, i, m=mode: jnp.take(v, i, axis=0, mode=m), [x, outside], {}
    yield "rows", lambda v, i: v[i], [x, inside], {}
    yield "columns", lambda v, i: v[:, i], [x, inside % 5], {}
    yield "pairs", lambda v, i, j: v[i, j], [x, inside, inside % 5], {}
    yield "split_pairs", lambda v, i, j: v[i, :, j], [y, inside % 4, inside], {}
    yield "uint8_indices", lambda v, i: v[i], [x, inside.astype(np.uint8)], {}
    yield "uint64_indices", lambda v, i: v.at[i].get(mode="clip"), \
        [x, np.array([0, 3, 2**63 + 5, 2**64 - 1], np.uint64)], {}
    yield "take_along_axis", lambda v, i: jnp.take_along_axis(v, i, axis=1), [x, RNG.integers(0, 5, (7, 3))], {}
    yield "batched", jax.vmap(lambda v, i: v[i]), [y, RNG.integers(0, 6, (4, 3))], {}
    yield "batched_inner", jax.vmap(lambda v, i: v[i], in_axes=(1, 0), out_axes=1), [y, RNG.integers(0, 4, (6, 3))], {}
    yield "batched_dynamic_slice", jax.vmap(lambda v, i: lax.dynamic_slice(v, (i, 2), (3, 4))), \
        [y, np.array([-3, 0, 2, 50])], {}
    dims = lax.GatherDimensionNumbers(offset_dims=(0, 2), collapsed_slice_dims=(), start_index_map=(1,))
    yield "windows", lambda v, i: lax.gather(v, i, dims, (3, 4), mode=GatherScatterMode.CLIP), \
        [x, np.array([[0], [1], [4], [-1]])], {}
    yield "bool", lambda v, i: v[i], [x > 0, inside], {}
    yield "empty_indices", lambda v, i: v[i], [x, np.zeros((0,), np.int32)], {}


def scatters():
    x, indices = normal(6, 4), np.array([[0, 3], [3, 5], [0, 0]])
    updates = normal(3, 2, 4)
    for name in ("add", "set", "multiply", "min", "max"):
        unique = np.array([5, 0, 3]) if name == "set" else indices
        yield name, lambda v, i, u, n=name: getattr(v.at[i], n)(u), \
            [x, unique, updates[:, 0] if name == "set" else updates], {"atol": 1e-5}
    for mode in MODES:
        i = indices if mode == "promise_in_bounds" else np.array([[-9, 3], [3, 6], [-1, 100]])
        yield f"add_{mode}", lambda v, i, u, m=mode: v.at[i].add(u, mode=m), [x, i, updates], {"atol": 1e-5}
    yield "scalars", lambda v, i, j, u: v.at[i, j].add(u), [x, indices, indices % 4, normal(3, 2)], {"atol": 1e-5}
    yield "column", lambda v, u: v.at[:, 2].set(u), [x, normal(6)], {}
    yield "apply", lambda v, i: v.at[i].apply(lambda t: t * 2 + 1), [x, np.array([1, 4])], {}
    yield "block", lambda v, u: v.at[1:4, 2:].add(u), [x, normal(3, 2)], {}
    yield "batched", jax.vmap(lambda v, i, u: v.at[i].add(u)), [normal(3, 6, 4), indices, updates], {"atol": 1e-5}
    yield "batched_slice", jax.vmap(lambda v, i, u: lax.dynamic_update_slice(v, u, (i, 1))), \
        [normal(3, 6, 4), np.array([-3, 2, 50]), normal(3, 2, 2)], {}
    yield "int", lambda v, i, u: v.at[i].add(u), [np.arange(5, dtype=np.int8), np.array([1, 1, 4]),
                                                   np.array([100, 100, 3], np.int8)], {}
    yield "bfloat16", lambda v, i, u: v.at[i].add(u), \
        [normal(5, dtype=ml_dtypes.bfloat16), np.array([1, 2, 4]), normal(3, dtype=ml_dtypes.bfloat16)], {}
    dims = lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(),
                                       scatter_dims_to_operand_dims=(0,))
    yield "windows_out_of_bounds", lambda v, i, u: lax.scatter_add(v, i, u, dims, mode=GatherScatterMode.FILL_OR_DROP), \
        [normal(8), np.array([[0], [6], [5], [-1], [3]]), normal(5, 3)], {"atol": 1e-5}
    yield "segment_sum", lambda v, i: jax.ops.segment_sum(v, i, num_segments=4), \
        [normal(10, 3), RNG.integers(-1, 6, 10)], {"atol": 1e-5}
    yield "embedding_gradient", lambda w, i, g: jax.vjp(lambda v: v[i], w)[1](g)[0], \
        [x, indices, updates], {"atol": 1e-5}
    yield "one_hot", lambda i: jax.nn.one_hot(i, 6), [indices], {}


def cases():
    yield from gathers()
    yield from scatters()
