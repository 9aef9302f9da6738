"""Host time of a BERT-large span step: St's 32 simulated clusters beside JAX and PyTorch on the same cores.

  benchmarks/bert_large_step.py [--rounds=3] [--steps=2] [--types=f32,bf16] [--dropouts=0.1,0]
                                [--peers=st,jax,sharded,torch] [--torch-python=/usr/bin/python3]
                                [--jax-python=.venv/bin/python] [--build=build]

Each round runs St (4 stages x 8 shards), JAX and PyTorch (both unsharded), and JAX on 32 devices that XLA makes of the
host (4 stages x 8 shards, f32 alone) in turn, so a machine that drifts drifts for all; batch 1, sequence 384, AdamW,
two threads. In bf16 weights, gradients and optimizer state are f32 in all three: "precision" in St's parallel file, casts
in JAX, torch.autocast. Prints a Markdown table of medians for each type, of rounds x steps steps each (five at least),
and how far the losses of sharded JAX are from those of JAX. Needs build/bin, a Python with JAX (.venv) and one with
torch: Debian's python3-torch, or the newest from PyPI in a folder of its own (5 GB with what it depends on):

  python3 -m venv /tmp/torch && /tmp/torch/bin/pip install torch numpy     # --torch-python=/tmp/torch/bin/python
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
PARALLEL = ROOT / "examples/parallel/bert-large-dtu-4x8.json"
FEWEST = 5  # Steps that a median is taken of.
SAME_LOSS = 1e-4


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


def compile_st(options, dropout, kind):
    folder = options.build / "bench"
    (folder / "model").mkdir(parents=True, exist_ok=True)
    config = json.loads(CONFIG.read_text())
    config["hidden_dropout_prob"] = config["attention_probs_dropout_prob"] = dropout
    (folder / "model/config.json").write_text(json.dumps(config))
    layout = folder / f"parallel-{kind}.json"
    layout.write_text(json.dumps(json.loads(PARALLEL.read_text()) | {"precision": kind}))
    binary = folder / f"bert-large-4x8-{dropout}-{kind}"
    run([options.build / "bin/st-compile", folder / "model", "--task=span", "--batch=1", "--seq=384",
         f"--parallel={layout}", "--target=dtu-t10", "--optimizer=adamw", "--lr=1e-5", "-o", binary])
    return binary


def st_step(options, binary):
    metrics = pathlib.Path(f"{binary}.metrics")
    run([binary, f"--steps={options.steps + 1}", f"--metrics={metrics}", "--host-threads=2"])
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    return {"peer": "St 4x8,", "version": "32 clusters", "seconds": [row["host_s"] for row in rows][1:]}


def peer(python, script, options, dropout, *flags):
    command = [python, ROOT / "benchmarks" / script, CONFIG, f"--steps={options.steps}", f"--dropout={dropout}", *flags]
    return json.loads(run(command).splitlines()[-1])


def runs(options, dropout, kind):
    """What each round runs, in turn."""
    if "st" in options.peers:
        binary = compile_st(options, dropout, kind)
        yield lambda: st_step(options, binary)
    if "jax" in options.peers:
        yield lambda: peer(options.jax_python, "peer_jax.py", options, dropout, f"--type={kind}")
    if "sharded" in options.peers and kind == "f32":
        yield lambda: peer(options.jax_python, "peer_jax_sharded.py", options, dropout)
    if "torch" in options.peers:
        yield lambda: peer(options.torch_python, "peer_torch.py", options, dropout, f"--type={kind}")


def measure(options, dropout, kind):
    """Medians by name, and the losses of JAX's two."""
    each = list(runs(options, dropout, kind))
    seconds, losses = {}, {}
    for number in range(options.rounds):
        for one in each:
            made = one()
            name = f"{made['peer']} {made['version']}"
            seconds.setdefault(name, []).extend(made["seconds"])
            if made["peer"].startswith("JAX"):
                losses[made["peer"]] = made["losses"]
            print(f"  round {number}, {kind}, dropout {dropout}: {name}: "
                  + " ".join(f"{s:.2f}" for s in made["seconds"]), file=sys.stderr, flush=True)
    return {name: statistics.median(times) for name, times in seconds.items()}, losses


def check_losses(losses):
    """Sharded JAX computes what JAX does."""
    if len(losses) < 2:
        return
    plain, sharded = losses.values()
    off = max(abs(a - b) / abs(a) for a, b in zip(plain, sharded, strict=True))
    print(f"\nThe losses of sharded JAX are within {off:.1e} of JAX's over {len(plain)} steps.")
    if off > SAME_LOSS:
        sys.exit(f"expected at most {SAME_LOSS}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--types", default="f32,bf16")
    parser.add_argument("--dropouts", default="0.1,0")
    parser.add_argument("--peers", default="st,jax,sharded,torch")
    parser.add_argument("--torch-python", default="/usr/bin/python3")
    parser.add_argument("--jax-python", default=ROOT / ".venv/bin/python")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    options.peers = options.peers.split(",")
    options.build = options.build.resolve()
    dropouts = [float(rate) for rate in options.dropouts.split(",")]
    if options.rounds * options.steps < FEWEST:
        print(f"bert_large_step.py: warning: medians of {options.rounds * options.steps} steps, fewer than {FEWEST}",
              file=sys.stderr)
    for kind in options.types.split(","):
        made = {rate: measure(options, rate, kind) for rate in dropouts}
        medians = {rate: table for rate, (table, _) in made.items()}
        first = medians[dropouts[0]]
        peers = [time for name, time in first.items() if not name.startswith("St")]
        print(f"\n| {kind} | " + " | ".join(f"s a step, dropout {rate:g}" for rate in dropouts)
              + " | against the fastest peer |\n| --- |" + " ---: |" * (len(dropouts) + 1))
        for name, time in first.items():
            against = f"{time / min(peers):.2f}" if peers else "-"
            each = " | ".join(f"{medians[rate][name]:.2f}" for rate in dropouts)
            print(f"| {name} | {each} | {against} |", flush=True)
        check_losses(made[dropouts[0]][1])


if __name__ == "__main__":
    main()
