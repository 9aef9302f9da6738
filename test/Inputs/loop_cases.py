"""Elementwise ops and reductions along rows, fused into loops: cases for kernel_cases.py."""

from kernel_text import full, kernel


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
