"""Mixed precision: gradients compared with JAX's, the loss scale with PyTorch's rule, training with f32, and checkpoints.

The reference of the loss scale is the documentation of torch.amp.GradScaler, which is a hysteresis of 1 (test_loss_scale.py
has others): it is halved after a step with a non-finite gradient, which does not change parameters and optimizer, and
doubled after a number of finite steps in a row.
"""

import pathlib
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from jax_models import loss_function
from reference_optimizers import DEFAULTS, OPTIMIZERS, clip
from st_programs import import_model, interpret, random_batch, random_parameters, transform
from st_errors import expect_error
from test_jax_models import BERT, GPT2, LLAMA, VIT
from test_specs import MODELS

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_most_optimizations", True)

TYPES = {"bf16": jnp.bfloat16, "f16": jnp.float16}
# Relative to the norm of all gradients, and to the loss; measured values are at most half of these.
GRADIENT_BOUNDS = {"bf16": 2e-2, "f16": 3e-3}
LOSS_BOUNDS = {"bf16": 3e-3, "f16": 2e-4}
# Relative difference of losses from those in f32, over 5 and 50 steps of the models of test_specs.py.
TRAINING_BOUNDS = {"bf16": (5e-4, 2e-3), "f16": (1e-4, 5e-4)}
SCALE = 1024.0


# ---- gradients ----------------------------------------------------------------------------------


def distance(found, expected):
    """The distance of two dictionaries of arrays, relative to the norm of the second."""
    squares = sum(((np.asarray(found[name], np.float64) - value)**2).sum() for name, value in expected.items())
    return np.sqrt(squares / sum((value**2).sum() for value in expected.values()))


def gradients_match(config, task, name):
    """About as far from JAX's f64 gradients as JAX's own gradients with parameters in 16 bits."""
    def run(folder):
        program = transform(import_model(folder, config, task, 3, 16), f"--assign-precision=compute={name}",
                            f"--scale-loss=scale={SCALE}", "--differentiate", "--widen-sums",
                            f"--narrow-residuals=compute={name}")
        parameters, batch = random_parameters(program, 1), random_batch(program, 2)
        found = interpret(program, parameters | batch)
        loss_of = loss_function(config, task)

        def of_type(dtype, scale):
            given = {key: jnp.asarray(value, dtype) for key, value in parameters.items()}
            loss, gradients = jax.jit(jax.value_and_grad(lambda p: scale * loss_of(p, batch, None).astype(
                jnp.promote_types(dtype, jnp.float32))))(given)
            return float(loss) / scale, {key: np.asarray(value, np.float64) / scale for key, value in gradients.items()}

        loss, gradients = of_type(jnp.float64, 1.0)
        theirs = distance(of_type(TYPES[name], SCALE)[1], gradients)
        ours = distance({key: found[key].astype(np.float64) / SCALE for key in gradients}, gradients)
        of_loss = abs(float(found["loss"]) - loss) / abs(loss)
        st.expect(all(value.dtype == np.float32 for value in found.values()), "a result is not f32")
        st.expect(0 < ours <= GRADIENT_BOUNDS[name], f"gradients are off by {ours:.1e}")
        st.expect(ours <= 1.5 * theirs, f"gradients are off by {ours:.1e}, JAX's in {name} by {theirs:.1e}")
        st.expect(of_loss <= LOSS_BOUNDS[name], f"the loss is off by {of_loss:.1e}")
        return f"off by {ours:.1e}, JAX's in {name} by {theirs:.1e}; loss by {of_loss:.1e}"

    return run


# ---- the scale ----------------------------------------------------------------------------------

STEP = """
module attributes {st.loss_scale = {growth_interval = 3 : i64, hysteresis = 1 : i64, min_scale = 1.0 : f64}} {
func.func @main(%w: tensor<5x7xf32> {st.name = "w", st.role = "parameter"},
                %b: tensor<7xf32> {st.name = "b", st.role = "parameter", st.no_decay},
                %scale: tensor<f32> {st.name = "loss_scale.scale", st.role = "optimizer_state"},
                %dw: tensor<5x7xf32> {st.name = "dw", st.role = "batch"},
                %db: tensor<7xf32> {st.name = "db", st.role = "batch"})
    -> (tensor<5x7xf32> {st.name = "w", st.role = "gradient"}, tensor<7xf32> {st.name = "b", st.role = "gradient"}) {
  %0 = stablehlo.broadcast_in_dim %scale, dims = [] : (tensor<f32>) -> tensor<5x7xf32>
  %1 = stablehlo.multiply %dw, %0 : tensor<5x7xf32>
  %2 = stablehlo.broadcast_in_dim %scale, dims = [] : (tensor<f32>) -> tensor<7xf32>
  %3 = stablehlo.multiply %db, %2 : tensor<7xf32>
  return %1, %3 : tensor<5x7xf32>, tensor<7xf32>
}
}
"""


