"""Every phase prints IR that st-opt verifies, and compilation can continue from it to the same binary. A pass or a
continued compilation with IR of another phase gives one line."""

import functools
import pathlib
import sys
import tempfile

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st

FOLDER = tempfile.TemporaryDirectory(prefix="st-phases-")

PHASES = ["import", "precision", "differentiate", "optimizer", "configured", "propagated", "staged", "resharded", "local",
          "tasks", "scheduled", "kernels", "planned", "dtu"]

MODELS = {
    "bert": (dict(st.SMALL_BERT, hidden_size=32, num_hidden_layers=4, num_attention_heads=4, intermediate_size=64,
                  vocab_size=300), "mlm"),
    "gpt2": (dict(st.SMALL_GPT2, n_embd=32, n_layer=4, n_head=4, vocab_size=300), "clm"),
}


OPTIMIZER = ["--optimizer=adamw", "--clip-norm=1.0"]


@functools.cache
def compiled_directly(model, precision):
    """The binary of a compilation without a stop; its configuration and parallel file are in the folder of its stem."""
    config, task = MODELS[model]
    parallel = st.layout(2, 2, mode="hybrid", accum=2) | ({"precision": precision} if precision else {})
    return st.compile_model(pathlib.Path(FOLDER.name), f"{model}-{precision or 'f32'}", config, task, parallel, "--predict", *OPTIMIZER)


def phase_case(model, phase, precision=None):
    def check(folder):
        direct, flags = compiled_directly(model, precision), OPTIMIZER
        parallel = f"--parallel={direct.with_suffix('') / 'parallel.json'}"
        command = [*st.COMPILE, direct.with_suffix(""), f"--task={MODELS[model][1]}", "--batch=4", "--seq=32",
                   "--target=dtu-t10", parallel, *flags]
        ir = folder / "phase.mlir"
        st.check_run([*command, f"--compile-to={phase}", "-o", ir])
        st.check_run([st.BIN / "st-opt", ir, "-o", folder / "verified.mlir"])
        # The option that earlier phases read and later ones do not is the parallel file.
        resume = [*st.COMPILE, ir, f"--compile-from={phase}", "-o", folder / "resumed.bin"]
        if PHASES.index(phase) < PHASES.index("configured"):
            resume.append(parallel)
        if PHASES.index(phase) < PHASES.index("optimizer"):
            resume += flags
        if PHASES.index(phase) < PHASES.index("configured"):
            resume.append("--target=dtu-t10")
        st.check_run(resume)
        st.expect(direct.read_bytes() == (folder / "resumed.bin").read_bytes(), "the continued binary differs")
        return f"{ir.stat().st_size // 1024} KiB of IR"

    return f"{model} {phase} {precision or ''}".strip(), check


