"""Programs of ops on single elements, one for each family of ops and of element types."""

import itertools

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

FLOATS = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]
SIGNED = [np.int64, np.int32, np.int16, np.int8]
UNSIGNED = [np.uint64, np.uint32, np.uint16, np.uint8]
COMPLEX = [np.complex64, np.complex128]
RNG = np.random.default_rng(11)


def name_of(dtype):
    return np.dtype(dtype).name


def each(functions, *args):
    return lambda *values: [f(*values) for f in functions], args


def pairs(values):
    first, second = zip(*itertools.product(values, repeat=2))
    return np.array(first, values.dtype), np.array(second, values.dtype)


def float_ops(dtype):
    # Away from steep regions, where an error of the argument would dominate.
    x, positive = np.linspace(-2.2, 2.3, 40).astype(dtype), np.linspace(0.1, 3, 40).astype(dtype)
    special = np.array([0.0, -0.0, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan]).astype(dtype)

    def program(x, positive, special):
        anywhere = [lax.abs, lax.ceil, lax.floor, lax.neg, lax.sign, lax.is_finite, lax.square, lax.round,
                    lambda v: lax.round(v, lax.RoundingMethod.TO_NEAREST_EVEN)]
        smooth = [lax.cbrt, lax.cos, lax.exp, lax.expm1, lax.logistic, lax.sin, lax.tanh, lax.erf, lax.exp2]
        above_zero = [lax.sqrt, lax.rsqrt, lax.log, lax.log1p]
        a, b = x[:, None], jnp.concatenate([positive, special])[None, :]
        binary = [lax.add, lax.sub, lax.mul, lax.max, lax.min, lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge]
        return ([f(v) for f in anywhere for v in (x, special)] + [f(x) for f in smooth] + [lax.tan(x / 2)]
                + [f(positive) for f in above_zero] + [f(*jnp.broadcast_arrays(a, b)) for f in binary]
                + [lax.div(x, positive), lax.rem(x, positive), lax.pow(positive, x), lax.atan2(x, positive)]
                + [lax.clamp(dtype(-1), x, dtype(1)), lax.select(x > 0, x, positive)])
    return program, (x, positive, special)


