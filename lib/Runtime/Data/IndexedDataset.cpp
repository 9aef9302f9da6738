#include "lib/Runtime/Data/IndexedDataset.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/Support/StatusMacros.h"

#include <cstring>

namespace st {
namespace {

constexpr absl::string_view kMagic("MMIDIDX\0\0", 9);
constexpr int64_t kHeader = 9 + 8 + 1 + 8 + 8;

// Loads a little-endian integer from any address; this library supports only little-endian
// machines.
template <typename T> T load(const char *from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// A numpy type by Megatron-LM's code: its size, and whether it is signed. Size 0: not a token type.
struct TokenType {
  int64_t width;
  bool isSigned;
};
TokenType tokenType(uint8_t code) {
  switch (code) {
  case 1:
    return {1, false};
  case 2:
    return {1, true};
  case 3:
    return {2, true};
  case 4:
    return {4, true};
  case 5:
    return {8, true};
  case 8:
    return {2, false};
  default:
    return {0, false};
  }
}

} // namespace

absl::StatusOr<std::unique_ptr<IndexedDataset>> IndexedDataset::open(const std::string &prefix) {
  std::unique_ptr<IndexedDataset> set(new IndexedDataset);
  set->binPath = prefix + ".bin";
  set->idxPath = prefix + ".idx";
  ST_ASSIGN_OR_RETURN(set->index, MappedFile::open(set->idxPath));
  ST_RETURN_IF_ERROR(set->readIndex());
  ST_ASSIGN_OR_RETURN(set->data, MappedFile::open(set->binPath));
  ST_RETURN_IF_ERROR(set->checkSequences());
  ST_RETURN_IF_ERROR(set->checkDocuments());
  set->tokens = static_cast<int64_t>(set->data->content().size()) / set->width;
  return set;
}

absl::Status IndexedDataset::readIndex() {
  const absl::string_view text = index->content();
  if (static_cast<int64_t>(text.size()) < kHeader || !absl::StartsWith(text, kMagic))
    return inFile(idxPath, "not an index of Megatron-LM's mmap datasets: expected a file that "
                           "begins with MMIDIDX");
  const char *at = text.data() + kMagic.size();
  if (const uint64_t version = load<uint64_t>(at); version != 1)
    return inFile(idxPath, absl::StrCat("version ", version, ", expected 1"));
  const uint8_t code = load<uint8_t>(at + 8);
  const TokenType type = tokenType(code);
  if (type.width == 0)
    return inFile(idxPath, absl::StrCat("type code ", code,
                                        " holds no tokens: expected 1 to 5 "
                                        "(8 to 64 bits) or 8 (unsigned 16)"));
  width = type.width;
  isSigned = type.isSigned;
  const uint64_t count = load<uint64_t>(at + 9), bound = load<uint64_t>(at + 17);
  const uint64_t left = text.size() - kHeader;
  constexpr uint64_t kEach = sizeof(int32_t) + sizeof(int64_t);
  if (count > left / kEach || bound != (left - count * kEach) / sizeof(int64_t) ||
      (left - count * kEach) % sizeof(int64_t) != 0)
    return inFile(idxPath, absl::StrCat("truncated or damaged: ", count, " sequences and ", bound,
                                        " document bounds in a file of ", text.size(), " bytes"));
  sequences = static_cast<int64_t>(count);
  lengths = text.data() + kHeader;
  places = lengths + count * sizeof(int32_t);
  bounds = places + count * sizeof(int64_t);
  documents = static_cast<int64_t>(bound) - 1;
  return absl::OkStatus();
}

absl::Status IndexedDataset::checkSequences() const {
  int64_t end = 0;
  for (int64_t i = 0; i < sequences; ++i) {
    const int32_t length = load<int32_t>(lengths + i * static_cast<int64_t>(sizeof(int32_t)));
    const int64_t place = load<int64_t>(places + i * static_cast<int64_t>(sizeof(int64_t)));
    if (length < 0 || place != end)
      return inFile(idxPath,
                    absl::StrCat("sequence ", i, " has ", length, " tokens from byte ", place,
                                 " on: expected 0 or more, from byte ", end, " on"));
    end += length * width;
  }
  if (const int64_t size = static_cast<int64_t>(data->content().size()); size != end)
    return inFile(binPath, absl::StrCat(size, " bytes, expected ", end, " according to ", idxPath));
  return absl::OkStatus();
}

absl::Status IndexedDataset::checkDocuments() const {
  int64_t last = 0;
  for (int64_t i = 0; i <= documents; ++i) {
    const int64_t first = document(i);
    if (first < last || (i == 0 && first != 0))
      return inFile(idxPath,
                    absl::StrCat("document ", i, " begins with sequence ", first, ": expected ",
                                 i == 0 ? "0" : absl::StrCat(last, " or more")));
    last = first;
  }
  if (documents < 0 || last != sequences)
    return inFile(idxPath,
                  absl::StrCat("the documents end with sequence ", last, ", expected ", sequences));
  return absl::OkStatus();
}

int64_t IndexedDataset::document(int64_t i) const {
  return load<int64_t>(bounds + i * static_cast<int64_t>(sizeof(int64_t)));
}

int64_t IndexedDataset::begin(int64_t i) const {
  if (i == sequences)
    return tokens;
  return load<int64_t>(places + i * static_cast<int64_t>(sizeof(int64_t))) / width;
}

absl::Status IndexedDataset::read(int64_t begin, int64_t limit, absl::Span<int32_t> to) const {
  const char *from = data->content().data() + begin * width;
  for (size_t i = 0; i < to.size(); ++i, from += width) {
    const int64_t token = width == 1   ? (isSigned ? load<int8_t>(from) : load<uint8_t>(from))
                          : width == 2 ? (isSigned ? load<int16_t>(from) : load<uint16_t>(from))
                          : width == 4 ? load<int32_t>(from)
                                       : load<int64_t>(from);
    if (token < 0 || token >= limit)
      return inFile(binPath,
                    absl::StrCat("token ", token, " at position ", begin + i, ": expected 0 to ",
                                 limit - 1, ", the model's vocabulary"));
    to[i] = static_cast<int32_t>(token);
  }
  return absl::OkStatus();
}

} // namespace st
