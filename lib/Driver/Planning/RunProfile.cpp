#include "lib/Driver/Planning/RunProfile.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace mlir;
using namespace mlir::st;

/// Counts an op of `region` as separate from the one it would be fused into: one more launch and
/// one more pass over its tensors.
static void runUnfused(::st::proto::ImplementationProfile &profile, StringRef region) {
  for (::st::proto::RegionProfile &each : *profile.mutable_regions()) {
    if (each.name() != region)
      continue;
    each.set_launches(each.launches() + 1);
    each.set_gradient_launches(each.gradient_launches() + 1);
    each.set_passes((each.has_passes() ? each.passes() : 1) + 1);
    each.set_gradient_passes((each.has_gradient_passes() ? each.gradient_passes() : 1) + 1);
  }
}

static bool says(const TrainingRun &run, ArrayRef<StringRef> keys) {
  return llvm::any_of(
      run.keys, [&](const KeyStatus &status) { return llvm::is_contained(keys, status.key); });
}

void mlir::st::applyRun(const TrainingRun &run, ::st::proto::ImplementationProfile &profile) {
  constexpr uint32_t kNever = UINT32_MAX; // no number of heads is a multiple of it
  if (profile.fused_softmax_multiple() > 0 && !run.fusedSoftmax)
    profile.set_fused_softmax_multiple(kNever);
  if (!run.fusedBiasGelu)
    runUnfused(profile, "activation");
  if (!run.fusedBiasDropout)
    runUnfused(profile, "dropout");
  if (!run.scatterGatherInPipeline)
    profile.set_scatters_boundaries(false);
  if (says(run, {"accumulate_allreduce_grads_in_fp32", "grad_reduce_in_bf16",
                 "communication_data_type", "fp32_allreduce"}))
    profile.set_gradient_type(run.reduceType == RunPrecision::F32 ? "f32" : "f16");
  if (says(run, {"DDP_impl"}))
    profile.set_reduces_in_backward(run.gradientReduction == RunGradientReduction::Torch);
  if (run.overlapGradientReduction)
    profile.set_reduces_in_backward(true);
}

namespace {
struct Unused {
  StringRef name, reason;
};
} // namespace

static constexpr StringRef
    kTraining = "the length and the learning rates of a training do not change a step",
    kBuckets = "a layer's messages are sent together, whatever the buckets",
    kSaved = "inputs of layers are kept unsharded on their device",
    kEach = "the input of every layer is kept",
    kClipping = "clipping is part of the profile's update",
    kBalance = "losses of routers take almost no time",
    kHead = "the heads of the model are those of its family";

constexpr Unused unused[] = {
    {"lr", kTraining},
    {"min_lr", kTraining},
    {"lr_decay_style", kTraining},
    {"lr_decay_iters", kTraining},
    {"lr_decay_samples", kTraining},
    {"lr_wsd_decay_style", kTraining},
    {"lr_wsd_decay_iters", kTraining},
    {"lr_wsd_decay_samples", kTraining},
    {"lr_warmup_fraction", kTraining},
    {"moe_router_load_balancing_type", kBalance},
    {"moe_aux_loss_coeff", kBalance},
    {"lr_warmup_iters", kTraining},
    {"lr_warmup_samples", kTraining},
    {"train_iters", kTraining},
    {"train_samples", kTraining},
    {"optimizer.params", kTraining},
    {"optimizer.params.lr", kTraining},
    {"scheduler", kTraining},
    {"scheduler.type", kTraining},
    {"scheduler.params", kTraining},
    {"scheduler.params.warmup_min_lr", kTraining},
    {"scheduler.params.warmup_max_lr", kTraining},
    {"scheduler.params.warmup_num_steps", kTraining},
    {"scheduler.params.total_num_steps", kTraining},
    {"clip_grad", kClipping},
    {"gradient_clipping", kClipping},
    {"use_contiguous_buffers_in_ddp", kBuckets},
    {"use_contiguous_buffers_in_local_ddp", kBuckets},
    {"zero_contigious_gradients", kBuckets},
    {"ddp_bucket_size", kBuckets},
    {"zero_reduce_bucket_size", kBuckets},
    {"zero_allgather_bucket_size", kBuckets},
    {"zero_optimization.reduce_bucket_size", kBuckets},
    {"zero_optimization.allgather_bucket_size", kBuckets},
    {"zero_optimization.contiguous_gradients", kBuckets},
    {"distribute_checkpointed_activations", kSaved},
    {"distribute_saved_activations", kSaved},
    {"partition_activations", kSaved},
    {"checkpoint_in_cpu", kSaved},
    {"activation_checkpointing.partition_activations", kSaved},
    {"activation_checkpointing.cpu_checkpointing", kSaved},
    {"checkpoint_num_layers", kEach},
    {"activations_checkpoint_num_layers", kEach},
    {"recompute_num_layers", kEach},
    {"bert_binary_head", kHead},
    {"fp16_lm_cross_entropy", "the loss is computed in f32"},
};

std::vector<KeyStatus> mlir::st::planKeys(const TrainingRun &run) {
  std::vector<KeyStatus> keys = run.keys;
  for (KeyStatus &status : keys) {
    if (status.status != KeyStatus::Honoured)
      continue;
    const bool isFlash = StringRef(status.key).starts_with("use_flash_attn");
    const Unused *found =
        llvm::find_if(unused, [&](const Unused &each) { return each.name == status.key; });
    if (!isFlash && found == std::end(unused))
      continue;
    status.status = KeyStatus::NoEffect;
    status.reason = isFlash ? "the profile has no fused attention: times are those without it"
                            : found->reason.str();
  }
  return keys;
}
