#include "backends/cuda/IR/CudaDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::cuda;

#include "backends/cuda/IR/CudaDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "backends/cuda/IR/CudaAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "backends/cuda/IR/CudaOps.cpp.inc"

void CudaDialect::registerCudaAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "backends/cuda/IR/CudaAttrs.cpp.inc"
      >();
}

void CudaDialect::initialize() {
  registerCudaAttributes();
  addOperations<
#define GET_OP_LIST
#include "backends/cuda/IR/CudaOps.cpp.inc"
      >();
}

bool mlir::cuda::hasProduct(Type operand, Type result) {
  if (isa<Float16Type, BFloat16Type>(operand))
    return result == operand || isa<Float32Type>(result);
  return isa<Float32Type, Float64Type>(operand) && result == operand;
}

bool mlir::cuda::isMatrix(int64_t row, int64_t column, int64_t rows, int64_t columns) {
  return (column == 1 && row >= columns) || (row == 1 && column >= rows);
}

static Type elementOf(Value buffer) { return cast<MemRefType>(buffer.getType()).getElementType(); }

LogicalResult ProductOp::verify() {
  if (getM() < 1 || getN() < 1 || getK() < 1)
    return emitOpError("is of ") << getM() << " x " << getN() << " x " << getK()
                                 << ", expected at least one element of each";
  if (elementOf(getA()) != elementOf(getB()) || !hasProduct(elementOf(getA()), elementOf(getD())))
    return emitOpError("multiplies ")
           << elementOf(getA()) << " and " << elementOf(getB()) << " into " << elementOf(getD())
           << ", expected operands of one type, and a result of that or, of 16-bit floats, f32";
  for (auto [name, buffer] : {std::pair<StringRef, Value>{"c", getC()}, {"bias", getBias()}})
    if (buffer && elementOf(buffer) != elementOf(getD()))
      return emitOpError("has a ") << name << " of " << elementOf(buffer)
                                   << ", expected the result's " << elementOf(getD());
  struct Side {
    StringRef name;
    MatrixAttr matrix;
    int64_t rows, columns;
  };
  int64_t m = getM(), n = getN(), k = getK();
  for (const Side &side : {Side{"a", getAMatrix(), m, k}, Side{"b", getBMatrix(), k, n},
                           Side{"d", getDMatrix(), m, n}}) {
    if (!isMatrix(side.matrix.getRow(), side.matrix.getColumn(), side.rows, side.columns))
      return emitOpError("has a matrix ")
             << side.name << " of " << side.rows << " x " << side.columns << " with strides "
             << side.matrix.getRow() << " and " << side.matrix.getColumn()
             << ", expected neighbours along one side and the other beyond them";
    if (side.matrix.getBatch().size() != getBatch().size())
      return emitOpError("has a batch of ")
             << getBatch().size() << " dimensions and " << side.matrix.getBatch().size()
             << " strides of matrix " << side.name;
  }
  return success();
}
