"""--log-num-zeros-in-grad counts the zeros of the gradients, padding excluded, in each layout and log."""

import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import numpy as np
import st_testing as st
from safetensors.numpy import save_file
from st_errors import expect_error

# The gradient of w[k,n] is the sum of x[m,k] over m: that of all columns where x has one that is not 0.
MODEL = """
func.func @main(%w: tensor<5x7xf32> {st.name = "w", st.role = "parameter", st.init = {kind = "normal", std = 0.02 : f64}},
                %x: tensor<8x5xf32> {st.name = "x", st.role = "batch"})
    -> (tensor<f32> {st.name = "loss", st.role = "loss"}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x5xf32>, tensor<5x7xf32>) -> tensor<8x7xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x7xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
"""
LAYOUTS = {
    "one device": {"mode": "sharding", "data": 1},
    "shards of 5 and 7": {"mode": "sharding", "data": 1, "sharding_size": 4, "sharding_dim": -1},
    "replicas": {"mode": "sharding", "data": 2, "accum_degree": 2, "zero": 3},
}


def compile_flags(folder, layout, *flags):
    (folder / "model.mlir").write_text(MODEL)
    spec = st.write_json(folder / "parallel.json", LAYOUTS[layout])
    return [*st.COMPILE, folder / "model.mlir", f"--parallel={spec}", "--predict=false", *flags, "-o", folder / "binary"]


def counted(folder):
    """Steps with two, no and five rows of zero gradients. A row that is nonzero in only one micro-batch is not zero."""
    x = np.zeros((3, 8, 5), np.float32)
    x[0, :4, 1:3], x[0, 7, 4] = 1, 2
    x[1] = 3
    save_file({"x": x}, folder / "batches.safetensors")
    for target in ("dtu-t10", "cuda-host"):
        for layout in LAYOUTS:
            flags = compile_flags(folder, layout, "--log-num-zeros-in-grad=true", "--clip-norm=1", f"--target={target}")
            st.check_run(flags)
            found = st.train(folder / "binary", f"--data={folder / 'batches.safetensors'}", steps=3)
            st.expect([step["num_zeros"] for step in found] == [14, 0, 35], f"{target}, {layout}: {found}")
    data = f"--data={folder / 'batches.safetensors'}"
    done = st.check_run([folder / "binary", data, "--steps=1", "--log-style=megatron", f"--tensorboard={folder / 'events'}"])
    st.expect("| num zeros: 14.0 |" in done.stdout, done.stdout)
    events = b"".join(path.read_bytes() for path in (folder / "events").iterdir())
    st.expect(b"num_zeros" in events, "no event")


def only_on_request(folder):
    st.check_run(compile_flags(folder, "one device"))
    save_file({"x": np.zeros((1, 8, 5), np.float32)}, folder / "batches.safetensors")
    found = st.train(folder / "binary", f"--data={folder / 'batches.safetensors'}", steps=1)
    st.expect("num_zeros" not in found[0], "counted without the flag")
    expect_error(compile_flags(folder, "one device", "--log-num-zeros-in-grad=maybe"),
                 "--log-num-zeros-in-grad=maybe: expected true or false")


if __name__ == "__main__":
    sys.exit(st.main(("counted", counted), ("only on request", only_on_request)))
