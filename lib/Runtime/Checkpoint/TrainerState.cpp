#include "lib/Runtime/Checkpoint/TrainerState.h"
#include "lib/Runtime/Checkpoint/CheckpointFiles.h"
#include "lib/Runtime/Json.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/Support/Files.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <algorithm>
#include <cmath>

namespace st {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

// Format 1 records no optimizer, format 2 no learning rate.
constexpr int64_t kFormat = 3;
const char *const kSelfChecksum = "self_crc32";
constexpr uint64_t kLargestFile = 64 << 20;
constexpr int64_t kMaxSteps = int64_t{1} << 53;

class TrainerFileParser {
public:
  TrainerFileParser(const std::string &path, const Struct &object) : path(path), object(object) {}

  absl::StatusOr<TrainerFile> run();

private:
  absl::Status error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
  }
  absl::StatusOr<int64_t> count(const std::string &name, int64_t limit) const;
  absl::Status refuseUnknownKeys(int64_t format) const;
  absl::Status readLosses(std::vector<double> &losses) const;
  absl::Status readOptimizer(TrainerFile &file) const;
  absl::Status readSchedule(std::optional<LearningRateSchedule> &schedule) const;
  absl::Status readChecksums(const std::string &key, Checksums &checksums) const;

  const std::string &path;
  const Struct &object;
};

absl::StatusOr<int64_t> TrainerFileParser::count(const std::string &name, int64_t limit) const {
  const Value *value = findField(object, name);
  if (value && value->has_number_value() && value->number_value() >= 0 &&
      value->number_value() <= static_cast<double>(limit) &&
      std::trunc(value->number_value()) == value->number_value())
    return static_cast<int64_t>(value->number_value());
  return error(absl::StrCat("\"", name, "\": expected an integer from 0 to ", limit, ", found ",
                            value ? printForMessage(*value) : "nothing"));
}

absl::Status TrainerFileParser::refuseUnknownKeys(int64_t format) const {
  std::string first;
  for (const auto &[key, value] : object.fields()) {
    const bool known =
        key == "format" || key == "step" || key == "examples" || key == "seed" || key == "crc32" ||
        (format > 1 && key == "optimizer") ||
        (format > 2 && (key == "recent_losses" || key == "skipped_examples" ||
                        key == "learning_rate" || key == "files" || key == kSelfChecksum));
    if (!known && (first.empty() || key < first))
      first = key;
  }
  return first.empty() ? absl::OkStatus()
                       : error(absl::StrCat("unknown key ", quoteForMessage(first)));
}

absl::Status TrainerFileParser::readLosses(std::vector<double> &losses) const {
  const std::string key = "recent_losses";
  const Value *value = findField(object, key);
  if (!value)
    return absl::OkStatus();
  if (!value->has_list_value())
    return error(absl::StrCat("\"", key, "\": expected an array, found ", printForMessage(*value)));
  for (const Value &loss : value->list_value().values()) {
    if (!loss.has_number_value())
      return error(absl::StrCat("\"", key, "\": expected numbers, found ", printForMessage(loss)));
    losses.push_back(loss.number_value());
  }
  return absl::OkStatus();
}

absl::Status TrainerFileParser::readOptimizer(TrainerFile &file) const {
  const Value *value = findField(object, "optimizer");
  const Value *kind = value ? findField(value->struct_value(), "kind") : nullptr;
  if (!kind || kind->kind_case() != Value::kStringValue)
    return error(absl::StrCat("\"optimizer\": expected an object with a string \"kind\", found ",
                              !value                      ? "nothing"
                              : value->has_struct_value() ? "none in it"
                                                          : printForMessage(*value)));
  file.hasOptimizer = true;
  file.optimizer = kind->string_value();
  for (const auto &[name, constant] : value->struct_value().fields()) {
    if (name == "kind")
      continue;
    if (!constant.has_number_value())
      return error(absl::StrCat("\"optimizer\": ", quoteForMessage(name),
                                ": expected a number, found ", printForMessage(constant)));
    file.constants[name] = constant.number_value();
  }
  return absl::OkStatus();
}

