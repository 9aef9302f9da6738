"""Random training steps of models: a small random configuration of one of the families, with its gradients and an optimizer,
under a random parallel file."""

import json
import os
import pathlib
import re
import subprocess

from random_steps import OPTIMIZERS, PREPARE, ROADS, Step, quoted

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TRANSLATE = pathlib.Path(os.environ.get("ST_BUILD", ROOT / "build")) / "bin/st-translate"
FAMILIES = ("bart", "bert", "distilbert", "gemma", "gpt2", "gpt_neox", "llama", "megatron-bert", "megatron-gpt", "mistral", "mixtral",
            "opt", "phi", "qwen2", "qwen2_moe", "qwen3", "roberta", "t5")
WITH_EXPERTS = ("mixtral", "qwen2_moe")
ENCODERS = ("bert", "distilbert", "megatron-bert", "roberta")
SEQ2SEQ = ("bart", "t5")
# Moments of 8 bits are left out: a rounding of the deep programs of models may change a code.
MODEL_OPTIMIZERS = tuple(optimizer for optimizer in OPTIMIZERS if "state-bits" not in optimizer)
ACTIVATIONS = ("gelu", "gelu_new", "quick_gelu", "silu", "tanh")


class ModelStep(Step):
    """The loss of one of the families of configurations."""

    def __init__(self, rng):
        self.rng = rng
        self.stages, self.micro = rng.choice([1, 2, 2, 3]), rng.choice([1, 2, 4])
        self.data, self.shards, self.axes = rng.choice([1, 1, 2]), rng.choice([1, 2, 2, 4]), None
        self.batch = self.micro * self.data * rng.choice([1, 2])
        self.sequence = rng.randint(3, 9)
        self.tokens = {self.sequence}
        self.family = rng.choice(FAMILIES)

    def maybe(self, **choices):
        """Each key with one of its values, or without the key."""
        return {key: self.rng.choice(values) for key, values in choices.items() if self.rng.random() < 0.5}

    def config(self):
        rng, family = self.rng, self.family
        heads, size = rng.choice([1, 2, 4]), rng.choice([4, 8])
        hidden, layers, inner = heads * size, max(self.stages, rng.choice([1, 2, 3])), rng.choice([8, 12, 20])
        vocabulary, positions = rng.choice([11, 16, 30]), self.sequence + rng.choice([0, 3])
        drop = rng.choice([0.0, 0.0, 0.2])
        ties = self.maybe(tie_word_embeddings=[True, False])
        if family == "gpt2":
            return {"n_embd": hidden, "n_layer": layers, "n_head": heads, "n_inner": inner, "vocab_size": vocabulary,
                    "n_positions": positions, "embd_pdrop": drop, "attn_pdrop": drop, "resid_pdrop": 0.0, **ties,
                    **self.maybe(scale_attn_by_inverse_layer_idx=[True], scale_attn_weights=[False])}
        if family == "distilbert":
            return {"dim": hidden, "n_layers": layers, "n_heads": heads, "hidden_dim": inner, "vocab_size": vocabulary,
                    "max_position_embeddings": positions, "dropout": drop, "attention_dropout": 0.0, **ties}
        if family == "opt":
            return {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, "ffn_dim": inner,
                    "vocab_size": vocabulary, "max_position_embeddings": positions, "dropout": drop, **ties,
                    **self.maybe(enable_bias=[False], activation_function=["relu", "gelu"], do_layer_norm_before=[False],
                                 _remove_final_layer_norm=[True], word_embed_proj_dim=[4, 12])}
        if family in SEQ2SEQ:
            return self.seq2seq(hidden, layers, heads, inner, vocabulary, positions, drop)
        common = {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": inner,
                  "vocab_size": vocabulary, "max_position_embeddings": positions, **self.maybe(hidden_act=ACTIVATIONS), **ties}
        if family in ENCODERS:
            common |= {"hidden_dropout_prob": drop, "attention_probs_dropout_prob": 0.0}
            if family == "roberta":
                common |= {"max_position_embeddings": positions + 2}
            if family == "megatron-bert":
                common |= self.maybe(bert_binary_head=[True, False], make_vocab_size_divisible_by=[4, 8])
            return common
        if family == "megatron-gpt":
            return common | {"hidden_dropout": drop, "attention_dropout": 0.0, **self.megatron_parts(heads, inner)}
        if family == "gpt_neox":
            return common | {"hidden_dropout": drop, "rotary_pct": rng.choice([0.5, 1.0]),
                             **self.maybe(use_parallel_residual=[True, False], attention_bias=[True, False])}
        common["num_key_value_heads"] = rng.choice([n for n in (1, 2, 4) if heads % n == 0])
        if family == "phi":
            return common | {"resid_pdrop": drop, **self.maybe(partial_rotary_factor=[0.5, 1.0], qk_layernorm=[True])}
        common |= {"attention_dropout": drop, "head_dim": rng.choice([size, 6])}
        if family in ("llama", "gemma", "qwen3"):
            common |= self.maybe(attention_bias=[True, False])
        if family in ("mistral", "mixtral"):
            common |= self.maybe(sliding_window=[None, 1, 2, 4])
        if family in WITH_EXPERTS:
            common |= self.experts()
        if family in ("qwen2", "qwen2_moe", "qwen3") and rng.random() < 0.5:
            common |= {"use_sliding_window": True, "sliding_window": rng.randint(1, 4), "max_window_layers": rng.randint(0, 2)}
        return common

    def megatron_parts(self, heads, inner):
        """The keys of Megatron-LM's GPT other than its sizes: parts of the blocks of Llama, GPT-NeoX and Mixtral."""
        rng = self.rng
        keys = self.maybe(apply_query_key_layer_scaling=[True], make_vocab_size_divisible_by=[4, 8], normalization=["RMSNorm"],
                          apply_layernorm_1p=[True], qk_layernorm=[True], kv_channels=[4, 8], gated_linear_unit=[True],
                          num_query_groups=[n for n in (1, 2, 4) if heads % n == 0], add_bias_linear=[False], add_qkv_bias=[True])
        if rng.random() < 0.5:
            keys |= {"position_embedding_type": "rope", "rotary_base": 100, **self.maybe(rotary_percent=[0.5])}
        if rng.random() < 0.3:
            count = rng.choice([2, 3, 4, 6])
            choices = rng.randint(1, min(3, count))
            keys |= {"num_experts": count, "moe_router_topk": choices, "moe_router_pre_softmax": choices == 1 or rng.random() < 0.3,
                     "add_bias_linear": False, "moe_ffn_hidden_size": inner,
                     **self.maybe(moe_aux_loss_coeff=[0.3], moe_z_loss_coeff=[0.1], moe_layer_freq=[2], expert_capacity_factor=[1.0],
                                  moe_shared_expert_intermediate_size=[8])}
            if "moe_aux_loss_coeff" in keys:
                # The group is within a micro-batch of a replica.
                keys["moe_aux_loss_sequences"] = rng.choice([1, self.batch // (self.micro * self.data)])
        return keys

    def seq2seq(self, hidden, layers, heads, inner, vocabulary, positions, drop):
        """The keys of an encoder with a decoder."""
        rng = self.rng
        decoder_layers, start = rng.choice([1, 2, 3]), rng.randint(0, 3)
        if self.family == "bart":
            return {"d_model": hidden, "encoder_layers": layers, "decoder_layers": decoder_layers, "encoder_attention_heads": heads,
                    "decoder_attention_heads": rng.choice([n for n in (1, 2, 4) if hidden % n == 0]), "encoder_ffn_dim": inner,
                    "decoder_ffn_dim": rng.choice([8, 12, 20]), "vocab_size": vocabulary, "max_position_embeddings": positions,
                    "dropout": drop, "activation_dropout": drop, "decoder_start_token_id": start,
                    **self.maybe(scale_embedding=[True], activation_function=["relu", "gelu"], attention_dropout=[drop])}
        buckets = rng.choice([4, 6, 8])
        return {"d_model": hidden, "d_kv": rng.choice([4, 6]), "num_layers": layers, "num_heads": heads, "d_ff": inner,
                "vocab_size": vocabulary, "dropout_rate": drop, "relative_attention_num_buckets": buckets,
                "relative_attention_max_distance": rng.randint(buckets // 2 + 1, 9), "decoder_start_token_id": start,
                **self.maybe(num_decoder_layers=[decoder_layers], feed_forward_proj=["gated-gelu", "gated-silu", "gelu"],
                             tie_word_embeddings=[True, False])}

    def experts(self):
        """The keys of layers with experts; the balance loss needs the whole batch."""
        rng, count = self.rng, self.rng.choice([2, 3, 4, 6])
        keys = {"num_experts_per_tok": rng.randint(1, min(3, count)), **self.maybe(expert_capacity_factor=[0.5, 1.0, 1.5], router_z_loss_coef=[0.1])}
        if self.micro == 1 and rng.random() < 0.5:
            keys |= {"output_router_logits": True, "router_aux_loss_coef": 0.1}
        if self.family == "mixtral":
            return keys | {"num_local_experts": count}
        return keys | {"num_experts": count, "moe_intermediate_size": rng.choice([8, 12]),
                       "shared_expert_intermediate_size": rng.choice([8, 20]),
                       **self.maybe(norm_topk_prob=[True], decoder_sparse_step=[2], mlp_only_layers=[[0]], qkv_bias=[False])}

    def task(self):
        rng, heads = self.rng, ["classify", "classify-tokens"]
        if self.family in SEQ2SEQ:
            return "seq2seq"
        if self.family in ENCODERS:
            return rng.choice(["mlm", "mlm", "mlm", "span", *heads])
        if self.family == "megatron-gpt" or rng.random() < 0.75:
            return "clm"
        return "classify" if self.family == "opt" else rng.choice(heads)

    def classes(self, task):
        """The keys of a head that classifies."""
        if not task.startswith("classify"):
            return {}
        problems = ["single_label_classification", "multi_label_classification", "regression"]
        # Positions of RoBERTa begin behind the padding token.
        padding = {} if self.family in ENCODERS else self.maybe(pad_token_id=[2])
        return {"num_labels": self.rng.choice([1, 2, 3, 5]), "classifier_dropout": self.rng.choice([0.0, 0.2]), **padding,
                **self.maybe(problem_type=problems if task == "classify" else problems[:1])}

    def text(self):
        task, flags = self.task(), []
        if task == "seq2seq" and self.rng.random() < 0.5:
            labels = self.rng.randint(2, self.sequence)
            self.tokens.add(labels)
            flags.append(f"--label-seq={labels}")
        config = json.dumps({"model_type": self.family, **self.config(), **self.classes(task)})
        done = subprocess.run([TRANSLATE, "--import-hf-config", f"--task={task}", f"--batch={self.batch}",
                               f"--seq={self.sequence}", *flags], input=config, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{config}: {done.stderr.strip()}")
        parallel, road = self.parallel(), self.rng.choice(ROADS)
        if "st.named_rows" in done.stdout and self.data > 1 and self.rng.random() < 0.7:
            parallel["expert"] = self.data
        parallel["recompute"] = self.rng.choice(["none", "selective", "full"])
        prepare = PREPARE.format(optimizer=self.rng.choice(MODEL_OPTIMIZERS))
        if self.rng.random() < 0.25:
            adapters = f"targets=all-linear rank={self.rng.choice([1, 2, 3])} dropout={self.rng.choice([0, 0.25])}"
            prepare = f"add-adapters{{{adapters}}},freeze-parameters{{train=base_model.*}},{prepare}"
        attributes = (f"st.prepare = {json.dumps(prepare)}, st.passes = {json.dumps(road)}, "
                      f"st.parallel = {quoted(json.dumps(parallel))}")
        return re.sub(r"attributes \{", f"attributes {{{attributes}, ".replace("\\", "\\\\"), done.stdout, count=1)
