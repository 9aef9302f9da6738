// Where the ranks of a process meet and hand each other messages.
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

/// Of threads, one a rank of this process. Where nobody can go on any more, because all others wait
/// or have ended, every wait ends with an error.
class Exchange {
public:
  explicit Exchange(int64_t ranks) : ranks(ranks) {}

  /// Before the ranks of a step run. Forgets what a failed step has left.
  void begin();
  /// A rank has ended; where its status is an error, nobody waits for it.
  void end(const absl::Status &status);
  /// The first error of a rank.
  absl::Status status();

  /// What a rank has for the members of an exchange, one after the other, from a moment on.
  struct Pieces {
    Address first = 0;
    int64_t stride = 0, bytes = 0;
    Mark mark;
  };
  /// Returns when all members have called it, with what each has brought.
  absl::StatusOr<std::vector<Pieces>> meet(absl::Span<const int64_t> members, int64_t rank,
                                           const Pieces &brought);

  /// From rank to rank, by channel; messages of a channel keep their order. Sending does not wait.
  struct Channel {
    int64_t from = 0, to = 0, number = 0;
    bool operator<(const Channel &other) const {
      return std::tie(from, to, number) < std::tie(other.from, other.to, other.number);
    }
  };
  struct Message {
    GpuDevice *device = nullptr; ///< whose memory it lies in
    Address place = 0;
    int64_t bytes = 0;
    Mark mark; ///< until which somebody writes it, or reads what it was before
  };
  void send(const Channel &channel, const Message &message);
  absl::StatusOr<Message> receive(const Channel &channel);

  /// Memory for a message, which may be written behind its mark, and its return.
  absl::StatusOr<Message> takePlace(GpuDevice &device, int64_t bytes);
  void returnPlace(Message message);

private:
  struct Meeting {
    size_t arrived = 0;
    int64_t held = 0;
    std::vector<Pieces> brought, seen; // by who is coming, and at the last one held
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
  std::map<std::vector<int64_t>, Meeting> meetings;
  std::map<Channel, Queue> queues;
  std::map<std::pair<GpuDevice *, int64_t>, std::deque<Message>> places; // unused ones, by size

  void fail(const absl::Status &status);
  void checkProgress();
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_EXCHANGE_H
