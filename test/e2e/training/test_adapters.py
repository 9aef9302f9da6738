"""--lora trains adapters of frozen matrices: equal to JAX, in each layout, in PEFT's files, with no state of the base."""

import json
import pathlib
import re
import shutil
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import optax
import st_testing as st
from jax_models import Dropout
from safetensors.numpy import load_file, save_file
from st_errors import expect_error

# Two layers, the second stored [in, out] as in GPT-2's files.
MODEL = """
func.func @main(%up: tensor<24x16xf32> {st.name = "up.weight", st.role = "parameter", st.init = {kind = "normal", std = 0.5 : f64}},
                %down: tensor<24x8xf32> {st.name = "down.weight", st.role = "parameter", st.init = {kind = "normal", std = 0.5 : f64}},
                %x: tensor<8x16xf32> {st.name = "x", st.role = "batch"})
    -> (tensor<f32> {st.name = "loss", st.role = "loss"}) {
  %0 = stablehlo.dot_general %x, %up, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<24x16xf32>) -> tensor<8x24xf32>
  %1 = stablehlo.tanh %0 : tensor<8x24xf32>
  %2 = stablehlo.dot_general %1, %down, contracting_dims = [1] x [0] : (tensor<8x24xf32>, tensor<24x8xf32>) -> tensor<8x8xf32>
  %3 = stablehlo.multiply %2, %2 : tensor<8x8xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
  return %4 : tensor<f32>
}
"""
LORA = ["--lora=4:up,down", "--lora-alpha=8", "--weight-decay=0.1", "--lr=1e-2"]
LAYOUTS = {
    "one device": {"mode": "sharding", "data": 1},
    "shards": {"mode": "sharding", "data": 1, "sharding_size": 4, "sharding_dim": -1},
    "replicas": {"mode": "sharding", "data": 2, "accum_degree": 2, "zero": 3},
}
STEPS = 5
# The number of an adapter's first mask: smaller ones are those of the model.
FIRST_SITE = 1 << 15
PREFIX = "base_model.model."
GPT2 = {"model_type": "gpt2", "n_layer": 4, "n_head": 4, "n_embd": 64, "n_positions": 32, "vocab_size": 96}


def batches():
    return np.random.default_rng(3).normal(size=(STEPS, 8, 16)).astype(np.float32)


def jax_losses(start, dropout):
    """optax on the adapters alone; `start`: the parameters before the first step."""
    base = {name: start[name] for name in ("up.weight", "down.weight")}
    adapters = {name: value for name, value in start.items() if name not in base}

    def loss(adapters, x, step):
        drop = Dropout([0, step])
        drop.site = FIRST_SITE

        def low(x, name):
            x = drop(x, dropout)
            return 2 * (x @ adapters[f"{PREFIX}{name}.lora_A.weight"].T) @ adapters[f"{PREFIX}{name}.lora_B.weight"].T
        hidden = jnp.tanh(x @ base["up.weight"].T + low(x, "up"))
        return jnp.sum((hidden @ base["down.weight"] + low(hidden, "down"))**2)

    optimizer = optax.adamw(1e-2, weight_decay=0.1)
    state, losses = optimizer.init(adapters), []
    for step, x in enumerate(batches(), 1):
        value, gradients = jax.value_and_grad(loss)(adapters, x, step)
        losses.append(float(value))
        updates, state = optimizer.update(gradients, state, adapters)
        adapters = optax.apply_updates(adapters, updates)
    return losses, adapters


def compile_step(folder, layout, *flags):
    (folder / "model.mlir").write_text(MODEL)
    spec = st.write_json(folder / "parallel.json", layout)
    st.check_run([*st.COMPILE, folder / "model.mlir", f"--parallel={spec}", "--predict=false", *flags, "-o", folder / "binary"])
    return folder / "binary"


