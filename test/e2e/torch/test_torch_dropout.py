"""Masks of dropout in programs of the package st_torch: those of St's own models, which JAX computes here by the same formula."""

import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import jax_models
import numpy as np
import st_testing as st
from safetensors.numpy import load_file, save_file
from torch_programs import check_run

import st_torch
from st_torch.graph import Graph, Input, Node, Output, Ref, Type

PROBABILITY = 0.3


def dropped_twice(shape):
    """The sum of x, after two calls of dropout, times w."""
    x, scalar = Type(shape, "f32"), Type((), "f32")
    mask = Type(shape, "i1")
    nodes = [Node("first", "aten.native_dropout.default", [Ref("x"), PROBABILITY, True], {}, [x, mask]),
             Node("second", "aten.native_dropout.default", [Ref("x"), PROBABILITY, True], {}, [x, mask], "block.1"),
             Node("both", "aten.add.Tensor", [Ref("first", 0), Ref("second", 0)], {}, [x]),
             Node("scaled", "aten.mul.Tensor", [Ref("both"), Ref("w")], {}, [x]),
             Node("loss", "aten.mean.default", [Ref("scaled")], {}, [scalar])]
    outputs = [Output(Ref("loss"), "loss", "loss"), Output(Ref("first", 0), "metric", "first"), Output(Ref("second", 0), "metric", "second")]
    return Graph("dropout", [Input("w", scalar, "parameter", "w"), Input("x", x, "batch", "x")], nodes, outputs)


def like_jax(shape):
    def run(folder):
        key = np.array([1234, 5], np.uint32)
        x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
        (folder / "dropout.mlir").write_text(st_torch.print_program(dropped_twice(shape)))
        save_file({"x": x, "w": np.array(2, np.float32), "rng_key": key}, folder / "in.safetensors")
        check_run([st.BIN / "st-translate", "--interpret", folder / "dropout.mlir", f"--inputs={folder / 'in.safetensors'}",
                   f"--outputs={folder / 'out.safetensors'}"])
        found = load_file(folder / "out.safetensors")
        drop = jax_models.Dropout(key)
        for name in ("first", "second"):
            expected = np.asarray(drop(x, PROBABILITY))
            st.expect(np.array_equal(found[name] == 0, expected == 0), f"another mask of {name}")
            st.expect(np.allclose(found[name], expected, rtol=1e-6, atol=0), f"other values of {name}")
        share = float(np.mean(found["first"] == 0))
        st.expect(abs(share - PROBABILITY) < 4 * np.sqrt(0.21 / x.size), f"{share} of the elements are dropped")
        return f"{share:.3f} of the elements dropped"
    return run


def same_under_layouts(folder):
    """The masks do not depend on shards and micro-batches."""
    (folder / "dropout.mlir").write_text(st_torch.print_program(dropped_twice((16, 32))))
    save_file({"x": np.random.default_rng(0).normal(size=(3, 16, 32)).astype(np.float32)}, folder / "x.safetensors")
    found = []
    for name, parallel in (("one", None), ("many", {"mode": "hybrid", "stage_cnt": 1, "sharding_size": 1, "data": 4, "accum_degree": 2})):
        flags = [f"--parallel={st.write_json(folder / 'parallel.json', parallel)}"] if parallel else []
        check_run([*st.COMPILE, folder / "dropout.mlir", "--target=dtu-t10", "--predict=false", "-o", folder / name, *flags])
        save_file({"w": np.array(2, np.float32)}, folder / "model.safetensors")
        found.append(st.losses(st.train(folder / name, f"--init={folder}", f"--data={folder / 'x.safetensors'}", steps=3)))
    st.expect(len(set(found[0])) == 3, f"equal masks in all steps: {found[0]}")
    difference = st.relative_difference(*found)
    st.expect(difference <= 1e-5, f"losses {found[0]}, with replicas and micro-batches {found[1]}")
    return f"losses within {difference:.0e}"


CASES = [(f"masks of {shape}", like_jax(shape)) for shape in ((64, 32), (3, 5, 20, 24), (200,), (2, 3))]
CASES.append(("layouts", same_under_layouts))

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
