#include "lib/Report/GatherFigures.h"

#include "lib/Timing/DtuCosts.h"
#include "lib/Timing/DtuDescription.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <map>

namespace st {
namespace {

/// Above this number of devices only their groups are shown.
constexpr int64_t kMaxDevices = 64;

TimeClass classOf(StepTimeline::Kind kind, TimeClass compute) {
  switch (kind) {
  case StepTimeline::Kind::Launch:
    return TimeClass::Launch;
  case StepTimeline::Kind::Compute:
    return compute;
  case StepTimeline::Kind::Collective:
    return TimeClass::Collective;
  case StepTimeline::Kind::Transfer:
    return TimeClass::Transfer;
  case StepTimeline::Kind::Wait:
    return TimeClass::Wait;
  }
  return TimeClass::Other;
}

void addSums(ClassTimes &times, const StepTimeline::Sums &sums, TimeClass compute) {
  for (size_t kind = 0; kind < sums.size(); ++kind)
    times[static_cast<size_t>(classOf(static_cast<StepTimeline::Kind>(kind), compute))] +=
        sums[kind];
}

/// "chip to chip", from "chip 0 -> chip 1".
std::string kindOfLink(const std::string &name) {
  if (absl::StrContains(name, "host"))
    return "to and from hosts";
  if (absl::StartsWith(name, "cluster"))
    return "ports of clusters";
  return absl::StartsWith(name, "chip") ? "chip to chip" : "cables of groups";
}

class Gatherer {
public:
  Gatherer(const proto::Executable &program, const TimedStep &timed, const MemoryUse &memory)
      : program(program), timed(timed), memory(memory), costs(program.dtu()),
        sizes(dtuSizes(program.dtu())) {}

  StepFigures run();

private:
  const proto::Task &taskOf(const proto::Group &group, int64_t entry) const {
    return group.tasks(static_cast<int>(group.schedule(static_cast<int>(entry)).task()));
  }
  std::string label(const proto::Group &group, int64_t entry) const {
    return labelOf(program, group, entry);
  }
  void countDevices();
  ClassTimes timesOf(const proto::Group &group, int64_t rank) const;
  EngineShares sharesOf(int64_t rank) const;
  void addGroup(size_t index);
  void addTrack(const proto::Group &group);
  void addMemory();
  void addLinks();
  void addPath();

  /// The combined work of the ranks of a device, and of those of a chip.
  struct DeviceWork {
    StepTime::Rank engines;
    int64_t l2Bytes = 0, arena = 0, ranks = 0;
  };
  struct ChipWork {
    int64_t burstBytes = 0, toHost = 0, fromHost = 0;
  };

