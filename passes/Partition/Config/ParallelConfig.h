// The user's parallel-config file: how many stages and shards, on which devices.
#pragma once

#include "dialects/St/IR/Offload.h"
#include "dialects/St/IR/RecomputePolicy.h"
#include "dialects/St/IR/ScheduledUnit.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Partition/Config/ConstrainAttention.h"
#include "passes/Partition/Config/ParameterRules.h"
#include <string>

namespace mlir::st {

enum class ParallelMode { Sharding, Pipeline, Hybrid };

StringRef stringify(ParallelMode mode);

/// The types in which a step is computed.
struct PrecisionConfig {
  /// "f32", "bf16" or "f16": the type of the forward and backward pass, and the type in which
  /// gradients are reduced between devices.
  std::string compute = "f32", reduce = "f32";
  /// The type in which f32 products are computed: "f32", or "tf32" (10 mantissa bits, as on GPUs).
  std::string products = "f32";
  /// The loss scale: "none", a number, or "dynamic" (as large as the gradients allow).
  std::string lossScale = "none";
};

struct ParallelConfig {
  ParallelMode mode = ParallelMode::Sharding;
  /// The dimension along which weights are sharded: -1 the output dimension, 0 the contracted one;
  /// none: alternating, as in Megatron-LM.
  std::optional<int64_t> shardingDim = -1;
  /// Between products over shards, activations are sharded along the sequence.
  bool sequenceParallel = false;
  /// Gathered activations are gathered again for the backward pass instead of stashed.
  bool gatherAgain = false;
  /// Shardings of parameters whose names match, overriding `shardingDim`.
  std::vector<ParameterRule> parameterRules;
  int64_t accumDegree = 1;
  /// Replicas of the model, each of which computes its part of the batch.
  int64_t dataCount = 1;
  /// The number of consecutive replicas over which `expert` shards parameters.
  int64_t expertCount = 1;
  /// The number of devices of a replica that share each sequence.
  int64_t contextCount = 1;
  /// The tensors that these devices send for attention.
  AttentionExchange attentionExchange = AttentionExchange::Cheapest;
  /// The stage of ZeRO. Replicas shard nothing (0), the optimizer state (1), the accumulated
  /// gradients as well (2), the parameters as well (3).
  int64_t zero = 0;
  /// The maximum number of tensor bytes that one collective combines; none: the default.
  std::optional<int64_t> bucketBytes;
  /// The name of a ScheduleKind, or empty for the mode's own; "listed" with an order for each
  /// group.
  std::string schedule;
  std::vector<SmallVector<ScheduledUnit>> scheduleOrder;
  /// Stages per device group; 0: the schedule's default.
  int64_t virtualStages = 0;
  /// The first layer of each stage but the first: globs of layer names. Empty: a balanced split.
  std::vector<std::string> stageStarts;
  /// The policy for recomputing the forward pass in the backward pass.
  std::optional<RecomputePolicy> recompute; ///< none: the target's default
  /// Bytes of stashes that stay on a device; the others are offloaded to the host's memory. None:
  /// all stay.
  std::optional<int64_t> offload;
  /// The devices are GPUs ("GPU:<id>") instead of DTU clusters.
  bool onGpus = false;
  /// The devices by stage: the shards of the first replica's first part of a sequence, those of its
  /// next part, ..., then those of the next replica.
  SmallVector<SmallVector<int64_t>> devices = {{0}};
  /// The devices are numbered, not named by a device_mapping.
  bool isNumbered = false;
  /// Without device_mapping, data and context only a program with its own mesh determines the
  /// devices.
  bool followsMesh = true;
  /// The file specifies sharding_size.
  bool hasShardCount = false;
  /// None if the file does not specify it.
  std::optional<PrecisionConfig> precision;
  /// The file and its text, for messages; empty for the single-device default.
  std::string path, text;

  /// Records on the module what is stashed for the backward pass, and where.
  void setStashAttributes(ModuleOp module) const;
  /// Numbers the devices in order: those of the first stage, then those of the next one.
  void numberDevices(int64_t stages, int64_t devicesPerStage);
  /// Numbers the devices of a program with its own mesh, if the file names none. Fails, with a
  /// diagnostic, if the program has no mesh and the file specifies no devices.
  LogicalResult followMesh(ModuleOp module);
  /// Numbers devices without a device_mapping as GPUs: in the same order, without gaps.
  void numberGpus();
  /// For a program without a backward pass on the same devices: replaces a listed order that has
  /// backward tasks by one of the same stages, and disables loss scaling.
  void keepForwardOnly();
  int64_t stageCount() const { return devices.size(); }
  int64_t shardCount() const { return devices[0].size() / holderCount(); }
  /// Devices of a stage that hold the same shard of a weight.
  int64_t holderCount() const { return dataCount * contextCount; }
  /// The device_mapping key of a stage's device.
  std::string keyOf(size_t stage, size_t device) const;
  /// The location of a key ("accum_degree", "device_mapping.stage_1") in the file.
  Location locate(StringRef key, MLIRContext *context) const;
  /// The location of a parameter rule.
  Location locateRule(StringRef pattern, MLIRContext *context) const;
  /// The location of a byte of the text.
  Location locate(size_t offset, MLIRContext *context) const;
};

/// Parses and checks the JSON text of a parallel-config file; `path` names it in messages. Each
/// error is one diagnostic with the file, the key and the value. If scalars contradict the device
/// mapping, the mapping holds, with a warning.
FailureOr<ParallelConfig> parseParallelConfig(StringRef json, StringRef path, MLIRContext *context);

/// Reads a parallel-config file.
FailureOr<ParallelConfig> loadParallelConfig(StringRef path, MLIRContext *context);

/// Sets the mesh, the stages' devices, the schedule and the seed shardings on a module whose
/// `@main` is a training step. `schedule` overrides the file's. Fails, with a diagnostic, if the
/// model's sizes do not divide.
LogicalResult applyParallelConfig(ModuleOp module, const ParallelConfig &config,
                                  StringRef schedule = "");

} // namespace mlir::st
