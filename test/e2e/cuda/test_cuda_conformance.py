"""The conformance cases through the kernels of the CUDA backend, on the host.

Each type's cases become planned programs for a GPU. Their kernels are generated as for a GPU and lowered to the host,
once with threads and blocks in ascending and once in descending order. Products run on a stand-in for cuBLASLt.
Collectives become a binary of four ranks. The results are compared with the reference interpreter's, within the bounds
of the suite. A run draws a quarter of the groups; ST_ALL=1 takes all. With ST_GPU=cuda-sm_90, or another target that
this machine has a GPU for, all run there as binaries.
"""

import os
import pathlib
import sys

from safetensors.numpy import load_file, save_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import conformance_cases as cases
import test_conformance as suite
from conformance_collectives import COLLECTIVES
from conformance_program import TYPES, Shard
from st_testing import BIN, drawn_part, expect, main, run, write_json

ELEMENTWISE = ([f"stablehlo.{op}" for op in (*cases.UNARY, *cases.BINARY)]
               + [f"chlo.{op}" for op in (*cases.CHLO_UNARY, *cases.CHLO_BINARY)]
               + [f"stablehlo.{op}" for op in ("compare", "select", "clamp", "map", "convert", "reduce_precision")])
MOVES = [f"stablehlo.{op}" for op in ("constant", "iota", "broadcast_in_dim", "reshape", "reverse", "transpose",
                                      "concatenate", "slice", "pad")]
GROUPS = {"elementwise": ELEMENTWISE, "reductions": ["stablehlo.reduce"], "moves": MOVES}
GROUPS["products"] = ["stablehlo.dot_general", "stablehlo.convolution", "stablehlo.fft", "stablehlo.cholesky",
                      "stablehlo.triangular_solve"]
GPU = os.environ.get("ST_GPU")
GROUPS["others"] = sorted({op for op, _ in cases.CASES} - set().union(*GROUPS.values()))
GROUPS["collectives"] = sorted({op for op, _ in COLLECTIVES})


def run_on_host(folder, keys, element):
    """Runs the program; returns the process, the op of each result, and the files of found and expected values."""
    function, owners = suite.write(keys, element)
    program, planned, given, wanted, found = (
        folder / f"program.{kind}" for kind in ("mlir", "planned.mlir", "in", "wanted", "found"))
    program.write_text(function.text())
    save_file({f"arg{i}": a for i, a in enumerate(function.arguments.values())}, given)
    suite.interpret(program, given, wanted)
    is_collective = keys[0] in COLLECTIVES
    if GPU or is_collective:
        binary, flags = folder / "program.bin", []
        if is_collective:
            layout = {"mode": "sharding", "data": 1, "sharding_size": Shard.DEVICES}
            flags = [f"--parallel={write_json(folder / 'parallel.json', layout)}"]
        done = run([BIN / "st-compile", program, f"--target={GPU or 'cuda-host'}", "-o", binary, *flags])
        expect(done.returncode == 0, f"st-compile: {done.stderr[-500:]}")
        return run([binary, f"--inputs={given}", f"--outputs={found}"]), owners, found, wanted
    done = run([BIN / "st-compile", program, "--target=cuda-sm_80", "--compile-to=planned", "-o", planned])
    expect(done.returncode == 0, f"st-compile: {done.stderr[-500:]}")
    done = run([BIN / "st-cuda-host-run", planned, f"--inputs={given}", f"--outputs={found}"])
    return done, owners, found, wanted


def check(folder, ops, element):
    keys = [key for key in suite.ALL if key[0] in ops and suite.allows(key, element)
            and (key[0], element) not in suite.UNDEFINED]
    if not keys:
        return "no case"
    done, owners, found, wanted = run_on_host(folder, keys, element)
    expect(done.returncode == 0, f"the run: {done.stderr[-700:]}")
    suite.compare(keys, owners, element, load_file(found), load_file(wanted))
    return f"{len(keys)} cases, {len(owners)} results"


if __name__ == "__main__":
    groups = [(f"{name}, {element}", lambda folder, ops=ops, element=element: check(folder, ops, element))
              for name, ops in GROUPS.items() for element in TYPES]
    sys.exit(main(*drawn_part(groups, 4), epilogue=suite.table))
