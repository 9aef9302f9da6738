"""Compiles random programs for a device and runs them there: on the simulated DTU, or as GPU programs on the host.

  device_runs.py TOOLS TARGET PROGRAM      prints what comes out as st-differential does
"""

import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
from safetensors.numpy import load_file

# Ops that devices have no kernel for.
REFUSALS = ("has no kernel", "complex elements", "has no DTU code generation", "has no CUDA code generation",
            "has no code generation", "stash takes at least")
TOLERANCE = 1e-3


def parallel_file(text):
    """The step's own file, or a device for each position of the program's mesh."""
    if own := re.search(r'st\.parallel = "((?:[^"\\]|\\.)*)"', text):
        return json.loads(own.group(1).replace('\\"', '"'))
    mesh = re.search(r"st\.mesh @mesh <\[(.*?)\]", text).group(1)
    devices = math.prod(int(size) for size in re.findall(r'"=(\d+)', mesh))
    return {"mode": "sharding", "sharding_size": devices, "sharding_dim": -1, "stage_cnt": 1, "accum_degree": 1, "data": 1}


def optimizer_flags(text):
    """Flags of st-compile for the optimizer that the case's own pipeline adds."""
    options = re.search(r"add-optimizer\{(.*?)\}", text)
    if not options:
        return []
    flags = options.group(1).replace("kind=", "optimizer=")
    if "state-bits=8" in flags:
        flags = re.sub(r"optimizer=(\w+) state-bits=8", r"optimizer=\1-8bit", flags)
    return [f"--{option}" for option in flags.split()]


def describe_difference(given, expected, actual):
    """As in st-differential: for a result that replaces an input, the change is compared."""
    for name, value in expected.items():
        if name not in actual or actual[name].shape != value.shape:
            return f"{name} is missing or has another shape"
        wanted, found = value.astype(np.float64), actual[name].astype(np.float64)
        replaces = name in given and given[name].shape == value.shape
        change = np.abs(wanted - given[name].astype(np.float64)) if replaces else np.abs(wanted)
        scale = max(0.01 if replaces else 1, np.max(change, initial=0))
        tolerance = TOLERANCE * scale if value.dtype.kind == "f" else 0
        error = np.max(np.abs(wanted - found), initial=0)
        if not error <= tolerance:
            return f"{name} is off by {error:.3g}"
    return None


def run_on_device(tools, path, folder, target):
    """Kind and message, as in st-differential. NAME.in and NAME.out of the program are in the folder."""
    name = path.stem
    layout, binary, outputs = (folder / f"{name}.{kind}" for kind in ("json", "bin", "found"))
    text = path.read_text()
    parallel = parallel_file(text)
    if '"rows"' in text and parallel["accum_degree"] > 1:
        return "refused by the device", "an Executable's outputs have no place for several micro-batches"
    layout.write_text(json.dumps(parallel))
    try:
        done = subprocess.run([tools / "st-compile", path, f"--target={target}", f"--parallel={layout}",
                               *optimizer_flags(text), "-o", binary], capture_output=True, text=True, timeout=120)
        if done.returncode:
            errors = " ".join(line for line in done.stderr.splitlines() if "error" in line) or done.stderr[-300:]
            return ("refused by the device" if any(r in errors for r in REFUSALS) else "refused"), f"st-compile --target={target}: {errors}"
        done = subprocess.run([binary, f"--inputs={folder / name}.in", f"--outputs={outputs}"], capture_output=True,
                              text=True, timeout=120)
        if done.returncode:
            return "differs", f"on the device {target}: {done.stderr.strip()[-300:]}"
        # If time depends on data, there is no prediction.
        if "predicted" in done.stderr and "as predicted: the time" not in done.stderr:
            return "differs", f"on the device {target}: {done.stderr.strip()[-600:]}"
        given, expected = (load_file(folder / f"{name}.{kind}") for kind in ("in", "out"))
        difference = describe_difference(given, expected, load_file(outputs))
        return ("differs", f"on the device {target}: {difference}") if difference else ("ok", "")
    except subprocess.TimeoutExpired:
        return "crashed", f"on the device {target}: took more than 120 s"
    finally:
        for file in (layout, binary, outputs):
            file.unlink(missing_ok=True)


def main():
    tools, target, program = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    with tempfile.TemporaryDirectory(prefix="st-fuzz-") as temporary:
        folder = pathlib.Path(temporary)
        done = subprocess.run([tools / "st-differential", f"--save={folder}", program], capture_output=True, text=True,
                              timeout=120)
        print(done.stdout.strip())
        if done.returncode == 0:
            kind, message = run_on_device(tools, program, folder, target)
            print(f"on-device-{kind} {program} {message}")


if __name__ == "__main__":
    main()
