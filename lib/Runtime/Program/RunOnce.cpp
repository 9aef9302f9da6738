#include "lib/Runtime/Program/RunOnce.h"
#include "lib/Runtime/Data/ValueRange.h"
#include "lib/Runtime/HostMemory.h"
#include "lib/Runtime/Parallel.h"
#include "lib/Runtime/Program/Prediction.h"
#include "lib/Runtime/State/Pretrained.h"
#include "lib/Runtime/State/States.h"

#include "absl/strings/str_cat.h"
#include "lib/Support/Safetensors.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <map>
#include <memory>
#include <set>
#include <vector>

namespace st {
namespace {

class OneRun {
public:
  OneRun(const proto::Executable &program, const RunOnceOptions &options)
      : program(program), options(options) {}

  /// Opens the files and checks them against the program.
  absl::Status open();

  absl::Status run(Executable &executable);
  absl::Status write() const;
  std::string note() const { return weights ? weights->note() : ""; }

private:
  struct Result {
    SafetensorsSpec spec;
    std::vector<uint8_t> bytes;
  };

  absl::Status error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(given->path(), ": ", what));
  }
  absl::Status check(const std::string &name, ElementType type, const std::vector<int64_t> &shape);
  absl::Status checkInputs();
  absl::Status checkNothingElse() const;
  absl::Status feedStates(Executable &executable) const;
  absl::Status feedInputs(Executable &executable) const;
  absl::Status collect(Executable &executable);
  absl::Status take(const proto::Output &output, int64_t rank, int64_t globalRank,
                    Executable &executable);

  const proto::Executable &program;
  const RunOnceOptions &options;
  std::vector<StateTensor> states;
  std::unique_ptr<SafetensorsReader> given;
  std::unique_ptr<PretrainedWeights> weights;
  std::set<std::string> wanted;
  std::map<std::string, Result> results;
};

absl::Status OneRun::open() {
  ST_ASSIGN_OR_RETURN(states, collectStates(program));
  ST_ASSIGN_OR_RETURN(given, SafetensorsReader::open(options.inputs));
  if (!options.init.empty()) {
    ST_ASSIGN_OR_RETURN(weights, PretrainedWeights::open(options.init, program, states));
  } else {
    for (const StateTensor &state : states)
      ST_RETURN_IF_ERROR(check(state.state->name(), state.type, state.shape));
  }
  ST_RETURN_IF_ERROR(checkInputs());
  return checkNothingElse();
}

absl::Status OneRun::check(const std::string &name, ElementType type,
                           const std::vector<int64_t> &shape) {
  wanted.insert(name);
  const SafetensorsTensor *tensor = given->find(name);
  if (!tensor)
    return error(absl::StrCat("no tensor \"", name, "\", which the program reads"));
  if (!holdsElements(tensor->type, tensor->shape, type, shape))
    return error(absl::StrCat("tensor \"", name, "\" is ",
                              describeType(tensor->type, tensor->shape), ", the program reads ",
                              describeType(type, shape)));
  return absl::OkStatus();
}

absl::Status OneRun::checkInputs() {
  for (const proto::Group &group : program.groups())
    for (const proto::Input &input : group.inputs()) {
      const TensorBlock full = blockOf(input.global(), proto::Slice(), 0);
      ST_RETURN_IF_ERROR(check(input.name(), full.type, full.globalShape));
      const ValueRange range = {input.name(), input.limit()};
      if (std::string what = findOutside(range, *given->find(input.name()), 1); !what.empty())
        return error(what);
    }
  return absl::OkStatus();
}

absl::Status OneRun::checkNothingElse() const {
  for (const SafetensorsTensor &tensor : given->tensors())
    if (!wanted.count(tensor.name))
      return error(absl::StrCat("tensor ", quoteForMessage(tensor.name),
                                " is not an input of the program",
                                weights ? ", whose states come from --init" : ""));
  return absl::OkStatus();
}

absl::Status OneRun::feedStates(Executable &executable) const {
  if (weights) {
    ST_RETURN_IF_ERROR(
        initializeStates(states, executable, options.seed, hostThreadCount(options.hostThreads)));
    return weights->apply(executable);
  }
  std::vector<StateValues> values;
  for (const StateTensor &state : states)
    values.push_back({&state, given->find(state.state->name())->data.data()});
  return writeStates(values, executable, hostThreadCount(options.hostThreads));
}

