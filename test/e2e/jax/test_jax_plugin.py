"""The PJRT plugin with JAX on one simulated device: transfers, programs, errors, and conformance to the C API."""

import json
import os
import pathlib
import subprocess
import sys
import time

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from jax_plugin import setup

HERE = pathlib.Path(__file__).resolve().parent


def on_cpu(jax, function, *arguments):
    with jax.default_device(jax.devices("cpu")[0]):
        return jax.jit(function)(*arguments)


def agrees(function, *arguments, tolerance=1e-5):
    """Runs a function on the device and on JAX's CPU, with NumPy arguments."""
    import jax
    import numpy as np

    found, wanted = jax.jit(function)(*arguments), on_cpu(jax, function, *arguments)
    for f, w in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(np.asarray(f), np.asarray(w), rtol=tolerance, atol=tolerance)


def fails(error, text, run):
    """Expects an error whose message contains a text."""
    try:
        run()
    except error as found:
        st.expect(text in str(found), f"the error does not say {text!r}: {str(found)[:300]}")
        return
    raise st.Failure(f"expected {error.__name__} with {text!r}, found none")


def transfers(_):
    """Arrays of every type, also as views with strides, go to the device and come back."""
    import jax
    import ml_dtypes
    import numpy as np

    names = ["bool", "int4", "uint4", "float8_e4m3fn", "float8_e5m2", "bfloat16", "complex64", "complex128"]
    names += [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)] + ["float16", "float32", "float64"]
    for name in names:
        dtype = np.dtype(getattr(ml_dtypes, name, name))
        array = (np.arange(24) % 2).reshape(2, 3, 4).astype(dtype)
        for view in (array, array.T, array[:, ::2], array[:, :, :0], array[0, 0, 0]):
            back = np.asarray(jax.device_put(view))
            st.expect(back.dtype == dtype and back.shape == view.shape and back.tobytes() == view.tobytes(),
                      f"{name}{list(view.shape)} comes back as {back.dtype}{list(back.shape)}")
    return f"{len(names)} types"


def programs(_):
    """Gradients, loops, conditions, random numbers, decompositions and sorting."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((6, 8)).astype("f"), rng.standard_normal((8, 8)).astype("f")
    agrees(jax.grad(lambda w, x: jnp.sum(jnp.tanh(x @ w) ** 2)), w, x)
    agrees(lambda x: jax.lax.scan(lambda c, r: (0.9 * c + r, c.sum()), x[0], x), x)
    agrees(lambda n: jax.lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2), (0, 1.0)), np.int32(20))
    agrees(lambda p, x: jax.lax.cond(p, lambda x: x + 1, lambda x: x * 2, x), np.bool_(True), x)
    agrees(lambda: jax.random.normal(jax.random.key(3), (100,)), tolerance=2e-5)
    agrees(lambda x: (jnp.sort(x, axis=1), jnp.argmax(x, axis=0), jnp.cumsum(x, axis=1)), x)
    agrees(lambda w: jnp.lexsort(jnp.round(w)), w)
    # The program has a constant without elements, and others.
    agrees(jax.grad(lambda x: jnp.sum(jnp.cumprod(x, axis=1) / (2 + w[:1] ** 2))), x, tolerance=1e-4)
    agrees(lambda x: jax.lax.approx_max_k(x, 3), x)
    agrees(lambda z: jnp.fft.fft(z) * 1j, (x + 1j * x[::-1]).astype("complex64"), tolerance=1e-4)
    agrees(lambda w: jax.scipy.linalg.lu(w), w, tolerance=1e-4)
    agrees(lambda x: jnp.linalg.qr(x), x.T, tolerance=1e-4)
    agrees(lambda w: jnp.linalg.svd(w, compute_uv=False), w, tolerance=1e-4)
    agrees(lambda w: jnp.linalg.eigvalsh(w + w.T), w, tolerance=1e-4)
    agrees(lambda x, y: (x, y, x, jnp.zeros((0, 3)), jnp.float32(2)), x, x[:0])
    # One op at a time, without jit.
    a = jnp.asarray(x)
    np.testing.assert_allclose(np.asarray((a * 2 - 1).sum(axis=0) / 3), (x * 2 - 1).sum(axis=0) / 3, rtol=1e-5, atol=1e-5)


def whole_updates(_):
    """A kernel's result is updated as a whole: the index of the update has no component."""
    import jax.numpy as jnp
    import numpy as np

    x = np.arange(16, dtype="f").reshape(4, 4)
    agrees(lambda x: x.at[0:, 0:4].set(x * 2 * 2), x)
    agrees(lambda x: x.at[()].add(x * 3 * 2), x)
    agrees(lambda x: jnp.zeros((), "f").at[()].set(x[0, 1] * 2), x)


