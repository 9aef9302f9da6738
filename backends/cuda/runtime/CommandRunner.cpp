#include "backends/cuda/runtime/CommandRunner.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"

namespace st::cuda {

Address CommandRunner::addressOf(const proto::CudaPlace &place) const {
  int64_t offset = place.offset() + microBatch % place.slots() * place.stride();
  if (place.has_position())
    offset += entry(place.position()) * place.position_stride();
  return (place.scratch() ? rank.scratch : rank.arena) + static_cast<Address>(offset);
}

absl::Status CommandRunner::launch(const proto::CudaLaunch &launch) {
  std::vector<Address> arguments;
  for (const proto::CudaPlace &place : launch.arguments())
    arguments.push_back(addressOf(place));
  return rank.stream->launch(launch.kernel(), arguments);
}

absl::Status CommandRunner::copy(const proto::CudaCopy &copy) {
  return rank.stream->copy(addressOf(copy.to()), copy.to_pitch(), addressOf(copy.from()),
                           copy.from_pitch(), {copy.row_bytes(), copy.rows()});
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

std::string CommandRunner::where(absl::string_view what) const {
  return absl::StrCat(what, " in task \"", task, "\" of rank ", rank.number, ", micro-batch ",
                      microBatch);
}

// Members of this process read each other's memory; to others go messages.
absl::Status CommandRunner::swap(const proto::CudaExchange &command) {
  const auto members = rank.table.subspan(static_cast<size_t>(command.first()),
                                          static_cast<size_t>(command.count()));
  const Exchange::Pieces own = {addressOf(command.from()), command.from_stride(), command.bytes()};
  const Address to = addressOf(command.to());
  auto pieceOf = [](Address first, int64_t stride, size_t number) {
    return first + static_cast<Address>(stride * static_cast<int64_t>(number));
  };
  std::vector<int64_t> here;
  std::vector<size_t> places; // of those that are here, among the members
  size_t self = 0;
  ST_RETURN_IF_ERROR(rank.stream->wait());
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i] == rank.number)
      self = i;
    if (remote.isHere(members[i])) {
      here.push_back(members[i]);
      places.push_back(i);
      continue;
    }
    ST_RETURN_IF_ERROR(remote.send({rank.number, members[i], kExchangeChannel},
                                   where(command.name()), *rank.device,
                                   pieceOf(own.first, own.stride, i), own.bytes));
  }
  ST_ASSIGN_OR_RETURN(std::vector<Exchange::Pieces> brought, exchange.meet(here, rank.number, own));
  for (size_t i = 0; i < here.size(); ++i) {
    if (brought[i].bytes != own.bytes)
      return absl::InvalidArgumentError(absl::StrCat(where(command.name()), ": rank ", here[i],
                                                     " has pieces of ", brought[i].bytes,
                                                     " bytes, expected ", own.bytes));
    ST_RETURN_IF_ERROR(rank.stream->copy(pieceOf(to, command.to_stride(), places[i]), 0,
                                         pieceOf(brought[i].first, brought[i].stride, self), 0,
                                         {own.bytes, 1}));
  }
  for (size_t i = 0; i < members.size(); ++i)
    if (!remote.isHere(members[i]))
      ST_RETURN_IF_ERROR(remote.receive({members[i], rank.number, kExchangeChannel},
                                        where(command.name()), *rank.device,
                                        pieceOf(to, command.to_stride(), i), own.bytes));
  // Before anybody writes over what others read.
  ST_RETURN_IF_ERROR(rank.stream->wait());
  return exchange.meet(here, rank.number, own).status();
}

absl::Status CommandRunner::send(const proto::CudaSend &send) {
  const int64_t to = entry(send.peer());
  if (to < 0)
    return absl::OkStatus();
  if (!remote.isHere(to)) {
    ST_RETURN_IF_ERROR(rank.stream->wait());
    return remote.send({rank.number, to, send.channel()}, where(absl::StrCat("send to rank ", to)),
                       *rank.device, addressOf(send.from()), send.bytes());
  }
  ST_ASSIGN_OR_RETURN(Address place, exchange.takePlace(*rank.device, send.bytes()));
  ST_RETURN_IF_ERROR(rank.stream->copy(place, 0, addressOf(send.from()), 0, {send.bytes(), 1}));
  ST_RETURN_IF_ERROR(rank.stream->wait());
  exchange.send({rank.number, to, send.channel()}, {place, send.bytes()});
  return absl::OkStatus();
}

absl::Status CommandRunner::receive(const proto::CudaReceive &receive) {
  const int64_t from = entry(receive.peer());
  const Address to = addressOf(receive.to());
  if (from < 0)
    return rank.stream->zero(to, 0, {receive.bytes(), 1});
  if (!remote.isHere(from)) {
    // What is still to be done may read what lies there now.
    ST_RETURN_IF_ERROR(rank.stream->wait());
    return remote.receive({from, rank.number, receive.channel()},
                          where(absl::StrCat("message of rank ", from)), *rank.device, to,
                          receive.bytes());
  }
  ST_ASSIGN_OR_RETURN(Exchange::Message message,
                      exchange.receive({from, rank.number, receive.channel()}));
  if (message.bytes != receive.bytes())
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", from, " sends ", message.bytes, " bytes on channel ",
                     receive.channel(), ", rank ", rank.number, " expects ", receive.bytes()));
  ST_RETURN_IF_ERROR(rank.stream->copy(to, 0, message.place, 0, {message.bytes, 1}));
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
  case proto::CudaCommand::kExchange:
    return swap(command.exchange());
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

absl::Status CommandRunner::run(const proto::CudaProgram &program, absl::string_view name,
                                int64_t number) {
  task = name;
  microBatch = number;
  return run(program.commands());
}

} // namespace st::cuda
