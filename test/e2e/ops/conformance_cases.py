"""A small program for every op of the dialects, for any element type.

A case is a function that writes its ops into a `Function` of one element type. The dialect decides whether the op
allows that type.
"""

import numpy as np

from conformance_program import COMPLEX, FLOATS, INTEGERS, TYPES, bits, part_of, random_values, tensor

CASES = {}  # (op, variant) -> function


def case(op, variant=""):
    def add(function):
        assert (op, variant) not in CASES, f"{op} {variant} appears twice"
        CASES[op, variant] = function
        return function
    return add


def spread(op, variants, make):
    for variant in variants:
        case(op, variant)(lambda p, v=variant: make(p, v))


# ---- single elements ----------------------------------------------------------------------------

UNARY = ("abs cbrt ceil count_leading_zeros cosine exponential exponential_minus_one floor log log_plus_one logistic "
         "negate not popcnt round_nearest_afz round_nearest_even rsqrt sign sine sqrt tan tanh is_finite real "
         "imag").split()
CHLO_UNARY = ("erf erfc erf_inv lgamma square acos acosh asin asinh atan atanh bessel_i1e conj cosh digamma sinh "
              "tan").split()
BINARY = ("add and atan2 divide maximum minimum multiply or power remainder shift_left shift_right_arithmetic "
          "shift_right_logical subtract xor").split()
CHLO_BINARY = "mulhi next_after polygamma zeta".split()
TO_PREDICATE, TO_PART = {"is_finite"}, {"abs", "real", "imag"}


def unary(op):
    def make(p):
        name = op.split(".")[1]
        element = "i1" if name in TO_PREDICATE else part_of(p.element) if name in TO_PART else p.element
        p.result(p.op(op, [p.specials()], (5, 3, 7), element))
    return make


def binary(op):
    def make(p):
        a, b = p.pairs()
        p.result(p.ops(op, [a, b], [a[1]])[0])
    return make


for name in UNARY:
    case(f"stablehlo.{name}")(unary(f"stablehlo.{name}"))
for name in CHLO_UNARY:
    case(f"chlo.{name}")(unary(f"chlo.{name}"))
for name in BINARY:
    case(f"stablehlo.{name}")(binary(f"stablehlo.{name}"))
for name in CHLO_BINARY:
    case(f"chlo.{name}")(binary(f"chlo.{name}"))


@case("stablehlo.complex")
def complex_(p):
    a, b = p.pairs()
    shape = a[1][7:].split("x" + p.element)[0].split("x")
    p.result(p.op("stablehlo.complex", [a, b], list(map(int, shape)), f"complex<{p.element}>"))


def compare(p, direction):
    kind, direction = direction.split() if " " in direction else (None, direction)
    a, b = p.pairs()
    attributes = f"comparison_direction = #stablehlo<comparison_direction {direction}>"
    if kind:
        attributes += f", compare_type = #stablehlo<comparison_type {kind}>"
    p.result(p.ops("stablehlo.compare", [a, b], [a[1].replace(p.element, "i1")], attributes)[0])


DIRECTIONS = ("EQ", "NE", "GE", "GT", "LE", "LT")
spread("stablehlo.compare", DIRECTIONS + tuple(f"TOTALORDER {d}" for d in DIRECTIONS), compare)


@case("stablehlo.select")
def select(p):
    a, b = p.pairs()
    mask = p.ops("stablehlo.compare", p.pairs(element="i32")[:2], [tensor((3, 7, 17), "i1")],
                 "comparison_direction = #stablehlo<comparison_direction LT>")[0]
    x, y = p.specials((3, 7, 17)), p.specials((3, 7, 17), seed=3)
    p.result(p.ops("stablehlo.select", [mask, x, y], [x[1]])[0])
    p.result(p.ops("stablehlo.select", [*places(p, "i1", True), a, b], [a[1]])[0])


@case("stablehlo.clamp")
def clamp(p):
    a, b = p.pairs()
    p.result(p.ops("stablehlo.clamp", [b, a, b], [a[1]])[0])
    p.result(p.ops("stablehlo.clamp", [p.number(0), a, p.number(1)], [a[1]])[0])


@case("stablehlo.map")
def map_(p):
    a, b = p.pairs()
    scalar = tensor((), p.element)
    rank = a[1].count("x", 0, a[1].index(p.element))
    body = p.region([scalar] * 2, lambda x, y: p.ops(
        "stablehlo.add", p.ops("stablehlo.maximum", [x, y], [scalar]) + [y], [scalar]))
    p.result(p.ops("stablehlo.map", [a, b], [a[1]], f"dimensions = array<i64: {', '.join(map(str, range(rank)))}>",
                   body)[0])