def updates_at_computed_positions(_):
    """Several rows, elements and rectangles at positions that the program computes."""
    import jax
    import numpy as np

    def update(x, y, i, j):
        return jax.lax.dynamic_update_slice(x, y, (i, j)[:x.ndim]), jax.lax.dynamic_slice(x, (i, j)[:x.ndim], y.shape)

    rng = np.random.default_rng(1)
    for whole, part in (((100,), (40,)), ((30, 40), (10, 40)), ((30, 40), (10, 20)), ((30, 40), (30, 7)), ((8, 64), (3, 64))):
        x, y = rng.standard_normal(whole).astype("f"), rng.standard_normal(part).astype("f")
        for i, j in ((0, 0), (5, 3), (99, 99), (-1, -7)):
            agrees(update, x, y, np.int32(i), np.int32(j))
    points = np.int32([[2], [0], [5]])
    numbers = jax.lax.ScatterDimensionNumbers((1,), (), (0,))
    agrees(lambda x, y: jax.lax.scatter_add(x, points, y, numbers), rng.standard_normal(50).astype("f"),
           rng.standard_normal((3, 40)).astype("f"))
    w = rng.standard_normal((3, 6, 9)).astype("f")
    for full in (False, True):
        u, s, v = jax.jit(lambda w: jax.numpy.linalg.svd(w, full_matrices=full))(w)
        np.testing.assert_allclose((u[..., :6] * s[:, None, :]) @ v[:, :6], w, rtol=1e-4, atol=1e-4)


