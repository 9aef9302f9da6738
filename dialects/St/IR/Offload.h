// The stashes between the forward and the backward pass that are in the host's memory.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace mlir::st {

/// On a module, an i64: the bytes of stashes that stay on a device, over all micro-batches in
/// flight; the others are in its host's memory. Absent: all stay.
constexpr llvm::StringLiteral kOffloadAttr = "st.offload";

} // namespace mlir::st
