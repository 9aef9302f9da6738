#include "backends/cuda/codegen/products/HostProduct.h"

#include "backends/cuda/codegen/kernels/ElementaryFunctions.h"
#include "backends/cuda/codegen/kernels/Number.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::cuda;

namespace {
class HostProduct {
public:
  explicit HostProduct(ProductOp op) : op(op), loc(op.getLoc()), builder(op) {}

  void emit();

private:
  ProductOp op;
  Location loc;
  OpBuilder builder;

  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value position(MatrixAttr matrix, ValueRange batch, Value row, Value column);
  Number load(Value buffer, Value position, Type type);
  void store(Number number, Value buffer, Value position);
  Number sum(ValueRange batch, Value row, Value column, Type type);
  Number activate(Number x, Value place);
  void emitSums();
};
} // namespace

Value HostProduct::position(MatrixAttr matrix, ValueRange batch, Value row, Value column) {
  Value result = index(0);
  auto add = [&](Value coordinate, int64_t stride) {
    Value distance = arith::MulIOp::create(builder, loc, coordinate, index(stride));
    result = arith::AddIOp::create(builder, loc, result, distance);
  };
  for (auto [coordinate, stride] : llvm::zip_equal(batch, matrix.getBatch()))
    add(coordinate, stride);
  add(row, matrix.getRow());
  add(column, matrix.getColumn());
  return result;
}

Number HostProduct::load(Value buffer, Value position, Type type) {
  Value value = memref::LoadOp::create(builder, loc, buffer, position);
  return Number(builder, loc, value).toFloat(type);
}

/// Rounds to the element type of the buffer.
void HostProduct::store(Number number, Value buffer, Value position) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  memref::StoreOp::create(builder, loc, number.toFloat(element).value, buffer, position);
}

Number HostProduct::sum(ValueRange batch, Value row, Value column, Type type) {
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  auto loop = scf::ForOp::create(builder, loc, index(0), index(op.getK()), index(1), zero);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value depth = loop.getInductionVar();
  Number a = load(op.getA(), position(op.getAMatrix(), batch, row, depth), type);
  Number b = load(op.getB(), position(op.getBMatrix(), batch, depth, column), type);
  Number total = Number(builder, loc, loop.getRegionIterArg(0)) + a * b;
  scf::YieldOp::create(builder, loc, total.value);
  return Number(builder, loc, loop.getResult(0));
}

/// GELU in its tanh approximation, or a product with its derivative. cuBLASLt has neither in f64.
Number HostProduct::activate(Number sum, Value place) {
  constexpr double slope = 0.79788456080286535588, cubic = 0.044715;
  auto geluTanh = [&](Number x) {
    return elementaryF32(Function::Tanh, (x + x * x * x * cubic) * slope);
  };
  Value aux = op.getAux();
  if (op.getActivation() == Activation::Gelu) {
    if (aux)
      store(sum, aux, place);
    return sum * 0.5 * (geluTanh(sum) + 1.0);
  }
  if (op.getActivation() == Activation::GeluGradient) {
    Number x = load(aux, place, builder.getF32Type());
    Number t = geluTanh(x), one = x.constant(1);
    Number slopeTerm = x * (one - t * t) * slope * (x * x * (3 * cubic) + 1.0);
    return sum * (t + 1.0 + slopeTerm) * 0.5;
  }
  return sum;
}

/// Sums the rows of b, or the columns of a, in f32.
void HostProduct::emitSums() {
  OpBuilder::InsertionGuard guard(builder);
  const bool isOfA = op.getSummed() == Operand::A;
  Type type = builder.getF32Type();
  auto outer =
      scf::ForOp::create(builder, loc, index(0), index(isOfA ? op.getM() : op.getN()), index(1));
  builder.setInsertionPointToStart(outer.getBody());
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  auto loop = scf::ForOp::create(builder, loc, index(0), index(op.getK()), index(1), zero);
  {
    OpBuilder::InsertionGuard inner(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value free = outer.getInductionVar(), depth = loop.getInductionVar();
    Number number = isOfA ? load(op.getA(), position(op.getAMatrix(), {}, free, depth), type)
                          : load(op.getB(), position(op.getBMatrix(), {}, depth, free), type);
    Number total = Number(builder, loc, loop.getRegionIterArg(0)) + number;
    scf::YieldOp::create(builder, loc, total.value);
  }
  store(Number(builder, loc, loop.getResult(0)), op.getSums(), outer.getInductionVar());
}

void HostProduct::emit() {
  if (op.getSums())
    emitSums();
  Type element = cast<MemRefType>(op.getD().getType()).getElementType();
  Type type = element.isF64() ? element : builder.getF32Type();
  SmallVector<int64_t> sizes(op.getBatch());
  sizes.append({static_cast<int64_t>(op.getM()), static_cast<int64_t>(op.getN())});
  SmallVector<Value> coordinates;
  for (int64_t size : sizes) {
    auto loop = scf::ForOp::create(builder, loc, index(0), index(size), index(1));
    coordinates.push_back(loop.getInductionVar());
    builder.setInsertionPointToStart(loop.getBody());
  }
  ValueRange batch = ArrayRef<Value>(coordinates).drop_back(2);
  Value row = coordinates[coordinates.size() - 2], column = coordinates.back();
  Number total = sum(batch, row, column, type);
  if (double scale = op.getScale().convertToDouble(); scale != 1)
    total = total * scale;
  Value place = position(op.getDMatrix(), batch, row, column);
  if (Value c = op.getC())
    total = total + load(c, place, type);
  if (Value bias = op.getBias())
    total = total + load(bias, column, type);
  total = activate(total, place);
  store(total, op.getD(), place);
  op.erase();
}

void mlir::cuda::emitHostProduct(ProductOp product) { HostProduct(product).emit(); }