absl::Status OneRun::feedInputs(Executable &executable) const {
  std::vector<uint8_t> local;
  for (const proto::Group &group : program.groups())
    for (int64_t rank = 0; rank < group.device_ids_size(); ++rank)
      for (const proto::Input &input : group.inputs()) {
        const uint8_t *global = given->find(input.name())->data.data();
        const int64_t parts = input.micro_dim() < 0 ? 1 : program.micro_batches();
        for (int64_t part = 0; part < parts; ++part) {
          const TensorBlock block = blockOf(input, program.micro_batches(), part, rank);
          local.assign(block.numBytes(), 0);
          copyToLocal(block, global, local.data());
          ST_RETURN_IF_ERROR(executable.arena(group.first_rank() + rank)
                                 ->write(input.offset() + part * input.micro_stride(), local));
        }
      }
  return absl::OkStatus();
}

absl::Status OneRun::take(const proto::Output &output, int64_t rank, int64_t globalRank,
                          Executable &executable) {
  const TensorBlock full = blockOf(output.global(), proto::Slice(), 0);
  auto [it, isNew] = results.try_emplace(output.name());
  Result &result = it->second;
  if (isNew) {
    result.spec = {output.name(), full.type, full.globalShape};
    result.bytes.resize(full.numBytes());
  }
  for (int64_t part = 0; part < countParts(output, program.micro_batches()); ++part) {
    const TensorBlock block = blockOf(output, program.micro_batches(), part, rank);
    std::vector<uint8_t> local(block.numBytes());
    ST_RETURN_IF_ERROR(
        executable.arena(globalRank)
            ->read(output.offset() + part * output.micro_stride(), absl::MakeSpan(local)));
    copyToGlobal(block, local.data(), result.bytes.data());
  }
  return absl::OkStatus();
}

absl::Status OneRun::collect(Executable &executable) {
  for (const StateTensor &state : states) {
    Result &result = results[state.state->name()];
    result.spec = {state.state->name(), state.type, state.shape};
    ST_ASSIGN_OR_RETURN(result.bytes, readState(state, executable));
  }
  for (const proto::Group &group : program.groups())
    for (int64_t rank = 0; rank < group.device_ids_size(); ++rank)
      for (const proto::Output &output : group.outputs())
        ST_RETURN_IF_ERROR(take(output, rank, group.first_rank() + rank, executable));
  return absl::OkStatus();
}

absl::Status OneRun::run(Executable &executable) {
  ST_RETURN_IF_ERROR(feedStates(executable));
  ST_RETURN_IF_ERROR(feedInputs(executable));
  ST_RETURN_IF_ERROR(executable.launchStep().wait());
  return collect(executable);
}

absl::Status OneRun::write() const {
  std::vector<SafetensorsTensor> tensors;
  for (const auto &[name, result] : results) {
    SafetensorsTensor &tensor = tensors.emplace_back();
    static_cast<SafetensorsSpec &>(tensor) = result.spec;
    tensor.data = result.bytes;
  }
  return writeSafetensors(options.outputs, tensors);
}

} // namespace

absl::StatusOr<std::string> runOnce(const proto::Executable &program, Client &client,
                                    const Communicator &communicator,
                                    const RunOnceOptions &options) {
  const bool writes = communicator.process() == 0;
  if (writes)
    ST_RETURN_IF_ERROR(AtomicFile::probe(options.outputs));
  OneRun run(program, options);
  ST_RETURN_IF_ERROR(run.open());
  ST_RETURN_IF_ERROR(checkHostMemory(program));
  ST_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable, client.load(program));
  ST_RETURN_IF_ERROR(run.run(*executable));
  if (writes)
    ST_RETURN_IF_ERROR(run.write());
  std::string compared;
  if (program.has_prediction() && executable->isSimulated()) {
    // All processes gather the work of each process.
    ST_ASSIGN_OR_RETURN(StepTime time, executable->timeStep(nullptr, nullptr));
    ST_ASSIGN_OR_RETURN(StepWork executed, executable->lastStepWork());
    compared = comparePrediction(program, time, &executed);
  }
  return writes ? run.note() + compared : "";
}

} // namespace st
