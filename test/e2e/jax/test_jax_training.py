"""A small BERT trains on real text as JAX trains it: 200 losses are within 1e-3 of JAX's. It learns: the last ones are
below the entropy of single characters, so it uses the context of a masked character.

Every loss is compared, with four stages of two shards. Both start from the parameters that the training binary
initialises, see the same batches (masked bytes of the GPL's text, which every Debian machine has) and drop the same
elements.
"""

import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load_file, save_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import jax_models
import st_testing as st

TEXT = pathlib.Path("/usr/share/common-licenses/GPL-3")
CHARACTERS = 512  # a passage short enough to be learned in 200 steps
BERT = st.SMALL_BERT | {"num_hidden_layers": 4}
BATCH, LENGTH, STEPS, RATE, WARMUP = 16, 64, 200, 1e-3, 10
MASK, IGNORED = 259, -100


def read_text():
    """Bytes of the text with collapsed white space, and the entropy of their frequencies in nats."""
    text = np.frombuffer(b" ".join(TEXT.read_bytes().split())[:CHARACTERS], np.uint8).astype(np.int32)
    share = np.bincount(text) / len(text)
    share = share[share > 0]
    return text, float(-(share * np.log(share)).sum())


def make_batches(text):
    rng = np.random.default_rng(0)
    windows = text[: len(text) // LENGTH * LENGTH].reshape(-1, LENGTH)
    ids = windows[rng.integers(0, len(windows), (STEPS, BATCH))]
    masked = rng.random(ids.shape) < 0.15
    return {
        "input_ids": np.where(masked, MASK, ids).astype(np.int32),
        "labels": np.where(masked, ids, IGNORED).astype(np.int32),
        "token_type_ids": np.zeros_like(ids), "attention_mask": np.ones_like(ids),
        "next_sentence_label": np.zeros((STEPS, BATCH), np.int32),
    }


def jax_losses(config, parameters, batches):
    decays = {n: 0.0 if n.endswith("bias") or "LayerNorm" in n else 0.01 for n in parameters}

    @jax.jit
    def step(parameters, first, second, count, rate, batch, key):
        loss, gradients = jax.value_and_grad(lambda p: jax_models.bert_mlm(config, p, batch, key))(parameters)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)
        scale1, scale2 = 1 - 0.9**count, 1 - 0.999**count
        parameters = jax.tree.map(
            lambda p, m, v, d: p * (1 - rate * d) - rate * (m / scale1) / (jnp.sqrt(v / scale2) + 1e-8),
            parameters, first, second, decays)
        return parameters, first, second, loss

    first = second = jax.tree.map(jnp.zeros_like, parameters)
    losses = []
    for i in range(STEPS):
        batch = {name: value[i] for name, value in batches.items()}
        rate = RATE * min(1.0, (i + 1) / WARMUP)
        parameters, first, second, loss = step(parameters, first, second, i + 1.0, rate, batch,
                                               np.array([0, i + 1], np.uint32))
        losses.append(float(loss))
    return losses


def follows(folder):
    text, entropy = read_text()
    batches = make_batches(text)
    save_file(batches, folder / "batches.safetensors")
    binary = st.compile_model(folder, "b", BERT, "mlm", st.layout(4, 2), "--optimizer=adamw", f"--lr={RATE}",
                              batch=BATCH, seq=LENGTH)
    st.check_run([binary, "--steps=0", f"--save={folder / 'p'}"])
    losses = st.losses(st.train(binary, f"--warmup={WARMUP}", f"--data={folder / 'batches.safetensors'}",
                                steps=STEPS))
    expected = jax_losses(BERT, load_file(folder / "p" / "model.safetensors"), batches)
    apart = [abs(a - b) / abs(b) for a, b in zip(losses, expected, strict=True)]
    st.expect(max(apart) <= 1e-3, f"step {int(np.argmax(apart)) + 1} differs by {max(apart):.1e}")
    last = float(np.mean(losses[-10:]))
    st.expect(last < entropy, f"the loss ends at {last:.3f}; the entropy of single characters is {entropy:.3f}")
    return f"losses within {max(apart):.1e}; {losses[0]:.2f} -> {last:.2f}, unigram entropy {entropy:.2f}"


def scaled_step(parameters, state, batch):
    """A state, which the last stage reads and changes, scales the loss; another state is the rate, which decays."""
    def loss(p):
        x = batch["x"]
        for i in range(4):
            x = jnp.tanh(x @ p[f"w{i}"] + p[f"b{i}"])
        return jnp.mean((x - batch["y"]) ** 2) * state["scale"]

    value, gradients = jax.value_and_grad(loss)(parameters)
    rate = state["rate"] / state["scale"]
    parameters = jax.tree.map(lambda p, g: p - rate * g, parameters, gradients)
    return parameters, {"scale": state["scale"] * 2, "rate": state["rate"] * 0.9}, value / state["scale"]


