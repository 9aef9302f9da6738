#include "backends/dtu/simulator/time/TimeMachine.h"

#include "backends/dtu/isa/Names.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <map>
#include <utility>

namespace st::dtu {
namespace {

/// The additive fields of a rank's work.
constexpr std::array<int64_t RankTiming::*, 20> kWork = {
    &RankTiming::matrixBusy,   &RankTiming::vectorBusy,  &RankTiming::dteBusy,
    &RankTiming::txBusy,       &RankTiming::rxBusy,      &RankTiming::serialSum,
    &RankTiming::macsF32,      &RankTiming::macs16,      &RankTiming::vectorElements,
    &RankTiming::l1Bytes,      &RankTiming::l2Bytes,     &RankTiming::l3Bytes,
    &RankTiming::l2Busy,       &RankTiming::sentBytes,   &RankTiming::receivedBytes,
    &RankTiming::messages,     &RankTiming::toHostBytes, &RankTiming::fromHostBytes,
    &RankTiming::instructions, &RankTiming::l3BurstBytes};

} // namespace

TimeMachine::TimeMachine(const proto::DtuDescription &description, int64_t chips)
    : model(description), topology(description, chips) {
  DtuSizes sizes = dtuSizes(description);
  numCores = sizes.cores;
  numQueues = sizes.dteQueues;
  l3.resize(static_cast<size_t>(chips));
  hosts.resize(static_cast<size_t>(chips));
  devicesOf.resize(static_cast<size_t>(chips));
  links.resize(static_cast<size_t>(topology.numLinks()));
}

absl::StatusOr<TimeMachine> TimeMachine::create(const proto::DtuDescription &description,
                                                const std::vector<RankConfig> &ranks) {
  int64_t chips = 1;
  std::vector<DtuPlace> places;
  for (const RankConfig &rank : ranks) {
    ST_ASSIGN_OR_RETURN(DtuPlace place, dtuPlace(description, rank.deviceId));
    places.push_back(place);
    chips = std::max(chips, place.chip + 1);
  }
  TimeMachine machine(description, chips);
  ST_RETURN_IF_ERROR(machine.topology.checkDerates());
  machine.placeOf = std::move(places);
  machine.rankTimings.resize(ranks.size());
  std::map<int64_t, size_t> known;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    auto [it, isNew] = known.emplace(ranks[rank].deviceId, machine.devices.size());
    if (isNew) {
      Device &device = machine.devices.emplace_back();
      device.chip = static_cast<size_t>(machine.placeOf[rank].chip);
      device.l1.resize(static_cast<size_t>(machine.numCores));
      device.core.resize(static_cast<size_t>(machine.numCores));
      device.dte.resize(static_cast<size_t>(machine.numQueues));
      machine.devicesOf[device.chip].push_back(it->second);
    }
    machine.deviceOf.push_back(it->second);
  }
  return machine;
}

Completion TimeMachine::matmul(size_t rank, int64_t core, Picoseconds now, const MatmulInst &inst,
                               const int64_t *registers) {
  int64_t m = inst.m(registers), n = inst.n(registers), k = inst.k(registers);
  bool is16Bit = inst.type != DType::F32;
  Picoseconds time = model.matmul(m, n, k, is16Bit);
  Device &device = devices[deviceOf[rank]];
  RankTiming &timing = rankTimings[rank];
  timing.matrixBusy += time;
  (is16Bit ? timing.macs16 : timing.macsF32) += m * n * k;
  return {device.core[static_cast<size_t>(core)].reserve(now, time), time, 0};
}

Picoseconds TimeMachine::vectorTime(const VectorInst &inst, int64_t rows, int64_t cols) {
  const size_t place = reinterpret_cast<uintptr_t>(&inst) / sizeof(VectorInst);
  VectorTime &known = vectorTimes[place % vectorTimes.size()];
  if (known.inst != &inst || known.rows != rows || known.cols != cols)
    known = {&inst, rows, cols,
             model.vector(rows, cols, inst.width, isTranscendental(inst.op), inst.bankSteps)};
  return known.time;
}

