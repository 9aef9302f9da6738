// Reads bytes from an untrusted file: every read is checked, and only the first fault is reported.
#ifndef ST_DIALECTS_VHLO_BYTEREADER_H
#define ST_DIALECTS_VHLO_BYTEREADER_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

namespace mlir::vhlo {

/// Faults of one file. Only the first becomes a diagnostic: later ones follow from it.
class FaultSink {
public:
  explicit FaultSink(Location loc) : loc(loc) {}

  void report(const Twine &message) {
    if (!hasFault)
      emitError(loc) << message;
    hasFault = true;
  }
  /// Notes a fault that already has a diagnostic.
  void setFailed() { hasFault = true; }
  bool failed() const { return hasFault; }
  MLIRContext *getContext() const { return loc.getContext(); }
  Location getLoc() const { return loc; }

private:
  Location loc;
  bool hasFault = false;
};

/// Reads numbers and bytes in order. After a fault every read returns zero or an empty value, so a
/// caller can check `failed` once after several reads.
class ByteReader {
public:
  /// `file`: the start of the file that holds `bytes`; alignment is relative to it.
  ByteReader(ArrayRef<uint8_t> bytes, const uint8_t *file, FaultSink &faults)
      : rest(bytes), file(file), faults(faults) {}

  bool isEmpty() const { return rest.empty(); }
  size_t size() const { return rest.size(); }
  bool failed() const { return faults.failed(); }
  void fault(const Twine &message) { faults.report(message); }
  FaultSink &getFaults() const { return faults; }

  uint8_t byte();
  ArrayRef<uint8_t> bytes(uint64_t count);
  /// The text before the next byte of value 0. Skips that byte.
  StringRef cString();
  /// A number in 1 to 9 bytes. The number of trailing zero bits of the first byte is the number of
  /// further bytes.
  uint64_t number();
  /// A number whose low bit is its sign.
  int64_t signedNumber();
  /// A number whose low bit is a flag.
  std::pair<uint64_t, bool> numberAndFlag();
  /// The number of entries that follow. Each has at least one byte, so a number above that of the
  /// remaining bytes is a fault.
  uint64_t count();
  /// The number of a section and its bytes.
  std::pair<unsigned, ArrayRef<uint8_t>> section();

  /// A reader of some of these bytes.
  ByteReader within(ArrayRef<uint8_t> part) const { return ByteReader(part, file, faults); }

private:
  ArrayRef<uint8_t> rest;
  const uint8_t *file;
  FaultSink &faults;
};

} // namespace mlir::vhlo

#endif // ST_DIALECTS_VHLO_BYTEREADER_H
