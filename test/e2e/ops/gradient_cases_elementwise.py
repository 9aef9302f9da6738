"""Gradients of elementwise ops: a table from each op to its cases."""

import zlib

import jax
import jax.numpy as jnp
import numpy as np
from gradient_testing import Case, NoOperand, alike, elementwise, refused
from jax import lax

A = (3, 4)
TIES = np.array([[1, 2, 2], [3, 3, 3]])


def one(op, function, **options):
    return op, [("shapes", elementwise(function, **options))]


def two(op, function, **options):
    return op, [("shapes", elementwise(function, 2, **options))]


def chlo(name, reference, **options):
    """A function that JAX prints differently, or does not print."""
    text = f"  %y = chlo.{name} %x0 : tensor<DIMSTYPE> -> tensor<DIMSTYPE>"
    return f"chlo.{name}", [("shapes", alike(None, 1, text=text, reference=reference, **options))]


def complex_one(function, **options):
    """A function of a complex number whose parts are parameters; the value depends on both result parts."""
    def run(x, y):
        z = function(lax.complex(x, y))
        return jnp.concatenate([jnp.ravel(lax.real(z)), jnp.ravel(lax.imag(z))])
    return "complex", alike(run, 2, **options)


def complex_two(function, **options):
    def run(x, y, u, v):
        z = function(lax.complex(x, y), lax.complex(u, v))
        return jnp.concatenate([jnp.ravel(lax.real(z)), jnp.ravel(lax.imag(z))])
    return "complex", alike(run, 4, **options)


def zero(op, function, **options):
    """An op whose gradient is zero wherever it exists: it counts as a constant."""
    low = zlib.crc32(op.encode()) % 2 - 2.0
    return op, [("constant", elementwise(lambda x: x * function(x).astype(x.dtype), low=low, **options))]


def bits(function):
    return lambda x: function((x * 100).astype(jnp.int32))


def clamp_by_extrema(low, x, high):
    # JAX's own gradient does not support scalar bounds or crossing bounds.
    return jnp.minimum(jnp.maximum(x, low), high)


def uniform(shape, low=-2.0, high=2.0):
    return np.random.default_rng(0).uniform(low, high, shape).astype(np.float32)


def remainder_by(x, y):
    return lax.rem(x, jnp.where(y > 0, y + 0.5, y - 0.5))


