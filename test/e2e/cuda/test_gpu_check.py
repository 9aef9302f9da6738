"""scripts/gpu-check.sh runs a bundle of scripts/gpu-bundle.sh to its table on a bare root, with the libraries of test/standins.
For each planted failure the table names the stage, the call, and the next thing to try.

A run has a small bundle and some failures; ST_ALL=1 has all stages and all failures. If the root cannot be changed, commands run
with an empty environment, and a line says so.
"""

import ast
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from bare_root import INSIDE, BareRoot

sys.path.insert(0, str(st.ROOT / "scripts/gpu_check"))
IS_WHOLE = bool(os.environ.get("ST_ALL") or sys.argv[1:])
SMALL_STAGES = "loop,product,epilogues,gpt2-f32"


class Machine:
    """A bare root with a bundle in it, or a folder and an empty environment."""

    def __init__(self, folder):
        self.root = BareRoot(folder / "root")
        self.why_not = self.root.why_not()
        if self.why_not:
            print(f"  commands keep this root: {self.why_not}", flush=True)
        flags = [] if IS_WHOLE else ["--small", f"--stages={SMALL_STAGES}"]
        st.check_run([sys.executable, "-B", st.ROOT / "scripts/gpu_bundle", self.folder / "bundle", "--standins", "--large-steps=2",
                      f"--build={st.BIN.parent}", *flags])
        self.turn = 0

    @property
    def folder(self):
        return self.root.folder / "tmp"

    def name(self, path):
        """A path of the folder as commands see it."""
        return str(path) if self.why_not else "/" + str(path.relative_to(self.root.folder))

    def check(self, *flags, environment=None, bundle=None):
        """Runs the check; returns its exit code, its rows and its output."""
        self.turn += 1
        results = self.folder / f"results-{self.turn}"
        command = ["bash", self.name((bundle or self.folder / "bundle") / "gpu-check.sh"), f"--results={self.name(results)}", *flags]
        given = {"ST_STANDIN_SEED": "0", **(environment or {})}
        if self.why_not:
            done = subprocess.run(command, capture_output=True, text=True, timeout=600, env={**INSIDE, **given})
        else:
            done = self.root.run(command, given, timeout=600)
        rows = results / "table.jsonl"
        return done.returncode, [json.loads(line) for line in rows.read_text().splitlines()] if rows.exists() else [], \
            done.stdout + done.stderr

    def copy_bundle(self):
        copied = self.folder / f"bundle-{self.turn}"
        shutil.copytree(self.folder / "bundle", copied, symlinks=True)
        return copied


def get_machine(made=[]):
    if not made:
        folder = tempfile.TemporaryDirectory(prefix="st-gpu-check-")
        made += [Machine(pathlib.Path(folder.name)), folder]
    return made[0]


# ---- failures -----------------------------------------------------------------------------------


@dataclasses.dataclass
class Planted:
    """A failure, and its row in the table. `change` is made to a copy of the bundle's folder."""
    stage: str
    row: str
    call: str
    next: str
    fail: str = ""               # ST_STANDIN_FAIL
    environment: dict = dataclasses.field(default_factory=dict)
    change: object = None
    flags: tuple = ()
    state: str = "FAILED"        # a regular expression
    more: str = ""               # of the runs that diagnose it
    is_quick: bool = False       # also without ST_ALL


def without(library):
    return lambda folder: (folder / "standins" / library).unlink()


def without_dependency(library):
    """The library has a dependency that does not exist."""
    def change(folder):
        path = folder / "standins" / library
        path.write_bytes(path.read_bytes().replace(b"libgcc_s.so.1", b"libgcc_x.so.1"))
    return change


def damage(pattern):
    """Flips a bit in the middle of a file."""
    def change(folder):
        (path,) = folder.glob(pattern)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    return change


def change_manifest(edit):
    def change(folder):
        manifest = json.loads((folder / "bundle.json").read_text())
        edit(manifest)
        (folder / "bundle.json").write_text(json.dumps(manifest))
    return change


