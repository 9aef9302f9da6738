"""Compares St's models, their gradients and training steps with JAX's in float64."""

import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import jax
import jax.numpy as jnp
import numpy as np
from jax_models import ACTIVATIONS, Dropout, loss_function, philox
from reference_optimizers import DEFAULTS, OPTIMIZERS, clip
from st_programs import import_model, interpret, random_batch, random_parameters, signature, transform
from st_testing import drawn_part, expect, main

jax.config.update("jax_enable_x64", True)
# XLA compiles each program for one or two runs.
jax.config.update("jax_disable_most_optimizations", True)

BATCH, SEQ = 3, 16

BERT = {
    "model_type": "bert", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
    "vocab_size": 97, "max_position_embeddings": 24, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
}
GPT2 = {
    "model_type": "gpt2", "n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 97, "n_positions": 24,
    "embd_pdrop": 0.0, "attn_pdrop": 0.0, "resid_pdrop": 0.0,
}
LLAMA = {
    "model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 97, "max_position_embeddings": 24,
}
MEGATRON_BERT = BERT | {"model_type": "megatron-bert", "make_vocab_size_divisible_by": 16}
MEGATRON_GPT = {
    "model_type": "megatron-gpt", "hidden_size": 32, "num_layers": 2, "num_attention_heads": 4, "vocab_size": 97,
    "make_vocab_size_divisible_by": 16, "max_position_embeddings": 24, "hidden_dropout": 0.0, "attention_dropout": 0.0,
}
VIT = {
    "model_type": "vit", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
    "image_size": 16, "patch_size": 4, "num_channels": 3, "num_labels": 7,
}
BERT_DROPOUT = {"hidden_dropout_prob": 0.2, "attention_probs_dropout_prob": 0.3}
MEGATRON_GPT_DROPOUT = {"hidden_dropout": 0.2, "attention_dropout": 0.3}
GPT2_DROPOUT = {"embd_pdrop": 0.1, "attn_pdrop": 0.3, "resid_pdrop": 0.2}


LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 100}
REGRESSION = VIT | {"problem_type": "regression"}
MULTI_LABEL = VIT | {"problem_type": "multi_label_classification"}


def one_layer(config, **changed):
    """For aspects that are the same in every layer."""
    return config | {"n_layer" if config["model_type"] == "gpt2" else "num_hidden_layers": 1} | changed


def check_loss(found, expected):
    difference = abs(float(found) - float(expected)) / abs(float(expected))
    expect(difference <= 1e-5, f"loss {float(found)} and JAX's {float(expected)} differ by {difference:.1e}")
    return difference


def check_gradients(found, expected, near_zero=1e-4):
    """Each gradient is within 1e-4 of its norm. A gradient near zero, such as that of a constant added to the input of
    a softmax, is within `near_zero` of the norm of all, which allows for the rounding of a few terms in f32."""
    total = np.sqrt(sum((g**2).sum() for g in expected.values()))
    worst = 0.0
    for name, gradient in expected.items():
        norm, error = np.linalg.norm(gradient), np.linalg.norm(found[name] - gradient)
        bound = max(norm, near_zero * total)
        worst = max(worst, error / bound)
        expect(error <= 1e-4 * bound, f"gradient of {name} is off by {error / bound:.1e}")
    return worst


def double(values):
    return {name: np.asarray(value, np.float64) for name, value in values.items()}


def gradients_match(config, task, key=None):
    def run(folder):
        program = transform(import_model(folder, config, task, BATCH, SEQ), "--differentiate")
        parameters, batch = random_parameters(program, 1), random_batch(program, 2)
        keys = {} if key is None else {"rng_key": np.array(key, np.uint32)}
        found = interpret(program, parameters | batch | keys)
        gradient = jax.jit(jax.value_and_grad(lambda p: loss_function(config, task)(p, batch, key)))
        loss, gradients = gradient(double(parameters))
        expect(set(found) == {"loss"} | set(parameters), "results are not the loss and a gradient a parameter")
        # An unnormalised residual stream grows from layer to layer, and with it the terms that cancel.
        near_zero = 3e-4 if config["model_type"] == "megatron-bert" else 1e-4
        return f"loss {check_loss(found['loss'], loss):.0e}, gradients {check_gradients(found, double(gradients), near_zero):.0e}"
    return run


