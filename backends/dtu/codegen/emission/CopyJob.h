// A strided copy or fill in device memory, or between it and the host's, shared by all queues.
#pragma once

#include "backends/dtu/codegen/kernels/TileEmitter.h"

#include <optional>

namespace mlir::dtu {

/// All fields are in bytes; offsets are relative to the bases given to emit().
struct CopyJob {
  SmallVector<int64_t> sizes, dst, src; // elements and byte strides of each dimension
  int64_t dstOffset = 0, srcOffset = 0;
  hw::DType type = hw::DType::F32;
  hw::Space dstSpace = hw::Space::L3, srcSpace = hw::Space::L3;
  std::optional<uint64_t> fill; // writes these bits instead of copying

  /// Splits the copy over all queues; a small copy runs on one queue.
  void emit(ProgramBuilder &builder, const Expr &dstBase, const Expr &srcBase) const;

private:
  void simplify();
  int64_t burstBytes(size_t shared, int64_t share, const Machine &machine) const;
  size_t chooseShared(const Machine &machine) const;
};

} // namespace mlir::dtu
