"""Runs that are killed, stopped and damaged resume from their checkpoints and end as if nothing had happened."""

import contextlib
import json
import os
import pathlib
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from process_launchers import by_tcp
from process_launchers import finish as finish_processes
from st_errors import expect_error

TINY_GPT = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 16, "n_layer": 2, "n_head": 4,
            "vocab_size": 64, "n_positions": 16}
STEPS = 40
INTERVAL = 4
SERIES = [f"--train-steps={STEPS}", f"--save-interval={INTERVAL}", "--keep=3", "--lr-decay-style=cosine", "--min-lr=1e-5",
          "--warmup=5", "--lr=1e-3"]
ALL = bool(os.environ.get("ST_ALL"))


class Run:
    """A program, and the output and checkpoint of an undisturbed run of it."""

    folder = tempfile.TemporaryDirectory(prefix="st-overnight-")
    binary = losses = final = None

    @classmethod
    def get(cls):
        if cls.binary is None:
            cls.binary = st.compile_model(cls.folder.name, "tiny", TINY_GPT, "clm", st.layout(2, 2, accum=2), batch=4, seq=16)
            whole = pathlib.Path(cls.folder.name) / "whole"
            cls.losses = losses_of(st.check_run([cls.binary, *SERIES, f"--save={whole}"]).stdout)
            cls.final = contents(whole / step_name(STEPS))
        return cls.binary


def step_name(step):
    return f"step-{step:07d}"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def losses_of(text):
    """Loss by step, as it is printed."""
    return {int(line.split()[1]): line.split()[3] for line in text.splitlines() if line.startswith("step ")}


def command(folder, *flags):
    return [Run.get(), *SERIES, f"--save={folder}", *flags]


def finish(folder):
    """Restarts the run until it is done: its last steps and checkpoint are those of the undisturbed run."""
    done = st.check_run(command(folder))
    for step, loss in losses_of(done.stdout).items():
        st.expect(loss == Run.losses[step], f"step {step}: loss {loss}, undisturbed {Run.losses[step]}")
    st.expect(contents(folder / step_name(STEPS)) == Run.final, "the last checkpoint is another")
    left = [str(path) for path in folder.rglob("*") if ".tmp." in path.name or path.name.endswith(".next")]
    st.expect(not left, f"left over: {left}")
    return done


def newest(folder):
    steps = [int(path.name[5:]) for path in folder.glob("step-*")
             if (path / "trainer_state.json").exists() or (path / "trainer_state.json.next").exists()]
    return max(steps, default=0)


def in_a_save(folder):
    """Returns True if there are files that a save has not renamed yet."""
    # os.walk skips folders that are removed meanwhile.
    return any(".tmp." in name or name.endswith(".next") for _, _, files in os.walk(folder) for name in files)


def forty_and_sixty(folder):
    """A run in two parts equals the run in one part."""
    first = st.check_run(command(folder / "run", f"--exit-interval={STEPS * 2 // 5}"))
    st.expect("--exit-interval=16: the run ends after step 16 of 40" in first.stderr, first.stderr)
    second = finish(folder / "run")
    st.expect(losses_of(first.stdout) | losses_of(second.stdout) == Run.losses, "other losses")
    again = st.check_run(command(folder / "run"))
    st.expect(f"step {STEPS} of {STEPS} is done" in again.stderr and not again.stdout, again.stderr)


def keeps_the_newest(folder):
    st.check_run(command(folder / "run"))
    names = sorted(path.name for path in (folder / "run").iterdir())
    st.expect(names == [step_name(STEPS - 2 * INTERVAL), step_name(STEPS - INTERVAL), step_name(STEPS)], f"{names}")
    mine = folder / "run" / step_name(STEPS) / "notes.txt"
    mine.write_text("mine")
    more = [flag for flag in command(folder / "run") if "train-steps" not in str(flag)] + ["--train-steps=56"]
    st.check_run(more)
    st.expect(mine.read_text() == "mine", "a file of the user is gone")


