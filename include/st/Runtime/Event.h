// The completion of work that was started earlier.
#ifndef ST_RUNTIME_EVENT_H
#define ST_RUNTIME_EVENT_H

#include "absl/status/status.h"

#include <memory>

namespace st {

/// Copies of an event share one state: whoever does the work sets it once,
/// whoever needs the result waits.
class Event {
public:
  /// An event that nobody has set yet.
  Event();

  /// An event of work that is already over.
  static Event completed(absl::Status status);

  /// Ends the wait of everybody. May be called once.
  void set(absl::Status status);

  bool isReady() const;

  /// Blocks until the work is over and returns how it ended.
  absl::Status wait() const;

private:
  struct State;
  std::shared_ptr<State> state;
};

} // namespace st

#endif // ST_RUNTIME_EVENT_H
