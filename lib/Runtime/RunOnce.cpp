#include "lib/Runtime/RunOnce.h"
#include "lib/Runtime/Parallel.h"
#include "lib/Runtime/Pretrained.h"
#include "lib/Runtime/States.h"

#include "absl/strings/str_cat.h"
#include "lib/Support/Safetensors.h"
#include "lib/Support/StatusMacros.h"

#include <map>
#include <memory>
#include <vector>

namespace st {
namespace {

class OneRun {
public:
  OneRun(const proto::Executable &program, Executable &executable, const SafetensorsReader &given)
      : program(program), executable(executable), given(given) {}

  absl::Status feedStates();
  absl::Status feedInputs();
  absl::Status collect();
  absl::Status write(const std::string &path) const;

private:
  struct Result {
    SafetensorsSpec spec;
    std::vector<uint8_t> bytes;
  };

  absl::StatusOr<const SafetensorsTensor *> find(const std::string &name,
                                                 const TensorBlock &block) const;
  absl::Status put(const SafetensorsTensor &tensor, const TensorBlock &block, int64_t rank,
                   int64_t offset);
  absl::Status take(const std::string &name, const TensorBlock &block, int64_t rank,
                    int64_t offset);

  const proto::Executable &program;
  Executable &executable;
  const SafetensorsReader &given;
  std::map<std::string, Result> results;
};

absl::StatusOr<const SafetensorsTensor *> OneRun::find(const std::string &name,
                                                       const TensorBlock &block) const {
  const SafetensorsTensor *tensor = given.find(name);
  if (!tensor)
    return absl::InvalidArgumentError(
        absl::StrCat(given.path(), ": no tensor \"", name, "\", which the program reads"));
  if (tensor->type != block.type || tensor->shape != block.globalShape)
    return absl::InvalidArgumentError(absl::StrCat(
        given.path(), ": tensor \"", name, "\" is ", describeType(tensor->type, tensor->shape),
        ", the program reads ", describeType(block.type, block.globalShape)));
  return tensor;
}

absl::Status OneRun::put(const SafetensorsTensor &tensor, const TensorBlock &block, int64_t rank,
                         int64_t offset) {
  const int64_t width = static_cast<int64_t>(byteWidth(block.type));
  absl::Status status;
  forEachRun(block, [&](int64_t global, int64_t local, int64_t count) {
    status.Update(executable.arena(rank)->write(
        offset + local * width, tensor.data.subspan(global * width, count * width)));
  });
  return status;
}

absl::Status OneRun::feedStates() {
  for (const proto::Group &group : program.groups())
    for (int64_t rank = 0; rank < group.device_ids_size(); ++rank)
      for (const proto::State &state : group.states()) {
        const TensorBlock block = blockOf(state.global(), state.slice(), rank);
        ST_ASSIGN_OR_RETURN(const SafetensorsTensor *tensor, find(state.name(), block));
        ST_RETURN_IF_ERROR(put(*tensor, block, group.first_rank() + rank, state.offset()));
      }
  return absl::OkStatus();
}

absl::Status OneRun::feedInputs() {
  for (const proto::Group &group : program.groups())
    for (int64_t rank = 0; rank < group.device_ids_size(); ++rank)
      for (const proto::Input &input : group.inputs()) {
        const int64_t parts = input.micro_dim() < 0 ? 1 : program.micro_batches();
        for (int64_t part = 0; part < parts; ++part) {
          const TensorBlock block = blockOf(input, program.micro_batches(), part, rank);
          ST_ASSIGN_OR_RETURN(const SafetensorsTensor *tensor, find(input.name(), block));
          ST_RETURN_IF_ERROR(put(*tensor, block, group.first_rank() + rank,
                                 input.offset() + part * input.micro_stride()));
        }
      }
  return absl::OkStatus();
}

absl::Status OneRun::take(const std::string &name, const TensorBlock &block, int64_t rank,
                          int64_t offset) {
  const int64_t width = static_cast<int64_t>(byteWidth(block.type));
  auto [it, isNew] = results.try_emplace(name);
  Result &result = it->second;
  if (isNew) {
    result.spec = {name, block.type, block.globalShape};
    std::optional<uint64_t> size = byteSize(block.type, block.globalShape);
    if (!size)
      return absl::ResourceExhaustedError(absl::StrCat("tensor \"", name, "\" is too large"));
    result.bytes.resize(*size);
  }
  std::vector<uint8_t> local(block.numBytes());
  ST_RETURN_IF_ERROR(executable.arena(rank)->read(offset, absl::MakeSpan(local)));
  forEachRun(block, [&](int64_t global, int64_t start, int64_t count) {
    std::copy_n(local.begin() + start * width, count * width,
                result.bytes.begin() + global * width);
  });
  return absl::OkStatus();
}

absl::Status OneRun::collect() {
  for (const proto::Group &group : program.groups())
    for (int64_t rank = 0; rank < group.device_ids_size(); ++rank) {
      for (const proto::State &state : group.states())
        ST_RETURN_IF_ERROR(take(state.name(), blockOf(state.global(), state.slice(), rank),
                                group.first_rank() + rank, state.offset()));
      for (const proto::Output &output : group.outputs())
        ST_RETURN_IF_ERROR(take(output.name(), blockOf(output.global(), output.slice(), rank),
                                group.first_rank() + rank, output.offset()));
    }
  return absl::OkStatus();
}

absl::Status OneRun::write(const std::string &path) const {
  std::vector<SafetensorsTensor> tensors;
  for (const auto &[name, result] : results) {
    SafetensorsTensor &tensor = tensors.emplace_back();
    static_cast<SafetensorsSpec &>(tensor) = result.spec;
    tensor.data = result.bytes;
  }
  return writeSafetensors(path, tensors);
}

// The states of a run that begins with the weights of a folder; what to say about them.
absl::StatusOr<std::string> initializeFrom(const std::string &folder,
                                           const proto::Executable &program,
                                           Executable &executable) {
  ST_ASSIGN_OR_RETURN(std::vector<StateTensor> states, collectStates(program));
  ST_ASSIGN_OR_RETURN(std::unique_ptr<PretrainedWeights> weights,
                      PretrainedWeights::open(folder, program, states));
  ST_RETURN_IF_ERROR(initializeStates(states, executable, /*seed=*/0, hostThreadCount(0)));
  ST_RETURN_IF_ERROR(weights->apply(executable));
  return weights->note();
}

} // namespace

absl::StatusOr<std::string> runOnce(const proto::Executable &program, Client &client,
                                    const std::string &inputs, const std::string &outputs,
                                    const std::string &init) {
  // An output that cannot be written is found before the work.
  ST_RETURN_IF_ERROR(AtomicFile::create(outputs).status());
  ST_ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsReader> given, SafetensorsReader::open(inputs));
  ST_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable, client.load(program));
  OneRun run(program, *executable, *given);
  std::string note;
  if (init.empty()) {
    ST_RETURN_IF_ERROR(run.feedStates());
  } else {
    ST_ASSIGN_OR_RETURN(note, initializeFrom(init, program, *executable));
  }
  ST_RETURN_IF_ERROR(run.feedInputs());
  ST_RETURN_IF_ERROR(executable->launchStep().wait());
  ST_RETURN_IF_ERROR(run.collect());
  ST_RETURN_IF_ERROR(run.write(outputs));
  return note;
}

} // namespace st
