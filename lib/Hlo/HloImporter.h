// Imports XLA's HLO as StableHLO.
#pragma once

#include "lib/Proto/hlo.pb.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::st {

/// Reads an HloModuleProto, binary or in text form, also within the HloProto that XLA dumps. Null,
/// with a diagnostic at `name`, if it is invalid.
std::unique_ptr<::st::hlo::Module> parseHloProto(StringRef bytes, StringRef name,
                                                 MLIRContext *context);

/// Reads HLO text, as `compiler_ir("hlo").as_hlo_text()` and `compile().as_text()` of JAX print it,
/// into the same messages. Null, with a diagnostic at file, line and column, if the text is invalid
/// or unsupported.
std::unique_ptr<::st::hlo::Module> parseHloText(StringRef text, StringRef name,
                                                MLIRContext *context);

/// Reads either form, which the first bytes determine.
std::unique_ptr<::st::hlo::Module> parseHlo(StringRef bytes, StringRef name, MLIRContext *context);

/// Builds `@main` from the entry computation: one argument per parameter, one result per element of
/// the root's tuple; called computations are inlined or become regions. Locations are the
/// instructions' `op_name`s. Null, with a diagnostic that names the instruction, if the module is
/// invalid or unsupported.
OwningOpRef<ModuleOp> importHloModule(const ::st::hlo::Module &module, MLIRContext *context);

} // namespace mlir::st
