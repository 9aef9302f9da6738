"""The global batch grows as with Megatron-LM's --rampup-batch-size: sizes, samples, learning rate, resumed runs.

A binary holds a training program per size; they share parameters and optimizer states.
"""

import json
import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import numpy as np
import st_testing as st
from process_launchers import by_tcp
from process_launchers import finish as finish_processes
from safetensors.numpy import save_file
from st_errors import expect_error

GPT = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 16, "n_layer": 2, "n_head": 4, "vocab_size": 64,
       "n_positions": 16, "attn_pdrop": 0.1, "embd_pdrop": 0.1, "resid_pdrop": 0.1}
LAYOUTS = {
    "one device": ({"mode": "sharding", "data": 1, "accum_degree": 4}, []),
    "stages and shards": (st.layout(2, 2, accum=4), []),
    "ZeRO-3": ({"mode": "sharding", "data": 2, "sharding_size": 2, "sharding_dim": "megatron", "zero": 3, "accum_degree": 4},
               ["--clip-norm=1"]),
    "8-bit moments": ({"mode": "hybrid", "data": 2, "stage_cnt": 2, "accum_degree": 4, "schedule": "1f1b"},
                      ["--optimizer=adamw-8bit", "--min-8bit-size=1"]),
    "GPUs": ({"mode": "sharding", "data": 2, "accum_degree": 4}, ["--target=cuda-host", "--eval"]),
}


