"""The cost of each pipeline schedule on simulated clusters: the step, and the memory of the fullest device.

  benchmarks/schedules.py [--model=examples/models/gpt2] [--task=clm] [--stages=4] [--micro=16] [--seq=512] [--build=build]
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
SCHEDULES = [("gpipe", 1), ("1f1b", 1), ("interleaved", 2), ("zb-h1", 1), ("zb-h2", 1), ("zb-v", 2)]


def measure(options, folder, kind, virtual):
    """Milliseconds per step and MiB of the fullest device, or the error of st-compile."""
    layout = {"mode": "pipeline", "data": 1, "stage_cnt": options.stages, "accum_degree": options.micro,
              "schedule": kind, "virtual_stages": virtual}
    (folder / "layout.json").write_text(json.dumps(layout))
    build = ROOT / options.build / "bin"
    done = subprocess.run([build / "st-compile", "-q", ROOT / options.model, f"--task={options.task}",
                           f"--batch={options.micro}", f"--seq={options.seq}", f"--parallel={folder / 'layout.json'}",
                           "--target=dtu-t10", "-o", folder / "step"], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    report = simulated.timed_step(folder / "step")
    return report["sim_ms"], simulated.peak(report)


def main():
    options = simulated.read_options(__doc__, model="examples/models/gpt2", task="clm", stages=4, micro=16, seq=512)
    stored = figures.Figures(options.json, "layouts", figures.SIMULATED)
    print(f"{'schedule':12} {'stages a group':>14} {'ms a step':>10} {'of 1f1b':>8} {'peak MiB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        found = {(k, v): measure(options, pathlib.Path(folder), k, v) for k, v in SCHEDULES}
    base = found["1f1b", 1]
    for (kind, virtual), result in found.items():
        case = f"{pathlib.Path(options.model).name}, {options.micro} x {options.seq}, {options.stages} stages, schedule `{kind}`"
        if isinstance(result, str):
            stored.failed(case, result)
            print(f"{kind:12} {virtual:14} {result}")
            continue
        baseline = {"name": "`1f1b`", "value": base[0]} if isinstance(base, tuple) and kind != "1f1b" else None
        stored.add(case, result[0], "ms a step", {"peak": [result[1], "MiB"]}, baseline)
        share = f"{result[0] / base[0]:8.3f}" if isinstance(base, tuple) else ""
        print(f"{kind:12} {virtual:14} {number(result[0]):>10} {share:>8} {number(result[1]):>9}")


if __name__ == "__main__":
    main()
