#include "lib/Driver/Prediction/GpuFigures.h"

#include "absl/strings/str_cat.h"
#include "lib/Report/GatherFigures.h"

#include <map>

using namespace mlir::st;
namespace proto = ::st::proto;
using ::st::StepFigures;
using ::st::TimeClass;

static int64_t picoseconds(double us) { return static_cast<int64_t>(us * 1e6); }

namespace {
class GpuGatherer {
public:
  GpuGatherer(const proto::Executable &program, const GpuStep &step, const ::st::Costs &costs,
              const ::st::MemoryUse &memory)
      : program(program), step(step), costs(costs), memory(memory) {}

  StepFigures run();

private:
  ::st::ClassTimes timesOf(const proto::Group &group, int64_t rank) const;
  void addGroup(const proto::Group &group);
  void addTrack(const proto::Group &group);
  void addMemory();
  void addKernels();

  const proto::Executable &program;
  const GpuStep &step;
  const ::st::Costs &costs;
  const ::st::MemoryUse &memory;
  std::map<int64_t, int64_t> ranksOn; ///< by device
  StepFigures figures;
};
} // namespace

/// The times add up to the step: a finished rank waits for the others.
::st::ClassTimes GpuGatherer::timesOf(const proto::Group &group, int64_t rank) const {
  ::st::ClassTimes times = {};
  int64_t sum = 0;
  auto add = [&](TimeClass timeClass, double us) {
    times[static_cast<size_t>(timeClass)] += picoseconds(us);
    sum += picoseconds(us);
  };
  const std::vector<GpuStep::Run> &runs = step.ranks[static_cast<size_t>(rank)];
  for (size_t entry = 0; entry < runs.size(); ++entry) {
    const int64_t task = group.schedule(static_cast<int>(entry)).task();
    add(::st::classOfPhase(group.tasks(static_cast<int>(task)).phase()), runs[entry].kernels);
    add(TimeClass::Collective, runs[entry].collectives);
    add(TimeClass::Wait, runs[entry].waits);
  }
  times[static_cast<size_t>(TimeClass::Wait)] += std::max<int64_t>(0, figures.total - sum);
  return times;
}

void GpuGatherer::addGroup(const proto::Group &group) {
  constexpr int64_t kMaxDevices = 64;
  StepFigures::Row row;
  row.name = group.name();
  row.stages.assign(group.stages().begin(), group.stages().end());
  row.ranks = group.device_ids_size();
  const int64_t scratch = program.cuda().scratch_bytes();
  row.arenaBytes = group.arena_bytes() + scratch;
  for (const proto::MemoryClass &entry : group.memory())
    row.memory.emplace_back(entry.name(), entry.bytes());
  if (scratch > 0)
    row.memory.emplace_back("scratch", scratch);
  StepFigures::Row device = row;
  device.ranks = 1;
  for (int64_t i = 0; i < row.ranks; ++i) {
    const int64_t id = group.device_ids(static_cast<int>(i)), rank = group.first_rank() + i;
    device.times = timesOf(group, rank);
    device.name = absl::StrCat("GPU ", id);
    if (ranksOn[id] > 1)
      absl::StrAppend(&device.name, ", rank ", rank);
    for (size_t c = 0; c < ::st::kTimeClasses; ++c)
      row.times[c] += device.times[c];
    if (static_cast<int64_t>(step.ranks.size()) <= kMaxDevices)
      figures.devices.push_back(device);
  }
  figures.groups.push_back(std::move(row));
  addTrack(group);
}