@case("stablehlo.convert")
def convert(p):
    x = p.specials()
    for target in TYPES:
        if p.element in COMPLEX and target not in COMPLEX:
            continue
        p.result(p.op("stablehlo.convert", [x], (5, 3, 7), target))


@case("stablehlo.reduce_precision")
def reduce_precision(p):
    x = p.specials()
    for exponent, mantissa in ((8, 7), (5, 10), (4, 3), (8, 0), (11, 52), (2, 1)):
        p.result(p.op("stablehlo.reduce_precision", [x], (5, 3, 7),
                      attributes=f"exponent_bits = {exponent} : i32, mantissa_bits = {mantissa} : i32"))


@case("stablehlo.bitcast_convert")
def bitcast_convert(p):
    """To every type of the same width, and to and from types of half and a quarter of the width."""
    x = p.specials()
    for target in TYPES:
        if target == "i1" or p.element == "i1" or target in COMPLEX or p.element in COMPLEX:
            continue
        ratio = bits(p.element) / bits(target)
        if ratio >= 1:
            p.result(p.op("stablehlo.bitcast_convert", [x], (5, 3, 7) + ((int(ratio),) if ratio > 1 else ()), target))
        else:
            wide = p.specials((3, 5, int(1 / ratio)))
            p.result(p.op("stablehlo.bitcast_convert", [wide], (3, 5), target))
    if p.element == "i1" or p.element in COMPLEX:
        p.result(p.op("stablehlo.bitcast_convert", [x], (5, 3, 7)))


# ---- sources and moves --------------------------------------------------------------------------


def array(values):
    return f"array<i64: {', '.join(map(str, values))}>" if values else "array<i64>"


@case("stablehlo.constant")
def constant(p):
    shape = (3, 5)
    values = random_values(np.random.default_rng(4), part_of(p.element), shape)

    def word(v):
        if p.element == "i1":
            return "true" if v else "false"
        return str(int(v)) if p.element in INTEGERS else repr(float(v))
    rows = [[f"({word(v)},{word(-v)})" if p.element in COMPLEX else word(v) for v in row] for row in values]
    x = p.constant(str(rows).replace("'", ""), shape)
    p.result(p.op("stablehlo.broadcast_in_dim", [x], (3, 2, 5), attributes="broadcast_dimensions = array<i64: 0, 2>"))


@case("stablehlo.iota")
def iota(p):
    for dim in range(3):
        p.result(p.op("stablehlo.iota", [], (5, 3, 7), attributes=f"iota_dimension = {dim} : i64"))


@case("stablehlo.broadcast_in_dim")
def broadcast_in_dim(p):
    x = p.specials((5, 1, 7))
    for shape, dims in (((7, 2, 5, 3), (2, 3, 0)), ((5, 3, 7), (0, 1, 2))):
        p.result(p.op("stablehlo.broadcast_in_dim", [x], shape, attributes=f"broadcast_dimensions = {array(dims)}"))


@case("stablehlo.reshape")
def reshape(p):
    p.result(p.op("stablehlo.reshape", [p.specials()], (7, 15)))


@case("stablehlo.reverse")
def reverse(p):
    p.result(p.op("stablehlo.reverse", [p.specials()], (5, 3, 7), attributes="dimensions = array<i64: 0, 2>"))


@case("stablehlo.transpose")
def transpose(p):
    p.result(p.op("stablehlo.transpose", [p.specials()], (7, 5, 3), attributes="permutation = array<i64: 2, 0, 1>"))


@case("stablehlo.concatenate")
def concatenate(p):
    x, y = p.specials(), p.specials((5, 2, 7))
    p.result(p.op("stablehlo.concatenate", [x, y, x], (5, 8, 7), attributes="dimension = 1 : i64"))


@case("stablehlo.slice")
def slice_(p):
    p.result(p.op("stablehlo.slice", [p.specials()], (2, 2, 3), attributes=f"start_indices = {array((1, 0, 1))}, "
                  f"limit_indices = {array((4, 2, 7))}, strides = {array((2, 1, 2))}"))


@case("stablehlo.pad")
def pad(p):
    x = p.specials((5, 7))
    value = p.numbers(5)
    for low, high, interior, shape in (((1, 0), (2, 1), (0, 2), (8, 20)), ((-2, 1), (1, -3), (1, 0), (8, 5))):
        p.result(p.op("stablehlo.pad", [x, value], shape, attributes=f"edge_padding_low = {array(low)}, "
                      f"edge_padding_high = {array(high)}, interior_padding = {array(interior)}"))