def shift_loss(step):
    def edit(manifest):
        for row in manifest["rows"]:
            if len(row.get("losses", [])) >= step:
                row["losses"][step - 1] *= 1.01
    return change_manifest(edit)


def block_trace(folder):
    """Puts a folder at the path of the trace."""
    script = folder / "gpu-check.sh"
    script.write_text(script.read_text().replace("exec python3", "mkdir -p \"${1#--results=}/bert-8-dropout0.trace.json\"; exec python3"))


def place_program(name, text):
    def change(folder):
        path = folder / name
        path.write_text("#!/bin/bash\n" + text)
        path.chmod(0o755)
        script = folder / "gpu-check.sh"
        script.write_text(script.read_text().replace("exec python3", 'PATH="$here:$PATH" exec python3'))
    return change


SANITIZER = 'echo "========= Invalid __global__ write of size 4 bytes"; echo "=========     at loop_0+0x50"; exit 99\n'
TORCH = '[ "$1" = -c ] && { echo 2.9.0 True; exit 0; }; echo "RuntimeError: CUDA error: out of memory"; exit 1\n'
PIP = "pip install nvidia-"
PLANTED = {
    "no driver": Planted("libraries", "driver", r"dlopen\(libcuda.so.1\)", "container toolkit", change=without("libcuda.so.1"),
                         is_quick=True),
    "no cuBLASLt": Planted("libraries", "cublasLt", r"dlopen\(libcublasLt.so\)", PIP + "cublas", change=without("libcublasLt.so"),
                           is_quick=True),
    "no cuDNN": Planted("libraries", "cudnn", r"dlopen\(libcudnn.so.9\)", PIP + "cudnn", change=without("libcudnn.so.9"),
                        state="missing"),
    "no NCCL": Planted("libraries", "nccl", r"dlopen\(libnccl.so.2\)", PIP + "nccl", change=without("libnccl.so.2"), state="missing"),
    "cuBLASLt lacks a library": Planted("libraries", "cublasLt", r"dlopen\(libcublasLt.so\)", "install libgcc_x.so.1",
                                        change=without_dependency("libcublasLt.so"), is_quick=True),
    "an old cuDNN": Planted("libraries", "cudnn", "version of libcudnn.so.9", PIP, environment={"ST_STANDIN_CUDNN": "old"},
                            state="missing"),
    "an old NCCL": Planted("libraries", "nccl", "version of libnccl.so.2", PIP, environment={"ST_STANDIN_NCCL_VERSION": "21304"},
                           state="missing"),
    "driver and kernel module differ": Planted("libraries", "driver", "cuInit", "restart", fail="cuInit:all:803", is_quick=True),
    "no GPU": Planted("libraries", "driver", "cuDeviceGetCount", "CUDA_VISIBLE_DEVICES", environment={"ST_STANDIN_GPUS": "0"}),
    "a GPU that is too old": Planted("libraries", "driver", "cuDeviceGetAttribute", "compute capability 8.0", fail="capability:all:70",
                                     is_quick=True),
    "a glibc that is too old": Planted("libraries", "glibc", "GLIBC_2.99", "glibc 2.99 or newer",
                                       change=change_manifest(lambda manifest: manifest.update(glibc="2.99"))),
    "an older driver": Planted("loop", "f32", "cuModuleLoadDataEx", "580 or newer", fail="cuModuleLoadDataEx:1:209", state="fallback",
                               is_quick=True),
    "the runner is damaged": Planted("libraries", "runner", "reading the program", "copy the bundle", change=damage("runner.gz")),
    "kernels are refused": Planted("loop", "f32", "cuModuleLoadDataEx", "no image of the kernels", fail="cuModuleLoadDataEx:all:209"),
    "an illegal address": Planted("loop", "f32", "cuLaunchKernel of kernel loop_0", "compute-sanitizer", fail="loop_0:all:700", is_quick=True,
                                  more="with --sync: .*loop_0.* rank 0"),
    "a kernel that never ends": Planted("loop", "f32", "cuLaunchKernel of kernel loop_0", "hangs", fail="loop_0:all:-1",
                                       flags=("--seconds=15",), more="with --sync: no end within .*waiting for kernel loop_0"),
    "no memory": Planted("loop", "f32", "cuMemAlloc_v2", "nvidia-smi", fail="cuMemAlloc_v2:1:2"),
    "a wrong product": Planted("product", "bf16", "cublasLtMatmul", "version", fail="product:all:100", is_quick=True),
    "a product fails": Planted("product", "bf16", r"cublasLtMatmul \(status 13\)", "CUBLASLT_LOG_LEVEL",
                               fail="cublasLtMatmul:all:13"),
    "cuBLASLt does not start": Planted("product", "f32", "cublasLtCreate", "driver 580", fail="cublasLtCreate:all:1"),
    "no algorithm for an epilogue": Planted("epilogues", "GELU_BIAS f32", "cublasLtMatmulAlgoGetHeuristic", "CUBLASLT_LOG_LEVEL",
                                            fail="epilogue36:all:15", state="fallback", is_quick=True),
    "a program is damaged": Planted("gpt2-f32", "1 step", "reading the program", "copy the bundle",
                                    change=damage("programs/sm_90/gpt2-f32.gz"), is_quick=True),
    "capturing fails": Planted("gpt2-f32", "5 steps", "cuStreamBeginCapture|cuStreamEndCapture", "--trace",
                               fail="cuStreamEndCapture:all:901", state="fallback", is_quick=True),
    "a graph cannot be prepared": Planted("gpt2-f32", "5 steps", "cuGraphInstantiate", "--trace",
                                          fail="cuGraphInstantiateWithFlags:all:2", state="fallback"),
    "a graph cannot be launched": Planted("gpt2-f32", "2 steps", "cuGraphLaunch", "--graphs=off", fail="cuGraphLaunch:all:999",
                                          more="with --sync it runs"),
    "wrong losses from the first step": Planted("gpt2-f32", "1 step", "first step", "--attention=generated", change=shift_loss(1)),
    "wrong losses of a replay": Planted("gpt2-f32", "5 steps", r"from step 5 on", "--graphs=off", change=shift_loss(5),
                                        is_quick=True),
    "cuDNN has no engine": Planted("attention", "cuDNN", "attention", "CUDNN_LOGLEVEL_DBG", environment={"ST_STANDIN_CUDNN": "none"},
                                   state="fallback"),
    "a plan of cuDNN does not run": Planted("attention", "cuDNN", "cuDNN, attention", "--attention=generated|CUDNN_LOGLEVEL",
                                            fail="cudnnBackendExecute:all:5000", state="fallback"),
    "compute-sanitizer finds an error": Planted("sanitizer", "memcheck, GPT-2 f32", "Invalid __global__ write .*loop_0", "block and thread",
                                                change=place_program("compute-sanitizer", SANITIZER)),
    "a kernel of one op fails": Planted("conformance", "reductions, f32", "cuLaunchKernel of kernel loop_0", "compute-sanitizer", fail="loop_0:all:700"),
    "NCCL does not join": Planted("ranks", "2 replicas", "NCCL, joining a group", "NCCL_DEBUG", fail="ncclCommInitRankConfig:all:1",
                                  environment={"ST_STANDIN_GPUS": "2"}),
    "BERT-large does not fit": Planted("bert-large", "8 x 32", "cuMemAlloc_v2", "micro-batch", fail="cuMemAlloc_v2:1:2"),
    "no trace": Planted("bert-large", "8 x 32, dropout 0$", "writing .*trace", "--results", change=block_trace),
    "PyTorch fails": Planted("pytorch", "8 x 512, dropout 0.1$", "", "", change=place_program("python-with-torch", TORCH),
                             state="left out"),
    "the time is over": Planted("libraries", "all", "none", "--stages=libraries", flags=("--seconds=0",)),
}