def training_follows(config, task, kind, steps=3, rate=1e-2, **changed):
    """Whole steps with dropout and clipping: the losses follow JAX's gradients and the
    reference optimizer."""
    def run(folder):
        flags = {"clip-norm": 1.0, **changed}
        options = DEFAULTS | flags
        forward = import_model(folder, config, task, BATCH, SEQ)
        text = " ".join([f"kind={kind}"] + [f"{name}={value}" for name, value in flags.items()])
        program = transform(forward, "--differentiate", f"--add-optimizer={text}", "--canonicalize", "--cse")
        arguments = signature(program)[0]
        state = random_parameters(program, 3)
        state |= {a.name: np.zeros(a.shape, a.dtype) for a in arguments if a.role == "optimizer_state"}
        expected = double(state)
        decays = {a.name: "st.no_decay" not in a.attributes for a in arguments if a.role == "parameter"}
        gradient = jax.jit(jax.value_and_grad(loss_function(config, task)))
        for step in range(1, steps + 1):
            batch, key = random_batch(program, 10 + step), np.array([7, step], np.uint32)
            scalars = {"learning_rate": np.float32(rate), "step": np.float32(step)}
            given = state | batch | {"rng_key": key} | scalars
            found = interpret(program, {a.name: given[a.name] for a in arguments})
            loss, gradients = gradient({n: expected[n] for n in decays}, batch, key)
            check_loss(found["loss"], loss)
            gradients, norm = clip(options, double(gradients))
            expect(abs(found["grad_norm"] - norm) <= 1e-5 * norm, f"grad_norm {found['grad_norm']}, not {norm}")
            for name, decay in decays.items():
                own = {n.removeprefix(name): v for n, v in expected.items()
                       if n.startswith(name + ".") and n not in decays}
                value, own = OPTIMIZERS[kind](options, step, rate, expected[name], gradients[name], own, decay)
                expected |= {name: value} | {name + suffix: v for suffix, v in own.items()}
            state = {name: found[name] for name in state}
        return f"{steps} losses to 1e-5"
    return run


