// Attributes of the parameters of experts.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

namespace mlir::st {

/// A unit attribute of an argument or a state: each row (of the first dimension) is a part of the
/// model. In checkpoints it is a separate tensor, and its number replaces the `*` in the name.
constexpr llvm::StringLiteral kNamedRowsAttr = "st.named_rows";

/// A unit attribute of an argument: a parameter too small to be worth sharding, such as the weight
/// of a router, whose few outputs every shard needs.
constexpr llvm::StringLiteral kUnshardedAttr = "st.unsharded";

} // namespace mlir::st
