"""Trains a small transformer of Flax and Optax on a mesh of devices, data x tensor.

    JAX_PLATFORMS=st python examples/jax/train_transformer.py                                        # 32 simulated devices
    JAX_PLATFORMS=cpu XLA_FLAGS=--xla_force_host_platform_device_count=32 python examples/jax/train_transformer.py

Prints one loss per step and, on simulated devices, the simulated time of the step. The loss does not depend on the mesh.
"""

import argparse

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

VOCABULARY, WIDTH, HEADS, LAYERS = 128, 64, 4, 2


class Block(nn.Module):
    """Attention and an MLP, each after a norm, with weights split as in Megatron-LM."""

    @nn.compact
    def __call__(self, x):
        def dense(features, axes, name):
            return nn.Dense(features, name=name, kernel_init=nn.with_partitioning(nn.initializers.lecun_normal(), axes))

        batch, length, _ = x.shape
        h = nn.LayerNorm(name="norm1")(x)
        q, k, v = (dense(WIDTH, (None, "tensor"), n)(h).reshape(batch, length, HEADS, -1) for n in ("query", "key", "value"))
        scores = jnp.einsum("blhd,bmhd->bhlm", q, k) / np.sqrt(WIDTH // HEADS).astype(np.float32)
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
        mixed = jnp.einsum("bhlm,bmhd->blhd", nn.softmax(scores), v).reshape(batch, length, WIDTH)
        x = x + dense(WIDTH, ("tensor", None), "out")(mixed)
        h = nn.LayerNorm(name="norm2")(x)
        h = nn.gelu(dense(4 * WIDTH, (None, "tensor"), "up")(h))
        return x + dense(WIDTH, ("tensor", None), "down")(h)


class Model(nn.Module):
    """Next-token logits of byte-like tokens."""

    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(VOCABULARY, WIDTH, name="embed")(tokens)
        x = x + self.param("position", nn.initializers.normal(0.02), (tokens.shape[1], WIDTH))
        for i in range(LAYERS):
            x = Block(name=f"block{i}")(x)
        return nn.Dense(VOCABULARY, name="head")(nn.LayerNorm(name="norm")(x))


def make_step(model, optimizer):
    def loss_of(parameters, tokens):
        logits = model.apply(parameters, tokens[:, :-1])
        return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

    def step(parameters, state, tokens):
        loss, gradients = jax.value_and_grad(loss_of)(parameters, tokens)
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state, loss

    return jax.jit(step, donate_argnums=(0, 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--data", type=int, default=8, help="devices that split the batch")
    parser.add_argument("--tensor", type=int, default=4, help="devices that split each layer's weights")
    options = parser.parse_args()
    devices = np.array(jax.devices()[:options.data * options.tensor]).reshape(options.data, options.tensor)
    mesh = Mesh(devices, ("data", "tensor"))
    model, optimizer = Model(), optax.adamw(1e-3)

    # Random numbers that do not depend on the device or the mesh.
    rng = np.random.default_rng(0)
    tokens = (np.cumsum(rng.integers(0, 3, (32, 33)), axis=1) % VOCABULARY).astype(np.int32)
    shapes = jax.eval_shape(model.init, jax.random.key(0), jnp.zeros((1, 32), jnp.int32))
    specs = nn.get_partition_spec(shapes)
    place = jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs, is_leaf=lambda x: isinstance(x, PartitionSpec))

    def draw(path, shape):
        name = jax.tree_util.keystr(path)
        if "scale" in name:
            return np.ones(shape.shape, np.float32)
        if "bias" in name:
            return np.zeros(shape.shape, np.float32)
        return (0.02 * rng.standard_normal(shape.shape)).astype(np.float32)

    parameters = jax.tree_util.tree_map_with_path(draw, nn.unbox(shapes))
    parameters = jax.tree.map(jax.device_put, parameters, place)
    state = jax.jit(optimizer.init)(parameters)
    batch = jax.device_put(tokens, NamedSharding(mesh, PartitionSpec("data")))
    step = make_step(model, optimizer)
    for number in range(options.steps):
        parameters, state, loss = step(parameters, state, batch)
        line = f"step {number + 1} loss {float(loss):.6f}"
        if jax.default_backend() == "st":
            from jax_plugins import st

            line += f" simulated {st.last_step()['seconds'] * 1e3:.3f} ms"
        print(line, flush=True)


if __name__ == "__main__":
    main()
