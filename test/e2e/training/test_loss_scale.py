"""The loss scale of f16 as Megatron-LM has it: initial scale, window, hysteresis and minimum, on one device and on several.

The gradient of the loss is a constant, so that its product with the scale is in f16 or is not: with 0.9 a scale of 2^16 is
the largest that is.
Skipped steps change neither a parameter nor the step of the learning rate's schedule.
"""

import pathlib
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import numpy as np
import st_testing as st
from safetensors.numpy import load_file, save_file
from st_errors import expect_error

MODEL = """
func.func @main(%w: tensor<4x8xf32> {st.name = "w", st.role = "parameter", st.init = {kind = "normal", std = 0.02 : f64}},
                %v: tensor<8x4xf32> {st.name = "v", st.role = "parameter", st.init = {kind = "normal", std = 0.02 : f64}},
                %x: tensor<8x4xf32> {st.name = "x", st.role = "batch"})
    -> (tensor<f32> {st.name = "loss", st.role = "loss"}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.dot_general %0, %v, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
  %c = stablehlo.constant dense<FACTOR> : tensor<f32>
  %3 = stablehlo.multiply %2, %c : tensor<f32>
  return %3 : tensor<f32>
}
"""
LAYOUTS = {
    "one device": {"mode": "sharding", "data": 1},
    "2 replicas of 2 stages of 2 shards": {"mode": "hybrid", "data": 2, "sharding_size": 2, "sharding_dim": -1, "stage_cnt": 2,
                                           "accum_degree": 2, "zero": 1},
}


class Scaler:
    """Behaves like megatron/core/optimizer/grad_scaler.py."""

    def __init__(self, scale, window=1000, hysteresis=2, least=1.0):
        self.scale, self.window, self.hysteresis, self.least = scale, window, hysteresis, least
        self.good, self.left = 0, hysteresis

    def update(self, overflows):
        if overflows:
            self.good, self.left = 0, self.left - 1
            if self.left <= 0:
                self.scale = max(self.scale / 2, self.least)
            return
        self.good += 1
        if self.good == self.window:
            self.good, self.left, self.scale = 0, self.hysteresis, self.scale * 2


def compiled(folder, factor, *flags, layout="one device", backend="dtu-t10"):
    program = folder / "model.mlir"
    program.write_text(MODEL.replace("FACTOR", f"{factor:e}"))
    spec = st.write_json(folder / "parallel.json", dict(LAYOUTS[layout], precision="f16"))
    binary = folder / "binary"
    st.check_run([*st.COMPILE, program, f"--parallel={spec}", f"--target={backend}", "--lr=1e-3", "--optimizer=adamw",
                  "--predict=false", *flags, "-o", binary])
    return binary


def run(folder, binary, steps, *flags):
    """The metrics of each step, and the parameters and the scale's states after the last one."""
    save_file({"x": np.ones((1, 8, 4), np.float32)}, folder / "batches.safetensors")
    metrics = st.train(binary, f"--save={folder / 'saved'}", f"--data={folder / 'batches.safetensors'}", *flags, steps=steps)
    states = load_file(folder / "saved" / "optimizer.safetensors")
    scale = {name.removeprefix("loss_scale."): float(states[name]) for name in states if name.startswith("loss_scale.")}
    return metrics, load_file(folder / "saved" / "model.safetensors"), scale


def follows(scaler, metrics, largest):
    """Returns True if each step has the expected scale, for a program whose gradients are finite up to a given scale."""
    for i, metric in enumerate(metrics):
        st.expect(np.float32(metric["loss_scale"]) == scaler.scale, f"step {i + 1}: {metric['loss_scale']}, not {scaler.scale}")
        scaler.update(scaler.scale > largest)


