"""st-compare names the cause of the time difference of two runs, and the first step whose losses differ."""

import json
import pathlib
import re
import struct
import sys
import tempfile

from safetensors.numpy import load_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from st_errors import expect_error

COMPARE = st.BIN / "st-compare"


class Binaries:
    """Programs with one kind of traffic over the link between chip 0 and chip 1."""

    folder = tempfile.TemporaryDirectory(prefix="st-compare-")
    made = {}

    @classmethod
    def get(cls, stages, shards):
        if (stages, shards) not in cls.made:
            cls.made[stages, shards] = st.compile_model(cls.folder.name, f"gpt-{stages}x{shards}", st.SMALL_GPT2, "clm",
                                                        st.layout(stages, shards))
        return cls.made[stages, shards]


def compare(a, b, *flags):
    return st.check_run([COMPARE, a, b, *flags]).stdout


def compared(a, b):
    return json.loads(compare(a, b, "--json"))


def timed(binary, folder, *flags):
    """Returns the report of a step and its time."""
    path = folder / f"report{len(list(folder.iterdir()))}.json"
    st.check_run([binary, "--timing-only", f"--report={path}", *flags])
    return path, json.loads(path.read_text())["sim_ms"]


def slower_by(binary, folder, share):
    """Derates the link of chips 0 and 1 until a step is slower by `share`, within a tenth of it. Returns both reports."""
    plain, before = timed(binary, folder)
    low, high = 0.001, 1.0
    for _ in range(30):
        factor = (low * high) ** 0.5
        derated, after = timed(binary, folder, f"--derate=link:chip0-chip1:{factor:.6f}")
        if abs(after / before - 1 - share) < share / 10:
            return plain, derated, after - before
        low, high = (low, factor) if after / before - 1 < share else (factor, high)
    raise st.Failure(f"no derate gives {share:.0%}: {after / before - 1:.4f} with {factor}")


def planted(stages, shards, activities):
    def run(folder):
        plain, derated, difference = slower_by(Binaries.get(stages, shards), folder, 0.05)
        found = compared(plain, derated)
        st.expect(found["cause"].split(", ")[1] in activities, f"{found['cause']}: {found['parts'][:3]}")
        st.expect(found["links"][0]["name"] in ("chip 0 -> chip 1", "chip 1 -> chip 0"), f"{found['links'][:2]}")
        st.expect(found["adds_up"] and abs(sum(p["difference_ms"] for p in found["parts"]) - difference) < 1e-6,
                  f"the parts add up to another difference: {found['parts']}")
        others = sum(p["difference_ms"] for p in found["parts"] if p["name"].split(", ")[-1] not in activities)
        st.expect(abs(others) < difference / 10, f"{others} ms of {difference} are elsewhere")
        text = compare(plain, derated)
        st.expect("longer than A's" in text and f"largest part: {found['cause']}, +" in text and "chip " in text, text)
        st.expect("shorter than A's" in compare(derated, plain), "the other way round")
        st.expect("a step takes" in compare(plain, plain), "of itself")
        return f"{found['cause']}, {difference:.4g} ms longer"
    return run


