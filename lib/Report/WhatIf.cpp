#include "lib/Report/WhatIf.h"

#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace st {
namespace {

using WhatIf = StepFigures::WhatIf;

/// Parts that are busy for less of the step than this cannot shorten it by much.
constexpr double kMinShare = 0.02;
constexpr int64_t kMaxInstructions = 400'000'000;
/// Stands for an absent figure, because no figure of a description may be 0.
constexpr double kAlmostNothing = 1e-9;

double launchShare(const StepFigures &figures) {
  int64_t launches = 0;
  for (const StepFigures::Piece &piece : figures.path)
    launches += piece.times[static_cast<size_t>(TimeClass::Launch)];
  return static_cast<double>(launches) / static_cast<double>(figures.total);
}

double largest(const StepFigures &figures, double EngineShares::*share) {
  double maximum = 0;
  for (const StepFigures::Row &group : figures.groups)
    maximum = std::max(maximum, group.engines.*share);
  return maximum;
}

double busiest(const StepFigures &figures, const std::string &kind) {
  int64_t maximum = 0;
  for (const StepFigures::Link &link : figures.links)
    if (link.kind == kind)
      maximum = std::max(maximum, link.busy);
  return static_cast<double>(maximum) / static_cast<double>(figures.total);
}

std::vector<WhatIf> propose(const StepFigures &figures) {
  std::vector<WhatIf> list = {
      {"launching a task costs nothing",
       {{"task_launch_ns", kAlmostNothing}},
       launchShare(figures)},
      {"matrix engines are twice as fast",
       {{"fp32_macs_per_core_cycle", 2}, {"bf16_macs_per_core_cycle", 2}},
       largest(figures, &EngineShares::matrix)},
      {"vector engines are twice as fast",
       {{"vector_bytes_per_cycle", 2}, {"l1_banks", 2}},
       largest(figures, &EngineShares::vector)},
      {"device memory (L3) is twice as fast",
       {{"l3_gbytes_per_second", 2}},
       largest(figures, &EngineShares::l3)},
      {"cluster memory (L2) is twice as fast",
       {{"l2_gbytes_per_second", 2}},
       largest(figures, &EngineShares::l2)},
      {"DTEs start and move twice as fast",
       {{"dte_gbytes_per_second", 2}, {"dte_latency_ns", 0.5}},
       largest(figures, &EngineShares::dte)},
      {"ports between the clusters of a chip are twice as fast",
       {{"onchip_gbytes_per_second", 2}},
       busiest(figures, "ports of clusters")},
      {"links from chip to chip are twice as fast",
       {{"chip_gbytes_per_second", 2}},
       busiest(figures, "chip to chip")},
      {"cables between groups of chips are twice as fast",
       {{"group_gbytes_per_second", 2}},
       busiest(figures, "cables of groups")},
      {"links to hosts are twice as fast",
       {{"host_gbytes_per_second", 2}},
       busiest(figures, "to and from hosts")},
  };
  list.erase(std::remove_if(list.begin(), list.end(),
                            [](const WhatIf &one) { return one.share < kMinShare; }),
             list.end());
  std::stable_sort(list.begin(), list.end(),
                   [](const WhatIf &a, const WhatIf &b) { return a.share > b.share; });
  return list;
}

absl::Status ask(const proto::Executable &program, const MakeClient &makeClient, WhatIf &whatIf) {
  ClientOptions options;
  options.timingOnly = true;
  options.scales = whatIf.scales;
  const std::unique_ptr<Client> client = makeClient(options);
  ST_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable, client->load(program));
  ST_ASSIGN_OR_RETURN(StepTime time, executable->timeStep(nullptr, nullptr));
  whatIf.picoseconds = time.total;
  return absl::OkStatus();
}

} // namespace

absl::Status computeWhatIf(const proto::Executable &program, const MakeClient &makeClient,
                           StepFigures &figures) {
  figures.whatIfs = propose(figures);
  const int64_t affordable =
      std::max<int64_t>(1, kMaxInstructions / std::max<int64_t>(1, figures.simulatedInstructions));
  const size_t count = std::min(figures.whatIfs.size(), static_cast<size_t>(affordable));
  std::vector<absl::Status> results(count);
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i = next++; i < count; i = next++)
      results[i] = ask(program, makeClient, figures.whatIfs[i]);
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min<size_t>(count, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
  for (const absl::Status &status : results)
    ST_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

} // namespace st
