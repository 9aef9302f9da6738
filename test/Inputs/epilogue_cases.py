"""Kernels around products that cuBLASLt's epilogues can fuse: cases for kernel_cases.py, of backend cuda only."""

SLOPE, CUBIC = 0.7978845608, 0.044715


def constant(name, value, wide):
    return f"    %{name} = stablehlo.constant dense<{value}> : {wide}\n"


def gelu_tanh(wide):
    """%u, the tanh in GELU of %f."""
    ops = [f"%s = stablehlo.multiply %f, %f : {wide}", f"%s1 = stablehlo.multiply %s, %cubic : {wide}",
           f"%s2 = stablehlo.add %s1, %one : {wide}", f"%s3 = stablehlo.multiply %s2, %f : {wide}",
           f"%s4 = stablehlo.multiply %s3, %slope : {wide}", f"%u = stablehlo.tanh %s4 : {wide}"]
    numbers = (("cubic", CUBIC), ("one", 1.0), ("slope", SLOPE), ("half", 0.5))
    return "".join(constant(name, value, wide) for name, value in numbers) + "".join(f"    {op}\n" for op in ops)


def product(name, a, b, d, left=0, right=1, contract=(1, 0)):
    return f"""  %{name} = st.kernel "matmul" (%a0 = %{left} : tensor<{a}>, %a1 = %{right} : tensor<{b}>) -> tensor<{d}> {{
    %r = stablehlo.dot_general %a0, %a1, contracting_dims = [{contract[0]}] x [{contract[1]}] : (tensor<{a}>, tensor<{b}>) -> tensor<{d}>
    st.yield %r : tensor<{d}>
  }}
"""


def function(inputs, body, results):
    arguments = ", ".join(f"%{i}: tensor<{t}>" for i, t in enumerate(inputs))
    types = ", ".join(f"tensor<{t}>" for t in results.values())
    names = ", ".join(f"%{name}" for name in results)
    return f"func.func @main({arguments}) -> ({types}) {{\n{body}  return {names} : {types}\n}}\n"


def gelu(rows, depth, columns, element, kept, bias="f32"):
    """GELU of a product with a bias of another type; its input and its tanh are results too."""
    a, b, d, wide = f"{rows}x{depth}x{element}", f"{depth}x{columns}x{element}", f"{rows}x{columns}x{element}", f"tensor<{rows}x{columns}xf32>"
    results = {"out#0": d, "out#1": d, "out#2": f"{rows}x{columns}xf32"} if kept else {"out": d}
    types = ", ".join(f"tensor<{t}>" for t in results.values())
    yields = "%y, %x, %u" if kept else "%y"
    body = product("dot", a, b, d) + f"""  %out{":3" if kept else ""} = st.kernel "loop" (%p = %dot : tensor<{d}>, %b = %2 : tensor<{columns}x{bias}>) -> ({types}) {{
    %c0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<{columns}x{bias}>) -> tensor<{rows}x{columns}x{bias}>
    %c = stablehlo.convert %c0 : (tensor<{rows}x{columns}x{bias}>) -> tensor<{d}>
    %x = stablehlo.add %c, %p : tensor<{d}>
    %f = stablehlo.convert %x : (tensor<{d}>) -> {wide}
{gelu_tanh(wide)}    %h = stablehlo.multiply %f, %half : {wide}
    %g1 = stablehlo.add %u, %one : {wide}
    %g = stablehlo.multiply %h, %g1 : {wide}
    %y = stablehlo.convert %g : ({wide}) -> tensor<{d}>
    st.yield {yields} : {types}
  }}
"""
    inputs = [a, b, f"{columns}x{bias}"]
    return function(inputs, body, results), inputs, {i: (-1, 2) for i in range(3)}


