// From XLA's HLO to StableHLO.
#pragma once

#include "lib/Proto/hlo.pb.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::st {

/// Reads an HloModuleProto, binary or in text form, also in the HloProto that XLA dumps.
/// Null, with a diagnostic at `name`, where it is none.
std::unique_ptr<::st::hlo::Module> parseHloProto(StringRef bytes, StringRef name,
                                                 MLIRContext *context);

/// Reads HLO text, as `compiler_ir("hlo").as_hlo_text()` and `compile().as_text()` of JAX
/// print it, into the same messages. Null, with a diagnostic at file, line and column,
/// where it is damaged or says what is not known.
std::unique_ptr<::st::hlo::Module> parseHloText(StringRef text, StringRef name,
                                                MLIRContext *context);

/// Reads either, by what the file begins with.
std::unique_ptr<::st::hlo::Module> parseHlo(StringRef bytes, StringRef name, MLIRContext *context);

/// Builds `@main` of the entry computation: one argument a parameter, one result an
/// element of the root's tuple; called computations are inlined or become regions.
/// Locations are the instructions' `op_name`s. Null, with a diagnostic that names the
/// instruction, where the module is damaged or uses what cannot be imported.
OwningOpRef<ModuleOp> importHloModule(const ::st::hlo::Module &module, MLIRContext *context);

} // namespace mlir::st
