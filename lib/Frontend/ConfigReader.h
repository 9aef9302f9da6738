//===- ConfigReader.h - Checked access to a JSON object ---------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_CONFIGREADER_H
#define ST_LIB_FRONTEND_CONFIGREADER_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/JSON.h"

namespace mlir::st {

/// What a key holds, where nothing else reads it.
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

/// Reads the fields of one JSON object. A getter that finds something else than
/// it expects reports it, at the key's place in the text, and returns its
/// fallback or another value of its kind; only the first problem is reported.
class ConfigReader {
public:
  /// Parses `text`, which has to be one JSON object and to outlive the reader.
  ConfigReader(StringRef text, StringRef path, MLIRContext *context);

  bool failed() const { return hasFailed; }
  const llvm::json::Object &object() const { return fields; }

  /// An integer from 1 to `limit`; the fallback where the key is absent.
  int64_t size(StringRef key, int64_t fallback, int64_t limit = INT32_MAX);
  /// The same, but a null counts as absent, as it does for what follows.
  int64_t sizeOrNull(StringRef key, int64_t fallback);
  /// A number in [0, 1).
  double probability(StringRef key, double fallback);
  /// A finite number above zero. Without a fallback the key has to be there.
  double positive(StringRef key, std::optional<double> fallback = std::nullopt);
  bool boolean(StringRef key, bool fallback);
  StringRef string(StringRef key, StringRef fallback);

  /// Calls `read`, for which the reader stands in the object under `key`; not
  /// where there is none. Strings read there die with the call.
  void inside(StringRef key, function_ref<void()> read);

  /// Reports that `key` holds something else than `expected`.
  void unexpected(StringRef key, const Twine &expected);
  /// Reports `message` at the place of `key` (of the file, where it is empty).
  void error(StringRef key, const Twine &message);
  /// Reports keys that are in none of the lists, and those of another type than theirs.
  void checkKeys(ArrayRef<ArrayRef<KnownKey>> known);

private:
  /// The field, or null where it is absent or null.
  const llvm::json::Value *lookup(StringRef key) const;
  /// The key as messages name it, after that of the object around it.
  std::string pathOf(StringRef key) const;
  Location locate(StringRef key) const;
  Location locate(size_t offset) const;

  StringRef text;
  StringRef path;
  MLIRContext *context;
  llvm::json::Object fields;
  /// The key of the object around `fields`; empty at the top level.
  StringRef outerKey;
  bool hasFailed = false;
};

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_CONFIGREADER_H