class GradScaler:
    """As documented."""

    def __init__(self, scale, growth_interval):
        self.scale, self.growth_interval, self.good = np.float32(scale), growth_interval, 0

    def update(self, found_inf):
        if found_inf:
            self.scale, self.good = np.float32(self.scale * np.float32(0.5)), 0
            return
        self.good += 1
        if self.good == self.growth_interval:
            with np.errstate(over="ignore"):
                doubled = np.float32(self.scale * np.float32(2))
            self.scale, self.good = doubled if np.isfinite(doubled) else self.scale, 0


def scaler_matches(kind, start, clip_norm=0.0):
    """Fourteen steps; the marked ones have a gradient that is not finite."""
    bad = {0: np.inf, 1: np.nan, 6: -np.inf, 8: np.inf}

    def run(folder):
        options = DEFAULTS | {"clip-norm": clip_norm}
        path = folder / "step.mlir"
        path.write_text(STEP)
        program = transform(path, f"--add-optimizer=kind={kind} clip-norm={clip_norm}")
        rng = np.random.default_rng(5)
        suffixes = [".momentum"] if kind == "sgd" else [".exp_avg", ".exp_avg_sq"]
        shapes = {"w": (5, 7), "b": (7,)}
        state = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
        state |= {name + s: np.zeros(shape, np.float32) for name, shape in shapes.items() for s in suffixes}
        state |= {"loss_scale.scale": np.float32(start), "loss_scale.good_steps": np.float32(0),
                  "loss_scale.skipped_steps": np.float32(0)}
        expected = {name: value.astype(np.float64) for name, value in state.items()}
        scaler, taken, worst, scales = GradScaler(start, 3), 0, 0.0, []
        for step in range(14):
            gradients = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
            if step in bad:
                gradients["b" if step % 2 else "w"].flat[3] = bad[step]
            given = dict(state, dw=gradients["w"], db=gradients["b"], learning_rate=np.float32(0.05))
            if kind != "sgd":
                given["step"] = np.float32(step + 1)
            found = interpret(program, given)
            with np.errstate(over="ignore"):
                overflows = any(not np.isfinite(g * scaler.scale).all() for g in gradients.values())
            st.expect(float(found["loss_scale"]) == scaler.scale, f"step {step}: {found['loss_scale']}, not {scaler.scale}")
            if not overflows:
                taken += 1
                exact, _ = clip(options, {name: g.astype(np.float64) for name, g in gradients.items()})
                for name in shapes:
                    of = {s: expected[name + s] for s in suffixes}
                    expected[name], of = OPTIMIZERS[kind](options, taken, 0.05, expected[name], exact[name], of, name == "w")
                    expected |= {name + s: value for s, value in of.items()}
            scaler.update(overflows)
            scales.append(float(scaler.scale))
            expected["loss_scale.scale"], expected["loss_scale.good_steps"] = scaler.scale, scaler.good
            expected["loss_scale.skipped_steps"] = step + 1 - taken
            if overflows:
                same = [name for name in state if "loss_scale" not in name]
                st.expect(all((found[name] == state[name]).all() for name in same), f"step {step} changes a state")
            state = {name: found[name] for name in state}
            worst = max([worst, *(np.abs((state[n] - v) / np.maximum(np.abs(v), 0.1)).max() for n, v in expected.items())])
        st.expect(worst <= 1e-5, f"off by {worst:.1e}")
        st.expect(0 < taken < 14, f"{taken} of 14 steps were taken")
        return f"{14 - taken} of 14 left out, scale {scales[0]:g} to {scales[-1]:g}, off by {worst:.0e}"

    return run


