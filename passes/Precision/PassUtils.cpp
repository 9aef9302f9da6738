#include "passes/Precision/PassUtils.h"
#include "dialects/St/IR/ShardingUtils.h"

using namespace mlir;
using namespace mlir::st;

FloatType mlir::st::getFloatType(ComputeType type, MLIRContext *context) {
  if (type == ComputeType::BF16)
    return BFloat16Type::get(context);
  return Float16Type::get(context);
}

func::FuncOp mlir::st::findStep(ModuleOp module, StringRef pass, const FactContract &contract) {
  if (failed(checkFacts(module, pass, contract)))
    return nullptr;
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (!function || function.isExternal()) {
    module.emitError("expected a function @main with a body");
    return nullptr;
  }
  if (!function.getBody().hasOneBlock()) {
    function.emitOpError("expected one block, found ") << function.getBlocks().size();
    return nullptr;
  }
  return function;
}

DenseElementsAttr mlir::st::convertElements(ElementsAttr values, Type elementType) {
  const llvm::fltSemantics &semantics = cast<FloatType>(elementType).getFloatSemantics();
  return cast<DenseElementsAttr>(values).mapValues(elementType, [&](const APFloat &number) {
    APFloat rounded = number;
    bool losesInfo;
    rounded.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
    return rounded.bitcastToAPInt();
  });
}

Value mlir::st::findResult(func::FuncOp function, StringRef role) {
  Operation *end = function.front().getTerminator();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto found = function.getResultAttrOfType<StringAttr>(i, kRoleAttr);
    if (found && found.getValue() == role)
      return end->getOperand(i);
  }
  return nullptr;
}
