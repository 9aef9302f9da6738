"""Kernels of every kind through a backend's code generation, against the reference interpreter.

    kernel_cases.py BACKEND GROUP [case ...]      prints a line a case of the group, and fails on a difference

A case is the text of st.kernels, usually of one, whose operands are %0, %1, ...: the arguments of a function. The
interpreter runs the function itself, st-dtu-run runs it on a simulated cluster (backend dtu), and st-cuda-host-run runs
its GPU kernels lowered to the host (backends cuda and cuda-off).
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np
from epilogue_cases import EPILOGUES
from safetensors.numpy import load_file, save_file

DTYPES = {"f32": np.float32, "i32": np.int32, "ui32": np.uint32, "i1": np.bool_, "bf16": ml_dtypes.bfloat16,
          "f16": np.float16}


def kernel(kind, inputs, results, body):
    """Text of a function @main with one kernel. `inputs`, `results`: types such as "8x4xf32"."""
    tensor = [f"tensor<{t}>" for t in inputs]
    out = [f"tensor<{t}>" for t in results]
    bound = ", ".join(f"%a{i} = %{i} : {t}" for i, t in enumerate(tensor))
    names = ", ".join(f"%k#{i}" for i in range(len(out))) if len(out) > 1 else "%k"
    head = f"%k:{len(out)}" if len(out) > 1 else "%k"
    arguments = ", ".join(f"%{i}: {t}" for i, t in enumerate(tensor))
    return (f"func.func @main({arguments}) -> ({', '.join(out)}) {{\n"
            f"  {head} = st.kernel \"{kind}\" ({bound}) -> ({', '.join(out)}) {{\n{body}\n  }}\n"
            f"  return {names} : {', '.join(out)}\n}}\n")


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
                ("cuda", "dropout_bf16"), ("cuda", "dropout_f16_ragged"), ("cuda", "dropout_bf16_wide")}
# "cuda-off": approximations of the GPU have the largest error that its vendor allows.
BACKENDS = {"dtu": ["st-dtu-run", "--shuffles=3"], "cuda": ["st-cuda-host-run"],
            "cuda-off": ["st-cuda-host-run", f"--approximation-error={2.5 * 2.0 ** -23}"]}


def run_case(backend, name, text, inputs, tolerance, limits):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        module = folder / "case.mlir"
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


# ---- loops ------------------------------------------------------------------------------------

def full(name, value, shape, ops, element="f32"):
    """A broadcast constant."""
    ops.append(f"%{name}c = stablehlo.constant dense<{value}> : tensor<{element}>")
    ops.append(f"%{name} = stablehlo.broadcast_in_dim %{name}c, dims = [] : (tensor<{element}>) -> tensor<{shape}x{element}>")


def layer_norm(rows, cols):
    x, r, c = f"tensor<{rows}x{cols}xf32>", f"tensor<{rows}xf32>", f"tensor<{cols}xf32>"
    return kernel("loop", [f"{rows}x{cols}xf32", f"{cols}xf32", f"{cols}xf32"], [f"{rows}x{cols}xf32", f"{rows}xf32"], f"""
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %n = stablehlo.constant dense<{cols}.0> : {r}
    %eps = stablehlo.constant dense<1.0e-5> : {r}
    %s = stablehlo.reduce(%a0 init: %zero) applies stablehlo.add across dimensions = [1] : ({x}, tensor<f32>) -> {r}
    %mean = stablehlo.divide %s, %n : {r}
    %meanb = stablehlo.broadcast_in_dim %mean, dims = [0] : ({r}) -> {x}
    %d = stablehlo.subtract %a0, %meanb : {x}
    %d2 = stablehlo.multiply %d, %d : {x}
    %v = stablehlo.reduce(%d2 init: %zero) applies stablehlo.add across dimensions = [1] : ({x}, tensor<f32>) -> {r}
    %var = stablehlo.divide %v, %n : {r}
    %ve = stablehlo.add %var, %eps : {r}
    %rs = stablehlo.rsqrt %ve : {r}
    %rsb = stablehlo.broadcast_in_dim %rs, dims = [0] : ({r}) -> {x}
    %o = stablehlo.multiply %d, %rsb : {x}
    %g = stablehlo.broadcast_in_dim %a1, dims = [1] : ({c}) -> {x}
    %b = stablehlo.broadcast_in_dim %a2, dims = [1] : ({c}) -> {x}
    %o1 = stablehlo.multiply %o, %g : {x}
    %o2 = stablehlo.add %o1, %b : {x}
    st.yield %o2, %mean : {x}, {r}""")


def cross_entropy(rows, columns, real, element="f32"):
    """For rows of logits whose last columns are padding: the maximum, the sum of exponentials relative to it, and the
    target's logit minus it. The first columns are far below the others, or minus infinity."""
    wide, of_row = f"tensor<{rows}x{columns}xf32>", f"tensor<{rows}xf32>"
    return kernel("loop", [f"{rows}x{columns}x{element}", f"{rows}xi32"], [f"{rows}xf32"] * 3, f"""
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %lows = stablehlo.constant dense<0xFF800000> : {wide}
    %zeros = stablehlo.constant dense<0.0> : {wide}
    %spread = stablehlo.constant dense<40.0> : {wide}
    %column = stablehlo.iota dim = 1 : tensor<{rows}x{columns}xi32>
    %end = stablehlo.constant dense<{real}> : tensor<{rows}x{columns}xi32>
    %begin = stablehlo.constant dense<1024> : tensor<{rows}x{columns}xi32>
    %isReal = stablehlo.compare LT, %column, %end : (tensor<{rows}x{columns}xi32>, tensor<{rows}x{columns}xi32>) -> tensor<{rows}x{columns}xi1>
    %isFirst = stablehlo.compare LT, %column, %begin : (tensor<{rows}x{columns}xi32>, tensor<{rows}x{columns}xi32>) -> tensor<{rows}x{columns}xi1>
    %wide = stablehlo.convert %a0 : (tensor<{rows}x{columns}x{element}>) -> {wide}
    %scaled = stablehlo.multiply %wide, %spread : {wide}
    %x = stablehlo.select %isFirst, %lows, %scaled : tensor<{rows}x{columns}xi1>, {wide}
    %masked = stablehlo.select %isReal, %x, %lows : tensor<{rows}x{columns}xi1>, {wide}
    %max = stablehlo.reduce(%masked init: %low) applies stablehlo.maximum across dimensions = [1] : ({wide}, tensor<f32>) -> {of_row}
    %maxes = stablehlo.broadcast_in_dim %max, dims = [0] : ({of_row}) -> {wide}
    %below = stablehlo.subtract %x, %maxes : {wide}
    %exp = stablehlo.exponential %below : {wide}
    %term = stablehlo.select %isReal, %exp, %zeros : tensor<{rows}x{columns}xi1>, {wide}
    %sum = stablehlo.reduce(%term init: %zero) applies stablehlo.add across dimensions = [1] : ({wide}, tensor<f32>) -> {of_row}
    %targets = stablehlo.broadcast_in_dim %a1, dims = [0] : (tensor<{rows}xi32>) -> tensor<{rows}x{columns}xi32>
    %isTarget = stablehlo.compare EQ, %column, %targets : (tensor<{rows}x{columns}xi32>, tensor<{rows}x{columns}xi32>) -> tensor<{rows}x{columns}xi1>
    %one = stablehlo.select %isTarget, %below, %zeros : tensor<{rows}x{columns}xi1>, {wide}
    %target = stablehlo.reduce(%one init: %zero) applies stablehlo.add across dimensions = [1] : ({wide}, tensor<f32>) -> {of_row}
    st.yield %max, %sum, %target : {of_row}, {of_row}, {of_row}""")


def softmax(shape):
    *lead, cols = shape
    x, r = f"tensor<{'x'.join(map(str, shape))}xf32>", f"tensor<{'x'.join([*map(str, lead), 'f32'])}>"
    last, dims = len(lead), list(range(len(lead)))
    return kernel("loop", [x[7:-1]], [x[7:-1]], f"""
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %m = stablehlo.reduce(%a0 init: %low) applies stablehlo.maximum across dimensions = [{last}] : ({x}, tensor<f32>) -> {r}
    %mb = stablehlo.broadcast_in_dim %m, dims = {dims} : ({r}) -> {x}
    %d = stablehlo.subtract %a0, %mb : {x}
    %e = stablehlo.exponential %d : {x}
    %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [{last}] : ({x}, tensor<f32>) -> {r}
    %sb = stablehlo.broadcast_in_dim %s, dims = {dims} : ({r}) -> {x}
    %o = stablehlo.divide %e, %sb : {x}
    st.yield %o : {x}""")


