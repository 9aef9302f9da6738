"""jax.shard_map programs: as JAX prints them, on four virtual ranks, and as St imports and partitions them; as HLO,
with Shardy's annotations as frontend attributes and its ops as custom calls; and both forms of the same functions as
JAX prints them for GSPMD, the partitioner before Shardy."""

import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import jax
import jax.numpy as jnp
import numpy as np
import st_testing as st
from jax import lax
from jax.experimental.shard_alike import shard_alike
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from jax_programs import check_round_trip, compare
from safetensors.numpy import load_file, save_file
from st_programs import interpret

RNG = np.random.default_rng(5)


def on_mesh(body, in_specs, out_specs, **options):
    mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("data", "model"))
    return jax.shard_map(body, mesh=mesh, in_specs=in_specs, out_specs=out_specs, **options)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def tensor_parallel_step():
    """Columns, then rows of two weights; the gradients are JAX's transpose of the collectives."""
    def step(w0, w1, x, y):
        def body(w0, w1, x, y):
            out = lax.psum(jnp.tanh(x @ w0) @ w1, "model")
            return lax.pmean(jnp.mean((out - y) ** 2), "data")

        def loss(w0, w1):
            return on_mesh(body, (P(None, "model"), P("model"), P("data"), P("data")), P())(w0, w1, x, y)

        value, (g0, g1) = jax.value_and_grad(loss, argnums=(0, 1))(w0, w1)
        return w0 - 0.1 * g0, w1 - 0.1 * g1, value

    return step, (normal(16, 32), normal(32, 16), normal(8, 16), normal(8, 16))


def exchanges():
    def body(x):
        ring = [(0, 1), (1, 0)]
        return (lax.all_gather(x, "model", axis=1, tiled=True), lax.psum_scatter(x, "data", tiled=True),
                lax.all_to_all(x, "model", 0, 1, tiled=True), lax.ppermute(x, "data", ring),
                lax.ppermute(x, "model", [(0, 1)]), lax.pmax(x, ("data", "model")),
                lax.ppermute(x, ("data", "model"), [(0, 3), (3, 1), (1, 0)]))

    specs = P("data", "model")
    return on_mesh(body, specs, (P("data", None), specs, specs, specs, specs, P(), specs),
                   check_vma=False), (normal(8, 8),)


def own_rows():
    """Each shard takes its rows of a table by its index, and writes them to other rows."""
    def body(table, index):
        i = lax.axis_index("model")
        rows = lax.dynamic_slice_in_dim(table, 4 * i, 4, 0)
        taken = jnp.take(rows, jnp.clip(index - 4 * i, 0, 3), axis=0)
        taken = jnp.where((index // 4 == i)[:, None], taken, 0)
        return lax.psum(taken, "model"), lax.dynamic_update_slice_in_dim(jnp.zeros((8, 3)), rows, 4 - 4 * i, 0)

    return on_mesh(body, (P(), P("data")), (P("data"), P("model")), check_vma=False), (
        normal(8, 3), RNG.integers(0, 8, 6).astype(np.int32))


def loops():
    def body(x):
        def one(_, v):
            return v + lax.psum(jnp.sort(v, axis=1) * (1 + lax.axis_index("data")), "model") / 10
        looped = lax.fori_loop(0, 3, one, x)
        return looped, lax.cond(lax.psum(x.sum(), ("data", "model")) > 0, jnp.sin, jnp.negative, looped)

    return on_mesh(body, P("data", "model"), P("data", "model"), check_vma=False), (normal(4, 6),)


def narrow_positions():
    """Eight-bit indices into tensors that are longer than eight bits can count."""
    def body(x, at, to):
        row = jnp.full((1, 2), 7, jnp.float32)
        return (lax.dynamic_update_slice(x, row, (at, jnp.uint8(0))), lax.dynamic_slice(x, (at, jnp.uint8(1)), (3, 1)),
                lax.dynamic_update_slice(x, row, (to, jnp.int8(0))))

    return on_mesh(body, (P("data"), P(), P()), (P("data"), P("data"), P("data"))), (
        normal(1200, 2), np.uint8(250), np.int8(-3))


def one_axis():
    """Written for shards along one axis; the partitioner handles the other axis, guided by annotations."""
    mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("data", "model"))

    def body(x, z):
        y = lax.with_sharding_constraint(jnp.sin(x), P(None, "model"))
        return y + lax.axis_index("data"), lax.psum(x * 2, "data") + lax.with_sharding_constraint(z, P("model"))

    return jax.jit(jax.shard_map(body, mesh=mesh, in_specs=(P("data"), P()), out_specs=(P("data"), P()),
                                 axis_names={"data"})), (normal(4, 6), normal(2, 6))


def annotated():
    """Annotations of arguments, a value, results, and groups of values, together with two computations on shards, one
    of them without arguments."""
    mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("data", "model"))

    def body(x, y):
        return lax.psum(x, "model"), y + lax.axis_index("data")

    def numbers():
        return jnp.full(2, lax.axis_index("model"), jnp.float32)

    def function(x, y):
        x, like = shard_alike(x, 2 * x)
        x = lax.with_sharding_constraint(jnp.sin(x), NamedSharding(mesh, P("data", "model")))
        return (on_mesh(body, (P("data", "model"), P()), (P("data"), P("data")))(x, y),
                on_mesh(numbers, (), P("model"))(), like)

    split = NamedSharding(mesh, P("data"))
    return jax.jit(function, in_shardings=(split, None), out_shardings=split), (normal(4, 6), normal(6))


