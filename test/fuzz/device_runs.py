"""Compiles random programs for a device and runs them there: on the simulated DTU, or as GPU programs on the host.

  device_runs.py TOOLS TARGET PROGRAM      prints the results in the format of st-differential

The target "cuda-kernels" runs the kernels of a GPU, lowered to the host (st-cuda-host-run), for two steps. The target
"dtu-rows" is a DTU whose cores hold few rows of scores, so that fused kernels of attention stream them; "dtu-strips" has
few cores, which hold many rows each and compute those of a masked tile strip by strip.
"""

import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import ml_dtypes  # noqa: F401, which names bf16 to numpy
import numpy as np
from safetensors.numpy import load_file, save_file

# Ops that devices have no kernel for.
REFUSALS = ("has no kernel", "complex elements", "is not supported by the DTU backend",
            "is not supported by the CUDA backend", "kernels do not support", "stash takes at least")
# Tolerances relative to the distance that a result moves, by the type of products. Kernels round where the program does,
# except probabilities, and their sums have another order.
TOLERANCES = {"f32": 1e-3, "bf16": 8e-2}
# In two steps of kernels results move at least by this share of the farthest move of their kind. The gradient of a vector
# adds up all rows, whose roundings may exceed the sum: that of a key's bias is zero without them.
LEAST_MOVE, LEAST_MOVE_OF_VECTORS = 0.05, 0.3
LEARNING_RATE = 0.1
# The figures that differ from T10.
ROW_DEVICES = {"dtu-rows": (r"l1_bytes_per_core \{ value: ", 32768), "dtu-strips": ("cores_per_cluster: ", 2)}
LIMIT = 240


def parallel_file(text):
    """The step's own file, or a device for each position of the program's mesh."""
    if own := re.search(r'st\.parallel = "((?:[^"\\]|\\.)*)"', text):
        return json.loads(own.group(1).replace('\\"', '"'))
    mesh = re.search(r"st\.mesh @mesh <\[(.*?)\]", text).group(1)
    devices = math.prod(int(size) for size in re.findall(r'"=(\d+)', mesh))
    return {"mode": "sharding", "sharding_size": devices, "sharding_dim": -1, "stage_cnt": 1, "accum_degree": 1, "data": 1}


def tolerance_of(parallel):
    return TOLERANCES[parallel.get("precision", {}).get("compute", "f32")]


def step_flags(text):
    """Flags of st-compile for the optimizer, the adapters and the frozen parameters of the case's own pipeline."""
    options = re.search(r"add-optimizer\{(.*?)\}", text)
    if not options:
        return []
    adapters = re.search(r"add-adapters\{targets=(\S+) rank=(\d+) dropout=([\d.]+)\}", text)
    flags = options.group(1).replace("kind=", "optimizer=")
    if "state-bits=8" in flags:
        flags = re.sub(r"optimizer=(\w+) state-bits=8", r"optimizer=\1-8bit", flags)
    frozen = re.search(r"freeze-parameters\{(freeze=\S+?)\}", text)
    return [f"--{option}" for option in flags.split()] + (
        [f"--lora={adapters[2]}:{adapters[1]}", f"--lora-dropout={adapters[3]}"] if adapters else []) + (
        [f"--{frozen[1]}"] if frozen else [])


def describe_difference(given, expected, actual, relative, nudged=None):
    """As in st-differential: for a result that replaces an input, the change is compared. A device rounds many more times
    than a nudge of the inputs does."""
    for name, value in expected.items():
        if name not in actual or actual[name].shape != value.shape:
            return f"{name} is missing or has another shape"
        wanted, found = value.astype(np.float64), actual[name].astype(np.float64)
        replaces = name in given and given[name].shape == value.shape
        change = np.abs(wanted - given[name].astype(np.float64)) if replaces else np.abs(wanted)
        scale = max(0.01 if replaces else 1, np.max(change, initial=0))
        tolerance = relative * scale if value.dtype.kind == "f" else 0
        if nudged and value.dtype.kind == "f":
            tolerance = max(tolerance, 4 * np.max(np.abs(wanted - nudged[name]), initial=0))
        error = np.max(np.abs(wanted - found), initial=0)
        if not error <= tolerance:
            return f"{name} is off by {error:.3g}"
    return None


