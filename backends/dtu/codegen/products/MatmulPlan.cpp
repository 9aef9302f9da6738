#include "backends/dtu/codegen/products/MatmulPlan.h"
#include "backends/dtu/codegen/products/MatmulTime.h"
#include "dialects/St/Interfaces/Shapes.h"
#include "dialects/StableHLO/Utils/ProductStrides.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::dtu;
using mlir::st::shapeOf;

// ---- the product's dimensions ---------------------------------------------------------------

FailureOr<OperandAccess> mlir::dtu::traceOperand(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return OperandAccess{argument, 0, denseStrides(shapeOf(value))};
  Operation *op = value.getDefiningOp();
  if (!isa<stablehlo::TransposeOp, stablehlo::SliceOp, stablehlo::ConvertOp, stablehlo::ReshapeOp,
           stablehlo::BroadcastInDimOp>(op))
    return op->emitOpError("feeding a product is not supported by the DTU backend");
  FailureOr<OperandAccess> inner = traceOperand(op->getOperand(0));
  if (failed(inner))
    return failure();
  OperandAccess access = *inner;
  if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op)) {
    for (auto [dim, from] : llvm::enumerate(transpose.getPermutation()))
      access.strides[dim] = inner->strides[from];
  } else if (auto slice = dyn_cast<stablehlo::SliceOp>(op)) {
    for (size_t dim = 0; dim < access.strides.size(); ++dim) {
      access.offset += slice.getStartIndices()[dim] * inner->strides[dim];
      access.strides[dim] *= slice.getStrides()[dim];
    }
  } else if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
    // A new dimension, or one of size 1, has stride 0.
    access.strides.assign(shapeOf(value).size(), 0);
    for (auto [from, to] : llvm::enumerate(broadcast.getBroadcastDimensions()))
      if (shapeOf(op->getOperand(0))[from] != 1)
        access.strides[to] = inner->strides[from];
  } else if (isa<stablehlo::ReshapeOp>(op)) {
    SmallVector<int64_t> nonUnit;
    for (auto [size, stride] : llvm::zip_equal(shapeOf(op->getOperand(0)), inner->strides))
      if (size != 1)
        nonUnit.push_back(stride);
    access.strides.clear();
    size_t next = 0;
    for (int64_t size : shapeOf(value))
      access.strides.push_back(size == 1 || next == nonUnit.size() ? 0 : nonUnit[next++]);
    if (next != nonUnit.size())
      return op->emitOpError("feeding a product changes more than unit dimensions");
  }
  return access;
}

/// The values that only lead from arguments to operands of the products.
static DenseSet<Value> operandValues(Block &body) {
  DenseSet<Value> only;
  auto isOnlyOperand = [&](Value value) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      return isa<stablehlo::DotGeneralOp>(user) ||
             (user->getNumResults() == 1 && only.contains(user->getResult(0)));
    });
  };
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (!isa<stablehlo::DotGeneralOp>(op) && op.getNumResults() == 1 && !op.use_empty() &&
        isOnlyOperand(op.getResult(0)))
      only.insert(op.getResult(0));
  for (BlockArgument argument : body.getArguments())
    if (!argument.use_empty() && isOnlyOperand(argument))
      only.insert(argument);
  return only;
}

/// Contracted dimensions larger than 1, in order of decreasing lhs stride, merged where both
/// operands agree. Stores the rhs strides along them in `rhsDepth`.
static void collectDepth(stablehlo::DotGeneralOp dot, const OperandAccess &lhs,
                         const OperandAccess &rhs, MatmulShape &shape,
                         SmallVectorImpl<int64_t> &rhsDepth) {
  struct Dim {
    int64_t size, left, right;
  };
  SmallVector<Dim> dims;
  auto numbers = dot.getDotDimensionNumbers();
  for (auto [l, r] : llvm::zip_equal(numbers.getLhsContractingDimensions(),
                                     numbers.getRhsContractingDimensions()))
    if (shapeOf(dot.getLhs())[l] != 1)
      dims.push_back({shapeOf(dot.getLhs())[l], lhs.strides[l], rhs.strides[r]});
  llvm::sort(dims, [](const Dim &a, const Dim &b) {
    return std::tie(b.left, b.right) < std::tie(a.left, a.right);
  });
  for (size_t i = dims.size(); i-- > 1;)
    if (dims[i - 1].left == dims[i].left * dims[i].size &&
        dims[i - 1].right == dims[i].right * dims[i].size) {
      dims[i - 1] = {dims[i - 1].size * dims[i].size, dims[i].left, dims[i].right};
      dims.erase(dims.begin() + i);
    }
  for (const Dim &dim : dims) {
    shape.depthSizes.push_back(dim.size);
    shape.lhs.depth.push_back(dim.left);
    rhsDepth.push_back(dim.right);
  }
}

