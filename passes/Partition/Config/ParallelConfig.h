// The user's parallel-config file: how many stages and shards, on which devices.
#pragma once

#include "dialects/St/IR/Offload.h"
#include "dialects/St/IR/RecomputePolicy.h"
#include "dialects/St/IR/ScheduledUnit.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Partition/Config/ParameterRules.h"
#include <string>

namespace mlir::st {

enum class ParallelMode { Sharding, Pipeline, Hybrid };

StringRef stringify(ParallelMode mode);

/// The types that a step is computed in.
struct PrecisionConfig {
  /// "f32", "bf16" or "f16": of the forward and backward pass, and in which gradients are reduced
  /// between devices.
  std::string compute = "f32", reduce = "f32";
  /// How products of f32 operands are computed: "f32", or "tf32" (10 bits of mantissa, as GPUs do).
  std::string products = "f32";
  /// What the loss is multiplied by where it is differentiated: nothing, a number, or ("dynamic")
  /// what the gradients allow.
  std::string lossScale = "none";
};

struct ParallelConfig {
  ParallelMode mode = ParallelMode::Sharding;
  /// The dimension of a weight that is cut: -1 the output's, 0 the contracted one; none: each in
  /// turn, as in Megatron-LM.
  std::optional<int64_t> shardingDim = -1;
  /// Between products over shards, activations are split along the sequence.
  bool sequenceParallel = false;
  /// What products gather of them is gathered again for the backward pass, not kept.
  bool gatherAgain = false;
  /// How parameters are split whose names match, in place of `shardingDim`.
  std::vector<ParameterRule> parameterRules;
  int64_t accumDegree = 1;
  /// Copies of the model, each of which computes its part of the batch.
  int64_t dataCount = 1;
  /// How many consecutive replicas share out what the rules of parameters split over `expert`.
  int64_t expertCount = 1;
  /// What replicas split among each other, as in ZeRO: nothing (0), the optimizer state (1), the
  /// accumulated gradients as well (2), the parameters as well (3).
  int64_t zero = 0;
  /// Most bytes of tensors that one collective takes together; none: the default.
  std::optional<int64_t> bucketBytes;
  /// The name of a ScheduleKind, or empty for the mode's own; "listed" with an order for each
  /// group.
  std::string schedule;
  std::vector<SmallVector<ScheduledUnit>> scheduleOrder;
  /// Stages that a group of devices runs in turn; 0 for the schedule's own.
  int64_t virtualStages = 0;
  /// Where each stage but the first begins: globs of layers' names. Empty: a balanced cut.
  std::vector<std::string> stageStarts;
  /// What of the forward pass the backward pass computes again.
  std::optional<RecomputePolicy> recompute; ///< nothing: what the target does by default
  /// Bytes of stashes that stay on a device, where others lie in the host's memory. None: all stay.
  std::optional<int64_t> offload;
  /// Whether the devices are GPUs ("GPU:<id>") rather than DTU clusters.
  bool onGpus = false;
  /// The devices stage by stage: every stage has the shards of the first replica, then those of
  /// the next one.
  SmallVector<SmallVector<int64_t>> devices = {{0}};
  /// Whether the devices are numbered rather than named by a device_mapping.
  bool isNumbered = false;
  /// None where the file does not say.
  std::optional<PrecisionConfig> precision;
  /// The file and its text, for messages; empty for the default of one device.
  std::string path, text;

  /// Records on the module what is kept for the backward pass, and where.
  void setStashAttributes(ModuleOp module) const;
  /// Numbers devices that no device_mapping names as GPUs: in the same order, without gaps.
  void numberGpus();
  /// For a program without a backward pass on the same devices: an order that lists backward tasks
  /// gives way to one of the same stages, and no loss is scaled.
  void keepForwardOnly();
  int64_t stageCount() const { return devices.size(); }
  int64_t shardCount() const { return devices[0].size() / dataCount; }
  /// The key of the device_mapping that names a device of a stage.
  std::string keyOf(size_t stage, size_t device) const;
  /// The place of a key ("accum_degree", "device_mapping.stage_1") in the file.
  Location locate(StringRef key, MLIRContext *context) const;
  /// The place of a rule for parameters.
  Location locateRule(StringRef pattern, MLIRContext *context) const;
  /// The place of a byte of the text.
  Location locate(size_t offset, MLIRContext *context) const;
};

/// Parses and checks the JSON text of a parallel-config file; `path` names it in
/// messages. Each error is one diagnostic with the file, the key and the value.
/// Where scalars contradict the device mapping, the mapping holds, with a warning.
FailureOr<ParallelConfig> parseParallelConfig(StringRef json, StringRef path, MLIRContext *context);

/// Reads a parallel-config file.
FailureOr<ParallelConfig> loadParallelConfig(StringRef path, MLIRContext *context);

/// Puts the mesh, the stages' devices, the schedule and the seed shardings on a
/// module whose `@main` is a training step. `schedule` goes before the file's own. Fails, with a
/// diagnostic, where the model's sizes do not divide.
LogicalResult applyParallelConfig(ModuleOp module, const ParallelConfig &config,
                                  StringRef schedule = "");

} // namespace mlir::st