def names(name):
    def check(folder):
        planted, machine = PLANTED[name], get_machine()
        bundle = None
        if planted.change:
            bundle = machine.copy_bundle()
            planted.change(bundle)
        environment = dict(planted.environment)
        if planted.fail:
            environment["ST_STANDIN_FAIL"] = planted.fail
        if planted.stage == "pytorch":
            environment["ST_TORCH"] = machine.name(bundle / "python-with-torch")
        code, rows, text = machine.check(f"--stages={planted.stage}", *planted.flags, environment=environment, bundle=bundle)
        found = [row for row in rows if row["stage"] == planted.stage and re.search(planted.row, row["row"])]
        st.expect(found and re.fullmatch(planted.state, found[0]["state"]), f"no row {planted.row} that is {planted.state}:\n{text}")
        row = found[0]
        if planted.state != "left out":
            st.expect(re.search(planted.call, row["call"]) and re.search(planted.next, row["next"]),
                      f"call {row['call']!r}, next {row['next']!r}; expected {planted.call!r}, {planted.next!r}:\n{text}")
        st.expect(re.search(planted.more, "\n".join(row.get("more", []))), f"{row.get('more')}, expected {planted.more!r}:\n{text}")
        st.expect((code == 1) == any(row["state"] == "FAILED" for row in rows), f"exit {code}:\n{text}")
        if row["state"] == "FAILED":
            st.expect(f"first failure: stage {planted.stage}, " in text, text)
            st.expect(pathlib.Path(row["log"]).name.endswith(f"-{planted.stage}.log"), str(row))
        if bundle:
            shutil.rmtree(bundle)
        return row.get("call") or row["result"]
    return check


