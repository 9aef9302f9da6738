//===- ReadInput.h - The inputs of st-compile -------------------*- C++ -*-===//
//
// The input of a compilation as a module: a model's configuration, from which the front end builds
// one, or a program in StableHLO's text or bytecode, or in HLO. Errors are diagnostics.
//
//===----------------------------------------------------------------------===//

#ifndef ST_LIB_DRIVER_INPUT_READINPUT_H
#define ST_LIB_DRIVER_INPUT_READINPUT_H

#include "lib/Driver/Compiler.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::st {

/// Returns true if a file name is that of a program rather than a model.
bool isModuleFile(StringRef path);

/// Builds the model of `request.model`, or of the configuration that `request.input` names, for the
/// task, batch and sequence of the options. Attaches the tokenizer of the model's folder and the
/// run's flags.
LogicalResult importModel(const CompileRequest &request, MLIRContext *context,
                          OwningOpRef<ModuleOp> &module);

/// Reads the program that `request.input` names, without changes.
LogicalResult readModule(const CompileRequest &request, MLIRContext *context,
                         OwningOpRef<ModuleOp> &module);

/// Rejects options that describe a model, because `program` determines it.
LogicalResult refuseModelOptions(const CompileRequest &request, ModuleOp program);

} // namespace mlir::st

#endif // ST_LIB_DRIVER_INPUT_READINPUT_H
