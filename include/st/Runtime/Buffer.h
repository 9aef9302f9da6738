// Bytes in the memory of a device.
#ifndef ST_RUNTIME_BUFFER_H
#define ST_RUNTIME_BUFFER_H

#include "absl/status/status.h"
#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>

namespace st {

/// A range of device memory that the host accesses by copying. Threads may copy to and from
/// disjoint ranges at the same time. No copy may overlap a step that is still running.
///
/// If several processes run a program together, all of them make the same copies. A write stays in
/// the process that holds the memory, and a read comes from there. So all processes read in the
/// same order, from one thread.
class Buffer {
public:
  virtual ~Buffer() = default;

  /// In bytes.
  virtual int64_t size() const = 0;

  /// Copies from and to the host. OutOfRange if offset and size exceed the buffer.
  absl::Status write(int64_t offset, absl::Span<const uint8_t> bytes);
  absl::Status read(int64_t offset, absl::Span<uint8_t> bytes) const;

  /// Returns true if the memory belongs to this process.
  virtual bool isLocal() const { return true; }
  /// Like read, but without the other processes: an error unless the memory is here.
  absl::Status readHere(int64_t offset, absl::Span<uint8_t> bytes) const;
  /// The memory itself if the host can read it in place, even while a step runs; else null.
  virtual const uint8_t *hostMemory() const { return nullptr; }

protected:
  /// The same for a range that is known to be inside the buffer.
  virtual absl::Status writeWithin(int64_t offset, absl::Span<const uint8_t> bytes) = 0;
  virtual absl::Status readWithin(int64_t offset, absl::Span<uint8_t> bytes) const = 0;
  /// The same for memory that is here, without other processes.
  virtual absl::Status readHereWithin(int64_t offset, absl::Span<uint8_t> bytes) const {
    return readWithin(offset, bytes);
  }

private:
  absl::Status check(int64_t offset, size_t count) const;
};

} // namespace st

#endif // ST_RUNTIME_BUFFER_H
