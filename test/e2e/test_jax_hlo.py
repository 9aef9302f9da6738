"""The programs of the other tests as XLA's HLO: as a proto, as text, and as text after XLA's optimisations.

Proto and text must import as the same program. That, and the optimised one, must give XLA's results when
interpreted, as close as test_jax_ops.py asks for.
"""

import sys

# First, because it asks XLA for eight devices.
import test_jax_collectives

import jax
import numpy as np
import test_jax_ops
import test_jax_steps
from jax_programs import by_parts, compare, split_complex128
from st_programs import interpret
from st_testing import BIN, check_run, expect, main, run

# What is not compared, and why. An entry that would pass is an error.
NOT_OPTIMISED = {
    "reductions": "several devices: XLA's partitioner writes what no other tool reads",
}


def import_hlo(folder, name, hlo):
    """The program of a proto or text; its path."""
    kind = "text" if isinstance(hlo, str) else "proto"
    source = folder / f"{name}.hlo"
    source.write_text(hlo) if kind == "text" else source.write_bytes(hlo)
    program = folder / f"{name}.mlir"
    check_run([BIN / "st-translate", f"--import-hlo-{kind}", source, "-o", program])
    return program


def check_results(program, args, expected, tolerance, what):
    found = interpret(program, {f"arg{i}": a for i, a in enumerate(jax.tree.leaves(args))})
    expect(len(found) == len(expected), f"{what}: {len(found)} results, JAX has {len(expected)}")
    return max((compare(f"{what}, result {i}", found[f"result{i}"], np.asarray(e), tolerance)
                for i, e in enumerate(expected)), default=0.0)


def as_hlo(make, tolerance=None, platform=None, donate=(), partitioned=False, **config):
    def check(folder):
        for name, value in config.items():
            jax.config.update(name, value)
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
        worst = check_results(program, args, expected, tolerance, "proto")
        if not partitioned:
            optimised = import_hlo(folder, "optimised", compiled.as_text())
            worst = max(worst, check_results(optimised, args, expected, tolerance, "optimised"))
        return f"{len(expected)} results, at most {worst:.2f} of the tolerance"
    return check


def cases():
    for module, x64 in ((test_jax_collectives, False), (test_jax_ops, True), (test_jax_steps, False)):
        for name, case in module.CASES:
            if hasattr(case, "make"):
                yield name, as_hlo(case.make, **case.options, partitioned=module is test_jax_collectives,
                                   jax_enable_x64=x64)


CASES = list(cases())

if __name__ == "__main__":
    sys.exit(main(*CASES))
