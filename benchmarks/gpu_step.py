"""Training steps of BERT-large on a GPU: St, PyTorch (eager and compiled) and JAX, all in bf16 with f32 weights.

  benchmarks/gpu_step.py --target=cuda-sm_90 [--steps=10] [--rounds=2] [--sizes=8x512,32x512,64x512,1x384] [--losses=20]
                         [--peers=st,torch,compiled,jax] [--torch-python=PYTHON] [--jax-python=PYTHON] [--model=CONFIG]
                         [--build=build] [--json=FILE]

A size is a micro-batch and a sequence; those of 384 are the `span` task, others BERT's pre-training. Each round runs
all in turn on the same GPU; AdamW, dropout 0.1. Prints a Markdown table for each size: samples a second (of the median step),
TFLOP/s (6 for each weight of a product and token, and 12 for each layer, element of the hidden size, key and token), the
peak memory, and the speed as a multiple of the fastest peer's. A peer that is missing, is killed or fails has a row
that says so, and the others run on. Then prints how far St's losses over --losses steps of 1x384 on the GPU are from
those of the DTU simulator in f32.
PyTorch has fused attention and AdamW; JAX needs its CUDA plugin (pip install "jax[cuda13]").
"""

import argparse
import json
import pathlib
import re
import statistics
import sys
import tempfile

import figures

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIG = ROOT / "examples/models/bert-large-uncased/config.json"
DROPOUT = 0.1
PRECISION = {"mode": "sharding", "data": 1, "precision": {"compute": "bf16"}}


def task_of(sequence):
    return "span" if sequence == 384 else "mlm"


def flops(config, batch, sequence):
    hidden, layers = config["hidden_size"], config["num_hidden_layers"]
    weights = layers * (4 * hidden**2 + 2 * hidden * config["intermediate_size"])
    if task_of(sequence) == "mlm":
        weights += hidden**2 + hidden * config["vocab_size"]
    return batch * sequence * (6 * weights + 12 * layers * hidden * sequence)


def compile_st(options, folder, batch, sequence, target, parallel):
    layout = folder / f"{target}.json"
    layout.write_text(json.dumps(parallel))
    model = folder / "model"
    model.mkdir(exist_ok=True)
    config = json.loads(options.model.read_text())
    config["hidden_dropout_prob"] = config["attention_probs_dropout_prob"] = DROPOUT
    (model / "config.json").write_text(json.dumps(config))
    binary = folder / f"step-{target}-{batch}x{sequence}"
    figures.run([options.build / "bin/st-compile", "-q", model, f"--task={task_of(sequence)}", f"--batch={batch}", f"--seq={sequence}",
                 f"--parallel={layout}", f"--target={target}", "--optimizer=adamw", "--lr=1e-5", "--predict=false", "-o",
                 binary])
    return binary


def run_st(binary, steps):
    metrics = pathlib.Path(f"{binary}.metrics")
    out = figures.run([binary, f"--steps={steps}", f"--metrics={metrics}"])
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    peak = max(float(line.split()[-1]) for line in out.splitlines() if re.match(r"[\d,-]+ +\d+ +[\d.]+ ", line))
    return {"peer": "St", "version": "", "seconds": [row["host_s"] for row in rows], "bytes": peak * 2**20,
            "losses": [row["loss"] for row in rows]}


def peer(options, python, script, batch, sequence, *flags):
    return figures.run_peer([python, ROOT / "benchmarks/peers" / script, options.model, f"--batch={batch}", f"--seq={sequence}",
                             f"--steps={options.steps}", f"--dropout={DROPOUT}", "--type=bf16", f"--task={task_of(sequence)}",
                             *flags])


def runs(options, folder, batch, sequence):
    """The runs of a round by name, in order."""
    device = f"--device={options.device}"
    each = {}
    if "st" in options.peers:
        binary = compile_st(options, folder, batch, sequence, options.target, PRECISION)
        each["St"] = lambda: run_st(binary, options.steps + 1)
    if "torch" in options.peers:
        each["PyTorch"] = lambda: peer(options, options.torch_python, "peer_torch.py", batch, sequence, device)
    if "compiled" in options.peers:
        each["PyTorch compiled"] = lambda: peer(options, options.torch_python, "peer_torch.py", batch, sequence, device,
                                                "--compile")
    if "jax" in options.peers:
        each["JAX"] = lambda: jax_on_device(options, batch, sequence)
    return each


