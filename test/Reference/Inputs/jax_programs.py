"""Control flow, random bits, and whole training steps."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

RNG = np.random.default_rng(4)


def normal(*shape, dtype=np.float32):
    return (RNG.standard_normal(shape)).astype(dtype)


def control_flow():
    x = normal(4, 3)
    yield "while", lambda n, v: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 1.5), (0, v)), [7, x], {}
    yield "while_never", lambda n, v: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1]), (0, v)), [0, x], {}
    yield "scan", lambda v: lax.scan(lambda c, r: (c + r, c * r), jnp.zeros(3, v.dtype), v), [x], {}
    yield "batched_while", jax.vmap(lambda n: lax.while_loop(lambda s: s < n, lambda s: 2 * s + 1, 0)), \
        [np.array([0, 1, 9, 100])], {}
    for taken in (False, True):
        yield f"cond_{taken}", lambda p, v: lax.cond(p, lambda u: u + 1, lambda u: u * 2, v), [taken, x], {}
    for index in (-3, 0, 1, 2, 9):
        yield f"switch_{index}", lambda i, v: lax.switch(i, [lambda u: u, lambda u: u + 1, lambda u: u * 2], v), \
            [index, x], {}
    yield "nested_calls", lambda v: jnp.clip(jax.nn.silu(jnp.where(v > 0, v, -v)), 0.1, 0.4), [x], {}
    yield "checkpoint", jax.grad(lambda v: jnp.sum(jax.checkpoint(lambda u: jnp.sin(jnp.sin(u)))(v))), [x], {"atol": 1e-6}
    yield "map", lambda v: lax.map(lambda r: jnp.sum(r) + r, v), [x], {"atol": 1e-6}
    yield "associative_scan", lambda v: lax.associative_scan(jnp.add, v), [normal(9)], {"atol": 1e-6}


def random():
    def key(seed):
        return jax.random.wrap_key_data(seed)

    seed = np.array([17, 42], np.uint32)
    for partitionable in (True, False):
        def bits(s, partitionable=partitionable):
            with jax.threefry_partitionable(partitionable):
                k = key(s)
                return [jax.random.bits(k, (5, 7), t) for t in (jnp.uint8, jnp.uint16, jnp.uint32, jnp.uint64)] + [
                    jax.random.key_data(jax.random.split(k, 3)), jax.random.key_data(jax.random.fold_in(k, 5))]
        yield f"bits_{partitionable}", bits, [seed], {}
    yield "uniform", lambda s: (jax.random.uniform(key(s), (3, 5)), jax.random.uniform(key(s), (4,), minval=-2, maxval=3)), \
        [seed], {"rtol": 1e-6}
    yield "normal", lambda s: jax.random.normal(key(s), (64,), jnp.float32), [seed], {"atol": 1e-5}
    yield "bernoulli", lambda s: jax.random.bernoulli(key(s), 0.3, (20,)), [seed], {}
    yield "randint", lambda s: jax.random.randint(key(s), (20,), -5, 100), [seed], {}
    yield "permutation", lambda s: jax.random.permutation(key(s), 17), [seed], {}
    yield "categorical", lambda s, v: jax.random.categorical(key(s), v), [seed, normal(6, 9)], {}
    yield "dropout", lambda s, v: jnp.where(jax.random.bernoulli(key(s), 0.9, v.shape), v / 0.9, 0), [seed, normal(8, 8)], {}


def layer_norm(x, scale, bias):
    mean = jnp.mean(x, -1, keepdims=True)
    variance = jnp.mean((x - mean) ** 2, -1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + bias


def transformer(causal, dropout):
    """The loss of a small transformer with tied embeddings, as a function of parameters, tokens and a seed."""
    heads = 2

    def drop(x, key, site):
        if not dropout:
            return x
        keep = jax.random.bernoulli(jax.random.fold_in(key, site), 0.9, x.shape)
        return jnp.where(keep, x / 0.9, 0)

    def block(x, p, key, site):
        b, t, d = x.shape
        qkv = (layer_norm(x, *p["ln1"]) @ p["qkv"]).reshape(b, t, 3, heads, d // heads)
        q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
        scores = jnp.einsum("bthd,bshd->bhts", q, k) / np.sqrt(d // heads).astype(np.float32)
        if causal:
            scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e9)
        weights = drop(jax.nn.softmax(scores, -1), key, site)
        x = x + jnp.einsum("bhts,bshd->bthd", weights, v).reshape(b, t, d) @ p["out"]
        hidden = jax.nn.gelu(layer_norm(x, *p["ln2"]) @ p["up"], approximate=causal)
        return x + drop(hidden @ p["down"], key, site + 1)

    def loss(params, tokens, seed):
        key = jax.random.wrap_key_data(seed)
        x = params["tokens"][tokens] + params["positions"][: tokens.shape[1]]
        for i, p in enumerate(params["blocks"]):
            x = block(x, p, key, 2 * i)
        logits = x @ params["tokens"].T
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), jnp.roll(tokens, -1, 1)[..., None], -1)
        return -jnp.mean(picked)

    return loss


def parameters(layers=2, width=16, vocabulary=29, positions=12):
    def block():
        return {"ln1": (np.ones(width, np.float32), normal(width)), "qkv": normal(width, 3 * width) * np.float32(0.3),
                "out": normal(width, width) * np.float32(0.3), "ln2": (np.ones(width, np.float32), normal(width)),
                "up": normal(width, 4 * width) * np.float32(0.3), "down": normal(4 * width, width) * np.float32(0.3)}
    return {"tokens": normal(vocabulary, width), "positions": normal(positions, width),
            "blocks": [block() for _ in range(layers)]}


def adamw(loss):
    def step(params, first, second, count, tokens, seed):
        value, grads = jax.value_and_grad(loss)(params, tokens, seed)
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
        grads = jax.tree.map(lambda g: g * jnp.minimum(1, 1 / norm), grads)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, grads)
        correction = jnp.sqrt(1 - 0.999 ** count) / (1 - 0.9 ** count)
        params = jax.tree.map(lambda p, m, v: p - 1e-3 * (correction * m / (jnp.sqrt(v) + 1e-8) + 0.01 * p),
                              params, first, second)
        return value, params, first, second
    return step


def training():
    tokens, seed = RNG.integers(0, 29, (2, 12)).astype(np.int32), np.array([0, 7], np.uint32)
    for causal in (False, True):
        for dropout in (False, True):
            params = parameters()
            leaves, tree = jax.tree.flatten(params)
            loss = transformer(causal, dropout)

            def gradients(tokens, seed, *leaves, loss=loss, tree=tree):
                return jax.value_and_grad(loss)(jax.tree.unflatten(tree, leaves), tokens, seed)

            yield f"gradients_{causal}_{dropout}", gradients, [tokens, seed, *leaves], {"rtol": 1e-4, "atol": 1e-5}
    zeros = [np.zeros_like(l) for l in leaves]
    n = len(leaves)

    def step(tokens, seed, count, *state):
        parts = [jax.tree.unflatten(tree, state[i * n:(i + 1) * n]) for i in range(3)]
        return adamw(loss)(*parts, count, tokens, seed)

    yield "adamw_step", step, [tokens, seed, np.float32(1), *leaves, *zeros, *zeros], {"rtol": 1e-3, "atol": 2e-5}


def cases():
    yield from control_flow()
    yield from random()
    yield from training()