# ---- training -----------------------------------------------------------------------------------


def one_device(precision):
    return {"mode": "sharding", "data": 1, "precision": precision}


# The initial scale of a short run in f16, which would otherwise skip its first steps.
FIRST_SCALE = {"f16": ["--initial-loss-scale=65536"]}


def trains(model, name):
    def run(folder):
        task, config = MODELS[model]
        losses = {}
        for precision in ("f32", name):
            binary = st.compile_model(folder, precision, config, task, one_device(precision), "--lr=1e-3",
                                      *FIRST_SCALE.get(precision, []), batch=8, seq=16)
            losses[precision] = st.losses(st.train(binary, steps=50))
        few, all_ = (st.relative_difference(losses["f32"][:n], losses[name][:n]) for n in (5, 50))
        st.expect(losses[name] != losses["f32"], "the losses are those of f32")
        st.expect(np.mean(losses[name][-5:]) < 0.95 * losses[name][0], f"it does not learn: {losses[name]}")
        for steps, difference, bound in zip((5, 50), (few, all_), TRAINING_BOUNDS[name]):
            st.expect(difference <= bound, f"losses of {steps} steps differ by {difference:.1e} from those of f32")
        return f"losses differ by {few:.1e} in 5 steps, {all_:.1e} in 50; {losses[name][0]:.3f} to {losses[name][-1]:.3f}"

    return run


def vit_trains(folder):
    """Images are f32; the products of their patches are not. In bf16 also with replicas that share the parameters."""
    losses = {}
    rows = {"f32": one_device("f32"), "bf16": one_device("bf16"), "f16": one_device("f16"),
            "bf16 2x2": {"mode": "sharding", "data": 2, "sharding_size": 2, "sharding_dim": "megatron", "zero": 3,
                         "precision": {"compute": "bf16", "reduce": "bf16"}}}
    for name, spec in rows.items():
        model = st.write_json(folder / name / "config.json", VIT).parent
        spec = st.write_json(folder / name / "parallel.json", spec)
        binary = folder / name / "vit.bin"
        st.check_run([*st.COMPILE, model, "--task=classify", "--batch=8", f"--parallel={spec}", "--lr=1e-3", "--predict=false",
                      *FIRST_SCALE.get(name, []), "-o", binary])
        losses[name] = st.losses(st.train(binary, steps=8))
    worst = {name: st.relative_difference(losses["f32"], value) for name, value in losses.items()}
    st.expect(0 < worst["f16"] <= 5e-4 and all(0 < worst[name] <= 3e-3 for name in worst if "bf16" in name), f"{worst}")
    return ", ".join(f"{name} {value:.1e}" for name, value in worst.items())


def started_from(folder, scale, *flags, parallel=None):
    """A small GPT-2 in f16 with an initial scale so high that gradients overflow."""
    task, config = MODELS["gpt2"]
    model = st.write_json(folder / "m" / "config.json", config).parent
    spec = st.write_json(folder / "parallel.json", dict(parallel or {"mode": "sharding", "data": 1}, precision="f16"))
    st.check_run([*st.COMPILE, model, f"--task={task}", "--batch=8", "--seq=16", f"--parallel={spec}", "--lr=1e-3",
                  f"--initial-loss-scale={scale}", "--hysteresis=1", "--predict=false", *flags, "-o", folder / "f16.bin"])
    return folder / "f16.bin"


