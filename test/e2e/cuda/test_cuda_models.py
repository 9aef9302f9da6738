"""A training step of small models through the kernels of the CUDA backend, on the host.

Each model is compiled for a GPU as far as the plan; products run on a stand-in for cuBLASLt. The reference interpreter
runs the same plan. The test compares the change of each state under plain gradient descent, and every output. A run
draws half of the cases; ST_ALL=1 takes all.
"""

import pathlib
import re
import sys

import numpy as np
from safetensors.numpy import load_file, save_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from st_programs import random_batch, random_parameters, signature

BERT = st.SMALL_BERT | {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
GPT2 = st.SMALL_GPT2 | {"n_embd": 32, "n_layer": 2, "n_head": 2}
LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32, "intermediate_size": 64,
         "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128,
         "vocab_size": 96, "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000.0}
MEGATRON_BERT = BERT | {"model_type": "megatron-bert", "vocab_size": 500, "make_vocab_size_divisible_by": 128}
MEGATRON_GPT = st.SMALL_MEGATRON_GPT | {"hidden_size": 32, "num_layers": 2, "num_attention_heads": 2}


def step_inputs(program):
    values = random_parameters(program, 3) | random_batch(program, 4)
    for argument in signature(program)[0]:
        if argument.role in ("optimizer_state", "key", "scalar"):
            values[argument.name] = np.full(argument.shape, argument.role != "optimizer_state", argument.dtype)
    return values


def moves(results, inputs):
    """The distance of each result from its value before the step, or from zero."""
    return {name: value.astype(np.float64) - (inputs[name] if name in inputs else 0) for name, value in results.items()}


def distances(found, wanted):
    """The distance of each result relative to its largest change, or to a thousandth of the largest of all: some
    gradients, such as that of a key's bias in a softmax, are zero except for rounding."""
    largest = {name: np.max(np.abs(value), initial=0) for name, value in wanted.items()}
    least = 1e-3 * max(largest.values())
    return {name: np.max(np.abs(found[name] - wanted[name]), initial=0) / max(largest[name], least) for name in found}


def check(folder, config, task, seq, recipe, bound):
    model = st.write_json(folder / "model/config.json", config).parent
    parallel = st.write_json(folder / "parallel.json", {"mode": "hybrid", "data": 1} | recipe)
    planned = folder / "planned.mlir"
    st.check_run([*st.COMPILE, "-q", model, f"--task={task}", "--batch=2", f"--seq={seq}", f"--parallel={parallel}",
                  "--target=cuda-sm_90", "--optimizer=sgd", "--compile-to=planned",
                  f"--dump-phases-to={folder / 'phases'}", "-o", planned])
    phases = {path.stem.split("-")[1]: path for path in (folder / "phases").iterdir()}
    text = planned.read_text()
    kernels = text.count('st.kernel "attention"')
    st.expect(kernels > 0, "no attention kernel")
    kept = [line.strip()[:300] for line in text.splitlines() if re.search("st.kernel|st.buffer", line)
            and re.search(rf"x{seq}x{seq}x(f32|bf16|f16|i1)>", line)]
    st.expect((recipe.get("recompute") == "none") == bool(kept), f"scores in memory: {kept}")
    inputs = step_inputs(phases["optimizer"])
    given, wanted, found = (folder / name for name in ("given", "wanted", "found"))
    save_file(inputs, given)
    st.check_run([st.BIN / "st-translate", "--interpret", planned, f"--inputs={given}", f"--outputs={wanted}"])
    st.check_run([st.BIN / "st-cuda-host-run", planned, f"--inputs={given}", f"--outputs={found}"])
    wanted, found = load_file(wanted), load_file(found)
    st.expect(found and found.keys() <= wanted.keys(), f"results {sorted(found.keys() - wanted.keys())[:5]}")
    far = distances(moves(found, inputs), moves(wanted, inputs))
    worst = max(far, key=far.get)
    st.expect(far[worst] < bound, f"{worst} is {far[worst]:.2e} of its move away, expected at most {bound}")
    return f"{kernels} attention kernels, {len(found)} results, largest distance {far[worst]:.1e}"


CASES = [
    ("bert mlm, scores kept", BERT, "mlm", 48, {"recompute": "none"}, 1e-4),
    ("bert span, ragged", BERT, "span", 37, {"recompute": "selective"}, 1e-4),
    ("gpt2 clm", GPT2, "clm", 64, {}, 1e-4),
    ("llama clm", LLAMA, "clm", 72, {}, 1e-4),
    ("llama clm, bf16", LLAMA, "clm", 72, {"precision": "bf16"}, 5e-2),
    ("megatron-bert mlm", MEGATRON_BERT, "mlm", 48, {}, 1e-4),
    ("megatron-gpt clm", MEGATRON_GPT, "clm", 64, {}, 1e-4),
    ("bert mlm, bf16", BERT, "mlm", 48, {"precision": "bf16"}, 5e-2),
    ("gpt2 clm, bf16, no dropout, several tiles",
     GPT2 | {"n_positions": 256, "n_layer": 1} | {key: 0.0 for key in GPT2 if "pdrop" in key}, "clm", 200, {"precision": "bf16"}, 5e-2),
    ("gpt2 clm, bf16", GPT2, "clm", 48, {"precision": "bf16"}, 5e-2),
    ("gpt2 clm, f16", GPT2, "clm", 40, {"precision": {"compute": "f16", "loss_scale": 1024}}, 1e-2),
]

if __name__ == "__main__":
    cases = [(name, lambda folder, case=case: check(folder, *case)) for name, *case in CASES]
    sys.exit(st.main(*st.drawn_part(cases, 2)))
