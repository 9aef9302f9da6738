// Ranges of devices' coordinates. The coordinates are known only at run time.
#pragma once

#include "dialects/St/IR/StDialect.h"

#include <optional>
#include <utility>

namespace mlir::st {

/// The minimum and the maximum of a value; std::nullopt if they are unknown.
using CoordinateRange = std::optional<std::pair<int64_t, int64_t>>;

/// The ranges of a kernel's inputs that are coordinates of the mesh (`st.axis_index`).
SmallVector<CoordinateRange> getInputRanges(KernelOp kernel);

} // namespace mlir::st
