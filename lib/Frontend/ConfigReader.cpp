//===- ConfigReader.cpp - Checked access to a JSON object -----------------===//

#include "lib/Frontend/ConfigReader.h"

#include "lib/Support/JsonDepth.h"
#include "lib/Support/JsonKeys.h"
#include "mlir/IR/Location.h"
#include <cmath>

using namespace mlir;
using namespace mlir::st;

/// The text, shortened to fit into a line.
static std::string shortened(StringRef text) {
  constexpr size_t limit = 40;
  return text.size() <= limit ? text.str() : text.take_front(limit).str() + "...";
}

/// The value as compact JSON, shortened.
static std::string printed(const llvm::json::Value &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return shortened(text);
}

ConfigReader::ConfigReader(StringRef text, StringRef path, MLIRContext *context)
    : text(text), path(path), context(context) {
  if (::st::nestsTooDeeply(text)) {
    error("", "expected JSON that nests at most " + Twine(::st::kMaxJsonDepth) + " deep");
    return;
  }
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value) {
    error("", "malformed JSON: " + llvm::toString(value.takeError()));
    return;
  }
  if (auto repeated = ::st::findRepeatedKey(text)) {
    hasFailed = true;
    emitError(locate(repeated->offset))
        << "key '" << shortened(repeated->path) << "' appears twice";
    return;
  }
  if (llvm::json::Object *object = value->getAsObject())
    fields = std::move(*object);
  else
    error("", "expected a JSON object, found " + printed(*value));
}

/// The position of `"key":` in `text` from `start` on, or npos.
static size_t findKey(StringRef text, StringRef key, size_t start) {
  std::string quoted = ("\"" + key + "\"").str();
  for (size_t at = text.find(quoted, start); at != StringRef::npos; at = text.find(quoted, at + 1))
    if (text.substr(at + quoted.size()).ltrim().starts_with(":"))
      return at;
  return StringRef::npos;
}

Location ConfigReader::locate(StringRef key) const {
  // The parser keeps no positions. The first quoted occurrence before a colon is the key, unless an
  // earlier nested object has the same one.
  size_t outer = outerKey.empty() ? 0 : findKey(text, outerKey, 0);
  size_t at = key.empty() ? 0 : findKey(text, key, outer);
  return locate(at == StringRef::npos ? 0 : at);
}

Location ConfigReader::locate(size_t offset) const {
  StringRef before = text.take_front(offset);
  size_t lineStart = before.rfind('\n') + 1;
  return FileLineColLoc::get(context, path, before.count('\n') + 1, offset - lineStart + 1);
}

void ConfigReader::error(StringRef key, const Twine &message) {
  if (!hasFailed)
    emitError(locate(key)) << message;
  hasFailed = true;
}

std::string ConfigReader::pathOf(StringRef key) const {
  return outerKey.empty() ? key.str() : (outerKey + "." + key).str();
}

void ConfigReader::unexpected(StringRef key, const Twine &expected) {
  const llvm::json::Value *value = fields.get(key);
  error(key, "key '" + pathOf(key) + "': expected " + expected + ", found " +
                 (value ? printed(*value) : "nothing"));
}

const llvm::json::Value *ConfigReader::lookup(StringRef key) const {
  const llvm::json::Value *value = hasFailed ? nullptr : fields.get(key);
  return value && !value->getAsNull() ? value : nullptr;
}

int64_t ConfigReader::integer(StringRef key, int64_t fallback, int64_t minimum, int64_t limit) {
  const llvm::json::Value *value = hasFailed ? nullptr : fields.get(key);
  if (!value)
    return fallback;
  std::optional<int64_t> number = value->getAsInteger();
  if (number && *number >= minimum && *number <= limit)
    return *number;
  unexpected(key, "an integer from " + Twine(minimum) + " to " + Twine(limit));
  return minimum;
}

int64_t ConfigReader::size(StringRef key, int64_t fallback, int64_t limit) {
  return integer(key, fallback, 1, limit);
}

int64_t ConfigReader::count(StringRef key, int64_t fallback) {
  return integer(key, fallback, 0, INT32_MAX);
}

int64_t ConfigReader::sizeOrNull(StringRef key, int64_t fallback) {
  return lookup(key) ? size(key, fallback) : fallback;
}

double ConfigReader::probability(StringRef key, double fallback) {
  const llvm::json::Value *value = lookup(key);
  if (!value)
    return fallback;
  std::optional<double> number = value->getAsNumber();
  if (number && *number >= 0.0 && *number < 1.0)
    return *number;
  unexpected(key, "a probability, at least 0 and below 1");
  return fallback;
}

