"""Texts of kernels: the wrapper of a body, and constants in it."""


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


def full(name, value, shape, ops, element="f32"):
    """A broadcast constant."""
    ops.append(f"%{name}c = stablehlo.constant dense<{value}> : tensor<{element}>")
    ops.append(f"%{name} = stablehlo.broadcast_in_dim %{name}c, dims = [] : (tensor<{element}>) -> tensor<{shape}x{element}>")
