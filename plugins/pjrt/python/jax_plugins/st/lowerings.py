"""Lowers primitives to other primitives where JAX calls a library on its own platforms."""

import functools
import itertools

PLATFORM = "st"
# Jacobi's method converges quadratically and needs far fewer sweeps.
MOST_SWEEPS = 30

_seeds = itertools.count()


def _hermitian(x, lower):
    """The Hermitian matrix that one triangle of `x` defines."""
    import jax.numpy as jnp

    n = x.shape[-1]
    triangle = jnp.tril(x, -1) if lower else jnp.triu(x, 1)
    diagonal = jnp.real(jnp.diagonal(x, axis1=-2, axis2=-1)).astype(x.dtype)
    return triangle + jnp.conj(jnp.swapaxes(triangle, -1, -2)) + diagonal[..., None] * jnp.eye(n, dtype=x.dtype)


def _rotation(p, q, off):
    """Cosines and sines that make [[p, off], [conj(off), q]] diagonal; p and q are real."""
    import jax.numpy as jnp

    size = jnp.abs(off)
    small = size <= jnp.finfo(p.dtype).tiny
    safe = jnp.where(small, 1, size)
    tau = (q - p) / (2 * safe)
    t = jnp.where(tau >= 0, 1.0, -1.0).astype(p.dtype) / (jnp.abs(tau) + jnp.sqrt(1 + tau * tau))
    t = jnp.where(small, 0, t)
    c = 1 / jnp.sqrt(1 + t * t)
    phase = jnp.where(small, 1, off / safe.astype(off.dtype))
    return c.astype(off.dtype), (t * c).astype(off.dtype) * phase


def _next_round(x, axis):
    """Moves rows between the halves of a matrix, so that every row meets every other one in n - 1 rounds."""
    import jax.numpy as jnp

    top, bottom = jnp.split(x, 2, axis=axis)
    half = top.shape[axis]
    take = functools.partial(jnp.take, axis=axis)
    if half == 1:
        return x
    first, rest, last = (take(top, jnp.array([0])), take(top, jnp.arange(1, half - 1)), take(top, jnp.array([half - 1])))
    head, tail = take(bottom, jnp.array([0])), take(bottom, jnp.arange(1, half))
    return jnp.concatenate([first, head, rest, tail, last], axis=axis)


def _rotate_rows(x, c, s):
    """Rotates rows i and n/2 + i of x."""
    import jax.numpy as jnp

    top, bottom = jnp.split(x, 2, axis=0)
    c, s = c[:, None], s[:, None]
    return jnp.concatenate([c * top - s * bottom, jnp.conj(s) * top + c * bottom])


def _jacobi_round(a, v):
    """One round of disjoint rotations. Rotates rows and columns of a, and rows of v, whose columns are vectors."""
    import jax.numpy as jnp

    half = a.shape[0] // 2
    diagonal = jnp.real(jnp.diagonal(a))
    c, s = _rotation(diagonal[:half], diagonal[half:], jnp.diagonal(a[:half, half:]))
    a = _rotate_rows(a, c, s)
    a = jnp.conj(_rotate_rows(jnp.conj(a.T), c, s).T)
    v = jnp.conj(_rotate_rows(jnp.conj(v.T), c, s).T)
    return _next_round(_next_round(a, 0), 1), _next_round(v, 1)


def _eigh_one(x):
    """Eigenvalues and vectors of one Hermitian matrix, unsorted."""
    import jax.numpy as jnp
    from jax import lax

    n = x.shape[0]
    even = n + n % 2
    real = jnp.finfo(x.dtype).dtype
    a = jnp.pad(x, (0, even - n))
    scale = jnp.sqrt(jnp.sum(jnp.square(jnp.abs(a))))

    def off_norm(a):
        return jnp.sqrt(jnp.sum(jnp.square(jnp.abs(a - jnp.diag(jnp.diagonal(a))))))

    def sweep(state):
        a, v, count = state
        a, v = lax.fori_loop(0, even - 1, lambda _, pair: _jacobi_round(*pair), (a, v))
        return a, v, count + 1

    def goes_on(state):
        a, _, count = state
        return (off_norm(a) > jnp.finfo(real).eps * scale * 0.1) & (count < MOST_SWEEPS)

    a, v, _ = lax.while_loop(goes_on, sweep, (a, jnp.eye(even, dtype=x.dtype), jnp.int32(0)))
    w = jnp.real(jnp.diagonal(a))
    if even == n:
        return w, v
    # The padding's vector is the only one with an element beyond the matrix.
    order = jnp.argsort(jnp.abs(v[n]) > 0.5)[:n]
    return w[order], v[:n][:, order]


