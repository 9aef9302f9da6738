"""Elementwise ops on all element types, including special values."""

import itertools

import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

FLOATS = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]
INTS = [np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8]


def floats(dtype, low=-4.0, high=4.0, count=61):
    special = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan]
    return np.concatenate([special, np.linspace(low, high, count)]).astype(dtype)


def ints(dtype):
    info = np.iinfo(dtype)
    values = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 5, 7, 8, 31, 33, 63, 64, 65, 100]
    if info.min < 0:
        values += [-1, -2, -3, -7, -8, -64]
    return np.array(values, dtype=object).astype(np.int64 if info.min < 0 else np.uint64).astype(dtype)


def pairs(values):
    a, b = zip(*itertools.product(range(len(values)), repeat=2))
    return values[list(a)], values[list(b)]


def many(*functions):
    return lambda *args: [f(*args) for f in functions]


def float_cases(dtype):
    name = np.dtype(dtype).name
    x = floats(dtype)
    yield f"exact_{name}", many(lax.abs, lax.ceil, lax.floor, lax.neg, lax.sign, lax.sqrt, lax.is_finite, lax.square,
                                lambda v: lax.round(v, lax.RoundingMethod.AWAY_FROM_ZERO),
                                lambda v: lax.round(v, lax.RoundingMethod.TO_NEAREST_EVEN)), [x], {}
    yield f"transcendental_{name}", many(lax.cbrt, lax.cos, lax.exp, lax.expm1, lax.log, lax.log1p, lax.logistic,
                                         lax.rsqrt, lax.sin, lax.tan, lax.tanh, lax.erf, lax.erf_inv), \
        [x], {"atol": {8: 1e-15, 4: 2e-7, 2: 1e-2}[np.dtype(dtype).itemsize]}
    yield f"gamma_{name}", many(lax.erfc, lax.lgamma), [floats(dtype, 0.1, 4.0)], \
        {"atol": {8: 1e-13, 4: 4e-6, 2: 1e-2}[np.dtype(dtype).itemsize]}
    a, b = pairs(floats(dtype, count=7))
    yield f"arithmetic_{name}", many(lax.add, lax.sub, lax.mul, lax.div, lax.max, lax.min, lax.rem), [a, b], {}
    yield f"pow_{name}", many(lax.pow, lax.atan2), [a, b], {}
    yield f"compare_{name}", many(lax.eq, lax.ne, lax.ge, lax.gt, lax.le, lax.lt), [a, b], {}
    yield f"clamp_{name}", lax.clamp, [a, b, np.flip(a)], {}
    yield f"clamp_scalars_{name}", lambda v: lax.clamp(dtype(-1), v, dtype(2)), [x], {}
    yield f"select_{name}", lambda p, u, v: lax.select(p, u, v), [np.arange(len(a)) % 3 == 0, a, b], {}


def int_cases(dtype):
    name = np.dtype(dtype).name
    x = ints(dtype)
    a, b = pairs(x)
    unary = [lax.bitwise_not, lax.population_count, lax.clz, lax.sign, lax.neg]
    if np.iinfo(dtype).min < 0:
        unary.append(lax.abs)
    yield f"unary_{name}", many(*unary), [x], {}
    yield f"arithmetic_{name}", many(lax.add, lax.sub, lax.mul, lax.div, lax.rem, lax.max, lax.min), [a, b], {}
    yield f"bits_{name}", many(lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor, lax.shift_left,
                               lax.shift_right_arithmetic, lax.shift_right_logical), [a, b], {}
    yield f"compare_{name}", many(lax.eq, lax.ne, lax.ge, lax.gt, lax.le, lax.lt), [a, b], {}
    yield f"integer_pow_{name}", many(*[lambda v, n=n: lax.integer_pow(v, n) for n in (2, 3, 7)]), [x], {}


def conversions():
    values = np.array([0, -0.0, 0.4, 0.5, 0.6, -0.5, -1, 1.5, 2.5, 126.5, 127.5, 128, 255.5, 256, -128.5, -129, 3e4, 4e4,
                       65519, 65520, 7e4, -7e4, 2**31, -2.0**31, 2**31 - 1, 2**32, 2.0**63, -2.0**63, 2.0**64, 1e30,
                       -1e30, 1e-30, 3.0000001, np.inf, -np.inf, np.nan])
    for source in FLOATS:
        with np.errstate(over="ignore"):
            x = values.astype(source)
        yield f"from_{np.dtype(source).name}", \
            many(*[lambda v, t=t: lax.convert_element_type(v, t) for t in FLOATS + INTS + [np.bool_]]), [x], {}
    for source in INTS:
        # XLA goes through f32 to the 16-bit formats and rounds twice.
        targets = [np.float64, np.float32] + INTS + [np.bool_]
        yield f"from_{np.dtype(source).name}", \
            many(*[lambda v, t=t: lax.convert_element_type(v, t) for t in targets]), [ints(source)], {}
    yield "from_bool", many(*[lambda v, t=t: lax.convert_element_type(v, t) for t in FLOATS + INTS]), \
        [np.array([True, False])], {}
    for source, target in [(np.float32, np.uint32), (np.uint32, np.float32), (np.float64, np.int64),
                           (np.float16, np.uint16), (ml_dtypes.bfloat16, np.int16), (np.float32, np.uint8),
                           (np.int64, np.int32)]:
        x = ints(source) if source in INTS else floats(source)
        yield f"bitcast_{np.dtype(source).name}_{np.dtype(target).name}", \
            lambda v, t=target: lax.bitcast_convert_type(v, t), [x], {}
    yield "bitcast_wider", lambda v: lax.bitcast_convert_type(v, np.uint64), \
        [np.arange(24, dtype=np.uint32).reshape(3, 4, 2)], {}


def reduced_precision():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.standard_normal(200) * 10.0 ** rng.integers(-30, 30, 200), floats(np.float32)])
    formats = [(8, 7), (5, 10), (8, 10), (4, 3), (5, 2), (8, 23), (8, 0), (2, 5)]
    for dtype in [np.float32, np.float64]:
        yield f"reduce_precision_{np.dtype(dtype).name}", \
            many(*[lambda v, e=e, m=m: lax.reduce_precision(v, e, m) for e, m in formats]), [x.astype(dtype)], \
            {"rtol": 0.0}


def bools():
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    yield "bool", many(lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor, lax.eq, lax.ne, lax.lt, lax.ge, lax.max,
                       lax.min, lambda p, q: lax.bitwise_not(p), lambda p, q: lax.select(p, q, ~q)), [a, b], {}
    yield "scalar_predicate", lambda p, u, v: lax.select(p, u, v), [np.bool_(True), jnp.ones(3), jnp.zeros(3)], {}


def cases():
    for dtype in FLOATS:
        yield from float_cases(dtype)
    for dtype in INTS:
        yield from int_cases(dtype)
    yield from conversions()
    yield from reduced_precision()
    yield from bools()