/// The right operands. All of them must have the same layout, and so must the left operands of all
/// products.
static FailureOr<SmallVector<OperandAccess>>
traceRightOperands(ArrayRef<stablehlo::DotGeneralOp> dots, const OperandAccess &left) {
  SmallVector<OperandAccess> traced;
  for (stablehlo::DotGeneralOp dot : dots) {
    FailureOr<OperandAccess> lhs = traceOperand(dot.getLhs()), rhs = traceOperand(dot.getRhs());
    if (failed(lhs) || failed(rhs))
      return failure();
    traced.push_back(*rhs);
    stablehlo::DotGeneralOp first = dots.front();
    auto elementOf = [](const OperandAccess &access) {
      return getElementTypeOrSelf(access.argument.getType());
    };
    bool isLike = lhs->argument == left.argument && lhs->offset == left.offset &&
                  lhs->strides == left.strides && rhs->strides == traced.front().strides &&
                  elementOf(*rhs) == elementOf(traced.front()) &&
                  dot.getRhs().getType() == first.getRhs().getType() &&
                  shapeOf(dot.getResult()) == shapeOf(first.getResult()) &&
                  dot.getDotDimensionNumbers() == first.getDotDimensionNumbers();
    if (!isLike) {
      InFlightDiagnostic diagnostic =
          dot.emitOpError("differs from the first product of its kernel; expected the same left "
                          "operand, and a right operand of the same type and layout");
      diagnostic.attachNote(first.getLoc()) << "first product";
      return diagnostic;
    }
  }
  return traced;
}

FailureOr<MatmulShape> mlir::dtu::analyzeMatmul(Block &body, IterationSpace &space) {
  MatmulShape shape;
  for (auto dot : body.getOps<stablehlo::DotGeneralOp>())
    shape.ops.push_back(dot);
  if (shape.ops.empty())
    return body.getParentOp()->emitOpError("of kind matmul has no product");
  stablehlo::DotGeneralOp first = shape.ops.front();
  FailureOr<OperandAccess> lhs = traceOperand(first.getLhs());
  if (failed(lhs))
    return failure();
  FailureOr<SmallVector<OperandAccess>> rhs = traceRightOperands(shape.ops, *lhs);
  if (failed(rhs))
    return failure();
  FailureOr<IterationSpace> analysed = IterationSpace::analyze(body, operandValues(body));
  if (failed(analysed))
    return failure();
  space = *analysed;
  auto [left, right] = mlir::st::getOperandStrides(first, first.getResult(), space, lhs->strides,
                                                   rhs->front().strides);
  space.formGroups({left, right});

  auto setOperand = [&](MatmulOperand &operand, const OperandAccess &access,
                        ArrayRef<int64_t> axisStrides) {
    operand.argument = access.argument.getArgNumber();
    operand.offset = access.offset;
    operand.strides = space.getStrides(IterationSpace::AxisStrides(axisStrides));
    operand.type =
        getDType(getElementTypeOrSelf(access.argument.getType())).value_or(hw::DType::I1);
  };
  setOperand(shape.lhs, *lhs, left);
  SmallVector<int64_t> rhsDepths;
  collectDepth(first, *lhs, rhs->front(), shape, rhsDepths);
  for (const OperandAccess &access : *rhs) {
    setOperand(shape.rhs.emplace_back(), access, right);
    shape.rhs.back().depth = rhsDepths;
  }
  for (unsigned group = 0; group < space.getNumGroups(); ++group) {
    bool inLhs = shape.lhs.strides[group] != 0, inRhs = shape.rhs.front().strides[group] != 0;
    int *role = inLhs && !inRhs ? &shape.rowGroup : inRhs && !inLhs ? &shape.colGroup : nullptr;
    if (role && (*role < 0 || space.getSize(group) >= space.getSize(unsigned(*role))))
      *role = group;
  }

  auto type = getDType(getElementTypeOrSelf(first.getLhs().getType()));
  auto other = getDType(getElementTypeOrSelf(first.getRhs().getType()));
  if (!type || type != other ||
      !llvm::is_contained({hw::DType::F32, hw::DType::BF16, hw::DType::F16}, *type))
    return first.emitOpError("of ")
           << first.getLhs().getType() << " and " << first.getRhs().getType()
           << " is not supported by the DTU backend";
  shape.type = *type;
  int64_t lhsDepth = shape.lhs.depth.empty() ? 0 : shape.lhs.depth.back();
  int64_t rhsDepth = rhsDepths.empty() ? 0 : rhsDepths.back();
  shape.lhs.depthOutside = shape.lhsRowStride() == 1 && lhsDepth != 1;
  for (MatmulOperand &rhs : shape.rhs)
    rhs.depthOutside = rhsDepth != 1;
  return shape;
}

