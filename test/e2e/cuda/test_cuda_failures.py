"""Failures of GPUs, planted in the driver's stand-in: the runtime's fallbacks, and the content of its errors.

test/standins/Faults.h lists the failures that the stand-in supports.
"""

import pathlib
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import cuda_standins as standins
import st_testing as st
from test_cuda_driver import LAYOUTS, SEED, compile_for_host, parallel, train

ONE_RANK = parallel("f32", accum_degree=2)
SHARED = LAYOUTS["2 replicas, weights split"]


def prepare(folder, layout, gpus):
    binary = compile_for_host(folder, "gpt2", layout)
    gpu, env = standins.for_gpu(binary, gpus)
    return binary, gpu, {**env, "ST_STANDIN_SEED": str(SEED)}


def counted(folder, gpu, env, name, *flags):
    """Losses, checkpoint and output, and how often each function of the driver was called."""
    file = folder / f"counts-{name}"
    result, said = train(gpu, folder, name, {**env, "ST_STANDIN_COUNTS": str(file)}, (), *flags)
    return result, said, {call: int(count) for call, count in (line.split() for line in file.read_text().splitlines())}


def does_without_graphs(folder):
    """If the capture or instantiation of graphs fails, their commands are launched one by one, and a line says
    so."""
    binary, gpu, env = prepare(folder, ONE_RANK, 1)
    expected, _ = train(binary, folder, "host")
    found, said, calls = counted(folder, gpu, env, "graphs")
    st.expect(found == expected and "graphs:" not in said, said)
    graphs = calls["cuGraphInstantiateWithFlags"]
    st.expect(graphs > 1 and calls["cuGraphLaunch"] > graphs, f"{calls}")
    for name, flags in (("off", ["--graphs=off"]), ("sync", ["--sync"])):
        found, said, calls = counted(folder, gpu, env, name, *flags)
        st.expect(found == expected and "graphs:" not in said, f"{flags}: {found[0]}: {said}")
        st.expect("cuStreamBeginCapture_v2" not in calls, f"{flags}: {calls}")
    # The first launch of the second step is the first recorded one.
    once = folder / "once"
    st.check_run([gpu, "--steps=1"], env={**env, "ST_STANDIN_COUNTS": str(once)})
    launches = int(re.search(r"^cuLaunchKernel (\d+)$", once.read_text(), re.M)[1])
    for fault, refused, reason in (
            ("cuStreamBeginCapture_v2:2:900", 1, "recording a graph failed: operation not permitted when stream is capturing (900)"),
            ("cuStreamEndCapture:1:901", 1, "recording a graph failed: operation failed due to a previous error during capture (901)"),
            (f"cuLaunchKernel:{launches + 1}:900", 1, "launching a kernel failed: operation not permitted when stream is "
             "capturing (900)"),
            ("cuGraphInstantiateWithFlags:all:2", graphs, "preparing a graph failed: out of memory (2)")):
        found, said = train(gpu, folder, re.sub(r"\W", "-", fault), {**env, "ST_STANDIN_FAIL": fault})
        st.expect(found == expected, f"{fault}: ST_SEED={SEED - 1}: losses {found[0]}, expected {expected[0]}")
        lines = [line for line in said.splitlines() if line.startswith("graphs: ")]
        st.expect(len(lines) == 1 and lines[0].startswith(f"graphs: {refused} of {graphs} cannot be captured, ") and
                  lines[0].endswith(reason), f"{fault}: {said}")
    done = st.run([gpu, "--steps=3"], env={**env, "ST_STANDIN_FAIL": "cuGraphLaunch:1:2"})
    st.expect(done.returncode == 1 and re.search(r"error: graph of \d+ commands in task \".*\" of rank 0, micro-batch \d: launching a "
                                                 r"graph failed: out of memory \(2\); --graphs=off runs without graphs\n", done.stderr),
              done.stderr)
    done = st.run([gpu, "--graphs=no"], env=env)
    st.expect(done.returncode == 1 and "--graphs=no: expected on or off" in done.stderr, done.stderr)
    return f"{graphs} graphs"


def kernel_with_arguments(env):
    """A kernel in the middle of the program, and the bytes of its arguments."""
    lines = open(env["ST_STANDIN_KERNELS"]).read().splitlines()
    name, blocks, threads, _, *arguments = max(lines[len(lines) // 2:], key=len).split()
    return name, blocks, threads, [argument.split(":")[0] for argument in arguments]


def names_what_failed(layout, gpus):
    """A kernel fails some time after its launch. --sync names the kernel, its rank, its task and its arguments; without it a line
    says that --sync would."""
    def check(folder):
        _, gpu, env = prepare(folder, layout, gpus)
        name, blocks, threads, sizes = kernel_with_arguments(env)
        env["ST_STANDIN_FAIL"] = f"{name}:2:700"
        done = st.run([gpu, "--steps=3"], env=env)
        st.expect(done.returncode == 1 and done.stderr.endswith(
            "; an earlier command of the GPU has failed: run with --sync to find it\n") and
            "an illegal memory access was encountered (700)" in done.stderr, f"ST_SEED={SEED - 1}: {done.stderr}")
        for turn in range(2 if gpus == 1 else 1):  # On a shared GPU, tries both ranks: one launched the kernel.
            done = st.run([gpu, "--steps=3", "--sync"], env={**env, "ST_STANDIN_SEED": str(SEED + turn)})
            arguments = ", ".join(rf"(?:arena|scratch) \+ \d+ of {size} bytes" for size in sizes)
            line = (rf"error: kernel {name} \({blocks} blocks of {threads} threads; arguments: {arguments}\) in task \"\w.*\" of rank \d, "
                    rf"micro-batch \d: running a program's kernels failed: an illegal memory access was encountered \(700\)\n$")
            st.expect(done.returncode == 1 and re.search(line, done.stderr), f"ST_SEED={SEED - 1 + turn}: {done.stderr}")
        return name
    return check


def refuses_at_once(folder):
    """A launch that the driver refuses is named without --sync."""
    _, gpu, env = prepare(folder, ONE_RANK, 1)
    # Without trials of products, which launch kernels when the program is loaded.
    done = st.run([gpu, "--steps=1", "--products=first"], env={**env, "ST_STANDIN_FAIL": "cuLaunchKernel:5:701"})
    st.expect(done.returncode == 1 and re.search(
        r"error: kernel \w+ \(.* bytes\) in task \".*\" of rank 0, micro-batch 0: launching a kernel failed: too many resources "
        r"requested for launch \(701\)\n$", done.stderr), done.stderr)


def asks_less(folder):
    """Ranks that wait for one slow GPU do not poll it all the time."""
    _, gpu, env = prepare(folder, SHARED, 1)
    _, _, calls = counted(folder, gpu, {**env, "ST_STANDIN_KERNEL_US": "1000"}, "slow")
    asked = calls["cuStreamQuery"] + calls.get("cuEventQuery", 0)
    st.expect(asked < 50000, f"{asked} questions")
    return f"{asked} questions"


CASES = [("without graphs", does_without_graphs), ("a kernel of ranks that share a GPU fails", names_what_failed(SHARED, 1)),
         ("a kernel of one of two GPUs fails", names_what_failed(SHARED, 2)), ("a launch is refused", refuses_at_once),
         ("ranks wait for one GPU", asks_less)]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