def like_jax(folder):
    """Losses and adapters of five steps; the base does not change, and has no state."""
    save_file({"x": batches()}, folder / "batches.safetensors")
    data = f"--data={folder / 'batches.safetensors'}"
    worst = 0.0
    for target, dropout in (("dtu-t10", 0.0), ("cuda-host", 0.0), ("dtu-t10", 0.3)):
        for name, layout in LAYOUTS.items():
            binary = compile_step(folder, layout, *LORA, f"--target={target}", *([f"--lora-dropout={dropout}"] if dropout else []))
            st.check_run([binary, data, "--steps=0", f"--save={folder / 'start'}"])
            found = st.losses(st.train(binary, data, f"--save={folder / 'end'}", steps=STEPS))
            start = load_file(folder / "start/model.safetensors") | load_file(folder / "start/adapter_model.safetensors")
            expected, adapters = jax_losses(start, dropout)
            difference = st.relative_difference(expected, found)
            worst = max(worst, difference)
            st.expect(difference < 1e-5, f"{target}, {name}, dropout {dropout}: losses {found}, expected {expected}")
            end = load_file(folder / "end/adapter_model.safetensors")
            st.expect(end.keys() == adapters.keys(), f"adapters {sorted(end)}")
            for key, value in end.items():
                st.expect(np.allclose(value, adapters[key], rtol=1e-4, atol=1e-6), f"{target}, {name}: {key}")
            base = load_file(folder / "end/model.safetensors")
            st.expect(base.keys() == {"up.weight", "down.weight"}, f"base {sorted(base)}")
            for key, value in base.items():
                st.expect(np.array_equal(value, start[key]), f"{target}, {name}: {key} changed")
            states = load_file(folder / "end/optimizer.safetensors")
            st.expect({key.rsplit(".exp", 1)[0] for key in states} == end.keys(), f"states {sorted(states)}")
            shutil.rmtree(folder / "start"), shutil.rmtree(folder / "end")
    return f"losses {worst:.0e}"


def configuration(folder):
    """A checkpoint has the files that PEFT reads in addition to the adapters, and a run continues from it."""
    binary = st.compile_model(folder, "gpt2", GPT2, "clm", None, "--lora=2:c_attn,h.0.mlp.c_fc")
    whole = st.losses(st.train(binary, f"--save={folder / 'whole'}", steps=4))
    st.train(binary, f"--save={folder / 'part'}", steps=2)
    rest = st.losses(st.train(binary, f"--resume={folder / 'part'}", steps=2))
    st.expect(whole[2:] == rest, f"{whole} and {rest}")
    config = json.loads((folder / "whole/adapter_config.json").read_text())
    modules = [f"transformer.h.{i}.attn.c_attn" for i in range(4)] + ["transformer.h.0.mlp.c_fc"]
    st.expect(sorted(config["target_modules"]) == sorted(modules), config)
    st.expect(config["base_model_name_or_path"] == str(folder / "whole"), config)
    expected = {"peft_type": "LORA", "r": 2, "lora_alpha": 2, "task_type": "CAUSAL_LM", "fan_in_fan_out": True}
    st.expect(expected.items() <= config.items(), config)


def every_layout(folder):
    """Stages, shards, replicas and 16 bits change the loss only by rounding, and an evaluation has the adapters."""
    config = GPT2 | {"embd_pdrop": 0, "attn_pdrop": 0, "resid_pdrop": 0}
    layouts = {"one device": {"mode": "sharding", "data": 1},
               "2 x 2": st.layout(2, 2, mode="hybrid", accum=2),
               "zero-3": {"mode": "sharding", "data": 4, "zero": 3},
               "bf16": {"mode": "sharding", "data": 1, "precision": {"compute": "bf16"}}}
    found = {}
    for name, layout in layouts.items():
        binary = st.compile_model(folder, "gpt2", config, "clm", layout, "--eval", "--lora=4:all-linear", "--lr=1e-2")
        found[name] = st.losses(st.train(binary, steps=4))
        bound = 1e-5 if name != "bf16" else 2e-2
        difference = st.relative_difference(found["one device"], found[name])
        st.expect(difference < bound, f"{name}: {found[name]}, expected {found['one device']}")
    st.expect(found["one device"][-1] < found["one device"][0], f"no progress: {found['one device']}")
    # Nothing updates the base, so its matrices have 16 bits.
    st.train(folder / "gpt2.bin", f"--save={folder / 'end'}", steps=1)
    types = {key: value.dtype for key, value in load_file(folder / "end/model.safetensors").items()}
    st.expect(all((types[key] == ml_dtypes.bfloat16) == ("ln_" not in key and key.endswith("weight")) for key in types), types)


