"""Compares the gradients of every op with jax.grad, on programs that JAX prints.

The table has an entry for each op in the definitions of the dialects stablehlo and chlo. An op without an entry fails,
and so does an entry without an op. An entry lists cases that are differentiated (also with zero gradients), or refused
programs and the message that names the op.
"""

import json
import pathlib
import subprocess
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import numpy as np
from gradient_cases_control import CONTROL, CUSTOM
from gradient_cases_elementwise import ELEMENTWISE
from gradient_cases_tensors import TENSORS
from gradient_testing import Case
from jax_models import loss_function
from st_testing import ROOT, check_run, drawn_part, expect, main

TABLE = ELEMENTWISE | TENSORS | CONTROL


def defined_ops(name, file):
    """The names of the ops that a dialect defines."""
    def query(what):
        return subprocess.run(["llvm-config-22", what], capture_output=True, text=True, check=True).stdout.strip()
    done = check_run([f"{query('--bindir')}/llvm-tblgen", "--dump-json", "-I", ROOT, "-I", query("--includedir"),
                      ROOT / file])
    records = json.loads(done.stdout)
    return {f"{name}.{records[op]['opName']}" for op in records["!instanceof"]["Op"]}


def every_op_has_an_entry(folder):
    ops = (defined_ops("stablehlo", "dialects/StableHLO/StableHLOOps.td")
           | defined_ops("chlo", "dialects/StableHLO/ChloOps.td"))
    expect(ops == set(TABLE), f"without an entry: {sorted(ops - set(TABLE))}; without an op: {sorted(set(TABLE) - ops)}")
    return f"{len(ops)} ops"


def whole_model(task, config, fields):
    """A model as JAX prints it, without St's front end. `fields` are the names and shapes of its parameters
    and integer inputs, (name, shape, limit), limit 0 for a parameter."""
    rng = np.random.default_rng(1)
    parameters = {n: rng.normal(scale=0.2, size=s).astype(np.float32) for n, s, limit in fields if not limit}
    batch = {n: rng.integers(0, limit, s).astype(np.int32) for n, s, limit in fields if limit}

    def function(*values):
        return loss_function(config, task)(dict(zip(parameters, values, strict=True)), batch)

    return Case(function, values=list(parameters.values()), f64=False, together=True)


def bert_fields(hidden, inner, vocab, ids):
    def linear(name, out, inputs):
        return [(f"{name}.weight", (out, inputs), 0), (f"{name}.bias", (out,), 0)]

    def norm(name):
        return [(f"{name}.weight", (hidden,), 0), (f"{name}.bias", (hidden,), 0)]

    layer = "bert.encoder.layer.0."
    fields = [("bert.embeddings.word_embeddings.weight", (vocab, hidden), 0),
              ("bert.embeddings.position_embeddings.weight", (8, hidden), 0),
              ("bert.embeddings.token_type_embeddings.weight", (2, hidden), 0), *norm("bert.embeddings.LayerNorm")]
    for which in ("self.query", "self.key", "self.value", "output.dense"):
        fields += linear(f"{layer}attention.{which}", hidden, hidden)
    fields += norm(f"{layer}attention.output.LayerNorm") + norm(f"{layer}output.LayerNorm")
    fields += linear(f"{layer}intermediate.dense", inner, hidden) + linear(f"{layer}output.dense", hidden, inner)
    fields += linear("cls.predictions.transform.dense", hidden, hidden) + norm("cls.predictions.transform.LayerNorm")
    fields += [("cls.predictions.bias", (vocab,), 0)] + linear("bert.pooler.dense", hidden, hidden)
    fields += linear("cls.seq_relationship", 2, hidden)
    fields += [(name, ids, limit) for name, limit in (("input_ids", vocab), ("token_type_ids", 2), ("labels", vocab))]
    return fields + [("attention_mask", ids, 2), ("next_sentence_label", ids[:1], 2)]


MODELS = [("bert as JAX prints it", whole_model(
    "mlm", {"model_type": "bert", "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_dropout_prob": 0,
            "attention_probs_dropout_prob": 0}, bert_fields(8, 12, 11, (2, 5))))]

def cases():
    yield "every op has an entry", every_op_has_an_entry
    for name, case in MODELS:
        yield name, case.run
    table = [(op, label, case) for op, entry in (TABLE | CUSTOM).items() for label, case in entry]
    for op, label, case in drawn_part(table, 3):
        yield f"{op}: {label}", lambda folder, case=case, op=op: case.run(folder, op)


if __name__ == "__main__":
    sys.exit(main(*cases()))