def eigh(x, *, lower, sort_eigenvalues, subset_by_index, algorithm=None):
    """Eigenvectors and eigenvalues by Jacobi's method, whose rounds rotate disjoint pairs of rows."""
    import jax.numpy as jnp

    if x.shape[-1] == 0:
        return x, jnp.zeros(x.shape[:-1], jnp.finfo(x.dtype).dtype)
    w, v = _batched(_eigh_one, x.ndim - 2, _hermitian(x, lower))
    if sort_eigenvalues or subset_by_index is not None:
        order = jnp.argsort(w, axis=-1)
        w = jnp.take_along_axis(w, order, axis=-1)
        v = jnp.take_along_axis(v, order[..., None, :], axis=-1)
    if subset_by_index is not None:
        first, last = subset_by_index
        w, v = w[..., first:last], v[..., first:last]
    return v, w


def _reflector(column, j):
    """LAPACK's reflector (beta, tau, v) that zeroes a column below its element j."""
    import jax.numpy as jnp

    rows = jnp.arange(column.shape[0])
    alpha = jnp.sum(jnp.where(rows == j, column, 0))
    below = jnp.where(rows > j, column, 0)
    rest = jnp.sum(jnp.square(jnp.abs(below)))
    none = (rest == 0) & (jnp.imag(alpha) == 0)
    norm = jnp.sqrt(jnp.square(jnp.abs(alpha)) + rest)
    real = jnp.real(alpha)
    beta = jnp.where(none, real, jnp.where(real >= 0, -norm, norm))
    tau = jnp.where(none, 0, (beta - alpha) / jnp.where(none, 1, beta).astype(column.dtype))
    v = jnp.where(rows == j, 1, below / jnp.where(none, 1, alpha - beta))
    return beta.astype(column.dtype), tau.astype(column.dtype), v.astype(column.dtype)


def _geqrf_one(a):
    import jax.numpy as jnp
    from jax import lax

    m, n = a.shape
    rows, columns = jnp.arange(m)[:, None], jnp.arange(n)[None, :]
    numbers = jnp.arange(min(m, n))

    def step(j, state):
        a, taus = state
        column = lax.dynamic_index_in_dim(a, j, axis=1, keepdims=False)
        beta, tau, v = _reflector(column, j)
        moved = a - jnp.conj(tau) * v[:, None] * jnp.sum(jnp.conj(v)[:, None] * a, axis=0)[None, :]
        left = jnp.where(rows < j, a, jnp.where(rows == j, beta, v[:, None]))
        return (jnp.where(columns > j, moved, jnp.where(columns == j, left, a)), jnp.where(numbers == j, tau, taus))

    return lax.fori_loop(0, min(m, n), step, (a, jnp.zeros(min(m, n), a.dtype)))


def _householder_one(a, taus):
    import jax.numpy as jnp
    from jax import lax

    m, n = a.shape
    if taus.shape[0] == 0:
        return jnp.eye(m, n, dtype=a.dtype)
    rows = jnp.arange(m)
    numbers = jnp.arange(taus.shape[0])

    def step(i, q):
        j = taus.shape[0] - 1 - i
        column = lax.dynamic_index_in_dim(a, j, axis=1, keepdims=False)
        v = jnp.where(rows == j, 1, jnp.where(rows > j, column, 0))
        tau = jnp.sum(jnp.where(numbers == j, taus, 0))
        return q - tau * v[:, None] * jnp.sum(jnp.conj(v)[:, None] * q, axis=0)[None, :]

    return lax.fori_loop(0, taus.shape[0], step, jnp.eye(m, n, dtype=a.dtype))


def _batched(one, count, *operands):
    import jax

    for _ in range(count):
        one = jax.vmap(one)
    return one(*operands)


def geqrf(a):
    """QR in LAPACK's form: R is in the upper triangle, the reflectors are below it."""
    return _batched(_geqrf_one, a.ndim - 2, a)


def householder_product(a, taus):
    """The product of the reflectors that geqrf leaves."""
    return _batched(_householder_one, a.ndim - 2, a, taus)


def _rotate_columns(x, c, s):
    """Rotates columns i and n/2 + i of x."""
    import jax.numpy as jnp

    left, right = jnp.split(x, 2, axis=1)
    return jnp.concatenate([c * left - jnp.conj(s) * right, s * left + c * right], axis=1)


def _svd_round(a, v):
    """One round of disjoint rotations that make pairs of columns of `a` orthogonal."""
    import jax.numpy as jnp

    left, right = jnp.split(a, 2, axis=1)
    squares = jnp.sum(jnp.square(jnp.abs(left)), axis=0), jnp.sum(jnp.square(jnp.abs(right)), axis=0)
    c, s = _rotation(*squares, jnp.sum(jnp.conj(left) * right, axis=0))
    return tuple(_next_round(_rotate_columns(x, c, s), 1) for x in (a, v))


