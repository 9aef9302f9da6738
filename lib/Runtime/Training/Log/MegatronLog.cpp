#include "lib/Runtime/Training/Log/MegatronLog.h"

#include "lib/Runtime/MeasuredTimeline.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <map>

namespace st {
namespace {

using Kind = StepTimeline::Kind;

constexpr double kPicosecondsPerMillisecond = 1e9;
constexpr absl::string_view kFromNextStage = "forward-send-backward-recv";

int64_t in(const StepTimeline::Sums &sums, Kind kind) { return sums[static_cast<size_t>(kind)]; }

int64_t waited(const StepTimeline::Sums &sums) {
  return in(sums, Kind::Transfer) + in(sums, Kind::Wait);
}

int64_t worked(const StepTimeline::Sums &sums) {
  return in(sums, Kind::Launch) + in(sums, Kind::Compute) + in(sums, Kind::Collective);
}

/// Picoseconds by timer for one rank.
class RankTimers {
public:
  RankTimers(const proto::Executable &program, const StepTimeline &timeline, const StepTrace &trace)
      : group(program.groups(program.groups_size() - 1)),
        rank(group.first_rank() + group.device_ids_size() - 1),
        isPipelined(program.groups_size() > 1), timeline(timeline), trace(trace) {}

  StepTimers run() {
    const std::vector<StepTimeline::Run> &runs = timeline.ranks[static_cast<size_t>(rank)].runs;
    for (size_t i = 0; i < runs.size(); ++i)
      add(runs[i],
          group.tasks(static_cast<int>(group.schedule(static_cast<int>(i)).task())).phase());
    splitOptimizer();
    StepTimers timers;
    for (const auto &[name, isOfStages] : kNames) {
      // The last pipeline stage receives no gradients.
      const bool isEmpty = name == kFromNextStage && times[name] == 0;
      if ((isPipelined || !isOfStages) && !isEmpty)
        timers.emplace_back(name, static_cast<double>(times[name]) / kPicosecondsPerMillisecond);
    }
    return timers;
  }

private:
  // In Megatron-LM's order; true if only runs with several stages have the timer.
  static constexpr std::pair<const char *, bool> kNames[] = {
      {"forward-compute", false},
      {"forward-recv", true},
      {"backward-compute", false},
      {"backward-send", true},
      {"backward-send-forward-recv", true},
      {"forward-send-backward-recv", true},
      {"backward-params-all-reduce", false},
      {"backward-embedding-all-reduce", false},
      {"optimizer-copy-to-main-grad", false},
      {"optimizer-unscale-and-check-inf", false},
      {"optimizer-clip-main-grad", false},
      {"optimizer-copy-main-to-model-params", false},
      {"optimizer", false}};

  void add(const StepTimeline::Run &run, const std::string &phase) {
    if (phase == "update") {
      updates.emplace_back(run.start, run.end);
      times["backward-params-all-reduce"] += in(run.sums, Kind::Collective);
      times["backward-embedding-all-reduce"] += waited(run.sums);
      times["optimizer"] += in(run.sums, Kind::Launch) + in(run.sums, Kind::Compute);
      return;
    }
    const bool isBackward = phase == "backward" || phase == "weight";
    times[isBackward ? "backward-compute" : "forward-compute"] += worked(run.sums);
    times[isBackward                    ? "forward-send-backward-recv"
          : times.count("forward-recv") ? "backward-send-forward-recv"
                                        : "forward-recv"] += waited(run.sums);
  }

  // Splits the update by the work of each engine of the rank.
  void splitOptimizer() {
    int64_t scale = 0, clip = 0, all = 0;
    for (const StepTrace::Span &span : trace.spans) {
      const std::string &label = trace.labels[static_cast<size_t>(span.label)];
      const bool isOfRank = trace.rows[static_cast<size_t>(span.row)].rank == rank;
      const bool isWork =
          trace.rows[static_cast<size_t>(span.row)].engine != "tasks" && !isMessageLabel(label);
      if (!isOfRank || !isWork || !isInUpdate(span.start))
        continue;
      all += span.duration;
      scale += absl::StrContains(label, "optimizer/scale") ? span.duration : 0;
      clip += absl::StrContains(label, "optimizer/clip") ? span.duration : 0;
    }
    const double total = static_cast<double>(times["optimizer"]);
    const double each = all > 0 ? total / static_cast<double>(all) : 0;
    times["optimizer-unscale-and-check-inf"] =
        static_cast<int64_t>(each * static_cast<double>(scale));
    times["optimizer-clip-main-grad"] = static_cast<int64_t>(each * static_cast<double>(clip));
  }

  bool isInUpdate(int64_t time) const {
    return std::any_of(updates.begin(), updates.end(), [&](const auto &update) {
      return time >= update.first && time < update.second;
    });
  }

  const proto::Group &group;
  int64_t rank;
  bool isPipelined;
  const StepTimeline &timeline;
  const StepTrace &trace;
  std::map<std::string, int64_t> times;
  std::vector<std::pair<int64_t, int64_t>> updates;
};

} // namespace

StepTimers megatronTimers(const proto::Executable &program, const StepTimeline &timeline,
                          const StepTrace &trace) {
  return RankTimers(program, timeline, trace).run();
}

std::string printTimers(const StepTimers &timers, double batchMilliseconds) {
  std::string line = "time (ms)";
  for (const auto &[name, milliseconds] : timers)
    absl::StrAppendFormat(&line, " | %s: %.2f", name, milliseconds);
  absl::StrAppendFormat(&line, " | batch-generator: %.2f\n", batchMilliseconds);
  return line;
}

std::string printSampleTime(int64_t iterations, int64_t samples, double milliseconds) {
  return absl::StrFormat("(over %d iterations = %d samples)\n%.2f ms per sample\n", iterations,
                         samples, milliseconds / static_cast<double>(samples));
}

std::string printMemoryRange(const proto::Executable &program) {
  constexpr double kMebibyte = 1 << 20;
  std::map<int64_t, int64_t> devices;
  for (const proto::Group &group : program.groups())
    for (int64_t id : group.device_ids())
      devices[id] += group.arena_bytes() + program.cuda().scratch_bytes();
  int64_t minimum = INT64_MAX, maximum = 0;
  for (const auto &[id, bytes] : devices) {
    minimum = std::min(minimum, bytes);
    maximum = std::max(maximum, bytes);
  }
  const bool isDtu = program.has_dtu();
  const double capacity =
      isDtu ? program.dtu().l3_bytes_per_chip().value() / program.dtu().clusters_per_chip()
            : program.cuda().gpu().memory_bytes().value();
  return absl::StrFormat("%s mem: %.0fMiB - %.0fMiB / %.0fMiB\n", isDtu ? "DTU" : "GPU",
                         static_cast<double>(minimum) / kMebibyte,
                         static_cast<double>(maximum) / kMebibyte, capacity / kMebibyte);
}

} // namespace st
