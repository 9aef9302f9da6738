"""Stages that run other software on this machine: compute-sanitizer, and PyTorch."""

import json
import statistics
import time

import diagnosis
import libraries
from programs import NEEDS, Command
from bundle import Damaged
from running import run
from table import FAILED, LEFT_OUT, OK

ERROR_CODE = 99  # of compute-sanitizer when it finds errors


def sanitize(check, stage, log, end):
    """Runs compute-sanitizer on the rows of the bundle that ask for it; other stages check their results."""
    tool = libraries.find_tool("compute-sanitizer")
    if not tool:
        check.table.add(stage.name, "compute-sanitizer", LEFT_OUT, 0,
                        "is neither on PATH nor in a CUDA toolkit; pip install nvidia-cuda-sanitizer-api brings it")
        return
    for row in check.bundle.rows:
        if row["stage"] != stage.name:
            continue
        limit = min(row["limit"], end - time.monotonic())
        lacking = [NEEDS[need] for need in row["needs"] if not check.has.get(need)]
        if lacking or limit < 1:
            check.table.add(stage.name, row["name"], LEFT_OUT, 0, "not run: %s" % (
                "no " + ", no ".join(lacking) if lacking else "the time of the stage is over"))
            continue
        try:
            outcome = Command(check, row).run(log, limit, before=[tool, "--tool", row["tool"], "--error-exitcode", str(ERROR_CODE)])
        except Damaged as error:
            check.table.add(stage.name, row["name"], FAILED, 0, str(error), diagnosis.of_text(str(error)), log.path)
            continue
        errors = [line for line in outcome.text.splitlines() if line.startswith("=========") and len(line) > 10]
        if outcome.is_good:
            check.table.add(stage.name, row["name"], OK, outcome.seconds, (errors or ["nothing found"])[-1].strip("= "))
            continue
        if outcome.code == ERROR_CODE:
            said = [line.strip("= ") for line in errors if not line.endswith("COMPUTE-SANITIZER")]
            text = " ".join(said[:3])
            found = diagnosis.Diagnosis("%s: %s" % (row["tool"], text), "the log has the kernel, block and thread; "
                                        "`st-translate --executable-to-text` of the program has the kernel's arguments")
        else:
            text, found = outcome.describe(), diagnosis.of_outcome(outcome)
        check.table.add(stage.name, row["name"], FAILED, outcome.seconds, text, found, log.path)


def torch_python(log, end):
    """A python3 with PyTorch for GPUs, or the reason why there is none."""
    reason = "no python3 was found"
    for python in libraries.pythons():
        outcome = run(log, [python, "-c", "import torch; print(torch.__version__, torch.cuda.is_available())"],
                      max(1, min(30, end - time.monotonic())), {})
        words = outcome.text.split()
        if outcome.is_good and words[-1:] == ["True"]:
            return python, words[0]
        reason = "%s: %s" % (python, diagnosis.last_error(outcome.text))
    return None, reason


def time_torch(check, stage, log, end):
    """Times PyTorch's step. This is optional, so it is never the first failure."""
    peer = check.bundle.manifest.get("peer")
    if not peer:
        check.table.add(stage.name, "PyTorch", LEFT_OUT, 0, "the bundle has no peer")
        return
    if not check.has.get("driver"):
        check.table.add(stage.name, "PyTorch", LEFT_OUT, 0, "not run: no GPU")
        return
    python, version = torch_python(log, end)
    if not python:
        check.table.add(stage.name, "PyTorch", LEFT_OUT, 0, "%s; ST_TORCH names a python3 that has it" % version)
        return
    for row in peer["rows"]:
        limit = end - time.monotonic()
        if limit < 5:
            check.table.add(stage.name, row["name"], LEFT_OUT, 0, "not run: the time of the stage is over")
            continue
        folder = check.bundle.folder
        command = [python, folder / peer["script"], folder / peer["config"], *row["flags"]]
        outcome = run(log, command, limit, {})
        try:
            made = json.loads(outcome.text.splitlines()[-1]) if outcome.is_good else {}
            seconds = statistics.median(made["seconds"][1:])
        except (ValueError, KeyError, IndexError):
            check.table.add(stage.name, row["name"], LEFT_OUT, outcome.seconds, "%s: %s" % (
                outcome.describe(), diagnosis.last_error(outcome.text)))
            continue
        check.table.add(stage.name, row["name"], OK, outcome.seconds, "%.2f ms a step, %.1f samples/s, %.1f TFLOP/s, %d MiB; %s %s" % (
            1e3 * seconds, row["samples"] / seconds, row["flops"] / seconds / 1e12, made["bytes"] / 2**20, made["peer"], version),
            step_seconds=seconds, samples_per_second=row["samples"] / seconds)
