#include "st/Runtime/ClockOffset.h"

#include "lib/Support/StatusMacros.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace st {
namespace {

using Nanoseconds = std::chrono::nanoseconds;
using Clock = absl::FunctionRef<Nanoseconds()>;
using Bytes = std::array<uint8_t, sizeof(int64_t)>;

// The first round also sets up the connection.
constexpr int kRounds = 16;

constexpr char kWhat[] = "the clocks of a trace";

// Sends process 0's time to another process, once per request.
absl::Status reply(Communicator &communicator, int64_t process, Clock now) {
  const Peer other{process, 0, kWhat};
  for (int i = 0; i < kRounds; ++i) {
    Bytes bytes;
    ST_RETURN_IF_ERROR(communicator.receive(absl::MakeSpan(bytes), other));
    const int64_t time = now().count();
    std::memcpy(bytes.data(), &time, sizeof(time));
    ST_RETURN_IF_ERROR(communicator.send(bytes, other));
  }
  return absl::OkStatus();
}

absl::StatusOr<ClockOffset> measure(Communicator &communicator, Clock now) {
  const Peer first{0, 0, kWhat};
  ClockOffset best;
  for (int i = 0; i < kRounds; ++i) {
    Bytes bytes{};
    const Nanoseconds before = now();
    ST_RETURN_IF_ERROR(communicator.send(bytes, first));
    ST_RETURN_IF_ERROR(communicator.receive(absl::MakeSpan(bytes), first));
    const Nanoseconds after = now();
    int64_t time = 0;
    std::memcpy(&time, bytes.data(), sizeof(time));
    // Rounded up, because the midpoint of an odd interval is rounded.
    const Nanoseconds bound = (after - before + Nanoseconds(1)) / 2;
    if (i == 0 || bound < best.bound)
      best = {Nanoseconds(time) - before - (after - before) / 2, bound};
  }
  return best;
}

} // namespace

absl::StatusOr<ClockOffset> compareClocks(Communicator &communicator, Clock now) {
  if (communicator.process() != 0)
    return measure(communicator, now);
  for (int64_t process = 1; process < communicator.numProcesses(); ++process)
    ST_RETURN_IF_ERROR(reply(communicator, process, now));
  return ClockOffset();
}

} // namespace st
