#include "tools/st-dtu-run/RunExecutable.h"

#include "absl/strings/str_cat.h"
#include "lib/Runtime/TensorLayout.h"
#include "lib/Support/Safetensors.h"
#include "lib/Support/StatusMacros.h"
#include "st/Runtime/Client.h"

#include <cstring>
#include <map>

namespace st {
namespace {

/// A global tensor put together from the ranks' blocks.
struct Collected {
  SafetensorsSpec spec;
  std::vector<uint8_t> data;
  std::vector<bool> known; // of each element
};

class Run {
public:
  Run(const proto::Executable &program, Executable &executable)
      : program(program), executable(executable) {}

  absl::Status load(const SafetensorsReader &file);
  absl::Status collect();
  absl::Status write(const std::string &path) const;

private:
  const proto::Executable &program;
  Executable &executable;
  std::map<std::string, Collected> results;

  absl::Status loadBlock(const SafetensorsReader &file, const std::string &name,
                         const TensorBlock &block, int64_t rank, int64_t offset);
  absl::Status collectBlock(const std::string &name, const TensorBlock &block, int64_t rank,
                            int64_t offset);
};

absl::Status Run::loadBlock(const SafetensorsReader &file, const std::string &name,
                            const TensorBlock &block, int64_t rank, int64_t offset) {
  const SafetensorsTensor *tensor = file.find(name);
  if (!tensor)
    return absl::NotFoundError(absl::StrCat(file.path(), ": no tensor \"", name, "\""));
  if (tensor->type != block.type || tensor->shape != block.globalShape)
    return absl::InvalidArgumentError(absl::StrCat(
        file.path(), ": tensor \"", name, "\" is ", describeType(tensor->type, tensor->shape),
        ", expected ", describeType(block.type, block.globalShape)));
  int64_t width = static_cast<int64_t>(byteWidth(block.type));
  absl::Status status;
  forEachRun(block, [&](int64_t global, int64_t local, int64_t count) {
    if (status.ok())
      status = executable.arena(rank)->write(offset + local * width,
                                             tensor->data.subspan(global * width, count * width));
  });
  return status;
}

absl::Status Run::load(const SafetensorsReader &file) {
  int64_t first = 0;
  for (const proto::Group &group : program.groups()) {
    for (int64_t r = 0; r < group.device_ids_size(); ++r) {
      for (const proto::State &state : group.states())
        ST_RETURN_IF_ERROR(loadBlock(file, state.name(), blockOf(state.global(), state.slice(), r),
                                     first + r, state.offset()));
      for (const proto::Input &input : group.inputs())
        for (int64_t mb = 0; mb < (input.micro_dim() < 0 ? 1 : program.micro_batches()); ++mb)
          ST_RETURN_IF_ERROR(loadBlock(file, input.name(),
                                       blockOf(input, program.micro_batches(), mb, r), first + r,
                                       input.offset() + mb * input.micro_stride()));
    }
    first += group.device_ids_size();
  }
  return absl::OkStatus();
}

absl::Status Run::collectBlock(const std::string &name, const TensorBlock &block, int64_t rank,
                               int64_t offset) {
  Collected &result = results[name];
  int64_t width = static_cast<int64_t>(byteWidth(block.type)), elements = 1;
  for (int64_t size : block.globalShape)
    elements *= size;
  if (result.known.empty()) {
    result.spec = {name, block.type, block.globalShape};
    result.data.resize(elements * width);
    result.known.resize(elements);
  }
  std::vector<uint8_t> bytes(block.numBytes());
  ST_RETURN_IF_ERROR(executable.arena(rank)->read(offset, absl::MakeSpan(bytes)));
  absl::Status status;
  forEachRun(block, [&](int64_t global, int64_t local, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const uint8_t *from = bytes.data() + (local + i) * width;
      uint8_t *to = result.data.data() + (global + i) * width;
      if (result.known[global + i] && std::memcmp(from, to, width) != 0)
        status = absl::InternalError(absl::StrCat("\"", name, "\": rank ", rank,
                                                  " holds another element ", global + i,
                                                  " than a rank before"));
      std::memcpy(to, from, width);
      result.known[global + i] = true;
    }
  });
  return status;
}

absl::Status Run::collect() {
  int64_t first = 0;
  for (const proto::Group &group : program.groups()) {
    for (int64_t r = 0; r < group.device_ids_size(); ++r) {
      for (const proto::State &state : group.states())
        ST_RETURN_IF_ERROR(collectBlock(state.name(), blockOf(state.global(), state.slice(), r),
                                        first + r, state.offset()));
      for (const proto::Output &output : group.outputs())
        ST_RETURN_IF_ERROR(collectBlock(output.name(), blockOf(output.global(), output.slice(), r),
                                        first + r, output.offset()));
    }
    first += group.device_ids_size();
  }
  return absl::OkStatus();
}

absl::Status Run::write(const std::string &path) const {
  std::vector<SafetensorsTensor> tensors;
  for (const auto &[name, result] : results) {
    SafetensorsTensor tensor;
    static_cast<SafetensorsSpec &>(tensor) = result.spec;
    tensor.data = result.data;
    tensors.push_back(tensor);
  }
  return writeSafetensors(path, tensors);
}

} // namespace

absl::Status runExecutable(const proto::Executable &program, const std::string &inputs,
                           const std::string &outputs, std::string &report) {
  std::unique_ptr<Client> client = createDtuClient({});
  ST_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable, client->load(program));
  ST_ASSIGN_OR_RETURN(StepTime time, executable->timeStep(nullptr));
  report = absl::StrCat("simulated ", time.total / 1000, " ns, bound ", time.lowerBound / 1000,
                        " ns, serial ", time.serialSum / 1000, " ns");
  Run run(program, *executable);
  ST_ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsReader> file, SafetensorsReader::open(inputs));
  ST_RETURN_IF_ERROR(run.load(*file));
  ST_RETURN_IF_ERROR(executable->launchStep().wait());
  ST_RETURN_IF_ERROR(run.collect());
  return run.write(outputs);
}

} // namespace st
