"""Training binaries against JAX in float64: the loss and every gradient of a step from --init.

One step of plain gradient descent reveals the gradients: they are the decrease of the parameters divided by the rate.
The rate is so large that rounding of the old values hardly affects the difference.
"""

import json
import pathlib
import sys

import jax
import numpy as np
from safetensors.numpy import load_file, save_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from jax_models import loss_function
from test_jax_models import (BERT, BERT_DROPOUT, GPT2, LLAMA, MEGATRON_BERT, MEGATRON_GPT, MEGATRON_GPT_DROPOUT, VIT,
                             check_gradients, check_loss, double)

jax.config.update("jax_enable_x64", True)

BATCH, SEQ, RATE, SEED = 4, 16, 2.0**12, 3
PLAIN = ["--optimizer=sgd", "--momentum=0", "--weight-decay=0", f"--lr={RATE}"]
LLAMA_BIASED = LLAMA | {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True}
LAYOUTS = {
    "1x1": st.layout(1, 1), "1x2": st.layout(1, 2), "1x2, contracted": st.layout(1, 2, dim=0),
    "2x2, 2 micro-batches": st.layout(2, 2, mode="hybrid", accum=2),
    "2x2, 2 micro-batches, computed again": st.layout(2, 2, mode="hybrid", accum=2) | {"recompute": "full"},
    "1x2, attention computed again": st.layout(1, 2) | {"recompute": "selective"},
}


def batch_of(config):
    rng = np.random.default_rng(8)
    if config["model_type"] == "vit":
        size, channels = config["image_size"], config["num_channels"]
        labels = rng.integers(0, config["num_labels"], BATCH)
        return {"pixel_values": rng.normal(size=(BATCH, channels, size, size)).astype(np.float32),
                "labels": labels.astype(np.int32)}
    ids = rng.integers(0, config["vocab_size"], (BATCH, SEQ)).astype(np.int32)
    batch = {"input_ids": ids, "labels": np.where(rng.random(ids.shape) < 0.4, np.roll(ids, -1, 1), -100)}
    if config["model_type"].endswith("bert"):
        batch |= {"token_type_ids": ids % 2, "attention_mask": np.tile(np.arange(SEQ) < SEQ - 3, (BATCH, 1)),
                  "next_sentence_label": ids[:, 0] % 2}
    return {name: value.astype(np.int32) for name, value in batch.items()}


def random_weights(initial):
    rng = np.random.default_rng(4)
    return {name: (rng.normal(scale=0.1, size=value.shape) + (np.ndim(value) == 1 and value.min() == 1)).astype(np.float32)
            for name, value in sorted(initial.items())}


def step_matches(config, task, layout, dropout=False):
    def run(folder):
        length = (config["image_size"] // config["patch_size"]) ** 2 + 1 if config["model_type"] == "vit" else SEQ
        binary = st.compile_model(folder, "m", config, task, layout, *PLAIN, batch=BATCH, seq=length)
        st.check_run([binary, "--steps=0", f"--save={folder / 'initial'}"])
        weights = random_weights(load_file(folder / "initial" / "model.safetensors"))
        (folder / "hf").mkdir()
        (folder / "hf" / "config.json").write_text(json.dumps(config))
        save_file(weights, folder / "hf" / "model.safetensors")
        batch = batch_of(config)
        save_file(batch, folder / "batch.safetensors")
        metrics = st.train(binary, f"--init={folder / 'hf'}", f"--data={folder / 'batch.safetensors'}",
                           f"--seed={SEED}", f"--save={folder / 'after'}", steps=1)
        after = load_file(folder / "after" / "model.safetensors")
        found = {n: (weights[n].astype(np.float64) - after[n]) / RATE for n in weights}
        key = np.array([SEED, 1], np.uint32) if dropout else None
        loss, gradients = jax.value_and_grad(lambda p: loss_function(config, task)(p, batch, key))(double(weights))
        worst = check_gradients(found, double(gradients))
        return f"loss {check_loss(metrics[0]['loss'], loss):.0e}, gradients {worst:.0e}"
    return run


def learns(config, task, rate):
    """The data that a binary generates if it gets none can be learned."""
    def run(folder):
        seq = 17 if task == "classify" else SEQ
        binary = st.compile_model(folder, "m", config, task, None, f"--lr={rate}", batch=8, seq=seq)
        losses = st.losses(st.train(binary, steps=60))
        first, last = np.mean(losses[:5]), np.mean(losses[-5:])
        st.expect(last < 0.8 * first, f"60 steps take the loss from {first:.3f} to {last:.3f}")
        return f"{first:.2f} to {last:.2f}"
    return run


NO_DROPOUT = {
    "small bert": {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
    "small gpt2": {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0},
}
MODELS = [("llama", LLAMA, "clm"), ("llama with biases, tied", LLAMA_BIASED, "clm"), ("vit", VIT | {"num_labels": 6}, "classify")]

CASES = [
    *((f"{name}, {shape}", step_matches(config, task, layout))
      for name, config, task in MODELS for shape, layout in LAYOUTS.items()),
    *((f"{name}, {shape}", step_matches(config | NO_DROPOUT[name], task, layout))
      for name, config, task in (("small bert", st.SMALL_BERT, "mlm"), ("small gpt2", st.SMALL_GPT2, "clm"))
      for shape, layout in (("1x1", st.layout(1, 1)), ("4x8", st.layout(4, 8)))),
    ("bert, 1x2", step_matches(BERT, "mlm", LAYOUTS["1x2"])),
    ("gpt2, 1x2", step_matches(GPT2, "clm", LAYOUTS["1x2"])),
    ("llama, dropout, 1x2", step_matches(LLAMA | {"attention_dropout": 0.3}, "clm", LAYOUTS["1x2"], dropout=True)),
    *((f"{name}, {shape}", step_matches(config, task, LAYOUTS[shape]))
      for name, config, task in (("megatron-bert", MEGATRON_BERT, "mlm"), ("megatron-gpt", MEGATRON_GPT, "clm"))
      for shape in ("1x2", "2x2, 2 micro-batches")),
    ("megatron-bert, dropout, 2x2", step_matches(
        MEGATRON_BERT | BERT_DROPOUT, "mlm", LAYOUTS["2x2, 2 micro-batches"], dropout=True)),
    ("megatron-gpt, dropout, 1x2, attention computed again", step_matches(
        MEGATRON_GPT | MEGATRON_GPT_DROPOUT, "clm", LAYOUTS["1x2, attention computed again"], dropout=True)),
    ("vit, dropout, 2x2", step_matches(
        VIT | BERT_DROPOUT, "classify", LAYOUTS["2x2, 2 micro-batches"], dropout=True)),
    *((f"{name}, dropout, {layout}", step_matches(config, task, LAYOUTS[layout], dropout=True))
      for name, config, task in (("bert", st.SMALL_BERT, "mlm"), ("gpt2", st.SMALL_GPT2, "clm"))
      for layout in LAYOUTS if layout.endswith("computed again")),
    ("llama learns", learns(LLAMA, "clm", 3e-3)),
    ("megatron-gpt learns", learns(MEGATRON_GPT, "clm", 3e-3)),
    ("vit learns", learns(VIT, "classify", 3e-3)),
    ("vit learns numbers", learns(VIT | {"num_labels": 1}, "classify", 3e-3)),
    ("vit learns several labels", learns(VIT | {"problem_type": "multi_label_classification"}, "classify", 3e-3)),
]

if __name__ == "__main__":
    sys.exit(st.main(*st.drawn_part(CASES, 2)))