def callbacks(_):
    """Programs call functions of Python, also in loops and conditions; an exception arrives where the result is read."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.experimental import io_callback

    x, seen = np.arange(6, dtype="f").reshape(2, 3), []
    np.testing.assert_allclose(jax.jit(lambda x: jax.pure_callback(np.sin, x, x * 2) + 1)(x), np.sin(x * 2) + 1, rtol=1e-5)
    jax.jit(lambda x: io_callback(lambda v: seen.append(float(v)), None, x.sum()))(x)
    jax.effects_barrier()
    st.expect(seen == [15], f"the callback has seen {seen}")

    def step(total, row):
        jax.debug.callback(lambda v: seen.append(float(v)), row.sum())
        return jax.lax.cond(row[0] > 0, lambda t: jax.pure_callback(lambda v: v + 10, t, t), lambda t: t, total) + row, total

    total, totals = jax.jit(lambda x: jax.lax.scan(step, jnp.zeros(3), x))(x)
    jax.effects_barrier()
    np.testing.assert_allclose(np.asarray(total), x.sum(axis=0) + 10)
    np.testing.assert_allclose(np.asarray(totals), [np.zeros(3), x[0]])
    st.expect(seen == [15, 3, 12], f"the callbacks have seen {seen}")

    def fail(_):
        raise ValueError("no such luck")

    fails(jax.errors.JaxRuntimeError, "no such luck",
          lambda: np.asarray(jax.jit(lambda x: jax.pure_callback(fail, x, x))(x)))


def ordered_callbacks(_):
    """Ordered callbacks run in the order of the program, also within loops and between calls."""
    import jax
    import numpy as np
    from jax.experimental import io_callback

    seen = []

    @jax.jit
    def step(n):
        io_callback(lambda v: seen.append(int(v)), None, n, ordered=True)
        jax.lax.fori_loop(0, n, lambda i, c: (io_callback(lambda v: seen.append(int(v)), None, -i, ordered=True), c)[1], 0)
        return io_callback(lambda v: np.float32(len(seen)), jax.ShapeDtypeStruct((), "float32"), n, ordered=True)

    results = [float(step(n)) for n in (2, 3)]
    jax.effects_barrier()
    st.expect(seen == [2, 0, -1, 3, 0, -1, -2] and results == [3, 7], f"the callbacks have seen {seen}, return {results}")


def small_types(_):
    """Arithmetic on integers of 2 and 4 bits and on floats of 4 to 8 bits is that of ml_dtypes."""
    import jax
    import jax.numpy as jnp
    import ml_dtypes
    import numpy as np

    names = [name for name in dir(ml_dtypes) if name.startswith(("float8", "float4", "int2", "int4", "uint2", "uint4"))]
    for name in names:
        dtype = np.dtype(getattr(ml_dtypes, name))
        x = np.arange(2**(8 if name.startswith("float8") else int(name[-1]) if "int" in name else 4), dtype="u1")
        # The smallest number of e8m0, which has code 0, is subnormal in f32.
        x = np.roll(x, 1).view(dtype)[2 if "e8m0" in name else 0:]
        y = x[::-1]
        with np.errstate(all="ignore"):
            wanted = [x.astype("f"), x + y, (x.astype("f") * np.float32(0.37)).astype(dtype)]
        # A float out of range of an integer type has no meaning. Between powers of two, no number is even.
        kept = (0, 1) if "int" in name else (0, 2) if "e8m0" in name else (0, 1, 2)
        wanted = [wanted[i] for i in kept]

        def add(x, y, kept=kept):
            made = [x.astype("f"), x + y, (x.astype("f") * jnp.float32(0.37)).astype(x.dtype)]
            return [made[i] for i in kept]

        for f, w in zip(jax.jit(add)(x, y), wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(f).astype("f"), w.astype("f"), err_msg=name)
    i4 = np.arange(16, dtype="i1").astype(ml_dtypes.int4).reshape(4, 4)
    np.testing.assert_array_equal(
        jax.lax.dot(i4, i4, preferred_element_type=jnp.int32), i4.astype("i4") @ i4.astype("i4"))
    bits = jax.lax.bitcast_convert_type(np.arange(8, dtype="i1"), jnp.int4)
    np.testing.assert_array_equal(jax.lax.bitcast_convert_type(bits, jnp.int8), np.arange(8))
    return f"{len(names)} types"


def special_values(_):
    """Floats out of the range of small integers, parts without elements, and complex quotients with infinities."""
    import jax
    import jax.numpy as jnp
    import ml_dtypes
    import numpy as np

    x = np.array([-np.inf, -100, -8.9, -1, 0, 7.5, 8, 100, np.inf, np.nan], "f")
    for dtype, least, most in ((jnp.int4, -8, 7), (jnp.uint4, 0, 15), (jnp.int2, -2, 1)):
        wanted = np.trunc(np.clip(np.nan_to_num(x, posinf=1e9, neginf=-1e9), least, most))
        np.testing.assert_array_equal(jax.jit(lambda x, dtype=dtype: x.astype(dtype).astype(int))(x), wanted)
    eighths = np.arange(6, dtype="f").reshape(3, 2).astype(ml_dtypes.float8_e4m3fn)
    none = np.zeros((3, 0), eighths.dtype)
    for parts in ((eighths, none), (none, eighths), (eighths, none, eighths)):
        joined = np.asarray(jax.jit(lambda *parts: jnp.concatenate(parts, 1))(*parts))
        np.testing.assert_array_equal(joined.astype("f"), np.concatenate(parts, 1).astype("f"))
    # Products with a scale for each block of 32 numbers.
    random = np.random.default_rng(st.run_seed())
    m, n = (random.integers(-4, 5, (2, rows, 64)).astype(ml_dtypes.float8_e4m3fn) for rows in (4, 8))
    p, q = (2.0 ** random.integers(-2, 3, (2, rows, 2)) for rows in (4, 8))
    wanted = np.einsum("bmk,bnk->bmn", m.astype("f") * p.repeat(32, 2), n.astype("f") * q.repeat(32, 2))
    scales = [scale.astype(ml_dtypes.float8_e8m0fnu) for scale in (p, q)]
    np.testing.assert_array_equal(jax.jit(jax.nn.scaled_matmul)(m, n, *scales), wanted)
    a = np.array([1 + 2j, complex(np.inf, 1), complex(1, -np.inf), 1 - 1j, complex(np.inf, np.inf)])
    b = np.array([complex(np.inf, np.inf), 2 - 1j, 1 + 1j, complex(-np.inf, 1), complex(np.inf, 0)])
    agrees(lambda a, b: ((a / b).real, (a / b).imag), a, b)


def precise_products(_):
    """A product of f32 numbers by an algorithm that splits them is more precise than one that rounds them to bf16."""
    import jax
    import numpy as np

    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((6, 8)).astype("f"), rng.standard_normal((8, 4)).astype("f")
    errors = []
    for name in ("BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6"):
        product = jax.lax.dot(a, b, precision=getattr(jax.lax.DotAlgorithmPreset, name))
        errors.append(float(np.abs(product - a.astype("d") @ b).max()))
    st.expect(errors[0] > 1e-3 and max(errors[1:]) < 1e-4, f"the errors are {errors}")


def promotion(_):
    """The user's rules for promotion do not concern how primitives are lowered."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    x = np.random.default_rng(3).standard_normal((4, 4)).astype("f")
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        for function in (jnp.linalg.eigh, jnp.linalg.qr, jnp.linalg.svd, jax.scipy.linalg.lu, jnp.linalg.eigvals):
            sizes = lambda x, f=function: [jnp.sort(jnp.abs(y), None) for y in jax.tree.leaves(f(x + x.T))]
            agrees(sizes, x, tolerance=1e-4)
        agrees(lambda x: jax.lax.approx_max_k(x, 2)[0], x)


