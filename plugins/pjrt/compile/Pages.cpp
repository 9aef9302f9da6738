#include "plugins/pjrt/compile/Pages.h"

#include "lib/Driver/Prediction/MemoryUse.h"
#include "lib/Driver/Prediction/PredictStep.h"
#include "lib/Support/AtomicFile.h"
#include "lib/Support/StatusMacros.h"
#include "passes/Partition/Reshard/ExplainReshards.h"
#include "st/Runtime/Client.h"

#include "absl/strings/str_cat.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using mlir::st::CompilePhase;

namespace st::pjrt {

Pages::Pages(const std::string &reportFolder, const std::string &explainFolder,
             const std::string &name) {
  if (!reportFolder.empty())
    report = absl::StrCat(reportFolder, "/", name, ".html");
  if (!explainFolder.empty())
    explanation = absl::StrCat(explainFolder, "/", name, ".txt");
}

void Pages::observe(mlir::st::CompileRequest &request) {
  request.report = report;
  if (!report.empty())
    request.makeClient = createDtuClient;
  request.observer = [this](CompilePhase phase, mlir::ModuleOp module) {
    if (phase == CompilePhase::Resharded && !explanation.empty())
      reshards = mlir::st::printFor(explanation, mlir::st::explainReshards(module));
    if (phase == CompilePhase::Planned && !report.empty())
      memory = mlir::st::gatherMemoryUse(module);
  };
}

static absl::StatusOr<std::unique_ptr<AtomicFile>> createFile(const std::string &path) {
  if (std::error_code code =
          llvm::sys::fs::create_directories(llvm::StringRef(path).rsplit('/').first))
    return absl::UnavailableError(absl::StrCat(path, ": ", code.message()));
  return AtomicFile::create(path);
}

absl::Status Pages::write(const mlir::st::CompileRequest &request, proto::Executable &program) {
  if (!explanation.empty()) {
    ST_ASSIGN_OR_RETURN(std::unique_ptr<AtomicFile> file, createFile(explanation));
    ST_RETURN_IF_ERROR(file->write(reshards));
    ST_RETURN_IF_ERROR(file->commit());
  }
  if (report.empty())
    return absl::OkStatus();
  ST_ASSIGN_OR_RETURN(std::unique_ptr<AtomicFile> file, createFile(report));
  if (absl::Status status = mlir::st::predictStep(request, memory, file.get(), program);
      !status.ok()) {
    llvm::errs() << "st: " << std::string(status.message()) << '\n';
    return absl::OkStatus();
  }
  return file->commit();
}

} // namespace st::pjrt
