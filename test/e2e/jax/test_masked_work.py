"""The operations of attention's products on GPUs under masks that compare positions are at most 10 % more than those of the
visible elements, forward and backward.

A training step of one layer of attention by JAX, 4096 tokens, f32: the compiler states the operations of each kernel.
"""

import pathlib
import re
import struct
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import jax
import jax.numpy as jnp
import st_testing as st

SEQ, WINDOW, HEADS, DEPTH = 4096, 2048, 1, 64
MOST = 1.1


def causal(scores, distance):
    return jnp.where(distance >= 0, scores, -1e30)


def window(scores, distance):
    return jnp.where((distance >= 0) & (distance < WINDOW), scores, -1e30)


def capped_window(scores, distance):
    return window(30.0 * jnp.tanh(scores / 30.0), distance)


def alibi(scores, distance):
    slopes = jnp.asarray([2.0 ** -(i + 1) for i in range(HEADS)], scores.dtype)
    return causal(scores - slopes[:, None, None] * distance.astype(scores.dtype), distance)


def print_step(mask):
    def loss(weights, x):
        q, k, v = ((x @ w).reshape(SEQ, HEADS, DEPTH).transpose(1, 0, 2) for w in weights)
        distance = jnp.arange(SEQ)[:, None] - jnp.arange(SEQ)[None, :]
        p = jax.nn.softmax(mask(jnp.einsum("hqd,hkd->hqk", q, k) * DEPTH ** -0.5, distance), axis=-1)
        return jnp.mean(jnp.square(jnp.einsum("hqk,hkd->hqd", p, v)))

    def step(weights, x):
        value, gradients = jax.value_and_grad(loss)(weights, x)
        return value, [w - 0.01 * g for w, g in zip(weights, gradients)]
    weights = [jax.ShapeDtypeStruct((DEPTH, HEADS * DEPTH), jnp.float32)] * 3
    return jax.jit(step, donate_argnums=0).lower(weights, jax.ShapeDtypeStruct((SEQ, DEPTH), jnp.float32)).as_text()


def visible(rows, reach=None):
    """The number of elements that a mask shows: each row sees its column and at most `reach` - 1 columns before."""
    reach = reach or rows
    return reach * (reach + 1) // 2 + (rows - reach) * reach


def work_of_gpu(mask):
    """A training step by JAX for a GPU: the operations of the kernels of attention, as the compiler states them."""
    def count(folder):
        program, planned = folder / "step.mlir", folder / "planned.mlir"
        program.write_text(print_step(mask))
        st.check_run([st.BIN / "st-compile", program, "--target=cuda-sm_90", "--compile-to=planned", "-o", planned])
        kernels = re.findall(r'st\.kernel "attention".*?\n(.*?)st\.yield', planned.read_text(), re.S)
        emitted = st.check_run([st.BIN / "st-opt", "--convert-kernels-to-gpu", planned]).stdout
        stated = re.findall(r"gpu\.func @attention_\d+\(.*?cuda\.product_flops = (\S+) ", emitted)
        st.expect(len(stated) == len(kernels) >= 3, f"{len(stated)} kernels of attention, expected at least 3 and {len(kernels)}")
        products = sum(body.count("stablehlo.dot_general") for body in kernels)
        reach = WINDOW if mask in (window, capped_window) else None
        return sum(map(number, stated)), products * 2 * HEADS * visible(SEQ, reach) * DEPTH
    return count


def number(text):
    """MLIR prints some numbers as their bits."""
    return struct.unpack(">d", bytes.fromhex(text[2:]))[0] if text.startswith("0x") else float(text)


def work_is_of_the_visible(count):
    def check(folder):
        done, expected = count(folder)
        ratio = done / expected
        st.expect(1 <= ratio <= MOST, f"the operations are {ratio:.3f} times those of the visible elements")
        return f"{ratio:.3f} times the operations of the visible elements"
    return check


if __name__ == "__main__":
    st.main(*((mask.__name__, work_is_of_the_visible(work_of_gpu(mask))) for mask in (causal, window, capped_window, alibi)))
