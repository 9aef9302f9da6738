// Explains what each reshard of a program moves, why, and which annotation would avoid it.
#pragma once

#include "dialects/St/Sharding/ReshardPlan.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// Marks a reshard that comes from a user's constraint.
constexpr llvm::StringLiteral kConstraintAttr = "st.constraint";

/// One side of a reshard: a producer or a user of the value.
struct ReshardEnd {
  std::string what;     ///< `op "name"`, `parameter "name"`, `result "name"`, ...
  std::string place;    ///< file:line:column, if known
  std::string sharding; ///< in which it produces or takes the value
  /// The nearest annotations that led to it, `parameter "name" is [...]`.
  std::vector<std::string> because;
};

struct ReshardCollective {
  std::string what;  ///< `all_reduce sum over x, y`
  int64_t bytes = 0; ///< sent by a device in one execution, at most
  int64_t times = 1; ///< executions per training step
};

struct ExplainedReshard {
  std::string type; ///< of the global value
  std::optional<int64_t> stage;
  ReshardEnd producer;
  std::vector<ReshardEnd> users;
  std::vector<ReshardCollective> collectives;
  int64_t bytes = 0; ///< per device and training step
  /// Annotations, each of which would make the two sides agree.
  std::vector<std::string> remedies;
};

/// The reshards of a module after insert-reshards, largest first.
struct ReshardReport {
  std::vector<ExplainedReshard> reshards; ///< those that move data
  int64_t numLocal = 0;                   ///< those that move no data: slices, accumulations
  int64_t microBatches = 1;
  int64_t bytes = 0; ///< in total, for one device of each stage
  /// Plans for which not every sequence of collectives was considered.
  int64_t numNarrowed = 0;
};
ReshardReport explainReshards(ModuleOp module);

/// As a table, and as JSON.
std::string toText(const ReshardReport &report);
std::string toJson(const ReshardReport &report);

/// The report in the format of the file name: JSON if it ends in `.json`, else a table.
std::string printFor(StringRef path, const ReshardReport &report);

} // namespace mlir::st
