"""Time and memory of plans for thousands of devices on one core: GPTs of 175B and 1T parameters from
config.json to scheduled programs, to training binaries, and to the time of a step.

  benchmarks/large_plans.py [--only=175B] [--replicas] [--binaries] [--build=build] [--json=FILE]

--replicas also compiles the first plan for other numbers of replicas; --binaries also writes the binaries and runs
them with --timing-only, which takes minutes. Prints processor time, which is that of one core here, and wall time.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time

import figures

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
# Name, model, layout, sequences in a step: a sequence a replica and micro-batch.
PLANS = [("175B, 8 x 8 x 16", "gpt3-175b", "gpt3-175b-8x8x16.json", 128),
         ("1T, 8 x 64 x 6", "gpt-1t", "gpt-1t-8x64x6.json", 768),
         ("1T, 8 x 6 x 64", "gpt-1t", "gpt-1t-8x6x64.json", 384)]


def measure(command):
    """Runs on one core; returns processor and wall seconds, MiB, and the output."""
    core = sorted(os.sched_getaffinity(0))[-1]
    with tempfile.TemporaryFile("w+") as printed:
        start = time.monotonic()
        process = subprocess.Popen([str(part) for part in command], stdout=printed, stderr=printed,
                                   preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - start
        printed.seek(0)
        text = printed.read()
    if status != 0:
        raise SystemExit(text)
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, text


def compile_plan(build, model, layout, batch, out, *flags):
    return measure([build / "bin" / "st-compile", EXAMPLES / "models" / model, "--task=clm", f"--batch={batch}",
                    "--seq=2048", f"--parallel={layout}", f"--target={EXAMPLES / 'parallel/dtu-pod.textproto'}",
                    "-o", out, *flags])


def report(found, name, seconds, wall, mebibytes, detail):
    found.add(name, seconds, "s of processor time", {"peak": [mebibytes, "MiB"], "prints": [detail, ""]})
    print(f"| {name} | {seconds:.1f} | {wall:.1f} | {mebibytes:.0f} | {detail} |", flush=True)


def scheduled(found, build, folder, name, model, layout, batch):
    *cost, text = compile_plan(build, model, layout, batch, folder / "scheduled.mlir", "--compile-to=scheduled")
    report(found, f"{name}, scheduled", *cost, re.findall(r"\d+ ops", text)[-1])


def binary(found, build, folder, name, model, layout, batch):
    out = folder / "plan"
    *cost, _ = compile_plan(build, model, layout, batch, out, "-q", "--predict=false")
    report(found, f"{name}, binary", *cost, f"{out.stat().st_size / 2**20:.1f} MiB")
    *cost, text = measure([out, "--timing-only"])
    report(found, f"{name}, timing", *cost, ", ".join(re.findall(r"simulated step [\d.]+ ms|\d+ of \d+ runs", text)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="plans whose names hold this")
    parser.add_argument("--replicas", action="store_true")
    parser.add_argument("--binaries", action="store_true")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    figures.add_option(parser)
    arguments = parser.parse_args()
    found = figures.Figures(arguments.json, "compiling", figures.host())
    print("| plan | processor s | wall s | MiB | |\n| --- | ---: | ---: | ---: | --- |")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for plan, model, layout, batch in PLANS:
            if arguments.only not in plan:
                continue
            scheduled(found, arguments.build, folder, plan, model, EXAMPLES / "parallel" / layout, batch)
            if arguments.binaries:
                binary(found, arguments.build, folder, plan, model, EXAMPLES / "parallel" / layout, batch)
        for replicas in (1, 2, 8, 64) if arguments.replicas else ():
            path = folder / "parallel.json"
            path.write_text(json.dumps({"mode": "hybrid", "sharding_size": 8, "data": replicas, "stage_cnt": 16,
                                        "accum_degree": 16}))
            scheduled(found, arguments.build, folder, f"175B, 8 x {replicas} x 16", "gpt3-175b", path, 16 * replicas)


if __name__ == "__main__":
    main()