def elementwise(shape):
    x = f"tensor<{shape}xf32>"
    ops = []
    full("half", 0.5, shape, ops)
    full("one", 1.0, shape, ops)
    full("root", 0.70710678, shape, ops)
    body = "\n".join(ops) + f"""
    %u = stablehlo.multiply %a0, %root : {x}
    %e = chlo.erf %u : {x} -> {x}
    %e1 = stablehlo.add %e, %one : {x}
    %h = stablehlo.multiply %a0, %half : {x}
    %g = stablehlo.multiply %h, %e1 : {x}
    %t = stablehlo.tanh %g : {x}
    %p = stablehlo.compare GT, %t, %a1 : ({x}, {x}) -> tensor<{shape}xi1>
    %q = stablehlo.select %p, %t, %a1 : tensor<{shape}xi1>, {x}
    %sb = stablehlo.broadcast_in_dim %a2, dims = [] : (tensor<f32>) -> {x}
    %o = stablehlo.multiply %q, %sb : {x}
    st.yield %o, %p : {x}, tensor<{shape}xi1>"""
    return kernel("loop", [f"{shape}xf32", f"{shape}xf32", "f32"], [f"{shape}xf32", f"{shape}xi1"], body)


def mask(b, h, q, k):
    """A mask of [B, K] over scores of [B, H, Q, K]."""
    x = f"tensor<{b}x{h}x{q}x{k}xf32>"
    return kernel("loop", [x[7:-1], f"{b}x{k}xf32", f"{h}x{q}xf32"], [x[7:-1]], f"""
    %m = stablehlo.broadcast_in_dim %a1, dims = [0, 3] : (tensor<{b}x{k}xf32>) -> {x}
    %r = stablehlo.broadcast_in_dim %a2, dims = [1, 2] : (tensor<{h}x{q}xf32>) -> {x}
    %s = stablehlo.add %a0, %m : {x}
    %o = stablehlo.multiply %s, %r : {x}
    st.yield %o : {x}""")


def dropout(shape):
    """One round of threefry over the row-major index: iota in every dimension, rotation, comparison."""
    text = "x".join(map(str, shape))
    u, x = f"tensor<{text}xui32>", f"tensor<{text}xf32>"
    ops, stride, index = [], 1, None
    for dim in reversed(range(len(shape))):
        ops.append(f"%i{dim} = stablehlo.iota dim = {dim} : {u}")
        full(f"s{dim}", stride, text, ops, "ui32")
        ops.append(f"%j{dim} = stablehlo.multiply %i{dim}, %s{dim} : {u}")
        if index is None:
            index = f"%j{dim}"
        else:
            ops.append(f"%t{dim} = stablehlo.add {index}, %j{dim} : {u}")
            index = f"%t{dim}"
        stride *= shape[dim]
    for name, value in (("left", 13), ("right", 19), ("limit", 2147483648)):
        full(name, value, text, ops, "ui32")
    full("zero", 0.0, text, ops)
    return kernel("loop", [f"{text}xf32", "2xui32"], [f"{text}xf32", f"{text}xui32"], "\n".join(ops) + f"""
    %k1 = stablehlo.slice %a1 [1:2] : (tensor<2xui32>) -> tensor<1xui32>
    %k = stablehlo.reshape %k1 : (tensor<1xui32>) -> tensor<ui32>
    %kb = stablehlo.broadcast_in_dim %k, dims = [] : (tensor<ui32>) -> {u}
    %x0 = stablehlo.add {index}, %kb : {u}
    %l = stablehlo.shift_left %x0, %left : {u}
    %r = stablehlo.shift_right_logical %x0, %right : {u}
    %rot = stablehlo.or %l, %r : {u}
    %w = stablehlo.xor %rot, %x0 : {u}
    %keep = stablehlo.compare LT, %w, %limit : ({u}, {u}) -> tensor<{text}xi1>
    %o = stablehlo.select %keep, %a0, %zero : tensor<{text}xi1>, {x}
    st.yield %o, %w : {x}, {u}""")


def scalars():
    return kernel("loop", ["f32", "f32"], ["f32", "f32"], """
    %p = stablehlo.power %a0, %a1 : tensor<f32>
    %e = stablehlo.exponential %a1 : tensor<f32>
    %o = stablehlo.multiply %e, %e : tensor<f32>
    st.yield %o, %e : tensor<f32>, tensor<f32>""")


def constant_result(shape):
    return kernel("loop", ["f32"], [f"{shape}xf32", f"{shape}xf32"], f"""
    %z = stablehlo.constant dense<0.0> : tensor<{shape}xf32>
    %b = stablehlo.broadcast_in_dim %a0, dims = [] : (tensor<f32>) -> tensor<{shape}xf32>
    st.yield %z, %b : tensor<{shape}xf32>, tensor<{shape}xf32>""")


def norm(rows, columns):
    """Two tensors that share only a scalar: the norm of both, each divided by a scale."""
    shape = f"{rows}x{columns}xf32"
    return kernel("loop", [shape, shape], [shape, shape], f"""
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %p0 = stablehlo.multiply %a0, %a0 : tensor<{shape}>
    %p1 = stablehlo.multiply %a1, %a1 : tensor<{shape}>
    %s0 = stablehlo.reduce(%p0 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<{shape}>, tensor<f32>) -> tensor<f32>
    %s1 = stablehlo.reduce(%p1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<{shape}>, tensor<f32>) -> tensor<f32>
    %s = stablehlo.add %s0, %s1 : tensor<f32>
    %r = stablehlo.rsqrt %s : tensor<f32>
    %b = stablehlo.broadcast_in_dim %r, dims = [] : (tensor<f32>) -> tensor<{shape}>
    %y0 = stablehlo.multiply %a0, %b : tensor<{shape}>
    %y1 = stablehlo.multiply %a1, %b : tensor<{shape}>
    st.yield %y0, %y1 : tensor<{shape}>, tensor<{shape}>""")


def rows_apart(shape):
    """Row sums of one tensor, and row values of other tensors that no op combines with it."""
    x, r = "x".join(map(str, shape)) + "xf32", "x".join(map(str, shape[:-1])) + "xf32"
    last = len(shape) - 1
    return kernel("loop", [r, r, x], [r, r], f"""
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %e = stablehlo.exponential %a0 : tensor<{r}>
    %n = stablehlo.negate %a2 : tensor<{x}>
    %s = stablehlo.reduce(%n init: %zero) applies stablehlo.add across dimensions = [{last}] : (tensor<{x}>, tensor<f32>) -> tensor<{r}>
    %m = stablehlo.multiply %e, %a1 : tensor<{r}>
    st.yield %s, %m : tensor<{r}>, tensor<{r}>"""), [r, r, x]


def one_element(ops):
    """One scalar per op, more than a core has cells for."""
    lines = ["%c = stablehlo.constant dense<0.5> : tensor<1xf32>", "%v0 = stablehlo.add %a0, %c : tensor<1xf32>"]
    for i in range(1, ops):
        op = f"add %v{i - 1}, %v{max(0, i - 5)}" if i % 2 else f"tanh %v{i - 1}"
        lines.append(f"%v{i} = stablehlo.{op} : tensor<1xf32>")
    lines.append(f"st.yield %v{ops - 1}, %v{ops // 2} : tensor<1xf32>, tensor<1xf32>")
    return kernel("loop", ["1xf32"], ["1xf32", "1xf32"], "\n".join(lines)), ["1xf32"]


