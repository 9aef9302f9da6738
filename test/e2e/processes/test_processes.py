"""Processes started together run one program together; the loss of one ends the others.

The processes first run test/unit/Runtime/CommunicatorCheck.cpp, then training programs for simulated DTUs, and for GPUs with
kernels on the host. Losses, simulated times, checkpoints and results are those of one process, to the bit, for any number of
processes. Each process reports which other one ended, and what it waited for, before the launcher ends them all. The watchdog
detects one that hangs. All of this holds for processes that mpirun joins by MPI, and for those that find each other by TCP.
"""

import json
import os
import pathlib
import random
import re
import signal
import sys
import time

from safetensors.numpy import save_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
import test_conformance as conformance
from process_launchers import by_mpi, by_tcp, finish

CHECK = st.BIN / "st-communicator-check"
KILLED = 20 if os.environ.get("ST_ALL") else 4  # times
WATCHDOG = 5


def exchange(start, processes):
    def case(folder):
        code, out, err = finish(start(processes, CHECK, "exchange", 60))
        st.expect(code == 0, f"exit {code}: {err}")
        found = sorted(re.findall(r"process (\d+) of (\d+) is \d+ and holds rank 7: (\d)", out))
        st.expect(found == [(str(i), str(processes), str(int(i == processes - 1))) for i in range(processes)], out)
        return "all sizes, from three threads"
    return case


def clocks(start):
    """Processes of this machine share a clock; each adds a multiple of 1000 seconds to it."""
    def case(folder):
        code, _, err = finish(start(4, CHECK, "clocks", 60))
        st.expect(code == 0, f"exit {code}: {err}")
    return case


def large(folder):
    code, _, err = finish(by_tcp(2, CHECK, "large", 60))
    st.expect(code == 0, f"exit {code}: {err}")


def silence(start):
    """A missing message is an error that names who waited for whom, and for what."""
    def case(folder):
        code, _, err = finish(start(2, CHECK, "mute", 1))
        expected = ("process 0 of 2, all_reduce @loss of ranks 0 to 7, receiving from process 1: no message arrived for 1 s, "
                    "so it is considered lost")
        st.expect(code == 1 and expected in err, f"exit {code}: {err}")
    return case


def other_size(start):
    def case(folder):
        code, _, err = finish(start(2, CHECK, "size", 5))
        st.expect(code == 1 and "receiving from process 1: received 3 bytes, expected 4" in err, f"exit {code}: {err}")
    return case


def early(folder):
    """A process that is done is not considered lost by the others."""
    code, _, err = finish(by_tcp(3, CHECK, "early", 0.5))
    st.expect(code == 0, f"exit {code}: {err}")


# Eight ranks, with every kind of collective and messages between stages.
LAYOUT = {"mode": "hybrid", "data": 2, "zero": 1, "sharding_size": 2, "stage_cnt": 2, "accum_degree": 2}
GPT2 = dict(st.SMALL_GPT2, n_layer=2)


def compile_gpt2(folder, layout, target="cuda-host"):
    return st.compile_model(folder, "gpt2", GPT2, "clm", layout, f"--target={target}", "--optimizer=adamw", "--lr=1e-3")


def trains(layout, target, *counts):
    """The losses, the simulated step and the checkpoint are those of one process. `counts`: launchers and their numbers of
    processes."""
    def case(folder):
        binary, is_simulated = compile_gpt2(folder, layout, target), target.startswith("dtu")

        def run_in(start, processes):
            name = f"{start.__name__}-{processes}"
            saved, metrics = folder / f"saved-{name}", folder / f"metrics-{name}"
            report = folder / f"report-{name}"
            flags = ["--steps=3", f"--save={saved}", f"--metrics={metrics}"]
            if is_simulated:
                flags.append(f"--report={report}")
            code, out, err = finish(start(processes, binary, *flags))
            st.expect(code == 0, f"{processes} processes: exit {code}: {err}")
            st.expect((f"in {processes} processes" in err) == (processes > 1), err)
            st.expect(len(re.findall("^step 3 ", out, re.M)) == 1, f"{processes} processes print\n{out}")
            # Metrics are whole lines of JSON that differ only in the host's time.
            steps = [json.loads(line) for line in metrics.read_text().splitlines()]
            printed = re.findall("^simulated step .*", out, re.M)
            simulated = [step.get("sim_ms") for step in steps], printed, json.loads(report.read_text()) if is_simulated else None
            st.expect((simulated[0][0] is not None and len(printed) == 1) == is_simulated, out)
            return st.losses(steps), simulated, {path.name: path.read_bytes() for path in saved.iterdir()}

        alone = run_in(by_mpi, 1)
        st.expect(len(set(alone[0])) == 3, f"the loss does not move: {alone[0]}")
        for start, processes in counts:
            st.expect(run_in(start, processes) == alone, f"{processes} processes {start.__name__} differ from one")
        return ", ".join(f"{processes} {start.__name__}" for start, processes in counts)
    return case


