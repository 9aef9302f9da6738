// Processes that exchange messages, for test/e2e/processes/test_processes.py and test_joining.py:
// mpirun -np N st-communicator-check MODE SECONDS, or the same by another launcher
//
//   exchange   threads send messages of many sizes to all others and compare what comes; broadcasts
//   clocks     each process has a separate clock, and measures its distance from that of process 0
//   large      two processes send each other 200 megabytes at the same time
//   mute       process 1 does not send what process 0 waits for
//   early      all but process 0 end, which continues for longer than they wait for it
//   endless    exchanges until it is ended
//   size       process 1 sends less than process 0 waits for

#include "lib/Support/ProcessEnd.h"
#include "lib/Support/StatusMacros.h"
#include "st/Runtime/ClockOffset.h"
#include "st/Runtime/Communicator.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace st {
namespace {

constexpr int kThreads = 3, kRounds = 8;

/// Each message is different, and determined by its sender, receiver and time.
std::vector<uint8_t> message(int64_t from, int64_t to, int channel, int round) {
  const size_t sizes[] = {0, 1, 4096, 100003, size_t(5) << 20};
  const uint64_t seed = static_cast<uint64_t>(((from * 31 + to) * 31 + channel) * 31 + round);
  std::vector<uint8_t> bytes(sizes[seed % 5]);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>((seed + i * 2654435761u) >> 7);
  return bytes;
}

absl::Status exchange(Communicator &group, int channel, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const std::string what = absl::StrCat("round ", round);
    for (int64_t other = 0; other < group.numProcesses(); ++other)
      if (other != group.process())
        ST_RETURN_IF_ERROR(
            group.send(message(group.process(), other, channel, round), {other, channel, what}));
    for (int64_t other = 0; other < group.numProcesses(); ++other) {
      if (other == group.process())
        continue;
      const std::vector<uint8_t> expected = message(other, group.process(), channel, round);
      std::vector<uint8_t> found(expected.size());
      ST_RETURN_IF_ERROR(group.receive(absl::MakeSpan(found), {other, channel, what}));
      if (found != expected)
        return absl::InternalError(absl::StrCat(what, ": other bytes came from ", other));
    }
  }
  return absl::OkStatus();
}

absl::Status exchangeByThreads(Communicator &group) {
  std::vector<absl::Status> results(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] { results[i] = exchange(group, i, kRounds); });
  for (std::thread &thread : threads)
    thread.join();
  for (const absl::Status &result : results)
    ST_RETURN_IF_ERROR(result);
  for (int64_t root = 0; root < group.numProcesses(); ++root) {
    const std::vector<uint8_t> expected = message(root, root, 0, 3);
    std::vector<uint8_t> found(expected.size());
    if (group.process() == root)
      found = expected;
    ST_RETURN_IF_ERROR(group.broadcast(absl::MakeSpan(found), root));
    if (found != expected)
      return absl::InternalError(absl::StrCat("other bytes were broadcast by ", root));
  }
  return group.barrier();
}

absl::Status exchangeLarge(Communicator &group) {
  constexpr size_t kSize = (size_t(200) << 20) + 1;
  auto at = [](int64_t from, size_t i) {
    return static_cast<uint8_t>((i + static_cast<size_t>(from)) * 2654435761u >> 13);
  };
  const Peer other{1 - group.process(), 0, "a large message"};
  std::vector<uint8_t> bytes(kSize);
  for (size_t i = 0; i < kSize; ++i)
    bytes[i] = at(group.process(), i);
  ST_RETURN_IF_ERROR(group.send(bytes, other));
  ST_RETURN_IF_ERROR(group.receive(absl::MakeSpan(bytes), other));
  for (size_t i = 0; i < kSize; ++i)
    if (bytes[i] != at(other.process, i))
      return absl::InternalError(absl::StrCat("another byte came at ", i));
  return absl::OkStatus();
}

// In seconds, of one process.
constexpr int64_t kClocksApart = 1000;

absl::Status findClocks(Communicator &group) {
  const std::chrono::nanoseconds ahead = std::chrono::seconds(kClocksApart * group.process());
  ST_ASSIGN_OR_RETURN(const ClockOffset found, compareClocks(group, [&] {
                        return std::chrono::steady_clock::now().time_since_epoch() + ahead;
                      }));
  if (std::chrono::abs(found.toFirst + ahead) <= found.bound)
    return group.barrier();
  return absl::InternalError(absl::StrCat("a clock that is ", ahead.count(), " ns ahead is found ",
                                          -found.toFirst.count(), " ns ahead, to ",
                                          found.bound.count(), " ns"));
}

absl::Status run(const std::string &mode, double seconds) {
  GroupOptions options;
  options.ranks = 8;
  options.watchdogSeconds = seconds;
  ST_ASSIGN_OR_RETURN(const Launch launch, detectLaunch());
  ST_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> group, joinProcesses(launch, options));
  std::printf("process %d of %d is %d and holds rank 7: %d\n", static_cast<int>(group->process()),
              static_cast<int>(group->numProcesses()), static_cast<int>(::getpid()),
              group->processOf(7) == group->process());
  std::fflush(stdout);
  uint8_t bytes[4] = {};
  const Peer other{1 - group->process(), 7, "all_reduce @loss of ranks 0 to 7"};
  if (mode == "exchange")
    return exchangeByThreads(*group);
  if (mode == "clocks")
    return findClocks(*group);
  if (mode == "large")
    return exchangeLarge(*group);
  if (mode == "mute") {
    if (group->process() == 0)
      return group->receive(absl::MakeSpan(bytes), other);
    std::this_thread::sleep_for(std::chrono::duration<double>(3 * seconds));
    return absl::OkStatus();
  }
  if (mode == "early") {
    if (group->process() == 0)
      std::this_thread::sleep_for(std::chrono::duration<double>(2 * seconds));
    return absl::OkStatus();
  }
  if (mode == "size")
    return group->process() == 0 ? group->receive(absl::MakeSpan(bytes), other)
                                 : group->send(absl::MakeConstSpan(bytes, 3), other);
  while (mode == "endless")
    ST_RETURN_IF_ERROR(exchange(*group, 0, kRounds));
  return absl::InvalidArgumentError(absl::StrCat("no mode ", mode));
}

} // namespace
} // namespace st

int main(int argc, char **argv) {
  st::setUpEarlyEnd("st-communicator-check");
  double seconds = 0;
  if (argc != 3 || !absl::SimpleAtod(argv[2], &seconds))
    return 2;
  const absl::Status status = st::run(argv[1], seconds);
  if (!status.ok())
    std::fprintf(stderr, "st-communicator-check: error: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
