"""Functions that kernels for a GPU approximate: within their documented bounds, and invisible after rounding to 16
bits.

The host computes them in place of a GPU, exactly or with the largest error that NVIDIA's PTX manual allows
(--approximation-error of st-cuda-host-run). A kernel may approximate only if all its float results have 16 bits;
results of f32 come out as their bits.
"""

import subprocess
import tempfile
from pathlib import Path

import ml_dtypes  # noqa: F401, which names bf16 to numpy
import numpy as np
from safetensors.numpy import load_file, save_file

# The relative error of ex2.approx: 2 ulp from the correctly rounded result (NVIDIA, "PTX ISA", 9.7.3.21, Floating Point
# Instructions: ex2), which is half an ulp off itself. The reciprocal, 1 ulp (9.7.3.13, rcp), gets the same error.
ERROR = 2.5 * 2.0 ** -23
ROWS, COLUMNS = 192, 512
ALL, ROW = f"tensor<{ROWS}x{COLUMNS}xf32>", f"tensor<{ROWS}xf32>"

FUNCTIONS = {
    "exponential": (f"%y = stablehlo.exponential %x : {ALL}", np.exp),
    "logistic": (f"%y = stablehlo.logistic %x : {ALL}", lambda x: 1 / (1 + np.exp(-x))),
    "tanh": (f"%y = stablehlo.tanh %x : {ALL}", np.tanh),
    "softmax": (f"""
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : ({ALL}, tensor<f32>) -> {ROW}
    %mb = stablehlo.broadcast_in_dim %m, dims = [0] : ({ROW}) -> {ALL}
    %d = stablehlo.subtract %x, %mb : {ALL}
    %e = stablehlo.exponential %d : {ALL}
    %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : ({ALL}, tensor<f32>) -> {ROW}
    %sb = stablehlo.broadcast_in_dim %s, dims = [0] : ({ROW}) -> {ALL}
    %y = stablehlo.divide %e, %sb : {ALL}""",
                lambda x: np.exp(x - x.max(1, keepdims=True)) / np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)),
}


def program(body, element):
    narrow, bits = f"tensor<{ROWS}x{COLUMNS}x{element}>", f"tensor<{ROWS}x{COLUMNS}xui32>"
    return f"""func.func @main(%0: {ALL}) -> ({narrow}, {bits}) {{
  %k:2 = st.kernel "loop" (%x = %0 : {ALL}) -> ({narrow}, {bits}) {{
    {body}
    %n = stablehlo.convert %y : ({ALL}) -> {narrow}
    %b = stablehlo.bitcast_convert %y : ({ALL}) -> {bits}
    st.yield %n, %b : {narrow}, {bits}
  }}
  return %k#0, %k#1 : {narrow}, {bits}
}}
"""


def operands(name):
    rng = np.random.default_rng(1)
    x = rng.uniform(-80, 80, (ROWS, COLUMNS)).astype(np.float32)
    x[ROWS // 2:] = rng.standard_normal((ROWS // 2, COLUMNS)) * 3
    x[:2] = (np.arange(2 * COLUMNS) / 4 - 100).reshape(2, COLUMNS)
    if name != "softmax":
        x[2, :4] = np.inf, -np.inf, np.nan, 0
    return x


def execute(text, inputs, flags=()):
    """The results of the interpreter and of the host."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "case.mlir").write_text(text)
        save_file(inputs, folder / "in")
        for tool, *options in (["st-translate", "--interpret"], ["st-cuda-host-run", *flags]):
            subprocess.run([tool, *options, folder / "case.mlir", f"--inputs={folder / 'in'}",
                            f"--outputs={folder / tool}"], check=True)
        return load_file(folder / "st-translate"), load_file(folder / "st-cuda-host-run")


def run(name, element, flags):
    body, function = FUNCTIONS[name]
    x = operands(name)
    exact, found = execute(program(body, element), {"arg0": x}, flags)
    narrow, wide = sorted(found, key=lambda key: found[key].dtype.itemsize)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        expected = function(x.astype(np.float64))
    y = found[wide].view(np.float32).astype(np.float64)
    return x.astype(np.float64), expected, y, exact[narrow], found[narrow]


def check(name, element, flags):
    x, expected, y, exact, found = run(name, element, flags)
    finite = np.isfinite(expected) & (expected < 2.0 ** 128)
    np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))
    normal = finite & (np.abs(expected) >= 2.0 ** -125)
    assert np.abs(y[finite & ~normal]).max(initial=0) <= 2.0 ** -125
    off = np.abs(y[normal] / expected[normal] - 1)
    # The argument of softmax is at most twice the largest number, and its own rounding counts.
    size = np.abs(x[normal]) if name != "softmax" else 200
    parts = {"exponential": 1, "softmax": 3}.get(name, 2)
    bound = parts * (ERROR if flags else 2.0 ** -23) + (size + 2) * 2.0 ** -23
    if name == "tanh":
        bound = 2.0 ** -20
    assert np.all(off <= bound), f"{name}: off by {off.max()}"
    # Rounded to 16 bits it equals the interpreter's result, except for a few results next to a rounding boundary.
    exact, found = exact.astype(np.float32), found.astype(np.float32)
    step = 2.0 ** -7 if element == "bf16" else 2.0 ** -10
    least = 2.0 ** -125 if element == "bf16" else 2.0 ** -24
    np.testing.assert_allclose(found, exact, rtol=step, atol=least)
    differ = np.mean((found != exact) & ~np.isnan(exact) & (np.abs(exact) > least))
    assert differ < (0.01 if element == "bf16" else 0.04), f"{name}: {differ:.2%} of {element} differ"
    return off.max()


def check_rows():
    """Rows, each divided by one number, with all exponents, zero and infinity: at most 1.5 units off, or denormal."""
    text = f"""func.func @main(%0: {ALL}, %1: {ROW}) -> {ALL} {{
  %k = st.kernel "loop" (%x = %0 : {ALL}, %s = %1 : {ROW}) -> {ALL} {{
    %b = stablehlo.broadcast_in_dim %s, dims = [0] : ({ROW}) -> {ALL}
    %q = stablehlo.divide %x, %b : {ALL}
    st.yield %q : {ALL}
  }}
  return %k : {ALL}
}}
"""
    rng = np.random.default_rng(2)
    x = np.ldexp(rng.uniform(1, 2, (ROWS, COLUMNS)), rng.integers(-149, 128, (ROWS, COLUMNS))).astype(np.float32)
    x[:, :4] = 0, np.inf, -np.inf, np.nan
    divisors = np.ldexp(rng.uniform(-2, 2, ROWS), np.linspace(-149, 127, ROWS).astype(int)).astype(np.float32)
    divisors[:3] = 0, np.inf, np.nan
    (exact,), (found,) = (list(results.values()) for results in execute(text, {"arg0": x, "arg1": divisors}))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))
    np.testing.assert_allclose(found, exact, rtol=2.0 ** -22, atol=2.0 ** -148)
    print(f"rows: {np.mean(found != exact):.0%} of quotients differ in the last bits")


check_rows()
for case in FUNCTIONS:
    near = max(check(case, element, []) for element in ("bf16", "f16"))
    far = max(check(case, element, [f"--approximation-error={ERROR}"]) for element in ("bf16", "f16"))
    if case == "exponential":
        assert far > near, "nothing was approximated"
    print(f"{case}: off by {near:.1e}, with an error of 2.5 ulp by {far:.1e}")
