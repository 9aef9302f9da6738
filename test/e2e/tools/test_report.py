"""The page of st-compile --report: its figures are the binary's and add up, and it is self-contained; also refused
requests."""

import html.parser
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import jax
import numpy as np
import st_testing as st
import test_mutated_binary as mutated
from test_bad_tools import refuse

GPT2 = st.SMALL_GPT2 | {"n_layer": 4}


def spec(tensor=1, data=1, stages=1, micro=1, **more):
    return {"mode": "hybrid", "sharding_size": tensor, "data": data, "stage_cnt": stages, "accum_degree": micro, **more}


LAYOUTS = {
    "one device": (GPT2, "clm", None, 4),
    "pipeline": (GPT2, "clm", spec(stages=4, micro=8, schedule="1f1b"), 8),
    "interleaved": (GPT2, "clm", spec(stages=2, micro=4, schedule="interleaved"), 8),
    "shards, ZeRO 2": (GPT2, "clm", spec(tensor=2, data=2, micro=2, zero=2), 8),
    "all of it": (st.SMALL_BERT | {"num_hidden_layers": 4}, "mlm",
                  spec(tensor=4, data=2, stages=2, micro=4, zero=1), 8),
    "stages one after the other": (GPT2, "clm", spec(stages=2) | {"mode": "sharding"}, 4),
    "stashes on the host": (GPT2, "clm", spec(stages=2, micro=4, offload=True), 8),
}


class Page(html.parser.HTMLParser):
    """The content of a page: text, tables by section as rows of cells, figures; tags must match."""

    def __init__(self, path):
        super().__init__()
        self.source = path.read_text()
        self.open, self.words, self.section, self.tables = [], [], None, {}
        self.feed(self.source)
        self.close()
        st.expect(not self.open, f"open at the end: {self.open}")
        ElementTree.fromstring(self.source)
        self.text = " ".join(self.words)
        self.figures = json.loads(re.search(r'id="figures">\n(.*?)\n</script>', self.source, re.S)[1])
        self.total = self.figures["picoseconds"]

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        attributes = dict(attributes)
        if tag == "section":
            self.section = attributes["id"]
        elif tag == "table":
            self.tables.setdefault(self.section, []).append([])
        elif tag == "tr":
            self.tables[self.section][-1].append([])
        elif tag in ("td", "th"):
            self.tables[self.section][-1][-1].append("")
        elif tag == "span" and "title" in attributes:  # The exact value of a rounded figure.
            self.tables[self.section][-1][-1][-1] = attributes["title"]

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        st.expect(self.open and self.open.pop() == tag, f"</{tag}> closes another tag, {self.getpos()}")

    def handle_data(self, data):
        if "script" in self.open or "style" in self.open:
            return
        self.words.append(data)
        if self.open[-1:] in (["td"], ["th"]):
            self.tables[self.section][-1][-1][-1] += data

    def picoseconds(self, section, table, column):
        """The exact times of a column."""
        return [round(float(row[column].removesuffix(" ms")) * 1e9) for row in self.tables[section][table][1:]]


def fields(message, kind, name):
    """The values of a field of a decoded message."""
    number = next(n for n, field in mutated.MESSAGES[kind].items() if field[0] == name)
    return [value for n, value in message if n == number]


def compile_page(folder, config, task, parallel, batch, *flags):
    page = folder / "report.html"
    model = st.write_json(folder / "model" / "config.json", config).parent
    # The last target is used.
    command = [*st.COMPILE, model, f"--task={task}", f"--batch={batch}", "--seq=32", "-o", folder / "model.bin",
               f"--report={page}", "--target=dtu-t10", *flags]
    if parallel:
        command.append(f"--parallel={st.write_json(folder / 'parallel.json', parallel)}")
    done = st.check_run(command)
    return Page(page), folder / "model.bin", done.stderr, command


def stands_alone(page):
    """The page refers to no other file, and is small."""
    for reference in ("http", "@import", "url("):
        st.expect(reference not in page.source, f"it has {reference}")
    st.expect(not re.search(r'\b(src|href)=', page.source), "it loads something")
    st.expect(len(page.source) < 2_000_000, f"{len(page.source)} characters")


