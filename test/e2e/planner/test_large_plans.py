"""Plans of thousands of devices: a 175B-parameter GPT for tensor 8 x data 8 x stages 16 and a 1T-parameter one become
scheduled programs whose parameter bytes sum exactly to the models'; the programs do not grow with the replicas; time
replayed from one run of each kind of task equals that of the full simulation within a stated bound; skipping loop trips
gives exactly the time of all trips; the step of 16 layers of the 175B model is timed, with ST_ALL=1 that of all 96 for
1024 devices and that of the 1T model for 3072; and the same pipeline at hidden size 64 agrees with one device.

benchmarks/large_plans.py measures time and memory of large plans."""

import json
import math
import os
import pathlib
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st

EXAMPLES = st.ROOT / "examples"
POD = EXAMPLES / "parallel/dtu-pod.textproto"
# Relative to the time of a step: replay assumes that tasks of a group start together and that stages do not slow each other
# down.
REPLAY_TOLERANCE = 0.02


def compile_large(folder, model, parallel, batch, *flags):
    """The scheduled module of a model, and the ops after each phase."""
    out = folder / "scheduled.mlir"
    done = st.check_run([*st.COMPILE, model, "--task=clm", f"--batch={batch}", "--seq=2048", f"--parallel={parallel}",
                         f"--target={POD}", "--compile-to=scheduled", "-o", out, *flags])
    return out.read_text(), re.findall(r"^  (\w+) +[\d.]+ s +(\d+) ops$", done.stderr, re.M)


def size(dims):
    return math.prod(map(int, dims.split("x")[:-1]))


def parameters_by_program(text):
    """For each program its devices and parameters: name, elements, elements of a device's part, and number of parts."""
    axes = {name: int(count) for name, count in re.findall(r'"(\w+)"=(\d+)', re.search(r"st.mesh @\w+ <\[(.*?)\]", text)[1])}
    state = re.compile(r'st\.state @\S+ "([^"]+)" role "parameter" .*?global tensor<(\S+?)> slice <@mesh, (\[.*?\])> '
                       r'local tensor<(\S+?)>')
    programs = []
    for line in text.splitlines():
        if head := re.match(r"  st\.program @\w+ .*?devices \[(.*?)\]", line):
            programs.append((len(head[1].split(",")), []))
        elif found := state.search(line):
            parts = math.prod(axes[axis] for axis in re.findall(r'"(\w+)"', found[3]))
            programs[-1][1].append((found[1], size(found[2]), size(found[4]), parts))
    return programs


def scheduled(model, tensor, data, stages, batch):
    def case(folder):
        name = f"{model}-{tensor}x{data}x{stages}"
        text, _ = compile_large(folder, EXAMPLES / "models" / model, EXAMPLES / "parallel" / f"{name}.json", batch, "-q")
        config = json.loads((EXAMPLES / "models" / model / "config.json").read_text())
        hidden, layers, words = config["n_embd"], config["n_layer"], config["vocab_size"]
        expected = words * hidden + config["n_positions"] * hidden + layers * (12 * hidden**2 + 13 * hidden) + 2 * hidden
        programs = parameters_by_program(text)
        st.expect([devices for devices, _ in programs] == [tensor * data] * stages, f"{len(programs)} programs")
        seen, on_devices = {}, 0
        for devices, parameters in programs:
            for name, whole, part, parts in parameters:
                st.expect(part * parts == whole, f"{name}: {parts} parts of {part} of {whole}")
                seen[name] = whole
                on_devices += part * devices
        st.expect(sum(seen.values()) == expected, f"{sum(seen.values())} parameters, not {expected}")
        # Each replica has the model once, and the tied embeddings again on its last stage.
        copies = data * (expected + words * hidden)
        st.expect(on_devices == copies, f"{4 * on_devices} bytes on all devices, not {4 * copies}")
        entries = len(re.findall(r"^    st\.schedule ", text, re.M))
        st.expect(entries == stages, f"{entries} schedules")
        return f"{expected / 1e9:.1f}B parameters, {4 * on_devices} bytes on {tensor * data * stages} devices"
    return case