LOOPS = {
    "one_element": lambda: one_element(700),
    "layer_norm": lambda: (layer_norm(48, 96), ["48x96xf32", "96xf32", "96xf32"]),
    "layer_norm_ragged": lambda: (layer_norm(37, 1000), ["37x1000xf32", "1000xf32", "1000xf32"]),
    "layer_norm_long": lambda: (layer_norm(5, 40000), ["5x40000xf32", "40000xf32", "40000xf32"]),
    "softmax": lambda: (softmax([2, 3, 50, 50]), ["2x3x50x50xf32"]),
    "softmax_vocabulary": lambda: (softmax([20, 30522]), ["20x30522xf32"]),
    "softmax_one_row": lambda: (softmax([30522]), ["30522xf32"]),
    "cross_entropy": lambda: (cross_entropy(6, 30528, 30522), ["6x30528xf32", "6xi32"], {1: (1024, 30522)}),
    "cross_entropy_bf16": lambda: (cross_entropy(3, 50304, 50257, "bf16"), ["3x50304xbf16", "3xi32"], {1: (1024, 50257)}),
    "cross_entropy_odd": lambda: (cross_entropy(2, 9001, 9001), ["2x9001xf32", "2xi32"], {1: (1024, 9001)}),
    "elementwise": lambda: (elementwise("33x77"), ["33x77xf32", "33x77xf32", "f32"]),
    "elementwise_large": lambda: (elementwise("1000x333"), ["1000x333xf32", "1000x333xf32", "f32"]),
    "elementwise_tiny": lambda: (elementwise("3"), ["3xf32", "3xf32", "f32"]),
    "mask": lambda: (mask(3, 4, 20, 24), ["3x4x20x24xf32", "3x24xf32", "4x20xf32"]),
    "dropout": lambda: (dropout([3, 40, 70]), ["3x40x70xf32", "2xui32"]),
    "scalars": lambda: (scalars(), ["f32", "f32"]),
    "norm": lambda: (norm(40, 50), ["40x50xf32", "40x50xf32"]),
    "norm_long": lambda: (norm(300, 500), ["300x500xf32", "300x500xf32"]),
    "rows_apart": lambda: rows_apart([12, 6]),
    "rows_apart_square": lambda: rows_apart([3, 70, 70]),
    "rows_apart_long": lambda: rows_apart([5, 40000]),
    "constant_result": lambda: (constant_result("40x50"), ["f32"]),
}


# ---- reductions ---------------------------------------------------------------------------------

def reduction(shape, dims, op="add", init="0.0", square=False):
    text = "x".join(map(str, shape))
    kept = [str(s) for i, s in enumerate(shape) if i not in dims]
    out = "x".join([*kept, "f32"])
    body = f"    %init = stablehlo.constant dense<{init}> : tensor<f32>\n"
    value = "%a0"
    if square:
        body += f"    %sq = stablehlo.multiply %a0, %a0 : tensor<{text}xf32>\n"
        value = "%sq"
    return kernel("reduce", [f"{text}xf32"], [out], body + f"""
    %r = stablehlo.reduce({value} init: %init) applies stablehlo.{op} across dimensions = {list(dims)} : (tensor<{text}xf32>, tensor<f32>) -> tensor<{out}>
    st.yield %r : tensor<{out}>"""), [f"{text}xf32"]


def broadcast_reduction(b, s, h):
    """Sum over the rows of x * bias: the operand of the reduction is not a whole tensor."""
    x = f"tensor<{b}x{s}x{h}xf32>"
    return kernel("reduce", [x[7:-1], f"{s}xf32"], [f"{h}xf32"], f"""
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %w = stablehlo.broadcast_in_dim %a1, dims = [1] : (tensor<{s}xf32>) -> {x}
    %p = stablehlo.multiply %a0, %w : {x}
    %r = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0, 1] : ({x}, tensor<f32>) -> tensor<{h}xf32>
    st.yield %r : tensor<{h}xf32>"""), [x[7:-1], f"{s}xf32"]


REDUCTIONS = {
    "columns": lambda: reduction([100, 300], [0]),
    "columns_few": lambda: reduction([500, 3], [0]),
    "columns_of_two": lambda: reduction([4, 60, 100], [0, 1]),
    "rows": lambda: reduction([60, 100], [1], "maximum", "0xFF800000"),
    "all": lambda: reduction([60, 100], [0, 1]),
    "all_large": lambda: reduction([333, 1000], [0, 1], square=True),
    "middle": lambda: reduction([5, 60, 70], [1], "minimum", "0x7F800000"),
    "outer_and_inner": lambda: reduction([6, 50, 70], [0, 2]),
    "init": lambda: reduction([6, 50], [0], init="2.5"),
    "vector": lambda: reduction([50], [0]),
    "broadcast": lambda: broadcast_reduction(4, 30, 50),
}


# ---- reductions split over blocks ---------------------------------------------------------------

def long_reduction(text, inputs, results, body):
    """A reduction over elementwise ops of the arguments, long enough to be split over blocks."""
    return kernel("reduce", inputs, results, body.replace("X", f"tensor<{text}")), inputs


def column_means(b, s, h):
    """Two sums of columns, one of them in 16 bits, with ops before, a vector along either side, and ops after."""
    return long_reduction(f"{b}x{s}x{h}x", [f"{b}x{s}x{h}xbf16", f"{s}xf32", f"{h}xf32"], [f"{h}xf32", f"{h}xbf16"], f"""
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %small = stablehlo.constant dense<0.0> : tensor<bf16>
    %n = stablehlo.constant dense<{b * s}.0> : tensor<{h}xf32>
    %x = stablehlo.convert %a0 : (Xbf16>) -> Xf32>
    %w = stablehlo.broadcast_in_dim %a1, dims = [1] : (tensor<{s}xf32>) -> Xf32>
    %v = stablehlo.broadcast_in_dim %a2, dims = [2] : (tensor<{h}xf32>) -> Xf32>
    %d = stablehlo.subtract %x, %v : Xf32>
    %p = stablehlo.multiply %d, %w : Xf32>
    %r = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0, 1] : (Xf32>, tensor<f32>) -> tensor<{h}xf32>
    %q = stablehlo.reduce(%a0 init: %small) applies stablehlo.add across dimensions = [0, 1] : (Xbf16>, tensor<bf16>) -> tensor<{h}xbf16>
    %m = stablehlo.divide %r, %n : tensor<{h}xf32>
    %o = stablehlo.add %m, %a2 : tensor<{h}xf32>
    st.yield %o, %q : tensor<{h}xf32>, tensor<{h}xbf16>""")


def numbered(rows, cols, element, op, init):
    """A reduction of numbers computed from their positions."""
    return long_reduction(f"{rows}x{cols}x", [f"{rows}x{cols}x{element}", f"1x{cols}x{element}"], [element], f"""
    %init = stablehlo.constant dense<{init}> : tensor<{element}>
    %i = stablehlo.iota dim = 0 : X{element}>
    %j = stablehlo.iota dim = 1 : X{element}>
    %w = stablehlo.broadcast_in_dim %a1, dims = [0, 1] : (tensor<1x{cols}x{element}>) -> X{element}>
    %a = stablehlo.multiply %i, %w : X{element}>
    %b = stablehlo.subtract %a, %j : X{element}>
    %c = stablehlo.add %b, %a0 : X{element}>
    %r = stablehlo.reduce(%c init: %init) applies stablehlo.{op} across dimensions = [0, 1] : (X{element}>, tensor<{element}>) -> tensor<{element}>
    st.yield %r : tensor<{element}>""")


def deviation(rows):
    """A sum that depends on another sum, with no tensor of all rows as a result."""
    return long_reduction(f"{rows}x", [f"{rows}xf32"], ["f32"], f"""
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %n = stablehlo.constant dense<{rows}.0> : tensor<f32>
    %s = stablehlo.reduce(%a0 init: %zero) applies stablehlo.add across dimensions = [0] : (Xf32>, tensor<f32>) -> tensor<f32>
    %m = stablehlo.divide %s, %n : tensor<f32>
    %w = stablehlo.broadcast_in_dim %m, dims = [] : (tensor<f32>) -> Xf32>
    %d = stablehlo.subtract %a0, %w : Xf32>
    %e = stablehlo.multiply %d, %d : Xf32>
    %v = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (Xf32>, tensor<f32>) -> tensor<f32>
    st.yield %v : tensor<f32>""")


PARTS = {
    "columns": lambda: column_means(6, 500, 40),
    "rows": lambda: reduction([3, 60000], [1], "maximum", "0xFF800000"),
    "middle": lambda: reduction([2, 4000, 9], [1]),
    "numbers": lambda: numbered(331, 700, "i32", "add", 7),
    "places": lambda: numbered(250, 700, "f32", "maximum", "0xFF800000"),
    "bits": lambda: numbered(90, 900, "ui32", "xor", 5),
    "product": lambda: numbered(90, 900, "i32", "multiply", 3),
    "twice": lambda: deviation(100000),
}


# ---- products -----------------------------------------------------------------------------------

