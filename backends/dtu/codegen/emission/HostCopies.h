// Copies between the device's memory and the host's, beside the other work of a task.
#pragma once

#include "backends/dtu/codegen/emission/Accesses.h"
#include "backends/dtu/codegen/kernels/TileEmitter.h"

#include <deque>

namespace mlir::dtu {

/// A DTE queue of its own does the copies one after the other: the leader starts one, and waits for
/// it where an op needs what it reads or writes. A machine without a queue to spare leaves the
/// copies to the workers.
class HostCopies {
public:
  explicit HostCopies(ProgramBuilder &builder) : builder(builder) {}

  /// Copies all of `from` to `to`, one of which is on the host. `accesses` are what the copy
  /// touches on the device, all of which the leader has waited for.
  void copy(const Placement &from, const Placement &to, hw::DType type, ArrayRef<Access> accesses);

  /// The leader waits for the copies with which `accesses` clash, and those before them. Whether
  /// there were any.
  bool waitFor(ArrayRef<Access> accesses);
  /// The leader waits for all copies.
  void waitFor() { waitFor(pending.size()); }

private:
  void waitFor(size_t count);

  ProgramBuilder &builder;
  std::deque<OpenAccesses> pending; ///< in order
};

} // namespace mlir::dtu
