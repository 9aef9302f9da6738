//===- ConfigKeys.h - The keys of a Hugging Face config.json ----*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_CONFIGKEYS_H
#define ST_LIB_FRONTEND_CONFIGKEYS_H

#include "lib/Frontend/ConfigReader.h"
#include "lib/Frontend/ModelConfig.h"

namespace mlir::st {

/// The lists of keys that a configuration of `type` may have. Families with the same blocks share a
/// list.
SmallVector<ArrayRef<KnownKey>> keysOf(ModelType type);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_CONFIGKEYS_H
