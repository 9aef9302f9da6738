"""Processes that mpirun started talk through the Communicator; one that is lost ends the others.

What runs is test/unit/Runtime/CommunicatorCheck.cpp. Each process says which other one ended, and what it waited for,
before the launcher ends them all. One that hangs is found by the watchdog.
"""

import os
import random
import re
import signal
import subprocess
import sys
import time

import st_testing as st

MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]
CHECK = st.BIN / "st-communicator-check"
KILLED = 20 if os.environ.get("ST_ALL") else 4  # times
WATCHDOG = 5


def start(processes, *arguments):
    return subprocess.Popen([*MPIRUN, "-np", str(processes), *map(str, arguments)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def finish(run):
    out, err = run.communicate(timeout=120)
    return run.returncode, out, err


def exchange(processes):
    def case(folder):
        code, out, err = finish(start(processes, CHECK, "exchange", 60))
        st.expect(code == 0, f"exit {code}: {err}")
        found = sorted(re.findall(r"process (\d+) of (\d+) is \d+ and holds rank 7: (\d)", out))
        st.expect(found == [(str(i), str(processes), str(int(i == processes - 1))) for i in range(processes)], out)
        return "all sizes, from three threads"
    return case


def silence(folder):
    """What does not come is an error that names who waited for whom, and for what."""
    code, _, err = finish(start(2, CHECK, "mute", 1))
    expected = ("process 0 of 2, all_reduce @loss of ranks 0 to 7, receiving from process 1: nothing came for 1 s, "
                "so it is taken for lost")
    st.expect(code == 1 and expected in err, f"exit {code}: {err}")


def other_size(folder):
    code, _, err = finish(start(2, CHECK, "size", 5))
    st.expect(code == 1 and "receiving from process 1: 3 bytes came in the place of 4" in err, f"exit {code}: {err}")


def killed(folder):
    """One of four processes dies at some moment: all others end with a line that says what they waited for."""
    seed = int(os.environ.get("ST_SEED", time.time_ns() % 1000000))
    draw = random.Random(seed)
    for turn in range(KILLED):
        # What a process writes last mpirun may lose: each has a file.
        errors = [folder / f"{turn}-{process}" for process in range(4)]
        run = start(4, "sh", "-c", f'exec {CHECK} endless {WATCHDOG} 2>{folder}/{turn}-$OMPI_COMM_WORLD_RANK')
        pids = {}
        while len(pids) < 4:
            line = run.stdout.readline()
            st.expect(line, f"ended early: {run.stderr.read() if not line else ''}")
            found = re.match(r"process (\d) of 4 is (\d+)", line)
            if found:
                pids[int(found[1])] = int(found[2])
        time.sleep(draw.uniform(0, 0.5))
        victim = draw.randrange(4)
        os.kill(pids[victim], signal.SIGKILL)
        begin = time.time()
        code, _, err = finish(run)
        took = time.time() - begin
        st.expect(code != 0 and took < WATCHDOG + 5, f"exit {code} after {took:.1f} s")
        for process in set(range(4)) - {victim}:
            # On a busy machine the launcher may be first.
            said = errors[process].read_text()
            st.expect(re.search(rf"^st-communicator-check: error: .*process {process} of 4(: process \d has ended early| ran$)", said, re.M),
                      f"ST_SEED={seed}, turn {turn}: process {process} said {said!r} when {victim} died: {err}")
        while any(os.path.exists(f"/proc/{pid}") for pid in pids.values()):
            st.expect(time.time() - begin < WATCHDOG + 5, "processes are still there")
            time.sleep(0.1)
    return f"{KILLED} times, ST_SEED={seed}"


def one_runs(folder):
    binary = st.compile_model(folder, "model", st.SMALL_GPT2, "clm", None, batch=1)
    code, _, err = finish(start(2, binary, "--steps=1"))
    st.expect(code == 1 and 'error: mpirun started 2 processes, but target "dtu" runs in one' in err, err)


if __name__ == "__main__":
    sys.exit(st.main(("two processes", exchange(2)), ("five processes", exchange(5)), ("silence", silence),
                     ("a message of another size", other_size), ("one is killed", killed),
                     ("a program runs in one", one_runs)))
