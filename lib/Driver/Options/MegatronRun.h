// A run of Megatron as a compilation.
#ifndef ST_DRIVER_MEGATRONRUN_H
#define ST_DRIVER_MEGATRONRUN_H

#include "lib/Driver/Compiler.h"
#include "lib/Frontend/Megatron/Compile/CompiledRun.h"

#include <map>
#include <string>

namespace mlir::st {

/// What a command line says of a Megatron run to compile.
struct MegatronRequest {
  std::string log;            ///< file with a log or a command line; "-": standard input
  std::string vocabularyFile; ///< instead of the log's; empty: the log's
  std::string outcomes;       ///< file for what becomes of each argument; "-": standard output
};

/// Fills the request with the model, the layout (unless the request names a file of one), the
/// options and the flags of the run. `given` are the options of the command line, which go before
/// the log's. Writes the outcomes where they are asked for, as JSON where the name ends in .json,
/// even if an argument is refused. Prints how many arguments are honoured unless the request is
/// quiet. An error is one line.
absl::Status readMegatronRun(const MegatronRequest &megatron,
                             std::map<std::string, std::string> given, CompileRequest &request,
                             MLIRContext *context);

} // namespace mlir::st

#endif // ST_DRIVER_MEGATRONRUN_H