def host_decompositions(_):
    """LAPACK on the host decomposes general matrices, also in batches and inside of loops."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    x = np.random.default_rng(2).standard_normal((3, 5, 5))
    values, left, right = jax.jit(jax.lax.linalg.eig)(x)
    np.testing.assert_allclose(x @ np.asarray(right), np.asarray(right) * np.asarray(values)[:, None], atol=1e-10)
    adjoint = np.conj(np.swapaxes(left, -1, -2))
    np.testing.assert_allclose(adjoint @ x, np.asarray(values)[..., None] * adjoint, atol=1e-10)
    triangle, basis = jax.scipy.linalg.schur(x[0])
    np.testing.assert_allclose(basis @ triangle @ basis.T, x[0], atol=1e-10)
    shape, basis = jax.scipy.linalg.hessenberg(x[1], calc_q=True)
    np.testing.assert_allclose(basis @ shape @ basis.T, x[1], atol=1e-10)
    shape, basis = jax.scipy.linalg.hessenberg(x[:, :1, :1], calc_q=True)
    np.testing.assert_allclose(basis * shape, x[:, :1, :1])
    q, r, order = jax.scipy.linalg.qr(x[2], pivoting=True)
    np.testing.assert_allclose(q @ r, x[2][:, np.asarray(order)], atol=1e-10)
    traces = jax.lax.map(lambda m: jnp.linalg.eigvals(m).sum().real, x)
    np.testing.assert_allclose(traces, np.trace(x, axis1=1, axis2=2), atol=1e-10)


def one_device(_):
    """Collectives of one device, and functions without arguments or results."""
    import jax
    import numpy as np
    from jax.sharding import PartitionSpec as P

    x = np.arange(3, dtype="f")
    np.testing.assert_array_equal(jax.pmap(lambda x: jax.lax.psum(x, "i") + jax.lax.axis_index("i"), "i")(x[None]), x[None])
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("i",))
    shift = jax.shard_map(lambda x: jax.lax.ppermute(x, "i", [(0, 0)]), mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    np.testing.assert_array_equal(jax.jit(shift)(x), x)
    st.expect(jax.jit(lambda: ())() == () and jax.jit(lambda x: ())(x) == (), "there is no result")


def complex_functions(_):
    """Inverse functions of huge, infinite and signed-zero numbers; tangents at infinity; real arguments that overflow."""
    import jax.numpy as jnp
    import numpy as np

    for name in ("complex64", "complex128"):
        large = float(np.finfo(name).max)
        parts = np.array([-np.inf, -large, -1e25, -1.5, -0.3, 0.0, 0.5, 1e25, large, np.inf])
        z = np.empty((10, 10), name)
        z.real, z.imag = parts[None, :], parts[:, None]
        for function in (jnp.arccos, jnp.arcsin, jnp.arccosh, jnp.arcsinh, jnp.arctanh, jnp.tan):
            agrees(lambda z, function=function: (function(z).real, function(z).imag), z, tolerance=1e-6)
        # The products of these are infinity times 0.
        x = np.array([-np.inf, -1e5, 2, 1e5, np.inf]).astype(name)
        agrees(lambda x: [jnp.stack([f(x).real, f(x).imag]) for f in (jnp.sinh, jnp.cosh)], x, tolerance=1e-6)


def memories(_):
    """Arrays in the host's memory, which take no room on the device, as arguments and results of programs."""
    import jax
    import numpy as np
    from jax.sharding import SingleDeviceSharding

    device, x = jax.devices()[0], np.arange(1 << 16, dtype="f")
    kinds = [memory.kind for memory in device.addressable_memories()]
    st.expect(kinds == ["device", "pinned_host", "unpinned_host"] and device.default_memory().kind == "device", f"{kinds}")
    home, before = SingleDeviceSharding(device), device.memory_stats()["bytes_in_use"]
    for kind in kinds[1:]:
        there = SingleDeviceSharding(device, memory_kind=kind)
        kept = jax.device_put(x, there)
        st.expect(kept.sharding.memory_kind == kind, f"the array is in {kept.sharding.memory_kind}")
        st.expect(device.memory_stats()["bytes_in_use"] == before, "an array on the host takes room on the device")
        back = jax.device_put(kept, home)
        st.expect(back.sharding.memory_kind == "device", f"the copy is in {back.sharding.memory_kind}")
        np.testing.assert_array_equal(back, x)
        moved = jax.jit(lambda x: jax.device_put(x, home) * 2, out_shardings=there)
        result = moved(kept)
        st.expect(result.sharding.memory_kind == kind, f"the result is in {result.sharding.memory_kind}")
        np.testing.assert_array_equal(result, x * 2)
        sizes = moved.lower(kept).compile().memory_analysis()
        st.expect(sizes.host_argument_size_in_bytes == sizes.host_output_size_in_bytes == x.nbytes, f"{sizes}")
        del back
    fails(ValueError, "device, pinned_host, unpinned_host", lambda: SingleDeviceSharding(device, memory_kind="hbm"))


