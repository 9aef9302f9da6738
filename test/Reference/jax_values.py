"""Compares the reference interpreter with JAX, value for value.

  jax_values.py GROUP...

A case is a function and its arguments. Its text, as JAX prints it, runs in
`st-translate --interpret`; the results must equal those of XLA on the CPU:
integers and booleans exactly, floats up to a relative error for their type,
which a case can set. The last line counts the cases.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax

jax.config.update("jax_enable_x64", True)
import ml_dtypes
import numpy as np
from safetensors.numpy import load_file, save_file

HERE = pathlib.Path(__file__).resolve().parent
TOOL = shutil.which("st-translate") or HERE.parent.parent / "build/bin/st-translate"
sys.path.insert(0, str(HERE / "Inputs"))

# XLA's vectorised functions are off by several units in the last place.
TOLERANCE = {"float64": 1e-12, "float32": 2e-6, "float16": 2e-3, "bfloat16": 1.6e-2}


class Mismatch(Exception):
    pass


def interpret(text, inputs, folder):
    """Runs a program on named arrays and returns its results by name."""
    program, source, target = (folder / name for name in ("program.mlir", "in.safetensors", "out.safetensors"))
    program.write_text(text)
    save_file(inputs, source)
    done = subprocess.run([TOOL, "--interpret", program, f"--inputs={source}", f"--outputs={target}"],
                          capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise Mismatch(f"exit {done.returncode}: {done.stderr[-2000:]}\n{text[:4000]}")
    return load_file(target)


def compare(name, actual, expected, rtol, atol):
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        raise Mismatch(f"{name}: {actual.dtype}{actual.shape}, expected {expected.dtype}{expected.shape}")
    if expected.dtype.kind in "biu":
        wrong = actual != expected
    else:
        a, e = actual.astype(np.float64), expected.astype(np.float64)
        rtol = TOLERANCE[str(expected.dtype)] if rtol is None else rtol
        with np.errstate(invalid="ignore"):
            wrong = ~((a == e) | (np.isnan(a) & np.isnan(e)) | (np.abs(a - e) <= rtol * np.abs(e) + atol))
    if wrong.any():
        at = tuple(int(i[0]) for i in np.nonzero(wrong))
        raise Mismatch(f"{name}: {wrong.sum()} of {wrong.size} differ, first at {at}: "
                       f"{actual[at]!r}, expected {expected[at]!r}")


def check(function, args, folder, rtol=None, atol=0.0):
    args = [np.asarray(a) for a in args]
    jitted = jax.jit(function, keep_unused=True)
    lowered = jitted.lower(*args)
    expected = jax.tree.leaves(jitted(*args))
    inputs = {f"arg{i}": np.array(a, order="C") for i, a in enumerate(jax.tree.leaves(args))}
    actual = interpret(lowered.as_text(), inputs, folder)
    for i, e in enumerate(expected):
        compare(f"result {i}", actual[f"result{i}"], np.asarray(e), rtol, atol)


def run_group(group):
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="st-reference-") as folder:
        for name, function, args, options in __import__(f"jax_{group}").cases():
            try:
                check(function, args, pathlib.Path(folder), **options)
                passed += 1
            except Mismatch as mismatch:
                failed += 1
                print(f"FAILED {group}/{name}: {mismatch}")
    return passed, failed


def main():
    counts = [run_group(group) for group in sys.argv[1:]]
    passed, failed = (sum(c) for c in zip(*counts))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
