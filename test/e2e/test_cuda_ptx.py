"""Kernels for NVIDIA GPUs as PTX: nothing is left to resolve, and where ptxas is found they assemble without spilling.

ptxas comes from PATH, a CUDA installation or PyPI's nvidia-cuda-nvcc beside this Python; without one the checks that
need it are counted as skipped.
"""

import pathlib
import re
import shutil
import sys

from st_testing import BIN, check_run, expect, main, run

CHIPS = ("sm_80", "sm_90")
skipped = 0


def find_ptxas():
    packaged = pathlib.Path(sys.prefix).glob("lib/python*/site-packages/nvidia/cu*/bin/ptxas")
    return shutil.which("ptxas") or next((str(p) for p in [pathlib.Path("/usr/local/cuda/bin/ptxas"), *packaged]
                                          if p.exists()), None)


PTXAS = find_ptxas()


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


def attention(element):
    """Attention of 512 tokens and its gradient, as chains: of the rows, and of the columns."""
    q, s, r = f"tensor<2x512x4x64x{element}>", f"tensor<2x4x512x512x{element}>", f"tensor<2x4x512x{element}>"
    o = f"tensor<2x4x512x64x{element}>"
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


def check(folder, text, chip, least=3, access="ld.global.v4"):
    global skipped
    program, planned, ptx = (folder / name for name in ("program.mlir", "planned.mlir", "kernels.ptx"))
    program.write_text(text)
    check_run([BIN / "st-compile", program, f"--target=cuda-{chip}", "--compile-to=planned", "-o", planned])
    # Kernels of f32 and 16-bit floats need no library: there is none here.
    check_run([BIN / "st-translate", "--kernels-to-ptx", f"--chip={chip}", "--cuda-path=/nonexistent", planned,
               "-o", ptx])
    code = ptx.read_text()
    expect(f".target {chip}" in code, "no such target")
    expect(".extern" not in code, "something is left to resolve")
    names = re.findall(r"\.visible \.entry (\w+)", code)
    expect(len(names) >= least, f"kernels {names}")
    expect(access in code, f"no {access}")
    if not PTXAS:
        skipped += 1
        return f"{len(names)} kernels; skipped: no ptxas"
    kernels = assemble(folder, ptx, chip)
    expect(sorted(kernels) == sorted(names), f"assembled {sorted(kernels)} of {sorted(names)}")
    print(f"  {'kernel':<12}{'registers':>10}{'shared':>8}{'spills':>8}")
    for name, (registers, shared, spills) in sorted(kernels.items()):
        print(f"  {name:<12}{registers:>10}{shared:>8}{spills:>8}")
        expect(spills == 0, f"{name} spills {spills} bytes")
    return f"{len(names)} kernels"


def check_library(folder):
    """A function of f64 is one of libdevice's: without it there is no code, and the message says so."""
    program, planned = folder / "program.mlir", folder / "planned.mlir"
    program.write_text("func.func @main(%x: tensor<64xf64>) -> tensor<64xf64> {\n"
                       "%0 = stablehlo.exponential %x : tensor<64xf64>\nreturn %0 : tensor<64xf64>\n}\n")
    check_run([BIN / "st-compile", program, "--target=cuda-sm_90", "--compile-to=planned", "-o", planned])
    done = run([BIN / "st-translate", "--kernels-to-ptx", "--cuda-path=/nonexistent", planned])
    expect(done.returncode == 1 and "__nv_exp of libdevice" in done.stderr and not done.stdout, done.stderr)


def count_skipped():
    print(f"{skipped} checks of assembled code skipped" + ("" if PTXAS else ": no ptxas was found"))


if __name__ == "__main__":
    sys.exit(main(
        *((f"rows of {columns}, {element}, {chip}", lambda folder, c=columns, e=element, chip=chip:
           check(folder, row_kernels(512, c, e), chip))
          for columns in (64, 1024, 4096, 30528) for element in ("f32", "bf16") for chip in CHIPS),
        *((f"attention, {element}, {chip}", lambda folder, e=element, chip=chip:
           check(folder, attention(e), chip, least=2, access="fma.rn.f32"))
          for element in ("f32", "bf16") for chip in CHIPS),
        ("libdevice", check_library), epilogue=count_skipped))
