#include "backends/cuda/runtime/communication/GpuGroups.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

namespace st::cuda {
namespace {

constexpr size_t kIdentityBytes = 16, kGroupIdBytes = 128;

/// All-gathers values of equal size over the processes.
absl::Status shareAll(Communicator &communicator, const std::vector<size_t> &sizes,
                      std::vector<std::string> &all) {
  for (int64_t process = 0; process < communicator.numProcesses(); ++process) {
    std::string &bytes = all[static_cast<size_t>(process)];
    bytes.resize(sizes[static_cast<size_t>(process)]);
    ST_RETURN_IF_ERROR(communicator.broadcast(
        absl::MakeSpan(reinterpret_cast<uint8_t *>(bytes.data()), bytes.size()), process));
  }
  return absl::OkStatus();
}

/// The identities of the ranks' GPUs; empty if a process lacks NCCL or NCCL does not know a GPU.
absl::StatusOr<std::vector<std::string>> shareIdentities(absl::Span<GpuDevice *const> devices,
                                                         Communicator &communicator) {
  const auto processes = static_cast<size_t>(communicator.numProcesses());
  std::vector<size_t> sizes(processes);
  for (size_t rank = 0; rank < devices.size(); ++rank)
    sizes[static_cast<size_t>(communicator.processOf(static_cast<int64_t>(rank)))] +=
        kIdentityBytes;
  std::vector<std::string> all(processes);
  std::string &own = all[static_cast<size_t>(communicator.process())];
  for (GpuDevice *device : devices) {
    if (!device)
      continue;
    ST_ASSIGN_OR_RETURN(std::string identity, device->identity());
    identity.resize(kIdentityBytes);
    own += identity;
  }
  ST_RETURN_IF_ERROR(shareAll(communicator, sizes, all));
  std::vector<std::string> identities;
  std::vector<size_t> used(processes);
  for (size_t rank = 0; rank < devices.size(); ++rank) {
    const auto process = static_cast<size_t>(communicator.processOf(static_cast<int64_t>(rank)));
    identities.push_back(all[process].substr(used[process], kIdentityBytes));
    used[process] += kIdentityBytes;
    if (identities.back() == std::string(kIdentityBytes, '\0'))
      identities.back().clear();
  }
  return identities;
}

/// For each rank, the number of ranks that share its GPU. If GPUs have no identity, only ranks of
/// this process count.
std::vector<int64_t> countSharing(absl::Span<GpuDevice *const> devices,
                                  const std::vector<std::string> &identities) {
  std::vector<int64_t> counts;
  for (size_t rank = 0; rank < devices.size(); ++rank)
    counts.push_back(identities[rank].empty()
                         ? std::count(devices.begin(), devices.end(), devices[rank])
                         : std::count(identities.begin(), identities.end(), identities[rank]));
  return counts;
}

/// Returns true if each member has a separate GPU.
bool haveSeparateGpus(const std::vector<int64_t> &members,
                      const std::vector<std::string> &identities) {
  std::set<std::string> seen;
  return std::all_of(members.begin(), members.end(), [&](int64_t rank) {
    const std::string &identity = identities[static_cast<size_t>(rank)];
    return !identity.empty() && seen.insert(identity).second;
  });
}

/// Returns true if all processes have NCCL; the first process that lacks it reports this.
absl::StatusOr<bool> isNcclEverywhere(Communicator &communicator) {
  const absl::Status tried = findNccl();
  const auto processes = static_cast<size_t>(communicator.numProcesses());
  std::vector<std::string> all(processes);
  all[static_cast<size_t>(communicator.process())] = tried.ok() ? "y" : "n";
  ST_RETURN_IF_ERROR(shareAll(communicator, std::vector<size_t>(processes, 1), all));
  const auto lacking = std::find(all.begin(), all.end(), "n");
  if (lacking - all.begin() == communicator.process())
    std::fprintf(stderr, "%s; ranks exchange %s without it\n", std::string(tried.message()).c_str(),
                 processes > 1 ? "through the host's memory" : "by copies from GPU to GPU");
  return lacking == all.end();
}

/// Returns when all groups report that they are ready.
template <class AreReady>
absl::Status waitFor(const std::vector<int64_t> &members, double watchdogSeconds,
                     AreReady areReady) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  while (true) {
    ST_ASSIGN_OR_RETURN(bool ready, areReady());
    if (ready)
      return absl::OkStatus();
    const std::chrono::duration<double> passed = Clock::now() - begin;
    if (passed.count() > watchdogSeconds)
      return absl::DeadlineExceededError(absl::StrCat(
          "ranks ", absl::StrJoin(members, ", "), ": not all of them joined the NCCL group within ",
          watchdogSeconds, " s; the missing ones are considered lost"));
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

} // namespace

absl::Status GpuGroups::join(const Key &key, const std::string &id,
                             absl::Span<GpuDevice *const> devices, double watchdogSeconds) {
  std::vector<GpuGroup *> joined;
  const std::vector<int64_t> &members = key.first;
  for (size_t i = 0; i < members.size(); ++i) {
    GpuDevice *device = devices[static_cast<size_t>(members[i])];
    if (!device)
      continue;
    std::unique_ptr<GpuGroup> &group = groups[{members[i], key}];
    ST_ASSIGN_OR_RETURN(
        group, device->join({id, static_cast<int64_t>(members.size()), static_cast<int64_t>(i)}));
    joined.push_back(group.get());
  }
  ST_RETURN_IF_ERROR(waitFor(members, watchdogSeconds, [&]() -> absl::StatusOr<bool> {
    for (GpuGroup *group : joined) {
      ST_ASSIGN_OR_RETURN(bool isReady, group->isReady());
      if (!isReady)
        return false;
    }
    return true;
  }));
  return testGroup(key, devices, watchdogSeconds);
}

// The first message between two ranks sets up its route, which requires both. Inside a step, a
// sending rank would wait for the receiver, and the receiver for another rank.
absl::Status GpuGroups::testGroup(const Key &key, absl::Span<GpuDevice *const> devices,
                                  double watchdogSeconds) {
  struct Trial {
    GpuGroup *group;
    std::unique_ptr<GpuStream> stream;
  };
  const std::vector<int64_t> &members = key.first;
  const auto count = static_cast<int64_t>(members.size());
  std::vector<Trial> trials;
  for (int64_t own = 0; own < count; ++own) {
    const int64_t rank = members[static_cast<size_t>(own)];
    GpuDevice *device = devices[static_cast<size_t>(rank)];
    if (!device)
      continue;
    Trial &trial = trials.emplace_back();
    trial.group = groups.at({rank, key}).get();
    ST_ASSIGN_OR_RETURN(trial.stream, device->createStream());
    Address &place = places[device];
    if (!place) {
      ST_ASSIGN_OR_RETURN(place, device->allocate(2));
    }
    std::vector<GpuGroup::Piece> sent, received;
    for (int64_t other = 0; other < count; ++other) {
      if (other != own && (key.second == kExchangeChannel || own == kSender))
        sent.push_back({other, place, 1});
      if (other != own && (key.second == kExchangeChannel || own == kReceiver))
        received.push_back({other, place + 1, 1});
    }
    ST_RETURN_IF_ERROR(trial.group->transfer(*trial.stream, sent, received));
  }
  return waitFor(members, watchdogSeconds, [&]() -> absl::StatusOr<bool> {
    for (const Trial &trial : trials) {
      ST_ASSIGN_OR_RETURN(bool isReady, trial.group->isReady());
      if (!isReady)
        return false;
      ST_ASSIGN_OR_RETURN(bool isDone, trial.stream->isDone());
      if (!isDone)
        return false;
    }
    return true;
  });
}

absl::StatusOr<GpuGroups> GpuGroups::create(const ProgramPeers &peers,
                                            absl::Span<GpuDevice *const> devices,
                                            Communicator &communicator, double watchdogSeconds) {
  GpuGroups created;
  ST_ASSIGN_OR_RETURN(std::vector<std::string> identities, shareIdentities(devices, communicator));
  created.sharers = countSharing(devices, identities);
  // All processes have the same groups in the same order.
  std::vector<Key> keys;
  for (const std::vector<int64_t> &members : peers.exchanges)
    if (members.size() > 1 && haveSeparateGpus(members, identities))
      keys.push_back({members, kExchangeChannel});
  for (const Exchange::Channel &channel : peers.channels)
    if (communicator.processOf(channel.from) != communicator.processOf(channel.to) &&
        haveSeparateGpus({channel.from, channel.to}, identities))
      keys.push_back({{channel.from, channel.to}, channel.number});
  if (keys.empty())
    return created;
  ST_ASSIGN_OR_RETURN(bool isThere, isNcclEverywhere(communicator));
  if (!isThere)
    return created;
  // The process of the first member creates the group's id.
  const auto processes = static_cast<size_t>(communicator.numProcesses());
  std::vector<size_t> sizes(processes);
  std::vector<std::string> ids(processes);
  for (const Key &key : keys) {
    const int64_t owner = communicator.processOf(key.first.front());
    sizes[static_cast<size_t>(owner)] += kGroupIdBytes;
    if (owner != communicator.process())
      continue;
    ST_ASSIGN_OR_RETURN(std::string id, createGroupId());
    ids[static_cast<size_t>(owner)] += id;
  }
  ST_RETURN_IF_ERROR(shareAll(communicator, sizes, ids));
  std::vector<size_t> used(processes);
  for (const Key &key : keys) {
    const auto owner = static_cast<size_t>(communicator.processOf(key.first.front()));
    const std::string id = ids[owner].substr(used[owner], kGroupIdBytes);
    used[owner] += kGroupIdBytes;
    ST_RETURN_IF_ERROR(created.join(key, id, devices, watchdogSeconds));
  }
  return created;
}

GpuGroup *GpuGroups::find(int64_t rank, absl::Span<const int64_t> members) const {
  const auto it = groups.find({rank, {{members.begin(), members.end()}, kExchangeChannel}});
  return it == groups.end() ? nullptr : it->second.get();
}

GpuGroup *GpuGroups::find(int64_t rank, const Exchange::Channel &channel) const {
  const auto it = groups.find({rank, {{channel.from, channel.to}, channel.number}});
  return it == groups.end() ? nullptr : it->second.get();
}

} // namespace st::cuda
