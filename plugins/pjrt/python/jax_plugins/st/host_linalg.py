"""Decompositions of general matrices, which LAPACK computes on the host as part of a callback.

JAX's GPU platforms also use the host for these. SciPy, on which JAX depends, gives access to LAPACK.
"""

import functools

from jax_plugins.st import callbacks

PLATFORM = "st"


def _in_batches(one, results, *operands):
    """Applies a function of matrices to batches of them, and casts its results to their types."""
    import numpy as np

    arrays = [np.zeros(shape, dtype) for shape, dtype in results]
    batch = operands[0].shape[:-2]
    for index in np.ndindex(*batch):
        for result, part in zip(arrays, one(*(operand[index] for operand in operands)), strict=True):
            result[index] = part
    return tuple(arrays)


def _nan_unless_finite(one):
    """LAPACK may not return for other numbers; JAX's own platforms return NaN then."""
    import numpy as np

    @functools.wraps(one)
    def checked(shapes, matrix, *others, **parameters):
        if not np.isfinite(matrix).all():
            return [np.nan if dtype.kind in "fc" else 0 for _, dtype in shapes]
        return one(shapes, matrix, *others, **parameters)

    return checked


def _eig(shapes, matrix, *, compute_left_eigenvectors, compute_right_eigenvectors, **_):
    import scipy.linalg

    made = scipy.linalg.eig(matrix, left=compute_left_eigenvectors, right=compute_right_eigenvectors)
    return made if isinstance(made, tuple) else (made,)


def _schur(shapes, matrix, *, compute_schur_vectors, sort_eig_vals, **_):
    import scipy.linalg

    if sort_eig_vals:
        raise NotImplementedError("schur: sorted eigenvalues are not supported")
    output = "complex" if matrix.dtype.kind == "c" else "real"
    return scipy.linalg.schur(matrix, output=output)[:len(shapes)]


def _lapack(name, matrix, *arguments, **options):
    """Calls a function of LAPACK for the matrix's type, and returns its results without `info`."""
    import scipy.linalg

    function, = scipy.linalg.get_lapack_funcs((name,), (matrix,))
    *made, info = function(matrix, *arguments, **options)
    if info != 0:
        raise RuntimeError(f"LAPACK's {name} returns {info}")
    return made


def _hessenberg(shapes, matrix, **_):
    if matrix.shape[0] < 2:
        return [matrix, 0]
    return _lapack("gehrd", matrix)


def _pivoted_qr(shapes, matrix, pivots, **_):
    if pivots.any():
        raise NotImplementedError("geqp3: columns that must come first are not supported")
    factors, pivots, taus, _ = _lapack("geqp3", matrix)
    return factors, pivots, taus


def _tridiagonal(shapes, matrix, *, lower):
    name = "hetrd" if matrix.dtype.kind == "c" else "sytrd"
    made, diagonal, beside, taus = _lapack(name, matrix, lower=int(lower))
    return made, diagonal, beside, taus


def register():
    """Registers the lowerings of these primitives for the platform."""
    from jax._src.interpreters import mlir
    from jax._src.lax import linalg

    def lower(primitive, one):
        def rule(context, *operands, **parameters):
            results = [(aval.shape, aval.dtype) for aval in context.avals_out]
            one_matrix = functools.partial(_nan_unless_finite(one), results, **parameters)
            return callbacks.lower_call(context, functools.partial(_in_batches, one_matrix, results), operands)

        mlir.register_lowering(primitive, rule, platform=PLATFORM)

    lower(linalg.eig_p, _eig)
    lower(linalg.schur_p, _schur)
    lower(linalg.hessenberg_p, _hessenberg)
    lower(linalg.geqp3_p, _pivoted_qr)
    lower(linalg.tridiagonal_p, _tridiagonal)
