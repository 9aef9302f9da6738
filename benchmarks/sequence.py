"""The cost of tensor parallelism in Megatron layout on a simulated cluster, without and with sequence parallelism. Gathered
activations are either kept or gathered again, with and without recomputation of the core of attention.

  benchmarks/sequence.py [--model=examples/models/gpt2-medium] [--task=clm] [--tensor=8] [--batch=4] [--seq=256] [--build=build]
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
ROWS = [(sequence, recompute) for recompute in ("none", "selective") for sequence in (False, True, "gather_again")]


def measure(options, folder, sequence, recompute):
    """Milliseconds per step, and MiB of activations and of all values on a device."""
    layout = {"mode": "sharding", "data": 1, "sharding_size": options.tensor, "sharding_dim": "megatron",
              "sequence_parallel": sequence, "recompute": recompute}
    (folder / "layout.json").write_text(json.dumps(layout))
    subprocess.run([ROOT / options.build / "bin/st-compile", "-q", ROOT / options.model, f"--task={options.task}",
                    f"--batch={options.batch}", f"--seq={options.seq}", f"--parallel={folder / 'layout.json'}",
                    "--target=dtu-t10", "-o", folder / "step"], check=True)
    report = simulated.timed_step(folder / "step")
    activations = max(simulated.memory(rank)["activations"] for rank in report["devices"])
    return report["sim_ms"], activations, simulated.peak(report)


def main():
    options = simulated.read_options(__doc__, model="examples/models/gpt2-medium", task="clm", tensor=8, batch=4, seq=256)
    found = figures.Figures(options.json, "layouts", figures.SIMULATED)
    print(f"{'sequence_parallel':18} {'recompute':10} {'ms a step':>10} {'MiB activations':>16} {'MiB a device':>13}")
    with tempfile.TemporaryDirectory() as folder:
        for sequence, recompute in ROWS:
            step, activations, peak = measure(options, pathlib.Path(folder), sequence, recompute)
            case = (f"{pathlib.Path(options.model).name}, {options.batch} x {options.seq}, {options.tensor} shards, "
                    f"sequence_parallel {str(sequence).lower()}, recompute {recompute}")
            found.add(case, step, "ms a step", {"peak": [peak, "MiB"]})
            print(f"{str(sequence).lower():18} {recompute:10} {number(step):>10} {number(activations):>16} "
                  f"{number(peak):>13}", flush=True)


if __name__ == "__main__":
    main()
