"""Kernels for NVIDIA GPUs as PTX: nothing is left to resolve, and where ptxas is found they assemble without spilling.

ptxas is PyPI's nvidia-cuda-nvcc in the folder of this Python, or comes from PATH or a CUDA installation; without one the
checks that need it are counted as skipped. The resources of kernels are compared with cuda_registers.txt, if that was made with
the same ptxas: more shared memory, or more than eight additional registers, is an error. ST_RECORD=1 writes a new table.
"""

import collections
import json
import os
import pathlib
import re
import shutil
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

from st_testing import BIN, ROOT, check_run, expect, main, run, write_json

CHIPS = ("sm_80", "sm_90")
skipped = 0


def find_tool(name):
    packaged = next(pathlib.Path(sys.prefix).glob(f"lib/python*/site-packages/nvidia/cu*/bin/{name}"), None)
    installed = pathlib.Path("/usr/local/cuda/bin", name)
    onpath = shutil.which(name)
    return packaged or (pathlib.Path(onpath) if onpath else None) or (installed if installed.exists() else None)


PTXAS = find_tool("ptxas")
TABLE = pathlib.Path(__file__).with_name("cuda_registers.txt")
SLACK = 8  # registers: the unit of allocation of a multiprocessor
found = collections.OrderedDict()  # (case, kernel) -> registers, bytes of shared memory


def version_of_ptxas():
    return re.search(r"V([\d.]+)", check_run([PTXAS, "--version"]).stdout)[1]


def read_table():
    """The version of ptxas, and the rows."""
    lines = TABLE.read_text().splitlines()
    rows = [line.rsplit(maxsplit=3) for line in lines[2:]]
    return lines[0].split()[-1], {(case, kernel): (int(registers), int(shared)) for case, kernel, registers, shared in rows}


def write_table():
    width = max(len(case) for case, _ in found)
    TABLE.write_text(f"ptxas {version_of_ptxas()}\n{'case':<{width}}  {'kernel':<12}{'registers':>10}{'shared':>8}\n"
                     + "".join(f"{case:<{width}}  {kernel:<12}{registers:>10}{shared:>8}\n"
                               for (case, kernel), (registers, shared) in found.items()))


def compare_table(folder):
    """Compares the resources of all kernels with the table."""
    if not PTXAS:
        return "skipped: no ptxas"
    if os.environ.get("ST_RECORD"):
        write_table()
        return f"{len(found)} kernels recorded"
    version, before = read_table()
    if version != version_of_ptxas():
        return f"skipped: the table is of ptxas {version}, here is {version_of_ptxas()}"
    changed = [(key, before.get(key), found.get(key)) for key in before | found if before.get(key) != found.get(key)]
    for (case, kernel), old, new in changed:
        print(f"  {case}, {kernel}: registers and shared memory were {old}, are {new}")
    worse = [f"{case}, {kernel}" for (case, kernel), old, new in changed
             if old and new and (new[0] > old[0] + SLACK or new[1] > old[1])]
    expect(not worse, f"take more than in {TABLE.name} (ST_RECORD=1 writes it anew): {'; '.join(worse)}")
    expect(before.keys() == found.keys(), f"other kernels than in {TABLE.name}: ST_RECORD=1 writes it anew")
    return f"{len(found)} kernels, {len(changed)} changed"


