"""Rows that train: a small GPT-2 in several ways, and BERT-large."""

import json
import math
import sys

from tools import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import gpu_step  # noqa: E402

GPT2 = {
    "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 64,
    "vocab_size": 512, "activation_function": "gelu_new", "attn_pdrop": 0.1, "embd_pdrop": 0.1, "resid_pdrop": 0.1,
    "initializer_range": 0.02, "layer_norm_epsilon": 1e-5,
}
# Bound against losses of the same kernels on the host, which add in another order.
BOUNDS = {"f32": 1e-5, "bf16": 1e-3}
STEPS = 5
WITH_PRODUCTS = ["runner", "driver", "cublasLt"]
PIPELINE = {"mode": "hybrid", "data": 2, "zero": 1, "sharding_size": 2, "stage_cnt": 2, "accum_degree": 2}
BERT_LARGE = ROOT / "examples/models/bert-large-uncased/config.json"
# Bound for bf16 on both sides, with other kernels and roundings.
LARGE_BOUND = 2e-3
LARGE_SEQUENCE = 512


def layout(precision, **options):
    return {"mode": "sharding", "data": 1, **options, "precision": {"compute": precision}}


def without_dropout(config):
    return {key: 0.0 if "drop" in key else value for key, value in config.items()}


def row(stage, name, program, steps, limit, needs=WITH_PRODUCTS, **more):
    return {"stage": stage, "name": name, "program": program, "steps": steps, "limit": limit, "needs": list(needs), **more}


def add_gpt2(bundle, program, config, parallel, precision):
    """Compiles GPT-2, and adds the expected losses of five steps."""
    flags = ["--task=clm", "--batch=4", "--seq=32", "--optimizer=adamw", "--lr=1e-3"]
    losses = bundle.add_model(program, config, parallel, flags, STEPS)
    return {"losses": losses, "bound": BOUNDS[precision]}


def add_small(bundle):
    """GPT-2 on one rank; compute-sanitizer runs the same programs."""
    if bundle.wants("gpt2-f32", "sanitizer"):
        expected = add_gpt2(bundle, "gpt2-f32", GPT2, layout("f32"), "f32")
        for steps, what in ((1, "eager"), (2, "recorded"), (5, "replayed")):
            bundle.add_row(row("gpt2-f32", f"{steps} step{'s' * (steps > 1)} ({what})", "gpt2-f32", steps, 10, **expected))
        for tool in ("memcheck", "racecheck"):
            bundle.add_row(row("sanitizer", f"{tool}, GPT-2 f32, 1 step", "gpt2-f32", 1, 20, tool=tool))
    if bundle.wants("gpt2-bf16", "sanitizer"):
        expected = add_gpt2(bundle, "gpt2-bf16", GPT2, layout("bf16"), "bf16")
        bundle.add_row(row("gpt2-bf16", "5 steps, dropout 0.1", "gpt2-bf16", STEPS, 10, **expected))
        bundle.add_row(row("sanitizer", "memcheck, GPT-2 bf16, 1 step", "gpt2-bf16", 1, 20, tool="memcheck"))
    if bundle.wants("attention"):
        expected = add_gpt2(bundle, "gpt2-nodrop", without_dropout(GPT2), layout("bf16"), "bf16")
        bundle.add_row(row("attention", "cuDNN, bf16, dropout 0", "gpt2-nodrop", STEPS, 10, [*WITH_PRODUCTS, "cudnn"], **expected))
        bundle.add_row(row("attention", "generated kernels", "gpt2-nodrop", STEPS, 10, flags=["--attention=generated"],
                           ways=["as --attention asks"], **expected))


def add_ranks(bundle):
    if not bundle.wants("ranks"):
        return
    expected = add_gpt2(bundle, "gpt2-2ranks", GPT2, layout("bf16", data=2), "bf16")
    bundle.add_row(row("ranks", "2 replicas", "gpt2-2ranks", STEPS, 10, **expected))
    bundle.add_row(row("ranks", "2 replicas, 2 processes", "gpt2-2ranks", STEPS, 15, processes=2, **expected))
    if not bundle.is_small:
        expected = add_gpt2(bundle, "gpt2-8ranks", GPT2, {**layout("bf16"), **PIPELINE}, "bf16")
        bundle.add_row(row("ranks", "2 replicas of 2 stages of 2 shards", "gpt2-8ranks", STEPS, 15, **expected))


def large_config(bundle, dropout):
    config = json.loads(BERT_LARGE.read_text())
    if bundle.is_standins:  # The host computes it.
        config.update(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, vocab_size=256,
                      max_position_embeddings=64)
    config["hidden_dropout_prob"] = config["attention_probs_dropout_prob"] = dropout
    return config


def add_large(bundle):
    """BERT-large: losses compared with the simulator's, and timed steps whose first loss is near that of guessing."""
    if not bundle.wants("bert-large"):
        return
    sequence = 32 if bundle.is_standins else LARGE_SEQUENCE
    flags = lambda batch, length: ["--task=mlm", f"--batch={batch}", f"--seq={length}", "--optimizer=adamw", "--lr=1e-5"]
    config = large_config(bundle, 0.1)
    if bundle.large_steps:
        losses = bundle.add_model("bert-losses", config, layout("bf16"), flags(1, min(sequence, 128)), bundle.large_steps,
                                  expected_on="dtu-t10-large")
        bundle.add_row(row("bert-large", f"losses of 1 x {min(sequence, 128)}", "bert-losses", bundle.large_steps, 30,
                           losses=losses, bound=LARGE_BOUND))
    guess = math.log(config["vocab_size"]) + math.log(2)
    for dropout in (0.1, 0.0):
        for batch in (8, 32):
            if bundle.is_standins and batch == 32:
                continue
            name = f"bert-{batch}-dropout{dropout:g}"
            config = large_config(bundle, dropout)
            bundle.add_model(name, config, layout("bf16"), flags(batch, sequence), 0)
            bundle.add_row(row("bert-large", f"{batch} x {sequence}, dropout {dropout:g}", name, 12, 30, trace=True, samples=batch,
                               flops=gpu_step.flops(config, batch, sequence), first_loss=[0.95 * guess, 1.05 * guess]))


def add_peer(bundle):
    """PyTorch's step of the same sizes."""
    if not bundle.wants("pytorch"):
        return
    config = json.loads(BERT_LARGE.read_text())
    rows = []
    for batch, dropout, is_compiled in ((8, 0.1, False), (32, 0.1, False), (32, 0.0, False), (32, 0.1, True), (8, 0.1, True)):
        rows.append({"name": f"{batch} x {LARGE_SEQUENCE}, dropout {dropout:g}{', compiled' * is_compiled}", "samples": batch,
                     "flops": gpu_step.flops(config, batch, LARGE_SEQUENCE),
                     "flags": [f"--batch={batch}", f"--seq={LARGE_SEQUENCE}", "--steps=8", f"--dropout={dropout:g}", "--type=bf16",
                               "--task=mlm", "--device=cuda"] + ["--compile"] * is_compiled})
    bundle.add_file("peer/peer_torch.py", (ROOT / "benchmarks/peers/peer_torch.py").read_bytes())
    bundle.add_file("peer/config.json", BERT_LARGE.read_bytes())
    bundle.manifest["peer"] = {"script": "peer/peer_torch.py", "config": "peer/config.json", "rows": rows}
