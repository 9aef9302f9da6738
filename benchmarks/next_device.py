"""One step on several devices, including hypothetical ones, and its limits on each.

  benchmarks/next_device.py [--devices=dtu-t10,dtu-t20,dtu-next] [--dtype=f32,bf16] [--build=build] [--json=FILE]

Compiles BERT-large, 4 stages of 8 shards on 32 clusters, batch 1, sequence 384, AdamW, for each device. For each rate,
latency and start-up time of the description it times the same instructions again on a device with this figure twice as
good. The saving is the time that the step waits for this resource. The savings need not add up.
Simulated times depend only on the compiled program, not on the load of the machine.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import figures
import published_step as step

LEAST = 0.005  # of the step; smaller savings are left out


def rates(device):
    """{name: value} of the figures that change times but not the compiled program."""
    text = (step.ROOT / f"devices/{device}.textproto").read_text()
    return {name: float(value) for name, value in re.findall(r"(?m)^(\w+) { value: ([\d.]+)", text)
            if name not in step.NOT_TIMES}


def compile_for(options, folder, device, dtype):
    parallel = json.loads(step.CASES["4x8"].read_text())
    if dtype != "f32":
        parallel["precision"] = {"compute": dtype}
    (folder / "parallel.json").write_text(json.dumps(parallel))
    binary = folder / f"step-{device}-{dtype}"
    done = subprocess.run(
        [step.ROOT / options.build / "bin/st-compile", "-q", step.ROOT / "examples/models/bert-large-uncased",
         "--task=span", "--batch=1", "--seq=384", f"--parallel={folder / 'parallel.json'}",
         f"--target={step.ROOT}/devices/{device}.textproto", "--optimizer=adamw", "--lr=1e-5", "--predict=false",
         "-o", binary], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{device}, {dtype}: {done.stderr.strip().splitlines()[-1]}")
    return binary


def explore(options, folder, device, dtype):
    """The step in seconds, its lower bound, and the saving of each figure when it is twice as good."""
    binary = compile_for(options, folder, device, dtype)
    base, program, saved = step.seconds(binary), step.Program(binary, folder), {}
    bound = json.loads(binary.with_suffix(".json").read_text())["roofline_ms"] / 1e3
    for name, value in rates(device).items():
        better = value / 2 if step.is_delay(name) else value * 2
        if program.fields[name] is not None:
            # Wider vectors need more banks by the same factor.
            others = {"l1_banks": 2 * program.fields["l1_banks"][0][1]} if name == "vector_bytes_per_cycle" else {}
            saved[name] = 1 - program.seconds(name, better, **others) / base
    binary.unlink()
    return base, bound, saved


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="dtu-t10,dtu-t20,dtu-next")
    parser.add_argument("--dtype", default="f32,bf16")
    parser.add_argument("--build", default="build")
    figures.add_option(parser)
    options = parser.parse_args()
    columns = [(device, dtype) for device in options.devices.split(",") for dtype in options.dtype.split(",")]
    with tempfile.TemporaryDirectory() as name:
        found = {column: explore(options, pathlib.Path(name), *column) for column in columns}
    stored = figures.Figures(options.json, "simulation", figures.SIMULATED)
    for (device, dtype), (seconds, bound, _) in found.items():
        stored.add(f"BERT-large, 4 x 8, {device}, {dtype}", seconds * 1e3, "ms a step",
                   baseline={"name": "roofline bound", "value": bound * 1e3})
    print("| | " + " | ".join(f"{device} {dtype}" for device, dtype in columns) + " |")
    print("| --- |" + " ---: |" * len(columns))
    print("| step, ms | " + " | ".join(f"{found[c][0] * 1e3:.2f}" for c in columns) + " |")
    print("| roofline bound, ms | " + " | ".join(f"{found[c][1] * 1e3:.2f}" for c in columns) + " |")
    names = {name for _, _, saved in found.values() for name, share in saved.items() if share >= LEAST}
    for name in sorted(names, key=lambda n: -max(saved.get(n, 0) for _, _, saved in found.values())):
        print(f"| `{name}` | " + " | ".join(f"{100 * found[c][2].get(name, 0):.1f} %" for c in columns) + " |")


if __name__ == "__main__":
    main()