def runs_once(target):
    return lambda folder: collectives_run_once(folder, target)


def collectives_run_once(folder, target):
    """--inputs and --outputs: StableHLO's collectives between four devices, in four processes and in fewer."""
    keys = [key for key in conformance.COLLECTIVES if conformance.allows(key, "f32")]
    program, given, binary = (folder / f"collectives.{kind}" for kind in ("mlir", "in", "bin"))
    function = conformance.write(keys, "f32")[0]
    program.write_text(function.text())
    save_file({f"arg{i}": a for i, a in enumerate(function.arguments.values())}, given)
    parallel = st.write_json(folder / "parallel.json", {"mode": "sharding", "data": 1, "sharding_size": 4})
    st.check_run([*st.COMPILE, program, f"--target={target}", f"--parallel={parallel}", "-o", binary])

    def results(start, processes):
        found = folder / f"found-{start.__name__}-{processes}"
        code, _, err = finish(start(processes, binary, f"--inputs={given}", f"--outputs={found}"))
        st.expect(code == 0, f"{processes} processes: exit {code}: {err}")
        st.expect(err.count("as predicted: the time of the step, and what it did") == (target == "dtu-t10"), err)
        return found.read_bytes()

    alone = results(by_mpi, 1)
    for start, processes in ((by_mpi, 2), (by_mpi, 3), (by_mpi, 4), (by_tcp, 3)):
        st.expect(results(start, processes) == alone, f"{processes} processes {start.__name__} differ from one")
    return f"{len(keys)} cases"


def wait_for_all(run, count):
    """The numbers of the processes, from the first line of each."""
    pids = {}
    while len(pids) < count:
        line = run.stdout.readline()
        st.expect(line, f"ended early: {run.stderr.read() if not line else ''}")
        found = re.match(r"process (\d) of \d is (\d+)", line)
        if found:
            pids[int(found[1])] = int(found[2])
    return pids


def killed(name, prepare, times):
    """One of four processes dies at a random time: all others end with a line that says what they waited for."""
    def case(folder):
        seed = st.run_seed()
        draw = random.Random(seed)
        command, is_under_way, most = prepare(folder)
        for turn, start in enumerate([by_mpi] * times + [by_tcp] * times):
            # mpirun may lose the last output of a process, so each has a file.
            errors = [folder / f"{turn}-{process}" for process in range(4)]
            said_first = 'rank=${OMPI_COMM_WORLD_RANK:-$RANK}; echo process $rank of 4 is $$'
            run = start(4, "sh", "-c", f"{said_first}; exec {command} 2>{folder}/{turn}-$rank")
            pids = wait_for_all(run, 4)
            while not is_under_way(run.stdout.readline()):
                pass
            time.sleep(draw.uniform(0, most))
            victim = draw.randrange(4)
            os.kill(pids[victim], signal.SIGKILL)
            begin = time.time()
            code, _, err = finish(run)
            took = time.time() - begin
            st.expect(code != 0 and took < WATCHDOG + 10, f"exit {code} after {took:.1f} s")
            while any(os.path.exists(f"/proc/{pid}") for pid in pids.values()):
                st.expect(time.time() - begin < WATCHDOG + 15, "processes are still there")
                time.sleep(0.1)
            for process in set(range(4)) - {victim}:
                # On a busy machine the launcher may end it first.
                said = errors[process].read_text()
                st.expect(re.search(rf"^{name}: error: .*process {process} of 4(: process \d has ended early| ran$)", said, re.M),
                          f"ST_SEED={seed}, turn {turn}, {start.__name__}: process {process} said {said!r} when {victim} died: {err}")
        return f"{times} times each way, ST_SEED={seed}"
    return case


def talk(folder):
    joined = []

    def all_have_joined(line):
        st.expect(line, "ended early")
        joined.append("holds rank" in line)
        return sum(joined) % 4 == 0 and joined[-1]
    return f"{CHECK} endless {WATCHDOG}", all_have_joined, 0.5


def train_on(target):
    """Until the first step is done, processes load and initialise; after that, tasks exchange all the time."""
    def has_begun(line):
        st.expect(line, "ended early")
        return line.startswith("step 1 ")

    def prepare(folder):
        binary = compile_gpt2(folder, {"mode": "hybrid", "data": 2, "zero": 1, "stage_cnt": 2, "accum_degree": 2}, target)
        return f"{binary} --steps=1000000 --watchdog={WATCHDOG}", has_begun, 1
    return prepare


