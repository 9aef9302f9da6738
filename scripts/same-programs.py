#!/usr/bin/env python3
"""Compares the programs that two builds compile, for changes that must not change any program.

    scripts/same-programs.py OLD/build/bin NEW/build/bin

compiles 14 layouts with both: for simulated devices the text of the whole executable, for GPUs the PTX and the commands, and
for both the losses and simulated times of two steps. Names of kernels, tasks and temporaries are replaced by numbers in order
of first use. Prints a line for each layout and exits with 1 if one differs.
"""

import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

TINY = {
    "bert": {"model_type": "bert", "vocab_size": 96, "hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 4,
             "intermediate_size": 64, "max_position_embeddings": 32, "type_vocab_size": 2, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1},
    "gpt2": {"model_type": "gpt2", "vocab_size": 96, "n_embd": 32, "n_layer": 4, "n_head": 4, "n_positions": 32},
    "llama": {"model_type": "llama", "vocab_size": 96, "hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 4,
              "num_key_value_heads": 2, "intermediate_size": 64, "max_position_embeddings": 32},
}
TASKS = {"bert": "mlm", "gpt2": "clm", "llama": "clm"}
ONE = {}
PARTS = {"mode": "hybrid", "sharding_size": 2, "sharding_dim": -1, "stage_cnt": 2, "accum_degree": 4, "data": 1}

# The name, the model, the parallel file, further flags.
LAYOUTS = [
    ("one device, dropout", "bert", ONE, []),
    ("one device, bf16", "bert", {"mode": "sharding", "sharding_size": 1, "stage_cnt": 1, "data": 1, "precision": "bf16"}, []),
    ("2 shards x 2 stages", "bert", PARTS, []),
    ("contracted shards", "gpt2", {**PARTS, "sharding_dim": 0}, []),
    ("2 x 2 x 2 replicas", "gpt2", {**PARTS, "data": 2}, []),
    ("ZeRO 1", "llama", {**PARTS, "data": 2, "zero": 1}, []),
    ("ZeRO 3", "gpt2", {"mode": "sharding", "sharding_size": 1, "stage_cnt": 1, "data": 4, "zero": 3}, []),
    ("4 stages, 1F1B", "gpt2", {"mode": "pipeline", "stage_cnt": 4, "accum_degree": 8, "data": 1, "schedule": "1f1b"}, []),
    ("recomputation", "llama", {**PARTS, "recompute": "full"}, []),
    ("LAMB, clipping", "bert", PARTS, ["--optimizer=lamb", "--clip-norm=1"]),
    ("8-bit Adam", "llama", PARTS, ["--optimizer=adamw-8bit"]),
    ("GPU, f32", "gpt2", ONE, ["--target=cuda-host"]),
    ("GPU, bf16", "bert", {"mode": "sharding", "sharding_size": 1, "stage_cnt": 1, "data": 1, "precision": "bf16"}, ["--target=cuda-host"]),
    ("GPUs, 2 shards x 2 stages", "llama", {**PARTS, "precision": "bf16"}, ["--target=cuda-host"]),
]


def run(command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {result.stderr.strip()[-400:]}")
    return result.stdout


def number_names(text):
    """Replaces symbols and quoted words by their number, so that only their identity counts."""
    numbers = {}
    return re.sub(r'@[\w$.-]+|"[^"\n]*"|%[\w#]+', lambda name: f"name{numbers.setdefault(name.group(0), len(numbers))}", text)


def compile_layout(bin_folder, folder, model, parallel, flags):
    """The text of the program and what two steps print."""
    folder.mkdir()
    (folder / "model").mkdir()
    (folder / "model" / "config.json").write_text(json.dumps(TINY[model]))
    (folder / "parallel.json").write_text(json.dumps(parallel))
    binary = folder / "train"
    devices = ["--parallel=" + str(folder / "parallel.json")] if parallel else []
    base = [bin_folder / "st-compile", folder / "model", f"--task={TASKS[model]}", "--batch=8", "--seq=16", *devices, *flags]
    run([*base, "-o", binary])
    metrics = folder / "metrics"
    run([binary, "--steps=2", "--host-threads=1", f"--metrics={metrics}"])
    steps = [json.loads(line) for line in metrics.read_text().splitlines()]
    losses = [(step["loss"], step.get("sim_ms")) for step in steps]
    if any("cuda" in flag for flag in flags):
        text = run([*base, "--compile-to=planned"])
    else:
        text = run([bin_folder / "st-translate", "--executable-to-text", binary])
    return number_names(text), losses


def compare(layout, old, new):
    name, model, parallel, flags = layout
    with tempfile.TemporaryDirectory() as folder:
        try:
            before, after = (compile_layout(bin_folder, pathlib.Path(folder) / side, model, parallel, flags)
                             for side, bin_folder in (("old", old), ("new", new)))
        except RuntimeError as error:
            return False, f"{name}: {error}"
    if before[0] != after[0]:
        pairs = zip(before[0].splitlines(), after[0].splitlines())
        line, (was, now) = next(((i, pair) for i, pair in enumerate(pairs, 1) if pair[0] != pair[1]), (0, ("", "more lines")))
        return False, f"{name}: line {line} was '{was.strip()[:120]}' and is '{now.strip()[:120]}'"
    if not before[1] or before[1] != after[1]:
        return False, f"{name}: losses and times were {before[1]} and are {after[1]}"
    return True, f"{name}: the same program of {len(after[0].splitlines())} lines, losses and times {after[1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path, help="folder of the tools before the change")
    parser.add_argument("new", type=pathlib.Path, help="folder of the tools after it")
    arguments = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda layout: compare(layout, arguments.old, arguments.new), LAYOUTS))
    for same, text in results:
        print("same   " if same else "differs", text)
    return 0 if all(same for same, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
