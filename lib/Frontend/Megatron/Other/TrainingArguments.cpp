//===- TrainingArguments.cpp - Megatron arguments without effect on a plan -===//
//
// Update, loss scale, numbers and first values.
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/Megatron/Other/Tables.h"

using namespace mlir;
using namespace mlir::st;

using Kind = ArgumentKind;

static constexpr StringRef kUpdate = "a number of the update: its cost is the same for any value";
static constexpr StringRef kScale = "the loss scale changes numbers, not the work";
static constexpr StringRef kNumerics = "changes how values are rounded or scaled, not the work";
static constexpr StringRef kOrder = "the same operations in another order";
static constexpr StringRef kLatent = "belongs to multi_latent_attention, which is refused";
static constexpr StringRef kInitialisation = "decides the first values of parameters alone";

constexpr Argument table[] = {
    noEffect("adam_beta1", Kind::NonNegative, kUpdate),
    noEffect("adam_beta2", Kind::NonNegative, kUpdate),
    noEffect("adam_eps", Kind::NonNegative, kUpdate),
    noEffect("sgd_momentum", Kind::NonNegative, kUpdate),
    noEffect("weight_decay", Kind::NonNegative, kUpdate),
    noEffect("start_weight_decay", Kind::NonNegative, kUpdate),
    noEffect("end_weight_decay", Kind::NonNegative, kUpdate),
    noEffect("weight_decay_incr_style", Kind::Text, kUpdate),
    noEffect("do_norm_bias_weight_decay", Kind::Flag, kUpdate),
    noEffect("head_lr_mult", Kind::NonNegative, kUpdate),
    noEffect("decoupled_lr", Kind::NonNegative, kUpdate),
    noEffect("decoupled_min_lr", Kind::NonNegative, kUpdate),
    noEffect("lr_warmup_init", Kind::NonNegative, kUpdate),
    noEffect("apply_wd_to_qk_layernorm", Kind::Flag, kUpdate),
    noEffect("decoupled_weight_decay", Kind::Flag, kUpdate),
    noEffect("muon_momentum", Kind::NonNegative, kUpdate),

    noEffect("loss_scale", Kind::Positive, kScale),
    noEffect("initial_loss_scale", Kind::Positive, kScale),
    noEffect("min_loss_scale", Kind::NonNegative, kScale),
    noEffect("loss_scale_window", Kind::NonNegative, kScale),
    noEffect("hysteresis", Kind::Count, kScale),

    noEffect("apply_query_key_layer_scaling", Kind::Flag, kNumerics),
    noEffect("attention_softmax_in_fp32", Kind::Flag, kNumerics),
    noEffect("layernorm_epsilon", Kind::Positive, kNumerics),
    noEffect("norm_epsilon", Kind::Positive, kNumerics),
    noEffect("rotary_interleaved", Kind::Flag, kNumerics),
    noEffect("rotary_scaling_factor", Kind::Any, kLatent),
    noEffect("rope_type", Kind::Text, kLatent),
    noEffect("embedding_weights_in_fp32", Kind::Flag, kNumerics),
    noEffect("mask_tensor_adding", Kind::Flag, kNumerics),
    noEffect("attention_dropout_seed", Kind::Any, kNumerics),
    noEffect("deterministic_mode", Kind::Flag, kNumerics),
    noEffect("mrope_section", Kind::Any, kNumerics),
    noEffect("relative_attention_max_distance", Kind::Any, kNumerics),
    noEffect("relative_attention_num_buckets", Kind::Any, kNumerics),

    noEffect("apply_residual_connection_post_layernorm", Kind::Flag, kOrder),

    noEffect("init_method_std", Kind::NonNegative, kInitialisation),
    noEffect("init_method_xavier_uniform", Kind::Flag, kInitialisation),
    noEffect("no_scaled_init", Kind::Flag, kInitialisation),
    noEffect("seed", Kind::Integer, kInitialisation),
    noEffect("data_parallel_random_init", Kind::Flag, kInitialisation),
    noEffect("use_cpu_initialization", Kind::Flag, kInitialisation),
    noEffect("perform_initialization", Kind::Flag, kInitialisation),
    noEffect("lazy_mpu_init", Kind::Flag, kInitialisation),
    noEffect("embedding_init_method_std", Kind::NonNegative, kInitialisation),
    noEffect("init_model_with_meta_device", Kind::Flag, kInitialisation),
    noEffect("te_rng_tracker", Kind::Flag, kInitialisation),
    noEffect("inference_rng_tracker", Kind::Flag, kInitialisation),
};

ArrayRef<Argument> mlir::st::trainingArguments() { return table; }
