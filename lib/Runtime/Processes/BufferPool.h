// Memory for messages, reused instead of returned to the system, because the system clears each new
// page.
#ifndef ST_RUNTIME_PROCESSES_BUFFERPOOL_H
#define ST_RUNTIME_PROCESSES_BUFFERPOOL_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace st {

/// Any number of threads may take and return buffers.
class BufferPool {
public:
  /// The pool of this process. Its buffers may outlive all other objects.
  static BufferPool &get();

  struct Release {
    size_t bucket = 0;
    void operator()(uint8_t *buffer) const { BufferPool::get().release(buffer, bucket); }
  };
  using Buffer = std::unique_ptr<uint8_t[], Release>;

  /// A buffer of at least `size` bytes with any content.
  Buffer take(size_t size);

private:
  // Buffers of a bucket have 2^bucket bytes. Larger buffers are not kept: they are rare and would
  // occupy much memory.
  static constexpr size_t kSmallest = 6, kLargest = 26, kMaxKept = size_t(256) << 20;
  void release(uint8_t *buffer, size_t bucket);

  std::mutex mutex;
  std::array<std::vector<std::unique_ptr<uint8_t[]>>, kLargest + 1> free;
  size_t kept = 0; ///< bytes in `free`
};

} // namespace st

#endif // ST_RUNTIME_PROCESSES_BUFFERPOOL_H
