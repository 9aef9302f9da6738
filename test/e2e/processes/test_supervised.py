"""A supervisor restarts a lost run, and a loss spike leads back to the newest checkpoint."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
from safetensors.numpy import save_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from process_launchers import by_mpi, by_tcp, finish
from st_errors import expect_error
from test_overnight import TINY_GPT, contents, losses_of, step_name

STEPS = 200
SERIES = [f"--train-steps={STEPS}", "--save-interval=10", "--keep=2", "--lr=1e-3"]
BATCH, SEQ = 4, 16
SPIKE = 33  # the number of its batch, from 0; the newest checkpoint before it has 30 steps


class Run:
    """A program, and the losses and the last parameters of an undisturbed run of it."""

    folder = tempfile.TemporaryDirectory(prefix="st-supervised-")
    binary = losses = final = None

    @classmethod
    def get(cls):
        if cls.binary is None:
            cls.binary = st.compile_model(cls.folder.name, "tiny", TINY_GPT, "clm", None, batch=BATCH, seq=SEQ)
            whole = pathlib.Path(cls.folder.name) / "whole"
            cls.losses = losses_of(st.check_run([cls.binary, *SERIES, f"--save={whole}"]).stdout)
            cls.final = parameters(whole, STEPS)
        return cls.binary


def parameters(folder, step):
    return (folder / step_name(step) / "model.safetensors").read_bytes()


def start(folder, *flags):
    return subprocess.Popen([str(Run.get()), *SERIES, f"--save={folder / 'run'}", *flags], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def child_of(pid):
    """The process that trains, which the supervisor started."""
    deadline = time.time() + 60
    while time.time() < deadline:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if children:
            return int(children[0])
    raise AssertionError("the supervisor has no child")


def lose(process, number, steps):
    """Sends a signal to the training process some steps after its start."""
    for _ in range(steps):
        process.stdout.readline()
    child = child_of(process.pid)
    os.kill(child, number)
    return child


def ends_as_undisturbed(process, folder):
    out, err = process.communicate(timeout=120)
    st.expect(process.returncode == 0, f"exit {process.returncode}: {err}")
    for step, loss in losses_of(out).items():
        st.expect(loss == Run.losses[step], f"step {step}: loss {loss}, undisturbed {Run.losses[step]}")
    st.expect(parameters(folder / "run", STEPS) == Run.final, "other parameters")
    return err


def killed(folder):
    process = start(folder, "--restarts=1")
    for _ in range(3):
        child = lose(process, signal.SIGKILL, 25)
        while pathlib.Path(f"/proc/{child}").exists():
            time.sleep(0.01)
    err = ends_as_undisturbed(process, folder)
    st.expect(err.count("supervisor: the run was ended by SIGKILL after step") == 3, err)
    st.expect(err.count("continuing after step") == 3, err)


def stuck(folder):
    """A run that hangs is killed and restarted."""
    process = start(folder, "--restarts=1", "--step-timeout=3")
    lose(process, signal.SIGSTOP, 25)
    err = ends_as_undisturbed(process, folder)
    st.expect("no step was completed for 3 s (--step-timeout): the run is killed" in err, err)


def told_to_stop(folder):
    """SIGTERM to the supervisor reaches the run, which saves. The supervisor does not restart it."""
    process = start(folder, "--restarts=3")
    for _ in range(15):
        process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    st.expect(process.returncode == 0 and "SIGTERM: the run ends after step" in err and "again" not in err, err)


def supervisor_is_killed(folder):
    """The run saves and ends if its supervisor is killed."""
    process = start(folder, "--restarts=3")
    for _ in range(15):
        process.stdout.readline()
    process.kill()
    err = process.stderr.read()  # until the run, too, has closed it
    st.expect("SIGTERM: the run ends after step" in err and "saved step" in err.splitlines()[-1], err)
    process.communicate()


def gives_up(folder):
    """A run that is lost at the same step repeatedly is not restarted forever."""
    blocked = folder / "run" / step_name(10)
    blocked.parent.mkdir()
    blocked.write_text("no folder")
    process = start(folder, "--restarts=2")
    out, err = process.communicate(timeout=60)
    st.expect(process.returncode == 1 and err.count("the run ended with exit code 1 after step 10") == 3, err)
    st.expect("lost 3 times in succession without a step later than 10 (--restarts=2): not started again" in err, err)
    st.expect(out.count("step 10 ") == 3, out)


def starts_badly(folder):
    """An error before the first step is the user's: it gives one line and no second attempt."""
    done = st.run([Run.get(), *SERIES, f"--save={folder / 'a/b'}", "--restarts=3"])
    st.expect(done.returncode == 1 and "supervisor" not in done.stderr, done.stderr)
    for flags, pattern in (
            (["--restarts=2"], "--restarts needs --save=DIR"),
            (["--restarts=-1", *SERIES, "--save=x"], "--restarts=-1: expected 0 or more"),
            (["--step-timeout=5", *SERIES, "--save=x"], "--step-timeout needs --restarts"),
            (["--restarts=1", "--step-timeout=nan", *SERIES, "--save=x"], "--step-timeout=nan: expected seconds from 0"),
            (["--on-spike=jump"], "--on-spike=jump: expected stop, skip or rewind"),
            (["--on-spike=skip"], "--on-spike=skip needs --save=DIR"),
            (["--spike-window=50"], "--spike-window has no effect without --on-spike"),
            (["--on-spike=stop", "--spike-window=2"], "--spike-window=2: expected steps from 16"),
            (["--on-spike=stop", "--spike-deviations=0"], "--spike-deviations=0: expected a number above 0")):
        expect_error([Run.get(), *flags], pattern)