def is_ill_conditioned(tools, path, folder, given, expected, actual, relative):
    """As in st-differential: whether roundings of the inputs move the results as far."""
    subprocess.run([tools / "st-differential", f"--save={folder}", "--save-nudged", path], capture_output=True,
                   timeout=LIMIT)
    variants = list(folder.glob(f"{path.stem}.nudged-*"))
    found = any(describe_difference(given, expected, actual, relative, load_file(variant)) is None for variant in variants)
    for variant in variants:
        variant.unlink()
    return found


def kind_of(name, given):
    """Parameters, and each state of the optimizer of all parameters, have similar moves. A loss has a kind for itself."""
    return name.partition(".")[2] if name in given else name


def prepared(given):
    """Moves are proportional to gradients if momenta begin with zeros. Long steps would amplify roundings of the first one."""
    return {**{name: np.zeros_like(value) if name.endswith((".exp_avg", ".momentum")) else value for name, value in given.items()},
            "learning_rate": np.array(LEARNING_RATE, np.float32)}


def describe_moves(given, expected, found, tolerance):
    """As describe_difference, of results whose roundings differ."""
    moves = {name: value.astype(np.float64) - (given[name] if name in given else 0) for name, value in expected.items()}
    largest = {name: np.max(np.abs(move), initial=0) for name, move in moves.items()}
    for name, value in found.items():
        least = max(move for other, move in largest.items() if kind_of(other, given) == kind_of(name, given))
        least *= LEAST_MOVE_OF_VECTORS if value.ndim == 1 else LEAST_MOVE
        error = np.max(np.abs(value.astype(np.float64) - expected[name]), initial=0)
        if not error <= tolerance * max(largest[name], least):
            return f"{name} is off by {error:.3g}, having moved by {largest[name]:.3g}"
    return None if found else "there are no results"


def run_kernels(tools, path, folder):
    """Two steps of the kernels for a GPU on the host, and of the program before its passes in the interpreter."""
    name, text = path.stem, path.read_text()
    layout, planned, phases = (folder / f"{name}.{kind}" for kind in ("json", "planned", "phases"))
    given, middle, wanted, found = (folder / f"{name}.{kind}" for kind in ("in", "middle", "wanted", "found"))
    layout.write_text(json.dumps(parallel_file(text)))
    chip = "sm_90" if len(text) % 2 else "sm_80"

    def run(*command):
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
        return None if done.returncode == 0 else done.stderr.strip()[-300:] or f"ended with {done.returncode}"

    def interpret(inputs, outputs):
        return run(tools / "st-translate", "--interpret", next(phases.glob("*-optimizer.mlir")), f"--inputs={inputs}",
                   f"--outputs={outputs}")
    try:
        error = run(tools / "st-compile", "-q", path, f"--target=cuda-{chip}", f"--parallel={layout}", *step_flags(text),
                    "--compile-to=planned", f"--dump-phases-to={phases}", "-o", planned)
        if error:
            return "refused", f"st-compile --target=cuda-{chip}: {error}"
        inputs = prepared(load_file(given))
        save_file(inputs, given)
        error = interpret(given, wanted)
        if not error:
            save_file({name: value for name, value in {**inputs, **load_file(wanted)}.items() if name in inputs}, middle)
            error = interpret(middle, wanted)
        if error:
            return "broken", error
        error = run(tools / "st-cuda-host-run", planned, "--steps=2", f"--inputs={given}", f"--outputs={found}")
        if error:
            return "differs", f"on the device, kernels of {chip}: {error}"
        difference = describe_moves(inputs, load_file(wanted), load_file(found), tolerance_of(parallel_file(text)))
        return ("differs", f"on the device, kernels of {chip}: {difference}") if difference else ("ok", "")
    except subprocess.TimeoutExpired as expired:
        return "differs", f"on the device, kernels of {chip}: {pathlib.Path(expired.cmd[0]).name} takes more than {LIMIT} s"


