"""Stores measured figures as JSON, which benchmarks/report.py prints as the tables of docs/performance.md.

A benchmark calls add_option(parser) and opens Figures. With --json=FILE each figure is written to FILE as soon as it
is measured, with the command, the machine and the commit. FILE keeps the figures of other cases, so several commands may
share one file. Without --json nothing is written.

The file is an object: "question" is a table of the page, "rows" are the figures. A row has "case", "command", "machine",
"commit" and either "value" and "unit" or "failed", the reason why there is no figure. A row may have "also", other
values of the case ({"peak": [2847, "MiB"]}), and "baseline", what the value is compared with ({"name": ..., "value": ...}).
"""

import json
import os
import pathlib
import platform
import shlex
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIMULATED = "simulated"  # Simulated time depends only on the compiled program.


class PeerFailure(Exception):
    """A program that a benchmark runs fails. The message is the reason."""


def run(command, **options):
    """The standard output of a program, or PeerFailure if it is missing, is killed or fails."""
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    except OSError as error:
        raise PeerFailure(f"missing: {command[0]}: {error.strerror}") from error
    if done.returncode < 0:
        raise PeerFailure(f"killed by {signal.Signals(-done.returncode).name}")
    if done.returncode > 0:
        lines = done.stderr.strip().splitlines()
        reason = f"exit {done.returncode}" + (f": {lines[-1][:300]}" if lines else "")
        raise PeerFailure(f"missing: {lines[-1]}" if lines and "ModuleNotFoundError" in lines[-1] else reason)
    return done.stdout


def run_peer(command, **options):
    """The JSON object in the last line that a peer prints."""
    lines = run(command, **options).splitlines()
    try:
        return json.loads(lines[-1] if lines else "")
    except json.JSONDecodeError as error:
        raise PeerFailure(f"expected a line of JSON, found {lines[-1][:80]!r}" if lines else "printed nothing") from error


def host():
    """The processor and the number of cores that this process may use."""
    model = platform.machine()
    info = pathlib.Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.exists() else ():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return f"{len(os.sched_getaffinity(0))} cores of {model}"


def gpu():
    """The name of the first GPU."""
    return run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]).splitlines()[0].strip()


def commit():
    """The short hash of HEAD, with "+" if tracked files differ from it."""
    short = run(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT).strip()
    return short + ("+" if run(["git", "status", "--porcelain", "--untracked-files=no"], cwd=ROOT).strip() else "")


def command():
    """The command line of this process as a user would type it at the root of the repository."""
    flags = [word for word in sys.argv[1:] if not word.startswith("--json")]
    path = pathlib.Path(sys.argv[0]).resolve()
    return shlex.join([str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path), *flags])


def number(value):
    """At most four significant digits, and thousands separated."""
    if isinstance(value, str):
        return value
    if abs(value) >= 1000:
        digits = len(str(int(abs(value)))) - 4
        return f"{round(value, -digits):,.0f}"
    return f"{value:.4g}"


def add_option(parser):
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="store the figures there, for benchmarks/report.py")


class Figures:
    """Figures of one benchmark for a table of the page. A case that is measured again replaces its row."""

    def __init__(self, file, question, machine):
        self.file, self.question = file, question
        self.origin = {"command": command(), "machine": machine, "commit": commit()} if file else {}

    def add(self, case, value, unit, also=None, baseline=None):
        row = {"case": case, "value": value, "unit": unit}
        self.store(row | ({"also": also} if also else {}) | ({"baseline": baseline} if baseline else {}))

    def failed(self, case, reason):
        self.store({"case": case, "failed": reason})

    def store(self, row):
        if not self.file:
            return
        found = json.loads(self.file.read_text()) if self.file.exists() else {"question": self.question, "rows": []}
        rows = {one["case"]: one for one in found["rows"]}
        rows[row["case"]] = row | self.origin
        lines = ",\n".join("  " + json.dumps(one, ensure_ascii=False) for one in rows.values())
        self.file.write_text(f'{{"question": {json.dumps(found["question"])}, "rows": [\n{lines}\n]}}\n')
