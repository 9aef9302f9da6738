// What of the stashes between the forward and the backward pass lies in the memory of the host.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace mlir::st {

/// Of a module, an i64: at most so many bytes of stashes stay on a device, over all micro-batches
/// in flight; the others lie in its host's memory. Absent: all stay.
constexpr llvm::StringLiteral kOffloadAttr = "st.offload";

} // namespace mlir::st
