#include "lib/Runtime/Data/RecordedBatches.h"

#include "lib/Support/Safetensors.h"
#include "lib/Support/StatusMacros.h"

#include <memory>
#include <vector>

namespace st {

absl::Status RecordedBatches::add(const Batch &batch) {
  constexpr size_t kMaxBytes = size_t(4) << 30;
  size_t bytes = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    if (count == 0)
      gathered.push_back(batch[i]);
    else
      gathered[i].bytes.insert(gathered[i].bytes.end(), batch[i].bytes.begin(),
                               batch[i].bytes.end());
    bytes += gathered[i].bytes.size();
  }
  ++count;
  if (bytes > kMaxBytes)
    return absl::ResourceExhaustedError("--record-batches holds 4 GiB of batches; expected fewer");
  return absl::OkStatus();
}

absl::Status RecordedBatches::write(const std::string &path) const {
  std::vector<SafetensorsSpec> specs;
  for (const HostTensor &tensor : gathered) {
    std::vector<int64_t> shape = {count};
    shape.insert(shape.end(), tensor.shape.begin(), tensor.shape.end());
    specs.push_back({tensor.name, tensor.type, shape});
  }
  ST_ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsWriter> writer,
                      SafetensorsWriter::create(path, specs));
  for (const HostTensor &tensor : gathered)
    ST_RETURN_IF_ERROR(writer->append(tensor.bytes));
  return writer->commit();
}

} // namespace st
