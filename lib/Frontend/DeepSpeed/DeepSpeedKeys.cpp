//===- DeepSpeedKeys.cpp - The keys of a DeepSpeed configuration ----------===//

#include "lib/Frontend/DeepSpeed/DeepSpeedKeys.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace mlir;
using namespace mlir::st;

using Kind = DeepSpeedKind;
using Status = DeepSpeedStatus;

static constexpr StringRef kScale = "changes how values are rounded or scaled, not the work";
static constexpr StringRef kUpdate = "a number of the update: its cost is the same for any value";
static constexpr StringRef kImplementation =
    "is a choice of the implementation that a plan makes by itself";
static constexpr StringRef kCheckpoints = "is about checkpoints, which are no part of a step";
static constexpr StringRef kLogging = "is about what is printed or recorded";
static constexpr StringRef kTuning = "the planner runs its own search";
static constexpr StringRef kLauncher = "is about how processes start and read their data";
static constexpr StringRef kDefault = "allows something that st-plan always allows";
static constexpr StringRef kOff = "belongs to a feature that is off";

static constexpr DeepSpeedKey honoured(StringRef name, Kind kind) {
  return {name, kind, Status::Honoured, ""};
}

static constexpr DeepSpeedKey noEffect(StringRef name, Kind kind, StringRef reason) {
  return {name, kind, Status::NoEffect, reason};
}

static constexpr DeepSpeedKey off(StringRef name, Kind kind, StringRef reason) {
  return {name, kind, Status::Off, reason};
}