def told_to_stop(folder):
    """One of four processes gets SIGTERM: all end after the same step with exit code 0, and the same command
    resumes."""
    binary = compile_gpt2(folder, {"mode": "hybrid", "data": 2, "zero": 1, "stage_cnt": 2, "accum_degree": 2})
    steps = 60
    alone = st.check_run([binary, f"--steps={steps}"]).stdout
    expected = [line.split("  host")[0] for line in alone.splitlines() if line.startswith("step ")]
    for turn, start in enumerate((by_mpi, by_tcp)):
        command = f"{binary} --train-steps={steps} --save={folder / start.__name__} --save-interval=7 --watchdog={WATCHDOG}"
        said_first = 'rank=${OMPI_COMM_WORLD_RANK:-$RANK}; echo process $rank of 4 is $$'
        run = start(4, "sh", "-c", f"{said_first}; exec {command}")
        pids = wait_for_all(run, 4)
        lines = []
        while not lines or not lines[-1].startswith("step 9 "):
            lines.append(run.stdout.readline())
        os.kill(pids[3 - turn], signal.SIGTERM)
        code, out, err = finish(run)
        st.expect(code == 0 and "SIGTERM: the run ends after step" in err, f"{start.__name__}: exit {code}: {err}")
        code, more, err = finish(start(4, "sh", "-c", f"exec {command}"))
        st.expect(code == 0 and "continuing after step" in err, f"{start.__name__}: exit {code}: {err}")
        found = [line.split("  host")[0] for line in "".join(lines + [out, more]).splitlines() if line.startswith("step ")]
        st.expect(found == expected, f"{start.__name__}: {found}\n{expected}")


def not_for_several(folder):
    """Each rank runs in a single process."""
    dtu = st.compile_model(folder, "model", st.SMALL_GPT2, "clm", None, batch=1)
    cuda = compile_gpt2(folder, {"mode": "sharding", "data": 2})
    for start, launcher in ((by_mpi, "mpirun"), (by_tcp, "RANK and WORLD_SIZE")):
        code, _, err = finish(start(2, dtu, "--steps=1"))
        st.expect(code == 1 and f"error: {launcher} started 2 processes for a program of 1 rank" in err, err)
        code, _, err = finish(start(3, cuda, "--steps=1"))
        st.expect(code == 1 and f"error: {launcher} started 3 processes for a program of 2 ranks" in err, err)
    done = st.run([cuda, "--steps=1", "--watchdog=0"])
    st.expect(done.returncode == 1 and "--watchdog=0: expected seconds above 0" in done.stderr, done.stderr)


if __name__ == "__main__":
    both = [(f"{name}, {start.__name__}", case(start))
            for start in (by_mpi, by_tcp)
            for name, case in (("two processes", lambda start: exchange(start, 2)),
                               ("five processes", lambda start: exchange(start, 5)),
                               ("silence", silence), ("a message of another size", other_size),
                               ("clocks", clocks))]
    eight = [(by_mpi, 3), (by_tcp, 3)]
    if os.environ.get("ST_ALL"):
        eight += [(by_mpi, 2), (by_mpi, 8), (by_tcp, 8)]
    sys.exit(st.main(*both, ("a large message", large), ("some end early", early),
                     ("a program of eight ranks", trains(LAYOUT, "cuda-host", *eight)),
                     ("a program of four ranks", trains({"mode": "sharding", "data": 2, "zero": 3, "sharding_size": 2},
                                                        "cuda-host", (by_mpi, 4), (by_tcp, 4))),
                     ("a simulated program of eight ranks", trains(LAYOUT, "dtu-t10", (by_mpi, 2), (by_tcp, 3), (by_tcp, 8))),
                     ("a simulated program of sixteen ranks", trains(dict(LAYOUT, sharding_size=4), "dtu-t10", (by_mpi, 4), (by_tcp, 16))),
                     ("a program runs once", runs_once("cuda-host")),
                     ("a simulated program runs once", runs_once("dtu-t10")),
                     ("one of those that talk is killed", killed("st-communicator-check", talk, KILLED)),
                     ("one of those that train is killed", killed("gpt2.bin", train_on("cuda-host"), KILLED)),
                     ("one of those that simulate is killed", killed("gpt2.bin", train_on("dtu-t10"), KILLED)),
                     ("one of those that train is told to stop", told_to_stop),
                     ("what is not for several", not_for_several)))
