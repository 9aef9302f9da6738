"""The tools of St and of CUDA that make a bundle."""

import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOOTER_BYTES = 40  # lib/Runtime/Program/Payload.h


class Failed(Exception):
    pass


def run(command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise Failed(f"{pathlib.Path(command[0]).name}: exit {done.returncode}: {done.stderr.strip()[-600:]}")
    return done.stdout


def find_assembler():
    """The folder of ptxas: from a Python package, next to this Python, or where st-compile looks by itself."""
    for package in pathlib.Path(sys.prefix).glob("lib/python*/site-packages/nvidia/cu*/bin/ptxas"):
        return package.parent
    installed = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin/ptxas")
    found = shutil.which("ptxas") or (installed if installed.exists() else None)
    if not found:
        raise Failed("no ptxas: install PyPI's nvidia-cuda-nvcc into .venv, or name CUDA's folder in CUDA_HOME")
    return pathlib.Path(found).parent


def program_of(binary):
    """The bytes between the runner and the footer of a training binary."""
    data = pathlib.Path(binary).read_bytes()
    runner, program = struct.unpack_from("<QQ", data, len(data) - FOOTER_BYTES)
    if runner + program + FOOTER_BYTES != len(data):
        raise Failed(f"{binary}: expected a training binary, found another file")
    return data[runner:runner + program]


def bare_runner(path, folder):
    """The runner without symbols, and the version of glibc that it needs. Other needed libraries are an error."""
    needed = re.findall(r"NEEDED +(\S+)", run(["objdump", "-p", path]))
    others = [name for name in needed if not re.fullmatch(r"lib(c|m|dl|rt|pthread)\.so\.\d+|ld-linux-x86-64\.so\.2", name)]
    if others:
        raise Failed(f"{path}: expected a runner that needs glibc's libraries alone, it needs {', '.join(others)}")
    versions = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([\d.]+)", run(["objdump", "-T", path]))}
    stripped = folder / "runner"
    run(["strip", "--strip-all", "-o", stripped, path])
    return stripped.read_bytes(), ".".join(map(str, max(versions)))


def constant_of(header, name):
    """A number that a header of the runtime declares."""
    text = (ROOT / "backends/cuda/runtime" / header).read_text()
    found = re.search(rf"{name} = (\d+)", text)
    if not found:
        raise Failed(f"{header} has no {name}")
    return int(found[1])


def describe_checkout():
    try:
        return run(["git", "-C", ROOT, "describe", "--always", "--dirty"]).strip()
    except (Failed, OSError):
        return "unknown"