def seventeen_overflows(layout, backend="dtu-t10"):
    """From 2^32 with hysteresis 2, the scale falls to 2^16, and only the scale changes. The eighteenth step is the schedule's
    first. Saving checks that ranks agree about each state."""
    def check(folder):
        binary = compiled(folder, 0.9, layout=layout, backend=backend)
        st.check_run([binary, "--steps=0", f"--save={folder / 'first'}"])
        first = load_file(folder / "first" / "model.safetensors")
        rates = ["--lr=1e-3", "--warmup=8"]
        metrics, after, scale = run(folder, binary, 17, *rates)
        follows(Scaler(2.0**32), metrics, 2.0**16)
        st.expect(scale == {"scale": 2.0**16, "good_steps": 0, "overflows": 2, "skipped_steps": 17}, f"{scale}")
        st.expect(all((first[n] == after[n]).all() for n in first), "a step that was left out changes a parameter")
        st.expect({m["lr"] for m in metrics} == {1e-3 / 8} and metrics[-1]["skipped_steps"] == 17, f"{metrics[-1]}")
        more, trained, scale = run(folder, binary, 3, f"--resume={folder / 'saved'}")
        st.expect(scale == {"scale": 2.0**16, "good_steps": 3, "overflows": 2, "skipped_steps": 17}, f"{scale}")
        st.expect(np.allclose([m["lr"] for m in more], [1e-3 * i / 8 for i in (1, 2, 3)], rtol=1e-6),
                  f"learning rates {[m['lr'] for m in more]}")
        st.expect(all((trained[n] != after[n]).any() for n in after), "it does not train")
        return "2^32 to 2^16, then 3 steps"
    return check


def a_thousand_clean(folder):
    """1,000 finite steps double the scale; the next overflow keeps it, and the second halves it."""
    binary = compiled(folder, 0.9, "--initial-loss-scale=65536")
    # Parameters, and so gradients, hardly move.
    metrics, _, scale = run(folder, binary, 1000, "--lr=1e-7")
    st.expect({m["loss_scale"] for m in metrics} == {2.0**16} and scale["scale"] == 2.0**17, f"{scale}")
    metrics, _, scale = run(folder, binary, 4, f"--resume={folder / 'saved'}")
    st.expect([m["loss_scale"] for m in metrics] == [2.0**17, 2.0**17, 2.0**16, 2.0**16], f"{metrics}")
    return "2^17"


def window(folder):
    """Only growth resets the hysteresis: a finite step between two overflows does not."""
    binary = compiled(folder, 0.9, "--initial-loss-scale=1048576", "--loss-scale-window=3", "--hysteresis=3")
    metrics, _, _ = run(folder, binary, 40)
    follows(Scaler(2.0**20, window=3, hysteresis=3), metrics, 2.0**16)
    return f"{metrics[-1]['skipped_steps']:g} of 40 left out"


def minimum(folder):
    """Gradients that no scale makes finite: the scale stops at the minimum."""
    metrics, _, scale = run(folder, compiled(folder, 3e38, "--min-loss-scale=4"), 40)
    follows(Scaler(2.0**32, least=4.0), metrics, 0)
    st.expect(scale["scale"] == 4 and scale["skipped_steps"] == 40, f"{scale}")
    metrics, _, scale = run(folder, compiled(folder, 3e38), 40)
    st.expect(scale["scale"] == 1 and metrics[-1]["loss_scale"] == 1, f"{scale}")
    return "4 and 1"


def refused(folder):
    """A flag without effect, or one that contradicts the file."""
    program = folder / "model.mlir"
    program.write_text(MODEL.replace("FACTOR", "1.0"))
    for precision, flags, error in (
            ("f32", ["--hysteresis=2"], "--hysteresis has no effect: the program is computed in f32"),
            ("bf16", ["--min-loss-scale=2"], "--min-loss-scale has no effect: the loss is not scaled"),
            ("f16", ["--loss-scale=128", "--loss-scale-window=2"], "--loss-scale-window has no effect: the loss scale is fixed"),
            ({"compute": "f16", "loss_scale": 64}, ["--loss-scale=128"],
             "--loss-scale=128 contradicts the parallel file, whose precision.loss_scale is 64"),
            ("f16", ["--hysteresis=0"], "--hysteresis=0: expected a number of steps from 1"),
            ("f16", ["--initial-loss-scale=1e40"], "--initial-loss-scale=1e40: expected a positive number that 32 bits hold"),
            ("f16", ["--initial-loss-scale=2", "--min-loss-scale=4"], "--min-loss-scale=4: expected at most --initial-loss-scale=2")):
        spec = st.write_json(folder / "p.json", dict(LAYOUTS["one device"], precision=precision))
        expect_error([*st.COMPILE, program, f"--parallel={spec}", *flags, "-o", folder / "out"], re.escape(error))
    return "7 refused"


CASES = [(f"17 overflows, {layout}", seventeen_overflows(layout)) for layout in LAYOUTS]
CASES += [("17 overflows, cuda-host, one device", seventeen_overflows("one device", "cuda-host")),
          ("1000 clean steps", a_thousand_clean), ("window and hysteresis", window), ("minimum", minimum), ("refused", refused)]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
