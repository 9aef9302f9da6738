#include "backends/cuda/runtime/CommandRunner.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"

namespace st::cuda {

Address CommandRunner::addressOf(const proto::CudaPlace &place) const {
  const int64_t holder = place.has_peer() ? entry(place.peer()) : rank.number;
  const RankMemory &memory = memories[static_cast<size_t>(holder)];
  int64_t offset = place.offset() + microBatch % place.slots() * place.stride();
  if (place.has_position())
    offset += entry(place.position()) * place.position_stride();
  return (place.scratch() ? memory.scratch : memory.arena) + static_cast<Address>(offset);
}

absl::Status CommandRunner::launch(const proto::CudaLaunch &launch) {
  std::vector<Address> arguments;
  for (const proto::CudaPlace &place : launch.arguments())
    arguments.push_back(addressOf(place));
  return rank.stream->launch(launch.kernel(), arguments);
}

absl::Status CommandRunner::copy(const proto::CudaCopy &copy) {
  const Extent extent{copy.row_bytes(), copy.rows()};
  if (copy.from().has_peer() && entry(copy.from().peer()) < 0)
    return rank.stream->zero(addressOf(copy.to()), copy.to_pitch(), extent);
  return rank.stream->copy(addressOf(copy.to()), copy.to_pitch(), addressOf(copy.from()),
                           copy.from_pitch(), extent);
}

absl::Status CommandRunner::multiply(const proto::CudaProduct &product) {
  ProductOperands operands{addressOf(product.a()), addressOf(product.b()), addressOf(product.d())};
  if (product.has_addend())
    operands.addend = addressOf(product.addend());
  if (product.has_bias())
    operands.bias = addressOf(product.bias());
  return rank.stream->multiply(product, operands);
}

absl::Status CommandRunner::repeat(const proto::CudaLoop &loop) {
  if (!loop.has_predicate()) {
    for (int64_t trip = 0; trip < loop.trips(); ++trip)
      ST_RETURN_IF_ERROR(run(loop.body()));
    return absl::OkStatus();
  }
  while (true) {
    uint8_t holds = 0;
    ST_RETURN_IF_ERROR(rank.stream->wait());
    ST_RETURN_IF_ERROR(rank.device->read(addressOf(loop.predicate()), absl::MakeSpan(&holds, 1)));
    if (!holds)
      return absl::OkStatus();
    ST_RETURN_IF_ERROR(run(loop.body()));
  }
}

absl::Status CommandRunner::meet(const proto::CudaMeet &meet) {
  // What others read is in memory when they have come.
  ST_RETURN_IF_ERROR(rank.stream->wait());
  return exchange.meet(
      rank.table.subspan(static_cast<size_t>(meet.first()), static_cast<size_t>(meet.count())));
}

absl::Status CommandRunner::send(const proto::CudaSend &send) {
  const int64_t to = entry(send.peer());
  ST_ASSIGN_OR_RETURN(Address place, exchange.takePlace(*rank.device, send.bytes()));
  ST_RETURN_IF_ERROR(rank.stream->copy(place, 0, addressOf(send.from()), 0, {send.bytes(), 1}));
  ST_RETURN_IF_ERROR(rank.stream->wait());
  exchange.send({rank.number, to, send.channel()}, {place, send.bytes()});
  return absl::OkStatus();
}

absl::Status CommandRunner::receive(const proto::CudaReceive &receive) {
  const int64_t from = entry(receive.peer());
  ST_ASSIGN_OR_RETURN(Exchange::Message message,
                      exchange.receive({from, rank.number, receive.channel()}));
  if (message.bytes != receive.bytes())
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", from, " sends ", message.bytes, " bytes on channel ",
                     receive.channel(), ", rank ", rank.number, " expects ", receive.bytes()));
  ST_RETURN_IF_ERROR(
      rank.stream->copy(addressOf(receive.to()), 0, message.place, 0, {message.bytes, 1}));
  ST_RETURN_IF_ERROR(rank.stream->wait());
  exchange.returnPlace(message);
  return absl::OkStatus();
}

absl::Status CommandRunner::run(const proto::CudaCommand &command) {
  switch (command.what_case()) {
  case proto::CudaCommand::kLaunch:
    return launch(command.launch());
  case proto::CudaCommand::kCopy:
    return copy(command.copy());
  case proto::CudaCommand::kProduct:
    return multiply(command.product());
  case proto::CudaCommand::kLoop:
    return repeat(command.loop());
  case proto::CudaCommand::kIndex:
    return rank.stream->writeWord(addressOf(command.index().to()),
                                  static_cast<uint32_t>(command.index().has_entry()
                                                            ? entry(command.index().entry())
                                                            : microBatch));
  case proto::CudaCommand::kMeet:
    return meet(command.meet());
  case proto::CudaCommand::kSend:
    return send(command.send());
  case proto::CudaCommand::kReceive:
    return receive(command.receive());
  case proto::CudaCommand::WHAT_NOT_SET:
    break;
  }
  return absl::InternalError("a command of no kind");
}

absl::Status CommandRunner::run(const Commands &commands) {
  for (const proto::CudaCommand &command : commands)
    ST_RETURN_IF_ERROR(run(command));
  return absl::OkStatus();
}

absl::Status CommandRunner::run(const proto::CudaProgram &program, int64_t number) {
  microBatch = number;
  return run(program.commands());
}

} // namespace st::cuda
