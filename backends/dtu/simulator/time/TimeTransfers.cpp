// Instructions of the time engine that access memories and links, with the bytes that they move.
#include "backends/dtu/simulator/time/TimeEngine.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace st::dtu {
namespace {

int64_t clampedProduct(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_mul_overflow(a, b, &result) ? int64_t(1) << 50
                                               : std::min(result, int64_t(1) << 50);
}

/// Elements of a view. For a source, only distinct elements count, because a stride of 0 reads the
/// same element again.
int64_t elements(const FlatDims &dims, const std::vector<int64_t> &strides,
                 const int64_t *registers, bool isSource) {
  int64_t distinct = 1;
  for (size_t i = 0; i < dims.sizes.size(); ++i) {
    int64_t size = dims.sizes[i](registers);
    if (size <= 0)
      return 0;
    if (!isSource || strides[i] != 0)
      distinct = clampedProduct(distinct, size);
  }
  return distinct;
}

/// Bytes of the L3 bursts that a view occupies.
int64_t burstBytes(const DtuCosts &costs, const FlatDims &dims, const std::vector<int64_t> &strides,
                   const StrideOrder &order, unsigned width, const int64_t *registers) {
  AccessDim access[kMaxCopyDims];
  for (size_t i = 0; i < order.size(); ++i)
    access[i] = {dims.sizes[order[i]](registers), strides[order[i]]};
  return costs.burstBytes(width, absl::MakeConstSpan(access, order.size()));
}

/// The same for `count` rows that are contiguous or `stride` apart.
int64_t burstBytes(const DtuCosts &costs, int64_t count, int64_t stride, int64_t rowBytes) {
  const AccessDim rows = {count, stride};
  return costs.burstBytes(rowBytes, absl::MakeConstSpan(&rows, 1));
}

} // namespace

bool TimeEngine::place(const Instance &instance, const FlatAddress &address, int64_t cores,
                       Traffic &traffic) {
  traffic.space = address.space;
  traffic.cores = cores;
  if (address.space != Space::L1)
    return true;
  traffic.core = address.core(instance.position.registers);
  if (traffic.core >= 0 && traffic.core <= machine.cores() - cores)
    return true;
  fault = absl::StrCat(
      "L1 address names cores ", traffic.core, " to ",
      static_cast<int64_t>(static_cast<uint64_t>(traffic.core) + static_cast<uint64_t>(cores) - 1),
      " of ", machine.cores());
  return false;
}

Completion TimeEngine::copy(size_t rank, const Instance &instance, Slot slot, Picoseconds now) {
  const DecodedProgram &program = *ranks[rank].program;
  const int64_t *registers = instance.position.registers;
  Traffic traffic[2];
  if (slot.opcode == Opcode::Fill) {
    const FillInst &fill = program.fills[slot.index];
    if (!place(instance, fill.dst, fill.multicast, traffic[0]))
      return {};
    traffic[0].bytes =
        clampedProduct(elements(fill.dims, fill.strides, registers, false), byteWidth(fill.type));
    if (fill.dst.space == Space::L3)
      traffic[0].burstBytes = burstBytes(machine.costs(), fill.dims, fill.strides, fill.order,
                                         byteWidth(fill.type), registers);
    return machine.transfer(rank, instance.number, now, traffic, 1);
  }
  const CopyInst &copy = program.copies[slot.index];
  if (!place(instance, copy.dst, copy.multicast, traffic[0]) ||
      !place(instance, copy.src, 1, traffic[1]))
    return {};
  traffic[0].isWrite = true;
  traffic[0].bytes = clampedProduct(elements(copy.dims, copy.dstStrides, registers, false),
                                    byteWidth(copy.dstType));
  traffic[1].bytes = clampedProduct(elements(copy.dims, copy.srcStrides, registers, true),
                                    byteWidth(copy.srcType));
  if (copy.dst.space == Space::L3)
    traffic[0].burstBytes = burstBytes(machine.costs(), copy.dims, copy.dstStrides, copy.dstOrder,
                                       byteWidth(copy.dstType), registers);
  if (copy.src.space == Space::L3)
    traffic[1].burstBytes = burstBytes(machine.costs(), copy.dims, copy.srcStrides, copy.srcOrder,
                                       byteWidth(copy.srcType), registers);
  return machine.transfer(rank, instance.number, now, traffic, 2);
}