def slow_cores(folder):
    """Matrix engines with fewer multiply-adds a cycle make the step about 5 % longer: the difference is in a phase's computation."""
    config = dict(st.SMALL_GPT2, n_embd=256, n_layer=2)
    device = (st.ROOT / "devices/dtu-t10.textproto").read_text()
    name = "fp32_macs_per_core_cycle { value: "
    st.expect(device.count(f"{name}256 ") == 1, "the device has another rate")

    def timed_with(rate):
        target = folder / "device.textproto"
        target.write_text(device.replace(f"{name}256 ", f"{name}{rate} "))
        return timed(st.compile_model(folder, f"gpt{rate}", config, "clm", st.layout(1, 2), f"--target={target}"), folder)

    plain, before = timed_with(256)
    low, high = 32, 256
    while high - low > 1:
        rate = (low + high) // 2
        slower, after = timed_with(rate)
        if abs(after / before - 1.05) < 0.01:
            break
        low, high = (rate, high) if after / before > 1.05 else (low, rate)
    found = compared(plain, slower)
    st.expect(abs(after / before - 1.05) < 0.01, f"no rate makes a step about 5 % longer: {after / before:.4f}")
    st.expect(found["cause"].endswith(", compute") and found["cause"] in ("forward, compute", "backward, compute"), f"{found['parts'][:3]}")
    st.expect(found["adds_up"] and abs(sum(part["difference_ms"] for part in found["parts"]) - (after - before)) < 1e-6, f"{found}")
    return f"{found['cause']}, {rate} multiply-adds a cycle instead of 256: {100 * (after / before - 1):.1f} % longer"


def leaf_phases(folder):
    """The phases of each rank, and those of the critical path, add up to the step."""
    for stages, shards in ((2, 4), (1, 8)):
        path, step = timed(Binaries.get(stages, shards), folder)
        report = json.loads(path.read_text())
        for times in [report["critical_path_ms"], *(device["phases_ms"] for device in report["devices"])]:
            st.expect(abs(sum(times.values()) - step) < 1e-6, f"{sum(times.values())} ms of {step}: {times}")
    return f"{len(report['devices'])} ranks"


def losses(folder):
    """Another learning rate changes the loss of step 2; another seed changes the loss of step 1."""
    binary = Binaries.get(1, 8)
    for name, flags in (("a", []), ("b", ["--lr=0.01"]), ("c", ["--seed=1"])):
        (folder / name).mkdir()
        done = st.check_run([binary, "--steps=4", f"--metrics={folder / name}/metrics", *flags])
        (folder / f"{name}.log").write_text(done.stdout)
        (folder / name / "notes.txt").write_text("not of the run\n")
    st.expect("losses are equal in all 4 steps" in compare(folder / "a", folder / "a.log"), "the log has other losses")
    rows = [[json.loads(line)["loss"] for line in (folder / name / "metrics").read_text().splitlines()] for name in "ab"]
    found = compared(folder / "a", folder / "b")["losses"]
    st.expect(found["compared"] == 4 and found["first_difference"] == {"step": 2, "a": rows[0][1], "b": rows[1][1]}, f"{found}")
    st.expect(compared(folder / "a.log", folder / "b.log")["losses"]["first_difference"]["step"] == 2, "of the logs")
    found = compared(folder / "a", folder / "c")["losses"]["first_difference"]
    st.expect(found["step"] == 1, f"{found}")
    st.expect("losses differ from step 1: " in compare(folder / "a", folder / "c"), "in the text")


def logs_and_traces(folder):
    """Without a report, st-compare uses the timers of a log in Megatron-LM's form, or the labels of a trace."""
    binary = Binaries.get(2, 4)
    for name, flags in (("a", []), ("b", ["--derate=link:chip0-chip1:0.02"])):
        done = st.check_run([binary, "--steps=2", "--log-style=megatron", f"--trace={folder / name}.trace", *flags])
        (folder / f"{name}.log").write_text(done.stdout)
    found = compared(folder / "a.log", folder / "b.log")
    # The slow link carries gradients of the tied embeddings besides activations.
    st.expect(found["part_source"].startswith("timers") and found["cause"] == "backward-embedding-all-reduce", f"{found}")
    found = compared(folder / "a.trace", folder / "b.trace")
    # A span of a trace includes waits, so a label that waits for the link is among the first.
    first = {part["name"].split()[0] for part in found["parts"][:5]}
    st.expect(found["part_source"].startswith("trace") and first & {"send", "recv", "reduce_scatter", "all_gather"}, f"{first}")
    both = compared(f"{folder}/a.trace,{folder}/a.log", f"{folder}/b.trace,{folder}/b.log")
    st.expect(both["losses"]["compared"] == 2 and both["losses"]["first_difference"] is None, f"{both['losses']}")