def replicas_cost_nothing(folder):
    counts = []
    for data in (2, 8, 64):
        parallel = {"mode": "hybrid", "sharding_size": 8, "data": data, "stage_cnt": 16, "accum_degree": 16}
        path = st.write_json(folder / f"{data}.json", parallel)
        model = json.loads((EXAMPLES / "models/gpt3-175b/config.json").read_text()) | {"n_layer": 16}
        _, ops = compile_large(folder, st.write_json(folder / "model/config.json", model).parent, path, 16 * data)
        counts.append(ops)
    # A few ops differ: the masks of a larger batch are drawn in slices, 135 ops more at import.
    for phase in zip(*counts, strict=True):
        ops = [int(count) for _, count in phase]
        st.expect(max(ops) - min(ops) <= 140, f"{phase[0][0]}: {ops} ops")
    st.expect(counts[0][-1][0] == "scheduled", f"ends with {counts[0][-1][0]}")
    return f"{ops} ops for 2, 8 and 64 replicas"


def layout(tensor, data, stages, micro, **more):
    return {"mode": "hybrid", "sharding_size": tensor, "data": data, "stage_cnt": stages, "accum_degree": micro, **more}


def time_step(binary, *flags):
    report = binary.with_suffix(".report")
    done = st.check_run([binary, "--timing-only", f"--report={report}", *flags])
    return json.loads(report.read_text()), done.stderr


def take_times(report):
    """The time of the step, after removing it and its parts from the report. The parts add up to it."""
    step = report.pop("sim_ms")
    for phases in [report.pop("critical_path_ms"), *(device.pop("phases_ms") for device in report["devices"])]:
        st.expect(abs(sum(phases.values()) - step) <= 1e-6 * step, f"phases add up to {sum(phases.values())} ms, the step is {step}")
    return step


def replay(tensor, data, stages, micro, **more):
    """Everything but the time of the step is exact."""
    def case(folder):
        binary = st.compile_model(folder, "model", st.SMALL_GPT2, "clm", layout(tensor, data, stages, micro, **more),
                                  batch=data * micro)
        each, _ = time_step(binary, "--time-tasks=each")
        once, log = time_step(binary, "--time-tasks=once")
        difference = take_times(once) / take_times(each) - 1
        st.expect(once == each, f"work differs: {once} and {each}")
        st.expect(abs(difference) <= REPLAY_TOLERANCE, f"the replayed time is off by {difference:+.2%}")
        return f"{difference:+.3%}, {re.search('[0-9]+ of [0-9]+ runs', log)[0]}"
    return case


def every_trip(tensor, data, stages, micro, **more):
    """With a trace all trips of all loops run; otherwise those in a steady state are skipped and their time is
    added."""
    def case(folder):
        config = st.SMALL_GPT2 | {"n_embd": 768, "n_head": 12, "n_layer": 2, "n_positions": 256}
        binary = st.compile_model(folder, "model", config, "clm", layout(tensor, data, stages, micro, **more),
                                  batch=data * micro, seq=256)
        added, _ = time_step(binary, "--time-tasks=each")
        run, _ = time_step(binary, f"--trace={folder / 'trace'}")
        st.expect(added == run, f"{added} and {run}")
        return f"{added['sim_ms']} ms both ways"
    return case


def timed(model, layers, tensor, data, stages, micro, **more):
    """The step ends, it does the products that the model's shape implies, and its time is within the bounds."""
    def case(folder):
        config = json.loads((EXAMPLES / f"models/{model}/config.json").read_text()) | {"n_layer": layers}
        batch, seq = data * micro, 2048
        binary = st.compile_model(folder, "model", config, "clm", layout(tensor, data, stages, micro, **more),
                                  f"--target={POD}", batch=batch, seq=seq)
        report, log = time_step(binary, "--time-tasks=once")
        hidden, words = config["n_embd"], config["vocab_size"]
        # A layer multiplies by 12 h^2 weights, and each query by the keys and values of its sequence; the backward pass
        # does twice the work of the forward pass.
        expected = 3 * batch * seq * (layers * (12 * hidden**2 + 2 * seq * hidden) + words * hidden)
        found = sum(device["macs"] for device in report["devices"])
        st.expect(found == expected, f"{found} multiplications, not {expected}")
        st.expect(report["roofline_ms"] < report["sim_ms"] < report["serial_ms"], f"{report['sim_ms']} ms")
        return f"{report['sim_ms']} ms, {re.search('timed one step in [0-9.]+ s', log)[0]}"
    return case


def refusals(folder):
    binary = st.compile_model(folder, "model", st.SMALL_GPT2, "clm", None, batch=1)
    for flags, message in (
            (["--time-tasks=twice"], "--time-tasks=twice: expected auto, each or once"),
            (["--time-tasks=once", f"--trace={folder / 'trace'}"],
             "--trace shows every task and has no effect with --time-tasks=once")):
        done = st.run([binary, "--timing-only", *flags])
        st.expect(done.returncode == 1 and message in done.stderr, f"{flags}: exit {done.returncode}, {done.stderr}")
        st.expect(not (folder / "trace").exists(), "a trace was left")