double ConfigReader::positive(StringRef key, std::optional<double> fallback) {
  const llvm::json::Value *value = lookup(key);
  if (!value && fallback)
    return *fallback;
  std::optional<double> number = value ? value->getAsNumber() : std::nullopt;
  if (number && static_cast<float>(*number) > 0 && std::isfinite(static_cast<float>(*number)))
    return *number;
  unexpected(key, "a number above 0 that 32 bits hold");
  return fallback.value_or(1.0);
}

double ConfigReader::number(StringRef key, double fallback) {
  const llvm::json::Value *value = lookup(key);
  if (!value)
    return fallback;
  std::optional<double> number = value->getAsNumber();
  if (number && *number >= 0 && std::isfinite(static_cast<float>(*number)))
    return *number;
  unexpected(key, "a number from 0 that 32 bits hold");
  return fallback;
}

bool ConfigReader::boolean(StringRef key, bool fallback) {
  const llvm::json::Value *value = lookup(key);
  if (!value)
    return fallback;
  if (std::optional<bool> flag = value->getAsBoolean())
    return *flag;
  unexpected(key, "true or false");
  return fallback;
}

StringRef ConfigReader::string(StringRef key, StringRef fallback) {
  const llvm::json::Value *value = lookup(key);
  if (!value)
    return fallback;
  if (std::optional<StringRef> text = value->getAsString())
    return *text;
  unexpected(key, "a string");
  return fallback;
}

void ConfigReader::inside(StringRef key, function_ref<void()> read) {
  const llvm::json::Value *value = lookup(key);
  if (!value)
    return;
  const llvm::json::Object *inner = value->getAsObject();
  if (!inner)
    return unexpected(key, "an object or null");
  llvm::json::Object copy = *inner;
  std::swap(fields, copy);
  outerKey = key;
  read();
  outerKey = "";
  std::swap(fields, copy);
}

/// The description of a key's type for messages; empty for a key that is read elsewhere.
static StringRef describe(KeyType type) {
  switch (type) {
  case KeyType::Read:
    return "";
  case KeyType::Flag:
    return "true or false";
  case KeyType::Number:
    return "a number";
  case KeyType::String:
    return "a string";
  case KeyType::Array:
    return "an array";
  case KeyType::Object:
    return "an object";
  case KeyType::Numbers:
    return "a number or an array of numbers";
  case KeyType::FlagOrString:
    return "true, false or a string";
  case KeyType::FloatType:
    return "a floating-point type such as \"float32\"";
  }
  llvm_unreachable("unknown type of key");
}

static bool isFloatType(StringRef name) {
  name.consume_front("torch.");
  return llvm::is_contained({"auto", "float64", "double", "float32", "float", "float16", "half",
                             "bfloat16", "float8_e4m3fn", "float8_e5m2"},
                            name);
}

static bool hasType(const llvm::json::Value &value, KeyType type) {
  using Value = llvm::json::Value;
  switch (type) {
  case KeyType::Read:
    return true;
  case KeyType::Flag:
    return value.kind() == Value::Boolean;
  case KeyType::Number:
    return value.kind() == Value::Number;
  case KeyType::String:
    return value.kind() == Value::String;
  case KeyType::Array:
    return value.kind() == Value::Array;
  case KeyType::Object:
    return value.kind() == Value::Object;
  case KeyType::Numbers:
    if (const llvm::json::Array *numbers = value.getAsArray())
      return llvm::all_of(*numbers, [](const Value &v) { return v.kind() == Value::Number; });
    return value.kind() == Value::Number;
  case KeyType::FlagOrString:
    return value.kind() == Value::Boolean || value.kind() == Value::String;
  case KeyType::FloatType:
    return value.kind() == Value::String && isFloatType(*value.getAsString());
  }
  llvm_unreachable("unknown type of key");
}

void ConfigReader::checkKeys(ArrayRef<ArrayRef<KnownKey>> known) {
  SmallVector<StringRef> unknown;
  for (const auto &field : fields) {
    StringRef key = field.first;
    // By convention, keys with a leading underscore are notes of the tool that wrote the file.
    if (key.starts_with("_"))
      continue;
    const KnownKey *match = nullptr;
    for (ArrayRef<KnownKey> list : known)
      for (const KnownKey &candidate : list)
        if (candidate.name == key)
          match = &candidate;
    if (!match)
      unknown.push_back(key);
    else if (!field.second.getAsNull() && !hasType(field.second, match->type))
      unexpected(key, describe(match->type));
  }
  if (unknown.empty())
    return;
  // Sorted, to be independent of the order in the hash table.
  llvm::sort(unknown);
  error(unknown.front(), "unknown key '" + shortened(pathOf(unknown.front())) + "'");
}
