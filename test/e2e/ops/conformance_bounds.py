"""Bounds on the difference of a result on the DTU from the interpreter's, and the refused cases.

Most results are equal. `Ulps(n)`: each element may be off by n units in its last place. `Scaled(n)`: it may be off by n
units of the largest element of the case's results. This is for sums, which depend on their order, and for functions of
complex numbers.
"""

import dataclasses

import numpy as np
import ml_dtypes

from conformance_program import COMPLEX, FLOATS

@dataclasses.dataclass(frozen=True)
class Ulps:
    most: float


@dataclasses.dataclass(frozen=True)
class Scaled:
    most: float


# Functions that the vector engine computes in f32 and f64, and formulas of them; the interpreter rounds once from f64.
# In 16 bits both sides round from f32, so a result near the middle of two numbers may round either way.
FUNCTIONS = {
    "stablehlo.exponential": 1, "stablehlo.logistic": 2, "stablehlo.rsqrt": 1, "stablehlo.tanh": 2, "chlo.erf": 2,
    "stablehlo.tan": 3, "chlo.tan": 3, "chlo.acos": 3, "chlo.acosh": 3, "chlo.asin": 4, "chlo.asinh": 3, "chlo.atan": 4,
    "chlo.atanh": 3, "chlo.cosh": 2, "chlo.sinh": 3, "stablehlo.atan2": 6, "chlo.erf_inv": 2,
}
# Near their zeros these lose digits of f64, in which they are computed for all types.
DOUBLES = {"chlo.lgamma": 2000, "chlo.digamma": 100, "chlo.bessel_i1e": 8, "chlo.polygamma": 100, "chlo.zeta": 50}
SUMS = {
    "stablehlo.scatter (add)": 1, "stablehlo.scatter (multiply)": 1, "stablehlo.scatter (points)": 1,
    "stablehlo.reduce (add)": 8, "stablehlo.reduce (multiply)": 3, "stablehlo.reduce_window (add)": 2,
    "stablehlo.reduce_window (multiply)": 2, "stablehlo.dot_general": 4, "stablehlo.dot_general (in a wider type)": 4,
    "stablehlo.convolution": 2, "stablehlo.select_and_scatter": 2, "stablehlo.all_reduce (add)": 2,
    "stablehlo.all_reduce (multiply)": 2, "stablehlo.reduce_scatter (add)": 2, "stablehlo.reduce_scatter (multiply)": 2,
    "stablehlo.batch_norm_training": 4, "stablehlo.batch_norm_inference": 4, "stablehlo.batch_norm_grad": 4,
    "stablehlo.cholesky": 4, "stablehlo.triangular_solve": 8, "stablehlo.fft": 4,
}
COMPLEX_FUNCTIONS = {f"stablehlo.{name}": 3 for name in (
    "abs exponential exponential_minus_one log log_plus_one rsqrt sign sqrt tan tanh divide multiply "
    "cbrt cosine sine logistic case atan2").split()
} | {"stablehlo.power": 8} | {
    f"stablehlo.scatter ({name})": 4 for name in ("divide", "unary", "of two tensors", "general")
} | {f"chlo.{name}": 3 for name in (
    "square cosh sinh tan acos acosh asin asinh atan atanh").split()}


def bound_of(name, element):
    """The bound of a case's results of a float type."""
    for key in (name, name.split(" (")[0]):
        if key in SUMS:
            return Scaled(SUMS[key])
    if element in COMPLEX:
        return Scaled(COMPLEX_FUNCTIONS.get(name, 0))
    most = FUNCTIONS.get(name, 0) if element != "f64" else DOUBLES.get(name, FUNCTIONS.get(name, 0))
    return Ulps(min(most, 1) if element in ("f16", "bf16") else most)


FLOAT_TYPES = [np.dtype(t) for t in FLOATS.values()]


def places(values):
    """The positions of floats in the order of their type; both zeros have the same position."""
    width = values.dtype.itemsize
    bits = values.reshape(-1).view(f"i{width}").astype(np.int64)
    return np.where(bits < 0, np.iinfo(f"i{width}").min - bits, bits)


def largest(values):
    """The largest finite magnitude in float tensors."""
    floats = [np.abs(v.astype(np.float64)) for v in values if v.dtype in FLOAT_TYPES]
    return max((np.max(v[np.isfinite(v)], initial=0) for v in floats), default=0)


def describe_difference(found, wanted, bound, scale):
    """The reason why `found` is not within the bound, or a false value; `scale` is the largest magnitude of the case."""
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return f"is {found.dtype}{found.shape}, not {wanted.dtype}{wanted.shape}"
    if wanted.dtype not in FLOAT_TYPES:
        wrong = np.flatnonzero(found != wanted)
        return wrong.size and (f"{wrong.size} of {wanted.size} differ: "
                               f"{found.flat[wrong[0]]}, not {wanted.flat[wrong[0]]}")
    wide, exact = found.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(exact)
    same = (np.isfinite(wide) == finite) & (finite | (wide == exact) | (np.isnan(wide) & np.isnan(exact)))
    if isinstance(bound, Ulps):
        # Zeros need the correct sign.
        same &= (np.signbit(wide) == np.signbit(exact)) | (exact != 0) | (bound.most > 0)
        a, b = places(found), places(wanted)
        off = (np.maximum(a, b).view(np.uint64) - np.minimum(a, b).view(np.uint64)).reshape(wanted.shape)
    else:
        unit = float(ml_dtypes.finfo(wanted.dtype).eps) * scale
        with np.errstate(invalid="ignore"):
            off = np.abs(wide - exact) / max(unit, np.finfo(np.float64).tiny)
    wrong = np.flatnonzero(~same | (finite & ~(off <= bound.most)))
    if not wrong.size:
        return None
    first = wrong[np.argmax(np.where(finite, off, np.inf).flat[wrong])]
    return (f"{wrong.size} of {wanted.size} differ, one by {off.flat[first]:.2g} units of at most {bound.most}: "
            f"{found.flat[first]}, not {wanted.flat[first]}")