def layouts(_):
    """Arrays whose dimensions have another order in memory, as arguments and results of programs."""
    import ctypes

    import jax
    import numpy as np
    from jax.experimental.layout import Format, Layout, with_layout_constraint

    x, home = np.arange(24, dtype="f").reshape(2, 3, 4), jax.sharding.SingleDeviceSharding(jax.devices()[0])
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1)):
        turned = jax.device_put(x, Format(Layout(order), home))
        st.expect(turned.format.layout.major_to_minor == order, f"the array has {turned.format}")
        np.testing.assert_array_equal(turned, x)
        bytes_there = ctypes.string_at(turned.unsafe_buffer_pointer(), x.nbytes)
        st.expect(bytes_there == x.transpose(order).tobytes(), f"the bytes in memory are not in the order {order}")
        np.testing.assert_array_equal(jax.jit(lambda x: x.T * 2)(turned), x.T * 2)
        np.testing.assert_array_equal(turned + 1, x + 1)
        made = jax.jit(lambda x: with_layout_constraint(x + 1, Layout(order)), out_shardings=Format(Layout(order), home))(x)
        st.expect(made.format.layout.major_to_minor == order, f"the result has {made.format}")
        np.testing.assert_array_equal(made, x + 1)


def donation(_):
    """Donated arrays are deleted, and an error names them if they are used again."""
    import jax
    import numpy as np

    step = jax.jit(lambda a, b: (a + b, b * 2), donate_argnums=0)
    a, b = jax.device_put(np.ones((64, 64), "f")), jax.device_put(np.ones((64, 64), "f"))
    before = jax.devices()[0].memory_stats()["bytes_in_use"]
    total, _ = step(a, b)
    st.expect(a.is_deleted() and not b.is_deleted(), "the first argument, and it alone, is to be deleted")
    fails(RuntimeError, "Array has been deleted", lambda: np.asarray(a))
    np.testing.assert_array_equal(np.asarray(total), 2)
    del _
    # The thread of the execution may still have the last reference to the product.
    deadline = time.time() + 10
    while (after := jax.devices()[0].memory_stats()["bytes_in_use"]) > before and time.time() < deadline:
        time.sleep(0.01)
    st.expect(after <= before, f"{after} bytes are in use, {before} were before: the sum is where the argument was")


