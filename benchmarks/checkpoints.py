"""Saving and loading a checkpoint of BERT-large: the time that training waits, and the speed of writing compared with
that of `dd`.

  benchmarks/checkpoints.py [--rounds=3] [--steps=2] [--folder=build/bench] [--build=build] [--json=FILE]

BERT-large (span, batch 1, sequence 384, AdamW) on 4 stages x 8 shards. A round runs, in turn:

- a run without checkpoints, for its peak memory;
- a run that saves after its third step between the steps (--async-save=false), then one that saves during them, with memory
  for copies of one device's states (the default) and of all states (--save-memory=5GB): how long training waited, in the
  save and in the next update, and how much longer the steps during the save took than those before it;
- `dd` of as many zeros as a checkpoint has bytes, in the same folder: through the system's cache of files (conv=fsync), and
  directly (oflag=direct), as the saves write. On a virtual machine the former depends on the memory that the cache takes:
  writes to memory that the host has to provide first are several times as slow;
- loading: the whole time of a process that resumes the checkpoint and takes no step, in the same layout and on 2 x 2.

Prints medians. The folder needs 12 GB. Other programs that write to the same disk disturb all of this.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

import figures

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = ROOT / "examples/models/bert-large-uncased"
LAYOUTS = {"4x8": ROOT / "examples/parallel/bert-large-dtu-4x8.json", "2x2": None}
SAVED = re.compile(r"saved step 3 to .* in ([0-9.]+) s(?:, for which training waited ([0-9.]+) s and copied ([0-9.]+) MiB)?")
SAVE_AFTER = 3
WAYS = {"between steps": ["--async-save=false"], "during steps": [], "during steps, 5 GB for copies": ["--save-memory=5GB"]}


def device(index):
    return f"/device:XLA_DTU:{index // 4 * 5 + index % 4}"


def small_layout():
    stages = {f"stage_{i}": {f"shard_{j}": device(2 * i + j) for j in range(2)} for i in range(2)}
    return {"mode": "sharding", "sharding_size": 2, "sharding_dim": "megatron", "stage_cnt": 2, "device_mapping": stages}


def compile_st(options, name):
    layout = LAYOUTS[name]
    if layout is None:
        layout = options.folder / f"{name}.json"
        layout.write_text(json.dumps(small_layout()))
    binary = options.folder / f"checkpoints-{name}"
    figures.run([options.build / "bin/st-compile", MODEL, "--task=span", "--batch=1", "--seq=384", f"--parallel={layout}",
                 "--target=dtu-t10", "--optimizer=adamw", "--lr=1e-5", "--predict=false", "-o", binary])
    return binary


def run(binary, *flags):
    """Seconds, peak memory in bytes and standard error of a process."""
    start = time.perf_counter()
    with subprocess.Popen([str(binary), "--time-tasks=once", *map(str, flags)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        text = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise figures.PeerFailure(f"exit {process.returncode}: {text.splitlines()[-1] if text else ''}")
    return time.perf_counter() - start, usage.ru_maxrss * 1024, text


def steps_of(metrics):
    return [json.loads(line)["host_s"] for line in metrics.read_text().splitlines()]


def dd(options, size, *flags):
    target = options.folder / "zeros"
    start = time.perf_counter()
    figures.run(["dd", "if=/dev/zero", f"of={target}", "bs=4M", f"count={-(-size // (4 << 20))}", "conv=fsync", *flags])
    seconds = time.perf_counter() - start
    target.unlink()
    return size / seconds


def size_of(folder):
    return sum(path.stat().st_size for path in folder.iterdir())


def save(options, binary, flags):
    """Measures a run with one save between steps 2 and 3. Its checkpoint remains."""
    target, metrics = options.folder / "ckpt", options.folder / "metrics"
    shutil.rmtree(target, ignore_errors=True)
    _, peak, text = run(binary, f"--train-steps={SAVE_AFTER + options.steps}", f"--save-interval={SAVE_AFTER}",
                        f"--save={target}", f"--metrics={metrics}", *flags)
    found = SAVED.search(text)
    if not found:
        raise figures.PeerFailure("no save was reported")
    seconds, steps = float(found[1]), steps_of(metrics)
    step = statistics.median(steps[1:SAVE_AFTER])
    during = steps[SAVE_AFTER:]
    during = [each for i, each in enumerate(during) if sum(during[:i]) < seconds]
    return {"seconds": seconds, "waited": float(found[2] or seconds), "copied": float(found[3] or 0), "peak": peak, "step": step,
            "slower": sum(during) - len(during) * step, "bytes": size_of(target / f"step-{SAVE_AFTER:07d}")}


def one_round(options, binaries, results):
    def add(name, value):
        results.setdefault(name, []).append(value)
        print(f"  {name}: {value:.4g}", file=sys.stderr, flush=True)

    plain_peak = run(binaries["4x8"], "--steps=2")[1]
    for name, flags in WAYS.items():
        one = save(options, binaries["4x8"], flags)
        add("step", one["step"])
        add("bytes", one["bytes"])
        add("dd", dd(options, one["bytes"]))
        add("dd direct", dd(options, one["bytes"], "oflag=direct"))
        add(f"{name}: waited", one["waited"])
        add(f"{name}: rate", one["bytes"] / one["seconds"])
        add(f"{name}: memory", max(0, one["peak"] - plain_peak))
        if "during" in name:
            add(f"{name}: copied", one["copied"])
            add(f"{name}: slower", one["slower"])
    for name, binary in binaries.items():
        add(f"load on {name}", run(binary, "--steps=0", f"--resume={options.folder / 'ckpt'}/step-{SAVE_AFTER:07d}")[0])


def store(found, results):
    middle = {name: statistics.median(values) for name, values in results.items()}
    step = middle["step"]
    way = max(("dd", "dd direct"), key=middle.get)
    gigabyte, mebibyte = 1e9, 1 << 20
    for name in WAYS:
        also = {"of a step": [100 * middle[f"{name}: waited"] / step, "%"],
                "peak memory": [middle[f"{name}: memory"] / mebibyte, "MiB more"]}
        if f"{name}: slower" in middle:
            also["copies"] = [middle[f"{name}: copied"], "MiB"]
            also["the steps during it"] = [middle[f"{name}: slower"], "s longer"]
        found.add(f"Checkpoint of {middle['bytes'] / gigabyte:.2f} GB, {name}: training waits", middle[f"{name}: waited"], "s",
                  also=also, baseline={"name": "a step", "value": step})
        found.add(f"Checkpoint of {middle['bytes'] / gigabyte:.2f} GB, {name}: written", middle[f"{name}: rate"] / gigabyte, "GB/s",
                  baseline={"name": f"`{way}`", "value": middle[way] / gigabyte})
    for name in LAYOUTS:
        found.add(f"Checkpoint of {middle['bytes'] / gigabyte:.2f} GB, loaded on {name}", middle[f"load on {name}"],
                  "s from the start of the process")
    for name, value in middle.items():
        print(f"{name:45} {value:12.5g}   of {len(results[name])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2, choices=(1, 2), help="steps after the save")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/bench", help="for checkpoints, on the disk to measure")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    figures.add_option(parser)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    binaries = {name: compile_st(options, name) for name in LAYOUTS}
    results = {}
    for number in range(options.rounds):
        print(f"round {number}", file=sys.stderr, flush=True)
        one_round(options, binaries, results)
    store(figures.Figures(options.json, "checkpoints", figures.host()), results)
    shutil.rmtree(options.folder / "ckpt", ignore_errors=True)


if __name__ == "__main__":
    main()
