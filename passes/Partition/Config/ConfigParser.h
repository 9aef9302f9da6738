// Reads the parallel file key by key: the layout (ParallelConfig.cpp) and the devices
// (ConfigDevices.cpp).
#pragma once

#include "passes/Partition/Config/ParallelConfig.h"
#include "llvm/Support/JSON.h"

namespace mlir::st {

/// The parts of a device name.
struct DeviceName {
  bool isGpu;
  int64_t id;
};

class ConfigParser {
public:
  ConfigParser(StringRef path, MLIRContext *context) : context(context) { config.path = path; }

  FailureOr<ParallelConfig> parse(StringRef text);

private:
  LogicalResult refuseUnknownKeys(const llvm::json::Object &object);
  LogicalResult readMode(const llvm::json::Object &object);
  /// Reads an integer of at least 1. Returns std::nullopt if the key is absent.
  FailureOr<std::optional<int64_t>> readCount(const llvm::json::Object &object, StringRef key);
  LogicalResult readShardingDim(const llvm::json::Object &object);
  LogicalResult readSequenceParallel(const llvm::json::Object &object);
  LogicalResult readParameterRules(const llvm::json::Object &object);
  LogicalResult readContextAttention(const llvm::json::Object &object);
  LogicalResult readZero(const llvm::json::Object &object);
  LogicalResult readBucketBytes(const llvm::json::Object &object);
  LogicalResult readSchedule(const llvm::json::Object &object);
  LogicalResult readScheduleOrder(const llvm::json::Array &lists);
  LogicalResult readStages(const llvm::json::Object &object);
  LogicalResult readPrecision(const llvm::json::Object &object);
  LogicalResult readFloatType(const llvm::json::Value &value, StringRef key, std::string &type);
  LogicalResult readLossScale(const llvm::json::Object &object);
  LogicalResult readRecompute(const llvm::json::Object &object);
  LogicalResult readOffload(const llvm::json::Object &object);
  /// The devices of a shard, one per replica.
  FailureOr<SmallVector<int64_t>> readReplicas(const llvm::json::Value &value, StringRef key);
  LogicalResult readMapping(const llvm::json::Object &object);
  LogicalResult numberDevices(const llvm::json::Object &object);
  LogicalResult readStage(const llvm::json::Object &mapping, int64_t stage);
  FailureOr<DeviceName> readDevice(const llvm::json::Value &value, StringRef key);
  LogicalResult checkDevices();
  LogicalResult reconcile(const llvm::json::Object &object);

  static std::string shortened(StringRef text);
  static std::string print(const llvm::json::Value &value);
  /// An error at the location of `key`.
  InFlightDiagnostic error(StringRef key = "") { return emitError(config.locate(key, context)); }
  /// An error that begins with "<key> is <value>"; the caller appends the rest.
  InFlightDiagnostic error(StringRef key, const llvm::json::Value &value);

  MLIRContext *context;
  ParallelConfig config;
  std::optional<bool> areGpus;
};

} // namespace mlir::st
