// Which bytes of memories an instruction reads and writes.
#pragma once

#include "backends/dtu/isa/StridedBytes.h"
#include "backends/dtu/isa/order/StreamWalker.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace st::dtu {

/// Called with an address, the dimensions there of elements of so many bytes, whether they are
/// written, and to how many cores' memories.
using TouchVisitor =
    absl::FunctionRef<absl::Status(const Address &address, StridedBytes::Dims dims, int64_t width,
                                   bool isWrite, int64_t multicast)>;

/// Visits what the walker's next instruction touches, up to the first error. Rows that gather and
/// scatter find by index are taken to be any of the table.
absl::Status visitTouches(const StreamWalker &walker, TouchVisitor visit);

} // namespace st::dtu
