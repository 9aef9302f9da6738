"""Shards that devices pass on to each other (`lax.ppermute`): ring attention, rotations, shifts; their messages and costs."""

import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from jax_plugin import setup

BATCH, HEADS, DEPTH = 2, 2, 16
COLLECTIVES = ("all-reduce", "all-gather", "collective-permute", "reduce-scatter", "all-to-all")


def mesh_of(*shape):
    import jax
    import numpy as np
    from jax.sharding import Mesh

    return Mesh(np.array(jax.devices()[:int(np.prod(shape))]).reshape(shape), ("x", "y")[:len(shape)])


def collectives_of(function, *arguments):
    text = function.lower(*arguments).compile().as_text()
    return {name for name in COLLECTIVES if f" {name}(" in text}


def moves(_):
    """Rotations, exchanges and shifts along one or two axes are collective permutes, without gathers."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax import lax
    from jax.sharding import PartitionSpec as P

    numbers = np.arange(64, dtype="f").reshape(16, 4)
    for shape, axes, pairs in (((8,), "x", [(i, (i + 1) % 8) for i in range(8)]),
                               ((8,), "x", [(i, i + 1) for i in range(7)]),
                               ((8,), "x", [(i, i ^ 1) for i in range(8)]),
                               ((8,), "x", [(0, 5), (3, 0)]),
                               ((4, 2), "x", [(i, (i + 3) % 4) for i in range(4)]),
                               ((4, 2), "y", [(0, 1), (1, 0)]),
                               ((4, 2), ("x", "y"), [(i, (i + 3) % 8) for i in range(8)])):
        mesh = mesh_of(*shape)
        function = jax.jit(jax.shard_map(lambda a: lax.ppermute(a * 2, axes, pairs), mesh=mesh, in_specs=P(mesh.axis_names),
                                         out_specs=P(mesh.axis_names)))
        # The parts by their place along the axes of the mesh.
        parts = numbers.reshape(*shape, 2, 4)
        wanted = np.zeros_like(parts)
        for source, target in pairs:
            if axes == "y":
                wanted[:, target] = 2 * parts[:, source]
            elif axes == "x":
                wanted[target] = 2 * parts[source]
            else:
                wanted.reshape(8, 2, 4)[target] = 2 * parts.reshape(8, 2, 4)[source]
        found = np.asarray(function(numbers))
        st.expect(np.array_equal(found, wanted.reshape(16, 4)), f"{axes} {pairs}: {found}")
        names = collectives_of(function, jnp.asarray(numbers))
        st.expect(names == {"collective-permute"}, f"{axes} {pairs}: {names}")


def ring_attention(query, keys, values, devices):
    """Softmax attention of a shard's queries with the keys of all shards, which are passed around a ring."""
    import jax.numpy as jnp
    from jax import lax

    scale = DEPTH ** -0.5
    total = jnp.zeros(query.shape[:3])
    highest = jnp.full(query.shape[:3], -jnp.inf)
    result = jnp.zeros_like(query)
    for turn in range(devices):
        scores = jnp.einsum("bhqd,bhkd->bhqk", query, keys) * scale
        higher = jnp.maximum(highest, scores.max(-1))
        weights, rest = jnp.exp(scores - higher[..., None]), jnp.exp(highest - higher)
        total = total * rest + weights.sum(-1)
        result = result * rest[..., None] + jnp.einsum("bhqk,bhkd->bhqd", weights, values)
        highest = higher
        if turn + 1 < devices:
            keys, values = (lax.ppermute(t, "x", [(i, (i + 1) % devices) for i in range(devices)]) for t in (keys, values))
    return result / total[..., None]


def ring(_):
    """Ring attention computes the numbers of attention and its gradients, and each key is sent once to each other device."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import PartitionSpec as P
    from jax_plugins import st as plugin

    devices, tokens = 4, 64
    mesh = mesh_of(devices)
    random = np.random.default_rng(5)
    q, k, v = (random.standard_normal((BATCH, HEADS, tokens, DEPTH), "f") for _ in range(3))
    part = P(None, None, "x", None)
    attend = jax.shard_map(lambda *t: ring_attention(*t, devices), mesh=mesh, in_specs=(part,) * 3, out_specs=part)

    def plain(q, k, v):
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * DEPTH ** -0.5
        return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, axis=-1), v)

    function = jax.jit(attend)
    with jax.default_device(jax.devices("cpu")[0]):
        wanted = plain(q, k, v)
        slopes = jax.grad(lambda *t: jnp.sum(jnp.sin(plain(*t))), (0, 1, 2))(q, k, v)
    np.testing.assert_allclose(function(q, k, v), wanted, rtol=1e-5, atol=1e-6)
    sent = plugin.last_step()["sent_bytes"]
    shard = BATCH * HEADS * tokens // devices * DEPTH * 4
    st.expect(sent == 2 * (devices - 1) * devices * shard, f"{sent} bytes are sent; a shard has {shard}")
    names = collectives_of(function, q, k, v)
    st.expect(names == {"collective-permute"}, f"{names}")
    backward = jax.jit(jax.grad(lambda *t: jnp.sum(jnp.sin(attend(*t))), (0, 1, 2)))
    for found, slope in zip(backward(q, k, v), slopes):
        np.testing.assert_allclose(found, slope, rtol=1e-4, atol=1e-5)


CASES = [moves, ring]


if __name__ == "__main__":
    if not setup.has_jax():
        sys.exit(0)
    setup.use(devices=8)
    sys.exit(st.main(*((case.__name__.replace("_", " "), case) for case in CASES)))
