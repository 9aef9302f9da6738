#include "lib/Planner/Memory/KeptTensors.h"

#include <algorithm>
#include <string>
#include <vector>

namespace st {
namespace {

using Ops = std::vector<const proto::OpWork *>;

Ops forwardOps(const proto::ProgramWork &work, int64_t block) {
  Ops ops;
  for (const proto::PhaseWork &phase : work.phases())
    if (phase.block() == block && phase.phase() == "forward")
      for (const proto::OpWork &op : phase.ops())
        ops.push_back(&op);
  return ops;
}

/// Returns true if the backward pass has gradients of the block. Frozen layers before the first
/// trained parameter have none.
bool hasGradients(const proto::ProgramWork &work, int64_t block) {
  return std::any_of(work.phases().begin(), work.phases().end(), [&](const auto &phase) {
    return phase.block() == block && (phase.phase() == "backward" || phase.phase() == "weight") &&
           std::any_of(phase.ops().begin(), phase.ops().end(),
                       [](const proto::OpWork &op) { return op.is_gradient(); });
  });
}

bool isAttentionProduct(const proto::OpWork &op) {
  return op.kind() == proto::OpWork::PRODUCT && op.batch() > 1;
}

/// Flags, indexed by tensor.
using TensorSet = std::vector<bool>;

bool takesAny(const proto::OpWork &op, const TensorSet &tensors) {
  return std::any_of(op.reads().begin(), op.reads().end(),
                     [&](uint32_t tensor) { return tensors[tensor]; });
}

/// Adds tensors to a set; returns whether there was a new one.
bool addAll(const google::protobuf::RepeatedField<uint32_t> &from, TensorSet &to) {
  bool isNew = false;
  for (uint32_t tensor : from) {
    isNew |= !to[tensor];
    to[tensor] = true;
  }
  return isNew;
}

/// Adds the tensors of each attention from its scores to its probabilities: results of its first
/// product, and everything computed from them without another product. A layer of a decoder has two
/// attentions.
void addAttentionCore(const Ops &ops, TensorSet &core) {
  bool grows = false, isFirst = true;
  for (const proto::OpWork *op : ops)
    if (isAttentionProduct(*op)) {
      if (isFirst)
        grows |= addAll(op->writes(), core);
      isFirst = !isFirst;
    }
  // Ops may be listed before those that they depend on, so this iterates to a fixed point.
  while (grows) {
    grows = false;
    for (const proto::OpWork *op : ops)
      if (op->kind() == proto::OpWork::MEMORY && takesAny(*op, core))
        grows |= addAll(op->writes(), core);
  }
}

const proto::RegionProfile &regionOf(const proto::ImplementationProfile &profile,
                                     const std::string &name) {
  for (const proto::RegionProfile &region : profile.regions())
    if (region.name() == name)
      return region;
  return profile.other_regions();
}

} // namespace

KeptTensors keptByFramework(const proto::ProgramWork &work, int64_t block,
                            const proto::ImplementationProfile &profile, const KeepRules &rules) {
  const Ops ops = forwardOps(work, block);
  const auto tensors = static_cast<size_t>(work.tensors_size());
  TensorSet again(tensors), kept(tensors);
  if (rules.selective)
    addAttentionCore(ops, again);
  KeptTensors bytes;
  double largest = 0, recomputed = 0;
  for (const proto::OpWork *op : ops) {
    for (uint32_t tensor : op->writes())
      largest = std::max(largest, work.tensors(static_cast<int>(tensor)).bytes());
    if (op->kind() == proto::OpWork::PRODUCT)
      addAll(op->reads(), kept);
    if (op->kind() != proto::OpWork::MEMORY)
      continue;
    const proto::RegionProfile &region = regionOf(profile, op->region());
    if (region.keeps_inputs())
      addAll(op->reads(), kept);
    if (region.keeps_output())
      addAll(op->writes(), kept);
    // Without the fused kernel the scores are converted to f32, and f32 values are kept.
    const bool isUnfused = rules.unfusedSoftmax && op->region() == "softmax";
    const double keptBytes = region.kept_bytes() + (isUnfused ? 2 : 0);
    const double workingBytes = region.working_bytes() + (isUnfused ? 8 : 0);
    (takesAny(*op, again) ? recomputed : bytes.kept) += keptBytes * op->largest_elements();
    bytes.working = std::max(bytes.working, workingBytes * op->largest_elements());
  }
  for (size_t tensor = 0; tensor < tensors; ++tensor)
    if (kept[tensor])
      (again[tensor] ? recomputed : bytes.kept) += work.tensors(static_cast<int>(tensor)).bytes();
  if (!hasGradients(work, block)) {
    bytes.kept = 0;
    bytes.working = largest;
    return bytes;
  }
  // The backward pass has the gradients of an op's result and of its operands.
  bytes.working = std::max(bytes.working, 2 * largest) + recomputed;
  return bytes;
}

} // namespace st
