"""Saves checkpoints while the next steps run, in one file or in shards, with one process or several."""

import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time

from safetensors.numpy import load_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from process_launchers import by_tcp
from process_launchers import finish as finish_processes

TINY_GPT = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 16, "n_layer": 2, "n_head": 4,
            "vocab_size": 64, "n_positions": 16}
EACH = ["--train-steps=6", "--save-interval=1", "--lr=1e-3", "--save-shard-size=9KB"]
LAYOUTS = {
    "stages and shards": (st.layout(2, 2, accum=2), []),
    "replicas": ({"mode": "sharding", "data": 4, "zero": 0}, []),
    "ZeRO": ({"mode": "sharding", "data": 2, "sharding_size": 2, "sharding_dim": "megatron", "zero": 3}, []),
    "8-bit moments": (st.layout(1, 2), ["--optimizer=adamw-8bit", "--min-8bit-size=1"]),
    "one device": (None, ["--optimizer=lamb"]),
}


class Binary:
    """The first layout's program, and the files of its synchronous saves."""

    folder = tempfile.TemporaryDirectory(prefix="st-background-")
    path = losses = files = None

    @classmethod
    def get(cls):
        if cls.path is None:
            layout, flags = LAYOUTS["stages and shards"]
            cls.path = st.compile_model(cls.folder.name, "tiny", TINY_GPT, "clm", layout, *flags, batch=4, seq=16)
            cls.losses, cls.files = saved(cls.path, f"{cls.folder.name}/between", "--async-save=false")
        return cls.path


def losses_of(text):
    return [line.split()[:4] for line in text.splitlines() if line.startswith("step ")]


def contents(folder):
    return {os.path.relpath(os.path.join(root, name), folder): open(os.path.join(root, name), "rb").read()
            for root, _, names in os.walk(folder) for name in names}


def saved(binary, folder, *flags):
    done = st.check_run([binary, *EACH, f"--save={folder}", *flags])
    st.expect(done.stderr.count("saved step ") == 6, done.stderr)
    return losses_of(done.stdout), contents(folder)


def like_saves_between_steps(folder):
    """Losses and all files equal those of synchronous saves, in each layout and with any memory for copies."""
    for name, (layout, flags) in LAYOUTS.items():
        binary = st.compile_model(folder, name.replace(" ", "-"), TINY_GPT, "clm", layout, *flags, batch=4, seq=16)
        expected = saved(binary, folder / f"{name} between", "--async-save=false")
        st.expect(any("-of-000" in file for file in expected[1]), f"no shards: {sorted(expected[1])}")
        for memory in ([], ["--save-memory=1"], ["--save-memory=10KB"]):
            found = saved(binary, folder / f"{name} with {len(memory)}{memory}", *memory)
            st.expect(found[0] == expected[0], f"{name}, {memory}: other losses")
            different = [file for file in expected[1] if found[1].get(file) != expected[1][file]]
            st.expect(not different and found[1].keys() == expected[1].keys(), f"{name}, {memory}: {different}")
    return f"{len(LAYOUTS)} layouts"


def by_several_processes(folder):
    """Each process writes different shards. The files do not depend on the number of processes."""
    shards = st.compile_model(folder, "shards", TINY_GPT, "clm", st.layout(1, 4), batch=4, seq=16)
    replicas = st.compile_model(folder, "replicas", TINY_GPT, "clm", LAYOUTS["replicas"][0], batch=4, seq=16)
    Binary.get()
    for binary, (losses, files) in ((Binary.path, (Binary.losses, Binary.files)), (shards, saved(shards, folder / "shards-1")),
                                    (replicas, saved(replicas, folder / "replicas-1"))):
        for processes in (2, 4):
            target = folder / f"{binary.stem}-{processes}"
            code, out, err = finish_processes(by_tcp(processes, binary, *EACH, f"--save={target}"))
            st.expect(code == 0 and err.count("saved step ") == 6, err)
            st.expect(losses_of(out) == losses and contents(target) == files, f"{binary.stem}, {processes} processes: other files")
    # A process that cannot write its files ends the run, although the other one can. It still sends the
    # blocks that the other process expects, so that the error is its own and not one of the exchange.
    for failing, binary in ((0, Binary.path), (0, shards), (0, replicas), (1, shards)):
        target = folder / f"{binary.stem}-limited-{failing}"
        code, _, err = finish_processes(by_tcp(2, "sh", "-c", f'test $RANK != {failing} || ulimit -f 1; exec "$@"', "sh",
                                               binary, *EACH, f"--save={target}"))
        st.expect(code != 0 and "cannot write: File too large" in err and "bytes came" not in err, err)
        st.expect(not any("trainer_state" in name for name in contents(target)), "a checkpoint without all its files")


