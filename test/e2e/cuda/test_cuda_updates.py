"""The update of a step stores weights in 16 bits for the next step, with the same bits as a program that converts them in each
step.

Such a program is made from the binary itself: without `left_by_update` its commands always run. After evaluations, which use
the memory, after a checkpoint and in the first step no stored weights exist.
"""

import json
import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import cuda_standins as standins
import st_testing as st
import test_mutated_binary as mutated

# Heads of this width have no special kernel for attention, which compiles slowly for the host.
BERT = dict(st.SMALL_BERT, num_hidden_layers=2, hidden_size=144, num_attention_heads=1)
STEPS = 5
LAYOUTS = {
    "one device": {"mode": "sharding", "data": 1},
    "2 replicas of 2 stages, 2 micro-batches": {"mode": "hybrid", "data": 2, "stage_cnt": 2, "accum_degree": 2},
}


def without_skips(binary):
    """The same program with all conversions in each step, and the number of these."""
    mutated.MESSAGES["Task"][4] = mutated.TASK_PROGRAMS[True]
    mutator = mutated.Mutator(binary)
    number = standins.numbers("CudaCommand")["left_by_update"]
    count = 0
    for group in standins.values(mutator.program, "Executable", "groups"):
        for task in standins.values(group, "Group", "tasks"):
            for program in standins.values(task, "Task", "program"):
                for command in standins.values(program, "CudaProgram", "commands"):
                    count += [number, 1] in command
                    command[:] = [field for field in command if field[0] != number]
    mutator.write(always := binary.with_name("always.bin"))
    return always, count


def without_evaluation(binary):
    """The stand-ins have the kernels of only one program."""
    mutator = mutated.Mutator(binary)
    number = standins.numbers("Executable")["others"]
    mutator.program = [field for field in mutator.program if field[0] != number]
    mutator.write(alone := binary.with_name("alone.bin"))
    return alone


def run(binary, folder, name, *flags, steps=STEPS, env=None):
    """Losses, and the bytes of the checkpoint."""
    saved, metrics = folder / name, folder / f"{name}.jsonl"
    st.check_run([binary, f"--steps={steps}", f"--save={saved}", f"--metrics={metrics}", "--products=first", *flags], env=env)
    losses = [line["loss"] for line in map(json.loads, metrics.read_text().splitlines()) if "loss" in line]
    return losses, {path.name: path.read_bytes() for path in saved.rglob("*.safetensors")}


def same_bits(layout):
    def check(folder):
        binary = st.compile_model(folder, "m", BERT, "mlm", {**layout, "precision": {"compute": "bf16"}}, "--target=cuda-host",
                                  "--eval", "--optimizer=adamw", "--lr=1e-3", seq=16)
        text = st.check_run([st.BIN / "st-translate", "--executable-to-text", binary]).stdout
        st.expect("unless the update wrote it " in text, "nothing is left by the update")
        always, count = without_skips(binary)
        st.expect(count > 0, "no update leaves anything")
        expected = run(always, folder, "always")
        st.expect(len(set(expected[0])) == STEPS, f"the loss does not move: {expected[0]}")
        found = run(binary, folder, "kept")
        st.expect(found == expected, f"losses {found[0]}, expected {expected[0]}")
        evaluated = run(binary, folder, "evaluated", "--eval-interval=2", "--eval-iters=1", "--valid-data=synthetic")
        st.expect(evaluated[1] == expected[1], "an evaluation changes what is trained")
        run(binary, folder, "half", steps=2)
        again = run(binary, folder, "resumed", f"--resume={folder / 'half'}", steps=STEPS - 2)
        st.expect(again[1] == expected[1], f"a run from step 2 on gives other parameters: {again[0]}, expected {expected[0]}")
        gpu, env = standins.for_gpu(without_evaluation(binary))
        graphs = run(gpu, folder, "graphs", env=env)
        st.expect(graphs[1] == expected[1], "graphs change what is trained")
        return f"{count} launches that most steps leave out"
    return check


CASES = [(name, same_bits(layout)) for name, layout in LAYOUTS.items()]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
