"""Training steps as JAX and optax print them: forward, backward and update of small models.

Each step runs in the reference interpreter and, compiled, on the simulated DTU. It starts in the middle of a training, with
non-zero moments: the first step of Adam divides gradients by their own magnitude, and so does not test gradients near zero.
"""

import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import jax
import jax.numpy as jnp
import jax_step_models as models
import numpy as np
import optax
from jax_models import bert_mlm, gpt2_clm, gpt2_layer, llama_clm
from jax_on_dtu import summary
from jax_programs import case
from st_testing import ROOT, drawn_part, main

BERT = {
    "model_type": "bert", "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 32, "vocab_size": 41, "max_position_embeddings": 10, "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
}
GPT2 = {
    "n_embd": 16, "n_layer": 2, "n_head": 4, "vocab_size": 41, "n_positions": 10, "embd_pdrop": 0.1,
    "attn_pdrop": 0.1, "resid_pdrop": 0.1,
}

LLAMA = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 24,
}


def bert():
    """Masked language model and next sentence, with dropout, under Hugging Face's names."""
    r, hidden, inner = models.Parameters(9), BERT["hidden_size"], BERT["intermediate_size"]
    shapes = {"bert.embeddings.word_embeddings": (41, hidden), "bert.embeddings.token_type_embeddings": (2, hidden),
              "bert.embeddings.position_embeddings": (10, hidden)}
    parameters = {f"{name}.weight": r.normal(*shape) for name, shape in shapes.items()}
    norms, linears = ["bert.embeddings.LayerNorm", "cls.predictions.transform.LayerNorm"], {}
    for i in range(BERT["num_hidden_layers"]):
        layer = f"bert.encoder.layer.{i}."
        norms += [layer + "attention.output.LayerNorm", layer + "output.LayerNorm"]
        linears |= {layer + f"attention.self.{w}": (hidden, hidden) for w in ("query", "key", "value")}
        linears |= {layer + "attention.output.dense": (hidden, hidden), layer + "intermediate.dense": (inner, hidden),
                    layer + "output.dense": (hidden, inner)}
    linears |= {"cls.predictions.transform.dense": (hidden, hidden), "bert.pooler.dense": (hidden, hidden),
                "cls.seq_relationship": (2, hidden)}
    parameters |= {f"{name}.weight": r.near_one(hidden) for name in norms}
    parameters |= {f"{name}.weight": r.normal(*shape) for name, shape in linears.items()}
    parameters |= {f"{name}.bias": r.normal(hidden) for name in norms}
    parameters |= {f"{name}.bias": r.normal(shape[0]) for name, shape in linears.items()}
    parameters["cls.predictions.bias"] = r.normal(41)
    labels = r.integers(41, 2, 8)
    labels[:, ::3] = -100
    batch = {"input_ids": r.integers(41, 2, 8), "token_type_ids": r.integers(2, 2, 8), "labels": labels,
             "attention_mask": (np.arange(8) < np.array([[8], [6]])).astype(np.int32),
             "next_sentence_label": r.integers(2, 2), "key": np.array([3, 5], np.uint32)}
    return lambda p, b: bert_mlm(BERT, p, b, b["key"]), parameters, batch


def gpt2():
    r, hidden = models.Parameters(10), GPT2["n_embd"]
    parameters = {"transformer.wte.weight": r.normal(41, hidden), "transformer.wpe.weight": r.normal(10, hidden)}
    norms, linears = ["transformer.ln_f"], {}
    for i in range(GPT2["n_layer"]):
        layer = f"transformer.h.{i}."
        norms += [layer + "ln_1", layer + "ln_2"]
        linears |= {layer + "attn.c_attn": (hidden, 3 * hidden), layer + "attn.c_proj": (hidden, hidden),
                    layer + "mlp.c_fc": (hidden, 4 * hidden), layer + "mlp.c_proj": (4 * hidden, hidden)}
    parameters |= {f"{name}.weight": r.near_one(hidden) for name in norms}
    parameters |= {f"{name}.weight": r.normal(*shape) for name, shape in linears.items()}
    parameters |= {f"{name}.bias": r.normal(hidden) for name in norms}
    parameters |= {f"{name}.bias": r.normal(shape[1]) for name, shape in linears.items()}
    tokens = r.integers(41, 2, 9)
    batch = {"input_ids": tokens[:, :-1], "labels": tokens[:, 1:], "key": np.array([7, 11], np.uint32)}
    return lambda p, b: gpt2_clm(GPT2, p, b, b["key"]), parameters, batch


