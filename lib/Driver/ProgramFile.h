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

/// Fails with a diagnostic if MLIR's parser must not see the text: it nests too deeply, contains a
/// zero byte, or is bytecode.
LogicalResult checkProgramText(const llvm::MemoryBuffer &text, MLIRContext *context);

/// Parses a program's text if checkProgramText accepts it.
OwningOpRef<ModuleOp> parseProgram(const std::shared_ptr<llvm::SourceMgr> &source,
                                   const ParserConfig &config);

} // namespace mlir::st

#endif // ST_DRIVER_PROGRAMFILE_H