def errors(_):
    """Operations that the device does not support are refused by name."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    error = jax.errors.JaxRuntimeError
    unknown = jax.ffi.ffi_call("nothing", jax.ShapeDtypeStruct((4,), jnp.float32))
    fails(error, "stablehlo.custom_call", lambda: jax.jit(unknown)(np.ones(4, "f")))
    misspelt = {"ulra_fast": True}
    fails(error, "No such compile option: 'ulra_fast'", lambda: jax.jit(lambda x: x, compiler_options=misspelt)(1.0))
    flag = "xla_embed_ir_in_executable"
    fails(error, f"While setting option {flag}, 'perhaps' is not a valid bool value",
          lambda: jax.jit(lambda x: x, compiler_options={flag: "perhaps"})(1.0))
    np.testing.assert_array_equal(jax.jit(lambda x: x, compiler_options={flag: True})(1.0), 1)
    fails(error, "RESOURCE_EXHAUSTED: Out of memory", lambda: jax.device_put(np.broadcast_to(np.float32(1), (1 << 31,))))
    # The device is still usable.
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda x: x + 1)(np.ones(3, "f"))), 2)


def nan_debugging(_):
    """jax_debug_nans finds the op that makes a NaN."""
    import jax
    import jax.numpy as jnp

    with jax.debug_nans(True):
        fails(FloatingPointError, "nan", lambda: jnp.log(jnp.float32(-1.0)))


def executables(_):
    """Properties of a compiled function; it can be serialised and loaded."""
    import jax
    import numpy as np
    from jax.experimental import serialize_executable

    x = np.eye(8, dtype="f")
    compiled = jax.jit(lambda x: x @ x + 1).lower(x).compile()
    st.expect(compiled.memory_analysis().argument_size_in_bytes == 256, "the argument has 256 bytes")
    st.expect("dot" in compiled.as_text(), "the program's text has a product")
    costs = compiled.cost_analysis()
    st.expect(costs["flops"] == 2 * 8**3 + 64 and costs["bytes accessed"] == 512, f"{costs}")
    looped = jax.jit(lambda x: jax.lax.fori_loop(0, 20, lambda _, y: jax.numpy.exp(y) @ x, x)).lower(x).compile()
    costs = looped.cost_analysis()
    st.expect(costs["transcendentals"] == 20 * 64 and 20 * 2 * 8**3 <= costs["flops"] < 20 * 2 * 8**3 + 200, f"{costs}")
    payload, inputs, outputs = serialize_executable.serialize(compiled)
    loaded = serialize_executable.deserialize_and_load(payload, inputs, outputs, execution_devices=jax.devices()[:1])
    np.testing.assert_array_equal(np.asarray(loaded(x)), x + 1)


def simulated_time(_):
    """st.last_step describes the last program: its work can be counted by hand."""
    import jax
    import numpy as np
    from jax_plugins import st as plugin

    x = np.ones((64, 64), "f")
    jax.jit(lambda x: x @ x)(x).block_until_ready()
    step = plugin.last_step(timeline=True)
    st.expect(step["flops"] == 2 * 64**3, f"{step['flops']} FLOPs, not {2 * 64**3}")
    st.expect(step["seconds"] >= step["lower_bound_seconds"] > 0, f"it takes {step['seconds']} s")
    ends = max(span["start"] + span["seconds"] for span in step["timeline"])
    st.expect(0 < ends <= step["seconds"] * 1.0001, f"the timeline ends at {ends} s of {step['seconds']}")
    return f"{step['seconds'] * 1e6:.2f} us"


def run_python(code, **others):
    done = subprocess.run([sys.executable, "-c", code], env=setup.environment(1, **others), capture_output=True, text=True,
                          timeout=300)
    st.expect(done.returncode == 0, f"python ends with {done.returncode}: {done.stderr[-800:]}")
    return done.stdout


def caches(folder):
    """JAX's cache of compiled functions on disk works in the next process."""
    code = """
import jax, numpy as np
from jax._src import monitoring
hits = []
monitoring.register_event_listener(lambda name, **_: hits.append(name) if "cache_hit" in name else None)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
jax.config.update("jax_raise_persistent_cache_errors", True)
print(float(jax.jit(lambda x: (x * 3).sum())(np.ones(4, "f"))), len(hits))
# A function that calls back is not stored, which is no error.
jax.jit(lambda x: jax.pure_callback(lambda x: x, x, x))(np.ones(4, "f")).block_until_ready()
"""
    found = [run_python(code, JAX_COMPILATION_CACHE_DIR=str(folder / "cache")).split() for _ in range(2)]
    st.expect(found == [["12.0", "0"], ["12.0", "1"]], f"sums and hits are {found}")


