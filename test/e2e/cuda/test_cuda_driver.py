"""The GPU runtime on stand-ins of NVIDIA's libraries gives the bits of `cuda-host` in any order of streams.

Kernels and products run on the host, so only their order and the exchange between ranks can make a difference.
scripts/gpu-check.sh tests NVIDIA's own libraries on a machine with a GPU.
"""

import itertools
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

import numpy as np
from safetensors.numpy import load_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import cuda_standins as standins
import st_testing as st
from test_cuda_training import BERT, GPT2, LAYOUTS, parallel
from process_launchers import MPIRUN
from test_processes import wait_for_all

# Groups of four heads share keys and values.
LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
         "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 2, "max_position_embeddings": 64,
         "vocab_size": 300}
MODELS = {"bert": (BERT, "mlm"), "gpt2": (GPT2, "clm"), "llama": (LLAMA, "clm")}
STEPS = 3  # The second records graphs, the third has them.
SEED = st.run_seed() + 1  # The seed of the pauses; 0 means no pauses.
WATCHDOG = 4
STAGED = {"mode": "hybrid", "data": 2, "zero": 1, "stage_cnt": 2, "accum_degree": 2}
RANKS_8 = LAYOUTS["2 replicas of 2 stages of 2 shards"]


COMPILED = {}  # By what was compiled.


def compile_for_host(folder, model, layout, target="cuda-host"):
    key = json.dumps([model, layout])
    binary = folder / f"{model}.bin"
    if key in COMPILED:
        binary.write_bytes(COMPILED[key])
        binary.chmod(0o755)
        return binary
    config, task = MODELS[model]
    st.expect(binary == st.compile_model(folder, model, config, task, layout, f"--target={target}", "--optimizer=adamw",
                                         "--lr=1e-3"), "the binary has another name")
    COMPILED[key] = binary.read_bytes()
    return binary


def train(binary, folder, name, env=None, launcher=(), *flags):
    """Losses, the bytes of the checkpoint, and the output. Products use the first algorithm unless flags choose another, so that
    no choice depends on the speed of this machine."""
    saved, metrics = folder / f"saved-{name}", folder / f"metrics-{name}"
    done = st.run([*launcher, binary, f"--steps={STEPS}", f"--save={saved}", f"--metrics={metrics}", "--watchdog=30",
                   "--products=first", *flags], env=env)
    st.expect(done.returncode == 0, f"{name}: ST_SEED={SEED - 1}: exit {done.returncode}: {done.stderr}")
    losses = st.losses([json.loads(line) for line in metrics.read_text().splitlines()])
    return (losses, {path.name: path.read_bytes() for path in saved.iterdir()}), done.stderr


def same_bits(model, layout, gpus=8, processes=(), nccl=True):
    """In one process, and in several. Without NCCL, or with an old one, ranks exchange in other ways, and a line says
    so."""
    def check(folder):
        binary = compile_for_host(folder, model, layout)
        expected, _ = train(binary, folder, "host")
        st.expect(len(set(expected[0])) == STEPS, f"the loss does not move: {expected[0]}")
        gpu, env = standins.for_gpu(binary, gpus, nccl)
        env["ST_STANDIN_SEED"] = str(SEED)
        for count in (1, *processes):
            launcher = [*MPIRUN, "-np", str(count)] if count > 1 else []
            found, said = train(gpu, folder, f"{count}-processes", env, launcher)
            st.expect(found == expected, f"ST_SEED={SEED - 1}, {count} processes: losses {found[0]}, expected {expected[0]}")
            st.expect(("libnccl.so.2 cannot be opened" in said and "too short" in said) != nccl, said)
        if not nccl:
            gpu, env = standins.for_gpu(binary, gpus)
            found, said = train(gpu, folder, "old", {**env, "ST_STANDIN_NCCL_VERSION": "21304"})
            st.expect(found == expected and "libnccl.so.2: expected version 2.14.0 or later, found 2.13.4" in said, said)
    return check


