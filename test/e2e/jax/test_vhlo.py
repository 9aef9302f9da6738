"""Programs as JAX serialises them for a plugin.

The module that St reads from the bytes must equal the module that it parses from jaxlib's text of the same bytes. The
programs are a part of JAX's own test harnesses (many in one module), steps of small models, and programs on a mesh.
"""

import itertools
import json
import os
import pathlib
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import jax
import jax.numpy as jnp
import jax_step_models as models
import numpy as np
import optax
import st_testing as st
from jax import lax
from jax._src.internal_test_util import test_harnesses
from jax._src.interpreters import mlir as jax_mlir
from jax.experimental.shard_alike import shard_alike
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
from jaxlib import _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from safetensors.numpy import load_file, save_file

NEWEST = "1.17.0"
HARNESSES = 23  # one in HARNESSES is read, in modules of CHUNK
CHUNK = 40


def serialised(module, version=NEWEST):
    return _jax.mlir.serialize_portable_artifact(module, version, True)


def jaxlib_text(artifact):
    with jax_mlir.make_ir_context() as context:
        return str(_jax.mlir.deserialize_portable_artifact(artifact, context))


def check_same(folder, modules, version=NEWEST):
    """Compares modules of JAX, by name: read from bytes, and parsed from jaxlib's text of them."""
    for name, module in modules.items():
        artifact = serialised(module, version)
        (folder / "program.mlirbc").write_bytes(artifact)
        (folder / "program.mlir").write_text(jaxlib_text(artifact))
        read = st.check_run([st.BIN / "st-translate", "--import-vhlo", folder / "program.mlirbc"]).stdout
        parsed = st.check_run([st.BIN / "st-opt", folder / "program.mlir"]).stdout
        if read.strip() != parsed.strip():
            lines = itertools.zip_longest(read.splitlines(), parsed.splitlines(), fillvalue="")
            at, (mine, theirs) = next(((i, p) for i, p in enumerate(lines) if p[0] != p[1]), (0, ("", "")))
            raise st.Failure(f"{name}: line {at + 1} is\n  {mine[:300]}\nfrom bytes and\n  {theirs[:300]}\nfrom text")
    return f"{len(modules)} modules"


def module_of(function, *args):
    return jax.jit(function).lower(*args).compiler_ir("stablehlo")


def chosen_harnesses():
    """The harnesses that JAX lowers for CPUs: LAPACK has no 16-bit types."""
    library = ("cholesky", "eig", "eigh", "lu", "qr", "svd", "schur", "triangular_solve", "tridiagonal_solve", "hessenberg",
               "householder_product")
    for harness in test_harnesses.all_harnesses[::HARNESSES]:
        small = getattr(harness, "dtype", None) in (jnp.bfloat16, np.float16)
        if not (harness.group_name in library and small):
            yield harness


def harnesses(folder):
    chosen, rng = list(chosen_harnesses()), np.random.RandomState(0)
    modules = {}
    for start in range(0, len(chosen), CHUNK):
        part = chosen[start:start + CHUNK]
        args = [h.dyn_args_maker(rng) for h in part]
        modules[f"{part[0].fullname} and {len(part) - 1} behind it"] = module_of(
            lambda *args, part=part: [h.dyn_fun(*a) for h, a in zip(part, args, strict=True)], *args)
    return f"{len(chosen)} harnesses in {check_same(folder, modules)}"


def step_of(model, optimizer):
    loss, parameters, batch = model
    def step(parameters, state, batch):
        value, gradients = jax.value_and_grad(loss)(parameters, batch)
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state, value
    return step, (parameters, optimizer.init(parameters), batch)


def steps(folder):
    modules = {}
    for model in (models.llama, models.convolution_net, models.mixture_of_experts, models.lstm):
        step, args = step_of(model(), optax.adamw(1e-3))
        modules[model.__name__] = jax.jit(step, donate_argnums=(0, 1)).lower(*args).compiler_ir("stablehlo")
    return check_same(folder, modules)


