"""Prints training steps as JAX lowers them: bert.mlir, gpt2.mlir and more.

  generate.py [--debug-info] FOLDER

The models are tiny but complete: embeddings by gather, layer norm, attention,
dropout from jax.random, cross-entropy by take_along_axis, gradients, clipping
by the global norm and AdamW with warm-up. The folder Inputs holds what JAX
0.10.2 prints.
"""

import argparse
import functools
import pathlib

import jax
import jax.numpy as jnp
from jax import lax

VOCAB, POSITIONS, HIDDEN, HEADS, INNER, LAYERS = 16, 4, 8, 2, 16, 1
BATCH, DROPOUT = 2, 0.1


def init_params(key, layer_names=()):
    """Parameters of both models; only GPT-2 ties its output to the embedding."""
    normal = lambda *shape: 0.02 * jax.random.normal(key, shape)
    layer = {
        "qkv": normal(HIDDEN, 3, HIDDEN), "qkv_bias": jnp.zeros((3, HIDDEN)),
        "out": normal(HIDDEN, HIDDEN), "out_bias": jnp.zeros(HIDDEN),
        "norm1": jnp.ones(HIDDEN), "norm1_bias": jnp.zeros(HIDDEN),
        "up": normal(HIDDEN, INNER), "up_bias": jnp.zeros(INNER),
        "down": normal(INNER, HIDDEN), "down_bias": jnp.zeros(HIDDEN),
        "norm2": jnp.ones(HIDDEN), "norm2_bias": jnp.zeros(HIDDEN),
    }
    params = {f"layer_{i}": layer for i in range(LAYERS)}
    params |= {"word": normal(VOCAB, HIDDEN), "position": normal(POSITIONS, HIDDEN),
               "norm": jnp.ones(HIDDEN), "norm_bias": jnp.zeros(HIDDEN)}
    return params | {name: normal(*shape) for name, shape in dict(layer_names).items()}


@jax.jit
def layer_norm(x, scale, bias):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), axis=-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + bias


def dropout(key, x):
    keep = jax.random.bernoulli(key, 1.0 - DROPOUT, x.shape)
    return jnp.where(keep, x / (1.0 - DROPOUT), 0.0)


def attention(p, x, mask, key):
    qkv = jnp.einsum("bsh,hcd->cbsd", x, p["qkv"]) + p["qkv_bias"][:, None, None, :]
    q, k, v = (t.reshape(*t.shape[:2], HEADS, HIDDEN // HEADS) for t in qkv)
    scores = jnp.einsum("bqnd,bknd->bnqk", q, k) / jnp.sqrt(HIDDEN / HEADS)
    weights = dropout(key, jax.nn.softmax(jnp.where(mask, scores, -1e9)))
    context = jnp.einsum("bnqk,bknd->bqnd", weights, v).reshape(x.shape)
    return context @ p["out"] + p["out_bias"]


def mlp(p, x, gelu):
    return gelu(x @ p["up"] + p["up_bias"]) @ p["down"] + p["down_bias"]


def cross_entropy(logits, labels, weights):
    log_probs = jax.nn.log_softmax(logits)
    picked = jnp.take_along_axis(log_probs, labels[..., None], axis=-1)[..., 0]
    return -jnp.sum(picked * weights) / jnp.maximum(jnp.sum(weights), 1.0)


def bert_loss(params, batch, key):
    """Masked LM and next sentence; layer norm after each sublayer; exact GELU."""
    x = params["word"][batch["ids"]] + params["position"] + params["segment"][batch["segments"]]
    x = dropout(key, layer_norm(x, params["norm"], params["norm_bias"]))
    mask = batch["attend"][:, None, None, :]
    for i in range(LAYERS):
        with jax.named_scope(f"layer_{i}"):
            p, keys = params[f"layer_{i}"], jax.random.split(jax.random.fold_in(key, i))
            x = layer_norm(x + attention(p, x, mask, keys[0]), p["norm1"], p["norm1_bias"])
            y = dropout(keys[1], mlp(p, x, functools.partial(jax.nn.gelu, approximate=False)))
            x = layer_norm(x + y, p["norm2"], p["norm2_bias"])
    mlm = cross_entropy(x @ params["word"].T, batch["labels"], batch["weights"])
    pooled = jnp.tanh(x[:, 0] @ params["pooler"])
    nsp = cross_entropy(pooled @ params["next"], batch["next"], jnp.ones(BATCH))
    return mlm + nsp


def gpt2_loss(params, batch, key):
    """Causal LM; layer norm before each sublayer; GELU by tanh; tied embeddings."""
    x = dropout(key, params["word"][batch["ids"]] + params["position"])
    mask = jnp.tril(jnp.ones((POSITIONS, POSITIONS), bool))
    for i in range(LAYERS):
        with jax.named_scope(f"layer_{i}"):
            p, keys = params[f"layer_{i}"], jax.random.split(jax.random.fold_in(key, i))
            x += attention(p, layer_norm(x, p["norm1"], p["norm1_bias"]), mask, keys[0])
            y = mlp(p, layer_norm(x, p["norm2"], p["norm2_bias"]), jax.nn.gelu)
            x += dropout(keys[1], y)
    x = layer_norm(x, params["norm"], params["norm_bias"])
    logits = x @ params["word"].T
    return cross_entropy(logits[:, :-1], batch["ids"][:, 1:], jnp.ones((BATCH, POSITIONS - 1)))


@jax.jit  # A private function for each shape keeps the text short.
def adamw(param, grad, m, v, clip, step, lr):
    grad *= clip
    m = 0.9 * m + 0.1 * grad
    v = 0.999 * v + 0.001 * jnp.square(grad)
    update = (m / (1 - 0.9**step)) / (jnp.sqrt(v / (1 - 0.999**step)) + 1e-8)
    return param - lr * (update + 0.01 * param), m, v


def train_step(loss_fn, state, batch, key):
    params, ms, vs, step = state
    step += 1
    loss, grads = jax.value_and_grad(loss_fn)(params, batch, key)
    norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree.leaves(grads)))
    clip = jnp.minimum(1.0, 1.0 / (norm + 1e-6))
    lr = 1e-3 * jnp.minimum(1.0, step / 10.0)
    updated = jax.tree.map(lambda *t: adamw(*t, clip, step, lr), params, grads, ms, vs)
    params, ms, vs = jax.tree.transpose(jax.tree.structure(params), jax.tree.structure((0,) * 3), updated)
    return (params, ms, vs, step), loss, norm


