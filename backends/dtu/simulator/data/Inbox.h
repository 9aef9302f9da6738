// Messages between ranks on data: FIFO channels into one rank, and a pool of message buffers.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace st::dtu {

/// Larger messages are refused. The limit bounds what a program can request from the host.
constexpr int64_t kMaxMessageBytes = int64_t(1) << 32;

struct FreeBytes {
  void operator()(uint8_t *p) const;
};
struct Message {
  std::unique_ptr<uint8_t, FreeBytes> data;
  int64_t bytes = 0;
};

/// Keeps buffers by power-of-two size class. Thread-safe.
class MessagePool {
public:
  /// Returns a message of `bytes` bytes; its data is null if the host is out of memory.
  Message take(int64_t bytes);
  void release(Message message);

private:
  std::mutex mutex;
  std::map<int, std::vector<std::unique_ptr<uint8_t, FreeBytes>>> free;
};

/// (source rank, channel).
using ChannelKey = std::pair<int64_t, int64_t>;

/// Messages that have arrived at one rank. If `parked`, the rank waits for a message on one of
/// `awaited`, and the sender of that message must wake it.
struct Inbox {
  std::mutex mutex;
  std::map<ChannelKey, std::deque<Message>> channels;
  std::vector<ChannelKey> awaited;
  bool parked = false;
};

} // namespace st::dtu
