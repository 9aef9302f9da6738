"""GPU programs train on the host under many layouts, with the losses of the DTU simulator.

A small BERT and a small GPT-2, dropout on, AdamW, in f32 and in bf16. Kernels are those of a GPU, lowered to loops; the
runtime and its command lists are those of a GPU as well. Functions are the same polynomials on both sides, but sums
have another order. Losses agree to 1e-5 relative in f32, and to 5e-4 in bf16, where other values are rounded.

With ST_GPU=cuda-sm_90, or another target that this machine has a GPU for, programs run on its GPUs, which ranks share
where there are fewer than the layout names.
"""

import json
import os
import pathlib
import re
import sys

from safetensors.numpy import load_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st

BERT = dict(st.SMALL_BERT, num_hidden_layers=2)
GPT2 = dict(st.SMALL_GPT2, n_layer=2)
MODELS = {"bert": (BERT, "mlm"), "gpt2": (GPT2, "clm")}
BOUNDS = {"f32": 1e-5, "bf16": 5e-4}
STEPS = 5
TARGET = os.environ.get("ST_GPU", "cuda-host")
# Without device_mapping the devices are numbered, on every target.
LAYOUTS = {
    "2 replicas": {"mode": "sharding", "data": 2},
    "4 shards": {"mode": "sharding", "data": 1, "sharding_size": 4},
    "2 replicas, weights split": {"mode": "sharding", "data": 2, "zero": 3},
    "2 stages": {"mode": "pipeline", "data": 1, "stage_cnt": 2, "accum_degree": 2},
    "2 replicas of 2 stages of 2 shards": {"mode": "hybrid", "data": 2, "zero": 1, "sharding_size": 2, "stage_cnt": 2,
                                           "accum_degree": 2},
}


def parallel(compute, **options):
    """Numbered devices, which every target has."""
    return {"mode": "sharding", "data": 1, "precision": {"compute": compute}, **options}


def compile_for(folder, name, target, model, layout, *flags):
    config, task = MODELS[model]
    return st.compile_model(folder, f"{name}-{target}", config, task, layout, f"--target={target}", "--optimizer=adamw",
                            "--lr=1e-3", *flags)


def trains(model, layout, bound):
    def check(folder):
        dtu = st.losses(st.train(compile_for(folder, model, "dtu-t10", model, layout), steps=STEPS))
        binary = compile_for(folder, model, TARGET, model, layout)
        host = st.losses(st.train(binary, steps=STEPS))
        st.expect(len(set(host)) == STEPS, f"the loss does not move: {host}")
        apart = st.relative_difference(dtu, host)
        st.expect(apart <= bound, f"losses are {apart:.3g} apart: {host} and {dtu}")
        st.expect(host == st.losses(st.train(binary, steps=STEPS)), "another run gives other losses")
        return f"{apart:.2g}"
    return check


def rounds_operands(folder):
    """Products in tf32 use 10 bits of the mantissa: losses differ from those of f32, but are near them."""
    wide, rounded = (st.losses(st.train(compile_for(folder, products, TARGET, "gpt2", {
        "mode": "sharding", "data": 1, "precision": {"products": products}}), steps=STEPS)) for products in ("f32", "tf32"))
    apart = st.relative_difference(wide, rounded)
    st.expect(0 < apart <= BOUNDS["bf16"], f"losses are {apart:.3g} apart: {rounded} and {wide}")
    config = st.write_json(folder / "config.json", dict(GPT2, model_type="gpt2"))
    for products, target, expected in (
            ("tf32", "dtu-t10", 'precision.products is "tf32", which target dtu-t10 does not have; expected "f32", or a GPU'),
            ("tf64", TARGET, 'precision.products is "tf64"; expected "f32" or "tf32"')):
        file = st.write_json(folder / "bad.json", {"mode": "sharding", "data": 1, "precision": {"products": products}})
        done = st.run([*st.COMPILE, config, "--task=clm", "--seq=32", f"--target={target}", f"--parallel={file}", "-o", folder / "bad"])
        st.expect(done.returncode == 1 and expected in done.stderr, done.stderr)
    return f"{apart:.2g}"


