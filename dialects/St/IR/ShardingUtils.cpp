#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Interfaces/Notes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::st;

MeshOp mlir::st::getMesh(Operation *within) {
  auto module = dyn_cast<ModuleOp>(within);
  if (!module)
    module = within->getParentOfType<ModuleOp>();
  if (!module)
    return {};
  auto meshes = module.getOps<MeshOp>();
  return meshes.empty() ? MeshOp() : *meshes.begin();
}

ShardingAttr mlir::st::getSharding(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    if (!function || !argument.getOwner()->isEntryBlock())
      return {};
    return function.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(), kShardingAttr);
  }
  auto result = cast<OpResult>(value);
  Attribute attribute = result.getOwner()->getDiscardableAttr(kShardingAttr);
  if (auto list = dyn_cast_or_null<ArrayAttr>(attribute))
    return dyn_cast<ShardingAttr>(list[result.getResultNumber()]);
  return dyn_cast_or_null<ShardingAttr>(attribute);
}

ShardingAttr mlir::st::getShardingOrReplicated(Value value, FlatSymbolRefAttr mesh) {
  if (ShardingAttr sharding = getSharding(value))
    return sharding;
  return ShardingAttr::getReplicated(mesh, cast<RankedTensorType>(value.getType()).getRank());
}

std::optional<int64_t> mlir::st::getStage(Operation *op) {
  if (auto stage = op->getAttrOfType<IntegerAttr>(kStageAttr))
    return stage.getInt();
  return std::nullopt;
}

void mlir::st::setStage(Operation *op, int64_t stage) {
  op->setDiscardableAttr(kStageAttr, Builder(op->getContext()).getI64IntegerAttr(stage));
}

int64_t mlir::st::getAxesSize(ArrayRef<StringRef> axes, MeshOp mesh) {
  int64_t size = 1;
  for (StringRef axis : axes)
    size *= mesh.getAxisSize(axis).value_or(1);
  return size;
}

LogicalResult mlir::st::verifyShardingFits(ShardingAttr sharding, Type type, Operation *op,
                                           bool mayBeUneven) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return op->emitOpError("has a sharding on a value of type ") << type << "; expected a tensor";
  if (tensor.getRank() != sharding.getRank())
    return op->emitOpError("has a sharding of ")
           << sharding.getRank() << " dimensions for a tensor of " << tensor.getRank();
  MeshOp mesh = getMesh(op);
  if (!mesh || mesh.getSymNameAttr() != sharding.getMesh().getAttr())
    return success(); // Symbol uses may be checked only where the mesh is visible.
  for (int64_t dim = 0; dim < sharding.getRank(); ++dim) {
    int64_t parts = 1;
    for (Attribute part : sharding.getDims()[dim]) {
      if (auto unsplit = dyn_cast<IntegerAttr>(part)) {
        parts *= unsplit.getInt();
        continue;
      }
      StringRef axis = cast<StringAttr>(part).getValue();
      std::optional<int64_t> size = mesh.getAxisSize(axis);
      if (!size)
        return withNote(op->emitOpError("has a sharding over axis \"")
                            << axis << "\", which mesh @" << mesh.getSymName() << " does not have",
                        mesh, "the mesh is here");
      parts *= *size;
    }
    if (!mayBeUneven && tensor.getDimSize(dim) % parts != 0)
      return withNote(op->emitOpError("has a sharding that splits dimension ")
                          << dim << " of " << type << " into " << parts
                          << " parts, which do not divide its size",
                      mesh, "the mesh is here");
  }
  for (StringAttr axis : sharding.getReplicated())
    if (!mesh.getAxisSize(axis.getValue()))
      return withNote(op->emitOpError("is replicated over axis \"")
                          << axis.getValue() << "\", which mesh @" << mesh.getSymName()
                          << " does not have",
                      mesh, "the mesh is here");
  for (StringAttr axis : sharding.getUnreduced())
    if (!mesh.getAxisSize(axis.getValue()))
      return withNote(op->emitOpError("is unreduced over axis \"")
                          << axis.getValue() << "\", which mesh @" << mesh.getSymName()
                          << " does not have",
                      mesh, "the mesh is here");
  return success();
}

bool mlir::st::hasUnsplitParts(ShardingAttr sharding) {
  return llvm::any_of(sharding.getDims(), [](ArrayAttr parts) {
    return llvm::any_of(parts, llvm::IsaPred<IntegerAttr>);
  });
}

std::optional<FineSharding>
mlir::st::splitAtUnshardedParts(ShardingAttr sharding, ArrayRef<int64_t> shape,
                                function_ref<int64_t(StringRef)> sizeOf) {
  MLIRContext *context = sharding.getContext();
  SmallVector<ArrayAttr> dims;
  FineSharding fine;
  for (auto [parts, size] : llvm::zip_equal(sharding.getDims(), shape)) {
    SmallVector<Attribute> axes;
    int64_t left = size, count = 1;
    for (Attribute part : parts) {
      auto unsplit = dyn_cast<IntegerAttr>(part);
      count *= unsplit ? unsplit.getInt() : sizeOf(cast<StringAttr>(part).getValue());
      if (left % count != 0)
        return std::nullopt;
      if (!unsplit) {
        axes.push_back(part);
        continue;
      }
      dims.push_back(ArrayAttr::get(context, axes));
      fine.shape.push_back(count);
      axes.clear();
      left /= count;
      count = 1;
    }
    dims.push_back(ArrayAttr::get(context, axes));
    fine.shape.push_back(left);
  }
  fine.sharding = ShardingAttr::get(context, sharding.getMesh(), dims, sharding.getKind(),
                                    sharding.getUnreduced());
  return fine;
}

bool mlir::st::holdsParts(RankedTensorType local, RankedTensorType global, ShardingAttr sharding,
                          MeshOp mesh) {
  if (local.getElementType() != global.getElementType() || local.getRank() != global.getRank())
    return false;
  for (int64_t dim = 0; dim < global.getRank(); ++dim)
    if (local.getDimSize(dim) * getAxesSize(sharding.getAxes(dim), mesh) < global.getDimSize(dim))
      return false;
  return true;
}