def lost(number, times):
    """One of four processes dies, or hangs: the others report this and what they waited for, and end."""
    def check(folder):
        gpu, env = standins.for_gpu(compile_for_host(folder, "gpt2", STAGED))
        env["ST_STANDIN_SEED"] = "0"
        draw = random.Random(SEED)
        idle = 0
        for turn in itertools.count():
            if turn - idle == times:
                break
            said_first = f"echo process $OMPI_COMM_WORLD_RANK of 4 is $$; exec {gpu} --steps=1000000 --watchdog={WATCHDOG}"
            run = subprocess.Popen([*MPIRUN, "-np", "4", "sh", "-c", f"{said_first} 2>{folder}/{turn}-$OMPI_COMM_WORLD_RANK"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
            pids = wait_for_all(run, 4)
            while not (line := run.stdout.readline()).startswith("step 1 "):
                st.expect(line, "ended early")
            time.sleep(draw.uniform(0, 1))
            victim = draw.randrange(4)
            os.kill(pids[victim], number)
            begin = time.time()
            others = set(range(4)) - {victim}
            while any(os.path.exists(f"/proc/{pids[process]}") for process in others):
                st.expect(time.time() - begin < 4 * WATCHDOG + 10, "processes are still there")
                time.sleep(0.1)
            run.communicate(timeout=60)  # The launcher ends the hanging process.
            said = {process: (folder / f"{turn}-{process}").read_text() for process in others}
            st.expect(all(" error: " in text for text in said.values()), f"ST_SEED={SEED - 1}: {victim} is lost: {said}")
            waited = re.findall(r"(?:(?:all_reduce|reduce_scatter|all_gather) of ranks \d, \d|message of rank \d|"
                                r"send to rank \d) in task|broadcast of process|barrier of all", "".join(said.values()))
            # The end of a process is noticed at once, even while nobody waits: then all report that they ran, and
            # one more turn follows.
            ran = number == signal.SIGKILL and all(
                f"process {victim} has ended early" in text and f"ended early: process {process} of 4 ran" in text
                for process, text in said.items())
            st.expect(waited or ran, f"ST_SEED={SEED - 1}: nobody says what for: {said}")
            idle += not waited
            st.expect(idle <= 5, f"ST_SEED={SEED - 1}: nobody waited {idle} times of {turn + 1}")
        return f"{times} times, ST_SEED={SEED - 1}"
    return check


# Attention without dropout, in 16 bits.
ATTENTION = parallel("bf16")


def h100_host(folder):
    """The host with the figures of an H100."""
    text = (st.ROOT / "devices/cuda-sm_90.textproto").read_text().replace('chip: "sm_90"', 'chip: "host"')
    target = folder / "cuda-h100-host.textproto"
    target.write_text(text.replace('name: "cuda-sm_90"', 'name: "cuda-h100-host"'))
    return target


def compile_attention(folder, model, *flags):
    """With the figures of an H100 no scores are kept in memory."""
    target = h100_host(folder)
    if not flags:
        return compile_for_host(folder, model, ATTENTION, target)
    config, task = MODELS[model]
    return st.compile_model(folder, "step", config, task, ATTENTION, f"--target={target}", *flags)


def without_dropout(config):
    return {key: 0.0 if "drop" in key else value for key, value in config.items()}


MODELS.update({f"{name}, no dropout": (without_dropout(config), task) for name, (config, task) in list(MODELS.items())})


def attends(model, mask, heads="4 x 8"):
    """cuDNN's attention agrees with that of generated kernels; without cuDNN the bits are those of generated
    kernels."""
    def check(folder):
        # AdamW would move weights by the signs of gradients that are almost zero.
        binary = compile_attention(folder, f"{model}, no dropout", "--optimizer=sgd", "--lr=0.1")
        text = st.check_run([st.BIN / "st-translate", "--executable-to-text", binary]).stdout
        commands = re.findall(r"^ *((?:causal )?(gradient of )?attention bf16 .*)", text, re.M)
        st.expect(len(commands) == 4 and all(mask in line for line, _ in commands), f"no attention with {mask}: {commands}")
        st.expect(sum(bool(gradient) for _, gradient in commands) == 2, f"no gradients: {commands}")
        expected, said = train(binary, folder, "host")
        st.expect("attention: " not in said, said)
        gpu, env = standins.for_gpu(binary)
        env["ST_STANDIN_SEED"] = str(SEED)
        found, said = train(gpu, folder, "cudnn", env)
        st.expect("attention: cuDNN 9.19.0\n" in said, said)
        difference = max(abs(x - y) for x, y in zip(found[0], expected[0]))
        st.expect(0 < difference < 5e-4, f"ST_SEED={SEED - 1}: losses {found[0]}, by generated kernels {expected[0]}")
        again, _ = train(gpu, folder, "again", {**env, "ST_STANDIN_SEED": str(SEED + 1)})
        st.expect(again == found, f"ST_SEED={SEED - 1}: another run has losses {again[0]} instead of {found[0]}")
        trace = folder / "trace.json"
        traced, _ = train(gpu, folder, "traced", env, (), f"--trace={trace}")
        st.expect(traced == found and f"gradient of attention bf16 {heads} of 32 x 32" in trace.read_text(),
                  "the trace has no attention")
        for name, setting, flags, line in (
                ("old", "old", (), "libcudnn.so.9: expected version 9.13.0 or later, found 9.1.0; it computes attention; "
                 "using generated kernels"),
                ("none", "none", (), f"attention: cuDNN 9.19.0 for 0 of {len(commands)}, generated kernels for the others: "
                 "cuDNN has no engine for this graph"),
                ("fails", "fails", (), f"attention: cuDNN 9.19.0 for 0 of {len(commands)}, generated kernels for the others: "
                 "cuDNN: attention failed (status 5000): an engine does not run"),
                ("wrong", "wrong", (), r"attention: cuDNN 9.19.0 for 0 of \d, generated kernels for the others: in a trial cuDNN's "
                 r"\w+ differ from those of generated kernels by \S+ of their root mean square, expected at most 0.05"),
                ("unwritten", "unwritten", (), r"attention: cuDNN 9.19.0 for 0 of \d, generated kernels for the others: in a trial "
                 r"cuDNN's \w+ differ from those of generated kernels by -?nan of their root mean square, expected at most 0.05"),
                ("forced", "", ("--attention=generated",), "attention: generated kernels, as --attention requests")):
            found, said = train(gpu, folder, name, {**env, "ST_STANDIN_CUDNN": setting}, (), *flags)
            says = f"{line}\n" in said or re.search(f"{line}\n", said)
            st.expect(found == expected and says, f"{name}: {found[0]} for {expected[0]}; {said}")
        # Only gradients are wrong: their trial detects it, and the forward pass stays with cuDNN.
        found, said = train(gpu, folder, "gradient", {**env, "ST_STANDIN_CUDNN": "wrong-gradient"})
        difference = max(abs(x - y) for x, y in zip(found[0], expected[0]))
        st.expect(re.search(r"attention: cuDNN 9.19.0 for 2 of 4, generated kernels for the others: in a trial cuDNN's "
                            r"d\w differ from those of (?:the host|generated kernels) by \S+ of their root", said) and 0 < difference < 5e-4, f"{found[0]}: {said}")
        return f"{len(commands)} commands, losses differ by {difference:.1e}"
    return check


def same_gradients(model):
    """The momenta of one step of SGD are gradients: cuDNN's equal those of generated kernels except for 16-bit
    rounding."""
    def check(folder):
        gpu, env = standins.for_gpu(compile_attention(folder, f"{model}, no dropout", "--optimizer=sgd"))
        found = {}
        for way in ("cudnn", "generated"):
            st.check_run([gpu, "--steps=1", f"--save={folder / way}", f"--attention={way}"], env={**env, "ST_STANDIN_SEED": "0"})
            found[way] = {key: value for path in (folder / way).rglob("*.safetensors") for key, value in load_file(path).items()
                          if key.endswith(".momentum")}
        config, task = MODELS[f"{model}, no dropout"]
        exact = {key: value for key, value in ATTENTION.items() if key != "precision"}
        binary = st.compile_model(folder, "f32", config, task, exact, "--target=cuda-host", "--optimizer=sgd")
        st.check_run([binary, "--steps=1", f"--save={folder / 'f32'}"])
        found["f32"] = {key: value for path in (folder / "f32").rglob("*.safetensors") for key, value in load_file(path).items()
                        if key.endswith(".momentum")}
        largest = {key: np.abs(value).max() for key, value in found["generated"].items()}
        # Some, such as a key's bias gradient, are zero except for rounding.
        scale = {key: max(value, 1e-3 * max(largest.values())) for key, value in largest.items()}
        distance = lambda key, a, b: np.abs(found[a][key] - found[b][key]).max() / scale[key]
        far = {key: distance(key, "cudnn", "generated") for key in scale}
        # The pooler's terms cancel over the rows: in 16 bits both ways are 14 to 18 % from f32. They differ from each other by a
        # quarter of that.
        bound = {key: max(2e-2, distance(key, "generated", "f32") / 4) for key in scale}
        worst = max(far, key=lambda key: far[key] / bound[key])
        st.expect(len(far) > 20 and 0 < far[worst] < bound[worst] <= 0.05,
                  f"{len(far)} gradients, that of {worst} is {far[worst]:.1e} away, expected at most {bound[worst]:.1e}")
        return f"{len(far)} gradients, largest distance {far[worst]:.1e}"
    return check


def lacks_cudnn(folder):
    binary = compile_attention(folder, "gpt2, no dropout")
    expected, _ = train(binary, folder, "host")
    gpu, env = standins.for_gpu(binary, cudnn=False)
    found, said = train(gpu, folder, "none", env)
    st.expect(found == expected and "libcudnn.so.9 cannot be opened; it computes attention: " in said and
              "; using generated kernels\n" in said, said)
    done = st.run([binary, "--attention=flash"])
    st.expect(done.returncode == 1 and "--attention=flash: expected cudnn or generated" in done.stderr, done.stderr)


def keeps_choices(folder):
    """A file keeps cuBLASLt's choices, which a later run reads; a damaged file is replaced."""
    binary = compile_for_host(folder, "gpt2", parallel("bf16"))
    expected, _ = train(binary, folder, "host")
    gpu, env = standins.for_gpu(binary)

    def run(name):
        found, _ = train(gpu, folder, name, {**env, "ST_STANDIN_SEED": "0"})
        st.expect(found == expected, f"{name}: losses {found[0]} instead of {expected[0]}")
        (file,) = (folder / "cache").iterdir()
        return file

    file = run("first")
    text, made = file.read_text(), file.stat().st_mtime_ns
    st.expect(re.fullmatch(r"cublaslt-130000-stand-in_0\.txt", file.name) and text.count("BF16 ") > 5, f"{file.name}: {text}")
    run("second")
    st.expect(file.stat().st_mtime_ns == made, "the second run has written what it found")
    lines = text.splitlines()
    # Algorithms of other products, which cuBLASLt refuses; then a file of another kind.
    names, algorithms = zip(*(line.split("\t", 1) for line in lines))
    for name, other in (("other", "".join(f"{a}\t{b}\n" for a, b in zip(names, algorithms[::-1]))), ("no", "x\n")):
        file.write_text(other)
        run(name)
        st.expect(file.read_text() == text, f"{name}: was not made again")


def overlaps(folder):
    """Sums of gradients run at the same time as the backward pass, and ops on their memory wait."""
    layout = {"mode": "sharding", "data": 2, "zero": 1, "bucket_bytes": 20000}
    same_bits("gpt2", layout)(folder)
    text = st.check_run([st.BIN / "st-translate", "--executable-to-text", folder / "gpt2.bin"]).stdout
    overlapped = re.findall(r"^ *on the transfer stream .*\n(?! *(?:on the transfer|after the other))", text, re.M)
    st.expect(len(overlapped) > 2, f"{len(overlapped)} transfers overlap kernels")
    return f"{len(overlapped)} times"


def traces(folder):
    """The last step's tasks, kernels and transfers, of the ranks of all processes, one after the other in each row."""
    binary = compile_for_host(folder, "gpt2", RANKS_8)
    gpu, env = standins.for_gpu(binary)
    expected, _ = train(binary, folder, "host")
    for name, program, launcher in (("host", binary, []), ("gpu", gpu, [*MPIRUN, "-np", "3"])):
        trace = folder / f"trace-{name}.json"
        found, _ = train(program, folder, f"traced-{name}", env, [*launcher], f"--trace={trace}")
        st.expect(found == expected, f"{name}: losses {found[0]} instead of {expected[0]}")
        trace = json.loads(trace.read_text())
        events, bound = trace["traceEvents"], trace["otherData"]["clock_bound_us"]
        st.expect(bound > 0, f"{name}: clocks to {bound} us")
        names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
        st.expect({rank for rank, _ in names} == set(range(8)), f"{name}: ranks {names}")
        ends, labels, sent, received = {}, {}, {}, {}
        for event in events:
            if event["ph"] != "X":
                continue
            row = (event["pid"], event["tid"])
            st.expect(event["ts"] >= ends.get(row, 0) - 1e-3, f"{name}: {event} begins before {ends.get(row)}")
            ends[row] = event["ts"] + event["dur"]
            labels.setdefault(names[row], set()).add(re.sub(r"\d+", "N", event["name"]))
            if found := re.match(r"send to rank (\d)", event["name"]):
                sent.setdefault((event["pid"], int(found[1])), []).append(event["ts"])
            if found := re.match(r"receive from rank (\d)", event["name"]):
                received.setdefault((int(found[1]), event["pid"]), []).append(ends[row])
        # On one clock, never more messages between two ranks have arrived than were sent.
        st.expect(received and received.keys() == sent.keys(), f"{name}: {sent.keys()}, {received.keys()}")
        for pair, times in received.items():
            for left, came in zip(sorted(sent[pair]), sorted(times), strict=True):
                st.expect(came >= left - bound - 1e-3, f"{name}: {pair}: came at {came}, sent at {left}, to {bound}")
        for row, label in (("tasks", "backward"), ("kernels", "product fN"), ("kernels", "all_reduce of N x N bytes"),
                           ("kernels", "receive from rank N")):
            st.expect(any(label in found for found in labels[row]), f"{name}: no {label} in {row}: {labels}")
    done = st.run([binary, "--steps=0", f"--trace={folder / 'none'}"])
    st.expect(done.returncode == 1 and "--trace has no step to measure" in done.stderr, done.stderr)
    return f"{len(ends)} rows"


def names_devices(folder):
    """Devices that no device_mapping names are numbered without gaps."""
    binary = compile_for_host(folder, "gpt2", RANKS_8)
    text = st.check_run([st.BIN / "st-translate", "--executable-to-text", binary]).stdout
    found = re.findall(r"on devices (\[.*\])", text)
    st.expect(found == ["[0, 1, 2, 3]", "[4, 5, 6, 7]"], str(found))


TIMES = 20 if os.environ.get("ST_ALL") else 1
CASES = [("bert, f32", same_bits("bert", parallel("f32"))),
         ("gpt2, bf16, 2 micro-batches", same_bits("gpt2", parallel("bf16", accum_degree=2))),
         ("bert, tf32", same_bits("bert", {"mode": "sharding", "data": 1, "precision": {"products": "tf32"}})),
         ("2 replicas, weights split", same_bits("gpt2", LAYOUTS["2 replicas, weights split"])),
         ("2 replicas, overlap", overlaps),
         ("8 ranks, processes", same_bits("gpt2", RANKS_8, processes=(3, 8))),
         ("8 ranks on 4 GPUs, processes", same_bits("gpt2", RANKS_8, gpus=4, processes=(8,))),
         ("8 ranks on one GPU", same_bits("gpt2", RANKS_8, gpus=1)),
         ("8 ranks without NCCL", same_bits("gpt2", RANKS_8, nccl=False, processes=(2,))),
         ("a process is killed", lost(signal.SIGKILL, TIMES)),
         ("a process stands still", lost(signal.SIGSTOP, TIMES)),
         ("attention of gpt2 by cuDNN", attends("gpt2", "causal")), ("attention of bert by cuDNN", attends("bert", "bias")),
         ("attention of llama by cuDNN", attends("llama", "causal", "4 x 8 in groups of 4")),
         ("gradients of attention of llama", same_gradients("llama")),
         ("gradients of attention of gpt2", same_gradients("gpt2")), ("gradients of attention of bert", same_gradients("bert")),
         ("attention without cuDNN", lacks_cudnn), ("a step is traced", traces), ("choices of cuBLASLt", keeps_choices),
         ("devices are numbered", names_devices)]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
