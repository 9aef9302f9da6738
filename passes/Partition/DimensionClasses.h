// Classes of equal dimensions of a program's values, by the ops' factor rules, and the size that
// each needs for every requested sharding to divide it.
#pragma once

#include "dialects/St/Sharding/OpSharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// On the module: the padded shapes of another program's parameters, by name. The parameters of
/// this program get the same shapes as far as seeds divide them, regardless of product alignment.
constexpr llvm::StringLiteral kParameterShapesAttr = "st.parameter_shapes";

/// The row alignment that products prefer, in bytes.
struct RowAlignment {
  int64_t least =
      1; ///< smallest alignment for good use of the matrix units; 1: no padding for products
  int64_t best = 1;       ///< a multiple of `least`: rows begin at cache lines
  int64_t maxPercent = 0; ///< how much a dimension may grow for it
};

/// Dimensions that grow together. A class has a number of units, and each of its dimensions
/// consists of that many equal parts: a dimension of 12 heads of 64 elements each, and one of 12
/// heads, form a class of 12 units.
class DimensionClasses {
public:
  /// Reads the seeds: shardings of arguments, results and st.constrain ops. Parameter dimensions
  /// that are product operands are aligned as well.
  DimensionClasses(func::FuncOp function, const MeshAxes &axes, const RowAlignment &alignment = {});

  /// Returns true if a dimension must grow.
  bool anyPadding() const { return isPadded; }
  /// The type of a value with its dimensions padded to their classes.
  Type paddedType(Value value) const;
  /// The rule of an op, for its original types.
  const ShardingRule &ruleOf(Operation *op) const { return rules.find(op)->second; }
  /// Returns true if a dimension of an op's operand or result may contain padding: the op computes
  /// only padding from it, or its result is masked.
  bool takesPadding(Operation *op, const TensorFactors &tensor, int64_t dim) const;

private:
  using Node = int64_t;

  Node nodeOf(Value value, int64_t dim) const;
  Node find(Node node) const;
  /// Joins two dimensions that both consist of `parts` corresponding parts. Returns false if the
  /// units of their classes do not allow it.
  bool join(Node a, Node b, int64_t parts);
  void joinDimensions(Value a, Value b);
  void addValue(Value value);
  void addBlock(Block &block);
  void addOp(Operation &op);
  void joinFactors(Operation &op);
  void joinLoop(Operation &op);
  void require(Value value, const TensorSharding &sharding);
  void alignProducts(func::FuncOp function, const RowAlignment &alignment);
  void followShapes(func::FuncOp function, DictionaryAttr shapes);
  bool alignRows(Node node, int64_t elements, int64_t maxPercent);
  void resolve();

  DenseMap<Value, Node> first; ///< first node of the value's consecutive dimensions
  std::vector<int64_t> sizes;  ///< of each dimension
  mutable std::vector<Node> parents;
  std::vector<int64_t> units; ///< of a root's class
  struct Requirement {
    Node node;
    int64_t parts;
  };
  std::vector<Requirement> requirements;
  std::vector<int64_t> paddedUnits;
  std::vector<int64_t> multiples; ///< to which a root's units are padded
  std::vector<int64_t> shards;    ///< into which seeds split a root's dimensions
  DenseMap<Operation *, ShardingRule> rules;
  DenseSet<std::pair<Operation *, int64_t>> joined; ///< factors whose dimensions are one class
  bool isPadded = false;
};

} // namespace mlir::st
