"""The simulated step of a training binary, from the file of its --report: exact times, and the bytes of each rank."""

import collections
import json
import pathlib
import subprocess

MEBIBYTE = 2**20


def timed_step(binary, *flags):
    """The report of a step: sim_ms, roofline_ms and more (docs/training.md, `--report`)."""
    report = pathlib.Path(f"{binary}.json")
    subprocess.run([binary, "--timing-only", f"--report={report}", *flags], stdout=subprocess.DEVNULL, check=True)
    return json.loads(report.read_text())


def peak(report):
    """MiB of the fullest device."""
    sizes = collections.Counter()
    for rank in report["devices"]:
        sizes[rank["device"]] += rank["arena_bytes"]
    return max(sizes.values()) / MEBIBYTE


def memory(rank):
    """MiB of a rank by class, in all ("total") and on the host ("host")."""
    sizes = rank["memory_bytes"] | {"total": rank["arena_bytes"], "host": rank["host_arena_bytes"]}
    return {name: size / MEBIBYTE for name, size in sizes.items()}
