"""Finds NVIDIA's libraries on this machine, and reads their versions."""

import glob
import json
import os
import pathlib
import re
import shutil
import sys
import time

import diagnosis
from bundle import Damaged
from running import run
from table import FAILED, MISSING, OK

# kind -> names in the order in which training binaries try them, the format of versions, and the effect if it is
# missing.
KINDS = {
    "driver": (("libcuda.so.1",), lambda v: "%d.%d" % (v // 1000, v % 1000 // 10), None),
    "cublasLt": (("libcublasLt.so", "libcublasLt.so.13", "libcublasLt.so.12"),
                 lambda v: "%d.%d.%d" % (v // 10000, v // 100 % 100, v % 100), None),
    "cudnn": (("libcudnn.so.9",), lambda v: "%d.%d.%d" % (v // 10000, v // 100 % 100, v % 100),
              "generated kernels do attention"),
    "nccl": (("libnccl.so.2",), lambda v: "%d.%d.%d" % (v // 10000, v // 100 % 100, v % 100),
             "ranks exchange by copies and through the host's memory"),
}


def pythons():
    """Interpreters that may have PyTorch: $ST_TORCH, python3 on PATH, conda's, and this one."""
    names = [os.environ.get("ST_TORCH"), shutil.which("python3"), sys.executable]
    names += [os.path.join(root, "bin/python3") for root in (os.environ.get("CONDA_PREFIX"), "/opt/conda", "/opt/venv") if root]
    return list(dict.fromkeys(name for name in names if name and os.access(name, os.X_OK)))


def package_folders(log):
    """The folders nvidia/*/lib in the packages of all these interpreters."""
    found = []
    for python in pythons():
        code = "import site, sys; print('\\n'.join([*sys.path, site.getusersitepackages()]))"
        outcome = run(log, [python, "-c", code], 3, {})
        for folder in outcome.text.splitlines() if outcome.is_good else []:
            if folder.startswith("/"):
                found += sorted(glob.glob(folder + "/nvidia/*/lib")) + glob.glob(folder + "/torch/lib")
    return list(dict.fromkeys(found))


def toolkit_folders():
    roots = [os.environ.get("CUDA_HOME", "")] + sorted(glob.glob("/usr/local/cuda*"), reverse=True)
    return [folder for root in roots if root for folder in glob.glob(root + "/lib64") + glob.glob(root + "/targets/*/lib")]


def has_library(folder):
    return any(glob.glob(os.path.join(folder, stem + "*")) for stem in ("libcublasLt.so", "libcudnn.so", "libnccl.so"))


def search_path(log, given):
    """LD_LIBRARY_PATH for programs that run here: the given one, the user's, then folders of Python packages and CUDA
    toolkits."""
    given = [folder for folder in (given + ":" + os.environ.get("LD_LIBRARY_PATH", "")).split(":") if folder]
    found = [folder for folder in package_folders(log) + toolkit_folders() if has_library(folder)]
    return ":".join(dict.fromkeys(given + found))


def find_tool(name):
    """A tool of CUDA: on PATH, in a toolkit, or in a Python package, or None."""
    toolkits = [os.environ.get("CUDA_HOME", "/usr/local/cuda"), *glob.glob("/usr/local/cuda-*")]
    places = [shutil.which(name)] + [os.path.join(root, folder, name) for root in toolkits for folder in ("bin", name)]
    for folder in sys.path:
        places += glob.glob(os.path.join(folder, "nvidia/*/bin", name))
    return next((place for place in places if place and os.access(place, os.X_OK)), None)


def probe(log, kind, environment, limit):
    """The output of probe.py for a library, as a dictionary with "error" and "call" if it fails."""
    script = pathlib.Path(__file__).with_name("probe.py")
    outcome = run(log, [sys.executable, script, kind, *KINDS[kind][0]], limit, environment)
    for line in reversed(outcome.text.splitlines()):
        try:
            return json.loads(line)
        except ValueError:
            pass
    return {"call": "opening %s" % KINDS[kind][0][0], "error": "%s: %s" % (outcome.describe(), outcome.text[-200:].strip())}


def too_old(check, kind, found):
    least = check.bundle.manifest["least"].get(kind, 0)
    if found["version"] >= least:
        return None
    text = KINDS[kind][1]
    return {"call": "version of %s" % KINDS[kind][0][0],
            "error": "%s is too old: %s or newer is needed" % (text(found["version"]), text(least))}


def next_step(kind, found):
    dependency = re.search(r"(lib[\w.+-]+): cannot open shared object", found["error"])
    if dependency and dependency.group(1) not in KINDS[kind][0]:
        return "install %s, which %s needs, or name its folder in LD_LIBRARY_PATH" % (dependency.group(1), KINDS[kind][0][0])
    if kind != "driver":
        return diagnosis.PIP % diagnosis.PACKAGES[kind]
    number = re.search(r"\((\d+)\)$", found["error"])
    return diagnosis.DRIVER_NEXT.get(int(number.group(1)) if number else 0, diagnosis.DRIVER)


def describe(kind, found):
    text = "%s at %s" % (KINDS[kind][1](found["version"]), found["path"])
    for gpu in found.get("gpus", []):
        text += "; %s, sm_%d, %.1f GiB" % (gpu["name"], gpu["capability"], gpu["bytes"] / 2**30)
    return text


def check_gpus(check, found):
    """Stores the GPUs that the driver lists, and returns any problem with them."""
    if not found["gpus"]:
        return {"call": "cuDeviceGetCount", "error": "the driver has no GPU (100)"}
    check.gpus = found["gpus"]
    lowest = min(gpu["capability"] for gpu in check.gpus)
    check.chip = check.bundle.choose_chip(lowest)
    if check.chip:
        return None
    return {"call": "cuDeviceGetAttribute (compute capability)", "error": "sm_%d is too old: the bundle has %s" % (
        lowest, ", ".join(check.bundle.manifest["chips"])), "next": "take a GPU of compute capability 8.0 or more"}


def check_glibc(check, stage, log):
    have, need = os.confstr("CS_GNU_LIBC_VERSION").split()[-1], check.bundle.manifest["glibc"]
    numbers = lambda text: [int(part) for part in text.split(".")]
    good = numbers(have) >= numbers(need)
    check.table.add(stage.name, "glibc", OK if good else FAILED, 0, "%s, at least %s is needed" % (have, need),
                    None if good else diagnosis.Diagnosis("the loader: GLIBC_%s of libc.so.6" % need,
                                                          "take a machine or container with glibc %s or newer" % need), log.path)


def check_runner(check, stage, log):
    """Checks that training binaries start, and finds their flags."""
    try:
        path = check.bundle.runner(check.work)
    except Damaged as error:
        check.has["runner"] = False
        check.table.add(stage.name, "runner", FAILED, 0, str(error), diagnosis.of_text(str(error)), log.path)
        return
    outcome = run(log, [path, "--help"], 10, {})
    check.has["runner"] = outcome.is_good
    check.flags = set(re.findall(r"^ +(--[\w-]+)", outcome.text, re.M))
    check.table.add(stage.name, "runner", OK if outcome.is_good else FAILED, outcome.seconds,
                    "%d flags" % len(check.flags) if outcome.is_good else outcome.describe(),
                    None if outcome.is_good else diagnosis.of_outcome(outcome), log.path)


def run_stage(check, stage, log, end):
    """Opens each library in the same way as training binaries."""
    check_glibc(check, stage, log)
    check_runner(check, stage, log)
    path = search_path(log, check.environment.get("LD_LIBRARY_PATH", ""))
    if path:
        check.environment["LD_LIBRARY_PATH"] = path
    if shutil.which("nvidia-smi"):
        run(log, ["nvidia-smi"], 5, {})
    for kind, (_, _, lost) in KINDS.items():
        found = probe(log, kind, check.environment, max(1, min(10, end - time.monotonic())))
        wrong = found if "error" in found else too_old(check, kind, found) or (
            check_gpus(check, found) if kind == "driver" else None)
        check.has[kind] = wrong is None
        if wrong is None:
            check.table.add(stage.name, kind, OK, 0, describe(kind, found), found=found)
            continue
        state = MISSING if lost else FAILED
        text = wrong["error"] + ("; %s" % lost if lost else "")
        check.table.add(stage.name, kind, state, 0, text,
                        diagnosis.Diagnosis(wrong["call"], wrong.get("next") or next_step(kind, wrong)), log.path)