def agrees(page, binary, said):
    """The page, the compiler's line, the prediction in the binary and the binary's output agree."""
    report = binary.with_suffix(".json")
    printed = st.check_run([binary, "--timing-only", f"--report={report}"]).stdout
    line = re.search(r"simulated step (\S+) ms \(roofline bound (\S+) ms, sum of all instructions (\S+) ms\)", printed)
    exact = json.loads(report.read_text())
    for figure, key, name in zip(line.groups(), ("picoseconds", "lower_bound", "serial_sum"), ("sim_ms", "roofline_ms", "serial_ms")):
        st.expect(figure + " ms" in page.text, f"the page lacks {figure} ms")
        st.expect(round(exact[name] * 1e9) == page.figures[key], f"{key}: {page.figures[key]}, not {exact[name]} ms")
        st.expect(abs(float(figure) / exact[name] - 1) < 5e-4, f"{key}: {figure} ms, exactly {exact[name]}")
    st.expect(f"a step takes {line[1]} ms" in said, said)
    prediction, = fields(mutated.Mutator(binary).program, "Executable", "prediction")
    st.expect(fields(prediction, "Prediction", "picoseconds") == [page.total], "another prediction")
    links = {fields(link, "LinkPrediction", "name")[0].decode(): fields(link, "LinkPrediction", "bytes")[0]
             for link in fields(prediction, "Prediction", "links")}
    st.expect({link["name"]: link["bytes"] for link in page.figures["links"]} == links, "the links differ")
    if links:
        shown = {row[0]: int(row[1].split()[0]) for row in page.tables["links"][1][1:]}
        st.expect(shown.items() <= links.items() and len(shown) == min(50, len(links)), f"shown links {shown}")
    st.expect(all(0 < link["busy"] <= page.total for link in page.figures["links"]), "a link is too busy")
    devices = exact["devices"]
    st.expect(all(sum(d["memory_bytes"].values()) == d["arena_bytes"] for d in devices), "classes of memory")
    st.expect([d["arena_bytes"] for d in page.figures["devices"]] == [d["arena_bytes"] for d in devices], "memory")
    return [sum(sum(fields(task, "TaskPrediction", "picoseconds")) for task in fields(rank, "RankPrediction", "tasks"))
            for rank in fields(prediction, "Prediction", "ranks")]


def adds_up(page, ranks):
    """Classes add up to the step on each device, pieces of the path to the step, and classes of memory to the arena."""
    total, figures = page.total, page.figures
    for device, busy in zip(figures["devices"], ranks, strict=True):
        times = device["times"]
        st.expect(sum(times.values()) == total and min(times.values()) >= 0, f"{device}: not {total}")
        st.expect(times["waiting"] >= total - busy, f"{device['name']} is done at {busy} of {total}")
    for group in figures["groups"]:
        st.expect(sum(group["times"].values()) == total * group["ranks"], f"{group['name']} does not add up")
        st.expect(sum(group["memory"].values()) == group["arena_bytes"], f"{group['name']}: memory does not add up")
    for row in page.tables["stages"][1][1:]:
        shown = sum(round(float(cell.removesuffix(" ms")) * 1e9) for cell in row[3:])
        st.expect(shown == total, f"{row} adds up to {shown}")
    path = figures["path"]
    st.expect(path[0]["start"] == 0 and path[-1]["end"] == total, "the path has ends")
    st.expect(len(path) == figures["num_pieces"], "pieces are missing")
    st.expect(all(a["end"] == b["start"] for a, b in zip(path, path[1:])), "the path has gaps")
    st.expect(all(sum(p["times"].values()) == p["end"] - p["start"] for p in path), "a piece does not add up")
    for table, column in ((0, 1), (1, 3)):
        st.expect(sum(page.picoseconds("path", table, column)) == total, f"table {table} of the path does not add up")
    lengths = page.picoseconds("path", 1, 3)[:40]
    st.expect(lengths == sorted(lengths, reverse=True), "the longest pieces come first")
    memory = figures["memory"]
    st.expect(0.7 * memory["reserved"] < memory["peak"] <= memory["reserved"], f"{memory}")


