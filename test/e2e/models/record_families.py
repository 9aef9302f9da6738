"""Records losses and gradients of transformers' models as the references of test_families.py.

    python3 -m venv VENV && VENV/bin/pip install torch transformers numpy
    VENV/bin/python test/e2e/models/record_families.py

Computes in float64 without dropout and writes references/NAME.npz: the loss, and the gradient of each parameter.
"""

import pathlib

import numpy as np
import torch
import transformers
from families import FAMILIES, batch, parameter, task_of

FOLDER = pathlib.Path(__file__).resolve().parent / "references"
CLASSES = {"clm": transformers.AutoModelForCausalLM, "mlm": transformers.AutoModelForPreTraining}


def name_in_files(config, name):
    """The name of a parameter in a checkpoint; some classes name it differently in memory."""
    if config["model_type"] == "gpt_neox":
        return name.replace("lm_head.", "embed_out.")
    return {"lm_head.decoder.bias": "lm_head.bias", "cls.predictions.decoder.bias": "cls.predictions.bias"}.get(name, name)


def reference(config):
    """The loss and the gradients by name."""
    settings = transformers.AutoConfig.for_model(**config)
    settings._attn_implementation = "eager"
    model = CLASSES[task_of(config)].from_config(settings).double().eval()
    with torch.no_grad():
        for name, value in model.named_parameters():
            value.copy_(torch.from_numpy(parameter(name_in_files(config, name), tuple(value.shape))))
    given = {name: torch.from_numpy(value).long() for name, value in batch(config).items()}
    labels = given.pop("labels")
    if "next_sentence_label" in given:
        loss = model(**given, labels=labels).loss
    else:
        logits = model(**given).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
    loss.backward()
    gradients = {name_in_files(config, name): value.grad.numpy() for name, value in model.named_parameters()}
    return {"loss": loss.item()} | gradients


def main():
    FOLDER.mkdir(exist_ok=True)
    for name, config in FAMILIES.items():
        found = reference(config)
        np.savez_compressed(FOLDER / f"{name}.npz",
                            **{key: np.asarray(value, np.float32 if key != "loss" else np.float64) for key, value in found.items()})
        print(f"{name}: loss {found['loss']:.6f}, {len(found) - 1} gradients")
    print(f"torch {torch.__version__}, transformers {transformers.__version__}")


if __name__ == "__main__":
    main()