def shares_a_gpu(folder):
    """Ranks that share a GPU have separate memory there, and compute the losses of ranks with a GPU each."""
    def binary(name, ids):
        mapping = {"stage_0": {f"shard_{i}": f"GPU:{id}" for i, id in enumerate(ids)}}
        layout = {"mode": "sharding", "sharding_size": 2, "sharding_dim": -1, "stage_cnt": 1, "accum_degree": 1,
                  "device_mapping": mapping}
        return compile_for(folder, name, TARGET, "gpt2", layout)
    alone, shared = (st.losses(st.train(binary(name, ids), steps=2)) for name, ids in (("alone", (0, 1)), ("shared", (0, 0))))
    st.expect(alone == shared, f"{shared} on one GPU, {alone} on two")


def resumes(folder):
    """A checkpoint of one target continues on the other."""
    layout = parallel("f32")
    dtu, host = (compile_for(folder, "resume", target, "gpt2", layout) for target in ("dtu-t10", TARGET))
    whole = st.losses(st.train(dtu, steps=4))
    st.train(dtu, f"--save={folder / 'two'}", steps=2)
    rest = st.losses(st.train(host, f"--resume={folder / 'two'}", steps=2))
    apart = st.relative_difference(whole[2:], rest)
    st.expect(apart <= BOUNDS["f32"], f"losses are {apart:.3g} apart: {rest} and {whole[2:]}")
    return f"{apart:.2g}"


def pads_rows(compute, shards, columns):
    """A vocabulary whose size is slow on matrix units is padded in the program: its products are aligned, and losses
    and checkpoints do not change."""
    def check(folder):
        config, layout = dict(BERT, vocab_size=1003, num_hidden_layers=1), parallel(compute, sharding_size=shards, sharding_dim=0)
        binaries = [st.compile_model(folder, target, config, "mlm", layout, f"--target={target}", "--optimizer=adamw", "--lr=1e-3")
                    for target in ("dtu-t10", TARGET)]
        text = st.check_run([st.BIN / "st-translate", "--executable-to-text", binaries[1]]).stdout
        sizes = {int(size) for line in re.findall(r"  product .* ([0-9]+ x [0-9]+ x [0-9]+) ", text) for size in line.split(" x ")}
        st.expect(columns in sizes and not any(size > 32 and size % 32 for size in sizes), f"products of {sorted(sizes)}")
        saved = [folder / "of-dtu", folder / "of-gpu"]
        for binary, place in zip(binaries, saved):
            st.train(binary, f"--save={place}", steps=1)
        tensors = [load_file(place / "model.safetensors") for place in saved]
        shapes = [{name: value.shape for name, value in found.items()} for found in tensors]
        st.expect(shapes[0] == shapes[1] and any(1003 in shape for shape in shapes[1].values()), f"tensors of {shapes}")
        # Each continues from its own checkpoint and from the other's.
        first, *others = (st.losses(st.train(binary, f"--resume={place}", steps=2)) for binary in binaries for place in saved)
        apart = max(st.relative_difference(first, other) for other in others)
        st.expect(apart <= BOUNDS[compute], f"losses are {apart:.3g} apart: {others} and {first}")
        return f"{apart:.2g}"
    return check


def needs_driver(target):
    """Code for a GPU is compiled anywhere; running it without a driver is an error of one line."""
    def check(folder):
        binary = compile_for(folder, "gpu", target, "gpt2", parallel("bf16"))
        text = st.check_run([st.BIN / "st-translate", "--executable-to-text", binary]).stdout
        st.expect(f"code for {target.removeprefix('cuda-')}, ptx of " in text and "  product bf16" in text,
                  f"no code or no products:\n{text[:2000]}")
        done = st.run([binary, "--steps=1"], env={"LD_LIBRARY_PATH": ""})
        if done.returncode == 0:
            return "this machine has a GPU"
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        st.expect(done.returncode == 1 and len(errors) == 1, f"exit {done.returncode}: {done.stderr}")
        st.expect("libcuda.so.1 is missing" in errors[0] or "NVIDIA's driver" in errors[0] or "GPU" in errors[0], errors[0])
        return errors[0]
    return check


