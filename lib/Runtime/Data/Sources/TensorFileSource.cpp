#include "lib/Runtime/Data/Sources/TensorFileSource.h"
#include "lib/Runtime/Data/ValueRange.h"
#include "lib/Runtime/State/TensorLayout.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/Support/Safetensors.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace st {
namespace {

// The number of batches of the input's shape in a tensor; empty if it holds none.
std::optional<int64_t> countBatches(const std::vector<int64_t> &tensor,
                                    const std::vector<int64_t> &input) {
  if (tensor.size() == input.size() + 1 &&
      std::equal(input.begin(), input.end(), tensor.begin() + 1))
    return tensor[0];
  if (!input.empty() && tensor.size() == input.size() && tensor[0] % input[0] == 0 &&
      std::equal(input.begin() + 1, input.end(), tensor.begin() + 1))
    return tensor[0] / input[0];
  return std::nullopt;
}

class TensorFileSource : public BatchSource {
public:
  TensorFileSource(std::unique_ptr<SafetensorsReader> file, const BatchSpec &spec)
      : file(std::move(file)), spec(spec) {}

  absl::Status check();
  absl::StatusOr<Batch> batch(int64_t index) const override;
  int64_t numBatches() const override { return batches; }

private:
  absl::Status error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(file->path(), ": ", what));
  }
  absl::Status checkInput(const BatchSpec::Input &input);

  std::unique_ptr<SafetensorsReader> file;
  BatchSpec spec;
  int64_t batches = -1;
};

absl::Status TensorFileSource::check() {
  for (const BatchSpec::Input &input : spec.inputs)
    ST_RETURN_IF_ERROR(checkInput(input));
  return absl::OkStatus();
}

absl::Status TensorFileSource::checkInput(const BatchSpec::Input &input) {
  const SafetensorsTensor *tensor = file->find(input.name);
  if (!tensor)
    return error(absl::StrCat("no tensor \"", input.name, "\""));
  const bool converts = tensor->type == ElementType::I64 && input.type == ElementType::I32;
  std::optional<int64_t> count = countBatches(tensor->shape, input.shape);
  if (!count || (tensor->type != input.type && !converts))
    return error(absl::StrCat(
        "tensor \"", input.name, "\" is ", describeType(tensor->type, tensor->shape),
        ", which does not consist of batches of ", describeType(input.type, input.shape)));
  if (*count == 0)
    return error(absl::StrCat("tensor \"", input.name, "\" is empty"));
  if (batches >= 0 && *count != batches)
    return error(absl::StrCat("tensor \"", input.name, "\": expected ", batches,
                              " batches as in the tensors before it, found ", *count));
  batches = *count;
  const std::string outside = findOutside({input.name, input.limit}, *tensor, batches);
  return outside.empty() ? absl::OkStatus() : error(outside);
}

absl::StatusOr<Batch> TensorFileSource::batch(int64_t index) const {
  Batch batch;
  for (const BatchSpec::Input &input : spec.inputs) {
    HostTensor &out = batch.emplace_back(input.name, input.type, input.shape);
    const SafetensorsTensor *tensor = file->find(input.name);
    const size_t bytes = tensor->data.size() / batches;
    absl::Span<const uint8_t> data = tensor->data.subspan(index % batches * bytes, bytes);
    if (tensor->type == input.type) {
      std::copy(data.begin(), data.end(), out.bytes.begin());
      continue;
    }
    for (size_t i = 0; i < bytes / sizeof(int64_t); ++i) {
      int64_t value;
      std::memcpy(&value, data.data() + i * sizeof(value), sizeof(value));
      if (value != static_cast<int32_t>(value))
        return error(absl::StrCat("tensor \"", input.name, "\": ", value, " does not fit i32"));
      out.ints()[i] = static_cast<int32_t>(value);
    }
  }
  return batch;
}

} // namespace

absl::StatusOr<std::unique_ptr<BatchSource>> createTensorFileSource(const std::string &path,
                                                                    const BatchSpec &spec) {
  ST_ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsReader> file, SafetensorsReader::open(path));
  auto source = std::make_unique<TensorFileSource>(std::move(file), spec);
  ST_RETURN_IF_ERROR(source->check());
  return source;
}

} // namespace st
