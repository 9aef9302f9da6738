// What a user may want to read of a compilation: a page about the step, and why its reshards move
// data.
#pragma once

#include "lib/Driver/Compiler.h"
#include "lib/Report/StepFigures.h"

#include "absl/status/status.h"

#include <string>

namespace st::pjrt {

class Pages {
public:
  /// Empty folders get nothing. `name` tells the files of compilations apart.
  Pages(const std::string &reportFolder, const std::string &explainFolder, const std::string &name);

  /// Makes a compilation keep what the pages say.
  void observe(mlir::st::CompileRequest &request);

  /// Writes the files. What a page needs simulated time for is left out, with a line on stderr,
  /// where that depends on data.
  absl::Status write(const mlir::st::CompileRequest &request, proto::Executable &program);

private:
  std::string report, explanation; ///< paths
  std::string reshards;
  MemoryUse memory;
};

} // namespace st::pjrt
