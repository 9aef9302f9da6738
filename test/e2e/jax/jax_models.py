"""BERT, GPT-2, Llama, ViT and two models of Megatron-LM in plain JAX, written from their papers and the parameter names
of Hugging Face and Megatron-LM.

This is the independent half of the comparison: it does not use anything that St emits. A model is a function of
(config, parameters, batch, key): parameters and batch are dictionaries under the names of St's arguments, key is [seed,
step] or None for no dropout.
"""

import math

import jax
import jax.numpy as jnp

jax.config.update("jax_default_matmul_precision", "highest")

def gelu_fast(x):
    return 0.5 * x * (1 + jnp.tanh(x * 0.7978845608 * (1 + 0.044715 * x * x)))


ACTIVATIONS = {
    "gelu": lambda x: jax.nn.gelu(x, approximate=False),
    "gelu_python": lambda x: x * jax.scipy.stats.norm.cdf(x),
    "gelu_new": lambda x: jax.nn.gelu(x, approximate=True),
    "gelu_accurate": lambda x: jax.nn.gelu(x, approximate=True),
    "gelu_fast": gelu_fast,
    "gelu_python_tanh": lambda x: jax.nn.gelu(x, approximate=True),
    "gelu_pytorch_tanh": lambda x: jax.nn.gelu(x, approximate=True),
    "quick_gelu": lambda x: x / (1 + jnp.exp(-1.702 * x)),
    "relu": jax.nn.relu,
    "silu": jax.nn.silu,
    "swish": jax.nn.silu,
    "tanh": jnp.tanh,
}


def multiply_high(x, factor):
    """The upper word of the product of 32-bit words, by halves: JAX has no wider integers by default."""
    low, high, factor_low, factor_high = x & 0xFFFF, x >> 16, jnp.uint32(factor & 0xFFFF), jnp.uint32(factor >> 16)
    middle = high * factor_low + (low * factor_low >> 16)
    return high * factor_high + (middle >> 16) + (low * factor_high + (middle & 0xFFFF) >> 16)


def philox(key, first, second, rounds=7):
    """The two words of a block of Philox-2x32 (Salmon et al., SC 2011), elementwise."""
    for i in range(rounds):
        round_key = key + jnp.uint32(i * 0x9E3779B9 & 0xFFFFFFFF)
        first, second = (multiply_high(first, 0xD256D193) ^ round_key ^ second, first * jnp.uint32(0xD256D193))
    return first, second


class Dropout:
    """Masks by (key, site, index): site s counts the calls with a probability above zero."""

    def __init__(self, key):
        self.key = None if key is None else jnp.asarray(key, jnp.uint32)
        self.site = 0

    def __call__(self, x, probability):
        if self.key is None or probability == 0:
            return x
        rate = round(probability * 2**16)
        rows, columns = (jnp.broadcast_to(position, x.shape) for position in positions_of(x.shape))
        below, behind = rows % 16 >= 8, columns % 16 >= 8
        index = jnp.arange(x.size, dtype=jnp.uint32).reshape(x.shape)
        index = index - jnp.where(behind, 8, 0) - jnp.where(below, 8 * x.shape[-1], 0)
        key = self.key[0] + jnp.uint32(0xBB67AE85) * self.key[1]
        words = philox(key, jnp.uint32(self.site), index.astype(jnp.uint32), rounds=8)
        word = jnp.where(behind, words[1], words[0])
        keep = jnp.where(below, word & 0xFFFF, word >> 16) >= jnp.uint32(rate)
        self.site += 1
        return jnp.where(keep, x / (1 - rate / 2**16), 0)


def positions_of(shape):
    """The row and column of each element of a tensor."""
    return jnp.arange(shape[-2])[:, None] if len(shape) > 1 else 0, jnp.arange(shape[-1])


def layer_norm(parameters, name, x, epsilon):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    normalized = (x - mean) / jnp.sqrt(variance + epsilon)
    return normalized * parameters[f"{name}.weight"] + parameters[f"{name}.bias"]


