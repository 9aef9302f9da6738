"""Starts several processes of one program, as launchers do: with mpirun, or with RANK and WORLD_SIZE set."""

import os
import random
import socket
import subprocess

# Slow processes on a busy machine have time to report why they end.
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "odls_base_sigkill_timeout", "2"]
# Exits with the code of one of the failed processes.
EACH = ('pids=; for rank in $(seq 0 $((WORLD_SIZE - 1))); do RANK=$rank "$@" & pids="$pids $!"; done; '
        'code=0; for pid in $pids; do wait $pid || code=$?; done; exit $code')


def free_port():
    """A port outside the range from which the system assigns ports."""
    while True:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", random.randrange(10000, 30000)))
            except OSError:
                continue
            return probe.getsockname()[1]


def popen(command, env=None):
    return subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, **(env or {})})


def by_mpi(processes, *arguments):
    return popen([*MPIRUN, "-np", processes, *arguments])


def by_tcp(processes, *arguments):
    env = {"WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    return popen(["sh", "-c", EACH, "sh", *arguments], env)


def finish(run):
    out, err = run.communicate(timeout=120)
    return run.returncode, out, err
