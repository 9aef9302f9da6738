#include "backends/cuda/runtime/CommandRunner.h"

#include "lib/Support/StatusMacros.h"

#include <vector>

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
    ST_RETURN_IF_ERROR(transfers.wait());
    ST_RETURN_IF_ERROR(rank.device->read(addressOf(loop.predicate()), absl::MakeSpan(&holds, 1)));
    if (!holds)
      return absl::OkStatus();
    ST_RETURN_IF_ERROR(run(loop.body()));
  }
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
    return transfers.swap(command.exchange(), addressOf(command.exchange().from()),
                          addressOf(command.exchange().to()));
  case proto::CudaCommand::kSend:
    return transfers.send(command.send(), addressOf(command.send().from()));
  case proto::CudaCommand::kReceive:
    return transfers.receive(command.receive(), addressOf(command.receive().to()));
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
  transfers.enter(name, number);
  microBatch = number;
  return run(program.commands());
}

} // namespace st::cuda
