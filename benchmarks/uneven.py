"""The cost of sizes that shards do not divide, on a simulated cluster: a padded vocabulary, one that the shards divide, and a
table that is replicated on every shard.

  benchmarks/uneven.py [--model=examples/models/gpt2-medium] [--tensor=8] [--batch=4] [--seq=256] [--build=build]
                       [--json=FILE]

Simulated times depend only on the compiled program, not on the load of the machine.
"""

import json
import pathlib
import subprocess
import tempfile

import figures
import simulated
from figures import number

ROOT = pathlib.Path(__file__).resolve().parent.parent


def measure(options, folder, vocabulary, rules):
    """Milliseconds per step and MiB of a device."""
    config = json.loads((ROOT / options.model / "config.json").read_text()) | {"vocab_size": vocabulary}
    (folder / "config.json").write_text(json.dumps(config))
    layout = {"mode": "sharding", "data": 1, "sharding_size": options.tensor, "sharding_dim": "megatron", "parameters": rules}
    (folder / "layout.json").write_text(json.dumps(layout))
    subprocess.run([ROOT / options.build / "bin/st-compile", "-q", folder, "--task=clm", f"--batch={options.batch}",
                    f"--seq={options.seq}", f"--parallel={folder / 'layout.json'}", "--target=dtu-t10",
                    "-o", folder / "step"], check=True)
    report = simulated.timed_step(folder / "step")
    return report["sim_ms"], simulated.peak(report)


def main():
    options = simulated.read_options(__doc__, model="examples/models/gpt2-medium", tensor=8, batch=4, seq=256)
    found = figures.Figures(options.json, "layouts", figures.SIMULATED)
    size = json.loads((ROOT / options.model / "config.json").read_text())["vocab_size"]
    even = -(-size // options.tensor) * options.tensor
    print(f"{'vocabulary':>10}  {'table':20} {'ms a step':>10} {'MiB a device':>12}")
    with tempfile.TemporaryDirectory() as folder:
        for vocabulary, table, rules in ((size, "unsharded", {"transformer.wte.weight": []}), (size, "padded", {}),
                                         (even, "split evenly", {})):
            step, peak = measure(options, pathlib.Path(folder), vocabulary, rules)
            found.add(f"{pathlib.Path(options.model).name}, {options.tensor} shards, vocabulary {vocabulary} {table}", step,
                      "ms a step", {"peak": [peak, "MiB"]})
            print(f"{vocabulary:10}  {table:20} {number(step):>10} {number(peak):>12}", flush=True)


if __name__ == "__main__":
    main()