def imports_as_hlo(folder, lowered, mesh):
    """The result of import-shardings for the program's HLO; the mesh, with its axes as printed."""
    hlo = lowered.compiler_ir("hlo")
    (folder / "program.pb").write_bytes(hlo.as_serialized_hlo_module_proto())
    (folder / "program.hlo").write_text(hlo.as_hlo_text())
    imported = {}
    for form, source in (("proto", folder / "program.pb"), ("text", folder / "program.hlo")):
        module = st.check_run([st.BIN / "st-translate", f"--import-hlo-{form}", source]).stdout
        path = folder / f"{form}.mlir"
        st.check_run([st.BIN / "st-opt", "--import-shardings", "-o", path], input=module)
        imported[form] = path.read_text()
        st.expect("sdy." not in imported[form], f"annotations are left in the {form}'s program")
        st.expect(f"st.mesh @mesh <[{mesh}]" in imported[form], f"the {form} has another mesh")
    st.expect(imported["proto"] == imported["text"], "the text imports as another program than the proto")
    return folder / "text.mlir"


def imports_for_gspmd(folder, function, args):
    """The results of import-shardings for the program that JAX prints for GSPMD, and for its HLO."""
    folder.mkdir()
    jax.config.update("jax_use_shardy_partitioner", False)
    try:
        lowered = jax.jit(lambda *args: function(*args)).lower(*args)
        (folder / "program.mlir").write_text(lowered.as_text())
        st.check_run([st.BIN / "st-opt", "--import-shardings", folder / "program.mlir", "-o", folder / "gspmd.mlir"])
        return folder / "gspmd.mlir", imports_as_hlo(folder, lowered, '"axis0"=2, "axis1"=2')
    finally:
        jax.config.update("jax_use_shardy_partitioner", True)


def prints_and_imports(make, gspmd=True):
    def run(folder):
        function, args = make()
        lowered = jax.jit(function).lower(*args)
        text = lowered.as_text()
        st.expect("sdy.manual_computation" in text, "no computation on shards is printed")
        program = folder / "program.mlir"
        program.write_text(text)
        check_round_trip(program, text)
        imported = folder / "imported.mlir"
        st.check_run([st.BIN / "st-opt", "--import-shardings", program, "-o", imported])
        st.expect("sdy." not in imported.read_text(), "annotations are left")
        expected = jax.tree.leaves(jax.jit(function)(*args))
        worst = 0.0
        hlo = imports_as_hlo(folder, lowered, '"data"=2, "model"=2')
        forms = [("printed", program), ("imported", imported), ("HLO", hlo)]
        if gspmd:
            forms += zip(("GSPMD", "GSPMD's HLO"), imports_for_gspmd(folder / "gspmd", function, args), strict=True)
        for name, path in forms:
            found = interpret(path, {f"arg{i}": a for i, a in enumerate(args)})
            for i, value in enumerate(expected):
                worst = max(worst, compare(f"{name}, result {i}", found[f"result{i}"], np.asarray(value), 1e-5))
        return f"{len(expected)} results, at most {worst:.2f} of the tolerance"
    return run


def trains(folder):
    """The step on four devices of the simulator: its losses are JAX's, and its weights have the given shardings."""
    step, args = tensor_parallel_step()
    (folder / "step.mlir").write_text(jax.jit(step, donate_argnums=(0, 1)).lower(*args).as_text(debug_info=True))
    parallel = st.write_json(folder / "p.json", st.layout(1, 4))
    st.check_run([st.BIN / "st-compile", folder / "step.mlir", f"--parallel={parallel}", "-o", folder / "b"])
    names = ["w0", "w1", "x", "y"]
    save_file(dict(zip(names, args, strict=True)), folder / "in.safetensors")
    st.check_run([folder / "b", f"--inputs={folder}/in.safetensors", f"--outputs={folder}/out.safetensors"])
    found = load_file(folder / "out.safetensors")
    expected = jax.jit(step)(*args)
    for name, value in zip(("w0", "w1", "result2"), expected, strict=True):
        compare(name, found[name if name in found else "loss"], np.asarray(value), 1e-5)
    local = folder / "local.mlir"
    st.check_run([st.BIN / "st-compile", folder / "step.mlir", f"--parallel={parallel}", "--compile-to=local",
                  "-o", local])
    text = local.read_text()
    st.expect('over ["model"]' in text and 'over ["data"]' in text, "no collectives over both axes")


CASES = [("tensor-parallel step", prints_and_imports(tensor_parallel_step)), ("exchanges", prints_and_imports(exchanges)),
         ("own rows", prints_and_imports(own_rows)), ("loops", prints_and_imports(loops)), ("annotated", prints_and_imports(annotated)),
         ("narrow positions", prints_and_imports(narrow_positions)),
         # GSPMD's form names subgroups of devices, which are refused.
         ("one axis", prints_and_imports(one_axis, gspmd=False)),
         ("tensor-parallel step on four devices", trains)]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
