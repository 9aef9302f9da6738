"""JAX (CPU) peer: one unsharded, jitted BERT span training step, AdamW, dropout on.

Prints one JSON line: versions, seconds of each step. Run by bert_large_step.py.
"""

import argparse
import functools
import json
import math
import time

import jax
import jax.numpy as jnp


def init(config, key):
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    keys = iter(jax.random.split(key, 4 + 4 * config["num_hidden_layers"]))

    def dense(rows, columns):
        return {"w": 0.02 * jax.random.normal(next(keys), (rows, columns)), "b": jnp.zeros(columns)}

    def norm():
        return {"g": jnp.ones(hidden), "b": jnp.zeros(hidden)}

    def table(rows):
        return 0.02 * jax.random.normal(next(keys), (rows, hidden))

    return {
        "words": table(config["vocab_size"]), "positions": table(config["max_position_embeddings"]),
        "types": table(config["type_vocab_size"]), "norm": norm(), "span": dense(hidden, 2),
        "layers": [{"qkv": dense(hidden, 3 * hidden), "out": dense(hidden, hidden), "up": dense(hidden, inner),
                    "down": dense(inner, hidden), "norm1": norm(), "norm2": norm()}
                   for _ in range(config["num_hidden_layers"])],
    }


def layer_norm(p, x):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-12) * p["g"] + p["b"]


def dropout(rate, key, x):
    if rate == 0:
        return x
    return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0)


def loss_fn(params, ids, start, end, key, heads, rate):
    keys = iter(jax.random.split(key, 1 + 3 * len(params["layers"])))
    batch, length = ids.shape
    x = params["words"][ids] + params["positions"][:length] + params["types"][jnp.zeros_like(ids)]
    x = dropout(rate, next(keys), layer_norm(params["norm"], x))
    for p in params["layers"]:
        qkv = (x @ p["qkv"]["w"] + p["qkv"]["b"]).reshape(batch, length, 3, heads, -1)
        q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
        scores = jnp.einsum("bshd,bthd->bhst", q, k) / math.sqrt(q.shape[-1])
        probs = dropout(rate, next(keys), jax.nn.softmax(scores, -1))
        context = jnp.einsum("bhst,bthd->bshd", probs, v).reshape(x.shape)
        x = layer_norm(p["norm1"], x + dropout(rate, next(keys), context @ p["out"]["w"] + p["out"]["b"]))
        inner = jax.nn.gelu(x @ p["up"]["w"] + p["up"]["b"], approximate=False)
        x = layer_norm(p["norm2"], x + dropout(rate, next(keys), inner @ p["down"]["w"] + p["down"]["b"]))
    logits = x @ params["span"]["w"] + params["span"]["b"]

    def cross_entropy(scores, target):
        return -jnp.take_along_axis(jax.nn.log_softmax(scores), target[:, None], 1).mean()

    return (cross_entropy(logits[..., 0], start) + cross_entropy(logits[..., 1], end)) / 2


@functools.partial(jax.jit, static_argnames=("heads", "rate"), donate_argnums=(0, 1, 2))
def step(params, m, v, count, ids, start, end, key, heads, rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, ids, start, end, key, heads, rate)
    b1, b2, eps, lr, decay = 0.9, 0.999, 1e-8, 1e-5, 0.01
    m = jax.tree.map(lambda a, g: b1 * a + (1 - b1) * g, m, grads)
    v = jax.tree.map(lambda a, g: b2 * a + (1 - b2) * g * g, v, grads)
    c1, c2 = 1 - b1**count, 1 - b2**count
    params = jax.tree.map(lambda p, a, b: p - lr * (a / c1 / (jnp.sqrt(b / c2) + eps) + decay * p), params, m, v)
    return params, m, v, loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("config")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seq", type=int, default=384)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--dropout", type=float, default=0.1)
    options = parser.parse_args()
    config = json.load(open(options.config))
    params = jax.jit(lambda key: init(config, key))(jax.random.key(0))
    m = jax.tree.map(jnp.zeros_like, params)
    v = jax.tree.map(jnp.zeros_like, params)
    ids = jax.random.randint(jax.random.key(1), (options.batch, options.seq), 0, config["vocab_size"])
    start, end = jax.random.randint(jax.random.key(2), (2, options.batch), 0, options.seq)
    times = []
    for i in range(options.steps + 1):
        begin = time.time()
        params, m, v, loss = step(params, m, v, i + 1.0, ids, start, end, jax.random.key(i),
                                  heads=config["num_attention_heads"], rate=options.dropout)
        loss.block_until_ready()
        times.append(time.time() - begin)
    print(json.dumps({"peer": "JAX", "version": jax.__version__, "seconds": times[1:], "loss": float(loss)}))


if __name__ == "__main__":
    main()
