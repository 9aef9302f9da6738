"""Finds the call that failed, and the next thing to try, from the output of a run."""

import re


class Diagnosis:
    """`more` has the lines of a second run."""

    def __init__(self, call, next_, more=()):
        self.call, self.next, self.more = call, next_, list(more)


PIP = "pip install nvidia-%s-cu13 (or -cu12) for the python3 that this check finds, or name its folder in LD_LIBRARY_PATH"
PACKAGES = {"libcublasLt": "cublas", "libcudnn": "cudnn", "libnccl": "nccl", "cublasLt": "cublas", "cudnn": "cudnn", "nccl": "nccl"}
DRIVER = ("install NVIDIA's driver, or start the container with `--gpus all` and NVIDIA's container toolkit; then `nvidia-smi` "
          "lists the GPU")
SANITIZER = "compute-sanitizer on the same command (see the log) names the access; --sync names the kernel"
ASYNCHRONOUS = "a kernel before the call that reports it (cuLaunchKernel)"
GRAPHS = "run the same command with --graphs=off; if it passes, launches work and only recording them does not"
GENERATED = "run the same command with --attention=generated: if it passes, cuDNN's plan is at fault"

# The next thing to try, by the driver's error number in brackets after a message.
DRIVER_NEXT = {
    2: "free memory of the GPU (`nvidia-smi` lists who has it), or take a smaller micro-batch",
    3: "the driver was not started: see the libraries stage",
    100: "no GPU is visible: check `nvidia-smi`, CUDA_VISIBLE_DEVICES, and the container's --gpus",
    200: "the image of the kernels is refused: the driver is older than CUDA 13; update it to 580 or newer",
    209: "no image of the kernels is for this GPU: make a bundle with --chips of its compute capability",
    222: "the driver is too old for the PTX: update it",
    218: "the driver's compiler refuses the PTX: the log has its message",
    700: SANITIZER,
    701: "a kernel asks for more registers or threads than a block may have: the log has its name with --sync",
    716: SANITIZER,
    719: SANITIZER,
    802: "the GPUs' fabric is not set up: `systemctl status nvidia-fabricmanager`",
    803: "the driver's library and its kernel module differ in version: restart the machine or the container",
    999: "`dmesg | grep -i -e nvrm -e xid` says what the kernel module has against it",
}

# Pattern of a message -> the call that failed, and the next thing to try; \1 is a group of the pattern. The first match
# counts.
RULES = [
    (r"(libcuda\.so\.1)(?:: | is missing| cannot be opened)", r"dlopen(\1)", DRIVER),
    (r"(lib(cublasLt|cudnn|nccl)[\w.]*)(?: is missing| cannot be opened)", r"dlopen(\1)", "pip"),
    (r"(lib[\w.]+) has no (\w+): it is too old", r"dlsym(\2) in \1", "install a newer \\1"),
    (r"(lib[\w.]+): expected version ([\d.]+) or later, found ([\d.]+)", r"version of \1", r"install \1 of version \2 or newer; \3 is too old"),
    (r"starting NVIDIA's driver failed", "cuInit", DRIVER),
    (r"this machine has none", "cuDeviceGetCount", DRIVER_NEXT[100]),
    (r"the program is for (sm_\d+), and GPU \d+ of this machine is (sm_\d+)", "cuDeviceGetAttribute (compute capability)",
     r"take a GPU of at least \1, or make a bundle with --chips=\2"),
    (r"opening a GPU failed", "cuDevicePrimaryCtxRetain", "`nvidia-smi` shows whether another process has the GPU for itself"),
    (r"loading kernels failed", "cuModuleLoadDataEx", "update the driver to 580 or newer, whose CUDA 13 the cubins are for"),
    (r"finding a kernel failed", "cuModuleGetFunction", "make the bundle again: kernels and images do not fit"),
    (r"allocating memory of a GPU failed", "cuMemAlloc_v2", DRIVER_NEXT[2]),
    (r"allocating pinned memory of the host failed", "cuMemAllocHost_v2", "`ulimit -l unlimited`, or free memory of the host"),
    (r"clearing memory of a GPU failed", "cuMemsetD8", "--sync names the command before it"),
    (r"(?:recording|capturing) a graph[^\n]* failed", "cuStreamBeginCapture or cuStreamEndCapture", GRAPHS),
    (r"preparing a graph failed", "cuGraphInstantiateWithFlags", GRAPHS),
    (r"(?:running|launching) a graph failed", "cuGraphLaunch", GRAPHS),
    (r"cuBLASLt cannot start", "cublasLtCreate", "compare the versions in the libraries stage: cuBLASLt 13 needs driver 580"),
    (r"cuBLASLt: choosing an algorithm[^\n]*failed \(status (\d+)\)", r"cublasLtMatmulAlgoGetHeuristic (status \1)",
     "CUBLASLT_LOG_LEVEL=5 prints the layouts that were asked for; compile without this epilogue if it has no algorithm"),
    (r"cuBLASLt has no algorithm", "cublasLtMatmulAlgoGetHeuristic",
     "CUBLASLT_LOG_LEVEL=5 prints the layouts that were asked for; compile without this epilogue if it has no algorithm"),
    (r"cuBLASLt: a product failed \(status (\d+)\)", r"cublasLtMatmul (status \1)",
     "CUBLASLT_LOG_LEVEL=5 prints the call; remove ~/.cache/st, which keeps the algorithms that were chosen"),
    (r"cuBLASLt: ([^\n(]+) failed \(status (\d+)\)", r"cuBLASLt, \1 (status \2)", "CUBLASLT_LOG_LEVEL=5 prints the call"),
    (r"cuDNN: ([^\n(]+) failed \(status (\d+)\)", r"cuDNN, \1 (status \2)", "CUDNN_LOGLEVEL_DBG=3 prints the call; " + GENERATED),
    (r"NCCL: ([^\n:]+) failed: ([^\n]+) \(\d+\)", r"NCCL, \1: \2",
     "NCCL_DEBUG=INFO prints what it tries; NCCL_P2P_DISABLE=1 and NCCL_SHM_DISABLE=1 take other ways"),
    (r"damaged training binary|SHA-256|no training program at the end|Not a gzipped file", "reading the program",
     "copy the bundle to this machine again, whole (tar keeps the files' modes)"),
    (r"version `(GLIBC_[\d.]+)' not found", r"the loader: \1 of libc.so.6", "take a machine or container with a newer glibc"),
    (r"cannot start: (.*)", r"exec: \1", "the bundle is for x86-64 Linux, and its folder for results must allow programs to run"),
    (r"(\S+): cannot (?:write|create|open)(?::? ([^\n]*))?", r"writing \1 (\2)", "choose a folder with space and rights by --results"),
    (r"an illegal memory access", ASYNCHRONOUS, SANITIZER),
    (r"not (?:done|complete) (?:for|after)|waited in vain", "an exchange between ranks", "NCCL_DEBUG=INFO; --watchdog=SECONDS to wait longer"),
]

