#include "backends/cuda/runtime/communication/RemoteRanks.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

#include <set>
#include <utility>
#include <vector>

namespace st::cuda {
absl::StatusOr<RemoteRanks> RemoteRanks::create(const ProgramPeers &peers,
                                                Communicator &communicator) {
  RemoteRanks remote;
  remote.communicator = &communicator;
  std::set<Exchange::Channel> channels = peers.channels;
  for (const std::vector<int64_t> &members : peers.exchanges)
    for (int64_t from : members)
      for (int64_t to : members)
        channels.insert({from, to, kExchangeChannel});
  std::map<std::pair<int64_t, int64_t>, int> used; // number of channels between two processes
  for (const Exchange::Channel &channel : channels) {
    const std::pair<int64_t, int64_t> ends = {communicator.processOf(channel.from),
                                              communicator.processOf(channel.to)};
    if (ends.first == ends.second)
      continue;
    int &number = used[ends];
    if (number > kMaxChannel)
      return absl::UnimplementedError(absl::StrCat("process ", ends.first, " sends to process ",
                                                   ends.second, " on more than ", kMaxChannel + 1,
                                                   " channels; start more processes"));
    remote.numbers[channel] = number++;
  }
  return remote;
}

absl::Status RemoteRanks::send(const Exchange::Channel &channel, absl::string_view what,
                               GpuDevice &device, Address from, int64_t bytes) const {
  std::vector<uint8_t> message(static_cast<size_t>(bytes));
  ST_RETURN_IF_ERROR(device.read(from, absl::MakeSpan(message)));
  return communicator->send(message,
                            {communicator->processOf(channel.to), numbers.at(channel), what});
}

absl::Status RemoteRanks::receive(const Exchange::Channel &channel, absl::string_view what,
                                  GpuDevice &device, Address to, int64_t bytes) const {
  // The wait would never end if the remote rank sends no message on this channel.
  const auto it = numbers.find(channel);
  if (it == numbers.end())
    return absl::InvalidArgumentError(absl::StrCat("rank ", channel.to,
                                                   " waits for a message that rank ", channel.from,
                                                   " never sends: ", what));
  std::vector<uint8_t> message(static_cast<size_t>(bytes));
  ST_RETURN_IF_ERROR(communicator->receive(
      absl::MakeSpan(message), {communicator->processOf(channel.from), it->second, what}));
  return device.write(to, message);
}

} // namespace st::cuda
