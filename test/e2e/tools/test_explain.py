"""--explain reports for each reshard the bytes that the emitted collectives move, as often as they run."""

import json
import math
import pathlib
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st

COLLECTIVE = re.compile(r"st\.(all_reduce|all_gather|reduce_scatter|all_to_all|collective_permute) .* over (\[[^]]*\]) "
                        r"of @mesh.*? : (tensor<[^>]*>(?:, tensor<[^>]*>)*)(?: -> (tensor<.*>))?")
MESH = re.compile(r"st\.mesh @mesh <\[(.*)\], micro=(\d+)>")
TASK = re.compile(r"st\.task @\S+ (\w+) ")
ONCE = ("prologue", "update")


def sizes(text):
    """Bytes of each tensor of a list of types."""
    for shape in re.findall(r"tensor<([^>]*)>", text or ""):
        *shape, element = shape.split("x")
        yield math.prod(map(int, shape)) * {"f32": 4, "i32": 4, "bf16": 2, "i1": 1, "ui32": 4}[element]


def sent(match, axes):
    """Bytes that a device sends in a collective: a ring's share of the whole tensor; if there are several tensors, for
    each."""
    kind, over, operands, results = match.groups()
    members = math.prod(axes[name] for name in json.loads(over))
    if kind == "all_gather":
        return sum(sizes(results)) - sum(sizes(operands))
    if kind == "collective_permute":
        return sum(sizes(operands))
    return sum((2 if kind == "all_reduce" else 1) * (operand - operand // members) for operand in sizes(operands))


def moved(path):
    """Bytes of all collectives of a module: once each, and multiplied by their runs per step."""
    once = step = 0
    times = 1
    for line in path.read_text().splitlines():
        if found := MESH.search(line):
            axes = {k: int(v) for k, v in re.findall(r'"(\w+)"=(\d+)', found[1])}
            micro = int(found[2])
        if found := TASK.search(line):
            times = 1 if found[1] in ONCE else micro
        if found := COLLECTIVE.search(line):
            once += sent(found, axes)
            step += times * sent(found, axes)
    return once, step


def case(name, model, task, parallel):
    def check(folder):
        model_folder = st.write_json(folder / "model" / "config.json", model).parent
        explained = folder / "explained.json"
        st.check_run([*st.COMPILE, model_folder, f"--task={task}", "--batch=8", "--seq=32", "--target=dtu-t10",
                      f"--parallel={st.write_json(folder / 'parallel.json', parallel)}", "--compile-to=tasks",
                      f"--dump-phases-to={folder / 'ir'}", f"--explain={explained}", "-o", folder / "out.mlir"])
        report = json.loads(explained.read_text())
        collectives = [c for r in report["reshards"] for c in r["collectives"]]
        for reshard in report["reshards"]:
            st.expect(reshard["bytes"] == sum(c["bytes"] * c["times"] for c in reshard["collectives"]),
                      f"does not add up: {reshard}")
            st.expect(reshard["users"], f"nobody takes it: {reshard}")
        bytes_moved = [r["bytes"] for r in report["reshards"]]
        st.expect(bytes_moved == sorted(bytes_moved, reverse=True), "the largest are not first")
        st.expect(report["bytes"] == sum(bytes_moved), "the total is not the sum")
        (local,) = pathlib.Path(folder / "ir").glob("*-local.mlir")
        (tasks,) = pathlib.Path(folder / "ir").glob("*-tasks.mlir")
        once, _ = moved(local)
        told = sum(c["bytes"] for c in collectives)
        st.expect(once == told, f"collectives move {once} bytes once each, the report says {told}")
        _, step = moved(tasks)
        told = report["bytes"]
        st.expect(step == told, f"collectives move {step} bytes a step, the report says {told}")
        return f"{len(bytes_moved)} reshards, {step} bytes a step"

    return name, check


def advice(folder):
    """Every reshard names an annotation that caused it, and most name one that would avoid it."""
    model = st.write_json(folder / "model" / "config.json", st.SMALL_BERT).parent
    table, report = folder / "table.txt", folder / "report.json"
    command = [*st.COMPILE, model, "--batch=4", "--seq=32", "--compile-to=resharded", "-o", folder / "out.mlir",
               f"--parallel={st.write_json(folder / 'parallel.json', st.layout(1, 4))}"]
    st.check_run([*command, f"--explain={table}"])
    st.check_run([*command, f"--st-explain={report}"])
    reshards = json.loads(report.read_text())["reshards"]
    st.expect(table.read_text().startswith(f"reshards that move data: {len(reshards)}, "), table.read_text()[:200])
    without = [r for r in reshards if not any(end["because"] for end in [r["producer"], *r["users"]])]
    st.expect(not without, f"{len(without)} of {len(reshards)} have no reason")
    with_remedy = [r for r in reshards if r["remedies"]]
    st.expect(2 * len(with_remedy) >= len(reshards), f"only {len(with_remedy)} of {len(reshards)} have a remedy")
    return f"{len(reshards)} reshards, {len(with_remedy)} with a remedy"


def links(folder):
    """On T10, with four clusters per chip, replicas are further apart than the shards of one replica."""
    model = st.write_json(folder / "model" / "config.json", st.SMALL_GPT2).parent
    rates = {}
    for shards in (4, 8):
        parallel = st.write_json(folder / f"{shards}.json", {"mode": "sharding", "data": 2, "sharding_size": shards})
        done = st.check_run([*st.COMPILE, "-q", model, "--task=clm", "--batch=4", "--seq=32", "--target=dtu-t10",
                             f"--parallel={parallel}", "--compile-to=configured"])
        found = re.search(r"link_bytes_per_us = \[(\d+), (\d+)\]", done.stdout)
        st.expect(found, "there are no rates of links")
        rates[shards] = int(found[1]), int(found[2])
    st.expect(rates[4][1] > 2 * rates[4][0], f"found {rates}")
    st.expect(rates[8][1] >= rates[8][0] > 0, f"found {rates}")
    return f"{rates[4][1] / rates[4][0]:.2f} times"


def refusals(folder):
    model = st.write_json(folder / "model" / "config.json", st.SMALL_BERT).parent
    cases = (("staged", folder / "x", "--compile-to=staged stops before the reshards"),
             ("local", folder / "none" / "x", "none/x: cannot write"))
    for phase, path, text in cases:
        flags = [f"--compile-to={phase}", f"--explain={path}"]
        done = st.run([*st.COMPILE, "-q", model, *flags, "-o", folder / "out.mlir"])
        st.expect(done.returncode == 1 and text in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr)
        st.expect(sorted(p.name for p in folder.iterdir()) == ["model"], "leaves files behind")


def cases():
    bert, gpt2 = (st.SMALL_BERT, "mlm"), (st.SMALL_GPT2, "clm")
    yield case("bert 4 shards", *bert, st.layout(1, 4))
    yield case("bert 4 shards by rows", *bert, st.layout(1, 4, dim=0))
    yield case("bert 2 stages of 2 shards, 4 micro-batches", *bert, st.layout(2, 2, mode="hybrid", accum=4))
    yield case("gpt2 2 stages of 4 shards, 2 micro-batches", *gpt2, st.layout(2, 4, mode="hybrid", accum=2, dim=0))
    yield case("gpt2 2 replicas of 2 stages of 2 shards, optimizer state split", *gpt2, {
        "mode": "hybrid", "data": 2, "zero": 1, "sharding_size": 2, "stage_cnt": 2, "accum_degree": 2})
    yield "advice", advice
    yield "links", links
    yield "refusals", refusals


if __name__ == "__main__":
    sys.exit(st.main(*cases()))
