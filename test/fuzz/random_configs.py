"""Random small configurations of the families of models, and tasks that the families have."""

DECODERS = ("gemma", "gpt2", "gpt_neox", "llama", "megatron-gpt", "mistral", "mixtral", "opt", "phi", "qwen2", "qwen2_moe",
            "qwen3")
ENCODERS = ("bert", "distilbert", "megatron-bert", "roberta")
SEQ2SEQ = ("bart", "t5")
FAMILIES = tuple(sorted((*DECODERS, *ENCODERS, *SEQ2SEQ, "vit")))
WITH_EXPERTS = ("mixtral", "qwen2_moe")
ACTIVATIONS = ("gelu", "gelu_new", "quick_gelu", "relu", "relu2", "silu", "tanh")
PROBLEMS = ("single_label_classification", "multi_label_classification", "regression")


class RandomConfig:
    """A configuration of `family` with at least `layers` layers, for sequences of `sequence` tokens. A replica computes
    `rows` of them at a time; has_whole_batch: there is one micro-batch."""

    def __init__(self, rng, family, layers, sequence, rows, has_whole_batch):
        self.rng, self.family, self.layers, self.sequence = rng, family, layers, sequence
        self.rows, self.has_whole_batch = rows, has_whole_batch
        self.task = self.draw_task()
        self.keys = {"model_type": family, **self.config(), **self.classes()}

    def draw_task(self):
        rng, heads = self.rng, ["classify", "classify-tokens"]
        if self.family in SEQ2SEQ:
            return "seq2seq"
        if self.family == "vit":
            return "classify"
        if self.family in ENCODERS:
            return rng.choice(["mlm", "mlm", "mlm", "span", *heads])
        if self.family == "megatron-gpt" or rng.random() < 0.75:
            return "clm"
        return "classify" if self.family == "opt" else rng.choice(heads)

    def classes(self):
        """The keys of a head that classifies."""
        if not self.task.startswith("classify"):
            return {}
        problems = PROBLEMS if self.task == "classify" else PROBLEMS[:1]
        keys = {"num_labels": self.rng.choice([1, 2, 3, 5]), **self.maybe(problem_type=problems)}
        if self.family == "vit":
            return keys
        # Positions of RoBERTa begin after the padding token.
        padding = {} if self.family in ENCODERS else self.maybe(pad_token_id=[2])
        return keys | {"classifier_dropout": self.rng.choice([0.0, 0.2]), **padding}

    def maybe(self, **choices):
        """Each key with one of its values, or without the key."""
        return {key: self.rng.choice(values) for key, values in choices.items() if self.rng.random() < 0.5}

    def config(self):
        """The keys of the architecture, under the family's names."""
        rng, family = self.rng, self.family
        heads, size = rng.choice([1, 2, 4]), rng.choice([4, 8])
        hidden, layers, inner = heads * size, max(self.layers, rng.choice([1, 2, 3])), rng.choice([8, 12, 20])
        vocabulary, positions = rng.choice([11, 16, 30]), self.sequence + rng.choice([0, 3])
        drop = rng.choice([0.0, 0.0, 0.2])
        ties = self.maybe(tie_word_embeddings=[True, False])
        if family == "vit":
            return self.pictures(hidden, layers, heads, inner, drop)
        if family == "gpt2":
            return {"n_embd": hidden, "n_layer": layers, "n_head": heads, "n_inner": inner, "vocab_size": vocabulary,
                    "n_positions": positions, "embd_pdrop": drop, "attn_pdrop": drop, "resid_pdrop": 0.0, **ties,
                    **self.maybe(scale_attn_by_inverse_layer_idx=[True], scale_attn_weights=[False])}
        if family == "distilbert":
            return {"dim": hidden, "n_layers": layers, "n_heads": heads, "hidden_dim": inner, "vocab_size": vocabulary,
                    "max_position_embeddings": positions, "dropout": drop, "attention_dropout": rng.choice([0.0, drop]),
                    **ties}
        if family == "opt":
            return {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, "ffn_dim": inner,
                    "vocab_size": vocabulary, "max_position_embeddings": positions, "dropout": drop, **ties,
                    **self.maybe(enable_bias=[False], activation_function=["relu", "gelu"], do_layer_norm_before=[False],
                                 _remove_final_layer_norm=[True], word_embed_proj_dim=[4, 12])}
        if family in SEQ2SEQ:
            return self.seq2seq(hidden, layers, heads, inner, vocabulary, positions, drop)
        common = {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
                  "intermediate_size": inner, "vocab_size": vocabulary, "max_position_embeddings": positions,
                  **self.maybe(hidden_act=ACTIVATIONS), **ties}
        if family in ENCODERS:
            return common | self.encoder(positions, drop)
        return common | self.decoder(heads, size, inner, positions, drop)

    def pictures(self, hidden, layers, heads, inner, drop):
        """A picture has at most as many patches as a text has tokens."""
        rng = self.rng
        patch, columns = [rng.choice([1, 2]), rng.choice([1, 2, 3])], rng.choice([1, 2, 3])
        picture = [patch[0] * max(1, self.sequence // columns), patch[1] * columns]
        if rng.random() < 0.5:
            patch, picture = 2, 2 * rng.choice([1, 2])
        return {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": inner,
                "image_size": picture, "patch_size": patch, "num_channels": rng.choice([1, 2, 3, 4]),
                "hidden_dropout_prob": drop, "attention_probs_dropout_prob": rng.choice([0.0, drop]),
                **self.maybe(hidden_act=ACTIVATIONS, qkv_bias=[False])}

    def encoder(self, positions, drop):
        """The keys of an encoder beside its sizes."""
        keys = {"hidden_dropout_prob": drop, "attention_probs_dropout_prob": self.rng.choice([0.0, drop])}
        if self.family == "roberta":
            keys |= {"max_position_embeddings": positions + 2}
        if self.family == "megatron-bert":
            keys |= self.maybe(bert_binary_head=[True, False], make_vocab_size_divisible_by=[4, 8], lm_head_act=ACTIVATIONS,
                               apply_query_key_layer_scaling=[True])
        return keys

    def decoder(self, heads, size, inner, positions, drop):
        """The keys of a decoder with Llama's names of sizes, beside these."""
        rng, family = self.rng, self.family
        if family == "megatron-gpt":
            return {"hidden_dropout": drop, "attention_dropout": rng.choice([0.0, drop]),
                    **self.megatron_parts(heads, inner, positions)}
        if family == "gpt_neox":
            return {"hidden_dropout": drop, "rotary_pct": rng.choice([0.5, 1.0]), **self.rotary(positions),
                    **self.maybe(use_parallel_residual=[True, False], attention_bias=[True, False])}
        keys = {"num_key_value_heads": rng.choice([n for n in (1, 2, 4) if heads % n == 0]), **self.rotary(positions)}
        if family == "phi":
            return keys | {"resid_pdrop": drop, **self.maybe(partial_rotary_factor=[0.5, 1.0], qk_layernorm=[True])}
        keys |= {"attention_dropout": drop, "head_dim": rng.choice([size, 6])}
        if family in ("llama", "gemma", "qwen3"):
            keys |= self.maybe(attention_bias=[True, False])
        if family in ("mistral", "mixtral"):
            keys |= self.maybe(sliding_window=[None, 1, 2, 4])
        if family in WITH_EXPERTS:
            keys |= self.experts()
        if family in ("qwen2", "qwen2_moe", "qwen3") and rng.random() < 0.5:
            keys |= {"use_sliding_window": True, "sliding_window": rng.randint(1, 4), "max_window_layers": rng.randint(0, 2)}
        return keys

    def rotary(self, positions):
        """Rotary positions of one of the kinds of scaling, or without one."""
        rng = self.rng
        kind = rng.choice(["default", "default", "dynamic", "linear", "llama3", "yarn"])
        if kind == "default":
            return {}
        keys = {"rope_type": kind, "factor": rng.choice([1.5, 4.0]), **self.maybe(rope_theta=[10.0, 500.0])}
        if kind in ("llama3", "yarn"):
            keys |= {"original_max_position_embeddings": rng.choice([2, positions, 64])}
        if kind == "llama3":
            keys |= {"low_freq_factor": rng.choice([0.1, 1.0]), "high_freq_factor": rng.choice([2.0, 4.0])}
        if kind == "yarn":
            keys |= self.maybe(beta_fast=[2.0, 32.0], beta_slow=[0.1, 1.0], truncate=[False], attention_factor=[0.8])
        return {rng.choice(["rope_parameters", "rope_scaling"]): keys}

    def megatron_parts(self, heads, inner, positions):
        """The keys of Megatron-LM's GPT other than its sizes: parts of the blocks of Llama, GPT-NeoX and Mixtral."""
        rng = self.rng
        keys = self.maybe(apply_query_key_layer_scaling=[True], make_vocab_size_divisible_by=[4, 8],
                          normalization=["RMSNorm"], apply_layernorm_1p=[True], qk_layernorm=[True], kv_channels=[4, 8],
                          num_query_groups=[n for n in (1, 2, 4) if heads % n == 0], gated_linear_unit=[True],
                          add_bias_linear=[False], add_qkv_bias=[True])
        kind = rng.choice(["learned_absolute", "learned_absolute", "rope", "rope", "none"])
        if kind == "rope":
            keys |= {"rotary_base": 100, **self.maybe(rotary_percent=[0.5]), **self.rotary(positions)}
        keys |= {"position_embedding_type": kind}
        if rng.random() < 0.3:
            count = rng.choice([2, 3, 4, 6])
            choices = rng.randint(1, min(3, count))
            keys |= {"num_experts": count, "moe_router_topk": choices, "add_bias_linear": False,
                     "moe_ffn_hidden_size": inner, "moe_router_pre_softmax": choices == 1 or rng.random() < 0.3,
                     **self.maybe(moe_aux_loss_coeff=[0.3], moe_z_loss_coeff=[0.1], moe_layer_freq=[2],
                                  expert_capacity_factor=[1.0], moe_shared_expert_intermediate_size=[8])}
            if "moe_aux_loss_coeff" in keys:
                # The group is within a micro-batch of a replica.
                keys["moe_aux_loss_sequences"] = rng.choice([1, self.rows])
        return keys

    def seq2seq(self, hidden, layers, heads, inner, vocabulary, positions, drop):
        """The keys of an encoder with a decoder."""
        rng = self.rng
        decoder_layers, start = rng.choice([1, 2, 3]), rng.randint(0, 3)
        if self.family == "bart":
            return {"d_model": hidden, "encoder_layers": layers, "decoder_layers": decoder_layers,
                    "encoder_attention_heads": heads, "encoder_ffn_dim": inner, "decoder_ffn_dim": rng.choice([8, 12, 20]),
                    "decoder_attention_heads": rng.choice([n for n in (1, 2, 4) if hidden % n == 0]),
                    "vocab_size": vocabulary, "max_position_embeddings": positions, "dropout": drop,
                    "activation_dropout": drop, "decoder_start_token_id": start,
                    **self.maybe(scale_embedding=[True], activation_function=["relu", "gelu"], attention_dropout=[drop])}
        buckets = rng.choice([4, 6, 8])
        return {"d_model": hidden, "d_kv": rng.choice([4, 6]), "num_layers": layers, "num_heads": heads, "d_ff": inner,
                "vocab_size": vocabulary, "dropout_rate": drop, "relative_attention_num_buckets": buckets,
                "relative_attention_max_distance": rng.randint(buckets // 2 + 1, 9), "decoder_start_token_id": start,
                **self.maybe(num_decoder_layers=[decoder_layers], feed_forward_proj=["gated-gelu", "gated-silu", "gelu"],
                             tie_word_embeddings=[True, False])}

    def experts(self):
        """The keys of layers with experts. The balance loss of a batch needs all of it at once."""
        rng, count = self.rng, self.rng.choice([2, 3, 4, 6])
        keys = {"num_experts_per_tok": rng.randint(1, min(3, count)),
                **self.maybe(expert_capacity_factor=[0.5, 1.0, 1.5], router_z_loss_coef=[0.1])}
        balances = rng.choice(["batch" if self.has_whole_batch else "sequences", "sequences", None])
        if balances:
            keys |= {"output_router_logits": True, "router_aux_loss_coef": 0.1,
                     "balance_loss_per_sequence": balances == "sequences"}
        if self.family == "mixtral":
            return keys | {"num_local_experts": count}
        return keys | {"num_experts": count, "moe_intermediate_size": rng.choice([8, 12]),
                       "shared_expert_intermediate_size": rng.choice([8, 20]),
                       **self.maybe(norm_topk_prob=[True], decoder_sparse_step=[2], mlp_only_layers=[[0]], qkv_bias=[False])}
