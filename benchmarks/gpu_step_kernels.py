#!/usr/bin/env python3
"""Lists the kernels of a predicted GPU step, and the share of matrix products in it.

  benchmarks/gpu_step_kernels.py [--model=examples/models/bert-large-uncased] [--dropout=0] [--batch=32] [--target=cuda-sm_90]
                                 [--activation=gelu_new] [--clip-norm=1]

Compiles a training step (masked words or next words, AdamW, bf16, one GPU) and reads the figures of st-compile's page
(--report). Nothing runs; times are those of docs/cuda.md, "A predicted step". Two denominators are printed: the data
sheet's rate of products, and the rate that the costs allow a large product.
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile

import figures

ROOT = pathlib.Path(__file__).resolve().parent.parent


def predicted(options):
    """The page's figures, as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        config = json.loads((ROOT / options.model / "config.json").read_text())
        for key in ("hidden_dropout_prob", "attention_probs_dropout_prob", "embd_pdrop", "attn_pdrop", "resid_pdrop"):
            if key in config:
                config[key] = options.dropout
        if options.activation:
            config["activation_function" if config["model_type"] == "gpt2" else "hidden_act"] = options.activation
        (folder / "config.json").write_text(json.dumps(config))
        layout = {"mode": "sharding", "data": 1, "precision": {"compute": "bf16"}}
        (folder / "layout.json").write_text(json.dumps(layout))
        task = "clm" if config["model_type"] == "gpt2" else "mlm"
        subprocess.run([ROOT / options.build / "bin/st-compile", "-q", folder, f"--task={task}", f"--batch={options.batch}",
                        f"--seq={options.seq}", "--optimizer=adamw", f"--clip-norm={options.clip_norm}",
                        f"--parallel={folder / 'layout.json'}", f"--target={options.target}",
                        f"--report={folder / 'page.html'}", "-o", folder / "train"], check=True)
        page = (folder / "page.html").read_text()
    return json.loads(re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.S)[1])


def name_of(options):
    """The case among the figures."""
    changes = [f"--clip-norm={options.clip_norm:g}"] if options.clip_norm else []
    changes += [{"gelu_new": "GELU by tanh"}.get(options.activation, options.activation)] if options.activation else []
    return ", ".join([pathlib.Path(options.model).name, "bf16", options.target, f"{options.batch} x {options.seq}",
                      f"dropout {options.dropout:g}", *changes])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--model", default="examples/models/bert-large-uncased")
    parser.add_argument("--dropout", type=float, default=0)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seq", type=int, default=512)
    parser.add_argument("--target", default="cuda-sm_90")
    parser.add_argument("--activation", help="replaces the activation of the model")
    parser.add_argument("--clip-norm", type=float, default=0)
    parser.add_argument("--most", type=int, default=25, help="kernels that are listed")
    figures.add_option(parser)
    options = parser.parse_args()
    step = predicted(options)
    total = step["picoseconds"]
    print(f"step {total / 1e9:.2f} ms")
    found = figures.Figures(options.json, "gpus", "predicted")

    def row(name, entries):
        launches, time, flops, size = (sum(e[key] for e in entries) for key in ("launches", "picoseconds", "flops", "bytes"))
        print(f"  {name:44} {launches:5} {time / 1e9:8.3f} ms {100 * time / total:5.1f} % {flops / 1e12:8.3f} TFLOP {size / 1e6:10.1f} MB")

    kinds = {}
    for kernel in step["kernels"]:
        kinds.setdefault(kernel["kind"], []).append(kernel)
    for kind, entries in sorted(kinds.items()):
        row(kind, entries)
    row("all", step["kernels"])
    flops = sum(kernel["flops"] for kernel in step["kernels"])
    found.add(name_of(options), total / 1e9, "ms a step",
              {**{kind: [sum(one["picoseconds"] for one in entries) / 1e9, "ms"] for kind, entries in sorted(kinds.items())},
               "all FLOP at the data sheet's rate": [flops / step["peak_flops"] * 1e3, "ms"],
               "launches": [sum(kernel["launches"] for kernel in step["kernels"]), ""]})
    for what, rate in (("data sheet", step["peak_flops"]), ("what the costs allow", step["reached_flops"])):
        print(f"products at {rate / 1e12:.1f} TFLOP/s ({what}): {flops / rate * 1e3:.2f} ms, {100 * flops / rate * 1e12 / total:.1f} % of the step")
    for kernel in step["kernels"][:options.most]:
        row(kernel["name"], [kernel])


if __name__ == "__main__":
    main()
