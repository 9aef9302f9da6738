// Where all instances of a program are while a proof follows them, and what each knows of the
// others.
#pragma once

#include "backends/dtu/isa/order/AccessHistory.h"
#include "backends/dtu/isa/order/StreamWalker.h"

#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace st::dtu {

/// What an instance has signalled to a semaphore.
struct Signaller {
  size_t instance;
  int64_t given = 0;
  struct Token {
    int64_t upTo; ///< of all that it ever gave
    VectorClock clock;
  };
  std::deque<Token> tokens;
};

/// An instance may signal a semaphore that it waits for itself, and one other may: what is not its
/// own then comes from that one in order.
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
  size_t waitsFor = 0; ///< that semaphore
};

struct OrderState {
  std::vector<InstanceState> instances;
  /// Of each instance what it knows of all; where accesses to memory are not followed one number,
  /// of the receives that it knows to be over.
  std::vector<VectorClock> clocks;
  std::deque<size_t> ready, late;
  std::vector<SemaphoreState> semaphores;
  std::vector<BarrierState> barriers;
  std::map<int64_t, AccessHistory> memories; ///< by core, or what is beside the cores
};

} // namespace st::dtu