Completion TimeEngine::rows(size_t rank, const Instance &instance, Slot slot, Picoseconds now) {
  const RowsInst &inst = ranks[rank].program->rows[slot.index];
  const int64_t *registers = instance.position.registers;
  Traffic traffic[3];
  if (!place(instance, inst.table, 1, traffic[0]) || !place(instance, inst.other, 1, traffic[1]) ||
      !place(instance, inst.index, 1, traffic[2]))
    return {};
  int64_t count = inst.count(registers);
  const int64_t rowBytes = clampedProduct(inst.rowElements(registers), byteWidth(inst.type));
  int64_t bytes = clampedProduct(count, rowBytes);
  traffic[slot.opcode == Opcode::Scatter ? 0 : 1].isWrite = true;
  // Combining reads a row and writes it back.
  traffic[0].bytes = inst.combine != Reduce::None ? 2 * bytes : bytes;
  traffic[1].bytes = bytes;
  traffic[2].bytes = bytes ? clampedProduct(count, byteWidth(inst.indexType)) : 0;
  if (bytes) {
    // Table rows may be anywhere, so no two of them share a burst.
    const int64_t picked = clampedProduct(count, burstBytes(machine.costs(), 1, 0, rowBytes));
    traffic[0].burstBytes = inst.combine != Reduce::None ? 2 * picked : picked;
    traffic[1].burstBytes = burstBytes(machine.costs(), count, inst.otherStride, rowBytes);
    traffic[2].burstBytes = burstBytes(machine.costs(), 1, 0, traffic[2].bytes);
  }
  return machine.transfer(rank, instance.number, now, traffic, 3);
}

/// The time engine has no data, so it uses the value that the instance loaded when the program ran
/// on data.
void TimeEngine::load(size_t rank, uint32_t index, Slot slot, Picoseconds now) {
  Rank &state = ranks[rank];
  Instance &instance = state.instances[index];
  const LoadInst &inst = state.program->loads[slot.index];
  const std::vector<int64_t> *values = nullptr;
  if (rank < loaded.size()) {
    auto found = loaded[rank]->find({state.task, index});
    values = found == loaded[rank]->end() ? nullptr : &found->second;
  }
  if (!values || instance.loads >= values->size()) {
    fault = "loads a value that is known only once the program has run on data";
    return;
  }
  instance.position.registers[inst.dst] = (*values)[instance.loads++];
  Completion completion{now + machine.costs().sync, machine.costs().sync, 0};
  if (instance.stream->engine == Engine::Dte) {
    Traffic traffic;
    traffic.bytes = inst.address.alignment;
    traffic.burstBytes = burstBytes(machine.costs(), 1, 0, traffic.bytes);
    if (!place(instance, inst.address, 1, traffic))
      return;
    completion = machine.transfer(rank, instance.number, now, &traffic, 1);
  }
  ++instance.position.pc;
  finish(rank, index, now, completion);
}

void TimeEngine::work(size_t rank, uint32_t index, Slot slot, Picoseconds now) {
  Rank &state = ranks[rank];
  Instance &instance = state.instances[index];
  const int64_t *registers = instance.position.registers;
  Completion completion;
  switch (slot.opcode) {
  case Opcode::Matmul:
    completion =
        machine.matmul(rank, instance.number, now, state.program->matmuls[slot.index], registers);
    break;
  case Opcode::Vector:
    completion =
        machine.vector(rank, instance.number, now, state.program->vectors[slot.index], registers);
    break;
  case Opcode::Gather:
  case Opcode::Scatter:
    completion = rows(rank, instance, slot, now);
    break;
  default:
    completion = copy(rank, instance, slot, now);
    break;
  }
  if (!fault.empty())
    return;
  ++machine.timings()[rank].instructions;
  ++instance.position.pc;
  finish(rank, index, now, completion);
}

bool TimeEngine::linkTraffic(const Instance &instance, const LinkInst &link, Traffic &traffic) {
  traffic.bytes = clampedProduct(
      elements(link.dims, link.strides, instance.position.registers, false), byteWidth(link.type));
  if (link.address.space == Space::L3)
    traffic.burstBytes = burstBytes(machine.costs(), link.dims, link.strides, link.order,
                                    byteWidth(link.type), instance.position.registers);
  return place(instance, link.address, 1, traffic);
}

