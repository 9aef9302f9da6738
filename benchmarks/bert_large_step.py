"""Host time of a BERT-large span step: St's 32 simulated clusters beside JAX and PyTorch on the same cores.

  benchmarks/bert_large_step.py [--rounds=3] [--steps=3] [--torch-python=/usr/bin/python3]

Each round runs St (4 stages x 8 shards), JAX and PyTorch (both unsharded) in
turn, so a machine that drifts drifts for all; f32, batch 1, sequence 384,
AdamW, dropout 0.1, two threads. Prints a Markdown table of medians and ratios.
Needs build/bin, a Python with JAX (.venv) and one with torch (Debian: python3-torch).
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIG = ROOT / "examples/models/bert-large-uncased/config.json"


def environment():
    """OPENBLAS_CORETYPE may pin a slower kernel for the peers: always unset."""
    env = dict(os.environ)
    env.pop("OPENBLAS_CORETYPE", None)
    return env


def run(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=environment())
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def compile_st(dropout):
    folder = ROOT / "build/bench"
    (folder / "model").mkdir(parents=True, exist_ok=True)
    config = json.loads(CONFIG.read_text())
    config["hidden_dropout_prob"] = config["attention_probs_dropout_prob"] = dropout
    (folder / "model/config.json").write_text(json.dumps(config))
    binary = folder / f"bert-large-4x8-{dropout}"
    run([ROOT / "build/bin/st-compile", folder / "model", "--task=span", "--batch=1", "--seq=384",
         f"--parallel={ROOT / 'examples/parallel/bert-large-dtu-4x8.json'}", "--target=dtu-t10",
         "--optimizer=adamw", "--lr=1e-5", "-o", binary])
    return binary


def st_seconds(binary, steps):
    metrics = binary.with_suffix(".metrics")
    run([binary, f"--steps={steps + 1}", f"--metrics={metrics}", "--host-threads=2"])
    return [json.loads(line)["host_s"] for line in metrics.read_text().splitlines()][1:]


def peer(python, script, steps, dropout):
    out = json.loads(run([python, ROOT / "benchmarks" / script, CONFIG, f"--steps={steps}", f"--dropout={dropout}"]))
    return f"{out['peer']} {out['version']}", out["seconds"]


def measure(options, dropout):
    binary = compile_st(dropout)
    seconds = {}
    for _ in range(options.rounds):
        seconds.setdefault("St 4x8, 32 clusters", []).extend(st_seconds(binary, options.steps))
        for python, script in ((options.jax_python, "peer_jax.py"), (options.torch_python, "peer_torch.py")):
            name, times = peer(python, script, options.steps, dropout)
            seconds.setdefault(name, []).extend(times)
    return {name: statistics.median(times) for name, times in seconds.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--torch-python", default="/usr/bin/python3")
    parser.add_argument("--jax-python", default=ROOT / ".venv/bin/python")
    options = parser.parse_args()
    with_dropout, without = measure(options, 0.1), measure(options, 0.0)
    fastest = min(t for name, t in with_dropout.items() if not name.startswith("St"))
    print("| | s a step, dropout 0.1 | without dropout | random bits and masks | against the faster peer |")
    print("| --- | --- | --- | --- | --- |")
    for name, t in with_dropout.items():
        print(f"| {name} | {t:.2f} | {without[name]:.2f} | {t - without[name]:.2f} | {t / fastest:.2f} |")


if __name__ == "__main__":
    main()