def row_kernels(rows, columns, element):
    """A softmax and a normalization of rows, sums of columns and a transpose."""
    x, r, c = f"tensor<{rows}x{columns}x{element}>", f"tensor<{rows}x{element}>", f"tensor<{columns}x{element}>"
    t = f"tensor<{columns}x{rows}x{element}>"

    def reduce(name, value, op, init, dim, result):
        return (f"%{name} = stablehlo.reduce(%{value} init: %{init}) applies stablehlo.{op} "
                f"across dimensions = [{dim}] : ({x}, tensor<{element}>) -> {result}\n")

    def broadcast(name, value, dim=0, of=r):
        return f"%{name} = stablehlo.broadcast_in_dim %{value}, dims = [{dim}] : ({of}) -> {x}\n"
    return (f"func.func @main(%x: {x}, %scale: {c}) -> ({x}, {x}, {c}, {t}) {{\n"
            f"%low = stablehlo.constant dense<-1.0e4> : tensor<{element}>\n"
            f"%zero = stablehlo.constant dense<0.0> : tensor<{element}>\n"
            + reduce("m", "x", "maximum", "low", 1, r) + broadcast("mb", "m")
            + f"%d = stablehlo.subtract %x, %mb : {x}\n%e = stablehlo.exponential %d : {x}\n"
            + reduce("s", "e", "add", "zero", 1, r) + broadcast("sb", "s")
            + f"%softmax = stablehlo.divide %e, %sb : {x}\n"
            + reduce("a", "x", "add", "zero", 1, r)
            + f"%n = stablehlo.constant dense<{float(columns)}> : {r}\n%mean = stablehlo.divide %a, %n : {r}\n"
            + broadcast("meanb", "mean")
            + f"%y = stablehlo.subtract %x, %meanb : {x}\n%y2 = stablehlo.multiply %y, %y : {x}\n"
            + reduce("v", "y2", "add", "zero", 1, r)
            + f"%var = stablehlo.divide %v, %n : {r}\n%rs = stablehlo.rsqrt %var : {r}\n" + broadcast("rsb", "rs")
            + f"%z = stablehlo.multiply %y, %rsb : {x}\n" + broadcast("scaleb", "scale", 1, c)
            + f"%norm = stablehlo.multiply %z, %scaleb : {x}\n"
            + reduce("columns", "x", "add", "zero", 0, c)
            + f"%t = stablehlo.transpose %x, dims = [1, 0] : ({x}) -> {t}\n"
            f"return %softmax, %norm, %columns, %t : {x}, {x}, {c}, {t}\n}}\n")


def attention(element, width=64):
    """Attention of 512 tokens and its gradient, as attention kernels: of the rows, and of the columns. With sums of rows they remain
    two."""
    q, s, r = f"tensor<2x512x4x{width}x{element}>", f"tensor<2x4x512x512x{element}>", f"tensor<2x4x512x{element}>"
    o = f"tensor<2x4x512x{width}x{element}>"
    make = f"batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : ({q}, {q}) -> {s}"

    def read(depth):
        return f"batching_dims = [0, 1] x [0, 2], contracting_dims = [{depth}] x [1] : ({s}, {q}) -> {o}"

    def reduce(name, value, op, init):
        return (f"%{name} = stablehlo.reduce(%{value} init: %{init}) applies stablehlo.{op} across dimensions = [3] : "
                f"({s}, tensor<{element}>) -> {r}\n%{name}b = stablehlo.broadcast_in_dim %{name}, dims = [0, 1, 2] : "
                f"({r}) -> {s}\n")
    return (f"func.func @main(%q: {q}, %k: {q}, %v: {q}, %g: {q}) -> ({o}, {o}, {o}, {o}) {{\n"
            f"%low = stablehlo.constant dense<-1.0e4> : tensor<{element}>\n"
            f"%zero = stablehlo.constant dense<0.0> : tensor<{element}>\n"
            f"%s = stablehlo.dot_general %q, %k, {make}\n%h = stablehlo.dot_general %g, %v, {make}\n"
            + reduce("m", "s", "maximum", "low")
            + f"%d = stablehlo.subtract %s, %mb : {s}\n%e = stablehlo.exponential %d : {s}\n"
            + reduce("z", "e", "add", "zero")
            + f"%p = stablehlo.divide %e, %zb : {s}\n%ph = stablehlo.multiply %p, %h : {s}\n"
            + reduce("a", "ph", "add", "zero")
            + f"%c = stablehlo.subtract %h, %ab : {s}\n%t = stablehlo.multiply %p, %c : {s}\n"
            f"%o = stablehlo.dot_general %p, %v, {read(3)}\n%dq = stablehlo.dot_general %t, %k, {read(3)}\n"
            f"%dk = stablehlo.dot_general %t, %q, {read(2)}\n%dv = stablehlo.dot_general %p, %g, {read(2)}\n"
            f"return %o, %dq, %dk, %dv : {o}, {o}, {o}, {o}\n}}\n")


