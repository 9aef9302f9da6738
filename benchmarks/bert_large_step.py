"""Host time of a BERT-large span step: St's 32 simulated clusters compared with JAX and PyTorch on the same cores.

  benchmarks/bert_large_step.py [--rounds=3] [--steps=2] [--types=f32,bf16] [--dropouts=0.1,0]
                                [--peers=st,jax,sharded,torch] [--torch-python=/usr/bin/python3]
                                [--jax-python=.venv/bin/python] [--build=build] [--json=FILE]

Each round runs in turn St (4 stages x 8 shards), JAX and PyTorch (both unsharded), and JAX on 32 host devices of XLA (4
stages x 8 shards, f32 only). A change of the machine's speed therefore affects all of them. Batch 1, sequence 384, AdamW,
two threads. In bf16 weights, gradients and optimizer state are f32 in all three: "precision" in St's parallel file, casts
in JAX, torch.autocast. Prints a Markdown table of medians for each type, over rounds x steps steps (at least five), and
how far the losses of sharded JAX are from those of JAX. A peer that is missing, is killed or fails has a row that says so,
and the others run on. Needs build/bin, a Python with JAX (.venv) and one with torch: Debian's python3-torch, or the newest
from PyPI in a separate folder (5 GB with its dependencies):

  python3 -m venv /tmp/torch && /tmp/torch/bin/pip install torch numpy     # --torch-python=/tmp/torch/bin/python
"""

import argparse
import json
import os
import pathlib
import statistics
import sys

import figures

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIG = ROOT / "examples/models/bert-large-uncased/config.json"
PARALLEL = ROOT / "examples/parallel/bert-large-dtu-4x8.json"
FEWEST = 5  # The fewest steps of a median.
SAME_LOSS = 1e-4


def environment():
    """OPENBLAS_CORETYPE may pin a slower kernel for the peers: always unset."""
    env = dict(os.environ)
    env.pop("OPENBLAS_CORETYPE", None)
    return env


def run(command):
    return figures.run(command, env=environment())


def compile_st(options, dropout, kind):
    folder = options.build / "bench"
    (folder / "model").mkdir(parents=True, exist_ok=True)
    config = json.loads(CONFIG.read_text())
    config["hidden_dropout_prob"] = config["attention_probs_dropout_prob"] = dropout
    (folder / "model/config.json").write_text(json.dumps(config))
    layout = folder / f"parallel-{kind}.json"
    layout.write_text(json.dumps(json.loads(PARALLEL.read_text()) | {"precision": kind}))
    binary = folder / f"bert-large-4x8-{dropout}-{kind}"
    try:
        run([options.build / "bin/st-compile", folder / "model", "--task=span", "--batch=1", "--seq=384",
             f"--parallel={layout}", "--target=dtu-t10", "--optimizer=adamw", "--lr=1e-5", "-o", binary])
    except figures.PeerFailure as failure:
        sys.exit(f"st-compile: {failure}")
    return binary


def st_step(options, binary):
    metrics = pathlib.Path(f"{binary}.metrics")
    run([binary, f"--steps={options.steps + 1}", f"--metrics={metrics}", "--host-threads=2"])
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    return {"peer": "St 4x8,", "version": "32 clusters", "seconds": [row["host_s"] for row in rows][1:]}


def peer(python, script, options, dropout, *flags):
    return figures.run_peer([python, ROOT / "benchmarks/peers" / script, CONFIG, f"--steps={options.steps}", f"--dropout={dropout}",
                             *flags], env=environment())


def runs(options, dropout, kind):
    """The runs of a round by name, in order."""
    each = {}
    if "st" in options.peers:
        binary = compile_st(options, dropout, kind)
        each["St 4x8"] = lambda: st_step(options, binary)
    if "jax" in options.peers:
        each["JAX"] = lambda: peer(options.jax_python, "peer_jax.py", options, dropout, f"--type={kind}")
    if "sharded" in options.peers and kind == "f32":
        each["JAX 4x8"] = lambda: peer(options.jax_python, "peer_jax_sharded.py", options, dropout)
    if "torch" in options.peers:
        each["PyTorch"] = lambda: peer(options.torch_python, "peer_torch.py", options, dropout, f"--type={kind}")
    return each