def places(p, element, *values):
    """Makes the indices arguments, so that nothing is folded."""
    return [p.once((element, v), lambda v=v: p.argument(np.array(v, TYPES[element]), element)) for v in values]


@case("stablehlo.dynamic_slice")
def dynamic_slice(p):
    for element in INTEGERS:
        p.result(p.op("stablehlo.dynamic_slice", [p.specials(), *places(p, element, 1, 100, 3)], (3, 3, 2),
                      attributes=f"slice_sizes = {array((3, 3, 2))}"))


@case("stablehlo.dynamic_update_slice")
def dynamic_update_slice(p):
    for element in INTEGERS:
        p.result(p.op("stablehlo.dynamic_update_slice", [p.specials(), p.numbers(6, 3, 3, 2),
                                                         *places(p, element, 1, 100, 3)], (5, 3, 7)))


ROWS = [3, 0, 4, 1, 100, 3]  # One appears twice, one is out of bounds.


def row_indices(p, element, rows=ROWS):
    return p.once(("rows", element, tuple(rows)), lambda: p.argument(np.array(rows, TYPES[element]), element))


@case("stablehlo.gather")
def gather(p):
    rows = "offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"
    for element in INTEGERS:
        p.result(p.op("stablehlo.gather", [p.specials(), row_indices(p, element)], (6, 3, 7), attributes=
                      f"dimension_numbers = #stablehlo.gather<{rows}>, slice_sizes = {array((1, 3, 7))}"))
    points = p.once("points", lambda: p.argument(np.array([[4, 0], [0, 6], [-1, 9], [2, 2]], np.int32), "i32"))
    p.result(p.op("stablehlo.gather", [p.specials(), points], (4, 2), attributes=
                  "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 2], "
                  f"start_index_map = [0, 2], index_vector_dim = 1>, slice_sizes = {array((1, 2, 1))}"))


SCATTERED_ROWS = ("scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "
                  "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>")


def scatter(p, combine, element="i32", rows=ROWS, unique=False):
    """Rows and single elements."""
    attributes = SCATTERED_ROWS + (", unique_indices = true" if unique else "")
    scalar = tensor((), p.element)
    x, updates = p.numbers(7, 5, 7), p.numbers(8, len(rows), 7)
    p.result(p.op("stablehlo.scatter", [x, row_indices(p, element, rows), updates], (5, 7), attributes=attributes,
                  region=p.region([scalar] * 2, combine)))


def scatter_of(p, variant):
    scalar = tensor((), p.element)
    scatter(p, lambda a, b: p.ops(f"stablehlo.{variant}", [a, b], [scalar]))


spread("stablehlo.scatter", "add multiply maximum minimum and or xor subtract divide".split(), scatter_of)


@case("stablehlo.scatter", "replace")
def scatter_replace(p):
    for element in INTEGERS:
        scatter(p, lambda a, b: [b], element)


@case("stablehlo.scatter", "general")
def scatter_general(p):
    """The operand, the update and the order of updates all matter."""
    scalar = tensor((), p.element)
    scatter(p, lambda a, b: p.ops(
        "stablehlo.add", p.ops("stablehlo.multiply", [a, p.number(2)], [scalar]) + [b], [scalar]))


@case("stablehlo.scatter", "unary")
def scatter_unary(p):
    scalar = tensor((), p.element)
    for unique in (False, True):
        scatter(p, lambda a, b: p.ops("stablehlo.multiply", [a, a], [scalar]), rows=[3, 0, 1, -1], unique=unique)


@case("stablehlo.scatter", "of two tensors")
def scatter_of_two(p):
    scalar = tensor((), p.element)

    def body(a, b, c, d):
        return p.ops("stablehlo.add", [a, d], [scalar]) + p.ops("stablehlo.multiply", [b, c], [scalar])
    x, y, updates, more = p.numbers(7, 5, 7), p.numbers(9, 5, 7), p.numbers(8, 6, 7), p.numbers(10, 6, 7)
    for result in p.ops("stablehlo.scatter", [x, y, row_indices(p, "i32"), updates, more], [x[1]] * 2,
                        SCATTERED_ROWS, p.region([scalar] * 4, body)):
        p.result(result)


@case("stablehlo.scatter", "points")
def scatter_points(p):
    points = p.once("scatter points", lambda: p.argument(
        np.array([[4, 0], [0, 6], [-1, 2], [2, 2], [4, 0]], np.int64), "i64"))
    p.result(p.op("stablehlo.scatter", [p.numbers(7, 5, 3, 7), points, p.numbers(11, 5, 3)], (5, 3, 7), attributes=
                  "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "
                  "inserted_window_dims = [0, 2], scatter_dims_to_operand_dims = [0, 2], index_vector_dim = 1>",
                  region=p.combiner("stablehlo.add")))