def pages(folder):
    """ST_REPORT and ST_EXPLAIN write a file for each compiled function."""
    run_python("import jax, numpy as np; jax.jit(lambda x: x @ x)(np.ones((8, 8), 'f'))",
               ST_REPORT=str(folder / "report"), ST_EXPLAIN=str(folder / "explain"))
    for name, suffix in (("report", ".html"), ("explain", ".txt")):
        files = list((folder / name).glob(f"*{suffix}"))
        st.expect(files and all(file.stat().st_size > 100 for file in files), f"{name} holds {files}")


def wrong_options(_):
    """Wrong settings in the environment are named."""
    for name, value, text in (("ST_DEVICES", "many", "ST_DEVICES=many"), ("ST_TARGET", "dtu-x", "ST_TARGET=dtu-x"),
                              ("ST_DEVICES", "100000", "at most 640")):
        out = run_python("import jax\ntry: jax.devices('st')\nexcept RuntimeError as error: print(error)", **{name: value})
        st.expect(text in out, f"{name}={value} gives {out[:300]!r}")


def host_platform(_):
    """JAX's CPU, on which callbacks get their arguments, starts with the platform; JAX's options stay as they are."""
    found = run_python("""
import jax, numpy as np
double = jax.jit(lambda x: jax.pure_callback(lambda x: 2 * x, x, x))
print(float(double(np.float32(3))), jax.default_backend(), jax.config.jax_platforms, len(jax.devices("cpu")))
""", JAX_PLATFORMS="st")
    st.expect(found.split() == ["6.0", "st", "st", "1"], f"a process prints {found!r}")


