//===- StableHLOOps.cpp - Builders and interfaces of stablehlo ops --------===//

#include "dialects/StableHLO/StableHLOOps.h"

#include "dialects/StableHLO/Assembly/AssemblyFormat.h"

using namespace mlir;
using namespace mlir::stablehlo;

#define GET_OP_CLASSES
#include "dialects/StableHLO/StableHLOOps.cpp.inc"

#include "mlir/IR/TypeUtilities.h"

//===----------------------------------------------------------------------===//
// Builders
//===----------------------------------------------------------------------===//

void ConstantOp::build(OpBuilder &builder, OperationState &state, Attribute value) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements) {
    auto typed = cast<TypedAttr>(value);
    elements = DenseElementsAttr::get(RankedTensorType::get({}, typed.getType()), value);
  }
  build(builder, state, elements.getType(), elements);
}

void ConvertOp::build(OpBuilder &builder, OperationState &state, Value operand, Type elementType) {
  // Also accepts the full result type, as the generated builder does.
  Type type = isa<ShapedType>(elementType)
                  ? elementType
                  : cast<RankedTensorType>(operand.getType()).clone(elementType);
  state.addOperands(operand);
  state.addTypes(type);
}

void CompareOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs,
                      ComparisonDirection direction, ComparisonType type) {
  MLIRContext *context = builder.getContext();
  build(builder, state, lhs, rhs, ComparisonDirectionAttr::get(context, direction),
        type == ComparisonType::NOTYPE ? ComparisonTypeAttr()
                                       : ComparisonTypeAttr::get(context, type));
}

void DotGeneralOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs,
                         DotDimensionNumbersAttr numbers) {
  auto lhsType = cast<RankedTensorType>(lhs.getType());
  auto rhsType = cast<RankedTensorType>(rhs.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : numbers.getLhsBatchingDimensions())
    shape.push_back(lhsType.getDimSize(dim));
  auto appendFree = [&](RankedTensorType type, ArrayRef<int64_t> batching,
                        ArrayRef<int64_t> contracting) {
    for (auto [dim, size] : llvm::enumerate(type.getShape()))
      if (!llvm::is_contained(batching, dim) && !llvm::is_contained(contracting, dim))
        shape.push_back(size);
  };
  appendFree(lhsType, numbers.getLhsBatchingDimensions(), numbers.getLhsContractingDimensions());
  appendFree(rhsType, numbers.getRhsBatchingDimensions(), numbers.getRhsContractingDimensions());
  build(builder, state, lhsType.clone(shape), lhs, rhs, numbers);
}

void ReduceOp::build(OpBuilder &builder, OperationState &state, ValueRange inputs,
                     ValueRange initValues, ArrayRef<int64_t> dimensions) {
  state.addOperands(inputs);
  state.addOperands(initValues);
  state.getOrAddProperties<Properties>().dimensions = builder.getDenseI64ArrayAttr(dimensions);
  state.addRegion();
  SmallVector<Type> types;
  (void)inferReturnTypes(builder.getContext(), state.location,
                         Adaptor(state.operands, DictionaryAttr(),
                                 *state.getRawProperties().as<Properties *>(), state.regions),
                         types);
  state.addTypes(types);
}

void ReduceOp::build(OpBuilder &builder, OperationState &state, ValueRange inputs,
                     ValueRange initValues, ArrayRef<int64_t> dimensions, BodyBuilder bodyBuilder) {
  build(builder, state, inputs, initValues, dimensions);
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Type> types;
  for (ValueRange values : {initValues, initValues})
    llvm::append_range(types, values.getTypes());
  SmallVector<Location> locs(types.size(), state.location);
  Block *block = builder.createBlock(state.regions.front().get(), {}, types, locs);
  ReturnOp::create(builder, state.location,
                   bodyBuilder(builder, state.location, block->getArguments()));
}

void ScatterOp::build(OpBuilder &builder, OperationState &state, ValueRange inputs,
                      Value scatterIndices, ValueRange updates,
                      ScatterDimensionNumbersAttr dimensionNumbers, bool indicesAreSorted,
                      bool uniqueIndices) {
  build(builder, state, inputs.getTypes(), inputs, scatterIndices, updates, dimensionNumbers,
        builder.getBoolAttr(indicesAreSorted), builder.getBoolAttr(uniqueIndices));
}

void SortOp::build(OpBuilder &builder, OperationState &state, ValueRange inputs, int64_t dimension,
                   bool isStable) {
  build(builder, state, inputs.getTypes(), inputs, builder.getI64IntegerAttr(dimension),
        builder.getBoolAttr(isStable));
}

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

void ConstantOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  bool isInteger = isa<IntegerType>(getElementTypeOrSelf(getType()));
  setName(getResult(), isInteger ? "c" : "cst");
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

void CustomCallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (!getHasSideEffect())
    return;
  effects.emplace_back(MemoryEffects::Allocate::get());
  effects.emplace_back(MemoryEffects::Free::get());
  effects.emplace_back(MemoryEffects::Write::get());
  effects.emplace_back(MemoryEffects::Read::get());
}

LogicalResult CompositeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(*this, getDecompositionAttr());
  if (!callee)
    return emitOpError("expects its decomposition to name a function, got ")
           << getDecompositionAttr();
  if (getOperandTypes() != callee.getArgumentTypes() || getResultTypes() != callee.getResultTypes())
    return emitOpError("expects the type of its decomposition, which is ")
           << callee.getFunctionType();
  return success();
}