bool TimeEngine::checkPeer(int64_t peer) {
  if (peer >= 0 && peer < static_cast<int64_t>(ranks.size()))
    return true;
  fault = absl::StrCat("rank ", peer, " of ", ranks.size());
  return false;
}

void TimeEngine::send(size_t rank, uint32_t index, Slot slot, Picoseconds now) {
  Instance &instance = ranks[rank].instances[index];
  const LinkInst &inst = ranks[rank].program->links[slot.index];
  int64_t peer = instance.position.registers[inst.peer];
  Traffic traffic;
  if (!checkPeer(peer) || !linkTraffic(instance, inst, traffic))
    return;
  size_t source = rank, destination = static_cast<size_t>(peer);
  LinkPath path = machine.path(source, destination);
  if (isFolded() && !isOutside(rank, peer)) {
    const size_t segments = boundary->rotation->segmentOf(destination);
    path = rotatedPath(rank, destination, segments, now);
    source = boundary->rotation->before(source, segments);
    destination = boundary->rotation->before(destination, segments);
  }
  Completion completion = machine.send(rank, now, path, traffic);
  if (isOutside(rank, peer)) {
    boundary->messages.push_back({/*isSend=*/true, rank, now, completion.arrival});
    if (periodic)
      periodic->disturbAll();
  } else {
    flights.push_back(
        {destination, {static_cast<int64_t>(source), inst.channel}, traffic.bytes, rank, now});
    post(completion.arrival, Priority::Arrival, destination, flights.size() - 1);
  }
  ++machine.timings()[rank].instructions;
  if (logger) {
    logger->send(rank, destination, now, completion.end);
    logSend(rank, instance, path, traffic.bytes);
  }
  ++instance.position.pc;
  finish(rank, index, now, completion);
}

void TimeEngine::logSend(size_t rank, const Instance &instance, const LinkPath &path,
                         int64_t bytes) {
  const int32_t label = instance.stream->labels[instance.position.pc];
  const ProgramId program = schedules[rank][ranks[rank].task].program;
  // A label begins with the operation.
  std::string what;
  if (label >= 0) {
    const std::string &text = ranks[rank].program->labels[static_cast<size_t>(label)];
    what = text.substr(0, text.find(' '));
  }
  for (int32_t i = 0; i < path.count; ++i)
    logger->addTraffic(path.links[static_cast<size_t>(i)], rank, program, what, bytes);
}

bool TimeEngine::receive(size_t rank, uint32_t index, Slot slot, Picoseconds now) {
  Rank &state = ranks[rank];
  Instance &instance = state.instances[index];
  const LinkInst &inst = state.program->links[slot.index];
  int64_t peer = instance.position.registers[inst.peer];
  Traffic traffic;
  if (!checkPeer(peer) || !linkTraffic(instance, inst, traffic))
    return false;
  Channel channel(peer, inst.channel);
  std::deque<int64_t> &messages = state.arrived[channel];
  if (isOutside(rank, peer)) {
    if (now < boundary->arrival) {
      post(boundary->arrival, Priority::Continue, rank, index);
      return false;
    }
    if (periodic)
      periodic->disturbAll();
    boundary->messages.push_back({/*isSend=*/false, rank, now, now});
    messages.push_back(traffic.bytes);
    state.landing += traffic.bytes;
  }
  if (messages.empty()) {
    setState(rank, instance, State::Message, now);
    if (logger)
      logger->waitForMessage(rank, static_cast<size_t>(peer), now);
    instance.waitFor = peer;
    instance.waitCount = inst.channel;
    state.receivers[channel].push_back(index);
    return false;
  }
  int64_t bytes = messages.front();
  messages.pop_front();
  state.landing -= bytes;
  if (bytes != traffic.bytes) {
    fault = absl::StrCat("message of ", bytes, " bytes from rank ", peer,
                         ", but the receive expects ", traffic.bytes);
    return false;
  }
  // Combining reads the destination before it writes.
  if (inst.reduce != Reduce::None) {
    traffic.bytes *= 2;
    traffic.burstBytes *= 2;
  }
  ++machine.timings()[rank].instructions;
  ++instance.position.pc;
  const Completion completion = machine.receive(rank, now, bytes, traffic);
  if (logger)
    logger->receive(rank, static_cast<size_t>(peer), now, completion.end);
  finish(rank, index, now, completion);
  return false;
}

} // namespace st::dtu
