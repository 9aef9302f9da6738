"""BERT and GPT-2 in plain JAX, written from their papers and Hugging Face's names.

The independent half of the comparison: nothing here looks at what St emits. A
model is a function of (config, parameters, batch, key): parameters and batch are
dictionaries under the names that St's arguments have, key is [seed, step] or None
for no dropout.
"""

import math

import jax
import jax.numpy as jnp
from jax.extend.random import threefry_2x32

jax.config.update("jax_default_matmul_precision", "highest")

ACTIVATIONS = {
    "gelu": lambda x: jax.nn.gelu(x, approximate=False),
    "gelu_new": lambda x: jax.nn.gelu(x, approximate=True),
    "gelu_pytorch_tanh": lambda x: jax.nn.gelu(x, approximate=True),
    "relu": jax.nn.relu,
    "silu": jax.nn.silu,
    "swish": jax.nn.silu,
    "tanh": jnp.tanh,
}


class Dropout:
    """Masks by (key, site, index): site s counts the calls with a probability above zero."""

    def __init__(self, key):
        self.key = None if key is None else jnp.asarray(key, jnp.uint32)
        self.site = 0

    def __call__(self, x, probability):
        if self.key is None or probability == 0:
            return x
        counters = jnp.concatenate([jnp.full(x.size, self.site, jnp.uint32), jnp.arange(x.size, dtype=jnp.uint32)])
        first, second = jnp.split(threefry_2x32(self.key, counters), 2)
        keep = (first ^ second).reshape(x.shape) >= jnp.uint32(round(probability * 2**32))
        self.site += 1
        return jnp.where(keep, x / (1 - probability), 0)


def layer_norm(parameters, name, x, epsilon):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    normalized = (x - mean) / jnp.sqrt(variance + epsilon)
    return normalized * parameters[f"{name}.weight"] + parameters[f"{name}.bias"]


