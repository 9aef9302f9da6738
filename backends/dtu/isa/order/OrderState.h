// The state of all instances of a program during a proof, and the known progress of each in the
// others.
#pragma once

#include "backends/dtu/isa/order/AccessHistory.h"
#include "backends/dtu/isa/order/StreamWalker.h"

#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace st::dtu {

/// The signals of one instance to a semaphore.
struct Signaller {
  size_t instance;
  int64_t given = 0;
  struct Token {
    int64_t upTo; ///< the total count up to this signal
    VectorClock clock;
  };
  std::deque<Token> tokens;
};

/// An instance may signal a semaphore on which it waits itself, and one other instance may signal
/// it. Counts that the waiter did not add therefore come from that one instance, in order.
struct SemaphoreState {
  std::optional<size_t> waiter;
  int64_t count = 0, taken = 0;
  std::vector<Signaller> signallers;
};

struct BarrierState {
  std::vector<size_t> waiting;
  std::vector<bool> users;
  int64_t participants = 0;
};

struct InstanceState {
  StreamWalker walker;
  size_t stream;
  bool waitsForSemaphore = false;
  size_t waitsFor = 0; ///< the semaphore it waits for
};

struct OrderState {
  std::vector<InstanceState> instances;
  /// For each instance, what it knows of all others. If memory accesses are not followed, a single
  /// number: the receives that it knows to be complete.
  std::vector<VectorClock> clocks;
  std::deque<size_t> ready, late;
  std::vector<SemaphoreState> semaphores;
  std::vector<BarrierState> barriers;
  std::map<int64_t, AccessHistory> memories; ///< by core; one more for memory outside the cores
};

} // namespace st::dtu
