"""Several steps of optimizers on given gradients, compared with optax and with bitsandbytes' formula in NumPy.

optax has its own state, so the test compares parameters, and the state that both keep. The 8-bit formula is that of
bitsandbytes' block-wise Adam kernel: each element gets the nearest of 256 values. This test builds the map of values as
bitsandbytes' create_dynamic_map does.
"""

import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import jax.numpy as jnp
import numpy as np
import optax
from reference_optimizers import dynamic_map
from st_programs import interpret, signature, transform
from st_testing import drawn_part, expect, main

RATE, STEPS = 0.05, 6


def program(folder, shapes, options):
    arguments = [f'%{n}: tensor<{"x".join(map(str, shape))}xf32> {{st.name = "{n}", st.role = "parameter"}}'
                 for n, shape in shapes.items()]
    arguments += [f'%d{n}: tensor<{"x".join(map(str, shape))}xf32> {{st.name = "d{n}", st.role = "batch"}}'
                  for n, shape in shapes.items()]
    types = [f'tensor<{"x".join(map(str, shape))}xf32>' for shape in shapes.values()]
    results = [f'{t} {{st.name = "{n}", st.role = "gradient"}}' for n, t in zip(shapes, types)]
    path = folder / "program.mlir"
    path.write_text(f"func.func @main({', '.join(arguments)}) -> ({', '.join(results)}) {{\n"
                    f"  return {', '.join('%d' + n for n in shapes)} : {', '.join(types)}\n}}\n")
    return transform(path, f"--add-optimizer={options}")


def gradients_of(rng, shapes):
    """Sizes differ widely from element to element, as in real gradients."""
    return {n: (rng.normal(size=shape) * 10.0 ** rng.uniform(-4, 0, size=shape)).astype(np.float32)
            for n, shape in shapes.items()}


def states_of(path):
    return {a.name: np.zeros(a.shape, a.dtype) for a in signature(path)[0] if a.role == "optimizer_state"}


def step_of(path, number, parameters, states, gradients):
    given = {"learning_rate": np.float32(RATE), "step": np.float32(number)} | parameters | states
    given |= {"d" + name: value for name, value in gradients.items()}
    names = {a.name for a in signature(path)[0]}
    found = interpret(path, {name: value for name, value in given.items() if name in names})
    return {n: found[n] for n in parameters}, {n: found[n] for n in states}


def as_optax(options, make, shapes, is_compared=lambda name: True):
    """optax's parameters, within 1e-5 of their change."""
    def check(folder):
        path = program(folder, shapes, options)
        rng = np.random.default_rng(7)
        parameters = {n: rng.normal(size=shape).astype(np.float32) for n, shape in shapes.items()}
        parameters["zero"][:] = 0
        theirs = {n: jnp.asarray(p) for n, p in parameters.items()}
        optimizer = make()
        kept, states, worst = optimizer.init(theirs), states_of(path), 0
        for number in range(1, STEPS + 1):
            gradients = gradients_of(rng, shapes)
            before = parameters
            parameters, states = step_of(path, number, parameters, states, gradients)
            updates, kept = optimizer.update({n: jnp.asarray(g) for n, g in gradients.items()}, kept, theirs)
            theirs = optax.apply_updates(theirs, updates)
            for n, p in parameters.items():
                scale = np.abs(np.asarray(theirs[n])).max()
                expect(np.abs(p - before[n]).max() > 1e-4 * scale, f"{n} does not move")
                worst = max(worst, np.abs(p - np.asarray(theirs[n])).max() / scale)
        expect(worst <= 1e-5, f"off by {worst:.1e} of the largest element")
        return f"{worst:.0e}"
    return check


# ---- 8 bits


def blocks_of(shape):
    """The slices of the last dimension that form blocks."""
    return [slice(first, min(first + 256, shape[-1])) for first in range(0, shape[-1], 256)]


def nearest(table, x):
    """The index of the nearest value, and how much nearer it is than the second nearest."""
    middle = (table[1:] + table[:-1]) / 2
    index = np.searchsorted(middle, x)
    gap = np.abs(middle[:, None] - x.reshape(-1)).min(axis=0).reshape(x.shape)
    return index, gap


def coded(table, x, is_signed):
    """Codes and absmax of a tensor; and where rounding decides, because an element is equally close to two codes."""
    codes, unsure = np.zeros(x.shape, np.uint8), np.zeros(x.shape, bool)
    maxima = np.zeros((*x.shape[:-1], len(blocks_of(x.shape))))
    for i, part in enumerate(blocks_of(x.shape)):
        maxima[..., i] = np.abs(x[..., part]).max(axis=-1)
        scaled = x[..., part] / np.where(maxima[..., i:i + 1] == 0, 1, maxima[..., i:i + 1])
        index, gap = nearest(table, scaled)
        if is_signed:
            # bitsandbytes: an element keeps its sign.
            index = np.where((scaled < 0) & (table[index] >= 0), np.searchsorted(table, 0) - 1, index)
        codes[..., part], unsure[..., part] = index, gap < 1e-6 * np.abs(scaled) + 1e-12
    return codes, maxima, unsure


def decoded(table, codes, maxima):
    values = table[codes]
    for i, part in enumerate(blocks_of(codes.shape)):
        values[..., part] *= maxima[..., i:i + 1]
    return values


