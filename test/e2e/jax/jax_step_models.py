"""Small models in plain JAX, each a function of (parameters, batch) to its loss.

BERT and GPT-2 are in jax_models.py. They are independent of St.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

WIDTH, HEADS, LENGTH, BATCH, VOCABULARY = 16, 4, 8, 2, 37


class Parameters:
    """Random arrays that differ at every use but are the same in every run."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def normal(self, *shape, scale=0.3):
        return (scale * self.rng.standard_normal(shape)).astype(np.float32)

    def near_one(self, *shape):
        return (1 + 0.1 * self.rng.standard_normal(shape)).astype(np.float32)

    def integers(self, high, *shape):
        return self.rng.integers(0, high, shape).astype(np.int32)


def cross_entropy(logits, labels):
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], axis=-1)
    return -jnp.mean(picked)


def rms_norm(x, weight):
    return x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * weight


def rotate(x):
    """Rotary positions of [batch, length, heads, size]; a pair is one element of each half of a head."""
    length, size = x.shape[1], x.shape[3]
    frequencies = 10000.0 ** (-jnp.arange(0, size, 2, dtype=jnp.float32) / size)
    angles = jnp.arange(length, dtype=jnp.float32)[:, None] * frequencies
    cos, sin = jnp.cos(angles)[None, :, None, :], jnp.sin(angles)[None, :, None, :]
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