def rng_bit_generator(p, algorithm):
    state = p.once("state", lambda: p.argument(np.array([7, 2**63 + 11], np.uint64), "ui64"))
    for shape in ((5, 3), (7,)):
        for result in p.ops("stablehlo.rng_bit_generator", [state], [tensor((2,), "ui64"), tensor(shape, p.element)],
                            f"rng_algorithm = #stablehlo<rng_algorithm {algorithm}>"):
            p.result(result)


spread("stablehlo.rng_bit_generator", ("DEFAULT", "THREE_FRY", "PHILOX"), rng_bit_generator)


# ---- reductions ---------------------------------------------------------------------------------

MONOIDS = {"add": 0, "multiply": 1, "maximum": None, "minimum": None, "and": None, "or": 0, "xor": 0}


def start_of(p, op):
    """The initial value of a reduction. If it is not neutral, it affects the result."""
    return p.number(MONOIDS[op]) if MONOIDS[op] is not None else p.numbers(12)


def reduce(p, op):
    x = p.numbers(13, 5, 9, 37)
    places = (((2,), (5, 9)), ((0,), (9, 37)), ((0, 2), (9,)), ((0, 1, 2), ()))
    # A product of more complex numbers overflows, and with infinities the result depends on the order.
    for dims, shape in places[: 2 if op == "multiply" and p.element in COMPLEX else None]:
        p.result(p.op("stablehlo.reduce", [x, start_of(p, op)], shape, attributes=f"dimensions = {array(dims)}",
                      region=p.combiner(f"stablehlo.{op}")))


spread("stablehlo.reduce", MONOIDS, reduce)


@case("stablehlo.reduce", "special values")
def reduce_specials(p):
    for op in ("maximum", "minimum"):
        p.result(p.op("stablehlo.reduce", [p.specials((7, 15)), p.number(0)], (7,),
                      attributes="dimensions = array<i64: 1>", region=p.combiner(f"stablehlo.{op}")))


@case("stablehlo.reduce", "of two tensors")
def reduce_of_two(p):
    """The largest element and its first position."""
    places = p.op("stablehlo.iota", [], (5, 37), "i32", "iota_dimension = 1 : i64")
    truth, index = tensor((), "i1"), tensor((), "i32")

    def body(a, i, b, j):
        def compare(x, y, direction):
            return p.ops("stablehlo.compare", [x, y], [truth],
                         f"comparison_direction = #stablehlo<comparison_direction {direction}>")[0]
        same = p.ops("stablehlo.and", [compare(a, b, "EQ"), compare(i, j, "LT")], [truth])[0]
        first = p.ops("stablehlo.or", [compare(a, b, "GT"), same], [truth])[0]
        return [p.ops("stablehlo.select", [first, *pair], [pair[0][1]])[0] for pair in ((a, b), (i, j))]
    scalar = tensor((), p.element)
    start = p.ops("stablehlo.reshape", [p.numbers(14, 1)], [scalar])[0]
    for result in p.ops("stablehlo.reduce", [p.numbers(15, 5, 37), places, start, p.number(99, "i32")],
                        [tensor((5,), p.element), tensor((5,), "i32")], "dimensions = array<i64: 1>",
                        p.region([scalar, index] * 2, body)):
        p.result(result)


def reduce_window(p, op):
    x = p.numbers(16, 7, 9)
    p.result(p.op("stablehlo.reduce_window", [x, start_of(p, op)], (4, 9), attributes=
                  f"window_dimensions = {array((3, 2))}, window_strides = {array((2, 1))}, "
                  "padding = dense<[[1, 1], [1, 0]]> : tensor<2x2xi64>", region=p.combiner(f"stablehlo.{op}")))
    p.result(p.op("stablehlo.reduce_window", [x, start_of(p, op)], (5, 15), attributes=
                  f"window_dimensions = {array((3, 2))}, window_strides = {array((1, 1))}, "
                  f"base_dilations = {array((1, 2))}, window_dilations = {array((1, 2))}",
                  region=p.combiner(f"stablehlo.{op}")))


spread("stablehlo.reduce_window", MONOIDS, reduce_window)