def describe_rows_device(target):
    """T10 with less memory in a core, or fewer cores."""
    text = (pathlib.Path(__file__).resolve().parents[2] / "devices/dtu-t10.textproto").read_text()
    key, value = ROW_DEVICES[target]
    text, count = re.subn(rf"(?m)^({key})\d+", rf"\g<1>{value}", text)
    assert count == 1
    return text


def run_rows(tools, path, folder, target):
    """A step on one of ROW_DEVICES, and of the program before its passes in the interpreter."""
    name, text = path.stem, path.read_text()
    layout, device, binary, phases = (folder / f"{name}.{kind}" for kind in ("json", "textproto", "bin", "phases"))
    given, wanted, found = (folder / f"{name}.{kind}" for kind in ("in", "wanted", "found"))
    parallel = parallel_file(text)
    # Otherwise the backward pass reads stored probabilities.
    layout.write_text(json.dumps({"recompute": "selective", **parallel}))
    device.write_text(describe_rows_device(target))
    inputs = prepared(load_file(given))
    save_file(inputs, given)
    steps = ([tools / "st-compile", "-q", path, f"--target={device}", f"--parallel={layout}", *step_flags(text),
              f"--dump-phases-to={phases}", "-o", binary],
             [tools / "st-translate", "--interpret", phases / "03-optimizer.mlir", f"--inputs={given}", f"--outputs={wanted}"],
             [binary, f"--inputs={given}", f"--outputs={found}"])
    for kind, command in zip(("refused", "broken", "differs"), steps):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return "crashed", f"on the device {target}: {pathlib.Path(command[0]).name} takes more than {LIMIT} s"
        if done.returncode:
            return kind, f"on the device {target}: {done.stderr.strip()[-600:]}"
    difference = describe_moves(inputs, load_file(wanted), load_file(found), tolerance_of(parallel))
    return ("differs", f"on the device {target}: {difference}") if difference else ("ok", "")


def run_on_device(tools, path, folder, target):
    """Kind and message, as in st-differential. NAME.in and NAME.out of the program are in the folder."""
    name, text = path.stem, path.read_text()
    if target == "cuda-kernels":
        return run_kernels(tools, path, folder)
    if target in ROW_DEVICES and "st.model_config" not in text:
        return run_rows(tools, path, folder, target)
    layout, binary, outputs, device = (folder / f"{name}.{kind}" for kind in ("json", "bin", "found", "textproto"))
    parallel, described = parallel_file(text), target
    if target in ROW_DEVICES:
        device.write_text(describe_rows_device(target))
        described = device
    if target.startswith("cuda"):
        parallel.pop("offload", None)  # GPUs have no link to the host's memory that it could use
    if '"rows"' in text and parallel["accum_degree"] > 1:
        return "refused by the device", "an Executable's outputs have no place for several micro-batches"
    layout.write_text(json.dumps(parallel))
    try:
        done = subprocess.run([tools / "st-compile", path, f"--target={described}", f"--parallel={layout}",
                               *step_flags(text), "-o", binary], capture_output=True, text=True, timeout=120)
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
        actual, relative = load_file(outputs), tolerance_of(parallel)
        difference = describe_difference(given, expected, actual, relative)
        if difference and is_ill_conditioned(tools, path, folder, given, expected, actual, relative):
            return "extreme", ""
        return ("differs", f"on the device {target}: {difference}") if difference else ("ok", "")
    except subprocess.TimeoutExpired as expired:
        return "crashed", f"on the device {target}: {pathlib.Path(expired.cmd[0]).name} takes more than 120 s"
    finally:
        for file in (layout, binary, outputs, device):
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
