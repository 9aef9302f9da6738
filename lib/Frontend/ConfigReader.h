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
/// fallback; only the first problem is reported.
class ConfigReader {
public:
  /// Parses `text`, which has to be one JSON object and to outlive the reader.
  ConfigReader(StringRef text, StringRef path, MLIRContext *context);

  bool failed() const { return hasFailed; }
  const llvm::json::Object &object() const { return fields; }

  /// An integer from 1 to `limit`. Without a fallback the key has to be there; a
  /// null counts as absent where there is one.
  int64_t size(StringRef key, std::optional<int64_t> fallback = std::nullopt,
               int64_t limit = INT32_MAX);
  /// A number in [0, 1).
  double probability(StringRef key, double fallback);
  /// A finite number above zero.
  double positive(StringRef key, double fallback);
  bool boolean(StringRef key, bool fallback);
  StringRef string(StringRef key, std::optional<StringRef> fallback = std::nullopt);

  /// Reports that `key` holds something else than `expected`.
  void unexpected(StringRef key, const Twine &expected);
  /// Reports `message` at the place of `key` (of the file, where it is empty).
  void error(StringRef key, const Twine &message);
  /// Reports keys that are in none of the lists, and those of another type than theirs.
  void checkKeys(ArrayRef<ArrayRef<KnownKey>> known);

private:
  /// The field, or null where it is absent and has a fallback.
  const llvm::json::Value *lookup(StringRef key, bool required, const Twine &expected);
  Location locate(StringRef key) const;
  Location locate(size_t offset) const;

  StringRef text;
  StringRef path;
  MLIRContext *context;
  llvm::json::Object fields;
  bool hasFailed = false;
};

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_CONFIGREADER_H
