"""The gain of combined collectives on simulated clusters: collectives per step, the time of the step, and the fullest device.

  benchmarks/collectives.py [--model=examples/models/bert-base-cased] [--task=span] [--data=8] [--rows=8] [--seq=128]
                            [--zero=0,1,2,3] [--tensor=1] [--micro=1] [--buckets=0,1,5,25,100] [--build=build]
                            [--json=FILE]

Buckets are in MiB; 0 combines nothing. Rows are those of a replica in a micro-batch. Counts are
those of one device; each collective counts as often as a step runs its task.
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
COLLECTIVE = re.compile(r"st\.(all_reduce|all_gather|reduce_scatter|all_to_all|collective_permute) ")


def count(text, micro):
    """The collectives that a device runs in a step, of the group with the most."""
    found, times = {}, 1
    for line in text.splitlines():
        if line.strip().startswith("st.program"):
            found[line] = 0
        if task := re.search(r"st\.task @\S+ (\w+)", line):
            times = 1 if task[1] in ("prologue", "update") else micro
        if COLLECTIVE.search(line):
            found[list(found)[-1]] += times
    return max(found.values())


def measure(options, folder, zero, mebibytes):
    layout = {"mode": "sharding", "data": options.data, "sharding_size": options.tensor, "sharding_dim": "megatron",
              "accum_degree": options.micro, "zero": zero, "bucket_bytes": int(mebibytes * 2**20)}
    (folder / "layout.json").write_text(json.dumps(layout))
    build = ROOT / options.build / "bin"
    command = [build / "st-compile", "-q", ROOT / options.model, f"--task={options.task}",
               f"--batch={options.data * options.rows * options.micro}", f"--seq={options.seq}",
               f"--parallel={folder / 'layout.json'}", "--target=dtu-t10"]
    tasks = subprocess.run([*command, "--compile-to=tasks"], capture_output=True, text=True, check=True).stdout
    done = subprocess.run([*command, "-o", folder / "step"], capture_output=True, text=True)
    if done.returncode:
        return count(tasks, options.micro), None, done.stderr.strip().splitlines()[-1]
    report = simulated.timed_step(folder / "step")
    return count(tasks, options.micro), report["sim_ms"], simulated.peak(report)


def main():
    options = simulated.read_options(__doc__, model="examples/models/bert-base-cased", task="span", data=8, tensor=1, micro=1,
                                     rows=8, seq=128, zero="0,1,2,3", buckets="0,1,5,25,100")
    found = figures.Figures(options.json, "layouts", figures.SIMULATED)
    print(f"{'zero':>4} {'bucket MiB':>10} {'collectives':>11} {'ms a step':>10} {'of none':>8} {'peak MiB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for zero in map(int, options.zero.split(",")):
            base = None
            for mebibytes in map(float, options.buckets.split(",")):
                collectives, step, peak = measure(options, pathlib.Path(folder), zero, mebibytes)
                case = (f"{pathlib.Path(options.model).name}, {options.data} replicas of {options.rows} x {options.seq}, "
                        f"ZeRO {zero}, buckets of {mebibytes:g} MiB")
                if step is None:
                    found.failed(case, peak)
                    print(f"{zero:4} {mebibytes:10g} {collectives:11} {peak}", flush=True)
                    continue
                base = base or step
                found.add(case, step, "ms a step", {"peak": [peak, "MiB"], "collectives": [collectives, ""]})
                print(f"{zero:4} {mebibytes:10g} {collectives:11} {number(step):>10} {step / base:8.3f} "
                      f"{number(peak):>9}", flush=True)


if __name__ == "__main__":
    main()
