// Writes a checkpoint file in large pieces while the caller fills the next pieces.
#ifndef ST_RUNTIME_CHECKPOINT_PIECEWRITER_H
#define ST_RUNTIME_CHECKPOINT_PIECEWRITER_H

#include "lib/Support/AtomicFile.h"
#include "lib/Support/Safetensors.h"

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <thread>

namespace st {

/// Writes the data of a file in pieces of 4 MiB: a thread writes full pieces while the caller fills
/// the next one. One thread serves all files, so no thread is started per piece.
///
/// Writes are direct (see AtomicFile) where the file system allows it: the page cache costs a copy
/// and memory for data that is not read again. While training waits for the writes, the faster of
/// direct and cached writes is used, because the cache may be faster than a slow disk.
class PieceWriter {
public:
  static constexpr size_t kPieceBytes = 4 << 20;
  static constexpr size_t kPieces = 8;

  PieceWriter();
  ~PieceWriter();
  PieceWriter(const PieceWriter &) = delete;
  PieceWriter &operator=(const PieceWriter &) = delete;

  /// Starts a file. `file` must live until finish() returns or this object is destroyed. The data
  /// of the file must begin at a multiple of AtomicFile::kDirectBlock.
  void begin(SafetensorsWriter &file);

  /// The free part of the piece, for the next bytes of the file; never empty.
  absl::Span<uint8_t> space();
  /// The first bytes of space() have been filled. Returns errors of earlier pieces too.
  absl::Status add(size_t bytes);
  /// Copies bytes to the space; they may continue in the next piece.
  absl::Status append(absl::Span<const uint8_t> bytes);

  /// Declares that training waits for the writes, or no longer does.
  void setHurried(bool isTrue) { isHurried = isTrue; }
  /// Returns true if the latest piece is in the page cache, so that a flush is due.
  bool needsFlush() const;

  /// Writes the rest of the file and waits for it.
  absl::Status finish();

private:
  struct FreeAligned {
    void operator()(uint8_t *memory) const {
      ::operator delete[](memory, std::align_val_t(AtomicFile::kDirectBlock));
    }
  };
  void writePieces();
  absl::Status write(absl::Span<const uint8_t> bytes, bool isDirect);
  bool choosesDirect() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  bool hasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex) { return full > 0 || isEnding; }
  bool hasSpace() const ABSL_SHARED_LOCKS_REQUIRED(mutex) { return full < kPieces; }
  bool isIdle() const ABSL_SHARED_LOCKS_REQUIRED(mutex) { return full == 0; }

  std::array<std::unique_ptr<uint8_t[], FreeAligned>, kPieces> memory;
  size_t current = 0, filled = 0; ///< the piece to fill, and its bytes so far
  SafetensorsWriter *file = nullptr;
  bool isHurried = false;

  mutable absl::Mutex mutex;
  size_t full ABSL_GUARDED_BY(mutex) = 0; ///< pieces before `current` that are not written yet
  bool isEnding ABSL_GUARDED_BY(mutex) = false, isDirect ABSL_GUARDED_BY(mutex) = true;
  absl::Status status ABSL_GUARDED_BY(mutex); ///< the first failure
  /// Seconds of the latest piece through the cache and directly; 0: none so far.
  std::array<double, 2> seconds ABSL_GUARDED_BY(mutex) = {};
  std::thread thread; ///< none if the host cannot start one
};

} // namespace st

#endif // ST_RUNTIME_CHECKPOINT_PIECEWRITER_H
