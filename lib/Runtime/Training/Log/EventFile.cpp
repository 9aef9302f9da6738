#include "lib/Runtime/Training/Log/EventFile.h"

#include "lib/Proto/tensorboard.pb.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/Support/Files.h"
#include "lib/Support/StatusMacros.h"

#include <array>
#include <cerrno>
#include <climits>
#include <sys/stat.h>
#include <unistd.h>

namespace st {
namespace {

// CRC-32C (Castagnoli), which zlib does not have; RFC 3720, appendix B.4.
std::array<uint32_t, 256> castagnoliTable() {
  std::array<uint32_t, 256> table;
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit)
      remainder = remainder >> 1 ^ (remainder & 1 ? 0x82F63B78u : 0);
    table[byte] = remainder;
  }
  return table;
}

uint32_t crc32c(absl::string_view data) {
  static const std::array<uint32_t, 256> table = castagnoliTable();
  uint32_t crc = ~0u;
  for (const char c : data)
    crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  return ~crc;
}

// Masks the checksum, so that it is safe to compute checksums of data that contains checksums.
uint32_t masked(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xA282EAD8u; }

std::string littleEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i)
    text += static_cast<char>(value >> (8 * i) & 0xFF);
  return text;
}

double now() { return absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()); }

} // namespace

std::string frameRecord(const std::string &data) {
  const std::string length = littleEndian(data.size(), 8);
  return absl::StrCat(length, littleEndian(masked(crc32c(length)), 4), data,
                      littleEndian(masked(crc32c(data)), 4));
}

absl::StatusOr<std::unique_ptr<EventFile>> EventFile::create(const std::string &folder) {
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    return systemError(folder, "cannot create the folder", errno);
  char host[HOST_NAME_MAX + 1] = {};
  if (::gethostname(host, HOST_NAME_MAX) != 0)
    host[0] = '\0'; // The name is informative; the process number makes files unique.
  ST_ASSIGN_OR_RETURN(
      std::unique_ptr<LineFile> file,
      LineFile::create(absl::StrFormat("%s/events.out.tfevents.%d.%s.%d", folder,
                                       static_cast<int64_t>(now()), host, ::getpid())));
  return std::unique_ptr<EventFile>(new EventFile(std::move(file)));
}

absl::Status EventFile::write(int64_t step, const std::map<std::string, double> &scalars) {
  std::string records;
  if (isEmpty) {
    proto::TensorBoardEvent first;
    first.set_wall_time(now());
    first.set_file_version("brain.Event:2");
    records = frameRecord(first.SerializeAsString());
    isEmpty = false;
  }
  proto::TensorBoardEvent event;
  event.set_wall_time(now());
  event.set_step(step);
  for (const auto &[tag, value] : scalars) {
    proto::TensorBoardSummary::Value *added = event.mutable_summary()->add_value();
    added->set_tag(tag);
    added->set_simple_value(static_cast<float>(value));
  }
  return file->write(records + frameRecord(event.SerializeAsString()));
}

} // namespace st
