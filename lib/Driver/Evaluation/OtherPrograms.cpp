#include "lib/Driver/Evaluation/OtherPrograms.h"

#include "lib/Driver/DiagnosticPrinter.h"
#include "lib/Support/BatchRamp.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::st;

bool mlir::st::hasOtherPrograms(const CompileRequest &request) {
  return request.evaluates || !request.rampup.empty();
}

/// Compiles a request that differs from the training step's and adds the program under a name.
static LogicalResult addOther(CompileRequest other, const TrainedLayout &layout,
                              const std::string &name, MLIRContext *context,
                              ::st::proto::Executable &executable) {
  other.evaluates = false;
  other.rampup.clear();
  other.trained = &layout;
  other.quiet = true;
  other.explain.clear();
  other.report.clear();
  other.rolesOut.clear();
  other.dumpPhasesTo.clear();
  other.observer = nullptr;
  // Remarks on the layout were already printed for the training step.
  ScopedDiagnosticHandler handler(context, [](Diagnostic &diagnostic) {
    return success(diagnostic.getSeverity() != DiagnosticSeverity::Error);
  });
  FailureOr<::st::proto::Executable> program = compileToExecutable(other, context);
  if (failed(program))
    return failure();
  addProgram(executable, *std::move(program), name);
  return success();
}

/// One program for each size of the ramp-up below the full batch.
static LogicalResult addSmallerBatches(const CompileRequest &request, const TrainedLayout &layout,
                                       MLIRContext *context, ::st::proto::Executable &executable) {
  auto error = [&] { return emitError(getCommandLineLoc(context)); };
  const int64_t full = executable.model().batch(), count = executable.micro_batches();
  absl::StatusOr<::st::BatchRamp> ramp = ::st::BatchRamp::parse(request.rampup, full);
  if (!ramp.ok())
    return error() << std::string(ramp.status().message());
  for (int64_t size : ramp->sizes()) {
    if (size * count % full != 0)
      return error() << "--rampup-batch-size=" << request.rampup << ": a batch of " << size
                     << ": expected a multiple of the " << llvm::divideCeil(full, count)
                     << " rows of a micro-batch";
    if (!request.quiet)
      llvm::errs() << "  compiling the step of a batch of " << size << '\n';
    CompileRequest smaller = request;
    smaller.microBatches = size * count / full;
    smaller.options = request.options.with("batch", std::to_string(size));
    smaller.makeClient = nullptr;
    if (failed(addOther(std::move(smaller), layout, ::st::BatchRamp::nameOf(size), context,
                        executable)))
      return failure();
  }
  ::st::proto::RunFlag &flag = *executable.add_run_flags();
  flag.set_name("rampup-batch-size");
  flag.set_value(ramp->text());
  return success();
}

LogicalResult mlir::st::addOtherPrograms(const CompileRequest &request, const TrainedLayout &layout,
                                         MLIRContext *context,
                                         ::st::proto::Executable &executable) {
  if (request.evaluates && failed(addOther(request, layout, "evaluation", context, executable)))
    return failure();
  return request.rampup.empty() ? success()
                                : addSmallerBatches(request, layout, context, executable);
}
