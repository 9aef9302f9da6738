"""A training step with one layer of attention, as users of JAX write it, on a predicted GPU: time and memory of a device.

  benchmarks/programs/attention.py [--target=cuda-sm_90] [--seq=1024] [--build=build] [--json=FILE]

4 sequences, 8 heads of 64 elements, plain gradient descent by JAX's own gradient. If scores or probabilities were stored, a
tensor of them would take 128 MiB in f32 and 64 MiB in bf16. Predicted times depend only on the compiled program.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import figures
import flax.linen as nn
import jax
import jax.numpy as jnp

BATCH, HEADS, DEPTH = 4, 8, 64
FEATURES = HEADS * DEPTH


def einsum_attention(mask):
    def attend(q, k, v):
        q, k, v = (t.transpose(0, 2, 1, 3) for t in (q, k, v))
        distance = jnp.arange(q.shape[2])[:, None] - jnp.arange(q.shape[2])[None, :]
        p = jax.nn.softmax(mask(jnp.einsum("bhqd,bhkd->bhqk", q, k) * DEPTH ** -0.5, distance), axis=-1)
        return jnp.einsum("bhqk,bhkd->bqhd", p, v)
    return attend


def causal(scores, distance):
    return jnp.where(distance >= 0, scores, -1e30)


def alibi(scores, distance):
    slopes = jnp.asarray([2.0 ** -(i + 1) for i in range(HEADS)], scores.dtype)
    return causal(scores - slopes[:, None, None] * distance.astype(scores.dtype), distance)


CASES = {
    "einsum, causal": einsum_attention(causal),
    "einsum, window of 256": einsum_attention(lambda s, d: jnp.where((d >= 0) & (d < 256), s, -1e30)),
    "einsum, soft-capping": einsum_attention(lambda s, d: causal(50.0 * jnp.tanh(s / 50.0), d)),
    "einsum, ALiBi": einsum_attention(alibi),
    "jax.nn.dot_product_attention": lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True),
    "flax.linen.dot_product_attention": lambda q, k, v: nn.dot_product_attention(
        q, k, v, mask=nn.make_causal_mask(jnp.ones(q.shape[:2]))),
}


def print_step(attend, dtype, seq):
    def loss(weights, x):
        q, k, v = ((x.astype(dtype) @ w.astype(dtype)).reshape(BATCH, seq, HEADS, DEPTH) for w in weights[:3])
        o = attend(q, k, v).reshape(BATCH, seq, FEATURES) @ weights[3].astype(dtype)
        return jnp.mean(jnp.square(o.astype(jnp.float32) - x))

    def step(weights, x):
        value, gradients = jax.value_and_grad(loss)(weights, x)
        return value, [w - 0.01 * g for w, g in zip(weights, gradients)]
    weights = [jax.ShapeDtypeStruct((FEATURES, FEATURES), jnp.float32)] * 4
    return jax.jit(step, donate_argnums=0).lower(weights, jax.ShapeDtypeStruct((BATCH, seq, FEATURES), jnp.float32)).as_text()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="cuda-sm_90")
    parser.add_argument("--seq", type=int, default=1024)
    parser.add_argument("--build", default="build")
    figures.add_option(parser)
    options = parser.parse_args()
    found = figures.Figures(options.json, "layouts", "predicted")
    print(f"{'attention':34} {'type':5} {'ms a step':>10} {'MiB a device':>13}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for case, attend in CASES.items():
            for dtype in (jnp.float32, jnp.bfloat16):
                (folder / "step.mlir").write_text(print_step(attend, dtype, options.seq))
                done = subprocess.run([ROOT / options.build / "bin/st-compile", folder / "step.mlir", f"--target={options.target}",
                                       "-o", folder / "step"], capture_output=True, text=True)
                if done.returncode:
                    raise SystemExit(done.stderr)
                step = float(re.search(r"a step takes ([\d.]+) ms", done.stderr)[1])
                peak = float(re.search(r"^  group0 .* ([\d.]+)$", done.stderr, re.M)[1])
                kind = "f32" if dtype == jnp.float32 else "bf16"
                found.add(f"{case}, {kind}, {options.seq} tokens, {options.target}", step, "ms a step", {"peak": [peak, "MiB"]})
                print(f"{case:34} {kind:5} {step:10.4g} {peak:13.1f}", flush=True)


if __name__ == "__main__":
    main()
