"""Inspects functions that the PJRT plugin compiles with JAX's tools: their text, the shardings of open results,
donations."""

import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from jax_plugin import setup


def array_on(mesh, *spec, rows=8, columns=8):
    import jax
    import numpy as np
    from jax.sharding import NamedSharding, PartitionSpec as P

    numbers = np.arange(rows * columns, dtype="f").reshape(rows, columns)
    return jax.device_put(numbers, NamedSharding(mesh, P(*spec)))


def explicit_mesh(*shape):
    import jax
    import numpy as np
    from jax.sharding import AxisType

    return jax.make_mesh(shape, ("x", "y")[:len(shape)], axis_types=(AxisType.Explicit,) * len(shape),
                         devices=jax.devices()[:int(np.prod(shape))])


def auto_mesh(*shape):
    import jax
    import numpy as np
    from jax.sharding import Mesh

    return Mesh(np.array(jax.devices()[:int(np.prod(shape))]).reshape(shape), ("x", "y")[:len(shape)])


def collectives(_):
    """The text of a partitioned function names its collectives, and no others."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import PartitionSpec as P, reshard

    mesh = explicit_mesh(2, 2)
    with jax.set_mesh(mesh):
        a, b = array_on(mesh, "x", "y"), array_on(mesh, "x", None)
        c = array_on(mesh, "y", None)
        for wanted, function, *arguments in (
                ({"all-reduce"}, lambda a: a.sum(), a),
                ({"all-reduce"}, lambda a: a.max(0), a),
                ({"all-reduce"}, lambda a, c: jnp.einsum("ij,jk->ik", a, c, out_sharding=P("x", None)), a, c),
                ({"reduce-scatter"}, lambda a, c: jnp.einsum("ij,jk->ik", a, c, out_sharding=P("x", "y")), a, c),
                ({"all-gather"}, lambda b: reshard(b, P(None, None)), b),
                ({"all-to-all"}, lambda b: reshard(b, P(None, "x")), b),
                ({"collective-permute"}, lambda a: reshard(a, P("y", "x")), a),
                (set(), lambda b: b.sum(1), b),
                (set(), jnp.sin, a)):
            text = jax.jit(function).lower(*arguments).compile().as_text()
            found = {name for name in ("all-reduce", "all-gather", "collective-permute", "reduce-scatter", "all-to-all")
                     if f" {name}(" in text}
            st.expect(found == wanted, f"the text has {found}, expected {wanted}:\n{text}")
        text = jax.jit(lambda a: a + 1).lower(a).compile().as_text()
        st.expect("HloModule" in text and "f32[4,4]" in text, f"a device's part is not in the text:\n{text}")


def one_device(_):
    """The text of a function with a mesh of one device, or with callbacks."""
    import jax
    from jax.sharding import PartitionSpec as P

    import jax.numpy as jnp

    text = jax.jit(lambda a: jax.lax.top_k(a, 2)).lower(jnp.ones(8)).compile().as_text()
    st.expect("chlo.top_k" in text, f"the text has no top_k:\n{text}")
    for mesh in (explicit_mesh(1), explicit_mesh(8)):
        with jax.set_mesh(mesh):
            a = array_on(mesh, "x", None)
            mapped = jax.shard_map(lambda a: a * 2, out_specs=P("x", None))
            calling = lambda a: mapped(jax.pure_callback(lambda v: v, a, a))
            for function in (lambda a: mapped(a) + 1, *([calling] if mesh.size == 1 else [])):
                text = jax.jit(function).lower(a).compile().as_text()
                st.expect(" multiply(" in text, f"the text has no product:\n{text}")


def results_of_shards(_):
    """The specifications of a shard_map are the shardings of its results, also of loops that compute all shards alike."""
    import jax
    from jax import lax
    from jax.sharding import NamedSharding, PartitionSpec as P

    mesh = auto_mesh(4)
    loop = lambda a: lax.while_loop(lambda s: lax.psum(s.sum(), "x") < 1e4, lambda s: s * 2 + 1, a)
    groups = lambda a: lax.all_to_all(a, "x", 1, 0, axis_index_groups=((0, 1), (2, 3)), tiled=True)
    numbers = lambda a: a * 0 + lax.axis_index("x")
    for function, into, out in ((loop, P("x"), P("x")), (groups, P("x"), P(None, "x")), (numbers, P(), P("x"))):
        mapped = jax.shard_map(function, mesh=mesh, in_specs=into, out_specs=out, check_vma=False)
        found = jax.jit(mapped)(array_on(mesh)).sharding
        st.expect(found == NamedSharding(mesh, out), f"the sharding is {found}, expected {out}")
    mesh = auto_mesh(2, 2)
    a = array_on(mesh, "x", "y")
    for function in (lambda a: a * a, lambda a: lax.scan(lambda c, row: (c + row, c * row), a[0], a)[1]):
        half = jax.shard_map(function, mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}, check_vma=False)
        found = jax.jit(half)(a).sharding.spec
        st.expect(found == P("x", "y"), f"the free axis is lost: {found}")


def open_results(_):
    """A result whose sharding is left open keeps that of the operand in dimensions along which an op cannot be split."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax import lax
    from jax.sharding import PartitionSpec as P

    mesh = auto_mesh(2, 2)
    a = array_on(mesh, "x", "y")
    numbers = np.asarray(a)
    for function, wanted in ((lambda a: lax.rev(a, (0,)), numbers[::-1]), (lambda a: a[::2], numbers[::2]),
                             (lambda a: a[2:6], numbers[2:6]),
                             (lambda a: jnp.concatenate([a, a]), np.concatenate([numbers, numbers])),
                             (lambda a: jnp.pad(a, ((2, 2), (0, 0))), np.pad(numbers, ((2, 2), (0, 0)))),
                             (lambda a: jnp.sort(-a, 0), np.sort(-numbers, 0))):
        found = jax.jit(function)(a)
        st.expect(found.sharding.spec == P("x", "y"), f"the sharding is {found.sharding.spec}")
        np.testing.assert_array_equal(found, wanted)