def dropout(folder):
    """Dropout has the same masks in every layout, changes the losses after the first step, and no evaluation."""
    layouts = {"one device": {"mode": "sharding", "data": 1},
               "2 x 2 x 2": st.layout(2, 2, mode="hybrid", accum=2) | {"data": 2, "device_mapping": None},
               "zero-3": {"mode": "sharding", "data": 4, "zero": 3}}
    losses, tested = {}, ["--eval-only", f"--resume={folder / 'end'}", "--valid-data=synthetic", "--eval-iters=1"]
    for name, layout in layouts.items():
        layout = {key: value for key, value in layout.items() if value is not None}
        binary = st.compile_model(folder, "drop", GPT2, "clm", layout, "--eval", "--lora=4:all-linear", "--lr=1e-2",
                                  "--lora-dropout=0.2", batch=8)
        losses[name] = st.losses(st.train(binary, f"--save={folder / 'end'}", steps=3))
        difference = st.relative_difference(losses["one device"], losses[name])
        st.expect(difference < 1e-5, f"{name}: {losses[name]}, expected {losses['one device']}")
    st.expect(json.loads((folder / "end/adapter_config.json").read_text())["lora_dropout"] == 0.2, "another lora_dropout")
    plain = st.compile_model(folder, "plain", GPT2, "clm", None, "--eval", "--lora=4:all-linear", "--lr=1e-2", batch=8)
    without = st.losses(st.train(plain, steps=3))
    # The matrices B start as zeros, so the first loss is that of the base.
    st.expect(abs(without[0] - losses["one device"][0]) < 1e-5, f"first losses {without} and {losses}")
    st.expect(abs(without[2] - losses["one device"][2]) > 1e-5, f"no dropout: {without} and {losses}")
    results = []
    for run in (binary, plain):
        st.check_run([run, *tested, f"--metrics={folder / 'only.jsonl'}"])
        results.append(json.loads((folder / "only.jsonl").read_text())["loss"])
    st.expect(abs(results[0] - results[1]) < 1e-5, f"evaluations {results}")


def freezing(folder):
    """Frozen parameters stay; --train-only names those that do not."""
    save_file({"x": batches()}, folder / "batches.safetensors")
    data = f"--data={folder / 'batches.safetensors'}"
    for flag, moved in (("--freeze=up.*", "down.weight"), ("--freeze={left,up}.*", "down.weight"), ("--train-only=up.*", "up.weight")):
        binary = compile_step(folder, LAYOUTS["one device"], flag)
        st.check_run([binary, data, "--steps=0", f"--save={folder / 'start'}"])
        st.check_run([binary, data, "--steps=2", f"--save={folder / 'end'}"])
        start, end = load_file(folder / "start/model.safetensors"), load_file(folder / "end/model.safetensors")
        changed = {key for key in start if not np.array_equal(start[key], end[key])}
        st.expect(changed == {moved}, f"{flag}: {changed} changed")


def errors(folder):
    (folder / "model.mlir").write_text(MODEL)
    command = [*st.COMPILE, folder / "model.mlir", "-o", folder / "binary"]
    for flag, text in (("--lora=4", "--lora=4: expected RANK:MODULE,..."), ("--lora=0:up", "--lora=0:up: expected RANK:MODULE"),
                       ("--lora=4:sideways", "sideways.weight for an adapter"), ("--lora=4:[", "--lora: pattern ["),
                       ("--lora-alpha=2", "--lora-alpha has no effect without --lora"),
                       ("--lora-dropout=0.1", "--lora-dropout has no effect without --lora"), ("--freeze=*", "all are frozen"),
                       ("--freeze=left.*", "matches 'left.*' (parameters to freeze)"), ("--train-only=[", "--train-only: pattern [")):
        expect_error([*command, flag], re.escape(text))
    expect_error([*command, "--lora=4:up", "--lora-alpha=-1"], "--lora-alpha=-1: expected a positive number")
    for value in ("1", "-0.1", "nan", "some"):
        expect_error([*command, "--lora=4:up", f"--lora-dropout={value}"],
                     f"--lora-dropout={value}: expected a probability, at least 0 and below 1")


if __name__ == "__main__":
    sys.exit(st.main(("like JAX", like_jax), ("configuration", configuration), ("every layout", every_layout), ("dropout", dropout),
                     ("freezing", freezing), ("errors", errors)))
