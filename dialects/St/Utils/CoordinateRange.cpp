#include "dialects/St/Utils/CoordinateRange.h"

using namespace mlir;
using namespace mlir::st;

static CoordinateRange getCoordinateRange(Value value) {
  auto index = value.getDefiningOp<AxisIndexOp>();
  if (!index)
    return std::nullopt;
  auto mesh = SymbolTable::lookupNearestSymbolFrom<MeshOp>(index->getParentOfType<ModuleOp>(),
                                                           index.getMeshAttr());
  std::optional<int64_t> size = mesh ? mesh.getAxisSize(index.getAxis()) : std::nullopt;
  return size ? CoordinateRange(std::pair<int64_t, int64_t>(0, *size - 1)) : std::nullopt;
}

SmallVector<CoordinateRange> mlir::st::getInputRanges(KernelOp kernel) {
  return llvm::map_to_vector(kernel.getInputs(), getCoordinateRange);
}
