#include "backends/cuda/codegen/lowering/HostMatrices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::cuda;

static constexpr int64_t kWarp = 32, kQuad = 4, kSide = 8;

namespace {
/// Writes one function; helpers for arithmetic of indices.
class Writer {
public:
  Writer(func::FuncOp function)
      : function(function), loc(function.getLoc()),
        builder(OpBuilder::atBlockBegin(function.addEntryBlock())) {
    func::ReturnOp::create(builder, loc);
    builder.setInsertionPointToStart(&function.getBody().front());
  }

  func::FuncOp function;
  Location loc;
  OpBuilder builder;

  Value argument(unsigned number) { return function.getArgument(number); }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value sum(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
  Value sum(Value a, int64_t b) { return sum(a, index(b)); }
  Value times(Value a, int64_t b) { return arith::MulIOp::create(builder, loc, a, index(b)); }
  Value div(Value a, int64_t b) { return arith::DivUIOp::create(builder, loc, a, index(b)); }
  Value rem(Value a, int64_t b) { return arith::RemUIOp::create(builder, loc, a, index(b)); }
  Value load(Value memory, Value place) {
    return memref::LoadOp::create(builder, loc, memory, place);
  }
  Value extract(Value matrix, int64_t i, int64_t j) {
    return vector::ExtractOp::create(builder, loc, matrix, ArrayRef<int64_t>{i, j});
  }
  Value insert(Value number, Value matrix, int64_t i, int64_t j) {
    return vector::InsertOp::create(builder, loc, number, matrix, ArrayRef<int64_t>{i, j});
  }

  /// A thread, its lane, and the first thread of its warp.
  void forThreads(const HostMatrices &block, llvm::function_ref<void(Value, Value, Value)> body) {
    auto loop = scf::ForOp::create(builder, loc, index(0), index(block.threads), index(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value thread = loop.getInductionVar();
    if (block.descending)
      thread = arith::SubIOp::create(builder, loc, index(block.threads - 1), thread);
    Value lane = rem(thread, kWarp);
    body(thread, lane, arith::SubIOp::create(builder, loc, thread, lane));
  }
};
} // namespace

/// The function of that name; null where the module already has it, or `found` is set.
static func::FuncOp declare(const HostMatrices &block, const Twine &name, ArrayRef<Type> types,
                            func::FuncOp &found) {
  SmallString<64> text;
  ModuleOp module = block.module;
  StringRef symbol = name.toStringRef(text);
  found = module.lookupSymbol<func::FuncOp>(symbol);
  if (found)
    return {};
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  found =
      func::FuncOp::create(builder, module.getLoc(), symbol, builder.getFunctionType(types, {}));
  found.setPrivate();
  // If it were inlined again, compilation would be as slow as without the function.
  found->setAttr("passthrough", builder.getStrArrayAttr({"noinline"}));
  return found;
}

static std::string nameOf(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << getElementTypeOrSelf(type);
  return name;
}

static MemRefType arrayOf(const HostMatrices &block, Type type) {
  return MemRefType::get({block.threads}, type);
}

/// In m16n8k16 four neighbouring lanes, a quad, hold a row of a and of the sums, and a column of b.
/// Each lane holds two neighbours of every eight along the depth or the row. The second pair of a,
/// and of the sums, is eight rows further. Sums are in the order of the depth.
func::FuncOp HostMatrices::getProduct(nvgpu::MmaSyncOp op) const {
  Type a = op.getMatrixA().getType(), b = op.getMatrixB().getType(), c = op.getResult().getType();
  func::FuncOp function;
  func::FuncOp created = declare(
      *this, Twine("multiply_matrices_") + nameOf(a) + "_" + nameOf(c) + "_" + Twine(threads),
      {arrayOf(*this, a), arrayOf(*this, b), arrayOf(*this, c), arrayOf(*this, c)}, function);
  if (!created)
    return function;
  Writer to(created);
  constexpr int64_t depth = 16;
  to.forThreads(*this, [&](Value thread, Value lane, Value first) {
    Value row = to.div(lane, kQuad), column = to.times(to.rem(lane, kQuad), 2);
    auto wide = [&](Value number) -> Value {
      return arith::ExtFOp::create(to.builder, to.loc, to.builder.getF32Type(), number);
    };
    /// The elements that the four lanes of a row of a, or of a column of b, hold.
    auto quadOf = [&](Value operand, Value number) {
      SmallVector<Value> held;
      for (int64_t i = 0; i < kQuad; ++i)
        held.push_back(to.load(operand, to.sum(to.sum(first, to.times(number, kQuad)), i)));
      return held;
    };
    SmallVector<Value> left = quadOf(to.argument(0), row);
    SmallVector<Value> right[] = {quadOf(to.argument(1), column),
                                  quadOf(to.argument(1), to.sum(column, 1))};
    Value sums = to.load(to.argument(2), thread);
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 2; ++j) {
        Value total = to.extract(sums, i, j);
        for (int64_t k = 0; k < depth; ++k) {
          const int64_t holder = k % kSide / 2, upper = k / kSide;
          Value product = arith::MulFOp::create(
              to.builder, to.loc, wide(to.extract(left[holder], i + 2 * upper, k % 2)),
              wide(to.extract(right[j][holder], upper, k % 2)));
          total = arith::AddFOp::create(to.builder, to.loc, total, product);
        }
        sums = to.insert(total, sums, i, j);
      }
    memref::StoreOp::create(to.builder, to.loc, sums, to.argument(3), thread);
  });
  return function;
}

/// Lane 8 i + j has the address of row j of the ith 8 x 8 matrix. Each lane gets two neighbours of
/// the row of its quad or, if transposed, the elements of that column in two rows.
func::FuncOp HostMatrices::getLoad(nvgpu::LdMatrixOp op) const {
  auto type = cast<VectorType>(op.getRes().getType());
  const bool transposed = op.getTranspose();
  func::FuncOp function;
  Type memory = MemRefType::get({ShapedType::kDynamic}, type.getElementType());
  func::FuncOp created = declare(
      *this,
      Twine("load_matrices_") + nameOf(type) + "_" + Twine(type.getDimSize(0)) + "_" +
          Twine(threads) + (transposed ? "_transposed" : ""),
      {memory, arrayOf(*this, IndexType::get(op.getContext())), arrayOf(*this, type)}, function);
  if (!created)
    return function;
  Writer to(created);
  to.forThreads(*this, [&](Value thread, Value lane, Value first) {
    Value row = to.div(lane, kQuad), pair = to.times(to.rem(lane, kQuad), 2);
    Value loaded = arith::ConstantOp::create(to.builder, to.loc, to.builder.getZeroAttr(type));
    for (int64_t i = 0; i < type.getDimSize(0); ++i)
      for (int64_t j = 0; j < 2; ++j) {
        Value neighbour = to.sum(pair, j);
        Value holder = to.sum(to.sum(first, i * kSide), transposed ? neighbour : row);
        Value at = to.sum(to.load(to.argument(1), holder), transposed ? row : neighbour);
        loaded = to.insert(to.load(to.argument(0), at), loaded, i, j);
      }
    memref::StoreOp::create(to.builder, to.loc, loaded, to.argument(2), thread);
  });
  return function;
}
