"""Programs of one kernel or one product each, as StableHLO, and inputs for them."""

import dataclasses

import ml_dtypes
import numpy as np

M, N, K = 64, 128, 96
DTYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16}
# Bounds relative to the largest expected element: for f32 sums in another order, and for results and intermediates
# rounded to 16 bits.
BOUNDS = {"f32": 1e-5, "bf16": 1.6e-2, "tf32": 2e-3}


@dataclasses.dataclass
class Small:
    name: str
    text: str
    inputs: dict      # name -> array
    bounds: dict      # result -> bound
    expects: str      # what the listing of the program has, as a regular expression
    call: str
    products: str = "f32"


def tensor(shape, element):
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


class Writer:
    """Writes the text of a function. Values are pairs of a name and a type."""

    def __init__(self, element):
        self.element, self.inputs, self.lines, self.types = element, {}, [], {}

    def argument(self, *shape):
        rng = np.random.default_rng(len(self.inputs))
        name = f"arg{len(self.inputs)}"
        self.inputs[name] = rng.uniform(-1, 1, shape).astype(DTYPES[self.element])
        return self.typed(f"%{name}", tensor(shape, self.element))

    def typed(self, name, type_):
        self.types[name] = type_
        return name

    def line(self, text, type_):
        name = self.typed(f"%v{len(self.lines)}", type_)
        self.lines.append(f"  {name} = {text}")
        return name

    def same(self, op, *operands):
        type_ = self.types[operands[0]]
        return self.line(f"stablehlo.{op} {', '.join(operands)} : {type_}", type_)

    def splat(self, value, like):
        type_ = self.types[like]
        return self.line(f"stablehlo.constant dense<{value}> : {type_}", type_)

    def convert(self, value, element):
        type_ = self.types[value]
        wanted = type_[:type_.rindex("x") + 1] + element + ">"
        return value if type_ == wanted else self.line(f"stablehlo.convert {value} : ({type_}) -> {wanted}", wanted)

    def product(self, a, b, contracting, shape, element=None):
        wanted = tensor(shape, element or self.element)
        return self.line(f"stablehlo.dot_general {a}, {b}, contracting_dims = [{contracting[0]}] x [{contracting[1]}] : "
                         f"({self.types[a]}, {self.types[b]}) -> {wanted}", wanted)

    def along_rows(self, vector, like):
        return self.line(f"stablehlo.broadcast_in_dim {vector}, dims = [1] : ({self.types[vector]}) -> {self.types[like]}",
                         self.types[like])

    def column_sums(self, value, count):
        wide = self.convert(value, "f32")
        zero = self.line("stablehlo.constant dense<0.0> : tensor<f32>", "tensor<f32>")
        wanted = tensor((count,), "f32")
        return self.line(f"stablehlo.reduce({wide} init: {zero}) applies stablehlo.add across dimensions = [0] : "
                         f"({self.types[wide]}, tensor<f32>) -> {wanted}", wanted)

    def text(self, *results):
        types = ", ".join(self.types[result] for result in results)
        given = ", ".join(f"%{name}: {self.types['%' + name]}" for name in self.inputs)
        return (f"func.func @main({given}) -> ({types}) {{\n" + "\n".join(self.lines)
                + f"\n  return {', '.join(results)} : {types}\n}}\n")


def tanh_of_gelu(w, x):
    """tanh(0.798 (x + 0.0447 x^3)), of f32."""
    cube = w.same("multiply", w.same("multiply", w.same("multiply", x, x), x), w.splat(0.044715, x))
    return w.same("tanh", w.same("multiply", w.same("add", x, cube), w.splat(0.797884561, x)))


def gelu(w, value):
    x = w.convert(value, "f32")
    half = w.same("multiply", x, w.splat(0.5, x))
    return w.convert(w.same("multiply", half, w.same("add", tanh_of_gelu(w, x), w.splat(1.0, x))), w.element)