def assemble(folder, ptx, chip):
    """Per kernel: registers, bytes of shared memory and of spills."""
    done = check_run([PTXAS, f"-arch={chip}", "-v", ptx, "-o", folder / "kernels.cubin"])
    kernels = {}
    for part in re.split(r"Compiling entry function ", done.stderr)[1:]:
        name = re.match(r"'(\w+)'", part)[1]
        spills = sum(map(int, re.findall(r"(\d+) bytes spill", part)))
        shared = re.search(r"(\d+) bytes smem", part)
        kernels[name] = (int(re.search(r"Used (\d+) registers", part)[1]), int(shared[1]) if shared else 0, spills)
    return kernels


def check(folder, case, text, chip, least=3, access="ld.global.v4"):
    program = folder / "program.mlir"
    program.write_text(text)
    return check_kernels(folder, case, [program], chip, least, access)


def check_step(folder, case, model, task, compute, chip):
    """All kernels of a training step, for two layers of a published model."""
    config = json.loads((ROOT / f"examples/models/{model}/config.json").read_text())
    config |= {"n_layer": 2} if "n_layer" in config else {"num_hidden_layers": 2}
    write_json(folder / "model/config.json", config)
    parallel = write_json(folder / "parallel.json", {"mode": "sharding", "data": 1, "precision": {"compute": compute}})
    return check_kernels(folder, case, [folder / "model", f"--task={task}", "--batch=8", "--seq=512",
                                        "--optimizer=adamw", f"--parallel={parallel}"], chip, 20, "ld.global.v4")


def check_kernels(folder, case, source, chip, least, access):
    global skipped
    planned, ptx = folder / "planned.mlir", folder / "kernels.ptx"
    check_run([BIN / "st-compile", *source, f"--target=cuda-{chip}", "--compile-to=planned", "-o", planned])
    # Kernels of f32 and 16-bit floats need no library, and there is none here.
    check_run([BIN / "st-translate", "--kernels-to-ptx", f"--chip={chip}", "--cuda-path=/nonexistent", planned,
               "-o", ptx])
    code = ptx.read_text()
    expect(f".target {chip}" in code, "no such target")
    # Dynamic shared memory is declared extern.
    expect(not re.search(r"\.extern (?!\.shared )", code), "something is left to resolve")
    names = re.findall(r"\.visible \.entry (\w+)", code)
    expect(len(names) >= least, f"kernels {names}")
    expect(access in code, f"no {access}")
    if not PTXAS:
        skipped += 1
        return f"{len(names)} kernels; skipped: no ptxas"
    kernels = assemble(folder, ptx, chip)
    expect(sorted(kernels) == sorted(names), f"assembled {sorted(kernels)} of {sorted(names)}")
    for name in names:
        registers, shared, spills = kernels[name]
        found[case, name] = registers, shared
        # Attention uses all registers that a thread may have, so up to ten of 4 bytes may be spilled.
        most = 80 if name.startswith("attention") else 0
        expect(spills <= most, f"{name} spills {spills} bytes, expected at most {most}")
    return f"{len(names)} kernels, at most {max(registers for registers, *_ in kernels.values())} registers"


