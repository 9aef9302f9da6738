"""The PJRT plugin with JAX on several simulated devices: shardings, collectives, donation, placement, a training step."""

import functools
import pathlib
import re
import subprocess
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from jax_plugin import setup

ROOT = pathlib.Path(__file__).resolve().parents[3]


def mesh_of(*shape, order=None):
    import jax
    import numpy as np
    from jax.sharding import Mesh

    count = int(np.prod(shape))
    devices = np.array(jax.devices()[:count])
    return Mesh((devices if order is None else devices[list(order)]).reshape(shape), ("x", "y")[:len(shape)])


def put(array, mesh, *spec):
    import jax
    from jax.sharding import NamedSharding, PartitionSpec

    return jax.device_put(array, NamedSharding(mesh, PartitionSpec(*spec)))


def same(found, wanted):
    import numpy as np

    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5, atol=1e-5)


def matrix(rows=8, columns=8):
    import numpy as np

    return np.arange(rows * columns, dtype="f").reshape(rows, columns) / 7


def shardings(_):
    """Shardings of results, given and open; each device holds its part."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import NamedSharding, PartitionSpec as P

    mesh, x = mesh_of(2, 2), matrix()
    a = put(x, mesh, "x", "y")
    doubled = jax.jit(lambda a: a * 2)(a)
    same(doubled, x * 2)
    st.expect(doubled.sharding.spec == P("x", "y"), f"a product by a number is {doubled.sharding}")
    turned = jax.jit(lambda a: a.T, out_shardings=NamedSharding(mesh, P(None, "x")))(a)
    same(turned, x.T)
    for shard in turned.addressable_shards:
        same(shard.data, x.T[shard.index])
    product = jax.jit(lambda a, b: a @ b)(a, put(x, mesh, "y", None))
    same(product, x @ x)
    moved = jax.jit(lambda a: jax.lax.with_sharding_constraint(a + 1, NamedSharding(mesh, P(None, "y"))))(a)
    same(moved, x + 1)
    # As on JAX's CPU: a result's dimensions, pieces that do not divide, operands that disagree, a batch of library calls.
    b, c = put(x, mesh, "x"), put(np.tile(np.eye(4, dtype="f"), (2, 1, 1)), mesh, "y")
    for function, arguments, wanted in ((lambda a: a @ a, [a], P("x", "y")), (lambda a: jnp.roll(a, 1, 0), [b], P("x")),
                                        (lambda a: a + a.T, [a], P()), (lambda a, b: b[jnp.argmax(a, 1)], [a, b], P("x")),
                                        (jnp.linalg.cholesky, [c], P("y")), (lambda a, b: a.T @ b, [a, b], P("y"))):
        found = jax.jit(function)(*arguments)
        same(found, function(*map(np.asarray, arguments)))
        st.expect(found.sharding.is_equivalent_to(NamedSharding(mesh, wanted), found.ndim), f"{found.sharding} for {wanted}")
    # This one has no given sharding, and does not divide.
    same(jax.jit(lambda a: a[1:6, 2:])(a), x[1:6, 2:])
    same(jax.jit(lambda a: a * 2)(put(x, mesh)), x * 2)
    same((a + 1).sum(axis=0), (x + 1).sum(axis=0))


def shard_maps(_):
    """Functions on shards, with every collective."""
    import jax
    import ml_dtypes
    import numpy as np
    from jax import lax
    from jax.sharding import PartitionSpec as P

    mesh, x = mesh_of(2, 2), matrix()
    mapped = functools.partial(jax.shard_map, mesh=mesh, check_vma=False)
    same(jax.jit(mapped(lambda a: lax.psum(a, "x"), in_specs=P("x", "y"), out_specs=P(None, "y")))(x), x[:4] + x[4:])
    same(jax.jit(mapped(lambda a: lax.all_gather(a, "x", tiled=True), in_specs=P("x"), out_specs=P()))(x), x)
    same(jax.jit(mapped(lambda a: lax.ppermute(a, "x", [(0, 1), (1, 0)]), in_specs=P("x"), out_specs=P("x")))(x),
         np.concatenate([x[4:], x[:4]]))
    same(jax.jit(mapped(lambda a: lax.psum_scatter(a, "y", tiled=True), in_specs=P(None, "y"), out_specs=P("y")))(x),
         x[:, :4] + x[:, 4:])
    same(jax.jit(mapped(lambda a: lax.all_to_all(a, "x", 1, 0, tiled=True), in_specs=P("x"), out_specs=P(None, "x")))(x), x)
    numbers = jax.jit(mapped(lambda a: a * 0 + 2 * lax.axis_index("x") + lax.axis_index("y"), in_specs=P("x", "y"),
                             out_specs=P("x", "y")))(x)
    same(numbers, np.kron(np.arange(4).reshape(2, 2), np.ones((4, 4))))
    same(jax.pmap(lambda a: lax.psum(a, "i"), axis_name="i", devices=jax.devices()[:4])(np.arange(4.0, dtype="f")),
         np.full(4, 6))
    # Shards have separate types in the bytecode.
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e8m0fnu", "float4_e2m1fn", "int4"):
        small = np.array([1, 2, 4, 2], dtype=getattr(ml_dtypes, name))
        turned = jax.jit(mapped(lambda a: a[::-1], in_specs=P("x"), out_specs=P("x")))(small)
        same(np.asarray(turned).astype("f"), [2, 1, 2, 4])


def agree_on_shards(function, array):
    """Runs a function of a shard on the devices and, shard by shard, on JAX's CPU; it moves nothing between shards."""
    import jax
    import numpy as np
    from jax.sharding import PartitionSpec as P

    found = jax.jit(jax.shard_map(function, mesh=mesh_of(4), in_specs=P("x"), out_specs=P("x"), check_vma=False))(array)
    with jax.default_device(jax.devices("cpu")[0]):
        parts = [np.asarray(jax.jit(function)(part)) for part in np.split(array, 4)]
    same(found, np.concatenate(parts))


