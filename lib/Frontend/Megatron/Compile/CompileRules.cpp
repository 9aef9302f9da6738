//===- CompileRules.cpp - How compiling treats an argument ----------------===//
//
// The table of st-compile's treatment of each argument. To honour an argument, change its line
// here: to `runFlag` or `option` if its value is passed unchanged to a flag of the training binary
// or of st-compile, else to `program` with a line in CompiledRun.cpp.
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/Megatron/Compile/CompileRules.h"

#include "lib/Frontend/Megatron/Other/Tables.h"

using namespace mlir;
using namespace mlir::st;

using Rule = CompileRule;

static constexpr Rule program(StringRef name, StringRef as,
                              std::optional<RunFamily> family = std::nullopt) {
  return {name, Rule::Program, as, "", family};
}
static constexpr Rule runFlag(StringRef name, StringRef flag,
                              std::optional<RunFamily> family = std::nullopt) {
  return {name, Rule::RunFlag, flag, "", family};
}
static constexpr Rule option(StringRef name, StringRef option) {
  return {name, Rule::CompileOption, option};
}
static constexpr Rule unused(StringRef name, StringRef why) { return {name, Rule::NoEffect, why}; }
static constexpr Rule only(StringRef name, StringRef accepted, StringRef why,
                           std::optional<RunFamily> family = std::nullopt) {
  return {name, Rule::Only, why, accepted, family};
}

static constexpr RunFamily kBert = RunFamily::MegatronBert, kGpt = RunFamily::MegatronGpt;

static constexpr StringRef kOff = "None|False";
static constexpr StringRef kCompiler = "the compiler chooses what it fuses and overlaps";
static constexpr StringRef kEvents =
    "events always have loss, learning rate, batch size, times and the program's metrics";
static constexpr StringRef kAlwaysInEvents = "events always have it";
static constexpr StringRef kAutoresume = "NVIDIA's autoresume service is not used";
static constexpr StringRef kRetrieval = "belongs to retrieval models";
static constexpr StringRef kPictures = "belongs to vision models";
static constexpr StringRef kProcesses = "the processes of a run find each other by themselves";
static constexpr StringRef kMapped = "token files are mapped into memory and read as needed";

static constexpr StringRef kFolders = "checkpoints are folders of safetensors files";
static constexpr StringRef kRelative = "relative positions are refused";
static constexpr StringRef kLatent = "multi_latent_attention is refused";
static constexpr StringRef kTokens = "token files contain tokens, not text";
static constexpr StringRef kCollector = "a run has no garbage collector";