# ---- without failures ---------------------------------------------------------------------------


def runs_whole(folder):
    """All rows are correct, and the files agree with the terminal."""
    machine = get_machine()
    code, rows, text = machine.check()
    states = {state: [row for row in rows if row["state"] == state] for state in ("ok", "left out")}
    st.expect(code == 0 and len(rows) == sum(map(len, states.values())), text)
    stages = {row["stage"] for row in states["ok"]}
    wanted = {"libraries", *SMALL_STAGES.split(",")} | ({"gpt2-bf16", "attention", "conformance", "ranks", "bert-large"}
                                                        if IS_WHOLE else set())
    st.expect(stages == wanted, f"{stages}:\n{text}")
    if not machine.why_not:
        st.expect({row["stage"] for row in states["left out"]} == {"sanitizer", "pytorch"}, text)
    results = machine.folder / f"results-{machine.turn}"
    st.expect((results / "table.txt").read_text() in text and (results / "00-libraries.log").stat().st_size > 100, text)
    where = "an empty environment" if machine.why_not else "a bare root"
    return f"{len(states['ok'])} rows in {where}, {re.search(r'in ([0-9]+ s)', text)[1]}"


def needs_bare_root(folder):
    """The root has none of St's build dependencies and no Python packages."""
    machine = get_machine()
    if machine.why_not:
        return f"skipped: the root cannot be changed: {machine.why_not}"
    code = "import importlib.util as u, shutil; print([n for n in ('numpy', 'safetensors') if u.find_spec(n)], " \
           "[n for n in ('gcc', 'clang', 'ld', 'ptxas', 'nvidia-smi') if shutil.which(n)])"
    done = machine.root.run(["python3", "-c", code])
    st.expect(done.stdout.strip() == "[] []", done.stdout + done.stderr)
    runner = machine.root.folder / "tmp/runner"
    shutil.copy(st.BIN / "st-runner", runner)
    done = machine.root.run(["/tmp/runner", "--help"])
    st.expect(done.returncode == 0, f"the runner does not start: {done.stderr}")
    return f"{sum(1 for path in machine.root.folder.glob('usr/**/*.so*'))} libraries"


