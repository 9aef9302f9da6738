#include "passes/Partition/DimensionClasses.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Utils/Roles.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include <numeric>

using namespace mlir;
using namespace mlir::st;

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

DimensionClasses::Node DimensionClasses::nodeOf(Value value, int64_t dim) const {
  return first.lookup(value) + dim;
}

DimensionClasses::Node DimensionClasses::find(Node node) const {
  while (parents[node] != node)
    node = parents[node] = parents[parents[node]];
  return node;
}

bool DimensionClasses::join(Node a, Node b, int64_t parts) {
  a = find(a);
  b = find(b);
  parts = std::max<int64_t>(parts, 1); // for an empty dimension
  // If neither unit divides the other, their only common unit is far larger.
  auto isCompatible = [&](int64_t own) { return own % parts == 0 || parts % own == 0; };
  if (!isCompatible(units[a]) || !isCompatible(units[b]))
    return false;
  int64_t common = std::gcd(parts, std::gcd(units[a], units[b]));
  parents[b] = a;
  units[a] = common;
  return true;
}

void DimensionClasses::joinDimensions(Value a, Value b) {
  auto type = dyn_cast<RankedTensorType>(a.getType());
  if (!type || a.getType() != b.getType())
    return;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    (void)join(nodeOf(a, dim), nodeOf(b, dim), type.getDimSize(dim));
}

void DimensionClasses::addValue(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return;
  first[value] = static_cast<Node>(sizes.size());
  for (int64_t size : type.getShape()) {
    parents.push_back(static_cast<Node>(sizes.size()));
    sizes.push_back(size);
    units.push_back(std::max<int64_t>(size, 1));
  }
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

/// Values that a loop carries keep their dimensions.
void DimensionClasses::joinLoop(Operation &op) {
  auto loop = cast<stablehlo::WhileOp>(op);
  Operation *end = loop.getBody().front().getTerminator();
  for (auto [i, result] : llvm::enumerate(loop.getResults()))
    for (Value same : {loop->getOperand(i), Value(loop.getCond().getArgument(i)),
                       Value(loop.getBody().getArgument(i)), end->getOperand(i)})
      joinDimensions(result, same);
}

/// A dimension can grow along its major factor, because elements are added at the end. Along
/// another factor, they would be inserted in between.
void DimensionClasses::joinFactors(Operation &op) {
  const ShardingRule &rule = rules[&op];
  struct Use {
    Node node;
    bool isFirst, isAlone;
  };
  std::vector<SmallVector<Use, 4>> uses(rule.factors.size());
  auto collect = [&](ValueRange values, ArrayRef<TensorFactors> tensors) {
    for (auto [value, tensor] : llvm::zip(values, tensors))
      for (auto [dim, parts] : llvm::enumerate(tensor))
        for (int64_t factor : parts)
          uses[factor].push_back({nodeOf(value, dim), factor == parts.front(), parts.size() == 1});
  };
  collect(op.getOperands(), rule.operands);
  collect(op.getResults(), rule.results);
  for (auto [i, factor] : llvm::enumerate(rule.factors)) {
    bool canGrow = !factor.isCounted && factor.minPartSize == 0 &&
                   (factor.kind == FactorKind::Parallel || factor.kind == FactorKind::Reduction);
    if (!canGrow || uses[i].empty() || !llvm::all_of(uses[i], [&](const Use &use) {
          return use.isFirst && (use.isAlone || factor.kind == FactorKind::Parallel);
        }))
      continue;
    bool all = true;
    for (const Use &use : uses[i])
      all &= join(uses[i][0].node, use.node, factor.size);
    if (all)
      joined.insert({&op, static_cast<int64_t>(i)});
  }
}

void DimensionClasses::addOp(Operation &op) {
  llvm::for_each(op.getResults(), [&](Value result) { addValue(result); });
  rules[&op] = getShardingRule(&op);
  if (!isa<stablehlo::WhileOp>(op))
    return joinFactors(op);
  for (Region &region : op.getRegions())
    addBlock(region.front());
  joinLoop(op);
}

void DimensionClasses::addBlock(Block &block) {
  llvm::for_each(block.getArguments(), [&](Value argument) { addValue(argument); });
  for (Operation &op : block)
    addOp(op);
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

void DimensionClasses::require(Value value, const TensorSharding &sharding) {
  for (auto [dim, splits] : llvm::enumerate(sharding.dims)) {
    int64_t parts = 1;
    for (const Split &split : splits)
      parts *= split.size;
    if (parts > 1)
      requirements.push_back({nodeOf(value, dim), parts});
  }
}

void DimensionClasses::resolve() {
  paddedUnits = units;
  multiples.assign(units.size(), 1);
  shards.assign(units.size(), 1);
  for (auto [node, parts] : requirements) {
    Node root = find(node);
    if (sizes[node] == 0)
      continue;
    // A unit of the dimension has enough elements for some of the parts.
    int64_t needed = parts / std::gcd(parts, sizes[node] / units[root]);
    shards[root] = std::lcm(shards[root], parts);
    multiples[root] = std::lcm(multiples[root], needed);
    paddedUnits[root] = llvm::alignTo(units[root], multiples[root]);
    isPadded |= paddedUnits[root] != units[root];
  }
}

/// Pads each shard of a dimension to a multiple of `elements`. Returns false if that adds too many
/// elements.
bool DimensionClasses::alignRows(Node node, int64_t elements, int64_t maxPercent) {
  const Node root = find(node);
  const int64_t parts = shards[root] * elements;
  const int64_t multiple =
      std::lcm(multiples[root], parts / std::gcd(parts, sizes[node] / units[root]));
  const int64_t padded = llvm::alignTo(units[root], multiple);
  if ((padded - paddedUnits[root]) * 100 > maxPercent * paddedUnits[root])
    return false;
  multiples[root] = multiple;
  isPadded |= padded != units[root];
  paddedUnits[root] = padded;
  return true;
}

/// Aligns the contracted and kept dimensions of parameters in products. This aligns all tensors
/// with such a dimension: activations and gradients.
void DimensionClasses::alignProducts(func::FuncOp function, const RowAlignment &alignment) {
  DenseSet<Value> weights;
  for (BlockArgument argument : function.getArguments())
    if (getRole(argument) == "parameter")
      weights.insert(argument);
  auto align = [&](Value weight, ArrayRef<int64_t> batch) {
    auto type = cast<RankedTensorType>(weight.getType());
    if (!weights.contains(weight) || !type.getElementType().isFloat())
      return;
    const int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (Node node = nodeOf(weight, dim); sizes[node] != 0 && !llvm::is_contained(batch, dim))
        for (int64_t row : {alignment.best, alignment.least})
          if (row <= bytes || alignRows(node, row / bytes, alignment.maxPercent))
            break;
  };
  for (Operation &op : function.front()) {
    if (isa<stablehlo::ConvertOp, stablehlo::TransposeOp, stablehlo::ReshapeOp, ConstrainOp>(op) &&
        weights.contains(op.getOperand(0)))
      weights.insert(op.getResult(0));
    if (auto product = dyn_cast<stablehlo::DotGeneralOp>(op)) {
      auto numbers = product.getDotDimensionNumbers();
      align(product.getLhs(), numbers.getLhsBatchingDimensions());
      align(product.getRhs(), numbers.getRhsBatchingDimensions());
    }
  }
}

DimensionClasses::DimensionClasses(func::FuncOp function, const MeshAxes &axes,
                                   const RowAlignment &alignment) {
  Block &body = function.front();
  addBlock(body);
  Operation *end = body.getTerminator();
  for (BlockArgument argument : body.getArguments()) {
    if (!isa<RankedTensorType>(argument.getType()))
      continue;
    require(argument, axes.read(Value(argument)));
    auto alias =
        function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "tf.aliasing_output");
    if (alias && alias.getInt() < end->getNumOperands())
      joinDimensions(argument, end->getOperand(alias.getInt()));
  }
  for (auto [i, value] : llvm::enumerate(end->getOperands()))
    if (auto given = function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr))
      require(value, axes.read(given));
  function.walk([&](ConstrainOp op) { require(op.getResult(), axes.read(op.getSharding())); });
  resolve();
  auto module = function->getParentOfType<ModuleOp>();
  if (auto shapes = module->getAttrOfType<DictionaryAttr>(kParameterShapesAttr))
    followShapes(function, shapes);
  else if (alignment.least > 1)
    alignProducts(function, alignment);
}