constexpr DeepSpeedKey table[] = {
    // The batch.
    honoured("train_batch_size", Kind::Size),
    honoured("train_micro_batch_size_per_gpu", Kind::Size),
    honoured("gradient_accumulation_steps", Kind::Size),

    // Numbers.
    honoured("fp16", Kind::Section),
    honoured("fp16.enabled", Kind::Flag),
    honoured("bf16", Kind::Section),
    honoured("bf16.enabled", Kind::Flag),
    honoured("bfloat16", Kind::Section),
    honoured("bfloat16.enabled", Kind::Flag),
    honoured("fp32_allreduce", Kind::Flag),
    honoured("communication_data_type", Kind::Text),
    honoured("gradient_clipping", Kind::NonNegative),
    honoured("data_types", Kind::Section),
    honoured("data_types.grad_accum_dtype", Kind::Text),
    noEffect("fp16.loss_scale", Kind::NonNegative, kScale),
    noEffect("fp16.initial_scale_power", Kind::NonNegative, kScale),
    noEffect("fp16.loss_scale_window", Kind::NonNegative, kScale),
    noEffect("fp16.hysteresis", Kind::Count, kScale),
    noEffect("fp16.min_loss_scale", Kind::NonNegative, kScale),
    noEffect("fp16.consecutive_hysteresis", Kind::Flag, kScale),
    noEffect("fp16.auto_cast", Kind::Flag, kScale),
    noEffect("fp16.fp16_master_weights_and_grads", Kind::Flag, kScale),
    noEffect("fp16.loss_scale_args", Kind::Any, kScale),
    noEffect("bf16.immediate_grad_update", Kind::Flag, kScale),
    noEffect("bf16.check_grad_overflow", Kind::Flag, kScale),
    noEffect("bf16.auto_cast", Kind::Flag, kScale),
    noEffect("prescale_gradients", Kind::Flag, kScale),
    noEffect("gradient_predivide_factor", Kind::NonNegative, kScale),
    off("amp", Kind::Section, "AMP of Apex casts at other places"),
    noEffect("amp.enabled", Kind::Flag, kScale),
    noEffect("amp.opt_level", Kind::Text, kScale),
    noEffect("amp.loss_scale", Kind::Any, kScale),
    off("torch_autocast", Kind::Section, "automatic casts are those of PyTorch"),
    noEffect("torch_autocast.enabled", Kind::Flag, kScale),
    noEffect("torch_autocast.dtype", Kind::Text, kScale),
    noEffect("torch_autocast.lower_precision_safe_modules", Kind::Any, kScale),
    off("sparse_gradients", Kind::Flag, "gradients of embeddings are dense here"),

    // The update.
    honoured("optimizer", Kind::Section),
    honoured("optimizer.type", Kind::Text),
    honoured("optimizer.params", Kind::Section),
    honoured("optimizer.params.lr", Kind::NonNegative),
    honoured("scheduler", Kind::Section),
    honoured("scheduler.type", Kind::Text),
    honoured("scheduler.params", Kind::Section),
    honoured("scheduler.params.warmup_min_lr", Kind::NonNegative),
    honoured("scheduler.params.warmup_max_lr", Kind::NonNegative),
    honoured("scheduler.params.warmup_num_steps", Kind::NonNegative),
    honoured("scheduler.params.total_num_steps", Kind::NonNegative),
    noEffect("optimizer.params.betas", Kind::Any, kUpdate),
    noEffect("optimizer.params.eps", Kind::NonNegative, kUpdate),
    noEffect("optimizer.params.weight_decay", Kind::NonNegative, kUpdate),
    noEffect("optimizer.params.bias_correction", Kind::Flag, kUpdate),
    noEffect("optimizer.params.momentum", Kind::NonNegative, kUpdate),
    noEffect("optimizer.params.dampening", Kind::NonNegative, kUpdate),
    noEffect("optimizer.params.nesterov", Kind::Flag, kUpdate),
    noEffect("optimizer.params.amsgrad", Kind::Flag, kUpdate),
    noEffect("optimizer.params.adam_w_mode", Kind::Flag, kUpdate),
    noEffect("optimizer.params.torch_adam", Kind::Flag, kUpdate),
    noEffect("optimizer.params.fused", Kind::Flag, kUpdate),
    noEffect("optimizer.params.max_coeff", Kind::NonNegative, kUpdate),
    noEffect("optimizer.params.min_coeff", Kind::NonNegative, kUpdate),
    noEffect("optimizer.params.freeze_step", Kind::Count, kUpdate),
    noEffect("optimizer.params.max_grad_norm", Kind::NonNegative, kUpdate),
    noEffect("optimizer.legacy_fusion", Kind::Flag, kUpdate),
    noEffect("scheduler.params.*", Kind::Any, kUpdate),

    // ZeRO.
    honoured("zero_optimization", Kind::Section),
    honoured("zero_optimization.stage", Kind::Count),
    honoured("zero_optimization.reduce_bucket_size", Kind::Count),
    honoured("zero_optimization.allgather_bucket_size", Kind::Count),
    honoured("zero_optimization.overlap_comm", Kind::Flag),
    honoured("zero_optimization.contiguous_gradients", Kind::Flag),
    honoured("zero_optimization.cpu_offload", Kind::Flag),
    honoured("zero_optimization.cpu_offload_params", Kind::Flag),
    honoured("zero_optimization.offload_optimizer", Kind::Section),
    honoured("zero_optimization.offload_optimizer.device", Kind::Device),
    honoured("zero_optimization.offload_param", Kind::Section),
    honoured("zero_optimization.offload_param.device", Kind::Device),
    noEffect("zero_optimization.allgather_partitions", Kind::Flag, kImplementation),
    noEffect("zero_optimization.reduce_scatter", Kind::Flag, kImplementation),
    noEffect("zero_optimization.round_robin_gradients", Kind::Flag, kImplementation),
    noEffect("zero_optimization.sub_group_size", Kind::Count, kImplementation),
    noEffect("zero_optimization.stage3_prefetch_bucket_size", Kind::Count, kImplementation),
    noEffect("zero_optimization.stage3_param_persistence_threshold", Kind::Count, kImplementation),
    noEffect("zero_optimization.stage3_model_persistence_threshold", Kind::Count, kImplementation),
    noEffect("zero_optimization.stage3_max_live_parameters", Kind::Count, kImplementation),
    noEffect("zero_optimization.stage3_max_reuse_distance", Kind::Count, kImplementation),
    noEffect("zero_optimization.stage3_use_all_reduce_for_fetch_params", Kind::Flag,
             kImplementation),
    noEffect("zero_optimization.stage3_module_granularity_threshold", Kind::Count, kImplementation),
    noEffect("zero_optimization.stage3_allgather_sequential", Kind::Flag, kImplementation),
    noEffect("zero_optimization.prefetch_bucket_size", Kind::Count, kImplementation),
    noEffect("zero_optimization.param_persistence_threshold", Kind::Count, kImplementation),
    noEffect("zero_optimization.model_persistence_threshold", Kind::Count, kImplementation),
    noEffect("zero_optimization.max_live_parameters", Kind::Count, kImplementation),
    noEffect("zero_optimization.max_reuse_distance", Kind::Count, kImplementation),
    noEffect("zero_optimization.module_granularity_threshold", Kind::Count, kImplementation),
    noEffect("zero_optimization.use_all_reduce_for_fetch_params", Kind::Flag, kImplementation),
    noEffect("zero_optimization.use_multi_rank_bucket_allreduce", Kind::Flag, kImplementation),
    noEffect("zero_optimization.allgather_sequential", Kind::Flag, kImplementation),
    noEffect("zero_optimization.memory_efficient_linear", Kind::Flag, kImplementation),
    noEffect("zero_optimization.override_module_apply", Kind::Flag, kImplementation),
    noEffect("zero_optimization.log_trace_cache_warnings", Kind::Flag, kImplementation),
    noEffect("zero_optimization.enable_sanity_checks", Kind::Flag, kImplementation),
    noEffect("zero_optimization.pipeline_loading_checkpoint", Kind::Flag, kImplementation),
    noEffect("zero_optimization.cpu_offload_use_pin_memory", Kind::Flag, kImplementation),
    noEffect("zero_optimization.grad_hooks", Kind::Flag, kImplementation),
    noEffect("zero_optimization.offload_optimizer.pin_memory", Kind::Flag, kImplementation),
    noEffect("zero_optimization.offload_optimizer.buffer_count", Kind::Count, kImplementation),
    noEffect("zero_optimization.offload_optimizer.buffer_size", Kind::Count, kImplementation),
    noEffect("zero_optimization.offload_optimizer.fast_init", Kind::Flag, kImplementation),
    noEffect("zero_optimization.offload_optimizer.nvme_path", Kind::Text, kImplementation),
    noEffect("zero_optimization.offload_optimizer.pipeline", Kind::Flag, kImplementation),
    noEffect("zero_optimization.offload_optimizer.pipeline_read", Kind::Flag, kImplementation),
    noEffect("zero_optimization.offload_optimizer.pipeline_write", Kind::Flag, kImplementation),
    noEffect("zero_optimization.offload_optimizer.ratio", Kind::NonNegative, kImplementation),
    noEffect("zero_optimization.offload_optimizer.super_offload", Kind::Flag, kImplementation),
    noEffect("zero_optimization.offload_param.pin_memory", Kind::Flag, kImplementation),
    noEffect("zero_optimization.offload_param.buffer_count", Kind::Count, kImplementation),
    noEffect("zero_optimization.offload_param.buffer_size", Kind::Count, kImplementation),
    noEffect("zero_optimization.offload_param.max_in_cpu", Kind::Count, kImplementation),
    noEffect("zero_optimization.offload_param.nvme_path", Kind::Text, kImplementation),
    noEffect("zero_optimization.zero_quantized_nontrainable_weights", Kind::Flag, kImplementation),
    noEffect("zero_optimization.load_from_fp32_weights", Kind::Flag, kCheckpoints),
    noEffect("zero_optimization.elastic_checkpoint", Kind::Flag, kCheckpoints),
    noEffect("zero_optimization.ignore_unused_parameters", Kind::Flag, kCheckpoints),
    noEffect("zero_optimization.legacy_stage1", Kind::Flag, kCheckpoints),
    noEffect("zero_optimization.stage3_gather_16bit_weights_on_model_save", Kind::Flag,
             kCheckpoints),
    noEffect("zero_optimization.stage3_gather_fp16_weights_on_model_save", Kind::Flag,
             kCheckpoints),
    noEffect("zero_optimization.gather_16bit_weights_on_model_save", Kind::Flag, kCheckpoints),
    noEffect("checkpoint", Kind::Section, kCheckpoints),
    noEffect("checkpoint.*", Kind::Any, kCheckpoints),
    off("zero_optimization.mics_shard_size", Kind::Number,
        "parameters are split over all replicas, not over a part of them"),
    off("zero_optimization.mics_hierarchical_params_gather", Kind::Flag,
        "parameters are split over all replicas, not over a part of them"),
    off("zero_optimization.zero_hpz_partition_size", Kind::Count,
        "parameters are split over all replicas, not over a part of them"),
    off("zero_optimization.zero_quantized_weights", Kind::Flag,
        "quantised messages are not planned"),
    off("zero_optimization.zero_quantized_gradients", Kind::Flag,
        "quantised messages are not planned"),
    noEffect("zero_allow_untested_optimizer", Kind::Flag, kDefault),
    noEffect("zero_force_ds_cpu_optimizer", Kind::Flag, kDefault),

    // Recomputation.
    honoured("activation_checkpointing", Kind::Section),
    honoured("activation_checkpointing.partition_activations", Kind::Flag),
    honoured("activation_checkpointing.cpu_checkpointing", Kind::Flag),
    honoured("activation_checkpointing.number_checkpoints", Kind::Count),
    noEffect("activation_checkpointing.contiguous_memory_optimization", Kind::Flag,
             kImplementation),
    noEffect("activation_checkpointing.synchronize_checkpoint_boundary", Kind::Flag,
             kImplementation),
    noEffect("activation_checkpointing.profile", Kind::Flag, kImplementation),

    // Printing and measurements.
    noEffect("steps_per_print", Kind::Any, kLogging),
    noEffect("wall_clock_breakdown", Kind::Flag, kLogging),
    noEffect("dump_state", Kind::Flag, kLogging),
    noEffect("memory_breakdown", Kind::Flag, kLogging),
    noEffect("log_level", Kind::Any, kLogging),
    noEffect("tensorboard", Kind::Section, kLogging),
    noEffect("tensorboard.*", Kind::Any, kLogging),
    noEffect("wandb", Kind::Section, kLogging),
    noEffect("wandb.*", Kind::Any, kLogging),
    noEffect("csv_monitor", Kind::Section, kLogging),
    noEffect("csv_monitor.*", Kind::Any, kLogging),
    noEffect("comet", Kind::Section, kLogging),
    noEffect("comet.*", Kind::Any, kLogging),
    noEffect("monitor_config", Kind::Section, kLogging),
    noEffect("monitor_config.*", Kind::Any, kLogging),
    noEffect("comms_logger", Kind::Section, kLogging),
    noEffect("comms_logger.*", Kind::Any, kLogging),
    noEffect("flops_profiler", Kind::Section, kLogging),
    noEffect("flops_profiler.*", Kind::Any, kLogging),
    noEffect("timers", Kind::Section, kLogging),
    noEffect("timers.*", Kind::Any, kLogging),
    noEffect("disable_allgather", Kind::Flag, kLogging),
    noEffect("verbose", Kind::Any, kLogging),
    honoured("autotuning", Kind::Section),
    honoured("autotuning.enabled", Kind::Flag),
    noEffect("autotuning.*", Kind::Any, kTuning),
    noEffect("elasticity.version", Kind::Any, kLauncher),
    noEffect("elasticity.*", Kind::Any, kLauncher),
    noEffect("nebula", Kind::Section, kLauncher),
    noEffect("nebula.*", Kind::Any, kLauncher),
    noEffect("aio", Kind::Section, kLauncher),
    noEffect("aio.*", Kind::Any, kLauncher),
    noEffect("hybrid_engine.*", Kind::Any, kLauncher),
    noEffect("dataloader_drop_last", Kind::Flag, kLauncher),
    noEffect("gradient_accumulation_dtype", Kind::Any, kLauncher),
    noEffect("graph_harvesting", Kind::Flag, kLauncher),
    noEffect("compile", Kind::Section, kLauncher),
    noEffect("compile.*", Kind::Any, kLauncher),
    noEffect("zero_init", Kind::Any, kLauncher),
    noEffect("seq_parallel_communication_data_type", Kind::Text, kLauncher),
    noEffect("use_node_local_storage", Kind::Flag, kLauncher),
    noEffect("communication_op_timeout", Kind::Any, kLauncher),
    noEffect("train_steps", Kind::Any, kLauncher),

    // Features that make the model or the step impossible to plan.
    off("elasticity", Kind::Section,
        "a batch size that depends on the number of devices has no single plan"),
    off("curriculum_learning", Kind::Section, "sequences of growing length have no single plan"),
    noEffect("curriculum_learning.*", Kind::Any, kOff),
    noEffect("data_efficiency.*", Kind::Any, kOff),
    noEffect("compression_training.*", Kind::Any, kOff),
    noEffect("sparse_attention.*", Kind::Any, kOff),
    noEffect("progressive_layer_drop.*", Kind::Any, kOff),
    noEffect("eigenvalue.*", Kind::Any, kOff),
    noEffect("quantize_training.*", Kind::Any, kOff),
    off("data_efficiency", Kind::Section, "sampling by difficulty changes the sequences"),
    off("compression_training", Kind::Section, "compressed models are not planned"),
    off("quantize_training", Kind::Section, "quantised training is not planned"),
    off("sparse_attention", Kind::Section, "sparse attention is not planned"),
    off("progressive_layer_drop", Kind::Section, "dropped layers are not planned"),
    off("hybrid_engine", Kind::Section, "generation during training is not planned"),
    noEffect("eigenvalue", Kind::Section, kImplementation),
    honoured("tensor_parallel", Kind::Section),
    honoured("tensor_parallel.autotp_size", Kind::Count),
    honoured("pipeline", Kind::Section),
    honoured("pipeline.stages", Kind::Any),
    noEffect("pipeline.*", Kind::Any, kImplementation),
    noEffect("tensor_parallel.*", Kind::Any, kImplementation),
};

ArrayRef<DeepSpeedKey> mlir::st::deepSpeedKeys() { return table; }

const DeepSpeedKey *mlir::st::findDeepSpeedKey(StringRef name) {
  for (const DeepSpeedKey &key : table)
    if (key.name == name)
      return &key;
  for (const DeepSpeedKey &key : table)
    if (key.name.ends_with(".*") && name.starts_with(key.name.drop_back()))
      return &key;
  return nullptr;
}

std::string mlir::st::suggestDeepSpeedKey(StringRef name) {
  constexpr size_t longest = 80;
  if (name.size() > longest)
    return "";
  auto nearest = static_cast<unsigned>(name.size() / 3) + 1;
  StringRef suggestion;
  for (const DeepSpeedKey &key : table) {
    unsigned distance = name.edit_distance_insensitive(key.name, true, nearest);
    if (distance >= nearest)
      continue;
    nearest = distance;
    suggestion = key.name;
  }
  return suggestion.empty() ? "" : ("; did you mean '" + suggestion + "'?").str();
}
