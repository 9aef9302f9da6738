"""The time of st-compile by phase for models of growing depth: BERT with a tiny hidden size.

  benchmarks/compile_time.py [--layers=16,64,256,1024] [--stages=1] [--build=build] [--json=FILE]

The last column is the exponent of the growth between the last two rows of layers: 1 is linear. Phases are
wall times, so run nothing else meanwhile.
"""

import argparse
import json
import math
import pathlib
import re
import resource
import subprocess
import tempfile

import figures

ROOT = pathlib.Path(__file__).resolve().parent.parent


def config(layers):
    return {"architectures": ["BertForPreTraining"], "model_type": "bert", "hidden_size": 32,
            "num_hidden_layers": layers, "num_attention_heads": 4, "intermediate_size": 64, "hidden_act": "gelu",
            "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "initializer_range": 0.02,
            "layer_norm_eps": 1e-12, "max_position_embeddings": 64, "type_vocab_size": 2, "vocab_size": 300,
            "pad_token_id": 0}


def layout(stages):
    """One DTU cluster per stage, four micro-batches; chip k has the ids 5k .. 5k + 3."""
    ids = [i // 4 * 5 + i % 4 for i in range(stages)]
    return {"mode": "pipeline", "sharding_size": 1, "sharding_dim": -1, "stage_cnt": stages, "accum_degree": 4,
            "device_mapping": {f"stage_{i}": {"shard_0": f"/device:XLA_DTU:{d}"} for i, d in enumerate(ids)}}


def compile_once(build, layers, stages):
    """Seconds by phase, ops of the last phase, and seconds of processor time."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "config.json").write_text(json.dumps(config(layers)))
        command = [build / "bin" / "st-compile", folder, "--task=mlm", "--batch=4", "--seq=16", "-o", folder / "out"]
        if stages > 1:
            (folder / "parallel.json").write_text(json.dumps(layout(stages)))
            command.append(f"--parallel={folder / 'parallel.json'}")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        rows = re.findall(r"^  (\w+) +([\d.]+) s +(\d+) ops$", done.stderr, re.M)
        return ({phase: float(seconds) for phase, seconds, _ in rows}, int(rows[-1][2]),
                after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", default="16,64,256,1024")
    parser.add_argument("--stages", type=int, default=1)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    figures.add_option(parser)
    arguments = parser.parse_args()
    layers = [int(count) for count in arguments.layers.split(",")]
    columns = [compile_once(arguments.build, count, arguments.stages) for count in layers]

    def row(name, values, digits=2):
        slope = "-"
        if len(values) > 1 and min(values[-2:]) > 0:
            slope = f"{math.log(values[-1] / values[-2]) / math.log(layers[-1] / layers[-2]):.2f}"
        print(f"| {name:13} | " + " | ".join(f"{value:8.{digits}f}" for value in values) + f" | {slope:>6} |")

    print("| layers        | " + " | ".join(f"{count:8d}" for count in layers) + " | growth |")
    print("| ---           |" + " ---: |" * (len(layers) + 1))
    for phase in columns[0][0]:
        row(phase, [times[phase] for times, _, _ in columns])
    row("all phases", [sum(times.values()) for times, _, _ in columns])
    row("processor", [seconds for _, _, seconds in columns])
    row("ops at the end", [ops for _, ops, _ in columns], 0)
    found = figures.Figures(arguments.json, "compiling", figures.host())
    for count, (_, ops, seconds) in zip(layers, columns, strict=True):
        found.add(f"BERT of hidden size 32, {count} layers, stages: {arguments.stages}", seconds, "s of processor time",
                  {"ops after code generation": [ops, ""]})


if __name__ == "__main__":
    main()