// ---- tiling -----------------------------------------------------------------------------------

namespace {
class TilingSearch {
public:
  TilingSearch(const MatmulSizes &sizes, const Machine &machine, const MatmulEpilogue &epilogue)
      : sizes(sizes), machine(machine), epilogue(epilogue) {}

  std::optional<MatmulTiling> run() const;
  /// All numbers that decide the tiling on this machine.
  std::vector<int64_t> key() const;

private:
  struct Candidate {
    MatmulTiling tiling;
    double time; // simulated
  };

  const MatmulSizes &sizes;
  const Machine &machine;
  const MatmulEpilogue &epilogue;
  using Candidates = SmallVector<Candidate, 0>;

  /// Calls visit(rows, cols) for each tile of the result.
  template <typename Visit> void eachTile(Visit &&visit) const;
  void tryTile(int64_t tileRows, int64_t tileCols, Candidates &found) const;
  void consider(const MatmulTiling &tiling, Candidates &found) const {
    found.push_back({tiling, matmulTime(sizes, tiling, machine, epilogue)});
  }
  bool sharesEvenly(const MatmulTiling &tiling) const;
  static SmallVector<int64_t> candidates(int64_t size, ArrayRef<int64_t> sizes);
};
} // namespace

/// Candidate sizes, each adjusted so that equal tiles cover `size`, and `size` itself if it is
/// small.
SmallVector<int64_t> TilingSearch::candidates(int64_t size, ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> result;
  for (int64_t maximum : sizes) {
    int64_t tile = llvm::divideCeil(size, llvm::divideCeil(size, maximum));
    if (tile > 16)
      tile = llvm::alignTo(tile, 16);
    tile = std::min(tile, size);
    if (!llvm::is_contained(result, tile))
      result.push_back(tile);
  }
  return result;
}

/// Returns true if the workers can split each panel into equal shares along its outer dimension.
bool TilingSearch::sharesEvenly(const MatmulTiling &t) const {
  int64_t lhsOuter = sizes.lhs.depthOutside ? t.chunk * t.depth : t.gridRows * t.rows;
  int64_t rhsOuter = sizes.rhs.depthOutside ? t.chunk * t.depth : t.gridCols * t.cols;
  return (!t.sharesLhs() || lhsOuter % machine.workers == 0) &&
         (!t.sharesRhs() || rhsOuter % machine.workers == 0);
}

template <typename Visit> void TilingSearch::eachTile(Visit &&visit) const {
  for (int64_t tileRows : candidates(sizes.rows, {16, 32, 48, 64, 96, 128, 192, 256}))
    for (int64_t tileCols : candidates(sizes.cols, {16, 32, 48, 64, 96, 128, 192, 256}))
      visit(tileRows, tileCols);
}

std::vector<int64_t> TilingSearch::key() const {
  std::vector<int64_t> key = {sizes.outer,    sizes.rows,       sizes.cols,
                              sizes.depth,    sizes.outerDepth, sizes.width,
                              sizes.products, epilogue.ops,     epilogue.transcendentals};
  for (const MatmulSource &source : {sizes.lhs, sizes.rhs})
    key.insert(key.end(), {source.width, source.free, source.depth, source.depthOutside});
  for (const auto *values : {&epilogue.loads, &epilogue.stores}) {
    key.push_back(static_cast<int64_t>(values->size()));
    for (const MatmulEpilogue::Moved &value : *values)
      key.insert(key.end(),
                 {value.bytes, value.hasRows, value.hasCols, value.rowStride, value.colStride});
  }
  eachTile([&](int64_t tileRows, int64_t tileCols) {
    for (unsigned slots : {2u, 1u})
      key.push_back(epilogue.bytes(slots, tileRows, tileCols));
  });
  return key;
}

