//===- ConfigKeys.h - The keys of a Hugging Face config.json ----*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_CONFIGKEYS_H
#define ST_LIB_FRONTEND_CONFIGKEYS_H

#include "lib/Frontend/ConfigReader.h"
#include "lib/Frontend/ModelConfig.h"

namespace mlir::st {

/// The keys that a configuration of any model may have.
ArrayRef<KnownKey> commonKeys();

/// Further keys of configurations of `type`.
ArrayRef<KnownKey> keysOf(ModelType type);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_CONFIGKEYS_H