def gpt2_by_scan():
    """GPT-2 without dropout, with layers as rows of stacked weights in a scan."""
    _, parameters, batch = gpt2()
    prefixes = [f"transformer.h.{i}." for i in range(GPT2["n_layer"])]
    names = [name.removeprefix(prefixes[0]) for name in parameters if name.startswith(prefixes[0])]
    stacked = {name: np.stack([parameters[prefix + name] for prefix in prefixes]) for name in names}
    rest = {name: value for name, value in parameters.items() if not name.startswith("transformer.h.")}

    def loss(p, b):
        def layer(x, weights):
            return gpt2_layer(GPT2, weights, "", x, lambda v, _: v), None
        return gpt2_clm(GPT2, p["rest"], b, layers=lambda x: jax.lax.scan(layer, x, p["layers"])[0])

    return loss, {"layers": stacked, "rest": rest}, {name: batch[name] for name in ("input_ids", "labels")}


def llama_with_complex_rotation():
    """Hugging Face's Llama; its rotary positions turn complex numbers."""
    r, hidden, inner, keys = models.Parameters(11), LLAMA["hidden_size"], LLAMA["intermediate_size"], 8
    parameters = {"model.embed_tokens.weight": r.normal(41, hidden), "lm_head.weight": r.normal(41, hidden),
                  "model.norm.weight": r.near_one(hidden)}
    for i in range(LLAMA["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        shapes = {"self_attn.q_proj": (hidden, hidden), "self_attn.k_proj": (keys, hidden),
                  "self_attn.v_proj": (keys, hidden), "self_attn.o_proj": (hidden, hidden),
                  "mlp.gate_proj": (inner, hidden), "mlp.up_proj": (inner, hidden), "mlp.down_proj": (hidden, inner)}
        parameters |= {f"{layer}{name}.weight": r.normal(*shape) for name, shape in shapes.items()}
        parameters |= {f"{layer}{name}.weight": r.near_one(hidden)
                       for name in ("input_layernorm", "post_attention_layernorm")}
    tokens = r.integers(41, 2, 9)
    return (lambda p, b: llama_clm(LLAMA, p, b)), parameters, {"input_ids": tokens[:, :-1], "labels": tokens[:, 1:]}


def in_progress(state):
    """The optimizer's state with counts and moments from the middle of a training."""
    rng = np.random.default_rng(99)

    def value(leaf):
        leaf = np.asarray(leaf)
        if leaf.dtype.kind != "f":
            return np.full_like(leaf, 5)
        return (0.01 + 0.01 * rng.random(leaf.shape)).astype(leaf.dtype)

    return jax.tree.map(value, state)


def told_apart(gradients):
    """Returns gradients of weights one by one, and those of vectors as one: the gradient of a key's bias is only
    rounding."""
    leaves = jax.tree.leaves(gradients)
    vectors = [jnp.ravel(g) for g in leaves if g.ndim < 2]
    return [g for g in leaves if g.ndim >= 2], jnp.concatenate(vectors) if vectors else None


def training_step(model, optimizer):
    """Donates the old parameters and optimizer state, and returns new ones, the loss and the gradients."""
    def make():
        loss, parameters, batch = model()

        def step(parameters, state, batch):
            value, gradients = jax.value_and_grad(loss)(parameters, batch)
            updates, state = optimizer.update(gradients, state, parameters)
            return optax.apply_updates(parameters, updates), state, value, told_apart(gradients)

        return step, (parameters, in_progress(optimizer.init(parameters)), batch)
    return make


def clipped(optimizer):
    return optax.chain(optax.clip_by_global_norm(1.0), optimizer)


WARMUP = optax.warmup_cosine_decay_schedule(0.0, 1e-3, 10, 100)

AGAIN = f"--parallel={ROOT / 'examples' / 'parallel' / 'recompute-full.json'}"
OFFLOAD = f"--parallel={ROOT / 'examples' / 'parallel' / 'offload.json'}"
# Layers in bf16 have 8 bits, even if their gradients are cast to another type.
STEPS = [
    ("bert, adamw", bert, clipped(optax.adamw(WARMUP)), {}),
    ("gpt2, adamw", gpt2, clipped(optax.adamw(1e-3, weight_decay=0.1)), {}),
    ("gpt2, layers computed again", gpt2, clipped(optax.adamw(1e-3)), {"flags": [AGAIN]}),
    ("llama, layers computed again", models.llama, optax.adamw(1e-3), {"flags": [AGAIN]}),
    ("gpt2, lion", gpt2, optax.lion(1e-3), {}),
    ("gpt2 by scan, unrolled", gpt2_by_scan, optax.adamw(1e-3), {}),
    ("gpt2 by scan, rolled", gpt2_by_scan, optax.adamw(1e-3), {"flags": ["--unroll=0"]}),
    ("gpt2 by scan, rolled, layers computed again", gpt2_by_scan, optax.adamw(1e-3), {"flags": ["--unroll=0", AGAIN]}),
    ("gpt2 by scan, rolled, stashes on the host", gpt2_by_scan, optax.adamw(1e-3), {"flags": ["--unroll=0", OFFLOAD]}),
    ("llama, complex rotation", llama_with_complex_rotation, optax.adamw(1e-3), {}),
    ("llama, adamw", models.llama, clipped(optax.adamw(1e-3)), {}),
    ("llama, adafactor", models.llama, optax.adafactor(1e-3, min_dim_size_to_factor=8), {}),
    ("vit, adam", models.vit, optax.adam(1e-3), {}),
    ("vit, lamb", models.vit, optax.lamb(1e-3), {}),
    ("convolution net, momentum", models.convolution_net, optax.sgd(1e-2, momentum=0.9, nesterov=True), {}),
    ("convolution net, rmsprop", models.convolution_net, optax.rmsprop(1e-3, momentum=0.9), {}),
    ("mixture of experts, adamw", models.mixture_of_experts, clipped(optax.adamw(1e-3)), {}),
    ("lstm, adam", models.lstm, clipped(optax.adam(1e-3)), {}),
    ("lstm, rolled", models.lstm, clipped(optax.adam(1e-3)), {"flags": ["--unroll=0"]}),
    ("lstm, adagrad", models.lstm, optax.adagrad(1e-2), {}),
    ("scan over layers, adamw", models.scanned_transformer, optax.adamw(1e-3), {}),
    ("autoencoder, adadelta", models.autoencoder, optax.adadelta(1e-1), {}),
    ("mixed precision, sgd", models.mixed_precision, optax.sgd(1e-2), {"tolerance": 1.6e-2}),
]


def accumulation():
    """Gradients of four micro-batches, summed by a loop."""
    loss, parameters, tokens = models.llama(layers=1)
    tokens = np.tile(tokens, (4, 1, 1)) * np.arange(1, 5, dtype=np.int32)[:, None, None] % models.VOCABULARY

    def step(parameters, batches):
        def add(total, batch):
            value, gradients = jax.value_and_grad(loss)(parameters, batch)
            return jax.tree.map(jnp.add, total, gradients), value

        total, losses = jax.lax.scan(add, jax.tree.map(jnp.zeros_like, parameters), batches)
        return jax.tree.map(lambda p, g: p - 1e-2 * g / 4, parameters, total), jnp.mean(losses), losses

    return step, (parameters, tokens)


CASES = [case(name, training_step(model, optimizer), donate=(0, 1), **options)
         for name, model, optimizer, options in STEPS]
CASES.append(case("llama, accumulated gradients", accumulation, donate=(0,)))

if __name__ == "__main__":
    sys.exit(main(*drawn_part(CASES, 3), epilogue=summary))