# The phases where each pass has work to do. It must refuse the IR of any other phase, except those of UNCHANGED.
FORWARD = PHASES[:4]
RUNS_ON = {
    "assign-precision": ["import", "precision"],
    "scale-loss": ["import", "precision"],
    "differentiate": ["import", "precision"],
    "widen-sums": [],
    "narrow-residuals": ["differentiate"],
    "add-optimizer": ["differentiate"],
    "apply-parallel-config": ["import", "precision", "optimizer"],
    "propagate-shardings": ["configured"],
    "assign-stages": ["propagated"],
    "insert-reshards": ["propagated", "staged"],
    "global-to-local": ["resharded"],
    "split-tasks": ["local"],
    "rematerialise": [],
    "schedule-pipeline": ["tasks"],
    "form-kernels": ["tasks", "scheduled"],
    "overlap-products": [],
    "overlap-collectives": [],
    "offload-stash": [],
    "plan-memory": ["kernels"],
    "convert-to-dtu": ["planned"],
    "combine-collectives": [],
    "reuse-accumulators": [],
    "simplify-collectives": [],
    "verify-dtu-order": [],
    "verify-memory-plan": [],
    "expand-branches": [],
    "pad-dimensions": [],
    "expand-ops": [],
    "import-shardings": [],
    "infer-roles": [],
    "inline-calls": [],
    "inline-custom-gradients": [],
    "mark-blocks": [],
    "remove-dead-state": [],
    "simplify": ["import", "precision", "differentiate", "optimizer"],
    "unroll-loops": [],
    "unstack-state": [],
}
# Passes without work: a model's front end prints the IR that passes make of other tools' programs.
UNCHANGED = {
    "expand-branches": PHASES[:5],
    "widen-sums": ["differentiate"],
    "insert-reshards": ["resharded"],
    "pad-dimensions": ["configured"],
    "simplify-collectives": ["local"],
    "combine-collectives": ["tasks", "scheduled"],
    "reuse-accumulators": ["tasks", "scheduled"],
    "rematerialise": ["tasks"],
    "schedule-pipeline": ["scheduled", "kernels"],
    "overlap-products": ["kernels"],
    "overlap-collectives": ["kernels"],
    "verify-dtu-order": ["dtu"],
    "verify-memory-plan": ["planned"],
    "offload-stash": ["kernels"],
    **{name: FORWARD for name in ["expand-ops", "import-shardings", "inline-calls", "inline-custom-gradients", "mark-blocks",
                                  "remove-dead-state", "unroll-loops", "unstack-state"]},
}


@functools.cache
def dump_phases():
    """Compiles a small model once. Returns the binary, the command's flags by the phase that reads them, and the IR
    after each phase."""
    folder = pathlib.Path(FOLDER.name)
    config = dict(MODELS["bert"][0], num_hidden_layers=2, vocab_size=96)
    model = st.write_json(folder / "m" / "config.json", config).parent
    parallel = st.write_json(folder / "parallel.json", st.layout(2, 2, mode="hybrid", accum=2))
    flags = {"import": ["--task=mlm", "--batch=4", "--seq=16"], "optimizer": ["--optimizer=adamw", "--clip-norm=1.0"],
             "configured": ["--target=dtu-t10", f"--parallel={parallel}"]}
    st.check_run([st.BIN / "st-compile", model, *sum(flags.values(), []), f"--dump-phases-to={folder / 'ir'}",
                  "-o", folder / "direct.bin"])
    return folder / "direct.bin", flags, {p: folder / "ir" / f"{i:02d}-{p}.mlir" for i, p in enumerate(PHASES)}


SPLIT = "// -----\n"


def run_on_all(path, texts, *flags):
    """Runs st-opt on several modules in one process."""
    path.write_text(SPLIT.join(texts))
    return st.run([st.BIN / "st-opt", "--split-input-file", path, *flags], timeout=300)


def printed(done, count, what):
    """The modules that st-opt has printed."""
    st.expect(done.returncode == 0, f"{what}: exit {done.returncode}: {done.stderr[-800:]}")
    parts = [part.strip() for part in done.stdout.split(SPLIT)]
    st.expect(len(parts) == count and all(parts), f"{what}: {len(parts)} modules of {count}")
    return parts


@functools.cache
def printed_again():
    """The output of st-opt for the IR of each phase."""
    dumps = dump_phases()[2]
    done = run_on_all(pathlib.Path(FOLDER.name) / "all.mlir", [ir.read_text() for ir in dumps.values()])
    return dict(zip(dumps, printed(done, len(dumps), "all phases"), strict=True))


def errors_by_module(folder, texts, *flags):
    """The errors on each of several modules. After each, st-opt reads one with an error of its own, which separates them."""
    marker = "end_of_module\n"
    done = run_on_all(folder / "refused.mlir", [text + "\n" + SPLIT + marker for text in texts], *flags)
    st.expect(done.returncode == 1, f"{flags}: exit {done.returncode}: {done.stderr[-800:]}")
    lines = [line for line in done.stderr.splitlines() if "error:" in line]
    ends = [i for i, line in enumerate(lines) if "'end_of_module'" in line]
    complete = len(ends) == len(texts) and ends[-1] == len(lines) - 1
    st.expect(complete, f"{len(ends)} ends of {len(texts)} modules: {done.stderr[-800:]}")
    return [lines[first + 1:end] for first, end in zip([-1, *ends], ends)]


