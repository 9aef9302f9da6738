//===- ConfigReader.h - Checked access to a JSON object ---------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_CONFIGREADER_H
#define ST_LIB_FRONTEND_CONFIGREADER_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/JSON.h"

namespace mlir::st {

/// The type of a configuration key, for checks of keys that no reader uses.
enum class KeyType {
  Read, // checked by its reader
  Flag,
  Number,
  String,
  Array,
  Object,
  Numbers, // one, or an array of them
  FlagOrString,
  FloatType,
};

struct KnownKey {
  StringRef name;
  KeyType type = KeyType::Read;
};

/// Reads the fields of one JSON object. If a getter finds an unexpected value, it reports the error
/// at the key's position in the text and returns the fallback or another valid value. Only the
/// first error is reported.
class ConfigReader {
public:
  /// Parses `text`, which must be one JSON object and outlive the reader.
  ConfigReader(StringRef text, StringRef path, MLIRContext *context);

  bool failed() const { return hasFailed; }
  const llvm::json::Object &object() const { return fields; }

  /// An integer from 1 to `limit`; the fallback if the key is absent.
  int64_t size(StringRef key, int64_t fallback, int64_t limit = INT32_MAX);
  /// An integer from 0.
  int64_t count(StringRef key, int64_t fallback);
  /// Like size(), but null counts as absent, as it does in the following getters.
  int64_t sizeOrNull(StringRef key, int64_t fallback);
  /// A number in [0, 1).
  double probability(StringRef key, double fallback);
  /// A finite number above zero. Without a fallback the key is required.
  double positive(StringRef key, std::optional<double> fallback = std::nullopt);
  /// A finite number from 0.
  double number(StringRef key, double fallback);
  bool boolean(StringRef key, bool fallback);
  StringRef string(StringRef key, StringRef fallback);

  /// Calls `read` with the reader inside the object under `key`, if there is one. Strings read
  /// there are valid only during the call.
  void inside(StringRef key, function_ref<void()> read);

  /// Reports that `key` does not hold `expected`.
  void unexpected(StringRef key, const Twine &expected);
  /// Reports `message` at the position of `key` (of the file, if it is empty).
  void error(StringRef key, const Twine &message);
  /// Warns at the position of `key`.
  void warning(StringRef key, const Twine &message) { emitWarning(locate(key)) << message; }
  /// Reports keys that are in none of the lists, and keys with the wrong type.
  void checkKeys(ArrayRef<ArrayRef<KnownKey>> known);

private:
  int64_t integer(StringRef key, int64_t fallback, int64_t least, int64_t limit);
  /// The field, or null if it is absent or null.
  const llvm::json::Value *lookup(StringRef key) const;
  /// The key's name in messages, after the key of the enclosing object.
  std::string pathOf(StringRef key) const;
  Location locate(StringRef key) const;
  Location locate(size_t offset) const;

  StringRef text;
  StringRef path;
  MLIRContext *context;
  llvm::json::Object fields;
  /// The key of the enclosing object of `fields`; empty at the top level.
  StringRef outerKey;
  bool hasFailed = false;
};

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_CONFIGREADER_H
