// Copies between the device's memory and the host's, concurrent with the other work of a task.
#pragma once

#include "backends/dtu/codegen/emission/Accesses.h"
#include "backends/dtu/codegen/kernels/TileEmitter.h"

#include <deque>

namespace mlir::dtu {

/// A separate DTE queue runs the copies in order. The leader starts a copy and waits for it where
/// an op needs what the copy reads or writes. On a machine without a spare queue, the workers run
/// the copies.
class HostCopies {
public:
  explicit HostCopies(ProgramBuilder &builder) : builder(builder) {}

  /// Copies all of `from` to `to`. One of the two is on the host. `accesses` are the copy's
  /// accesses on the device; the leader has waited for all conflicts with them.
  void copy(const Placement &from, const Placement &to, hw::DType type, ArrayRef<Access> accesses);

  /// Makes the leader wait for copies that conflict with `accesses`, and for those before them.
  /// Returns true if there were any.
  bool waitFor(ArrayRef<Access> accesses);
  /// Makes the leader wait for all copies.
  void waitFor() { waitFor(pending.size()); }

private:
  void waitFor(size_t count);

  ProgramBuilder &builder;
  std::deque<OpenAccesses> pending; ///< in order
};

} // namespace mlir::dtu
