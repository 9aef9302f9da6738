"""Costs and savings of activations on the host: the step on simulated clusters, their memory and the host's.

  benchmarks/offload.py [--model=examples/models/gpt2] [--task=clm] [--stages=4] [--micro=16] [--seq=512] [--build=build]
                        [--json=FILE]

One cluster per stage (1F1B). First all clusters are on one chip and share its link to the host; then each is on a separate
chip. Memory is that of the first group, which holds the most micro-batches. Simulated times depend only on the compiled program.
"""

import json
import pathlib
import subprocess
import tempfile

import figures
import simulated
from figures import number

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Half: a budget of half the first group's activations without offload.
ROWS = [("none", False), ("none", "half"), ("none", True), ("selective", False), ("selective", True), ("full", False),
        ("full", True)]


def measure(options, folder, layout):
    """The step and the bound of its busiest resource in ms, and MiB of the first group by class."""
    (folder / "layout.json").write_text(json.dumps(layout))
    subprocess.run([ROOT / options.build / "bin/st-compile", ROOT / options.model, f"--task={options.task}",
                    f"--batch={options.micro}", f"--seq={options.seq}", f"--parallel={folder / 'layout.json'}",
                    "--target=dtu-t10", "-o", folder / "step"], capture_output=True, text=True, check=True)
    report = simulated.timed_step(folder / "step")
    return report["sim_ms"], report["roofline_ms"], simulated.memory(report["devices"][0])


def main():
    options = simulated.read_options(__doc__, model="examples/models/gpt2", task="clm", stages=4, micro=16, seq=512)
    found = figures.Figures(options.json, "layouts", figures.SIMULATED)
    layout = {"mode": "hybrid", "data": 1, "stage_cnt": options.stages, "accum_degree": options.micro}
    apart = {"device_mapping": {f"stage_{i}": {"shard_0": f"/device:XLA_DTU:{5 * i}"} for i in range(options.stages)}}
    print(f"{'chips':6} {'recompute':10} {'offload':8} {'ms a step':>10} {'of none':>8} {'bound':>8} {'activations':>12} "
          f"{'workspace':>10} {'all MiB':>9} {'on the host':>12}")
    for chips, placing, rows in (("one", {}, ROWS), ("four", apart, [("none", False), ("none", True)])):
        base = kept = None
        for recompute, offload in rows:
            wanted = {"bytes": int(kept * 2**20 / 2)} if offload == "half" else offload
            with tempfile.TemporaryDirectory() as folder:
                step, bound, sizes = measure(options, pathlib.Path(folder),
                                             layout | placing | {"recompute": recompute, "offload": wanted})
            base, kept = base or step, kept or sizes["activations"]
            case = (f"{pathlib.Path(options.model).name}, {options.micro} x {options.seq}, clusters on {chips} "
                    f"chip{'s' if placing else ''}, recompute {recompute}, offload {str(offload).lower()}")
            found.add(case, step, "ms a step", {"on the device": [sizes["total"], "MiB"], "on the host": [sizes["host"], "MiB"]},
                      {"name": "no offload, nothing recomputed", "value": base} if step != base else None)
            print(f"{chips:6} {recompute:10} {str(offload).lower():8} {number(step):>10} {step / base:8.3f} {number(bound):>8} "
                  f"{number(sizes['activations']):>12} {number(sizes['workspace']):>10} {number(sizes['total']):>9} "
                  f"{number(sizes['host']):>12}", flush=True)


if __name__ == "__main__":
    main()