def refused(done, what):
    """One line with the error, and exit 1."""
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    st.expect(done.returncode == 1 and len(errors) == 1, f"{what}: exit {done.returncode}: {done.stderr[-800:]}")
    return errors[0]


def pass_case(name):
    def check(folder):
        dumps = dump_phases()[2]
        accepts = [phase for phase in dumps if phase in RUNS_ON[name] + UNCHANGED.get(name, [])]
        refuses = [phase for phase in dumps if phase not in accepts]
        found = errors_by_module(folder, [dumps[phase].read_text() for phase in refuses], f"--{name}")
        for phase, errors in zip(refuses, found, strict=True):
            st.expect(len(errors) == 1, f"{name} on {phase}: errors {errors}")
            st.expect(any(word in errors[0] for word in ["expected", "found", "run "]), f"{name} on {phase}: {errors[0]}")
        if accepts:
            done = run_on_all(folder / "accepted.mlir", [dumps[phase].read_text() for phase in accepts], f"--{name}")
            texts = printed(done, len(accepts), name)
            printed(run_on_all(folder / "again.mlir", [text + "\n" for text in texts]), len(accepts), f"{name}, read again")
            for phase, text in zip(accepts, texts, strict=True):
                same = text == printed_again()[phase]
                st.expect(same == (phase not in RUNS_ON[name]), f"{name} on {phase}: {'unchanged' if same else 'changed'}")
        return f"refuses {len(refuses)} of {len(PHASES)}"

    return f"pass {name}", check


def claim_case(claimed):
    """A continued compilation makes the same binary, or reports that the IR is of another phase."""
    def check(folder):
        direct, flags, dumps = dump_phases()
        same = []
        for actual, ir in dumps.items():
            output = folder / "resumed.bin"
            output.unlink(missing_ok=True)
            unread = [flag for reader, some in flags.items() if PHASES.index(reader) > PHASES.index(claimed)
                      for flag in some]
            done = st.run([st.BIN / "st-compile", ir, f"--compile-from={claimed}", *unread, "-o", output], timeout=120)
            if done.returncode == 0:
                st.expect(output.read_bytes() == direct.read_bytes(), f"{actual} as {claimed}: another binary")
                same.append(actual)
            else:
                refused(done, f"{actual} as {claimed}")
                st.expect(not output.exists(), f"{actual} as {claimed}: left an output behind")
        st.expect(claimed in same, f"{claimed} is refused as itself")
        return "same binary from " + ", ".join(same)

    return f"claim {claimed}", check


def contradiction(folder):
    """A flag that contradicts the module is an error, not a silent change."""
    config, task = MODELS["bert"]
    model = st.write_json(folder / "m" / "config.json", config).parent
    st.check_run([*st.COMPILE, model, f"--task={task}", "--batch=4", "--seq=32", "--target=dtu-t10",
                  "--compile-to=planned", "-o", folder / "planned.mlir"])
    done = st.run([*st.COMPILE, folder / "planned.mlir", "--compile-from=planned", "--batch=8",
                   "-o", folder / "x.bin"])
    st.expect(done.returncode == 1 and "batch" in done.stderr, f"exit {done.returncode}: {done.stderr[-500:]}")
    st.expect(not (folder / "x.bin").exists(), "left an output behind")


if __name__ == "__main__":
    phases = [*[phase_case(m, p) for m in MODELS for p in PHASES], *[phase_case("gpt2", p, "f16") for p in PHASES]]
    sys.exit(st.main(*st.drawn_part(phases, 3), *[pass_case(name) for name in RUNS_ON],
                     *[claim_case(p) for p in PHASES], ("contradicting flag", contradiction)))