def keeps_to_its_time(folder):
    """The limits of all stages and of the diagnostic runs are within 8 minutes."""
    machine = get_machine()
    listed = st.check_run(["bash", machine.folder / "bundle/gpu-check.sh", "--list"]).stdout
    limits = [int(seconds) for seconds in re.findall(r"^\S+ +(\d+) s ", listed, re.M)]
    reruns = (st.ROOT / "scripts/gpu_check/programs.py").read_text()
    whole = sum(limits) + 2 * int(re.search(r"RERUN_SECONDS = (\d+)", reruns)[1])
    st.expect(len(limits) == 12 and whole <= 480, f"{limits}: {whole} s")
    return f"{whole} s"


def compares(folder):
    """Tensors are compared with bounds as in the conformance suite. The check finds exactly the planted differences."""
    import ml_dtypes
    import numpy as np
    from safetensors.numpy import save_file

    import tensors  # scripts/gpu_check
    from conformance_bounds import Scaled, Ulps, describe_difference

    rng = np.random.default_rng(0)
    count = {True: 0, False: 0}
    for dtype in (np.float64, np.float32, np.float16, ml_dtypes.bfloat16, np.int32, np.uint8, np.bool_):
        for turn in range(60):
            is_float = dtype not in (np.int32, np.uint8, np.bool_)
            wanted = (rng.standard_normal(24) * 4 if is_float else rng.integers(0, 2, 24)).astype(dtype)
            if is_float:
                wanted[:5] = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], dtype)
            found, at = wanted.copy(), rng.integers(0, 24)
            if turn % 6 == 1 and is_float:
                found[at] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0])
            elif turn % 6 == 2:
                found[at] = dtype(1) if is_float else not found[at]
            elif turn % 6 > 2 and is_float:  # Some units in the last place.
                found.view(f"u{found.dtype.itemsize}")[at] += rng.integers(1, 6)
            most = int(rng.integers(0, 5))
            bound = Ulps(most) if turn % 2 else Scaled(most)
            with np.errstate(invalid="ignore"):
                expected = describe_difference(found, wanted, bound, 4.0)
            save_file({"found": found, "wanted": wanted}, folder / "t")
            read = tensors.read(folder / "t")
            _, why = tensors.compare(read["found"], read["wanted"], ["ulps", most] if turn % 2 else ["scaled", most, 4.0])
            st.expect(bool(expected) == bool(why), f"{wanted.dtype}, {bound}: {expected} and {why}")
            count[bool(why)] += 1
    st.expect(min(count.values()) > 50, str(count))
    return f"{count[True]} of {sum(count.values())} differ"


def is_old_python(folder):
    """Python 3.8 can parse it."""
    files = sorted((st.ROOT / "scripts/gpu_check").glob("*.py"))
    for path in files:
        ast.parse(path.read_text(), str(path), feature_version=(3, 8))
    return f"{len(files)} files"


def refuses(folder):
    """An invalid bundle or folder gives one line."""
    check = st.ROOT / "scripts/gpu-check.sh"
    done = st.run(["bash", check, f"--bundle={folder}"])
    st.expect(done.returncode == 1 and "bundle.json: " in done.stderr and done.stderr.count("\n") == 1, done.stderr)
    (folder / "bundle.json").write_text('{"format": 99}')
    done = st.run(["bash", check, f"--bundle={folder}"])
    st.expect(done.returncode == 1 and "format is 99, expected 1" in done.stderr, done.stderr)
    done = st.run([sys.executable, "-B", st.ROOT / "scripts/gpu_bundle", folder, "--standins", f"--build={st.BIN.parent}"])
    st.expect(done.returncode == 1 and "expected a folder that is empty or not there" in done.stderr, done.stderr)


CASES = [("all stages", runs_whole), ("a bare root", needs_bare_root), ("limits", keeps_to_its_time), ("bounds", compares), ("Python 3.8", is_old_python),
         ("no bundle", refuses)]
CASES += [(name, names(name)) for name, planted in PLANTED.items() if IS_WHOLE or planted.is_quick]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
