"""Runs commands with a time limit; their output goes to the log of a stage."""

import os
import shlex
import signal
import subprocess
import time


class Outcome:
    """The result of a command. `code` is None if it timed out, and negative after a signal, as in subprocess."""

    def __init__(self, code, seconds, text):
        self.code, self.seconds, self.text = code, seconds, text

    @property
    def is_good(self):
        return self.code == 0

    def describe(self):
        if self.code is None:
            return "no end within %.0f s" % self.seconds
        if self.code < 0:
            return "ended by %s" % signal.Signals(-self.code).name
        return "exit code %d" % self.code

    def error_lines(self):
        return [line for line in self.text.splitlines() if "error: " in line]


class Log:
    """The log of one stage."""

    def __init__(self, path):
        self.path = path
        path.write_text("")

    def write(self, text):
        with open(self.path, "a") as file:
            file.write(text.rstrip("\n") + "\n")


def end_group(process):
    """Ends a process group, first with SIGTERM. Training binaries then print the reason why they wait. A process
    that hangs in the driver may survive even SIGKILL: then this stops waiting for it."""
    for number, seconds in ((signal.SIGTERM, 1), (signal.SIGKILL, 1)):
        try:
            os.killpg(process.pid, number)
            process.wait(seconds)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


def run(log, command, limit, environment, folder=None):
    return run_together(log, [(command, environment)], limit, folder)


def run_together(log, commands, limit, folder=None):
    """Runs (command, environment) pairs at the same time, with `limit` seconds for all of them. The first failure ends
    the others. Variables of an environment extend those of this process."""
    begin = time.monotonic()
    for command, environment in commands:
        settings = " ".join("%s=%s" % (key, shlex.quote(value)) for key, value in sorted(environment.items()))
        log.write("$ %s %s" % (settings, " ".join(shlex.quote(str(part)) for part in command)))
    offset = log.path.stat().st_size
    processes = []
    try:
        for command, environment in commands:
            with open(log.path, "ab") as output:
                processes.append(subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=output,
                                                  stderr=output, env=dict(os.environ, **environment), cwd=folder,
                                                  start_new_session=True))
        code = wait_for_all(processes, begin + limit)
    except OSError as error:
        log.write("error: cannot start: %s" % error)
        code = 127
    finally:
        for process in processes:
            end_group(process)  # Also for a process that ended: it may have started others.
    seconds = time.monotonic() - begin
    with open(log.path, "rb") as output:
        output.seek(offset)
        text = output.read().decode(errors="replace")
    outcome = Outcome(code, seconds, text)
    log.write("# %s after %.2f s\n" % (outcome.describe(), seconds))
    return outcome


def wait_for_all(processes, end):
    """Returns the first exit code other than 0, or None if the time is over."""
    while True:
        codes = [process.poll() for process in processes]
        for code in codes:
            if code not in (None, 0):
                return code
        if all(code == 0 for code in codes):
            return 0
        if time.monotonic() >= end:
            return None
        time.sleep(0.01)
