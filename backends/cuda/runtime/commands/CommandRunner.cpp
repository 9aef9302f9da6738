#include "backends/cuda/runtime/commands/CommandRunner.h"

#include "backends/cuda/runtime/trial/CommandTrial.h"
#include "lib/Support/ProcessEnd.h"
#include "lib/Support/StatusMacros.h"

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace st::cuda {

/// Limits of graphs: a graph of fewer commands saves no time, and every graph of a rank takes GPU
/// memory.
static constexpr int64_t kMinRecorded = 3, kMaxRecorded = 200000;

Address CommandRunner::addressOf(const proto::CudaPlace &place) const {
  const Address address = (place.scratch() ? rank.scratch : rank.arena) +
                          static_cast<Address>(offsetOf(place, context));
  return trial ? trial->translate(address) : address;
}

absl::Status CommandRunner::launch(const proto::CudaLaunch &launch) {
  std::vector<Address> arguments;
  for (const proto::CudaPlace &place : launch.arguments())
    arguments.push_back(addressOf(place));
  return stream->launch(launch.kernel(), arguments);
}

absl::Status CommandRunner::copy(const proto::CudaCopy &copy) {
  return stream->copy(addressOf(copy.to()), copy.to_pitch(), addressOf(copy.from()),
                      copy.from_pitch(), {copy.row_bytes(), copy.rows()});
}

ProductOperands CommandRunner::operandsOf(const proto::CudaProduct &product) const {
  ProductOperands operands{addressOf(product.a()), addressOf(product.b()), addressOf(product.d())};
  if (product.has_addend())
    operands.addend = addressOf(product.addend());
  if (product.has_bias())
    operands.bias = addressOf(product.bias());
  if (product.has_aux())
    operands.aux = addressOf(product.aux());
  if (product.has_sums())
    operands.sums = addressOf(product.sums());
  return operands;
}

absl::Status CommandRunner::prepare(GpuStream &chosen, const proto::CudaAttention &attention,
                                    Implementations &implementations) {
  CommandTrial tried(*this, chosen, attention, implementations);
  const absl::Status able = implementations.attention.usesLibrary
                                ? chosen.prepare(attention, tried)
                                : absl::CancelledError("another implementation is requested");
  if (able.ok()) {
    ++implementations.attention.byLibrary;
    return absl::OkStatus();
  }
  ++implementations.attention.byKernels;
  implementations.attention.refused.Update(able);
  return prepare(attention.body(), implementations);
}

absl::Status CommandRunner::prepare(GpuStream &chosen, const proto::CudaProduct &product,
                                    Implementations &implementations) {
  ProductImplementations &known = implementations.products;
  CommandTrial tried(*this, chosen, product, implementations);
  const absl::StatusOr<bool> able =
      chosen.prepare(product, operandsOf(product), known.areTimed ? &tried : nullptr);
  if (product.body().empty())
    return able.status();
  if (able.ok() && *able) {
    ++known.fused;
    return absl::OkStatus();
  }
  if (!able.ok() && !absl::IsUnimplemented(able.status()))
    return able.status();
  ++(able.ok() ? known.slower : known.refused);
  known.reason.Update(able.status());
  return prepare(product.body(), implementations);
}

absl::Status CommandRunner::prepare(const Commands &commands, Implementations &implementations) {
  for (const proto::CudaCommand &command : commands) {
    GpuStream &chosen = command.aside() ? *rank.aside : *rank.stream;
    if (command.has_loop())
      ST_RETURN_IF_ERROR(prepare(command.loop().body(), implementations));
    else if (command.has_attention())
      ST_RETURN_IF_ERROR(prepare(chosen, command.attention(), implementations));
    else if (command.has_product())
      ST_RETURN_IF_ERROR(prepare(chosen, command.product(), implementations));
  }
  return absl::OkStatus();
}

absl::Status CommandRunner::prepare(const proto::CudaProgram &program,
                                    Implementations &implementations) {
  return prepare(program.commands(), implementations);
}

absl::Status CommandRunner::multiply(const proto::CudaProduct &product) {
  return product.body().empty() || stream->canMultiply(product)
             ? stream->multiply(product, operandsOf(product))
             : run(product.body());
}

AttentionOperands CommandRunner::operandsOf(const proto::CudaAttention &attention) const {
  AttentionOperands operands;
  operands.q = addressOf(attention.q().place());
  operands.k = addressOf(attention.k().place());
  operands.v = addressOf(attention.v().place());
  auto addressIf = [&](bool isThere, const proto::CudaPlace &place) {
    return isThere ? addressOf(place) : Address{0};
  };
  operands.o = addressIf(attention.has_o(), attention.o().place());
  operands.bias = addressIf(attention.has_bias(), attention.bias().place());
  operands.max = addressIf(attention.has_max(), attention.max());
  operands.sum = addressIf(attention.has_sum(), attention.sum());
  operands.dO = addressIf(attention.has_d_o(), attention.d_o().place());
  operands.dQ = addressIf(attention.has_d_q(), attention.d_q().place());
  operands.dK = addressIf(attention.has_d_k(), attention.d_k().place());
  operands.dV = addressIf(attention.has_d_v(), attention.d_v().place());
  return operands;
}

absl::Status CommandRunner::attend(const proto::CudaAttention &attention) {
  return stream->canAttend(attention) ? stream->attend(attention, operandsOf(attention))
                                      : run(attention.body());
}

absl::Status CommandRunner::repeat(const proto::CudaLoop &loop) {
  if (!loop.has_predicate()) {
    for (int64_t trip = 0; trip < loop.trips(); ++trip)
      ST_RETURN_IF_ERROR(run(loop.body()));
    return absl::OkStatus();
  }
  while (true) {
    uint8_t holds = 0;
    ST_RETURN_IF_ERROR(transfers.wait(*stream));
    ST_RETURN_IF_ERROR(rank.device->read(addressOf(loop.predicate()), absl::MakeSpan(&holds, 1)));
    if (!holds)
      return absl::OkStatus();
    ST_RETURN_IF_ERROR(run(loop.body()));
  }
}

absl::Status CommandRunner::submitTimed(const proto::CudaCommand &command) {
  if (!rank.recorder)
    return submit(command);
  ST_ASSIGN_OR_RETURN(Mark start, rank.recorder->start(*stream));
  ST_RETURN_IF_ERROR(submit(command));
  const bool isAside = stream == rank.aside.get();
  return rank.recorder->end(*stream,
                            isAside ? StepRecorder::Row::Transfers : StepRecorder::Row::Kernels,
                            labelOf(command, context), std::move(start));
}

/// Code that carries bytes between ranks reports its own errors.
absl::Status CommandRunner::named(const absl::Status &status,
                                  const proto::CudaCommand &command) const {
  if (status.ok() || absl::StrContains(status.message(), " in task \""))
    return status;
  return absl::Status(status.code(), absl::StrCat(transfers.where(describe(command, context)), ": ",
                                                  status.message()));
}

absl::Status CommandRunner::submit(const proto::CudaCommand &command) {
  switch (command.what_case()) {
  case proto::CudaCommand::kLaunch:
    return launch(command.launch());
  case proto::CudaCommand::kCopy:
    return copy(command.copy());
  case proto::CudaCommand::kProduct:
    return multiply(command.product());
  case proto::CudaCommand::kLoop:
    return repeat(command.loop());
  case proto::CudaCommand::kAttention:
    return attend(command.attention());
  case proto::CudaCommand::kIndex:
    return stream->writeWord(addressOf(command.index().to()),
                             static_cast<uint32_t>(command.index().has_entry()
                                                       ? entry(command.index().entry())
                                                       : context.microBatch));
  case proto::CudaCommand::kExchange:
    return transfers.swap(*stream, command.exchange(), addressOf(command.exchange().from()),
                          addressOf(command.exchange().to()));
  case proto::CudaCommand::kSend:
    return transfers.send(*stream, command.send(), addressOf(command.send().from()));
  case proto::CudaCommand::kReceive:
    return transfers.receive(*stream, command.receive(), addressOf(command.receive().to()));
  case proto::CudaCommand::WHAT_NOT_SET:
    break;
  }
  return absl::InternalError("a command has no kind");
}

/// The amount of work of a command that involves only one stream; 0 if other ranks or the host take
/// part.
static int64_t countWork(const proto::CudaCommand &command) {
  switch (command.what_case()) {
  case proto::CudaCommand::kExchange:
  case proto::CudaCommand::kSend:
  case proto::CudaCommand::kReceive:
    return 0;
  case proto::CudaCommand::kLoop:
    break;
  default:
    return 1;
  }
  if (command.loop().has_predicate())
    return 0;
  int64_t body = 0;
  for (const proto::CudaCommand &each : command.loop().body()) {
    const int64_t work = countWork(each);
    if (work == 0)
      return 0;
    body = std::min(body + work, kMaxRecorded);
  }
  int64_t all = 0;
  return __builtin_mul_overflow(body, command.loop().trips(), &all) ? kMaxRecorded : all;
}

/// Returns true if a command runs as the commands of its body.
bool CommandRunner::runsBody(const proto::CudaCommand &command) const {
  return command.has_loop() ||
         (command.has_attention() && !stream->canAttend(command.attention())) ||
         (!command.product().body().empty() && !stream->canMultiply(command.product()));
}

absl::Status CommandRunner::run(const proto::CudaCommand &command) {
  if (isDone(command))
    return absl::OkStatus();
  if (runsBody(command))
    return submit(command); // The commands of the body pass through this function as well.
  if (!rank.oneByOne)
    return named(submitTimed(command), command);
  return rank.oneByOne->run(/*waitsForOthers=*/countWork(command) == 0, [&] {
    // Names the running command if the process is ended during it, for example because a kernel
    // never ends.
    const NotedOnEarlyEnd noted(
        absl::StrCat("waiting for ", transfers.where(describe(command, context))));
    absl::Status status = submitTimed(command);
    if (status.ok())
      status = transfers.wait(*stream);
    return named(status, command);
  });
}

template <class RunAll>
void CommandRunner::record(Rank::Recording &recording, int64_t count, RunAll runAll) {
  absl::Status status = stream->beginRecording();
  if (status.ok()) {
    status = runAll();
    absl::StatusOr<std::unique_ptr<GpuGraph>> graph = stream->endRecording();
    status.Update(graph.status());
    if (status.ok())
      recording.graph = *std::move(graph);
  }
  recording.isRefused = !status.ok();
  rank.recordedCommands += status.ok() ? count : 0;
  rank.graphs->count(status, transfers.where(absl::StrCat("of ", count, " commands")));
}

absl::Status CommandRunner::runTogether(const Commands &commands, int begin, int end,
                                        int64_t count) {
  auto runAll = [&] {
    absl::Status status;
    for (int i = begin; i < end && status.ok(); ++i)
      status = run(commands[i]);
    return status;
  };
  if (count < kMinRecorded || !rank.graphs || !stream->canRecord() || isTogether || rank.recorder)
    return runAll();
  isTogether = true; // Commands of loops belong to the same graph.
  absl::Cleanup apart = [&] { isTogether = false; };
  Rank::Recording &recording = rank.recordings[{&commands[begin], context.microBatch}];
  // Graphs hold the commands of later steps, which skip commands that the last update has already
  // done.
  if (!rank.left->areValid() &&
      std::any_of(commands.begin() + begin, commands.begin() + end,
                  [](const proto::CudaCommand &each) { return each.left_by_update(); })) {
    ++recording.runs;
    return runAll();
  }
  // Commands that run once are not worth a graph.
  if (!recording.graph && !recording.isRefused && recording.runs++ > 0 &&
      rank.recordedCommands + count <= kMaxRecorded)
    record(recording, count, runAll);
  if (!recording.graph)
    return runAll();
  const absl::Status status = stream->launch(*recording.graph);
  if (status.ok())
    return status;
  const bool isGraphToBlame = stream->isDone().ok(); // and not earlier work
  return absl::Status(status.code(),
                      absl::StrCat(transfers.where(absl::StrCat("graph of ", count, " commands")),
                                   ": ", status.message(),
                                   isGraphToBlame ? "; --graphs=off runs without graphs" : ""));
}

absl::Status CommandRunner::runTimed(const Commands &commands, int begin, int end, int64_t count) {
  if (!rank.timer || isTimed)
    return runTogether(commands, begin, end, count);
  isTimed = true; // Commands of loops are measured with the loop.
  absl::Cleanup after = [&] { isTimed = false; };
  GpuStream &chosen = *stream;
  ST_ASSIGN_OR_RETURN(Mark start, rank.timer->start(chosen));
  ST_RETURN_IF_ERROR(runTogether(commands, begin, end, count));
  return rank.timer->end(chosen, std::move(start));
}

absl::Status CommandRunner::runUncaptured(const Commands &commands, GpuStream &chosen) {
  stream = &chosen;
  isTogether = true; // These commands are not recorded in a graph.
  absl::Cleanup apart = [&] { isTogether = false; };
  return run(commands);
}

/// Selects the stream of a command, and makes it wait if required.
absl::Status CommandRunner::choose(const proto::CudaCommand &command) {
  stream = command.aside() ? rank.aside.get() : rank.stream.get();
  if (!command.waits())
    return absl::OkStatus();
  GpuStream &other = command.aside() ? *rank.stream : *rank.aside;
  ST_ASSIGN_OR_RETURN(Mark mark, other.mark());
  return stream->waitFor(mark);
}

absl::Status CommandRunner::run(const Commands &commands) {
  for (int next = 0; next < commands.size();) {
    const int begin = next;
    int64_t count = 0;
    for (; next < commands.size(); ++next) {
      const int64_t work = countWork(commands[next]);
      const bool continues = next == begin || (!commands[next].waits() &&
                                               commands[next].aside() == commands[begin].aside());
      if (work == 0 || !continues)
        break;
      count += isDone(commands[next]) ? 0 : work;
    }
    if (!isTogether)
      ST_RETURN_IF_ERROR(choose(commands[begin]));
    if (next > begin)
      ST_RETURN_IF_ERROR(runTimed(commands, begin, next, count));
    else
      ST_RETURN_IF_ERROR(run(commands[next++]));
  }
  return absl::OkStatus();
}

absl::Status CommandRunner::run(const proto::CudaProgram &program, absl::string_view name,
                                int64_t number) {
  transfers.enter(name, number);
  context.microBatch = number;
  Mark start;
  if (rank.recorder) {
    ST_ASSIGN_OR_RETURN(start, rank.recorder->start(*rank.stream));
  }
  ST_RETURN_IF_ERROR(run(program.commands()));
  ST_ASSIGN_OR_RETURN(Mark mark, rank.aside->mark());
  ST_RETURN_IF_ERROR(rank.stream->waitFor(mark));
  if (!rank.recorder)
    return absl::OkStatus();
  return rank.recorder->end(*rank.stream, StepRecorder::Row::Tasks,
                            absl::StrCat(name, ", micro-batch ", number), std::move(start));
}

} // namespace st::cuda
