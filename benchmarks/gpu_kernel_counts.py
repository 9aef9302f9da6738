"""Instructions of the loops of generated attention in the output of ptxas, compared with the time that tensor cores take.

  benchmarks/gpu_kernel_counts.py [--build=build] [--chip=sm_90] [--dropouts=0,0.1] [--model=examples/models/bert-large-uncased]

One layer of a model, bf16, is compiled for a GPU; no GPU is needed, but ptxas and nvdisasm (PyPI's nvidia-cuda-nvcc in
the folder of this Python, on PATH, or in /usr/local/cuda/bin). In each kernel of kind attention every loop with tensor
instructions counts as work on one tile. Counts are static: both sides of a branch inside a loop count, even one that is rarely taken.

Columns, a score of 64 x 64 per head: products of the tile; issue slots (instructions of a thread); of these by class; cycles of a
tile of 64 x 64 in which four schedulers issue these, one a cycle; the busiest other unit and its cycles; cycles in
which tensor cores compute the products, and the ratio of the larger of the two other cycle counts to these; the same
ratio for L2's cycles of the loop's loads and stores. The last rows compare all kernels of a pass with the products that
it needs: two forward, five backward.

--ways adds a table of ways to add up the gradient of queries in one kernel: blocks in order, as counted, and models of others.
The cycles of a tile are the maximum over issue slots, units, tensor cores and L2; bytes of device memory that further kernels
move are added.
"""

import argparse
import collections
import copy
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import figures

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCORES, WARP, SCHEDULERS = 64 * 64, 32, 4
OWN = 128  # columns of scores that a block of the gradient has
# Multiply-adds of 16-bit floats per cycle and multiprocessor: A100 312 TFLOP/s at 1.41 GHz on 108, H100 SXM 989 TFLOP/s at
# 1.83 GHz on 132 (NVIDIA's data sheets). mma.sync reaches 62.9 % of the latter on average, wgmma over 95 % (Luo et al.,
# "Dissecting the NVIDIA Hopper Architecture through Microbenchmarking and Multiple Level Analysis", arXiv 2501.12084, section
# 6.2).
PRODUCTS = {"sm_80": 1024, "sm_90": 0.629 * 2048}
# Bytes per cycle and multiprocessor. L2: 5120 per cycle for all 108 (NVIDIA's A100 whitepaper); 6.65 TB/s, as OpenXLA's cost
# model of products measured it on an H100. Device memory: 2.04 and 3.35 TB/s (data sheets).
L2 = {"sm_80": 5120 / 108, "sm_90": 6650 / 132 / 1.83}
MEMORY = {"sm_80": 2039 / 108 / 1.41, "sm_90": 3350 / 132 / 1.83}
# Results per cycle and multiprocessor ("CUDA C++ Programming Guide", throughput of native arithmetic instructions); of shared
# memory words of 4 bytes, one from each of 32 banks. Conversions other than packed rounding (F2F) count as special functions:
# the guide does not distinguish them.
RATES = {"sm_80": {"f32": 64, "integer": 64, "special": 16, "shared": 32, "global": 32},
         "sm_90": {"f32": 128, "integer": 64, "special": 16, "shared": 32, "global": 32}}
# Words of shared memory that a thread's instruction moves: ldmatrix loads this many 8 x 8 matrices per warp.
WORDS = {"M88.4": 4, "MT88.4": 4, "M88.2": 2, "MT88.2": 2, "128": 4, "64": 2}
# Bytes that a thread's instruction moves between L2 and registers or shared memory.
BYTES = {"128": 16, "64": 8, "U16": 2, "U8": 1}
CLASSES = {
    "tensor": ("HMMA",), "f32": ("FADD", "FMUL", "FFMA"), "special": ("MUFU", "F2F", "F2I", "I2F"),
    "shared": ("LDSM", "LDS", "STS", "SHFL", "ATOMS"), "global": ("LDG", "STG", "LDGSTS", "LDGDEPBAR", "RED", "ATOMG"),
    "integer": ("IMAD", "IADD3", "SHF", "LOP3", "LEA", "IMNMX", "VIMNMX", "PRMT", "SEL", "FSEL", "ISETP", "FSETP", "FMNMX",
                "F2FP", "I2FP", "VIADD", "IABS", "PLOP3", "FCHK"),
    "control": ("BAR", "BRA", "BSSY", "BSYNC", "CALL", "RET", "DEPBAR", "WARPSYNC", "NOP"),
}