def values_of(file):
    """The values of the last event of a TensorBoard file, by tag (tensorboard.proto)."""
    data, last = file.read_bytes(), b""
    while data:
        length, = struct.unpack("<Q", data[:8])
        data, last = data[length + 16:], data[12:12 + length]
    # Field 1 of a summary's value is the tag, field 2 the float.
    return {tag.decode(): struct.unpack("<f", value)[0]
            for tag, value in re.findall(rb"\x0a[\x01-\x7f]([ -~]+?)\x15(.{4})", last, re.S)}


def events(folder):
    """TensorBoard has each phase's time over the ranks, TFLOP/s and memory. Its norm equals the checkpoint's."""
    binary = Binaries.get(2, 4)
    path, step = timed(binary, folder)
    done = st.check_run([binary, "--steps=3", f"--tensorboard={folder / 'events'}", f"--metrics={folder / 'metrics'}",
                         "--log-params-norm", "--log-style=megatron", f"--save={folder / 'saved'}"])
    model = load_file(folder / "saved/model.safetensors")
    expected = sum(float((value.astype("f8") ** 2).sum()) for value in model.values()) ** 0.5
    norms = [json.loads(line)["params_norm"] for line in (folder / "metrics").read_text().splitlines()]
    st.expect(len(norms) == 3 and abs(norms[-1] - expected) < 1e-6 * expected, f"{norms}, expected {expected}")
    st.expect(f"params norm: {norms[-1]:.3f} |" in done.stdout, done.stdout)
    found = values_of(next((folder / "events").iterdir()))
    devices = json.loads(path.read_text())["devices"]
    phases = {name for device in devices for name in device["phases_ms"]}
    for name in phases:
        times = sorted(device["phases_ms"].get(name, 0) for device in devices)
        for part, time in (("min", times[0]), ("median", (times[3] + times[4]) / 2), ("max", times[-1])):
            value = found[f"timers/{name}/{part}"]
            st.expect(abs(value - time) <= 1e-6 * max(time, 1e-3), f"{name}, {part}: {value}, the report has {time}")
    rate = 2 * sum(device["macs"] for device in devices) / len(devices) / (step * 1e-3) / 1e12
    st.expect(abs(found["throughput"] / rate - 1) < 1e-5, f"{found['throughput']} TFLOP/s, expected {rate}")
    most = max(device["arena_bytes"] for device in devices)
    st.expect(abs(found["mem-max-allocated-bytes"] / most - 1) < 1e-6, f"{found['mem-max-allocated-bytes']} bytes of {most}")
    return f"{len(phases)} phases"


def bad_input(folder):
    (folder / "empty").mkdir()
    (folder / "text").write_text("a text\n")
    (folder / "cut").write_text('{"sim_ms": 1')
    (folder / "metrics").write_text('{"step": 1, "loss": 2.5, "host_s": 1, "data_s": 0}\n')
    (folder / "later").write_text('{"step": 9, "loss": 2.5}\n')
    good = folder / "metrics"
    expect_error([COMPARE, folder / "none", good], "none: .*No such file")
    expect_error([COMPARE, folder / "empty", good], "empty: holds no file of a run")
    expect_error([COMPARE, folder / "text", good], "text: expected a file of --metrics, --report or --trace, or a log")
    expect_error([COMPARE, folder / "cut", good], "cut: expected a file of --metrics")
    expect_error([COMPARE, good, folder / "later"], "neither times of the same kind nor losses of the same steps")
    expect_error([COMPARE, good], "(?i)not enough positional|must be specified|Not enough")


CASES = [
    ("planted in collectives", planted(1, 8, ("collective",))),
    ("planted in computation", slow_cores),
    ("leaf phases", leaf_phases),
    ("losses", losses),
    ("logs and traces", logs_and_traces),
    ("events", events),
    ("bad input", bad_input),
]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
