//===- ConfigReader.cpp - Checked access to a JSON object -----------------===//

#include "lib/Frontend/ConfigReader.h"

#include "lib/Support/JsonDepth.h"
#include "mlir/IR/Location.h"
#include <cmath>

using namespace mlir;
using namespace mlir::st;

/// The value as compact JSON, shortened to fit into a line.
static std::string printed(const llvm::json::Value &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  constexpr size_t limit = 40;
  if (text.size() > limit)
    text = text.substr(0, limit) + "...";
  return text;
}

ConfigReader::ConfigReader(StringRef text, StringRef path, MLIRContext *context)
    : text(text), path(path), context(context) {
  if (::st::nestsTooDeeply(text)) {
    error("", "expected JSON that nests at most " + Twine(::st::kMaxJsonDepth) + " deep");
    return;
  }
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    error("", "malformed JSON: " + llvm::toString(value.takeError()));
  else if (llvm::json::Object *object = value->getAsObject())
    fields = std::move(*object);
  else
    error("", "expected a JSON object, found " + printed(*value));
}

Location ConfigReader::locate(StringRef key) const {
  // The parser keeps no positions. The first quoted occurrence that a colon
  // follows is the key, for keys of the top level that no nested object shares.
  std::string quoted = ("\"" + key + "\"").str();
  for (size_t at = text.find(quoted); !key.empty() && at != StringRef::npos;
       at = text.find(quoted, at + 1)) {
    if (!text.substr(at + quoted.size()).ltrim().starts_with(":"))
      continue;
    StringRef before = text.substr(0, at);
    size_t lineStart = before.rfind('\n') + 1;
    return FileLineColLoc::get(context, path, before.count('\n') + 1, at - lineStart + 1);
  }
  return FileLineColLoc::get(context, path, 1, 1);
}

void ConfigReader::error(StringRef key, const Twine &message) {
  if (!hasFailed)
    emitError(locate(key)) << message;
  hasFailed = true;
}

void ConfigReader::unexpected(StringRef key, const Twine &expected) {
  const llvm::json::Value *value = fields.get(key);
  error(key, "key '" + key + "': expected " + expected + ", found " +
                 (value ? printed(*value) : "nothing"));
}

const llvm::json::Value *ConfigReader::lookup(StringRef key, bool required, const Twine &expected) {
  if (hasFailed)
    return nullptr;
  const llvm::json::Value *value = fields.get(key);
  if (value && (required || !value->getAsNull()))
    return value;
  if (required)
    unexpected(key, expected);
  return nullptr;
}

int64_t ConfigReader::size(StringRef key, std::optional<int64_t> fallback, int64_t limit) {
  std::string expected = "an integer from 1 to " + std::to_string(limit);
  const llvm::json::Value *value = lookup(key, !fallback, expected);
  if (!value)
    return fallback.value_or(1);
  std::optional<int64_t> number = value->getAsInteger();
  if (number && *number >= 1 && *number <= limit)
    return *number;
  unexpected(key, expected);
  return 1;
}

double ConfigReader::probability(StringRef key, double fallback) {
  constexpr StringRef expected = "a probability, at least 0 and below 1";
  const llvm::json::Value *value = lookup(key, false, expected);
  if (!value)
    return fallback;
  std::optional<double> number = value->getAsNumber();
  if (number && *number >= 0.0 && *number < 1.0)
    return *number;
  unexpected(key, expected);
  return fallback;
}

double ConfigReader::positive(StringRef key, double fallback) {
  constexpr StringRef expected = "a number above 0";
  const llvm::json::Value *value = lookup(key, false, expected);
  if (!value)
    return fallback;
  std::optional<double> number = value->getAsNumber();
  if (number && *number > 0.0 && std::isfinite(*number))
    return *number;
  unexpected(key, expected);
  return fallback;
}

bool ConfigReader::boolean(StringRef key, bool fallback) {
  const llvm::json::Value *value = lookup(key, false, "true or false");
  if (!value)
    return fallback;
  if (std::optional<bool> flag = value->getAsBoolean())
    return *flag;
  unexpected(key, "true or false");
  return fallback;
}

StringRef ConfigReader::string(StringRef key, std::optional<StringRef> fallback) {
  const llvm::json::Value *value = lookup(key, !fallback, "a string");
  if (!value)
    return fallback.value_or("");
  if (std::optional<StringRef> text = value->getAsString())
    return *text;
  unexpected(key, "a string");
  return "";
}

void ConfigReader::refuseUnknownKeys(ArrayRef<ArrayRef<StringRef>> known) {
  // In the order of the text, not of the hash table.
  SmallVector<StringRef> unknown;
  for (const auto &field : fields) {
    StringRef key = field.first;
    // Keys that start with an underscore are notes of the tool that wrote the
    // file, by its convention.
    if (key.starts_with("_") ||
        llvm::any_of(known, [&](auto list) { return is_contained(list, key); }))
      continue;
    unknown.push_back(key);
  }
  if (unknown.empty())
    return;
  llvm::sort(unknown);
  error(unknown.front(), "unknown key '" + unknown.front() + "'");
}
