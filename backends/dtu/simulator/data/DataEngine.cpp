#include "backends/dtu/simulator/data/DataEngine.h"

#include "backends/dtu/simulator/ClusterRun.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Threads.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

namespace st::dtu {

DataEngine::DataEngine(DataMachine machine, const std::vector<RankMemory> &arenas)
    : machine(std::move(machine)) {
  for (size_t rank = 0; rank < arenas.size(); ++rank) {
    inboxes.push_back(std::make_unique<Inbox>());
    clusters.push_back(
        std::make_unique<ClusterRun>(*this, static_cast<int64_t>(rank), arenas[rank]));
  }
}

DataEngine::~DataEngine() = default;

LazyMemory DataEngine::takeScratch() {
  return scratch->take(machine.coreStride() * machine.cores + machine.l2Bytes);
}

void DataEngine::makeReady(int64_t rank) {
  std::lock_guard<std::mutex> lock(readyMutex);
  ready.push_back(rank);
  readyChanged.notify_one();
}

absl::Status DataEngine::deliver(int64_t source, int64_t destination, int64_t channel,
                                 Message message) {
  if (isLocal(destination)) {
    deliverHere(source, destination, channel, std::move(message));
    return absl::OkStatus();
  }
  const absl::Status status =
      machine.remote->send({source, destination, channel, message.bytes}, message.data.get());
  pool.release(std::move(message));
  return status;
}

void DataEngine::deliverHere(int64_t source, int64_t destination, int64_t channel,
                             Message message) {
  Inbox &inbox = *inboxes[destination];
  bool wake = false;
  std::vector<ChannelKey> awaited;
  {
    std::lock_guard<std::mutex> lock(inbox.mutex);
    ChannelKey key(source, channel);
    inbox.channels[key].push_back(std::move(message));
    wake = inbox.parked &&
           std::find(inbox.awaited.begin(), inbox.awaited.end(), key) != inbox.awaited.end();
    if (wake) {
      inbox.parked = false;
      if (machine.remote)
        awaited = inbox.awaited;
    }
  }
  if (!wake)
    return;
  makeReady(destination);
  // Decrements the count last, because the workers end when it is 0.
  await(awaited, -1);
}

void DataEngine::await(const std::vector<ChannelKey> &keys, int64_t change) {
  if (!machine.remote)
    return;
  std::lock_guard<std::mutex> readyLock(readyMutex);
  std::lock_guard<std::mutex> lock(remoteMutex);
  for (const ChannelKey &key : keys)
    if (!isLocal(key.first)) {
      awaitedFrom[static_cast<size_t>(machine.remote->processOf(key.first))] += change;
      awaitedFromAll += change;
    }
  remoteChanged.notify_all();
  // The woken rank may have finished since.
  if (awaitedFromAll == 0)
    readyChanged.notify_all();
}

absl::Status DataEngine::receiveOne(int64_t process) {
  ST_ASSIGN_OR_RETURN(const RemoteMessage header, machine.remote->receive(process));
  const auto ranks = static_cast<int64_t>(clusters.size());
  const bool isValid = header.source >= 0 && header.source < ranks && header.destination >= 0 &&
                       header.destination < ranks && isLocal(header.destination) &&
                       header.bytes >= 0 && header.bytes <= kMaxMessageBytes;
  if (!isValid)
    return absl::InternalError(absl::StrCat("process ", process, " sent a message from rank ",
                                            header.source, " to rank ", header.destination, " of ",
                                            header.bytes, " bytes, which is not a valid message"));
  Message message = pool.take(header.bytes);
  if (!message.data)
    return absl::ResourceExhaustedError("the host has no memory left for a message");
  ST_RETURN_IF_ERROR(machine.remote->receiveBytes(
      process, {message.data.get(), static_cast<size_t>(message.bytes)}));
  deliverHere(header.source, header.destination, header.channel, std::move(message));
  return absl::OkStatus();
}

void DataEngine::receiveFrom(int64_t process) {
  while (true) {
    {
      std::unique_lock<std::mutex> lock(remoteMutex);
      remoteChanged.wait(lock,
                         [&] { return isOver || awaitedFrom[static_cast<size_t>(process)] > 0; });
      if (isOver)
        return;
    }
    if (absl::Status status = receiveOne(process); !status.ok()) {
      std::lock_guard<std::mutex> lock(readyMutex);
      remoteFailure.Update(status);
      readyChanged.notify_all();
      return;
    }
  }
}

void DataEngine::work() {
  std::unique_lock<std::mutex> lock(readyMutex);
  const auto mayContinue = [&] { return running > 0 || awaitedFromAll > 0; };
  while (true) {
    // No rank is ready or can become ready: the step is done or deadlocked.
    readyChanged.wait(lock,
                      [&] { return !ready.empty() || !mayContinue() || !remoteFailure.ok(); });
    if (ready.empty() || !remoteFailure.ok())
      return;
    int64_t rank = ready.front();
    ready.pop_front();
    ++running;
    lock.unlock();
    const auto begin = std::chrono::steady_clock::now();
    clusters[rank]->run();
    clusters[rank]->seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    lock.lock();
    if (machine.remote)
      remoteFailure.Update(clusters[rank]->fault());
    --running;
    if ((!mayContinue() && ready.empty()) || !remoteFailure.ok())
      readyChanged.notify_all();
  }
}

absl::Status DataEngine::runStep(int64_t workers) {
  if (!machine.remote)
    return runOnThreads(workers, [this] { work(); });
  isOver = false;
  remoteFailure = absl::OkStatus();
  awaitedFrom.assign(static_cast<size_t>(machine.remote->numProcesses()), 0);
  awaitedFromAll = 0;
  std::vector<std::thread> receivers;
  absl::Status status;
  try {
    for (int64_t process = 0; process < machine.remote->numProcesses(); ++process)
      receivers.emplace_back([this, process] { receiveFrom(process); });
    status = runOnThreads(workers, [this] { work(); });
  } catch (const std::system_error &error) {
    status = absl::ResourceExhaustedError(
        absl::StrCat("cannot start a thread that receives messages: ", error.what()));
  }
  {
    std::lock_guard<std::mutex> lock(remoteMutex);
    isOver = true;
    remoteChanged.notify_all();
  }
  for (std::thread &receiver : receivers)
    receiver.join();
  ST_RETURN_IF_ERROR(status);
  return remoteFailure;
}

absl::Status DataEngine::execute(const std::vector<RankSchedule> &schedules, int hostThreads) {
  int64_t ranksHere = 0;
  ready.clear();
  for (size_t rank = 0; rank < clusters.size(); ++rank) {
    inboxes[rank]->channels.clear();
    inboxes[rank]->parked = false;
    clusters[rank]->start(&schedules[rank]);
    if (!isLocal(static_cast<int64_t>(rank)))
      continue;
    ++ranksHere;
    ready.push_back(static_cast<int64_t>(rank));
  }
  ST_RETURN_IF_ERROR(runStep(std::min<int64_t>(hostThreads, ranksHere)));
  return checkFinished();
}

absl::Status DataEngine::checkFinished() const {
  // Every cluster has advanced as far as it can, independent of thread timing, so the report is
  // deterministic.
  for (const auto &cluster : clusters)
    if (absl::Status fault = cluster->fault(); !fault.ok())
      return fault;
  std::string waits;
  int stuck = 0;
  for (size_t rank = 0; rank < clusters.size(); ++rank)
    if (isLocal(static_cast<int64_t>(rank)) && !clusters[rank]->finished() && ++stuck <= 8)
      absl::StrAppend(&waits, "; ", clusters[rank]->describeWaits());
  if (stuck)
    return absl::FailedPreconditionError(
        absl::StrCat("deadlock: ", stuck, " of ", clusters.size(), " ranks wait forever", waits));
  for (size_t rank = 0; rank < inboxes.size(); ++rank)
    for (const auto &channel : inboxes[rank]->channels)
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

std::vector<double> DataEngine::computeSeconds() const {
  std::vector<double> seconds;
  for (const auto &cluster : clusters)
    seconds.push_back(cluster->seconds);
  return seconds;
}

std::vector<ExecutedWork> DataEngine::executedWork() const {
  std::vector<ExecutedWork> work;
  for (const auto &cluster : clusters)
    work.push_back(cluster->executed);
  return work;
}

std::vector<int64_t> DataEngine::executedRecord(int64_t rank) const {
  const ClusterRun &cluster = *clusters[static_cast<size_t>(rank)];
  std::vector<int64_t> record = {static_cast<int64_t>(cluster.executed.tasks.size())};
  for (const TaskWork &task : cluster.executed.tasks)
    for (const auto member : kTaskWork)
      record.push_back(task.*member);
  record.push_back(static_cast<int64_t>(cluster.executed.sentTo.size()));
  for (const auto &[peer, bytes] : cluster.executed.sentTo)
    record.insert(record.end(), {peer, bytes});
  record.push_back(static_cast<int64_t>(cluster.loaded.size()));
  for (const auto &[place, values] : cluster.loaded) {
    record.insert(record.end(), {static_cast<int64_t>(place.first), place.second,
                                 static_cast<int64_t>(values.size())});
    record.insert(record.end(), values.begin(), values.end());
  }
  return record;
}

absl::Status DataEngine::setExecutedRecord(int64_t rank, absl::Span<const int64_t> record) {
  ClusterRun &cluster = *clusters[static_cast<size_t>(rank)];
  bool isTruncated = false;
  const auto next = [&] {
    isTruncated |= record.empty();
    const int64_t number = record.empty() ? 0 : record.front();
    record.remove_prefix(record.empty() ? 0 : 1);
    return number;
  };
  cluster.executed = {};
  cluster.loaded.clear();
  for (int64_t tasks = next(); tasks > 0 && !isTruncated; --tasks) {
    TaskWork &task = cluster.executed.tasks.emplace_back();
    for (const auto member : kTaskWork)
      task.*member = next();
  }
  for (int64_t peers = next(); peers > 0 && !isTruncated; --peers) {
    const int64_t peer = next();
    cluster.executed.sentTo[peer] = next();
  }
  for (int64_t places = next(); places > 0 && !isTruncated; --places) {
    const int64_t task = next(), stream = next();
    std::vector<int64_t> &values =
        cluster.loaded[{static_cast<size_t>(task), static_cast<uint32_t>(stream)}];
    for (int64_t count = next(); count > 0 && !isTruncated; --count)
      values.push_back(next());
  }
  if (isTruncated || !record.empty())
    return absl::InternalError(
        absl::StrCat("the results of rank ", rank, " arrived damaged from its process"));
  return absl::OkStatus();
}

} // namespace st::dtu
