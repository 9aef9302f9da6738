#include "backends/dtu/simulator/ClusterRun.h"

#include "backends/dtu/isa/Names.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace st::dtu {

ClusterRun::ClusterRun(DataEngine &engine, int64_t rank, const RankMemory &arenas)
    : engine(engine), rank(rank) {
  context.memory.l3 = arenas.l3;
  context.memory.host = arenas.host;
  context.memory.cores = engine.machine.cores;
  context.memory.coreStride = engine.machine.coreStride();
  context.kernels = engine.machine.kernels;
  context.matmul = engine.machine.matmul;
  context.work = &work;
  randomState = engine.machine.shuffleSeed + static_cast<uint64_t>(rank);
}

void ClusterRun::start(const RankSchedule *newSchedule) {
  schedule = newSchedule;
  task = 0;
  hasUpdated = false;
  program = nullptr;
  status = absl::OkStatus();
  loaded.clear();
  executed = {};
  seconds = 0;
  context.fault.clear();
  context.deferred.reset(engine.machine.cores);
  context.packed.reset();
  if (scratch.data)
    engine.releaseScratch(std::move(scratch));
}

bool ClusterRun::beginTask() {
  const TaskRun &entry = (*schedule)[task];
  if (entry.isUpdate && !hasUpdated && engine.beforeUpdate)
    engine.beforeUpdate(rank);
  hasUpdated |= entry.isUpdate;
  program = (*engine.machine.programs)[entry.program].get();
  scratch = engine.takeScratch();
  if (!scratch.data) {
    status = absl::ResourceExhaustedError("the host has no memory left for a cluster's L1 and L2");
    return false;
  }
  ClusterMemory &memory = context.memory;
  memory.l1 = scratch.data;
  memory.l2 = scratch.data + memory.coreStride * memory.cores;
  memory.l1Bytes = program->source.l1Bytes;
  memory.l2Bytes = program->source.l2Bytes;
  memory.l3Bytes = program->source.l3Bytes;
  memory.hostBytes = program->source.hostBytes;
  if (engine.machine.poisonScratch)
    std::memset(scratch.data, 0xff, static_cast<size_t>(scratch.bytes));

  semaphores.assign(static_cast<size_t>(program->source.semaphores), {});
  barriers.assign(static_cast<size_t>(program->source.barriers), {});
  instances.clear();
  ready.clear();
  const RankConfig &config = (*engine.machine.ranks)[rank];
  for (size_t s = 0; s < program->streams.size(); ++s) {
    const DecodedStream &stream = program->streams[s];
    for (int64_t i = 0; i < stream.count; ++i) {
      ready.push_back(static_cast<uint32_t>(instances.size()));
      Instance &instance = instances.emplace_back();
      instance.stream = &stream;
      instance.streamIndex = static_cast<uint32_t>(s);
      instance.state = State::Ready;
      instance.number = stream.first + i;
      instance.position = beginStream(i, entry.microBatch, config.rankInGroup);
    }
  }
  alive = instances.size();
  return true;
}

void ClusterRun::endTask() {
  finishStreams();
  // No task reads L1 contents of an earlier task.
  context.deferred.reset(engine.machine.cores);
  context.packed.reset();
  engine.releaseScratch(std::move(scratch));
  scratch = LazyMemory();
  program = nullptr;
  executed.tasks.push_back(work);
  work = {};
  ++task;
}

ClusterRun::Outcome ClusterRun::run() {
  while (true) {
    if (!program) {
      if (task >= schedule->size())
        return Outcome::Finished;
      if (!beginTask())
        return Outcome::Stuck;
    }
    while (!ready.empty()) {
      int64_t budget = std::numeric_limits<int64_t>::max();
      uint32_t index = pickInstance(budget);
      if (!runInstance(index, budget))
        return Outcome::Stuck;
    }
    if (alive == 0) {
      endTask();
      continue;
    }
    // Another thread may continue a parked rank.
    finishStreams();
    if (!claimArrived())
      return Outcome::Parked;
  }
}

