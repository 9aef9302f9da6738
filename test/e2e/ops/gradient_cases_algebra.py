"""Gradients of factorisations, solvers, Fourier transforms and batch normalisation."""

import jax.numpy as jnp
from gradient_testing import Case, drawn, refused, type_of
from jax import lax


def adjoint(x):
    return jnp.conj(x.swapaxes(-1, -2))


def positive(x):
    return x @ adjoint(x) + 2 * jnp.eye(x.shape[-1], dtype=x.dtype)


def parts(z):
    return jnp.concatenate([jnp.ravel(lax.real(z)), jnp.ravel(lax.imag(z))])


@drawn()
def factors(draw):
    n = draw.integer(1, 4)
    return Case(lambda x: lax.linalg.cholesky(positive(x), symmetrize_input=False), (*draw.shape(high=2), n, n),
                platform="tpu")


@drawn("plain")
def complex_factors(draw):
    shape = (draw.integer(1, 2), *[draw.integer(1, 4)] * 2)
    return Case(lambda x, y: parts(lax.linalg.cholesky(positive(lax.complex(x, y)), symmetrize_input=False)),
                shape, shape, platform="tpu")


@drawn("plain")
def upper_factors(draw):
    kind = type_of([draw.integer(1, 4)] * 2, "TYPE")
    number = kind.replace("TYPE", "complex<TYPE>")
    shape = tuple(int(d) for d in kind[7:].split("x")[:2])
    return Case(None, shape, shape, text=f"""
  %z = stablehlo.complex %x0, %x1 : {number}
  %c = chlo.conj %z : {number} -> {number}
  %t = stablehlo.transpose %c, dims = [1, 0] : ({number}) -> {number}
  %p = stablehlo.dot_general %z, %t, contracting_dims = [1] x [0] : ({number}, {number}) -> {number}
  %u = stablehlo.cholesky %p, lower = false : {number}
  %i = stablehlo.imag %u : ({number}) -> {kind}
  %r = stablehlo.real %u : ({number}) -> {kind}
  %y = stablehlo.subtract %r, %i : {kind}""", reference=lambda x, y: (lambda u: lax.real(u) - lax.imag(u))(
        adjoint(lax.linalg.cholesky(lax.complex(x, y) @ adjoint(lax.complex(x, y))))))


def triangular(x, lower):
    identity = jnp.eye(x.shape[-1], dtype=x.dtype)
    return (jnp.tril(x, -1) if lower else jnp.triu(x, 1)) + (3 + x) * identity


def solver(left, lower, transpose, unit, is_complex=False):
    @drawn("plain", "empty")
    def make(draw):
        n, batch = draw.integer(1, 4), draw.shape(high=1)
        right = (*batch, n, draw.size()) if left else (*batch, draw.size(), n)

        def run(a, b):
            if is_complex:
                a, b = lax.complex(a, a[..., ::-1]), lax.complex(b, 2 * b)
            x = lax.linalg.triangular_solve(
                a if unit else triangular(a, lower), b, left_side=left, lower=lower, transpose_a=transpose != "no",
                conjugate_a=transpose == "adjoint", unit_diagonal=unit)
            return parts(x) if is_complex else x
        return Case(run, (*batch, n, n), right, platform="tpu", low=-1.0, high=1.0)
    return make


