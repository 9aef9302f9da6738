// Assigns offsets in an arena.
#pragma once

#include "passes/Memory/MemoryUtils.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::st {

/// Bytes of a program's arenas by class; all but `host` on the device.
struct MemoryClasses {
  int64_t parameters = 0, optimizer = 0, gradients = 0, activations = 0, workspace = 0, inputs = 0;
  int64_t host = 0;
};

/// The offsets of a program's storage, placed consecutively in the device's arena or the host's.
class StorageLayout {
public:
  StorageLayout(ProgramOp program, int64_t alignment, int64_t microBatches);

  AddressAttr lookup(StringRef symbol) const { return addresses.lookup(symbol); }
  bool isOnHost(StringRef symbol) const { return onHost.contains(symbol); }
  /// The address of a constant's data; equal data is stored once.
  AddressAttr getConstant(Attribute data, Type type);
  /// The end of storage and constants.
  int64_t getEnd() const { return end; }
  int64_t getHostEnd() const { return hostEnd; }
  const MemoryClasses &getClasses() const { return classes; }

private:
  void placeResident(ProgramOp program, DictionaryAttr resident);
  /// Sets the address of a storage op and returns its bytes. `arenaEnd` is the current end of the
  /// arena.
  template <typename OpType> int64_t place(OpType op, Type type, int64_t copies, int64_t &arenaEnd);
  AddressAttr append(Type type, int64_t copies, int64_t &arenaEnd);

  MLIRContext *context;
  int64_t alignment;
  int64_t end = 0, hostEnd = 0;
  llvm::StringMap<AddressAttr> addresses;
  llvm::StringSet<> onHost;
  DenseMap<Attribute, AddressAttr> constants;
  MemoryClasses classes;
};

/// A value that needs memory from the op at `start` to the op at `stop`, both included.
struct Interval {
  int64_t start = 0, stop = 0;
  int64_t bytes = 0;
  int64_t offset = 0; ///< set by placeIntervals, relative to the area's start
};

/// Places intervals so that no two that overlap in time overlap in memory: largest first, each in
/// the smallest gap that fits. Returns the bytes of the area.
int64_t placeIntervals(MutableArrayRef<Interval> intervals, int64_t alignment);

} // namespace mlir::st
