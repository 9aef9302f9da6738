"""The runtime of GPUs on stand-ins of NVIDIA's libraries: the bits of `cuda-host`, whatever the order of streams.

Kernels and products are those of the host, so nothing but their order and what carries bytes between ranks can make a
difference. NVIDIA's own libraries are not tested here: scripts/gpu-check.sh does where there is a GPU.
"""

import json
import sys

import cuda_standins as standins
import st_testing as st
from test_cuda_training import BERT, GPT2, LAYOUTS, parallel

MODELS = {"bert": (BERT, "mlm"), "gpt2": (GPT2, "clm")}
STEPS = 4


def train(binary, folder, name, env=None, steps=STEPS):
    """Losses and the bytes of the checkpoint."""
    saved, metrics = folder / f"saved-{name}", folder / f"metrics-{name}"
    done = st.run([binary, f"--steps={steps}", f"--save={saved}", f"--metrics={metrics}"], env=env)
    st.expect(done.returncode == 0, f"{name}: exit {done.returncode}: {done.stderr}")
    losses = st.losses([json.loads(line) for line in metrics.read_text().splitlines()])
    return (losses, {path.name: path.read_bytes() for path in saved.iterdir()}), done.stderr


def same_bits(model, layout, gpus=8):
    def check(folder):
        config, task = MODELS[model]
        binary = st.compile_model(folder, model, config, task, layout, "--target=cuda-host", "--optimizer=adamw", "--lr=1e-3")
        expected, _ = train(binary, folder, "host")
        st.expect(len(set(expected[0])) == STEPS, f"the loss does not move: {expected[0]}")
        gpu, env = standins.for_gpu(binary)
        for seed in (1, 2):
            found, _ = train(gpu, folder, f"gpu-{seed}", {**env, "ST_STANDIN_GPUS": str(gpus), "ST_STANDIN_SEED": str(seed)})
            st.expect(found == expected, f"seed {seed}: losses {found[0]} in the place of {expected[0]}")
    return check


CASES = [("bert, f32", same_bits("bert", parallel("f32"))),
         ("gpt2, bf16, 2 micro-batches", same_bits("gpt2", parallel("bf16", accum_degree=2)))]
CASES += [(f"gpt2, f32, {name}", same_bits("gpt2", layout)) for name, layout in LAYOUTS.items()]
CASES += [(f"gpt2, f32, {name}, on one GPU", same_bits("gpt2", LAYOUTS[name], gpus=1)) for name in list(LAYOUTS)[-1:]]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