def shards_that_differ(_):
    """Loops, conditions and ops whose results differ between shards; nested and regrouped collectives."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax import lax
    from jax.sharding import PartitionSpec as P

    x = matrix()
    for function in (lambda a: lax.cond(a[0, 0] > 3, jnp.sin, lambda a: a * 2, a),
                     lambda a: lax.while_loop(lambda s: s.sum() < 100, lambda s: s * 1.5 + 1, a),
                     lambda a: jnp.sort(a, 1)[:, ::-1],
                     lambda a: a + jax.random.normal(jax.random.key(a[0, 0].astype(jnp.uint32)), a.shape),
                     lambda a: lax.conv(a[None, None], a[None, None, :1, :3], (1, 1), "SAME")[0, 0],
                     lambda a: lax.pad(a, a[1, 1], ((0, 0, 0), (1, -1, 0)))):
        agree_on_shards(function, x)
    mesh = mesh_of(2, 4)
    nested = jax.shard_map(lambda a: jax.shard_map(lambda b: lax.psum(b, "y"), in_specs=P(None, "y"), out_specs=P(),
                                                   axis_names={"y"})(a),
                           mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    same(jax.jit(nested)(x), x.reshape(8, 4, 2).sum(1))
    pairs = jax.shard_map(lambda a: lax.psum(a, "y", axis_index_groups=[[0, 3], [1, 2]]), mesh=mesh, in_specs=P("x", "y"),
                          out_specs=P("x", "y"), check_vma=False)
    columns = x.reshape(8, 4, 2)
    same(jax.jit(pairs)(x), (columns + columns[:, ::-1]).reshape(8, 8))
    # The number of trips is not known, so that no device sends within the loop.
    until = jax.shard_map(lambda a: lax.while_loop(lambda s: lax.pmax(s.max(), ("x", "y")) < 1000, lambda s: s * 2 + 1, a),
                          mesh=mesh, in_specs=P("x", "y"), out_specs=P("x", "y"))
    wanted = x
    while wanted.max() < 1000:
        wanted = wanted * 2 + 1
    same(jax.jit(until)(x), wanted)


def copies_that_differ(_):
    """Results that a shard_map declares replicated, and that are not: each device has a different value, as on JAX's CPU."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax import lax
    from jax.sharding import PartitionSpec as P

    mesh, x = mesh_of(4, 2), matrix()
    mapped = functools.partial(jax.shard_map, mesh=mesh, out_specs=P(), check_vma=False)

    def expect(array, wanted):
        for shard, own in zip(array.addressable_shards, wanted, strict=True):
            same(shard.data, own)
        same(array, wanted[0])

    halves = mapped(lambda a: a * 2, in_specs=P("x"))
    parts = np.repeat(x.reshape(4, 2, 8), 2, axis=0)
    expect(jax.jit(halves)(x), parts * 2)
    expect(jax.jit(lambda a: jnp.sort(-halves(a)))(x), np.sort(-parts * 2))
    expect(jax.jit(mapped(lambda a: lax.axis_index(("x", "y"))[None], in_specs=P("x")))(x), np.arange(8)[:, None])
    complex_parts = jax.jit(mapped(lambda a: a + 1j, in_specs=P("x", "y")))(x)
    expect(complex_parts, x.reshape(4, 2, 2, 4).swapaxes(1, 2).reshape(8, 2, 4) + 1j)
    # Weights that each device trains on its rows, and finally their mean.
    train = mapped(lambda w, a: w - jax.grad(lambda w: jnp.mean((a @ w - 1) ** 2))(w), in_specs=(P(), P("x")))
    weights, wanted = np.zeros((8, 1), "f"), [np.zeros((8, 1), "f")] * 8
    for _ in range(3):
        weights = jax.jit(lambda w, a: lax.fori_loop(0, 2, lambda _, w: train(w, a), w))(weights, x / 9)
        for _ in range(2):
            wanted = [w - part.T @ (part @ w - 1) for w, part in zip(wanted, parts / 9)]
    expect(weights, wanted)
    expect(jax.jit(mapped(lambda w: lax.pmean(w, "x"), in_specs=P()))(weights), [np.mean(wanted, axis=0)] * 8)


