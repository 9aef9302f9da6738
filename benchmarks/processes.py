"""The cost of processes: a simulated step in several processes of one host, and in one process with as many threads.

  benchmarks/processes.py [--model=examples/models/bert-large-uncased] [--task=span] [--batch=1] [--seq=384] [--shards=8]
                          [--processes=2,4,16] [--steps=3] [--rounds=3] [--threads=0] [--divide] [--build=build]
                          [--json=FILE]

The model runs on 4 stages x SHARDS shards, one stage after the other. For each number of processes a round runs one process
with T threads, then N processes with T threads each, as they have without flags; T is --threads or else the number of cores.
With --divide the N processes share T threads (at least one each; if N is larger than T, the one process has N): a process
whose stages wait then leaves its threads unused. The value is the median over rounds of the ratio of their times per step
(medians of a run without its first step). The losses of all runs must be identical.
"""

import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile

import figures

ROOT = pathlib.Path(__file__).resolve().parent.parent


def layout(shards):
    devices = {f"stage_{i}": {f"shard_{j}": f"/device:XLA_DTU:{(i * shards + j) // 4 * 5 + (i * shards + j) % 4}"
                              for j in range(shards)} for i in range(4)}
    return {"mode": "sharding", "sharding_size": shards, "sharding_dim": "megatron", "stage_cnt": 4, "device_mapping": devices}


def compile_st(options, folder):
    (folder / "layout.json").write_text(json.dumps(layout(options.shards)))
    figures.run([options.build / "bin/st-compile", options.model, f"--task={options.task}", f"--batch={options.batch}",
                 f"--seq={options.seq}", f"--parallel={folder / 'layout.json'}", "--target=dtu-t10", "--optimizer=adamw",
                 "--predict=false", "-o", folder / "train"])
    return folder / "train"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(binary, processes, threads, steps):
    """Seconds per step, and the losses, of a run in several processes."""
    metrics = binary.parent / "metrics"
    metrics.unlink(missing_ok=True)
    command = [binary, f"--steps={steps + 1}", f"--metrics={metrics}", f"--host-threads={threads}", "--time-tasks=once", "--watchdog=600"]
    shared = os.environ | {"WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    started = [subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                env=os.environ if processes == 1 else shared | {"RANK": str(rank)}) for rank in range(processes)]
    errors = [one.communicate()[1] for one in started]
    for one, text in zip(started, errors):
        if one.returncode:
            raise figures.PeerFailure(f"exit {one.returncode}: {text.splitlines()[-1] if text else ''}")
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    return statistics.median(line["host_s"] for line in lines[1:]), [line["loss"] for line in lines]


def compare(options, binary, processes, expected):
    """Medians over the rounds of the ratio and of the two times."""
    threads = options.threads or len(os.sched_getaffinity(0))
    if options.divide:
        threads = max(processes, threads)
    found = []
    for number in range(options.rounds):
        alone, losses = run(binary, 1, threads, options.steps)
        together, others = run(binary, processes, threads // processes if options.divide else threads, options.steps)
        expected.setdefault("losses", losses)
        if losses != expected["losses"] or others != expected["losses"]:
            raise figures.PeerFailure(f"losses differ: {losses}, {others}")
        found.append((together / alone, together, alone))
        print(f"  {processes} processes, round {number}: {together:.3f} s, one: {alone:.3f} s, ratio {together / alone:.3f}",
              file=sys.stderr, flush=True)
    return [statistics.median(values) for values in zip(*found)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / "examples/models/bert-large-uncased")
    parser.add_argument("--task", default="span")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seq", type=int, default=384)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--processes", default="2,4,16")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0, help="default: the number of cores")
    parser.add_argument("--divide", action="store_true", help="the processes share the threads")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    figures.add_option(parser)
    options = parser.parse_args()
    results = figures.Figures(options.json, "processes", figures.host())
    name = f"{options.model.name} on 4 stages x {options.shards} shards"
    with tempfile.TemporaryDirectory() as folder:
        binary, expected = compile_st(options, pathlib.Path(folder)), {}
        for processes in map(int, options.processes.split(",")):
            ratio, together, alone = compare(options, binary, processes, expected)
            results.add(f"{name} in {processes} processes", together, "s a step",
                        baseline={"name": "one process", "value": alone},
                        also={"ratio of a round": [ratio, "times as long"]})
            print(f"{name} in {processes} processes: {together:.3f} s a step, {100 * (ratio - 1):+.1f} % over one process",
                  flush=True)


if __name__ == "__main__":
    main()
