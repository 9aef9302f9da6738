"""Command lines of Megatron-LM for models like Llama and Mixtral become training binaries with JAX's losses.

The model in JAX is written from Megatron-LM's definitions and reads its names: rows of query_key_value by group, the gate in the
first half of dense_h_to_4h, the balance loss of a micro-batch, a stable learning rate that decays at its end."""

import math
import pathlib
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import jax
import jax.numpy as jnp

import megatron_runs as runs
import st_testing as st
from jax_models import cross_entropy
from st_errors import expect_error
from test_megatron_data import sentences, write_dataset

STEPS, VOCABULARY = 20, 257
LLAMA = {"num_layers": 4, "hidden_size": 32, "ffn_hidden_size": 48, "num_attention_heads": 4, "group_query_attention": True,
         "num_query_groups": 2, "kv_channels": 10, "seq_length": 32, "max_position_embeddings": 32,
         "position_embedding_type": "rope", "rotary_base": 1000, "rotary_percent": 1.0, "swiglu": True, "normalization": "RMSNorm",
         "norm_epsilon": 1e-5, "untie_embeddings_and_output_weights": True, "disable_bias_linear": True, "attention_dropout": 0.0,
         "hidden_dropout": 0.0, "init_method_std": 0.05, "micro_batch_size": 2, "global_batch_size": 8, "train_iters": STEPS,
         "lr": 3e-3, "min_lr": 3e-4, "lr_decay_style": "WSD", "lr_wsd_decay_style": "minus_sqrt", "lr_wsd_decay_iters": 8,
         "lr_warmup_iters": 4, "weight_decay": 0.1, "adam_beta1": 0.9, "adam_beta2": 0.95, "adam_eps": 1e-6, "clip_grad": 1.0,
         "seed": 42, "tokenizer_type": "NullTokenizer", "vocab_size": VOCABULARY, "log_interval": 10, "eval_interval": 10,
         "eval_iters": 2, "split": "90,8,2", "use_mcore_models": True, "attention_softmax_in_fp32": True}
MIXTRAL = LLAMA | {"num_experts": 4, "moe_router_topk": 2, "moe_aux_loss_coeff": 0.1, "moe_ffn_hidden_size": 24,
                   "moe_grouped_gemm": True, "moe_token_dispatcher_type": "alltoall", "num_layers": 2}
TENSOR = {"tensor_model_parallel_size": 2, "sequence_parallel": True}
REPLICAS = {"use_distributed_optimizer": True, "overlap_grad_reduce": True}


def write_command(folder, arguments, devices=1, more=()):
    """The arguments as a shell file that starts Megatron-LM."""
    if not (folder / "corpus.bin").exists():
        lines = [[*map(ord, line), VOCABULARY - 1] for line in sentences(400)]
        write_dataset(folder / "corpus", lines)
    words = " ".join(f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}") for name, value in arguments.items())
    path = folder / "train.sh"
    path.write_text(f"#!/bin/bash\nARGUMENTS=({words})\ntorchrun --nproc_per_node {devices} pretrain_gpt.py ${{ARGUMENTS[@]}} \\\n"
                    f"  --data-path {folder / 'corpus'} {' '.join(more)}\n")
    return path


def rms_norm(arguments, weight, x):
    return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + arguments["norm_epsilon"]) * weight


