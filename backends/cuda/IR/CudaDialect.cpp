#include "backends/cuda/IR/CudaDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::cuda;

#include "backends/cuda/IR/CudaDialect.cpp.inc"
#include "backends/cuda/IR/CudaEnums.cpp.inc"

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

template <typename Op> static ParseResult parseAs(OpAsmParser &parser, OperationState &result) {
  result.name = OperationName(Op::getOperationName(), parser.getContext());
  return Op::parse(parser, result);
}

std::optional<Dialect::ParseOpHook> CudaDialect::getParseOperationHook(StringRef opName) const {
  if (opName == "cuda.take_number")
    return ParseOpHook(parseAs<TakeTicketOp>);
  if (opName == "cuda.await_turn")
    return ParseOpHook(parseAs<SemaphoreWaitOp>);
  if (opName == "cuda.end_turn")
    return ParseOpHook(parseAs<SemaphoreReleaseOp>);
  return std::nullopt;
}

bool mlir::cuda::hasProduct(Type operand, Type result) {
  if (isa<Float16Type, BFloat16Type>(operand))
    return result == operand || isa<Float32Type>(result);
  return isa<Float32Type, Float64Type>(operand) && result == operand;
}

bool mlir::cuda::isMatrix(int64_t row, int64_t column, int64_t rows, int64_t columns) {
  return (column == 1 && row >= columns) || (row == 1 && column >= rows);
}

bool mlir::cuda::hasActivation(Type result, size_t batch, int64_t row, int64_t column) {
  constexpr int64_t kRowAlignment = 8;
  return !result.isF64() && batch == 0 && column == 1 && row % kRowAlignment == 0;
}

bool mlir::cuda::hasOperandSums(Type result, size_t batch) { return !result.isF64() && batch == 0; }

static Type elementOf(Value buffer) { return cast<MemRefType>(buffer.getType()).getElementType(); }

/// GELU may store its argument in `aux`; its gradient reads it there.
static LogicalResult verifyActivation(ProductOp op) {
  const Activation activation = op.getActivation();
  if (activation == Activation::None)
    return op.getAux() ? op.emitOpError("has an aux without an activation") : success();
  if (!hasActivation(elementOf(op.getD()), op.getBatch().size(), op.getDMatrix().getRow(),
                     op.getDMatrix().getColumn()))
    return op.emitOpError("has an activation, expected a single matrix d that is not f64 and has a "
                          "row stride of a multiple of 8 elements");
  if (op.getC())
    return op.emitOpError("has an activation and an addend, expected at most one of them");
  if (activation == Activation::GeluGradient && (!op.getAux() || op.getBias()))
    return op.emitOpError("has activation gelu_gradient, expected an aux operand and no bias");
  return success();
}

/// cuBLASLt stores the sums of an operand in place of the bias.
static LogicalResult verifySums(ProductOp op) {
  if (op.getSums() && !op.getSummed())
    return op.emitOpError("has a buffer for sums but no summed operand");
  if (op.getSummed() && !op.getSums())
    return op.emitOpError("sums an operand but has no buffer for the sums");
  if (!op.getSums())
    return success();
  if (!hasOperandSums(elementOf(op.getD()), op.getBatch().size()))
    return op.emitOpError("sums an operand, expected matrices without a batch and not of f64");
  if (op.getBias() || op.getActivation() != Activation::None || !op.getScale().isExactlyValue(1))
    return op.emitOpError("sums an operand, expected no scale, bias or activation");
  return success();
}

static LogicalResult verifyBody(ProductOp op) {
  if (op.getBody().empty())
    return success();
  if (op.getActivation() == Activation::None && !op.getSums())
    return op.emitOpError("has a body but neither an activation nor sums");
  return verifyIsBody(op, op.getBody().front());
}

LogicalResult ProductOp::verify() {
  if (getM() < 1 || getN() < 1 || getK() < 1)
    return emitOpError("is of ") << getM() << " x " << getN() << " x " << getK()
                                 << ", expected at least one element of each";
  if (elementOf(getA()) != elementOf(getB()) || !hasProduct(elementOf(getA()), elementOf(getD())))
    return emitOpError("multiplies ")
           << elementOf(getA()) << " and " << elementOf(getB()) << " into " << elementOf(getD())
           << ", expected operands of the same type, and a result of that type or, for 16-bit "
              "operands, f32";
  for (auto [name, buffer] : {std::pair<StringRef, Value>{"c", getC()},
                              {"bias", getBias()},
                              {"aux", getAux()},
                              {"buffer of sums", getSums()}})
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
             << ", expected a contiguous side and a larger stride along the other";
    if (side.matrix.getBatch().size() != getBatch().size())
      return emitOpError("has a batch of ")
             << getBatch().size() << " dimensions and " << side.matrix.getBatch().size()
             << " strides of matrix " << side.name;
  }
  return success(succeeded(verifyActivation(*this)) && succeeded(verifySums(*this)) &&
                 succeeded(verifyBody(*this)));
}
