"""Whole training steps printed by JAX: imported, they compute JAX's numbers, and compiled, they train
with JAX's losses, on one device and in four parts."""

import os
import pathlib
import re
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"  # meshes of JAX consist of devices

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.shard_alike import shard_alike
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from safetensors.numpy import load_file, save_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from jax_models import loss_function
from st_programs import import_model, interpret, random_batch, random_parameters, signature

# Each compiled step runs only a few times, so optimisation would take longer than it saves.
jax.config.update("jax_disable_most_optimizations", True)

BATCH, SEQ, STEPS = 4, 16, 4

BERT = {
    "model_type": "bert", "hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 64,
    "vocab_size": 96, "max_position_embeddings": 24, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
}
GPT2 = {
    "model_type": "gpt2", "n_embd": 32, "n_layer": 4, "n_head": 4, "vocab_size": 96, "n_positions": 24,
    "embd_pdrop": 0.0, "attn_pdrop": 0.0, "resid_pdrop": 0.0,
}


VIT = {
    "model_type": "vit", "hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 48,
    "image_size": 16, "patch_size": 4, "num_channels": 3, "num_labels": 8,
}


def adamw(loss):
    """AdamW with its own count of steps; the epsilon keeps rounding errors from becoming updates."""
    def step(params, state, batch, lr):
        value, grads = jax.value_and_grad(loss)(params, batch)
        count = state["count"] + 1
        t = count.astype(jnp.float32)
        mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["mu"], grads)
        nu = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, state["nu"], grads)
        first, second = 1 - 0.9**t, 1 - 0.999**t
        params = jax.tree.map(
            lambda p, m, v: p - lr * (m / first / (jnp.sqrt(v / second) + 1e-4) + 0.01 * p), params, mu, nu)
        return params, {"count": count, "mu": mu, "nu": nu}, value

    def start(params):
        zeros = {name: np.zeros_like(value) for name, value in params.items()}
        return {"count": np.zeros((), np.int32), "mu": zeros, "nu": zeros}
    return step, start


def sgd(loss):
    """SGD with momentum and gradients clipped to a global norm; its results are in an unusual order."""
    def step(params, momentum, batch, lr):
        value, grads = jax.value_and_grad(loss)(params, batch)
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
        scale = jnp.minimum(1.0, 1.0 / norm)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + scale * g, momentum, grads)
        return value, momentum, jax.tree.map(lambda p, m: p - lr * m, params, momentum)

    return step, lambda params: {name: np.zeros_like(value) for name, value in params.items()}


def transformer(folder, config, task):
    program = import_model(folder, config, task, BATCH, SEQ)
    batches = [random_batch(program, 10 + i) for i in range(STEPS)]
    return loss_function(config, task), random_parameters(program, 1), batches


def mlp():
    def loss(params, batch):
        x = batch["x"]
        for i in range(6):
            x = jnp.tanh(x @ params[f"w{i}"] + params[f"b{i}"])
        return jnp.mean((x - batch["y"]) ** 2)

    rng = np.random.default_rng(0)
    params = {f"w{i}": rng.normal(scale=0.3, size=(16, 16)).astype(np.float32) for i in range(6)}
    params |= {f"b{i}": rng.normal(scale=0.1, size=16).astype(np.float32) for i in range(6)}
    batches = [{name: rng.normal(size=(8, 16)).astype(np.float32) for name in "xy"} for _ in range(STEPS)]
    return loss, params, batches