# Lines of successful runs that did not use the first choice: pattern, call, next thing to try.
FALLBACKS = [
    (r"^graphs: \d+ of \d+ cannot be captured[^\n]*", None, "the stages before ran these commands one by one; see how the driver "
     "refuses them: run the command of the log with --trace=FILE, which names them"),
    (r"^GPU \d+ copies rows one by one[^\n]*", "cuMemcpy2DAsync_v2", "nothing is wrong; report the pitch that the driver refuses"),
    (r"^GPU \d+: the driver compiles PTX[^\n]*", "cuModuleLoadDataEx", "update the driver to 580 or newer, whose CUDA 13 the "
     "cubins are for; until then each start compiles kernels"),
    (r"^attention: (?![^\n]*not compared)[^\n]*generated kernels[^\n]*", None, "CUDNN_LOGLEVEL_DBG=3 prints why cuDNN has no engine for this graph"),
    (r"^products: [^\n]*(?:separate kernels: |not timed: )[^\n]*", None, "CUBLASLT_LOG_LEVEL=5 prints the layouts that were "
     "asked for"),
]


def find_fallback(text, allowed=()):
    """(the line, Diagnosis) of the first choice that a run did not use, except for those that were requested, or
    None."""
    for pattern, call, next_ in FALLBACKS:
        for match in re.finditer(pattern, text, re.M):
            line = match.group(0)
            if not any(word in line for word in allowed):
                known = of_text(line)
                return line, Diagnosis(call or (known.call if known else line), next_)
    return None


def last_error(text):
    lines = [line for line in text.splitlines() if "error" in line.lower()]
    return (lines or text.splitlines() or ["nothing was printed"])[-1].strip()


def of_text(text):
    """Applies the rules; None if no rule matches the text."""
    line = last_error(text)
    for where in (line, text):
        for pattern, call, next_ in RULES:
            match = re.search(pattern, where)
            if not match:
                continue
            if next_ == "pip":
                next_ = PIP % PACKAGES["lib" + match.group(2)]
            number = re.search(r"\((\d+)\)", line)
            next_ = match.expand(next_) if "\\" in next_ else next_
            if number and next_ not in (GRAPHS, DRIVER):
                next_ = DRIVER_NEXT.get(int(number.group(1)), next_)
            return Diagnosis(match.expand(call) if "\\" in call else call, next_)
    number = re.search(r"failed: [^\n]* \((\d+)\)", line)
    if number:
        return Diagnosis(line.split("error: ")[-1], DRIVER_NEXT.get(int(number.group(1)), "see the log"))
    return None


def of_outcome(outcome):
    """Diagnoses a run that failed."""
    if outcome.code is None:
        lines = [line for line in outcome.text.splitlines() if line.strip()]
        return Diagnosis("%s; last line: %s" % (outcome.describe(), lines[-1] if lines else "none"),
                         "a kernel or a wait hangs: --sync names the command; `nvidia-smi` and `dmesg | grep -i xid` show the GPU")
    known = of_text(outcome.text)
    if known:
        return known
    if outcome.code < 0:
        return Diagnosis("%s, in a library or the runner" % outcome.describe(),
                         "run the command of the log under `gdb --args`, or with --sync, which names the last command")
    return Diagnosis(last_error(outcome.text).split("error: ")[-1], "see the log; the command is in it")
