"""A layout does not change results: a small BERT and a small GPT-2 under every layout, compared with one device.

Ten steps in f32 with dropout on. Losses agree to 1e-5 relative at every step;
with SGD each final parameter p' agrees with p of one device:
|p - p'| <= 1e-3 * max(|p - p0|, 1e-4 * |whole update|), p0 the initial value.
"""

import itertools
import pathlib
import sys

import numpy as np
from safetensors.numpy import load_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st


def shared(stages, shards, ranks, **options):
    """A layout with `ranks` adjacent shards of a stage on each device."""
    value = st.layout(stages, shards, **options)
    for i, stage in enumerate(value["device_mapping"].values()):
        for j, key in enumerate(stage):
            stage[key] = f"/device:XLA_DTU:{st.dtu_id(i * (shards // ranks) + j // ranks)}"
    return value


LAYOUTS = {
    "4x8": dict(stages=4, shards=8),
    "8x4": dict(stages=8, shards=4),
    "8x1-pipelined": dict(stages=8, shards=1, mode="pipeline", accum=4),
    "2x2-hybrid": dict(stages=2, shards=2, mode="hybrid", accum=2),
}
# Files that number the devices, or name those of each replica.
REPLICAS = {
    "2 replicas": {"mode": "sharding", "data": 2},
    "4 replicas of 2 shards": {"mode": "sharding", "data": 4, "sharding_size": 2, "sharding_dim": 0},
    "2 replicas, optimizer state split": {"mode": "sharding", "data": 2, "zero": 1},
    "2 replicas of 2 stages of 2 shards, optimizer state split": {
        "mode": "hybrid", "data": 2, "zero": 1, "sharding_size": 2, "stage_cnt": 2, "accum_degree": 2},
    "2 replicas of 4 stages": {"mode": "pipeline", "data": 2, "stage_cnt": 4, "accum_degree": 2, "schedule": "gpipe"},
    "2 replicas of 2 stages of 2 shards": {
        "mode": "hybrid", "data": 2, "accum_degree": 2, "device_mapping": {
            f"stage_{i}": {f"shard_{j}": [f"/device:XLA_DTU:{5 * (2 * i + k) + j}" for k in range(2)] for j in range(2)}
            for i in range(2)}},
}
MODELS = {
    "bert-mlm": (st.SMALL_BERT, "mlm"),
    "bert-span": (st.SMALL_BERT, "span"),
    "gpt2-clm": (st.SMALL_GPT2, "clm"),
    "megatron-bert-mlm": (st.SMALL_MEGATRON_BERT, "mlm"),
    "megatron-gpt-clm": (st.SMALL_MEGATRON_GPT, "clm"),
}
OPTIMIZERS = {
    "adamw": ["--optimizer=adamw", "--lr=1e-3"],
    "sgd": ["--optimizer=sgd", "--momentum=0.9", "--lr=0.1"],
    "sgd-clip": ["--optimizer=sgd", "--momentum=0.9", "--lr=0.1", "--clip-norm=0.5"],
}


def compare_parameters(reference, initial, other):
    update = np.sqrt(sum(np.sum((reference[n] - initial[n]).astype(np.float64) ** 2) for n in reference))
    st.expect(update > 0, "no parameter moved")
    for name, p in reference.items():
        moved = np.linalg.norm((p - initial[name]).astype(np.float64))
        apart = np.linalg.norm((p - other[name]).astype(np.float64))
        st.expect(apart <= 1e-3 * max(moved, 1e-4 * update),
                  f"parameter {name} is {apart:.3g} apart; it moved {moved:.3g} of {update:.3g}")


class Reference:
    """Losses and parameters of one device, computed once per model and optimizer."""

    cache = {}

    @classmethod
    def get(cls, folder, model, optimizer):
        key = (model, optimizer)
        if key not in cls.cache:
            config, task = MODELS[model]
            binary = st.compile_model(folder, "reference", config, task, None, *OPTIMIZERS[optimizer])
            st.check_run([binary, "--steps=0", f"--save={folder / 'initial'}"])
            losses = st.losses(st.train(binary, f"--save={folder / 'one'}"))
            st.expect(losses[-1] != losses[0], "the loss does not move")
            cls.cache[key] = (losses, load_file(folder / "initial" / "model.safetensors"),
                              load_file(folder / "one" / "model.safetensors"))
        return cls.cache[key]


