#include "backends/dtu/IR/DtuDialect.h"
#include "backends/dtu/IR/Translation.h"

#include "backends/dtu/isa/Names.h"
#include "backends/dtu/isa/Validator.h"

using namespace mlir;
using namespace mlir::dtu;
namespace isa = ::st::dtu;

#include "backends/dtu/IR/DtuDialect.cpp.inc"

#define GET_OP_CLASSES
#include "backends/dtu/IR/DtuOps.cpp.inc"

void DtuDialect::initialize() {
  registerDtuAttributes();
  addOperations<
#define GET_OP_LIST
#include "backends/dtu/IR/DtuOps.cpp.inc"
      >();
}

/// Limits above those of any machine. The limits of a machine are checked once the machine is
/// known.
static isa::MachineLimits noLimits() {
  constexpr int64_t large = int64_t(1) << 60;
  return {/*cores=*/1 << 20, /*dteQueues=*/1 << 20, large, large, large, large};
}

LogicalResult ProgramOp::verifyRegions() {
  FailureOr<isa::Program> program = exportProgram(*this);
  if (failed(program))
    return failure();
  absl::Status status = isa::validate(*program, noLimits());
  if (!status.ok())
    return emitOpError("is not valid: ")
           << StringRef(status.message().data(), status.message().size());
  return success();
}