def gpu_programs(_):
    """Programs of the CUDA backend on the host; without a driver the error of a GPU says what is missing."""
    code = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
x = np.arange(16, dtype="f").reshape(4, 4)
mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("x", "y"))
try:
    a = jax.device_put(x, NamedSharding(mesh, P("x", "y")))
    total = jax.jit(jax.shard_map(lambda a: jax.lax.psum(a, "x"), mesh=mesh, in_specs=P("x", "y"), out_specs=P(None, "y")))
    step = jax.jit(jax.value_and_grad(lambda x: jnp.tanh(x @ x / 100).sum()))
    print(jax.devices()[0].device_kind, np.array_equal(total(a), x[:2] + x[2:]), np.array_equal(jax.jit(lambda a: a @ a)(a), x @ x),
          jnp.sort(-x, axis=0)[0, 0], round(float(step(x)[0]), 4))
except jax.errors.JaxRuntimeError as error:
    print(error)
"""
    found = run_python(code, ST_TARGET="cuda-host", ST_DEVICES="4")
    st.expect(found.split() == ["cuda-host", "True", "True", "-12.0", "14.0365"], f"the host computes {found!r}")
    found = run_python(code, ST_TARGET="cuda-sm_90", ST_DEVICES="4", ST_CUDA_LIBRARIES="/nowhere")
    st.expect("libcuda.so.1 is missing" in found or found.startswith("cuda-sm_90 True True"), f"a GPU says {found!r}")


def work_in_flight(_):
    """A process that exits while the device works exits cleanly."""
    run_python("""
import jax, jax.numpy as jnp
f = jax.jit(lambda x: x @ x * 1e-3)
x = jnp.ones((512, 512))
for _ in range(50): x = f(x)
""")


def conformance(_):
    """No test of pypjrt's harness fails."""
    library = setup.environment(1)["ST_PJRT_PLUGIN"]
    done = st.run([sys.executable, "-m", "pypjrt.conform", library, "-v"], env=setup.environment(4))
    line = next((line for line in done.stdout.splitlines() if "FAIL" in line and "pass" in line), "")
    st.expect(done.returncode == 0 and "0 FAIL" in line, done.stdout[-1500:] + done.stderr[-500:])
    return line.strip()


def primitives(folder):
    """A sample of JAX's cases of all primitives; ST_ALL=1 runs all of them."""
    out = folder / "cases.jsonl"
    done = st.run([sys.executable, HERE / "jax_plugin/primitive_cases.py", "--every=190", "--processes=1", f"--out={out}"],
                  env=setup.environment(1), timeout=7200)
    st.expect(out.exists(), done.stderr[-800:])
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    failed = [f"{line['name']}: {line['why']}" for line in lines if line["outcome"] == "failed"]
    if os.environ.get("ST_ALL"):
        print(done.stdout)
    passed = sum(line["outcome"] == "passed" for line in lines)
    st.expect(passed >= 0.99 * (passed + len(failed)), f"{passed} pass, but not {'; '.join(failed)}")
    return f"{passed} of {passed + len(failed)}"


CASES = [transfers, programs, whole_updates, updates_at_computed_positions, callbacks, ordered_callbacks, small_types,
         special_values, precise_products, promotion, host_decompositions, complex_functions, one_device, memories, layouts,
         donation, errors, nan_debugging, executables, simulated_time, caches, pages, wrong_options, host_platform,
         gpu_programs, work_in_flight, conformance, primitives]


if __name__ == "__main__":
    if not setup.has_jax():
        sys.exit(0)
    setup.use(devices=2)
    import jax

    jax.config.update("jax_enable_x64", True)
    sys.exit(st.main(*((case.__name__.replace("_", " "), case) for case in CASES)))
