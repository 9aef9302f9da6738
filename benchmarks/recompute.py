"""Costs and savings of recomputation on simulated clusters: the step and the memory of the first group.

  benchmarks/recompute.py [--model=examples/models/gpt2] [--task=clm] [--stages=4] [--micro=16] [--seq=512] [--shards=1]
                          [--dropout=P] [--build=build] [--json=FILE]

Measures the named policies, and budgets of three quarters, half, a quarter and an eighth of the first group's stash.
Simulated times depend only on the compiled program, not on the load of the machine.
"""

import json
import pathlib
import re
import subprocess
import tempfile

import figures
import simulated
from figures import number

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARES = (0.75, 0.5, 0.25, 0.125)


def stash_bytes(command):
    """The bytes that the first group stashes per micro-batch without recomputation."""
    text = subprocess.run([*command, "--compile-to=tasks"], capture_output=True, text=True, check=True).stdout
    program = text.split("st.program")[1].split("st.task @backward")[0]
    kinds = {"f32": 4, "i32": 4, "ui32": 4, "i1": 1, "bf16": 2, "f16": 2}
    total = 0
    for shape, kind in re.findall(r'"stash" slots \d+ : tensor<([\dx]*)x(\w+)>', program):
        size = kinds[kind]
        for dim in shape.split("x"):
            size *= int(dim)
        total += size
    return total


def measure(options, folder, policy):
    """The step in ms, and MiB of the first group by class; or the error of st-compile."""
    layout = {"mode": "hybrid", "data": 1, "stage_cnt": options.stages, "accum_degree": options.micro,
              "sharding_size": options.shards, "sharding_dim": "megatron"}
    if isinstance(policy, float):
        (folder / "layout.json").write_text(json.dumps(layout))
        policy = {"bytes": int(policy * stash_bytes(command(options, folder)))}
    (folder / "layout.json").write_text(json.dumps(layout | {"recompute": policy}))
    done = subprocess.run([*command(options, folder), "-o", folder / "step"], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    report = simulated.timed_step(folder / "step")
    return report["sim_ms"], simulated.memory(report["devices"][0])


def command(options, folder):
    model = ROOT / options.model
    if options.dropout is not None:
        config = json.loads((model / "config.json").read_text())
        config |= {key: options.dropout for key in config if key.endswith(("_pdrop", "_dropout_prob", "_dropout"))}
        (folder / "model").mkdir(exist_ok=True)
        (folder / "model/config.json").write_text(json.dumps(config))
        model = folder / "model"
    return [ROOT / options.build / "bin/st-compile", model, f"--task={options.task}", f"--batch={options.micro}",
            f"--seq={options.seq}", f"--parallel={folder / 'layout.json'}", "--target=dtu-t10"]


def main():
    options = simulated.read_options(__doc__, model="examples/models/gpt2", task="clm", stages=4, micro=16,
                                     seq=512, shards=1, dropout=float)
    stored = figures.Figures(options.json, "layouts", figures.SIMULATED)
    print(f"{'policy':12} {'ms a step':>10} {'of none':>8} {'activations':>12} {'workspace':>10} {'all MiB':>9}")
    base = None
    for policy in ("none", "selective", "full", *SHARES):
        with tempfile.TemporaryDirectory() as folder:
            found = measure(options, pathlib.Path(folder), policy)
        name = f"{policy:.1%} bytes" if isinstance(policy, float) else policy
        dropout = "" if options.dropout is None else f", dropout {options.dropout:g}"
        case = f"{pathlib.Path(options.model).name}, {options.micro} x {options.seq}{dropout}, recompute {name}"
        if isinstance(found, str):
            stored.failed(case, found)
            print(f"{name:12} {found}", flush=True)
            continue
        step, sizes = found
        baseline = {"name": "none", "value": base} if base else None
        base = base or step
        stored.add(case, step, "ms a step", {"activations": [sizes["activations"], "MiB"]}, baseline)
        print(f"{name:12} {number(step):>10} {step / base:8.3f} {number(sizes['activations']):>12} "
              f"{number(sizes['workspace']):>10} {number(sizes['total']):>9}", flush=True)


if __name__ == "__main__":
    main()