/// Makes instances ready whose messages have arrived; parks the rank if there are none.
bool ClusterRun::claimArrived() {
  Inbox &inbox = *engine.inboxes[rank];
  std::lock_guard<std::mutex> lock(inbox.mutex);
  inbox.awaited.clear();
  for (uint32_t i = 0; i < instances.size(); ++i) {
    Instance &instance = instances[i];
    if (instance.state != State::Message)
      continue;
    ChannelKey key(instance.waitFor, instance.waitCount);
    auto it = inbox.channels.find(key);
    if (it != inbox.channels.end() && !it->second.empty()) {
      instance.state = State::Ready;
      ready.push_back(i);
    } else {
      inbox.awaited.push_back(key);
    }
  }
  // A rank that waits for no message can never continue, so no other rank needs to wake it.
  inbox.parked = ready.empty();
  if (inbox.parked)
    engine.await(inbox.awaited, 1);
  return !ready.empty();
}

uint32_t ClusterRun::pickInstance(int64_t &budget) {
  if (engine.machine.shuffleSeed) {
    // SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
    uint64_t z = randomState += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    budget = 1 + static_cast<int64_t>(z >> 32 & 3);
    std::swap(ready.front(), ready[static_cast<size_t>(z & 0xffffffff) % ready.size()]);
  }
  uint32_t index = ready.front();
  ready.pop_front();
  return index;
}

bool ClusterRun::runInstance(uint32_t index, int64_t budget) {
  Instance &instance = instances[index];
  const DecodedStream &stream = *instance.stream;
  const std::vector<int64_t> &table = (*engine.machine.ranks)[rank].table;
  StreamPosition &position = instance.position;
  context.registers = position.registers;
  context.ownCore = stream.engine == Engine::Core ? instance.number : -1;
  const size_t size = stream.slots.size();
  for (; position.pc < size; --budget) {
    if (budget <= 0) {
      ready.push_back(index);
      return true;
    }
    Slot slot = stream.slots[position.pc];
    Step step = Step::Next;
    if (const unsigned run = stream.runs[position.pc]; run && run <= budget) {
      unsigned at = 0;
      if (executeRun(*program, &stream.slots[position.pc], run, context, at)) {
        work.instructions += run;
        budget -= run - 1;
        position.pc += run;
      } else {
        position.pc += at;
        step = Step::Fault;
      }
    } else if (slot.opcode >= Opcode::Copy && slot.opcode <= Opcode::Vector) {
      if (tile(slot)) {
        ++position.pc;
        ++work.instructions;
      } else {
        step = Step::Fault;
      }
    } else {
      if (slot.opcode == Opcode::Load)
        step = load(instance, index, slot);
      else if (!isControl(slot.opcode))
        step = synchronise(instance, index, slot);
      else if (!runControl(*program, slot, table, position, context.fault))
        step = Step::Fault;
    }
    if (step == Step::Fault) {
      setFault(instance);
      return false;
    }
    if (step == Step::Blocked)
      return true;
  }
  instance.state = State::Done;
  --alive;
  return true;
}

bool ClusterRun::tile(Slot slot) {
  switch (slot.opcode) {
  case Opcode::Copy:
    return execute(program->copies[slot.index], context);
  case Opcode::Fill:
    return execute(program->fills[slot.index], context);
  case Opcode::Gather:
    return executeGather(program->rows[slot.index], context);
  case Opcode::Scatter:
    return executeScatter(program->rows[slot.index], context);
  case Opcode::Matmul:
    return execute(program->matmuls[slot.index], context);
  default:
    return execute(program->vectors[slot.index], context);
  }
}

/// The time engine has no memory, so loaded values are recorded for it.
ClusterRun::Step ClusterRun::load(Instance &instance, uint32_t index, Slot slot) {
  const LoadInst &inst = program->loads[slot.index];
  int64_t value = 0;
  if (!executeLoad(inst, context, value))
    return Step::Fault;
  instance.position.registers[inst.dst] = value;
  loaded[{task, index}].push_back(value);
  ++instance.position.pc;
  return Step::Next;
}

