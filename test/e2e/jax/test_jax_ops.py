"""One program, as JAX prints it, for every family of ops and of element types."""

import pathlib
import re
import sys

import jax

jax.config.update("jax_enable_x64", True)

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import jax_op_numbers
import jax_op_tensors
from jax_on_dtu import summary
from jax_programs import case, ops_of_all
from st_testing import ROOT, drawn_part, expect, main

# Ops of the dialects that no program here has: why, and the test that covers them.
NOT_PRINTED = {
    "stablehlo.all_gather": "runs on several devices: test_jax_collectives.py",
    "stablehlo.all_reduce": "runs on several devices: test_jax_collectives.py",
    "stablehlo.all_to_all": "runs on several devices: test_jax_collectives.py",
    "stablehlo.collective_broadcast": "JAX has none for CPUs: test/Import/moves-between-shards.mlir",
    "stablehlo.collective_permute": "runs on several devices: test_jax_collectives.py",
    "stablehlo.partition_id": "runs on several devices: test_jax_collectives.py",
    "stablehlo.reduce_scatter": "runs on several devices: test_jax_collectives.py",
    "stablehlo.replica_id": "JAX prints partition_id: test/Reference/replica-groups.mlir",
    "stablehlo.batch_norm_grad": "JAX prints its arithmetic: test/Reference/normalization.mlir",
    "stablehlo.batch_norm_inference": "JAX prints its arithmetic: test/Reference/normalization.mlir",
    "stablehlo.batch_norm_training": "JAX prints its arithmetic: test/Reference/normalization.mlir",
    "stablehlo.custom_call": "means what its target means: test/Reference/checks.mlir",
    "stablehlo.if": "JAX prints case: test/Reference/checks.mlir",
    "stablehlo.logistic": "JAX prints 1 / (1 + exp(-x)): test/Reference/special.mlir",
    "stablehlo.map": "JAX prints whole tensors: test/Reference/checks.mlir",
    "stablehlo.tuple": "JAX prints several results; refused by the interpreter: test/Reference/invalid.mlir",
    "stablehlo.get_tuple_element": "JAX prints several results; refused by the interpreter",
    "chlo.conj": "JAX prints its parts: test/Reference/special.mlir",
    "chlo.tan": "JAX prints stablehlo.tan: test/Reference/special.mlir",
}
# Ops that JAX can print and the dialects refuse by name.
REFUSED = {
    "stablehlo.rng": "its values depend on the implementation",
    "stablehlo.infeed, outfeed, send, recv": "programs do not communicate with the host",
    "stablehlo.after_all, create_token": "programs have no side effects that tokens would order",
    "stablehlo.dynamic_*": "shapes are static",
    "stablehlo.uniform_quantize, uniform_dequantize": "there are no quantized types",
    "chlo.ragged_dot, chlo.scan": "accelerators only: on CPUs JAX prints dot_general and while",
    "f8, 4-bit and 2-bit element types": "types of storage: test/StableHLO/small-types.mlir; no arithmetic",
    "custom_call @lapack_*, @Qr, @ApproxTopK": "library calls without a meaning of their own",
}


def every_op_is_printed(folder):
    """The dialects' ops are exactly those of the programs and of the list above."""
    defined = set()
    for source in (ROOT / "dialects/StableHLO").glob("*Ops.td"):
        prefix = "chlo" if source.name.startswith("Chlo") else "stablehlo"
        names = re.findall(r"^def \w+\s*:\s*\w+<\"(\w+)\"", source.read_text(), re.M)
        defined |= {f"{prefix}.{name}" for name in names}
    expect(len(defined) > 100, f"found {len(defined)} definitions of ops only")
    printed = ops_of_all(CASES)
    missing = sorted(defined - printed - set(NOT_PRINTED))
    expect(not missing, f"in no program and not excluded: {', '.join(missing)}")
    stale = sorted(set(NOT_PRINTED) & printed)
    expect(not stale, f"excluded but printed: {', '.join(stale)}")
    return f"{len(defined & printed)} of {len(defined)} ops"


# Every program runs on the DTU unless this names the op that st-compile refuses: program -> op.
REFUSED_ON_DTU = {}


CASES = [case(name, make, refusal=REFUSED_ON_DTU.get(name), **options)
         for module in (jax_op_numbers, jax_op_tensors) for name, make, options in module.programs()]
if __name__ == "__main__":
    for excluded in (NOT_PRINTED, REFUSED):
        for op, reason in excluded.items():
            print(f"without {op}: {reason}")
    sys.exit(main(*drawn_part(CASES, 2), ("every op is printed", every_op_is_printed), epilogue=summary))