Completion TimeMachine::vector(size_t rank, int64_t core, Picoseconds now, const VectorInst &inst,
                               const int64_t *registers) {
  int64_t rows = inst.rows(registers), cols = inst.cols(registers);
  const Picoseconds time = vectorTime(inst, rows, cols);
  RankTiming &timing = rankTimings[rank];
  timing.vectorBusy += time;
  timing.vectorElements += rows * cols;
  FifoServer &engine = devices[deviceOf[rank]].core[static_cast<size_t>(core)];
  return {engine.reserve(now, time), time, 0};
}

Completion TimeMachine::occupy(size_t rank, Picoseconds now, const Traffic *traffic, size_t count) {
  Device &device = devices[deviceOf[rank]];
  RankTiming &timing = rankTimings[rank];
  Completion result{now, 0, 0};
  auto add = [&](FifoServer &server, Picoseconds time) {
    result.end = std::max(result.end, server.reserve(now, time));
  };
  // Source and destination in one memory share its bandwidth, so their times add up.
  Picoseconds aloneL1 = 0, aloneL2 = 0, aloneL3 = 0;
  Picoseconds aloneHost = 0;
  for (size_t i = 0; i < count; ++i) {
    const Traffic &side = traffic[i];
    switch (side.space) {
    case Space::L1:
      for (int64_t c = side.core; c < side.core + side.cores; ++c)
        add(device.l1[static_cast<size_t>(c)], model.l1Bytes(side.bytes));
      aloneL1 += model.l1Bytes(side.bytes);
      timing.l1Bytes += side.bytes * side.cores;
      break;
    case Space::L2:
      add(device.l2, model.l2Bytes(side.bytes));
      timing.l2Busy += model.l2Bytes(side.bytes);
      aloneL2 += model.l2Bytes(side.bytes);
      timing.l2Bytes += side.bytes;
      break;
    case Space::L3:
      add(l3[device.chip], model.l3Bytes(side.burstBytes));
      aloneL3 += model.l3Bytes(side.burstBytes);
      timing.l3Bytes += side.bytes;
      timing.l3BurstBytes += side.burstBytes;
      break;
    case Space::Host: {
      HostLink &host = hosts[device.chip];
      add(side.isWrite ? host.to : host.from, model.hostBytes(side.bytes));
      aloneHost = model.hostBytes(side.bytes);
      (side.isWrite ? timing.toHostBytes : timing.fromHostBytes) += side.bytes;
      break;
    }
    }
  }
  result.alone = std::max({aloneL1, aloneL2, aloneL3, aloneHost});
  return result;
}

Completion TimeMachine::transfer(size_t rank, int64_t queue, Picoseconds now,
                                 const Traffic *traffic, size_t count) {
  FifoServer &engine = devices[deviceOf[rank]].dte[static_cast<size_t>(queue)];
  // Another rank on the same device may occupy the engine.
  now = std::max(now, engine.freeAt);
  int64_t bytes = 0;
  for (size_t i = 0; i < count; ++i)
    bytes = std::max(bytes, traffic[i].bytes);
  if (bytes == 0)
    return {now, 0, 0};
  Completion result = occupy(rank, now, traffic, count);
  const Picoseconds moving = model.dteBytes(bytes);
  Picoseconds latency = model.dteLatency;
  if (std::any_of(traffic, traffic + count,
                  [](const Traffic &side) { return side.space == Space::Host; }))
    latency += model.hostLatency;
  result.end = std::max(result.end, now + moving) + latency;
  result.alone = std::max(result.alone, moving) + latency;
  engine.reserve(now, result.end - now);
  rankTimings[rank].dteBusy += result.end - now;
  return result;
}

void TimeMachine::use(size_t link) {
  if (!std::exchange(links[link].isUsed, true))
    usedLinks.insert(std::lower_bound(usedLinks.begin(), usedLinks.end(), link), link);
}

