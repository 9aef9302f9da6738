"""Commands with a time limit, whose output goes into the log of a stage."""

import os
import shlex
import signal
import subprocess
import time


class Outcome:
    """How a command ended. `code` is None where it ran out of time, and negative after a signal, as subprocess has it."""

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
    """First by SIGTERM, at which training binaries say what they wait for. A process that hangs in the driver may outlive
    SIGKILL too: it is not waited for any longer."""
    for number, seconds in ((signal.SIGTERM, 1), (signal.SIGKILL, 1)):
        try:
            os.killpg(process.pid, number)
            process.wait(seconds)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


def run(log, command, limit, environment, folder=None):
    return run_together(log, [(command, environment)], limit, folder)


def run_together(log, commands, limit, folder=None):
    """Runs (command, environment) pairs at the same time. All of them have `limit` seconds in all; the first that fails
    ends the others. Variables of an environment are added to those of this process."""
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
            end_group(process)  # Also of one that has ended: what it has started.
    seconds = time.monotonic() - begin
    with open(log.path, "rb") as output:
        output.seek(offset)
        text = output.read().decode(errors="replace")
    outcome = Outcome(code, seconds, text)
    log.write("# %s after %.2f s\n" % (outcome.describe(), seconds))
    return outcome


def wait_for_all(processes, end):
    """The first code that is not 0, None where the time is over."""
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
