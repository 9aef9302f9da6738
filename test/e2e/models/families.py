"""Small configurations of each family of models, and the values of their parameters and batches."""

import pathlib
import zlib

import numpy as np

BATCH, SEQ, TARGET = 2, 12, 9  # TARGET: tokens in a target, for families with an encoder and a decoder
# The training that record_families.py records; so large an epsilon keeps rounding errors from becoming updates.
STEPS = 5
ADAMW = {"lr": 1e-2, "beta1": 0.9, "beta2": 0.99, "epsilon": 1e-3, "weight-decay": 0.1}
OPTIMIZER = [f"--{key}={value}" for key, value in ADAMW.items() if key != "lr"]
# Layouts whose training is compared with that of transformers.
LAYOUTS = {
    "one device": None,
    "2 stages x 2 shards": {"mode": "hybrid", "stage_cnt": 2, "sharding_size": 2, "sharding_dim": "megatron", "data": 1,
                            "accum_degree": 2},
    "2 replicas x 2 shards x 2 stages": {"mode": "hybrid", "stage_cnt": 2, "sharding_size": 2, "sharding_dim": "megatron", "data": 2,
                                         "accum_degree": 1, "zero": 1},
}

# Llama's keys, which most families share.
BLOCKS = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24, "vocab_size": 61,
          "max_position_embeddings": 16}
OPT = {"model_type": "opt", "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 40,
       "vocab_size": 61, "max_position_embeddings": 16, "dropout": 0.0}
DISTIL_BERT = {"model_type": "distilbert", "dim": 16, "n_layers": 2, "n_heads": 4, "hidden_dim": 24, "vocab_size": 61,
               "max_position_embeddings": 16, "dropout": 0.0, "attention_dropout": 0.0}