Picoseconds TimeMachine::occupyLinks(const LinkPath &path, Picoseconds now, int64_t bytes) {
  Picoseconds start = now;
  for (int32_t i = 0; i < path.count; ++i)
    start = std::max(start, links[static_cast<size_t>(path.links[i])].freeAt);
  for (int32_t i = 0; i < path.count; ++i) {
    use(static_cast<size_t>(path.links[i]));
    Link &link = links[static_cast<size_t>(path.links[i])];
    const Picoseconds duration = DtuCosts::scale(bytes, topology.linkPerByte(path.links[i]));
    link.reserve(start, duration);
    link.busy += duration;
    link.bytes += bytes;
  }
  return start + DtuCosts::scale(bytes, path.perByte);
}

Completion TimeMachine::send(size_t rank, Picoseconds now, const LinkPath &path,
                             const Traffic &source) {
  Picoseconds left = occupyLinks(path, now, source.bytes);
  Completion result = occupy(rank, now, &source, 1);
  result.end = std::max(result.end, left);
  result.arrival = result.end + path.latency;
  result.alone = std::max(result.alone, DtuCosts::scale(source.bytes, path.perByte)) + path.latency;
  RankTiming &timing = rankTimings[rank];
  timing.txBusy += result.end - now;
  timing.sentBytes += source.bytes;
  ++timing.messages;
  return result;
}

Completion TimeMachine::receive(size_t rank, Picoseconds now, int64_t message,
                                const Traffic &destination) {
  Completion result = occupy(rank, now, &destination, 1);
  Picoseconds moving = model.dteBytes(message);
  result.end = std::max(result.end, now + moving) + model.sync;
  result.alone = std::max(result.alone, moving) + model.sync;
  rankTimings[rank].rxBusy += result.end - now;
  rankTimings[rank].receivedBytes += message;
  return result;
}

void TimeMachine::countMessage(const LinkPath &path, int64_t bytes, int64_t times) {
  for (int32_t i = 0; i < path.count; ++i) {
    Link &link = links[static_cast<size_t>(path.links[i])];
    link.busy += times * DtuCosts::scale(bytes, topology.linkPerByte(path.links[i]));
    link.bytes += times * bytes;
  }
}

void TimeMachine::count(size_t rank, const RankTiming &work) {
  for (int64_t RankTiming::*sum : kWork)
    rankTimings[rank].*sum += work.*sum;
}

TimeMachine::Work TimeMachine::workOf(size_t rank) const {
  static_assert(std::tuple_size_v<Work> == kWork.size());
  Work work;
  for (size_t i = 0; i < kWork.size(); ++i)
    work[i] = rankTimings[rank].*kWork[i];
  return work;
}

void TimeMachine::addWork(size_t rank, const Work &work, int64_t times) {
  for (size_t i = 0; i < kWork.size(); ++i)
    rankTimings[rank].*kWork[i] += times * work[i];
}

std::vector<TimeMachine::LinkWork> TimeMachine::linkWork() const {
  std::vector<LinkWork> result;
  for (size_t link : usedLinks)
    result.push_back({link, links[link].busy, links[link].bytes});
  return result;
}

void TimeMachine::addLinkWork(const std::vector<LinkWork> &work, int64_t times) {
  for (const LinkWork &done : work) {
    use(done.link);
    links[done.link].busy += times * done.busy;
    links[done.link].bytes += times * done.bytes;
  }
}

void TimeMachine::copyChip(size_t from, size_t to) {
  std::vector<FifoServer> servers;
  eachServer(from, [&](const FifoServer &server) { servers.push_back(server); });
  size_t at = 0;
  eachServer(to, [&](FifoServer &server) { server = servers[at++]; });
}

void TimeMachine::copyLink(int32_t from, int32_t to) {
  const Link &link = links[static_cast<size_t>(from)];
  if (!link.isUsed)
    return;
  use(static_cast<size_t>(to));
  links[static_cast<size_t>(to)] = link;
}

