#include "dialects/StableHLO/Utils/IterationSpace.h"

#include "dialects/St/Interfaces/Shapes.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::st;

SmallVector<int64_t> mlir::st::denseStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = static_cast<int64_t>(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

bool mlir::st::isArgumentSlice(Operation *op) {
  auto slice = dyn_cast_or_null<stablehlo::SliceOp>(op);
  return slice && isa<BlockArgument>(slice.getOperand());
}

// ---- unification of dimensions ----------------------------------------------------------

namespace {
/// Union-find over the dimensions of all values of a body.
class DimUnifier {
public:
  void addValue(Value value) {
    SmallVector<int> nodes;
    for (int64_t size : shapeOf(value)) {
      nodes.push_back(size == 1 ? -1 : static_cast<int>(parent.size()));
      if (size != 1)
        parent.push_back(parent.size());
    }
    nodesOf[value] = nodes;
    order.push_back(value);
  }

  void unify(Value a, int64_t dimA, Value b, int64_t dimB) {
    int x = nodesOf[a][dimA], y = nodesOf[b][dimB];
    if (x >= 0 && y >= 0)
      unifyNodes(x, y);
  }
  void unifyNodes(int x, int y) {
    x = find(x), y = find(y);
    parent[std::max(x, y)] = std::min(x, y);
  }
  void unifySame(Value a, Value b) {
    for (int64_t dim = 0, rank = shapeOf(a).size(); dim < rank; ++dim)
      unify(a, dim, b, dim);
  }

  /// Unifies `nodes` with `others`, unless one of them is another loop of the same space.
  void unifyUnrelated(ArrayRef<int> nodes, ArrayRef<int> others) {
    auto isAnother = [&](auto pair) {
      const int loop = find(std::get<0>(pair));
      return loop != find(std::get<1>(pair)) &&
             llvm::any_of(others, [&](int other) { return find(other) == loop; });
    };
    auto pairs = llvm::zip(nodes, others);
    if (llvm::none_of(pairs, isAnother))
      for (auto [node, other] : pairs)
        unifyNodes(node, other);
  }

  int find(int node) {
    while (parent[node] != static_cast<unsigned>(node))
      node = parent[node] = parent[parent[node]];
    return node;
  }

  DenseMap<Value, SmallVector<int>> nodesOf;
  SmallVector<Value> order;

private:
  SmallVector<unsigned> parent;
};
} // namespace

/// Unifies the dimensions of operand and result of a reshape that adds and drops unit dimensions.
static LogicalResult unifyReshape(DimUnifier &dims, stablehlo::ReshapeOp op) {
  auto nonUnit = [](Value value) {
    SmallVector<int64_t> list;
    for (auto [dim, size] : llvm::enumerate(shapeOf(value)))
      if (size != 1)
        list.push_back(dim);
    return list;
  };
  SmallVector<int64_t> from = nonUnit(op.getOperand()), to = nonUnit(op.getResult());
  auto sizes = [](Value value, ArrayRef<int64_t> list) {
    return llvm::map_to_vector(list, [&](int64_t dim) { return shapeOf(value)[dim]; });
  };
  if (sizes(op.getOperand(), from) != sizes(op.getResult(), to))
    return op.emitOpError("changes more than unit dimensions, which kernels do not support");
  for (auto [a, b] : llvm::zip_equal(from, to))
    dims.unify(op.getOperand(), a, op.getResult(), b);
  return success();
}

bool mlir::st::isElementwise(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() ||
         isa<stablehlo::SelectOp, stablehlo::ClampOp, stablehlo::BitcastConvertOp>(op);
}

static LogicalResult unifyOp(DimUnifier &dims, Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<stablehlo::ConstantOp, stablehlo::IotaOp, stablehlo::DotGeneralOp>(
          [](auto) { return success(); })
      .Case([&](stablehlo::BroadcastInDimOp broadcast) {
        for (auto [from, to] : llvm::enumerate(broadcast.getBroadcastDimensions()))
          dims.unify(broadcast.getOperand(), from, broadcast.getResult(), to);
        return success();
      })
      .Case([&](stablehlo::ReshapeOp reshape) { return unifyReshape(dims, reshape); })
      .Case([&](stablehlo::ReduceOp reduce) -> LogicalResult {
        if (reduce.getInputs().size() != 1)
          return reduce.emitOpError("has several inputs, which kernels do not support");
        int64_t kept = 0;
        for (int64_t dim = 0, rank = shapeOf(reduce.getInputs()[0]).size(); dim < rank; ++dim)
          if (!llvm::is_contained(reduce.getDimensions(), dim))
            dims.unify(reduce.getInputs()[0], dim, reduce.getResult(0), kept++);
        return success();
      })
      .Default([&](Operation *other) -> LogicalResult {
        if (isArgumentSlice(other))
          return success();
        if (!isElementwise(other) || other->getNumResults() != 1)
          return other->emitOpError(
              "is no elementwise op with one result; kernels do not support it in a loop");
        for (Value operand : other->getOperands())
          if (shapeOf(operand) == shapeOf(other->getResult(0)))
            dims.unifySame(operand, other->getResult(0));
          else if (!shapeOf(operand).empty())
            return other->emitOpError(
                "has operands of different shapes, which kernels do not support");
        return success();
      });
}

static bool isPrefix(ArrayRef<int64_t> small, ArrayRef<int64_t> large) {
  return small.size() < large.size() && large.take_front(small.size()) == small;
}

/// Unifies the dimensions of all computed values that span the complete space of a kernel. No op
/// relates the dimensions of tensors that are connected only by a scalar (a norm over several
/// gradients, and the values that it scales), but they share loops. So do per-row values and row
/// reductions whose connecting op moved into the kernel of a later reduction.
static void unifyValues(DimUnifier &dims, Block &body) {
  auto getNodes = [&](Value value) {
    SmallVector<int> nodes = dims.nodesOf.lookup(value);
    llvm::erase(nodes, -1);
    return nodes;
  };
  auto getSizes = [](Value value) {
    SmallVector<int64_t> sizes(shapeOf(value));
    llvm::erase(sizes, 1);
    return sizes;
  };
  SmallVector<Value> computed(body.getTerminator()->getOperands());
  for (Operation &op : body.without_terminator()) {
    if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
      computed.push_back(reduce.getInputs().front());
    else if (isElementwise(&op))
      computed.push_back(op.getResult(0));
  }
  llvm::erase_if(computed, [&](Value value) { return !dims.nodesOf.contains(value); });
  auto *largest = llvm::max_element(
      computed, [&](Value a, Value b) { return getNodes(a).size() < getNodes(b).size(); });
  for (Value value : computed)
    if (getSizes(value) == getSizes(*largest))
      for (auto [a, b] : llvm::zip_equal(getNodes(value), getNodes(*largest)))
        dims.unifyNodes(a, b);
  for (Value value : computed)
    if (isPrefix(getSizes(value), getSizes(*largest)))
      dims.unifyUnrelated(getNodes(value), getNodes(*largest));
}

/// Orders classes so that each value's dimensions ascend; ties go to the class seen first.
static FailureOr<SmallVector<int>> orderClasses(DimUnifier &dims) {
  SmallVector<int> classes;
  DenseMap<int, llvm::SmallDenseSet<int>> before;
  for (Value value : dims.order) {
    int previous = -1;
    for (int node : dims.nodesOf[value]) {
      if (node < 0)
        continue;
      int root = dims.find(node);
      if (!llvm::is_contained(classes, root))
        classes.push_back(root);
      if (previous == root)
        return failure();
      if (previous >= 0)
        before[root].insert(previous);
      previous = root;
    }
  }
  SmallVector<int> ordered;
  while (ordered.size() < classes.size()) {
    auto *next = llvm::find_if(classes, [&](int candidate) {
      return !llvm::is_contained(ordered, candidate) &&
             llvm::all_of(before[candidate],
                          [&](int other) { return llvm::is_contained(ordered, other); });
    });
    if (next == classes.end())
      return failure();
    ordered.push_back(*next);
  }
  return ordered;
}

FailureOr<IterationSpace> IterationSpace::analyze(Block &body, const DenseSet<Value> &ignored) {
  DimUnifier dims;
  // An argument that is only sliced has no separate loops.
  for (BlockArgument argument : body.getArguments())
    if (!ignored.contains(argument) && !llvm::all_of(argument.getUsers(), isArgumentSlice))
      dims.addValue(argument);
  for (Operation &op : body.without_terminator()) {
    if (op.use_empty() || (op.getNumResults() == 1 && ignored.contains(op.getResult(0))))
      continue;
    for (Value result : op.getResults())
      dims.addValue(result);
    if (failed(unifyOp(dims, &op)))
      return failure();
  }
  unifyValues(dims, body);
  FailureOr<SmallVector<int>> classes = orderClasses(dims);
  if (failed(classes))
    return body.getParentOp()->emitOpError("has values that need different loop orders");

  IterationSpace space;
  space.axisSizes.assign(classes->size(), 1);
  space.isIotaAxis.assign(classes->size(), false);
  for (Value value : dims.order) {
    SmallVector<int> axes;
    for (auto [dim, node] : llvm::enumerate(dims.nodesOf[value])) {
      axes.push_back(node < 0 ? -1 : llvm::find(*classes, dims.find(node)) - classes->begin());
      if (node >= 0)
        space.axisSizes[axes.back()] = shapeOf(value)[dim];
    }
    if (auto iota = value.getDefiningOp<stablehlo::IotaOp>())
      if (int axis = axes[iota.getIotaDimension()]; axis >= 0)
        space.isIotaAxis[axis] = true;
    space.axesOf[value] = axes;
  }
  return space;
}

bool IterationSpace::isSpanned() const {
  return llvm::any_of(axesOf, [&](const auto &entry) {
    return llvm::count_if(entry.second, [](int axis) { return axis >= 0; }) ==
           static_cast<int64_t>(axisSizes.size());
  });
}

std::optional<unsigned> IterationSpace::getAxis(Value value, int64_t dim) const {
  auto axes = axesOf.find(value);
  const int axis = axes == axesOf.end() ? -1 : axes->second[dim];
  return axis < 0 ? std::nullopt : std::optional<unsigned>(axis);
}

// ---- groups ---------------------------------------------------------------------------

IterationSpace::AxisStrides IterationSpace::axisStrides(Value value) const {
  AxisStrides result(axisSizes.size(), 0);
  SmallVector<int64_t> strides = denseStrides(shapeOf(value));
  if (isArgumentSlice(value.getDefiningOp())) {
    auto slice = value.getDefiningOp<stablehlo::SliceOp>();
    strides = denseStrides(shapeOf(slice.getOperand()));
    for (auto [stride, step] : llvm::zip_equal(strides, slice.getStrides()))
      stride *= step;
  }
  auto it = axesOf.find(value);
  for (auto [axis, stride] : llvm::zip_equal(it->second, strides))
    if (axis >= 0)
      result[axis] = stride;
  return result;
}

void IterationSpace::formGroups(ArrayRef<AxisStrides> others) {
  SmallVector<AxisStrides> accesses(others);
  for (const auto &entry : axesOf)
    accesses.push_back(axisStrides(entry.first));
  auto mergeable = [&](unsigned outer) {
    if (isIotaAxis[outer] || isIotaAxis[outer + 1])
      return false;
    return llvm::all_of(accesses, [&](const AxisStrides &strides) {
      return strides[outer] == strides[outer + 1] * axisSizes[outer + 1];
    });
  };
  groupOfAxis.clear();
  groupSizes.clear();
  innermostAxis.clear();
  for (unsigned axis = 0; axis < axisSizes.size(); ++axis) {
    if (axis > 0 && mergeable(axis - 1)) {
      groupSizes.back() *= axisSizes[axis];
      innermostAxis.back() = axis;
    } else {
      groupSizes.push_back(axisSizes[axis]);
      innermostAxis.push_back(axis);
    }
    groupOfAxis.push_back(groupSizes.size() - 1);
  }
}

int64_t IterationSpace::getVolume(GroupSet groups) const {
  int64_t volume = 1;
  for (unsigned g = 0; g < groupSizes.size(); ++g)
    if (groups >> g & 1)
      volume *= groupSizes[g];
  return volume;
}

GroupSet IterationSpace::getGroups(Value value) const {
  GroupSet set = 0;
  auto it = axesOf.find(value);
  for (int axis : it->second)
    if (axis >= 0)
      set |= GroupSet(1) << groupOfAxis[axis];
  return set;
}

SmallVector<int64_t> IterationSpace::getStrides(const AxisStrides &strides) const {
  return llvm::map_to_vector(innermostAxis, [&](unsigned axis) { return strides[axis]; });
}
SmallVector<int64_t> IterationSpace::getStrides(Value value) const {
  return getStrides(axisStrides(value));
}

std::optional<unsigned> IterationSpace::getIotaGroup(Operation *op) const {
  auto iota = cast<stablehlo::IotaOp>(op);
  std::optional<unsigned> axis = getAxis(iota.getResult(), iota.getIotaDimension());
  return axis ? std::optional<unsigned>(groupOfAxis[*axis]) : std::nullopt;
}
