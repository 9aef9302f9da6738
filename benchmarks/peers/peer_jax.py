"""JAX peer: one unsharded, jitted BERT training step, AdamW, dropout on, on the device that JAX finds.

Prints one JSON line: version, seconds and losses of each step, and the peak bytes if the device reports them. Run by
bert_large_step.py and gpu_step.py. --task=mlm is BERT's pre-training: masked words and the next sentence. With --type=bf16
weights are cast to bf16 for each step, and products and activations are bf16; norms, softmax, the loss, AdamW's gradients
of the weights and its state are f32.
"""

import argparse
import functools
import json
import math
import time

import jax
import jax.numpy as jnp


def init(config, key, task="span"):
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    keys = iter(jax.random.split(key, 7 + 4 * config["num_hidden_layers"]))

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

    def head():
        if task == "span":
            return {"span": dense(hidden, 2)}
        return {"transform": dense(hidden, hidden), "transform_norm": norm(), "bias": jnp.zeros(config["vocab_size"]),
                "pool": dense(hidden, hidden), "next": dense(hidden, 2)}

    return {
        "words": table(config["vocab_size"]), "positions": table(config["max_position_embeddings"]),
        "types": table(config["type_vocab_size"]), "norm": norm(), **head(),
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


def cross_entropy(scores, target):
    """The mean over positions that have a target."""
    each = -jnp.take_along_axis(jax.nn.log_softmax(scores.astype(jnp.float32)), jnp.maximum(target, 0)[..., None], -1)
    has = target >= 0
    return jnp.where(has, each[..., 0], 0).sum() / has.sum()


def span_loss(params, x, start, end):
    logits = dense(params["span"], x)
    return (cross_entropy(logits[..., 0], start) + cross_entropy(logits[..., 1], end)) / 2


def mlm_loss(params, x, words, follows):
    hidden = jax.nn.gelu(dense(params["transform"], x), approximate=False)
    logits = layer_norm(params["transform_norm"], hidden) @ params["words"].T + params["bias"]
    pooled = jnp.tanh(dense(params["pool"], x[:, 0]))
    return cross_entropy(logits, words) + cross_entropy(dense(params["next"], pooled), follows)


def loss_fn(params, ids, first, second, key, rate, dtype, task="span"):
    params = jax.tree.map(lambda p: p.astype(dtype), params)
    keys = jax.random.split(key, 1 + 3 * len(params["layers"]))
    x = embed(params, ids, keys[0], rate)
    for i, p in enumerate(params["layers"]):
        x = layer(p, x, keys[1 + 3 * i:4 + 3 * i], rate)
    return (span_loss if task == "span" else mlm_loss)(params, x, first, second)


def adamw(params, m, v, grads, count):
    b1, b2, eps, lr, decay = 0.9, 0.999, 1e-8, 1e-5, 0.01
    m = jax.tree.map(lambda a, g: b1 * a + (1 - b1) * g, m, grads)
    v = jax.tree.map(lambda a, g: b2 * a + (1 - b2) * g * g, v, grads)
    c1, c2 = 1 - b1**count, 1 - b2**count
    params = jax.tree.map(lambda p, a, b: p - lr * (a / c1 / (jnp.sqrt(b / c2) + eps) + decay * p), params, m, v)
    return params, m, v


@functools.partial(jax.jit, static_argnames=("rate", "dtype", "task"), donate_argnums=(0, 1, 2))
def step(params, m, v, count, ids, first, second, key, rate, dtype, task):
    loss, grads = jax.value_and_grad(loss_fn)(params, ids, first, second, key, rate, dtype, task)
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
    if getattr(options, "task", "span") == "span":
        return ids, *jax.random.randint(jax.random.key(2), (2, options.batch), 0, options.seq)
    words = jnp.where(jax.random.bernoulli(jax.random.key(3), 0.15, ids.shape), ids, -100)
    return ids, words, jax.random.randint(jax.random.key(4), (options.batch,), 0, 2)


def main():
    parser = options_of(argparse.ArgumentParser())
    parser.add_argument("--type", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--task", choices=("span", "mlm"), default="span")
    options = parser.parse_args()
    config = json.load(open(options.config))
    params = jax.jit(lambda key: init(config, key, options.task))(jax.random.key(0))
    m = jax.tree.map(jnp.zeros_like, params)
    v = jax.tree.map(jnp.zeros_like, params)
    batch = batch_of(config, options)
    dtype = jnp.float32 if options.type == "f32" else jnp.bfloat16
    times, losses = [], []
    for i in range(options.steps + 1):
        begin = time.time()
        params, m, v, loss = step(params, m, v, i + 1.0, *batch, jax.random.key(i), rate=options.dropout, dtype=dtype,
                                  task=options.task)
        jax.block_until_ready((params, loss))
        times.append(time.time() - begin)
        losses.append(float(loss))
    stats = jax.devices()[0].memory_stats() or {}
    print(json.dumps({"peer": "JAX", "version": jax.__version__, "seconds": times[1:], "losses": losses,
                      "bytes": stats.get("peak_bytes_in_use", 0), "device": jax.devices()[0].platform}))


if __name__ == "__main__":
    main()