def find_tool(name):
    packaged = next(pathlib.Path(sys.prefix).glob(f"lib/python*/site-packages/nvidia/cu*/bin/{name}"), None)
    installed = pathlib.Path("/usr/local/cuda/bin", name)
    found = packaged or shutil.which(name) or (installed if installed.exists() else None)
    if not found:
        sys.exit(f"error: {name} is neither in the folder of {sys.executable} nor on PATH nor in {installed.parent}")
    return found


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {command[0]} failed: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}")
    return done.stdout


def class_of(op):
    stem = op.split(".")[0]
    return next((name for name, stems in CLASSES.items() if stem in stems), "other")


def shared_words(op):
    """Words of shared memory that an instruction reads or writes for each thread."""
    if class_of(op) != "shared" and not op.startswith("LDGSTS"):
        return 0
    return next((words for suffix, words in WORDS.items() if op.endswith(suffix)), 1)


def l2_bytes(op):
    """Returns the bytes of L2 that an instruction reads or writes per thread. Loads of words do not count: L1 has row
    values."""
    if not op.startswith(("LDG", "STG", "RED", "ATOMG")) or op.startswith("LDGDEPBAR") or op.startswith("LDG.E") and "128" not in op:
        return 0
    return next((size for part, size in BYTES.items() if part in op.split(".")), 4)


def functions(sass):
    """The instructions of each function: labels as strings, else (predicate, op, operands)."""
    found, code = {}, None
    for line in sass.splitlines():
        if section := re.match(r"\.text\.(\w+):", line):
            code = found.setdefault(section[1], [])
        elif line.startswith("\t.section"):
            code = None
        elif code is not None and (label := re.match(r"(\.L\w+):", line)):
            code.append(label[1])
        elif code is not None and (op := re.match(r"\s*/\*[0-9a-f]+\*/\s+(?:\{\s*)?(@!?U?P\w+\s+)?([A-Z][\w.]*)\s*(.*?);", line)):
            code.append((op[1], op[2], op[3]))
    return found


def loops(code):
    """Instructions of each innermost loop that has tensor instructions."""
    places = {item: i for i, item in enumerate(code) if isinstance(item, str)}
    spans = []
    for i, item in enumerate(code):
        if isinstance(item, tuple) and item[1].startswith("BRA") and (label := re.search(r"\((\.L\w+)\)", item[2])):
            start = places.get(label[1], i)
            if start < i and any(isinstance(op, tuple) and op[1].startswith("HMMA") for op in code[start:i]):
                spans.append((start, i))
    inner = [s for s in spans if not any(o != s and s[0] <= o[0] and o[1] <= s[1] for o in spans)]
    return [collections.Counter(op[1] for op in code[start:end + 1] if isinstance(op, tuple))
            for start, end in sorted(inner)]


def products_of_attention(planned):
    """Products of each attention kernel, in order of the text."""
    return [len(re.findall(r"stablehlo\.dot_general", body))
            for body in re.findall(r'st\.kernel "attention".*?st\.yield', planned, re.S)]


