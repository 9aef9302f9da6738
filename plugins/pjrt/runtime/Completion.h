// The end of asynchronous work: the class behind PJRT_Event.
#pragma once

#include "absl/status/status.h"

#include <functional>
#include <memory>

namespace st::pjrt {

/// Copies share one state. Whoever does the work sets it once; others wait or are called back.
class Completion {
public:
  Completion();
  /// Of work that is already over.
  static Completion done(absl::Status status = absl::OkStatus());

  /// Ends all waits and runs the callbacks in this thread. What is set later is ignored.
  void set(absl::Status status) const;
  bool isReady() const;
  /// Blocks until the work is over and returns how it ended.
  absl::Status wait() const;
  /// Runs `callback` once the work is over: at once where it is.
  void onReady(std::function<void(const absl::Status &)> callback) const;

private:
  struct State;
  std::shared_ptr<State> state;
};

} // namespace st::pjrt
