"""Cases for kernel_cases.py: matrix products, and the ops that are fused with them."""

from kernel_text import full, kernel


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