def measure(options, folder, dropout, width=None):
    config = json.loads((ROOT / options.model / "config.json").read_text())
    if width:
        config["num_attention_heads"] = config["hidden_size"] // width
    config |= {"num_hidden_layers": 1, "hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    (folder / "model").mkdir(exist_ok=True)
    (folder / "model/config.json").write_text(json.dumps(config))
    (folder / "layout.json").write_text(json.dumps({"mode": "sharding", "data": 1, "precision": {"compute": "bf16"}}))
    binaries, planned = ROOT / options.build / "bin", folder / "planned.mlir"
    run(binaries / "st-compile", folder / "model", "--task=span", "--batch=8", "--seq=512", "--optimizer=adamw",
        f"--parallel={folder / 'layout.json'}", f"--target=cuda-{options.chip}", "--compile-to=planned", "-o", planned)
    ptx, cubin = folder / "kernels.ptx", folder / "kernels.cubin"
    run(binaries / "st-translate", "--kernels-to-ptx", f"--chip={options.chip}", planned, "-o", ptx)
    run(find_tool("ptxas"), f"-arch={options.chip}", ptx, "-o", cubin)
    code = functions(run(find_tool("nvdisasm"), "-c", cubin))
    names = sorted((name for name in code if name.startswith("attention_")), key=lambda name: int(name.split("_")[1]))
    counts = products_of_attention(planned.read_text())
    if len(names) != len(counts):
        sys.exit(f"error: {len(names)} functions of attention kernels for {len(counts)} kernels: two are alike")
    return [Kernel(options, name, products, loops(code[name])) for name, products in zip(names, counts)]


class Kernel:
    """Counts of a kernel per score and product of 64: of a 64 x 64 tile with operands of depth 64."""

    def __init__(self, options, name, products, passes):
        if not passes:
            sys.exit(f"error: {name} has no loop with tensor instructions")
        self.name, self.products = name, products
        # Operands have depth 64: a product of 64 x 64 scores takes 128 tensor instructions, one per score of a thread.
        each = sum(count for op, count in passes[-1].items() if class_of(op) == "tensor") / products
        self.classes, self.words, self.bytes = collections.Counter(), 0, 0
        for instructions in passes:
            for op, count in instructions.items():
                self.classes[class_of(op)] += count / each
                self.words += shared_words(op) * count / each
                self.bytes += l2_bytes(op) * count / each
        self.chip = options.chip

    @property
    def slots(self):
        return sum(self.classes.values())

    @property
    def issue(self):
        return self.slots * SCORES / WARP / SCHEDULERS

    @property
    def tensor(self):
        return self.classes["tensor"] * SCORES * 64 / PRODUCTS[self.chip]

    @property
    def units(self):
        return {unit: (self.words if unit == "shared" else self.classes[unit]) * SCORES / rate
                for unit, rate in RATES[self.chip].items()}

    @property
    def l2(self):
        return self.bytes * SCORES / L2[self.chip]

    @property
    def cycles(self):
        return max(self.issue, self.tensor, *self.units.values())

    def with_more(self, bytes=0, **classes):
        """Returns these counts with extra instructions and bytes of L2 per score; negative numbers reduce them."""
        more = copy.copy(self)
        more.classes = collections.Counter(self.classes)
        more.classes.update(classes)
        more.bytes = self.bytes + bytes
        return more


def report(options, dropout, kernels):
    for kernel in kernels:
        busiest = max(kernel.units, key=kernel.units.get)
        parts = ", ".join(f"{unit} {count:.1f}" for unit, count in kernel.classes.most_common() if count >= 0.05)
        print(f"| {dropout:g} | {kernel.name} | {kernel.classes['tensor']:.0f} | {kernel.slots:.1f} | {parts} | {kernel.issue:.0f} | "
              f"{busiest} {kernel.units[busiest]:.0f} | {kernel.tensor:.0f} | {kernel.cycles / kernel.tensor:.2f} | {kernel.l2 / kernel.tensor:.2f} |")
    product = SCORES * 64 / PRODUCTS[options.chip]
    for what, of, least in (("forward", kernels[:1], 2), ("backward", kernels[1:], 5)):
        taken, l2 = sum(kernel.cycles for kernel in of), sum(kernel.l2 for kernel in of)
        print(f"| {dropout:g} | {what}, of {least} products | | | | {taken:.0f} | | {least * product:.0f} | "
              f"{taken / least / product:.2f} | {l2 / least / product:.2f} |")


def ways(options, dropout, width, sequence, kernels):
    """Rows of a table: ways to compute the gradient for heads of a width (cycles per 64 x 64 scores)."""
    if len(kernels) != 2:
        sys.exit(f"error: the gradient of heads of {width} is {len(kernels) - 1} kernels, expected one")
    deep, one = width / 64, kernels[1]
    vector = 4 if options.chip == "sm_90" else 1  # red.global.add.v4.f32 is sm_90's
    # Sums of f32 that a score has of dq: a block has OWN columns for each. Blocks in order read and write
    # them, 16 bytes at once.
    sums = 64 / OWN
    alone = one.with_more(bytes=-2 * 4 * sums, **{"global": -2 * sums / 4})
    # Atomic additions: dq starts at zero, and a later kernel rounds it. Kept sums: each block writes separate sums, and
    # a later kernel adds them to dq.
    around, kept = 64 * width * (4 + 4 + 2) / (sequence / 64), 2 * 64 * width * 4 * 64 / OWN + 64 * width * 2 / (sequence / 64)
    found = [("blocks in order", one, 0, "yes"),
             ("atomic additions", alone.with_more(bytes=4 * sums, **{"global": sums / vector}), around, "no"),
             ("sums of each block kept", alone.with_more(bytes=4 * sums, **{"global": sums / 4}), kept, "yes")]
    product = SCORES * 64 / PRODUCTS[options.chip]
    for name, kernel, memory, same in found:
        taken = max(kernel.cycles, kernel.l2) * deep + memory / MEMORY[options.chip]
        print(f"| {dropout:g} | {sequence} x {width} | {name} | {deep * kernel.slots:.1f} | {deep * kernel.bytes * SCORES / 1024:.0f} | "
              f"{memory / 1024:.1f} | {taken:.0f} | {taken / 5 / product / deep:.2f} | {same} |")


def record(found, options, dropout, kernels):
    """Adds the figures of both passes."""
    product = SCORES * 64 / PRODUCTS[options.chip]
    for what, of, least in (("forward", kernels[:1], 2), ("backward", kernels[1:], 5)):
        found.add(f"Attention, {what}, {options.chip}, heads of {options.width or 64}, dropout {dropout:g}",
                  sum(kernel.cycles for kernel in of) / least / product, "x the time of tensor cores")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--chip", default="sm_90", choices=sorted(PRODUCTS))
    parser.add_argument("--dropouts", default="0,0.1")
    parser.add_argument("--model", default="examples/models/bert-large-uncased")
    parser.add_argument("--width", type=int, help="of a head, where it is not the model's")
    parser.add_argument("--ways", action="store_true", help="also ways of the backward pass, by width of heads and sequence")
    figures.add_option(parser)
    options = parser.parse_args()
    print("| dropout | kernel | products | slots a score | of these | issue | busiest unit | tensor cores | of these | L2 of these |")
    print("| ---: | --- | ---: | ---: | --- | ---: | --- | ---: | ---: | ---: |")
    dropouts = list(map(float, options.dropouts.split(",")))
    found = figures.Figures(options.json, "gpus", "counted")
    for dropout in dropouts:
        with tempfile.TemporaryDirectory() as folder:
            kernels = measure(options, pathlib.Path(folder), dropout, options.width)
        report(options, dropout, kernels)
        record(found, options, dropout, kernels)
    if not options.ways:
        return
    print("\n| dropout | sequence x head | way | slots a score | KB of L2 | KB of memory | cycles | of tensor cores' | same bits |")
    print("| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for width, sequences in ((64, (512, 1024)), (128, (2048, 4096))):
        for dropout in dropouts:
            with tempfile.TemporaryDirectory() as folder:
                kernels = measure(options, pathlib.Path(folder), dropout, width)
            for sequence in sequences:
                ways(options, dropout, width, sequence, kernels)


if __name__ == "__main__":
    main()
