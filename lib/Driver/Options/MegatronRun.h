// Compiles a Megatron run.
#ifndef ST_DRIVER_MEGATRONRUN_H
#define ST_DRIVER_MEGATRONRUN_H

#include "lib/Driver/Compiler.h"
#include "lib/Frontend/Megatron/Compile/CompiledRun.h"

#include <map>
#include <string>

namespace mlir::st {

/// The command line's options for a Megatron run to compile.
struct MegatronRequest {
  std::string log;            ///< file with a log or a command line; "-": standard input
  std::string vocabularyFile; ///< instead of the log's; empty: the log's
  std::string outcomes;       ///< file for the treatment of each argument; "-": standard output
};

/// Fills the request with the model, the layout (unless the request names a layout file), the
/// options and the flags of the run. `given` are the options of the command line, which override
/// the log's. Writes the outcomes if requested, as JSON if the name ends in .json, even if an
/// argument is refused. Prints the number of honoured arguments unless the request is quiet. An
/// error is one line.
absl::Status readMegatronRun(const MegatronRequest &megatron,
                             std::map<std::string, std::string> given, CompileRequest &request,
                             MLIRContext *context);

} // namespace mlir::st

#endif // ST_DRIVER_MEGATRONRUN_H
