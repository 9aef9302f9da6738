"""Instructions of the loops of generated attention, as ptxas makes them, against the time that tensor cores take.

  benchmarks/gpu_kernel_counts.py [--build=build] [--chip=sm_90] [--dropouts=0,0.1] [--model=examples/models/bert-large-uncased]

One layer of a model, bf16, is compiled for a GPU; no GPU is needed, but ptxas and nvdisasm (PyPI's nvidia-cuda-nvcc beside
this Python, on PATH, or in /usr/local/cuda/bin). In each kernel of kind chain every loop with tensor instructions counts as
work on one tile. Counts are static: both sides of a branch inside of a loop count, also one that is hardly ever taken.

Columns, a score of 64 x 64 per head: products of the tile; issue slots (instructions of a thread); of these by class; cycles
of a tile of 64 x 64 in which four schedulers issue these, one a cycle; the busiest other unit and its cycles; cycles in which
tensor cores compute the products, and the larger of the others against these. Last rows have all kernels of a pass against the
products that it cannot do without: two forward, five backward.
"""

import argparse
import collections
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
# GHz on 132 (NVIDIA's data sheets). mma.sync reaches about 63 % of the latter (Luo et al., "Benchmarking and Dissecting the
# Nvidia Hopper GPU Architecture through Microbenchmarking", 2024); wgmma would reach it.
PRODUCTS = {"sm_80": 1024, "sm_90": 0.63 * 2048}
# Results a cycle and multiprocessor ("CUDA C++ Programming Guide", throughput of native arithmetic instructions). Conversions
# that are no packed rounding (F2F) count as special functions: the guide does not tell them apart.
RATES = {"sm_80": {"f32": 64, "integer": 64, "special": 16, "shared": 32, "global": 32},
         "sm_90": {"f32": 128, "integer": 64, "special": 16, "shared": 32, "global": 32}}
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
    """Instructions of each loop that has tensor instructions and holds no other such loop, by stem."""
    places = {item: i for i, item in enumerate(code) if isinstance(item, str)}
    spans = []
    for i, item in enumerate(code):
        if isinstance(item, tuple) and item[1].startswith("BRA") and (label := re.search(r"\((\.L\w+)\)", item[2])):
            start = places.get(label[1], i)
            if start < i and any(isinstance(op, tuple) and op[1].startswith("HMMA") for op in code[start:i]):
                spans.append((start, i))
    inner = [s for s in spans if not any(o != s and s[0] <= o[0] and o[1] <= s[1] for o in spans)]
    return [collections.Counter(op[1].split(".")[0] for op in code[start:end + 1] if isinstance(op, tuple))
            for start, end in sorted(inner)]


def chains(planned):
    """Products of each chain, in order of the text."""
    return [len(re.findall(r"stablehlo\.dot_general", body))
            for body in re.findall(r'st\.kernel "chain".*?st\.yield', planned, re.S)]


def measure(options, folder, dropout):
    config = json.loads((ROOT / options.model / "config.json").read_text())
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
    for name, products in zip(names, counts):
        yield name, products, loops(code[name])


def report(options, dropout, kernels):
    rates = RATES[options.chip]
    tensor_cycles = SCORES * 64 / PRODUCTS[options.chip]  # of a product
    cycles = []
    for name, products, passes in kernels:
        if not passes:
            sys.exit(f"error: {name} has no loop with tensor instructions")
        # Operands are 64 deep: 128 tensor instructions a product of 64 x 64 scores, one for each score of a thread.
        each = passes[-1]["HMMA"] / products
        classes = collections.Counter()
        for instructions in passes:
            for stem, count in instructions.items():
                classes[class_of(stem)] += count / each
        slots = sum(classes.values())
        issue = slots * SCORES / WARP / SCHEDULERS
        units = {unit: classes[unit] * SCORES / rate for unit, rate in rates.items()}
        busiest = max(units, key=units.get)
        tensor = classes["tensor"] * tensor_cycles
        cycles.append(max(issue, units[busiest], tensor))
        parts = ", ".join(f"{unit} {count:.1f}" for unit, count in classes.most_common() if count >= 0.05)
        print(f"| {dropout:g} | {name} | {classes['tensor']:.0f} | {slots:.1f} | {parts} | {issue:.0f} | {busiest} "
              f"{units[busiest]:.0f} | {tensor:.0f} | {cycles[-1] / tensor:.2f} |")
    for what, taken, least in (("forward", cycles[0], 2), ("backward", sum(cycles[1:]), 5)):
        print(f"| {dropout:g} | {what}, of {least} products | | | | {taken:.0f} | | {least * tensor_cycles:.0f} | "
              f"{taken / least / tensor_cycles:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--chip", default="sm_90", choices=sorted(PRODUCTS))
    parser.add_argument("--dropouts", default="0,0.1")
    parser.add_argument("--model", default="examples/models/bert-large-uncased")
    options = parser.parse_args()
    print("| dropout | kernel | products | slots a score | of these | issue | busiest unit | tensor cores | of these |")
    print("| ---: | --- | ---: | ---: | --- | ---: | --- | ---: | ---: |")
    for dropout in map(float, options.dropouts.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            report(options, dropout, measure(options, pathlib.Path(folder), dropout))


if __name__ == "__main__":
    main()
