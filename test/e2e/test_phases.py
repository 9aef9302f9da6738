"""No point of the road is skipped: every phase prints IR that st-opt verifies, and continues to the same binary."""

import sys

import st_testing as st

PHASES = ["import", "differentiate", "optimizer", "configured", "propagated", "staged", "resharded", "local",
          "tasks", "scheduled", "kernels", "planned", "dtu"]

MODELS = {
    "bert": (dict(st.SMALL_BERT, hidden_size=32, num_hidden_layers=4, num_attention_heads=4, intermediate_size=64,
                  vocab_size=300), "mlm"),
    "gpt2": (dict(st.SMALL_GPT2, n_embd=32, n_layer=4, n_head=4, vocab_size=300), "clm"),
}


def phase_case(model, phase):
    def check(folder):
        config, task = MODELS[model]
        flags = ["--optimizer=adamw", "--clip-norm=1.0"]
        parallel = st.layout(2, 2, mode="hybrid", accum=2)
        direct = st.compile_model(folder, "direct", config, task, parallel, *flags)
        command = [*st.COMPILE, folder / "direct", f"--task={task}", "--batch=4", "--seq=32",
                   "--target=dtu-t10", f"--parallel={folder / 'direct' / 'parallel.json'}", *flags]
        ir = folder / "phase.mlir"
        st.check_run([*command, f"--compile-to={phase}", "-o", ir])
        st.check_run([st.BIN / "st-opt", ir, "-o", folder / "verified.mlir"])
        # The option that earlier phases read and later ones do not is the parallel file.
        resume = [*st.COMPILE, ir, f"--compile-from={phase}", "-o", folder / "resumed.bin"]
        if PHASES.index(phase) < PHASES.index("configured"):
            resume.append(f"--parallel={folder / 'direct' / 'parallel.json'}")
        if PHASES.index(phase) < PHASES.index("optimizer"):
            resume += flags
        if PHASES.index(phase) < PHASES.index("configured"):
            resume.append("--target=dtu-t10")
        st.check_run(resume)
        st.expect(direct.read_bytes() == (folder / "resumed.bin").read_bytes(), "the continued binary differs")
        return f"{ir.stat().st_size // 1024} KiB of IR"

    return f"{model} {phase}", check


def contradiction(folder):
    """A flag that contradicts what the module says is an error, not a silent change."""
    config, task = MODELS["bert"]
    model = st.write_json(folder / "m" / "config.json", config).parent
    st.check_run([*st.COMPILE, model, f"--task={task}", "--batch=4", "--seq=32", "--target=dtu-t10",
                  "--compile-to=planned", "-o", folder / "planned.mlir"])
    done = st.run([*st.COMPILE, folder / "planned.mlir", "--compile-from=planned", "--batch=8",
                   "-o", folder / "x.bin"])
    st.expect(done.returncode == 1 and "batch" in done.stderr, f"exit {done.returncode}: {done.stderr[-500:]}")
    st.expect(not (folder / "x.bin").exists(), "left an output behind")


if __name__ == "__main__":
    sys.exit(st.main(*[phase_case(m, p) for m in MODELS for p in PHASES], ("contradicting flag", contradiction)))
