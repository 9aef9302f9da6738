"""Prefixes that attend in both directions, and positions and attention that restart at the end of a document.

Losses and gradients are JAX's in float64, on batches that the binary draws from token files. A change of one token changes the
loss of another position, in at least one bit, if and only if that position attends to it.
"""

import pathlib
import sys

import jax
import numpy as np
from safetensors.numpy import load_file, save_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from jax_models import loss_function
from st_errors import TINY_BERT, expect_error
from test_jax_binaries import PLAIN, RATE, random_weights
from test_jax_models import GPT2, LLAMA, MEGATRON_GPT, check_gradients, check_loss, double
from test_megatron_data import write_dataset

jax.config.update("jax_enable_x64", True)

BATCH, SEQ, END = 4, 16, 0
ALL = ["--prefix-lm", "--reset-position-ids", "--reset-attention-mask"]
MODELS = {name: config | {"eos_token_id": END} for name, config in (("gpt2", GPT2), ("llama", LLAMA), ("megatron-gpt", MEGATRON_GPT))}
LAYOUTS = {"one device": None, "2 x 2, 2 micro-batches": {"mode": "hybrid", "data": 1, "sharding_size": 2, "stage_cnt": 2, "accum_degree": 2},
           "context 2": {"mode": "sharding", "data": 1, "context": 2},
           "context 4, keys": {"mode": "sharding", "data": 1, "context": 4, "context_attention": "keys"},
           "2 replicas, ZeRO 3": {"mode": "sharding", "data": 2, "zero": 3}}


def write_documents(folder):
    """Documents of 1 to 9 tokens and the token that ends them."""
    rng = np.random.default_rng(2)
    write_dataset(folder / "data", [[*rng.integers(1, 97, rng.integers(1, 10)), END] for _ in range(200)])
    return f"--data=megatron:{folder / 'data'}"


def as_jax(model, layout, target, flags):
    def check(folder):
        config = MODELS[model]
        binary = st.compile_model(folder, "m", config, "clm", LAYOUTS[layout], *PLAIN, *flags, f"--target={target}", batch=BATCH, seq=SEQ)
        st.check_run([binary, "--steps=0", f"--save={folder / 'initial'}"])
        weights = random_weights(load_file(folder / "initial/model.safetensors"))
        st.write_json(folder / "hf/config.json", config)
        save_file(weights, folder / "hf/model.safetensors")
        metrics = st.train(binary, f"--init={folder / 'hf'}", write_documents(folder), "--seed=3", f"--save={folder / 'after'}",
                           f"--record-batches={folder / 'batch.safetensors'}", steps=1)
        batch = {name: value[0] for name, value in load_file(folder / "batch.safetensors").items()}
        names = {"--prefix-lm": "prefix_length", "--reset-position-ids": "position_ids", "--reset-attention-mask": "segment_ids"}
        st.expect(set(batch) == {"input_ids", "labels"} | {names[flag] for flag in flags}, f"{sorted(batch)}")
        st.expect(all(len(np.unique(value)) > 2 for value in batch.values()), f"{batch}")
        after = load_file(folder / "after/model.safetensors")
        found = {n: (weights[n].astype(np.float64) - after[n]) / RATE for n in weights}
        loss, gradients = jax.value_and_grad(lambda p: loss_function(config, "clm")(p, batch))(double(weights))
        return f"loss {check_loss(metrics[0]['loss'], loss):.0e}, gradients {check_gradients(found, double(gradients)):.0e}"
    return check


# ---- The positions that count


CHANGED = [("a prefix", 6, [0] * SEQ), ("no prefix", 0, [0] * SEQ), ("two segments", 0, [0] * 7 + [1] * (SEQ - 7)),
           ("a prefix over two segments", 9, [0] * 7 + [1] * (SEQ - 7))]


