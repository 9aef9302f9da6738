"""Shows that the simulated program of a step is the program that a training binary runs.

  benchmarks/what_ran.py [--model=examples/models/bert-large-uncased] [--task=span] [--seq=384]
                         [--parallel=examples/parallel/bert-large-dtu-4x8.json] [--host-threads=2] [--build=build]

Counts: compares the instructions that move or compute data, counted from the loops of the binary's text (Python executes
the control flow of each instance), with the counts of the run on data, rank by rank. Change: reduces one stride of one DTE
copy in the last stage's forward program by 4 bytes; the stored program differs only in that number, and the loss changes.
Share: the fraction of the run's time in generated matrix products (perf, if it is installed).
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = map(str, [ROOT / "scripts", *(ROOT / "test/e2e").iterdir()])
import retime
import test_mutated_binary as mutated


class Counter(retime.StreamTranslator):
    """Translates a stream into a Python function that counts its instructions. Waits do not affect the counts."""

    def source(self):
        if self.loops:
            raise retime.Refused("a loop is left open")
        registers = " = ".join(f"r{i}" for i in range(4, 32))
        return "\n".join(["def stream(r1, r2, r3, table):", f"    r0 = {registers} = count = 0", *self.lines,
                          "    return count"])

    def count(self, fields):
        self.emit("count += 1")

    def nothing(self, fields):
        pass

    add_copy = add_fill = add_gather = add_scatter = add_matmul = add_vector = add_send = add_recv = count
    add_wait = add_signal = add_barrier = nothing


def count_program(lines):
    """(function, instances) of each stream of a program's text."""
    names = {"wrap": retime.wrap, "index_of": retime.index_of, "entry_of": retime.entry_of}
    streams, translator, count = [], None, 0
    for line in lines:
        mnemonic, *fields = line.split()
        if mnemonic == "stream":
            translator, count = Counter(), int(re.search(r" count=(\d+)", line)[1])
        elif line == "  }":
            exec(translator.source(), names)
            streams.append((names["stream"], count))
        elif mnemonic not in ("name", "label"):
            translator.add(mnemonic, dict(field.split("=", 1) for field in fields))
    return streams


def count_instructions(text):
    """Instructions that each rank runs in a step, by the text of its programs."""
    ranks = []
    for group in re.split(r"(?m)^group ", text)[1:]:
        tables = [[int(v) for v in re.findall(r"-?\d+", found)] for found in
                  re.findall(r"(?m)^  rank_table \d+ \[(.*)\]", group)]
        schedule = re.findall(r"([^,\[\] ]+)\((\d+)\)", re.search(r"(?m)^  schedule \[(.*)\]", group)[1])
        tasks = [re.match(r'"([^"]*)"', part)[1] for part in re.split(r"(?m)^  task ", group)[1:]]
        bodies = re.findall(r'(?ms)^program "[^"]*"[^\n]*\n(.*?)^}$', group)
        programs = {task: count_program(body.splitlines()) for task, body in zip(tasks, bodies, strict=True)}
        first, last = map(int, re.search(r"ranks (\d+) to (\d+)", group).groups())
        for rank in range(last - first + 1):
            table = tables[rank] if tables else []
            ranks.append(sum(stream(i, int(micro_batch), rank, table) for task, micro_batch in schedule
                             for stream, count in programs[task] for i in range(count)))
    return ranks


def change_stride(ir):
    """Returns the IR with the outer stride of one source in device memory reduced by 4 bytes, and the changed copy."""
    copies = [found for found in re.finditer(r"dtu\.copy \{[^\n]*src = #dtu\.view<L3\[[^\n]*? strides \[(\d+), 4\]>", ir)
              if int(found[1]) > 64 and ", 4]" in found[0].split("src =")[0]]
    forward = ir.rindex('dtu.program "forward')
    found = next(found for found in copies if found.start() > forward)
    return ir[:found.start(1)] + str(int(found[1]) - 4) + ir[found.end(1):], found[1]