ELEMENTWISE = dict([
    one("stablehlo.abs", lax.abs),
    one("stablehlo.cbrt", lax.cbrt, low=0.5),
    one("stablehlo.cosine", lax.cos),
    one("stablehlo.exponential", lax.exp),
    one("stablehlo.exponential_minus_one", lax.expm1),
    one("stablehlo.log", lax.log, low=0.3),
    one("stablehlo.log_plus_one", lax.log1p, low=-0.5),
    # JAX prints the formula instead.
    ("stablehlo.logistic", [("shapes", alike(None, 1, reference=lax.logistic, text="""
  %y = stablehlo.logistic %x0 : tensor<DIMSTYPE>"""))]),
    one("stablehlo.negate", lax.neg),
    one("stablehlo.rsqrt", lax.rsqrt, low=0.3),
    one("stablehlo.sine", lax.sin),
    one("stablehlo.sqrt", lax.sqrt, low=0.3),
    one("stablehlo.tan", lax.tan, low=-1.0, high=1.0),
    one("stablehlo.tanh", lax.tanh),
    one("stablehlo.reduce_precision", lambda x: lax.reduce_precision(x, 8, 10) * 3),
    one("stablehlo.real", lambda x: lax.real(lax.complex(x, x * 2) ** 2)),
    one("stablehlo.imag", lambda x: lax.imag(lax.complex(x, x * 2) ** 2)),
    two("stablehlo.complex", lambda x, y: lax.imag(lax.complex(x, y) * lax.complex(y, jnp.sin(x)))),
    two("stablehlo.add", lax.add),
    two("stablehlo.subtract", lax.sub),
    two("stablehlo.multiply", lax.mul),
    two("stablehlo.divide", lax.div, low=0.5),
    two("stablehlo.maximum", lax.max),
    two("stablehlo.minimum", lax.min),
    two("stablehlo.power", lax.pow, low=0.3),
    two("stablehlo.atan2", lax.atan2, low=0.3),
    two("stablehlo.remainder", remainder_by),
    two("stablehlo.select", lambda x, y: jnp.where(x > y, x * 2, y * 3)),
    ("stablehlo.clamp", [
        ("shapes", elementwise(lax.clamp, 3, reference=clamp_by_extrema)),
        ("scalar bounds", Case(lax.clamp, reference=clamp_by_extrema, values=[-0.5, uniform(A), 0.7])),
        ("nothing", Case(lax.clamp, (), (0, 2), (), reference=clamp_by_extrema))]),
    ("stablehlo.convert", [("through bf16", elementwise(lambda x: (
        x.astype(jnp.bfloat16) * jnp.bfloat16(3)).astype(x.dtype)))]),
    ("stablehlo.optimization_barrier", [("shapes", elementwise(lambda x, y: sum(
        lax.optimization_barrier((x * 2, y))), 2))]),
    zero("stablehlo.bitcast_convert", lambda x: lax.bitcast_convert_type(
        lax.bitcast_convert_type(x, jnp.int32 if x.dtype == jnp.float32 else jnp.int64), x.dtype)),
    zero("stablehlo.ceil", lax.ceil),
    zero("stablehlo.floor", lax.floor),
    zero("stablehlo.round_nearest_even", lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)),
    zero("stablehlo.round_nearest_afz", lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO)),
    zero("stablehlo.sign", lax.sign),
    zero("stablehlo.is_finite", lax.is_finite),
    zero("stablehlo.compare", lambda x: x > 0.25),
    zero("stablehlo.and", bits(lambda i: i & 29)),
    zero("stablehlo.or", bits(lambda i: i | 29)),
    zero("stablehlo.xor", bits(lambda i: i ^ 29)),
    zero("stablehlo.not", bits(lambda i: ~i)),
    zero("stablehlo.count_leading_zeros", bits(lax.clz)),
    zero("stablehlo.popcnt", bits(lax.population_count)),
    zero("stablehlo.shift_left", bits(lambda i: i << 2)),
    zero("stablehlo.shift_right_arithmetic", bits(lambda i: i >> 2)),
    zero("stablehlo.shift_right_logical", bits(lambda i: lax.shift_right_logical(i, jnp.int32(28)))),
    # XLA's CPU has no such op; the upper half of a product with 2^30 is a shift.
    zero("chlo.mulhi", bits(lambda i: lax.mulhi(i, jnp.full_like(i, 1 << 30))), reference=lambda x: x * bits(
        lambda i: i >> 2)(x).astype(x.dtype)),
    one("chlo.erf", lax.erf),
    one("chlo.erfc", lax.erfc),
    one("chlo.erf_inv", lax.erf_inv, low=-0.9, high=0.9),
    one("chlo.lgamma", lax.lgamma, low=0.3, high=5.0),
    one("chlo.digamma", lax.digamma, low=0.3, high=5.0),
    one("chlo.sinh", lax.sinh),
    one("chlo.cosh", lax.cosh),
    one("chlo.asin", lax.asin, low=-0.9, high=0.9),
    one("chlo.acos", lax.acos, low=-0.9, high=0.9),
    one("chlo.atan", lax.atan),
    one("chlo.asinh", lax.asinh),
    one("chlo.acosh", lax.acosh, low=1.2, high=4.0),
    one("chlo.atanh", lax.atanh, low=-0.9, high=0.9),
    one("chlo.square", lax.square),
    chlo("tan", lax.tan, low=-1.0, high=1.0),
    ("chlo.polygamma", [("shapes", elementwise(lambda x: lax.polygamma(
        jnp.full_like(x, 2), x), low=0.5, high=4.0)),
        ("the order", refused("  %x = stablehlo.constant dense<2.0> : tensor<f32>\n"
                              "  %y = chlo.polygamma %w, %x : tensor<f32>, tensor<f32> -> tensor<f32>",
                              "has no gradient rule with respect to its order", "tensor<f32>"))]),
    ("chlo.zeta", [("shapes", elementwise(lambda x: lax.zeta(jnp.full_like(x, 3), x), low=0.5, high=4.0,
                                          # JAX has no derivative of zeta; this is the same function.
                                          reference=lambda x: -lax.polygamma(jnp.full_like(x, 2), x) / 2)),
                   ("the exponent", refused("  %x = stablehlo.constant dense<2.0> : tensor<f32>\n"
                                            "  %y = chlo.zeta %w, %x : tensor<f32>, tensor<f32> -> tensor<f32>",
                                            "has no gradient rule with respect to its exponent", "tensor<f32>"))]),
    ("chlo.conj", [("shapes", alike(None, 2, reference=lambda x, y: lax.imag(lax.conj(lax.complex(x, y)) ** 2), text="""
  %z = stablehlo.complex %x0, %x1 : tensor<DIMScomplex<TYPE>>
  %c = chlo.conj %z : tensor<DIMScomplex<TYPE>> -> tensor<DIMScomplex<TYPE>>
  %p = stablehlo.multiply %c, %c : tensor<DIMScomplex<TYPE>>
  %y = stablehlo.imag %p : (tensor<DIMScomplex<TYPE>>) -> tensor<DIMSTYPE>"""))]),
    ("chlo.bessel_i1e", [("shapes", elementwise(lax.bessel_i1e, low=-12.0, high=12.0)),
                         ("of zero and the ends of its series", Case(lax.bessel_i1e, values=[
                             np.array([0.0, 1e-9, 1e-3, 8, 8.1, -8])]))]),
    ("chlo.next_after", [("refused", refused(
        "  %y = chlo.next_after %w, %w : tensor<f32>, tensor<f32> -> tensor<f32>", parameter="tensor<f32>"))]),
])