def several_meshes(_):
    """Two meshes in a program, also with the devices in another order; arrays of complex numbers."""
    import jax
    from jax.sharding import NamedSharding, PartitionSpec as P

    x, one, other = matrix(), mesh_of(2, 4), mesh_of(4, 2)
    product = jax.jit(lambda a, b: a @ b, out_shardings=NamedSharding(other, P("y", "x")))
    same(product(put(x, one, "x", "y"), put(x, other, "x", "y")), x @ x)
    turned = mesh_of(4, 2, order=[7, 5, 3, 1, 0, 2, 4, 6])
    moved = jax.device_put(put(x, one, "y", "x"), NamedSharding(turned, P("x")))
    for shard in moved.addressable_shards:
        same(shard.data, x[shard.index])
    z = put(x + 1j * x.T, one, "x", "y")
    same(jax.jit(lambda z: z * z, out_shardings=NamedSharding(one, P("y", "x")))(z), (x + 1j * x.T) ** 2)


def placement(_):
    """Devices other than the first, in another order; copies between devices; donation on several devices."""
    import jax

    x, devices = matrix(), jax.devices()
    a = jax.device_put(x, devices[3]) + 1
    st.expect(a.devices() == {devices[3]}, f"the sum is on {a.devices()}")
    same(jax.device_put(a, devices[5]), x + 1)
    b = put(x, mesh_of(4, order=[2, 0, 3, 1]), "x")
    same(jax.jit(lambda b: b.T @ b)(b), x.T @ x)
    for shard in jax.jit(lambda b: b + 1)(b).addressable_shards:
        same(shard.data, x[shard.index] + 1)
    step = jax.jit(lambda a, b: a + b, donate_argnums=0)
    c, d = put(x, mesh_of(2, 2), "x", "y"), put(x, mesh_of(2, 2), "x", "y")
    same(step(c, d), x + x)
    st.expect(c.is_deleted() and not d.is_deleted(), "the donated argument, and it alone, is to be deleted")


