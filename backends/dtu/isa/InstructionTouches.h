// The bytes of memory that an instruction reads and writes.
#pragma once

#include "backends/dtu/isa/StridedBytes.h"
#include "backends/dtu/isa/order/StreamWalker.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace st::dtu {

/// Called with an address, the dimensions of the access, the element size in bytes, whether it
/// writes, and the number of cores whose memories it accesses.
using TouchVisitor =
    absl::FunctionRef<absl::Status(const Address &address, StridedBytes::Dims dims, int64_t width,
                                   bool isWrite, int64_t multicast)>;

/// Visits the accesses of the walker's next instruction, up to the first error. Rows that gather
/// and scatter find by index may be any row of the table.
absl::Status visitTouches(const StreamWalker &walker, TouchVisitor visit);

} // namespace st::dtu
