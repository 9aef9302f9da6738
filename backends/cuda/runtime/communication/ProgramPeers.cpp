#include "backends/cuda/runtime/communication/ProgramPeers.h"

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace st::cuda {

using Commands = google::protobuf::RepeatedPtrField<proto::CudaCommand>;

/// Adds the ranks to which a rank sends.
static void addPeers(const Commands &commands, int64_t rank, absl::Span<const int64_t> table,
                     ProgramPeers &peers) {
  for (const proto::CudaCommand &command : commands) {
    if (command.has_loop()) {
      addPeers(command.loop().body(), rank, table, peers);
    } else if (command.has_send()) {
      const int64_t to = table[static_cast<size_t>(command.send().peer())];
      if (to >= 0)
        peers.channels.insert({rank, to, command.send().channel()});
    } else if (command.has_exchange()) {
      const auto members = table.subspan(static_cast<size_t>(command.exchange().first()),
                                         static_cast<size_t>(command.exchange().count()));
      peers.exchanges.insert({members.begin(), members.end()});
    }
  }
}

absl::StatusOr<ProgramPeers> ProgramPeers::find(const proto::Executable &program) {
  ProgramPeers peers;
  for (const proto::Group &group : program.groups())
    for (const proto::Task &task : group.tasks()) {
      proto::CudaProgram decoded;
      if (!decoded.ParseFromString(task.program()))
        return absl::InvalidArgumentError(
            absl::StrCat("task \"", task.name(), "\" is not a program"));
      for (int rank = 0; rank < group.device_ids_size(); ++rank)
        addPeers(decoded.commands(), group.first_rank() + rank,
                 absl::MakeSpan(group.rank_tables().data() + rank * group.table_size(),
                                static_cast<size_t>(group.table_size())),
                 peers);
    }
  return peers;
}

} // namespace st::cuda