def loops(_):
    """A scan over layers, and a gradient through it, on sharded weights."""
    import jax
    import jax.numpy as jnp

    mesh, x = mesh_of(2, 2), matrix() / 9
    weights = jnp.stack([x + i / 10 for i in range(3)])

    def loss(w, a):
        return jnp.mean(jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), None), a, w)[0] ** 2)

    wanted = jax.jit(jax.grad(loss))(weights, jnp.asarray(x))
    found = jax.jit(jax.grad(loss))(put(weights, mesh, None, None, "y"), put(x, mesh, "x"))
    same(found, wanted)


def several_meshes_of_time(_):
    """Simulated time includes the transfers between devices."""
    import jax
    from jax.sharding import NamedSharding, PartitionSpec as P
    from jax_plugins import st as plugin

    mesh = mesh_of(4)
    a = put(matrix(64, 64), mesh, "x")
    jax.jit(lambda a: a + 1, out_shardings=NamedSharding(mesh, P()))(a).block_until_ready()
    step = plugin.last_step()
    # In a ring each of four devices sends three of four parts.
    st.expect(step["devices"] == 4 and step["sent_bytes"] == 4 * 3 * 16 * 64 * 4, f"it sends {step['sent_bytes']} bytes")
    return f"{step['sent_bytes']} bytes in {step['seconds'] * 1e6:.2f} us"


def losses_of(folder, platform, *flags):
    others = {"JAX_PLATFORMS": platform}
    done = subprocess.run([sys.executable, ROOT / "examples/jax/train_transformer.py", *flags], capture_output=True, text=True,
                          env=setup.environment(32, **others), timeout=600)
    st.expect(done.returncode == 0, f"the example ends with {done.returncode}: {done.stderr[-800:]}")
    return [float(loss) for loss in re.findall(r"loss (\S+)", done.stdout)], done.stdout.splitlines()[-1]


def example(folder):
    """The example of Flax and Optax gives the CPU's losses on 32 devices."""
    found, line = losses_of(folder, "st", "--steps=2")
    # The loss does not depend on the mesh; for one device compilation is faster.
    wanted, _ = losses_of(folder, "cpu", "--steps=2", "--data=1", "--tensor=1")
    st.expect(len(found) == len(wanted) == 2 and "simulated" in line, f"the last line is {line!r}")
    worst = max(abs(f - w) for f, w in zip(found, wanted))
    st.expect(worst <= 1e-5, f"losses are {found}, the CPU's {wanted}")
    return line


def callbacks(_):
    """Callbacks get the complete array, or in a shard_map one shard each."""
    import jax
    import numpy as np
    from jax.experimental import io_callback
    from jax.sharding import PartitionSpec as P

    mesh, seen = mesh_of(4), []
    a = put(matrix(), mesh, "x")
    same(jax.jit(lambda a: jax.pure_callback(lambda v: v * 2, a, a) + 1)(a), matrix() * 2 + 1)
    jax.jit(lambda a: io_callback(lambda v: seen.append(v.shape), None, a, ordered=True))(a)
    jax.effects_barrier()
    st.expect(seen == [(8, 8)], f"the callback has seen {seen}")

    def shard(a):
        jax.debug.callback(lambda v: seen.append(float(v)), a.sum())
        return jax.pure_callback(lambda v: v + v.sum(), a, a)

    found = jax.jit(jax.shard_map(shard, mesh=mesh, in_specs=P("x"), out_specs=P("x")))(a)
    jax.effects_barrier()
    parts = matrix().reshape(4, 2, 8)
    same(found, (parts + parts.sum(axis=(1, 2), keepdims=True)).reshape(8, 8))
    np.testing.assert_allclose(sorted(seen[1:]), sorted(parts.sum(axis=(1, 2))), rtol=1e-5, atol=1e-5)


