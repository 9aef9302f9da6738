"""Programs of ops on whole tensors: contractions, windows, sorts, indexing, random bits, control flow."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

RNG = np.random.default_rng(12)


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def integers(high, *shape, dtype=np.int32):
    return RNG.integers(0, high, shape).astype(dtype)


def products():
    def program(a, b, i, j, h):
        dims = (((3,), (2,)), ((0, 1), (0, 1)))
        exact = lax.DotAlgorithmPreset.F32_F32_F32
        return [lax.dot_general(a, b, dims), lax.dot_general(a, b, (((0, 3), (0, 2)), ((1,), (1,)))),
                lax.dot_general(a, b, dims, precision="highest"), lax.dot_general(a, b, dims, precision=exact),
                lax.dot(i, j), lax.dot(i, j, preferred_element_type=jnp.int32), h @ h.T,
                lax.dot(h, h.T, preferred_element_type=jnp.float32), a[0, 0, 0] @ b[0, 0, :, 0],
                jnp.outer(a[0, 0, 0], b[0, 0, 0])]
    return program, (normal(2, 3, 4, 5), normal(2, 3, 5, 6), integers(100, 4, 7, dtype=np.int8),
                     integers(100, 7, 3, dtype=np.int8), normal(5, 9, dtype=ml_dtypes.bfloat16))


def mixed_products():
    """Products of two float types, as in gradients of attention in bf16. The algorithm rounds `a` to bf16. JAX's CPU does
    not, so the elements of `a` are numbers of bf16."""
    def program(a, h, q, k, v):
        algorithm = lax.DotAlgorithmPreset.BF16_BF16_F32

        def loss(q, k, v):
            return jax.nn.dot_product_attention(q, k, v).astype(jnp.float32).sum()

        return [lax.dot_general(x, y, (((1,), (0,)), ((), ())), precision=algorithm, preferred_element_type=jnp.float32)
                for x, y in ((a, h), (h.T, a.T))], jax.grad(loss, (0, 1, 2))(q, k, v)
    half = ml_dtypes.bfloat16
    return program, (normal(3, 4, dtype=half).astype(np.float32), normal(4, 5, dtype=half), normal(2, 6, 4, 8, dtype=half),
                     normal(2, 6, 2, 8, dtype=half), normal(2, 6, 2, 8, dtype=half))


def convolution(input_shape, kernel_shape, layout, strides, padding, dtype=np.float32, **options):
    def make():
        def values(shape):
            if np.dtype(dtype).kind == "i":
                return integers(50, *shape, dtype=dtype)
            return normal(*shape).astype(dtype) + (1j * normal(*shape)).astype(dtype) \
                if np.dtype(dtype).kind == "c" else normal(*shape, dtype=dtype)

        def run(x, k):
            return lax.conv_general_dilated(x, k, strides, padding, dimension_numbers=layout, **options)

        if np.dtype(dtype).kind != "f":
            return run, (values(input_shape), values(kernel_shape))
        gradients = jax.grad(lambda *v: jnp.sum(jnp.sin(run(*v))), argnums=(0, 1))
        return lambda x, k: (run(x, k), gradients(x, k)), (values(input_shape), values(kernel_shape))
    return make


def convolutions():
    image = ("NHWC", "HWIO", "NHWC")
    yield "strided and padded", convolution((2, 9, 8, 3), (3, 2, 3, 5), image, (2, 3), [(1, 2), (0, 1)]), {}
    yield "negative padding", convolution((2, 9, 8, 3), (3, 2, 3, 5), image, (1, 1), [(-1, 2), (3, -2)]), {}
    yield "dilated", convolution((2, 7, 6, 3), (3, 2, 3, 4), image, (1, 2), [(2, 2), (1, 1)], lhs_dilation=(2, 3),
                                 rhs_dilation=(2, 1)), {}
    yield "feature groups", convolution((2, 6, 6, 6), (3, 3, 2, 9), image, (1, 1), "SAME",
                                        feature_group_count=3), {}
    yield "depthwise", convolution((2, 4, 6, 6), (4, 1, 3, 3), ("NCHW", "OIHW", "NCHW"), (1, 1), "SAME",
                                   feature_group_count=4), {}
    yield "batch groups", convolution((6, 5, 5, 4), (3, 3, 4, 9), image, (1, 1), "VALID", batch_group_count=3), {}
    yield "of one dimension", convolution((2, 9, 3), (4, 3, 5), ("NWC", "WIO", "NWC"), (2,), [(1, 1)]), {}
    yield "of three dimensions", convolution((1, 2, 5, 4, 6), (3, 2, 2, 2, 3), ("NCDHW", "OIDHW", "NCDHW"), (1, 2, 1),
                                             "SAME"), {}
    yield "of none", convolution((3, 4), (4, 5), ("NC", "IO", "NC"), (), []), {}
    for dtype, options in [(np.float64, {}), (np.float16, {"tolerance": 4e-3}), (np.complex64, {}), (np.int32, {}),
                           (ml_dtypes.bfloat16, {"tolerance": 3e-2})]:
        make = convolution((2, 6, 5, 3), (2, 3, 3, 4), image, (1, 1), "SAME", dtype)
        yield f"in {np.dtype(dtype).name}", make, options


def reductions():
    def program(x, h, i, b):
        variadic = lax.reduce((x, i), (np.float32(0), np.int32(1)),
                              lambda p, q: (p[0] + q[0], jnp.maximum(p[1], q[1])), (1,))
        return [[f(x, (0, 2)) for f in (lax.reduce_sum, lax.reduce_prod, lax.reduce_max, lax.reduce_min)],
                [f(i, (1,)) for f in (lax.reduce_sum, lax.reduce_and, lax.reduce_or, lax.reduce_xor)],
                lax.argmax(x, 1, np.int32), lax.argmin(x, 2, np.int64), jnp.sum(h, axis=1), jnp.max(h), variadic,
                jnp.any(b, axis=0), jnp.all(b), jnp.sum(b), jnp.var(x, axis=1), jax.nn.logsumexp(x, axis=0),
                lax.reduce_precision(jnp.mean(x), 8, 7), jnp.median(x), jnp.sum(x[:0], axis=0)]
    return program, (normal(4, 5, 6), normal(3, 7, dtype=ml_dtypes.bfloat16), integers(99, 4, 5, 6), normal(5, 3) > 0)


def with_nans(*shape, dtype=np.float32):
    """Many equal values, several NaNs, and rows of only NaNs."""
    x = RNG.integers(-3, 4, shape).astype(dtype)
    x[RNG.random(shape) < 0.3] = np.nan
    x[..., :1, :] = np.nan
    return x


def arg_reductions(dtype):
    """The first of equal extremes or of NaNs; the reducer keeps the left one of two NaNs."""
    def make():
        def program(row, rows, cube):
            return [f(row, 0, np.int32) for f in (lax.argmax, lax.argmin)] + [
                f(v, axis, np.int32) for f in (lax.argmax, lax.argmin) for v in (rows, cube) for axis in range(v.ndim)]
        if dtype == np.int32:
            return program, (integers(50, 5000), integers(3, 37, 8), integers(3, 5, 11, 6))
        row = normal(5000, dtype=dtype)
        row[[4003, 17, 2500, 2501, 4999]] = np.nan
        return program, (row, with_nans(37, 8, dtype=dtype), with_nans(5, 11, 6, dtype=dtype))
    return make


def ordered_reductions():
    """Reducers that are associative but not commutative: the first and the last marked element, and compositions of
    functions x -> a x + b. Each starts from its identity, which may appear anywhere."""
    def first(p, q):
        return lax.select(p[1] > 0, p[0], q[0]), lax.max(p[1], q[1])

    def last(p, q):
        return lax.select(q[1] > 0, q[0], p[0]), lax.max(p[1], q[1])

    def composed(p, q):
        return p[0] * q[0], p[1] * q[0] + q[1]

    def program(x, i, k, row, count):
        none, same = (np.float32(0), np.int32(0)), (np.int32(1), np.int32(0))
        axes = [(0,), (1,), (2,), (0, 2), (0, 1, 2)]
        both = [lax.reduce((x, i), none, f, a) for f in (first, last) for a in axes]
        return both, [lax.reduce((i, k), same, composed, a) for a in axes], \
            lax.reduce((row, row + 2), same, composed, (0,)), lax.reduce((row, count), same, first, (0,)), \
            lax.reduce((row, count), same, last, (0,)), lax.reduce_window((i, k), same, composed, (2, 3, 4), (1, 2, 1), "VALID")
    row = 2 * integers(9, 5000) + 1
    return program, (normal(5, 7, 6), integers(3, 5, 7, 6), integers(9, 5, 7, 6), row, integers(2, 5000))


def gradients_of_branches():
    """Both branches normalise rows and read one column, so row values of several kernels meet in one kernel."""
    def loss(parameters, x, p):
        def column():
            return jax.nn.log_softmax(x @ parameters["w"] + parameters["b"])[:, 0].mean()
        return lax.cond(p, column, lambda: 2 * column())

    def program(parameters, x, p, q):
        return [jax.value_and_grad(loss)(parameters, x, v) for v in (p, q)]
    return program, ({"w": normal(16, 6), "b": normal(6)}, normal(12, 16), np.True_, np.False_)


def cumulative():
    def program(x, i):
        return [[f(x, axis=0), f(x, axis=1, reverse=True)] for f in (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin,
                                                                   lax.cumlogsumexp)] + [
            lax.cumsum(i), lax.cummax(i), jax.grad(lambda v: jnp.sum(lax.cumsum(v) ** 2))(x),
            lax.associative_scan(jnp.add, x)]
    return program, (normal(9, 4), integers(9, 30))


def windows():
    def program(x, i):
        def pool(v, start, operation, window, strides, padding, **dilations):
            return lax.reduce_window(v, np.asarray(start, v.dtype), operation, window, strides, padding, **dilations)

        image, strides, padding = (1, 3, 2, 1), (1, 2, 2, 1), [(0, 0), (1, 2), (0, 1), (0, 0)]
        largest = jax.grad(lambda v: jnp.sum(pool(v, -np.inf, lax.max, image, strides, padding) ** 2))
        smallest = jax.grad(lambda v: jnp.sum(pool(v, np.inf, lax.min, image, strides, "SAME") ** 2))
        both = lax.reduce_window((x[0, :, :, 0], i), (np.float32(0), np.int32(0)),
                                 lambda p, q: (p[0] + q[0], jnp.maximum(p[1], q[1])), (2, 2), (1, 2), "VALID")
        return [pool(x, -np.inf, lax.max, image, strides, padding), pool(x, 0, lax.add, image, strides, "SAME"),
                pool(x, 1, lax.mul, image, (1, 1, 1, 1), "VALID", window_dilation=(1, 2, 3, 1)),
                pool(i, 0, lax.add, (2, 3), (1, 2), [(1, 0), (2, 3)], base_dilation=(2, 3), window_dilation=(1, 2)),
                pool(i, -100, lax.max, (3, 1), (2, 1), [(-1, 0), (0, 0)]), largest(x), smallest(x), both]
    return program, (normal(2, 8, 9, 3), integers(99, 8, 9))


def sorts():
    x = normal(4, 9)
    x[1, 3], x[2, 2], x[3, :2] = np.nan, -np.inf, (-0.0, 0.0)

    def program(x, k, h):
        return [lax.sort(x, dimension=0), jnp.sort(x, descending=True), jnp.argsort(x, axis=1),
                lax.sort((k, k % 2, x), dimension=1, num_keys=2), lax.sort(h), lax.sort(k.astype(np.uint8)),
                lax.top_k(k, 3), lax.top_k(x, 9), lax.top_k(k > 1, 5), jnp.unique(k[0], size=4),
                jnp.searchsorted(jnp.sort(k[0]), k[1]), jnp.lexsort((k[0], k[1]))]
    return program, (x, integers(4, 4, 9), normal(17, dtype=np.float16))


def gathers():
    def program(x, y, i, j):
        dims = lax.GatherDimensionNumbers(offset_dims=(0, 2), collapsed_slice_dims=(), start_index_map=(1,))
        windows = lax.gather(x, j[:4, None], dims, (3, 4), mode="clip")
        return [[jnp.take(x, j, axis=0, mode=m) for m in ("clip", "fill", "wrap")], x[i], x[:, i % 5], x[i, i % 5],
                y[i % 4, :, i], jnp.take_along_axis(x[:4], i % 5, axis=1), windows,
                jax.vmap(lambda v, k: v[k])(y, i % 6), jax.vmap(lambda v, k: v[k], (1, 0), 1)(y, j[:, None] % 4),
                jax.vmap(lambda v, k: lax.dynamic_slice(v, (k, 2), (3, 4)))(y, j[:4]), (x > 0)[i],
                x[i.astype(np.uint8)], x[jnp.zeros((0,), int)], jnp.diag(x[:5]), x[::2, 1:]]
    return program, (normal(7, 5), normal(4, 6, 8), integers(7, 4, 4), np.array([-9, -1, 2, 6, 7, 100]))


def scatters():
    def program(x, y, i, j, u):
        dims = lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(),
                                           scatter_dims_to_operand_dims=(0,))
        windows = lax.scatter_add(x[:, 0], j[:, None], u[0, :, :3].repeat(3, 0)[:6], dims, mode="drop")
        modes = [x.at[j].add(x[: len(j)], mode=m) for m in ("clip", "fill", "drop")]
        return [[getattr(x.at[i], n)(u) for n in ("add", "multiply", "min", "max")], modes, windows,
                x.at[jnp.array([5, 0])].set(u[0]), x.at[:, 2].set(1.5), x.at[1:4, 2:].add(2), x.at[i, i % 4].add(0.5),
                jax.vmap(lambda v, k, w: v.at[k].add(w))(y, i, u),
                jax.vmap(lambda v, w, k: lax.dynamic_update_slice(v, w, (k, 1)))(y, u[:, :, :2], j[:3]),
                jax.ops.segment_sum(x, j, num_segments=4), jnp.bincount(i.ravel(), length=7),
                jax.grad(lambda v: jnp.sum(v[i] ** 3))(x), jax.nn.one_hot(i, 5),
                x.astype(jnp.bfloat16).at[jnp.array([1, 3])].add(u[0].astype(jnp.bfloat16))]
    outside = np.array([-9, 3, 6, -1, 100, 0])
    return program, (normal(6, 4), normal(3, 6, 4), integers(6, 3, 2), outside, normal(3, 2, 4))


def scatter_of_a_function():
    """The scatter applies a function to its operand and ignores the updates."""
    return lambda x: x.at[jnp.array([1, 4])].apply(jnp.exp), (normal(6, 4),)


def movement():
    def program(x, b, i, j):
        return [lax.transpose(x, (2, 0, 1)), lax.rev(x, (0, 2)), lax.broadcast_in_dim(x, (4, 2, 3, 6, 5), (1, 2, 4)),
                lax.reshape(x, (5, 6)), lax.concatenate([x, x[:, :0], x], 1),
                lax.slice(x, (0, 1, 0), (2, 3, 5), (1, 1, 2)), jnp.roll(x, 2, 1), jnp.tile(b, (2, 1)),
                [lax.pad(x[0], np.float32(9), c) for c in ([(1, 2, 0), (0, 1, 2)], [(-2, 1, 1), (-1, -4, 2)],
                                                           [(-8, 0, 4), (3, -20, 4)], [(-3, 9, 2), (2, 3, 1)])],
                lax.dynamic_slice(x, (i, j, i), (1, 2, 3)), lax.dynamic_update_slice(x, x[:1, :2] * 2, (i, j, j)),
                [lax.broadcasted_iota(t, (3, 4), d) for t in (np.int8, np.uint64, np.float16, np.complex64)
                 for d in (0, 1)],
                lax.transpose(b, (1, 0)), lax.pad(b, True, [(1, 0, 1), (0, 1, 0)]),
                lax.dynamic_slice(b, (i.astype(np.uint8), j.astype(np.uint8)), (2, 1))]
    return program, (normal(2, 3, 5), normal(3, 4) > 0, np.int32(-4), np.int32(7))


def random_bits(algorithm):
    def make():
        def program(key):
            shapes = [(5,), (4,), (3, 6), (7, 5, 3), ()]
            return [lax.rng_bit_generator(key, s, dtype=t, algorithm=algorithm) for s in shapes
                    for t in (np.uint8, np.uint16, np.uint32, np.uint64)]
        return program, (np.array([0xFFFFFFFF, 7, 0xFFFFFFFE, 0xFFFFFFFF], np.uint32),)
    return make


def random_numbers(implementation):
    def make():
        def program(data):
            key = jax.random.wrap_key_data(data, impl=implementation)
            one, two = jax.random.split(key)
            bits = [jax.random.bits(key, (5, 3), t) for t in (np.uint8, np.uint16, np.uint32, np.uint64)]
            return bits + [jax.random.key_data(jax.random.fold_in(one, 7)), jax.random.randint(two, (20,), -5, 100),
                           jax.random.bernoulli(one, 0.3, (40,)), jax.random.permutation(two, 11),
                           jax.random.uniform(key, (9,), np.float32), jax.random.normal(one, (9,), np.float64),
                           jax.random.categorical(two, jnp.log(jnp.arange(1.0, 8.0))),
                           jax.random.gamma(one, np.float32(2.5), (3,))]
        size = 2 if implementation == "threefry2x32" else 4
        return program, (np.arange(17, 17 + size, dtype=np.uint32),)
    return make


def fourier(dtype):
    def make():
        real = np.float32 if dtype == np.complex64 else np.float64

        def program(z, x):
            return [jnp.fft.fft(z), jnp.fft.ifft(z, axis=1), jnp.fft.fft2(z), jnp.fft.ifftn(z), jnp.fft.fftn(z),
                    jnp.fft.rfft(x), jnp.fft.irfft(z, n=8), jnp.fft.irfft(z, n=9), jnp.fft.rfftn(x),
                    jnp.fft.irfft2(jnp.fft.rfft2(x)), jax.grad(lambda v: jnp.sum(jnp.abs(jnp.fft.rfft(v)) ** 2))(x)]
        values = normal(3, 4, 5, dtype=np.float64) + 1j * normal(3, 4, 5, dtype=np.float64)
        return program, (values.astype(dtype), normal(3, 4, 6, dtype=real))
    return make


def positive_definite(dtype):
    a = normal(2, 4, 4, dtype=np.float64)
    a = a + 1j * normal(2, 4, 4, dtype=np.float64) if np.dtype(dtype).kind == "c" else a
    return a @ np.conj(np.swapaxes(a, 1, 2)) + 4 * np.eye(4)


def cholesky(dtype):
    """As JAX prints it for accelerators; on a CPU it is a call of LAPACK. The same is true of triangular_solve."""
    return lambda: (lax.linalg.cholesky, (positive_definite(dtype).astype(dtype),))


def triangular_solves(dtype):
    def make():
        def program(lower, b):
            solve = lax.linalg.triangular_solve
            upper = jnp.swapaxes(jnp.conj(lower), 1, 2)
            return [solve(lower, b, left_side=True, lower=True), solve(upper, b, left_side=True),
                    solve(lower, b, left_side=True, lower=True, transpose_a=True, conjugate_a=True),
                    solve(lower, jnp.swapaxes(b, 1, 2), lower=True, transpose_a=True),
                    solve(lower / 4, b, left_side=True, lower=True, unit_diagonal=True)]
        lower = np.linalg.cholesky(positive_definite(dtype))
        return program, (lower.astype(dtype), (normal(2, 4, 3) + normal(2, 4, 3)).astype(dtype))
    return make


def control_flow():
    def program(x, n, p):
        @jax.custom_jvp
        def softplus(v):
            return jnp.log1p(jnp.exp(v))

        softplus.defjvp(lambda primals, tangents: (softplus(*primals), tangents[0] * jax.nn.sigmoid(primals[0])))
        composed = lax.composite(lambda v, scale: jnp.tanh(v) * scale, name="test.scaled_tanh", version=2)
        switch = [lax.switch(i, [jnp.sin, jnp.cos, lambda v: v * 2], x) for i in (n, n - 9, n + 9)]
        return [lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 1.5), (0, x)),
                lax.fori_loop(0, n, lambda i, v: v.at[i % 3].add(1), x), lax.scan(lambda c, r: (c + r, c * r), x[0], x),
                lax.cond(p, jnp.exp, jnp.negative, x), lax.cond(~p, lambda v: v @ v.T, lambda v: v @ v.T + 1, x),
                switch,
                jax.vmap(lambda k: lax.while_loop(lambda s: s < k, lambda s: 2 * s + 1, 0))(jnp.array([0, 9, 100])),
                jax.vmap(lambda k, v: lax.cond(k, jnp.sin, jnp.cos, v))(x[:, 0] > 0, x), lax.map(jnp.cumsum, x),
                jax.grad(lambda v: jnp.sum(softplus(v)))(x), jax.grad(lambda v: lax.scan(
                    lambda c, r: (jnp.sin(c) * r, None), v[0], v)[0].sum())(x),
                composed(x, scale=np.float32(3)), lax.optimization_barrier((x, n)), jnp.clip(x, -1, 1),
                jax.jit(jax.nn.silu)(x), lax.while_loop(lambda v: jnp.any(v < 9), lambda v: v + 1, x)]
    return program, (normal(4, 3), np.int32(2), np.bool_(True))


def programs():
    for name, make, options in convolutions():
        yield f"convolution {name}", make, options
    for function in (products, mixed_products, reductions, cumulative, windows, sorts, gathers, scatters,
                     scatter_of_a_function, movement, control_flow):
        yield function.__name__.replace("_", " "), function, {}
    for dtype in (np.float32, ml_dtypes.bfloat16, np.int32):
        yield f"first extremes, {np.dtype(dtype).name}", arg_reductions(dtype), {}
    yield "ordered reductions", ordered_reductions, {}
    yield "gradients of branches", gradients_of_branches, {}
    yield "cumulative, by windows", cumulative, {"platform": "tpu"}
    algorithms = lax.RandomAlgorithm
    for algorithm in (algorithms.RNG_DEFAULT, algorithms.RNG_THREE_FRY, algorithms.RNG_PHILOX):
        yield f"random bits, {algorithm.name}", random_bits(algorithm), {}
    for implementation in ("threefry2x32", "rbg", "unsafe_rbg"):
        yield f"random numbers, {implementation}", random_numbers(implementation), {}
    for dtype in (np.complex64, np.complex128):
        yield f"fourier, {np.dtype(dtype).name}", fourier(dtype), {}
    for dtype in (np.float32, np.float64, np.complex64, np.complex128):
        yield f"cholesky, {np.dtype(dtype).name}", cholesky(dtype), {"platform": "tpu"}
        yield f"triangular solves, {np.dtype(dtype).name}", triangular_solves(dtype), {"platform": "tpu"}