ROBERTA = {"model_type": "roberta", **BLOCKS, "type_vocab_size": 1, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
GROUPED = {**BLOCKS, "num_key_value_heads": 2}
QWEN2_MOE = {"model_type": "qwen2_moe", **GROUPED, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8,
             "shared_expert_intermediate_size": 12}
T5 = {"model_type": "t5", "d_model": 16, "d_kv": 4, "d_ff": 24, "num_layers": 2, "num_heads": 4, "vocab_size": 61,
      "dropout_rate": 0.0, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 10,
      "decoder_start_token_id": 0}
BART = {"model_type": "bart", "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "vocab_size": 61,
        "max_position_embeddings": 16, "dropout": 0.0}
# Megatron-LM's GPT with the blocks of Llama and its like, of GPT-NeoX, and of Mixtral.
MEGATRON = {"model_type": "megatron-gpt", "hidden_size": 16, "num_layers": 2, "num_attention_heads": 4, "ffn_hidden_size": 24,
            "vocab_size": 61, "max_position_embeddings": 16, "hidden_dropout": 0.0, "attention_dropout": 0.0,
            "position_embedding_type": "rope", "rotary_base": 100.0}
MEGATRON_LLAMA = {**MEGATRON, "normalization": "RMSNorm", "num_query_groups": 2, "hidden_act": "silu", "gated_linear_unit": True,
                  "add_bias_linear": False}
MEGATRON_MIXTRAL = {**MEGATRON_LLAMA, "tie_word_embeddings": False, "num_experts": 4, "moe_router_topk": 2, "moe_ffn_hidden_size": 12}

FAMILIES = {
    "bart": BART,
    "bart-sizes": {**BART, "encoder_layers": 1, "decoder_layers": 3, "decoder_attention_heads": 2, "decoder_ffn_dim": 40,
                   "scale_embedding": True, "activation_function": "relu", "pad_token_id": 0, "decoder_start_token_id": 1},
    "gemma": {"model_type": "gemma", **GROUPED, "num_key_value_heads": 1, "head_dim": 6, "hidden_act": "gelu"},
    "gemma-biases": {"model_type": "gemma", **GROUPED, "head_dim": 4, "attention_bias": True, "tie_word_embeddings": False},
    "bert": {"model_type": "bert", **BLOCKS, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
    "distilbert": DISTIL_BERT,
    "distilbert-untied": {**DISTIL_BERT, "activation": "relu", "pad_token_id": 3, "tie_word_embeddings": False},
    "gpt2": {"model_type": "gpt2", "n_embd": 16, "n_layer": 2, "n_head": 4, "vocab_size": 61, "n_positions": 16,
             "embd_pdrop": 0.0, "attn_pdrop": 0.0, "resid_pdrop": 0.0},
    "gpt_neox": {"model_type": "gpt_neox", **BLOCKS, "hidden_size": 32, "rotary_pct": 0.25, "rotary_emb_base": 500},
    "gpt_neox-sequential": {"model_type": "gpt_neox", **BLOCKS, "use_parallel_residual": False, "attention_bias": False,
                            "rope_parameters": {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.5},
                            "hidden_act": "gelu_new"},
    "llama": {"model_type": "llama", **GROUPED, "rope_theta": 100.0},
    "llama-biases": {"model_type": "llama", **GROUPED, "attention_bias": True, "mlp_bias": True, "head_dim": 6},
    "llama-dynamic": {"model_type": "llama", **GROUPED, "rope_scaling": {"rope_type": "dynamic", "rope_theta": 100.0, "factor": 4.0,
                                                                         "original_max_position_embeddings": 8}},
    "llama-yarn": {"model_type": "llama", **GROUPED, "head_dim": 12, "max_position_embeddings": 64,
                   "rope_parameters": {"rope_type": "yarn", "rope_theta": 50.0, "factor": 4.0, "beta_fast": 4.0,
                                       "original_max_position_embeddings": 16}},
    "megatron-gpt-llama": {**MEGATRON_LLAMA, "kv_channels": 6, "tie_word_embeddings": False},
    "megatron-gpt-llama3": {**MEGATRON_LLAMA, "num_query_groups": 1,
                            "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                             "original_max_position_embeddings": 8}},
    "megatron-gpt-qwen2": {**MEGATRON_LLAMA, "add_qkv_bias": True},
    "megatron-gpt-qwen3": {**MEGATRON_LLAMA, "qk_layernorm": True, "tie_word_embeddings": False},
    "megatron-gpt-neox": {**MEGATRON, "rotary_percent": 0.5, "hidden_act": "relu2"},
    "megatron-gpt-centred": {**MEGATRON, "rotary_percent": 0.5, "hidden_act": "gelu_new", "apply_layernorm_1p": True},
    "megatron-gpt-llama-centred": {**MEGATRON_LLAMA, "apply_layernorm_1p": True},
    "megatron-gpt-mixtral": MEGATRON_MIXTRAL,
    "megatron-gpt-mixtral-losses": {**MEGATRON_MIXTRAL, "moe_router_topk": 3, "moe_router_pre_softmax": True,
                                    "moe_aux_loss_coeff": 0.5, "moe_aux_loss_sequences": 2, "moe_z_loss_coeff": 0.25,
                                    "moe_shared_expert_intermediate_size": 10},
    "megatron-gpt-mixtral-sequences": {**MEGATRON_MIXTRAL, "moe_aux_loss_coeff": 0.5, "moe_aux_loss_sequences": 1},
    "mistral": {"model_type": "mistral", **GROUPED, "sliding_window": 5},
    "mistral-yarn": {"model_type": "mistral", **GROUPED, "head_dim": 16, "max_position_embeddings": 32, "sliding_window": None,
                     "rope_parameters": {"rope_type": "yarn", "rope_theta": 100.0, "factor": 2.0, "beta_fast": 8.0, "beta_slow": 0.5,
                                         "original_max_position_embeddings": 16, "truncate": False, "mscale": 0.7,
                                         "mscale_all_dim": 1.5}},
    "mistral-whole": {"model_type": "mistral", **GROUPED, "sliding_window": None, "head_dim": 6, "rope_theta": 1000.0},
    "mixtral": {"model_type": "mixtral", **GROUPED, "num_local_experts": 4},
    "mixtral-balance": {"model_type": "mixtral", **GROUPED, "num_local_experts": 5, "num_experts_per_tok": 3, "sliding_window": 5,
                        "rope_theta": 100.0, "output_router_logits": True, "router_aux_loss_coef": 0.5},
    # With keys that transformers does not have: record_families.py drops tokens and balances sequences.
    "mixtral-capacity": {"model_type": "mixtral", **GROUPED, "num_local_experts": 4, "expert_capacity_factor": 0.75},
    "mixtral-sequences": {"model_type": "mixtral", **GROUPED, "num_local_experts": 4, "output_router_logits": True,
                          "router_aux_loss_coef": 0.5, "balance_loss_per_sequence": True},
    "mixtral-z": {"model_type": "mixtral", **GROUPED, "num_local_experts": 4, "router_z_loss_coef": 0.25},
    "opt": OPT,
    "opt-plain": {**OPT, "enable_bias": False, "tie_word_embeddings": False, "activation_function": "gelu"},
    "opt-350m": {**OPT, "do_layer_norm_before": False, "word_embed_proj_dim": 8},
    "opt-wide": {**OPT, "_remove_final_layer_norm": True, "word_embed_proj_dim": 24, "tie_word_embeddings": False},
    "phi": {"model_type": "phi", **BLOCKS},
    "phi-norms": {"model_type": "phi", **BLOCKS, "qk_layernorm": True},
    "phi-grouped": {"model_type": "phi", **GROUPED, "hidden_size": 32, "partial_rotary_factor": 0.25},
    "qwen2": {"model_type": "qwen2", **GROUPED},
    "qwen2-window": {"model_type": "qwen2", **GROUPED, "use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1},
    "qwen2_moe": QWEN2_MOE,
    "qwen2_moe-layers": {**QWEN2_MOE, "num_hidden_layers": 4, "decoder_sparse_step": 2, "mlp_only_layers": [3], "qkv_bias": False,
                         "norm_topk_prob": True, "use_sliding_window": True, "sliding_window": 3, "max_window_layers": 3},
    "qwen2_moe-balance": {**QWEN2_MOE, "mlp_only_layers": [0], "num_experts_per_tok": 1, "output_router_logits": True,
                          "router_aux_loss_coef": 0.5},
    "qwen2_moe-capacity": {**QWEN2_MOE, "norm_topk_prob": True, "expert_capacity_factor": 1.0},
    "qwen3": {"model_type": "qwen3", **GROUPED, "head_dim": 6},
    "qwen3-layers": {"model_type": "qwen3", **GROUPED, "head_dim": 4, "attention_bias": True, "use_sliding_window": True,
                     "sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]},
    "roberta": ROBERTA,
    "roberta-types": {**ROBERTA, "pad_token_id": 3, "type_vocab_size": 2, "hidden_act": "relu"},
    "t5": T5,
    "t5-untied": {**T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "num_decoder_layers": 3, "d_kv": 6,
                  "relative_attention_num_buckets": 6, "relative_attention_max_distance": 5, "pad_token_id": 3,
                  "decoder_start_token_id": 2},
}
# Models that classify, whose class of transformers says what: a text or each of its tokens.
CLASSIFY, CLASSIFY_TOKENS = "ForSequenceClassification", "ForTokenClassification"


def classifier(base, kind, labels=3, **more):
    dropouts = {"classifier_dropout": 0.0, **({"seq_classif_dropout": 0.0} if base == "distilbert" else {})}
    return {**FAMILIES[base], "architectures": [kind], "num_labels": labels, **dropouts, **more}


FAMILIES |= {f"{base}-classify": classifier(base, CLASSIFY) for base in ("bert", "distilbert", "roberta")}
FAMILIES |= {f"{base}-classify": classifier(base, CLASSIFY, pad_token_id=0) for base in ("gpt2", "llama", "opt", "opt-350m", "gpt_neox", "mixtral")}
FAMILIES |= {f"{base}-classify-tokens": classifier(base, CLASSIFY_TOKENS)
             for base in ("bert", "distilbert", "roberta", "gpt2", "gpt_neox", "qwen3")}
FAMILIES |= {"bert-classify-several": classifier("bert", CLASSIFY, problem_type="multi_label_classification"),
             "roberta-regress": classifier("roberta", CLASSIFY, labels=1),
             "gemma-regress": classifier("gemma", CLASSIFY, labels=2, problem_type="regression")}
# Families without this task train to find the next token.
MASKED = ("bert", "distilbert", "roberta")
SEQ2SEQ = ("bart", "t5")


def task_of(config):
    kind = config.get("architectures", [""])[0]
    if kind in (CLASSIFY, CLASSIFY_TOKENS):
        return "classify" if kind == CLASSIFY else "classify-tokens"
    if config["model_type"] in SEQ2SEQ:
        return "seq2seq"
    return "mlm" if config["model_type"] in MASKED else "clm"


def references(config):
    """The folder of the references that record_families.py writes."""
    folder = pathlib.Path(__file__).resolve().parent / "references"
    if task_of(config) == "seq2seq":
        return folder / "seq2seq"
    if task_of(config).startswith("classify"):
        return folder / "classes"
    if config["model_type"] == "megatron-gpt":
        return folder / "megatron"
    if "num_local_experts" in config or "num_experts" in config:
        return folder / "experts"
    return folder / "rotary" if config.get("rope_parameters", {}).get("rope_type") == "yarn" else folder


def label_sequence(config):
    return TARGET if task_of(config) == "seq2seq" else SEQ


def parameter(name, shape):
    """The value of a parameter, a function of its name and shape: weights of norms are near 1, the others near 0."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    noise = 0.2 * rng.normal(size=shape)
    is_norm = len(shape) == 1 and name.endswith(".weight")
    return (noise + is_norm).astype(np.float32)


def class_labels(config, rng):
    """Labels of rows, as the configuration's problem has them: numbers of classes, probabilities or numbers."""
    count = config["num_labels"]
    if config.get("problem_type", "regression" if count == 1 else "") == "":
        return rng.integers(0, count, BATCH)
    return rng.random((BATCH, count) if count > 1 else BATCH)


def batch(config, index=0):
    """Tokens, and labels for most positions; for an encoder a padded sequence."""
    rng = np.random.default_rng(7 + index)
    ids = rng.integers(2, config["vocab_size"], (BATCH, SEQ))
    shape = BATCH, label_sequence(config)
    labels = np.where(rng.random(shape) < 0.8, rng.integers(0, config["vocab_size"], shape), -100)
    if task_of(config) == "classify-tokens":
        labels = np.where(labels == -100, -100, labels % config["num_labels"])
    elif task_of(config) == "classify":
        labels = class_labels(config, rng)
    values = {"input_ids": ids, "labels": labels}
    is_encoder = config["model_type"] in MASKED + SEQ2SEQ
    if not is_encoder and task_of(config) == "classify":
        values["input_ids"] = np.where(np.arange(SEQ)[None] < np.array([[SEQ], [SEQ - 4]]), ids, config.get("pad_token_id", 0))
    if is_encoder:
        values["attention_mask"] = np.arange(SEQ)[None] < np.array([[SEQ], [SEQ - 4]])
        values["input_ids"] = np.where(values["attention_mask"], ids, config.get("pad_token_id", {"roberta": 1, "bart": 1}.get(config["model_type"], 0)))
    if config["model_type"] == "bert":
        values |= {"token_type_ids": rng.integers(0, 2, (BATCH, SEQ))}
        if task_of(config) == "mlm":
            values |= {"next_sentence_label": np.array([1, 0])}
    return {name: value.astype(np.float32 if value.dtype == np.float64 else np.int32) for name, value in values.items()}