def inspection(_):
    """The shardings of intermediate values, also with callbacks between them; callbacks for each device."""
    import jax
    from jax.sharding import NamedSharding, PartitionSpec as P

    mesh, seen, parts = mesh_of(2, 2), [], []
    a = put(matrix(), mesh, "x", "y")

    @jax.jit
    def step(a):
        jax.debug.inspect_array_sharding(a.T, callback=seen.append)
        b = jax.lax.with_sharding_constraint(a @ a, NamedSharding(mesh, P(None, "x")))
        jax.debug.inspect_array_sharding(b, callback=seen.append)
        jax.debug.callback(lambda v, w: parts.append((v.tolist(), w.shape)), b, a, partitioned=True)
        return jax.pure_callback(lambda v: v, b, b) + 1

    same(step(a), matrix() @ matrix() + 1)
    jax.effects_barrier()
    wanted = [NamedSharding(mesh, P("y", "x")), NamedSharding(mesh, P(None, "x"))]
    st.expect(len(seen) == 2 and all(found.is_equivalent_to(sharding, 2) for found, sharding in zip(seen, wanted)),
              f"the shardings are {seen}")
    halves = [(matrix() @ matrix())[:, i:i + 4] for i in (0, 0, 4, 4)]
    st.expect(len(parts) == 4 and all(shape == (4, 4) for _, shape in parts), f"the callbacks have seen {parts}")
    for (found, _), half in zip(sorted(parts), sorted(halves, key=lambda half: half.tolist())):
        same(found, half)
    manual = jax.shard_map(lambda a: (jax.debug.inspect_array_sharding(a, callback=seen.append), a)[1], mesh=mesh,
                           in_specs=P("x"), out_specs=P("x"))
    same(jax.jit(manual)(a), matrix())
    st.expect(seen[2].spec == P(), f"a shard's sharding is {seen[2]}")


def ragged_exchange(_):
    """ragged_all_to_all moves slices of rows, within groups as well; its gradient moves them back."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import PartitionSpec as P

    def run(rows, sizes, first, to, results, groups):
        mesh = mesh_of(len(rows))
        specs = dict(mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False)

        @functools.partial(jax.shard_map, **specs)
        def exchange(rows, first, sizes, to, counts):
            return jax.lax.ragged_all_to_all(rows[0], jnp.full((results, rows.shape[-1]), -1.0), first[0], sizes[0], to[0],
                                             counts[0], axis_name="x", axis_index_groups=groups)[None]

        counts = np.zeros_like(sizes)
        wanted = np.full((len(rows), results, rows.shape[-1]), -1, "f")
        for group in groups or [range(len(rows))]:
            for i, sender in enumerate(group):
                for j, receiver in enumerate(group):
                    counts[receiver, i], begin = sizes[sender, j], first[sender, j]
                    wanted[receiver, to[sender, j]:to[sender, j] + sizes[sender, j]] = rows[sender, begin:begin + sizes[sender, j]]
        same(jax.jit(exchange)(rows, first, sizes, to, counts), wanted)
        if groups:  # JAX has no gradient for these
            return
        # Each row is sent as often as it is in a slice.
        gradient = jax.jit(jax.grad(lambda rows: exchange(rows, first, sizes, to, counts).sum()))(rows)
        times = np.zeros(rows.shape[:2], "f")
        for sender in range(len(rows)):
            for begin, size in zip(first[sender], sizes[sender]):
                times[sender, begin:begin + size] += 1
        same(gradient, np.broadcast_to(times[..., None], rows.shape))

    rows = np.arange(4 * 6 * 3, dtype="f").reshape(4, 6, 3)
    sizes = np.array([[1, 2, 0, 3], [2, 0, 1, 1], [0, 1, 2, 3], [1, 1, 1, 0]], "i4")
    starts = np.cumsum(sizes, axis=1) - sizes
    run(rows, sizes, starts, np.cumsum(sizes, axis=0) - sizes, 9, None)
    pairs = np.array([[1, 2], [3, 0], [2, 2], [0, 4]], "i4")
    to = np.array([[0, 3], [4, 0], [1, 0], [5, 3]], "i4")
    run(rows, pairs, np.array([[0, 1], [2, 0], [0, 3], [0, 2]], "i4"), to, 8, [[0, 1], [3, 2]])


def memories_and_layouts(_):
    """Sharded arrays in the host's memory and with another order of dimensions."""
    import jax
    from jax.experimental.layout import Format, Layout
    from jax.sharding import NamedSharding, PartitionSpec as P

    mesh = mesh_of(2, 2)
    host = NamedSharding(mesh, P("x", "y"), memory_kind="pinned_host")
    kept = jax.device_put(matrix(), host)
    result = jax.jit(lambda a: a.T * 2, out_shardings=host)(kept)
    same(result, matrix().T * 2)
    kinds = {shard.data.sharding.memory_kind for shard in [*kept.addressable_shards, *result.addressable_shards]}
    st.expect(kinds == {"pinned_host"}, f"the shards are in {kinds}")
    turned = jax.device_put(matrix(), Format(Layout((1, 0)), NamedSharding(mesh, P("x", "y"))))
    for shard in turned.addressable_shards:
        same(shard.data, matrix()[shard.index])
        st.expect(shard.data.format.layout.major_to_minor == (1, 0), f"a shard has {shard.data.format}")
    same(jax.jit(lambda a: a @ a)(turned), matrix() @ matrix())


