"""What sizes that shards do not divide cost on a simulated cluster: a vocabulary that they do not divide, padded, beside
one that they divide, and beside the table whole on every shard.

  benchmarks/uneven.py [--model=examples/models/gpt2-medium] [--tensor=8] [--batch=4] [--seq=256] [--build=build]

Simulated times depend on the compiled program alone: nothing else on the machine changes them.
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def measure(options, folder, vocabulary, rules):
    """Milliseconds of a step and MiB of a device."""
    config = json.loads((ROOT / options.model / "config.json").read_text()) | {"vocab_size": vocabulary}
    (folder / "config.json").write_text(json.dumps(config))
    layout = {"mode": "sharding", "data": 1, "sharding_size": options.tensor, "sharding_dim": "megatron", "parameters": rules}
    (folder / "layout.json").write_text(json.dumps(layout))
    subprocess.run([ROOT / options.build / "bin/st-compile", "-q", folder, "--task=clm", f"--batch={options.batch}",
                    f"--seq={options.seq}", f"--parallel={folder / 'layout.json'}", "--target=dtu-t10",
                    "-o", folder / "step"], check=True)
    text = subprocess.run([folder / "step", "--timing-only"], capture_output=True, text=True, check=True).stdout
    peak = max(float(line.split()[-1]) for line in text.splitlines() if re.match(r"\d+ +\d+ ", line))
    return float(re.search(r"simulated step ([\d.]+) ms", text).group(1)), peak


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="examples/models/gpt2-medium")
    parser.add_argument("--tensor", type=int, default=8)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--build", default="build")
    options = parser.parse_args()
    size = json.loads((ROOT / options.model / "config.json").read_text())["vocab_size"]
    even = -(-size // options.tensor) * options.tensor
    print(f"{'vocabulary':>10}  {'table':20} {'ms a step':>10} {'MiB a device':>12}")
    with tempfile.TemporaryDirectory() as folder:
        for vocabulary, table, rules in ((size, "whole", {"transformer.wte.weight": []}), (size, "padded", {}),
                                         (even, "split evenly", {})):
            step, peak = measure(options, pathlib.Path(folder), vocabulary, rules)
            print(f"{vocabulary:10}  {table:20} {step:10.2f} {peak:12.0f}", flush=True)


if __name__ == "__main__":
    main()