  const proto::Executable &program;
  const TimedStep &timed;
  const MemoryUse &memory;
  const DtuCosts costs;
  const DtuSizes sizes;
  std::vector<size_t> groupOf; ///< by rank
  std::vector<int64_t> deviceOf;
  std::map<int64_t, DeviceWork> devices;
  std::map<int64_t, ChipWork> chips;
  StepFigures figures;
};

void Gatherer::countDevices() {
  for (int g = 0; g < program.groups_size(); ++g)
    for (int64_t id : program.groups(g).device_ids()) {
      const size_t rank = groupOf.size();
      groupOf.push_back(static_cast<size_t>(g));
      deviceOf.push_back(id);
      DeviceWork &device = devices[id];
      ChipWork &chip = chips[dtuPlace(program.dtu(), id)->chip];
      const StepTime::Rank &of = timed.time.ranks[rank];
      ++device.ranks;
      device.arena += program.groups(g).arena_bytes();
      device.engines.matrixPicoseconds += of.matrixPicoseconds;
      device.engines.vectorPicoseconds += of.vectorPicoseconds;
      device.engines.dtePicoseconds += of.dtePicoseconds;
      device.engines.sendPicoseconds += of.sendPicoseconds;
      device.engines.receivePicoseconds += of.receivePicoseconds;
      chip.toHost += of.toHostBytes;
      chip.fromHost += of.fromHostBytes;
      chip.burstBytes += of.burstBytes;
      for (const TaskWork &work : timed.time.work.ranks[rank])
        device.l2Bytes += work.l2Bytes;
    }
  figures.numDevices = static_cast<int64_t>(devices.size());
}

/// The times add up to the step: a finished device waits for the others.
ClassTimes Gatherer::timesOf(const proto::Group &group, int64_t rank) const {
  ClassTimes times = {};
  const StepTimeline::Rank &of = timed.timeline.ranks[static_cast<size_t>(rank)];
  int64_t end = 0;
  for (size_t entry = 0; entry < of.runs.size(); ++entry) {
    addSums(times, of.runs[entry].sums,
            classOfPhase(taskOf(group, static_cast<int64_t>(entry)).phase()));
    end = of.runs[entry].end;
  }
  times[static_cast<size_t>(TimeClass::Wait)] += timed.time.total - end;
  return times;
}

EngineShares Gatherer::sharesOf(int64_t rank) const {
  const DeviceWork &device = devices.at(deviceOf[static_cast<size_t>(rank)]);
  const ChipWork &chip =
      chips.at(dtuPlace(program.dtu(), deviceOf[static_cast<size_t>(rank)])->chip);
  const auto step = static_cast<double>(timed.time.total);
  auto share = [&](int64_t picoseconds, int64_t engines) {
    return static_cast<double>(picoseconds) / (step * static_cast<double>(engines));
  };
  return {share(device.engines.matrixPicoseconds, sizes.cores),
          share(device.engines.vectorPicoseconds, sizes.cores),
          share(device.engines.dtePicoseconds, sizes.dteQueues),
          share(device.engines.sendPicoseconds, device.ranks),
          share(device.engines.receivePicoseconds, device.ranks),
          share(costs.l2Bytes(device.l2Bytes), 1),
          share(costs.l3Bytes(chip.burstBytes), 1),
          share(costs.hostBytes(std::max(chip.toHost, chip.fromHost)), 1)};
}

void Gatherer::addGroup(size_t index) {
  const proto::Group &group = program.groups(static_cast<int>(index));
  StepFigures::Row row;
  row.name = group.name();
  row.stages.assign(group.stages().begin(), group.stages().end());
  row.ranks = group.device_ids_size();
  row.arenaBytes = group.arena_bytes();
  row.hostBytes = group.host_arena_bytes();
  for (const proto::MemoryClass &entry : group.memory())
    if (entry.name() != "host")
      row.memory.emplace_back(entry.name(), entry.bytes());
  StepFigures::Row device = row;
  device.ranks = 1;
  for (int64_t i = 0; i < row.ranks; ++i) {
    const int64_t rank = group.first_rank() + i;
    device.times = timesOf(group, rank);
    device.engines = sharesOf(rank);
    device.name = absl::StrCat("device ", deviceOf[static_cast<size_t>(rank)]);
    if (devices.at(deviceOf[static_cast<size_t>(rank)]).ranks > 1)
      absl::StrAppend(&device.name, ", rank ", rank);
    for (size_t c = 0; c < kTimeClasses; ++c)
      row.times[c] += device.times[c];
    for (double EngineShares::*share :
         {&EngineShares::matrix, &EngineShares::vector, &EngineShares::dte, &EngineShares::send,
          &EngineShares::receive, &EngineShares::l2, &EngineShares::l3, &EngineShares::host})
      row.engines.*share += device.engines.*share / static_cast<double>(row.ranks);
    if (static_cast<int64_t>(groupOf.size()) <= kMaxDevices)
      figures.devices.push_back(device);
  }
  figures.groups.push_back(std::move(row));
  addTrack(group);
}

void Gatherer::addTrack(const proto::Group &group) {
  StepFigures::Track track;
  track.name = group.name();
  const auto first = static_cast<size_t>(group.first_rank());
  const StepTimeline::Rank &rank = timed.timeline.ranks[first];
  for (size_t entry = 0; entry < rank.runs.size(); ++entry) {
    const auto at = static_cast<int64_t>(entry);
    track.runs.push_back({rank.runs[entry].start, rank.runs[entry].end,
                          classOfPhase(taskOf(group, at).phase()), label(group, at)});
  }
  for (const StepTimeline::Segment &segment : rank.segments)
    if (segment.kind != StepTimeline::Kind::Compute)
      track.pauses.push_back(
          {segment.start, segment.end, classOf(segment.kind, TimeClass::Other), ""});
  for (const StepTimeline::Visit &visit : timed.timeline.path)
    if (&program.groups(static_cast<int>(groupOf[static_cast<size_t>(visit.rank)])) == &group) {
      if (!track.path.empty() && track.path.back().second == visit.start)
        track.path.back().second = visit.end;
      else
        track.path.emplace_back(visit.start, visit.end);
    }
  figures.tracks.push_back(std::move(track));
}

void Gatherer::addMemory() {
  int64_t maximum = -1;
  size_t at = 0;
  for (size_t rank = 0; rank < groupOf.size(); ++rank)
    if (const DeviceWork &device = devices.at(deviceOf[rank]); device.arena > maximum) {
      maximum = device.arena;
      at = rank;
    }
  const proto::Group &group = program.groups(static_cast<int>(groupOf[at]));
  StepFigures::MemoryChart &chart = figures.memory;
  chart.name = absl::StrCat("device ", deviceOf[at], " of ", group.name());
  chart.classes = memory.classes;
  chart.reserved = group.arena_bytes();
  chart.ranks = devices.at(deviceOf[at]).ranks;
  if (memory.groups.empty())
    return;
  const std::vector<StepTimeline::Run> &runs = timed.timeline.ranks[at].runs;
  for (size_t entry = 0; entry < runs.size(); ++entry)
    chart.steps.push_back({runs[entry].start, runs[entry].end,
                           label(group, static_cast<int64_t>(entry)),
                           memory.groups[groupOf[at]][entry]});
}

void Gatherer::addLinks() {
  std::map<std::string, std::map<std::string, int64_t>> uses;
  for (const StepTimeline::Traffic &traffic : timed.timeline.traffic) {
    const proto::Group &group =
        program.groups(static_cast<int>(groupOf[static_cast<size_t>(traffic.rank)]));
    const std::string &phase = group.tasks(static_cast<int>(traffic.task)).phase();
    const std::string &what = traffic.what.empty() ? "messages" : traffic.what;
    uses[traffic.link][absl::StrCat(what, " of ", phase, " tasks")] += traffic.bytes;
  }
  for (const LinkWork &work : timed.time.work.links) {
    StepFigures::Link link = {work.name, kindOfLink(work.name), work.bytes, work.picoseconds, "",
                              0};
    int64_t maximum = 0;
    for (const auto &[what, bytes] : uses[work.name])
      if (bytes > maximum) {
        maximum = bytes;
        link.mostly = what;
      }
    link.mostlyShare = static_cast<double>(maximum) / static_cast<double>(work.bytes);
    figures.links.push_back(std::move(link));
  }
  std::stable_sort(
      figures.links.begin(), figures.links.end(),
      [](const StepFigures::Link &a, const StepFigures::Link &b) { return a.busy > b.busy; });
}

void Gatherer::addPath() {
  for (const StepTimeline::Visit &visit : timed.timeline.path) {
    const proto::Group &group =
        program.groups(static_cast<int>(groupOf[static_cast<size_t>(visit.rank)]));
    StepFigures::Piece piece;
    piece.task = label(group, visit.run);
    piece.group = group.name();
    piece.microBatch = group.schedule(static_cast<int>(visit.run)).micro_batch();
    piece.start = visit.start;
    piece.end = visit.end;
    addSums(piece.times, visit.sums, classOfPhase(taskOf(group, visit.run).phase()));
    figures.path.push_back(std::move(piece));
  }
}

StepFigures Gatherer::run() {
  figures.name = program.model().model_type();
  figures.summary = program.summary();
  figures.device = program.dtu().name();
  const std::string before = ", schedule ";
  if (size_t at = figures.summary.find(before); at != std::string::npos)
    figures.schedule = figures.summary.substr(at + before.size());
  figures.total = timed.time.total;
  figures.lowerBound = timed.time.lowerBound;
  figures.serialSum = timed.time.serialSum;
  figures.microBatches = program.micro_batches();
  figures.batch = program.model().batch();
  figures.memoryBytes = sizes.l3Bytes;
  figures.simulatedInstructions = timed.time.simulatedInstructions;
  countDevices();
  for (size_t group = 0; group < static_cast<size_t>(program.groups_size()); ++group)
    addGroup(group);
  addMemory();
  addLinks();
  addPath();
  return std::move(figures);
}

} // namespace

const char *timeClassName(TimeClass timeClass) {
  constexpr std::array<const char *, kTimeClasses> names = {
      "forward",     "backward",  "update",  "once a step",
      "collectives", "transfers", "waiting", "launches"};
  return names[static_cast<size_t>(timeClass)];
}

TimeClass classOfPhase(const std::string &phase) {
  if (phase == "forward")
    return TimeClass::Forward;
  if (phase == "backward" || phase == "weight")
    return TimeClass::Backward;
  return phase == "update" ? TimeClass::Update : TimeClass::Other;
}

std::string labelOf(const proto::Executable &program, const proto::Group &group, int64_t entry) {
  const proto::ScheduleEntry &scheduled = group.schedule(static_cast<int>(entry));
  const proto::Task &task = group.tasks(static_cast<int>(scheduled.task()));
  const bool isPerMicroBatch = task.phase() == "forward" || task.phase() == "backward" ||
                               task.phase() == "weight" || task.phase() == "statistics";
  return isPerMicroBatch && program.micro_batches() > 1
             ? absl::StrCat(task.name(), ", micro-batch ", scheduled.micro_batch())
             : task.name();
}

StepFigures gatherFigures(const proto::Executable &program, const TimedStep &timed,
                          const MemoryUse &memory) {
  return Gatherer(program, timed, memory).run();
}

} // namespace st
