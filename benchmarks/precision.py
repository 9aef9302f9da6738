"""The cost of a step in each precision on simulated clusters: its time, the bytes sent, the memory of each group.

  benchmarks/precision.py [--model=examples/models/bert-large-uncased] [--task=span] [--seq=384] [--batch=4] [--build=build]
                          [--json=FILE]

There are two layouts: 4 stages x 8 shards with one sequence per micro-batch, and 4 replicas of one stage with 4 shards and
the same number of sequences each. Simulated times depend only on the compiled program, not on the load of the machine.
"""

import json
import pathlib
import subprocess
import tempfile

import figures
import simulated
from figures import number

ROOT = pathlib.Path(__file__).resolve().parent.parent
PRECISIONS = {"f32": "f32", "bf16": "bf16", "bf16, reduce bf16": {"compute": "bf16", "reduce": "bf16"}, "f16": "f16"}
COLUMNS = ("activations", "gradients", "optimizer", "parameters", "workspace")


def layouts(batch):
    return {"4 stages x 8 shards": ({"mode": "hybrid", "data": 1, "sharding_size": 8, "stage_cnt": 4,
                                     "accum_degree": batch}, batch),
            "4 replicas x 4 shards": ({"mode": "sharding", "data": 4, "sharding_size": 4, "sharding_dim": "megatron"},
                                      4 * batch)}


def measure(options, folder, spec, batch):
    """Milliseconds per step, MiB sent by the first device, and MiB of the first group by purpose."""
    (folder / "parallel.json").write_text(json.dumps(spec))
    build = ROOT / options.build / "bin"
    done = subprocess.run([build / "st-compile", ROOT / options.model, f"--task={options.task}", f"--batch={batch}",
                           f"--seq={options.seq}", f"--parallel={folder / 'parallel.json'}", "--target=dtu-t10", "-o",
                           folder / "step"], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    report = simulated.timed_step(folder / "step")
    first = report["devices"][0]
    return report["sim_ms"], first["sent_bytes"] / simulated.MEBIBYTE, simulated.memory(first)


def main():
    options = simulated.read_options(__doc__, model="examples/models/bert-large-uncased", task="span", seq=384, batch=4)
    found = figures.Figures(options.json, "layouts", figures.SIMULATED)
    for layout, (spec, batch) in layouts(options.batch).items():
        print(f"{layout:22} {'ms a step':>10} {'MiB sent':>9}" + "".join(f"{c:>12}" for c in COLUMNS))
        for name, precision in PRECISIONS.items():
            with tempfile.TemporaryDirectory() as folder:
                result = measure(options, pathlib.Path(folder), spec | {"precision": precision}, batch)
            case = f"{pathlib.Path(options.model).name}, {layout}, precision {name}"
            if isinstance(result, str):
                found.failed(case, result)
                print(f"  {name:20} {result}")
                continue
            step, sent, memory = result
            found.add(case, step, "ms a step", {"sent": [sent, "MiB"], "activations": [memory["activations"], "MiB"]})
            print(f"  {name:20} {number(step):>10} {number(sent):>9}" + "".join(f"{number(memory[c]):>12}" for c in COLUMNS),
                  flush=True)


if __name__ == "__main__":
    main()