void TilingSearch::tryTile(int64_t tileRows, int64_t tileCols, Candidates &found) const {
  for (unsigned slots : {2u, 1u}) {
    int64_t left = machine.l1Bytes - epilogue.bytes(slots, tileRows, tileCols);
    for (int64_t tileDepth : candidates(sizes.depth, {32, 64, 96, 128, 192, 256, 384, 512, 1024})) {
      // The operands' buffers are aligned, and there are two of each.
      if (2 * (llvm::alignTo(tileRows * tileDepth * sizes.width, kBufferAlignment) +
               sizes.products *
                   llvm::alignTo(tileCols * tileDepth * sizes.width, kBufferAlignment)) >
          uint64_t(std::max<int64_t>(left, 0)))
        continue;
      MatmulTiling tiling{tileRows, tileCols, tileDepth, slots};
      consider(tiling, found);
      for (tiling.gridRows = 1; tiling.gridRows <= machine.workers && sizes.outerDepth == 1;
           tiling.gridRows *= 2) {
        tiling.gridCols = machine.workers / tiling.gridRows;
        if (tiling.gridRows * tiling.gridCols != machine.workers)
          continue;
        for (tiling.chunk = 1; tiling.chunk <= 8 && (tiling.chunk - 1) * tileDepth < sizes.depth;
             tiling.chunk *= 2)
          if (2 * panelBytes(sizes, tiling) <= machine.l2Bytes && sharesEvenly(tiling))
            consider(tiling, found);
      }
    }
  }
}

std::optional<MatmulTiling> TilingSearch::run() const {
  Candidates found;
  eachTile([&](int64_t tileRows, int64_t tileCols) { tryTile(tileRows, tileCols, found); });
  // Estimates within this ratio count as equal.
  constexpr double tolerance = 1.01;
  double minimum = std::numeric_limits<double>::infinity(), minHost = minimum;
  for (const Candidate &candidate : found)
    minimum = std::min(minimum, candidate.time);
  std::optional<MatmulTiling> chosen;
  for (const auto &[tiling, time] : found) {
    if (time > tolerance * minimum)
      continue;
    double host = matmulHostTime(sizes, tiling, machine);
    if (host >= minHost)
      continue;
    minHost = host;
    chosen = tiling;
  }
  return chosen;
}

MatmulSizes mlir::dtu::getSizes(const MatmulShape &shape, const IterationSpace &space) {
  MatmulSizes sizes;
  sizes.rows = shape.rowGroup < 0 ? 1 : space.getSize(unsigned(shape.rowGroup));
  sizes.cols = shape.colGroup < 0 ? 1 : space.getSize(unsigned(shape.colGroup));
  sizes.outer = space.getVolume(~GroupSet(0)) / (sizes.rows * sizes.cols);
  sizes.depth = shape.innerDepth();
  sizes.products = static_cast<int64_t>(shape.rhs.size());
  for (int64_t size : ArrayRef(shape.depthSizes).drop_back(shape.depthSizes.empty() ? 0 : 1))
    sizes.outerDepth *= size;
  sizes.width = hw::byteWidth(shape.type);
  auto sourceOf = [](const MatmulOperand &operand, int64_t freeStride) {
    const int64_t width = hw::byteWidth(operand.type);
    return MatmulSource{width, freeStride * width,
                        operand.depth.empty() ? 0 : operand.depth.back() * width,
                        operand.depthOutside};
  };
  sizes.lhs = sourceOf(shape.lhs, shape.lhsRowStride());
  sizes.rhs = sourceOf(shape.rhs.front(), shape.rhsColStride());
  return sizes;
}

std::optional<MatmulTiling> KnownTilings::choose(const MatmulSizes &sizes,
                                                 const MatmulEpilogue &epilogue) {
  const TilingSearch search(sizes, machine, epilogue);
  auto [tiling, isNew] = known.try_emplace(search.key());
  if (isNew)
    tiling->second = search.run();
  return tiling->second;
}
