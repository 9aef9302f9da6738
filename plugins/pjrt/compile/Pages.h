// Reports of a compilation for users: a page about the step, and the reasons of its reshards.
#pragma once

#include "lib/Driver/Compiler.h"
#include "lib/Report/StepFigures.h"

#include "absl/status/status.h"

#include <string>

namespace st::pjrt {

class Pages {
public:
  /// An empty folder disables its report. `name` distinguishes the files of compilations.
  Pages(const std::string &reportFolder, const std::string &explainFolder, const std::string &name);

  /// Sets up a compilation so that it records the contents of the pages.
  void observe(mlir::st::CompileRequest &request);

  /// Writes the files. If simulated time depends on data, omits the page that needs it and prints a
  /// line on stderr.
  absl::Status write(const mlir::st::CompileRequest &request, proto::Executable &program);

private:
  std::string report, explanation; ///< paths
  std::string reshards;
  MemoryUse memory;
};

} // namespace st::pjrt
