// The user's policy for recomputing the forward pass in the backward pass.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

namespace mlir::st {

/// The module's policy: a string, or an integer as a budget.
constexpr llvm::StringLiteral kRecomputeAttr = "st.recompute";

/// On a module, a unit: the backward pass gathers activations again and keeps only their shards.
constexpr llvm::StringLiteral kGatherAgainAttr = "st.gather_again";

struct RecomputePolicy {
  enum Kind {
    None,
    Selective, ///< the core of attention
    Full,      ///< every layer, from its inputs
    Fit,       ///< the minimum with which each device has enough memory
    Budget,    ///< the least that keeps a micro-batch's stash within `bytes`
  };
  Kind kind = None;
  int64_t bytes = 0; ///< of a budget: per device and micro-batch

  bool operator==(const RecomputePolicy &other) const {
    return kind == other.kind && bytes == other.bytes;
  }
  bool operator!=(const RecomputePolicy &other) const { return !(*this == other); }
};

/// On a program with the policy "fit", an i64: the maximum number of bytes of a micro-batch's
/// stash.
constexpr llvm::StringLiteral kStashBudgetAttr = "st.stash_budget";

/// Reads "none", "selective", "full", "fit" or a number of bytes.
std::optional<RecomputePolicy> parseRecomputePolicy(StringRef text);
/// Reads the result of `getRecomputeAttr`. Returns std::nullopt for another attribute.
std::optional<RecomputePolicy> parseRecomputePolicy(Attribute attribute);
Attribute getRecomputeAttr(MLIRContext *context, RecomputePolicy policy);
/// The name of a policy other than a budget.
StringRef getPolicyName(RecomputePolicy::Kind kind);
/// Prints a policy as the parallel file spells it.
std::string print(RecomputePolicy policy);

} // namespace mlir::st
