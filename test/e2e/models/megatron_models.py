"""Models of transformers with the parameters of a `megatron-gpt`: Megatron-LM names and arranges them differently.

    query_key_value   for each group: the queries that share a key, the key, the value
    dense_h_to_4h     the gate, then the other half of the inner layer
"""

import torch
import transformers

ENCODER = "language_model.encoder."
LLAMA = {"tokens": "model.embed_tokens", "final": "model.norm", "head": "lm_head", "layer": "model.layers.{}."}
NEOX = {"tokens": "gpt_neox.embed_in", "final": "gpt_neox.final_layer_norm", "head": "lm_head", "layer": "gpt_neox.layers.{}."}


def settings_of(config):
    """The configuration of the class in transformers with the same blocks."""
    sizes = {"hidden_size": config["hidden_size"], "num_hidden_layers": config["num_layers"],
             "num_attention_heads": config["num_attention_heads"], "intermediate_size": config["ffn_hidden_size"],
             "vocab_size": config["vocab_size"], "max_position_embeddings": config["max_position_embeddings"],
             "hidden_act": config["hidden_act"], "tie_word_embeddings": config.get("tie_word_embeddings", True)}
    rope = config.get("rope_scaling", {"rope_type": "default"}) | {"rope_theta": config["rotary_base"]}
    if config.get("normalization") != "RMSNorm":
        rope["partial_rotary_factor"] = config["rotary_percent"]
        return transformers.AutoConfig.for_model("gpt_neox", **sizes, layer_norm_eps=1e-5, rope_parameters=rope,
                                                 use_parallel_residual=False, attention_bias=True)
    if "num_experts" in config:
        name, more = "mixtral", {"num_local_experts": config["num_experts"], "num_experts_per_tok": config["moe_router_topk"],
                                 "sliding_window": None}
        sizes["intermediate_size"] = config["moe_ffn_hidden_size"]
    elif config.get("qk_layernorm"):
        name, more = "qwen3", {}
    else:
        name, more = ("qwen2" if config.get("add_qkv_bias") else "llama"), {}
    return transformers.AutoConfig.for_model(
        name, **sizes, **more, rms_norm_eps=1e-5, rope_parameters=rope, num_key_value_heads=config["num_query_groups"],
        head_dim=config.get("kv_channels", config["hidden_size"] // config["num_attention_heads"]))


def join_groups(config, query, key, value):
    """The rows of three products as those of one."""
    groups = config.get("num_query_groups", config["num_attention_heads"])
    return torch.cat([part.unflatten(0, (groups, -1)) for part in (query, key, value)], 1).flatten(0, 1)


def layer_tensors(config, tensors, prefix):
    """The tensors of a layer under the names of Megatron-LM, from those under transformers' names after `prefix`."""
    def get(name):
        return tensors[prefix + name]

    result = {f"{norm}.{kind}": tensors[f"{prefix}{norm}.{kind}"] for norm in ("input_layernorm", "post_attention_layernorm")
              for kind in ("weight", "bias") if f"{prefix}{norm}.{kind}" in tensors}
    if f"{prefix}attention.dense.weight" in tensors:
        for theirs, ours in (("attention", "self_attention"), ("mlp", "mlp")):
            result |= {name.replace(f"{prefix}{theirs}", ours): value for name, value in tensors.items()
                       if name.startswith(f"{prefix}{theirs}.")}
        return result
    for kind in ("weight", "bias"):
        if f"{prefix}self_attn.q_proj.{kind}" in tensors:
            result[f"self_attention.query_key_value.{kind}"] = join_groups(config, *(get(f"self_attn.{part}_proj.{kind}") for part in "qkv"))
    result["self_attention.dense.weight"] = get("self_attn.o_proj.weight")
    if config.get("qk_layernorm"):
        result |= {f"self_attention.{part}_layernorm.weight": get(f"self_attn.{part}_norm.weight") for part in "qk"}
    if "num_experts" in config:
        result |= {"mlp.router.weight": get("mlp.gate.weight"), "mlp.local_experts.*.dense_h_to_4h.weight": get("mlp.experts.gate_up_proj"),
                   "mlp.local_experts.*.dense_4h_to_h.weight": get("mlp.experts.down_proj")}
        if "moe_shared_expert_intermediate_size" in config:
            result |= {f"mlp.shared_experts.{part}.weight": get(f"mlp.shared.{part}.weight") for part in ("dense_h_to_4h", "dense_4h_to_h")}
        return result
    return result | {"mlp.dense_h_to_4h.weight": torch.cat([get("mlp.gate_proj.weight"), get("mlp.up_proj.weight")]),
                     "mlp.dense_4h_to_h.weight": get("mlp.down_proj.weight")}


def megatron_tensors(config, tensors):
    """Tensors by the names of transformers, under the names of Megatron-LM and arranged as there."""
    names = LLAMA if "model.norm.weight" in tensors else NEOX
    result = {"language_model.embedding.word_embeddings.weight": tensors[f"{names['tokens']}.weight"]}
    if not config.get("tie_word_embeddings", True):
        result["language_model.output_layer.weight"] = tensors[f"{names['head']}.weight"]
    for kind in ("weight", "bias"):
        if f"{names['final']}.{kind}" in tensors:
            result[f"{ENCODER}final_layernorm.{kind}"] = tensors[f"{names['final']}.{kind}"]
    for i in range(config["num_layers"]):
        for name, value in layer_tensors(config, tensors, names["layer"].format(i)).items():
            result[f"{ENCODER}layers.{i}.{name}"] = value
    return result


class SharedExpert(torch.nn.Module):
    def __init__(self, hidden, inner):
        super().__init__()
        self.dense_h_to_4h = torch.nn.Linear(hidden, 2 * inner, bias=False)
        self.dense_4h_to_h = torch.nn.Linear(inner, hidden, bias=False)

    def forward(self, x):
        gate, inner = self.dense_h_to_4h(x).chunk(2, -1)
        return self.dense_4h_to_h(torch.nn.functional.silu(gate) * inner)


def change_experts(config, model):
    """Adds the shared expert to each layer of experts, and leaves the weights of choices as the softmax gives them."""
    for layer in model.model.layers:
        if "moe_shared_expert_intermediate_size" in config:
            layer.mlp.shared = SharedExpert(config["hidden_size"], config["moe_shared_expert_intermediate_size"])
            layer.mlp.register_forward_hook(lambda block, inputs, out: out + block.shared(inputs[0]))
        if config.get("moe_router_pre_softmax"):
            layer.mlp.gate.register_forward_hook(
                lambda gate, inputs, out: (out[0], torch.softmax(gate_logits(gate, inputs), -1).gather(-1, out[2]), out[2]))


def gate_logits(gate, inputs):
    return torch.nn.functional.linear(inputs[0].flatten(0, -2), gate.weight)


def router_losses(config, model, run):
    """The losses of routers, as megatron-core's switch_load_balancing_loss_func and z_loss_func define them: sums over layers.
    `run` runs the model."""
    found = []
    hooks = [layer.mlp.gate.register_forward_hook(lambda gate, inputs, out: found.append(gate_logits(gate, inputs)))
             for layer in model.model.layers] if "num_experts" in config else []
    outputs, total = run(), 0.0
    for hook in hooks:
        hook.remove()
    batch, sequence = outputs.logits.shape[:2]
    size, top, experts = (config.get("moe_aux_loss_sequences") or batch) * sequence, config.get("moe_router_topk"), config.get("num_experts")
    for logits in found:
        probabilities = torch.softmax(logits, -1)
        chosen = torch.zeros_like(logits).scatter(-1, logits.topk(top, -1).indices, 1.0)
        groups = [(chosen[i:i + size].sum(0) * probabilities[i:i + size].sum(0)).sum() * experts / (size * size * top)
                  for i in range(0, len(logits), size)]
        total = total + config.get("moe_aux_loss_coeff", 0.0) * sum(groups) / len(groups)
        total = total + config.get("moe_z_loss_coeff", 0.0) * torch.logsumexp(logits, -1).square().mean()
    return outputs, total


def build(config, parameter):
    """The model with values of `parameter(name, shape)`."""
    settings = settings_of(config)
    settings._attn_implementation = settings._experts_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(settings).double().eval()
    if "num_experts" in config:
        change_experts(config, model)
        model.double()
    # Numbers of elements follow each other through the rearrangement.
    own = dict(model.named_parameters())
    sizes = {name: value.numel() for name, value in own.items()}
    starts = dict(zip(sizes, [sum(list(sizes.values())[:i]) for i in range(len(sizes))]))
    numbers = {name: (starts[name] + torch.arange(sizes[name])).reshape(value.shape) for name, value in own.items()}
    flat = torch.full((sum(sizes.values()),), float("nan"), dtype=torch.float64)
    for name, places in megatron_tensors(config, numbers).items():
        added = config.get("apply_layernorm_1p", False) and name.endswith("norm.weight")
        flat[places.flatten()] = torch.from_numpy(parameter(name, tuple(places.shape))).double().flatten() + added
    with torch.no_grad():
        for name, value in own.items():
            value.copy_(flat[starts[name]:starts[name] + sizes[name]].reshape(value.shape))
    return model