/// Draws a pause at the end of its run; its exact position is unknown.
void GpuGatherer::addTrack(const proto::Group &group) {
  StepFigures::Track track;
  track.name = group.name();
  const std::vector<GpuStep::Run> &runs = step.ranks[static_cast<size_t>(group.first_rank())];
  for (size_t entry = 0; entry < runs.size(); ++entry) {
    const GpuStep::Run &run = runs[entry];
    const int64_t task = group.schedule(static_cast<int>(entry)).task();
    track.runs.push_back({picoseconds(run.start), picoseconds(run.end),
                          ::st::classOfPhase(group.tasks(static_cast<int>(task)).phase()),
                          ::st::labelOf(program, group, static_cast<int64_t>(entry))});
    const double still = run.end - run.collectives;
    if (run.waits > 0)
      track.pauses.push_back(
          {picoseconds(still - run.waits), picoseconds(still), TimeClass::Wait, ""});
    if (run.collectives > 0)
      track.pauses.push_back({picoseconds(still), picoseconds(run.end), TimeClass::Collective, ""});
  }
  figures.tracks.push_back(std::move(track));
}

/// Memory of the group that needs most. Each rank has a GPU, or shares it with ranks of the same
/// group.
void GpuGatherer::addMemory() {
  int fullest = 0;
  auto bytesOf = [&](int group) {
    return (program.groups(group).arena_bytes() + program.cuda().scratch_bytes()) *
           ranksOn[program.groups(group).device_ids(0)];
  };
  for (int group = 1; group < program.groups_size(); ++group)
    if (bytesOf(group) > bytesOf(fullest))
      fullest = group;
  const proto::Group &group = program.groups(fullest);
  StepFigures::MemoryChart &chart = figures.memory;
  chart.name = absl::StrCat("GPU ", group.device_ids(0), " of ", group.name());
  chart.classes = memory.classes;
  chart.reserved = group.arena_bytes() + program.cuda().scratch_bytes();
  chart.ranks = ranksOn[group.device_ids(0)];
  if (memory.groups.empty())
    return;
  const std::vector<GpuStep::Run> &runs = step.ranks[static_cast<size_t>(group.first_rank())];
  for (size_t entry = 0; entry < runs.size(); ++entry)
    chart.steps.push_back({picoseconds(runs[entry].start), picoseconds(runs[entry].end),
                           ::st::labelOf(program, group, static_cast<int64_t>(entry)),
                           memory.groups[static_cast<size_t>(fullest)][entry]});
}

static const char *nameOf(TimedCommand::Work kind) {
  switch (kind) {
  case TimedCommand::Product:
    return "product";
  case TimedCommand::Attention:
    return "attention";
  case TimedCommand::Copy:
    return "copy";
  case TimedCommand::Loop:
    break;
  }
  return "loop";
}

void GpuGatherer::addKernels() {
  for (const GpuStep::Work &work : step.works)
    figures.kernels.push_back({work.name, nameOf(work.kind), work.launches, picoseconds(work.us),
                               work.flops, work.moved});
  figures.peakFlops = costs.peakFlops(proto::BF16);
  figures.reachedFlops = costs.fastestProduct(proto::BF16);
}

StepFigures GpuGatherer::run() {
  const proto::Prediction &prediction = program.prediction();
  figures.name = program.model().model_type();
  figures.summary = program.summary();
  figures.device = program.cuda().gpu().name();
  figures.basis = prediction.basis();
  const std::string before = ", schedule ";
  if (size_t at = figures.summary.find(before); at != std::string::npos)
    figures.schedule = figures.summary.substr(at + before.size());
  figures.total = prediction.picoseconds();
  figures.lowerBound = prediction.lower_bound();
  figures.serialSum = prediction.serial_sum();
  figures.microBatches = program.micro_batches();
  figures.batch = program.model().batch();
  figures.memoryBytes = static_cast<int64_t>(program.cuda().gpu().memory_bytes().value());
  for (const proto::Group &group : program.groups())
    for (int64_t id : group.device_ids())
      ++ranksOn[id];
  figures.numDevices = static_cast<int64_t>(ranksOn.size());
  for (const proto::Group &group : program.groups())
    addGroup(group);
  addMemory();
  addKernels();
  return std::move(figures);
}

StepFigures mlir::st::gatherGpuFigures(const proto::Executable &program, const GpuStep &step,
                                       const ::st::Costs &costs, const ::st::MemoryUse &memory) {
  return GpuGatherer(program, step, costs, memory).run();
}