def _orthogonal_columns(a):
    """Returns `a` times a unitary matrix, with orthogonal columns, and that matrix. `a` has rows >= columns."""
    import jax.numpy as jnp
    from jax import lax

    n = a.shape[1]
    even = n + n % 2
    eps = jnp.finfo(a.dtype).eps
    a = jnp.pad(a, ((0, 0), (0, even - n)))
    # Smaller products are rounding errors.
    least = jnp.square(eps) * jnp.sum(jnp.square(jnp.abs(a)))

    def is_skew(a):
        products = jnp.conj(a.T) @ a
        squares = jnp.real(jnp.diagonal(products))
        bound = eps * n * jnp.sqrt(squares[:, None] * squares[None, :]) + least
        return jnp.any((jnp.abs(products) > bound) & ~jnp.eye(even, dtype=bool))

    def sweep(state):
        a, v, count = state
        a, v = lax.fori_loop(0, even - 1, lambda _, pair: _svd_round(*pair), (a, v))
        return a, v, count + 1

    state = (a, jnp.eye(even, dtype=a.dtype), jnp.int32(0))
    a, v, _ = lax.while_loop(lambda state: is_skew(state[0]) & (state[2] < MOST_SWEEPS), sweep, state)
    if even == n:
        return a, v
    # The padding's vector is the only one with an element beyond the matrix.
    order = jnp.argsort(jnp.abs(v[n]) > 0.5)[:n]
    return a[:, order], v[:n][:, order]


def _svd_tall(a, full_matrices, compute_uv):
    """Singular values and vectors of one matrix with rows >= columns, by one-sided Jacobi (Hestenes, 1958)."""
    import jax.numpy as jnp

    m, n = a.shape
    # Scales the matrix, because the squares of very large and very small numbers overflow or underflow.
    largest = jnp.max(jnp.abs(a))
    scale = jnp.where((largest > 0) & jnp.isfinite(largest), largest, 1)
    a = a / scale.astype(a.dtype)
    left = None
    if m > n:
        left, a = jnp.linalg.qr(a, mode="complete" if full_matrices else "reduced")
        a = a[:n]
    a, v = _orthogonal_columns(a)
    numbers = jnp.sqrt(jnp.sum(jnp.square(jnp.abs(a)), axis=0))
    order = jnp.argsort(-numbers)
    numbers = numbers[order]
    if not compute_uv:
        return (numbers * scale,)
    # Reflectors make the columns of norm zero orthogonal to the others, and change signs.
    u, r = jnp.linalg.qr(a[:, order])
    signs = jnp.diagonal(r)
    size = jnp.abs(signs)
    u = u * jnp.where(size > 0, signs / jnp.where(size > 0, size, 1).astype(signs.dtype), 1)
    if left is not None:
        u = jnp.concatenate([left[:, :n] @ u, left[:, n:]], axis=1)
    return numbers * scale, u, jnp.conj(v[:, order].T)


def _svd_one(a, full_matrices, compute_uv):
    import jax.numpy as jnp

    if a.shape[0] >= a.shape[1]:
        return _svd_tall(a, full_matrices, compute_uv)
    numbers, *vectors = _svd_tall(jnp.conj(a.T), full_matrices, compute_uv)
    return (numbers, *(jnp.conj(vector.T) for vector in reversed(vectors)))


def svd(a, *, full_matrices, compute_uv, subset_by_index, algorithm=None):
    """Singular values in descending order, and vectors."""
    from jax._src.lax import linalg

    if 0 in a.shape[-2:]:
        return linalg._empty_svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
    one = functools.partial(_svd_one, full_matrices=full_matrices, compute_uv=compute_uv)
    results = _batched(one, a.ndim - 2, a)
    if subset_by_index is None or subset_by_index == (0, min(a.shape[-2:])):
        return results
    first, last = subset_by_index
    if not compute_uv:
        return (results[0][..., first:last],)
    return (results[0][..., first:last], results[1][..., first:last], results[2][..., first:last, :])


def cholesky(x):
    """The triangular factor; 16-bit types are computed in 32 bits."""
    import jax.numpy as jnp
    from jax import lax

    if x.size == 0:
        return x
    return lax.linalg.cholesky(x.astype(jnp.float32), symmetrize_input=False).astype(x.dtype)


def triangular_solve(a, b, **parameters):
    """The solution; 16-bit types are computed in 32 bits."""
    import jax.numpy as jnp
    from jax._src.lax import linalg

    return linalg.triangular_solve_p.bind(a.astype(jnp.float32), b.astype(jnp.float32), **parameters).astype(b.dtype)