def jax_on_device(options, batch, sequence):
    made = peer(options, options.jax_python, "peer_jax.py", batch, sequence)
    if options.device == "cuda" and made["device"] == "cpu":
        raise figures.PeerFailure("missing: JAX finds no GPU")
    return made


def measure(options, folder, batch, sequence):
    """Returns (seconds, bytes) by name, and the reasons of failed runs by name."""
    each = runs(options, folder, batch, sequence)
    seconds, most, failures = {}, {}, {}
    for number in range(options.rounds):
        for key, one in list(each.items()):
            try:
                made = one()
            except figures.PeerFailure as failure:
                failures[key] = str(failure)
                print(f"  round {number}, {batch} x {sequence}: {key}: {failure}", file=sys.stderr, flush=True)
                del each[key]
                continue
            name = f"{made['peer']} {made['version']}".strip()
            seconds.setdefault((key, name), []).extend(made["seconds"][1:])  # The first step also sets up and compiles.
            most[name] = max(most.get(name, 0), made["bytes"])
            print(f"  round {number}, {batch} x {sequence}: {name}: {statistics.median(made['seconds'][1:]):.4f} s",
                  file=sys.stderr, flush=True)
    return {name: (statistics.median(times), most[name])
            for (key, name), times in seconds.items() if key not in failures}, failures


def print_table(options, batch, sequence, medians, failures):
    config = json.loads(options.model.read_text())
    peers = [time for name, (time, _) in medians.items() if name != "St"]
    print(f"\n| {batch} x {sequence}, {task_of(sequence)} | samples a second | TFLOP/s | GiB | of the fastest peer's speed |\n"
          "| --- | ---: | ---: | ---: | ---: |")
    for name, (time, most) in medians.items():
        against = f"{min(peers) / time:.2f}" if peers else "-"
        print(f"| {name} | {batch / time:.1f} | {flops(config, batch, sequence) / time / 1e12:.1f} | {most / 2**30:.1f} | "
              f"{against} |", flush=True)
    for name, reason in failures.items():
        print(f"| {name} | {reason} | | | |", flush=True)


def store(found, batch, sequence, medians, failures):
    peers = {name: time for name, (time, _) in medians.items() if name != "St"}
    fastest = min(peers, key=peers.get) if peers else None
    for name, (time, most) in medians.items():
        baseline = {"name": fastest, "value": peers[fastest] * 1e3} if peers and name != fastest else None
        found.add(f"BERT-large, bf16, {batch} x {sequence}: {name}", time * 1e3, "ms a step",
                  {"peak": [most / 2**30, "GiB"]}, baseline)
    for name, reason in failures.items():
        found.failed(f"BERT-large, bf16, {batch} x {sequence}: {name}", reason)


def compare_losses(options, folder):
    """Compares bf16 on the GPU with f32 on the simulator, from the same weights, data and masks."""
    gpu = run_st(compile_st(options, folder, 1, 384, options.target, PRECISION), options.losses)["losses"]
    dtu = run_st(compile_st(options, folder, 1, 384, "dtu-t10", {"mode": "sharding", "data": 1}), options.losses)["losses"]
    apart = max(abs(a - b) / abs(b) for a, b in zip(gpu, dtu, strict=True))
    print(f"\nLosses of {len(gpu)} steps of 1 x 384 are within {apart:.1e} of the DTU simulator's in f32.")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", required=True)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--sizes", default="8x512,32x512,64x512,1x384")
    parser.add_argument("--losses", type=int, default=20)
    parser.add_argument("--peers", default="st,torch,compiled,jax")
    parser.add_argument("--torch-python", default=sys.executable)
    parser.add_argument("--jax-python", default=ROOT / ".venv/bin/python")
    parser.add_argument("--model", type=pathlib.Path, default=CONFIG)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    figures.add_option(parser)
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.peers = options.peers.split(",")
    options.device = "cpu" if options.target == "cuda-host" else "cuda"  # To try this script without a GPU.
    return options


def main():
    options = parse()
    found = figures.Figures(options.json, "gpus", figures.gpu() if options.json and options.device == "cuda" else figures.host())
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes.split(","):
            batch, sequence = map(int, size.split("x"))
            medians, failures = measure(options, pathlib.Path(folder), batch, sequence)
            print_table(options, batch, sequence, medians, failures)
            store(found, batch, sequence, medians, failures)
        if options.losses and "st" in options.peers:
            compare_losses(options, pathlib.Path(folder))


if __name__ == "__main__":
    try:
        main()
    except figures.PeerFailure as failure:
        sys.exit(f"gpu_step.py: {failure}")