def stored_programs(binary):
    numbers = {field[0]: number for number, field in mutated.MESSAGES["Group"].items()}
    task = {field[0]: number for number, field in mutated.MESSAGES["Task"].items()}["program"]
    top = {field[0]: number for number, field in mutated.MESSAGES["Executable"].items()}["groups"]
    return [dict(value)[task] for number, group in mutated.Mutator(binary).program if number == top
            for number, value in group if number == numbers["tasks"]]


class Demonstration:
    def __init__(self, options, folder):
        self.options, self.folder, self.bin = options, folder, ROOT / options.build / "bin"

    def run(self, *command):
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
        return done.stdout

    def train(self, binary):
        metrics = binary.with_suffix(".metrics")
        out = self.run(binary, "--steps=1", f"--metrics={metrics}", f"--report={binary}.json",
                       f"--host-threads={self.options.host_threads}")
        return json.loads(metrics.read_text())["loss"], out

    def compile(self, ir, name):
        (self.folder / f"{name}.mlir").write_text(ir)
        self.run(self.bin / "st-compile", "-q", self.folder / f"{name}.mlir", "--compile-from=dtu", "-o", self.folder / name)
        return self.folder / name

    def counts(self, binary, out):
        text = self.run(self.bin / "st-translate", "--executable-to-text", binary)
        by_text = count_instructions(text)
        by_run = [device["instructions"] for device in json.loads(pathlib.Path(f"{binary}.json").read_text())["devices"]]
        agrees = re.search(r"(?m)^(not )?as predicted[^\n]*", out)
        print(f"instructions of a step: {sum(by_text):,} by the binary's text, {sum(by_run):,} by the simulator, on "
              f"{len(by_text)} ranks, {'all equal' if by_text == by_run else 'NOT EQUAL'}; the run on data: {agrees[0]}")
        return by_text == by_run and not agrees[1]

    def change(self, ir, binary, loss):
        changed, stride = change_stride(ir)
        other = self.compile(changed, "changed")
        pairs = list(zip(stored_programs(binary), stored_programs(other), strict=True))
        same_length = all(len(a) == len(b) for a, b in pairs)
        bytes_ = sum(x != y for a, b in pairs for x, y in zip(a, b)) if same_length else "other lengths,"
        new, _ = self.train(other)
        print(f"a stride of {stride} bytes made {int(stride) - 4} ({bytes_} of {sum(len(a) for a, _ in pairs):,} bytes of the "
              f"programs): loss {loss:.9g} becomes {new:.9g}")
        return new != loss

    def share(self, binary):
        data = self.folder / "perf.data"
        try:
            self.run("perf", "record", "-q", "-F", "499", "-o", data, binary, "--steps=3",
                     f"--host-threads={self.options.host_threads}")
        except FileNotFoundError:
            print("perf is not installed: no share of matrix products")
            return
        report = self.run("perf", "report", "-i", data, "--stdio", "--sort=dso", "-q")
        for line in report.splitlines():
            if line.strip():
                print("  " + line.strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=ROOT / "examples/models/bert-large-uncased")
    parser.add_argument("--task", default="span")
    parser.add_argument("--seq", type=int, default=384)
    parser.add_argument("--parallel", default=ROOT / "examples/parallel/bert-large-dtu-4x8.json")
    parser.add_argument("--host-threads", type=int, default=2)
    parser.add_argument("--build", default="build")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        show = Demonstration(options, pathlib.Path(folder))
        ir = show.run(show.bin / "st-compile", "-q", options.model, f"--task={options.task}", "--batch=1",
                      f"--seq={options.seq}", f"--parallel={options.parallel}", "--target=dtu-t10", "--optimizer=adamw",
                      "--compile-to=dtu")
        binary = show.compile(ir, "step")
        loss, out = show.train(binary)
        ok = [show.counts(binary, out), show.change(ir, binary, loss)]
        show.share(binary)
    return 0 if all(ok) else 1


if __name__ == "__main__":
    sys.exit(main())
