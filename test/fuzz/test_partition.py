"""Differential fuzzing of the compiler: compares random programs with the results of its passes.

  test_partition.py [--seed=N] [--count=N] [--attention | --models] [--uneven=SHARE] [--blocks=SHARE] [--keep=DIR]
                    [--no-device | --each-device] [--log=FILE] [--no-reduce]

Two of three cases are programs on a random mesh with random shardings (random_programs.py), run as they are and on as many
virtual ranks as the mesh has; the others are training steps with random stages, micro-batches, shards and replicas
(random_steps.py), run as they are and as what each device group does. A third of the steps have exact sums (the pass
exact-sums): their results must be equal to the bit. st-differential runs many in one process. Two in 15 are
then compiled for the simulated DTU and run there as well, one in 10 for GPUs, with kernels on the host (device_runs.py). With
--attention cases are training steps around attention (random_attention.py), whose kernels for GPUs then run on the host, and
those for a DTU that streams rows, and for one that holds many, in the simulator. With --models they are training steps of
random configurations of every family of models (random_models.py). Case N is the same on every machine, so that
`--seed=N --count=1` reproduces a failure. With --each-device every model is compiled for a device and runs there too, on one
device after the other. --log appends a line of JSON for each case, and leaves out the cases that the file has: it counts a
campaign that several commands run.
Without --seed the first cases, those of regressions/ and new ones of a seed that is printed are run, and some of the other
kinds.

A program that cannot be cut into micro-batches may be refused, with an error that says so. st-reduce reduces a program
that fails; the smaller program is stored next to the original one. """

import argparse
import collections
import itertools
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

from device_runs import parallel_file, run_on_device
from random_attention import AttentionStep
from random_blocks import with_blocks
from random_models import ModelStep
from random_programs import Program
from random_steps import Step

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FUZZ = ROOT / "test/fuzz"
sys.path.append(str(ROOT / "test/e2e/common"))

from st_testing import run_seed  # noqa: E402

BUILD = pathlib.Path(os.environ.get("ST_BUILD", ROOT / "build"))
BIN = BUILD / "bin"
FIXED, NEW, CHUNK, LIMIT = 200, 800, 50, 240
FIXED_ATTENTION, NEW_ATTENTION = 3, 3
FIXED_MODELS, NEW_MODELS = 15, 30
# Restrictions that the compiler may report; of models only that of a drawn budget.
MODEL_REFUSALS = ("stash takes at least",)
REFUSALS = ("micro-batches", "a micro-batch is not one contiguous part", "vary along `micro`", "varies along `micro`", "stash takes at least")
MOVING = ("st.all_gather", "st.all_reduce", "st.reduce_scatter", "st.all_to_all", "st.collective_permute", "st.send",
          "st.transfer")
# The devices of a campaign of models. Those for GPUs take the most time to compile.
DEVICES = ("dtu-t10", "cuda-host", "dtu-t20", "dtu-rows", "dtu-t10", "dtu-strips", "dtu-next", "dtu-t10", "dtu-t20", "dtu-rows",
           "dtu-strips")


def device_of(seed):
    """The target that a case is compiled for and run on, or None for most cases."""
    if seed % 30 == 26:
        return "cuda-host"
    return {4: "dtu-t10", 8: "dtu-t10", 13: "cuda-host"}.get(seed % 15)


def exactly(text):
    """A training step whose sums are exact, so that its results must be equal to the bit."""
    exact, count = re.subn(r'st\.prepare = "(.*?)"', r'st.exact, st.prepare = "\1,exact-sums"', text, count=1)
    assert count == 1
    return exact


def make_case(seed, uneven, blocks=0.0, kind="programs"):
    rng = random.Random(seed)
    if kind == "attention":
        return AttentionStep(rng).text()
    if kind == "models":
        is_exact = seed % 4 == 1
        text = ModelStep(rng, is_exact).text()
        return exactly(text) if is_exact else text
    if seed % 9 == 5:
        return exactly(Step(rng, uneven).text())
    text = Step(rng, uneven).text() if seed % 3 == 2 else Program(rng, uneven, device_of(seed) is not None).text()
    return with_blocks(text, random.Random(f"blocks of {seed}"), blocks) if blocks else text


def has_uneven_shards(text):
    """Returns True if an axis splits a dimension that it does not divide."""
    sizes = {name: int(size) for name, size in re.findall(r'"(\w+)"=(\d+)', text)}
    sizes["micro"] = int((re.search(r"micro=(\d+)", text) or [0, 1])[1])
    for shape, dims in re.findall(r"tensor<([\dx]*)x\w+(?:<\w+>)?> \{st\.sharding = #st\.sharding<@mesh, \[(.*?)\]>", text):
        for size, axes in zip(shape.split("x"), re.findall(r"\{(.*?)\}", dims)):
            parts = 1
            for axis in re.findall(r'"(\w+)"', axes):
                parts *= sizes[axis]
            if int(size) % parts:
                return True
    return False


