// The end of asynchronous work: the class behind PJRT_Event.
#pragma once

#include "absl/status/status.h"

#include <functional>
#include <memory>

namespace st::pjrt {

/// Copies share one state. The worker sets it once; others wait or are called back.
class Completion {
public:
  Completion();
  /// A completion of finished work.
  static Completion done(absl::Status status = absl::OkStatus());

  /// Ends all waits and runs the callbacks in this thread. Later calls are ignored.
  void set(absl::Status status) const;
  bool isReady() const;
  /// Blocks until the work is finished and returns its status.
  absl::Status wait() const;
  /// Runs `callback` once the work is finished, possibly before this returns.
  void onReady(std::function<void(const absl::Status &)> callback) const;

private:
  struct State;
  std::shared_ptr<State> state;
};

} // namespace st::pjrt
