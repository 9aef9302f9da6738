#include "lib/Runtime/Training/Feeder.h"
#include "lib/Runtime/State/TensorLayout.h"
#include "lib/Runtime/Tokenizers/ProgramTokenizer.h"

#include "absl/strings/str_cat.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <cstring>

namespace st {
namespace {

/// The compiler's name of the state that counts skipped steps.
constexpr absl::string_view kSkippedSteps = "loss_scale.skipped_steps";

template <typename T> absl::Span<const uint8_t> bytesOf(const T &value) {
  return {reinterpret_cast<const uint8_t *>(&value), sizeof(value)};
}

absl::StatusOr<const HostTensor *> findTensor(const Batch &batch, const proto::Input &input) {
  auto it = std::find_if(batch.begin(), batch.end(),
                         [&](const HostTensor &tensor) { return tensor.name == input.name(); });
  if (it == batch.end())
    return absl::InvalidArgumentError(
        absl::StrCat("the data has no \"", input.name(), "\", which the program reads"));
  const TensorBlock expected = blockOf(input.global(), proto::Slice(), 0);
  if (!holdsElements(it->type, it->shape, expected.type, expected.globalShape))
    return absl::InvalidArgumentError(
        absl::StrCat("the data has \"", input.name(), "\" as ", describeType(it->type, it->shape),
                     ", the program reads ", describeType(expected.type, expected.globalShape)));
  return &*it;
}

} // namespace

Feeder::Feeder(const proto::Executable &program, Executable &executable)
    : program(program), executable(executable) {
  for (const proto::Group &group : program.groups()) {
    for (const proto::Output &output : group.outputs())
      if (output.role() == "loss" && !loss) {
        lossGroup = &group;
        loss = &output;
      }
    for (const proto::State &state : group.states())
      if (state.name() == kSkippedSteps && state.role() == "optimizer_state" && !skipped) {
        skippedGroup = &group;
        skipped = &state;
      }
  }
}

absl::Status Feeder::feed(const Batch &batch, const StepScalars &scalars) {
  const uint32_t key[2] = {scalars.seed, static_cast<uint32_t>(scalars.step)};
  const float learningRate = static_cast<float>(scalars.learningRate);
  const float step = static_cast<float>(scalars.step);
  for (const proto::Group &group : program.groups())
    for (const proto::Input &input : group.inputs()) {
      if (input.role() == "key") {
        ST_RETURN_IF_ERROR(write(group, input, bytesOf(key)));
      } else if (input.role() == "scalar") {
        const float &value = input.name() == "step" ? step : learningRate;
        ST_RETURN_IF_ERROR(write(group, input, bytesOf(value)));
      } else {
        ST_ASSIGN_OR_RETURN(const HostTensor *tensor, findTensor(batch, input));
        ST_RETURN_IF_ERROR(write(group, input, tensor->bytes));
      }
    }
  return absl::OkStatus();
}

absl::Status Feeder::write(const proto::Group &group, const proto::Input &input,
                           absl::Span<const uint8_t> global) {
  const int64_t copies = input.micro_dim() < 0 ? 1 : program.micro_batches();
  for (int64_t rank = 0; rank < group.device_ids_size(); ++rank)
    for (int64_t microBatch = 0; microBatch < copies; ++microBatch) {
      const TensorBlock block = blockOf(input, program.micro_batches(), microBatch, rank);
      const int64_t width = static_cast<int64_t>(byteWidth(block.type));
      const int64_t offset = input.offset() + microBatch * input.micro_stride();
      absl::Status status;
      forEachRun(block, [&](int64_t from, int64_t to, int64_t count) {
        status.Update(
            executable.arena(group.first_rank() + rank)
                ->write(offset + to * width, global.subspan(from * width, count * width)));
      });
      ST_RETURN_IF_ERROR(status);
    }
  return absl::OkStatus();
}

absl::StatusOr<float> Feeder::readScalar(int64_t rank, int64_t offset) const {
  float value = 0;
  absl::Span<uint8_t> bytes(reinterpret_cast<uint8_t *>(&value), sizeof(value));
  ST_RETURN_IF_ERROR(executable.arena(rank)->read(offset, bytes));
  return value;
}

absl::StatusOr<float> Feeder::readLoss() const {
  return readScalar(lossGroup->first_rank(), loss->offset());
}

absl::StatusOr<std::map<std::string, float>> Feeder::readMetrics() const {
  std::map<std::string, float> metrics;
  for (const proto::Group &group : program.groups())
    for (const proto::Output &output : group.outputs()) {
      const bool isScalar =
          output.global().shape_size() == 0 && output.global().element() == proto::F32;
      if (output.role() != "metric" || !isScalar || metrics.count(output.name()))
        continue;
      ST_ASSIGN_OR_RETURN(metrics[output.name()], readScalar(group.first_rank(), output.offset()));
    }
  return metrics;
}

absl::StatusOr<int64_t> Feeder::readSkippedSteps() const {
  if (!skipped)
    return 0;
  ST_ASSIGN_OR_RETURN(const float count, readScalar(skippedGroup->first_rank(), skipped->offset()));
  return static_cast<int64_t>(count);
}

absl::StatusOr<BatchSpec> batchSpecOf(const proto::Executable &program) {
  const proto::ModelInfo &model = program.model();
  BatchSpec spec;
  spec.task = model.task();
  spec.batch = model.batch();
  spec.sequence = model.sequence();
  spec.vocabulary = model.vocabulary();
  spec.configJson = model.config_json();
  spec.tokenizerFiles = tokenizerFilesOf(model);
  for (const proto::Group &group : program.groups())
    for (const proto::Input &input : group.inputs()) {
      if (input.role() != "batch")
        continue;
      TensorBlock full = blockOf(input.global(), proto::Slice(), 0);
      auto it = std::find_if(spec.inputs.begin(), spec.inputs.end(),
                             [&](const BatchSpec::Input &i) { return i.name == input.name(); });
      if (it == spec.inputs.end())
        spec.inputs.push_back({input.name(), full.type, full.globalShape, input.limit()});
      else if (it->type != full.type || it->shape != full.globalShape)
        return absl::InvalidArgumentError(absl::StrCat(
            "invalid training program: groups disagree on input \"", input.name(), "\""));
    }
  constexpr int64_t kLargest = int64_t{1} << 31;
  const bool sane = spec.batch >= 0 && spec.sequence >= 0 && spec.vocabulary >= 0 &&
                    spec.batch < kLargest && spec.sequence < kLargest &&
                    spec.vocabulary < kLargest && spec.batch * spec.sequence < kLargest;
  if (!sane || (!spec.task.empty() && (spec.batch < 1 || spec.sequence < 1)))
    return absl::InvalidArgumentError(absl::StrCat("invalid training program: a batch of ",
                                                   spec.batch, " sequences of ", spec.sequence,
                                                   " with ", spec.vocabulary, " token ids"));
  return spec;
}

} // namespace st