def approx_top_k(operand, *, k, reduction_dimension, is_max_k, **_):
    """Returns the exact result, which is a valid approximation."""
    import jax.numpy as jnp
    from jax import lax

    dimension = reduction_dimension % operand.ndim
    keys = operand if is_max_k else -operand
    index = lax.broadcasted_iota(jnp.int32, operand.shape, dimension)
    _, values, index = lax.sort((-keys, operand, index), dimension=dimension, num_keys=1)
    return (lax.slice_in_dim(values, 0, k, axis=dimension), lax.slice_in_dim(index, 0, k, axis=dimension))


def rng_uniform(low, high, *, shape):
    """Numbers in [low, high). As on other platforms, their values are unspecified; each call in a program has others."""
    import jax
    import jax.numpy as jnp

    key = jax.random.key(next(_seeds))
    if jnp.issubdtype(low.dtype, jnp.integer):
        return jax.random.randint(key, shape, low, high, low.dtype)
    return jax.random.uniform(key, shape, low.dtype, low, high)


def scaled_matmul(a, b, a_scale, b_scale, *, preferred_element_type):
    """Products of operands with a scale for each block of the contracted dimension, in float32."""
    import jax.numpy as jnp

    def wide(x, scale):
        return x.astype("float32") * jnp.repeat(scale.astype("float32"), x.shape[-1] // scale.shape[-1], axis=-1)

    return [jnp.einsum("bmk,bnk->bmn", wide(a, a_scale), wide(b, b_scale)).astype(preferred_element_type)]


def register():
    import jax
    from jax._src import config, core, custom_partitioning
    from jax._src.cudnn.scaled_matmul_stablehlo import _scaled_matmul_p
    from jax._src.interpreters import mlir
    from jax._src.lax import ann, fft, lax, linalg

    def rule_of(function, multiple_results=True):
        rule = mlir.lower_fun(function, multiple_results=multiple_results)

        def lower_unchecked(context, *operands, **parameters):
            # In the body of a shard_map, JAX would check which values differ between shards.
            avals = [aval.update(manual_axis_type=core.ManualAxisType()) for aval in context.avals_in]
            # The user's rules for promotion are about the user's operators.
            with config._check_vma(False), config.numpy_rank_promotion("allow"), config.numpy_dtype_promotion("standard"):
                return rule(context.replace(avals_in=avals), *operands, **parameters)

        return lower_unchecked

    def lower(primitive, function, multiple_results=True):
        mlir.register_lowering(primitive, rule_of(function, multiple_results), platform=PLATFORM)

    in_32_bits = rule_of(cholesky, multiple_results=False)

    def lower_cholesky(context, x):
        kept = context.avals_in[0].size > 0 and context.avals_in[0].dtype.itemsize > 2
        return (linalg._cholesky_lowering if kept else in_32_bits)(context, x)

    zeros = rule_of(lambda x, shape, dtype: jax.numpy.zeros(shape, dtype), multiple_results=False)

    def lower_fft(context, x, **parameters):
        result = context.avals_out[0]
        if result.size == 0:
            return zeros(context, x, shape=result.shape, dtype=result.dtype)
        return fft._fft_lowering(context, x, **parameters)

    solve_in_32_bits = rule_of(triangular_solve, multiple_results=False)

    def lower_triangular_solve(context, a, b, **parameters):
        result = context.avals_out[0]
        if result.size == 0:
            return zeros(context.replace(avals_in=context.avals_in[1:]), b, shape=result.shape, dtype=result.dtype)
        is_wide = context.avals_in[1].dtype.itemsize > 2
        rule = linalg._triangular_solve_lowering if is_wide else solve_in_32_bits
        return rule(context, a, b, **parameters)

    def lower_partitioned(context, *operands, call, **_):
        return mlir.lower_fun(core.jaxpr_as_fun(call), multiple_results=True)(context, *operands)

    mlir.register_lowering(linalg.triangular_solve_p, lower_triangular_solve, platform=PLATFORM)
    mlir.register_lowering(fft.fft_p, lower_fft, platform=PLATFORM)
    mlir.register_lowering(linalg.cholesky_p, lower_cholesky, platform=PLATFORM)
    lower(linalg.eigh_p, eigh)
    lower(linalg.svd_p, svd)
    lower(linalg.geqrf_p, geqrf)
    lower(linalg.householder_product_p, householder_product, multiple_results=False)
    # JAX's own functions, as above.
    lower(linalg.lu_p, linalg._lu_python)
    lower(linalg.ormqr_p, linalg._ormqr_lowering, multiple_results=False)
    lower(linalg.tridiagonal_solve_p, linalg._tridiagonal_solve_jax, multiple_results=False)
    lower(ann.approx_top_k_p, approx_top_k)
    lower(_scaled_matmul_p, scaled_matmul)
    lower(lax.rng_uniform_p, rng_uniform, multiple_results=False)
    # JAX calls the user's partitioner with XLA's shards; St shards the function like any other.
    mlir.register_lowering(custom_partitioning.custom_partitioning_p, lower_partitioned, platform=PLATFORM)
