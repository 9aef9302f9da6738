"""The conformance cases through the kernels of the CUDA backend, on the host.

Each type's cases become planned programs, as for the DTU; their kernels are generated as for a GPU and lowered to the
host, once with threads and blocks in ascending and once in descending order. The reference interpreter has the last
word, with the bounds of the suite. What the backend has no kernels for yet is named here, and must be refused. A run
takes a quarter of the groups, drawn; ST_ALL=1 takes all.
"""

import sys

from safetensors.numpy import load_file, save_file

import conformance_cases as cases
import test_conformance as suite
from conformance_program import TYPES
from st_testing import BIN, drawn_part, expect, main, run

ELEMENTWISE = ([f"stablehlo.{op}" for op in (*cases.UNARY, *cases.BINARY)]
               + [f"chlo.{op}" for op in (*cases.CHLO_UNARY, *cases.CHLO_BINARY)]
               + [f"stablehlo.{op}" for op in ("compare", "select", "clamp", "map", "convert", "reduce_precision")])
MOVES = [f"stablehlo.{op}" for op in ("constant", "iota", "broadcast_in_dim", "reshape", "reverse", "transpose",
                                      "concatenate", "slice", "pad")]
GROUPS = {"elementwise": ELEMENTWISE, "reductions": ["stablehlo.reduce"], "moves": MOVES}
GROUPS["others"] = sorted({op for op, _ in cases.CASES} - set().union(*GROUPS.values()))
# Products, of these types: of others they are elementwise products and sums.
NOT_YET = ("stablehlo.dot_general", "stablehlo.convolution", "stablehlo.fft", "stablehlo.cholesky",
           "stablehlo.triangular_solve")
NOT_YET_OF = ("f32", "f16", "bf16", "complex<f32>")


def is_refused(key, element):
    return key[0] in NOT_YET and element in NOT_YET_OF


def run_on_host(folder, keys, element):
    """The run, whose each result is, what was found and what is wanted."""
    function, owners = suite.write(keys, element)
    program, planned, given, wanted, found = (
        folder / f"program.{kind}" for kind in ("mlir", "planned.mlir", "in", "wanted", "found"))
    program.write_text(function.text())
    save_file({f"arg{i}": a for i, a in enumerate(function.arguments.values())}, given)
    suite.interpret(program, given, wanted)
    done = run([BIN / "st-compile", program, "--target=dtu-t10", "--compile-to=planned", "-o", planned])
    expect(done.returncode == 0, f"st-compile: {done.stderr[-500:]}")
    done = run([BIN / "st-cuda-host-run", planned, f"--inputs={given}", f"--outputs={found}"])
    return done, owners, found, wanted


def check(folder, ops, element):
    keys = [key for key in cases.CASES if key[0] in ops and suite.allows(key, element)
            and (key[0], element) not in suite.UNDEFINED and not is_refused(key, element)]
    if not keys:
        return "no case"
    done, owners, found, wanted = run_on_host(folder, keys, element)
    expect(done.returncode == 0, f"st-cuda-host-run: {done.stderr[-700:]}")
    suite.compare(keys, owners, element, load_file(found), load_file(wanted))
    return f"{len(keys)} cases, {len(owners)} results"


def check_refusals(folder):
    """What is said not to be there yet is an error that names the kind of kernel."""
    refused = [(key, element) for element in NOT_YET_OF for key in cases.CASES
               if is_refused(key, element) and suite.allows(key, element)]
    firsts = {(key[0], element): (key, element) for key, element in reversed(refused)}
    for key, element in firsts.values():
        done, *_ = run_on_host(folder, [key], element)
        expect(done.returncode == 1 and 'kind "matmul", which has no CUDA code generation' in done.stderr,
               f"{suite.label(key)}, {element}: exit {done.returncode}, {done.stderr[-300:]}")
    return f"{len(firsts)} ops and types"


if __name__ == "__main__":
    groups = [(f"{name}, {element}", lambda folder, ops=ops, element=element: check(folder, ops, element))
              for name, ops in GROUPS.items() for element in TYPES]
    sys.exit(main(*drawn_part(groups, 4), ("not there yet", check_refusals), epilogue=suite.table))
