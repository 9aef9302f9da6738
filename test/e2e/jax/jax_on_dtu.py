"""Programs that JAX prints, compiled by st-compile and run by their binaries on the simulated DTU."""

import re

import numpy as np
from jax.interpreters import partial_eval
from safetensors.numpy import load_file, save_file
from st_testing import BIN, expect, run

# Names of programs that ran, and of refused programs with the refused op.
ran, refused = [], {}


def live_state(traced, donated):
    """Returns the donated leaves, and so the results, that are used by more than their own update.

    Donated leaf i becomes result i.
    """
    jaxpr = traced.jaxpr.jaxpr
    used = [i >= donated for i in range(len(jaxpr.outvars))]
    if not any(used):
        return [True] * donated
    while True:
        _, reads = partial_eval.dce_jaxpr(jaxpr, used)
        more = [u or (i < donated and reads[i]) for i, u in enumerate(used)]
        if more == used:
            return used[:donated]
        used = more


def kept(values, live):
    return [v for i, v in enumerate(values) if i >= len(live) or live[i]]


def compile_program(folder, program, *flags):
    """The binary and the names of arguments and results, or None and the refused op."""
    binary, dumps = folder / "program", folder / "phases"
    done = run([BIN / "st-compile", program, "--target=dtu-t10", f"--dump-phases-to={dumps}", "-o", binary, *flags])
    if done.returncode == 0:
        imported = next(dumps.glob("*-import.mlir")).read_text()
        main = re.search(r"func\.func (?:public )?@main\((.*)", imported).group(1)
        return binary, [re.findall(r'st\.name = "([^"]*)"', part) for part in main.split(") -> ", 1)]
    errors = [line for line in done.stderr.splitlines() if "error: " in line]
    expect(done.returncode == 1 and len(errors) == 1 and not binary.exists(),
           f"st-compile ends with {done.returncode} and {len(errors)} errors: {done.stderr[-1500:]}")
    op = re.search(r"'([\w.]+)' op ", errors[0])
    expect(op, f"the error names no op: {errors[0]}")
    return None, op.group(1)


def to_pairs(value):
    """Complex numbers as in the binaries: with another dimension of real and imaginary parts."""
    return np.stack([value.real, value.imag], axis=-1) if value.dtype.kind == "c" else value


def from_pairs(value, like):
    return (value[..., 0] + 1j * value[..., 1]).astype(like.dtype) if like.dtype.kind == "c" else value


def run_binary(folder, binary, names, arguments):
    """The results of a binary, in order."""
    given, found = folder / "dtu.in", folder / "dtu.out"
    expect(len(names[0]) == len(arguments), f"{len(names[0])} arguments of {len(arguments)} are left")
    save_file({name: to_pairs(a) for name, a in zip(names[0], arguments, strict=True)}, given)
    done = run([binary, f"--inputs={given}", f"--outputs={found}"])
    expect(done.returncode == 0, f"the binary ends with {done.returncode}: {done.stderr[-800:]}")
    values = load_file(found)
    return [values[name] for name in names[1]]


def check(folder, name, program, traced, arguments, expected, donated, refusal, flags, compare):
    """Runs a program and compares its results; `refusal` is the op that must be refused instead, if any."""
    binary, names = compile_program(folder, program, *flags)
    if binary is None:
        expect(names == refusal, f"the DTU refuses {names}, expected " + (f"{refusal} to be" if refusal else "it to run"))
        refused[name] = names
        return f"the DTU refuses {names}"
    expect(not refusal, f"the DTU compiles it; {refusal} is listed as refused")
    live = live_state(traced, donated)
    found = run_binary(folder, binary, names, kept(arguments, live))
    wanted = kept(expected, live)
    expect(len(found) == len(wanted), f"the DTU gives {len(found)} results, not {len(wanted)}")
    worst = max((compare(f"DTU result {i}", from_pairs(f, w), w) for i, (f, w) in enumerate(zip(found, wanted))), default=0.0)
    ran.append(name)
    return f"on the DTU at most {worst:.2f}"


def summary():
    """The last lines of a test: the programs that ran on the simulator, and those that did not."""
    print(f"{len(ran)} of {len(ran) + len(refused)} programs agree with JAX on the simulated DTU")
