// What of the forward pass the backward pass computes again, as the user says it.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

namespace mlir::st {

/// The module's policy: a string, or an integer, which is a budget.
constexpr llvm::StringLiteral kRecomputeAttr = "st.recompute";

/// Of a module (a unit): the backward pass gathers activations again, of which the parts are kept.
constexpr llvm::StringLiteral kGatherAgainAttr = "st.gather_again";

struct RecomputePolicy {
  enum Kind {
    None,
    Selective, ///< the core of attention
    Full,      ///< every layer, from its inputs
    Fit,       ///< as little as lets each device's memory hold what it has to
    Budget,    ///< as little as keeps a micro-batch's stash within `bytes`
  };
  Kind kind = None;
  int64_t bytes = 0; ///< of a budget: on a device, for one micro-batch

  bool operator==(const RecomputePolicy &other) const {
    return kind == other.kind && bytes == other.bytes;
  }
  bool operator!=(const RecomputePolicy &other) const { return !(*this == other); }
};

/// Of a program under the policy "fit": the bytes that the stash of a micro-batch may take, an i64.
constexpr llvm::StringLiteral kStashBudgetAttr = "st.stash_budget";

/// Reads "none", "selective", "full", "fit" or a number of bytes.
std::optional<RecomputePolicy> parseRecomputePolicy(StringRef text);
/// Reads what `getRecomputeAttr` makes; none of another attribute.
std::optional<RecomputePolicy> parseRecomputePolicy(Attribute attribute);
Attribute getRecomputeAttr(MLIRContext *context, RecomputePolicy policy);
/// The name of a policy that is no budget.
StringRef getPolicyName(RecomputePolicy::Kind kind);
/// As the parallel file has it.
std::string print(RecomputePolicy policy);

} // namespace mlir::st
