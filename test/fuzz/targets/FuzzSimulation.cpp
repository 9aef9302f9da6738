// Small executables with damaged programs are refused, or run in simulated time and on data to an
// end or a fault. A proof holds: no deadlock, and the same bytes in any interleaving of instances.

#include "backends/dtu/isa/Binary.h"
#include "backends/dtu/isa/Fields.h"
#include "backends/dtu/isa/Validator.h"
#include "backends/dtu/isa/order/ExecutableOrder.h"
#include "backends/dtu/isa/order/StreamWalker.h"
#include "backends/dtu/simulator/Simulator.h"
#include "lib/Runtime/Program/ValidateExecutable.h"
#include "test/fuzz/targets/FuzzTarget.h"
#include "test/fuzz/targets/ProgramMutator.h"

#include "absl/strings/match.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace st::dtu {
namespace {

/// Larger ones are left out: they would only take longer.
constexpr int64_t kMaxArena = 1 << 20, kMaxScratch = 1 << 20, kMaxRanks = 8, kMaxEntries = 64;
/// Limits for all runs: instructions, and elements that they access.
constexpr int64_t kMaxInstructions = 50'000, kMaxElements = 4'000'000;

/// The product of an instruction's extents.
struct ElementCounter {
  const StreamWalker &walker;
  int64_t elements = 1;

  void extent(const char *, const Extent &value) {
    elements =
        std::min(kMaxElements + 1, elements * std::min(kMaxElements + 1, walker.value(value)));
  }
  void sizes(const char *, const std::vector<Extent> &value) {
    for (const Extent &size : value)
      extent("", size);
  }
  template <typename... Arguments> void reg(Arguments &&...) {}
  template <typename... Arguments> void integer(Arguments &&...) {}
  template <typename... Arguments> void flag(Arguments &&...) {}
  template <typename... Arguments> void bits(Arguments &&...) {}
  template <typename... Arguments> void enumeration(Arguments &&...) {}
  template <typename... Arguments> void affine(Arguments &&...) {}
  template <typename... Arguments> void address(Arguments &&...) {}
  template <typename... Arguments> void view(Arguments &&...) {}
  template <typename... Arguments> void operand(Arguments &&...) {}
  template <typename... Arguments> void operands(Arguments &&...) {}
};

/// The remaining budget of runs.
struct Budget {
  int64_t instructions = kMaxInstructions, elements = kMaxElements;

  /// Takes the cost of a run; false if too little is left, or if the cost depends on data.
  bool take(const Program &program, const RunView &view);
};

bool Budget::take(const Program &program, const RunView &view) {
  for (const Stream &stream : program.streams) {
    std::vector<uint32_t> matches = matchLoops(stream);
    for (int64_t instance = 0; instance < stream.count; ++instance) {
      StreamWalker walker(stream, matches, instance, view);
      while (!walker.isDone()) {
        if (std::holds_alternative<Load>(walker.next()) || --instructions < 0)
          return false;
        ElementCounter counter{walker};
        std::visit([&](const auto &i) { Fields<std::decay_t<decltype(i)>>::visit(counter, i); },
                   walker.next());
        elements -= counter.elements;
        if (elements < 0)
          return false;
        std::string fault;
        if (!walker.runControl(fault))
          ++walker.pc;
        if (!fault.empty())
          break;
      }
    }
  }
  return true;
}

/// Decoded programs, ranks and schedules of an executable.
struct Step {
  std::vector<Program> programs;
  std::vector<RankConfig> ranks;
  std::vector<std::vector<std::pair<size_t, int64_t>>> schedules; ///< program, micro-batch
};

bool isSmall(const proto::Group &group) {
  return group.device_ids_size() <= kMaxRanks && group.schedule_size() <= kMaxEntries &&
         group.arena_bytes() <= kMaxArena && group.host_arena_bytes() <= kMaxArena;
}

/// Returns std::nullopt if a program is rejected or the step is too large.
std::optional<Step> decodeStep(const proto::Executable &executable, Budget &budget) {
  Step step;
  MachineLimits limits = machineLimits(executable.dtu());
  for (const proto::Group &group : executable.groups()) {
    if (!isSmall(group))
      return std::nullopt;
    size_t first = step.programs.size();
    for (const proto::Task &task : group.tasks()) {
      absl::StatusOr<Program> program = decode(task.program());
      if (!program.ok() || !validate(*program, limits).ok() ||
          std::max(program->l1Bytes, program->l2Bytes) > kMaxScratch)
        return std::nullopt;
      step.programs.push_back(*std::move(program));
    }
    for (RankConfig &config : ranksOf(group)) {
      auto &schedule = step.schedules.emplace_back();
      for (const proto::ScheduleEntry &entry : group.schedule()) {
        schedule.emplace_back(first + entry.task(), entry.micro_batch());
        if (!budget.take(step.programs[schedule.back().first],
                         {config.rankInGroup, entry.micro_batch(), config.table}))
          return std::nullopt;
      }
      step.ranks.push_back(std::move(config));
    }
  }
  return step;
}

void fail(const char *what, const absl::Status &status) {
  std::fprintf(stderr, "%s: %s\n", what, status.ToString().c_str());
  std::abort();
}

bool isDeadlock(const absl::Status &status) {
  return absl::StartsWith(status.message(), "deadlock");
}

class Machine {
public:
  /// False if the machine or a program is refused.
  bool create(const proto::Executable &executable, const Step &step,
              const SimulatorOptions &options) {
    auto created = Simulator::create(executable.dtu(), step.ranks, options);
    if (!created.ok() || !(*created)->reserveMemory().ok())
      return false;
    simulator = *std::move(created);
    std::vector<ProgramId> ids;
    for (const Program &program : step.programs) {
      absl::StatusOr<ProgramId> id = simulator->load(program);
      if (!id.ok())
        return false;
      ids.push_back(*id);
    }
    for (const auto &entries : step.schedules) {
      RankSchedule &schedule = schedules.emplace_back();
      for (auto [program, microBatch] : entries)
        schedule.push_back({ids[program], microBatch});
    }
    // Small numbers of any type: bytes that are mostly zero.
    for (size_t rank = 0; rank < step.ranks.size(); ++rank)
      for (int64_t i = 0; i < step.ranks[rank].arenaBytes; ++i)
        simulator->memory(static_cast<int64_t>(rank))[i] = i % 4 == 0 ? i / 4 % 5 : 0;
    return true;
  }