void TimeMachine::endTask(size_t rank) {
  RankTiming &timing = rankTimings[rank];
  const TaskWork done = {timing.macsF32 + timing.macs16,
                         timing.l1Bytes,
                         timing.l2Bytes,
                         timing.l3Bytes,
                         timing.toHostBytes,
                         timing.fromHostBytes,
                         timing.sentBytes,
                         timing.receivedBytes,
                         timing.messages,
                         timing.instructions};
  counted.resize(rankTimings.size());
  TaskWork task = done;
  for (int64_t TaskWork::*sum : kTaskWork)
    task.*sum -= counted[rank].*sum;
  timing.tasks.push_back(task);
  counted[rank] = done;
}

std::vector<TimeMachine::HostBytes> TimeMachine::countHostBytes() const {
  std::vector<HostBytes> chips(hosts.size());
  for (size_t rank = 0; rank < rankTimings.size(); ++rank) {
    HostBytes &chip = chips[chipOf(rank)];
    chip.to += rankTimings[rank].toHostBytes;
    chip.from += rankTimings[rank].fromHostBytes;
  }
  return chips;
}

Picoseconds TimeMachine::rooflineBound() const {
  double perCycle32 = static_cast<double>(model.arrayRows * model.arrayCols * numCores);
  double perCycle16 = perCycle32 * static_cast<double>(model.stepsPerCycle16);
  std::vector<double> cycles(devices.size());
  std::vector<int64_t> l2Busy(devices.size()), l3Bytes(l3.size());
  const std::vector<HostBytes> hostBytes = countHostBytes();
  for (size_t rank = 0; rank < rankTimings.size(); ++rank) {
    const RankTiming &timing = rankTimings[rank];
    cycles[deviceOf[rank]] += static_cast<double>(timing.macsF32) / perCycle32 +
                              static_cast<double>(timing.macs16) / perCycle16;
    l2Busy[deviceOf[rank]] += timing.l2Busy;
    l3Bytes[chipOf(rank)] += timing.l3BurstBytes;
  }
  double bound = 0;
  for (size_t device = 0; device < devices.size(); ++device)
    bound = std::max({bound, cycles[device] * model.cycle, static_cast<double>(l2Busy[device])});
  for (int64_t bytes : l3Bytes)
    bound = std::max(bound, static_cast<double>(model.l3Bytes(bytes)));
  for (const HostBytes &chip : hostBytes)
    bound = std::max(bound, static_cast<double>(model.hostBytes(std::max(chip.to, chip.from))));
  for (size_t i = 0; i < links.size(); ++i)
    bound = std::max(bound, static_cast<double>(links[i].bytes) *
                                topology.linkPerByte(static_cast<int32_t>(i)));
  return static_cast<Picoseconds>(bound);
}

TimingResult TimeMachine::summarize(int64_t instructions, int64_t simulatedInstructions) const {
  TimingResult result;
  result.instructions = instructions;
  result.simulatedInstructions = simulatedInstructions;
  result.rooflineBound = rooflineBound();
  result.links = linkTimings();
  result.ranks = rankTimings;
  for (const RankTiming &timing : result.ranks) {
    result.total = std::max(result.total, timing.finish);
    result.serialSum += timing.serialSum;
    result.tasks += static_cast<int64_t>(timing.taskEnd.size());
  }
  result.simulatedTasks = result.tasks;
  return result;
}

std::vector<LinkTiming> TimeMachine::linkTimings() const {
  std::vector<LinkTiming> result;
  for (size_t i = 0; i < links.size(); ++i)
    if (links[i].bytes)
      result.push_back({topology.linkName(static_cast<int32_t>(i)), links[i].bytes, links[i].busy});
  const std::vector<HostBytes> hostBytes = countHostBytes();
  for (size_t chip = 0; chip < hostBytes.size(); ++chip) {
    if (const int64_t bytes = hostBytes[chip].to)
      result.push_back({absl::StrCat("chip ", chip, " -> host"), bytes, model.hostBytes(bytes)});
    if (const int64_t bytes = hostBytes[chip].from)
      result.push_back({absl::StrCat("host -> chip ", chip), bytes, model.hostBytes(bytes)});
  }
  return result;
}

} // namespace st::dtu