def pages(name):
    def case(folder):
        config, task, parallel, batch = LAYOUTS[name]
        page, binary, said, command = compile_page(folder, config, task, parallel, batch)
        stands_alone(page)
        adds_up(page, agrees(page, binary, said))
        # The same page again, and the same binary without a page.
        first, binary_first = page.source, binary.read_bytes()
        st.check_run(command)
        st.expect((folder / "report.html").read_text() == first, "another page of the same step")
        st.check_run([flag for flag in command if not str(flag).startswith("--report=")])
        st.expect(binary.read_bytes() == binary_first, "the page changes the binary")
        times = {c: sum(g["times"][c] for g in page.figures["groups"]) for c in page.figures["groups"][0]["times"]}
        spread = parallel is not None
        st.expect(all(times[name] > 0 for name in ("forward", "backward", "update", "launches")), f"{times}")
        # A single stage waits only at the end, for devices that end later.
        least = 0.05 if spread and parallel["stage_cnt"] > 1 else 0
        most = 1 if least else 0.01 * spread
        st.expect(least <= times["waiting"] / sum(times.values()) <= most, f"{times}")
        shares = spread and parallel["sharding_size"] * parallel["data"] > 1
        st.expect((times["collectives"] > 0) == shares, f"{times}")
        return f"{page.total / 1e9:.3f} ms, {len(page.source) // 1024} KiB"
    return case


def replayed(folder):
    """With more than 64 devices tasks are timed once, and the page has a row per group."""
    layout = spec(tensor=4, data=9, stages=2, micro=2, schedule="1f1b", zero=1)
    page, binary, said, _ = compile_page(folder, GPT2 | {"n_layer": 2}, "clm", layout, 36)
    stands_alone(page)
    report = folder / "report.json"
    st.check_run([binary, "--timing-only", f"--report={report}"])
    st.expect(round(json.loads(report.read_text())["sim_ms"] * 1e9) == page.total, "another time than the binary's")
    st.expect(page.figures["devices"] == [] and [g["ranks"] for g in page.figures["groups"]] == [36, 36], "rows")
    for group in page.figures["groups"]:
        st.expect(sum(group["times"].values()) == page.total * 36, f"{group['name']} does not add up")
        st.expect(group["times"]["collectives"] > 0 and group["times"]["waiting"] > 0, f"{group}")
    path = page.figures["path"]
    st.expect(path[0]["start"] == 0 and path[-1]["end"] == page.total, "the path has ends")
    st.expect(all(a["end"] == b["start"] for a, b in zip(path, path[1:])), "the path has gaps")
    st.expect({piece["group"] for piece in path} == {"group0", "group1"}, "the path stays on one group")
    prediction, = fields(mutated.Mutator(binary).program, "Executable", "prediction")
    st.expect(page.figures["num_links"] == len(fields(prediction, "Prediction", "links")), "links")
    return f"{page.figures['num_links']} links, {len(page.source) // 1024} KiB"


def what_if(folder):
    """The predicted step on a better machine equals the step of the same code on such a machine."""
    page, binary, _, command = compile_page(folder, GPT2, "clm", spec(tensor=8, stages=2, micro=2), 8)
    figures = {"links from chip to chip are twice as fast": ["chip_gbytes_per_second"],
               "device memory (L3) is twice as fast": ["l3_gbytes_per_second"],
               "vector engines are twice as fast": ["vector_bytes_per_cycle", "l1_banks"]}
    asked = {one["what"]: one["picoseconds"] for one in page.figures["what_if"]}
    st.expect(len(asked) >= 3 and all(0 < time for time in asked.values()), f"{asked}")
    code = folder / "code.mlir"
    unwanted = ("--report=", "-o", str(binary))
    st.check_run([*(c for c in command if not str(c).startswith(unwanted)), "--compile-to=dtu", "-o", code])
    checked = 0
    for what, names in figures.items():
        if what not in asked:
            continue
        text = code.read_text()
        for name in names:
            text, count = re.subn(rf"(\b{name} {{ value: )([\d.]+)", lambda m: f"{m[1]}{2 * float(m[2]):g}", text)
            st.expect(count == 1, f"{count} figures {name}")
        (folder / "better.mlir").write_text(text)
        st.check_run([*st.COMPILE, folder / "better.mlir", "--compile-from=dtu", "-o", folder / "better.bin"])
        prediction, = fields(mutated.Mutator(folder / "better.bin").program, "Executable", "prediction")
        st.expect(fields(prediction, "Prediction", "picoseconds") == [asked[what]], f"{what}: {asked[what]}")
        checked += 1
    st.expect(checked >= 2, f"{checked} of {asked}")
    # A page written by other code lacks the plan's data, and the error states it.
    again = folder / "again.html"
    st.check_run([*st.COMPILE, code, "--compile-from=dtu", "-o", folder / "again.bin", f"--report={again}"])
    st.expect("unknown for a program compiled from code" in Page(again).text, "memory over time from code")
    st.expect((folder / "again.bin").read_bytes() == binary.read_bytes(), "another binary")
    return f"{checked} machines"