def measures_timers(folder):
    """The timers of a measured step add up to the step of the last rank, whose trace is of the same step."""
    binary = compile_for(folder, "timers", TARGET, "gpt2", {**parallel("f32"), **LAYOUTS["2 replicas of 2 stages of 2 shards"]})
    done = st.check_run([binary, "--steps=2", "--log-style=megatron", f"--tensorboard={folder / 'events'}", f"--trace={folder / 'trace'}"])
    lines = [line for line in done.stdout.splitlines() if line.startswith("time (ms)")]
    st.expect(len(lines) == 1, f"the second step alone is measured:\n{done.stdout}")
    timers = {name: float(value) for name, value in (part.split(": ") for part in lines[0].split(" | ")[1:])}
    for name in ("forward-compute", "backward-compute", "backward-params-all-reduce", "optimizer"):
        st.expect(timers[name] > 0, f"{name} is 0: {lines[0]}")
    total = sum(value for name, value in timers.items() if not name.startswith("optimizer-") and name != "batch-generator")
    spans = [span for span in json.loads((folder / "trace").read_text())["traceEvents"] if span["ph"] == "X"]
    last = max(span["pid"] for span in spans)
    end = max(span["ts"] + span["dur"] for span in spans if span["pid"] == last) / 1e3
    st.expect(abs(total - end) <= 0.01 * len(timers), f"timers of {total} ms, and the last rank ends after {end} ms")
    data = next((folder / "events").iterdir()).read_bytes()
    for tag in (b"timers/forward, compute/max", b"timers/update, collective/median", b"mem-max-allocated-bytes"):
        st.expect(tag in data, f"no {tag} in the events")
    return f"{total:.1f} ms"


def refuses_simulator_flags(folder):
    binary = compile_for(folder, "flags", TARGET, "gpt2", parallel("f32"))
    for flag in ("--timing-only", "--host-isa=baseline", "--derate=link:chip0-chip1:0.5", f"--report={folder / 'report'}"):
        done = st.run([binary, flag])
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        st.expect(done.returncode == 1 and len(errors) == 1, f"{flag}: exit {done.returncode}: {done.stderr}")


CASES = [("bert, f32", trains("bert", parallel("f32"), BOUNDS["f32"])),
         ("bert, bf16, 2 micro-batches", trains("bert", parallel("bf16", accum_degree=2), BOUNDS["bf16"])),
         ("gpt2, f32, 2 micro-batches", trains("gpt2", parallel("f32", accum_degree=2), BOUNDS["f32"])),
         ("gpt2, bf16", trains("gpt2", parallel("bf16"), BOUNDS["bf16"])),
         ("gpt2, bf16, 2 replicas of 2 stages of 2 shards",
          trains("gpt2", {**parallel("bf16"), **LAYOUTS["2 replicas of 2 stages of 2 shards"]}, BOUNDS["bf16"]))]
CASES += [(f"gpt2, f32, {name}", trains("gpt2", layout, BOUNDS["f32"])) for name, layout in LAYOUTS.items()]
CASES += [("products in tf32", rounds_operands)]
CASES += [("ranks that share a GPU", shares_a_gpu)]
CASES += [("a checkpoint of the simulator", resumes)]
CASES += [("a vocabulary of 1003, bf16", pads_rows("bf16", 1, 1024)), ("a vocabulary of 1003, f32, 2 shards", pads_rows("f32", 2, 512))]
CASES += [(f"no driver, {target}", needs_driver(target)) for target in ("cuda-sm_80", "cuda-sm_90")]
CASES += [("timers of a measured step", measures_timers)]
CASES += [("flags of the simulator", refuses_simulator_flags)]

if __name__ == "__main__":
    sys.exit(st.main(*st.drawn_part(CASES, 3)))