def integer_ops(dtypes):
    def values(dtype):
        info = np.iinfo(dtype)
        return pairs(np.array([info.min, info.max, info.max // 3, 0, 1, 2, 7, 31, 65, -1 if info.min else 64], dtype))

    def program(*all_pairs):
        unary = [lax.neg, lax.sign, lax.bitwise_not, lax.population_count, lax.clz, lambda v: lax.integer_pow(v, 3)]
        binary = [lax.add, lax.sub, lax.mul, lax.div, lax.rem, lax.max, lax.min, lax.bitwise_and, lax.bitwise_or,
                  lax.bitwise_xor, lax.shift_left, lax.shift_right_logical, lax.shift_right_arithmetic, lax.mulhi,
                  lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge]
        absolute = [lax.abs] if dtypes is SIGNED else []
        return [[[f(a) for f in unary + absolute], [f(a, b) for f in binary], lax.clamp(b[3], a, b[1])]
                for a, b in zip(all_pairs[::2], all_pairs[1::2])]
    return program, [v for dtype in dtypes for v in values(dtype)]


def complex_control_flow():
    """Loops that carry complex numbers, and branches that take and return them."""
    def program(z, c, n, p):
        return [lax.while_loop(lambda s: jnp.any(jnp.abs(s[0]) < 2) & (s[1] < n),
                               lambda s: (s[0] ** 2 + c, s[1] + 1), (z, 0)),
                lax.fori_loop(0, n, lambda i, v: v * c + i, z), lax.cond(p, jnp.conj, lambda v: v * 2, z),
                lax.switch(n % 3, [lambda v, w: (v, w), lambda v, w: (w, v), lambda v, w: (v + w, v - w)], z, c),
                lax.scan(lambda h, u: (h * c + u, jnp.real(h).sum()), z, jnp.stack([c, z, c]))]
    return program, (complex_numbers(np.complex64, 7), complex_numbers(np.complex64, 7), np.int32(7), np.bool_(True))


def truth_ops():
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    return each([lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor, lax.max, lax.min, lax.eq, lax.ne, lax.lt, lax.ge,
                 lambda p, q: lax.bitwise_not(p), lambda p, q: lax.select(p, q, ~q),
                 lambda p, q: lax.reduce_or(p, (0,)), lambda p, q: lax.reduce_and(q, (0,)),
                 lambda p, q: lax.reduce_xor(q, (0,))], a, b)


def complex_numbers(dtype, *shape):
    return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)


def complex_ops(dtype):
    unary = [lax.abs, lax.neg, lax.sign, lax.exp, lax.log, lax.sqrt, lax.rsqrt, lax.sin, lax.cos,
             lax.real, lax.imag, lax.conj, lax.square, jnp.angle,
             lambda z: lax.integer_pow(z, 3), lambda z: lax.reduce_sum(z, (0,)), lambda z: lax.complex(lax.imag(z), lax.real(z))]
    binary = [lax.add, lax.sub, lax.mul, lax.div, lax.pow, lax.atan2, lax.eq, lax.ne]

    def program(x, y, m):
        return ([f(x) for f in unary] + [f(x, y) for f in binary]
                + [m @ m, jnp.einsum("ij,kj->ik", m, jnp.conj(m)), jnp.where(jnp.abs(x) > 1, x, y),
                   lax.dynamic_slice(x, (3,), (5,)), x[::-1], lax.pad(m, dtype(2 + 1j), [(1, -1, 2), (0, 2, 0)]),
                   x.at[jnp.array([1, 1, 4])].add(y[:3]), x[jnp.array([9, 0, 0])],
                   jax.grad(lambda v: jnp.sum(jnp.abs(v * v)))(jnp.real(x))])
    return program, (complex_numbers(dtype, 12), complex_numbers(dtype, 12), complex_numbers(dtype, 4, 4))


def chlo_ops(dtype):
    """Functions that JAX leaves to the chlo dialect."""
    inside, above = np.linspace(-0.95, 0.95, 31).astype(dtype), np.linspace(1.05, 4, 31).astype(dtype)

    def program(inside, above):
        return ([f(inside) for f in (lax.acos, lax.asin, lax.atan, lax.atanh, lax.asinh, lax.cosh, lax.sinh, lax.erf,
                                     lax.erfc, lax.erf_inv, lax.square)] + [lax.acosh(above)]
                + [lax.nextafter(inside, above), lax.nextafter(above, inside), lax.top_k(inside, 4)])
    return program, (inside, above)


# One program each: the DTU has no code for them.
ONE_BY_ONE = {"bessel_i1e": lax.bessel_i1e, "digamma": lax.digamma, "lgamma": lax.lgamma}


def one_function(function, dtype):
    """On both sides of zero, but not near a pole, where an error of the argument would dominate."""
    x = np.concatenate([np.linspace(1.05, 4, 31), np.linspace(-0.8, -0.2, 9), [0.5, 20, 100]]).astype(dtype)
    return function, (x,)


COMPLEX_ONE_BY_ONE = {"log1p": lax.log1p, "expm1": lax.expm1, "tan": lax.tan, "tanh": lax.tanh,
                      "logistic": lax.logistic, "product": lambda z: lax.reduce_prod(z, (0,)), "sort": lax.sort,
                      "cumulative sum": jnp.cumsum,
                      "acos": lax.acos, "acosh": lax.acosh, "asin": lax.asin, "asinh": lax.asinh,
                      "atan": lax.atan, "atanh": lax.atanh, "cosh": lax.cosh, "sinh": lax.sinh, "square": lax.square}


def complex_function(function, dtype):
    return function, (complex_numbers(dtype, 20),)


SPECIAL_FUNCTIONS = {
    "zeta": lambda a, x: lax.zeta(a + 1, x), "polygamma": lambda a, x: lax.polygamma(jnp.round(a), x),
    "igamma": lax.igamma, "igammac": lax.igammac, "betainc": lambda a, x: lax.betainc(a, x, x / 7),
    "i0 and i0e": lambda a, x: [lax.bessel_i0e(x), jax.scipy.special.i0(x), jax.scipy.special.i0(-a)],
    "i1": lambda a, x: jax.scipy.special.i1(x), "ndtri": lambda a, x: jax.scipy.special.ndtri(x / 7),
    "xlogy": jax.scipy.special.xlogy, "logsumexp": lambda a, x: jax.scipy.special.logsumexp(x, b=a)}


def special_function(function, dtype):
    return function, (np.linspace(0.5, 5, 25).astype(dtype), np.linspace(0.2, 6, 25).astype(dtype))


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, -2.5, np.inf, -np.inf, np.nan]
# Tails, the ends of ranges (of exp in f32 and in f64), and the largest arguments with a finite square.
MAGNITUDES = [1e-37, 1e-30, 1e-8, 1e-4, 0.3, 0.9999, 1.0001, 1.5, 4, 5, 6, 9, 9.4, 17, 20, 21, 26, 45, 87, 88.5, 89, 89.5,
              104,
              700, 709.5, 710, 711, 1e4, 1e10, 1e19, 2e19, 1e30, 3e38]


def special_values(dtype):
    """Poles, bounds of domains, infinities and NaN, and the whole range of magnitudes."""
    x = np.array(SPECIAL + MAGNITUDES + [-v for v in MAGNITUDES], dtype)
    unary = [lax.acos, lax.asin, lax.atan, lax.acosh, lax.asinh, lax.atanh, lax.cosh, lax.sinh, lax.erf, lax.erfc,
             lax.erf_inv, lax.cbrt, lax.exp, lax.expm1, lax.exp2, lax.log, lax.log1p, lax.sqrt, lax.rsqrt,
             lax.logistic, lax.tanh, lax.square, jax.nn.softplus]
    binary = [lax.pow, lax.atan2, lax.rem, lax.nextafter]

    def program(v, a, b):
        return [f(v) for f in unary] + [f(a, b) for f in binary] + [f(a) for f in (lax.sin, lax.cos)]
    return program, (x, *pairs(np.array(SPECIAL, dtype)))


def values_of_one_function(function, dtype):
    return function, (np.array(SPECIAL, dtype),)


def polygamma_values(dtype):
    return lax.polygamma, pairs(np.array(SPECIAL, dtype))


def zeta_values(dtype):
    return lax.zeta, pairs(np.array(SPECIAL, dtype))


def complex_exponentials():
    """Also with an overflowing real part: a real number stays real."""
    return jnp.exp, (np.array([100, 90 + 0j, -100, 1 + 2j, 0, -3 - 1j, 2 + 100j], np.complex64),)


def next_after_zero():
    values = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-45, 3.4e38], np.float32)
    return lambda *p: [lax.nextafter(*p)] + [lax.nextafter(*(v.astype(jnp.bfloat16) for v in p))], pairs(values)