def as_bitsandbytes(shape, flags="", kind="adamw"):
    def check(folder):
        path = program(folder, {"w": shape}, f"kind={kind} state-bits=8 min-8bit-size=2 weight-decay=0.01 {flags}")
        signed, unsigned = dynamic_map(True), dynamic_map(False)
        rng = np.random.default_rng(3)
        w = rng.normal(size=shape).astype(np.float32)
        states, worst, apart = states_of(path), 0, 0
        for number in range(1, STEPS + 1):
            g = gradients_of(rng, {"w": shape})["w"]
            if number == 2:
                g[..., :min(256, shape[-1])] = 0  # a whole block
            found, after = step_of(path, number, {"w": w}, states, {"w": g})
            m = 0.9 * decoded(signed, states["w.exp_avg"], states["w.exp_avg.absmax"]) + 0.1 * g
            v = 0.999 * decoded(unsigned, states["w.exp_avg_sq"], states["w.exp_avg_sq.absmax"]) + 0.001 * g.astype(float) ** 2
            expected = w.astype(float) * (1 - RATE * 0.01) - RATE * (m / (1 - 0.9**number)) / (
                np.sqrt(v / (1 - 0.999**number)) + 1e-8)
            worst = max(worst, np.abs(found["w"] - expected).max() / np.abs(expected).max())
            for name, value, table, is_signed in (("exp_avg", m, signed, True), ("exp_avg_sq", v, unsigned, False)):
                codes, maxima, unsure = coded(table, value, is_signed)
                expect(np.allclose(after[f"w.{name}.absmax"], maxima, rtol=1e-5), f"step {number}: maxima of {name}")
                wrong = (codes != after[f"w.{name}"]) & ~unsure
                expect(not wrong.any(), f"step {number}: {wrong.sum()} codes of {name} differ, first "
                       f"{codes[wrong][:1]}, not {after[f'w.{name}'][wrong][:1]}")
                apart += int((codes != after[f"w.{name}"]).sum())
                expect(len(np.unique(codes)) > min(100, codes.size // 8), "the gradients reach few of the codes")
            w, states = found["w"], after
        expect(worst <= 1e-5, f"parameters are off by {worst:.1e}")
        return f"parameters {worst:.0e}, {apart} of {2 * STEPS * w.size} codes on the other side of a middle"
    return check


def every_code(folder):
    """Each code decodes to a value that encodes to the same code: reading and writing do not shrink moments."""
    table = {True: dynamic_map(True), False: dynamic_map(False)}
    path = program(folder, {"w": (256,)}, "kind=adamw state-bits=8 min-8bit-size=2 beta1=0.9999999 beta2=0.9999999")
    codes = np.arange(256, dtype=np.uint8)
    states = {"w.exp_avg": codes, "w.exp_avg.absmax": np.float32([3]), "w.exp_avg_sq": codes,
              "w.exp_avg_sq.absmax": np.float32([5])}
    zeros = np.zeros(256, np.float32)
    _, after = step_of(path, 1, {"w": zeros}, states, {"w": zeros})
    for name in ("exp_avg", "exp_avg_sq"):
        expect((after["w." + name] == codes).all(), f"{name}: {after['w.' + name]}")
    expect(table[True][127] == 0 and table[True][255] == 1 and table[False][0] == 0, "the maps are not ascending")
    return "256 codes of both maps"


SHAPES = {"w": (160, 300), "square": (130, 130), "conv": (3, 129, 2, 140), "narrow": (5, 7), "b": (33,), "zero": (4, 6)}
CASES = [
    ("lamb", as_optax("kind=lamb epsilon=1e-6 weight-decay=0.02", lambda: optax.lamb(RATE, weight_decay=0.02), SHAPES)),
    ("lamb, no decay, other betas", as_optax("kind=lamb epsilon=1e-5 weight-decay=0 beta1=0.8 beta2=0.95",
                                             lambda: optax.lamb(RATE, b1=0.8, b2=0.95, eps=1e-5), SHAPES)),
    ("lamb, clipped", as_optax("kind=lamb epsilon=1e-6 weight-decay=0.02 clip-norm=0.5", lambda: optax.chain(
        optax.clip_by_global_norm(0.5), optax.lamb(RATE, weight_decay=0.02)), SHAPES)),
    ("adafactor", as_optax("kind=adafactor epsilon=1e-30 weight-decay=0", lambda: optax.adafactor(RATE), SHAPES)),
    ("adafactor, decay, all factored", as_optax(
        "kind=adafactor epsilon=1e-30 weight-decay=0.02 min-factored-size=2 decay-rate=0.7 clipping-threshold=2",
        lambda: optax.adafactor(RATE, min_dim_size_to_factor=2, decay_rate=0.7, clipping_threshold=2.0,
                                weight_decay_rate=0.02 * RATE), SHAPES)),
    ("adafactor, clipped", as_optax("kind=adafactor epsilon=1e-30 weight-decay=0 clip-norm=0.5", lambda: optax.chain(
        optax.clip_by_global_norm(0.5), optax.adafactor(RATE)), SHAPES)),
    ("sgd with momentum", as_optax("kind=sgd momentum=0.9 weight-decay=0", lambda: optax.sgd(RATE, momentum=0.9), SHAPES)),
    ("adamw", as_optax("kind=adamw weight-decay=0.02", lambda: optax.adamw(RATE, weight_decay=0.02), SHAPES)),
    ("8 bits, rows of blocks", as_bitsandbytes((4, 1024))),
    ("8 bits, rows that end within a block", as_bitsandbytes((3, 700))),
    ("8 bits, odd rows", as_bitsandbytes((2, 3, 301))),
    ("8 bits, short rows", as_bitsandbytes((12, 40))),
    ("8 bits, a vector", as_bitsandbytes((513,))),
    ("8 bits, codes", every_code),
]

if __name__ == "__main__":
    sys.exit(main(*drawn_part(CASES, 2)))
