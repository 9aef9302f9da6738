"""Processes without MPI find each other, or report why they do not: a wrong environment, a process that is missing or
duplicated, a port in use, and other clients at the port.

test_processes.py tests what they do together. Ports are those of this machine.
"""

import os
import pathlib
import shutil
import socket
import struct
import sys
import threading
import time

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from process_launchers import by_mpi, finish, free_port, popen

CHECK = st.BIN / "st-communicator-check"
ERROR = "st-communicator-check: error: "
# Variables that a launcher of this test itself has set.
OTHERS = ("OMPI_COMM_WORLD_RANK", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "SLURM_PROCID",
           "TORCHELASTIC_USE_AGENT_STORE")


def start(rank, size, port, seconds=60, **env):
    """One process that exchanges messages with the others."""
    return popen([CHECK, "exchange", seconds],
                 {"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                  **env})


def expect_errors(runs, *errors):
    """Every process ends with a single line that contains this text."""
    for (code, _, err), error in zip([finish(run) for run in runs], errors, strict=True):
        st.expect(code == 1 and err.startswith(ERROR) and error in err and err.count("\n") == 1,
                  f"exit {code}, expected {error!r}, found {err!r}")


def expect_success(runs):
    for code, out, err in [finish(run) for run in runs]:
        st.expect(code == 0 and "holds rank 7" in out, f"exit {code}: {err}")


def environment(folder):
    """A missing or wrong variable is named, with the expected value."""
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
    two = {"RANK": "0", "WORLD_SIZE": "2"}
    integer, of = "expected an integer from", "in the environment's"
    slurm = {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}
    cases = [({**two, "RANK": "2", **address}, f'{integer} 0 to 1 {of} RANK, found "2"'),
             ({**two, "WORLD_SIZE": "two", **address}, f'{integer} 1 to 2147483647 {of} WORLD_SIZE, found "two"'),
             ({"RANK": "0", **address}, "RANK=0 is in the environment, but WORLD_SIZE is not set"),
             ({"WORLD_SIZE": "2", **address}, "WORLD_SIZE=2 is in the environment, but RANK is not set"),
             (two, "RANK and WORLD_SIZE started 2 processes: MASTER_ADDR is not set; expected the host of "
              "process 0 in MASTER_ADDR"),
             ({**two, "MASTER_ADDR": "127.0.0.1"}, f"{integer} 1 to 65535 {of} MASTER_PORT, which is not set"),
             ({**two, **address, "MASTER_PORT": "65536"}, f'{integer} 1 to 65535 {of} MASTER_PORT, found "65536"'),
             (slurm, "srun started 2 processes that MPI cannot join: MASTER_ADDR is not set; expected the host "
              "of process 0 in MASTER_ADDR")]
    for env, error in cases:
        expect_errors([popen([CHECK, "exchange", 1], env)], error)
    return f"{len(cases)} errors"


def launchers(folder):
    """Slurm's variables work; a single process needs no other; mpirun's processes join by MPI."""
    address = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(free_port())}
    expect_success([popen([CHECK, "exchange", 60], {"SLURM_PROCID": str(i), "SLURM_STEP_NUM_TASKS": "3", **address})
                    for i in range(3)])
    expect_success([popen([CHECK, "exchange", 60], {"RANK": "0", "WORLD_SIZE": "1"})])
    os.environ.update(RANK="0", WORLD_SIZE="3")
    try:
        expect_success([by_mpi(2, CHECK, "exchange", 60)])
    finally:
        del os.environ["RANK"], os.environ["WORLD_SIZE"]


def not_all_there(folder):
    """A missing process, two with the same number, and one with a larger count."""
    ports = [free_port() for _ in range(4)]
    missing = [start(0, 3, ports[0], 2), start(2, 3, ports[0], 2)]
    no_first = [start(1, 2, ports[1], 1)]
    double = [start(0, 3, ports[2]), start(1, 3, ports[2]), start(1, 3, ports[2])]
    differ = [start(0, 2, ports[3]), start(1, 3, ports[3])]
    expect_errors(missing, f"process 0 of 3, joining the others at 127.0.0.1:{ports[0]}, waiting for process 1: no message "
                  "arrived for 2 s, so it is considered lost", "process 2 of 3: process 0 reports: no response from process 1")
    expect_errors(no_first, f"process 1 of 2, joining the others at 127.0.0.1:{ports[1]}: process 0 was not reached in "
                  "1 s: Connection refused")
    expect_errors(double, *["two processes have RANK=1"] * 3)
    expect_errors(differ, *["expected WORLD_SIZE=2, found WORLD_SIZE=3 of process 1"] * 2)


def taken(folder):
    """Another program has the port: a silent one, and one that sends something else."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        expect_errors([start(0, 2, port, 1), start(1, 2, port, 1)],
                      f"process 0 of 2: cannot listen at 127.0.0.1:{port} (MASTER_ADDR and MASTER_PORT): Address already in "
                      "use",
                      f"process 0 was not reached in 1 s: the listener at 127.0.0.1:{port} does not respond")
        server.accept()[0].close()
        run = start(1, 2, port)
        client = server.accept()[0]
        client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        expect_errors([run], f"the listener at 127.0.0.1:{port} is not process 0 of this program")
        client.close()


def strangers(folder):
    """Other clients do not affect the joining processes: they connect and send nothing, other data, or a valid beginning."""
    port = free_port()

    def connect(run, text):
        while run.poll() is None:
            try:
                client = socket.create_connection(("127.0.0.1", port))
                client.sendall(text)
                return client
            except ConnectionRefusedError:
                time.sleep(0.01)
        raise st.Failure(f"process 0 has ended: {finish(run)[2]}")
    first = start(0, 2, port)
    clients = [connect(first, text) for text in (b"", b"GET / HTTP/1.1\r\n\r\n", b"St group", bytes(1000))]
    expect_success([first, start(1, 2, port)])
    first = start(0, 2, port, 2)
    clients.append(connect(first, b"GET / HTTP/1.1\r\n\r\n"))
    expect_errors([first], "so it is considered lost; 1 connection from other programs arrived, the last from 127.0.0.1:")
    for client in clients:
        client.close()


class Store(threading.Thread):
    """The part of PyTorch's TCPStore that is used: torchrun listens with it at MASTER_PORT."""

    def __init__(self):
        super().__init__(daemon=True)
        self.server = socket.create_server(("127.0.0.1", 0))
        self.values, self.changed = {}, threading.Condition()

    def run(self):
        while True:
            threading.Thread(target=self.serve, args=self.server.accept()[:1], daemon=True).start()

    def serve(self, client):
        stream = client.makefile("rwb")

        def text():
            return stream.read(struct.unpack("=Q", stream.read(8))[0])
        while query := stream.read(1):
            if query == b"\0":
                assert stream.read(4) == struct.pack("=I", 0x3C85F7CE)
            elif query == b"\1":
                key, value = text(), text()
                with self.changed:
                    self.values[key] = value
                    self.changed.notify_all()
            elif query == b"\3":
                value = self.values.get(text(), b"")
                stream.write(struct.pack("=Q", len(value)) + value)
            elif query == b"\6":
                assert stream.read(8) == struct.pack("=Q", 1)
                key = text()
                with self.changed:
                    self.changed.wait_for(lambda: key in self.values)
                stream.write(b"\0")
            stream.flush()


def torchrun(folder):
    """torchrun itself has the port; if it is installed, it starts the processes."""
    store = Store()
    store.start()
    expect_success([start(i, 3, store.server.getsockname()[1], TORCHELASTIC_USE_AGENT_STORE="True") for i in range(3)])
    if not shutil.which("torchrun"):
        return "a store like that of torchrun"
    started = popen(["torchrun", "--standalone", "--no-python", "--nproc-per-node=3", CHECK, "exchange", 60])
    code, out, err = finish(started)
    st.expect(code == 0 and out.count("holds rank 7") == 3, f"exit {code}: {err}")
    return "torchrun"


if __name__ == "__main__":
    for name in OTHERS:
        os.environ.pop(name, None)
    sys.exit(st.main(("a wrong environment", environment), ("launchers", launchers),
                     ("not all are there", not_all_there), ("a port that is taken", taken),
                     ("strangers at the port", strangers), ("a store at the port", torchrun)))
