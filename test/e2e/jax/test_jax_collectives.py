"""Programs with collectives as JAX prints them, interpreted with one rank per partition."""

import os
import pathlib
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import jax
import jax.numpy as jnp
import jax_step_models as models
import ml_dtypes
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec

import st_testing as st
from jax_on_dtu import summary
from jax_programs import case

# Annotations of Shardy's name meshes; the older ones are calls, which the interpreter reads.
jax.config.update("jax_use_shardy_partitioner", False)

AXES = {"a": 2, "b": 4}
RNG = np.random.default_rng(13)


def on_mesh(function, *args):
    """`function` on eight devices with the same arguments, and so the same results."""
    mesh = Mesh(np.array(jax.devices()).reshape(*AXES.values()), tuple(AXES))
    shared = PartitionSpec()
    return jax.shard_map(function, mesh=mesh, in_specs=shared, out_specs=shared, check_vma=False), args


def own(x):
    """A different value on every device."""
    return x * (1 + lax.axis_index("a") * AXES["b"] + lax.axis_index("b")).astype(x.dtype)


def everywhere(results):
    """The value of each device, on all devices."""
    return jax.tree.map(lambda v: lax.all_gather(v, tuple(AXES)), results)


def reductions():
    def program(*values):
        return everywhere([[lax.psum(own(v), axes), lax.pmax(own(v), axes), lax.pmin(own(v), axes)]
                           for v in values for axes in ("a", "b", ("a", "b"), ("b", "a"))]
                          + [lax.pmean(own(values[0]), "b"), lax.psum((own(values[0]), own(values[1])), "a")])
    return on_mesh(program, RNG.standard_normal((2, 3)).astype(np.float32), RNG.integers(-9, 9, 5).astype(np.int32),
                   RNG.standard_normal(4).astype(ml_dtypes.bfloat16))


def exchanges():
    def program(x):
        mine = own(x)
        ring = [(i, (i + 1) % 4) for i in range(4)]
        return everywhere([
            lax.all_gather(mine, "b"), lax.all_gather(mine, "a", axis=1, tiled=True), lax.ppermute(mine, "b", ring),
            lax.ppermute(mine, "a", [(0, 1)]), lax.psum_scatter(mine, "b", scatter_dimension=1, tiled=True),
            lax.psum_scatter(mine, ("a", "b"), tiled=True), lax.all_to_all(mine, "b", 0, 1, tiled=True),
            lax.all_to_all(mine[:2], "a", 0, 1), lax.axis_index("a")])
    return on_mesh(program, RNG.standard_normal((8, 4)).astype(np.float32))


def split_products():
    """A product with its contraction split over one axis, in a loop and under a condition that is the same on all
    devices."""
    def program(x, w):
        i = lax.axis_index("b")
        columns, rows = lax.dynamic_slice_in_dim(x, 2 * i, 2, 1), lax.dynamic_slice_in_dim(w, 2 * i, 2, 0)
        product = lax.psum(columns @ rows, "b")
        looped = lax.fori_loop(0, 3, lambda _, v: v + lax.psum(v * (i + 1), "b") / 10, product)
        return product, looped, lax.cond(jnp.sum(x) > 0, lambda v: lax.psum(v, "a"), jnp.negative, product)
    return on_mesh(program, *(RNG.standard_normal(shape).astype(np.float32) for shape in ((3, 8), (8, 5))))


def data_parallel_step():
    """Every device takes its row of the batch; gradients are averaged."""
    loss, parameters, tokens = models.llama(layers=1)
    tokens = np.tile(tokens, (4, 1)) * np.arange(1, 9, dtype=np.int32)[:, None] % models.VOCABULARY

    def step(parameters, tokens):
        rank = lax.axis_index("a") * AXES["b"] + lax.axis_index("b")
        value, gradients = jax.value_and_grad(loss)(parameters, lax.dynamic_slice_in_dim(tokens, rank, 1, 0))
        gradients = lax.pmean(gradients, tuple(AXES))
        return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients), lax.pmean(value, tuple(AXES))

    return on_mesh(step, parameters, tokens)


# The meshes have eight devices.
PARALLEL = st.write_json(pathlib.Path(tempfile.mkdtemp()) / "parallel.json", st.layout(1, 8))
CASES = [case(name, make, flags=[f"--parallel={PARALLEL}"]) for name, make in (
    ("reductions", reductions), ("exchanges", exchanges), ("split products", split_products),
    ("data-parallel step", data_parallel_step))]

if __name__ == "__main__":
    sys.exit(st.main(*CASES, epilogue=summary))