def check_library(folder):
    """A function of f64 needs libdevice: without it no code is generated, and the message says so."""
    program, planned = folder / "program.mlir", folder / "planned.mlir"
    program.write_text("func.func @main(%x: tensor<64xf64>) -> tensor<64xf64> {\n"
                       "%0 = stablehlo.exponential %x : tensor<64xf64>\nreturn %0 : tensor<64xf64>\n}\n")
    check_run([BIN / "st-compile", program, "--target=cuda-sm_90", "--compile-to=planned", "-o", planned])
    done = run([BIN / "st-translate", "--kernels-to-ptx", "--cuda-path=/nonexistent", planned])
    expect(done.returncode == 1 and "__nv_exp of libdevice" in done.stderr and not done.stdout, done.stderr)


def check_disassembly(folder):
    """The disassembly of a binary shows its PTX, and the machine code that ptxas made."""
    global skipped
    program, binary = folder / "program.mlir", folder / "binary"
    program.write_text("func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {\n"
                       "%0 = stablehlo.exponential %x : tensor<64xf32>\nreturn %0 : tensor<64xf32>\n}\n")
    path = os.pathsep.join([*{str(tool.parent) for tool in map(find_tool, ("ptxas", "nvdisasm")) if tool}, os.environ["PATH"]])
    env = {**os.environ, "PATH": path}
    check_run([BIN / "st-compile", program, "--target=cuda-sm_90", "-o", binary], env=env)
    ptx = check_run([BIN / "st-translate", "--executable-to-ptx", binary]).stdout
    expect(".target sm_90" in ptx and ".entry loop_0" in ptx, ptx)
    check_run([BIN / "st-compile", program, "--target=cuda-host", "-o", folder / "host"])
    done = run([BIN / "st-translate", "--executable-to-sass", folder / "host"])
    expect(done.returncode == 1 and "error: it is not a program for a GPU" in done.stderr, done.stderr)
    done = run([BIN / "st-translate", "--executable-to-sass", binary], env={"CUDA_HOME": str(folder), "PATH": str(folder)})
    expect(done.returncode == 1 and ("nvdisasm is neither on PATH" in done.stderr or "no ptxas" in done.stderr), done.stderr)
    if not PTXAS or not find_tool("nvdisasm"):
        skipped += 1
        return "skipped: no ptxas or no nvdisasm"
    sass = check_run([BIN / "st-translate", "--executable-to-sass", binary], env=env).stdout
    expect("loop_0" in sass and "EXIT" in sass and "MUFU" not in sass, sass)
    return f"{sass.count(';')} instructions"


def count_skipped():
    print(f"{skipped} checks of assembled code skipped" + ("" if PTXAS else ": no ptxas was found"))


def cases():
    for columns in (64, 1024, 4096, 30528):
        for element in ("f32", "bf16"):
            for chip in CHIPS:
                name = f"rows of {columns}, {element}, {chip}"
                yield name, lambda folder, name=name, text=row_kernels(512, columns, element), chip=chip: check(
                    folder, name, text, chip)
    for element in ("f32", "bf16"):
        for chip in CHIPS:
            name = f"attention, {element}, {chip}"
            yield name, lambda folder, name=name, text=attention(element), chip=chip: check(
                folder, name, text, chip, least=2,
                access="mma.sync.aligned.m16n8k16.row.col.f32.bf16" if "bf16" in name else "fma.rn.f32")
    for chip in CHIPS:
        name = f"attention, heads of 128, bf16, {chip}"
        yield name, lambda folder, name=name, chip=chip: check(
            folder, name, attention("bf16", 128), chip, least=2, access="mma.sync.aligned.m16n8k16.row.col.f32.bf16")
    for model, task in (("bert-large-uncased", "mlm"), ("gpt2", "clm"), ("tinyllama-1.1b", "clm")):
        for compute in ("f32", "bf16"):
            for chip in CHIPS:
                name = f"{model}, {compute}, {chip}"
                yield name, lambda folder, args=(name, model, task, compute, chip): check_step(folder, *args)


if __name__ == "__main__":
    alone = [] if sys.argv[1:] else [("registers and shared memory", compare_table)]
    sys.exit(main(*cases(), ("libdevice", check_library), ("disassembly", check_disassembly), *alone, epilogue=count_skipped))