def product(lhs, rhs, contract, batch=([], []), epilogue=False):
    l, r = "x".join(map(str, lhs)), "x".join(map(str, rhs))
    free = lambda shape, c, b: [s for i, s in enumerate(shape) if i not in c and i not in b]
    shape = [lhs[i] for i in batch[0]] + free(lhs, contract[0], batch[0]) + free(rhs, contract[1], batch[1])
    out = "x".join([*map(str, shape), "f32"])
    batching = f"batching_dims = {batch[0]} x {batch[1]}, " if batch[0] else ""
    dot = (f"    %p = stablehlo.dot_general %a0, %a1, {batching}contracting_dims = {contract[0]} x {contract[1]}"
           f" : (tensor<{l}xf32>, tensor<{r}xf32>) -> tensor<{out}>\n")
    inputs = [f"{l}xf32", f"{r}xf32"]
    if not epilogue:
        return kernel("matmul", inputs, [out], dot + f"    st.yield %p : tensor<{out}>"), inputs
    bias = f"{shape[-1]}xf32"
    inputs += [bias, out]
    return kernel("matmul", inputs, [out], dot + f"""
    %b = stablehlo.broadcast_in_dim %a2, dims = [{len(shape) - 1}] : (tensor<{bias}>) -> tensor<{out}>
    %s = stablehlo.add %p, %b : tensor<{out}>
    %t = stablehlo.tanh %s : tensor<{out}>
    %o = stablehlo.add %t, %a3 : tensor<{out}>
    st.yield %o : tensor<{out}>"""), inputs


def gelu(rows, depth, columns, element="f32"):
    """GELU of one product with a bias: its input in the type of the operands, and its result in f32."""
    x, w, y, out = f"{rows}x{depth}x{element}", f"{depth}x{columns}x{element}", f"{rows}x{columns}x{element}", f"{rows}x{columns}xf32"
    inputs, ops = [x, w, f"{columns}x{element}"], []
    for name, value in (("half", 0.5), ("one", 1.0), ("root", 0.70710678)):
        full(name, value, f"{rows}x{columns}", ops)
    return kernel("matmul", inputs, [y, out], "\n".join(ops) + f"""
    %p = stablehlo.dot_general %a0, %a1, contracting_dims = [1] x [0] : (tensor<{x}>, tensor<{w}>) -> tensor<{y}>
    %b = stablehlo.broadcast_in_dim %a2, dims = [1] : (tensor<{columns}x{element}>) -> tensor<{y}>
    %v = stablehlo.add %p, %b : tensor<{y}>
    %vf = stablehlo.convert %v : (tensor<{y}>) -> tensor<{out}>
    %u = stablehlo.multiply %vf, %root : tensor<{out}>
    %e = chlo.erf %u : tensor<{out}> -> tensor<{out}>
    %e1 = stablehlo.add %e, %one : tensor<{out}>
    %h = stablehlo.multiply %vf, %half : tensor<{out}>
    %g = stablehlo.multiply %h, %e1 : tensor<{out}>
    st.yield %v, %g : tensor<{y}>, tensor<{out}>"""), inputs, {i: (-2, 3) for i in range(3)}


def gelu_gradient(rows, depth, columns):
    """The gradient of a product times a derivative of GELU's input; the product itself is also a result."""
    x, w, out, ops = f"{rows}x{depth}xf32", f"{depth}x{columns}xf32", f"{rows}x{columns}xf32", []
    for name, value in (("half", 0.5), ("one", 1.0), ("root", 0.70710678), ("minus", -0.5), ("scale", 0.39894228)):
        full(name, value, f"{rows}x{columns}", ops)
    inputs = [x, w, out]
    return kernel("matmul", inputs, [out, out], "\n".join(ops) + f"""
    %p = stablehlo.dot_general %a0, %a1, contracting_dims = [1] x [0] : (tensor<{x}>, tensor<{w}>) -> tensor<{out}>
    %u = stablehlo.multiply %a2, %root : tensor<{out}>
    %e = chlo.erf %u : tensor<{out}> -> tensor<{out}>
    %e1 = stablehlo.add %e, %one : tensor<{out}>
    %h = stablehlo.multiply %e1, %half : tensor<{out}>
    %v2 = stablehlo.multiply %a2, %a2 : tensor<{out}>
    %m = stablehlo.multiply %v2, %minus : tensor<{out}>
    %x = stablehlo.exponential %m : tensor<{out}>
    %s = stablehlo.multiply %x, %scale : tensor<{out}>
    %t = stablehlo.multiply %a2, %s : tensor<{out}>
    %d = stablehlo.add %h, %t : tensor<{out}>
    %o = stablehlo.multiply %p, %d : tensor<{out}>
    st.yield %o, %p : tensor<{out}>, tensor<{out}>"""), inputs


def shared(rows, depth, columns, count, contract=([1], [0]), element="f32"):
    """Products of one left operand; every other one adds a separate tensor, the others add a vector, and the last adds
    neither."""
    x, w = (f"{a}x{b}x{element}" for a, b in ((rows, depth) if contract[0] == [1] else (depth, rows), (depth, columns)))
    out = f"{rows}x{columns}x{element}"
    inputs, ops, results = [x] + [w] * count, [], []
    for i in range(count):
        ops.append(f"    %p{i} = stablehlo.dot_general %a0, %a{i + 1}, contracting_dims = {contract[0]} x {contract[1]}"
                   f" : (tensor<{x}>, tensor<{w}>) -> tensor<{out}>")
        if i == count - 1:
            results.append(f"%p{i}")
            continue
        other = f"%a{len(inputs)}"
        inputs.append(out if i % 2 else f"{columns}x{element}")
        if i % 2 == 0:
            ops.append(f"    %b{i} = stablehlo.broadcast_in_dim {other}, dims = [1] : (tensor<{inputs[-1]}>) -> tensor<{out}>")
            other = f"%b{i}"
        ops.append(f"    %s{i} = stablehlo.add %p{i}, {other} : tensor<{out}>")
        results.append(f"%s{i}")
    ops.append(f"    st.yield {', '.join(results)} : {', '.join([f'tensor<{out}>'] * count)}")
    return kernel("matmul", inputs, [out] * count, "\n".join(ops)), inputs


def gated(rows, depth, columns):
    """The output of a gated MLP: one product times the SiLU of another one, and the input of the SiLU."""
    x, w, out = f"{rows}x{depth}xf32", f"{depth}x{columns}xf32", f"{rows}x{columns}xf32"
    inputs = [x, w, w]
    dot = lambda i: (f"    %p{i} = stablehlo.dot_general %a0, %a{i}, contracting_dims = [1] x [0]"
                     f" : (tensor<{x}>, tensor<{w}>) -> tensor<{out}>")
    return kernel("matmul", inputs, [out, out], f"""{dot(1)}
    %l = stablehlo.logistic %p1 : tensor<{out}>
    %g = stablehlo.multiply %p1, %l : tensor<{out}>
{dot(2)}
    %y = stablehlo.multiply %g, %p2 : tensor<{out}>
    st.yield %p1, %y : tensor<{out}>, tensor<{out}>"""), inputs


PRODUCTS = {
    "plain": lambda: product([64, 96], [96, 80], ([1], [0])),
    "ragged": lambda: product([37, 53], [53, 29], ([1], [0])),
    "large": lambda: product([384, 1024], [1024, 128], ([1], [0])),
    "wide": lambda: product([128, 300], [300, 1100], ([1], [0])),
    "transposed": lambda: product([96, 64], [80, 96], ([0], [1])),
    "epilogue": lambda: product([4, 50, 96], [96, 200], ([2], [0]), epilogue=True),
    "gelu": lambda: gelu(384, 200, 512),
    "gelu_ragged": lambda: gelu(37, 53, 29),
    "gelu_bf16": lambda: gelu(90, 64, 200, element="bf16"),
    "gelu_gradient": lambda: gelu_gradient(100, 300, 300),
    "one_element": lambda: gelu(1, 70, 1),
    "one_element_bf16": lambda: gelu(1, 70, 1, element="bf16"),
    "shared_one_element": lambda: shared(1, 70, 1, 3),
    "shared_small": lambda: shared(20, 30, 17, 2),
    "shared_large": lambda: shared(192, 1024, 128, 3),
    "shared_by_gradients": lambda: shared(500, 192, 128, 3, ([0], [0])),
    "shared_by_four": lambda: shared(37, 53, 129, 4),
    "shared_bf16": lambda: shared(192, 200, 128, 3, element="bf16"),
    "gated": lambda: gated(100, 300, 200),
    "scores": lambda: product([2, 60, 3, 16], [2, 60, 3, 16], ([3], [3]), ([0, 2], [0, 2])),
    "context": lambda: product([2, 3, 60, 60], [2, 60, 3, 16], ([3], [1]), ([0, 1], [0, 2])),
    "weight_gradient": lambda: product([2, 60, 48], [2, 60, 80], ([0, 1], [0, 1])),
    "two_depths": lambda: product([20, 8, 6], [6, 20, 30], ([0, 2], [1, 0])),
    "outer_product": lambda: product([40], [50], ([], [])),
    "vector": lambda: product([40, 64], [64], ([1], [0])),
    "dot": lambda: product([64], [64], ([0], [0])),
    "narrow": lambda: product([384, 1024], [1024, 2], ([1], [0])),
    "shallow": lambda: product([384, 2], [2, 1024], ([1], [0])),
}


