"""A BERT-large training step printed by JAX trains under examples/parallel/bert-large-dtu-4x8.json with the losses of the
step that comes from config.json, from the same parameters and on the same batches."""

import json
import pathlib
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import save_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from jax_models import loss_function
from reference_optimizers import DEFAULTS
from st_programs import import_model, random_batch, signature

MODEL = st.ROOT / "examples/models/bert-large-uncased"
LAYOUT = st.ROOT / "examples/parallel/bert-large-dtu-4x8.json"
BATCH, SEQ, STEPS, RATE = 1, 384, 2, 1e-4


def adamw(loss, decays):
    beta1, beta2, epsilon, decay = (DEFAULTS[name] for name in ("beta1", "beta2", "epsilon", "weight-decay"))

    def step(params, state, batch, lr):
        value, grads = jax.value_and_grad(loss)(params, batch)
        count = state["count"] + 1
        t = count.astype(jnp.float32)
        mu = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, state["mu"], grads)
        nu = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, state["nu"], grads)
        first, second = 1 - beta1**t, 1 - beta2**t
        params = {name: p - lr * (mu[name] / first / (jnp.sqrt(nu[name] / second) + epsilon)
                                  + (decay * p if name in decays else 0)) for name, p in params.items()}
        return params, {"count": count, "mu": mu, "nu": nu}, value
    return step


def print_step(config, arguments):
    """JAX's text of the step; nothing of this size is computed."""
    params = {a.name: jax.ShapeDtypeStruct(a.shape, np.float32) for a in arguments if a.role == "parameter"}
    batch = {a.name: jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arguments if a.role == "batch"}
    decays = {a.name for a in arguments if a.role == "parameter" and len(a.shape) > 1}
    state = {"count": jax.ShapeDtypeStruct((), np.int32), "mu": params, "nu": params}
    step = adamw(loss_function(config, "span"), decays)
    lowered = jax.jit(step, donate_argnums=(0, 1)).lower(params, state, batch, jax.ShapeDtypeStruct((), np.float32))
    return lowered.as_text(debug_info=True)


def agrees(folder):
    config = json.loads((MODEL / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    st.write_json(folder / "hf/config.json", config)
    program = import_model(folder / "own", config, "span", BATCH, SEQ)
    arguments = signature(program)[0]
    batches = [random_batch(program, 20 + i) for i in range(STEPS)]
    data = folder / "batches.safetensors"
    save_file({name: np.stack([b[name] for b in batches]) for name in batches[0]}, data)

    parallel = [f"--parallel={LAYOUT}", "--target=dtu-t10", "--predict=false"]
    own, printed, text = folder / "own.bin", folder / "printed.bin", folder / "step.mlir"
    st.check_run([st.BIN / "st-compile", folder / "hf", "--task=span", f"--batch={BATCH}", f"--seq={SEQ}", *parallel,
                  "-o", own])
    st.check_run([own, "--steps=0", f"--save={folder / 'start'}"])
    expected = st.losses(st.train(own, f"--data={data}", f"--lr={RATE}", steps=STEPS))
    own.unlink()

    text.write_text(print_step(config, arguments))
    begin = time.monotonic()
    st.check_run([st.BIN / "st-compile", text, "--compile-to=import", "-o", folder / "imported.mlir"])
    took = time.monotonic() - begin
    st.check_run([st.BIN / "st-compile", text, *parallel, "-o", printed])
    found = st.losses(st.train(printed, f"--init={folder / 'start'}", f"--data={data}", f"--lr={RATE}", steps=STEPS))
    st.expect(expected[0] != expected[-1], "the loss does not move")
    difference = st.relative_difference(expected, found)
    st.expect(difference <= 1e-4, f"losses differ by {difference:.3g}:\n{expected}\n{found}")
    return f"imported in {took:.1f} s; losses agree to {difference:.1e}: {found}"


if __name__ == "__main__":
    sys.exit(st.main(("BERT-large printed by JAX against config.json, 4x8", agrees)))
