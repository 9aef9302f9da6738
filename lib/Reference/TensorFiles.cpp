#include "lib/Reference/TensorFiles.h"

#include "absl/strings/str_cat.h"
#include "lib/Support/Safetensors.h"

#include <cstring>

namespace mlir::st::ref {

static Tensor toTensor(const ::st::SafetensorsTensor &file) {
  Tensor tensor(file.type, file.shape);
  uint8_t *data = tensor.mutableData<uint8_t>();
  std::memcpy(data, file.data.data(), file.data.size());
  // In C++ a bool must be 0 or 1.
  if (file.type == ElementType::BOOL)
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      data[i] = data[i] != 0;
  return tensor;
}

absl::Status readTensors(const std::string &path, NamedTensors &tensors) {
  absl::StatusOr<std::unique_ptr<::st::SafetensorsReader>> reader =
      ::st::SafetensorsReader::open(path);
  if (!reader.ok())
    return reader.status();
  for (const ::st::SafetensorsTensor &file : (*reader)->tensors())
    if (!tensors.emplace(file.name, toTensor(file)).second)
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": tensor '", file.name, "' is also in another input file"));
  return absl::OkStatus();
}

absl::Status writeTensors(const std::string &path, const NamedTensors &tensors) {
  std::vector<::st::SafetensorsTensor> files;
  for (const auto &[name, tensor] : tensors) {
    ::st::SafetensorsTensor &file = files.emplace_back();
    file.name = name;
    file.type = tensor.getType();
    file.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
    file.data = {tensor.data<uint8_t>(), tensor.getByteSize()};
  }
  return ::st::writeSafetensors(path, files);
}

} // namespace mlir::st::ref