/// Executes synchronisation and link instructions. Advances past the slot unless the instruction
/// blocks.
ClusterRun::Step ClusterRun::synchronise(Instance &instance, uint32_t index, Slot slot) {
  Step step = Step::Next;
  switch (slot.opcode) {
  case Opcode::Wait:
    step = wait(instance, index, slot);
    break;
  case Opcode::Signal:
    step = signal(instance, slot);
    break;
  case Opcode::Barrier:
    // A blocked instance resumes after the barrier once all others have reached it.
    step = barrier(instance, index, program->barriers[slot.index]);
    if (step == Step::Blocked)
      ++instance.position.pc;
    break;
  case Opcode::Send:
    step = send(instance, program->links[slot.index]);
    break;
  default:
    step = receive(instance, program->links[slot.index]);
    break;
  }
  if (step == Step::Next)
    ++instance.position.pc;
  return step;
}

ClusterRun::Step ClusterRun::wait(Instance &instance, uint32_t index, Slot slot) {
  const SemaphoreInst &inst = program->semaphores[slot.index];
  int64_t at = semaphoreOf(*program, slot, instance.position.registers, context.fault);
  if (at < 0)
    return Step::Fault;
  SemaphoreState &semaphore = semaphores[static_cast<size_t>(at)];
  if (semaphore.count >= inst.count) {
    semaphore.count -= inst.count;
    return Step::Next;
  }
  instance.state = State::Semaphore;
  instance.waitFor = at;
  instance.waitCount = inst.count;
  semaphore.waiting.push_back(index);
  return Step::Blocked;
}

ClusterRun::Step ClusterRun::signal(Instance &instance, Slot slot) {
  const SemaphoreInst &inst = program->semaphores[slot.index];
  int64_t at = semaphoreOf(*program, slot, instance.position.registers, context.fault);
  if (at < 0)
    return Step::Fault;
  SemaphoreState &semaphore = semaphores[static_cast<size_t>(at)];
  if (__builtin_add_overflow(semaphore.count, inst.count, &semaphore.count)) {
    context.fail(absl::StrCat("semaphore ", at, " overflows"));
    return Step::Fault;
  }
  if (semaphore.waiting.empty())
    return Step::Next;
  // Unblocked waits run again in the order in which they blocked.
  int64_t left = semaphore.count;
  auto keep = semaphore.waiting.begin();
  for (uint32_t waiter : semaphore.waiting) {
    Instance &other = instances[waiter];
    if (other.waitCount <= left) {
      left -= other.waitCount;
      other.state = State::Ready;
      ready.push_back(waiter);
    } else {
      *keep++ = waiter;
    }
  }
  semaphore.waiting.erase(keep, semaphore.waiting.end());
  return Step::Next;
}

ClusterRun::Step ClusterRun::barrier(Instance &instance, uint32_t index, const BarrierInst &inst) {
  BarrierState &state = barriers[static_cast<size_t>(inst.id)];
  if (static_cast<int64_t>(state.waiting.size()) + 1 < inst.participants) {
    instance.state = State::BarrierWait;
    instance.waitFor = inst.id;
    state.waiting.push_back(index);
    return Step::Blocked;
  }
  for (uint32_t waiter : state.waiting) {
    instances[waiter].state = State::Ready;
    ready.push_back(waiter);
  }
  state.waiting.clear();
  return Step::Next;
}

bool ClusterRun::checkPeer(int64_t peer) {
  int64_t ranks = static_cast<int64_t>(engine.clusters.size());
  return (peer >= 0 && peer < ranks) || context.fail(absl::StrCat("rank ", peer, " of ", ranks));
}

bool ClusterRun::isDropped(int64_t index) const {
  for (const auto &dropped : engine.machine.dropMessages)
    if (dropped.sourceRank == rank && dropped.index == index)
      return true;
  return false;
}

