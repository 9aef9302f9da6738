// Parameters whose rows are equal parts of the model, such as experts.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

namespace mlir::st {

/// A unit attribute of an argument or a state: each row (of the first dimension) is a part of the
/// model. In checkpoints it is a tensor of its own, and its number replaces the `*` in the name.
constexpr llvm::StringLiteral kNamedRowsAttr = "st.named_rows";

} // namespace mlir::st
