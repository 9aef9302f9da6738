#include "backends/cuda/runtime/communication/Exchange.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"

namespace st::cuda {

void Exchange::begin() {
  std::lock_guard<std::mutex> lock(mutex);
  blocked = ended = 0;
  failure = absl::OkStatus();
  rendezvousByMembers.clear();
  queues.clear();
}

void Exchange::fail(const absl::Status &status) {
  if (failure.ok())
    failure = status;
  changed.notify_all();
}

void Exchange::checkProgress() {
  if (blocked > 0 && blocked + ended == ranks)
    fail(absl::InvalidArgumentError(
        absl::StrCat("the program cannot continue: ", blocked, " of ", ranks,
                     " ranks wait for messages that no rank sends; the others have ended")));
}

void Exchange::end(const absl::Status &status) {
  std::lock_guard<std::mutex> lock(mutex);
  ++ended;
  if (!status.ok())
    fail(status);
  checkProgress();
}

absl::Status Exchange::status() {
  std::lock_guard<std::mutex> lock(mutex);
  return failure;
}

absl::StatusOr<std::vector<Exchange::Pieces>> Exchange::meet(absl::Span<const int64_t> members,
                                                             int64_t rank, const Pieces &brought) {
  std::unique_lock<std::mutex> lock(mutex);
  Rendezvous &rendezvous = rendezvousByMembers[{members.begin(), members.end()}];
  rendezvous.brought.resize(members.size());
  for (size_t i = 0; i < members.size(); ++i)
    if (members[i] == rank)
      rendezvous.brought[i] = brought;
  if (++rendezvous.arrived >= members.size()) {
    blocked -= static_cast<int64_t>(rendezvous.arrived) - 1;
    rendezvous.arrived = 0;
    ++rendezvous.held;
    rendezvous.seen = rendezvous.brought;
    changed.notify_all();
  } else {
    const int64_t held = rendezvous.held;
    ++blocked;
    checkProgress();
    changed.wait(lock, [&] { return rendezvous.held != held || !failure.ok(); });
  }
  if (!failure.ok())
    return failure;
  // All ranks leave this exchange before any rank enters the one after the next.
  return rendezvous.seen;
}

void Exchange::send(const Channel &channel, const Message &message) {
  std::lock_guard<std::mutex> lock(mutex);
  Queue &queue = queues[channel];
  queue.messages.push_back(message);
  if (queue.waiting > 0) {
    --queue.waiting;
    --blocked;
    changed.notify_all();
  }
}

absl::StatusOr<Exchange::Message> Exchange::receive(const Channel &channel) {
  std::unique_lock<std::mutex> lock(mutex);
  Queue &queue = queues[channel];
  if (queue.messages.empty()) {
    ++queue.waiting;
    ++blocked;
    checkProgress();
    changed.wait(lock, [&] { return !queue.messages.empty() || !failure.ok(); });
  }
  if (!failure.ok())
    return failure;
  Message message = queue.messages.front();
  queue.messages.pop_front();
  return message;
}

absl::StatusOr<Exchange::Message> Exchange::takePlace(GpuDevice &device, int64_t bytes) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    std::deque<Message> &unused = places[{&device, bytes}];
    if (!unused.empty()) {
      // The place that was returned first was read the longest ago.
      Message place = std::move(unused.front());
      unused.pop_front();
      return place;
    }
  }
  // Waits for the GPU, outside the lock.
  ST_ASSIGN_OR_RETURN(Address place, device.allocate(bytes));
  return Message{&device, place, bytes, Mark()};
}

void Exchange::returnPlace(Message message) {
  std::lock_guard<std::mutex> lock(mutex);
  const std::pair<GpuDevice *, int64_t> key = {message.device, message.bytes};
  places[key].push_back(std::move(message));
}

} // namespace st::cuda
