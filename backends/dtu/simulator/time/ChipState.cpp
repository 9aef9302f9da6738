// Reads the state of chips, and puts chips into a state.
#include "backends/dtu/simulator/time/ChipMemory.h"

namespace st::dtu {
namespace {

bool isLink(const TimeInstance &instance) {
  return instance.stream->engine == Engine::Tx || instance.stream->engine == Engine::Rx;
}

/// Visits the registers of a set, ascending.
template <typename Visit> void eachRegister(const RegisterSet &set, Visit &&visit) {
  for (uint64_t left = set.to_ulong(); left != 0; left &= left - 1)
    visit(static_cast<size_t>(__builtin_ctzll(left)));
}

} // namespace

/// Returns false in a state in which no stretch may begin or end: a task is about to begin.
bool KnownStretches::describe(const std::vector<size_t> &members, Picoseconds now,
                              const std::vector<TimeMessage> &messages, ChipState &state) {
  state.time = now;
  state.numbers.reserve(usualNumbers);
  auto show = [&](int64_t number) { state.numbers.push_back(number); };
  for (size_t member : members)
    if (!describeInstances(ranks[member], now, state))
      return false;
  auto showWaiting = [&](const std::vector<uint32_t> &waiting) {
    show(static_cast<int64_t>(waiting.size()));
    for (uint32_t waiter : waiting)
      show(waiter);
  };
  for (size_t member : members) {
    const TimeRank &rank = ranks[member];
    for (size_t i = 0; i < rank.semaphores.size(); ++i) {
      const TimeSemaphore &semaphore = rank.semaphores[i];
      if (semaphore.count == 0 && semaphore.waiting.empty())
        continue;
      show(static_cast<int64_t>(i));
      show(semaphore.count);
      showWaiting(semaphore.waiting);
    }
    show(-1);
    show(static_cast<int64_t>(rank.barriers.size()));
    for (const std::vector<uint32_t> &waiting : rank.barriers)
      showWaiting(waiting);
    state.work.push_back(machine.workOf(member));
    state.instructions.push_back(rank.instructions);
    state.added.push_back(rank.added);
  }
  eachServer(members, [&](const FifoServer &server) {
    show(std::max<Picoseconds>(0, server.freeAt - now));
  });
  if (memory.hasMessages())
    describeMessages(members, now, messages, state);
  usualNumbers = state.numbers.size();
  return true;
}

bool KnownStretches::describeInstances(const TimeRank &rank, Picoseconds now, ChipState &state) {
  if (rank.begins)
    return false;
  auto show = [&](int64_t number) { state.numbers.push_back(number); };
  show(static_cast<int64_t>(rank.alive));
  for (const TimeInstance &instance : rank.instances) {
    show(static_cast<int64_t>(instance.state));
    show(static_cast<int64_t>(instance.stream->engine));
    show(instance.number);
    const bool waits = instance.state == RunState::Semaphore ||
                       (instance.state == RunState::Message && memory.hasMessages());
    if (waits) {
      show(instance.waitFor);
      show(instance.waitCount);
    }
    if (isLink(instance) && !memory.hasMessages()) {
      state.places.push_back({nullptr, instance.position.pc, /*isReached=*/false});
      state.linkDues.push_back(instance.due);
      continue;
    }
    const StreamCode &code = memory.codeOf(rank, instance);
    const uint32_t pc = instance.position.pc;
    state.places.push_back({&code, pc, waits || instance.state == RunState::Done});
    if (instance.state == RunState::Running) {
      show(instance.due - now);
      show(instance.pendingSignal);
      show(instance.pendingSignal < 0 ? 0 : instance.pendingCount);
    } else if (instance.state == RunState::BarrierWait) {
      show(instance.waitFor);
    }
    eachRegister(code.facts.live[pc], [&](size_t reg) { show(instance.position.registers[reg]); });
    for (size_t depth = 0; depth < code.facts.depth[pc]; ++depth)
      show(instance.position.limits[depth]);
  }
  return true;
}

/// Messages on their way, arrived messages, instances that wait for messages, and busy links.
void KnownStretches::describeMessages(const std::vector<size_t> &members, Picoseconds now,
                                      const std::vector<TimeMessage> &messages, ChipState &state) {
  auto show = [&](int64_t number) { state.numbers.push_back(number); };
  auto showChannels = [&](const auto &channels) {
    for (const auto &[channel, values] : channels) {
      if (values.empty())
        continue;
      show(static_cast<int64_t>(values.size()));
      show(channel.first);
      show(channel.second);
      for (int64_t value : values)
        show(value);
    }
    show(0);
  };
  for (size_t member : members)
    state.peaks.push_back(machine.timings()[member].peakLandingBytes);
  state.linkWork = machine.linkWork();
  show(static_cast<int64_t>(messages.size()));
  for (const TimeMessage &message : messages) {
    show(message.arrival - now);
    show(static_cast<int64_t>(message.destination));
    show(message.channel.first);
    show(message.channel.second);
    show(message.bytes);
  }
  for (size_t member : members) {
    show(ranks[member].landing);
    showChannels(ranks[member].arrived);
    showChannels(ranks[member].receivers);
  }
  for (size_t link : machine.linksInUse())
    if (const Picoseconds busy = machine.link(link).freeAt - now; busy > 0) {
      show(static_cast<int64_t>(link));
      show(busy);
    }
  show(-1);
}

/// Restores the values of describe(), in its order.
std::vector<TimeMessage> KnownStretches::enter(const std::vector<size_t> &members,
                                               const ChipState &state,
                                               const std::vector<ChipState::Place> &places,
                                               Picoseconds now) {
  auto at = state.numbers.begin();
  auto place = places.begin();
  for (size_t member : members) {
    TimeRank &rank = ranks[member];
    rank.alive = static_cast<size_t>(*at++);
    for (TimeInstance &instance : rank.instances)
      enterInstance(instance, *place++, now, at);
  }
  auto readWaiting = [&](std::vector<uint32_t> &waiting) {
    waiting.resize(static_cast<size_t>(*at++));
    for (uint32_t &waiter : waiting)
      waiter = static_cast<uint32_t>(*at++);
  };
  for (size_t member : members) {
    TimeRank &rank = ranks[member];
    for (TimeSemaphore &semaphore : rank.semaphores) {
      semaphore.count = 0;
      semaphore.waiting.clear();
    }
    while (*at >= 0) {
      TimeSemaphore &semaphore = rank.semaphores[static_cast<size_t>(*at++)];
      semaphore.count = *at++;
      readWaiting(semaphore.waiting);
    }
    at += 2;
    for (std::vector<uint32_t> &waiting : rank.barriers)
      readWaiting(waiting);
  }
  eachServer(members, [&](FifoServer &server) { server.freeAt = now + *at++; });
  return memory.hasMessages() ? enterMessages(members, now, at) : std::vector<TimeMessage>();
}

void KnownStretches::enterInstance(TimeInstance &instance, const ChipState::Place &place,
                                   Picoseconds now, Numbers &at) {
  const StreamCode *code = place.code;
  const auto next = static_cast<RunState>(*at);
  const bool waits =
      next == RunState::Semaphore || (next == RunState::Message && memory.hasMessages());
  at += 3;
  if (!code) {
    at += waits ? 2 : 0;
    return;
  }
  instance.state = next;
  instance.position.pc = place.pc;
  instance.pendingSignal = -1;
  if (waits) {
    instance.waitFor = *at++;
    instance.waitCount = *at++;
  } else if (next == RunState::Running) {
    instance.due = now + *at++;
    instance.pendingSignal = *at++;
    instance.pendingCount = *at++;
  } else if (next == RunState::BarrierWait) {
    instance.waitFor = *at++;
  }
  eachRegister(code->facts.live[place.pc],
               [&](size_t reg) { instance.position.registers[reg] = *at++; });
  for (size_t depth = 0; depth < code->facts.depth[place.pc]; ++depth)
    instance.position.limits[depth] = *at++;
}

std::vector<TimeMessage> KnownStretches::enterMessages(const std::vector<size_t> &members,
                                                       Picoseconds now, Numbers &at) {
  auto readChannels = [&](auto &channels) {
    for (auto &entry : channels)
      entry.second.clear();
    while (const auto count = static_cast<size_t>(*at++)) {
      auto &values = channels[{at[0], at[1]}];
      at += 2;
      values.assign(at, at + static_cast<std::ptrdiff_t>(count));
      at += static_cast<std::ptrdiff_t>(count);
    }
  };
  std::vector<TimeMessage> messages(static_cast<size_t>(*at++));
  for (TimeMessage &message : messages) {
    message = {now + at[0], static_cast<size_t>(at[1]), {at[2], at[3]}, at[4]};
    at += 5;
  }
  for (size_t member : members) {
    ranks[member].landing = *at++;
    readChannels(ranks[member].arrived);
    readChannels(ranks[member].receivers);
  }
  for (size_t link : machine.linksInUse()) {
    FifoServer &server = machine.link(link);
    server.freeAt = std::min(server.freeAt, now);
  }
  for (; *at >= 0; at += 2)
    machine.link(static_cast<size_t>(at[0])).freeAt = now + at[1];
  return messages;
}

} // namespace st::dtu
