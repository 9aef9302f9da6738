"""One step of each optimizer on given gradients, compared with PyTorch's formulas in float64."""

import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import numpy as np
from reference_optimizers import DEFAULTS, OPTIMIZERS, clip
from st_programs import interpret, signature, transform
from st_testing import expect, main

# The gradients are arguments, so that they are exactly the same on both sides.
PROGRAM = """
func.func @main(%w: tensor<5x7xf32> {st.name = "w", st.role = "parameter"},
                %b: tensor<7xf32> {st.name = "b", st.role = "parameter", st.no_decay},
                %dw: tensor<5x7xf32> {st.name = "dw", st.role = "batch"},
                %db: tensor<7xf32> {st.name = "db", st.role = "batch"})
    -> (tensor<5x7xf32> {st.name = "w", st.role = "gradient"}, tensor<7xf32> {st.name = "b", st.role = "gradient"}) {
  return %dw, %db : tensor<5x7xf32>, tensor<7xf32>
}
"""


def matches(kind, step, rate=0.05, **flags):
    def run(folder):
        options = DEFAULTS | flags
        text = " ".join([f"kind={kind}"] + [f"{name}={value}" for name, value in flags.items()])
        path = folder / "program.mlir"
        path.write_text(PROGRAM)
        program = transform(path, f"--add-optimizer={text}")
        rng = np.random.default_rng(step)
        given = {"learning_rate": np.float32(rate), "step": np.float32(step)}
        for argument in signature(program)[0]:
            if argument.role != "scalar":
                value = rng.normal(size=argument.shape)
                squares = argument.name.endswith("_sq")
                given[argument.name] = (value**2 if squares else value).astype(np.float32)
        names = {a.name for a in signature(program)[0]}
        found = interpret(program, {name: value for name, value in given.items() if name in names})

        exact = {name: value.astype(np.float64) for name, value in given.items()}
        gradients, norm = clip(options, {"w": exact["dw"], "b": exact["db"]})
        expected = {"grad_norm": norm} if options["clip-norm"] else {}
        for name in ("w", "b"):
            state = {n.removeprefix(name): v for n, v in exact.items() if n.startswith(name + ".")}
            expected[name], state = OPTIMIZERS[kind](options, step, exact["learning_rate"], exact[name],
                                                     gradients[name], state, decays=name == "w")
            expected |= {name + suffix: value for suffix, value in state.items()}
        expect(set(found) == set(expected), f"results {sorted(found)}, not {sorted(expected)}")
        worst = max(np.abs((found[n] - v) / np.maximum(np.abs(v), 0.1)).max() for n, v in expected.items())
        expect(worst <= 1e-6, f"off by {worst:.1e}")
        return f"{worst:.0e}"
    return run


CASES = [(f"{kind}, step {step}, {flags}", matches(kind, step, **flags))
         for kind in OPTIMIZERS for step in (1, 2, 100000)
         for flags in ({}, {"clip-norm": 0.5}, {"weight-decay": 0.0})]
CASES += [("sgd without momentum", matches("sgd", 1, **{"momentum": 0.0})),
          ("adamw without a first moment", matches("adamw", 3, **{"beta1": 0.0})),
          ("adamw, clip-norm above the norm", matches("adamw", 3, **{"clip-norm": 1000.0}))]

if __name__ == "__main__":
    sys.exit(main(*CASES))
