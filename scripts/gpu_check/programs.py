"""Stages whose rows are programs of the bundle: run once on given tensors, or trained for a few steps."""

import json
import re
import socket
import statistics
import time

import diagnosis
import tensors
from bundle import Damaged
from running import run_together
from table import FAILED, FALLBACK, LEFT_OUT, OK

NEEDS = {"driver": "GPU", "cublasLt": "libcublasLt", "cudnn": "libcudnn", "nccl": "libnccl", "runner": "runner that starts"}
RERUN_SECONDS = 15  # of each run that diagnoses the first failure


class Command:
    """The command of a row: a program and its flags, in one or several processes."""

    def __init__(self, check, row):
        self.check, self.row = check, row
        self.binary = check.bundle.program(row["program"], check.chip, check.work)
        self.metrics, self.found = check.work / "metrics.jsonl", check.work / "found.safetensors"
        self.trace = check.results / ("%s.trace.json" % row["program"])

    def flags(self):
        row = self.row
        known = [flag for flag in row.get("flags_if_known", ()) if flag.split("=")[0] in self.check.flags]
        if "inputs" in row:
            return known + ["--inputs=%s" % self.check.bundle.tensors(row["inputs"], self.check.work), "--outputs=%s" % self.found]
        flags = ["--steps=%d" % row["steps"], "--metrics=%s" % self.metrics, "--watchdog=10", *row.get("flags", [])]
        return flags + (["--trace=%s" % self.trace] if row.get("trace") else [])

    def environments(self):
        """Yields one environment per process."""
        settings = dict(self.check.environment)
        for key, value in self.row.get("environment", {}).items():
            settings[key] = value.replace("{bundle}", str(self.check.bundle.folder))
        count = self.row.get("processes", 1)
        if count == 1:
            return [settings]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        return [dict(settings, RANK=str(i), WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
                for i in range(count)]

    def run(self, log, limit, *more, before=()):
        for path in (self.metrics, self.found):
            if path.exists():
                path.unlink()
        command = [*before, self.binary, *self.flags(), *more]
        return run_together(log, [(command, environment) for environment in self.environments()], limit)


class Wrong(Exception):
    """A run succeeded with wrong numbers; has the call and the next thing to try."""

    def __init__(self, what, call, next_):
        super().__init__(what)
        self.call, self.next = call, next_


# ---- results of a run ---------------------------------------------------------------------------


def judge_tensors(command):
    row = command.row
    next_ = "compare with another driver or library version; the log has the command, bundle.json the bound"
    try:
        found = tensors.read(command.found)
    except (OSError, ValueError) as error:
        raise Wrong(str(error), "writing %s" % command.found, "see the log: the run ended without its outputs")
    wanted = tensors.read(command.check.bundle.tensors(row["wanted"], command.check.work))
    worst, wrong = 0, []
    for name, bound in row["bounds"].items():
        if name not in found:
            raise Wrong("no tensor %s" % name, "writing %s" % command.found, "make the bundle again")
        distance, why = tensors.compare(found[name], wanted[name], bound)
        worst = max(worst, distance)
        if why:
            wrong.append("%s%s %s" % (name, " of %s" % row["owners"][name] if name in row.get("owners", {}) else "", why))
    if wrong:
        raise Wrong("%d of %d results are wrong: %s" % (len(wrong), len(row["bounds"]), wrong[0]), row["call"], next_)
    return "%d results, largest difference %.2g%s" % (
        len(row["bounds"]), worst, " (bound %g)" % row["bounds"]["result0"][1] if len(row["bounds"]) == 1 else ""), {
            "difference": worst}


def read_metrics(command):
    try:
        rows = [json.loads(line) for line in command.metrics.read_text().splitlines()]
    except (OSError, ValueError) as error:
        raise Wrong("no metrics: %s" % error, "writing %s" % command.metrics, "see the log: the run ended without its metrics")
    if len(rows) != command.row["steps"]:
        raise Wrong("%d steps in the metrics, expected %d" % (len(rows), command.row["steps"]), "training", "see the log")
    return rows


def judge_losses(row, losses):
    text = "losses %s" % " ".join("%.6f" % loss for loss in losses[:1] + losses[-1:] if len(losses) > 1 or loss)
    if "losses" in row:
        wanted = row["losses"][:len(losses)]
        steps = [abs(a - b) / abs(b) for a, b in zip(losses, wanted)]
        apart = max((s if s == s else float("inf")) for s in steps)
        text += ", expected %s; %.1e apart (bound %.0e)" % (
            " ".join("%.6f" % x for x in wanted[:1] + wanted[-1:]), apart, row["bound"])
        good, first = apart <= row["bound"], next((i + 1 for i, s in enumerate(steps) if not s <= row["bound"]), 0)
    else:
        low, high = row["first_loss"]
        good, first = low <= losses[0] <= high and all(loss == loss for loss in losses), 1
        text += ", the first is expected from %.2f to %.2f" % (low, high)
    if good:
        return text
    if first == 1:
        what = "a product or kernel of the first step; the stages before this one say which are right"
    else:
        what = "what runs from step %d on: recording (2) or replaying (3) of graphs, or the optimizer" % first
    raise Wrong("from step %d on: %s" % (first, text), what, "run the command of the log with --sync, then with --graphs=off and "
                "--attention=generated: the first of them with the expected losses names what is wrong")


def judge_trace(command):
    try:
        events = json.loads(command.trace.read_text())["traceEvents"]
    except (OSError, ValueError, KeyError) as error:
        raise Wrong("no trace: %s" % error, "writing %s" % command.trace, "give a folder with space and rights by --results")
    kernels = [event for event in events if event.get("ph") == "X"]
    if not kernels:
        raise Wrong("%s has no events" % command.trace, "cuEventElapsedTime", "run the command of the log with --sync")
    return "; trace %s" % command.trace.name


def judge_training(command, outcome):
    row = command.row
    metrics = read_metrics(command)
    text = judge_losses(row, [line["loss"] for line in metrics])
    numbers = {"losses": [line["loss"] for line in metrics]}
    if "samples" in row:
        # The first three steps also set up, record and replay graphs for the first time; the last one is traced without
        # graphs.
        seconds = statistics.median(line["host_s"] for line in metrics[3:-1])
        peaks = re.findall(r"^[\d,-]+ +\d+ +[\d.]+ .* ([\d.]+)$", outcome.text, re.M)
        text = "%.2f ms a step, %.1f samples/s, %.1f TFLOP/s, %s MiB; %s" % (
            1e3 * seconds, row["samples"] / seconds, row["flops"] / seconds / 1e12, max(peaks, key=float, default="?"), text)
        numbers.update(step_seconds=seconds, samples_per_second=row["samples"] / seconds)
    notes = [line.strip() for line in outcome.text.splitlines() if line.startswith("attention: ")]
    return text + "".join("; " + note for note in notes) + (judge_trace(command) if row.get("trace") else ""), numbers


# ---- failures -----------------------------------------------------------------------------------


def diagnose_again(check, command, log, found):
    """Runs the first failure again with --sync, and if that works, with --graphs=off."""
    check.is_diagnosed = True
    ways = (["--sync"],) if "inputs" in command.row or outcome_is_hang(found) else (["--sync"], ["--graphs=off"])
    for more in ways:
        seconds = min(RERUN_SECONDS, check.deadline - time.monotonic())
        if seconds < 1:
            return
        outcome = command.run(log, seconds, *more)
        check.diagnosis_seconds += outcome.seconds
        if "unknown flag %s" % more[0].split("=")[0] in outcome.text:
            found.more.append("the runner of this bundle has no %s" % more[0])
        elif outcome.is_good:
            found.more.append("with %s it runs" % more[0])
        else:
            last = diagnosis.last_error(outcome.text).split("error: ")[-1]
            found.more.append("with %s: %s%s" % (more[0], outcome.describe() + ": " if outcome.code is None else "", last))
            named = re.search(r"((?:kernel|product|attention|gradient) .*?) in task ", last)
            if named and (found.call == diagnosis.ASYNCHRONOUS or outcome_is_hang(found)):
                found.call = "%s%s" % ("cuLaunchKernel of " * named.group(1).startswith("kernel"), named.group(1))
            return


def outcome_is_hang(found):
    return "no end within" in found.call


def run_row(check, stage, row, log, end):
    """Runs a row and writes its result to the table."""
    lacking = [NEEDS[need] for need in row["needs"] if not check.has.get(need)]
    if lacking:
        check.table.add(stage.name, row["name"], LEFT_OUT, 0, "not run: no %s" % ", no ".join(lacking))
        return
    begin = time.monotonic()
    limit = min(row["limit"], end - begin)
    if limit < 0.5:
        check.table.add(stage.name, row["name"], FAILED, 0, "not run: the time of the stage is over", diagnosis.Diagnosis(
            "none", "run this stage alone: --stages=%s" % stage.name), log.path)
        return
    command, outcome = None, None
    try:
        command = Command(check, row)
        outcome = command.run(log, limit)
        if not outcome.is_good:
            found = diagnosis.of_outcome(outcome)
            result = outcome.describe() + ": " + diagnosis.last_error(outcome.text).split("error: ")[-1]
        else:
            text, numbers = judge_tensors(command) if "inputs" in row else judge_training(command, outcome)
            other = diagnosis.find_fallback(outcome.text, row.get("ways", ()))
            if other:
                check.table.add(stage.name, row["name"], FALLBACK, outcome.seconds, "%s; %s" % (other[0], text), other[1], log.path,
                                **numbers)
            else:
                check.table.add(stage.name, row["name"], OK, outcome.seconds, text, **numbers)
            return
    except Damaged as error:
        found, result = diagnosis.of_text(str(error)), str(error)
    except Wrong as error:
        found, result = diagnosis.Diagnosis(error.call, error.next), str(error)
        log.write("wrong: %s" % error)
    seconds = time.monotonic() - begin
    if outcome and not check.is_diagnosed:
        diagnose_again(check, command, log, found)
    check.table.add(stage.name, row["name"], FAILED, seconds, result, found, log.path)


def run_stage(check, stage, log, end):
    for row in check.bundle.rows:
        if row["stage"] == stage.name:
            run_row(check, stage, row, log, end)
