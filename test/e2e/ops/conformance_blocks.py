"""The cases of transforms, solvers, normalization and control flow."""

import numpy as np

from conformance_cases import array, case, places, spread
from conformance_program import COMPLEX, TYPES, part_of, tensor

# ---- transforms and solvers ---------------------------------------------------------------------


def transforms(p, variant):
    """The type is that of the transform's result."""
    kind, *lengths = variant.split()
    lengths = list(map(int, lengths))
    is_real = p.element not in COMPLEX
    part = part_of(p.element)
    other = part if not is_real else f"complex<{part}>" if f"complex<{part}>" in COMPLEX else part
    other = p.element if kind in ("FFT", "IFFT") else other
    shape = [3, *lengths]
    half = [3, *lengths[:-1], lengths[-1] // 2 + 1]
    x = p.numbers(30, *(half if kind == "IRFFT" else shape), element=other)
    p.result(p.op("stablehlo.fft", [x], half if kind == "RFFT" else shape, attributes=
                  f"fft_type = #stablehlo<fft_type {kind}>, fft_length = {array(lengths)}"))


spread("stablehlo.fft", ("FFT 12", "FFT 150", "IFFT 7 9", "RFFT 5 8", "RFFT 67", "IRFFT 12", "IRFFT 5 9",
                         "IRFFT 192"), transforms)


def transposed(p, x, shape):
    return p.op("stablehlo.transpose", [x], (shape[0], shape[2], shape[1]),
                attributes="permutation = array<i64: 0, 2, 1>")


@case("stablehlo.cholesky")
def cholesky(p):
    """Positive definite matrices, and one that is not positive definite."""
    rng, part = np.random.default_rng(31), part_of(p.element)
    root = rng.standard_normal((3, 7, 7)) + (1j * rng.standard_normal((3, 7, 7)) if p.element in COMPLEX else 0)
    matrices = root @ root.conj().transpose(0, 2, 1) + np.eye(7)
    matrices[2, 3, 3] = -1
    kind = np.dtype(TYPES[p.element]).kind
    if p.element in COMPLEX:
        x = p.argument(matrices.real.astype(TYPES[part]) + 1j * matrices.imag.astype(TYPES[part]), p.element)
    else:
        x = p.argument(matrices.astype(TYPES[p.element]) if kind != "b" else matrices > 0, p.element)
    for lower in ("true", "false"):
        p.result(p.op("stablehlo.cholesky", [x], (3, 7, 7), attributes=f"lower = {lower}"))


def triangular_solve(p, variant):
    side, transpose = variant.split(", ")
    rng, part = np.random.default_rng(32), part_of(p.element)
    matrices = rng.standard_normal((3, 7, 7)) / 4 + 2 * np.eye(7)
    if p.element in COMPLEX:
        imaginary = rng.standard_normal((3, 7, 7)).astype(TYPES[part]) / 4
        a = p.argument(matrices.astype(TYPES[part]) + 1j * imaginary, p.element)
    else:
        a = p.argument(matrices.astype(TYPES[p.element]), p.element)
    shape = (3, 7, 5) if side == "left" else (3, 5, 7)
    for lower in ("true", "false"):
        for unit in ("true", "false"):
            p.result(p.op("stablehlo.triangular_solve", [a, p.numbers(33, *shape)], shape, attributes=
                          f"left_side = {str(side == 'left').lower()}, lower = {lower}, unit_diagonal = {unit}, "
                          f"transpose_a = #stablehlo<transpose {transpose}>"))


spread("stablehlo.triangular_solve", [f"{side}, {t}" for side in ("left", "right")
                                      for t in ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")], triangular_solve)


# ---- normalization ------------------------------------------------------------------------------

FEATURES = "epsilon = 1.000000e-03 : f32, feature_index = 1 : i64"


def features(p, *seeds):
    return [p.numbers(seed, 6) for seed in seeds]


@case("stablehlo.batch_norm_training")
def batch_norm_training(p):
    x, vector = p.numbers(34, 5, 6, 7), tensor((6,), p.element)
    for result in p.ops("stablehlo.batch_norm_training", [x, *features(p, 35, 36)], [x[1], vector, vector], FEATURES):
        p.result(result)


@case("stablehlo.batch_norm_inference")
def batch_norm_inference(p):
    x = p.numbers(34, 5, 6, 7)
    variance = p.ops("stablehlo.multiply", features(p, 37, 37), [tensor((6,), p.element)])[0]
    p.result(p.ops("stablehlo.batch_norm_inference", [x, *features(p, 35, 36, 38), variance], [x[1]], FEATURES)[0])


@case("stablehlo.batch_norm_grad")
def batch_norm_grad(p):
    x, vector = p.numbers(34, 5, 6, 7), tensor((6,), p.element)
    variance = p.ops("stablehlo.multiply", features(p, 37, 37), [vector])[0]
    for result in p.ops("stablehlo.batch_norm_grad", [x, *features(p, 35, 38), variance, p.numbers(39, 5, 6, 7)],
                        [x[1], vector, vector], FEATURES):
        p.result(result)


# ---- control flow -------------------------------------------------------------------------------


def truth(p, a, b, direction="LT"):
    return p.ops("stablehlo.compare", [a, b], [tensor((), "i1")],
                 f"comparison_direction = #stablehlo<comparison_direction {direction}>")[0]


@case("stablehlo.while")
def while_(p):
    x, limit = p.numbers(40, 3, 7), places(p, "i32", 5)[0]
    types = [tensor((), "i32"), x[1]]
    one = p.number(1, "i32")
    condition = p.region(types, lambda i, v: truth(p, i, limit))
    body = p.region(types, lambda i, v: [p.ops("stablehlo.add", [i, one], [types[0]])[0],
                                         p.ops("stablehlo.add", [v, x], [x[1]])[0]])
    for result in p.ops("stablehlo.while", [p.number(0, "i32"), x], types, region=condition + ", " + body):
        p.result(result)


def branches(p, op, index, functions):
    x, y = p.numbers(41, 3, 7), p.numbers(42, 3, 7)
    regions = [p.region([], lambda f=f: p.ops(f"stablehlo.{f}", [x, y], [x[1]])) for f in functions]
    p.result(p.ops(op, [index], [x[1]], region=", ".join(regions))[0])


@case("stablehlo.if")
def if_(p):
    for direction in ("LT", "GT"):
        branches(p, "stablehlo.if", truth(p, *places(p, "i32", 3, 5), direction), ("add", "maximum"))


@case("stablehlo.case")
def case_(p):
    for index in (0, 1, -1, 9):
        branches(p, "stablehlo.case", places(p, "i32", index)[0], ("add", "maximum", "multiply"))


@case("stablehlo.optimization_barrier")
def optimization_barrier(p):
    for result in p.ops("stablehlo.optimization_barrier", [p.specials(), p.numbers(43, 3)],
                        [tensor((5, 3, 7), p.element), tensor((3,), p.element)]):
        p.result(result)


@case("stablehlo.composite")
def composite(p):
    x = p.numbers(44, 3, 7)
    p.result(p.ops("stablehlo.composite", [x, p.numbers(45, 3, 7)], [x[1]],
                   'name = "test.sum", decomposition = @sum')[0])
    p.symbols = (f"func.func private @sum(%a: {x[1]}, %b: {x[1]}) -> {x[1]} {{\n%0 = stablehlo.add %a, %b : {x[1]}\n"
                 f"return %0 : {x[1]}\n}}\n")
