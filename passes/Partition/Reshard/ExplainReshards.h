// What each reshard of a program moves, why, and which annotation would make it needless.
#pragma once

#include "dialects/St/Sharding/ReshardPlan.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// Marks a reshard that a user's constraint became.
constexpr llvm::StringLiteral kConstraintAttr = "st.constraint";

/// One of the two that meet at a reshard: a producer or a user of the value.
struct ReshardEnd {
  std::string what;     ///< `op "name"`, `parameter "name"`, `result "name"`, ...
  std::string place;    ///< file:line:column, if the program has them
  std::string sharding; ///< in which it leaves or takes the value
  /// The nearest annotations that led to it, `parameter "name" is [...]`.
  std::vector<std::string> because;
};

struct ReshardCollective {
  std::string what;  ///< `all_reduce sum over x, y`
  int64_t bytes = 0; ///< that a device sends in one execution, the most of any device
  int64_t times = 1; ///< a step of training
};

struct ExplainedReshard {
  std::string type; ///< of the global value
  std::optional<int64_t> stage;
  ReshardEnd producer;
  std::vector<ReshardEnd> users;
  std::vector<ReshardCollective> collectives;
  int64_t bytes = 0; ///< a device and step of training
  /// Annotations each of which would make the two agree.
  std::vector<std::string> remedies;
};

/// Of a module after insert-reshards, the largest first.
struct ReshardReport {
  std::vector<ExplainedReshard> reshards; ///< those that move data
  int64_t numLocal = 0;                   ///< the others: slices, accumulations
  int64_t microBatches = 1;
  int64_t bytes = 0; ///< all together, of one device of each stage
  /// Plans for which not every sequence of collectives was considered.
  int64_t numNarrowed = 0;
};
ReshardReport explainReshards(ModuleOp module);

/// As a table, and as JSON.
std::string toText(const ReshardReport &report);
std::string toJson(const ReshardReport &report);

/// The report as a file of that name has it: JSON where the name ends in `.json`.
std::string printFor(StringRef path, const ReshardReport &report);

} // namespace mlir::st
