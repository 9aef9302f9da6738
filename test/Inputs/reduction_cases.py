"""Reductions, also those that the CUDA backend splits over blocks: cases for kernel_cases.py."""

from kernel_text import kernel


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


def shares(b, g, s):
    """A bias varies along the last dimension. Sums over a few elements of the middle dimension, and the elements' shares of them."""
    x, r = f"tensor<{b}x{g}x{s}xf32>", f"tensor<{b}x{s}xf32>"
    return kernel("reduce", [f"{b}x{g}x{s}xbf16", f"{s}xf32"], [x[7:-1], r[7:-1]], f"""
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %one = stablehlo.constant dense<1.0> : {x}
    %c = stablehlo.convert %a0 : (tensor<{b}x{g}x{s}xbf16>) -> {x}
    %w = stablehlo.broadcast_in_dim %a1, dims = [2] : (tensor<{s}xf32>) -> {x}
    %e = stablehlo.exponential %w : {x}
    %p = stablehlo.add %c, %e : {x}
    %q = stablehlo.add %p, %one : {x}
    %r = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : ({x}, tensor<f32>) -> {r}
    %v = stablehlo.broadcast_in_dim %r, dims = [0, 2] : ({r}) -> {x}
    %o = stablehlo.divide %q, %v : {x}
    st.yield %o, %r : {x}, {r}"""), [f"{b}x{g}x{s}xbf16", f"{s}xf32"]


REDUCTIONS = {
    "columns": lambda: reduction([100, 300], [0]),
    "columns_few": lambda: reduction([500, 3], [0]),
    "columns_of_two": lambda: reduction([4, 60, 100], [0, 1]),
    "rows": lambda: reduction([60, 100], [1], "maximum", "0xFF800000"),
    "all": lambda: reduction([60, 100], [0, 1]),
    "all_large": lambda: reduction([333, 1000], [0, 1], square=True),
    "middle": lambda: reduction([5, 60, 70], [1], "minimum", "0x7F800000"),
    "outer_and_inner": lambda: reduction([6, 50, 70], [0, 2]),
    "few": lambda: reduction([300, 4, 64], [1]),
    "few_maxima": lambda: reduction([9, 70, 3, 20], [2], "maximum", "0xFF800000"),
    "few_of_two": lambda: reduction([7, 2, 45, 3, 33], [1, 3]),
    "init": lambda: reduction([6, 50], [0], init="2.5"),
    "vector": lambda: reduction([50], [0]),
    "broadcast": lambda: broadcast_reduction(4, 30, 50),
}


# The DTU only: a GPU's kernel has no results along leading dimensions that it reduces.
SHARES = {"few_shares": lambda: shares(130, 3, 50), "many_shares": lambda: shares(20, 90, 50)}


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