def read_by_others(folder):
    """The shards are in Hugging Face's format: an index names the file of each tensor, and tensors keep their names."""
    binary = Binary.get()
    single = folder / "single"
    st.check_run([binary, "--train-steps=6", "--lr=1e-3", f"--save={single}"])
    shards = os.path.join(Binary.folder.name, "between/step-0000006")
    for kind in ("model", "optimizer"):
        index = json.loads(open(f"{shards}/{kind}.safetensors.index.json").read())
        expected = load_file(single / f"{kind}.safetensors")
        st.expect(index["metadata"]["total_size"] == sum(value.nbytes for value in expected.values()), f"{index['metadata']}")
        found = {}
        for name in sorted(set(index["weight_map"].values())):
            tensors = load_file(f"{shards}/{name}")
            st.expect(all(index["weight_map"][tensor] == name for tensor in tensors), f"{name} is not as the index says")
            st.expect(len(tensors) == 1 or sum(value.nbytes for value in tensors.values()) <= 9000, f"{name} is too large")
            found |= tensors
        st.expect(found.keys() == expected.keys() and all((found[name] == expected[name]).all() for name in found), kind)
    # The trainer reads them too, as pretrained weights.
    done = st.check_run([binary, "--steps=1", f"--init={shards}"])
    again = st.check_run([binary, "--steps=1", f"--init={single}"])
    st.expect(losses_of(done.stdout) == losses_of(again.stdout), "other weights")


def other_layouts(folder):
    """Any layout continues from shards."""
    shards = os.path.join(Binary.folder.name, "between/step-0000003")
    Binary.get()
    for name, layout in (("alone", None), ("replicas", {"mode": "sharding", "data": 2, "zero": 2})):
        binary = st.compile_model(folder, name, TINY_GPT, "clm", layout, batch=4, seq=16)
        done = st.check_run([binary, "--steps=3", f"--resume={shards}", "--lr=1e-3", f"--save={folder / name}-next"])
        difference = st.relative_difference([float(words[3]) for words in Binary.losses[3:]],
                                            [float(words[3]) for words in losses_of(done.stdout)])
        st.expect(difference <= 1e-5, f"{name}: {difference}")
        st.expect((folder / f"{name}-next/model.safetensors").exists(), "the size limit is that of another run")


def full_disk(folder):
    """A background save that fails ends the run with a one-line error, and the previous checkpoint remains."""
    binary = Binary.get()
    st.check_run([binary, *EACH, "--exit-interval=2", f"--save={folder}/run"])
    before = contents(f"{folder}/run")
    done = st.run([binary, *EACH, "--save-shard-size=1GB", f"--save={folder}/run"],
                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)))
    last = done.stderr.splitlines()[-1]
    st.expect(done.returncode == 1 and "step-0000003/" in last and "cannot write: File too large" in last, done.stderr)
    st.expect(contents(f"{folder}/run") == before, "something is left, or gone")


def killed(folder):
    """Kills runs in the middle of saves of many shards. At most one step is repeated, and no leftovers remain."""
    binary, draw, run = Binary.get(), random.Random(3), f"{folder}/run"
    flags = [*EACH, "--save-shard-size=1", f"--save={run}"]
    kills = 0
    for _ in range(12):
        process = subprocess.Popen([binary, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.time() + 10
        while time.time() < deadline and process.poll() is None and not any(".next" in name for name in contents_names(run)):
            pass
        time.sleep(draw.uniform(0, 0.05))
        process.send_signal(draw.choice([signal.SIGKILL, signal.SIGINT]))
        process.wait()
        kills += any(".next" in name for name in contents_names(run))
    pathlib.Path(run, "trainer_state.json.tmp.1.0").touch()  # as of a run that was killed while it tried the folder
    st.check_run([binary, *flags])
    expected = f"{folder}/whole"
    st.check_run([binary, *flags[:-1], "--async-save=false", f"--save={expected}"])
    found = contents(run)
    st.expect(found == contents(expected), f"{sorted(found)}")
    st.expect(kills > 0, "no kill was in a save")
    return f"{kills} kills left unfinished files"


def contents_names(folder):
    return [name for _, _, names in os.walk(folder) for name in names]


def stopped_in_a_save(folder):
    """SIGTERM during a save: both this save and the final save complete."""
    run = folder / "run"
    process = subprocess.Popen([Binary.get(), "--train-steps=100000", "--save-interval=1", "--save-shard-size=1", "--keep=2",
                                f"--save={run}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(3):
        line = process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    last = int(losses_of(line + out)[-1][1])
    st.expect(process.returncode == 0, f"ended with {process.returncode}: {err}")
    names = sorted(path.name for path in run.iterdir())
    st.expect(names == [f"step-{last - 1:07d}", f"step-{last:07d}"], f"{names}, {last}")
    st.expect(all((run / name / "trainer_state.json").exists() for name in names), "not complete")


def flags(folder):
    """Flags without effect and invalid sizes are errors."""
    for given, expected in ((["--async-save=false"], "--async-save has no effect without --save"),
                            (["--save-shard-size=1GB"], "--save-shard-size has no effect without --save"),
                            (["--save-memory=1GB", "--async-save=false", f"--save={folder}/x"],
                             "--save-memory has no effect with --async-save=false"),
                            (["--save-shard-size=1TB", f"--save={folder}/x"], "--save-shard-size=1TB: expected bytes, such as"),
                            (["--save-memory=-1MB", f"--save={folder}/x"], "--save-memory=-1MB: expected bytes")):
        done = st.run([Binary.get(), "--steps=1", *given])
        st.expect(done.returncode == 1 and expected in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr)


CASES = [
    ("like saves between steps", like_saves_between_steps),
    ("by several processes", by_several_processes),
    ("read by others", read_by_others),
    ("other layouts", other_layouts),
    ("full disk", full_disk),
    ("killed", killed),
    ("stopped in a save", stopped_in_a_save),
    ("flags", flags),
]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
