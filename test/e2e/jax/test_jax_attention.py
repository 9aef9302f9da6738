"""Attention as users of JAX write it, with variants: training steps agree with JAX on the simulated DTU and on the host instead
of a GPU, and programs for GPUs have no tensor of the size of the scores, whether JAX or St differentiates."""

import pathlib
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import flax.linen
import jax
import jax.numpy as jnp
import numpy as np
import st_testing as st
from jax_on_dtu import run_binary

BATCH, SEQ, HEADS, DEPTH = 2, 96, 2, 16
FEATURES, RATE, LOW = HEADS * DEPTH, 0.01, -1e30


def distances():
    """The position of each query minus that of each key."""
    return jnp.arange(SEQ)[:, None] - jnp.arange(SEQ)[None, :]


def causal(scores, _):
    return jnp.where(distances() >= 0, scores, LOW)


def window(scores, _):
    return jnp.where((distances() >= 0) & (distances() < 20), scores, LOW)


def soft_cap(scores, documents):
    return causal(2.0 * jnp.tanh(scores / 2.0), documents)


def alibi(scores, documents):
    slopes = jnp.asarray([2.0 ** -(4 * i + 4) for i in range(HEADS)], jnp.float32)
    return causal(scores - slopes[None, :, None, None] * distances().astype(jnp.float32), documents)


def packed(scores, documents):
    same = documents[:, None, :, None] == documents[:, None, None, :]
    return jnp.where(same & (distances() >= 0), scores, LOW)


def heads_in_place(variant):
    """The context of queries, keys and values [B, S, heads, depth], which einsum reads where they are."""
    def attend(q, k, v, documents):
        p = jax.nn.softmax(variant(jnp.einsum("bqhd,bkhd->bhqk", q, k) * DEPTH ** -0.5, documents), axis=-1)
        return jnp.einsum("bhqk,bkhd->bqhd", p, v)
    return attend


def heads_first(variant):
    def attend(q, k, v, documents):
        q, k, v = (t.transpose(0, 2, 1, 3) for t in (q, k, v))
        p = jax.nn.softmax(variant(jnp.einsum("bhqd,bhkd->bhqk", q, k) * DEPTH ** -0.5, documents), axis=-1)
        return jnp.einsum("bhqk,bhkd->bqhd", p, v)
    return attend


def of_jax(q, k, v, _):
    return jax.nn.dot_product_attention(q, k, v, is_causal=True)


def of_flax(q, k, v, _):
    return flax.linen.dot_product_attention(q, k, v, mask=flax.linen.make_causal_mask(jnp.ones((BATCH, SEQ))))


def loss_of(attend):
    """The loss of one layer."""
    def loss(weights, x, documents):
        q, k, v = ((x @ w).reshape(BATCH, SEQ, HEADS, DEPTH) for w in weights[:3])
        o = attend(q, k, v, documents)
        return jnp.mean(jnp.square(o.reshape(BATCH, SEQ, FEATURES) @ weights[3] - x))
    return loss


def arguments():
    rng = np.random.default_rng(6)
    weights = [(rng.normal(size=(FEATURES, FEATURES)) / FEATURES ** 0.5).astype(np.float32) for _ in range(4)]
    documents = np.sort(rng.integers(0, 4, (BATCH, SEQ)), axis=1).astype(np.int32)
    return weights, rng.normal(size=(BATCH, SEQ, FEATURES)).astype(np.float32), documents


def kernels_store_no_scores(program, *flags):
    done = st.check_run([st.BIN / "st-compile", program, "--target=cuda-sm_90", "--compile-to=kernels", *flags])
    lines = [line for line in done.stdout.splitlines() if "st.kernel" in line or "st.buffer" in line]
    stored = [line for line in lines if re.search(rf"[<x]{SEQ}x{SEQ}x", line)]
    st.expect(any('"attention"' in line for line in lines), "there is no kernel of attention")
    st.expect(not stored, f"scores are stored: {stored[:1]}")


def steps_agree(attend):
    def run(folder):
        loss = loss_of(attend)

        def step(weights, x, documents):
            value, gradients = jax.value_and_grad(loss)(weights, x, documents)
            return value, [w - RATE * g for w, g in zip(weights, gradients)]
        given = arguments()
        program, forward = folder / "step.mlir", folder / "loss.mlir"
        program.write_text(jax.jit(step, donate_argnums=0, keep_unused=True).lower(*given).as_text())
        forward.write_text(jax.jit(loss, keep_unused=True).lower(*given).as_text())
        expected = [np.asarray(e) for e in jax.tree.leaves(jax.jit(step)(*given))]
        kernels_store_no_scores(program)
        roles = ",".join(f"arg{i}=parameter:{name}" for i, name in enumerate("qkvo")) + ",arg4=batch,arg5=batch"
        kernels_store_no_scores(forward, f"--roles={roles}")
        worst = 0.0
        for target in ("dtu-t10", "cuda-host"):
            binary = folder / target
            dumps = folder / f"{target}-phases"
            st.check_run([st.BIN / "st-compile", program, f"--target={target}", f"--dump-phases-to={dumps}", "-o", binary])
            main = re.search(r"func\.func (?:public )?@main\((.*)", next(dumps.glob("*-import.mlir")).read_text()).group(1)
            names = [re.findall(r'st\.name = "([^"]*)"', part) for part in main.split(") -> ", 1)]
            found = run_binary(folder, binary, names, jax.tree.leaves(given))
            for f, e in zip(found, expected, strict=True):
                worst = max(worst, float(np.abs(f - e).max() / np.abs(e).max()))
        st.expect(worst < 1e-5, f"results differ from JAX's by {worst:.1e}")
        return f"results within {worst:.0e}"
    return run


if __name__ == "__main__":
    variants = {f"{variant.__name__}, {layout.__name__}": layout(variant)
                for variant in (causal, window, soft_cap, alibi, packed) for layout in (heads_first, heads_in_place)}
    libraries = {"jax.nn.dot_product_attention": of_jax, "flax.linen.dot_product_attention": of_flax}
    st.main(*((name, steps_agree(attend)) for name, attend in (variants | libraries).items()))