def changed_tokens(folder):
    """For each position, the loss of that position alone: with each other token changed, one at a time."""
    count = 0
    for model in MODELS:
        binary = st.compile_model(folder, model, MODELS[model], "clm", None, "--optimizer=sgd", "--momentum=0", "--weight-decay=0",
                                  "--lr=1e-30", *ALL, batch=1, seq=SEQ)
        rng = np.random.default_rng(4)
        ids = rng.integers(1, 97, SEQ)
        rows = {name: [] for name in ("input_ids", "labels", "position_ids", "prefix_length", "segment_ids")}
        expected = []
        for _, prefix, segments in CHANGED:
            for position in (1, 4, 8, 12):
                for changed in (None, *range(SEQ)):
                    tokens = ids.copy()
                    if changed is not None:
                        tokens[changed] = tokens[changed] % 96 + 1
                    for name, value in (("input_ids", tokens), ("labels", np.where(np.arange(SEQ) == position, 5, -100)),
                                        ("position_ids", np.arange(SEQ)), ("segment_ids", segments)):
                        rows[name].append(np.asarray(value)[None])
                    rows["prefix_length"].append([prefix])
                    expected.append(changed is not None and segments[changed] == segments[position]
                                    and (changed <= position or changed < prefix))
        save_file({name: np.asarray(value, np.int32) for name, value in rows.items()}, folder / "batches.safetensors")
        losses = st.losses(st.train(binary, f"--data={folder / 'batches.safetensors'}", steps=len(expected)))
        for i, changes in enumerate(expected):
            base = i - i % (SEQ + 1)
            st.expect((losses[i] != losses[base]) == changes,
                      f"{model}, {CHANGED[i // (4 * (SEQ + 1))][0]}: batch {i}, token {i - base - 1}: {losses[i]}, before {losses[base]}")
        count += len(expected)
    return f"{count} losses"


def flags(folder):
    """The flags of st-compile are defaults of the binary. They give way to data without documents and to other values."""
    binary = st.compile_model(folder, "m", MODELS["gpt2"], "clm", None, *ALL, batch=BATCH, seq=SEQ)
    data = write_documents(folder)

    def recorded(*more):
        st.check_run([binary, "--steps=1", f"--record-batches={folder / 'batch.safetensors'}", *more])
        return load_file(folder / "batch.safetensors")

    batch = recorded(data)
    st.expect((batch["position_ids"] != np.arange(SEQ)).any() and batch["segment_ids"].any() and batch["prefix_length"].all(), f"{batch}")
    batch = recorded(data, "--prefix-lm=false", "--reset_position_ids=false", "--reset-attention-mask=false")
    st.expect((batch["position_ids"] == np.arange(SEQ)).all() and not batch["segment_ids"].any() and not batch["prefix_length"].any(), f"{batch}")
    batch = recorded()
    st.expect((batch["position_ids"] == np.arange(SEQ)).all() and not batch["segment_ids"].any() and batch["prefix_length"].all(), f"{batch}")
    st.check_run([binary, "--steps=1", f"--data={folder / 'batch.safetensors'}"])
    plain = st.compile_model(folder, "plain", MODELS["gpt2"], "clm", None, batch=BATCH, seq=SEQ)
    expect_error([plain, data, "--prefix-lm"], r'--prefix-lm: the program reads no "prefix_length"; st-compile\'s --prefix-lm adds it')
    st.check_run([plain, data, "--steps=1", "--eod-mask-loss"])
    endless = st.compile_model(folder, "endless", GPT2, "clm", None, "--reset-position-ids", batch=BATCH, seq=SEQ)
    expect_error([endless, data], "--reset-position-ids: neither the model's tokenizer nor eos_token_id of its configuration")
    model = st.write_json(folder / "bert/config.json", TINY_BERT).parent
    out = ["--batch=2", "--seq=16", "-o", folder / "out"]
    expect_error([*st.COMPILE, model, "--task=mlm", "--prefix-lm", *out], "--prefix-lm has no effect with the task mlm: expected clm")
    expect_error([*st.COMPILE, model, "--task=mlm", "--prefix-lm=1", *out], "--prefix-lm=1: expected true or false")


CASES = [(f"{model}, {layout}, {target}{', ' + ' '.join(flags) if flags != ALL else ''}", as_jax(model, layout, target, flags))
         for model in MODELS for layout in LAYOUTS for target in ("dtu-t10", "cuda-host")
         for flags in (ALL, ALL[:1], ALL[1:2], ALL[2:])]

if __name__ == "__main__":
    sys.exit(st.main(*st.drawn_part(CASES, 16), ("changed tokens", changed_tokens), ("flags", flags)))
