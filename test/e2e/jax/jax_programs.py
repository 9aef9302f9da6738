"""Programs that JAX prints, run by the reference interpreter and compared with JAX's own results.

A case makes a function and its arguments. Its text, as JAX lowers it, must parse and verify, and print back line for
line. In `st-translate --interpret` it must give the same results as XLA on the CPU. So must the binary that st-compile
makes of it on the simulated DTU, unless the case names an op that is refused there. Integers, truth values and random
bits are exact; a float may be off by a fraction of the largest element of its tensor.
"""

import re

import jax
import jax_on_dtu
import numpy as np
from st_programs import interpret
from st_testing import BIN, check_run, expect

# XLA compiles each program for a single run.
jax.config.update("jax_disable_most_optimizations", True)

# Relative to the largest finite element. The 16-bit formats have 11 and 8 significant bits, and XLA rounds between ops
# while the interpreter does not.
TOLERANCE = {"float64": 1e-11, "float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2,
             "complex64": 1e-5, "complex128": 1e-11}

# The ops of each program so far.
printed_ops = {}


def split_complex128(value):
    """The parts of complex numbers, which safetensors files do not support."""
    if value.dtype == np.complex128:
        return {"real": value.real, "imag": value.imag}
    return value


def join_complex128(value):
    return jax.lax.complex(value["real"], value["imag"]) if isinstance(value, dict) else value


def by_parts(function):
    """`function` with complex128 arguments and results in two parts each."""
    def run(*args):
        return [split_complex128(r) for r in jax.tree.leaves(function(*map(join_complex128, args)))]
    return run


def lines(text):
    return [line for line in text.splitlines() if line.strip()]


def check_round_trip(program, text):
    printed = check_run([BIN / "st-opt", program]).stdout
    for number, (ours, theirs) in enumerate(zip(lines(printed), lines(text), strict=False)):
        expect(ours == theirs, f"line {number} is printed back as\n{ours}\nnot\n{theirs}")
    expect(len(lines(printed)) == len(lines(text)), "printed back with other lines")
    generic = program.with_suffix(".generic.mlir")
    generic.write_text(check_run([BIN / "st-opt", "--mlir-print-op-generic", program]).stdout)
    expect(check_run([BIN / "st-opt", generic]).stdout == printed, "the generic form differs")


def greatest_difference(actual, expected, each_element):
    """Relative to the largest element, or to each element itself."""
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    a, e = actual.astype(wide), expected.astype(wide)
    finite = np.isfinite(e)
    expect((finite == np.isfinite(a)).all(), "finite where JAX is not, or not finite where JAX is")
    with np.errstate(invalid="ignore"):
        same = (a == e) | (np.isnan(a) & np.isnan(e)) | finite
    expect(same.all() or expected.dtype.kind == "c", "other infinities and NaNs than JAX's")
    if not finite.any():
        return 0.0
    a, e = a[finite], e[finite]
    difference, smallest = np.abs(a - e), np.finfo(np.float32).tiny
    if not each_element:
        return float(difference.max() / max(np.abs(e).max(), smallest))
    # XLA flushes subnormal results of some functions to zero.
    return float(np.where(difference < smallest, 0, difference / np.maximum(np.abs(e), smallest)).max())


def compare(name, actual, expected, tolerance, each_element=False):
    expect(actual.dtype == expected.dtype and actual.shape == expected.shape,
           f"{name} is {actual.dtype}{actual.shape}, JAX's {expected.dtype}{expected.shape}")
    if expected.dtype.kind in "biu":
        wrong = int((actual != expected).sum())
        expect(wrong == 0, f"{name}: {wrong} of {expected.size} integers differ")
        return 0.0
    bound = tolerance or TOLERANCE[str(expected.dtype)]
    if expected.size == 0:
        return 0.0
    difference = greatest_difference(actual, expected, each_element)
    of = "an element" if each_element else "its largest element"
    expect(difference <= bound, f"{name} ({expected.dtype}) is off by {difference:.1e} of {of}")
    return difference / bound


def print_program(name, function, args, platform=None, donate=()):
    """JAX's text of a function: returns the function and its traced arguments, its trace, and the text."""
    args = jax.tree.map(np.asarray, args)
    if any(a.dtype == np.complex128 for a in jax.tree.leaves(args)):
        function, args = by_parts(function), [split_complex128(a) for a in args]
    traced = jax.jit(function, keep_unused=True, donate_argnums=donate).trace(*args)
    lowered = traced.lower(lowering_platforms=(platform,)) if platform else traced.lower()
    text = lowered.as_text()
    printed_ops[name] = set(re.findall(r"\b(?:stablehlo|chlo)\.\w+(?=[\s(\"]|$)", text.replace('"', " ")))
    return function, args, traced, text


def ops_of_all(cases):
    """The ops of all programs; those of programs that did not run are printed for it."""
    for name, run in cases:
        if name not in printed_ops:
            print_program(name, *run.make(), **{o: v for o, v in run.options.items() if o in ("platform", "donate")})
    return set().union(*printed_ops.values())


def check_program(folder, name, function, args, tolerance=None, platform=None, donate=(), refusal=None,
                  flags=(), each_element=False):
    """Compares all results of a function of flat arrays or trees of them; `flags` are those of st-compile. With
    `each_element` the tolerance is relative to each element."""
    function, args, traced, text = print_program(name, function, args, platform, donate)
    program = folder / "program.mlir"
    program.write_text(text)
    check_round_trip(program, text)
    leaves = [np.asarray(a, order="C") for a in jax.tree.leaves(args)]
    found = interpret(program, {f"arg{i}": a for i, a in enumerate(leaves)})
    expected = [np.asarray(e) for e in jax.tree.leaves(jax.jit(function)(*args))]
    expect(len(found) == len(expected), f"{len(found)} results, JAX has {len(expected)}")
    worst = max((compare(f"result {i}", found[f"result{i}"], e, tolerance, each_element) for i, e in enumerate(expected)),
                default=0.0)
    donated = sum(len(jax.tree.leaves(args[i])) for i in donate)
    on_dtu = jax_on_dtu.check(folder, name, program, traced, leaves, expected, donated, refusal, flags,
                              lambda what, actual, e: compare(what, actual, e, tolerance, each_element))
    return f"{len(expected)} results, {text.count(' = ')} ops, at most {worst:.2f} of the tolerance; {on_dtu}"


def case(name, make, **options):
    """A case for st_testing.main: `make()` gives a function and its arguments."""
    def run(folder):
        function, args = make()
        return check_program(folder, name, function, args, **options)
    run.make, run.options = make, options
    return name, run