  absl::Status execute() { return simulator->execute(schedules); }
  absl::Status time() const { return simulator->time(schedules).status(); }
  absl::Status replay() const { return simulator->replayTime(schedules).status(); }
  bool hasSameBytes(Machine &other, const Step &step) {
    for (size_t rank = 0; rank < step.ranks.size(); ++rank) {
      auto number = static_cast<int64_t>(rank);
      if (std::memcmp(simulator->memory(number), other.simulator->memory(number),
                      static_cast<size_t>(step.ranks[rank].arenaBytes)) != 0)
        return false;
    }
    return true;
  }

private:
  std::unique_ptr<Simulator> simulator;
  std::vector<RankSchedule> schedules;
};

void run(const proto::Executable &executable) {
  Budget budget;
  std::optional<Step> step = decodeStep(executable, budget);
  if (!step)
    return;
  absl::StatusOr<ExecutableOrder> order = proveOrder(executable, kMaxInstructions);
  bool isFree = order.ok() && order->isStepProven;
  SimulatorOptions plain, shuffled;
  plain.hostThreads = 1;
  plain.poisonScratch = shuffled.poisonScratch = true;
  shuffled.hostThreads = 2;
  shuffled.shuffleSeed = 7;
  Machine first, second;
  if (!first.create(executable, *step, plain) || !second.create(executable, *step, shuffled))
    return;
  absl::Status once = first.execute(), again = second.execute();
  for (const absl::Status &status : {first.time(), first.replay(), once, again})
    if (isFree && isDeadlock(status))
      fail("what is proven to end does not", status);
  if (!isFree || order->proven != order->runs)
    return;
  if (once.ok() != again.ok())
    fail("of two interleavings one faults", once.ok() ? again : once);
  if (once.ok() && !first.hasSameBytes(second, *step))
    fail("what is proven to be free of races is not", once);
}

} // namespace
} // namespace st::dtu

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto executable =
      st::parseExecutable(absl::string_view(reinterpret_cast<const char *>(data), size));
  if (executable.ok())
    st::dtu::run(*executable);
  return 0;
}

/// libFuzzer's own mutations of bytes would rarely leave a valid executable.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                                          unsigned int seed) {
  st::dtu::ProgramMutator mutator(seed);
  auto executable =
      st::parseExecutable(absl::string_view(reinterpret_cast<const char *>(data), size));
  if (!executable.ok() || executable->groups_size() == 0) {
    if (size)
      data[mutator.below(size)] ^= static_cast<uint8_t>(1U << mutator.below(8));
    return size;
  }
  st::proto::Group &group =
      *executable->mutable_groups(static_cast<int>(mutator.below(executable->groups_size())));
  size_t kind = mutator.below(16);
  if (kind == 0 && group.rank_tables_size()) {
    auto at = static_cast<int>(mutator.below(group.rank_tables_size()));
    group.set_rank_tables(at, mutator.number(group.rank_tables(at)));
  } else if (kind == 1 && group.schedule_size()) {
    auto at = static_cast<int>(mutator.below(group.schedule_size()));
    group.mutable_schedule()->SwapElements(at, static_cast<int>(mutator.below(at + 1)));
  } else if (kind == 2) {
    group.set_arena_bytes(mutator.number(group.arena_bytes()));
  } else if (group.tasks_size()) {
    st::proto::Task &task =
        *group.mutable_tasks(static_cast<int>(mutator.below(group.tasks_size())));
    auto program = st::dtu::decode(task.program());
    if (!program.ok())
      return size;
    for (size_t changes = 1 + mutator.below(3); changes > 0; --changes)
      mutator.mutate(*program);
    task.set_program(st::dtu::encode(*program));
  }
  std::string bytes = executable->SerializeAsString();
  if (bytes.size() > most)
    return size;
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}