def attention(query, key, value, heads, bias, drop, scale=None):
    """query, key, value: [B, S, H]; bias broadcasts to [B, heads, S, S]; scores are divided by `scale`, which defaults
    to the root of a head's size."""
    batch, length, hidden = query.shape
    query, key, value = (x.reshape(batch, length, heads, hidden // heads) for x in (query, key, value))
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / (scale or math.sqrt(hidden // heads)) + bias
    probabilities = drop(jax.nn.softmax(scores, axis=-1))
    return jnp.einsum("bhqk,bkhd->bqhd", probabilities, value).reshape(batch, length, hidden)


def cross_entropy(logits, labels, ignored):
    """The mean over the labels that are not ignored; 0 if all are ignored."""
    counts = labels != ignored
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), jnp.where(counts, labels, 0)[..., None], -1)[..., 0]
    return -jnp.where(counts, picked, 0).sum() / jnp.maximum(counts.sum(), 1)


def token_embeddings(table, ids, padding):
    """As PyTorch's Embedding with a padding_idx: the row is used, but its lookup has no gradient."""
    if padding is None:
        return table[ids]
    is_padding = ids == padding % table.shape[0]
    return jnp.where(is_padding[..., None], jax.lax.stop_gradient(table[ids]), table[ids])


def bert_encoder(config, parameters, batch, drop):
    hidden_drop = config.get("hidden_dropout_prob", 0.1)
    attention_drop = config.get("attention_probs_dropout_prob", 0.1)
    epsilon = config.get("layer_norm_eps", 1e-12)
    activation = ACTIVATIONS[config.get("hidden_act", "gelu")]

    def linear(name, x):
        return x @ parameters[f"{name}.weight"].T + parameters[f"{name}.bias"]

    embeddings = "bert.embeddings."
    length = batch["input_ids"].shape[1]
    words = parameters[embeddings + "word_embeddings.weight"]
    x = (token_embeddings(words, batch["input_ids"], config.get("pad_token_id", 0))
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


def megatron_bert_encoder(config, parameters, batch, drop):
    """As transformers' MegatronBertModel: only the end of the residual stream is normalised."""
    hidden_drop = config.get("hidden_dropout_prob", 0.1)
    attention_drop = config.get("attention_probs_dropout_prob", 0.1)
    activation = ACTIVATIONS[config.get("hidden_act", "gelu")]

    def linear(name, x):
        return jnp.einsum("...i,oi->...o", x, parameters[f"{name}.weight"]) + parameters[f"{name}.bias"]

    def norm(name, x):
        return layer_norm(parameters, name, x, config.get("layer_norm_eps", 1e-12))

    def table(name):
        return parameters[f"bert.embeddings.{name}_embeddings.weight"]

    ids = batch["input_ids"]
    stream = token_embeddings(table("word"), ids, config.get("pad_token_id", 0))
    stream += table("position")[None, :ids.shape[1]] + table("token_type")[batch["token_type_ids"]]
    stream = drop(stream, hidden_drop)
    bias = jnp.where(batch["attention_mask"] == 1, 0, jnp.finfo(jnp.float32).min)[:, None, None, :]
    for i in range(config["num_hidden_layers"]):
        layer = f"bert.encoder.layer.{i}"
        normalized = norm(f"{layer}.attention.ln", stream)
        projected = [linear(f"{layer}.attention.self.{which}", normalized) for which in ("query", "key", "value")]
        context = attention(*projected, config["num_attention_heads"], bias, lambda p: drop(p, attention_drop))
        stream += drop(linear(f"{layer}.attention.output.dense", context), hidden_drop)
        inner = activation(linear(f"{layer}.intermediate.dense", norm(f"{layer}.ln", stream)))
        stream += drop(linear(f"{layer}.output.dense", inner), hidden_drop)
    return norm("bert.encoder.ln", stream), linear


BERT_ENCODERS = {"bert": bert_encoder, "megatron-bert": megatron_bert_encoder}


def bert_mlm(config, parameters, batch, key=None):
    x, linear = BERT_ENCODERS[config["model_type"]](config, parameters, batch, Dropout(key))
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
    x, linear = BERT_ENCODERS[config["model_type"]](config, parameters, batch, Dropout(key))
    logits = linear("qa_outputs", x)
    length = x.shape[1]

    def loss(index, positions):
        return cross_entropy(logits[..., index], jnp.clip(positions, 0, length), length)

    return (loss(0, batch["start_positions"]) + loss(1, batch["end_positions"])) / 2


def visible_positions(batch):
    """The positions that each position attends to, [S, S] or [B, 1, S, S]: itself, those before it and those of a prefix,
    within its segment."""
    length = batch["input_ids"].shape[1]
    rows, columns = jnp.arange(length)[:, None], jnp.arange(length)[None, :]
    visible = columns <= rows
    if "prefix_length" in batch:
        visible = visible | (columns < jnp.asarray(batch["prefix_length"])[:, None, None, None])
    if "segment_ids" in batch:
        segments = jnp.asarray(batch["segment_ids"])
        visible = visible & (segments[:, None, :, None] == segments[:, None, None, :])
    return visible


def position_rows(batch, table):
    """The rows of a table of positions."""
    return table[batch["position_ids"]] if "position_ids" in batch else table[:batch["input_ids"].shape[1]]


def gpt2_layer(config, parameters, layer, x, drop, index=0, visible=None):
    epsilon = config.get("layer_norm_epsilon", 1e-5)
    activation = ACTIVATIONS[config.get("activation_function", "gelu_new")]
    residual_drop = config.get("resid_pdrop", 0.1)
    if visible is None:
        visible = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
    bias = jnp.where(visible, 0, jnp.finfo(jnp.float32).min)

    def conv1d(name, x):
        return x @ parameters[f"{name}.weight"] + parameters[f"{name}.bias"]

    normalized = layer_norm(parameters, layer + "ln_1", x, epsilon)
    query, key_, value = jnp.split(conv1d(layer + "attn.c_attn", normalized), 3, axis=-1)
    heads = config["n_head"]
    scale = math.sqrt(x.shape[-1] // heads) if config.get("scale_attn_weights", True) else 1.0
    if config.get("scale_attn_by_inverse_layer_idx", False):
        scale *= index + 1
    context = attention(query, key_, value, heads, bias, lambda p: drop(p, config.get("attn_pdrop", 0.1)), scale)
    x = x + drop(conv1d(layer + "attn.c_proj", context), residual_drop)
    normalized = layer_norm(parameters, layer + "ln_2", x, epsilon)
    inner = activation(conv1d(layer + "mlp.c_fc", normalized))
    return x + drop(conv1d(layer + "mlp.c_proj", inner), residual_drop)


def gpt2_clm(config, parameters, batch, key=None, layers=None):
    """`layers` replaces the loop over the layers."""
    drop = Dropout(key)
    x = (parameters["transformer.wte.weight"][batch["input_ids"]]
         + position_rows(batch, parameters["transformer.wpe.weight"]))
    x = drop(x, config.get("embd_pdrop", 0.1))
    if layers:
        x = layers(x)
    else:
        for i in range(config["n_layer"]):
            x = gpt2_layer(config, parameters, f"transformer.h.{i}.", x, drop, i, visible_positions(batch))
    x = layer_norm(parameters, "transformer.ln_f", x, config.get("layer_norm_epsilon", 1e-5))
    head = "transformer.wte.weight" if config.get("tie_word_embeddings", True) else "lm_head.weight"
    return cross_entropy(x @ parameters[head].T, batch["labels"], -100)


def rms_norm(parameters, name, x, epsilon):
    return x / jnp.sqrt((x**2).mean(-1, keepdims=True) + epsilon) * parameters[f"{name}.weight"]


def rotary_frequencies(config, count):
    """theta^(-2i/d), stretched as in the configuration: all by a factor, or (Llama 3.1) only those whose waves are long
    relative to the sequence length of the original training."""
    rope = config.get("rope_scaling") or config.get("rope_parameters") or {}
    theta = rope.get("rope_theta", config.get("rope_theta", 10000.0))
    kind = rope.get("rope_type", rope.get("type", "default"))
    frequencies = theta ** (-jnp.arange(count) / count)
    if kind == "default":
        return frequencies
    stretched = frequencies / rope["factor"]
    if kind == "linear":
        return stretched
    wave_lengths = 2 * math.pi / frequencies
    length, low, high = rope["original_max_position_embeddings"], rope["low_freq_factor"], rope["high_freq_factor"]
    share = (length / wave_lengths - low) / (high - low)
    between = (1 - share) * stretched + share * frequencies
    return jnp.where(wave_lengths > length / low, stretched,
                     jnp.where(wave_lengths < length / high, frequencies, between))


def rotary(x, frequencies, positions=None):
    """x: [B, S, heads, d]. Element i and element i + d/2 are one complex number, which position p
    turns by p times frequency i."""
    half = x.shape[-1] // 2
    angles = (jnp.arange(x.shape[1]) if positions is None else positions)[..., None] * frequencies
    turned = (x[..., :half] + 1j * x[..., half:]) * jnp.exp(1j * angles)[..., None, :]
    return jnp.concatenate([turned.real, turned.imag], axis=-1)


def llama_clm(config, parameters, batch, key=None):
    drop = Dropout(key)
    epsilon = config.get("rms_norm_eps", 1e-6)
    heads = config["num_attention_heads"]
    groups = config.get("num_key_value_heads", heads)
    size = config.get("head_dim", config["hidden_size"] // heads)
    frequencies = rotary_frequencies(config, size // 2)
    activation = ACTIVATIONS[config.get("hidden_act", "silu")]
    rows, length = batch["input_ids"].shape

    def linear(name, x, bias):
        product = jnp.einsum("...i,oi->...o", x, parameters[f"{name}.weight"])
        return product + parameters[f"{name}.bias"] if config.get(bias, False) else product

    x = token_embeddings(parameters["model.embed_tokens.weight"], batch["input_ids"], config.get("pad_token_id"))
    visible, positions = visible_positions(batch), batch.get("position_ids")
    visible = visible[:, :, None] if visible.ndim == 4 else visible
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        normalized = rms_norm(parameters, layer + "input_layernorm", x, epsilon)
        query, keys, values = (
            linear(f"{layer}self_attn.{which}_proj", normalized, "attention_bias").reshape(rows, length, -1, size)
            for which in "qkv")
        query = rotary(query, frequencies, positions).reshape(rows, length, groups, heads // groups, size)
        scores = jnp.einsum("bqghd,bkgd->bghqk", query, rotary(keys, frequencies, positions)) / math.sqrt(size)
        probabilities = jax.nn.softmax(jnp.where(visible, scores, -jnp.inf), axis=-1)
        flat = drop(probabilities.reshape(rows, heads, length, length), config.get("attention_dropout", 0.0))
        context = jnp.einsum("bghqk,bkgd->bqghd", flat.reshape(probabilities.shape), values)
        x = x + linear(layer + "self_attn.o_proj", context.reshape(rows, length, heads * size), "attention_bias")
        normalized = rms_norm(parameters, layer + "post_attention_layernorm", x, epsilon)
        gate = activation(linear(layer + "mlp.gate_proj", normalized, "mlp_bias"))
        inner = gate * linear(layer + "mlp.up_proj", normalized, "mlp_bias")
        x = x + linear(layer + "mlp.down_proj", inner, "mlp_bias")
    x = rms_norm(parameters, "model.norm", x, epsilon)
    head = "model.embed_tokens.weight" if config.get("tie_word_embeddings", False) else "lm_head.weight"
    return cross_entropy(x @ parameters[head].T, batch["labels"], -100)


def megatron_gpt_clm(config, parameters, batch, key=None):
    """As Megatron-LM's GPTModel; a row of the fused weight is [head, query or key or value, element]."""
    drop = Dropout(key)
    hidden_drop = config.get("hidden_dropout", config.get("hidden_dropout_prob", 0.1))
    activation = ACTIVATIONS[config.get("hidden_act", "gelu_new")]
    heads, hidden = config["num_attention_heads"], config["hidden_size"]
    rows, length = batch["input_ids"].shape

    def linear(name, x):
        return jnp.einsum("...i,oi->...o", x, parameters[f"{name}.weight"]) + parameters[f"{name}.bias"]

    def norm(name, x):
        return layer_norm(parameters, name, x, config.get("layernorm_epsilon", 1e-5))

    embedding = "language_model.embedding."
    words = parameters[embedding + "word_embeddings.weight"]
    x = drop(words[batch["input_ids"]] + position_rows(batch, parameters[embedding + "position_embeddings.weight"]), hidden_drop)
    visible = visible_positions(batch)
    for i in range(config.get("num_layers", config.get("num_hidden_layers"))):
        layer = f"language_model.encoder.layers.{i}."
        fused = linear(layer + "self_attention.query_key_value", norm(layer + "input_layernorm", x))
        query, keys, values = jnp.moveaxis(fused.reshape(rows, length, heads, 3, hidden // heads), 3, 0)
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, keys) / math.sqrt(hidden // heads)
        probabilities = jax.nn.softmax(jnp.where(visible, scores, -jnp.inf), axis=-1)
        probabilities = drop(probabilities, config.get("attention_dropout", 0.1))
        context = jnp.einsum("bhqk,bkhd->bqhd", probabilities, values).reshape(rows, length, hidden)
        x = x + drop(linear(layer + "self_attention.dense", context), hidden_drop)
        inner = activation(linear(layer + "mlp.dense_h_to_4h", norm(layer + "post_attention_layernorm", x)))
        x = x + drop(linear(layer + "mlp.dense_4h_to_h", inner), hidden_drop)
    x = norm("language_model.encoder.final_layernorm", x)
    if not config.get("tie_word_embeddings", True):
        words = parameters["language_model.output_layer.weight"]
    return cross_entropy(x @ words.T, batch["labels"], -100)


def vit_classify(config, parameters, batch, key=None):
    drop = Dropout(key)
    hidden_drop = config.get("hidden_dropout_prob", 0.0)
    epsilon = config.get("layer_norm_eps", 1e-12)
    activation = ACTIVATIONS[config.get("hidden_act", "gelu")]

    def linear(name, x):
        product = x @ parameters[f"{name}.weight"].T
        return product + parameters[f"{name}.bias"] if f"{name}.bias" in parameters else product

    projection = "vit.embeddings.patch_embeddings.projection."
    kernel, pixels = parameters[projection + "weight"], batch["pixel_values"]
    patches = jax.lax.conv_general_dilated(pixels.astype(kernel.dtype), kernel, kernel.shape[2:], "VALID")
    patches = patches.reshape(*patches.shape[:2], -1).swapaxes(1, 2) + parameters[projection + "bias"]
    first = jnp.tile(parameters["vit.embeddings.cls_token"], (len(pixels), 1, 1))
    x = jnp.concatenate([first, patches], axis=1) + parameters["vit.embeddings.position_embeddings"]
    x = drop(x, hidden_drop)
    for i in range(config["num_hidden_layers"]):
        layer = f"vit.encoder.layer.{i}."
        normalized = layer_norm(parameters, layer + "layernorm_before", x, epsilon)
        query, key_, value = (linear(f"{layer}attention.attention.{which}", normalized)
                              for which in ("query", "key", "value"))
        context = attention(query, key_, value, config["num_attention_heads"], 0,
                            lambda p: drop(p, config.get("attention_probs_dropout_prob", 0.0)))
        x = x + drop(linear(layer + "attention.output.dense", context), hidden_drop)
        normalized = layer_norm(parameters, layer + "layernorm_after", x, epsilon)
        inner = activation(linear(layer + "intermediate.dense", normalized))
        x = x + drop(linear(layer + "output.dense", inner), hidden_drop)
    x = layer_norm(parameters, "vit.layernorm", x, epsilon)
    logits, labels = linear("classifier", x[:, 0]), batch["labels"]
    classes = logits.shape[1]
    problem = config.get("problem_type") or ("regression" if classes == 1 else "single_label_classification")
    if problem == "regression":
        return ((logits.reshape(labels.shape) - labels) ** 2).mean()
    if problem == "multi_label_classification":
        return -(labels * jax.nn.log_sigmoid(logits) + (1 - labels) * jax.nn.log_sigmoid(-logits)).mean()
    return cross_entropy(logits, labels, -100)


LOSSES = {("bert", "mlm"): bert_mlm, ("bert", "span"): bert_span, ("gpt2", "clm"): gpt2_clm,
          ("llama", "clm"): llama_clm, ("megatron-bert", "mlm"): bert_mlm, ("megatron-bert", "span"): bert_span,
          ("megatron-gpt", "clm"): megatron_gpt_clm, ("vit", "classify"): vit_classify}


def loss_function(config, task):
    """The loss of a model and a task, a function of (parameters, batch, key)."""
    function = LOSSES[config["model_type"], task]
    return lambda parameters, batch, key=None: function(config, parameters, batch, key)
