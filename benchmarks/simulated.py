"""Benchmarks of simulated steps: their options, and the step of a training binary from the file of its --report, with exact times
and the bytes of each rank."""

import argparse
import collections
import json
import pathlib
import subprocess

import figures

MEBIBYTE = 2**20


def read_options(description, **defaults):
    """The command line: a flag for each default, of its type, `--build` and `--json`. A default that is a type is a flag without
    a default."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    for name, default in defaults.items():
        if isinstance(default, type):
            parser.add_argument(f"--{name}", type=default)
        else:
            parser.add_argument(f"--{name}", type=type(default), default=default)
    parser.add_argument("--build", default="build")
    figures.add_option(parser)
    return parser.parse_args()


def timed_step(binary, *flags):
    """The report of a step: sim_ms, roofline_ms and more (docs/training.md, `--report`)."""
    report = pathlib.Path(f"{binary}.json")
    subprocess.run([binary, "--timing-only", f"--report={report}", *flags], capture_output=True, check=True)
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
