"""Streams of a cluster run concurrently, and only semaphores and barriers order them.

In other orders that these allow, a step gives the same results to the last bit: no wait is missing. The models are
large enough for products that share panels in L2, and the layouts use every collective.
"""

import pathlib
import sys

import numpy as np
from safetensors.numpy import save_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from st_programs import random_batch, random_parameters, signature

SHUFFLES = 4
BERT = st.SMALL_BERT | {"hidden_size": 512, "num_hidden_layers": 2, "intermediate_size": 1024,
                        "max_position_embeddings": 384}
GPT2 = st.SMALL_GPT2 | {"n_embd": 256, "n_layer": 4, "n_positions": 256}


def step_inputs(program):
    """Random values of all inputs of a step."""
    values = random_parameters(program, 3) | random_batch(program, 4)
    for argument in signature(program)[0]:
        if argument.role in ("optimizer_state", "key", "scalar"):
            fill = 0 if argument.role == "optimizer_state" else 1
            values[argument.name] = np.full(argument.shape, fill, argument.dtype)
    return values


def order_does_not_matter(config, task, batch, seq, layout, *flags):
    def run(folder):
        model = st.write_json(folder / "model/config.json", config).parent
        parallel = st.write_json(folder / "parallel.json", layout)
        st.check_run([st.BIN / "st-compile", "-q", model, f"--task={task}", f"--batch={batch}", f"--seq={seq}",
                      f"--parallel={parallel}", "--target=dtu-t10", *flags, f"--dump-phases-to={folder / 'phases'}",
                      "-o", folder / "m.bin"])
        phases = {path.stem.split("-")[1]: path for path in (folder / "phases").iterdir()}
        save_file(step_inputs(phases["optimizer"]), folder / "inputs.safetensors")
        done = st.run([st.BIN / "st-dtu-run", phases["planned"], f"--shuffles={SHUFFLES}",
                       f"--inputs={folder / 'inputs.safetensors'}", f"--outputs={folder / 'outputs.safetensors'}"])
        st.expect(done.returncode == 0, done.stderr[-500:])
        return f"{SHUFFLES} other orders"
    return run


CASES = [
    ("bert span, 1x1", order_does_not_matter(BERT, "span", 1, 384, st.layout(1, 1))),
    ("bert span, 2x4", order_does_not_matter(BERT, "span", 1, 384, st.layout(2, 4))),
    ("bert mlm, 1x8, contracted", order_does_not_matter(BERT, "mlm", 1, 256, st.layout(1, 8, dim=0))),
    ("bert mlm, 2x2 hybrid, 2 micro-batches, clipping", order_does_not_matter(
        BERT, "mlm", 4, 128, st.layout(2, 2, mode="hybrid", accum=2), "--clip-norm=1")),
    ("gpt2 clm, 4x2, contracted", order_does_not_matter(GPT2, "clm", 1, 256, st.layout(4, 2, dim=0))),
    ("gpt2 clm, 2x2, zb-v", order_does_not_matter(
        GPT2, "clm", 4, 128, st.layout(2, 2, mode="hybrid", accum=4) | {"schedule": "zb-v"})),
    ("gpt2 clm, 2x2, 4 micro-batches, stashes on the host", order_does_not_matter(
        GPT2, "clm", 4, 128, st.layout(2, 2, mode="hybrid", accum=4) | {"offload": True})),
    ("gpt2 clm, 4x1 pipelined, 4 micro-batches, sgd", order_does_not_matter(
        GPT2, "clm", 4, 128, st.layout(4, 1, mode="pipeline", accum=4), "--optimizer=sgd")),
]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
