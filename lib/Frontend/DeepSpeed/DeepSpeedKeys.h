//===- DeepSpeedKeys.h - The keys of a DeepSpeed configuration --*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_DEEPSPEED_DEEPSPEEDKEYS_H
#define ST_LIB_FRONTEND_DEEPSPEED_DEEPSPEEDKEYS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

namespace mlir::st {

/// The type of a key. "auto" and null are values of each type: not given.
enum class DeepSpeedKind {
  Flag,
  Count,       // an integer of at least 0, which may be written as 5e8
  Size,        // an integer of at least 1
  NonNegative, // a number of at least 0
  Number,
  Text,
  Device, // "none", "cpu" or "nvme"
  Section,
  Any
};

enum class DeepSpeedStatus {
  Honoured,
  NoEffect,
  /// A flag that must be off, or a section whose "enabled" must be off; an integer that must be
  /// 0 or 1.
  Off
};

/// A key; a key of a section is "section.key". A section ending in ".*" takes any keys.
struct DeepSpeedKey {
  StringRef name;
  DeepSpeedKind kind;
  DeepSpeedStatus status;
  /// NoEffect: the reason. Off: the feature that cannot be planned.
  StringRef note = "";
};

ArrayRef<DeepSpeedKey> deepSpeedKeys();

/// The key of this name, or its section if that takes any keys; null if it is unknown.
const DeepSpeedKey *findDeepSpeedKey(StringRef name);

/// "; did you mean 'X'?" with the nearest known name; empty if none is near.
std::string suggestDeepSpeedKey(StringRef name);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_DEEPSPEED_DEEPSPEEDKEYS_H