def memory_adds_up(folder):
    """The classes of each group add up to its arena, to the byte."""
    binary = st.compile_model(folder, "model", st.SMALL_GPT2, "clm", layout(2, 2, 4, 4), batch=8)
    text = st.check_run([st.BIN / "st-translate", "--executable-to-text", binary]).stdout
    arenas = re.findall(r"^  arena (\d+) bytes, (.*)$", text, re.M)
    for arena, classes in arenas:
        sizes = {name: int(count) for name, count in (entry.split() for entry in classes.split(", "))}
        st.expect(sum(sizes.values()) == int(arena), f"{sizes} in an arena of {arena}")
        st.expect(sizes.keys() >= {"parameters", "gradients", "optimizer", "activations", "workspace"}, f"{sizes}")
    st.expect(len(arenas) == 4, f"{len(arenas)} groups")
    return f"{len(arenas)} groups"


def hidden_64(layers, data, stages, micro, **more):
    """Runs the plan of a number of layers for 8 x data x stages."""
    def case(folder):
        config = st.SMALL_GPT2 | {"n_layer": layers, "n_positions": 16}
        one = st.compile_model(folder, "one", config, "clm", None, f"--target={POD}", batch=micro * data, seq=16)
        many = st.compile_model(folder, "many", config, "clm", layout(8, data, stages, micro, **more),
                                f"--target={POD}", batch=micro * data, seq=16)
        # On a busy machine of two cores a step of 1024 devices takes minutes.
        expected, found = (st.losses(st.train(binary, "--time-tasks=once", steps=2, timeout=600 * data))
                           for binary in (one, many))
        difference = st.relative_difference(expected, found)
        st.expect(difference < 1e-5, f"{found}, one device {expected}")
        return f"{8 * data * stages} devices, losses {found}, relative difference {difference:.1e}"
    return case


# Minutes of processor time.
WHOLE = [("timing 175B for 8 x 8 x 16", timed("gpt3-175b", 96, 8, 8, 16, 16)),
         ("timing 1T for 8 x 64 x 6", timed("gpt-1t", 128, 8, 64, 6, 12, zero=1)),
         ("hidden 64 for 8 x 8 x 16", hidden_64(96, 8, 16, 16)),
         ("hidden 64 for 8 x 2 x 6", hidden_64(128, 2, 6, 12, zero=1)),
         ("hidden 64 for 8 x 16 x 6", hidden_64(128, 16, 6, 12, zero=1))] if os.environ.get("ST_ALL") else []

CASES = [
    ("175B for 8 x 8 x 16", scheduled("gpt3-175b", 8, 8, 16, batch=128)),
    ("1T for 8 x 64 x 6", scheduled("gpt-1t", 8, 64, 6, batch=768)),
    ("1T for 8 x 6 x 64", scheduled("gpt-1t", 8, 6, 64, batch=384)),
    ("replicas cost nothing", replicas_cost_nothing),
    ("replay tensor 4 data 2 stages 2", replay(4, 2, 2, 4)),
    ("replay tensor 1 data 1 stages 4", replay(1, 1, 4, 8)),
    ("replay tensor 4 data 4 stages 1", replay(4, 4, 1, 2, zero=1)),
    ("replay tensor 8 data 2 stages 8", replay(8, 2, 8, 8)),
    ("replay tensor 4 data 2 stages 2, stashes on the host", replay(4, 2, 2, 4, offload=True)),
    ("replay tensor 1 data 1 stages 4, stashes on the host", replay(1, 1, 4, 8, offload=True)),
    ("every trip, tensor 4 data 1 stages 2", every_trip(4, 1, 2, 2)),
    ("every trip, tensor 2 data 4 stages 1", every_trip(2, 4, 1, 1, zero=1)),
    ("every trip, tensor 2 data 1 stages 2, stashes on the host", every_trip(2, 1, 2, 2, offload=True)),
    ("timing 16 layers for 8 x 1 x 16", timed("gpt3-175b", 16, 8, 1, 16, 16)),
    *WHOLE,
    ("refusals", refusals),
    ("memory adds up", memory_adds_up),
    ("hidden 64 for 8 x 1 x 16", hidden_64(96, 1, 16, 16)),
]
st.main(*CASES[:2], *st.drawn_part(CASES[2:], 2))
