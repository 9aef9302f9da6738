"""Records losses and gradients of transformers' models as the references of test_families.py.

    python3 -m venv VENV && VENV/bin/pip install torch transformers numpy
    VENV/bin/python test/e2e/models/record_families.py

Names of families after the command record only these. Computes in float64 without dropout and writes references/NAME.npz:
the loss, and the gradient of each parameter. Families with experts are in references/experts, those with YaRN in
references/rotary, those of Megatron-LM in references/megatron, those that classify in references/classes, those with an encoder and a decoder in references/seq2seq. For
the last, NAME-steps.npz has the losses of
five steps of AdamW, and the parameters behind them.
"""

import math
import sys

import numpy as np
import torch
import transformers
import megatron_models
from families import ADAMW, BATCH, FAMILIES, SEQ, STEPS, batch, parameter, references, task_of

CLASSES = {"clm": transformers.AutoModelForCausalLM, "mlm": transformers.AutoModelForPreTraining,
           "seq2seq": transformers.AutoModelForSeq2SeqLM, "classify": transformers.AutoModelForSequenceClassification,
           "classify-tokens": transformers.AutoModelForTokenClassification}


def name_in_files(config, name):
    """The name of a parameter in a checkpoint; some classes name it differently in memory."""
    if config["model_type"] == "gpt_neox":
        return name.replace("lm_head.", "embed_out.")
    return {"lm_head.decoder.bias": "lm_head.bias", "cls.predictions.decoder.bias": "cls.predictions.bias"}.get(name, name)


def tensors_in_files(config, name, value):
    """The tensors of a checkpoint that a parameter in memory consists of, by name; tensors of experts are stacked, and `*` stands
    for the expert's number."""
    layer, _, part = name.partition(".mlp.")
    mixtral = config["model_type"] == "mixtral"
    prefix = f"{layer}.block_sparse_moe" if mixtral else f"{layer}.mlp"
    gate, up, down = ("w1", "w3", "w2") if mixtral else ("gate_proj", "up_proj", "down_proj")
    if part == "experts.gate_up_proj":
        halves = value.chunk(2, dim=1)
        return {f"{prefix}.experts.*.{key}.weight": half for key, half in zip((gate, up), halves)}
    if part == "experts.down_proj":
        return {f"{prefix}.experts.*.{down}.weight": value}
    return {f"{prefix}.{part}" if part else name_in_files(config, name): value}


def drop_tokens(factor):
    """A hook for a mixture of experts: in each sequence an expert takes only the first tokens that choose it, as many as `factor`
    times its even share."""
    def drop(experts, inputs):
        x, index, weights = inputs
        chosen = torch.nn.functional.one_hot(index.view(BATCH, SEQ, -1), experts.num_experts)
        earlier = chosen.sum(2).cumsum(1) - chosen.sum(2)
        capacity = math.ceil(factor * SEQ * index.shape[-1] / experts.num_experts)
        fits = (chosen * (earlier < capacity)[:, :, None]).sum(-1)
        return x, index, weights * fits.view(weights.shape)
    return drop


def balance_of_sequences(settings, outputs):
    """The mean of the balance losses of batches of one sequence."""
    function = transformers.models.mixtral.modeling_mixtral.load_balancing_loss_func
    layers = [logits.view(BATCH, SEQ, -1) for logits in outputs.router_logits]
    return sum(function(tuple(layer[i] for layer in layers), settings.num_local_experts, settings.num_experts_per_tok)
               for i in range(BATCH)) / BATCH


def z_loss(outputs):
    """transformers' own, of the tokens of all layers."""
    layers = getattr(outputs, "router_logits", None)
    function = transformers.models.switch_transformers.modeling_switch_transformers.router_z_loss_func
    return function(torch.cat(layers)[None]) if layers else 0.0


