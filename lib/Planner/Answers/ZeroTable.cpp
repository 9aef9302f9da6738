#include "lib/Planner/Answers/ZeroTable.h"

#include "lib/Planner/Answers/Report.h"
#include "lib/Support/Text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <map>

namespace st {
namespace {

/// Largest micro-batch to consider: a model that fits more needs no ZeRO.
constexpr int64_t kLargestMicroBatch = 4096;
/// Number of micro-batches to try below the largest one, and the fraction below it. DeepSpeed's
/// tuner does the same, since a kernel's last wave may be fuller with fewer sequences.
constexpr int64_t kTriedBelow = 6, kShareBelow = 8;
/// If rates differ by less than this, the largest micro-batch wins: the model of kernels' last
/// waves is not more exact.
constexpr double kPlateau = 0.02;

/// The micro-batches of one level that were composed.
class Level {
public:
  Level(const StepInputs &inputs, const Layout &layout) : inputs(inputs), layout(layout) {}

  absl::Status search(ZeroSpace &space);
  /// Returns true if the micro-batch fits with room for fragmentation: near the limit an allocator
  /// slows down each step.
  absl::StatusOr<bool> fits(int64_t microBatch);
  /// Takes the best composed micro-batch that fits, or the best power of two.
  void takeBest(ZeroSpace &space, bool powersOnly) const;

private:
  double inStepMs(const StepEstimate &step) const { return step.ms - inputs.stepUs * 1e-3; }

  const StepInputs &inputs;
  const Layout layout;
  std::map<int64_t, StepEstimate> composed;
};

} // namespace

absl::StatusOr<bool> Level::fits(int64_t microBatch) {
  auto found = composed.find(microBatch);
  if (found == composed.end()) {
    Layout tried = layout;
    tried.microBatch = microBatch;
    absl::StatusOr<StepEstimate> step = estimateStep(inputs, tried);
    if (!step.ok())
      return step.status();
    found = composed.emplace(microBatch, *std::move(step)).first;
  }
  return found->second.fit == Fit::Fits;
}

absl::Status Level::search(ZeroSpace &space) {
  int64_t fitting = 0, failing = 1;
  for (; failing <= kLargestMicroBatch; failing *= 2) {
    absl::StatusOr<bool> does = fits(failing);
    if (!does.ok())
      return does.status();
    if (!*does)
      break;
    fitting = failing;
  }
  while (failing <= kLargestMicroBatch && failing - fitting > 1) {
    const int64_t middle = (fitting + failing) / 2;
    absl::StatusOr<bool> does = fits(middle);
    if (!does.ok())
      return does.status();
    (*does ? fitting : failing) = middle;
  }
  const int64_t stride = std::max<int64_t>(fitting / kShareBelow / kTriedBelow, 1);
  for (int64_t below = fitting - stride; below > 0 && below >= fitting - kTriedBelow * stride;
       below -= stride)
    if (absl::StatusOr<bool> does = fits(below); !does.ok())
      return does.status();
  space.largest = fitting;
  space.experiments = composed.size();
  return absl::OkStatus();
}

void Level::takeBest(ZeroSpace &space, bool powersOnly) const {
  auto rateOf = [&](int64_t microBatch, const StepEstimate &step) {
    const bool counts =
        step.fit == Fit::Fits && (!powersOnly || (microBatch & (microBatch - 1)) == 0);
    return counts ? static_cast<double>(microBatch) / inStepMs(step) : 0.0;
  };
  double maximum = 0;
  for (const auto &[microBatch, step] : composed)
    maximum = std::max(maximum, rateOf(microBatch, step));
  for (const auto &[microBatch, step] : composed) {
    const double rate = rateOf(microBatch, step);
    if (rate <= 0 || rate < maximum * (1 - kPlateau))
      continue;
    space.best = layout;
    space.best.microBatch = microBatch;
    space.step = step;
    const auto samples = static_cast<double>(space.best.globalBatch()) * 1e3;
    space.inStep = samples / inStepMs(step);
    space.endToEnd = samples / step.ms;
  }
}

std::string ZeroSpace::name() const {
  return absl::StrCat("z", level, "_gas", best.microBatches, "_tmbspg", best.microBatch);
}

absl::StatusOr<ZeroTable> tuneZero(const StepInputs &inputs, int64_t devices, int64_t accumulation,
                                   const std::vector<int64_t> &levels) {
  ZeroTable table;
  for (int64_t level : levels) {
    Layout layout;
    layout.replicas = devices;
    layout.microBatches = accumulation;
    layout.zero = level;
    Level tried(inputs, layout);
    ZeroSpace space;
    space.level = level;
    if (absl::Status status = tried.search(space); !status.ok())
      return status;
    tried.takeBest(space, false);
    if (level == 0) {
      table.doubling.largest = space.largest;
      table.doubling.experiments = space.experiments;
      tried.takeBest(table.doubling, true);
    }
    if (space.largest > 0)
      table.spaces.push_back(std::move(space));
  }
  if (table.spaces.empty())
    return absl::InvalidArgumentError(
        absl::StrCat("no ZeRO level lets one sequence fit on a device of ", inputs.cluster.name()));
  for (size_t i = 0; i < table.spaces.size(); ++i)
    if (table.spaces[i].inStep > table.spaces[table.best].inStep)
      table.best = i;
  return table;
}

proto::PlanZeroTable describeZeroTable(const StepInputs &inputs, const ZeroTable &table) {
  proto::PlanZeroTable plan;
  auto describe = [&](const ZeroSpace &space, proto::PlanZeroSpace &to) {
    to.set_tuning_space(absl::StrCat("z", space.level));
    to.set_num_experiments(static_cast<int>(space.experiments));
    to.set_best_metric_val(space.inStep);
    to.set_best_exp_name(space.name());
    to.set_end_to_end_samples_per_second(space.endToEnd);
    to.set_largest_micro_batch(static_cast<int>(space.largest));
    *to.mutable_step() = describeStep(inputs, space.best, space.step);
  };
  for (const ZeroSpace &space : table.spaces)
    describe(space, *plan.add_spaces());
  plan.set_best(table.spaces[table.best].name());
  if (table.doubling.inStep > 0)
    describe(table.doubling, *plan.mutable_doubling());
  return plan;
}

std::string printZeroTable(const ZeroTable &table) {
  std::string text =
      absl::StrFormat("%-12s | %15s | %15s | %-20s | %10s | %8s\n", "tuning_space",
                      "num_experiments", "best_metric_val", "best_exp_name", "end to end", "GiB");
  auto addRow = [&](const std::string &label, const ZeroSpace &space) {
    absl::StrAppendFormat(
        &text, "%-12s | %15d | %15s | %-20s | %10s | %8s\n", label, space.experiments,
        printFigure(space.inStep, 2), space.name(), printFigure(space.endToEnd, 2),
        printFigure(space.step.memory[space.step.fullest].total() / (1 << 30), 2));
  };
  for (const ZeroSpace &space : table.spaces)
    addRow(absl::StrCat("z", space.level), space);
  addRow("global", table.spaces[table.best]);
  if (table.doubling.inStep > 0)
    absl::StrAppendFormat(
        &text,
        "doubling the micro-batch by hand finds %s: %s samples/s within steps, %s end to end\n",
        table.doubling.name(), printFigure(table.doubling.inStep),
        printFigure(table.doubling.endToEnd));
  text += "best_metric_val is samples/s within steps, as the tuner ranks; end to end counts what "
          "the host does between steps\n";
  return text;
}

} // namespace st
