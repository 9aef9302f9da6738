"""Differential fuzzing of the partitioner: random programs, random shardings, partitioned against not.

  test_partition.py [--seed=N] [--count=N] [--keep=DIR]

Program N is the same on every machine, so that `--seed=N --count=1` reproduces a failure. Each runs
in the reference interpreter as it is, and then on as many virtual ranks as its mesh has. A program
that cannot be cut into micro-batches may be refused, with an error that says so.
"""

import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
from random_programs import Program
from safetensors.numpy import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ.get("ST_BUILD", ROOT / "build")) / "bin"
PASSES = ["--propagate-shardings", "--insert-reshards", "--global-to-local"]


class Failure(Exception):
    pass


class Refusal(Exception):
    pass


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise Failure(f"exit {done.returncode}: {pathlib.Path(command[0]).name}: {done.stderr.strip()[:1500]}")


def interpret(program, inputs):
    outputs = program.with_suffix(".out")
    run(BIN / "st-translate", "--interpret", program, f"--inputs={inputs}", f"--outputs={outputs}")
    return load_file(outputs)


def make_inputs(program, seed, path):
    rng = np.random.default_rng(seed)
    tensors = {}
    for i, ((_, shape, element), _) in enumerate(program.arguments):
        values = rng.integers(0, 4, shape, np.int32) if element == "i32" else rng.standard_normal(shape)
        tensors[f"arg{i}"] = np.asarray(values, np.int32 if element == "i32" else np.float32, order="C")
    save_file(tensors, path)


def check(seed, folder):
    program = Program(random.Random(seed))
    whole, local, inputs = (folder / f"{seed}.{kind}" for kind in ("mlir", "local.mlir", "in"))
    whole.write_text(program.text())
    make_inputs(program, seed, inputs)
    expected = interpret(whole, inputs)
    try:
        run(BIN / "st-opt", *PASSES, whole, "-o", local)
    except Failure as failure:
        if program.micro > 1 and "micro-batches" in str(failure):
            raise Refusal from failure
        raise
    actual = interpret(local, inputs)
    for name, value in expected.items():
        if actual[name].shape != value.shape:
            raise Failure(f"{name}: shape {actual[name].shape}, expected {value.shape}")
        error = np.max(np.abs(actual[name].astype(np.float64) - value.astype(np.float64)), initial=0)
        if not error <= 1e-4 * max(1, np.max(np.abs(value), initial=0)):
            raise Failure(f"{name}: off by {error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--keep", type=pathlib.Path, help="leave programs and tensors in this folder")
    options = parser.parse_args()
    failed = refused = 0
    with tempfile.TemporaryDirectory(prefix="st-fuzz-") as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for seed in range(options.seed, options.seed + options.count):
            try:
                check(seed, folder)
            except Refusal:
                refused += 1
            except Failure as failure:
                failed += 1
                print(f"FAILED --seed={seed} --count=1: {failure}")
    print(f"{refused} programs cannot be cut into micro-batches")
    # A partitioner that refuses everything is never wrong either.
    failed += options.count >= 20 and refused > options.count // 2
    print(f"{options.count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