def unreduced(_):
    """Devices hold terms of a sum, as arguments, results and within a shard_map."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import AxisType, PartitionSpec as P, reshard

    mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2, devices=jax.devices()[:4])
    with jax.set_mesh(mesh):
        a, b = jax.device_put(matrix(), P("x", "y")), jax.device_put(matrix(), P("y", None))
        terms = jax.jit(lambda a, b: jnp.einsum("ij,jk->ik", a, b, out_sharding=P("x", None, unreduced={"y"})))(a, b)
        st.expect(terms.sharding.spec == P("x", None, unreduced={"y"}), f"the sharding is {terms.sharding}")
        same(sum(np.asarray(terms.addressable_data(i)) for i in (0, 1)), (matrix() @ matrix())[:4])
        same(reshard(terms, P("x", None)), matrix() @ matrix())

        @jax.shard_map(in_specs=P("x", None, unreduced={"y"}), out_specs=P("x", None))
        def total(terms):
            return jax.lax.psum(terms, "y")

        @jax.shard_map(in_specs=(P("x", "y"), P("y", None)), out_specs=P("x", None, unreduced={"y"}))
        def product(a, b):
            return jax.lax.pcast(a @ b, "y", to="unreduced")

        same(jax.jit(total)(terms), matrix() @ matrix())
        # A shard_map gives and gets the terms as they are.
        terms = jax.jit(product)(a, b)
        for i in range(4):
            x, y = divmod(i, 2)
            rows, columns = slice(4 * x, 4 * x + 4), slice(4 * y, 4 * y + 4)
            same(terms.addressable_data(i), matrix()[rows, columns] @ matrix()[columns])
        doubled = jax.jit(jax.shard_map(lambda t: t * 2, in_specs=P("x", None, unreduced={"y"}), out_specs=P("x", "y"),
                                        check_vma=False))(terms)
        st.expect(doubled.shape == (8, 16), f"two concatenated terms: {doubled.shape}")
        same(doubled, np.hstack([2 * matrix()[:, columns] @ matrix()[columns] for columns in (slice(0, 4), slice(4, 8))]))
        same(jax.jit(lambda a, b: total(product(a, b)))(a, b), matrix() @ matrix())


def many_axes(_):
    """A mesh of five axes; a mapped function that transposes over four."""
    import jax
    import numpy as np
    from jax.sharding import AxisType, PartitionSpec as P

    names = ("a", "b", "c", "d", "e")
    mesh = jax.make_mesh((2, 1, 2, 1, 2), names, axis_types=(AxisType.Explicit,) * 5, devices=jax.devices()[:8])
    numbers = np.arange(64, dtype="f").reshape(4, 1, 4, 1, 4)
    with jax.set_mesh(mesh):
        turned = jax.jit(jax.shard_map(lambda x: x.T + jax.lax.axis_index("c"), out_specs=P("e", "d", "c", "b", "a")))(
            jax.device_put(numbers, P(*names)))
    same(turned, numbers.T + np.array([0, 0, 1, 1])[:, None, None])
    for i, shard in enumerate(turned.addressable_shards):
        a, c, e = np.unravel_index(i, (2, 2, 2))
        same(shard.data, np.asarray(turned)[2 * e:2 * e + 2, :, 2 * c:2 * c + 2, :, 2 * a:2 * a + 2])


def calls_of_some_shards(_):
    """Only some of the shards take a branch, or another trip of a loop, with a call in it."""
    import jax
    import jax.numpy as jnp
    from jax.experimental import io_callback
    from jax.sharding import PartitionSpec as P

    seen = []

    def note(x):
        io_callback(lambda v: seen.append(int(v)), None, x)
        return x + 1

    def expect(*wanted):
        jax.effects_barrier()
        st.expect(sorted(seen) == sorted(wanted), f"the callbacks have seen {seen}, expected {wanted}")
        seen.clear()

    numbers = jnp.arange(3)
    jax.pmap(lambda x: jax.lax.while_loop(lambda x: x < 3, note, x))(numbers)
    expect(0, 1, 2, 1, 2, 2)

    def goes_on(x):
        jax.debug.callback(lambda v: seen.append(int(v)), x)
        return x < 3

    # Shards that ended do not evaluate the condition again.
    same(jax.pmap(lambda x: jax.lax.while_loop(goes_on, lambda x: x + 1, x))(numbers), [3, 3, 3])
    expect(0, 1, 2, 3, 1, 2, 3, 2, 3)
    found = jax.pmap(lambda x: jax.lax.cond(x > 1, note, lambda x: x, x))(numbers)
    expect(2)
    same(found, [0, 1, 3])
    branch = lambda x: jax.lax.cond(x > 0, note, lambda x: x, x)
    found = jax.pmap(lambda x: jax.lax.switch(x, [lambda x: x, note, lambda x: branch(x - 2)], x))(jnp.arange(4))
    expect(1, 1)
    same(found, [0, 2, 0, 2])

    mesh = mesh_of(2, 2)

    def shard(x):
        jax.debug.callback(lambda v: seen.append(int(v.sum())), x)
        return x * 2

    half = jax.shard_map(shard, mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    same(jax.jit(half)(jnp.arange(8)), [0, 2, 4, 6, 8, 10, 12, 14])
    expect(6, 22)


def library_functions(_):
    """Decompositions and top_k in a shard_map; a function with the user's partitioner."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.experimental.custom_partitioning import custom_partitioning
    from jax.sharding import PartitionSpec as P

    mesh = mesh_of(4)
    a = put(matrix(), mesh, "x")

    def shard(a):
        q, r = jnp.linalg.qr(a)
        return jax.lax.top_k(a, 2)[0], q @ r, jnp.linalg.solve(a[:, :2], a)

    first, product, solved = jax.jit(jax.shard_map(shard, mesh=mesh, in_specs=P("x"), out_specs=P("x")))(a)
    same(first, np.sort(matrix(), axis=1)[:, :-3:-1])
    same(product, matrix())
    parts = matrix().reshape(4, 2, 8)
    np.testing.assert_allclose(solved, np.linalg.solve(parts[..., :2], parts).reshape(8, 8), rtol=1e-3, atol=1e-3)

    sine = custom_partitioning(lambda x: jnp.sin(x))
    sine.def_partition(infer_sharding_from_operands=lambda mesh, arguments, result: arguments[0].sharding,
                       partition=lambda mesh, arguments, result: (mesh, jnp.sin, arguments[0].sharding,
                                                                  (arguments[0].sharding,)), sharding_rule="i j -> i j")
    same(jax.jit(sine)(a), np.sin(matrix()))


CASES = [shardings, shard_maps, callbacks, inspection, ragged_exchange, memories_and_layouts, unreduced, many_axes, calls_of_some_shards,
         library_functions,
         shards_that_differ, copies_that_differ, several_meshes, placement, loops, several_meshes_of_time, example]


if __name__ == "__main__":
    if not setup.has_jax():
        sys.exit(0)
    setup.use(devices=8)
    sys.exit(st.main(*((case.__name__.replace("_", " "), case) for case in CASES)))
