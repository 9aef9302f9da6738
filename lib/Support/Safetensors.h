// Reading and writing safetensors files.
//
// The format: 8 bytes with the little-endian length of the header, the header
// (a JSON object that maps each tensor's name to its dtype, shape and
// data_offsets, and "__metadata__" to an object of strings), then the data.
// See https://github.com/huggingface/safetensors.
#ifndef ST_SUPPORT_SAFETENSORS_H
#define ST_SUPPORT_SAFETENSORS_H

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/Support/AtomicFile.h"
#include "lib/Support/ElementType.h"
#include "lib/Support/Files.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace st {

/// The names of adapters' tensors begin with this, as in the files of the Python package PEFT.
constexpr char kAdapterPrefix[] = "base_model.model.";

/// The header's entry of one tensor.
struct SafetensorsSpec {
  std::string name;
  ElementType type;
  std::vector<int64_t> shape;
};

/// The size of the data of a tensor in bytes; empty if it overflows 63 bits.
std::optional<uint64_t> byteSize(ElementType type, absl::Span<const int64_t> shape);

/// One tensor of a file: its spec and its bytes, row-major and little-endian. The bytes are not
/// owned and need not be aligned to the element.
struct SafetensorsTensor : SafetensorsSpec {
  absl::Span<const uint8_t> data;
};

using SafetensorsMetadata = std::map<std::string, std::string>;

/// A file mapped into memory. Opening checks the complete file: the tensors' data tile the data
/// section exactly, without gap or overlap. An error is one line that names the file and, if there
/// is one, the tensor.
class SafetensorsReader {
public:
  static absl::StatusOr<std::unique_ptr<SafetensorsReader>> open(const std::string &path);
  SafetensorsReader(const SafetensorsReader &) = delete;
  SafetensorsReader &operator=(const SafetensorsReader &) = delete;

  const std::string &path() const { return filePath; }

  /// The tensors in the order of their data; valid as long as this reader.
  absl::Span<const SafetensorsTensor> tensors() const { return entries; }

  /// The tensor of that name, or null.
  const SafetensorsTensor *find(absl::string_view name) const;

  const SafetensorsMetadata &metadata() const { return fileMetadata; }

  /// The length and the header as in the file.
  absl::string_view header() const { return file->content().substr(0, headerEnd); }

private:
  SafetensorsReader(std::string path, std::unique_ptr<MappedFile> file)
      : filePath(std::move(path)), file(std::move(file)) {}

  absl::Status parse();

  std::string filePath;
  std::unique_ptr<MappedFile> file;
  size_t headerEnd = 0;
  std::vector<SafetensorsTensor> entries;
  absl::flat_hash_map<std::string, size_t> index;
  SafetensorsMetadata fileMetadata;
};

/// Writes a file tensor by tensor, so a checkpoint may be larger than the free memory. The file
/// appears only at commit().
class SafetensorsWriter {
public:
  /// `specs` declares every tensor in the order of the data. The data begins at a multiple of
  /// `alignment` bytes in the file, which is a multiple of 8.
  static absl::StatusOr<std::unique_ptr<SafetensorsWriter>>
  create(const std::string &path, absl::Span<const SafetensorsSpec> specs,
         const SafetensorsMetadata &metadata = {}, size_t alignment = 8);

  /// The length and the header as in the file.
  absl::string_view header() const { return fileHeader; }

  /// Adds the next bytes; the pieces need not coincide with tensors.
  absl::Status append(absl::Span<const uint8_t> data);

  /// See AtomicFile.
  bool setDirect(bool isWanted) { return file->setDirect(isWanted); }

  /// Starts writing the content so far to disk. Another thread may append concurrently.
  void startFlush() { file->startFlush(); }

  /// Fails if fewer bytes were written than declared.
  absl::Status commit();

private:
  SafetensorsWriter(std::string path, std::string header, std::unique_ptr<AtomicFile> file,
                    uint64_t remaining)
      : path(std::move(path)), fileHeader(std::move(header)), file(std::move(file)),
        remaining(remaining) {}

  std::string path, fileHeader;
  std::unique_ptr<AtomicFile> file;
  uint64_t remaining;
};

/// Writes a file with `tensors`.
absl::Status writeSafetensors(const std::string &path, absl::Span<const SafetensorsTensor> tensors,
                              const SafetensorsMetadata &metadata = {});

} // namespace st

#endif // ST_SUPPORT_SAFETENSORS_H
