"""The programs of the other tests as XLA's HLO: as a proto, as text, and as text after XLA's optimisations.

Proto and text must import as the same program. That, and the optimised one, must give XLA's results when
interpreted, as close as test_jax_ops.py asks for.
"""

import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

# First, because it asks XLA for eight devices.
import test_jax_collectives

import jax
import numpy as np
import test_jax_ops
import test_jax_steps
from jax_programs import by_parts, compare, split_complex128
from st_programs import interpret
from st_testing import BIN, Failure, check_run, drawn_part, expect, main

# Programs in a form that is not imported or not compared, and why. This form must fail.
LIBRARY = "XLA calls LAPACK on CPUs"
ZETA = "XLA flushes subnormal numbers, and its zeta compares with one: NaN for zeta(inf, 1), which is 1"
EXCLUDED = {
    ("proto", "special values of zeta, float32"): ZETA,
    ("proto", "special values of zeta, float64"): ZETA,
    ("optimised", "special values of zeta, float32"): ZETA,
    ("optimised", "special values of zeta, float64"): ZETA,
} | {
    ("optimised", f"{solver}, {element}"): LIBRARY for solver in ("cholesky", "triangular solves")
    for element in ("float32", "float64", "complex64", "complex128")
}


def import_hlo(folder, name, hlo):
    """The program of a proto or text; its path."""
    kind = "text" if isinstance(hlo, str) else "proto"
    source = folder / f"{name}.hlo"
    source.write_text(hlo) if kind == "text" else source.write_bytes(hlo)
    program = folder / f"{name}.mlir"
    check_run([BIN / "st-translate", f"--import-hlo-{kind}", source, "-o", program])
    return program


def check_form(name, form, check):
    """The result of `check` for a form; an excluded form has to fail."""
    if (form, name) not in EXCLUDED:
        return check()
    try:
        check()
    except Failure:
        return 0.0
    raise Failure(f"the {form} form is excluded ({EXCLUDED[form, name]}), but passes")


def check_results(program, args, expected, bounds, what):
    found = interpret(program, {f"arg{i}": a for i, a in enumerate(jax.tree.leaves(args))})
    expect(len(found) == len(expected), f"{what}: {len(found)} results, JAX has {len(expected)}")
    return max((compare(f"{what}, result {i}", found[f"result{i}"], np.asarray(e), *bounds)
                for i, e in enumerate(expected)), default=0.0)


def as_hlo(name, make, tolerance=None, platform=None, donate=(), partitioned=False, refusal=None, flags=(),
            each_element=False, **config):
    """A case; `refusal` and `flags` are for compilation, which this test does not do."""
    def check(folder):
        for option, value in config.items():
            jax.config.update(option, value)
        bounds = tolerance, each_element
        function, args = make()
        args = jax.tree.map(np.asarray, args)
        if any(a.dtype == np.complex128 for a in jax.tree.leaves(args)):
            function, args = by_parts(function), [split_complex128(a) for a in args]
        traced = jax.jit(function, keep_unused=True, donate_argnums=donate).trace(*args)
        lowered = traced.lower(lowering_platforms=(platform,)) if platform else traced.lower()
        hlo = lowered.compiler_ir("hlo")
        program = import_hlo(folder, "proto", hlo.as_serialized_hlo_module_proto())
        text = import_hlo(folder, "text", hlo.as_hlo_text())
        expect(program.read_text() == text.read_text(), "the text imports as another program than the proto")
        compiled = (traced.lower() if platform else lowered).compile()
        expected = [np.asarray(leaf) for leaf in jax.tree.leaves(compiled(*args))]
        worst = check_form(name, "proto", lambda: check_results(program, args, expected, bounds, "proto"))
        # The output of XLA's partitioner works on parts of tensors.
        if not partitioned:
            worst = max(worst, check_form(name, "optimised", lambda: check_results(
                import_hlo(folder, "optimised", compiled.as_text()), args, expected, bounds, "optimised")))
        return f"{len(expected)} results, at most {worst:.2f} of the tolerance"
    return check


def cases():
    for module, x64 in ((test_jax_collectives, False), (test_jax_ops, True), (test_jax_steps, False)):
        for name, case in module.CASES:
            # Recomputation does not matter for the import.
            if hasattr(case, "make") and "computed again" not in name:
                yield name, as_hlo(name, case.make, **case.options, partitioned=module is test_jax_collectives,
                                   jax_enable_x64=x64)


CASES = list(cases())

if __name__ == "__main__":
    for (form, name), reason in EXCLUDED.items():
        print(f"without the {form} form of {name}: {reason}")
    sys.exit(main(*drawn_part(CASES, 3)))