constexpr Rule table[] = {
    // The model.
    program("num_layers", "num_hidden_layers or num_layers of the model"),
    program("encoder_num_layers", "num_hidden_layers or num_layers of the model"),
    program("hidden_size", "hidden_size of the model"),
    program("ffn_hidden_size", "intermediate_size or ffn_hidden_size of the model"),
    program("num_attention_heads", "num_attention_heads of the model"),
    program("kv_channels", "kv_channels of the model"),
    program("max_position_embeddings", "max_position_embeddings of the model"),
    program("seq_length", "--seq of st-compile"),
    program("encoder_seq_length", "--seq of st-compile"),
    program("attention_dropout", "dropout of the model"),
    program("hidden_dropout", "dropout of the model"),
    program("layernorm_epsilon", "layer_norm_eps or layernorm_epsilon of the model"),
    program("norm_epsilon", "layer_norm_eps or layernorm_epsilon of the model"),
    program("bias_gelu_fusion", "hidden_act of the model: gelu_new, or gelu without the fusion"),
    program("openai_gelu", "hidden_act of the model: gelu_new"),
    program("squared_relu", "hidden_act of the model: relu2"),
    program("swiglu", "hidden_act of the model: silu, with gated_linear_unit"),
    program("quick_geglu", "hidden_act of the model: quick_gelu, with gated_linear_unit"),
    program("normalization", "normalization of the model"),
    program("apply_layernorm_1p", "apply_layernorm_1p of the model"),
    program("qk_layernorm", "qk_layernorm of the model"),
    program("group_query_attention", "num_query_groups of the model"),
    program("num_query_groups", "num_query_groups of the model"),
    program("add_bias_linear", "add_bias_linear of the model"),
    program("add_qkv_bias", "add_qkv_bias of the model"),
    program("position_embedding_type", "position_embedding_type of the model"),
    program("add_position_embedding", "position_embedding_type of the model"),
    program("use_rotary_position_embeddings", "position_embedding_type of the model"),
    program("rotary_base", "rotary_base of the model"),
    program("rope_theta", "rotary_base of the model"),
    program("rotary_percent", "rotary_percent of the model"),
    program("rotary_seq_len_interpolation_factor", "rope_scaling of the model"),
    program("use_rope_scaling", "rope_scaling of the model"),
    program("rope_scaling_factor", "rope_scaling of the model"),
    program("num_experts", "num_experts of the model"),
    program("moe_router_topk", "moe_router_topk of the model"),
    program("moe_router_pre_softmax", "moe_router_pre_softmax of the model"),
    program("moe_router_load_balancing_type", "moe_aux_loss_sequences of the model"),
    program("moe_aux_loss_coeff", "moe_aux_loss_coeff of the model"),
    program("moe_z_loss_coeff", "moe_z_loss_coeff of the model"),
    program("moe_layer_freq", "moe_layer_freq of the model"),
    program("moe_ffn_hidden_size", "moe_ffn_hidden_size of the model"),
    program("moe_shared_expert_intermediate_size",
            "moe_shared_expert_intermediate_size of the model"),
    program("bert_binary_head", "bert_binary_head of the model", kBert),
    program("apply_query_key_layer_scaling", "apply_query_key_layer_scaling of the model"),
    program("init_method_std", "initializer_range or init_method_std of the model, over the root "
                               "of 2 num_layers where a layer writes to the residual stream"),
    program("untie_embeddings_and_output_weights", "tie_word_embeddings of the model"),
    program("vocab_size", "vocab_size of the model"),
    program("padded_vocab_size", "make_vocab_size_divisible_by of the model"),
    program("vocab_file", "vocab_size and vocab.txt of the model"),
    program("vocab_extra_ids", "vocab_size of the model"),
    program("make_vocab_size_divisible_by", "make_vocab_size_divisible_by of the model"),
    program("tokenizer_type", "the model's family, do_lower_case of its configuration"),
    only("init_method_xavier_uniform", kOff, "initial values are normal"),
    only("apply_residual_connection_post_layernorm", kOff,
         "residuals leave a layer before its normalisation"),
    only("fp32_residual_connection", kOff, "residuals are in the type of the products"),
    only("onnx_safe", kOff, "nothing is exported"),
    only("rotary_interleaved", kOff, "element i of a head rotates with element i + r / 2"),
    unused("rotary_scaling_factor", kLatent),
    unused("rope_type", kLatent),
    unused("relative_attention_num_buckets", kRelative),
    unused("relative_attention_max_distance", kRelative),
    unused("perform_initialization", "a model without a checkpoint is always initialised"),
    unused("attention_softmax_in_fp32", "softmax is always computed in f32"),
    unused("lazy_mpu_init", "devices are set up when a run starts"),
    unused("use_cpu_initialization", "initial values are a function of the seed on any device"),

    // Numbers.
    program("fp16", "precision of the layout"),
    program("bf16", "precision of the layout"),
    unused("params_dtype", "follows from fp16 and bf16"),
    program("accumulate_allreduce_grads_in_fp32", "precision.reduce of the layout"),
    program("grad_reduce_in_bf16", "precision.reduce of the layout"),
    only("fp16_lm_cross_entropy", kOff, "the cross entropy is computed in f32"),
    program("loss_scale", "precision.loss_scale of the layout"),
    option("initial_loss_scale", "initial-loss-scale"),
    option("loss_scale_window", "loss-scale-window"),
    option("hysteresis", "hysteresis"),
    option("min_loss_scale", "min-loss-scale"),

    // The optimizer.
    program("optimizer", "--optimizer of st-compile; adam has the decay of AdamW, as Apex's"),
    program("adam_beta1", "--beta1 of st-compile"),
    program("adam_beta2", "--beta2 of st-compile"),
    program("adam_eps", "--epsilon of st-compile"),
    program("sgd_momentum", "--momentum of st-compile"),
    option("weight_decay", "weight-decay"),
    option("clip_grad", "clip-norm"),
    program("start_weight_decay", "--weight-decay of st-compile; others are refused"),
    program("end_weight_decay", "--weight-decay of st-compile; others are refused"),
    only("weight_decay_incr_style", "constant|None", "the weight decay does not change"),
    only("head_lr_mult", "1|None", "all parameters have one learning rate"),

    // The step and its layout.
    program("micro_batch_size", "accum_degree of the layout"),
    program("global_batch_size", "--batch of st-compile"),
    program("rampup_batch_size", "--rampup-batch-size of st-compile"),
    program("tensor_model_parallel_size", "sharding_size of the layout"),
    program("pipeline_model_parallel_size", "stage_cnt of the layout"),
    program("num_layers_per_virtual_pipeline_stage", "virtual_stages of the layout"),
    program("virtual_pipeline_model_parallel_size", "virtual_stages of the layout"),
    unused("transformer_pipeline_model_parallel_size", "follows from pipeline_model_parallel_size"),
    program("data_parallel_size", "data of the layout"),
    program("world_size", "data of the layout"),
    program("sequence_parallel", "sequence_parallel of the layout"),
    program("context_parallel_size", "context of the layout"),
    program("cp_comm_type", "context_attention of the layout"),
    program("expert_model_parallel_size", "expert of the layout"),
    program("expert_tensor_parallel_size", "sharding_size of the layout; others are refused"),
    program("use_distributed_optimizer", "zero of the layout"),
    program("zero_stage", "zero of the layout"),
    program("checkpoint_activations", "recompute of the layout"),
    program("checkpoint_num_layers",
            "the inputs of each layer are kept; other numbers than 1 are refused"),
    program("recompute_activations", "recompute of the layout"),
    program("recompute_granularity", "recompute of the layout"),
    program("recompute_method", "recompute of the layout"),
    program("recompute_num_layers",
            "the inputs of each layer are kept; other numbers than 1 are refused"),
    only("distribute_checkpointed_activations", kOff, "kept inputs of layers are not split"),
    unused("scatter_gather_tensors_in_pipeline", kCompiler),
    unused("masked_softmax_fusion", kCompiler),
    unused("bias_dropout_fusion", kCompiler),
    unused("DDP_impl", kCompiler),
    unused("use_contiguous_buffers_in_ddp", kCompiler),
    unused("overlap_grad_reduce", kCompiler),
    unused("use_flash_attn", kCompiler),

    // The learning rate.
    program("lr", "--lr of st-compile and of the run"),
    program("min_lr", "--min-lr of the run"),
    program("lr_decay_style", "--lr-decay-style of the run"),
    program("lr_decay_iters", "--lr-decay-steps of the run"),
    program("lr_decay_samples", "--lr-decay-samples of the run"),
    program("lr_warmup_fraction", "--lr-warmup-fraction of the run"),
    program("lr_warmup_iters", "--warmup of the run"),
    program("lr_warmup_samples", "--lr-warmup-samples of the run"),
    program("lr_wsd_decay_style", "--lr-wsd-decay-style of the run"),
    program("lr_wsd_decay_iters", "--lr-wsd-decay-steps of the run"),
    program("lr_wsd_decay_samples", "--lr-wsd-decay-samples of the run"),
    runFlag("override_lr_scheduler", "override-lr-scheduler"),
    runFlag("use_checkpoint_lr_scheduler", "use-checkpoint-lr-scheduler"),
    runFlag("override_opt_param_scheduler", "override-lr-scheduler"),
    runFlag("use_checkpoint_opt_param_scheduler", "use-checkpoint-lr-scheduler"),

    // The length of the training, and checkpoints.
    program("train_iters", "--train-steps of the run"),
    program("train_samples", "--train-steps of the run, or --train-samples with a ramp-up"),
    runFlag("exit_interval", "exit-interval"),
    runFlag("exit_duration_in_mins", "exit-duration-in-mins"),
    runFlag("save", "save"),
    program("save_interval", "--save-interval of the run"),
    runFlag("load", "load"),
    program("finetune", "--finetune of the run"),
    program("no_load_optim", "--no-load-optim of the run"),
    program("no_load_rng", "--no-load-rng of the run"),
    only("no_save_optim", kOff, "checkpoints are always complete"),
    only("no_save_rng", kOff, "checkpoints are always complete"),
    unused("async_save", "checkpoints are always written asynchronously"),
    unused("exit_signal_handler", "SIGTERM ends a run after a step, with a checkpoint, always"),
    unused("ckpt_format", kFolders),
    unused("ckpt_assume_constant_structure", kFolders),
    unused("ckpt_fully_parallel_load", kFolders),
    unused("ckpt_fully_parallel_save", kFolders),
    unused("ckpt_fully_parallel_save_deprecated", kFolders),
    unused("use_persistent_ckpt_worker", kFolders),
    unused("dist_ckpt_format", kFolders),
    unused("dist_ckpt_format_deprecated", kFolders),
    unused("dist_ckpt_strictness", kFolders),
    unused("use_dist_ckpt", kFolders),
    unused("use_dist_ckpt_deprecated", kFolders),
    unused("auto_detect_ckpt_format", kFolders),
    unused("non_persistent_local_ckpt_algo", "non_persistent_ckpt_type is refused"),
    unused("replication_factor", "replication is refused"),
    unused("manual_gc", kCollector),
    unused("manual_gc_interval", kCollector),
    unused("manual_gc_eval", kCollector),
    unused("consumed_train_samples", "the checkpoint stores it"),
    unused("consumed_valid_samples", "each evaluation takes the same first samples"),
    only("adlr_autoresume", kOff, kAutoresume),
    unused("adlr_autoresume_interval", kAutoresume),

    // Data.
    program("data_path", "--data of the run"),
    program("train_data_path", "--data of the run"),
    program("valid_data_path", "--valid-data of the run"),
    program("test_data_path", "--test-data of the run"),
    only("data_impl", "infer|mmap|None", "token files are those that data_impl=mmap writes"),
    only("dataloader_type", "single|None", "the order of samples is a function of the seed"),
    runFlag("seed", "seed"),
    runFlag("split", "split"),
    runFlag("mask_prob", "mask-prob", kBert),
    runFlag("short_seq_prob", "short-seq-prob", kBert),
    only("use_one_sent_docs", kOff, "pairs are of two sentences", kBert),
    runFlag("eod_mask_loss", "eod-mask-loss", kGpt),
    program("reset_attention_mask", "--reset-attention-mask of st-compile and of the run", kGpt),
    program("reset_position_ids", "--reset-position-ids of st-compile and of the run", kGpt),
    unused("mmap_warmup", kMapped),
    unused("mmap_bin_files", kMapped),
    unused("data_cache_path", "samples have no index files"),
    unused("num_dataset_builder_threads", "samples have no index files"),
    unused("create_attention_mask_in_dataloader", "the program computes its masks"),
    unused("num_workers", "the training process prepares the batches"),
    unused("merge_file", "token files contain tokens, which are not merged"),
    unused("tokenizer_model", kTokens),
    unused("tiktoken_pattern", kTokens),
    unused("tiktoken_num_special_tokens", kTokens),
    unused("use_tokenizer_model_from_checkpoint_args", kTokens),

    // Evaluation and logging.
    program("eval_interval", "--eval-interval of the run"),
    program("eval_iters", "--eval of st-compile and --eval-iters of the run"),
    program("log_interval", "--log-interval of the run, with --log-style=megatron"),
    runFlag("tensorboard_dir", "tensorboard"),
    runFlag("tensorboard_log_interval", "tensorboard-log-interval"),
    unused("tensorboard_queue_size", "events are written when they come"),
    unused("log_learning_rate_to_tensorboard", kEvents),
    unused("log_loss_scale_to_tensorboard", kEvents),
    unused("log_batch_size_to_tensorboard", kEvents),
    unused("log_timers_to_tensorboard", kAlwaysInEvents),
    unused("log_memory_to_tensorboard", kAlwaysInEvents),
    unused("log_validation_ppl_to_tensorboard", "events always have it"),
    program("log_num_zeros_in_grad", "--log-num-zeros-in-grad of st-compile"),
    runFlag("log_params_norm", "log-params-norm"),

    // Processes.
    unused("rank", kProcesses),
    unused("local_rank", kProcesses),
    unused("distributed_backend", kProcesses),

    // Other models.
    unused("bert_load", kRetrieval),
    unused("biencoder_projection_dim", kRetrieval),
    unused("biencoder_shared_query_context_model", kRetrieval),
    unused("block_data_path", kRetrieval),
    unused("embedding_path", kRetrieval),
    unused("evidence_data_path", kRetrieval),
    unused("ict_head_size", kRetrieval),
    unused("ict_load", kRetrieval),
    unused("indexer_batch_size", kRetrieval),
    unused("indexer_log_interval", kRetrieval),
    unused("query_in_block_prob", kRetrieval),
    unused("retriever_report_topk_accuracies", kRetrieval),
    unused("retriever_score_scaling", kRetrieval),
    unused("retriever_seq_length", kRetrieval),
    unused("sample_rate", kRetrieval),
    unused("titles_data_path", kRetrieval),
    unused("img_dim", kPictures),
    unused("num_channels", kPictures),
    unused("num_classes", kPictures),
    unused("patch_dim", kPictures),
    unused("decoder_seq_length", "belongs to models with an encoder and a decoder"),
};

static bool isOf(const Argument &argument, ArrayRef<Argument> arguments) {
  return &argument >= arguments.begin() && &argument < arguments.end();
}

CompileRule mlir::st::findCompileRule(const Argument &argument) {
  for (const Rule &rule : table)
    if (rule.name == argument.name)
      return rule;
  if (argument.status == ArgumentStatus::Restricted)
    return only(argument.name, argument.note, "no other value can be compiled");
  if (isOf(argument, implementationArguments()) || isOf(argument, modelArguments()) ||
      isOfProcesses(argument))
    return unused(argument.name, argument.note);
  return only(argument.name, "None|False|0|0.0", "st-compile does not support it");
}
