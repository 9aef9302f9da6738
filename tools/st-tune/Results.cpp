#include "tools/st-tune/Results.h"

#include "lib/Support/Files.h"
#include "lib/Support/JsonDepth.h"
#include "lib/Support/StatusMacros.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

using namespace mlir::st;

constexpr size_t kLargestResults = size_t(256) << 20;

/// The beginning of every row, which distinguishes a torn row from other content.
constexpr absl::string_view kRowStart = "{\"key\":\"";

static constexpr std::pair<TrialStatus, const char *> kStatuses[] = {
    {TrialStatus::Ok, "ok"},
    {TrialStatus::DoesNotCompile, "does-not-compile"},
    {TrialStatus::OutOfMemory, "out-of-memory"},
    {TrialStatus::Timeout, "timeout"},
    {TrialStatus::Failed, "failed"},
    {TrialStatus::NoFigure, "no-figure"}};

const char *mlir::st::statusName(TrialStatus status) {
  for (auto [value, name] : kStatuses)
    if (value == status)
      return name;
  return "";
}

//===----------------------------------------------------------------------===//
// Rows as JSON
//===----------------------------------------------------------------------===//

static std::string printRow(const TrialRow &row) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream);
  json.object([&] {
    json.attribute("key", row.key);
    json.attribute("name", row.name);
    json.attribute("status", statusName(row.status));
    if (!row.error.empty())
      json.attribute("error", row.error);
    for (auto [name, value] : {std::pair("in_step_ms", row.inStepMs),
                               std::pair("in_step_samples_per_s", row.inStepSamplesPerSecond),
                               std::pair("end_to_end_samples_per_s", row.endToEndSamplesPerSecond)})
      if (value > 0)
        json.attribute(name, value);
    json.attribute("simulated", row.isSimulated);
    json.attribute("seconds", row.seconds);
    json.attribute("timeout_s", row.timeoutSeconds);
    for (const auto &[name, value] : row.details)
      json.attribute(name, value);
  });
  return text + "\n";
}

/// Describes an error in a field, or in the full line.
static absl::Status expected(const std::string &what, const llvm::json::Value *found) {
  std::string text = "nothing";
  if (found)
    llvm::raw_string_ostream(text = "") << *found;
  if (text.size() > 80)
    text = text.substr(0, 80) + "...";
  return absl::InvalidArgumentError(absl::StrCat("expected ", what, ", found ", text));
}

static absl::Status readText(const llvm::json::Object &object, const char *name,
                             std::string &value) {
  const llvm::json::Value *found = object.get(name);
  std::optional<llvm::StringRef> text = found ? found->getAsString() : std::nullopt;
  if (!text || text->empty())
    return expected(absl::StrCat("a text as \"", name, "\""), found);
  value = text->str();
  return absl::OkStatus();
}

/// A number that may be missing.
static absl::Status readNumber(const llvm::json::Object &object, const char *name, double &value) {
  const llvm::json::Value *found = object.get(name);
  if (!found)
    return absl::OkStatus();
  std::optional<double> number = found->getAsNumber();
  if (!number || !(*number >= 0))
    return expected(absl::StrCat("a number of at least 0 as \"", name, "\""), found);
  value = *number;
  return absl::OkStatus();
}

