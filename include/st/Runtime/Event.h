// The completion of work that was started earlier.
#ifndef ST_RUNTIME_EVENT_H
#define ST_RUNTIME_EVENT_H

#include "absl/status/status.h"

#include <memory>

namespace st {

/// Copies of an event share one state: the worker sets it once, and users of the result wait.
class Event {
public:
  /// An event that is not set yet.
  Event();

  /// An event of work that has already ended.
  static Event completed(absl::Status status);

  /// Ends all waits. May be called once.
  void set(absl::Status status);

  bool isReady() const;

  /// Blocks until the work ends and returns its status.
  absl::Status wait() const;

private:
  struct State;
  std::shared_ptr<State> state;
};

} // namespace st

#endif // ST_RUNTIME_EVENT_H
