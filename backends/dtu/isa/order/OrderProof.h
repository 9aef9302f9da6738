// Follows one run of a program and proves its order (ProgramOrder.h).
#pragma once

#include "backends/dtu/isa/Names.h"
#include "backends/dtu/isa/Validator.h"
#include "backends/dtu/isa/order/OrderState.h"
#include "backends/dtu/isa/order/PeriodicOrder.h"
#include "backends/dtu/isa/order/Stretches.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace st::dtu {

/// The precision with which a proof follows memory accesses.
enum class Accesses {
  None,
  /// Evenly spaced accesses at several times are joined, so a race may be a false alarm.
  /// The stretch is then followed again with Each.
  Joined,
  Each ///< and every loop trip is followed
};

class OrderProof : OrderState {
public:
  OrderProof(const Program &program, const RunView &view, int64_t limit, Accesses accesses);
  /// Follows equal stretches once.
  void remember(const StretchCode &code, const RunView &view, StretchMemory &memory) {
    stretches.emplace(code, view, memory, static_cast<OrderState &>(*this));
  }
  absl::StatusOr<ProgramOrder> run();

private:
  /// The state to restore to follow a stretch again. Its start is quiet, so no access is kept.
  struct Start {
    std::vector<InstanceState> instances;
    std::vector<VectorClock> clocks;
    std::deque<size_t> ready, late;
    std::vector<SemaphoreState> semaphores;
    std::vector<BarrierState> barriers;
    std::optional<size_t> receiver, sender;
    size_t sends = 0, receives = 0, returns = 0;
  };

  /// Follows all instances to their ends.
  absl::Status followAll();
  /// In a quiet state, replays known stretches and prepares for the next one.
  absl::Status startStretch();
  void followAgain();
  /// Runs an instance until it waits or ends.
  absl::Status advance(size_t index);
  absl::Status wait(size_t index, const Wait &wait, bool &blocked);
  absl::Status signal(size_t index, const Signal &signal);
  /// Checks that the order of a semaphore's signals is known.
  absl::Status checkUsers(size_t index, size_t at) const;
  absl::Status meet(size_t index, const Barrier &barrier, bool &blocked);
  absl::Status link(size_t index, const Instruction &instruction);
  absl::Status access(size_t index, const Address &address, StridedBytes::Dims dims, int64_t width,
                      bool isWrite, int64_t multicast = 1);
  std::vector<VectorClock> minClocks() const;
  absl::Status noteRace(const MemoryAccess &access, int64_t memory,
                        const AccessHistory::Race &race);
  std::string describe(const OpenRace &race) const;
  int64_t receivesKnownTo(size_t index) const;
  absl::Status resolveReturns(ProgramOrder &order) const;
  absl::Status checkBarriers() const;
  absl::Status reportWaits() const;
  absl::StatusOr<size_t> semaphoreOf(size_t index, const Affine &affine) const;

  std::string engineOf(size_t index) const {
    return absl::StrCat(name(instances[index].walker.stream->engine), " ",
                        instances[index].walker.number);
  }
  std::string placeOf(size_t index, uint32_t pc) const {
    return absl::StrCat(describePlace(program, instances[index].stream, pc), " on ",
                        engineOf(index));
  }
  absl::Status error(size_t index, const std::string &text) const {
    return absl::InvalidArgumentError(
        absl::StrCat(placeOf(index, instances[index].walker.pc), ": ", text));
  }
  absl::Status exhausted() const {
    return absl::ResourceExhaustedError(
        absl::StrCat("program '", program.name, "' runs more than ", limit, " instructions"));
  }
  std::string memoryName(int64_t memory) const {
    if (memory >= 0)
      return absl::StrCat("L1 of core ", memory);
    return std::string(name(memory == kMemoryL3   ? Space::L3
                            : memory == kMemoryL2 ? Space::L2
                                                  : Space::Host));
  }

  /// If no accesses are followed, a clock only counts complete receives.
  size_t clockWidth() const { return follows ? instances.size() : 1; }
  /// Advances an instance's own time.
  void tick(size_t index) {
    if (follows)
      ++clocks[index][index];
  }

  const Program &program;
  std::vector<std::vector<uint32_t>> matches;
  std::vector<AccessHistory::Race> races; ///< of the current access
  const int64_t limit;
  const bool follows; ///< true if accesses are followed
  bool joins;
  bool repeats; ///< true if periodic loops are skipped
  std::optional<PeriodicOrder> periodic;
  std::optional<Stretches> stretches;
  Start start; ///< of the current stretch
  bool isUncertain = false;
  int64_t executed = 0;
};

} // namespace st::dtu