MAP = """
  %scale = stablehlo.constant dense<1.5> : tensor<TYPE>
  %y = "stablehlo.map"(%x0, %x1) <{dimensions = array<i64AXES>}> ({
  ^bb0(%a: tensor<TYPE>, %b: tensor<TYPE>):
    %half = stablehlo.constant dense<0.5> : tensor<TYPE>
    %p = stablehlo.compare GT, %a, %half : (tensor<TYPE>, tensor<TYPE>) -> tensor<i1>
    %s = stablehlo.sine %b : tensor<TYPE>
    %m = stablehlo.multiply %a, %s : tensor<TYPE>
    %n = stablehlo.multiply %m, %x2 : tensor<TYPE>
    %c = stablehlo.select %p, %n, %scale : tensor<i1>, tensor<TYPE>
    %e = stablehlo.add %c, %b : tensor<TYPE>
    stablehlo.return %e : tensor<TYPE>
  }) : (tensor<DIMSTYPE>, tensor<DIMSTYPE>) -> tensor<DIMSTYPE>"""
ELEMENTWISE["stablehlo.map"] = [
    ("shapes", alike(None, 2, (), text=MAP, reference=lambda a, b, c: jnp.where(a > 0.5, a * jnp.sin(b) * c, 1.5) + b)),
    ("a computation that is not elementwise", refused("""
  %y = "stablehlo.map"(%w) <{dimensions = array<i64>}> ({
  ^bb0(%a: tensor<f32>):
    %r = stablehlo.reshape %a : (tensor<f32>) -> tensor<1xf32>
    %s = stablehlo.reshape %r : (tensor<1xf32>) -> tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<f32>) -> tensor<f32>""", "has no gradient rule: expected a computation of elementwise ops", "tensor<f32>"))]