ClusterRun::Step ClusterRun::send(Instance &instance, const LinkInst &inst) {
  int64_t peer = instance.position.registers[inst.peer];
  int64_t bytes = messageBytes(inst, instance.position.registers);
  if (!checkPeer(peer))
    return Step::Fault;
  if (bytes > kMaxMessageBytes) {
    context.fail(absl::StrCat("message of ", bytes, " bytes"));
    return Step::Fault;
  }
  Message message = engine.pool.take(bytes);
  if (!message.data) {
    context.fail("the host has no memory left for a message");
    return Step::Fault;
  }
  if (!executeSend(inst, context, message.data.get()))
    return Step::Fault;
  ++work.messages;
  ++work.instructions;
  work.sentBytes += bytes;
  executed.sentTo[peer] += bytes;
  if (isDropped(sent++)) {
    engine.pool.release(std::move(message));
    return Step::Next;
  }
  const absl::Status delivered = engine.deliver(rank, peer, inst.channel, std::move(message));
  if (delivered.ok())
    return Step::Next;
  context.fail(std::string(delivered.message()));
  return Step::Fault;
}

ClusterRun::Step ClusterRun::receive(Instance &instance, const LinkInst &inst) {
  int64_t peer = instance.position.registers[inst.peer];
  if (!checkPeer(peer))
    return Step::Fault;
  Message message;
  {
    Inbox &inbox = *engine.inboxes[rank];
    std::lock_guard<std::mutex> lock(inbox.mutex);
    auto it = inbox.channels.find({peer, inst.channel});
    if (it == inbox.channels.end() || it->second.empty()) {
      instance.state = State::Message;
      instance.waitFor = peer;
      instance.waitCount = inst.channel;
      return Step::Blocked;
    }
    message = std::move(it->second.front());
    it->second.pop_front();
  }
  int64_t bytes = messageBytes(inst, instance.position.registers);
  if (bytes != message.bytes) {
    context.fail(absl::StrCat("message of ", message.bytes, " bytes from rank ", peer,
                              ", but the receive expects ", bytes));
    return Step::Fault;
  }
  if (!executeReceive(inst, context, message.data.get()))
    return Step::Fault;
  work.receivedBytes += bytes;
  ++work.instructions;
  engine.pool.release(std::move(message));
  return Step::Next;
}

std::string ClusterRun::place(const Instance &instance) const {
  return absl::StrCat("rank ", rank, ", ",
                      describePlace(*program, instance.streamIndex, instance.position.pc), ", ",
                      name(instance.stream->engine), " ", instance.number);
}

void ClusterRun::setFault(const Instance &instance) {
  status = absl::InvalidArgumentError(absl::StrCat(place(instance), ": ", context.fault));
}

std::string ClusterRun::describeWaits() const {
  if (!program)
    return absl::StrCat("rank ", rank, " has not begun task ", task);
  std::string text = absl::StrCat("rank ", rank, " in program '", program->source.name, "' (entry ",
                                  task, " of its schedule):");
  int listed = 0;
  for (const Instance &instance : instances) {
    if (instance.state == State::Done || ++listed > 6)
      continue;
    absl::StrAppend(&text, listed > 1 ? ", " : " ", name(instance.stream->engine), " ",
                    instance.number, " at instruction ", instance.position.pc);
    switch (instance.state) {
    case State::Semaphore:
      absl::StrAppend(&text, " waits for semaphore ", instance.waitFor, " to reach ",
                      instance.waitCount, " (it is ",
                      semaphores[static_cast<size_t>(instance.waitFor)].count, ")");
      break;
    case State::BarrierWait:
      absl::StrAppend(&text, " waits at barrier ", instance.waitFor);
      break;
    case State::Message:
      absl::StrAppend(&text, " waits for a message from rank ", instance.waitFor, " on channel ",
                      instance.waitCount);
      break;
    default:
      break;
    }
  }
  return text;
}

} // namespace st::dtu