absl::Status TrainerFileParser::readSchedule(std::optional<LearningRateSchedule> &schedule) const {
  const std::string key = "learning_rate";
  const Value *value = findField(object, key);
  if (!value)
    return absl::OkStatus();
  auto expected = [&](absl::string_view what, const std::string &name, const Value *found) {
    return error(absl::StrCat("\"", key, "\": \"", name, "\": expected ", what, ", found ",
                              found ? printForMessage(*found) : "nothing"));
  };
  if (!value->has_struct_value())
    return error(
        absl::StrCat("\"", key, "\": expected an object, found ", printForMessage(*value)));
  const Struct &fields = value->struct_value();
  LearningRateSchedule read;
  const Value *style = findField(fields, "style");
  const std::optional<DecayStyle> named =
      style ? decayStyleNamed(style->string_value()) : std::nullopt;
  if (!named)
    return expected("constant, linear, cosine, inverse-square-root, exponential or minus_sqrt",
                    "style", style);
  read.style = *named;
  for (auto [name, rate] : {std::pair{"peak", &read.peak}, {"min", &read.floor}}) {
    const Value *found = findField(fields, name);
    if (!found || !found->has_number_value() || !(found->number_value() >= 0))
      return expected("a number from 0", name, found);
    *rate = found->number_value();
  }
  for (auto [name, steps] : {std::pair{"warmup", &read.warmup},
                             {"decay_begin", &read.decayBegin},
                             {"decay_end", &read.decayEnd}}) {
    ST_ASSIGN_OR_RETURN(*steps, TrainerFileParser(path, fields).count(name, kMaxSteps));
  }
  const Value *unit = findField(fields, "unit");
  if (unit && unit->string_value() != "samples")
    return expected("samples", "unit", unit);
  read.countsSamples = unit != nullptr;
  if (fields.fields_size() != (unit ? 7 : 6))
    return error(absl::StrCat("\"", key,
                              "\": expected only style, peak, min, warmup, decay_begin, "
                              "decay_end and, for samples, unit"));
  schedule = read;
  return absl::OkStatus();
}

absl::Status TrainerFileParser::readChecksums(const std::string &key, Checksums &checksums) const {
  const Value *value = findField(object, key);
  if (!value)
    return absl::OkStatus();
  if (!value->has_struct_value())
    return error(
        absl::StrCat("\"", key, "\": expected an object, found ", printForMessage(*value)));
  for (const auto &[name, entry] : value->struct_value().fields()) {
    const std::string &text = entry.string_value();
    if (text.size() != 8 || !std::all_of(text.begin(), text.end(), [](unsigned char c) {
          return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
        }))
      return error(absl::StrCat("\"", key, "\": ", quoteForMessage(name),
                                ": expected eight hexadecimal digits, found ",
                                printForMessage(entry)));
    checksums[name] = text;
  }
  return absl::OkStatus();
}

absl::StatusOr<TrainerFile> TrainerFileParser::run() {
  TrainerFile file;
  ST_ASSIGN_OR_RETURN(int64_t format, count("format", kMaxSteps));
  if (format < 1 || format > kFormat)
    return error(absl::StrCat("format ", format, ", expected 1 to ", kFormat));
  ST_RETURN_IF_ERROR(refuseUnknownKeys(format));
  ST_ASSIGN_OR_RETURN(file.trainer.step, count("step", kMaxSteps));
  ST_ASSIGN_OR_RETURN(file.trainer.examples, count("examples", kMaxSteps));
  ST_ASSIGN_OR_RETURN(int64_t seed, count("seed", UINT32_MAX));
  file.trainer.seed = static_cast<uint32_t>(seed);
  if (findField(object, "skipped_examples")) {
    ST_ASSIGN_OR_RETURN(file.trainer.skippedExamples,
                        count("skipped_examples", file.trainer.examples));
  }
  ST_RETURN_IF_ERROR(readLosses(file.trainer.recentLosses));
  ST_RETURN_IF_ERROR(readSchedule(file.schedule));
  if (format > 1)
    ST_RETURN_IF_ERROR(readOptimizer(file));
  ST_RETURN_IF_ERROR(readChecksums("crc32", file.checksums));
  ST_RETURN_IF_ERROR(readChecksums("files", file.files));
  return file;
}

std::string printChecksums(const Checksums &checksums) {
  std::string text = "{";
  absl::string_view separator = "\n  ";
  for (const auto &[name, value] : checksums) {
    absl::StrAppend(&text, separator, quoteJson(name), ": ", quoteJson(value));
    separator = ",\n  ";
  }
  return text + "\n }";
}