def numbers():
    """A value of every element type, constants with many elements, and other values with special encodings."""
    types = ["int2", "int4", "uint4", "int8", "uint8", "int16", "uint16", "bfloat16", "float16", "float8_e4m3fn",
             "float8_e5m2", "float8_e4m3b11fnuz", "float8_e8m0fnu", "float4_e2m1fn"]
    x = jnp.ones((8, 16))

    def program(x, key):
        casts = [x.astype(jnp.dtype(t)).astype(jnp.float32) + jnp.array([1, 0, 1], t)[1].astype(jnp.float32) for t in types]
        return casts + [
            x + np.arange(128, dtype=np.float32).reshape(8, 16), jnp.where(np.tri(8, 16, dtype=bool), x, 0),
            lax.dot(x, x.T, precision=lax.DotAlgorithmPreset.BF16_BF16_F32), jnp.dot(x, x.T, precision="highest"),
            lax.optimization_barrier((x, x + 1)), jnp.fft.fft(x * np.complex64(1 + 2j)), lax.erf(x), lax.top_k(x, 3),
            lax.reduce_precision(x, 5, 10), jax.random.normal(key, (4,)), jnp.zeros((0, 4)), jax.nn.silu(x),
            lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x), lax.scan(lambda c, y: (c + y, c * y), x[0], x)]
    return program, (x, jax.random.key(0))


def on_a_mesh():
    mesh = jax.make_mesh((2, 4), ("a", "b"), axis_types=(AxisType.Auto,) * 2)
    split = lambda *dims: NamedSharding(mesh, P(*dims))
    x = jnp.ones((8, 16))

    def shards(body, into, out, **more):
        return jax.shard_map(body, mesh=mesh, in_specs=into, out_specs=out, **more)

    def program(x):
        y = lax.with_sharding_constraint(x @ x.T, split("a", P.UNCONSTRAINED))
        return [y, shard_alike(x, jnp.sin(x))[1],
                shards(lambda v: lax.psum((v, v * 2), ("a", "b")), P("a", "b"), P())(x),
                shards(lambda v: lax.pmax(v, "a"), P("a", "b"), P(None, "b"))(x),
                shards(lambda v: lax.all_gather(v, "b", tiled=True, axis=1), P("a", "b"), P("a"), check_vma=False)(x),
                shards(lambda v: lax.psum_scatter(v, "b", scatter_dimension=1, tiled=True), P("a"), P("a", "b"))(x),
                shards(lambda v: lax.all_to_all(v, "b", 0, 1, tiled=True), P("a", "b"), P("a", "b"))(x),
                shards(lambda v: lax.ppermute(v, "b", [(0, 1), (1, 2)]) + lax.axis_index("a"), P("a", "b"), P("a", "b"))(x),
                shards(lambda v: lax.psum(v, "a"), P("a"), P(), axis_names={"a"})(x)]
    jitted = jax.jit(program, in_shardings=split(("a", "b")), donate_argnums=0)
    return jitted.lower(x).compiler_ir("stablehlo")


def sdy_ops():
    """Ops that JAX itself does not write."""
    with jax_mlir.make_ir_context():
        return ir.Module.parse("""sdy.mesh @m = <["x"=4, "y"=2], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>
            func.func @main(%x: tensor<16x8xf32>
                {sdy.sharding = #sdy.sharding<@m, [{"y", "x":(1)2, ?}p1, {}], replicated={"x":(2)2}>})
                -> tensor<16x8xf32> {
              %0 = sdy.reshard %x <@m, [{}, {?}], unreduced={"x"}> : tensor<16x8xf32>
              %1 = sdy.propagation_barrier %0 allowed_direction=BACKWARD : tensor<16x8xf32>
              sdy.sharding_group %1 group_id=3 : tensor<16x8xf32>
              return %1 : tensor<16x8xf32>
            }""")


def every_encoding(folder):
    program, args = numbers()
    return check_same(folder, {"numbers": module_of(program, *args), "shardings": on_a_mesh(), "sdy": sdy_ops()})


def older_versions(folder):
    """Older encodings: collectives of one operand, functions without an accuracy."""
    step, args = step_of(models.lstm(), optax.sgd(1e-3))
    modules = {"step": module_of(step, *args), "shardings": on_a_mesh()}
    versions = ("1.0.0", "1.4.0", "1.13.7", "1.15.0")
    return ", ".join(f"{version}: {check_same(folder, modules, version)}" for version in versions)


