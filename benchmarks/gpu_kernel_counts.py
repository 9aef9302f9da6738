"""Instructions of the loops of generated attention, as ptxas makes them, against the time that tensor cores take.

  benchmarks/gpu_kernel_counts.py [--build=build] [--chip=sm_90] [--dropouts=0,0.1] [--model=examples/models/bert-large-uncased]

One layer of a model, bf16, is compiled for a GPU; no GPU is needed, but ptxas and nvdisasm (PyPI's nvidia-cuda-nvcc beside
this Python, on PATH, or in /usr/local/cuda/bin). In each kernel of kind chain every loop with tensor instructions counts as
work on one tile. Counts are static: both sides of a branch inside of a loop count, also one that is hardly ever taken.

Columns, a score of 64 x 64 per head: products of the tile; issue slots (instructions of a thread); of these by class; cycles
of a tile of 64 x 64 in which four schedulers issue these, one a cycle; the busiest other unit and its cycles; cycles in which
tensor cores compute the products, and the larger of the others against these. Last rows have all kernels of a pass against the
products that it cannot do without: two forward, five backward.

--ways adds a table of ways to compute the gradient: the two kernels as counted, and a model of one kernel, which is the kernel of
keys and values plus the work for the gradient of queries. The cycles of a tile are the maximum over issue slots, units, tensor cores
and L2. Bytes of device memory are added, because other kernels move them.
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

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCORES, WARP, SCHEDULERS = 64 * 64, 32, 4
# Multiply-adds of 16-bit floats a cycle and multiprocessor: A100 312 TFLOP/s at 1.41 GHz on 108, H100 SXM 989 TFLOP/s at 1.83
# GHz on 132 (NVIDIA's data sheets). mma.sync reaches 62.9 % of the latter on average, wgmma over 95 % (Luo et al., "Dissecting
# the NVIDIA Hopper Architecture through Microbenchmarking and Multiple Level Analysis", arXiv 2501.12084, section 6.2).
PRODUCTS = {"sm_80": 1024, "sm_90": 0.629 * 2048}
# Bytes a cycle and multiprocessor. L2: 5120 a cycle of all 108 (NVIDIA's A100 whitepaper); 6.65 TB/s, as OpenXLA's cost model of
# products measured it on an H100. Device memory: 2.04 and 3.35 TB/s (data sheets).
L2 = {"sm_80": 5120 / 108, "sm_90": 6650 / 132 / 1.83}
MEMORY = {"sm_80": 2039 / 108 / 1.41, "sm_90": 3350 / 132 / 1.83}
# Results a cycle and multiprocessor ("CUDA C++ Programming Guide", throughput of native arithmetic instructions); of shared
# memory words of 4 bytes, one from each of 32 banks. Conversions that are no packed rounding (F2F) count as special functions:
# the guide does not tell them apart.
RATES = {"sm_80": {"f32": 64, "integer": 64, "special": 16, "shared": 32, "global": 32},
         "sm_90": {"f32": 128, "integer": 64, "special": 16, "shared": 32, "global": 32}}
# Words of shared memory that a thread's instruction moves: ldmatrix brings as many matrices of 8 x 8 to a warp.
WORDS = {"M88.4": 4, "MT88.4": 4, "M88.2": 2, "MT88.2": 2, "128": 4, "64": 2}
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
        sys.exit(f"error: {name} is neither beside {sys.executable} nor on PATH nor in {installed.parent}")
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
    """Instructions of each loop that has tensor instructions and holds no other such loop."""
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


def chains(planned):
    """Products of each chain, in order of the text."""
    return [len(re.findall(r"stablehlo\.dot_general", body))
            for body in re.findall(r'st\.kernel "chain".*?st\.yield', planned, re.S)]


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
    names = sorted((name for name in code if name.startswith("chain_")), key=lambda name: int(name.split("_")[1]))
    counts = chains(planned.read_text())
    if len(names) != len(counts):
        sys.exit(f"error: {len(names)} functions of chains for {len(counts)} kernels: two are alike")
    return [Kernel(options, name, products, loops(code[name])) for name, products in zip(names, counts)]


class Kernel:
    """Counts of a kernel a score and product of 64: of a tile of 64 x 64 with operands 64 deep."""

    def __init__(self, options, name, products, passes):
        if not passes:
            sys.exit(f"error: {name} has no loop with tensor instructions")
        self.name, self.products = name, products
        # Operands are 64 deep: 128 tensor instructions a product of 64 x 64 scores, one for each score of a thread.
        each = sum(count for op, count in passes[-1].items() if class_of(op) == "tensor") / products
        self.classes, self.words = collections.Counter(), 0
        for instructions in passes:
            for op, count in instructions.items():
                self.classes[class_of(op)] += count / each
                self.words += shared_words(op) * count / each
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
    def cycles(self):
        return max(self.issue, self.tensor, *self.units.values())

    def with_more(self, words=0, **classes):
        """The same with further instructions a score."""
        more = copy.copy(self)
        more.classes = self.classes + collections.Counter(classes)
        more.words = self.words + words
        return more


def report(options, dropout, kernels):
    for kernel in kernels:
        busiest = max(kernel.units, key=kernel.units.get)
        parts = ", ".join(f"{unit} {count:.1f}" for unit, count in kernel.classes.most_common() if count >= 0.05)
        print(f"| {dropout:g} | {kernel.name} | {kernel.classes['tensor']:.0f} | {kernel.slots:.1f} | {parts} | {kernel.issue:.0f} | "
              f"{busiest} {kernel.units[busiest]:.0f} | {kernel.tensor:.0f} | {kernel.cycles / kernel.tensor:.2f} |")
    product = SCORES * 64 / PRODUCTS[options.chip]
    for what, of, least in (("forward", kernels[:1], 2), ("backward", kernels[1:], 5)):
        taken = sum(kernel.cycles for kernel in of)
        print(f"| {dropout:g} | {what}, of {least} products | | | | {taken:.0f} | | {least * product:.0f} | "
              f"{taken / least / product:.2f} |")


def ways(options, dropout, width, sequence, kernels):
    """Rows of a table: ways of the gradient for heads of a width (cycles of 64 x 64 scores)."""
    deep, tiles = width / 64, sequence / 64
    operands, sums = 2 * 64 * width * 2, 64 * width * 4  # two matrices of 16 bits, a tile of dq in f32
    vector = 4 if options.chip == "sm_90" else 1         # red.global.add.v4.f32 is sm_90's
    _, rows, columns = kernels

    def cycles(kernel, l2):
        return max(kernel.cycles * deep, l2 / L2[options.chip])

    # A product more: keys from shared memory for 32 rows of a warp; ds to shared memory and back, as 16 bits.
    one = columns.with_more(words=1 + 1 / deep, tensor=1, shared=0.25 + 0.625 / deep)
    # dq is rounded by a kernel behind it, and is zero before.
    around = 64 * width * (4 + 4 + 2) / tiles
    found = [("two kernels", rows, columns, operands, 0, "yes"),
             ("one, atomic additions", one.with_more(**{"global": 1 / vector}), None, operands + sums, around, "no"),
             ("one, blocks in turn", one.with_more(**{"global": 0.5, "control": 0.3}), None, operands + 2 * sums, around, "yes"),
             ("one, sums of each block kept", one.with_more(**{"global": 0.25}), None, operands + sums, 2 * sums + 64 * width * 2 / tiles,
              "yes")]
    product = SCORES * 64 / PRODUCTS[options.chip]
    for name, first, second, l2, memory, same in found:
        taken = cycles(first, l2) + (cycles(second, l2) if second else 0) + memory / MEMORY[options.chip]
        slots = deep * (first.slots + (second.slots if second else 0))
        print(f"| {dropout:g} | {sequence} x {width} | {name} | {slots:.1f} | {l2 * (2 if second else 1) / 1024:.0f} | {memory / 1024:.1f} | "
              f"{taken:.0f} | {taken / 5 / product / deep:.2f} | {same} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--chip", default="sm_90", choices=sorted(PRODUCTS))
    parser.add_argument("--dropouts", default="0,0.1")
    parser.add_argument("--model", default="examples/models/bert-large-uncased")
    parser.add_argument("--width", type=int, help="of a head, where it is not the model's")
    parser.add_argument("--ways", action="store_true", help="also ways of the backward pass, by width of heads and sequence")
    options = parser.parse_args()
    print("| dropout | kernel | products | slots a score | of these | issue | busiest unit | tensor cores | of these |")
    print("| ---: | --- | ---: | ---: | --- | ---: | --- | ---: | ---: |")
    dropouts = list(map(float, options.dropouts.split(",")))
    for dropout in dropouts:
        with tempfile.TemporaryDirectory() as folder:
            report(options, dropout, measure(options, pathlib.Path(folder), dropout, options.width))
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
