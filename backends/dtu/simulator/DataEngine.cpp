#include "backends/dtu/simulator/DataEngine.h"

#include "backends/dtu/simulator/ClusterRun.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Threads.h"

#include "absl/strings/str_cat.h"

#include <sys/mman.h>

#include <algorithm>

namespace st::dtu {

bool LazyMemory::allocate(int64_t size, Pages pages) {
  reset();
  bytes = std::max<int64_t>(size, 1);
  void *p = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return false;
  // Advice only.
  madvise(p, static_cast<size_t>(bytes), pages == Pages::Large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  data = static_cast<uint8_t *>(p);
  return true;
}

void LazyMemory::reset() {
  if (data)
    munmap(data, static_cast<size_t>(bytes));
  data = nullptr;
}

DataEngine::DataEngine(DataMachine machine, const std::vector<RankMemory> &arenas)
    : machine(std::move(machine)) {
  for (size_t rank = 0; rank < arenas.size(); ++rank) {
    mailboxes.push_back(std::make_unique<Mailbox>());
    clusters.push_back(
        std::make_unique<ClusterRun>(*this, static_cast<int64_t>(rank), arenas[rank]));
  }
}

DataEngine::~DataEngine() = default;

LazyMemory DataEngine::takeScratch() {
  std::lock_guard<std::mutex> lock(scratchMutex);
  if (!scratch.empty()) {
    LazyMemory memory = std::move(scratch.back());
    scratch.pop_back();
    return memory;
  }
  // A cluster that waits for a message keeps its own: thousands of them would take gigabytes.
  constexpr size_t kLargePages = 64;
  LazyMemory memory;
  memory.allocate(machine.coreStride() * machine.cores + machine.l2Bytes,
                  scratches++ < kLargePages ? LazyMemory::Pages::Large : LazyMemory::Pages::Small);
  return memory;
}

void DataEngine::giveScratchBack(LazyMemory memory) {
  std::lock_guard<std::mutex> lock(scratchMutex);
  scratch.push_back(std::move(memory));
}

void DataEngine::makeReady(int64_t rank) {
  std::lock_guard<std::mutex> lock(readyMutex);
  ready.push_back(rank);
  readyChanged.notify_one();
}

void DataEngine::deliver(int64_t source, int64_t destination, int64_t channel, Message message) {
  Mailbox &mailbox = *mailboxes[destination];
  bool wake = false;
  {
    std::lock_guard<std::mutex> lock(mailbox.mutex);
    ChannelKey key(source, channel);
    mailbox.channels[key].push_back(std::move(message));
    wake = mailbox.parked &&
           std::find(mailbox.awaited.begin(), mailbox.awaited.end(), key) != mailbox.awaited.end();
    if (wake)
      mailbox.parked = false;
  }
  if (wake)
    makeReady(destination);
}

void DataEngine::work() {
  std::unique_lock<std::mutex> lock(readyMutex);
  while (true) {
    // Nothing ready and nobody running who could make something ready: done or stuck.
    readyChanged.wait(lock, [&] { return !ready.empty() || running == 0; });
    if (ready.empty())
      return;
    int64_t rank = ready.front();
    ready.pop_front();
    ++running;
    lock.unlock();
    clusters[rank]->run();
    lock.lock();
    if (--running == 0 && ready.empty())
      readyChanged.notify_all();
  }
}

absl::Status DataEngine::execute(const std::vector<RankSchedule> &schedules, int hostThreads) {
  for (size_t rank = 0; rank < clusters.size(); ++rank) {
    mailboxes[rank]->channels.clear();
    mailboxes[rank]->parked = false;
    clusters[rank]->start(&schedules[rank]);
    ready.push_back(static_cast<int64_t>(rank));
  }
  const int64_t useful = std::min<int64_t>(hostThreads, static_cast<int64_t>(clusters.size()));
  ST_RETURN_IF_ERROR(runOnThreads(useful, [this] { work(); }));

  // Every cluster has gone as far as it can, whatever the threads did; so the
  // report does not depend on them either.
  for (const auto &cluster : clusters)
    if (absl::Status fault = cluster->fault(); !fault.ok())
      return fault;
  std::string waits;
  int stuck = 0;
  for (const auto &cluster : clusters)
    if (!cluster->finished() && ++stuck <= 8)
      absl::StrAppend(&waits, "; ", cluster->describeWaits());
  if (stuck)
    return absl::FailedPreconditionError(
        absl::StrCat("deadlock: ", stuck, " of ", clusters.size(), " ranks wait for ever", waits));
  for (size_t rank = 0; rank < mailboxes.size(); ++rank)
    for (const auto &channel : mailboxes[rank]->channels)
      if (!channel.second.empty())
        return absl::FailedPreconditionError(absl::StrCat(
            "rank ", rank, " never received ", channel.second.size(), " messages from rank ",
            channel.first.first, " on channel ", channel.first.second));
  return absl::OkStatus();
}

std::vector<const LoadedValues *> DataEngine::loadedValues() const {
  std::vector<const LoadedValues *> values;
  for (const auto &cluster : clusters)
    values.push_back(&cluster->loaded);
  return values;
}

std::vector<ExecutedWork> DataEngine::executedWork() const {
  std::vector<ExecutedWork> work;
  for (const auto &cluster : clusters)
    work.push_back(cluster->executed);
  return work;
}

} // namespace st::dtu
