"""The time to import and simplify a BERT-large training step printed by JAX, in each form.

  benchmarks/import_bert_large.py [--layers=24] [--rounds=3] [--json=FILE]

The step is the `span` task at sequence 384 with AdamW, forward, backward and update. Each form goes through
`st-compile FILE --compile-to=import`, which parses, inlines, simplifies and infers the roles of arguments and
results. Prints a Markdown table of medians. Needs build/bin and a Python with JAX (.venv).
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import figures

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = map(str, (ROOT / "test/e2e").iterdir())

import jax
import numpy as np
from jax_models import loss_function
from st_programs import import_model, signature
from st_testing import BIN, check_run
from test_import import adamw


def lower(folder, layers):
    """The step, traced from shapes only: no weights are created."""
    config = json.loads((ROOT / "examples/models/bert-large-uncased/config.json").read_text())
    config |= {"num_hidden_layers": layers, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    arguments, _ = signature(import_model(folder, config, "span", 1, 384))
    shapes = {a.name: jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arguments}
    params = {a.name: shapes[a.name] for a in arguments if a.role == "parameter"}
    batch = {a.name: shapes[a.name] for a in arguments if a.role == "batch"}
    step, _ = adamw(loss_function(config, "span"))
    state = {"count": jax.ShapeDtypeStruct((), np.int32), "mu": params, "nu": params}
    return jax.jit(step, donate_argnums=(0, 1)).lower(params, state, batch, jax.ShapeDtypeStruct((), np.float32))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    figures.add_option(parser)
    options = parser.parse_args()
    found = figures.Figures(options.json, "compiling", figures.host())
    with tempfile.TemporaryDirectory(prefix="st-import-") as name:
        folder = pathlib.Path(name)
        lowered = lower(folder, options.layers)
        hlo = lowered.compiler_ir("hlo")
        forms = {"step.mlir": lowered.as_text(debug_info=True).encode(),
                 "step.pb": hlo.as_serialized_hlo_module_proto(), "step.hlo": hlo.as_hlo_text().encode()}
        print("| form | MB | lines | import and simplify, s |\n| --- | --- | --- | --- |")
        for file, data in forms.items():
            (folder / file).write_bytes(data)
            seconds = []
            for _ in range(options.rounds):
                start = time.perf_counter()
                check_run([BIN / "st-compile", folder / file, "--compile-to=import", "-q", "-o", folder / "out.mlir"])
                seconds.append(time.perf_counter() - start)
            lines = "-" if file.endswith(".pb") else data.count(b"\n")
            print(f"| {file} | {len(data) / 1e6:.1f} | {lines} | {statistics.median(seconds):.2f} |", flush=True)
            found.add(f"Import of a BERT-large step, {options.layers} layers, {file}", statistics.median(seconds), "s",
                      {"file": [len(data) / 1e6, "MB"]})


if __name__ == "__main__":
    sys.exit(main())
