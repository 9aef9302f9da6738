#include "backends/dtu/codegen/executable/ExecutableBuilder.h"

#include "backends/common/ProgramToExecutable.h"
#include "backends/dtu/IR/Translation.h"
#include "backends/dtu/codegen/Passes.h"
#include "backends/dtu/isa/Binary.h"

using namespace mlir;
using namespace mlir::dtu;
namespace proto = ::st::proto;
namespace hw = ::st::dtu;

static FailureOr<mlir::st::TaskCode> encodeTask(mlir::st::TaskOp task) {
  auto programs = task.getBody().getOps<dtu::ProgramOp>();
  if (!llvm::hasSingleElement(programs))
    return task.emitOpError("has no dtu.program: run convert-to-dtu first");
  FailureOr<hw::Program> program = exportProgram(*programs.begin());
  if (failed(program))
    return failure();
  return mlir::st::TaskCode{hw::encode(*program), static_cast<int64_t>(program->l3Bytes),
                            static_cast<int64_t>(program->hostBytes)};
}

FailureOr<proto::Executable> mlir::dtu::buildExecutable(ModuleOp module) {
  proto::Executable executable;
  executable.set_target("dtu");
  FailureOr<proto::DtuDescription> description = mlir::dtu::getDescription(module);
  if (failed(description))
    return failure();
  *executable.mutable_dtu() = *description;
  if (failed(mlir::st::fillExecutable(
          module, {encodeTask, kConstantsAttr, kTableSizeAttr, kRankTableAttr}, executable)))
    return failure();
  return executable;
}