# ---- data movement ------------------------------------------------------------------------------

def movement(inputs, result, op):
    return kernel("copy", inputs, [result], f"    %r = {op}\n    st.yield %r : tensor<{result}>"), inputs


MOVEMENTS = {
    "transpose": lambda: movement(["20x30x40xf32"], "40x20x30xf32",
                                  "stablehlo.transpose %a0, dims = [2, 0, 1] : (tensor<20x30x40xf32>) -> tensor<40x20x30xf32>"),
    "slice": lambda: movement(["20x30xf32"], "10x10xf32",
                              "stablehlo.slice %a0 [0:20:2, 5:25:2] : (tensor<20x30xf32>) -> tensor<10x10xf32>"),
    "concatenate": lambda: movement(["20x30xf32", "20x50xf32", "20x7xf32"], "20x87xf32",
                                    "stablehlo.concatenate %a0, %a1, %a2, dim = 1 : (tensor<20x30xf32>, tensor<20x50xf32>, tensor<20x7xf32>) -> tensor<20x87xf32>"),
    "broadcast": lambda: movement(["30x20xf32"], "20x5x30xf32",
                                  "stablehlo.broadcast_in_dim %a0, dims = [2, 0] : (tensor<30x20xf32>) -> tensor<20x5x30xf32>"),
    "reverse": lambda: movement(["20x30xf32"], "20x30xf32", "stablehlo.reverse %a0, dims = [0, 1] : tensor<20x30xf32>"),
    "pad": lambda: (kernel("copy", ["200x30xf32"], ["203x61xf32"], """
    %v = stablehlo.constant dense<-1.0> : tensor<f32>
    %r = stablehlo.pad %a0, %v, low = [2, 0], high = [1, 2], interior = [0, 1] : (tensor<200x30xf32>, tensor<f32>) -> tensor<203x61xf32>
    st.yield %r : tensor<203x61xf32>"""), ["200x30xf32"]),
    "crop": lambda: (kernel("copy", ["20x30xf32"], ["15x33xf32"], """
    %v = stablehlo.constant dense<-1.0> : tensor<f32>
    %r = stablehlo.pad %a0, %v, low = [-3, 5], high = [-2, -2], interior = [0, 0] : (tensor<20x30xf32>, tensor<f32>) -> tensor<15x33xf32>
    st.yield %r : tensor<15x33xf32>"""), ["20x30xf32"]),
    "transpose_large": lambda: movement(["300x500xf32"], "500x300xf32",
                                        "stablehlo.transpose %a0, dims = [1, 0] : (tensor<300x500xf32>) -> tensor<500x300xf32>"),
}


# ---- gather and scatter -------------------------------------------------------------------------

def gather(table, indices, result, numbers, sizes):
    return kernel("gather", [f"{table}xf32", f"{indices}xi32"], [f"{result}xf32"], f"""
    %r = "stablehlo.gather"(%a0, %a1) <{{dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = array<i64: {sizes}>}}> : (tensor<{table}xf32>, tensor<{indices}xi32>) -> tensor<{result}xf32>
    st.yield %r : tensor<{result}xf32>"""), [f"{table}xf32", f"{indices}xi32"]


def scatter(table, indices, updates, numbers, operand):
    types = ([f"{table}xf32"] if operand else []) + [f"{indices}xi32", f"{updates}xf32"]
    first = 1 if operand else 0
    start = "%a0" if operand else "%zero"
    return kernel("scatter", types, [f"{table}xf32"], f"""
    %zero = stablehlo.constant dense<0.0> : tensor<{table}xf32>
    %r = "stablehlo.scatter"({start}, %a{first}, %a{first + 1}) <{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}}> ({{
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }}) : (tensor<{table}xf32>, tensor<{indices}xi32>, tensor<{updates}xf32>) -> tensor<{table}xf32>
    st.yield %r : tensor<{table}xf32>"""), types