@case("stablehlo.select_and_scatter")
def select_and_scatter(p):
    scalar = tensor((), p.element)
    for strides, shape in (((2, 2), (3, 4)), ((1, 2), (5, 4))):
        x, source = p.numbers(17, 7, 9), p.numbers(18, *shape)
        greater = p.region([scalar] * 2, lambda a, b: p.ops(
            "stablehlo.compare", [a, b], [tensor((), "i1")],
            "comparison_direction = #stablehlo<comparison_direction GE>"))
        p.result(p.op("stablehlo.select_and_scatter", [x, source, p.number(0)], (7, 9), attributes=
                      f"window_dimensions = {array((3, 2))}, window_strides = {array(strides)}",
                      region=greater + ", " + p.combiner("stablehlo.add")))


def sort(p, variant):
    dim, kind = (0, "TOTALORDER") if variant == "total order" else (1, None)
    scalar = tensor((), p.element)
    direction = "comparison_direction = #stablehlo<comparison_direction LT>"
    attribute = direction + (f", compare_type = #stablehlo<comparison_type {kind}>" if kind else "")
    places = p.op("stablehlo.iota", [], (13, 11), "i32", f"iota_dimension = {dim} : i64")
    x = p.specials((13, 11)) if kind or p.element not in FLOATS else p.numbers(19, 13, 11)
    body = p.region([scalar] * 2 + [tensor((), "i32")] * 2,
                    lambda a, b, i, j: p.ops("stablehlo.compare", [a, b], [tensor((), "i1")], attribute))
    for result in p.ops("stablehlo.sort", [x, places], [x[1], places[1]],
                        f"dimension = {dim} : i64, is_stable = true", body):
        p.result(result)


spread("stablehlo.sort", ("", "total order"), sort)


@case("stablehlo.sort", "of complex numbers")
def sort_complex(p):
    """Sorts by the real part, as the comparator reads it."""
    scalar, part = tensor((), p.element), part_of(p.element)
    x = p.numbers(20, 3, 11)
    body = p.region([scalar] * 2, lambda a, b: p.ops(
        "stablehlo.compare", [p.ops("stablehlo.real", [v], [tensor((), part)])[0] for v in (a, b)], [tensor((), "i1")],
        "comparison_direction = #stablehlo<comparison_direction LT>"))
    p.result(p.ops("stablehlo.sort", [x], [x[1]], "dimension = 1 : i64, is_stable = true", body)[0])


@case("chlo.top_k")
def top_k(p):
    for result in p.ops("chlo.top_k", [p.specials((7, 15))], [tensor((7, 4), p.element), tensor((7, 4), "i32")],
                        "k = 4 : i64"):
        p.result(result)


# ---- products -----------------------------------------------------------------------------------


@case("stablehlo.dot_general")
def dot_general(p):
    batch = ("lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], "
             "rhs_contracting_dimensions = [1]")
    p.result(p.op("stablehlo.dot_general", [p.numbers(21, 3, 5, 17), p.numbers(22, 3, 17, 9)], (3, 5, 9),
                  attributes=f"dot_dimension_numbers = #stablehlo.dot<{batch}>"))
    both = "lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [1]"
    p.result(p.op("stablehlo.dot_general", [p.numbers(23, 33, 7), p.numbers(24, 5, 33)], (7, 5),
                  attributes=f"dot_dimension_numbers = #stablehlo.dot<{both}>"))


@case("stablehlo.dot_general", "in a wider type")
def dot_general_wider(p):
    wide = {"f16": "f32", "bf16": "f32", "f32": "f64", "i8": "i32", "ui8": "ui32", "i16": "i64", "i32": "i64",
            "ui16": "ui32", "ui32": "ui64"}.get(p.element, p.element)
    numbers = "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]"
    p.result(p.op("stablehlo.dot_general", [p.numbers(25, 5, 33), p.numbers(26, 33, 7)], (5, 7), wide,
                  f"dot_dimension_numbers = #stablehlo.dot<{numbers}>"))


@case("stablehlo.convolution")
def convolution(p):
    layout = "#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>"
    x, kernel = p.numbers(27, 2, 7, 9, 4), p.numbers(28, 3, 2, 4, 6)
    p.result(p.op("stablehlo.convolution", [x, kernel], (2, 4, 9, 6), attributes=f"window_strides = {array((2, 1))}, "
                  f"padding = dense<[[1, 1], [0, 1]]> : tensor<2x2xi64>, dimension_numbers = {layout}, "
                  "feature_group_count = 1 : i64, batch_group_count = 1 : i64"))
    grouped = p.numbers(29, 3, 2, 2, 6)
    p.result(p.op("stablehlo.convolution", [x, grouped], (2, 5, 8, 6), attributes=f"dimension_numbers = {layout}, "
                  "feature_group_count = 2 : i64, batch_group_count = 1 : i64"))