def convolution_net():
    """Patches, overlapping windows, depthwise and strided convolutions, and pooling, without batch statistics."""
    def convolve(x, kernel, stride=1, padding="SAME", groups=1):
        return jax.lax.conv_general_dilated(x, kernel, (stride, stride), padding, feature_group_count=groups,
                                            dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def loss(params, batch):
        x = jax.nn.gelu(convolve(batch["x"], params["patches"], 2, "VALID"))
        x = x + convolve(jax.nn.gelu(convolve(x, params["depthwise"], groups=8)), params["pointwise"])
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")
        x = jax.lax.reduce_window(convolve(x, params["grouped"], groups=2), -jnp.inf, jax.lax.max, (1, 2, 2, 1),
                                  (1, 2, 2, 1), "VALID")
        x = jax.nn.gelu(convolve(x, params["strided"], 2)).mean((1, 2))
        return jnp.mean((x @ params["head"] - batch["y"]) ** 2)

    rng = np.random.default_rng(0)
    shapes = {"patches": (2, 2, 3, 8), "depthwise": (3, 3, 1, 8), "pointwise": (1, 1, 8, 8), "grouped": (3, 3, 4, 16),
              "strided": (3, 3, 16, 16), "head": (16, 4)}
    params = {name: (rng.normal(size=shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32)
              for name, shape in shapes.items()}
    batches = [{"x": rng.normal(size=(8, 16, 16, 3)).astype(np.float32), "y": rng.normal(size=(8, 4)).astype(np.float32)}
               for _ in range(STEPS)]
    return loss, params, batches


def rematerialised_mlp():
    """Layers that the backward pass recomputes, after barriers."""
    _, params, batches = mlp()

    def loss(params, batch):
        x = batch["x"]
        for i in range(6):
            x = jax.checkpoint(lambda x, w, b: jnp.tanh(x @ w + b))(x, params[f"w{i}"], params[f"b{i}"])
        return jnp.mean((x - batch["y"]) ** 2)
    return loss, params, batches


def branching_mlp():
    """Layers that choose their function by a condition on their weights, or on the batch."""
    _, params, batches = mlp()

    def loss(params, batch):
        x = batch["x"]
        for i in range(6):
            y = x @ params[f"w{i}"] + params[f"b{i}"]
            x = jax.lax.cond(jnp.sum(params[f"w{i}"]) > 0, jnp.tanh, lambda v: 0.5 * jnp.sin(v) + 0.1 * x, y)
        return jnp.mean((jax.vmap(lambda r, t: jax.lax.cond(t[0] > 0, jnp.abs, jnp.negative, r))(x, batch["y"])
                         - batch["y"]) ** 2)
    return loss, params, batches


def cast_mlp():
    """Copies of all weights in lower precision at the start of the step."""
    loss, params, batches = mlp()

    def shortened(v):
        return v + jax.lax.stop_gradient(jax.lax.reduce_precision(v, 8, 7) - v)
    return lambda p, b: loss(jax.tree.map(shortened, p), b), params, batches


def scanned_mlp():
    """The layers are rows of one stacked weight, in a lax.scan."""
    def loss(params, batch):
        def layer(x, w):
            return jnp.tanh(x @ w), None
        return jnp.mean((jax.lax.scan(layer, batch["x"], params["w"])[0] - batch["y"]) ** 2)

    rng = np.random.default_rng(0)
    params = {"w": rng.normal(scale=0.3, size=(6, 16, 16)).astype(np.float32)}
    batches = [{name: rng.normal(size=(8, 16)).astype(np.float32) for name in "xy"} for _ in range(STEPS)]
    return loss, params, batches


def compare(found, expected, bound, what):
    """Relative to the largest element. The gradient of a key's bias is zero except for rounding."""
    expected = np.asarray(expected)
    largest = max(np.abs(expected).max(), 1e-4 if "key.bias" in what else 1e-30)
    apart = np.abs(np.asarray(found, np.float64) - expected).max() / largest
    st.expect(apart <= bound, f"{what} differs by {apart:.1e}")
    return apart


def leaves(*trees):
    """The leaves in the order in which jit takes its arguments."""
    return [np.asarray(leaf) for leaf in jax.tree.leaves(trees)]


def imported_step_computes(program, step, params, state, batch, rate):
    """The imported program gives JAX's loss and state; returns the names of JAX's arguments."""
    given = leaves(params, state, batch, np.float32(rate))
    arguments, results = signature(program)
    st.expect(len(arguments) == len(given), f"{len(arguments)} arguments, JAX has {len(given)}")
    found = interpret(program, {a.name: v for a, v in zip(arguments, given, strict=True)})
    expected = leaves(jax.jit(step)(params, state, batch, np.float32(rate)))
    loss = [i for i, r in enumerate(results) if r.role == "loss"]
    st.expect(len(loss) == 1, f"{len(loss)} results of role loss")
    for result, value in zip(results, expected, strict=True):
        compare(found[result.name], value, 1e-5 if result.role == "loss" else 2e-4, result.name)
    return [a.name for a in arguments]


def trains(make, optimizer, debug, rate, layouts, flags=()):
    def run(folder):
        loss, params, batches = make(folder)
        step, start = optimizer(loss)
        state = start(params)
        lowered = jax.jit(step, donate_argnums=(0, 1)).lower(params, state, batches[0], np.float32(rate))
        text = folder / "step.mlir"
        text.write_text(lowered.as_text(debug_info=debug))
        program = folder / "imported.mlir"
        st.check_run([*st.COMPILE, text, "--compile-to=import", *flags, "-o", program])
        names = imported_step_computes(program, step, params, state, batches[0], rate)

        count = len(params)
        fed = names[-1 - len(batches[0]):-1]
        stacked = [np.stack(values) for values in zip(*(leaves(b) for b in batches), strict=True)]
        save_file(dict(zip(fed, stacked, strict=True)), folder / "batches.safetensors")
        worst = 0.0
        for i, layout in enumerate(layouts):
            binary = folder / f"b{i}.bin"
            parallel = [f"--parallel={st.write_json(folder / f'p{i}.json', layout)}"] if layout else []
            st.check_run([*st.COMPILE, text, "--target=dtu-t10", *parallel, *flags, "-o", binary])
            st.check_run([binary, "--steps=0", f"--data={folder / 'batches.safetensors'}", f"--save={folder / f's{i}'}"])
            saved = load_file(folder / f"s{i}" / "model.safetensors")
            p = dict(zip(sorted(params), (saved[name] for name in names[:count]), strict=True))
            found = st.losses(st.train(binary, f"--data={folder / 'batches.safetensors'}", f"--lr={rate}", steps=STEPS))
            expected, s, jitted = [], start(p), jax.jit(step)
            for batch in batches:
                out = jitted(p, s, batch, np.float32(rate))
                p, s, value = out if optimizer is adamw else (out[2], out[1], out[0])
                expected.append(float(value))
            st.expect(expected[0] != expected[-1], "JAX's losses do not move")
            worst = max(worst, st.relative_difference(expected, found))
            st.expect(worst <= 1e-5, f"layout {i}: losses {found}, JAX's {expected}")
        return f"losses within {worst:.0e}"
    return run


def function_runs(folder):
    """A function that is not a training step runs once on the tensors of a file."""
    def function(x, table, index):
        return jax.nn.softmax(x @ table.T), jnp.take(table, index, axis=0), x.sum()

    rng = np.random.default_rng(0)
    given = {"x": rng.normal(size=(8, 16)).astype(np.float32), "table": rng.normal(size=(32, 16)).astype(np.float32),
             "index": rng.integers(0, 32, 5).astype(np.int32)}
    lowered = jax.jit(function).lower(*given.values())
    (folder / "f.mlir").write_text(lowered.as_text(debug_info=True))
    st.check_run([*st.COMPILE, folder / "f.mlir", "--target=dtu-t10", "-o", folder / "f.bin"])
    save_file(given, folder / "in.safetensors")
    st.check_run([folder / "f.bin", f"--inputs={folder}/in.safetensors", f"--outputs={folder}/out.safetensors"])
    found = load_file(folder / "out.safetensors")
    for i, value in enumerate(jax.jit(function)(*given.values())):
        compare(found[f"result{i}"], value, 1e-5, f"result{i}")
    save_file({"x": given["x"], "index": given["index"]}, folder / "less.safetensors")
    for flags, message in [
            ([f"--inputs={folder}/less.safetensors", f"--outputs={folder}/none"], 'no tensor "table"'),
            ([f"--inputs={folder}/in.safetensors"], "--inputs and --outputs go together"),
            ([], "no loss to minimise")]:
        done = st.run([folder / "f.bin", *flags])
        st.expect(done.returncode == 1 and message in done.stderr, f"{flags}: exit {done.returncode}, {done.stderr}")
    st.expect(not (folder / "none").exists(), "a failed run left its output")
    (folder / "c.mlir").write_text("func.func @main() -> tensor<2xf32> {\n"
                                   "%0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>\n"
                                   "return %0 : tensor<2xf32>\n}\n")
    save_file({}, folder / "empty.safetensors")
    st.check_run([*st.COMPILE, folder / "c.mlir", "-o", folder / "c.bin"])
    st.check_run([folder / "c.bin", f"--inputs={folder}/empty.safetensors", f"--outputs={folder}/out.safetensors"])
    compare(load_file(folder / "out.safetensors")["result0"], [1, 2], 0, "a constant")


CUSTOM_GRADIENT = """func.func @main(%w: tensor<8xf32> {st.name = "w", st.role = "parameter", st.init = {kind = "ones"}},
    %x: tensor<4x8xf32> {st.name = "x", st.role = "batch"}) -> (tensor<f32> {st.name = "loss", st.role = "loss"}) {
  %b = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %m = stablehlo.multiply %b, %x : tensor<4x8xf32>
  %y = st.custom_gradient(%m) forward {
  ^bb0(%a: tensor<4x8xf32>):
    %e = stablehlo.tanh %a : tensor<4x8xf32>
    stablehlo.return %e, %e : tensor<4x8xf32>, tensor<4x8xf32>
  } backward {
  ^bb0(%e: tensor<4x8xf32>, %ct: tensor<4x8xf32>):
    %three = stablehlo.constant dense<3.0> : tensor<4x8xf32>
    %d = stablehlo.multiply %ct, %three : tensor<4x8xf32>
    %f = stablehlo.multiply %d, %e : tensor<4x8xf32>
    stablehlo.return %f : tensor<4x8xf32>
  } : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %l = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1]
    : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}
"""


def custom_gradient(folder):
    """A step uses the custom gradient of its program; if it takes no gradient, the forward part runs."""
    rng = np.random.default_rng(0)
    given = {"x": rng.normal(size=(4, 8)).astype(np.float32), "w": rng.normal(size=8).astype(np.float32)}
    e = np.tanh(given["w"] * given["x"])
    step = CUSTOM_GRADIENT
    plain = step.replace('st.role = "parameter", st.init = {kind = "ones"}', 'st.role = "batch"').replace(
        'st.name = "loss", st.role = "loss"', 'st.name = "loss", st.role = "metric"')
    sgd = ["--optimizer=sgd", "--momentum=0", "--weight-decay=0"]
    rate = {"learning_rate": np.array(0.1, np.float32)}
    for name, text, flags, more in (("step", step, sgd, rate), ("plain", plain, [], {})):
        (folder / f"{name}.mlir").write_text(text)
        save_file(given | more, folder / f"{name}.in")
        st.check_run([*st.COMPILE, folder / f"{name}.mlir", "--target=dtu-t10", *flags, "-o", folder / name])
        st.check_run([folder / name, f"--inputs={folder}/{name}.in", f"--outputs={folder}/{name}.safetensors"])
        found = load_file(folder / f"{name}.safetensors")
        compare(found["loss"], e.sum(), 1e-5, "the loss")
        if name == "step":
            compare(found["w"], given["w"] - 0.1 * (3 * e * given["x"]).sum(0), 1e-5, "w")


def nothing_runs(folder):
    """Tensors without elements: reductions of them give the initial value, products give zeros."""
    def function(x, y):
        return (x.sum(0), x + x, jnp.max(y, axis=1, initial=1.5), y @ x, x @ x.T, jnp.einsum("bk,bkn->bn", y, y[..., None]),
                y.astype(np.int32) @ x.astype(np.int32))

    given = {"x": np.zeros((0, 8), np.float32), "y": np.zeros((3, 0), np.float32)}
    (folder / "f.mlir").write_text(jax.jit(function).lower(*given.values()).as_text(debug_info=True))
    st.check_run([st.BIN / "st-compile", folder / "f.mlir", "--target=dtu-t10", "-o", folder / "f.bin"])
    save_file(given, folder / "in.safetensors")
    st.check_run([folder / "f.bin", f"--inputs={folder}/in.safetensors", f"--outputs={folder}/out.safetensors"])
    found = load_file(folder / "out.safetensors")
    for i, value in enumerate(jax.jit(function)(*given.values())):
        st.expect(np.array_equal(found[f"result{i}"], value), f"result{i} is {found[f'result{i}']}, JAX's {value}")


def hlo_computes(config, task):
    """XLA's HloModuleProto and HLO text of a step, once imported, compute JAX's numbers."""
    def run(folder):
        loss, params, batches = transformer(folder, config, task)
        step, start = adamw(loss)
        arguments = (params, start(params), batches[0], np.float32(1e-3))
        lowered = jax.jit(step, donate_argnums=(0, 1)).lower(*arguments)
        hlo = lowered.compiler_ir("hlo")
        proto = folder / "step.pb"
        proto.write_bytes(hlo.as_serialized_hlo_module_proto())
        (folder / "step.hlo").write_text(hlo.as_hlo_text())
        for source in (proto, folder / "step.hlo"):
            program = source.with_suffix(source.suffix + ".mlir")
            st.check_run([st.BIN / "st-compile", source, "--compile-to=import", "-o", program])
            imported_step_computes(program, step, *arguments)
        # Damage is detected, or is harmless.
        data = proto.read_bytes()
        rng = np.random.default_rng(0)
        for i in range(20):
            spoilt = bytearray(data[: rng.integers(len(data))] if i % 2 else data)
            for place in rng.integers(0, len(spoilt), 3) if spoilt else ():
                spoilt[place] ^= 1 << int(rng.integers(8))
            (folder / "spoilt.pb").write_bytes(spoilt)
            done = st.run([st.BIN / "st-translate", "--import-hlo-proto", folder / "spoilt.pb", "-o", "/dev/null"])
            st.expect(done.returncode in (0, 1), f"damaged proto {i}: exit {done.returncode}\n{done.stderr[-800:]}")
    return run


def nesterov(state, x):
    """One of the two vectors has the other's previous value."""
    value, slope = jax.value_and_grad(lambda y: jnp.mean((x @ y - 1) ** 2))(state["y"])
    ahead = state["y"] - 0.1 * slope
    return {"x": ahead, "y": ahead + 0.9 * (ahead - state["x"])}, value


def heavy_ball(state, x):
    """Keeps the previous weights, in a tuple."""
    w, before = state
    value, slope = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return (w - 0.1 * slope + 0.9 * (w - before), w), value


def exchange(state, x):
    """The two vectors exchange their values."""
    a, b = state
    return (b, a), jnp.mean(x @ a)


def trades_places(step, make):
    """State of one type that swaps its positions: the step's result for each is JAX's."""
    def run(folder):
        rng = np.random.default_rng(4)
        a, b, x = (rng.normal(size=shape).astype(np.float32) for shape in ((8,), (8,), (16, 8)))
        for form, info in (("names", True), ("no names", False)):
            (folder / "step.mlir").write_text(jax.jit(step, donate_argnums=0).lower(make(a, b), x).as_text(debug_info=info))
            stderr = st.check_run([*st.COMPILE, folder / "step.mlir", "-o", folder / "b"]).stderr
            rows = re.findall(r"^  (arg\d|result\d) +\S+ +\S+ +(\S+)", stderr, re.M)
            names = [name for place, name in rows if place.startswith("arg")]
            save_file(dict(zip(names, (a, b, x), strict=True)), folder / "in.safetensors")
            st.check_run([folder / "b", f"--inputs={folder}/in.safetensors", f"--outputs={folder}/out.safetensors"])
            found = load_file(folder / "out.safetensors")
            state, loss = jax.jit(step)(make(a, b), x)
            for name, value in zip([*names[:2], "loss"], [*jax.tree.leaves(state), loss], strict=True):
                compare(found[name], value, 1e-5, f"{form}: {name}")
    return run


def annotated(shardy, hlo=False):
    """A step with shardings over two axes in the program, of Shardy or of GSPMD, in StableHLO or in HLO. In four parts,
    with two micro-batches in two stages, it computes JAX's numbers, and its weights have the given shardings."""
    def run(folder):
        mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("data", "model"))

        def sharding(*axes):
            return NamedSharding(mesh, PartitionSpec(*axes))

        def step(params, batch):
            def loss(p):
                h = jax.lax.with_sharding_constraint(jnp.tanh(batch["x"] @ p["w0"]), sharding("data", "model"))
                # Left to propagation: one dimension, and both dimensions of a tensor that is split like h.
                h, smooth = shard_alike(h, jnp.sin(h))
                out = jax.lax.with_sharding_constraint((h + smooth) @ p["w1"], sharding("data", PartitionSpec.UNCONSTRAINED))
                return jnp.mean((out - batch["y"]) ** 2)
            value, grads = jax.value_and_grad(loss)(params)
            return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

        rng = np.random.default_rng(0)
        shapes = {"w0": ((16, 32), (None, "model")), "w1": ((32, 16), ("model",)), "x": ((8, 16), ("data",)),
                  "y": ((8, 16), ("data",))}
        given = {name: rng.normal(size=shape).astype(np.float32) for name, (shape, _) in shapes.items()}
        placed = {name: jax.ShapeDtypeStruct(shape, np.float32, sharding=sharding(*axes))
                  for name, (shape, axes) in shapes.items()}

        def split(values):
            return {n: values[n] for n in ("w0", "w1")}, {n: values[n] for n in "xy"}

        jax.config.update("jax_use_shardy_partitioner", shardy)
        try:
            lowered = jax.jit(step, donate_argnums=0).lower(*split(placed))
            text = lowered.as_text(debug_info=True)
            proto = lowered.compiler_ir("hlo").as_serialized_hlo_module_proto()
        finally:
            jax.config.update("jax_use_shardy_partitioner", True)
        for said in ("{?}", "sdy.sharding_group") if shardy else ("unspecified_dims", "shard_as"):
            st.expect(said in text, f"the program does not say {said}")
        source = folder / ("step.pb" if hlo else "step.mlir")
        source.write_bytes(proto if hlo else text.encode())
        params, loss = jax.jit(step)(*split(given))
        save_file(given, folder / "in.safetensors")
        parallel = st.write_json(folder / "p.json", st.layout(2, 4, mode="hybrid", accum=2))
        st.check_run([*st.COMPILE, source, f"--parallel={parallel}", "-o", folder / "b"])
        st.check_run([folder / "b", f"--inputs={folder}/in.safetensors", f"--outputs={folder}/out.safetensors"])
        found = load_file(folder / "out.safetensors")
        for name, value in {**params, "loss": loss}.items():
            compare(found[name], value, 1e-5, name)
        planned = folder / "planned.mlir"
        st.check_run([*st.COMPILE, source, f"--parallel={parallel}", "--compile-to=planned",
                      "-o", planned])
        st.expect('global tensor<16x32xf32>' in planned.read_text()
                  and "local tensor<16x16xf32>" in planned.read_text(), "w0 is not in two parts")
    return run


def image_rows(folder):
    """A step of a convolutional net with images split by rows over four devices. Convolutions with strides, and their
    gradients, move rows between neighbours and gather no image."""
    mesh = Mesh(np.array(jax.devices()), ("rows",))

    def sharding(*axes):
        return NamedSharding(mesh, PartitionSpec(*axes))

    def convolve(x, w, stride):
        return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def step(params, batch):
        def loss(p):
            h = jnp.tanh(convolve(batch["x"], p["w0"], 1))
            h = jnp.tanh(convolve(h, p["w1"], 2))
            return jnp.mean((convolve(h, p["w2"], 1) - batch["y"]) ** 2)
        value, grads = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

    rng = np.random.default_rng(0)
    shapes = {"w0": (5, 5, 3, 8), "w1": (3, 3, 8, 8), "w2": (3, 3, 8, 2), "x": (2, 32, 32, 3), "y": (2, 16, 16, 2)}
    given = {name: rng.normal(size=shape).astype(np.float32) * 0.3 for name, shape in shapes.items()}
    placed = {name: jax.ShapeDtypeStruct(shape, np.float32, sharding=sharding(None, "rows") if name in "xy" else sharding())
              for name, shape in shapes.items()}

    def split(values):
        return {n: values[n] for n in ("w0", "w1", "w2")}, {n: values[n] for n in "xy"}

    source = folder / "step.mlir"
    source.write_text(jax.jit(step, donate_argnums=0).lower(*split(placed)).as_text(debug_info=True))
    params, loss = jax.jit(step)(*split(given))
    save_file(given, folder / "in.safetensors")
    parallel = st.write_json(folder / "p.json", st.layout(1, 4))
    st.check_run([*st.COMPILE, source, f"--parallel={parallel}", "-o", folder / "b"])
    st.check_run([folder / "b", f"--inputs={folder}/in.safetensors", f"--outputs={folder}/out.safetensors"])
    found = load_file(folder / "out.safetensors")
    for name, value in {**params, "loss": loss}.items():
        compare(found[name], value, 1e-5, name)
    st.check_run([*st.COMPILE, source, f"--parallel={parallel}", "--compile-to=local", "-o", folder / "local.mlir"])
    text = (folder / "local.mlir").read_text()
    st.expect("st.collective_permute" in text and "st.all_gather" not in text, "images are gathered")


def large_program(layers):
    """The text of @main with 14 ops and a call per layer, with the kinds of ops that JAX prints too many of."""
    t, v, s = "tensor<64x64xf32>", "tensor<64xf32>", "tensor<f32>"
    lines = [f"func.func public @main(%x0: {t}, %w: {t}, %b: {v}) -> {t} {{"]
    for i in range(layers):
        lines += [line.replace("#", str(i)) for line in (
            f"%a# = stablehlo.dot_general %x#, %w, contracting_dims = [1] x [0] : ({t}, {t}) -> {t}",
            f"%c# = stablehlo.broadcast_in_dim %b, dims = [1] : ({v}) -> tensor<1x64xf32>",
            f"%d# = stablehlo.broadcast_in_dim %c#, dims = [0, 1] : (tensor<1x64xf32>) -> {t}",
            f"%e# = stablehlo.add %a#, %d# : {t}",
            f"%f# = stablehlo.constant dense<2.0> : {s}",
            f"%g# = stablehlo.constant dense<{i % 7}.5> : {s}",
            f"%h# = stablehlo.multiply %f#, %g# : {s}",
            f"%i# = stablehlo.broadcast_in_dim %h#, dims = [] : ({s}) -> {t}",
            f"%j# = stablehlo.multiply %e#, %i# : {t}",
            f"%k# = stablehlo.transpose %j#, dims = [1, 0] : ({t}) -> {t}",
            f"%l# = stablehlo.reshape %k# : ({t}) -> tensor<4096xf32>",
            f"%m# = stablehlo.reshape %l# : (tensor<4096xf32>) -> {t}",
            f"%n# = stablehlo.transpose %m#, dims = [1, 0] : ({t}) -> {t}",
            f"%o# = func.call @act(%n#) : ({t}) -> {t}",
            f"%x{i + 1} = stablehlo.add %o#, %x# : {t}")]
    return "\n".join(lines + [f"return %x{layers} : {t}", "}",
                              f"func.func private @act(%x: {t}) -> {t} {{", f"%0 = stablehlo.tanh %x : {t}",
                              f"%1 = stablehlo.maximum %0, %x : {t}", f"return %1 : {t}", "}"])


def simplifies_fast(folder):
    layers = 13000
    (folder / "large.mlir").write_text(large_program(layers))
    start = time.monotonic()
    st.check_run([st.BIN / "st-opt", "--simplify", folder / "large.mlir", "-o", folder / "once.mlir"])
    seconds = time.monotonic() - start
    text = (folder / "once.mlir").read_text()
    left = text.count(" = stablehlo.")
    st.expect(left <= 6 * layers + 20, f"{left} ops are left of {layers} layers, expected 6 a layer")
    st.check_run([st.BIN / "st-opt", "--simplify", folder / "once.mlir", "-o", folder / "twice.mlir"])
    st.expect((folder / "twice.mlir").read_text() == text, "a second run changes the program")
    st.expect(seconds < 20, f"{seconds:.0f} s")
    return f"{17 * layers} ops in {seconds:.1f} s, parsing and printing included"


LAYOUTS = [None, st.layout(2, 2, mode="hybrid", accum=2)]
REPLICAS = {"mode": "hybrid", "data": 2, "zero": 1, "sharding_size": 2, "stage_cnt": 2, "accum_degree": 2}

CASES = [
    ("gpt2 as an HLO proto and as HLO text", hlo_computes(GPT2, "clm")),
    ("shardings in the program, Shardy's", annotated(True)),
    ("shardings in the program, GSPMD's", annotated(False)),
    ("shardings in HLO, Shardy's", annotated(True, hlo=True)),
    ("shardings in HLO, GSPMD's", annotated(False, hlo=True)),
    ("images split by rows", image_rows),
    ("a function that is no training step", function_runs),
    ("a function of nothing", nothing_runs),
    ("Nesterov's momentum", trades_places(nesterov, lambda a, b: {"x": a, "y": b})),
    ("a heavy ball", trades_places(heavy_ball, lambda a, b: (a, b))),
    ("two that exchange their places", trades_places(exchange, lambda a, b: (a, b))),
    ("a gradient that the program gives", custom_gradient),
    ("a large program simplifies fast, once and for all", simplifies_fast),
    ("bert, AdamW, with locations", trains(lambda f: transformer(f, BERT, "mlm"), adamw, True, 1e-3, [*LAYOUTS, REPLICAS])),
    ("gpt2, AdamW, without locations", trains(lambda f: transformer(f, GPT2, "clm"), adamw, False, 1e-3, LAYOUTS)),
    ("gpt2, clipped SGD, results in another order", trains(
        lambda f: transformer(f, GPT2, "clm"), sgd, False, 1e-2, LAYOUTS)),
    ("vit, clipped SGD", trains(lambda f: transformer(f, VIT, "classify"), sgd, True, 1e-2, LAYOUTS)),
    ("convolution net, clipped SGD", trains(lambda f: convolution_net(), sgd, True, 1e-1, [
        None, st.layout(1, 1, accum=4), st.layout(2, 1, mode="pipeline", accum=2), st.layout(1, 2),
        st.layout(1, 2, dim=0), st.layout(2, 2, mode="hybrid", accum=2)])),
    ("mlp rematerialised, clipped SGD", trains(
        lambda f: rematerialised_mlp(), sgd, True, 1e-1, [*LAYOUTS, st.layout(1, 1, accum=4)])),
    ("mlp with branches, clipped SGD", trains(
        lambda f: branching_mlp(), sgd, True, 1e-1, [*LAYOUTS, st.layout(1, 1, accum=4), REPLICAS])),
    ("mlp of cast weights, clipped SGD", trains(
        lambda f: cast_mlp(), sgd, True, 1e-1, [None, st.layout(3, 1, mode="pipeline", accum=2), REPLICAS])),
    ("mlp by scan, clipped SGD", trains(lambda f: scanned_mlp(), sgd, True, 1e-1, [None])),
    ("mlp by scan, rolled, clipped SGD", trains(
        lambda f: scanned_mlp(), sgd, True, 1e-1, [None, st.layout(1, 1, accum=4), st.layout(1, 2)], ["--unroll=0"])),
    ("mlp, clipped SGD, four stages", trains(
        lambda f: mlp(), sgd, True, 1e-1, [None, st.layout(4, 1, mode="pipeline", accum=4)])),
]

if __name__ == "__main__":
    sys.exit(st.main(*st.drawn_part(CASES, 2)))