def takes_state_of_optimizer(layout):
    """A printed step does not define its optimizer's initial state: --init does."""
    def run(folder):
        rng = np.random.default_rng(3)
        parameters = {f"w{i}": rng.normal(scale=0.4, size=(16, 16)).astype(np.float32) for i in range(4)}
        parameters |= {f"b{i}": rng.normal(size=16).astype(np.float32) for i in range(4)}
        state = {"rate": np.float32(0.5), "scale": np.float32(8)}
        batches = {name: rng.normal(size=(4, 8, 16)).astype(np.float32) for name in ("x", "y")}
        step = jax.jit(scaled_step, donate_argnums=(0, 1))
        first = {name: value[0] for name, value in batches.items()}
        (folder / "step.mlir").write_text(step.lower(parameters, state, first).as_text(debug_info=True))
        expected, p, s = [], parameters, state
        for i in range(4):
            p, s, value = jax.jit(scaled_step)(p, s, {name: value[i] for name, value in batches.items()})
            expected.append(float(value))
        parallel = st.write_json(folder / "parallel.json", layout)
        st.check_run([st.BIN / "st-compile", folder / "step.mlir", "--target=dtu-t10", f"--parallel={parallel}",
                      "--predict=false", "-o", folder / "step"])
        st.check_run([folder / "step", "--steps=0", f"--save={folder / 'init'}"])
        # Inputs of the loss count as parameters, and so does the scale.
        for file in ("model", "optimizer"):
            path = folder / "init" / f"{file}.safetensors"
            save_file({name: np.asarray((parameters | state)[name.split(".")[1]]) for name in load_file(path)}, path)
        save_file(batches, folder / "batches.safetensors")
        losses = st.losses(st.train(folder / "step", f"--init={folder / 'init'}",
                                    f"--data={folder / 'batches.safetensors'}", steps=4))
        worst = max(abs(a - b) / abs(b) for a, b in zip(losses, expected, strict=True))
        st.expect(worst <= 1e-5, f"losses {losses}, JAX's {expected}")
        return f"losses within {worst:.0e}"
    return run


def bf16_step(parameters, state, batch):
    """The gradient of a copy in bf16; a sum of the loss's parts in bf16 would lose them one by one."""
    def loss(p):
        return jnp.mean((batch["x"].astype(jnp.bfloat16) @ p).astype(jnp.float32))

    value, gradient = jax.value_and_grad(loss)(parameters["w"].astype(jnp.bfloat16))
    moment = 0.5 * state["m"] + gradient.astype(jnp.float32)
    return {"w": parameters["w"] - 0.1 * moment}, {"m": moment}, value


def sums_in_f32(folder):
    """Gradients in 16 bits are accumulated over many micro-batches without loss."""
    rng = np.random.default_rng(3)
    batches = {"x": (1 + np.abs(rng.normal(size=(4, 512, 16)))).astype(np.float32)}
    first = {"x": batches["x"][0]}
    p, s = {"w": np.zeros((16, 4), np.float32)}, {"m": np.zeros((16, 4), np.float32)}
    (folder / "step.mlir").write_text(jax.jit(bf16_step, donate_argnums=(0, 1)).lower(p, s, first).as_text(debug_info=True))
    save_file(batches, folder / "batches.safetensors")
    losses = []
    for accum in (1, 512):
        parallel = st.write_json(folder / "parallel.json", st.layout(1, 1, accum=accum))
        st.check_run([st.BIN / "st-compile", folder / "step.mlir", "--target=dtu-t10", f"--parallel={parallel}",
                      "--predict=false", "-o", folder / "step"])
        losses.append(st.losses(st.train(folder / "step", f"--data={folder / 'batches.safetensors'}", steps=4)))
    worst = st.relative_difference(*losses)
    st.expect(worst <= 2e-3, f"losses of one batch {losses[0]}, of 512 micro-batches {losses[1]}")
    return f"losses within {worst:.0e}"


CASES = [
    ("sums of many micro-batches in f32", sums_in_f32),
    ("small BERT follows JAX for 200 steps", follows),
    ("state of an optimizer, 1x1", takes_state_of_optimizer(st.layout(1, 1))),
    ("state of an optimizer, 2x1", takes_state_of_optimizer(st.layout(2, 1))),
    ("state of an optimizer, 2x2, 4 micro-batches",
     takes_state_of_optimizer(st.layout(2, 2, mode="hybrid", accum=4))),
    ("state of an optimizer, 2 replicas of 2x2", takes_state_of_optimizer(
        {"mode": "hybrid", "data": 2, "sharding_size": 2, "stage_cnt": 2, "accum_degree": 2})),
]

if __name__ == "__main__":
    sys.exit(st.main(*st.drawn_part(CASES, 2)))