def measure(options, dropout, kind):
    """Returns medians by name, the losses of both kinds of JAX, and the reasons of failed runs by name."""
    each = runs(options, dropout, kind)
    seconds, losses, failures = {}, {}, {}
    for number in range(options.rounds):
        for key, one in list(each.items()):
            try:
                made = one()
            except figures.PeerFailure as failure:
                failures[key] = str(failure)
                print(f"  round {number}, {kind}, dropout {dropout}: {key}: {failure}", file=sys.stderr, flush=True)
                del each[key]
                continue
            seconds.setdefault((key, f"{made['peer']} {made['version']}"), []).extend(made["seconds"])
            if made["peer"].startswith("JAX"):
                losses[made["peer"]] = made["losses"]
            print(f"  round {number}, {kind}, dropout {dropout}: {key}: "
                  + " ".join(f"{s:.2f}" for s in made["seconds"]), file=sys.stderr, flush=True)
    medians = {name: statistics.median(times) for (key, name), times in seconds.items() if key not in failures}
    return medians, losses, failures


def check_losses(losses):
    """Checks that sharded JAX computes the same losses as JAX."""
    if len(losses) < 2:
        return
    plain, sharded = (losses[name] for name in sorted(losses))
    off = max(abs(a - b) / abs(a) for a, b in zip(plain, sharded, strict=True))
    print(f"\nThe losses of sharded JAX are within {off:.1e} of JAX's over {len(plain)} steps.")
    if off > SAME_LOSS:
        sys.exit(f"expected at most {SAME_LOSS}")


def store(found, kind, dropout, medians, failures):
    peers = {name: time for name, time in medians.items() if not name.startswith("St")}
    fastest = min(peers, key=peers.get) if peers else None
    for name, time in medians.items():
        baseline = {"name": fastest, "value": peers[fastest]} if peers and name != fastest else None
        found.add(f"BERT-large, {kind}, dropout {dropout:g}: {name}", time, "s a step", baseline=baseline)
    for name, reason in failures.items():
        found.failed(f"BERT-large, {kind}, dropout {dropout:g}: {name}", reason)


def print_table(kind, measured):
    """Prints a column for each dropout rate; `measured` maps the rate to the result of measure()."""
    rates = list(measured)
    medians, _, _ = measured[rates[0]]
    peers = [time for name, time in medians.items() if not name.startswith("St")]
    print(f"\n| {kind} | " + " | ".join(f"s a step, dropout {rate:g}" for rate in rates)
          + " | against the fastest peer |\n| --- |" + " ---: |" * (len(rates) + 1))
    for name, time in medians.items():
        against = f"{time / min(peers):.2f}" if peers else "-"
        each = " | ".join(f"{measured[rate][0][name]:.2f}" if name in measured[rate][0] else "-" for rate in rates)
        print(f"| {name} | {each} | {against} |", flush=True)
    for rate in rates:
        for name, reason in measured[rate][2].items():
            print(f"| {name}, dropout {rate:g} | {reason} |" + " |" * len(rates), flush=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--types", default="f32,bf16")
    parser.add_argument("--dropouts", default="0.1,0")
    parser.add_argument("--peers", default="st,jax,sharded,torch")
    parser.add_argument("--torch-python", default="/usr/bin/python3")
    parser.add_argument("--jax-python", default=ROOT / ".venv/bin/python")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    figures.add_option(parser)
    options = parser.parse_args()
    options.peers = options.peers.split(",")
    options.build = options.build.resolve()
    options.dropouts = [float(rate) for rate in options.dropouts.split(",")]
    return options


def main():
    options = parse()
    if options.rounds * options.steps < FEWEST:
        print(f"bert_large_step.py: warning: medians of {options.rounds * options.steps} steps, fewer than {FEWEST}",
              file=sys.stderr)
    found = figures.Figures(options.json, "peers", figures.host())
    for kind in options.types.split(","):
        measured = {rate: measure(options, rate, kind) for rate in options.dropouts}
        print_table(kind, measured)
        for rate, (medians, _, failures) in measured.items():
            store(found, kind, rate, medians, failures)
        check_losses(measured[options.dropouts[0]][1])


if __name__ == "__main__":
    main()