void DimensionClasses::followShapes(func::FuncOp function, DictionaryAttr shapes) {
  for (BlockArgument argument : function.getArguments()) {
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr);
    auto shape = name ? shapes.getAs<DenseI64ArrayAttr>(name.getValue()) : DenseI64ArrayAttr();
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!shape || !type || shape.size() != type.getRank())
      continue;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      const Node node = nodeOf(argument, dim), root = find(node);
      const int64_t part = std::max<int64_t>(sizes[node] / units[root], 1),
                    padded = shape[dim] / part;
      if (shape[dim] % part != 0 || padded < units[root] || padded % multiples[root] != 0)
        continue;
      paddedUnits[root] = padded;
      isPadded |= padded != units[root];
    }
  }
}

Type DimensionClasses::paddedType(Value value) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  auto it = first.find(value);
  if (!type || it == first.end())
    return value.getType();
  SmallVector<int64_t> shape(type.getShape());
  for (auto [dim, size] : llvm::enumerate(shape)) {
    Node node = it->second + static_cast<Node>(dim), root = find(node);
    size = sizes[node] / units[root] * paddedUnits[root];
  }
  return type.clone(shape);
}

bool DimensionClasses::takesPadding(Operation *op, const TensorFactors &tensor, int64_t dim) const {
  return dim < static_cast<int64_t>(tensor.size()) && !tensor[dim].empty() &&
         joined.contains({op, tensor[dim].front()});
}
