// Reading and writing programs in tools.
#ifndef ST_DRIVER_PROGRAMFILE_H
#define ST_DRIVER_PROGRAMFILE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace mlir::st {

/// The content of a file, "-" for standard input. The error begins with the path.
absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> readInput(StringRef path);

/// Writes a file atomically, "-" for standard output. The error begins with the path.
absl::Status writeOutput(StringRef path, StringRef content);

/// Fails with a diagnostic for texts that MLIR's parser does not handle safely: nested too deeply,
/// with a zero byte, or bytecode.
LogicalResult checkProgramText(const llvm::MemoryBuffer &text, MLIRContext *context);

/// Parses a program's text if checkProgramText accepts it.
OwningOpRef<ModuleOp> parseProgram(const std::shared_ptr<llvm::SourceMgr> &source,
                                   const ParserConfig &config);

} // namespace mlir::st

#endif // ST_DRIVER_PROGRAMFILE_H