def known_words(folder):
    """Checks this file's own masks with the test vectors of the generator's authors (Random123: counter, key,
    block)."""
    for counter, key, block in (
            ((0, 0), 0, (0x257A3673, 0xCD26BE2A)),
            ((0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFF, (0xAB302C4D, 0x3DC9D239)),
            ((0x243F6A88, 0x85A308D3), 0x13198A2E, (0xBEDBBE6B, 0xE4C770B3))):
        found = philox(jnp.uint32(key), *jnp.asarray(counter, jnp.uint32))
        expect(tuple(map(int, found)) == block, f"philox of {counter} under {key}: {found}, expected {block}")


def masks_look_random(folder):
    """Masks have the expected share of zeros. Neighbours, elements of one block of random bits, and tensors of other
    sites, steps and seeds are uncorrelated. 4.5 standard deviations are one case in 150,000."""
    shape, rate = (2, 3, 256, 512), 6554 / 65536
    count = np.prod(shape)

    def dropped(key, site=0):
        dropout = Dropout(key)
        dropout.site = site
        return np.asarray(dropout(jnp.ones(shape, jnp.float32), 0.1) == 0) - rate

    first = dropped([5, 7])
    others = {"next site": dropped([5, 7], 1), "next step": dropped([5, 8]), "next seed": dropped([6, 7])}
    for name, mask in [("mask", first), *others.items()]:
        off = abs(mask.mean()) / np.sqrt(rate * (1 - rate) / count)
        expect(off < 4.5, f"{name}: the rate is {off:.1f} standard deviations from {rate}")
    others |= {f"{apart} apart in dimension {dim}": np.roll(first, apart, dim)
               for dim, distances in enumerate(((1,), (1,), (1, 8, 16), (1, 8, 16))) for apart in distances}
    for name, mask in others.items():
        off = abs((first * mask).mean()) / (rate * (1 - rate)) * np.sqrt(count)
        expect(off < 4.5, f"{name}: correlated by {off:.1f} standard deviations")


CASES = [
    ("words of dropout", known_words),
    ("statistics of dropout", masks_look_random),
    ("bert mlm", gradients_match(BERT, "mlm")),
    ("bert mlm, untied, tanh gelu", gradients_match(
        BERT | {"tie_word_embeddings": False, "hidden_act": "gelu_new"}, "mlm")),
    ("bert mlm, relu, one type", gradients_match(one_layer(BERT, hidden_act="relu", type_vocab_size=1), "mlm")),
    ("bert mlm, dropout", gradients_match(BERT | BERT_DROPOUT, "mlm", key=[1234567890, 42])),
    ("bert span", gradients_match(BERT, "span")),
    ("bert span, silu", gradients_match(one_layer(BERT, hidden_act="silu"), "span")),
    ("bert span, dropout", gradients_match(BERT | BERT_DROPOUT, "span", key=[0, 1])),
    ("gpt2 clm", gradients_match(GPT2, "clm")),
    ("gpt2 clm, untied, n_inner, tanh", gradients_match(
        GPT2 | {"tie_word_embeddings": False, "n_inner": 40, "activation_function": "tanh"}, "clm")),
    ("gpt2 clm, scores by layer", gradients_match(
        GPT2 | {"scale_attn_by_inverse_layer_idx": True, "reorder_and_upcast_attn": True}, "clm")),
    ("gpt2 clm, scores unscaled", gradients_match(
        GPT2 | {"scale_attn_weights": False, "scale_attn_by_inverse_layer_idx": True, "n_layer": 3}, "clm")),
    ("gpt2 clm, dropout", gradients_match(GPT2 | GPT2_DROPOUT, "clm", key=[4294967295, 3])),
    ("llama clm", gradients_match(LLAMA, "clm")),
    ("llama clm, one head of keys, tied, other base", gradients_match(
        LLAMA | {"num_key_value_heads": 1, "tie_word_embeddings": True, "rope_theta": 500.0}, "clm")),
    ("llama clm, biases, heads of their own size", gradients_match(
        LLAMA | {"attention_bias": True, "mlp_bias": True, "head_dim": 6, "hidden_act": "gelu",
                 "num_key_value_heads": 4, "rope_parameters": {"rope_type": "default", "rope_theta": 100.0}}, "clm")),
    ("llama clm, dropout", gradients_match(LLAMA | {"attention_dropout": 0.3}, "clm", key=[9, 4])),
    ("llama clm, stretched positions", gradients_match(
        LLAMA | {"rope_scaling": {"type": "linear", "factor": 2.5}}, "clm")),
    ("llama clm, positions of Llama 3", gradients_match(LLAMA | {"rope_scaling": LLAMA3, "rope_theta": 5000.0}, "clm")),
    ("llama clm, positions in one object", gradients_match(
        LLAMA | {"rope_parameters": LLAMA3 | {"rope_theta": 20000.0}, "head_dim": 16}, "clm")),
    ("llama clm, padding counted from the end", gradients_match(one_layer(LLAMA, pad_token_id=-97), "clm")),
    ("bert span, padding", gradients_match(one_layer(BERT, pad_token_id=13), "span")),
    ("bert mlm, no padding", gradients_match(one_layer(BERT, pad_token_id=None), "mlm")),
    ("megatron-bert mlm, padded vocabulary", gradients_match(MEGATRON_BERT, "mlm")),
    ("megatron-bert mlm, untied, no padding token", gradients_match(
        MEGATRON_BERT | {"tie_word_embeddings": False, "pad_token_id": None, "intermediate_size": 40}, "mlm")),
    ("megatron-bert mlm, dropout", gradients_match(MEGATRON_BERT | BERT_DROPOUT, "mlm", key=[5, 2])),
    ("megatron-bert span", gradients_match(MEGATRON_BERT, "span")),
    ("megatron-gpt clm, padded vocabulary", gradients_match(MEGATRON_GPT, "clm")),
    ("megatron-gpt clm, untied, names of transformers", gradients_match(
        {name: value for name, value in MEGATRON_GPT.items() if name not in ("num_layers", "hidden_dropout")} |
        {"num_hidden_layers": 3, "hidden_dropout_prob": 0.0, "tie_word_embeddings": False, "ffn_hidden_size": 40,
         "hidden_act": "gelu", "layernorm_epsilon": 1e-3}, "clm")),
    ("megatron-gpt clm, dropout", gradients_match(MEGATRON_GPT | MEGATRON_GPT_DROPOUT, "clm", key=[6, 1])),
    ("vit classify", gradients_match(VIT, "classify")),
    ("vit classify, no bias of queries, gray", gradients_match(
        VIT | {"qkv_bias": False, "num_channels": 1, "hidden_act": "gelu_new", "patch_size": 8}, "classify")),
    ("vit classify, oblong", gradients_match(
        VIT | {"image_size": [8, 12], "patch_size": [2, 4], "problem_type": "single_label_classification"},
        "classify")),
    ("vit classify, one number", gradients_match(one_layer(VIT, num_labels=1), "classify")),
    ("vit classify, numbers", gradients_match(one_layer(REGRESSION), "classify")),
    ("vit classify, several labels", gradients_match(one_layer(MULTI_LABEL), "classify")),
    ("vit classify, dropout", gradients_match(VIT | BERT_DROPOUT, "classify", key=[3, 8])),
    ("bert trains with adamw", training_follows(BERT | BERT_DROPOUT, "mlm", "adamw")),
    ("gpt2 trains with sgd", training_follows(GPT2 | GPT2_DROPOUT, "clm", "sgd", momentum=0.8)),
    ("llama trains with adamw", training_follows(LLAMA | {"attention_dropout": 0.2}, "clm", "adamw")),
    ("megatron-bert trains with adamw", training_follows(MEGATRON_BERT | BERT_DROPOUT, "mlm", "adamw")),
    ("megatron-gpt trains with adamw", training_follows(MEGATRON_GPT | MEGATRON_GPT_DROPOUT, "clm", "adamw")),
    ("vit trains with adam", training_follows(VIT | BERT_DROPOUT, "classify", "adam")),
    ("vit trains on numbers", training_follows(REGRESSION | BERT_DROPOUT, "classify", "adamw")),
    ("vit trains on several labels", training_follows(MULTI_LABEL | BERT_DROPOUT, "classify", "sgd")),
    *((f"activation {name}", gradients_match(one_layer(GPT2, activation_function=name), "clm")) for name in ACTIVATIONS),
    *((f"quick gelu of {model['model_type']}", gradients_match(one_layer(model, hidden_act="quick_gelu"), task))
      for model, task in ((BERT, "mlm"), (LLAMA, "clm"), (VIT, "classify"))),
]

if __name__ == "__main__":
    sys.exit(main(*drawn_part(CASES, 3)))
