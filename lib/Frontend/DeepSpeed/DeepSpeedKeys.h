//===- DeepSpeedKeys.h - The keys of a DeepSpeed configuration --*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_DEEPSPEED_DEEPSPEEDKEYS_H
#define ST_LIB_FRONTEND_DEEPSPEED_DEEPSPEEDKEYS_H

#include "mlir/Support/LLVM.h"

namespace mlir::st {

/// What a key holds. "auto" and null are values of each: not given.
enum class DeepSpeedKind {
  Flag,
  Count,       // a whole number from 0 on, which may be written as 5e8
  Size,        // a whole number from 1 on
  NonNegative, // a number from 0 on
  Number,
  Text,
  Device, // "none", "cpu" or "nvme"
  Section,
  Any
};

enum class DeepSpeedFate {
  Honoured,
  NoEffect,
  /// A flag that has to be off, or a section whose "enabled" has to be; a whole number that has to
  /// be 0 or 1.
  Off
};

/// A key; one within a section as "section.key". A section ending in ".*" takes any keys.
struct DeepSpeedKey {
  StringRef name;
  DeepSpeedKind kind;
  DeepSpeedFate fate;
  /// NoEffect: why. Off: what cannot be planned.
  StringRef note = "";
};

ArrayRef<DeepSpeedKey> deepSpeedKeys();

/// The key of this name, or the section with any keys that it is in; null where it is unknown.
const DeepSpeedKey *findDeepSpeedKey(StringRef name);

/// "; did you mean 'X'?" with the nearest known name, or nothing where none is near.
std::string suggestDeepSpeedKey(StringRef name);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_DEEPSPEED_DEEPSPEEDKEYS_H
