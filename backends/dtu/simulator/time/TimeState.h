// The state of the ranks of a run in simulated time.
#pragma once

#include "backends/dtu/simulator/ControlFlow.h"
#include "lib/Timing/DtuCosts.h"

#include <array>
#include <deque>
#include <map>
#include <vector>

namespace st::dtu {

struct StreamCode;

enum class RunState : uint8_t { Running, Semaphore, BarrierWait, Message, Done };

struct TimeInstance {
  const DecodedStream *stream = nullptr;
  uint32_t streamIndex = 0;
  int64_t number = 0;
  RunState state = RunState::Running;
  Picoseconds due = 0; ///< for a running instance: when it continues
  int64_t waitFor = 0, waitCount = 0;
  size_t loads = 0;                             ///< number of values it has loaded
  int64_t pendingSignal = -1, pendingCount = 0; ///< becomes visible when the instance continues
  StreamPosition position;
  /// Properties of the stream in each memory of stretches (StretchScope); null until they are
  /// computed.
  mutable std::array<const StreamCode *, 2> codes = {};
};

struct TimeSemaphore {
  int64_t count = 0;
  std::vector<uint32_t> waiting;
};

using TimeChannel = std::pair<int64_t, int64_t>; ///< source and number

/// A message that is on its way.
struct TimeMessage {
  Picoseconds arrival;
  size_t destination;
  TimeChannel channel;
  int64_t bytes;
};

struct TimeRank {
  using Channel = TimeChannel;

  size_t task = 0;
  const DecodedProgram *program = nullptr; ///< null between tasks
  const DecodedProgram *begun = nullptr;   ///< program of the instances, even after they have ended
  bool begins = false;                     ///< waits for its next task to be launched
  std::vector<TimeInstance> instances;
  size_t alive = 0;
  std::vector<TimeSemaphore> semaphores;
  std::vector<std::vector<uint32_t>> barriers;
  std::map<Channel, std::deque<int64_t>> arrived; ///< bytes of each message
  std::map<Channel, std::deque<uint32_t>> receivers;
  int64_t landing = 0;
  int64_t instructions = 0; ///< number of instructions run
  int64_t added = 0;        ///< of these, the ones in added periods
};

} // namespace st::dtu