def overflow(parallel):
    """Steps that overflow change only the scale; then the model trains. A resumed run keeps the scale."""
    def run(folder):
        binary = started_from(folder, 2.0**26, parallel=parallel)
        st.check_run([binary, "--steps=0", f"--save={folder / 'start'}"])
        whole = st.train(binary, steps=30)
        scales = [m["loss_scale"] for m in whole]
        skipped = next(i for i, (a, b) in enumerate(zip(scales, scales[1:])) if a == b)
        st.expect(skipped >= 3 and scales[:skipped + 1] == [2.0**(26 - i) for i in range(skipped + 1)], f"scales {scales}")
        st.check_run([binary, f"--steps={skipped}", f"--save={folder / 'skipped'}"])
        start, after = (load_file(folder / name / "model.safetensors") for name in ("start", "skipped"))
        st.expect(all((start[n] == after[n]).all() for n in start), "a step that overflows changes a parameter")
        states = load_file(folder / "skipped" / "optimizer.safetensors")
        st.expect({n: float(states[n]) for n in states if n.startswith("loss_scale")} == {
            "loss_scale.scale": scales[skipped], "loss_scale.good_steps": 0, "loss_scale.skipped_steps": skipped},
            "the checkpoint does not have the scale")
        resumed = st.train(binary, f"--resume={folder / 'skipped'}", steps=30 - skipped)
        st.expect(st.losses(resumed) == st.losses(whole)[skipped:], "the resumed run has other losses")
        st.expect([m["loss_scale"] for m in resumed] == scales[skipped:], "the resumed run has another scale")
        st.expect(np.mean(st.losses(whole)[-5:]) < 0.98 * st.losses(whole)[0], f"it does not learn: {st.losses(whole)}")
        return f"{skipped} steps left out, from 2^26 to {scales[-1]:g}"

    return run


def fixed_scale(folder):
    """A number is a fixed scale. A reasonable one gives the losses of another; a bad one skips every step."""
    task, config = MODELS["gpt2"]
    losses = {}
    for scale in (256, 4096, 1e30):
        binary = st.compile_model(folder, f"s{scale:g}", config, task,
                                  one_device({"compute": "f16", "loss_scale": scale}), "--lr=1e-3", batch=8, seq=16)
        metrics = st.train(binary, f"--save={folder / f'{scale:g}'}", steps=5)
        losses[scale] = st.losses(metrics)
        st.expect("loss_scale" not in metrics[0], "a fixed scale is a metric")
    st.check_run([binary, "--steps=0", f"--save={folder / 'start'}"])
    start, end = (load_file(folder / name / "model.safetensors") for name in ("start", "1e+30"))
    st.expect(all((start[n] == end[n]).all() for n in start), "a scale of 1e30 changes a parameter")
    difference = st.relative_difference(losses[256], losses[4096])
    st.expect(difference <= 1e-4, f"losses with 256 and 4096 differ by {difference:.1e}")
    return f"256 and 4096 agree to {difference:.1e}"


def checkpoint(folder):
    """Parameters and optimizer state stay f32 under their names; a run in bf16 resumes one in f32."""
    task, config = MODELS["bert"][0], dict(MODELS["bert"][1], torch_dtype="bfloat16")
    saved = {}
    for precision in ("f32", "bf16", "f16"):
        binary = st.compile_model(folder, precision, config, task, one_device(precision), "--lr=1e-3", batch=8, seq=16)
        st.check_run([binary, "--steps=2", f"--save={folder / precision / 'c'}"])
        saved[precision] = [load_file(folder / precision / "c" / f"{n}.safetensors") for n in ("model", "optimizer")]
        st.expect('"torch_dtype": "float32"' in (folder / precision / "c" / "config.json").read_text(),
                  "config.json does not say float32")
        for tensors in saved[precision]:
            st.expect(all(v.dtype == np.float32 for v in tensors.values()), f"{precision}: not all of it is f32")
    for precision in ("bf16", "f16"):
        st.expect(sorted(saved[precision][0]) == sorted(saved["f32"][0]), f"{precision}: other parameters")
        extra = sorted(set(saved[precision][1]) - set(saved["f32"][1]))
        st.expect(extra == ([] if precision == "bf16" else [
            "loss_scale.good_steps", "loss_scale.overflows", "loss_scale.scale", "loss_scale.skipped_steps"]), f"{precision}: {extra}")
    st.check_run([folder / "bf16.bin", "--steps=1", f"--resume={folder / 'f32' / 'c'}"])
    st.check_run([folder / "f16.bin", "--steps=1", f"--init={folder / 'f32' / 'c'}"])


