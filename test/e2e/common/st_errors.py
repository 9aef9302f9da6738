"""Checks of error messages, and tiny models for tests of errors."""

import json
import os
import re

import st_testing as st

TINY_BERT = dict(st.SMALL_BERT, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                 vocab_size=300, max_position_embeddings=16)

TINY_LLAMA = {
    "model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 300, "max_position_embeddings": 16,
}


def expect_error(command, pattern, output=None, timeout=120):
    """The command must exit 1 with exactly one line on stderr that matches `pattern`."""
    before = sorted(os.listdir(output.parent)) if output else None
    done = st.run(command, timeout)
    text = done.stderr.strip()
    st.expect(done.returncode == 1, f"exit {done.returncode}, expected 1\n{done.stdout[-500:]}\n{text[-1500:]}")
    # Warnings and progress may come before the error, which is one line, the last.
    errors = [line for line in text.splitlines() if "error" in line]
    st.expect(len(errors) == 1, f"expected one error line, found {len(errors)}:\n{text[-1500:]}")
    st.expect(re.search(pattern, errors[0]), f"{errors[0]!r} does not match {pattern!r}")
    if output:
        st.expect(sorted(os.listdir(output.parent)) == before, f"left files behind: {os.listdir(output.parent)}")


def compile_command(folder, config=TINY_BERT, parallel=None, task="mlm", batch=2, seq=16, extra=()):
    """An st-compile command for raw texts or JSON values; returns (command, output)."""
    model = folder / "model" / "config.json"
    model.parent.mkdir(exist_ok=True)
    model.write_text(config if isinstance(config, str) else json.dumps(config))
    out = folder / "out" / "a.bin"
    out.parent.mkdir(exist_ok=True)
    command = [*st.COMPILE, model.parent, f"--task={task}", f"--batch={batch}", f"--seq={seq}",
               "--target=dtu-t10", "-o", out, *extra]
    if parallel is not None:
        file = folder / "parallel.json"
        file.write_text(parallel if isinstance(parallel, str) else json.dumps(parallel))
        command.append(f"--parallel={file}")
    return command, out
