#include "dialects/St/IR/StDialect.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/StGradientOps.h"
#include "dialects/St/Interfaces/Notes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::st;

#include "dialects/St/IR/StDialect.cpp.inc"

void StDialect::initialize() {
  registerStAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/St/IR/StOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/St/IR/StGradientOps.cpp.inc"
      >();
}

/// Requires one link per axis of the mesh.
static LogicalResult verifySpeed(Operation *op, Attribute attribute) {
  auto speed = dyn_cast<SpeedAttr>(attribute);
  auto module = dyn_cast<ModuleOp>(op);
  if (!speed || !module)
    return op->emitError("expects ") << kSpeedAttr << " to be a #st.speed of a module";
  MeshOp mesh = getMesh(module);
  if (!mesh || static_cast<size_t>(speed.getLinkBytesPerUs().size()) == mesh.getAxisSizes().size())
    return success();
  return withNote(op->emitError() << kSpeedAttr << " has " << speed.getLinkBytesPerUs().size()
                                  << " link_bytes_per_us, expected one for each of "
                                  << mesh.getAxisSizes().size() << " axes of the mesh",
                  mesh, "the mesh is here");
}

LogicalResult StDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == kSpeedAttr)
    return verifySpeed(op, attribute.getValue());
  if (attribute.getName() != kShardingAttr)
    return success();
  if (auto sharding = dyn_cast<ShardingAttr>(attribute.getValue()))
    return op->getNumResults() == 1 ? verifyShardingFits(sharding, op->getResult(0).getType(), op)
                                    : op->emitOpError("has a single st.sharding but ")
                                          << op->getNumResults() << " results";
  auto list = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!list || list.size() != op->getNumResults())
    return op->emitOpError("expects st.sharding to have one #st.sharding per result");
  for (auto [element, result] : llvm::zip_equal(list, op->getResults())) {
    auto sharding = dyn_cast<ShardingAttr>(element);
    if (!sharding)
      return op->emitOpError("expects st.sharding to have one #st.sharding per result");
    if (failed(verifyShardingFits(sharding, result.getType(), op)))
      return failure();
  }
  return success();
}

/// Checks the sharding of an argument or result of type `type`. A local value has the global type
/// in `attributes`.
static LogicalResult verifyAtBoundary(Operation *op, Type type, DictionaryAttr attributes,
                                      NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (llvm::is_contained({kNameAttr, kRoleAttr, kOfAttr}, name) &&
      !isa<StringAttr>(attribute.getValue()))
    return op->emitOpError("expects ") << name << " to be a string, found " << attribute.getValue();
  if (name == kInitAttr && !isa<DictionaryAttr>(attribute.getValue()))
    return op->emitOpError("expects ")
           << name << " to be a dictionary, found " << attribute.getValue();
  if (name != kShardingAttr)
    return success();
  auto sharding = dyn_cast<ShardingAttr>(attribute.getValue());
  if (!sharding)
    return op->emitOpError("expects st.sharding of an argument or result to be a #st.sharding");
  if (auto global = attributes.getAs<TypeAttr>(kGlobalTypeAttr))
    type = global.getValue();
  return verifyShardingFits(sharding, type, op, /*mayBeUneven=*/true);
}

LogicalResult StDialect::verifyRegionArgAttribute(Operation *op, unsigned region, unsigned argument,
                                                  NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  return verifyAtBoundary(op, function.getArgumentTypes()[argument],
                          function.getArgAttrDict(argument), attribute);
}

LogicalResult StDialect::verifyRegionResultAttribute(Operation *op, unsigned region,
                                                     unsigned result, NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  return verifyAtBoundary(op, function.getResultTypes()[result], function.getResultAttrDict(result),
                          attribute);
}
