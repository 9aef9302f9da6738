"""A process that computes more slowly than others with the same work is named; a run without one names none."""

import json
import os
import pathlib
import re
import signal
import sys
import threading
import time

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from process_launchers import by_tcp, finish
from st_errors import expect_error
from test_processes import wait_for_all

GPT = dict(st.SMALL_GPT2, n_layer=2)
WINDOW = 5
VICTIM = 2
NAMED = re.compile(rf"straggler: process {VICTIM} on (\S+) \(device (\d+)\) computes ([0-9.]+) times as long as other processes "
                   rf"with the same work, over {2 * WINDOW} steps")
FAST_AGAIN = f"straggler: process {VICTIM} on "


class Run:
    """Four ranks with the same work, in four processes."""

    def __init__(self, folder, target, *flags):
        binary = st.compile_model(folder, "model", GPT, "clm", {"mode": "sharding", "data": 4}, "--lr=1e-3", f"--target={target}",
                                  batch=8, seq=64)
        self.metrics = folder / "metrics"
        arguments = [binary, f"--metrics={self.metrics}", f"--straggler-window={WINDOW}", "--host-threads=1", *flags]
        self.run = by_tcp(4, "sh", "-c", 'echo process $RANK of 4 is $$; exec "$@"', "sh", *arguments)
        self.pids = wait_for_all(self.run, 4)
        self.errors = []
        self.reader = threading.Thread(target=lambda: self.errors.extend(iter(self.run.stderr.readline, "")))
        self.reader.start()

    def wait_for_step(self, step):
        while not (line := self.run.stdout.readline()).startswith(f"step {step} "):
            st.expect(line, f"ended early: {self.errors}")

    def steps(self):
        return [json.loads(line) for line in self.metrics.read_text().splitlines() if line.endswith("}")]

    def says(self, text):
        return any(re.search(text, line) for line in self.errors)

    def end(self):
        os.kill(self.pids[0], signal.SIGKILL)
        self.run.stdout.close()
        self.run.wait(60)
        self.reader.join()


def slow_down(pid, seconds, until, limit=60):
    """Lets a process run for a part of the time, in pieces shorter than a step, until a condition holds."""
    deadline = time.time() + limit
    while not until():
        st.expect(time.time() < deadline, "nothing was said")
        os.kill(pid, signal.SIGSTOP)
        time.sleep(4 * seconds)
        os.kill(pid, signal.SIGCONT)
        time.sleep(seconds)


def slowed(target):
    return lambda folder: names_the_slow_one(folder, target)


def names_the_slow_one(folder, target):
    run = Run(folder, target, "--steps=1000000", "--watchdog=60")
    drain = threading.Thread(target=lambda: [None for _ in iter(run.run.stdout.readline, "")])
    try:
        run.wait_for_step(3)
        drain.start()
        step = sorted(one["host_s"] for one in run.steps())[0]
        slow_down(run.pids[VICTIM], step / 3, lambda: run.says(NAMED.pattern))
        deadline = time.time() + 60
        while not run.says(FAST_AGAIN + r"\S+ \(device \d+\) computes as fast as other processes again"):
            st.expect(time.time() < deadline, f"still slow: {run.errors}")
            time.sleep(0.05)
    finally:
        run.end()
        drain.join()
    named = [NAMED.match(line) for line in run.errors if "times as long" in line]
    st.expect(len(named) == 1 and named[0] and int(named[0][2]) == VICTIM, f"{run.errors}")
    told = [one for step in run.steps() for one in step.get("stragglers", [])]
    st.expect(told and {(one["process"], one["devices"], one["steps"]) for one in told} == {(VICTIM, named[0][2], 2 * WINDOW)}, f"{told}")
    # The message has one digit after the point, the metrics have two: each is rounded from the same number.
    printed, slowdown = float(named[0][3]), told[0]["slowdown"]
    st.expect(abs(printed - slowdown) < 0.0551 and slowdown > 2, f"{named[0][0]}, {told[0]}")
    return f"{named[0][3]} times as long, steps of {1000 * step:.0f} ms"


def undisturbed(target):
    return lambda folder: names_none(folder, target)


def names_none(folder, target):
    run = Run(folder, target, f"--steps={6 * WINDOW}")
    run.reader.join()
    out = run.run.stdout.read()
    st.expect(run.run.wait(60) == 0 and f"step {6 * WINDOW} " in out, f"{run.errors}")
    st.expect(not run.says("straggler:") and not any("stragglers" in step for step in run.steps()), f"{run.errors}")


def refused(folder):
    binary = st.compile_model(folder, "model", st.SMALL_GPT2, "clm", None, batch=1)
    expect_error([binary, "--straggler-factor=0.5"], "--straggler-factor=0.5: expected a number above 1, or 0")
    expect_error([binary, "--straggler-window=0"], "--straggler-window=0: expected 1 or more steps")


if __name__ == "__main__":
    cases = [(f"{name}, {target}", case(target)) for target in ("dtu-t10", "cuda-host")
             for name, case in (("slowed", slowed), ("undisturbed", undisturbed))]
    sys.exit(st.main(*cases, ("refused", refused)))
