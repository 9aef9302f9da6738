#include "lib/Driver/CheckRequest.h"

#include "lib/Driver/Input/ReadInput.h"
#include "lib/Driver/Prediction/PredictStep.h"
#include "lib/Driver/Runner.h"
#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <utility>

using namespace mlir;
using namespace mlir::st;

template <typename... Parts> static absl::Status invalid(const Parts &...parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

static std::string nameOf(CompilePhase phase) { return getCompilePhaseName(phase).str(); }

static absl::Status checkPhases(const CompileRequest &request) {
  if (request.startFrom && request.stopAfter && *request.stopAfter < *request.startFrom)
    return invalid("--compile-to=", nameOf(*request.stopAfter),
                   " comes before --compile-from=", nameOf(*request.startFrom));
  if (!request.parallel.empty() && request.startFrom &&
      *request.startFrom >= CompilePhase::Configured)
    return invalid("--parallel=", request.parallel, ": the module after phase ",
                   nameOf(*request.startFrom), " already has its layout");
  if (!request.rolesOut.empty() && request.startFrom)
    return invalid("--roles-out=", request.rolesOut,
                   " has no effect with --compile-from: roles are found in the import");
  return absl::OkStatus();
}

/// Checks a flag that adds programs to the binary.
static absl::Status checkOther(const CompileRequest &request, absl::string_view flag) {
  if (request.stopAfter)
    return invalid(flag, " has no effect: --compile-to=", nameOf(*request.stopAfter),
                   " stops before a binary");
  if (!request.model && (request.startFrom || isModuleFile(request.input)))
    return invalid(flag, ": expected a model's configuration, ",
                   flag == "--eval" ? "which defines the evaluation" : "which it imports again",
                   ", found ", request.input);
  return absl::OkStatus();
}

/// Reshards exist after one phase only.
static absl::Status checkExplain(const CompileRequest &request) {
  if (request.explain.empty())
    return absl::OkStatus();
  if (request.stopAfter && *request.stopAfter < CompilePhase::Resharded)
    return invalid("--explain=", request.explain,
                   " has no effect: --compile-to=", nameOf(*request.stopAfter),
                   " stops before the reshards");
  if (request.startFrom && *request.startFrom > CompilePhase::Resharded)
    return invalid("--explain=", request.explain, " has no effect: the module after phase ",
                   nameOf(*request.startFrom), " has no reshards any more");
  return absl::OkStatus();
}

absl::Status mlir::st::checkRequest(const CompileRequest &request) {
  ST_RETURN_IF_ERROR(checkPhases(request));
  if (!request.stopAfter)
    ST_RETURN_IF_ERROR(checkRunner(request.runner));
  if (request.evaluates)
    ST_RETURN_IF_ERROR(checkOther(request, "--eval"));
  if (!request.rampup.empty())
    ST_RETURN_IF_ERROR(checkOther(request, "--rampup-batch-size"));
  ST_RETURN_IF_ERROR(checkReportRequest(request));
  return checkExplain(request);
}