def reduced_bytes(folder):
    """Replicas send half of the bytes if gradients are reduced in bf16, and losses differ little."""
    task, config = MODELS["gpt2"]
    sent, losses = {}, {}
    for reduce in ("f32", "bf16"):
        spec = {"mode": "sharding", "data": 2, "accum_degree": 2, "precision": {"compute": "bf16", "reduce": reduce}}
        # If there are few rows, they are gathered instead of gradients.
        binary = st.compile_model(folder, reduce, config, task, spec, "--lr=1e-3", batch=128, seq=16)
        report = folder / f"{reduce}.json"
        metrics = st.train(binary, f"--report={report}", steps=5)
        sent[reduce] = sum(int(n) for n in re.findall(r'"sent_bytes": (\d+)', report.read_text()))
        losses[reduce] = st.losses(metrics)
    difference = st.relative_difference(losses["f32"], losses["bf16"])
    st.expect(0 < difference <= 1e-3, f"losses differ by {difference:.1e}")
    st.expect(sent["bf16"] < 0.55 * sent["f32"], f"bytes sent: {sent}")
    return f"{sent['bf16']} of {sent['f32']} bytes, losses differ by {difference:.1e}"


# ---- refusals -----------------------------------------------------------------------------------


def after_its_phase(folder):
    """The file must exist when types are chosen, or match the types that were chosen."""
    task, config = MODELS["gpt2"]
    model = st.write_json(folder / "m" / "config.json", config).parent
    specs = {name: st.write_json(folder / f"{name}.json", one_device(name)) for name in ("bf16", "f16", "f32")}
    command = [*st.COMPILE, model, f"--task={task}", "--batch=8", "--seq=16"]
    st.check_run([*command, "--compile-to=optimizer", "-o", folder / "f32.mlir"])
    st.check_run([*command, f"--parallel={specs['bf16']}", "--compile-to=optimizer", "-o", folder / "bf16.mlir"])
    going_on = [*st.COMPILE, "--compile-from=optimizer", "-o", folder / "out.bin"]
    for found, name in (("f32", "bf16"), ("bf16", "f16"), ("bf16", "f32")):
        expect_error([*going_on, folder / f"{found}.mlir", f"--parallel={specs[name]}"],
                     rf'{name}\.json:1:\d+: .*precision.compute is "{name}", but .* differentiated with "{found}"')
    st.check_run([*going_on, folder / "bf16.mlir", f"--parallel={specs['bf16']}"])


def of_its_own(folder):
    """A step with its own update has its own types; the file determines the types that devices send."""
    def step(w, x):
        loss, gradient = jax.value_and_grad(lambda w: ((x @ w)**2).sum())(w)
        return w - 0.1 * gradient, loss

    floats = jax.ShapeDtypeStruct((4, 4), jnp.float32)
    program = folder / "step.mlir"
    program.write_text(jax.jit(step, donate_argnums=0).lower(floats, floats).as_text())
    for precision in ("bf16", {"compute": "f16"}):
        spec = st.write_json(folder / "p.json", one_device(precision))
        expect_error([*st.COMPILE, program, f"--parallel={spec}", "-o", folder / "out.bin"],
                     r'p\.json:1:\d+: .*precision.compute is "b?f16", but only a forward pass with a loss can change its types')
    spec = st.write_json(folder / "p.json", {"mode": "sharding", "data": 2, "precision": {"reduce": "bf16"}})
    st.check_run([*st.COMPILE, program, f"--parallel={spec}", "-o", folder / "out.bin"])


CASES = [(f"gradients of {config['model_type']} in {name}", gradients_match(config, task, name))
         for config, task in ((BERT, "mlm"), (BERT, "span"), (GPT2, "clm"), (LLAMA, "clm"), (VIT, "classify"))
         for name in TYPES]
CASES += [("GradScaler with adamw", scaler_matches("adamw", 65536.0)),
          ("GradScaler with adam, clipped", scaler_matches("adam", 8.0, clip_norm=0.5)),
          ("GradScaler with sgd", scaler_matches("sgd", 65536.0)),
          ("GradScaler at the end of f32", scaler_matches("sgd", 2.0**126))]
CASES += [(f"{model} trains in {name}", trains(model, name)) for model in MODELS for name in TYPES]
CASES += [("vit trains", vit_trains), ("overflow", overflow(None)),
          ("overflow in a pipeline", overflow({"mode": "hybrid", "data": 2, "stage_cnt": 2, "accum_degree": 2, "zero": 1})),
          ("fixed scale", fixed_scale),
          ("checkpoint", checkpoint),
          ("bytes of gradients", reduced_bytes),
          ("a file after its phase", after_its_phase),
          ("a step of its own", of_its_own)]

if __name__ == "__main__":
    sys.exit(st.main(*st.drawn_part(CASES, 2)))
