// Memory accesses of ops, and conflicts between them.
#pragma once

#include "backends/dtu/codegen/emission/ByteRanges.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"

namespace mlir::dtu {

/// Bytes of L3, or all of L2, that an op reads or writes.
struct Access {
  bool isL2;
  int64_t begin, end;
  bool isWrite;
};

/// Accesses of ops that may still be running.
class OpenAccesses {
public:
  void insert(ArrayRef<Access> accesses) {
    for (const Access &access : accesses) {
      Memory &memory = access.isL2 ? l2 : l3;
      (access.isWrite ? memory.written : memory.read).insert(access.begin, access.end);
    }
  }

  /// Returns true if one of `accesses` must wait: it writes bytes being accessed, or reads bytes
  /// being written.
  bool clash(ArrayRef<Access> accesses) const {
    return llvm::any_of(accesses, [&](const Access &access) {
      const Memory &memory = access.isL2 ? l2 : l3;
      return memory.written.overlaps(access.begin, access.end) ||
             (access.isWrite && memory.read.overlaps(access.begin, access.end));
    });
  }

private:
  struct Memory {
    ByteRanges read, written;
  };
  Memory l2, l3;
};

} // namespace mlir::dtu