def killed(folder):
    """SIGKILL at random times, many of them during saves: at most one interval is repeated."""
    count = 1000 if ALL else 15
    draw = random.Random(7)
    run = folder / "run"
    kills = saving = 0
    for turn in range(count):
        before = newest(run) if run.exists() else 0
        if before == STEPS:
            finish(run)
            subprocess.run(["rm", "-r", run], check=True)
            before = 0
        process = subprocess.Popen(command(run), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        first = process.stdout.readline()
        st.expect(not first or before - INTERVAL < int(first.split()[1]) - 1 <= before + INTERVAL, f"{before}: {first}")
        time.sleep(draw.uniform(0, 0.25))
        # Every other time during a save, if one begins soon.
        deadline = time.time() + (0.5 if turn % 2 else 0)
        while time.time() < deadline and process.poll() is None and not in_a_save(run):
            pass
        process.kill()
        process.wait()
        process.stdout.close()
        kills += process.returncode == -signal.SIGKILL
        saving += in_a_save(run)
    st.expect(kills > count // 3 and saving > 0, f"{kills} kills, {saving} in a save")
    finish(run)
    return f"{kills} kills, {saving} of them in a save"


def killed_in_four(folder):
    """The same with four processes. One of them is killed: the others end too, and all four resume."""
    count = 1000 if ALL else 6
    draw = random.Random(13)
    run = folder / "run"
    kills = saving = 0
    for turn in range(count):
        if run.exists() and newest(run) == STEPS:
            finish(run)
            subprocess.run(["rm", "-r", run], check=True)
        before = newest(run) if run.exists() else 0
        group = by_tcp(4, "sh", "-c", 'echo $RANK is $$ >&2; exec "$@"', "sh", *command(run, "--watchdog=20"))
        pids = [int(line.split()[-1]) for line in (group.stderr.readline() for _ in range(4))]
        first = group.stdout.readline()
        time.sleep(draw.uniform(0, 0.25))
        deadline = time.time() + (0.5 if turn % 2 else 0)
        while time.time() < deadline and group.poll() is None and not in_a_save(run):
            pass
        saves = in_a_save(run)
        with contextlib.suppress(ProcessLookupError):
            os.kill(draw.choice(pids), signal.SIGKILL)
        begin = time.time()
        code, _, err = finish_processes(group)
        st.expect(not first or before - INTERVAL < int(first.split()[1]) - 1 <= before + INTERVAL,
                  f"{before}: {first}{err}")
        st.expect(time.time() - begin < 60, f"the others ended after {time.time() - begin:.0f} s: {err}")
        kills += code != 0
        saving += code != 0 and saves
    st.expect(kills > count // 3, f"{kills} kills")
    finish(run)
    return f"{kills} kills, {saving} of them in a save"


def damaged(folder):
    """Any flipped bit or cut in the newest checkpoint is reported, and the run resumes from the previous one."""
    count = 1000 if ALL else 25
    draw = random.Random(11)
    run = folder / "run"
    st.check_run(command(run, "--exit-interval=12"))
    for _ in range(count):
        file = draw.choice(sorted((run / step_name(12)).iterdir()))
        whole = file.read_bytes()
        at = draw.randrange(len(whole))
        flipped = bytearray(whole)
        flipped[at] ^= 1 << draw.randrange(8)
        file.write_bytes(bytes(flipped) if draw.random() < 0.7 else whole[:at])
        done = st.check_run(command(run, "--exit-interval=9"))
        warnings = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
        st.expect(len(warnings) == 1 and f"{step_name(12)}/{file.name}" in warnings[0], f"{file} {at}: {done.stderr}")
        st.expect(losses_of(done.stdout) == {9: Run.losses[9]}, done.stdout)
        subprocess.run(["rm", "-r", run / step_name(9)], check=True)
        file.write_bytes(whole)
    finish(run)
    return f"{count} damages"


def all_damaged(folder):
    """If no checkpoint is complete, the run starts again and says so; --resume of it is an error."""
    run = folder / "run"
    st.check_run(command(run, "--exit-interval=4"))
    (run / step_name(4) / "model.safetensors").write_bytes(b"")
    expect_error([Run.get(), "--steps=1", f"--resume={run}"], "none of its checkpoints is complete")
    done = finish(run)
    st.expect("model.safetensors" in done.stderr and losses_of(done.stdout) == Run.losses, done.stderr)


def another_model(folder):
    """A complete checkpoint of another model is an error, and is kept."""
    run = folder / "run"
    st.check_run(command(run, "--exit-interval=4"))
    before = contents(run / step_name(4))
    other = st.compile_model(folder, "other", dict(TINY_GPT, n_embd=32), "clm", None, batch=4, seq=16)
    expect_error([other, *SERIES, f"--save={run}"], r"step-0000004/model\.safetensors: tensor")
    st.expect(contents(run / step_name(4)) == before, "it has changed")


def signalled(number):
    """After a signal the step completes, the run saves and exits with 0, and the same command resumes it."""
    def run(folder):
        target = folder / "run"
        process = subprocess.Popen(command(target), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(6):
            line = process.stdout.readline()
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        st.expect(process.returncode == 0, f"ended with {process.returncode}: {err}")
        last = max(losses_of(line + out))
        st.expect(f"{signal.Signals(number).name}: the run ends after step {last} of {STEPS}" in err, err)
        st.expect(newest(target) == last, f"saved {newest(target)}, done {last}")
        second = finish(target)
        st.expect(min(losses_of(second.stdout)) == last + 1, second.stdout)
    return run


def one_folder(folder):
    """A signal also causes a save if only one final checkpoint is requested."""
    process = subprocess.Popen([Run.get(), "--steps=1000000", f"--save={folder / 'one'}"], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    for _ in range(3):
        line = process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    last = max(losses_of(line + out))
    st.expect(process.returncode == 0, f"ended with {process.returncode}")
    st.expect(json.loads((folder / "one/trainer_state.json").read_text())["step"] == last, "another step")


def by_time(folder):
    """Intervals in minutes work too: every step saves, and the first one is the last."""
    target = folder / "run"
    flags = [f"--train-steps={STEPS}", "--save-minutes=1e-6", f"--save={target}", "--lr=1e-3"]
    done = st.check_run([Run.get(), *flags, "--exit-duration-in-mins=1e-6"])
    st.expect(len(losses_of(done.stdout)) == 1 and newest(target) == 1, done.stderr)
    done = st.check_run([Run.get(), *flags])
    st.expect(done.stderr.count("saved step ") == STEPS - 1, done.stderr)


def two_runs(folder):
    """The second run in a folder ends at once, and the first continues."""
    target = folder / "run"
    first = subprocess.Popen(command(target)[:1] + ["--steps=1000000", "--save-interval=1000000", f"--save={target}"],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    first.stdout.readline()
    expect_error(command(target), "run: another run saves its checkpoints here")
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=60)
    st.expect(first.returncode == 0 and newest(target) > 0, "the first run did not go on")


def full_disk(folder):
    """A save that fails ends the run with one line, and the previous checkpoint is complete."""
    target = folder / "run"
    st.check_run(command(target, "--exit-interval=4"))
    before = contents(target / step_name(4))
    done = st.run(command(target), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)))
    last = done.stderr.splitlines()[-1]
    st.expect(done.returncode == 1 and "step-0000008/" in last and "cannot write: File too large" in last, done.stderr)
    st.expect(contents(target / step_name(4)) == before and newest(target) == 4, "the checkpoint before it is gone")
    finish(target)


def no_folder(folder):
    (folder / "file").write_text("")
    expect_error(command(folder / "file"), "file: cannot open: Not a directory")
    expect_error(command(folder / "a/b"), "a/b: cannot create the folder: No such file")
    st.expect(sorted(path.name for path in folder.iterdir()) == ["file"], "something was made")


def schedules(folder):
    """Without flags the checkpoint's schedule continues; other flags give a warning. Metrics are appended."""
    run, metrics = folder / "run", folder / "metrics"
    st.check_run(command(run, "--exit-interval=8", f"--metrics={metrics}"))
    with open(metrics, "a") as file:
        file.write('{"step": 9, "los')
    plain = [Run.get(), f"--train-steps={STEPS}", "--save-interval=4", f"--save={run}", f"--metrics={metrics}"]
    done = st.check_run([*plain, "--exit-interval=16"])
    st.expect("the learning rate continues as in the checkpoint: cosine from 0.001 to 1e-05" in done.stderr, done.stderr)
    lines = metrics.read_text().splitlines()
    st.expect([json.loads(line)["step"] for line in lines[:8] + lines[9:]] == list(range(1, 17)), f"{lines}")
    done = st.check_run([*plain, "--lr=2e-3", "--exit-interval=20"])
    st.expect("warning: the learning rate was cosine" in done.stderr and "continues as constant at 0.002" in done.stderr,
              done.stderr)


def from_an_earlier_step(folder):
    """A run that resumes from an earlier step does not mix its checkpoints with later ones."""
    run = folder / "run"
    st.check_run(command(run, "--exit-interval=12"))
    expect_error([*command(run), f"--resume={run / step_name(8)}"], "holds step 12, later than step 8 of --resume")
    other = folder / "other"
    st.check_run([*command(other), f"--resume={run / step_name(8)}"])
    st.expect(contents(other / step_name(STEPS)) == Run.final, "another end")


def other_layouts(folder):
    """The newest checkpoint can be resumed in any layout."""
    run = folder / "run"
    st.check_run(command(run, "--exit-interval=12"))
    layouts = {"alone": None, "stages": st.layout(2, 1), "replicas": {"mode": "sharding", "data": 2, "zero": 1}}
    for name, layout in layouts.items():
        binary = st.compile_model(folder, name, TINY_GPT, "clm", layout, batch=4, seq=16)
        found = losses_of(st.check_run([binary, "--steps=12", f"--resume={run}", "--lr=1e-3", *SERIES[3:6],
                                        f"--lr-decay-steps={STEPS}"]).stdout)
        difference = st.relative_difference([float(Run.losses[step]) for step in sorted(found)],
                                            [float(found[step]) for step in sorted(found)])
        st.expect(min(found) == 13 and difference <= 1e-5, f"{name}: {difference}")


def watched(folder):
    """Megatron-LM's log lines and TensorBoard's events; a resumed run adds a file of events."""
    run, events = folder / "run", folder / "events"
    flags = [f"--tensorboard-dir={events}", "--log-style=megatron", "--log-interval=8"]
    done = st.check_run(command(run, "--exit-interval=24", *flags))
    lines = [line for line in done.stdout.splitlines() if line.startswith(" iteration ")]
    st.expect([int(line.split()[1].split("/")[0]) for line in lines] == [8, 16, 24], done.stdout)
    mean = sum(float(Run.losses[step]) for step in range(9, 17)) / 8
    found = float(lines[1].split("lm loss:")[1].split()[0])
    st.expect(abs(found - mean) < 1e-5 * mean, f"mean loss {mean}, printed {found}")
    st.check_run(command(run, *flags))
    count = 0
    for file in events.iterdir():
        data = file.read_bytes()
        records = 0
        while data:
            length, = struct.unpack("<Q", data[:8])
            st.expect(len(data) >= length + 16, f"{file.name} is cut")
            st.expect((b"brain.Event:2" if records == 0 else b"\x04loss") in data[12:12 + length], f"record {records}")
            records += 1
            data = data[length + 16:]
        count += records - 1
    st.expect(count == STEPS, f"{count} events")


def bad_flags(folder):
    for flags, pattern in ((["--save-interval=2"], "need --save=DIR"),
                           (["--keep=-1", "--save=x"], "--keep=-1: expected 0 or more"),
                           (["--save-minutes=-1", "--save=x"], "--save-minutes=-1: expected minutes from 0"),
                           (["--steps=2", "--train-iters=2"], "--steps and --train-steps: give one of them"),
                           (["--lr-decay-style=linear"], "needs a length")):
        expect_error([Run.get(), *flags], pattern)


CASES = [
    ("two parts are the whole", forty_and_sixty),
    ("the newest are kept", keeps_the_newest),
    ("killed", killed),
    ("killed in four processes", killed_in_four),
    ("damaged", damaged),
    ("all damaged", all_damaged),
    ("another model", another_model),
    ("SIGTERM", signalled(signal.SIGTERM)),
    ("SIGUSR1", signalled(signal.SIGUSR1)),
    ("SIGTERM with one folder", one_folder),
    ("by time", by_time),
    ("two runs in one folder", two_runs),
    ("full disk", full_disk),
    ("no folder", no_folder),
    ("schedules", schedules),
    ("from an earlier step", from_an_earlier_step),
    ("other layouts", other_layouts),
    ("watched", watched),
    ("bad flags", bad_flags),
]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