def grouped_query_attention(p, x, key_heads):
    """Every key and value head serves a group of query heads."""
    batch, length, width = x.shape
    size = width // HEADS
    q = rotate((x @ p["q"]).reshape(batch, length, HEADS, size))
    k = rotate((x @ p["k"]).reshape(batch, length, key_heads, size))
    v = (x @ p["v"]).reshape(batch, length, key_heads, size)
    q = q.reshape(batch, length, key_heads, HEADS // key_heads, size)
    scores = jnp.einsum("btkgd,bskd->bkgts", q, k) / np.float32(np.sqrt(size))
    causal = jnp.tril(jnp.ones((length, length), bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, jnp.finfo(scores.dtype).min), axis=-1)
    return jnp.einsum("bkgts,bskd->btkgd", weights, v).reshape(batch, length, width) @ p["o"]


def llama(layers=2, key_heads=2):
    """RMSNorm, rotary positions, grouped-query attention, SwiGLU."""
    r, size = Parameters(1), WIDTH // HEADS
    blocks = [{"norm1": r.near_one(WIDTH), "q": r.normal(WIDTH, WIDTH), "k": r.normal(WIDTH, key_heads * size),
               "v": r.normal(WIDTH, key_heads * size), "o": r.normal(WIDTH, WIDTH), "norm2": r.near_one(WIDTH),
               "gate": r.normal(WIDTH, 40), "up": r.normal(WIDTH, 40), "down": r.normal(40, WIDTH)}
              for _ in range(layers)]
    parameters = {"words": r.normal(VOCABULARY, WIDTH), "blocks": blocks, "norm": r.near_one(WIDTH),
                  "head": r.normal(WIDTH, VOCABULARY)}

    def loss(p, tokens):
        x = p["words"][tokens]
        for block in p["blocks"]:
            x = x + grouped_query_attention(block, rms_norm(x, block["norm1"]), key_heads)
            h = rms_norm(x, block["norm2"])
            x = x + (jax.nn.silu(h @ block["gate"]) * (h @ block["up"])) @ block["down"]
        logits = rms_norm(x, p["norm"]) @ p["head"]
        return cross_entropy(logits[:, :-1], tokens[:, 1:])

    return loss, parameters, r.integers(VOCABULARY, BATCH, LENGTH)


def layer_norm(x, weight, bias):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.var(x, axis=-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-6) * weight + bias


def attention(p, x, causal=False):
    batch, length, width = x.shape
    q, k, v = jnp.moveaxis((x @ p["qkv"]).reshape(batch, length, 3, HEADS, width // HEADS), 2, 0)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.float32(np.sqrt(width // HEADS))
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(x.shape) @ p["out"]


def transformer_block(r):
    return {"norm1": r.near_one(WIDTH), "bias1": r.normal(WIDTH), "qkv": r.normal(WIDTH, 3 * WIDTH),
            "out": r.normal(WIDTH, WIDTH), "norm2": r.near_one(WIDTH), "bias2": r.normal(WIDTH),
            "up": r.normal(WIDTH, 32), "down": r.normal(32, WIDTH)}


def apply_block(p, x, causal=False):
    x = x + attention(p, layer_norm(x, p["norm1"], p["bias1"]), causal)
    return x + jax.nn.gelu(layer_norm(x, p["norm2"], p["bias2"]) @ p["up"], approximate=causal) @ p["down"]


def convolve(x, kernel, strides=(1, 1), padding="SAME", groups=1):
    return lax.conv_general_dilated(x, kernel, strides, padding, dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                    feature_group_count=groups)


def vit(layers=2):
    """Patches by a strided convolution, a class token, learned positions."""
    r = Parameters(2)
    parameters = {"patch": r.normal(4, 4, 3, WIDTH), "token": r.normal(1, 1, WIDTH), "position": r.normal(5, WIDTH),
                  "blocks": [transformer_block(r) for _ in range(layers)], "norm": r.near_one(WIDTH),
                  "bias": r.normal(WIDTH), "head": r.normal(WIDTH, 10)}

    def loss(p, batch):
        images, labels = batch
        x = convolve(images, p["patch"], (4, 4), "VALID").reshape(images.shape[0], -1, WIDTH)
        x = jnp.concatenate([jnp.broadcast_to(p["token"], (x.shape[0], 1, WIDTH)), x], axis=1) + p["position"]
        for block in p["blocks"]:
            x = apply_block(block, x)
        return cross_entropy(layer_norm(x[:, 0], p["norm"], p["bias"]) @ p["head"], labels)

    return loss, parameters, (r.normal(BATCH, 8, 8, 3, scale=1), r.integers(10, BATCH))


def batch_norm(x, weight, bias):
    mean, variance = jnp.mean(x, axis=(0, 1, 2)), jnp.var(x, axis=(0, 1, 2))
    return (x - mean) * lax.rsqrt(variance + 1e-5) * weight + bias


def pool(x, start, operation, padding="VALID"):
    return lax.reduce_window(x, np.float32(start), operation, (1, 3, 3, 1), (1, 2, 2, 1), padding)


def convolution_net():
    """Convolution, batch norm, max pooling, a residual block of depthwise convolutions, average pooling."""
    r = Parameters(3)
    parameters = {"stem": r.normal(3, 3, 3, 8), "weight": r.near_one(8), "bias": r.normal(8),
                  "depthwise": r.normal(3, 3, 1, 8), "pointwise": r.normal(1, 1, 8, 8), "weight2": r.near_one(8),
                  "bias2": r.normal(8), "down": r.normal(2, 2, 8, 12), "head": r.normal(12, 10)}

    def loss(p, batch):
        images, labels = batch
        x = jax.nn.relu(batch_norm(convolve(images, p["stem"]), p["weight"], p["bias"]))
        x = pool(x, -np.inf, lax.max, "SAME")
        y = convolve(convolve(x, p["depthwise"], groups=8), p["pointwise"])
        x = jax.nn.relu(x + batch_norm(y, p["weight2"], p["bias2"]))
        x = jax.nn.relu(convolve(x, p["down"], (2, 2), "VALID"))
        x = jnp.mean(pool(x, 0, lax.add, "SAME") / 9, axis=(1, 2))
        return cross_entropy(x @ p["head"], labels)

    return loss, parameters, (r.normal(3, 12, 12, 3, scale=1), r.integers(10, 3))


def mixture_of_experts(experts=4, chosen=2, capacity=6):
    """Top-k routing; tokens are dispatched by a sort by expert, and tokens beyond the capacity are dropped."""
    r = Parameters(4)
    parameters = {"words": r.normal(VOCABULARY, WIDTH), "router": r.normal(WIDTH, experts),
                  "up": r.normal(experts, WIDTH, 24), "down": r.normal(experts, 24, WIDTH),
                  "head": r.normal(WIDTH, VOCABULARY)}

    def layer(p, x):
        tokens = x.shape[0]
        gates = jax.nn.softmax(x @ p["router"])
        weights, expert = lax.top_k(gates, chosen)
        weights = weights / jnp.sum(weights, axis=-1, keepdims=True)
        order = jnp.argsort(expert.reshape(-1), stable=True)
        sorted_expert, token = expert.reshape(-1)[order], order // chosen
        counts = jnp.bincount(sorted_expert, length=experts)
        place = jnp.arange(tokens * chosen) - (jnp.cumsum(counts) - counts)[sorted_expert]
        slot = jnp.where(place < capacity, sorted_expert * capacity + place, experts * capacity)
        buffer = jnp.zeros((experts * capacity, x.shape[1])).at[slot].set(x[token], mode="drop")
        h = jnp.einsum("ecd,edh->ech", buffer.reshape(experts, capacity, -1), p["up"])
        y = jnp.einsum("ech,ehd->ecd", jax.nn.relu(h), p["down"]).reshape(experts * capacity, -1)
        back = jnp.take(y, slot, axis=0, mode="fill", fill_value=0) * weights.reshape(-1)[order][:, None]
        balance = experts * jnp.sum(jnp.mean(gates, 0) * counts / (tokens * chosen))
        return x + jnp.zeros_like(x).at[token].add(back), balance

    def loss(p, tokens):
        x, balance = layer(p, p["words"][tokens].reshape(-1, WIDTH))
        return cross_entropy(x[:-1] @ p["head"], tokens.reshape(-1)[1:]) + 0.01 * balance

    return loss, parameters, r.integers(VOCABULARY, BATCH, LENGTH)


def dispatched_experts(experts=4, capacity=4, rows=8):
    """A mixture of experts that dispatches tokens by products with masks, separately for each row of the batch:
    Lepikhin et al., "GShard", 2020, with one expert per token."""
    r = Parameters(12)
    parameters = {"words": r.normal(VOCABULARY, WIDTH), "router": r.normal(WIDTH, experts),
                  "up": r.normal(experts, WIDTH, 24), "down": r.normal(experts, 24, WIDTH),
                  "head": r.normal(WIDTH, VOCABULARY)}

    def layer(p, x):
        gates = jax.nn.softmax(x @ p["router"])
        chosen = jax.nn.one_hot(jnp.argmax(gates, axis=-1), experts)
        place = jnp.cumsum(chosen, axis=1) * chosen - chosen
        slots = jax.nn.one_hot(jnp.sum(place, axis=-1).astype(np.int32), capacity)
        fits = chosen * (place < capacity)
        dispatch = jnp.einsum("bse,bsc->bsec", fits, slots)
        combine = dispatch * jnp.sum(gates * chosen, axis=-1)[:, :, None, None]
        sent = jnp.einsum("bsec,bsh->ebch", dispatch, x)
        h = jax.nn.relu(jnp.einsum("ebch,ehf->ebcf", sent, p["up"]))
        returned = jnp.einsum("ebcf,efh->ebch", h, p["down"])
        return x + jnp.einsum("bsec,ebch->bsh", combine, returned)

    def loss(p, tokens):
        x = layer(p, p["words"][tokens[:, :-1]])
        return cross_entropy((x @ p["head"]).reshape(-1, VOCABULARY), tokens[:, 1:].reshape(-1))

    return loss, parameters, r.integers(VOCABULARY, rows, LENGTH)


def lstm():
    """A recurrence by scan, which is one while loop forward and another one backward."""
    r = Parameters(5)
    parameters = {"words": r.normal(VOCABULARY, WIDTH), "input": r.normal(WIDTH, 4 * WIDTH),
                  "hidden": r.normal(WIDTH, 4 * WIDTH), "bias": r.normal(4 * WIDTH),
                  "head": r.normal(WIDTH, VOCABULARY)}

    def loss(p, tokens):
        def cell(state, x):
            h, c = state
            i, f, g, o = jnp.split(x @ p["input"] + h @ p["hidden"] + p["bias"], 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((tokens.shape[0], WIDTH))
        _, outputs = lax.scan(cell, (zeros, zeros), jnp.swapaxes(p["words"][tokens], 0, 1))
        return cross_entropy(outputs[:-1] @ p["head"], tokens.T[1:])

    return loss, parameters, r.integers(VOCABULARY, BATCH, LENGTH)


def scanned_transformer(layers=3):
    """A causal model that scans over its stacked layers and recomputes them in the backward pass."""
    r = Parameters(6)
    blocks = [transformer_block(r) for _ in range(layers)]
    parameters = {"words": r.normal(VOCABULARY, WIDTH), "blocks": jax.tree.map(lambda *b: np.stack(b), *blocks)}

    def loss(p, tokens):
        step = jax.checkpoint(lambda x, block: (apply_block(block, x, causal=True), None))
        x, _ = lax.scan(step, p["words"][tokens], p["blocks"])
        return cross_entropy(x[:, :-1] @ p["words"].T, tokens[:, 1:])

    return loss, parameters, r.integers(VOCABULARY, BATCH, LENGTH)


def autoencoder():
    """Strided convolutions down, transposed convolutions up, a softplus and a smooth loss."""
    r = Parameters(7)
    parameters = {"down": r.normal(3, 3, 2, 6), "up": r.normal(3, 3, 6, 2)}

    def loss(p, images):
        x = jax.nn.softplus(convolve(images, p["down"], (2, 2)))
        y = lax.conv_transpose(x, p["up"], (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jnp.mean(jnp.where(jnp.abs(y - images) < 1, 0.5 * (y - images) ** 2, jnp.abs(y - images) - 0.5))

    return loss, parameters, r.normal(BATCH, 8, 8, 2, scale=1)


def mixed_precision():
    """Layers in bf16 over f32 parameters."""
    r = Parameters(8)
    parameters = {"up": r.normal(WIDTH, 32), "bias": r.normal(32), "down": r.normal(32, 5)}

    def loss(p, batch):
        x, labels = batch
        half = jax.tree.map(lambda v: v.astype(jnp.bfloat16), p)
        h = jax.nn.gelu(x.astype(jnp.bfloat16) @ half["up"] + half["bias"])
        return cross_entropy((h @ half["down"]).astype(jnp.float32), labels)

    return loss, parameters, (r.normal(6, WIDTH, scale=1), r.integers(5, 6))
