"""A step has the work, bytes and times that its binary predicts, with one and with two host threads.

A run draws some of the combinations of model and layout; ST_ALL=1 takes all of them.
"""

import json
import os
import pathlib
import random
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
import test_mutated_binary as mutated

MODELS = {
    "bert mlm": (st.SMALL_BERT, "mlm", ()),
    "bert span": (st.SMALL_BERT, "span", ()),
    "gpt2": (st.SMALL_GPT2, "clm", ()),
    "gpt2 bf16": (st.SMALL_GPT2, "clm", ()),
    "gpt2 sgd": (st.SMALL_GPT2, "clm", ("--optimizer=sgd",)),
}


def spec(tensor=1, data=1, stages=1, micro=1, **more):
    return {"mode": "hybrid", "sharding_size": tensor, "data": data, "stage_cnt": stages, "accum_degree": micro, **more}


LAYOUTS = {
    "one device": spec(),
    "4 micro-batches": spec(micro=4),
    "8 shards": spec(tensor=8),
    "3 shards": spec(tensor=3),
    "megatron, sequence": spec(tensor=2, data=2, sharding_dim="megatron", sequence_parallel=True),
    "zero 1": spec(data=4, zero=1),
    "zero 3": spec(data=4, zero=3),
    "2 stages": spec(stages=2, micro=4),
    "2 x 2 x 2": spec(tensor=2, data=2, stages=2, micro=2),
    "offload": spec(stages=2, micro=4, offload=True),
}
COMBINATIONS = [(model, layout) for model in MODELS for layout in LAYOUTS]
DRAWN = 16


def compile_combination(folder, model, layout, *flags):
    config, task, more = MODELS[model]
    parallel = LAYOUTS[layout] | ({"precision": "bf16"} if "bf16" in model else {})
    return st.compile_model(folder, "model", config, task, parallel, "--predict", *more, *flags, batch=8)


def as_predicted(model, layout):
    def case(folder):
        binary = compile_combination(folder, model, layout)
        lines = []
        for threads in (1, 2):
            done = st.check_run([binary, "--steps=1", f"--host-threads={threads}"])
            found = re.findall(r"^as predicted: .*$", done.stdout, re.M)
            st.expect(len(found) == 1, f"{threads} threads:\n{done.stdout}")
            lines += found
        st.expect(lines[0] == lines[1], f"{lines}")
        return lines[0].split(", and ")[1]
    return case


def timed(binary, *flags):
    """The lines that the binary prints about its step, and its report."""
    report = binary.with_suffix(".json")
    return st.check_run([binary, "--timing-only", f"--report={report}", *flags]).stdout, json.loads(report.read_text())


def derated(folder):
    """A slower link delays tasks, which are named; their work stays the same."""
    binary = compile_combination(folder, "gpt2", "8 shards")
    plain, fast = timed(binary)
    slow, derated_step = timed(binary, "--derate=link:chip0-chip1:0.25")
    st.expect("as predicted: the time" in plain and derated_step["sim_ms"] > fast["sim_ms"], slow)
    rows = slow[slow.index("not as predicted"):].splitlines()[1:]
    st.expect(any(row.startswith("the step  ") for row in rows), slow)
    st.expect(any(re.match(r"forward0, device \d+ +ms .* \+\d", row) for row in rows), slow)
    st.expect(all(re.search(r"  ms  ", row) for row in rows), f"work differs:\n{slow}")
    for flag, message in (
            ("link:chip0-chip9:0.5", 'there is no link "chip 0 -> chip 9" to derate'),
            ("link:chip0-chip1:0", "--derate=link:chip0-chip1:0: expected link:NAME:FACTOR"),
            ("chip0", "--derate=chip0: expected link:NAME:FACTOR"),
            ("link:chip0-chip1:2", "expected link:NAME:FACTOR with a factor above 0 and at most 1")):
        done = st.run([binary, "--timing-only", f"--derate={flag}"])
        st.expect(done.returncode == 1 and message in done.stderr.splitlines()[-1],
                  f"{flag}: exit {done.returncode}, {done.stderr}")
    done = st.run([binary, "--timing-only", "--derate=link:chip0-chip1:0.5", "--time-tasks=once"])
    st.expect(done.returncode == 1 and "--derate makes links differ" in done.stderr, done.stderr)
    return f"{len(rows)} rows"


def child(fields, message, name):
    """The first field with this number."""
    number = next(number for number, field in mutated.MESSAGES[message].items() if field[0] == name)
    return next(value for found, value in fields if found == number)


def changed_prediction(folder):
    """A change by one of any number in a prediction is detected."""
    binary = compile_combination(folder, "gpt2", "2 x 2 x 2")
    mutator = mutated.Mutator(binary)
    prediction = child(mutator.program, "Executable", "prediction")
    tasks = (task for number, rank in prediction if mutated.MESSAGES["Prediction"][number][0] == "ranks" for _, task in rank)
    task = max(tasks, key=len)
    checked = 0
    for field in task:
        name = mutated.MESSAGES["TaskPrediction"][field[0]][0]
        field[1] += 1
        path = folder / f"changed-{name}"
        mutator.write(path)
        field[1] -= 1
        out = st.check_run([path, "--steps=1"]).stdout
        st.expect("not as predicted" in out and "as predicted: the time" not in out, f"{name}:\n{out}")
        checked += 1
    st.expect(checked >= 7, f"{checked} numbers")
    return f"{checked} numbers"


def without(folder):
    binary = compile_combination(folder, "gpt2", "one device", "--predict=false")
    st.expect("predicted" not in st.check_run([binary, "--steps=1"]).stdout, "a comparison with nothing")
    done = st.check_run([*st.COMPILE, folder / "model", "--task=clm", "--batch=8", "--seq=32", "-o", folder / "again"])
    said = re.search(r"a step takes ([\d.]+) ms", done.stderr)
    printed, report = timed(binary)
    st.expect(said and f"simulated step {said[1]} ms" in printed, f"{done.stderr}\n{printed}")
    st.expect(abs(float(said[1]) / report["sim_ms"] - 1) < 5e-4, f"{said[1]} ms, the report has {report['sim_ms']}")
    return said[0]


if __name__ == "__main__":
    seed = st.run_seed()
    drawn = COMBINATIONS if os.environ.get("ST_ALL") else random.Random(seed).sample(COMBINATIONS, DRAWN)
    print(f"ST_SEED={seed}")
    st.main(*((f"{model}, {layout}", as_predicted(model, layout)) for model, layout in drawn),
            ("a link at a quarter of its rate", derated), ("without a prediction", without),
            ("a prediction that is changed", changed_prediction))
