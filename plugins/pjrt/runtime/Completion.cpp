#include "plugins/pjrt/runtime/Completion.h"

#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace st::pjrt {

struct Completion::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
  absl::Status status;
  std::vector<std::function<void(const absl::Status &)>> callbacks;
};

Completion::Completion() : state(std::make_shared<State>()) {}

Completion Completion::done(absl::Status status) {
  Completion completion;
  completion.set(std::move(status));
  return completion;
}

void Completion::set(absl::Status status) const {
  // A callback may drop the last other reference.
  const std::shared_ptr<State> held = state;
  std::vector<std::function<void(const absl::Status &)>> callbacks;
  {
    std::lock_guard<std::mutex> lock(held->mutex);
    if (held->ready)
      return;
    held->ready = true;
    held->status = std::move(status);
    callbacks.swap(held->callbacks);
    held->changed.notify_all();
  }
  for (const auto &callback : callbacks)
    callback(held->status);
}

bool Completion::isReady() const {
  std::lock_guard<std::mutex> lock(state->mutex);
  return state->ready;
}

absl::Status Completion::wait() const {
  std::unique_lock<std::mutex> lock(state->mutex);
  state->changed.wait(lock, [this] { return state->ready; });
  return state->status;
}

void Completion::onReady(std::function<void(const absl::Status &)> callback) const {
  const std::shared_ptr<State> held = state;
  {
    std::lock_guard<std::mutex> lock(held->mutex);
    if (!held->ready) {
      held->callbacks.push_back(std::move(callback));
      return;
    }
  }
  callback(held->status);
}

} // namespace st::pjrt
