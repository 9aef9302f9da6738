"""Kernels of every kind through a backend's code generation, against the reference interpreter.

    kernel_cases.py BACKEND GROUP [case ...]      prints a line a case of the group, and fails on a difference

A case is the text of st.kernels, usually of one, whose operands are %0, %1, ...: the arguments of a function. The
interpreter runs the function itself, st-dtu-run runs it on a simulated cluster (backend dtu), and st-cuda-host-run runs
its GPU kernels lowered to the host (backends cuda and cuda-off).
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np
from attention_cases import ATTENTION, TRANSPOSED
from epilogue_cases import EPILOGUES
from loop_cases import LOOPS
from movement_cases import INDEXED, MOVEMENTS, SEQUENCES
from product_cases import PRODUCTS
from reduction_cases import PARTS, REDUCTIONS, SHARES
from safetensors.numpy import load_file, save_file

DTYPES = {"f32": np.float32, "i32": np.int32, "ui32": np.uint32, "i1": np.bool_, "bf16": ml_dtypes.bfloat16,
          "f16": np.float16}


def values(types, rng, limits):
    arrays = {}
    for i, t in enumerate(types):
        *dims, element = t.split("x")
        shape = tuple(map(int, dims))
        if element == "f32":
            array = rng.standard_normal(shape).astype(np.float32)
        elif element == "i1":
            array = rng.integers(0, 2, shape).astype(np.bool_)
        else:
            low, high = limits.get(i, (0, 8))
            array = rng.integers(low, high, shape, dtype=np.int64).astype(DTYPES[element])
        arrays[f"arg{i}"] = np.array(array)
    return arrays


# cuBLASLt rounds the sum of a product in 16 bits and its addend once, the interpreter rounds after each op.
ROUNDED_ONCE = {("cuda", "shared_bf16"), ("cuda", "gelu_bf16"), ("cuda", "gelu_gradient_f16"),
                # Probabilities are rounded before the division by their sum, as in flash attention.
                *((backend, name) for backend in ("cuda", "dtu-streamed")
                  for name in ("dropout_bf16", "dropout_f16_ragged", "dropout_bf16_wide"))}
# "cuda-off": approximations of the GPU have the largest error that its vendor allows.
# "dtu-streamed": rows of attention kernels stream through cores of 20 KiB.
BACKENDS = {"dtu": ["st-dtu-run", "--shuffles=3"], "dtu-streamed": ["st-dtu-run", "--shuffles=3"], "cuda": ["st-cuda-host-run"],
            "cuda-off": ["st-cuda-host-run", f"--approximation-error={2.5 * 2.0 ** -23}"]}


def stream(text, module):
    """Writes a case whose attention kernels stream their rows."""
    device = (Path(__file__).resolve().parents[2] / "devices/dtu-t10.textproto").read_text()
    device = "\n".join(line.split("#")[0] for line in device.splitlines()).replace("value: 262144", "value: 20480")
    device = json.dumps(device).replace("\\n", "\\0A").replace('\\"', "\\22")
    text = re.sub(r'(st\.kernel "attention" .*) \{$', r"\1 attributes {st.streamed} {", text, flags=re.M)
    whole = f"module attributes {{dtu.description = {device}}} {{\n{text}}}\n"
    done = subprocess.run(["st-opt", "--split-attention=streamed-only"], input=whole, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"st-opt failed:\n{whole}\n{done.stderr}")
    module.write_text(done.stdout)


def run_case(backend, name, text, inputs, tolerance, limits):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        module = folder / "case.mlir"
        if backend == "dtu-streamed":
            stream(text, module)
        else:
            module.write_text(text)
        save_file(values(inputs, np.random.default_rng(0), limits), folder / "in")
        for tool in (["st-translate", "--interpret"], BACKENDS[backend]):
            done = subprocess.run([*tool, module, f"--inputs={folder / 'in'}", f"--outputs={folder / tool[0]}"],
                                  capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{name}: {tool[0]} failed:\n{text}\n{done.stderr}")
        expected, actual = load_file(folder / "st-translate"), load_file(folder / BACKENDS[backend][0])
        for key, value in expected.items():
            # Sums differ by their order: small sums of large terms are compared relative to the terms.
            scale = np.max(np.abs(value)) if value.dtype == np.float32 else 1
            bound = tolerance
            if (backend.removesuffix("-off"), name) in ROUNDED_ONCE:
                # Rounding to bf16 may change a number by 2^-8: the sum's rounding applies on both sides, the product's
                # on one.
                bound, scale = 2.0 ** -7, np.max(np.abs(value.astype(np.float32))) / 2
            np.testing.assert_allclose(actual[key], value, rtol=bound, atol=bound * scale,
                                       err_msg=f"{name}: {key}\n{text}")
    print(f"{name}: {len(expected)} results agree")


GROUPS = {"loop": LOOPS, "reduce": REDUCTIONS, "parts": PARTS, "shares": SHARES, "matmul": PRODUCTS, "attention": ATTENTION,
          "copy": MOVEMENTS, "indexed": INDEXED, "sequence": SEQUENCES, "epilogue": EPILOGUES, "transposed": TRANSPOSED}


def main():
    backend, cases = sys.argv[1], GROUPS[sys.argv[2]]
    chosen = sys.argv[3:] or list(cases)
    for name in chosen:
        text, inputs, *limits = cases[name]()
        run_case(backend, name, text, inputs, 2e-5, limits[0] if limits else {})


if __name__ == "__main__":
    main()