static absl::StatusOr<TrialRow> parseRow(llvm::StringRef line) {
  if (::st::nestsTooDeeply(std::string_view(line.data(), line.size())))
    return absl::InvalidArgumentError("expected a row of st-tune, found JSON that nests deeply");
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
  if (!value)
    return absl::InvalidArgumentError(absl::StrCat("expected a row of st-tune as JSON, found \"",
                                                   line.substr(0, 40).str(),
                                                   "\": ", llvm::toString(value.takeError())));
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return expected("an object", &*value);
  TrialRow row;
  std::string status;
  ST_RETURN_IF_ERROR(readText(*object, "key", row.key));
  ST_RETURN_IF_ERROR(readText(*object, "name", row.name));
  ST_RETURN_IF_ERROR(readText(*object, "status", status));
  bool isKnown = false;
  for (auto [known, name] : kStatuses)
    if (status == name) {
      row.status = known;
      isKnown = true;
    }
  if (!isKnown)
    return expected("a status of a trial as \"status\"", object->get("status"));
  if (!row.isOk())
    ST_RETURN_IF_ERROR(readText(*object, "error", row.error));
  ST_RETURN_IF_ERROR(readNumber(*object, "in_step_ms", row.inStepMs));
  ST_RETURN_IF_ERROR(readNumber(*object, "in_step_samples_per_s", row.inStepSamplesPerSecond));
  ST_RETURN_IF_ERROR(readNumber(*object, "end_to_end_samples_per_s", row.endToEndSamplesPerSecond));
  ST_RETURN_IF_ERROR(readNumber(*object, "seconds", row.seconds));
  ST_RETURN_IF_ERROR(readNumber(*object, "timeout_s", row.timeoutSeconds));
  row.isSimulated = object->getBoolean("simulated").value_or(false);
  return row;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

absl::Status ResultsFile::fail(const char *what) const {
  return ::st::systemError(path, what, errno);
}

absl::Status ResultsFile::lock() const {
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    return absl::OkStatus();
  if (errno == EWOULDBLOCK)
    return ::st::inFile(path, "another st-tune writes to it");
  return fail("cannot lock");
}

absl::StatusOr<std::unique_ptr<ResultsFile>> ResultsFile::open(const std::string &path) {
  std::unique_ptr<ResultsFile> file(new ResultsFile(path));
  file->descriptor = ::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
  if (file->descriptor >= 0) {
    ST_RETURN_IF_ERROR(file->lock());
    ST_RETURN_IF_ERROR(file->read());
    return file;
  }
  if (errno != ENOENT)
    return file->fail("cannot open");
  // Reports a wrong path before the first trial.
  const llvm::StringRef parent = llvm::sys::path::parent_path(path);
  if (access(parent.empty() ? "." : parent.str().c_str(), W_OK | X_OK) != 0)
    return file->fail("cannot create");
  return file;
}

ResultsFile::~ResultsFile() {
  if (descriptor >= 0)
    close(descriptor);
}

absl::Status ResultsFile::read() {
  absl::StatusOr<std::string> content = ::st::readFile(path, kLargestResults);
  if (!content.ok())
    return content.status();
  llvm::StringRef rest = *content;
  for (size_t line = 1; !rest.empty(); ++line) {
    const size_t end = rest.find('\n');
    const bool isComplete = end != llvm::StringRef::npos;
    absl::StatusOr<TrialRow> row = parseRow(rest.substr(0, end));
    const absl::string_view start(rest.data(), std::min(rest.size(), kRowStart.size()));
    if (!row.ok() && !isComplete && absl::StartsWith(kRowStart, start)) {
      torn = rest.size();
      if (ftruncate(descriptor, static_cast<off_t>(content->size() - torn)) != 0)
        return fail("cannot remove the incomplete last line");
      return absl::OkStatus();
    }
    if (!row.ok())
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", line, ": ", row.status().message()));
    if (!isComplete && ::write(descriptor, "\n", 1) != 1)
      return fail("cannot write");
    const std::string key = row->key;
    rows.insert_or_assign(key, *std::move(row));
    rest = isComplete ? rest.substr(end + 1) : llvm::StringRef();
  }
  return absl::OkStatus();
}

const TrialRow *ResultsFile::find(const std::string &key) const {
  auto found = rows.find(key);
  return found == rows.end() ? nullptr : &found->second;
}

absl::Status ResultsFile::start() {
  if (descriptor >= 0)
    return absl::OkStatus();
  descriptor = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  return descriptor < 0 ? fail("cannot create") : lock();
}

absl::Status ResultsFile::append(const TrialRow &row) {
  const std::string text = printRow(row);
  const off_t before = lseek(descriptor, 0, SEEK_END);
  const ssize_t written = ::write(descriptor, text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size())) {
    const absl::Status failure =
        written < 0 ? fail("cannot write") : ::st::inFile(path, "cannot write a full line");
    // A missing line is better than half a line.
    if (written > 0 && ftruncate(descriptor, before) != 0)
      return fail("cannot remove an incomplete line");
    return failure;
  }
  // Pipes and similar files cannot be flushed to disk.
  if (fdatasync(descriptor) != 0 && errno != EINVAL && errno != EROFS)
    return fail("cannot write");
  rows.insert_or_assign(row.key, row);
  return absl::OkStatus();
}