def several_processes(folder):
    """Each of two processes has a supervisor. One is lost, the other ends with an error, and both join again."""
    layout = {"mode": "sharding", "data": 2}
    binary = st.compile_model(folder, "two", TINY_GPT, "clm", layout, "--target=cuda-host", "--optimizer=adamw",
                              batch=BATCH, seq=SEQ)
    flags = ["--train-steps=60", "--save-interval=5", "--lr=1e-3"]
    whole = losses_of(st.check_run([binary, *flags, f"--save={folder / 'whole'}"]).stdout)
    run = by_tcp(2, binary, *flags, f"--save={folder / 'run'}", "--restarts=3", "--watchdog=10")
    for _ in range(12):
        run.stdout.readline()
    shells = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    os.kill(child_of(int(shells[1])), signal.SIGKILL)
    code, out, err = finish(run)
    st.expect(code == 0 and "supervisor: the run was ended by SIGKILL" in err, f"exit {code}: {err}")
    for step, loss in losses_of(out).items():
        st.expect(loss == whole[step], f"step {step}: loss {loss}, undisturbed {whole[step]}")
    st.expect(parameters(folder / "run", 60) == parameters(folder / "whole", 60), "other parameters")
    code, _, err = finish(by_mpi(2, binary, *flags, f"--save={folder / 'mpi'}", "--restarts=3"))
    st.expect(code == 1 and "which MPI joins only once" in err, f"exit {code}: {err}")


def batches(folder, name, left_out=()):
    """A text of one token that the model learns, and one batch of other tokens."""
    rows = []
    for number in range(60):
        ids = np.full((BATCH, SEQ), 5, np.int32)
        if number == SPIKE:
            ids = np.random.default_rng(1).integers(6, 60, (BATCH, SEQ), dtype=np.int32)
        if number not in left_out:
            rows.append(ids)
    ids = np.stack(rows)
    labels = np.concatenate([ids[:, :, 1:], np.full((len(rows), BATCH, 1), -100, np.int32)], axis=2)
    save_file({"input_ids": ids, "labels": labels}, folder / f"{name}.safetensors")
    return folder / f"{name}.safetensors"


def leads_back(action, left_out):
    """The run ends with the parameters of one whose data lacks the skipped batches, in one part or in two."""
    def case(folder):
        flags = ["--train-steps=44", "--save-interval=10", "--lr=1e-2"]
        spiky, plain = batches(folder, "spiky"), batches(folder, "plain", left_out)
        st.check_run([Run.get(), *flags, f"--data={plain}", f"--save={folder / 'plain'}"])
        watched = [Run.get(), *flags, f"--data={spiky}", f"--on-spike={action}"]
        done = st.check_run([*watched, f"--save={folder / 'run'}"])
        found = re.search(r"step (\d+): the loss \S+ is a spike, expected at most \S+; back to step 30 in", done.stderr)
        st.expect(found and int(found[1]) == SPIKE + 1 and done.stderr.count(" is a spike") == 1, done.stderr)
        st.expect(parameters(folder / "run", 44) == parameters(folder / "plain", 44), "other parameters")
        # A run that starts three steps before the spike knows the losses before it.
        st.check_run([*watched, f"--save={folder / 'twice'}", "--exit-interval=30"])
        done = st.check_run([*watched, f"--save={folder / 'twice'}"])
        st.expect(found[0] in done.stderr, done.stderr)
        st.expect(contents(folder / "twice" / step_name(44)) == contents(folder / "run" / step_name(44)), "another end")
        return found[0]
    return case


def ends_the_run(folder):
    data = batches(folder, "spiky")
    command = [Run.get(), "--train-steps=44", "--save-interval=10", "--lr=1e-2", f"--data={data}", f"--save={folder / 'run'}"]
    expect_error([*command, "--on-spike=stop"], rf"step {SPIKE + 1}: the loss \S+ is a spike: expected at most \S+ \(--on-spike=stop\)")
    st.expect((folder / "run" / step_name(30)).exists(), "no checkpoint before the spike")


def comes_again(folder):
    """If most batches are spikes, going back ends after the third in succession."""
    ids = np.full((60, BATCH, SEQ), 5, np.int32)
    ids[SPIKE:] = np.random.default_rng(2).integers(6, 60, ids[SPIKE:].shape, dtype=np.int32)
    save_file({"input_ids": ids, "labels": ids}, folder / "many.safetensors")
    command = [Run.get(), "--train-steps=44", "--save-interval=10", "--lr=1e-2", f"--data={folder / 'many.safetensors'}",
               f"--save={folder / 'run'}", "--on-spike=skip"]
    done = st.run(command)
    last = done.stderr.splitlines()[-1]
    st.expect(done.returncode == 1 and f"is spike number 4 in succession at or before step {SPIKE + 1}" in last, done.stderr)


CASES = [
    ("killed", killed),
    ("stuck", stuck),
    ("told to stop", told_to_stop),
    ("the supervisor is killed", supervisor_is_killed),
    ("gives up", gives_up),
    ("starts badly", starts_badly),
    ("several processes", several_processes),
    ("skip", leads_back("skip", [SPIKE])),
    ("rewind", leads_back("rewind", range(30, SPIKE + 1))),
    ("stop", ends_the_run),
    ("comes again", comes_again),
]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