class Statistics:
    """Statistics of the cases; only those that agree count."""

    def __init__(self):
        self.kinds, self.ops, self.moves = collections.Counter(), collections.Counter(), collections.Counter()
        self.moving = self.uneven = 0
        self.devices = collections.Counter()

    def add(self, counts, text):
        ops, moves = (set(re.findall(r"([\w.]+):\d+", part)) for part in counts.split(" moves="))
        self.ops.update(ops)
        self.moves.update(moves)
        self.moving += any(name in moves for name in MOVING)
        self.uneven += has_uneven_shards(text)

    def print(self):
        agreed = max(self.kinds["ok"], 1)
        print("cases with each op: " + ", ".join(f"{name} {n}" for name, n in sorted(self.ops.items())))
        print("cases with each collective: " + ", ".join(f"{name} {n}" for name, n in sorted(self.moves.items())))
        print(f"{100 * self.moving / agreed:.0f} % of {agreed} cases move data between devices, "
              f"{100 * self.uneven / agreed:.0f} % have uneven shards")
        if self.devices:
            print("cases that agree on each device: " + ", ".join(f"{name} {n}" for name, n in sorted(self.devices.items())))
        print(", ".join(f"{n} {kind}" for kind, n in sorted(self.kinds.items())))


def run_chunk(paths, folder):
    """(path, kind, output of st-differential) of each; an end of the process is a result of the program that was
    running. Inputs and results stay in the folder."""
    left = list(paths)
    while left:
        process = subprocess.Popen([BIN / "st-differential", f"--save={folder}", *left], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        try:
            out, err = process.communicate(timeout=LIMIT)
            ending = f"crashed with {process.returncode}: {err.strip()[:300]}"
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
            ending = f"took more than {LIMIT} s"
        current, ended = None, set()
        for line in out.splitlines():
            kind, path, *rest = line.split(" ", 2)
            current = path
            if kind != "begin":
                ended.add(path)
                yield path, kind, rest[0] if rest else ""
        if current is None:
            raise SystemExit(f"st-differential: {ending}")
        if current not in ended:
            ended.add(current)
            yield current, "crashed", ending
        left = [path for path in left if str(path) not in ended]


def judge(path, kind, message):
    allowed = MODEL_REFUSALS if path.name.startswith("models-") else REFUSALS
    return "refused for micro-batches" if kind == "refused" and any(text in message for text in allowed) else kind


def reduces(message):
    """Returns True if the failure occurs in the command that st-reduce runs."""
    return "on the device" not in message and "st-compile" not in message


def reduce_case(path, kind, message, device):
    """The path of a smaller program with the same failure, or of the original."""
    if kind in ("refused", "broken"):
        # The same reason: the message without numbers, as a regular expression without blanks.
        said = re.sub(r"\S+\.mlir:\d+:\d+: ", "", message)
        kind += "..*" + re.sub(r"[\W\d]+", ".*", said[:80])
    smaller = path.with_suffix(".reduced.mlir")
    command = [BIN / "st-differential"]
    if device:
        kind, command = f"on-device-{kind}", [sys.executable, FUZZ / "device_runs.py", BIN, device]
    arguments = f"--reduction-tree=test={FUZZ / 'interesting.sh'} test-arg=" + " test-arg=".join(map(str, [kind, *command]))
    done = subprocess.run([BIN / "st-reduce", path, arguments, "-o", smaller], capture_output=True, text=True, timeout=1800)
    return smaller if done.returncode == 0 and smaller.exists() else path


class Run:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.statistics = Statistics()
        self.passed = self.failed = 0
        log = options.log.read_text().splitlines() if options.log and options.log.exists() else []
        self.logged = {json.loads(line)["case"] for line in log}

    def check(self, cases):
        """Cases in the order in which they run: (how to reproduce it, path, the devices that it runs on)."""
        cases = iter(cases)
        while chunk := {str(path): (name, path, devices) for name, path, devices in itertools.islice(cases, CHUNK)}:
            for found, kind, message in run_chunk(chunk, self.folder):
                name, path, devices = chunk[found]
                kind, device, began = judge(path, kind, message), None, time.monotonic()
                device_kind, device_message = kind, message
                for device in devices if kind == "ok" else ():
                    device_kind, device_message = run_on_device(BIN, path, self.folder, device)
                    self.statistics.devices[device] += device_kind == "ok"
                    if device_kind not in ("ok", "refused by the device"):
                        kind, message = device_kind, device_message
                        break
                self.count(name, path, device, kind, message)
                self.log(path, devices, device_kind, device_message, time.monotonic() - began)

    def log(self, path, devices, kind, message, seconds):
        """Appends a case. A refusal by the last device is its outcome; the seconds are those on devices."""
        if not self.options.log:
            return
        text = path.read_text()
        config = re.search(r'st\.model_config = "(.*?)"', text)
        line = {"case": path.stem, "devices": devices, "outcome": kind, "message": "" if kind == "ok" else message,
                "seconds": round(seconds, 2), "config": json.loads(config[1].replace("\\22", '"')) if config else None,
                "layout": parallel_file(text)}
        with self.options.log.open("a") as log:
            log.write(json.dumps(line) + "\n")

    def count(self, name, path, device, kind, message):
        self.statistics.kinds[kind] += 1
        if kind == "ok":
            self.statistics.add(message, path.read_text())
        if kind in ("ok", "extreme", "refused for micro-batches"):
            self.passed += 1
            return
        self.failed += 1
        print(f"FAILED {name}: {kind}: {message}", flush=True)
        if not self.options.no_reduce:
            kept = BUILD / "fuzz-failures" / path.name
            kept.parent.mkdir(exist_ok=True)
            kept.write_text(path.read_text())
            shows = device if "on the device" in message or "st-compile" in message else None
            print(f"  reduced: {reduce_case(kept, kind, message, shows)}", flush=True)

    def random_cases(self, seed, count, kind="programs"):
        for i in range(seed, seed + count):
            path = self.folder / f"{kind}-{i}.mlir"
            if path.stem in self.logged:
                continue
            path.write_text(make_case(i, self.options.uneven, self.options.blocks, kind))
            devices = ("cuda-kernels", "dtu-rows", "dtu-strips") if kind == "attention" else (device_of(i),) if device_of(i) else ()
            if kind == "models" and self.options.each_device:
                devices = (DEVICES[i % len(DEVICES)],)
            flag = "" if kind == "programs" else f" --{kind}"
            flag += " --each-device" if self.options.each_device else ""
            yield f"--seed={i} --count=1{flag}", path, () if self.options.no_device else devices


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int)
    parser.add_argument("--count", type=int)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--attention", dest="kind", action="store_const", const="attention", default="programs",
                      help="training steps around attention")
    kind.add_argument("--models", dest="kind", action="store_const", const="models",
                      help="training steps of random models of every family")
    parser.add_argument("--uneven", type=float, default=0.5, help="the share of axes that need not divide")
    parser.add_argument("--blocks", type=float, default=0.0, help="the share of shardings that split blocks in themselves")
    parser.add_argument("--keep", type=pathlib.Path, help="leave programs in this folder")
    device = parser.add_mutually_exclusive_group()
    device.add_argument("--no-device", action="store_true", help="run nothing on the DTU and as on GPUs")
    device.add_argument("--each-device", action="store_true", help="run every model on a device, on one after the other")
    parser.add_argument("--log", type=pathlib.Path, help="append a line a case, and leave out the cases that the file has")
    parser.add_argument("--no-reduce", action="store_true", help="leave failing programs as they are")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="st-fuzz-") as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        run = Run(options, folder)
        if options.seed is None:
            run.check((path.name, path, ("dtu-t10",) if path.stem.endswith("-on-the-device") else ())
                      for path in sorted((FUZZ / "regressions").glob("*.mlir")))
            run.check(run.random_cases(0, FIXED))
            seed = 1000 * run_seed()
            print(f"new cases: --seed={seed} --count={options.count or NEW}", flush=True)
            run.check(run.random_cases(seed, options.count or NEW))
            for kind, fixed, new in (("attention", FIXED_ATTENTION, NEW_ATTENTION), ("models", FIXED_MODELS, NEW_MODELS)):
                run.check(run.random_cases(0, fixed, kind))
                run.check(run.random_cases(seed, new, kind))
        else:
            run.check(run.random_cases(options.seed, options.count or NEW, options.kind))
    run.statistics.print()
    kinds = run.statistics.kinds
    # A compiler that refuses everything would never be wrong.
    if sum(kinds.values()) >= 20 and kinds["ok"] < sum(kinds.values()) // 2:
        print("FAILED: more than half of the cases say nothing")
        run.failed += 1
    print(f"{run.passed} passed, {run.failed} failed")
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