SPECIAL = {
    "stablehlo.multiply": [("by itself", Case(lambda x: x * x, A))],
    "stablehlo.maximum": [("of equals", Case(lambda x: lax.max(x, 2 + jnp.zeros_like(x)), values=[TIES]))],
    "stablehlo.minimum": [("of equals", Case(lambda x: lax.min(x, 2 + jnp.zeros_like(x)), values=[TIES]))],
    "stablehlo.power": [("of zero", Case(lax.pow, values=[np.array([0, 0, 2]), np.array([2, 1, 0])]))],
    "stablehlo.abs": [("of zero", Case(lax.abs, values=[np.array([0.0, -1, 2])]))],
    "stablehlo.remainder": [("signs", Case(lax.rem, values=[np.array([7.5, -7.5, 5.3, -2.0]),
                                                            np.array([2, 2, -1.4, 3])]))],
    "stablehlo.select": [("by a scalar", Case(lambda x, y: lax.select(x[0, 0] > 9, x, y), A, A))],
    "stablehlo.convert": [("integers and back", Case(lambda x: x * x.astype(jnp.int32).astype(x.dtype), A)),
                          complex_one(lambda z: z * lax.real(z).astype(z.dtype))],
}
COMPLEX = {
    "stablehlo.abs": complex_one(lambda z: lax.abs(z) * z),
    "stablehlo.add": complex_two(lambda z, w: z * (z + w)),
    "stablehlo.subtract": complex_two(lambda z, w: z * (z - w)),
    "stablehlo.multiply": complex_two(lax.mul),
    "stablehlo.divide": complex_two(lax.div, low=0.5),
    "stablehlo.power": complex_two(lax.pow, low=0.5),
    "stablehlo.negate": complex_one(lambda z: -z * z),
    "stablehlo.cosine": complex_one(lax.cos),
    "stablehlo.sine": complex_one(lax.sin),
    "stablehlo.tan": complex_one(lax.tan, low=-1.0, high=1.0),
    "stablehlo.exponential": complex_one(lax.exp),
    "stablehlo.exponential_minus_one": complex_one(lax.expm1),
    "stablehlo.log": complex_one(lax.log, low=0.3),
    "stablehlo.log_plus_one": complex_one(lax.log1p, low=0.3),
    "stablehlo.logistic": ("complex", alike(None, 2, reference=lambda x, y: lax.imag(lax.logistic(
        lax.complex(x, y))), text="""
  %z = stablehlo.complex %x0, %x1 : tensor<DIMScomplex<TYPE>>
  %l = stablehlo.logistic %z : tensor<DIMScomplex<TYPE>>
  %y = stablehlo.imag %l : (tensor<DIMScomplex<TYPE>>) -> tensor<DIMSTYPE>""")),
    "stablehlo.rsqrt": complex_one(lax.rsqrt, low=0.3),
    "stablehlo.sqrt": complex_one(lax.sqrt, low=0.3),
    "stablehlo.tanh": complex_one(lax.tanh),
    "chlo.square": complex_one(lax.square),
    "stablehlo.select": complex_two(lambda z, w: jnp.where(lax.real(z) > 0, z * w, w)),
    # JAX prints the ops that these consist of.
    **{f"stablehlo.{name}": ("complex", alike(None, 4, reference=lambda x, y, u, v, name=name: lax.imag(
        getattr(lax, name[:3])(lax.complex(x, y), lax.complex(u, v)) ** 2), text=f"""
  %z = stablehlo.complex %x0, %x1 : tensor<DIMScomplex<TYPE>>
  %w = stablehlo.complex %x2, %x3 : tensor<DIMScomplex<TYPE>>
  %m = stablehlo.{name} %z, %w : tensor<DIMScomplex<TYPE>>
  %p = stablehlo.multiply %m, %m : tensor<DIMScomplex<TYPE>>
  %y = stablehlo.imag %p : (tensor<DIMScomplex<TYPE>>) -> tensor<DIMSTYPE>""")) for name in ("maximum", "minimum")},
    **{f"chlo.{name}": complex_one(getattr(lax, name), low=0.1, high=0.9) for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh")},
}

NUMBERS = np.array([2.0, 2, 1, -1]), np.array([3.0, 1, 1, 2]), np.array([2.0, 2, 2, 1]), np.array([3.0, 2, 0, 2])
# JAX prints these functions in parts and differentiates them as a whole: for equal operands the parts' gradients
# differ.
PRINTED_IN_PARTS = {"stablehlo.select": [
    *[(f"complex {name} of equals", Case(lambda x, y, u, v, name=name: lax.imag(
        getattr(lax, name)(lax.complex(x, y), lax.complex(u, v)) ** 2), values=NUMBERS)) for name in ("max", "min")],
    ("logaddexp of equals", Case(jnp.logaddexp, values=[np.array([1.0, 2, -1]), np.array([1.0, 3, -1])])),
    ("logaddexp of infinities", Case(lambda x: jnp.logaddexp(x, np.array([np.inf, -np.inf, 0]).astype(x.dtype))[1:],
                                     (3,)))]}
for op, cases in [*SPECIAL.items(), *PRINTED_IN_PARTS.items()]:
    ELEMENTWISE[op] += cases
for op, found in COMPLEX.items():
    ELEMENTWISE[op].append(found)

ELEMENTWISE |= {op: [("reads nothing that varies", NoOperand())] for op in (
    "stablehlo.constant", "stablehlo.iota", "stablehlo.partition_id", "stablehlo.replica_id", "stablehlo.return",
    "stablehlo.rng_bit_generator")}
