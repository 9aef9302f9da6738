"""Compares five steps of AdamW of each family with those of transformers, and loads St's checkpoints into transformers.

    python3 -m venv VENV && VENV/bin/pip install torch transformers peft numpy tokenizers safetensors
    ST_BUILD=build VENV/bin/python test/e2e/models/check_transformers.py [NAMES]

Each family trains under several layouts. Its losses are compared with those of transformers' class in float64: to 1e-5, or,
if a rounding of the first parameters changes transformers' own losses by more, to twice that. The class then loads each saved
folder, and its logits are compared with those of the class that transformers trained. Megatron-LM's models have no class, and
test_families.py compares them. With +lora after its name, a family trains adapters, PEFT loads them, and the loss of the next
batch is compared. Not a part of the tests, which do not install PyTorch.
"""

import pathlib
import sys
import tempfile

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import numpy as np
import peft
import record_families as recorded
import st_testing as st
import torch
import transformers
from families import ADAMW, BATCH, FAMILIES, LAYOUTS, OPTIMIZER, SEQ, STEPS, TARGET, batch, parameter, task_of
from safetensors.numpy import save_file
from st_programs import import_model, signature


# The matrices that get adapters.
ADAPTED = {"llama": "q_proj,v_proj,down_proj", "gpt2": "c_attn", "opt": "k_proj,fc1", "bert": "query,dense"}


def layouts_of(name, config):
    """The balance loss of a batch needs all of it, so the batch has no micro-batches."""
    if config.get("output_router_logits") and not config.get("balance_loss_per_sequence"):
        return {"one device": None, "2 stages x 2 shards": LAYOUTS["2 stages x 2 shards"] | {"accum_degree": 1}}
    return LAYOUTS


def logits_of(config, model):
    given = recorded.given_batch(config, STEPS)
    given = {name: value for name, value in given.items() if name not in ("labels", "next_sentence_label")}
    if task_of(config) == "seq2seq":
        given["decoder_input_ids"] = given["input_ids"][:, :TARGET]
    with torch.no_grad():
        outputs = model(**given)
    return (outputs.logits if "logits" in outputs else outputs.prediction_logits).numpy()


def given_tensors(arguments):
    """The first values of a program's parameters, as a checkpoint has them: a tensor for each expert."""
    tensors = {}
    for argument in arguments:
        value = parameter(argument.name, argument.shape)
        if "*" in argument.name:
            tensors |= {argument.name.replace("*", str(i)): np.ascontiguousarray(part) for i, part in enumerate(value)}
        else:
            tensors[argument.name] = value
    return tensors


def load(config, folder):
    """The class with the weights of the folder, which must be all of them."""
    kind = recorded.CLASSES[task_of(config)]
    model, info = kind.from_pretrained(folder, output_loading_info=True, dtype=torch.float64, attn_implementation="eager",
                                       experts_implementation="eager")
    wrong = {key: found for key, found in info.items() if found}
    st.expect(not wrong, f"{folder.name}: {wrong}")
    model = model.eval()
    if config.get("expert_capacity_factor"):
        for module in model.modules():
            if hasattr(module, "gate_up_proj"):
                module.register_forward_pre_hook(recorded.drop_tokens(config["expert_capacity_factor"]))
    return model


def write_inputs(folder, config, steps):
    """A folder with the first parameters, and a file of batches."""
    arguments = [a for a in signature(import_model(folder, config, task_of(config), BATCH, SEQ))[0] if a.role == "parameter"]
    given = st.write_json(folder / "hf" / "config.json", config).parent
    save_file(given_tensors(arguments), given / "model.safetensors")
    batches, data = [batch(config, i) for i in range(steps)], folder / "batches.safetensors"
    save_file({key: np.stack([values[key] for values in batches]) for key in batches[0]}, data)
    return given, data


def check(folder, name):
    config, task = FAMILIES[name], task_of(FAMILIES[name])
    model, expected = recorded.train(config)
    given, data = write_inputs(folder, config, STEPS)
    flags = [f"--label-seq={TARGET}"] if task == "seq2seq" else []
    worst = worst_logit = 0.0
    for layout, parallel in layouts_of(name, config).items():
        binary = st.compile_model(folder, layout.replace(" ", "-"), config, task, parallel, *flags, *OPTIMIZER, batch=BATCH, seq=SEQ)
        saved = folder / f"saved-{layout}"
        found = st.losses(st.train(binary, f"--lr={ADAMW['lr']}", f"--init={given}", f"--data={data}", f"--save={saved}", steps=STEPS))
        worst = max(worst, st.relative_difference(expected, found))
        ours, theirs = logits_of(config, load(config, saved)), logits_of(config, model)
        worst_logit = max(worst_logit, np.abs(ours - theirs).max() / np.abs(theirs).max())
    return worst, worst_logit, expected


def check_adapters(folder, name):
    """The difference of the losses of the batch after the training."""
    config, task = FAMILIES[name], task_of(FAMILIES[name])
    given, data = write_inputs(folder, config, STEPS + 1)
    worst = 0.0
    for layout, parallel in layouts_of(name, config).items():
        binary = st.compile_model(folder, layout.replace(" ", "-"), config, task, parallel, f"--lora=3:{ADAPTED[name]}", "--lora-alpha=6", *OPTIMIZER,
                                  batch=BATCH, seq=SEQ)
        saved, run = folder / f"saved-{layout}", [f"--lr={ADAMW['lr']}", f"--data={data}"]
        st.train(binary, *run, f"--init={given}", f"--save={saved}", steps=STEPS)
        (found,) = st.losses(st.train(binary, *run, f"--resume={saved}", steps=1))
        base = recorded.build(config)
        adapted = peft.PeftModel.from_pretrained(base, saved).double().eval()
        with torch.no_grad():
            plain, expected = (recorded.loss_of(config, model, recorded.given_batch(config, STEPS)).item()
                               for model in (recorded.build(config), adapted))
        st.expect(abs(expected - plain) > 1e-3 * plain, f"the adapters change the loss {plain} to {expected}")
        worst = max(worst, abs(found - expected) / expected)
    return worst


def spread_of(config, expected):
    """How far transformers' losses differ if the first parameters differ by a rounding to float32."""
    return max(st.relative_difference(expected, recorded.train(config, nudge)[1]) for nudge in range(4))


def main():
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    names = [name for name, config in FAMILIES.items() if config["model_type"] != "megatron-gpt"]
    names = sys.argv[1:] or names + [f"{name}+lora" for name in ADAPTED]
    failed = 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            try:
                if name.endswith("+lora"):
                    worst = check_adapters(pathlib.Path(folder), name.removesuffix("+lora"))
                    is_right = worst <= 1e-5
                    print(f"{'ok' if is_right else 'FAILED':7} {name}: loss with PEFT's adapters {worst:.0e}", flush=True)
                    failed += not is_right
                    continue
                worst, logits, expected = check(pathlib.Path(folder), name)
                spread = spread_of(FAMILIES[name], expected) if worst > 1e-5 else 0.0
                is_right = worst <= max(1e-5, 2 * spread) and logits <= 1e-4
                note = f" (rounded parameters change transformers' losses by {spread:.0e})" if spread else ""
                print(f"{'ok' if is_right else 'FAILED':7} {name}: losses {worst:.0e}, logits {logits:.0e}{note}", flush=True)
            except Exception as error:
                is_right = False
                print(f"FAILED  {name}: {error}", flush=True)
            failed += not is_right
    print(f"{len(names) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