def ordered_callbacks(_):
    """Tokens of ordered callbacks are arguments and results of a shard_map."""
    import jax
    import numpy as np
    from jax.experimental import io_callback
    from jax.sharding import PartitionSpec as P

    seen = []

    def shard(a):
        io_callback(lambda v: seen.append(v.shape), (), a, ordered=True)
        return a + 1

    mesh = auto_mesh(4)
    found = jax.jit(jax.shard_map(shard, mesh=mesh, in_specs=P("x"), out_specs=P("x")))(array_on(mesh, "x"))
    jax.effects_barrier()
    np.testing.assert_array_equal(found, np.arange(64, dtype="f").reshape(8, 8) + 1)
    st.expect(found.sharding.spec == P("x"), f"the sharding is {found.sharding}")
    st.expect(seen == [(2, 8)] * 4, f"the callbacks have seen {seen}")


def refused(function, *words):
    """Expects an error with these words."""
    try:
        function()
    except Exception as error:
        missing = [word for word in words if word not in str(error)]
        st.expect(not missing, f"the error lacks {missing}: {error}")
        return
    st.expect(False, f"no error; expected {words}")


def donations(_):
    """An array is donated only if a result has its size, and never to a call that uses it twice."""
    import jax
    import jax.numpy as jnp

    mesh = auto_mesh(2)
    a, b = array_on(mesh, "x", columns=2), array_on(mesh, "x", columns=2)
    jax.jit(lambda a: a @ a.T, donate_argnums=0)(a)
    jax.jit(lambda b: b * 2, donate_argnums=0)(b)
    st.expect(not a.is_deleted() and b.is_deleted(), "the array with a result of its size, and it alone, is to be donated")
    add, both = (jax.jit(lambda a, b: (a + b, a - b), donate_argnums=donated) for donated in ((0,), (0, 1)))
    c = jnp.ones(4)
    refused(lambda: add(c, c), "INVALID_ARGUMENT", "previously donated in the same call to Execute()", "f(donate(a), a)")
    refused(lambda: both(c, c), "Attempt to donate the same buffer twice in Execute()", "f(donate(a), donate(a))")
    st.expect(not c.is_deleted(), "a refused call keeps its arguments")


def refusals(_):
    """Errors that name what JAX's own platforms name."""
    import jax
    import jax.numpy as jnp
    from jax import export

    refused(lambda: jnp.zeros((1 << 40,), "int8").block_until_ready(), "RESOURCE_EXHAUSTED", "Out of memory", "1099511627777")
    calling = jax.jit(lambda a: jax.pure_callback(lambda v: v, a, a))
    refused(lambda: export.export(calling)(jnp.ones(3)), "serialization of host_callbacks is not yet implemented")


CASES = [collectives, one_device, results_of_shards, open_results, ordered_callbacks, donations, refusals]


if __name__ == "__main__":
    if not setup.has_jax():
        sys.exit(0)
    setup.use(devices=8)
    sys.exit(st.main(*((case.__name__.replace("_", " "), case) for case in CASES)))
