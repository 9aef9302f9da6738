"""JAX (CPU) peer: one unsharded, jitted BERT span training step, AdamW, dropout on.

Prints one JSON line: version, seconds and losses of each step. Run by bert_large_step.py. With --type=bf16 weights are
cast to bf16 for each step and products and activations are bf16; norms, softmax, the loss, gradients of the weights as
AdamW takes them and its state are f32.
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

    def heads(count):
        """Queries, keys and values of each head."""
        made = dense(hidden, 3 * hidden)
        return {"w": made["w"].reshape(hidden, 3, count, -1), "b": made["b"].reshape(3, count, -1)}

    return {
        "words": table(config["vocab_size"]), "positions": table(config["max_position_embeddings"]),
        "types": table(config["type_vocab_size"]), "norm": norm(), "span": dense(hidden, 2),
        "layers": [{"qkv": heads(config["num_attention_heads"]), "out": dense(hidden, hidden), "up": dense(hidden, inner),
                    "down": dense(inner, hidden), "norm1": norm(), "norm2": norm()}
                   for _ in range(config["num_hidden_layers"])],
    }


def layer_norm(p, x):
    wide = x.astype(jnp.float32)
    mean = wide.mean(-1, keepdims=True)
    variance = jnp.square(wide - mean).mean(-1, keepdims=True)
    return ((wide - mean) * jax.lax.rsqrt(variance + 1e-12) * p["g"] + p["b"]).astype(x.dtype)


def dropout(rate, key, x):
    if rate == 0:
        return x
    return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0).astype(x.dtype)


def dense(p, x):
    return x @ p["w"] + p["b"]


def embed(params, ids, key, rate):
    x = params["words"][ids] + params["positions"][:ids.shape[1]] + params["types"][jnp.zeros_like(ids)]
    return dropout(rate, key, layer_norm(params["norm"], x))


def layer(p, x, keys, rate):
    q, k, v = jnp.moveaxis(jnp.tensordot(x, p["qkv"]["w"], 1) + p["qkv"]["b"], 2, 0)
    scores = jnp.einsum("bshd,bthd->bhst", q, k).astype(jnp.float32) / math.sqrt(q.shape[-1])
    probs = dropout(rate, keys[0], jax.nn.softmax(scores, -1).astype(x.dtype))
    context = jnp.einsum("bhst,bthd->bshd", probs, v).reshape(x.shape)
    x = layer_norm(p["norm1"], x + dropout(rate, keys[1], dense(p["out"], context)))
    inner = jax.nn.gelu(dense(p["up"], x), approximate=False)
    return layer_norm(p["norm2"], x + dropout(rate, keys[2], dense(p["down"], inner)))


def span_loss(params, x, start, end):
    logits = dense(params["span"], x).astype(jnp.float32)

    def cross_entropy(scores, target):
        return -jnp.take_along_axis(jax.nn.log_softmax(scores), target[:, None], 1).mean()

    return (cross_entropy(logits[..., 0], start) + cross_entropy(logits[..., 1], end)) / 2


def loss_fn(params, ids, start, end, key, rate, dtype):
    params = jax.tree.map(lambda p: p.astype(dtype), params)
    keys = jax.random.split(key, 1 + 3 * len(params["layers"]))
    x = embed(params, ids, keys[0], rate)
    for i, p in enumerate(params["layers"]):
        x = layer(p, x, keys[1 + 3 * i:4 + 3 * i], rate)
    return span_loss(params, x, start, end)


def adamw(params, m, v, grads, count):
    b1, b2, eps, lr, decay = 0.9, 0.999, 1e-8, 1e-5, 0.01
    m = jax.tree.map(lambda a, g: b1 * a + (1 - b1) * g, m, grads)
    v = jax.tree.map(lambda a, g: b2 * a + (1 - b2) * g * g, v, grads)
    c1, c2 = 1 - b1**count, 1 - b2**count
    params = jax.tree.map(lambda p, a, b: p - lr * (a / c1 / (jnp.sqrt(b / c2) + eps) + decay * p), params, m, v)
    return params, m, v


@functools.partial(jax.jit, static_argnames=("rate", "dtype"), donate_argnums=(0, 1, 2))
def step(params, m, v, count, ids, start, end, key, rate, dtype):
    loss, grads = jax.value_and_grad(loss_fn)(params, ids, start, end, key, rate, dtype)
    return *adamw(params, m, v, grads, count), loss


def options_of(parser):
    parser.add_argument("config")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seq", type=int, default=384)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--dropout", type=float, default=0.1)
    return parser


def batch_of(config, options):
    ids = jax.random.randint(jax.random.key(1), (options.batch, options.seq), 0, config["vocab_size"])
    return ids, *jax.random.randint(jax.random.key(2), (2, options.batch), 0, options.seq)


def main():
    parser = options_of(argparse.ArgumentParser())
    parser.add_argument("--type", choices=("f32", "bf16"), default="f32")
    options = parser.parse_args()
    config = json.load(open(options.config))
    params = jax.jit(lambda key: init(config, key))(jax.random.key(0))
    m = jax.tree.map(jnp.zeros_like, params)
    v = jax.tree.map(jnp.zeros_like, params)
    ids, start, end = batch_of(config, options)
    dtype = jnp.float32 if options.type == "f32" else jnp.bfloat16
    times, losses = [], []
    for i in range(options.steps + 1):
        begin = time.time()
        params, m, v, loss = step(params, m, v, i + 1.0, ids, start, end, jax.random.key(i), rate=options.dropout,
                                  dtype=dtype)
        loss.block_until_ready()
        times.append(time.time() - begin)
        losses.append(float(loss))
    print(json.dumps({"peer": "JAX", "version": jax.__version__, "seconds": times[1:], "losses": losses}))


if __name__ == "__main__":
    main()
