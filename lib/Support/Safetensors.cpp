#include "lib/Support/Safetensors.h"

#include "absl/strings/str_cat.h"
#include "lib/Support/SafetensorsHeader.h"
#include "lib/Support/Text.h"

#include <algorithm>
#include <tuple>

namespace st {
namespace {

// The bound that the reference implementation sets on the header.
constexpr uint64_t kLargestHeader = 100'000'000;
constexpr size_t kLengthBytes = 8;

uint64_t readLittleEndian64(const uint8_t *bytes) {
  uint64_t value = 0;
  for (size_t i = kLengthBytes; i-- > 0;)
    value = value << 8 | bytes[i];
  return value;
}

absl::Status invalid(absl::string_view message) { return absl::InvalidArgumentError(message); }

// Checks that an entry's offsets match its type and shape, and that its data starts where the
// previous entry's data ends.
absl::Status checkEntry(const SafetensorsHeaderEntry &entry, uint64_t previousEnd,
                        uint64_t dataSize) {
  std::string tensor = absl::StrCat("tensor ", quoteForMessage(entry.spec.name), ": ");
  std::string range = absl::StrCat("[", entry.begin, ", ", entry.end, "]");
  if (entry.begin > entry.end || entry.end > dataSize)
    return invalid(absl::StrCat(tensor, "data_offsets ", range, " are not within the ", dataSize,
                                " bytes of data"));
  std::optional<uint64_t> expected = byteSize(entry.spec.type, entry.spec.shape);
  if (!expected)
    return invalid(absl::StrCat(tensor, "the shape's size overflows"));
  if (*expected != entry.end - entry.begin)
    return invalid(absl::StrCat(tensor, "data_offsets ", range, " hold ", entry.end - entry.begin,
                                " bytes, dtype and shape need ", *expected));
  if (entry.begin != previousEnd)
    return invalid(absl::StrCat(tensor, "data_offsets ", range,
                                entry.begin < previousEnd ? " overlap the previous tensor's"
                                                          : " leave a gap before them"));
  return absl::OkStatus();
}

} // namespace

std::optional<uint64_t> byteSize(ElementType type, absl::Span<const int64_t> shape) {
  // An empty tensor is empty however large its other dimensions are.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    return 0;
  int64_t size = static_cast<int64_t>(byteWidth(type));
  for (int64_t dim : shape)
    if (dim < 0 || __builtin_mul_overflow(size, dim, &size))
      return std::nullopt;
  return static_cast<uint64_t>(size);
}

absl::StatusOr<std::unique_ptr<SafetensorsReader>>
SafetensorsReader::open(const std::string &path) {
  absl::StatusOr<std::unique_ptr<MappedFile>> file = MappedFile::open(path);
  if (!file.ok())
    return file.status();
  std::unique_ptr<SafetensorsReader> reader(new SafetensorsReader(path, *std::move(file)));
  if (absl::Status status = reader->parse(); !status.ok())
    return inFile(path, status.message());
  return reader;
}

absl::Status SafetensorsReader::parse() {
  const uint8_t *base = reinterpret_cast<const uint8_t *>(file->content().data());
  const size_t size = file->content().size();
  if (size < kLengthBytes)
    return invalid("not a safetensors file: shorter than 8 bytes");
  uint64_t headerSize = readLittleEndian64(base);
  if (headerSize > kLargestHeader || headerSize > size - kLengthBytes)
    return invalid(absl::StrCat("not a safetensors file or truncated: a header of ", headerSize,
                                " bytes in a file of ", size));
  absl::string_view text(reinterpret_cast<const char *>(base) + kLengthBytes, headerSize);
  absl::StatusOr<SafetensorsHeader> header = parseSafetensorsHeader(text);
  if (!header.ok())
    return header.status();

  // An empty tensor sorts before one that begins at the same byte.
  std::sort(header->entries.begin(), header->entries.end(),
            [](const SafetensorsHeaderEntry &a, const SafetensorsHeaderEntry &b) {
              return std::tie(a.begin, a.end, a.spec.name) < std::tie(b.begin, b.end, b.spec.name);
            });
  headerEnd = kLengthBytes + headerSize;
  const uint8_t *data = base + headerEnd;
  uint64_t dataSize = size - kLengthBytes - headerSize, end = 0;
  for (SafetensorsHeaderEntry &entry : header->entries) {
    if (absl::Status status = checkEntry(entry, end, dataSize); !status.ok())
      return status;
    end = entry.end;
    index.emplace(entry.spec.name, entries.size());
    entries.push_back({std::move(entry.spec), {data + entry.begin, entry.end - entry.begin}});
  }
  if (end != dataSize)
    return invalid(absl::StrCat("the tensors take ", end, " of ", dataSize, " bytes of data"));
  fileMetadata = std::move(header->metadata);
  return absl::OkStatus();
}

const SafetensorsTensor *SafetensorsReader::find(absl::string_view name) const {
  auto it = index.find(name);
  return it == index.end() ? nullptr : &entries[it->second];
}

absl::StatusOr<std::unique_ptr<SafetensorsWriter>>
SafetensorsWriter::create(const std::string &path, absl::Span<const SafetensorsSpec> specs,
                          const SafetensorsMetadata &metadata, size_t alignment) {
  absl::StatusOr<std::string> header = printSafetensorsHeader(specs, metadata);
  if (!header.ok())
    return inFile(path, header.status().message());
  const size_t begin = (kLengthBytes + header->size() + alignment - 1) / alignment * alignment;
  header->resize(begin - kLengthBytes, ' ');
  absl::StatusOr<std::unique_ptr<AtomicFile>> file = AtomicFile::create(path);
  if (!file.ok())
    return file.status();
  std::string length;
  for (size_t i = 0; i < kLengthBytes; ++i)
    length += static_cast<char>(header->size() >> (8 * i) & 0xFF);
  std::string prefix = absl::StrCat(length, *header);
  if (absl::Status status = (*file)->write(prefix); !status.ok())
    return status;
  uint64_t total = 0;
  for (const SafetensorsSpec &spec : specs)
    total += *byteSize(spec.type, spec.shape);
  return std::unique_ptr<SafetensorsWriter>(
      new SafetensorsWriter(path, std::move(prefix), std::move(*file), total));
}

absl::Status SafetensorsWriter::append(absl::Span<const uint8_t> data) {
  if (data.size() > remaining)
    return inFile(path, "more data than the header declares");
  remaining -= data.size();
  return file->write(data.data(), data.size());
}

absl::Status SafetensorsWriter::commit() {
  if (remaining != 0)
    return inFile(path, absl::StrCat("the last ", remaining, " bytes of data are missing"));
  return file->commit();
}

absl::Status writeSafetensors(const std::string &path, absl::Span<const SafetensorsTensor> tensors,
                              const SafetensorsMetadata &metadata) {
  std::vector<SafetensorsSpec> specs(tensors.begin(), tensors.end());
  absl::StatusOr<std::unique_ptr<SafetensorsWriter>> writer =
      SafetensorsWriter::create(path, specs, metadata);
  if (!writer.ok())
    return writer.status();
  for (const SafetensorsTensor &tensor : tensors) {
    std::optional<uint64_t> expected = byteSize(tensor.type, tensor.shape);
    if (*expected != tensor.data.size())
      return inFile(path,
                    absl::StrCat("tensor ", quoteForMessage(tensor.name), ": ", tensor.data.size(),
                                 " bytes given, ", *expected, " expected"));
    if (absl::Status status = (*writer)->append(tensor.data); !status.ok())
      return status;
  }
  return (*writer)->commit();
}

} // namespace st