def megatron_sizes(start, increment, samples, full, steps):
    """Megatron-LM's RampupBatchSizeNumMicroBatchesCalculator: the rows of each step."""
    each, consumed, sizes = samples / ((full - start) // increment), 0, []
    while len(sizes) < steps:
        sizes.append(full if consumed > samples else start + int(consumed / each) * increment)
        consumed += sizes[-1]
    return sizes


def compiled(folder, name, batch, ramp=None, accum=None, flags=(), layout="one device"):
    parallel, more = LAYOUTS[layout]
    parallel = dict(parallel, accum_degree=accum or parallel["accum_degree"])
    rampup = [f"--rampup-batch-size={ramp}"] if ramp else []
    return st.compile_model(folder, name, GPT, "clm", parallel, *more, *rampup, *flags, batch=batch, seq=16)


def steps_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def run(binary, *flags, name="run"):
    metrics = binary.parent / f"{name}.jsonl"
    metrics.unlink(missing_ok=True)
    st.check_run([binary, "--lr=1e-2", f"--metrics={metrics}", *flags])
    return steps_of(metrics)


def like_two_binaries(folder):
    """Batches of 4 and then of 8 have the losses and the final checkpoint of a binary for 4 and one for 8 rows."""
    for layout in LAYOUTS:
        where = folder / layout.replace(" ", "-")
        ramped = compiled(where, "ramped", 8, "4,4,16", layout=layout)
        small = compiled(where, "small", 4, accum=2, layout=layout)
        large = compiled(where, "large", 8, layout=layout)
        found = run(ramped, "--steps=8", f"--save={where / 'a'}")
        st.expect([step["batch_size"] for step in found] == [4] * 4 + [8] * 4, f"{found}")
        first = run(small, "--steps=4", f"--save={where / 'b'}")
        second = run(large, "--steps=4", f"--resume={where / 'b'}", f"--save={where / 'c'}")
        st.expect(st.losses(found) == st.losses(first + second), f"{layout}: {st.losses(found)}, {st.losses(first + second)}")
        for kind in ("model", "optimizer"):
            same = (where / f"a/{kind}.safetensors").read_bytes() == (where / f"c/{kind}.safetensors").read_bytes()
            st.expect(same, f"{layout}: other {kind}")
    return f"{len(LAYOUTS)} layouts"


def resumed(folder):
    """Runs that end within the ramp-up resume to the bit, with any number of processes and saves during the steps."""
    binary = compiled(folder, "ramped", 8, "2,2,30", layout="stages and shards")
    flags = ["--train-samples=90", "--lr-decay-style=cosine", "--min-lr=1e-3", "--lr-warmup-samples=20"]
    sizes = megatron_sizes(2, 2, 30, 8, 100)
    expected = run(binary, *flags, f"--save={folder / 'whole'}", name="whole")
    # Megatron-LM's update_train_iters: steps of the ramp-up, then whole batches.
    consumed = count = 0
    while consumed <= 30:
        consumed, count = consumed + sizes[count], count + 1
    count += (90 - consumed) // 8
    st.expect([step["batch_size"] for step in expected] == sizes[:count], f"{expected}")
    for last in (1, 3, 7):
        part = folder / f"part{last}"
        args = [*flags, f"--save={part}", "--save-interval=1"]
        begun = run(binary, *args, f"--exit-interval={last}", name="begun")
        code, _, err = finish_processes(by_tcp(2, binary, "--lr=1e-2", *args, f"--metrics={folder / 'begun.jsonl'}"))
        st.expect(code == 0, err)
        found = steps_of(folder / "begun.jsonl")
        st.expect(len(begun) == last and st.losses(found) == st.losses(expected), f"after {last}: {st.losses(found)}")
        st.expect([step["lr"] for step in found] == [step["lr"] for step in expected], f"after {last}: other learning rates")
        for kind in ("model", "optimizer"):
            same = [(path / f"{kind}.safetensors").read_bytes() for path in (folder / "whole", part / f"step-{count:07}")]
            st.expect(same[0] == same[1], f"after {last}: other {kind}")
    return f"{count} steps of {sorted(set(sizes))} rows"


def learning_rate(folder):
    """Lengths are in samples: the rate follows the samples that were consumed, not the steps."""
    binary = compiled(folder, "ramped", 8, "2,2,30")
    found = run(binary, "--train-samples=90", "--lr-decay-style=linear", "--lr-warmup-samples=20", "--lr-decay-samples=80")
    consumed = 0
    for step in found:
        consumed += step["batch_size"]
        expected = 1e-2 * consumed / 20 if consumed <= 20 else 1e-2 * max(0, (80 - consumed) / 60)
        st.expect(abs(step["lr"] - expected) < 1e-12, f"step {step['step']}: {step['lr']}, expected {expected}")
    done = st.check_run([binary, "--train-samples=90", "--log-style=megatron"])
    sizes = [int(line.split("global batch size:")[1].split("|")[0]) for line in done.stdout.splitlines() if "global batch" in line]
    st.expect(sizes == [step["batch_size"] for step in found], done.stdout)


def skipped_and_left_out(folder):
    """Steps that the loss scale skips, and batches that --on-spike leaves out, count as consumed samples for the size of
    batches, but not for the learning rate. A run in two parts ends as one in one part."""
    parallel = {"mode": "sharding", "data": 2, "accum_degree": 2, "precision": "f16"}
    binary = st.compile_model(folder, "f16", GPT, "clm", parallel, "--rampup-batch-size=4,4,184", "--initial-loss-scale=1e8",
                              "--hysteresis=1", batch=8, seq=16)
    # One token, which the model learns, and a batch of others: the spike.
    ids = np.full((400, 16), 5, np.int32)
    spike, saved = 152, 120  # its first row, in step 39; the rows before the checkpoint of step 30
    ids[spike:spike + 4] = np.random.default_rng(1).integers(6, 60, (4, 16), dtype=np.int32)
    save_file({"input_ids": ids, "labels": ids}, folder / "data.safetensors")
    flags = [f"--data={folder / 'data.safetensors'}", "--train-samples=230", "--lr-warmup-samples=220", "--save-interval=10",
             "--spike-window=16", "--lr=3e-2"]
    found = {}
    for action in ("rewind", "skip"):
        def train(name, *more):
            return run(binary, *flags, f"--on-spike={action}", f"--save={folder / name}", *more, name=name)
        steps = train(action)
        numbers = [step["step"] for step in steps]
        st.expect(numbers == [*range(1, 40), *range(31, numbers[-1] + 1)], f"{action}: {numbers}")
        steps = steps[:30] + steps[39:]
        skipped = consumed = changed = 0
        for step in steps:
            if consumed == saved and action == "rewind" or consumed == spike:
                consumed = spike + 4
            size = 8 if consumed >= 184 else 4
            st.expect(step["batch_size"] == size, f"{action}: {step}, after {consumed} samples")
            consumed, changed = consumed + size, changed + size
            st.expect(abs(step["lr"] - 1e-2 * min(1, changed / 220) * 3) < 1e-9, f"{action}: {step}, after {changed} samples")
            if step["skipped_steps"] > skipped:
                skipped, changed = step["skipped_steps"], changed - size
        st.expect(0 < skipped < 20, f"{skipped} steps were skipped")
        last = f"step-{numbers[-1]:07}"
        for end in (30, 40) if action == "rewind" else (40,):  # before the spike and after it
            parts = f"{action}-{end}"
            train(parts, f"--exit-interval={end}")
            train(parts)
            for path in (folder / action / last).iterdir():
                st.expect(path.read_bytes() == (folder / parts / last / path.name).read_bytes(), f"{parts}: other {path.name}")
        found[action] = f"{action}: {skipped:g} of {len(steps)} steps skipped"
    return ", ".join(found.values())


def refused(folder):
    """A ramp-up that is not possible is a one-line error of the compiler or of the run."""
    model = st.write_json(folder / "model/config.json", GPT).parent
    parallel = st.write_json(folder / "parallel.json", LAYOUTS["one device"][0])
    command = [*st.COMPILE, model, "--task=clm", "--batch=8", "--seq=16", "--target=dtu-t10", f"--parallel={parallel}",
               "--predict=false", "-o", folder / "none"]
    for ramp, text in (("4,4", "expected START,INCREMENT,SAMPLES, three numbers from 1"),
                       ("8,4,16", "expected a start below the full batch of 8"),
                       ("2,4,16", "expected an increment that divides 6"),
                       ("3,5,16", "a batch of 3: expected a multiple of the 2 rows of a micro-batch")):
        expect_error([*command, f"--rampup-batch-size={ramp}"], f"rampup-batch-size={ramp}: {text}")
    st.expect(not (folder / "none").exists(), "a failed compilation left its output")
    binary = compiled(folder, "ramped", 8, "4,4,16")
    for flags, text in ((["--rampup-batch-size=2,2,16"], r"compiled for \(4, 8\), found 2; give st-compile the same flag"),
                        (["--train-steps=9"], "--train-steps counts steps.*give --train-samples"),
                        (["--warmup=3"], "--warmup=3 counts steps.*give --lr-warmup-samples")):
        expect_error([binary, *flags], text)
    done = run(binary, "--rampup-batch-size=none", "--train-steps=2")
    st.expect([step.get("batch_size") for step in done] == [None, None], "the flag cannot be taken back")


if __name__ == "__main__":
    sys.exit(st.main(("like two binaries", like_two_binaries), ("resumed", resumed), ("learning rate", learning_rate),
                     ("skipped and left out", skipped_and_left_out), ("refused", refused)))