def rotate(arguments, x):
    size = x.shape[-1]
    frequencies = arguments["rotary_base"] ** -(jnp.arange(0, size, 2) / size)
    angles = jnp.arange(x.shape[1])[:, None] * frequencies
    cosine, sine = (jnp.tile(f(angles), 2)[None, :, None] for f in (jnp.cos, jnp.sin))
    return x * cosine + jnp.concatenate([-x[..., size // 2:], x[..., :size // 2]], -1) * sine


def attention(arguments, weights, x):
    heads, groups, size = (arguments[name] for name in ("num_attention_heads", "num_query_groups", "kv_channels"))
    rows = (x @ weights("self_attention.query_key_value").T).reshape(*x.shape[:2], groups, heads // groups + 2, size)
    query, key, value = rows[..., :-2, :].reshape(*x.shape[:2], heads, size), rows[..., -2, :], rows[..., -1, :]
    query, key = rotate(arguments, query), rotate(arguments, key)
    key, value = (jnp.repeat(part, heads // groups, 2) for part in (key, value))
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / math.sqrt(size)
    seen = jnp.tril(jnp.ones((x.shape[1],) * 2, bool))
    shares = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), -1)
    return jnp.einsum("bhqk,bkhd->bqhd", shares, value).reshape(*x.shape[:2], heads * size) @ weights("self_attention.dense").T


def gated(x, first, second):
    gate, inner = jnp.split(x @ first.T, 2, -1)
    return (jax.nn.silu(gate) * inner) @ second.T


def experts(arguments, weights, x):
    """The mixture, and its balance loss: a mean over the micro-batches of a replica."""
    count, top, group = arguments["num_experts"], arguments["moe_router_topk"], arguments["micro_batch_size"]
    logits = x @ weights("mlp.router").T
    chosen = jax.nn.one_hot(jax.lax.top_k(logits, top)[1], count).sum(-2)
    shares = jax.nn.softmax(jnp.where(chosen > 0, logits, -jnp.inf), -1)
    parts = [gated(x, *(weights(f"mlp.local_experts.{i}.{name}") for name in ("dense_h_to_4h", "dense_4h_to_h"))) for i in range(count)]
    of_groups = [part.reshape(-1, group * x.shape[1], count).sum(1) for part in (chosen, jax.nn.softmax(logits, -1))]
    tokens = group * x.shape[1]
    balance = (of_groups[0] * of_groups[1]).sum(-1).mean() * count / (tokens * tokens * top)
    return sum(shares[..., i:i + 1] * part for i, part in enumerate(parts)), balance


def loss_of(arguments, parameters, batch, key):
    x, balance = parameters["language_model.embedding.word_embeddings.weight"][batch["input_ids"]], 0.0
    for i in range(arguments["num_layers"]):
        weights = lambda name: parameters[f"language_model.encoder.layers.{i}.{name}.weight"]
        x = x + attention(arguments, weights, rms_norm(arguments, weights("input_layernorm"), x))
        y = rms_norm(arguments, weights("post_attention_layernorm"), x)
        if "num_experts" in arguments:
            added, loss = experts(arguments, weights, y)
            balance += loss
        else:
            added = gated(y, weights("mlp.dense_h_to_4h"), weights("mlp.dense_4h_to_h"))
        x = x + added
    x = rms_norm(arguments, parameters["language_model.encoder.final_layernorm.weight"], x)
    logits = x @ parameters["language_model.output_layer.weight"].T
    return cross_entropy(logits, batch["labels"], -100) + arguments.get("moe_aux_loss_coeff", 0.0) * balance


def learning_rate(arguments, step):
    peak, least, end, decay = (arguments[name] for name in ("lr", "min_lr", "train_iters", "lr_wsd_decay_iters"))
    if step <= arguments["lr_warmup_iters"]:
        return peak * step / arguments["lr_warmup_iters"]
    return peak if step <= end - decay else least + (peak - least) * (1 - math.sqrt((step - end + decay) / decay))


def trains(model, devices, **layout):
    def run(folder):
        arguments = model | layout
        binary, compiled = runs.compile_log(folder, write_command(folder, arguments, devices))
        st.expect(" honoured, " in compiled.stderr, compiled.stderr)
        apart, done, losses = runs.apart(binary, model, folder, STEPS, loss_of=loss_of, rate_of=learning_rate)
        st.expect(apart <= 1e-4, f"losses {apart:.1e} from JAX's")
        st.expect(losses[-1] < losses[0] - 1, f"{losses}")
        st.expect(f"{devices} ranks on {devices} devices" in done.stderr or devices == 1, done.stderr)
        st.expect("validation loss at iteration 10 " in done.stdout and "for test data" in done.stdout, done.stdout)
        return f"losses within {apart:.1e} of JAX's, {losses[0]:.4f} -> {losses[-1]:.4f}"
    return run


def continues(folder):
    """The same command after ten steps: the losses and the checkpoint are those of an undisturbed run."""
    def states(name):
        return [(folder / name / "step-0000020" / file).read_bytes() for file in ("model.safetensors", "optimizer.safetensors")]

    log = write_command(folder, LLAMA | TENSOR | REPLICAS | {"pipeline_model_parallel_size": 2, "bf16": True, "micro_batch_size": 1}, 8)
    binary, _ = runs.compile_log(folder, log)
    found = []
    for i, (name, flags) in enumerate((("whole", []), ("parts", ["--exit-interval=10"]), ("parts", []))):
        folders = [f"--{kind}={folder / name}" for kind in ("save", "load")]
        st.check_run([binary, "--save-interval=10", *folders, f"--metrics={folder / f'm{i}'}", *flags])
        found.append(runs.losses_of(folder / f"m{i}"))
    st.expect(len(found[0]) == STEPS and found[0] == found[1] + found[2], f"{found}")
    st.expect(states("whole") == states("parts"), "another checkpoint")
    done = st.check_run([binary, "--eval-only", f"--resume={folder / 'whole'}"])
    st.expect("lm loss PPL" in done.stdout, done.stdout)
    return f"{found[0][0]:.4f} -> {found[0][-1]:.4f}"


def reduces(folder):
    """--grad-reduce-in-bf16 sends gradients in 16 bits; by default replicas of a bf16 model send them in f32."""
    losses = {}
    for name, more in (("f32", {}), ("bf16", {"grad_reduce_in_bf16": True})):
        binary, _ = runs.compile_log(folder, write_command(folder, LLAMA | {"bf16": True, "lr_decay_style": "constant"} | more, 2))
        report = folder / f"{name}.json"
        st.check_run([binary, "--steps=6", f"--metrics={folder / 'm'}", f"--report={report}"])
        losses[name] = runs.losses_of(folder / "m"), sum(map(int, re.findall(r'"sent_bytes": (\d+)', report.read_text())))
    (exact, bytes_exact), (rounded, bytes_rounded) = losses["f32"], losses["bf16"]
    st.expect(exact[0] == rounded[0] and exact != rounded, f"{losses}")
    st.expect(st.relative_difference(exact, rounded) < 1e-2, f"{losses}")
    st.expect(bytes_rounded < 0.6 * bytes_exact, f"{bytes_rounded} bytes, {bytes_exact} in f32")
    return f"{bytes_exact} bytes a step in f32, {bytes_rounded} in bf16"


def refused(folder):
    def expect(pattern, arguments, *more, devices=1):
        expect_error([*st.COMPILE, f"--megatron={write_command(folder, arguments, devices, more)}", "-o", folder / "x"], pattern)

    expect(r"train\.sh:4: argument 'rotary_interleaved': expected None or False: .*; found 'True'", LLAMA, "--rotary-interleaved")
    expect(r"argument 'multi_latent_attention': expected False", LLAMA, "--multi-latent-attention")
    expect(r"argument 'position_embedding_type': expected learned_absolute, rope or none, found 'relative'",
           LLAMA | {"position_embedding_type": "relative"})
    expect(r"argument 'moe_router_score_function': expected softmax or None, found 'sigmoid'", MIXTRAL, "--moe-router-score-function sigmoid")
    expect(r"argument 'moe_router_load_balancing_type': expected aux_loss, seq_aux_loss or none, found 'sinkhorn'",
           MIXTRAL, "--moe-router-load-balancing-type sinkhorn")
    expect(r"argument 'moe_router_topk': expected 2 or more without moe_router_pre_softmax, found '1'", MIXTRAL | {"moe_router_topk": 1})
    expect(r"argument 'moe_expert_capacity_factor': expected None, since", MIXTRAL, "--moe-expert-capacity-factor 1.0")
    expect(r"argument 'num_experts': expected None or 1 with topk, an argument of DeepSpeed", MIXTRAL, "--topk 2")
    expect(r"argument 'moe_layer_freq': expected an integer from 1", MIXTRAL, "--moe-layer-freq '([0]*1+[1]*1)'")
    expect(r"argument 'cp_comm_type': expected p2p, a2a or all_gather for all layers; found 'a2a\+p2p'",
           LLAMA | {"context_parallel_size": 2}, "--cp-comm-type a2a+p2p", devices=2)
    expect(r"argument 'expert_model_parallel_size': expected a divisor of the 1 replicas, found 2", MIXTRAL,
           "--expert-model-parallel-size 2")
    expect(r"argument 'lr_decay_style': expected lr_wsd_decay_iters or lr_wsd_decay_samples with WSD; found 'WSD'",
           {name: value for name, value in LLAMA.items() if name != "lr_wsd_decay_iters"})
    expect(r"argument 'add_bias_linear': expected False .*, since experts have no biases, found none",
           {name: value for name, value in MIXTRAL.items() if name != "disable_bias_linear"})


CASES = [
    ("llama, one device", trains(LLAMA, 1)),
    ("llama, 2 shards x 2 stages", trains(LLAMA, 4, **TENSOR, pipeline_model_parallel_size=2)),
    ("llama, 2 x 2 x 2", trains(LLAMA, 8, **TENSOR, **REPLICAS, pipeline_model_parallel_size=2)),
    ("llama, 2 shards x 2 parts of a sequence x 2 replicas", trains(LLAMA, 8, **TENSOR, context_parallel_size=2)),
    ("llama, ring of 4 parts of a sequence", trains(LLAMA, 4, context_parallel_size=4, cp_comm_type="p2p")),
    ("mixtral, one device", trains(MIXTRAL, 1)),
    ("mixtral, 2 x 2 x 2, experts over replicas", trains(MIXTRAL, 8, **TENSOR, **REPLICAS, pipeline_model_parallel_size=2,
                                                        expert_model_parallel_size=2)),
    ("goes on", continues),
    ("gradients in bf16", reduces),
    ("refused", refused),
]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
