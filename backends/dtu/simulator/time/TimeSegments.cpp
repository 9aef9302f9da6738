// Runs one segment of a ring of ranks, which represents the others until their states begin to
// differ.
#include "backends/dtu/simulator/time/TimeEngine.h"

namespace st::dtu {

/// The links of a message to a rank of another segment; at the receiving end, those of the rank
/// that represents it. Segments share no group of chips, or are chips, so the two ends share no
/// link.
LinkPath TimeEngine::rotatedPath(size_t rank, size_t peer, size_t segments, Picoseconds now) {
  Rotation &rotation = *boundary->rotation;
  LinkPath path = machine.path(rank, peer);
  if (segments > 0) {
    const LinkPath mirrored =
        machine.path(rotation.before(rank, segments), rotation.before(peer, segments));
    for (int32_t i = path.count / 2; i < path.count; ++i)
      path.links[static_cast<size_t>(i)] = mirrored.links[static_cast<size_t>(i)];
  }
  for (int32_t i = 0; i < path.count; ++i) {
    const std::pair<Picoseconds, size_t> own = {now, i < path.count / 2 ? 0 : segments};
    auto [at, isNew] = asked.try_emplace(path.links[static_cast<size_t>(i)], own);
    rotation.isAmbiguous |= !isNew && at->second.first == now && at->second.second != own.second;
    at->second = own;
  }
  return path;
}

bool TimeEngine::maySendOutside(size_t rank, uint32_t index) {
  const Instance &instance = ranks[rank].instances[index];
  if (instance.stream->engine != Engine::Tx)
    return false;
  const DecodedProgram &program = *ranks[rank].program;
  StreamPosition position = instance.position;
  std::string ignored; // The instance reports the fault when it runs.
  while (position.pc < instance.stream->slots.size()) {
    const Slot slot = instance.stream->slots[position.pc];
    if (slot.opcode == Opcode::Send)
      return isOutside(rank, position.registers[program.links[slot.index].peer]);
    if (slot.opcode == Opcode::Wait)
      ++position.pc;
    else if (!isControl(slot.opcode) ||
             !runControl(program, slot, configs[rank].table, position, ignored))
      return false;
  }
  return false;
}

/// Until now, each segment ran like the first one, with the corresponding ranks and chips.
void TimeEngine::unfold(const Event &next) {
  Rotation &rotation = *boundary->rotation;
  std::vector<Event> added;
  auto repeat = [&](const Event &event) {
    for (size_t segments = 1; segments < rotation.segments(); ++segments) {
      uint64_t index = event.index();
      if (event.priority() == Priority::Arrival) {
        Flight flight = flights[index];
        flight.destination = rotation.after(flight.destination, segments);
        flight.channel.first = static_cast<int64_t>(
            rotation.after(static_cast<size_t>(flight.channel.first), segments));
        index = flights.size();
        flights.push_back(flight);
      }
      added.emplace_back(event.time, event.priority(), rotation.after(event.rank(), segments),
                         index);
    }
  };
  for (const Event &event : queue.all())
    repeat(event);
  repeat(next);
  queue.replace([](const Event &) { return true; }, added);
  for (size_t segments = 1; segments < rotation.segments(); ++segments)
    for (size_t i = 0; i < rotation.segmentSize; ++i)
      unfoldRank(rotation.ring[i], segments);
  unfoldLinks();
  std::vector<Boundary::Message> messages;
  for (Boundary::Message message : boundary->messages) {
    const size_t rank = message.rank;
    for (size_t segments = 0; segments < rotation.segments(); ++segments) {
      message.rank = rotation.after(rank, segments);
      messages.push_back(message);
    }
  }
  boundary->messages = std::move(messages);
  rotation.isUnfolded = true;
  if (periodic)
    periodic->endTogether();
}

void TimeEngine::unfoldRank(size_t rank, size_t segments) {
  const Rotation &rotation = *boundary->rotation;
  const size_t other = rotation.after(rank, segments);
  auto moved = [&](int64_t peer) {
    const auto at = static_cast<size_t>(peer);
    return boundary->isInside[at] ? static_cast<int64_t>(rotation.after(at, segments)) : peer;
  };
  Rank &state = ranks[other];
  state = ranks[rank];
  state.added = state.instructions;
  auto move = [&](auto &channels) {
    auto old = std::exchange(channels, {});
    for (auto &[channel, values] : old)
      channels.emplace(Channel(moved(channel.first), channel.second), std::move(values));
  };
  move(state.arrived);
  move(state.receivers);
  for (Instance &instance : state.instances) {
    if (instance.state == State::Message)
      instance.waitFor = moved(instance.waitFor);
    instance.position.registers[kRank] = configs[other].rankInGroup;
    // In a core or dte stream no value that affects a decision depends on the rank.
    if (!isWorker(instance) && instance.state != State::Done)
      findPosition(other, instance);
  }
  machine.copyRank(rank, other);
}

/// Sets the registers of a link stream, which depend on the rank, by running its control flow from
/// the beginning to the instance's place: the slot and the counters of the loops around it.
void TimeEngine::findPosition(size_t rank, Instance &instance) {
  const DecodedProgram &program = *ranks[rank].program;
  const std::vector<Slot> &slots = instance.stream->slots;
  const StreamPosition place = instance.position;
  std::vector<uint8_t> counters;
  for (const Slot slot : slots)
    if (slot.opcode == Opcode::Loop)
      if (const LoopInst &loop = program.loops[slot.index];
          loop.begin < place.pc && place.pc <= loop.end)
        counters.push_back(loop.reg);
  StreamPosition &position = instance.position;
  position = beginStream(instance.number - instance.stream->first,
                         schedules[rank][ranks[rank].task].microBatch, configs[rank].rankInGroup);
  auto isThere = [&] {
    return position.pc == place.pc &&
           std::all_of(counters.begin(), counters.end(), [&](uint8_t reg) {
             return position.registers[reg] == place.registers[reg];
           });
  };
  while (!isThere()) {
    if (position.pc == slots.size()) {
      fault = "a position that other ranks of its ring do not reach";
      return;
    }
    const Slot slot = slots[position.pc];
    if (!isControl(slot.opcode))
      ++position.pc;
    else if (!runControl(program, slot, configs[rank].table, position, fault))
      return;
  }
}

/// A message to another segment occupied the link between the chips of the corresponding sender and
/// of the rank that represents the receiver (rotatedPath).
void TimeEngine::unfoldLinks() {
  const Rotation &rotation = *boundary->rotation;
  const std::vector<size_t> &ring = rotation.ring;
  for (size_t segments = 1; segments < rotation.segments(); ++segments) {
    for (size_t i = 0; i < rotation.segmentSize; ++i) {
      const LinkPath from = machine.path(ring[i], ring[i]);
      const size_t other = rotation.after(ring[i], segments);
      const LinkPath to = machine.path(other, other);
      for (int32_t port = 0; port < from.count; ++port)
        machine.copyLink(from.links[static_cast<size_t>(port)],
                         to.links[static_cast<size_t>(port)]);
    }
    machine.copyChip(machine.chipOf(ring[0]), machine.chipOf(rotation.after(ring[0], segments)));
    for (size_t distance = 1; distance < rotation.segments(); ++distance) {
      const size_t sender = rotation.before(ring[0], distance);
      machine.copyLink(
          machine.path(sender, ring[0]).links[1],
          machine.path(rotation.after(sender, segments), rotation.after(ring[0], segments))
              .links[1]);
    }
  }
}

} // namespace st::dtu
