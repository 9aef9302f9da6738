"""verify-dtu-order detects mutations of emitted instruction streams, or they are harmless.

Streams of compiled steps lose a wait, a signal, a barrier or a message, or have two neighbouring instructions change places,
one mutation at a time. Programs that the proof accepts run on the simulator several times with other interleavings, and must
give the original's results to the last bit. ST_SEED repeats the draw.
"""

import pathlib
import random
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import numpy as np
import st_testing as st
from safetensors.numpy import load_file, save_file
from test_interleavings import step_inputs

MUTATIONS = 30
SHUFFLES = 4
ORDERING = ("dtu.wait", "dtu.signal", "dtu.barrier", "dtu.send", "dtu.recv")
ACTIONS = (*ORDERING, "dtu.copy", "dtu.fill", "dtu.matmul", "dtu.vector")


def message(line):
    """A line; of a message everything but its place in memory. Swapping two otherwise equal messages gives a
    different program that has no races either."""
    return re.sub(r"(src|dst) = #dtu\.view<[^>]*>", "", line) if line.startswith(("dtu.send", "dtu.recv")) else line


def mutate(lines, draw):
    """The lines with one change, and a description of it. A swap is of neighbours in one stream, at least one of which
    synchronizes."""
    places = [i for i, line in enumerate(lines) if line.strip().startswith(ORDERING)]
    while True:
        i = draw.choice(places)
        name = lines[i].split()[0]
        if draw.random() < 0.5:
            return lines[:i] + lines[i + 1:], f"line {i} without {name}"
        after = lines[i + 1].strip()
        if after.startswith(ACTIONS) and message(after) != message(lines[i].strip()):
            return [*lines[:i], lines[i + 1], lines[i], *lines[i + 2:]], f"line {i}, {name}, behind {after.split()[0]}"


def mutations_are_found(config, task, layout):
    def check(folder):
        seed = st.run_seed()
        draw = random.Random(seed)
        model = st.write_json(folder / "model/config.json", config).parent
        parallel = st.write_json(folder / "parallel.json", layout)
        st.check_run([st.BIN / "st-compile", "-q", model, f"--task={task}", "--batch=4", "--seq=16", f"--parallel={parallel}",
                      "--target=dtu-t10", f"--dump-phases-to={folder / 'phases'}", "-o", folder / "m.bin"])
        phases = {path.stem.split("-")[1]: path for path in (folder / "phases").iterdir()}
        inputs, outputs, mutant = folder / "inputs.safetensors", folder / "outputs.safetensors", folder / "mutant.mlir"
        save_file(step_inputs(phases["optimizer"]), inputs)

        def results(module, shuffles):
            done = st.run([st.BIN / "st-dtu-run", module, f"--inputs={inputs}", f"--outputs={outputs}", f"--shuffles={shuffles}"])
            return load_file(outputs) if done.returncode == 0 else done.stderr[-300:]

        expected = results(phases["dtu"], 0)
        st.expect(isinstance(expected, dict), expected)
        st.check_run([st.BIN / "st-opt", "--verify-dtu-order", phases["dtu"], "-o", folder / "same.mlir"])
        lines = phases["dtu"].read_text().splitlines()
        found = 0
        for _ in range(MUTATIONS):
            changed, what = mutate(lines, draw)
            mutant.write_text("\n".join(changed) + "\n")
            done = st.run([st.BIN / "st-opt", "--verify-dtu-order", mutant, "-o", folder / "mutant.out"])
            if done.returncode != 0:
                errors = [line for line in done.stderr.splitlines() if "error: " in line]
                st.expect(len(errors) == 1 and re.search(r"which is first|waits forever|rank|barrier|semaphore", errors[0]),
                          f"{what}: {done.stderr[-500:]}")
                found += 1
                continue
            actual = results(mutant, SHUFFLES)
            st.expect(isinstance(actual, dict), f"seed {seed}, {what}: it passes, and a run says {actual}")
            for name, value in expected.items():
                st.expect(np.array_equal(value, actual[name], equal_nan=True), f"seed {seed}, {what}: it passes, and {name} differs")
        st.expect(found > MUTATIONS / 3, f"seed {seed}: only {found} found")
        return f"{found} of {MUTATIONS} found, the others do no harm (ST_SEED={seed})"
    return check


def messages_are_proven(folder):
    """Proves all messages, and races as far as the compiler's bounded work allows."""
    done = st.check_run([st.BIN / "st-compile", st.ROOT / "examples/models/bert-large-uncased", "--task=span", "--batch=1", "--seq=384",
                         f"--parallel={st.ROOT / 'examples/parallel/bert-large-dtu-4x8.json'}", "--target=dtu-t10",
                         "-o", folder / "m.bin"])
    left_out = re.search(r"proved (\d+) of (\d+) different program runs free of races, and (.*) of them free of", done.stderr)
    if not left_out:
        return "all messages and races"
    proven, runs, messages = left_out.groups()
    st.expect(messages == "all" and 2 * int(proven) > int(runs), left_out[0])
    return f"all messages, races of {proven} of {runs}"


CASES = [
    ("bert-large, 4x8, messages", messages_are_proven),
    ("gpt2 clm, one device", mutations_are_found(st.SMALL_GPT2 | {"n_layer": 1}, "clm", st.layout(1, 1))),
    ("gpt2 clm, 2x2, 1f1b", mutations_are_found(st.SMALL_GPT2, "clm", st.layout(2, 2, mode="hybrid", accum=2))),
    ("gpt2 clm, 2x1, stashes on the host", mutations_are_found(
        st.SMALL_GPT2 | {"n_layer": 2}, "clm", st.layout(2, 1, mode="pipeline", accum=2) | {"offload": True})),
]

if __name__ == "__main__":
    sys.exit(st.main(CASES[0], *st.drawn_part(CASES[1:], 2)))