INDEXED = {
    "embedding": lambda: (*gather("50x40", "3x20x1", "3x20x40", "offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2", "1, 40"), {1: (-3, 53)}),
    "take_along": lambda: (*gather("60x40", "60x2", "60", "collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1", "1, 1"), {1: (0, 40)}),
    "batched": lambda: (*gather("60x40", "60x1", "60", "collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1", "1, 1"), {1: (-2, 42)}),
    "offset_first": lambda: (*gather("50x40", "20x1", "40x20", "offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "1, 40"), {1: (0, 50)}),
    "window": lambda: (*gather("50x6x40", "20x1", "20x3x40", "offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "1, 3, 40"), {1: (0, 50)}),
    "embedding_gradient": lambda: (*scatter("50x400", "3x20x1", "3x20x400", "update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2", False), {0: (-3, 53)}),
    "large_embedding_gradient": lambda: (*scatter("3000x40", "3x20x1", "3x20x40", "update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2", True), {1: (1, 9)}),
    "add_to_operand": lambda: (*scatter("50x8", "20x1", "20x8", "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1", True), {1: (0, 50)}),
    "points": lambda: (*scatter("60x40", "700x2", "700", "inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1", False), {0: (-1, 42)}),
    "batched_points": lambda: (*scatter("60x40", "60x1", "60", "inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1", False), {0: (-1, 42)}),
}


# ---- sequences ----------------------------------------------------------------------------------

def products_then_copy():
    """Two products that share panels in L2, and a reader of the second. The queues meet before the second product
    because of its claim of L2, so the reader needs another meeting."""
    m, k = "384x512xf32", "512x512xf32"
    products = "".join(f"""
  %p{i} = st.kernel "matmul" (%a0 = %0 : tensor<{m}>, %a1 = %{i + 1} : tensor<{k}>) -> tensor<{m}> {{
    %p = stablehlo.dot_general %a0, %a1, contracting_dims = [1] x [0] : (tensor<{m}>, tensor<{k}>) -> tensor<{m}>
    st.yield %p : tensor<{m}>
  }}""" for i in range(2))
    return f"""func.func @main(%0: tensor<{m}>, %1: tensor<{k}>, %2: tensor<{k}>) -> (tensor<{m}>, tensor<512x384xf32>) {{
{products}
  %t = st.kernel "copy" (%a0 = %p1 : tensor<{m}>) -> tensor<512x384xf32> {{
    %r = stablehlo.transpose %a0, dims = [1, 0] : (tensor<{m}>) -> tensor<512x384xf32>
    st.yield %r : tensor<512x384xf32>
  }}
  return %p0, %t : tensor<{m}>, tensor<512x384xf32>
}}
""", [m, k, k]


# ---- fused attention ------------------------------------------------------------------------------

def attention(batch, heads, rows, columns, width, kept=False, turned=False, row_reductions=True):
    """Scores with a mask, their softmax or maximum with zero, and the product of that with the values. `kept`: the
    probabilities and the rows' sums are results too. `turned`: keys and values have their rows innermost."""
    b, h, r, c, w = batch, heads, rows, columns, width
    query, matrix = f"{b}x{r}x{h}x{w}xf32", f"{b}x{h}x{w}x{c}xf32" if turned else f"{b}x{c}x{h}x{w}xf32"
    space, row, out = f"{b}x{h}x{r}x{c}xf32", f"{b}x{h}x{r}xf32", f"{b}x{h}x{r}x{w}xf32"
    outer = "[0, 1]" if turned else "[0, 2]"
    softmax = f"""
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %m = stablehlo.reduce(%t init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<{space}>, tensor<f32>) -> tensor<{row}>
    %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1, 2] : (tensor<{row}>) -> tensor<{space}>
    %d = stablehlo.subtract %t, %mb : tensor<{space}>
    %e = stablehlo.exponential %d : tensor<{space}>
    %z = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<{space}>, tensor<f32>) -> tensor<{row}>
    %zb = stablehlo.broadcast_in_dim %z, dims = [0, 1, 2] : (tensor<{row}>) -> tensor<{space}>
    %p = stablehlo.divide %e, %zb : tensor<{space}>"""
    maximum = f"""
    %zb = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<{space}>
    %p = stablehlo.maximum %t, %zb : tensor<{space}>"""
    inputs, results = [query, matrix, matrix, f"{b}x{c}xf32"], [out] + ([space, row] if kept else [])
    return kernel("attention", inputs, results, f"""
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.dot_general %a0, %a1, batching_dims = [0, 2] x {outer}, contracting_dims = [3] x [{2 if turned else 3}] : (tensor<{query}>, tensor<{matrix}>) -> tensor<{space}>
    %k = stablehlo.broadcast_in_dim %a3, dims = [0, 3] : (tensor<{b}x{c}xf32>) -> tensor<{space}>
    %t = stablehlo.add %s, %k : tensor<{space}>{softmax if row_reductions else maximum}
    %o = stablehlo.dot_general %p, %a2, batching_dims = [0, 1] x {outer}, contracting_dims = [3] x [{3 if turned else 1}] : (tensor<{space}>, tensor<{matrix}>) -> tensor<{out}>
    st.yield %o{", %p, %z" if kept else ""} : {", ".join(f"tensor<{t}>" for t in results)}"""), inputs


def attention_dropout(batch, heads, rows, columns, width, element="f32", low="0xFF800000", squared=False):
    """Attention as in models: scores are rounded to their type, the softmax is in f32, dropout drops some probabilities
    and scales the others, and maxima and sums of rows are results. `low`: the initial value of the maxima. `squared`:
    products read values that a later maximum does not scale."""
    b, h, r, c, w, t = batch, heads, rows, columns, width, element
    query, matrix, space = f"{b}x{r}x{h}x{w}x{t}", f"{b}x{c}x{h}x{w}x{t}", f"{b}x{h}x{r}x{c}"
    row, out = f"{b}x{h}x{r}xf32", f"{b}x{h}x{r}x{w}x{t}"
    inputs = [query, matrix, matrix, f"{space}xi1", f"{b}x{c}xf32"]
    probabilities = f"%p = stablehlo.multiply %e, %e : tensor<{space}xf32>" if squared else f"""
    %one = stablehlo.constant dense<1.0> : tensor<{row}>
    %i = stablehlo.divide %one, %z : tensor<{row}>
    %ib = stablehlo.broadcast_in_dim %i, dims = [0, 1, 2] : (tensor<{row}>) -> tensor<{space}xf32>
    %p = stablehlo.multiply %e, %ib : tensor<{space}xf32>"""
    return kernel("attention", inputs, [out, row, row], f"""
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<{low}> : tensor<f32>
    %s = stablehlo.dot_general %a0, %a1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<{query}>, tensor<{matrix}>) -> tensor<{space}x{t}>
    %sf = stablehlo.convert %s : (tensor<{space}x{t}>) -> tensor<{space}xf32>
    %k = stablehlo.broadcast_in_dim %a4, dims = [0, 3] : (tensor<{b}x{c}xf32>) -> tensor<{space}xf32>
    %x = stablehlo.add %sf, %k : tensor<{space}xf32>
    %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<{space}xf32>, tensor<f32>) -> tensor<{row}>
    %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1, 2] : (tensor<{row}>) -> tensor<{space}xf32>
    %d = stablehlo.subtract %x, %mb : tensor<{space}xf32>
    %e = stablehlo.exponential %d : tensor<{space}xf32>
    %z = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<{space}xf32>, tensor<f32>) -> tensor<{row}>
    {probabilities}
    %g = stablehlo.constant dense<1.25> : tensor<{space}xf32>
    %zb = stablehlo.constant dense<0.0> : tensor<{space}xf32>
    %grown = stablehlo.multiply %p, %g : tensor<{space}xf32>
    %kept = stablehlo.select %a3, %grown, %zb : tensor<{space}xi1>, tensor<{space}xf32>
    %pt = stablehlo.convert %kept : (tensor<{space}xf32>) -> tensor<{space}x{t}>
    %o = stablehlo.dot_general %pt, %a2, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<{space}x{t}>, tensor<{matrix}>) -> tensor<{out}>
    st.yield %o, %m, %z : tensor<{out}>, tensor<{row}>, tensor<{row}>"""), inputs, {i: (-1, 2) for i in range(3)}


def attention_gradient(batch, rows, columns, width):
    """Two products make rows, two products read them, and one result has one value per row."""
    b, r, c, w = batch, rows, columns, width
    query, matrix, space, row = f"{b}x{r}x{w}xf32", f"{b}x{c}x{w}xf32", f"{b}x{r}x{c}xf32", f"{b}x{r}xf32"
    dot = f"batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<{query}>, tensor<{matrix}>) -> tensor<{space}>"
    back = f"batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<{space}>, tensor<{matrix}>) -> tensor<{query}>"
    inputs = [query, query, matrix, matrix, row]
    return kernel("attention", inputs, [query, space, query], f"""
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.dot_general %a0, %a2, {dot}
    %g = stablehlo.dot_general %a1, %a3, {dot}
    %n = stablehlo.tanh %s : tensor<{space}>
    %m = stablehlo.multiply %n, %g : tensor<{space}>
    %z = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<{space}>, tensor<f32>) -> tensor<{row}>
    %y = stablehlo.add %z, %a4 : tensor<{row}>
    %yb = stablehlo.broadcast_in_dim %y, dims = [0, 1] : (tensor<{row}>) -> tensor<{space}>
    %d = stablehlo.subtract %m, %yb : tensor<{space}>
    %q = stablehlo.dot_general %d, %a2, {back}
    %o = stablehlo.dot_general %n, %a3, {back}
    st.yield %q, %d, %o : tensor<{query}>, tensor<{space}>, tensor<{query}>"""), inputs


def whole_gradient(batch, heads, rows, columns, width, element="f32", turned=False, kept=False):
    """The gradients of attention without a softmax: of the queries, and of keys and values, whose products contract the rows.
    `turned`: queries and the incoming gradient have their rows innermost. `kept`: the rows that the products read are a result
    too. Values of types other than f32 are integers, so the order of additions does not matter."""
    b, h, r, c, w, t = batch, heads, rows, columns, width, element
    query = f"{b}x{h}x{w}x{r}x{t}" if turned else f"{b}x{r}x{h}x{w}x{t}"
    matrix, space, wide = f"{b}x{c}x{h}x{w}x{t}", f"{b}x{h}x{r}x{c}x{t}", f"{b}x{h}x{r}x{c}xf32"
    outer, depth, along = ("[0, 1]", 2, 3) if turned else ("[0, 2]", 3, 1)
    make = f"batching_dims = {outer} x [0, 2], contracting_dims = [{depth}] x [3] : (tensor<{query}>, tensor<{matrix}>) -> tensor<{space}>"
    back = f"batching_dims = [0, 1] x {outer}, contracting_dims = [2] x [{along}] : (tensor<{space}>, tensor<{query}>) -> tensor<{b}x{h}x{c}x{w}x{t}>"
    results = [f"{b}x{h}x{r}x{w}x{t}", f"{b}x{h}x{c}x{w}x{t}", f"{b}x{h}x{c}x{w}x{t}"] + ([space] if kept else [])
    inputs = [query, query, matrix, matrix, f"{b}x{h}x{r}x{c}xi1"]
    return kernel("attention", inputs, results, f"""
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.dot_general %a0, %a2, {make}
    %g = stablehlo.dot_general %a1, %a3, {make}
    %zb = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<{wide}>
    %sf = stablehlo.convert %s : (tensor<{space}>) -> tensor<{wide}>
    %gf = stablehlo.convert %g : (tensor<{space}>) -> tensor<{wide}>
    %n = stablehlo.{"tanh" if t == "f32" else "negate"} %sf : tensor<{wide}>
    %p = stablehlo.select %a4, %n, %zb : tensor<{b}x{h}x{r}x{c}xi1>, tensor<{wide}>
    %m = stablehlo.multiply %p, %gf : tensor<{wide}>
    %z = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<{wide}>, tensor<f32>) -> tensor<{b}x{h}x{r}xf32>
    %y = stablehlo.broadcast_in_dim %z, dims = [0, 1, 2] : (tensor<{b}x{h}x{r}xf32>) -> tensor<{wide}>
    %d = stablehlo.subtract %m, %y : tensor<{wide}>
    %pt = stablehlo.convert %p : (tensor<{wide}>) -> tensor<{space}>
    %dt = stablehlo.convert %d : (tensor<{wide}>) -> tensor<{space}>
    %q = stablehlo.dot_general %dt, %a2, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<{space}>, tensor<{matrix}>) -> tensor<{results[0]}>
    %v = stablehlo.dot_general %pt, %a1, {back}
    %k = stablehlo.dot_general %dt, %a0, {back}
    st.yield %q, %v, %k{", %dt" if kept else ""} : {", ".join(f"tensor<{x}>" for x in results)}"""), inputs, {i: (-1, 2) for i in range(4)}


def masked(space, direction="GE", window=None):
    """%seen: the elements that a mask shows, by their rows and columns."""
    words, bits = f"tensor<{space}xi32>", f"tensor<{space}xi1>"
    text = f"""    %row = stablehlo.iota dim = 2 : {words}
    %column = stablehlo.iota dim = 3 : {words}
    %{"order" if window else "seen"} = stablehlo.compare {direction}, %row, %column : ({words}, {words}) -> {bits}"""
    return text if not window else text + f"""
    %distance = stablehlo.subtract %row, %column : {words}
    %window = stablehlo.constant dense<{window}> : {words}
    %near = stablehlo.compare LT, %distance, %window : ({words}, {words}) -> {bits}
    %seen = stablehlo.and %order, %near : {bits}"""


def masked_attention(batch, heads, rows, width, window=None, cap=None, slopes=False, gradient=False, element="f32"):
    """Attention under a causal mask or a window. `cap`: scores are capped softly. `slopes`: each head subtracts a multiple
    of the distance (ALiBi). `gradient`: the gradients of queries, keys and values for given numbers of rows."""
    b, h, r, w, t = batch, heads, rows, width, element
    query, space, row, out = f"{b}x{r}x{h}x{w}x{t}", f"{b}x{h}x{r}x{r}", f"{b}x{h}x{r}xf32", f"{b}x{h}x{r}x{w}x{t}"
    inputs, wide, narrow = [query, query, query, f"{h}xf32"], f"tensor<{space}xf32>", f"tensor<{space}x{t}>"
    product = f"batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<{query}>, tensor<{query}>) -> {narrow}"

    def consume(contracted, name, values):
        return f"stablehlo.dot_general %{name}, %{values}, batching_dims = [0, 1] x [0, 2], contracting_dims = [{contracted}] x [1] : ({narrow}, tensor<{query}>) -> tensor<{out}>"
    text = f"""
    %s = stablehlo.dot_general %a0, %a1, {product}
    %s0 = stablehlo.convert %s : ({narrow}) -> {wide}
{masked(space, window=window)}
    %low = stablehlo.constant dense<-1.0e+30> : {wide}"""
    scores = "%s0"
    if cap:
        text += f"""
    %cap = stablehlo.constant dense<{cap:e}> : {wide}
    %small = stablehlo.divide {scores}, %cap : {wide}
    %bent = stablehlo.tanh %small : {wide}
    %capped = stablehlo.multiply %bent, %cap : {wide}"""
        scores = "%capped"
    if slopes:
        far = "%distance" if window else "%apart"
        text += ("" if window else f"\n    %apart = stablehlo.subtract %row, %column : tensor<{space}xi32>") + f"""
    %far = stablehlo.convert {far} : (tensor<{space}xi32>) -> {wide}
    %slopes = stablehlo.broadcast_in_dim %a3, dims = [1] : (tensor<{h}xf32>) -> {wide}
    %slope = stablehlo.multiply %slopes, %far : {wide}
    %biased = stablehlo.subtract {scores}, %slope : {wide}"""
        scores = "%biased"
    text += f"""
    %x = stablehlo.select %seen, {scores}, %low : tensor<{space}xi1>, {wide}"""
    if gradient:
        inputs += [query, row]
        return kernel("attention", inputs, [out] * 3, text + f"""
    %g = stablehlo.dot_general %a4, %a2, {product}
    %gf = stablehlo.convert %g : ({narrow}) -> {wide}
    %l = stablehlo.broadcast_in_dim %a5, dims = [0, 1, 2] : (tensor<{row}>) -> {wide}
    %d = stablehlo.subtract %x, %l : {wide}
    %p = stablehlo.exponential %d : {wide}
    %f = stablehlo.subtract %gf, %l : {wide}
    %y = stablehlo.multiply %p, %f : {wide}
    %pt = stablehlo.convert %p : ({wide}) -> {narrow}
    %yt = stablehlo.convert %y : ({wide}) -> {narrow}
    %dq = {consume(3, "yt", "a1")}
    %dk = {consume(2, "yt", "a0")}
    %dv = {consume(2, "pt", "a4")}
    st.yield %dq, %dk, %dv : {", ".join([f"tensor<{out}>"] * 3)}"""), inputs
    return kernel("attention", inputs, [out, row], text + f"""
    %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %m = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [3] : ({wide}, tensor<f32>) -> tensor<{row}>
    %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1, 2] : (tensor<{row}>) -> {wide}
    %d = stablehlo.subtract %x, %mb : {wide}
    %e = stablehlo.exponential %d : {wide}
    %z = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : ({wide}, tensor<f32>) -> tensor<{row}>
    %zb = stablehlo.broadcast_in_dim %z, dims = [0, 1, 2] : (tensor<{row}>) -> {wide}
    %p = stablehlo.divide %e, %zb : {wide}
    %pt = stablehlo.convert %p : ({wide}) -> {narrow}
    %o = {consume(3, "pt", "a2")}
    st.yield %o, %z : tensor<{out}>, tensor<{row}>"""), inputs


def joined_gradient(batch, heads, rows, columns, width, element="bf16", causal=False, window=None, turned=False):
    """A gradient with given sums of rows: one kernel, whose blocks add to the first result in turn. Values are integers,
    so the order of additions does not matter."""
    b, h, r, c, w, t = batch, heads, rows, columns, width, element
    query = f"{b}x{h}x{w}x{r}x{t}" if turned else f"{b}x{r}x{h}x{w}x{t}"
    matrix, space, wide, row = f"{b}x{c}x{h}x{w}x{t}", f"{b}x{h}x{r}x{c}x{t}", f"{b}x{h}x{r}x{c}xf32", f"{b}x{h}x{r}"
    outer, depth, along = ("[0, 1]", 2, 3) if turned else ("[0, 2]", 3, 1)
    make = f"batching_dims = {outer} x [0, 2], contracting_dims = [{depth}] x [3] : (tensor<{query}>, tensor<{matrix}>) -> tensor<{space}>"
    back = f"batching_dims = [0, 1] x {outer}, contracting_dims = [2] x [{along}] : (tensor<{space}>, tensor<{query}>) -> tensor<{b}x{h}x{c}x{w}x{t}>"
    results = [f"{b}x{h}x{r}x{w}x{t}", f"{b}x{h}x{c}x{w}x{t}", f"{b}x{h}x{c}x{w}x{t}"]
    seen = masked(f"{b}x{h}x{r}x{c}", "NE" if not causal and not window else "GE", window)
    return kernel("attention", [query, query, matrix, matrix, f"{row}xi32"], results, f"""
    %s = stablehlo.dot_general %a0, %a2, {make}
    %g = stablehlo.dot_general %a1, %a3, {make}
    %zero = stablehlo.constant dense<0.0> : tensor<{wide}>
{seen}
    %sf = stablehlo.convert %s : (tensor<{space}>) -> tensor<{wide}>
    %gf = stablehlo.convert %g : (tensor<{space}>) -> tensor<{wide}>
    %n = stablehlo.negate %sf : tensor<{wide}>
    %p = stablehlo.select %seen, %n, %zero : tensor<{b}x{h}x{r}x{c}xi1>, tensor<{wide}>
    %z = stablehlo.convert %a4 : (tensor<{row}xi32>) -> tensor<{row}xf32>
    %y = stablehlo.broadcast_in_dim %z, dims = [0, 1, 2] : (tensor<{row}xf32>) -> tensor<{wide}>
    %f = stablehlo.subtract %gf, %y : tensor<{wide}>
    %d = stablehlo.multiply %p, %f : tensor<{wide}>
    %pt = stablehlo.convert %p : (tensor<{wide}>) -> tensor<{space}>
    %dt = stablehlo.convert %d : (tensor<{wide}>) -> tensor<{space}>
    %q = stablehlo.dot_general %dt, %a2, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<{space}>, tensor<{matrix}>) -> tensor<{results[0]}>
    %v = stablehlo.dot_general %pt, %a1, {back}
    %k = stablehlo.dot_general %dt, %a0, {back}
    st.yield %q, %v, %k : {", ".join(f"tensor<{x}>" for x in results)}"""), [query, query, matrix, matrix, f"{row}xi32"], {
        **{i: (-1, 2) for i in range(4)}, 4: (-3, 4)}


def row_means(batch, rows, columns, width):
    """A product reads values that vary only along the rows or only along the columns, although an op broadcasts them to
    the full shape. A product that contracts the rows reads one of them too."""
    b, r, c, w = batch, rows, columns, width
    query, matrix, space, row = f"{b}x{r}x{w}xf32", f"{b}x{c}x{w}xf32", f"{b}x{r}x{c}xf32", f"{b}x{r}xf32"
    back = f"batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<{space}>, tensor<{matrix}>) -> tensor<{query}>"
    inputs, results = [query, matrix, f"{b}x{c}xf32"], [query, query, matrix]
    return kernel("attention", inputs, results, f"""
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.dot_general %a0, %a1, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<{query}>, tensor<{matrix}>) -> tensor<{space}>
    %z = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<{space}>, tensor<f32>) -> tensor<{row}>
    %zb = stablehlo.broadcast_in_dim %z, dims = [0, 1] : (tensor<{row}>) -> tensor<{space}>
    %zz = stablehlo.multiply %zb, %zb : tensor<{space}>
    %m = stablehlo.broadcast_in_dim %a2, dims = [0, 2] : (tensor<{b}x{c}xf32>) -> tensor<{space}>
    %mm = stablehlo.tanh %m : tensor<{space}>
    %q = stablehlo.dot_general %zz, %a1, {back}
    %o = stablehlo.dot_general %mm, %a1, {back}
    %k = stablehlo.dot_general %zz, %a0, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<{space}>, tensor<{query}>) -> tensor<{matrix}>
    st.yield %q, %o, %k : {", ".join(f"tensor<{t}>" for t in results)}"""), inputs


ATTENTION = {
    "heads": lambda: attention(2, 3, 60, 60, 16),
    "ragged": lambda: attention(2, 3, 37, 53, 5),
    "one_head": lambda: attention(2, 1, 40, 24, 8),
    "few_rows": lambda: attention(3, 2, 3, 7, 4),
    "long": lambda: attention(1, 2, 150, 700, 64),
    "kept": lambda: attention(2, 2, 50, 40, 16, kept=True),
    "turned": lambda: attention(2, 2, 50, 45, 16, turned=True),
    "dropout": lambda: attention_dropout(2, 2, 50, 150, 16),
    "dropout_low": lambda: attention_dropout(2, 1, 70, 130, 12, low="4.0"),
    "dropout_squared": lambda: attention_dropout(1, 2, 40, 130, 16, squared=True),
    "dropout_bf16": lambda: attention_dropout(2, 2, 130, 150, 64, element="bf16"),
    "dropout_f16_ragged": lambda: attention_dropout(2, 2, 37, 150, 24, element="f16"),
    "dropout_bf16_wide": lambda: attention_dropout(1, 1, 40, 90, 128, element="bf16"),
    "no_reduction": lambda: attention(2, 2, 70, 90, 12, row_reductions=False),
    "gradient": lambda: attention_gradient(3, 50, 70, 16),
    "gradient_long": lambda: attention_gradient(2, 200, 384, 64),
    "whole_gradient": lambda: whole_gradient(2, 3, 64, 48, 16),
    "whole_gradient_ragged": lambda: whole_gradient(2, 3, 37, 53, 5),
    "whole_gradient_one_head": lambda: whole_gradient(1, 1, 150, 24, 8),
    "whole_gradient_few": lambda: whole_gradient(3, 2, 3, 7, 4),
    "whole_gradient_turned": lambda: whole_gradient(2, 2, 60, 45, 16, turned=True),
    "whole_gradient_kept": lambda: whole_gradient(2, 2, 50, 40, 16, kept=True),
    "whole_gradient_f16": lambda: whole_gradient(2, 2, 37, 53, 5, element="f16"),
    "whole_gradient_bf16": lambda: whole_gradient(2, 2, 64, 48, 8, element="bf16"),
    "whole_gradient_bf16_wide": lambda: whole_gradient(1, 1, 70, 40, 128, element="bf16"),
    "joined": lambda: joined_gradient(1, 2, 100, 300, 64),
    "joined_ragged": lambda: joined_gradient(2, 2, 37, 53, 24, element="f16"),
    "joined_wide": lambda: joined_gradient(1, 1, 70, 260, 128),
    "joined_causal": lambda: joined_gradient(1, 2, 190, 190, 32, causal=True),
    "joined_window": lambda: joined_gradient(1, 2, 330, 330, 32, window=70),
    "masked": lambda: masked_attention(2, 2, 150, 16),
    "masked_window": lambda: masked_attention(1, 2, 300, 16, window=40),
    "masked_capped": lambda: masked_attention(1, 2, 300, 16, window=40, cap=2.0),
    "masked_slopes": lambda: masked_attention(1, 2, 150, 16, slopes=True),
    "masked_gradient": lambda: masked_attention(2, 2, 150, 16, gradient=True),
    "masked_gradient_window": lambda: masked_attention(1, 2, 300, 16, window=40, gradient=True, slopes=True),
    "joined_turned": lambda: joined_gradient(1, 2, 72, 140, 16, turned=True),
    "row_means": lambda: row_means(2, 50, 40, 16),
    "whole_gradient_long": lambda: whole_gradient(1, 2, 700, 384, 64),
}

def read_turned(case):
    """An attention kernel whose results of four dimensions kernels of kind copy transpose."""
    text, *rest = case
    body, names, types = re.fullmatch(r"(.*)  return (.*?) : (.*?)\n}\n", text, re.S).groups()
    names, types = names.split(", "), types.split(", ")
    before = ", ".join(types)
    for i, (name, given) in enumerate(zip(names, types)):
        if given.count("x") == 4:
            a, b, c, last = given.removeprefix("tensor<").split("x", 3)
            names[i], types[i] = f"%t{i}", f"tensor<{a}x{c}x{b}x{last}"
            body += (f'  %t{i} = st.kernel "copy" (%a = {name} : {given}) -> {types[i]} {{\n'
                     f"    %x = stablehlo.transpose %a, dims = [0, 2, 1, 3] : ({given}) -> {types[i]}\n"
                     f"    st.yield %x : {types[i]}\n  }}\n")
    body = body.replace(f"-> ({before}) {{\n", f"-> ({', '.join(types)}) {{\n", 1)
    return f"{body}  return {', '.join(names)} : {', '.join(types)}\n}}\n", *rest


TURNED = {
    "attention": lambda: read_turned(attention(2, 3, 37, 53, 5)),
    "gradients": lambda: read_turned(whole_gradient(2, 3, 37, 53, 5)),
    "gradients_bf16": lambda: read_turned(whole_gradient(2, 2, 64, 48, 8, element="bf16")),
}

SEQUENCES = {"products_then_copy": products_then_copy}

GROUPS = {"loop": LOOPS, "reduce": REDUCTIONS, "parts": PARTS, "matmul": PRODUCTS, "attention": ATTENTION, "copy": MOVEMENTS,
          "indexed": INDEXED, "sequence": SEQUENCES, "epilogue": EPILOGUES, "turned": TURNED}


def main():
    backend, cases = sys.argv[1], GROUPS[sys.argv[2]]
    chosen = sys.argv[3:] or list(cases)
    for name in chosen:
        text, inputs, *limits = cases[name]()
        run_case(backend, name, text, inputs, 2e-5, limits[0] if limits else {})


if __name__ == "__main__":
    main()
