#include "backends/dtu/simulator/data/Inbox.h"

#include <cstdlib>

namespace st::dtu {
namespace {

/// Exponent of the smallest power of two, 64 at least, that holds `bytes`.
int sizeClass(int64_t bytes) {
  int result = 6;
  while ((int64_t(1) << result) < bytes)
    ++result;
  return result;
}

} // namespace

void FreeBytes::operator()(uint8_t *p) const { std::free(p); }

Message MessagePool::take(int64_t bytes) {
  int size = sizeClass(bytes);
  Message message;
  message.bytes = bytes;
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto &list = free[size];
    if (!list.empty()) {
      message.data = std::move(list.back());
      list.pop_back();
      return message;
    }
  }
  message.data.reset(static_cast<uint8_t *>(std::aligned_alloc(64, size_t(1) << size)));
  return message;
}

void MessagePool::release(Message message) {
  int size = sizeClass(message.bytes);
  std::lock_guard<std::mutex> lock(mutex);
  free[size].push_back(std::move(message.data));
}

} // namespace st::dtu