std::string printSchedule(const LearningRateSchedule &schedule) {
  return absl::StrCat(
      "{\n  \"style\": ", quoteJson(nameOf(schedule.style)),
      ",\n  \"peak\": ", printJsonNumber(schedule.peak),
      ",\n  \"min\": ", printJsonNumber(schedule.floor), ",\n  \"warmup\": ", schedule.warmup,
      ",\n  \"decay_begin\": ", schedule.decayBegin, ",\n  \"decay_end\": ", schedule.decayEnd,
      schedule.countsSamples ? ",\n  \"unit\": \"samples\"" : "", "\n }");
}

// The last lines of a file whose preceding text is `before`.
std::string selfChecksum(absl::string_view before) {
  return absl::StrCat(",\n \"", kSelfChecksum, "\": \"", checksumOf(before), "\"\n}\n");
}

// Returns true if the last key, where present, matches all text before it.
bool hasValidChecksum(absl::string_view text) {
  const size_t key = text.rfind(absl::StrCat(",\n \"", kSelfChecksum, "\""));
  return key != absl::string_view::npos && text.substr(key) == selfChecksum(text.substr(0, key));
}

} // namespace

// Does not print through Protobuf, whose maps have a different order each time.
std::string printTrainerFile(const TrainerFile &file) {
  std::string text =
      absl::StrFormat("{\n \"format\": %d,\n \"step\": %d,\n \"examples\": %d,\n \"seed\": %d,\n",
                      kFormat, file.trainer.step, file.trainer.examples, file.trainer.seed);
  if (file.trainer.skippedExamples > 0)
    absl::StrAppend(&text, " \"skipped_examples\": ", file.trainer.skippedExamples, ",\n");
  if (!file.trainer.recentLosses.empty())
    absl::StrAppend(
        &text, " \"recent_losses\": [",
        absl::StrJoin(file.trainer.recentLosses, ", ",
                      [](std::string *out, double loss) { *out += printJsonNumber(loss); }),
        "],\n");
  if (file.schedule)
    absl::StrAppend(&text, " \"learning_rate\": ", printSchedule(*file.schedule), ",\n");
  absl::StrAppend(&text, " \"optimizer\": {\n  \"kind\": ", quoteJson(file.optimizer));
  for (const auto &[name, value] : file.constants)
    absl::StrAppend(&text, ",\n  ", quoteJson(name), ": ", printJsonNumber(value));
  absl::StrAppend(&text, "\n },\n \"crc32\": ", printChecksums(file.checksums),
                  ",\n \"files\": ", printChecksums(file.files));
  return absl::StrCat(text, selfChecksum(text));
}

absl::StatusOr<TrainerFile> readTrainerFile(const std::string &path) {
  ST_ASSIGN_OR_RETURN(std::string text, readFile(path, kLargestFile));
  ST_ASSIGN_OR_RETURN(Struct object, parseJsonObject(text, path));
  ST_ASSIGN_OR_RETURN(TrainerFile file, TrainerFileParser(path, object).run());
  if (findField(object, kSelfChecksum) && !hasValidChecksum(text))
    return absl::DataLossError(
        absl::StrCat(path, ": damaged: it does not match its \"", kSelfChecksum,
                     "\" (remove this key if the file was changed on purpose)"));
  return file;
}

void describeOptimizer(const proto::Executable &program, TrainerFile &file) {
  file.hasOptimizer = true;
  file.optimizer = program.optimizer().kind();
  for (const auto &[name, value] : program.optimizer().constants())
    if (std::isfinite(value))
      file.constants[name] = value;
}

absl::StatusOr<std::string> compareOptimizer(const std::string &path, const TrainerFile &found,
                                             const proto::Executable &program) {
  if (!found.hasOptimizer)
    return "";
  TrainerFile own;
  describeOptimizer(program, own);
  if (found.optimizer != own.optimizer)
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": \"optimizer\" is ", quoteJson(found.optimizer),
                     ", the program was compiled with ", quoteJson(own.optimizer)));
  for (const auto &[name, value] : found.constants)
    if (own.constants.count(name) == 0)
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": \"optimizer\": unknown key ", quoteForMessage(name)));
  for (const auto &[name, value] : own.constants)
    if (found.constants.count(name) == 0)
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": \"optimizer\": ", quoteForMessage(name), " is missing"));
  std::string warnings;
  for (const auto &[name, value] : own.constants)
    if (auto it = found.constants.find(name); it != found.constants.end() && it->second != value)
      absl::StrAppend(&warnings, "warning: ", escapeControls(path), ": ", quoteJson(name),
                      " of the optimizer is ", printJsonNumber(it->second),
                      ", the program was compiled with ", printJsonNumber(value), "\n");
  return warnings;
}

} // namespace st