def names(folder):
    """Names come from files and may hold anything."""
    text = (st.ROOT / "devices" / "dtu-t10.textproto").read_text()
    device = folder / "device.textproto"
    device.write_text(re.sub(r'(?m)^name: ".*"', 'name: "</script><b>&\'t10"', text))
    page, _, _, _ = compile_page(folder, GPT2 | {"n_layer": 1}, "clm", None, 2, f"--target={device}")
    st.expect("on </script><b>&'t10." in page.text and "<b>" not in page.source, "the name's markup is the page's")


def refused(folder):
    model = st.write_json(folder / "model" / "config.json", GPT2 | {"n_layer": 1}).parent
    page, binary = folder / "page.html", folder / "a.bin"
    command = [*st.COMPILE, "-q", model, "--task=clm", "--batch=2", "--seq=16", "--target=dtu-t10"]
    (folder / "file").touch()
    for flags, message in (
            (["-o", binary, f"--report={page}", "--predict=false"], "--predict=false omits"),
            (["-o", folder / "a.mlir", f"--report={page}", "--compile-to=tasks"],
             "has no effect: --compile-to=tasks stops before"),
            (["-o", binary, f"--report={folder / 'nothing' / 'page.html'}"], "nothing/page.html: cannot write"),
            (["-o", binary, f"--report={folder / 'file' / 'page.html'}"], "file/page.html: cannot write"),
            (["-o", binary, f"--report={folder}"], "cannot write|Is a directory"),
            (["-o", binary, f"--report={binary}"], "and -o name the same file"),
            (["-o", binary, f"--report={page}", f"--explain={page}"], "and --explain name the same file"),
            (["-o", binary, "--report="], "--report=: expected a value"),
            (["-o", binary, f"--report={page}", "--target=dtu-none"], "dtu-none")):
        refuse([*command, *flags], message, folder)
    # The previous file stays.
    page.write_text("before")
    refuse([*command, "-o", binary, f"--report={page}", "--batch=0"], "--batch", folder)
    st.expect(page.read_text() == "before", "a failed compilation replaced the page")


def depends_on_data(folder):
    program = folder / "program.mlir"
    argument = jax.ShapeDtypeStruct((8,), np.float32)
    program.write_text(jax.jit(
        lambda x: jax.lax.while_loop(lambda v: v.sum() < 9, lambda v: 2 * v, x)).lower(argument).as_text())
    refuse([*st.COMPILE, "-q", program, "--target=dtu-t10", "-o", folder / "a.bin", f"--report={folder / 'page.html'}"],
           "the time of a step depends on its data", folder)


def gpus(folder):
    """For GPUs the page has the costs of commands: they add up, are the binary's, and more bandwidth shortens the
    step."""
    totals = {}
    for target in ("cuda-sm_90", "cuda-sm_90-h200"):
        layout = spec(tensor=2, stages=2, micro=4, schedule="1f1b", precision="bf16")
        page, binary, said, command = compile_page(folder, GPT2, "clm", layout, 8, f"--target={target}")
        stands_alone(page)
        st.expect(f"on {target}. All times are predicted from costs of its commands" in page.text, page.text[:500])
        st.expect(not {"engines", "links", "path"} & page.tables.keys(), f"sections {page.tables.keys()}")
        printed = float(re.search(r"a step takes ([\d.]+) ms", said)[1])
        st.expect(abs(printed * 1e9 / page.total - 1) < 5e-4, said)
        prediction, = fields(mutated.Mutator(binary).program, "Executable", "prediction")
        st.expect(fields(prediction, "Prediction", "picoseconds") == [page.total], "another prediction")
        st.expect(page.figures["lower_bound"] < page.total < page.figures["serial_sum"], "bounds")
        for row in page.figures["devices"]:
            st.expect(sum(row["times"].values()) == page.total and min(row["times"].values()) >= 0, f"{row}")
            st.expect(all(row["times"][name] > 0 for name in ("forward", "backward", "update", "collectives", "waiting")),
                      f"{row}")
        totals[target] = page.total
    st.expect(totals["cuda-sm_90-h200"] < totals["cuda-sm_90"], f"{totals}")
    refuse([*command, "-q", "--target=cuda-host"], "does not predict its time", folder)
    return ", ".join(f"{total / 1e9:.3f} ms" for total in totals.values())


CASES = [*((name, pages(name)) for name in LAYOUTS), ("72 devices", replayed), ("GPUs", gpus), ("what if", what_if), ("names", names),
         ("refused", refused), ("time that depends on data", depends_on_data)]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
