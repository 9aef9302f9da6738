// The state of all instances of a program during a proof, and the known progress of each in the
// others.
#pragma once

#include "backends/dtu/isa/order/AccessHistory.h"
#include "backends/dtu/isa/order/ProgramOrder.h"
#include "backends/dtu/isa/order/TouchedBytes.h"

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

struct SentMessage {
  LinkEvent event;
  int64_t after; ///< number of receives it comes after
  VectorClock clock;
};

/// An access whose instance does not know that it comes after another one.
struct OpenRace {
  MemoryAccess access;
  StridedBytes bytes; ///< of the other access
  int64_t memory;
  size_t instance; ///< of the other access
  uint32_t pc;
  bool isWrite;
  uint32_t time;
  int64_t receives; ///< number of receives up to the access
};

/// Memories outside the cores; a core's L1 has the core's number.
constexpr int64_t kMemoryL3 = -1, kMemoryL2 = -2, kMemoryHost = -3;

struct OrderState {
  std::vector<InstanceState> instances;
  /// For each instance, its vector clock: the known progress of all instances. If memory accesses
  /// are not followed, a single number: the receives that it knows to be complete.
  std::vector<VectorClock> clocks;
  std::deque<size_t> ready, late;
  std::vector<SemaphoreState> semaphores;
  std::vector<BarrierState> barriers;
  std::map<int64_t, AccessHistory> memories; ///< by core; one more for memory outside the cores
  std::optional<size_t> receiver, sender;    ///< the instances that receive and send
  std::vector<SentMessage> sends;
  std::vector<LinkEvent> receives;
  std::vector<uint32_t> receiveTimes; ///< the receiver's time after each receive
  std::vector<OpenRace> returns;
  TouchedBytes touched; ///< in the current stretch (Stretches.h)
};

} // namespace st::dtu
