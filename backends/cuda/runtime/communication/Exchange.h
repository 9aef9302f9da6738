// Synchronisation and messages between the ranks of a process.
#ifndef ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_EXCHANGE_H
#define ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_EXCHANGE_H

#include "backends/cuda/runtime/GpuDevice.h"

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

namespace st::cuda {

/// Used by threads, one per rank of this process. If no rank can continue, because all others wait
/// or have ended, every wait ends with an error.
class Exchange {
public:
  explicit Exchange(int64_t ranks) : ranks(ranks) {}

  /// Call before the ranks of a step run. Discards the remains of a failed step.
  void begin();
  /// Call when a rank has ended. If its status is an error, no rank waits for it.
  void end(const absl::Status &status);
  /// The first error of a rank.
  absl::Status status();

  /// A rank's contributions to the members of an exchange, in order, valid after the mark.
  struct Pieces {
    Address first = 0;
    int64_t stride = 0, bytes = 0;
    Mark mark;
  };
  /// Returns when all members have called it, with the contributions of each.
  absl::StatusOr<std::vector<Pieces>> meet(absl::Span<const int64_t> members, int64_t rank,
                                           const Pieces &brought);

  /// A message channel between two ranks. Messages of a channel stay in order. Sending does not
  /// wait.
  struct Channel {
    int64_t from = 0, to = 0, number = 0;
    bool operator<(const Channel &other) const {
      return std::tie(from, to, number) < std::tie(other.from, other.to, other.number);
    }
  };
  struct Message {
    GpuDevice *device = nullptr; ///< the device whose memory holds it
    Address place = 0;
    int64_t bytes = 0;
    Mark mark; ///< until then the memory is being written, or its previous contents are being read
  };
  void send(const Channel &channel, const Message &message);
  absl::StatusOr<Message> receive(const Channel &channel);

  /// Allocates memory for a message, writable after its mark, and returns it to the pool.
  absl::StatusOr<Message> takePlace(GpuDevice &device, int64_t bytes);
  void returnPlace(Message message);

private:
  struct Rendezvous {
    size_t arrived = 0;
    int64_t held = 0;
    std::vector<Pieces> brought, seen; // of the current exchange, and of the last one
  };
  struct Queue {
    std::deque<Message> messages;
    int64_t waiting = 0;
  };

  int64_t ranks;
  std::mutex mutex;
  std::condition_variable changed;
  int64_t blocked = 0, ended = 0;
  absl::Status failure;
  std::map<std::vector<int64_t>, Rendezvous> rendezvousByMembers;
  std::map<Channel, Queue> queues;
  std::map<std::pair<GpuDevice *, int64_t>, std::deque<Message>> places; // unused ones, by size

  void fail(const absl::Status &status);
  void checkProgress();
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_EXCHANGE_H