def conversions():
    """From every type to every type, of values that all types can represent."""
    sources = FLOATS + SIGNED + UNSIGNED + [np.bool_] + COMPLEX
    values = [np.array([0, 1, 2, 3, 100]).astype(t) for t in sources]
    real = [t for t in sources if t not in COMPLEX]

    def program(*values):
        return [lax.convert_element_type(v, t) for v, s in zip(values, sources)
                for t in (COMPLEX if s in COMPLEX else real + COMPLEX)]
    return program, values


def saturation():
    """Floats beyond the range of an integer, halfway cases, and non-finite values."""
    x = np.array([0.5, -0.5, 1.5, 2.5, 127.5, -128.9, 255.5, 3e4, 4e4, -7e4, 2.0**31, -(2.0**31), 2.0**63, 1e30,
                  np.inf, -np.inf, np.nan])
    return lambda v: [lax.convert_element_type(u, t) for u in (v, v.astype(jnp.float32))
                      for t in SIGNED + UNSIGNED + [np.bool_]], (x,)


def bit_casts():
    arguments = [np.arange(-4, 4, dtype=np.float32), np.arange(8, dtype=np.uint32), np.arange(8, dtype=np.int64),
                 np.arange(12, dtype=np.uint16).reshape(3, 2, 2)]
    targets = [np.int32, np.uint8, np.float64, np.uint32]
    return lambda *values: [lax.bitcast_convert_type(v, t) for v, t in zip(values, targets)], arguments


def reduced_precision():
    x = (RNG.standard_normal(100) * 10.0 ** RNG.integers(-9, 9, 100)).astype(np.float32)
    return lambda v: [lax.reduce_precision(v, e, m) for e, m in [(8, 7), (5, 10), (4, 3), (8, 0)]], (x,)


def programs():
    for dtype in FLOATS:
        yield f"floats, {name_of(dtype)}", lambda t=dtype: float_ops(t), {}
    yield "integers, signed", lambda: integer_ops(SIGNED), {}
    yield "integers, unsigned", lambda: integer_ops(UNSIGNED), {}
    yield "truth values", truth_ops, {}
    for dtype in COMPLEX:
        yield f"complex, {name_of(dtype)}", lambda t=dtype: complex_ops(t), {}
        for name, function in COMPLEX_ONE_BY_ONE.items():
            yield f"{name}, {name_of(dtype)}", lambda f=function, t=dtype: complex_function(f, t), {}
    for dtype in FLOATS:
        # The tolerance of 16 bits applies to results that XLA computes with 16-bit intermediates.
        yield f"chlo, {name_of(dtype)}", lambda t=dtype: chlo_ops(t), {}
        for name, function in ONE_BY_ONE.items():
            yield f"{name}, {name_of(dtype)}", lambda f=function, t=dtype: one_function(f, t), {}
    for dtype in FLOATS[:2]:
        bound = {"tolerance": {8: 1e-9, 4: 1e-5}[np.dtype(dtype).itemsize]}
        for name, function in SPECIAL_FUNCTIONS.items():
            yield f"{name}, {name_of(dtype)}", lambda f=function, t=dtype: special_function(f, t), bound
        yield f"special values, {name_of(dtype)}", lambda t=dtype: special_values(t), bound | {"each_element": True}
        for name, function in ONE_BY_ONE.items():
            yield f"special values of {name}, {name_of(dtype)}", \
                lambda f=function, t=dtype: values_of_one_function(f, t), bound
        yield f"special values of polygamma, {name_of(dtype)}", lambda t=dtype: polygamma_values(t), bound
        yield f"special values of zeta, {name_of(dtype)}", lambda t=dtype: zeta_values(t), bound
    yield "complex control flow", complex_control_flow, {}
    yield "complex control flow, rolled", complex_control_flow, {"flags": ["--unroll=0"]}
    yield "complex exponentials", complex_exponentials, {}
    yield "next after zero", next_after_zero, {}
    yield "conversions", conversions, {}
    yield "saturation", saturation, {}
    yield "bit casts", bit_casts, {}
    yield "reduced precision", reduced_precision, {}
