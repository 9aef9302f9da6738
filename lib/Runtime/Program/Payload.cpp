#include "lib/Runtime/Program/Payload.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/Support/AtomicFile.h"
#include "lib/Support/Checksum.h"
#include "lib/Support/Files.h"
#include "lib/Support/StatusMacros.h"

#include <memory>

namespace st {
namespace {

constexpr size_t kFooterBytes = 40;
constexpr size_t kFooterCrcOffset = 24;
constexpr uint32_t kVersion = 1;
constexpr absl::string_view kMagic = "ST-TRAIN";

struct Footer {
  uint64_t runnerBytes = 0, payloadBytes = 0;
  uint32_t runnerCrc = 0, payloadCrc = 0, version = kVersion;
};

void appendInteger(std::string &out, uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i)
    out += static_cast<char>(value >> (8 * i) & 0xFF);
}

uint64_t readInteger(absl::string_view bytes, size_t offset, unsigned count) {
  uint64_t value = 0;
  for (unsigned i = count; i-- > 0;)
    value = value << 8 | static_cast<uint8_t>(bytes[offset + i]);
  return value;
}

// The checksum of a footer without the field that holds it.
uint32_t footerCrc(absl::string_view footer) {
  return crc32(footer.substr(kFooterCrcOffset + 4), crc32(footer.substr(0, kFooterCrcOffset)));
}

std::string printFooter(const Footer &footer) {
  std::string out;
  appendInteger(out, footer.runnerBytes, 8);
  appendInteger(out, footer.payloadBytes, 8);
  appendInteger(out, footer.runnerCrc, 4);
  appendInteger(out, footer.payloadCrc, 4);
  appendInteger(out, 0, 4);
  appendInteger(out, footer.version, 4);
  absl::StrAppend(&out, kMagic);
  std::string check;
  appendInteger(check, footerCrc(out), 4);
  return out.replace(kFooterCrcOffset, check.size(), check);
}

absl::Status damaged(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("damaged training binary: ", what));
}

absl::StatusOr<Footer> parseFooter(absl::string_view file) {
  absl::string_view bytes =
      file.size() < kFooterBytes ? "" : file.substr(file.size() - kFooterBytes);
  if (bytes.empty() || bytes.substr(kFooterBytes - kMagic.size()) != kMagic)
    return absl::DataLossError(
        "no training program at the end of this file: it is a bare runner or it was truncated");
  if (readInteger(bytes, kFooterCrcOffset, 4) != footerCrc(bytes))
    return damaged("its last 40 bytes do not match their checksum");
  Footer footer;
  footer.runnerBytes = readInteger(bytes, 0, 8);
  footer.payloadBytes = readInteger(bytes, 8, 8);
  footer.runnerCrc = static_cast<uint32_t>(readInteger(bytes, 16, 4));
  footer.payloadCrc = static_cast<uint32_t>(readInteger(bytes, 20, 4));
  footer.version = static_cast<uint32_t>(readInteger(bytes, 28, 4));
  if (footer.version != kVersion)
    return damaged(absl::StrCat("layout version ", footer.version, ", expected ", kVersion));
  uint64_t content = file.size() - kFooterBytes;
  if (footer.payloadBytes > content || footer.runnerBytes != content - footer.payloadBytes)
    return damaged(absl::StrCat("it declares a runner of ", footer.runnerBytes,
                                " bytes and a program of ", footer.payloadBytes, ", but holds ",
                                content));
  return footer;
}

} // namespace

std::string appendPayload(absl::string_view runner, absl::string_view payload) {
  Footer footer;
  footer.runnerBytes = runner.size();
  footer.payloadBytes = payload.size();
  footer.runnerCrc = crc32(runner);
  footer.payloadCrc = crc32(payload);
  return absl::StrCat(runner, payload, printFooter(footer));
}

absl::StatusOr<absl::string_view> findPayload(absl::string_view file) {
  ST_ASSIGN_OR_RETURN(Footer footer, parseFooter(file));
  if (crc32(file.substr(0, footer.runnerBytes)) != footer.runnerCrc)
    return damaged("the runner does not match its checksum");
  absl::string_view payload = file.substr(footer.runnerBytes, footer.payloadBytes);
  if (crc32(payload) != footer.payloadCrc)
    return damaged("the training program does not match its checksum");
  return payload;
}

absl::string_view payloadWithin(absl::string_view file) {
  const absl::StatusOr<Footer> footer = parseFooter(file);
  return footer.ok() ? file.substr(footer->runnerBytes, footer->payloadBytes) : absl::string_view();
}

std::string checksumsOf(absl::string_view file) {
  const absl::StatusOr<Footer> footer = parseFooter(file);
  return footer.ok() ? absl::StrFormat("%08x, program %08x", footer->runnerCrc, footer->payloadCrc)
                     : "";
}

absl::Status writeTrainingBinary(const std::string &runnerPath, const std::string &outputPath,
                                 absl::string_view payload) {
  ST_ASSIGN_OR_RETURN(std::unique_ptr<MappedFile> runner, MappedFile::open(runnerPath));
  return writeFileAtomically(outputPath, appendPayload(runner->content(), payload), 0777);
}

absl::StatusOr<std::string> readPayload(const std::string &path) {
  ST_ASSIGN_OR_RETURN(std::unique_ptr<MappedFile> file, MappedFile::open(path));
  absl::StatusOr<absl::string_view> payload = findPayload(file->content());
  if (!payload.ok())
    return absl::Status(payload.status().code(),
                        absl::StrCat(path, ": ", payload.status().message()));
  return std::string(*payload);
}

} // namespace st
