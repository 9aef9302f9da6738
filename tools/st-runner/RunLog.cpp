#include "tools/st-runner/RunLog.h"
#include "tools/st-runner/FlagFile.h"

#include "lib/Runtime/Program/Payload.h"
#include "lib/Support/Checksum.h"
#include "lib/Support/Files.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "google/protobuf/io/coded_stream.h"

#include <algorithm>
#include <memory>

namespace st {
namespace {

// See RunLog.h for the format.
std::string hashOfFile(absl::string_view content) {
  constexpr size_t kMaxUnsplit = size_t(256) << 20, kBlocks = 4096, kBlock = size_t(64) << 10;
  if (content.size() <= kMaxUnsplit)
    return absl::StrFormat("%08x", crc32(content));
  uint32_t hash = 0;
  for (size_t i = 0; i < kBlocks; ++i)
    hash = crc32(content.substr((content.size() - kBlock) / (kBlocks - 1) * i, kBlock), hash);
  return absl::StrFormat("%08x (of blocks)", crc32(content.substr(content.size() - kBlock), hash));
}

std::vector<std::string> dataFilesOf(const std::string &data) {
  absl::string_view path = data;
  if (path == "synthetic")
    return {};
  if (absl::ConsumePrefix(&path, "megatron:"))
    return {absl::StrCat(path, ".idx"), absl::StrCat(path, ".bin")};
  if (!absl::ConsumePrefix(&path, "text:") && !absl::ConsumePrefix(&path, "jsonl:"))
    absl::ConsumePrefix(&path, "squad:");
  return {std::string(path)};
}

// An unreadable file is not an error here: the run reports it.
std::string describeData(const std::string &data) {
  std::string text;
  for (const std::string &path : dataFilesOf(data)) {
    absl::StatusOr<std::unique_ptr<MappedFile>> file = MappedFile::open(path);
    if (file.ok())
      absl::StrAppend(&text, "# data ", (*file)->content().size(), " bytes, ",
                      hashOfFile((*file)->content()), ": ", escapeControls(path), "\n");
  }
  return text.empty() ? absl::StrCat("# data ", data, "\n") : text;
}

std::string describeDevice(const proto::Executable &program) {
  if (program.has_dtu())
    return absl::StrFormat("# device %s %08x\n", program.dtu().name(),
                           crc32(program.dtu().SerializeAsString()));
  return absl::StrFormat("# device %s %08x\n", program.cuda().gpu().name(),
                         crc32(program.cuda().gpu().SerializeAsString()));
}

// Quotes a value for a file of flags.
std::string quoteValue(const std::string &value) {
  const bool isPlain = value.find_first_of(" \t\n\r\v\f#'\"\\") == std::string::npos;
  if (isPlain)
    return value;
  // A value that contains one kind of quote gets quotes of the other kind.
  const char quote = absl::StrContains(value, '\'') ? '"' : '\'';
  return absl::StrCat(std::string(1, quote), value, std::string(1, quote));
}

// The facts in which two logs must agree. The content of data counts, not its path.
std::vector<std::string> comparedFacts(const std::vector<std::string> &facts) {
  std::vector<std::string> compared;
  for (const std::string &fact : facts)
    for (const char *kind : {"version ", "binary ", "device ", "data "})
      if (absl::StartsWith(fact, kind))
        compared.push_back(fact.substr(0, fact.find(": ")));
  return compared;
}

} // namespace

std::vector<proto::RunFlag> defaultFlagsOf(const std::string &binary) {
  std::vector<proto::RunFlag> flags;
  absl::StatusOr<std::unique_ptr<MappedFile>> file = MappedFile::open(binary);
  if (!file.ok())
    return flags;
  const absl::string_view payload = payloadWithin((*file)->content());
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t *>(payload.data()),
                                                static_cast<int>(payload.size()));
  // Skips all other fields of the program without copying them.
  constexpr uint32_t kTag = proto::Executable::kRunFlagsFieldNumber << 3 | 2;
  while (const uint32_t tag = stream.ReadTag()) {
    uint64_t value = 0;
    uint32_t length = 0;
    std::string text;
    const uint32_t type = tag & 7;
    const bool isRead = type == 0
                            ? stream.ReadVarint64(&value)
                            : type == 2 && stream.ReadVarint32(&length) &&
                                  (tag == kTag ? stream.ReadString(&text, static_cast<int>(length))
                                               : stream.Skip(static_cast<int>(length)));
    if (!isRead)
      return flags;
    if (tag == kTag && !flags.emplace_back().ParseFromString(text))
      flags.pop_back();
  }
  return flags;
}

std::string printFlags(const Settings &settings) {
  std::string text;
  for (const auto &[name, flag] : runnerFlags()) {
    const std::string value = flag->CurrentValue();
    if (value.empty()) {
      absl::StrAppend(&text, "# --", name, " is not set\n");
      continue;
    }
    std::string line = absl::StrCat("--", name, "=", quoteValue(value));
    line.resize(std::max<size_t>(line.size() + 1, 52), ' ');
    absl::StrAppend(&text, line, "# ", settings.sourceOf(name), "\n");
  }
  return text;
}

std::string printConfiguration(const proto::Executable &program, const RunRequest &request,
                               const std::string &binary) {
  std::string text = absl::StrCat(kConfigurationBegin, "\n");
  absl::StrAppend(&text, "# version ", ST_VERSION, ", program format ", program.format_version(),
                  "\n");
  if (absl::StatusOr<std::unique_ptr<MappedFile>> file = MappedFile::open(binary); file.ok())
    absl::StrAppend(&text, "# binary ", checksumsOf((*file)->content()), "\n");
  absl::StrAppend(&text, describeDevice(program),
                  describeData(request.train.data.value_or("synthetic")), request.flags);
  return text;
}

absl::Status checkReplay(const std::string &configuration, const std::string &log) {
  ST_ASSIGN_OR_RETURN(const LoggedConfiguration logged, readLoggedConfiguration(log));
  std::vector<std::string> facts;
  for (absl::string_view line : absl::StrSplit(configuration, '\n'))
    if (absl::ConsumePrefix(&line, "# "))
      facts.emplace_back(line);
  const std::vector<std::string> expected = comparedFacts(logged.facts),
                                 found = comparedFacts(facts);
  for (size_t i = 0; i < std::max(expected.size(), found.size()); ++i) {
    const std::string was = i < expected.size() ? expected[i] : "nothing";
    const std::string is = i < found.size() ? found[i] : "nothing";
    if (was != is)
      return absl::InvalidArgumentError(
          absl::StrCat("--replay=", log, ": expected ", was, ", found ", is));
  }
  return absl::OkStatus();
}

} // namespace st
