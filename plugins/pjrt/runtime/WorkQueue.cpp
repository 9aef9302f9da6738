#include "plugins/pjrt/runtime/WorkQueue.h"

#include <thread>
#include <utility>

namespace st::pjrt {

WorkQueue::WorkQueue() : state(std::make_shared<State>()) {
  std::thread([state = state] { run(state); }).detach();
}

WorkQueue::~WorkQueue() {
  std::deque<std::function<void()>> dropped;
  std::lock_guard<std::mutex> lock(state->mutex);
  state->stopped = true;
  dropped.swap(state->waiting);
  state->changed.notify_all();
}

void WorkQueue::post(std::function<void()> work) {
  std::lock_guard<std::mutex> lock(state->mutex);
  state->waiting.push_back(std::move(work));
  state->changed.notify_one();
}

void WorkQueue::run(const std::shared_ptr<State> &state) {
  while (true) {
    std::function<void()> work;
    {
      std::unique_lock<std::mutex> lock(state->mutex);
      state->changed.wait(lock, [&] { return state->stopped || !state->waiting.empty(); });
      if (state->stopped)
        return;
      work = std::move(state->waiting.front());
      state->waiting.pop_front();
    }
    work();
  }
}

} // namespace st::pjrt
