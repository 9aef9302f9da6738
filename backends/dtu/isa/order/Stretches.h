// Memoises the events between two quiet states of a program, so that equal code is followed once.
// It recurs in the next layer of a model, on another rank, or in another program.
//
// A state is quiet if each instance knows, or will know when it wakes, of all accesses so far, and
// no register has a value that may be read. Accesses before it cannot race with accesses after it.
// The following events therefore depend only on the code, on the values of the run that this code
// reads, on the semaphores that it uses, and on which of its addresses outside of the cluster may
// overlap.
#pragma once

#include "backends/dtu/isa/order/OrderState.h"
#include "backends/dtu/isa/order/RunDependence.h"
#include "backends/dtu/isa/order/StretchCode.h"

#include <memory>

namespace st::dtu {

/// The events between two quiet states. Times and numbers of messages count from its start.
struct OrderStretch {
  /// The instructions [first, last) of a stream.
  struct Slice {
    uint32_t first = UINT32_MAX, last = 0;
  };
  struct Point {
    uint32_t pc = 0;
    bool waits = false;
    size_t waitsFor = 0;
  };
  struct Instance {
    bool takesPart = false, isDone = false; ///< done at the end
    Point from, to;
    uint32_t time = 0; ///< the time by which it advances
  };
  /// In a quiet state all signals imply the same order, so only their counts matter.
  struct Semaphore {
    struct Signals {
      size_t instance;
      bool isNew; ///< no signals before
      int64_t given;
    };
    size_t at;
    std::optional<size_t> waiter;
    bool isWaiterNew;
    int64_t before, after,
        taken; ///< the counts before and after, and the count that was waited for
    std::vector<Signals> signallers;
  };
  struct BarrierUse {
    std::vector<bool> users;
    int64_t participants = 0;
  };

  const StretchCode *code = nullptr;
  RunDependence dependence;
  std::vector<int64_t> values; ///< the values of the run that it depends on
  std::vector<Slice> slices;
  std::vector<Instance> instances;
  std::deque<size_t> readyBefore, lateBefore, ready, late;
  std::vector<Semaphore> semaphores; ///< those used
  std::vector<BarrierUse> barriers;
  std::vector<TouchedRange> touched;
  std::optional<size_t> receiver, sender; ///< if it receives or sends
  std::vector<SentMessage> sends;
  std::vector<LinkEvent> receives;
  std::vector<uint32_t> receiveTimes;
  std::vector<OpenRace> returns;
};

/// Shared by any number of runs. While several threads follow runs, each adds to a separate memory
/// on top of a shared one that does not change.
class StretchMemory {
public:
  explicit StretchMemory(const StretchMemory *base = nullptr) : base(base) {}

  /// Calls `accepts(stretch)` for each stretch with this hash, until one is accepted; returns that
  /// one, or null.
  template <typename Accepts>
  std::shared_ptr<const OrderStretch> find(uint64_t hash, Accepts &&accepts) const {
    if (base)
      if (auto found = base->find(hash, accepts))
        return found;
    if (auto known = stretches.find(hash); known != stretches.end())
      for (const std::shared_ptr<const OrderStretch> &stretch : known->second)
        if (accepts(*stretch))
          return stretch;
    return nullptr;
  }
  void keep(uint64_t hash, std::shared_ptr<const OrderStretch> stretch) {
    stretches[hash].push_back(std::move(stretch));
  }
  /// Adds the stretches of a memory on top of this one.
  void take(StretchMemory other);

private:
  const StretchMemory *base;
  absl::flat_hash_map<uint64_t, std::vector<std::shared_ptr<const OrderStretch>>> stretches;
};

/// Records and replays the stretches of one run.
class Stretches {
public:
  /// All must outlive this.
  Stretches(const StretchCode &code, const RunView &view, StretchMemory &memory, OrderState &state);

  /// Returns true if the state is quiet.
  bool isQuiet() const;
  /// Drops the history that a quiet state makes irrelevant.
  void normalise();
  /// Replays the stretch that begins here if it is known. Returns the number of instructions
  /// compared, or 0. The state must be normalised.
  int64_t replay();
  /// Call where a stretch that is not known begins or ends.
  void begin();
  void end();

  /// Call before the state of a semaphore changes.
  void useSemaphore(size_t at);
  void useBarrier(size_t at, size_t instance) { barrierUsers[at][instance] = true; }
  /// The current stretch depends on data.
  void refuse() { isRefused = true; }

private:
  /// The positions of a known stretch's instructions in this program.
  using Starts = std::vector<uint32_t>;

  uint64_t hash() const;
  bool accepts(const OrderStretch &stretch, Starts &starts) const;
  bool isAtStart(const OrderStretch &stretch, Starts &starts) const;
  bool hasCode(const OrderStretch &stretch, const Starts &starts) const;
  bool hasSemaphore(const OrderStretch::Semaphore &used) const;
  bool hasBarriers(const OrderStretch &stretch) const;
  bool hasMessages(const OrderStretch &stretch) const;
  bool keepsOverlaps(const OrderStretch &stretch, const Starts &starts) const;
  /// The distance between an address of the stretch and the address here.
  int64_t shiftOf(const OrderStretch &stretch, const Starts &starts, size_t stream, uint32_t pc,
                  bool isWrite) const;
  void apply(const OrderStretch &stretch, const Starts &starts);
  void applyMessages(const OrderStretch &stretch, const Starts &starts,
                     const std::vector<uint32_t> &times);
  void recordPlaces(OrderStretch &stretch) const;
  void recordSemaphores(OrderStretch &stretch) const;
  void recordMessages(OrderStretch &stretch) const;
  OrderStretch::Point pointOf(size_t index) const;

  const StretchCode &code;
  const RunView &view;
  StretchMemory &memory;
  OrderState &state;
  std::vector<size_t> streamOf; ///< instances

  // The start of the current stretch.
  uint64_t startHash = 0;
  std::vector<OrderStretch::Point> points;
  std::vector<uint32_t> times;
  std::deque<size_t> ready, late;
  size_t sends = 0, receives = 0, returns = 0;
  std::vector<std::pair<size_t, SemaphoreState>> used; ///< semaphores before their first use
  std::vector<bool> isUsed;
  std::vector<std::vector<bool>> barrierUsers; ///< by barrier, the instances that reached it
  bool isRefused = false;
};

} // namespace st::dtu