def spectra(kind):
    """A transform of real operands; both parts of the value count."""
    @drawn("plain", "empty")
    def make(draw):
        length = tuple(draw.integer(1, 6) for _ in range(draw.integer(1, 3)))
        shape = (*draw.shape(high=1), *length)
        if kind == "IRFFT":
            shape = (*shape[:-1], length[-1] // 2 + 1)

        def run(x, y):
            z = lax.fft(x if kind == "RFFT" else lax.complex(x, y), kind, length)
            z = lax.complex(z, z * 0) if kind == "IRFFT" else z
            return parts(z) + y.sum()
        return Case(run, shape, shape)
    return make


YES_NO = (True, False)
LINEAR_ALGEBRA = {
    "stablehlo.cholesky": [("shapes", factors), ("complex", complex_factors), ("upper", upper_factors)],
    "stablehlo.triangular_solve": [
        *[(f"left={left} lower={lower} transposed={transpose} unit={unit}", solver(left, lower, transpose, unit))
          for left in YES_NO for lower in YES_NO for transpose in ("no", "yes") for unit in YES_NO],
        *[(f"complex, left={left} transposed={transpose}", solver(left, True, transpose, False, True))
          for left in YES_NO for transpose in ("no", "yes", "adjoint")]],
    "stablehlo.fft": [(kind, spectra(kind)) for kind in ("FFT", "IFFT", "RFFT", "IRFFT")],
}


def normalize(x, scale, offset, mean, variance, feature):
    axes = [d for d in range(x.ndim) if d != feature]
    spread = lambda v: jnp.expand_dims(v, axes)
    return spread(scale) * (x - spread(mean)) / jnp.sqrt(spread(variance) + 0.0078125) + spread(offset)


@drawn("plain")
def trained(draw):
    """The gradient includes the statistics."""
    shape = tuple(draw.integer(2, 4) for _ in range(draw.integer(1, 4)))
    feature = draw.integer(0, len(shape) - 1)
    whole, single = type_of(shape, "TYPE"), type_of((shape[feature],), "TYPE")
    axes = tuple(d for d in range(len(shape)) if d != feature)

    def training(x, scale, offset):
        mean, variance = x.mean(axes), x.var(axes)
        return normalize(x, scale, offset, mean, variance, feature) * jnp.expand_dims(mean * jnp.sin(variance), axes)
    return Case(None, shape, *[(shape[feature],)] * 2, reference=training, text=f"""
  %n:3 = "stablehlo.batch_norm_training"(%x0, %x1, %x2) <{{epsilon = 0.0078125 : f32, feature_index = {feature} : i64}}>
    : ({whole}, {single}, {single}) -> ({whole}, {single}, {single})
  %s = stablehlo.sine %n#2 : {single}
  %m = stablehlo.multiply %n#1, %s : {single}
  %b = stablehlo.broadcast_in_dim %m, dims = [{feature}] : ({single}) -> {whole}
  %y = stablehlo.multiply %n#0, %b : {whole}""")


@drawn("plain", "empty")
def inferred(draw):
    shape = draw.shape(low=1, high=4)
    feature = draw.integer(0, len(shape) - 1)
    whole, single = type_of(shape, "TYPE"), type_of((shape[feature],), "TYPE")
    return Case(None, shape, *[(shape[feature],)] * 4, reference=lambda x, s, o, m, v: normalize(x, s, o, m, v * v, feature),
                text=f"""
  %v = stablehlo.multiply %x4, %x4 : {single}
  %y = "stablehlo.batch_norm_inference"(%x0, %x1, %x2, %x3, %v) <{{epsilon = 0.0078125 : f32,
    feature_index = {feature} : i64}}> : ({whole}, {single}, {single}, {single}, {single}) -> {whole}""")


NORMALIZATION = {
    "stablehlo.batch_norm_training": [("shapes", trained)],
    "stablehlo.batch_norm_inference": [("shapes", inferred)],
    "stablehlo.batch_norm_grad": [("refused", refused("""
  %one = stablehlo.constant dense<1.0> : tensor<1xf32>
  %g:3 = "stablehlo.batch_norm_grad"(%w, %one, %one, %one, %w) <{epsilon = 0.0078125 : f32, feature_index = 1 : i64}>
    : (tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<2x1xf32>)
    -> (tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>)
  %y = stablehlo.reshape %g#1 : (tensor<1xf32>) -> tensor<f32>""", parameter="tensor<2x1xf32>"))],
}