def case(model, optimizer, name, parallel):
    def check(folder):
        losses, initial, final = Reference.get(folder, model, optimizer)
        config, task = MODELS[model]
        binary = st.compile_model(folder, "split", config, task, parallel, *OPTIMIZERS[optimizer])
        split = st.losses(st.train(binary, f"--save={folder / 'split-out'}"))
        difference = st.relative_difference(losses, split)
        st.expect(difference <= 1e-5, f"losses differ by {difference:.3g}:\n{losses}\n{split}")
        if optimizer.startswith("sgd"):
            compare_parameters(final, initial, load_file(folder / "split-out" / "model.safetensors"))
        return f"losses agree to {difference:.1e}"

    return f"{model} {optimizer} {name}", check


def layout_case(model, optimizer, layout, dim):
    return case(model, optimizer, f"{layout} dim {dim}", st.layout(dim=dim, **LAYOUTS[layout]))


def shared_devices(folder):
    """Four shards of a stage on two devices: the same losses with half the devices, and a longer step."""
    config, task = MODELS["bert-mlm"]
    losses, steps = {}, {}
    for name, parallel in (("apart", st.layout(2, 4)), ("shared", shared(2, 4, ranks=2))):
        binary = st.compile_model(folder, name, config, task, parallel)
        metrics = st.train(binary, steps=5)
        losses[name], steps[name] = st.losses(metrics), metrics[0]["sim_ms"]
    st.expect(losses["apart"] == losses["shared"], f"losses differ: {losses}")
    st.expect(steps["shared"] > 1.1 * steps["apart"], f"sharing a device costs nothing: {steps}")
    return f"{steps['apart']:.3f} ms a step apart, {steps['shared']:.3f} ms shared"


def cut_products(layout, collectives):
    """Cuts every product into parts together with its collective, which is not the default for such a small model."""
    def check(folder):
        base = st.losses(st.train(st.compile_model(folder, "one", st.SMALL_GPT2, "clm", None)))
        whole = st.compile_model(folder, "whole", st.SMALL_GPT2, "clm", layout, "--optimizer=adamw")
        model, parallel = folder / "whole", folder / "whole/parallel.json"
        kernels, cut = folder / "kernels.mlir", folder / "cut.mlir"
        st.check_run([*st.COMPILE, model, "--task=clm", "--batch=4", "--seq=32", "--target=dtu-t10", f"--parallel={parallel}",
                      "--compile-to=kernels", "-o", kernels])
        st.check_run([st.BIN / "st-opt", kernels, "--overlap-products=always", "--overlap-collectives", "-o", cut])
        more = {name: cut.read_text().count(f"st.{name} ") - kernels.read_text().count(f"st.{name} ") for name in collectives}
        st.expect(min(more.values()) >= st.SMALL_GPT2["n_layer"], f"more collectives than before: {more}")
        st.check_run([*st.COMPILE, cut, "--compile-from=kernels", "-o", folder / "cut.bin"])
        for binary in (whole, folder / "cut.bin"):
            difference = st.relative_difference(base, st.losses(st.train(binary)))
            st.expect(difference <= 1e-5, f"{binary.name}: losses differ by {difference:.2g}")
        return f"more collectives than before: {more}"
    return check


def cases():
    yield "bert-mlm shards that share devices", shared_devices
    for model in ("bert-mlm", "gpt2-clm"):
        for optimizer, dims in (("adamw", (0, -1)), ("sgd", (-1, 0))):
            for layout, dim in zip(LAYOUTS, itertools.cycle(dims)):
                yield layout_case(model, optimizer, layout, dim)
    for layout in LAYOUTS:
        yield layout_case("bert-span", "adamw", layout, -1)
        yield layout_case("gpt2-clm", "sgd-clip", layout, -1)
    for model in ("megatron-bert-mlm", "megatron-gpt-clm"):
        yield layout_case(model, "sgd", "2x2-hybrid", "megatron")
        yield layout_case(model, "adamw", "4x8", "megatron")
        yield layout_case(model, "adamw", "8x1-pipelined", -1)
    for name, parallel in REPLICAS.items():
        yield case("bert-mlm", "adamw" if "zero" in parallel else "sgd", name, parallel)
        yield case("gpt2-clm", "sgd-clip", name, parallel)
    megatron = {"mode": "hybrid", "data": 1, "sharding_size": 4, "sharding_dim": "megatron", "accum_degree": 2, "stage_cnt": 1}
    yield "gpt2-clm products split to overlap sums", cut_products(megatron, ["all_reduce"])
    yield "gpt2-clm products split to overlap gathers and scattered sums", cut_products(
        megatron | {"sequence_parallel": True}, ["all_gather", "reduce_scatter"])


if __name__ == "__main__":
    sys.exit(st.main(*st.drawn_part(cases(), 3)))
