"""The conformance cases of elementwise ops, reductions and moves through the CUDA backend's kernels, on the host.

Each type's cases become one planned program, as for the DTU; its kernels are generated as for a GPU and lowered to the
host, once with threads and blocks in ascending and once in descending order. The reference interpreter has the last
word, with the bounds of the suite.
"""

import sys

from safetensors.numpy import load_file, save_file

import conformance_cases as cases
import test_conformance as suite
from conformance_program import COMPLEX, TYPES
from st_testing import BIN, expect, main, run

ELEMENTWISE = ([f"stablehlo.{op}" for op in (*cases.UNARY, *cases.BINARY)]
               + [f"chlo.{op}" for op in (*cases.CHLO_UNARY, *cases.CHLO_BINARY)]
               + [f"stablehlo.{op}" for op in ("compare", "select", "clamp", "map", "convert", "reduce_precision")])
MOVES = [f"stablehlo.{op}" for op in ("constant", "iota", "broadcast_in_dim", "reshape", "reverse", "transpose",
                                      "concatenate", "slice", "pad")]
GROUPS = {"elementwise": ELEMENTWISE, "reductions": ["stablehlo.reduce"], "moves": MOVES}


def check(folder, ops, element):
    keys = [key for key in cases.CASES if key[0] in ops and suite.allows(key, element)
            and (key[0], element) not in suite.UNDEFINED]
    function, owners = suite.write(keys, element)
    program, planned, given, wanted, found = (
        folder / f"program.{kind}" for kind in ("mlir", "planned.mlir", "in", "wanted", "found"))
    program.write_text(function.text())
    save_file({f"arg{i}": a for i, a in enumerate(function.arguments.values())}, given)
    suite.interpret(program, given, wanted)
    done = run([BIN / "st-compile", program, "--target=dtu-t10", "--compile-to=planned", "-o", planned])
    expect(done.returncode == 0, f"st-compile: {done.stderr[-500:]}")
    done = run([BIN / "st-cuda-host-run", planned, f"--inputs={given}", f"--outputs={found}"])
    expect(done.returncode == 0, f"st-cuda-host-run: {done.stderr[-700:]}")
    suite.compare(keys, owners, element, load_file(found), load_file(wanted))
    return f"{len(keys)} cases, {len(owners)} results"


def checks():
    """Complex numbers are pairs of real ones before there are kernels; the DTU's suite has them."""
    for name, ops in GROUPS.items():
        for element in TYPES:
            if element not in COMPLEX:
                yield f"{name}, {element}", lambda folder, ops=ops, element=element: check(folder, ops, element)


if __name__ == "__main__":
    sys.exit(main(*checks(), epilogue=suite.table))