def lower_step(loss_fn, params, batch):
    zeros = jax.tree.map(jnp.zeros_like, params)
    state = (params, zeros, zeros, jnp.float32(0))
    step = jax.jit(functools.partial(train_step, loss_fn), donate_argnums=0)
    return step.lower(state, batch, jax.random.PRNGKey(0))


def lower_bert():
    ids = jnp.zeros((BATCH, POSITIONS), jnp.int32)
    batch = {"ids": ids, "segments": ids, "labels": ids, "attend": ids.astype(bool),
             "weights": ids.astype(jnp.float32), "next": jnp.zeros(BATCH, jnp.int32)}
    extra = {"segment": (2, HIDDEN), "pooler": (HIDDEN, HIDDEN), "next": (HIDDEN, 2)}
    return lower_step(bert_loss, init_params(jax.random.PRNGKey(1), extra), batch)


def lower_gpt2():
    batch = {"ids": jnp.zeros((BATCH, POSITIONS), jnp.int32)}
    return lower_step(gpt2_loss, init_params(jax.random.PRNGKey(1)), batch)


def lower_misc():
    """Forms that the two models do not use: variadic reduce and sort, windows, loops, dynamic slices, branches, bf16,
    complex numbers."""

    def scan_layers(x, ws):
        return lax.scan(lambda h, w: (jnp.tanh(h @ w), jnp.sum(h)), x, ws)

    def misc(x, ws, i, key):
        h, sums = scan_layers(x, ws)
        picked = lax.dynamic_slice(h, (i, 0), (1, 4))
        h = lax.dynamic_update_slice(h, picked * 2, (0, i))
        branch = lax.cond(i > 2, jnp.sin, jnp.cos, h)
        many = lax.switch(i, [jnp.abs, jnp.floor, lambda v: v**3], h)
        half = lax.dot(h.astype(jnp.bfloat16), ws[0].astype(jnp.bfloat16), preferred_element_type=jnp.float32)
        return {"argmax": jnp.argmax(h, axis=1), "argsort": jnp.argsort(x, axis=1), "sort": jnp.sort(x),
                "cumsum": jnp.cumsum(x, axis=0), "branch": branch, "many": many, "half": half, "sums": sums,
                "clip": jnp.clip(x, -1, 1), "finite": jnp.isfinite(x), "top": lax.top_k(x, 2),
                "flip": jnp.flip(x), "pad": jnp.pad(x, 1), "roll": jnp.roll(x, 1, axis=1),
                "complex": jnp.abs(lax.complex(x, x)), "one_hot": jax.nn.one_hot(i, 4),
                "categorical": jax.random.categorical(key, x), "bits": jax.random.bits(key, (3,), jnp.uint8),
                "shuffle": jax.random.permutation(key, 4), "mod": i % 3, "erf_inv": jax.random.normal(key, (2,)),
                "barrier": lax.optimization_barrier((x, i)), "precise": lax.reduce_precision(x, 8, 7)}

    x, ws = jnp.zeros((4, 4)), jnp.zeros((3, 4, 4))
    return jax.jit(misc).lower(x, ws, jnp.int32(0), jax.random.PRNGKey(0))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--debug-info", action="store_true", help="also with locations")
    options = parser.parse_args()
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    # There is one device, so there is no mesh to describe.
    jax.config.update("jax_use_shardy_partitioner", False)
    for name, lower in {"bert": lower_bert, "gpt2": lower_gpt2, "misc": lower_misc}.items():
        lowered = lower()
        (folder / f"{name}.mlir").write_text(lowered.as_text())
        if options.debug_info:
            (folder / f"{name}.debug.mlir").write_text(lowered.as_text(debug_info=True))


if __name__ == "__main__":
    main()
