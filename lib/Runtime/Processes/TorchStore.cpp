#include "lib/Runtime/Processes/TorchStore.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <vector>

namespace st {
namespace {

// The query codes of PyTorch's TCPStore (torch/csrc/distributed/c10d/TCPStoreBackend.hpp).
enum Query : uint8_t { kValidate = 0, kSet = 1, kGet = 3, kWait = 6 };
constexpr uint32_t kMagic = 0x3C85F7CE;
constexpr uint8_t kStopWaiting = 0;

/// A request in the store's format; numbers are in host byte order.
class Request {
public:
  template <typename Number> Request &add(Number number) {
    const auto *at = reinterpret_cast<const uint8_t *>(&number);
    bytes.insert(bytes.end(), at, at + sizeof number);
    return *this;
  }
  Request &add(const std::string &text) {
    add(static_cast<uint64_t>(text.size()));
    bytes.insert(bytes.end(), text.begin(), text.end());
    return *this;
  }

  std::vector<uint8_t> bytes;
};

template <typename Number>
absl::Status receiveNumber(const Socket &store, Number &number, Clock::time_point deadline) {
  return receiveAll(store, absl::MakeSpan(reinterpret_cast<uint8_t *>(&number), sizeof number),
                    deadline);
}

absl::Status noStore() { return absl::InvalidArgumentError("the server is not a PyTorch store"); }

/// The value of a key, once it is set.
absl::StatusOr<std::string> waitAndGet(const Socket &store, const std::string &key,
                                       Clock::time_point deadline) {
  const Request wait = Request().add(kWait).add(uint64_t(1) /*key*/).add(key);
  ST_RETURN_IF_ERROR(sendAll(store, wait.bytes, deadline));
  uint8_t reply = 0;
  ST_RETURN_IF_ERROR(receiveNumber(store, reply, deadline));
  if (reply != kStopWaiting)
    return noStore();
  // Without the wait, the store would reply at once, even if the key is not set.
  const Request get = Request().add(kGet).add(key);
  ST_RETURN_IF_ERROR(sendAll(store, get.bytes, deadline));
  constexpr uint64_t kLargest = 4096;
  uint64_t size = 0;
  ST_RETURN_IF_ERROR(receiveNumber(store, size, deadline));
  if (size > kLargest)
    return noStore();
  std::string value(size, '\0');
  ST_RETURN_IF_ERROR(
      receiveAll(store, absl::MakeSpan(reinterpret_cast<uint8_t *>(value.data()), size), deadline));
  return value;
}

} // namespace

absl::Status setInStore(const Socket &store, const std::string &key, const std::string &value,
                        Clock::time_point deadline) {
  const Request set = Request().add(kValidate).add(kMagic).add(kSet).add(key).add(value);
  ST_RETURN_IF_ERROR(sendAll(store, set.bytes, deadline));
  // The store does not reply to a set request; reading the value back proves that it is set.
  return waitAndGet(store, key, deadline).status();
}

absl::StatusOr<std::string> getFromStore(const Socket &store, const std::string &key,
                                         Clock::time_point deadline) {
  ST_RETURN_IF_ERROR(sendAll(store, Request().add(kValidate).add(kMagic).bytes, deadline));
  return waitAndGet(store, key, deadline);
}

} // namespace st