def attention(query, key, value, heads, bias, drop):
    """query, key, value: [B, S, H]; bias broadcasts to [B, heads, S, S]."""
    batch, length, hidden = query.shape
    query, key, value = (x.reshape(batch, length, heads, hidden // heads) for x in (query, key, value))
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / math.sqrt(hidden // heads) + bias
    probabilities = drop(jax.nn.softmax(scores, axis=-1))
    return jnp.einsum("bhqk,bkhd->bqhd", probabilities, value).reshape(batch, length, hidden)


def cross_entropy(logits, labels, ignored):
    """The mean over the labels that are not ignored; 0 where all are."""
    counts = labels != ignored
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), jnp.where(counts, labels, 0)[..., None], -1)[..., 0]
    return -jnp.where(counts, picked, 0).sum() / jnp.maximum(counts.sum(), 1)


def bert_encoder(config, parameters, batch, drop):
    hidden_drop = config.get("hidden_dropout_prob", 0.1)
    attention_drop = config.get("attention_probs_dropout_prob", 0.1)
    epsilon = config.get("layer_norm_eps", 1e-12)
    activation = ACTIVATIONS[config.get("hidden_act", "gelu")]

    def linear(name, x):
        return x @ parameters[f"{name}.weight"].T + parameters[f"{name}.bias"]

    embeddings = "bert.embeddings."
    length = batch["input_ids"].shape[1]
    x = (parameters[embeddings + "word_embeddings.weight"][batch["input_ids"]]
         + parameters[embeddings + "token_type_embeddings.weight"][batch["token_type_ids"]]
         + parameters[embeddings + "position_embeddings.weight"][:length])
    x = drop(layer_norm(parameters, embeddings + "LayerNorm", x, epsilon), hidden_drop)
    bias = jnp.where(batch["attention_mask"] == 1, 0, jnp.finfo(jnp.float32).min)[:, None, None, :]
    for i in range(config["num_hidden_layers"]):
        layer = f"bert.encoder.layer.{i}."
        query, key, value = (linear(f"{layer}attention.self.{w}", x) for w in ("query", "key", "value"))
        context = attention(query, key, value, config["num_attention_heads"], bias,
                            lambda p: drop(p, attention_drop))
        out = drop(linear(layer + "attention.output.dense", context), hidden_drop)
        x = layer_norm(parameters, layer + "attention.output.LayerNorm", x + out, epsilon)
        inner = activation(linear(layer + "intermediate.dense", x))
        out = drop(linear(layer + "output.dense", inner), hidden_drop)
        x = layer_norm(parameters, layer + "output.LayerNorm", x + out, epsilon)
    return x, linear


def bert_mlm(config, parameters, batch, key=None):
    x, linear = bert_encoder(config, parameters, batch, Dropout(key))
    activation = ACTIVATIONS[config.get("hidden_act", "gelu")]
    h = activation(linear("cls.predictions.transform.dense", x))
    h = layer_norm(parameters, "cls.predictions.transform.LayerNorm", h, config.get("layer_norm_eps", 1e-12))
    tied = config.get("tie_word_embeddings", True)
    decoder = parameters["bert.embeddings.word_embeddings.weight" if tied else "cls.predictions.decoder.weight"]
    logits = h @ decoder.T + parameters["cls.predictions.bias"]
    pooled = jnp.tanh(linear("bert.pooler.dense", x[:, 0]))
    relationship = linear("cls.seq_relationship", pooled)
    return (cross_entropy(logits, batch["labels"], -100)
            + cross_entropy(relationship, batch["next_sentence_label"], -100))


def bert_span(config, parameters, batch, key=None):
    x, linear = bert_encoder(config, parameters, batch, Dropout(key))
    logits = linear("qa_outputs", x)
    length = x.shape[1]

    def loss(index, positions):
        return cross_entropy(logits[..., index], jnp.clip(positions, 0, length), length)

    return (loss(0, batch["start_positions"]) + loss(1, batch["end_positions"])) / 2


def gpt2_clm(config, parameters, batch, key=None):
    drop = Dropout(key)
    epsilon = config.get("layer_norm_epsilon", 1e-5)
    activation = ACTIVATIONS[config.get("activation_function", "gelu_new")]
    residual_drop = config.get("resid_pdrop", 0.1)

    def conv1d(name, x):
        return x @ parameters[f"{name}.weight"] + parameters[f"{name}.bias"]

    length = batch["input_ids"].shape[1]
    x = parameters["transformer.wte.weight"][batch["input_ids"]] + parameters["transformer.wpe.weight"][:length]
    x = drop(x, config.get("embd_pdrop", 0.1))
    causal = jnp.tril(jnp.ones((length, length), bool))
    bias = jnp.where(causal, 0, jnp.finfo(jnp.float32).min)
    for i in range(config["n_layer"]):
        layer = f"transformer.h.{i}."
        normalized = layer_norm(parameters, layer + "ln_1", x, epsilon)
        query, key_, value = jnp.split(conv1d(layer + "attn.c_attn", normalized), 3, axis=-1)
        context = attention(query, key_, value, config["n_head"], bias,
                            lambda p: drop(p, config.get("attn_pdrop", 0.1)))
        x = x + drop(conv1d(layer + "attn.c_proj", context), residual_drop)
        normalized = layer_norm(parameters, layer + "ln_2", x, epsilon)
        inner = activation(conv1d(layer + "mlp.c_fc", normalized))
        x = x + drop(conv1d(layer + "mlp.c_proj", inner), residual_drop)
    x = layer_norm(parameters, "transformer.ln_f", x, epsilon)
    head = "transformer.wte.weight" if config.get("tie_word_embeddings", True) else "lm_head.weight"
    return cross_entropy(x @ parameters[head].T, batch["labels"], -100)


LOSSES = {"mlm": bert_mlm, "span": bert_span, "clm": gpt2_clm}
