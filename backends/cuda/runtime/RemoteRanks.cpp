#include "backends/cuda/runtime/RemoteRanks.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

#include <set>
#include <utility>
#include <vector>

namespace st::cuda {
namespace {

using Channels = std::set<Exchange::Channel>;
using Commands = google::protobuf::RepeatedPtrField<proto::CudaCommand>;

/// Adds the channels by which a rank sends to others.
void addChannels(const Commands &commands, int64_t rank, absl::Span<const int64_t> table,
                 Channels &channels) {
  for (const proto::CudaCommand &command : commands) {
    if (command.has_loop()) {
      addChannels(command.loop().body(), rank, table, channels);
    } else if (command.has_send()) {
      const int64_t to = table[static_cast<size_t>(command.send().peer())];
      if (to >= 0)
        channels.insert({rank, to, command.send().channel()});
    } else if (command.has_exchange()) {
      for (int64_t i = 0; i < command.exchange().count(); ++i)
        channels.insert(
            {rank, table[static_cast<size_t>(command.exchange().first() + i)], kExchangeChannel});
    }
  }
}

absl::StatusOr<Channels> findChannels(const proto::Executable &program) {
  Channels channels;
  for (const proto::Group &group : program.groups())
    for (const proto::Task &task : group.tasks()) {
      proto::CudaProgram decoded;
      if (!decoded.ParseFromString(task.program()))
        return absl::InvalidArgumentError(absl::StrCat("task \"", task.name(), "\" is no program"));
      for (int rank = 0; rank < group.device_ids_size(); ++rank)
        addChannels(decoded.commands(), group.first_rank() + rank,
                    absl::MakeSpan(group.rank_tables().data() + rank * group.table_size(),
                                   static_cast<size_t>(group.table_size())),
                    channels);
    }
  return channels;
}

} // namespace

absl::StatusOr<RemoteRanks> RemoteRanks::create(const proto::Executable &program,
                                                Communicator &communicator) {
  RemoteRanks remote;
  remote.communicator = &communicator;
  if (communicator.numProcesses() == 1)
    return remote;
  ST_ASSIGN_OR_RETURN(Channels channels, findChannels(program));
  std::map<std::pair<int64_t, int64_t>, int> used; // between two processes
  for (const Exchange::Channel &channel : channels) {
    const std::pair<int64_t, int64_t> ends = {communicator.processOf(channel.from),
                                              communicator.processOf(channel.to)};
    if (ends.first == ends.second)
      continue;
    int &number = used[ends];
    if (number > kMostChannel)
      return absl::UnimplementedError(absl::StrCat("process ", ends.first, " sends to process ",
                                                   ends.second, " on more than ", kMostChannel + 1,
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
  // A rank of another process that sends nothing on this channel would be waited for in vain.
  const auto it = numbers.find(channel);
  if (it == numbers.end())
    return absl::InvalidArgumentError(absl::StrCat("rank ", channel.to, " waits for what rank ",
                                                   channel.from, " never sends: ", what));
  std::vector<uint8_t> message(static_cast<size_t>(bytes));
  ST_RETURN_IF_ERROR(communicator->receive(
      absl::MakeSpan(message), {communicator->processOf(channel.from), it->second, what}));
  return device.write(to, message);
}

} // namespace st::cuda
