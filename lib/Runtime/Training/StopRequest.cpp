#include "lib/Runtime/Training/StopRequest.h"

#include "absl/types/span.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>

namespace st {
namespace {

constexpr int kStopping[] = {SIGTERM, SIGUSR1};

std::atomic<int> last{0};

void note(int number) { last.store(number); }

absl::Span<uint8_t> bytesOf(int &value) {
  return {reinterpret_cast<uint8_t *>(&value), sizeof(value)};
}

} // namespace

StopSignals::StopSignals() {
  last = 0;
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART; // The waits of a step must not be interrupted.
  for (size_t i = 0; i < std::size(kStopping); ++i)
    ::sigaction(kStopping[i], &action, &before[i]);
}

StopSignals::~StopSignals() {
  for (size_t i = 0; i < std::size(kStopping); ++i)
    ::sigaction(kStopping[i], &before[i], nullptr);
}

int StopSignals::received() { return last.load(); }

std::string nameOfSignal(int number) { return number == SIGTERM ? "SIGTERM" : "SIGUSR1"; }

// Reduces and broadcasts along a binary tree of the processes.
absl::StatusOr<int> largestOfAll(Communicator &communicator, int value) {
  const int64_t self = communicator.process(), processes = communicator.numProcesses();
  for (const int64_t child : {2 * self + 1, 2 * self + 2})
    if (child < processes) {
      int other = 0;
      ST_RETURN_IF_ERROR(
          communicator.receive(bytesOf(other), {child, kAgreementChannel, "the end of a step"}));
      value = std::max(value, other);
    }
  if (self > 0)
    ST_RETURN_IF_ERROR(communicator.send(bytesOf(value),
                                         {(self - 1) / 2, kAgreementChannel, "the end of a step"}));
  ST_RETURN_IF_ERROR(communicator.broadcast(bytesOf(value), 0));
  return value;
}

} // namespace st