def gelu_gradient(w, gradient, value):
    """gradient * (1 + t + x (1 - t^2) 0.798 (1 + 0.134 x^2)) / 2"""
    x, g = w.convert(value, "f32"), w.convert(gradient, "f32")
    t, one = tanh_of_gelu(w, x), w.splat(1.0, x)
    inner = w.same("add", w.same("multiply", w.same("multiply", x, x), w.splat(0.134145, x)), one)
    slope = w.same("multiply", w.same("subtract", one, w.same("multiply", t, t)), w.splat(0.797884561, x))
    total = w.same("add", w.same("add", w.same("multiply", w.same("multiply", inner, slope), x), t), one)
    return w.convert(w.same("multiply", w.same("multiply", total, g), w.splat(0.5, x)), w.element)


def finish(name, writer, results, expects, call, products="f32"):
    bounds = {}
    for i, result in enumerate(results):
        element = "bf16" if writer.types[result].endswith("bf16>") else products
        bounds[f"result{i}"] = ["largest", BOUNDS[element]]
    return Small(name, writer.text(*results), writer.inputs, bounds, expects, call, products)


def loop():
    w = Writer("f32")
    x, y = w.argument(100, 300), w.argument(100, 300)
    result = w.same("add", w.same("exponential", x), w.same("multiply", x, y))
    return finish("f32 100 x 300", w, [result], r"loop_\d+ \(", "cuLaunchKernel of a loop kernel")


def product(element, products="f32"):
    w = Writer(element)
    result = w.product(w.argument(M, K), w.argument(K, N), (1, 0), (M, N))
    kind = products if element == "f32" else element
    return finish(f"{kind} {M} x {N} x {K}", w, [result], f"product {kind} ", "cublasLtMatmul", products)


def forward(element, has_gelu, has_bias, has_aux):
    w = Writer(element)
    value = w.product(w.argument(M, K), w.argument(K, N), (1, 0), (M, N))
    if has_bias:
        value = w.same("add", value, w.along_rows(w.argument(N), value))
    results = ([gelu(w, value)] if has_gelu else []) + ([value] if has_aux or not has_gelu else [])
    name = "_".join(["GELU"] * has_gelu + ["AUX"] * has_aux + ["BIAS"] * has_bias)
    listed = " bias [0-9]+" * has_bias + " gelu" * has_gelu + " aux [0-9]+" * has_aux + r"(?m:( or)?$)"
    return finish(f"{name} {element}", w, results, listed, f"cublasLtMatmul with epilogue {name}")


def backward_gelu(element):
    w = Writer(element)
    gradient = w.product(w.argument(M, K), w.argument(K, N), (1, 0), (M, N))
    return finish(f"DGELU {element}", w, [gelu_gradient(w, gradient, w.argument(M, N))], "gelu_gradient",
                  "cublasLtMatmul with epilogue DGELU")


def bias_gradient(element, of_a):
    """A gradient of weights in f32, with the sums of the contracted operand."""
    w = Writer(element)
    x, g = w.argument(K, N), w.argument(K, M)
    a, b = (g, x) if of_a else (x, g)
    shape = (M, N) if of_a else (N, M)
    weights = w.product(a, b, (0, 0), shape, "f32")
    name = "BGRADB" if of_a else "BGRADA"
    return finish(f"{name} {element}", w, [weights, w.column_sums(g, M)], f"sums of {'a' if of_a else 'b'}",
                  f"cublasLtMatmul with epilogue {name}")


def epilogues():
    for element in ("f32", "bf16"):
        for has_gelu, has_bias, has_aux in ((0, 1, 0), (1, 0, 0), (1, 1, 0), (1, 0, 1), (1, 1, 1)):
            # In 16 bits the input of GELU is also written when a product fuses GELU.
            if element == "f32" or has_aux or not has_gelu:
                yield forward(element, has_gelu, has_bias, has_aux)
        yield backward_gelu(element)
        yield bias_gradient(element, of_a=False)
        yield bias_gradient(element, of_a=True)


STAGES = {"loop": lambda: [loop()], "product": lambda: [product("f32"), product("f32", "tf32"), product("bf16")],
          "epilogues": lambda: list(epilogues())}