def build(config):
    """The model with the values of its parameters."""
    config = dict(config)
    capacity = config.pop("expert_capacity_factor", None)
    for key in ("balance_loss_per_sequence", "router_z_loss_coef"):
        config.pop(key, None)
    settings = transformers.AutoConfig.for_model(**config)
    settings._attn_implementation = settings._experts_implementation = "eager"
    model = CLASSES[task_of(config)].from_config(settings).double().eval()
    if config["model_type"] == "t5" and not config.get("tie_word_embeddings", True):
        # The class ties them, unless a checkpoint has both.
        model.lm_head.weight = torch.nn.Parameter(torch.zeros_like(model.lm_head.weight))
    with torch.no_grad():
        for name, value in model.named_buffers():
            if name == "final_logits_bias":
                value.copy_(torch.from_numpy(parameter(name, tuple(value.shape))))
        for name, value in model.named_parameters():
            for key, part in tensors_in_files(config, name, value).items():
                part.copy_(torch.from_numpy(parameter(key, tuple(part.shape))))
    for module in model.modules():
        if capacity and hasattr(module, "gate_up_proj"):
            module.register_forward_pre_hook(drop_tokens(capacity))
    return model


def given_batch(config, index=0):
    tensors = {name: torch.from_numpy(value) for name, value in batch(config, index).items()}
    return {name: value.double() if value.is_floating_point() else value.long() for name, value in tensors.items()}


def megatron_reference(config):
    model = megatron_models.build(config, parameter)
    given = given_batch(config)
    labels = given.pop("labels")
    outputs, more = megatron_models.router_losses(config, model, lambda: model(**given))
    loss = torch.nn.functional.cross_entropy(outputs.logits.flatten(0, 1), labels.flatten(), ignore_index=-100) + more
    loss.backward()
    gradients = megatron_models.megatron_tensors(config, {name: value.grad for name, value in model.named_parameters()})
    return {"loss": loss.item()} | {name: value.numpy() for name, value in gradients.items()}


def loss_of(config, model, given):
    """The loss of a batch, with the labels as the program has them: not shifted, and the losses of routers."""
    given = dict(given)
    labels = given.pop("labels")
    if "next_sentence_label" in given or task_of(config) not in ("clm", "mlm"):
        return model(**given, labels=labels).loss
    outputs = model(**given, **({"output_router_logits": True} if "router_z_loss_coef" in config else {}))
    loss = torch.nn.functional.cross_entropy(outputs.logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
    if config.get("output_router_logits"):
        of_sequences = config.get("balance_loss_per_sequence", False)
        balance = balance_of_sequences(model.config, outputs) if of_sequences else outputs.aux_loss
        loss = loss + config["router_aux_loss_coef"] * balance
    return loss + config.get("router_z_loss_coef", 0.0) * z_loss(outputs)


def reference(config):
    """The loss and the gradients by name."""
    if config["model_type"] == "megatron-gpt":
        return megatron_reference(config)
    model = build(config)
    loss = loss_of(config, model, given_batch(config))
    loss.backward()
    gradients = {key: part.numpy() for name, value in model.named_parameters()
                 for key, part in tensors_in_files(config, name, value.grad).items()}
    return {"loss": loss.item()} | gradients


def train(config, nudge=None):
    """A model after some steps of AdamW, and their losses. Norms and biases do not decay. With a number as `nudge`, the first
    values of parameters are off by as much as rounding to float32, at random."""
    model = build(config)
    if nudge is not None:
        torch.manual_seed(nudge)
        with torch.no_grad():
            for value in model.parameters():
                value.mul_(1 + 2.0 ** -24 * torch.randn_like(value))
    options = {"lr": ADAMW["lr"], "betas": (ADAMW["beta1"], ADAMW["beta2"]), "eps": ADAMW["epsilon"]}
    parameters = list(model.parameters())
    groups = [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": ADAMW["weight-decay"]},
              {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}]
    optimizer, losses = torch.optim.AdamW(groups, **options), []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(config, model, given_batch(config, step))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model, losses


def training(config):
    """The losses of training, and the parameters after the last step."""
    model, losses = train(config)
    return {"losses": np.array(losses)} | {name: value.detach().numpy().astype(np.float32)
                                           for name, value in model.named_parameters()}


def main():
    for name in sys.argv[1:] or FAMILIES:
        config = FAMILIES[name]
        found, folder = reference(config), references(config)
        folder.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(folder / f"{name}.npz",
                            **{key: np.asarray(value, np.float32 if key != "loss" else np.float64) for key, value in found.items()})
        if task_of(config) == "seq2seq":
            np.savez_compressed(folder / f"{name}-steps.npz", **training(config))
        print(f"{name}: loss {found['loss']:.6f}, {len(found) - 1} gradients")
    print(f"torch {torch.__version__}, transformers {transformers.__version__}")


if __name__ == "__main__":
    main()
