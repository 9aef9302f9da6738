#include "st/Runtime/Event.h"

#include <condition_variable>
#include <mutex>

namespace st {

struct Event::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
  absl::Status status;
};

Event::Event() : state(std::make_shared<State>()) {}

Event Event::completed(absl::Status status) {
  Event event;
  event.set(std::move(status));
  return event;
}

void Event::set(absl::Status status) {
  std::lock_guard<std::mutex> lock(state->mutex);
  state->ready = true;
  state->status = std::move(status);
  state->changed.notify_all();
}

bool Event::isReady() const {
  std::lock_guard<std::mutex> lock(state->mutex);
  return state->ready;
}

absl::Status Event::wait() const {
  std::unique_lock<std::mutex> lock(state->mutex);
  state->changed.wait(lock, [this] { return state->ready; });
  return state->status;
}

} // namespace st