def refuse(folder, what, artifact, error):
    path = folder / "in.mlirbc"
    path.write_bytes(artifact)
    for command in ([st.BIN / "st-translate", "--import-vhlo", path],
                    [st.BIN / "st-compile", path, "-o", folder / "out"]):
        done = st.run(command)
        lines = done.stderr.splitlines()
        st.expect(done.returncode == 1 and len(lines) == 1 and error in lines[0] and "in.mlirbc" in lines[0],
                  f"{what}: exit {done.returncode}, expected \"{error}\":\n{done.stderr[-800:]}")


def refusals(folder):
    good = serialised(module_of(lambda x: jnp.tanh(x) @ x, jnp.ones((4, 4))))
    refuse(folder, "a newer version", good.replace(b"_v1.17.0", b"_v1.18.0"),
           'expected an artifact of StableHLO 1.0.0 to 1.17.0, found one of "StableHLO_v1.18.0"')
    refuse(folder, "another producer", good.replace(b"_v1.17.0", b"_vnewest"), 'found one of "StableHLO_vnewest"')
    refuse(folder, "half of it", good[:len(good) // 2], "damaged bytecode")
    refuse(folder, "an unknown op", good.replace(b"tanh_v2", b"tanh_v9"), "op 'vhlo.tanh_v9' is not supported")
    with jax_mlir.make_ir_context():
        for text, error in (("%0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<1xi32>) -> tensor<i32> return",
                             "op 'vhlo.get_dimension_size_v1' is refused: shapes are static"),
                            ("%0 = stablehlo.dynamic_iota %arg0, dim = 0 : (tensor<1xi32>) -> tensor<?xf32> return",
                             "shapes are static")):
            module = ir.Module.parse(f"func.func @main(%arg0: tensor<1xi32>) {{ {text} }}")
            refuse(folder, text, stablehlo.serialize_portable_artifact_str(str(module), NEWEST), error)


def factored_step(folder):
    """A step of adafactor from bytes to a binary; the file of roles names the input for each array."""
    def loss(p, batch):
        return jnp.mean((jnp.tanh(batch["x"] @ p["w1"] + p["b"]) @ p["w2"] - batch["y"]) ** 2)
    rng = np.random.default_rng(3)
    normal = lambda *shape: rng.normal(scale=0.1, size=shape).astype(np.float32)
    parameters = {"w1": normal(128, 160), "b": normal(160), "w2": normal(160, 128)}
    step, args = step_of((loss, parameters, {"x": normal(4, 128), "y": normal(4, 128)}), optax.adafactor(1e-2))
    lowered = jax.jit(step, donate_argnums=(0, 1), keep_unused=True).lower(*args)
    (folder / "step.mlirbc").write_bytes(serialised(lowered.compiler_ir("stablehlo")))
    st.check_run([*st.COMPILE, folder / "step.mlirbc", "-o", folder / "step", f"--roles-out={folder / 'roles.json'}"])
    roles = json.loads((folder / "roles.json").read_text())
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(args)]
    for port in roles["arguments"]:
        leaf = leaves[port["argument"]]
        st.expect(list(leaf.shape) == port["shape"], f"argument {port} is of shape {leaf.shape}")
    save_file({p["name"]: leaves[p["argument"]] for p in roles["arguments"]}, folder / "in.safetensors")
    st.check_run([folder / "step", f"--inputs={folder / 'in.safetensors'}", f"--outputs={folder / 'out.safetensors'}"])
    found = load_file(folder / "out.safetensors")
    expected = [np.asarray(leaf) for leaf in jax.tree.leaves(jax.jit(step)(*args))]
    for port in roles["results"]:
        wanted = expected[port["result"]]
        st.expect(np.allclose(found[port["name"]], wanted, rtol=1e-4, atol=1e-6), f"{port} differs from JAX's")
    by_role = [p["role"] for p in roles["results"]]
    st.expect(by_role.count("parameter") == 3 and by_role.count("loss") == 1, f"roles of results: {by_role}")
    return f"{len(roles['arguments'])} arguments, {len(roles['results'])} results"


if __name__ == "__main__":
    sys.exit(st.main(("JAX's harnesses", harnesses), ("steps", steps), ("every encoding", every_encoding),
                     ("older versions", older_versions), ("refusals", refusals), ("a step of adafactor", factored_step)))
