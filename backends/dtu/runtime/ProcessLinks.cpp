#include "backends/dtu/runtime/ProcessLinks.h"

#include "backends/dtu/simulator/Simulator.h"
#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"

namespace st::dtu {
namespace {

constexpr int kLinkChannel = 0; // of the communicator
constexpr absl::string_view kWhat = "a link message of the simulated step";

template <typename T> absl::Span<uint8_t> bytesOf(T &value) {
  return {reinterpret_cast<uint8_t *>(&value), sizeof(value)};
}

absl::Span<uint8_t> bytesOf(std::vector<int64_t> &values) {
  return {reinterpret_cast<uint8_t *>(values.data()), values.size() * sizeof(int64_t)};
}

} // namespace

ProcessLinks::ProcessLinks(Communicator &communicator)
    : communicator(communicator), sending(static_cast<size_t>(communicator.numProcesses())) {}

absl::Status ProcessLinks::send(const RemoteMessage &message, const uint8_t *data) {
  const int64_t process = processOf(message.destination);
  const Peer peer = {process, kLinkChannel, kWhat};
  RemoteMessage header = message;
  std::lock_guard<std::mutex> lock(sending[static_cast<size_t>(process)]);
  ST_RETURN_IF_ERROR(communicator.send(bytesOf(header), peer));
  return communicator.send({data, static_cast<size_t>(message.bytes)}, peer);
}

absl::StatusOr<RemoteMessage> ProcessLinks::receive(int64_t process) {
  RemoteMessage message;
  ST_RETURN_IF_ERROR(communicator.receive(bytesOf(message), {process, kLinkChannel, kWhat}));
  return message;
}

absl::Status ProcessLinks::receiveBytes(int64_t process, absl::Span<uint8_t> bytes) {
  return communicator.receive(bytes, {process, kLinkChannel, kWhat});
}

absl::Status shareExecuted(Simulator &simulator, Communicator &communicator) {
  for (int64_t rank = 0; communicator.numProcesses() > 1 && rank < simulator.numRanks(); ++rank) {
    const int64_t owner = communicator.processOf(rank);
    std::vector<int64_t> record;
    if (owner == communicator.process())
      record = simulator.executedRecord(rank);
    int64_t size = static_cast<int64_t>(record.size());
    ST_RETURN_IF_ERROR(communicator.broadcast(bytesOf(size), owner));
    record.resize(static_cast<size_t>(size));
    ST_RETURN_IF_ERROR(communicator.broadcast(bytesOf(record), owner));
    if (owner != communicator.process())
      ST_RETURN_IF_ERROR(simulator.setExecutedRecord(rank, record));
  }
  return absl::OkStatus();
}

} // namespace st::dtu