def gelu_gradient(rows, depth, columns, element):
    """A product with GELU's derivative, in the order in which differentiation produces it, from a saved tanh."""
    a, b, d, wide = f"{rows}x{depth}x{element}", f"{depth}x{columns}x{element}", f"{rows}x{columns}x{element}", f"tensor<{rows}x{columns}xf32>"
    body = f"""  %tanh = st.kernel "loop" (%x = %2 : tensor<{d}>) -> {wide} {{
    %f = stablehlo.convert %x : (tensor<{d}>) -> {wide}
{gelu_tanh(wide)}    st.yield %u : {wide}
  }}
""" + product("dot", a, b, d) + f"""  %wide = st.kernel "loop" (%p = %dot : tensor<{d}>) -> {wide} {{
    %q = stablehlo.convert %p : (tensor<{d}>) -> {wide}
    st.yield %q : {wide}
  }}
  %out = st.kernel "loop" (%q = %wide : {wide}, %x = %2 : tensor<{d}>, %t = %tanh : {wide}) -> tensor<{d}> {{
    %f = stablehlo.convert %x : (tensor<{d}>) -> {wide}
{constant("one", 1.0, wide)}{constant("half", 0.5, wide)}{constant("slope", SLOPE, wide)}{constant("cubic3", 3 * CUBIC, wide)}    %t1 = stablehlo.add %t, %one : {wide}
    %l0 = stablehlo.multiply %q, %t1 : {wide}
    %l = stablehlo.multiply %l0, %half : {wide}
    %tt = stablehlo.multiply %t, %t : {wide}
    %m = stablehlo.subtract %one, %tt : {wide}
    %n0 = stablehlo.multiply %q, %f : {wide}
    %n1 = stablehlo.multiply %n0, %half : {wide}
    %n2 = stablehlo.multiply %n1, %m : {wide}
    %n3 = stablehlo.multiply %n2, %slope : {wide}
    %ff = stablehlo.multiply %f, %f : {wide}
    %k = stablehlo.multiply %ff, %cubic3 : {wide}
    %n4 = stablehlo.multiply %n3, %k : {wide}
    %n = stablehlo.add %n3, %n4 : {wide}
    %z = stablehlo.add %l, %n : {wide}
    %y = stablehlo.convert %z : ({wide}) -> tensor<{d}>
    st.yield %y : tensor<{d}>
  }}
"""
    inputs = [a, b, d]
    return function(inputs, body, {"out": d}), inputs, {i: (-1, 2) for i in range(3)}


def sums(rows, depth, columns, element, of_a):
    """The gradients of weights and of a bias, from the same numbers."""
    a, b, d = f"{depth}x{rows}x{element}", f"{depth}x{columns}x{element}", f"{rows}x{columns}xf32"
    summed, kept = (a, rows) if of_a else (b, columns)
    body = f"""  %sum = st.kernel "reduce" (%v = %{0 if of_a else 1} : tensor<{summed}>) -> tensor<{kept}xf32> {{
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %f = stablehlo.convert %v : (tensor<{summed}>) -> tensor<{depth}x{kept}xf32>
    %r = stablehlo.reduce(%f init: %z) applies stablehlo.add across dimensions = [0] : (tensor<{depth}x{kept}xf32>, tensor<f32>) -> tensor<{kept}xf32>
    st.yield %r : tensor<{kept}xf32>
  }}
""" + product("dot", a, b, d, contract=(0, 0))
    inputs = [a, b]
    return function(inputs, body, {"dot": d, "sum": f"{kept}xf32"}), inputs, {i: (-2, 3) for i in range(2)}


EPILOGUES = {
    "gelu": lambda: gelu(37, 30, 48, "f32", kept=False),
    "gelu_kept": lambda: gelu(37, 30, 48, "f32", kept=True),
    "gelu_ragged": lambda: gelu(37, 30, 50, "f32", kept=True),
    "gelu_bf16": lambda: gelu(40, 8, 64, "bf16", kept=True),
    "gelu_gradient": lambda: gelu_gradient(37, 30, 48, "f32"),
    "gelu_gradient_f16": lambda: gelu_gradient(40, 8, 64, "f16"),
    "sums_b": lambda: sums(24, 70, 37, "f32", of_a=False),
    "sums_a": lambda: sums(24, 70, 37, "bf16", of_a=True),
    "sums_b_bf16": lambda: sums(24, 70, 37, "bf16", of_a=False),
}
