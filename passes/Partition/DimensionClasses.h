// Which dimensions of a program's values are the same dimension, by the ops' factor rules, and how
// large each has to be so that every sharding that is asked for divides it.
#pragma once

#include "dialects/St/Sharding/OpSharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// On the module: a dictionary of the padded shapes that another program's parameters have, by
/// their names. Those of this one get the same, as far as seeds divide them, whatever products
/// want.
constexpr llvm::StringLiteral kParameterShapesAttr = "st.parameter_shapes";

/// What products want of the rows of their operands and results, in bytes.
struct RowAlignment {
  int64_t least =
      1; ///< below which matrix units are not used well; 1: nothing is padded for products
  int64_t best = 1;        ///< a multiple of `least`: rows begin where a line of the cache does
  int64_t mostPercent = 0; ///< how much larger a dimension may become for it
};

/// Dimensions that become larger together. A class has a number of units, and each of its
/// dimensions that many parts of equal size: a dimension of 12 heads of 64 elements in one, and one
/// of 12 heads, are a class of 12 units.
class DimensionClasses {
public:
  /// Reads the seeds: shardings of arguments and results and of st.constrain. Dimensions of
  /// parameters that are operands of products are aligned as well.
  DimensionClasses(func::FuncOp function, const MeshAxes &axes, const RowAlignment &alignment = {});

  /// Whether some dimension has to be larger than it is.
  bool anyPadding() const { return isPadded; }
  /// The type of a value with its dimensions as large as their classes want.
  Type paddedType(Value value) const;
  /// The rule of an op, of the types that it had.
  const ShardingRule &ruleOf(Operation *op) const { return rules.find(op)->second; }
  /// Whether a dimension of an op's operand or result may have padding there: the op then computes
  /// nothing from it but padding, or what it computes is masked.
  bool takesPadding(Operation *op, const TensorFactors &tensor, int64_t dim) const;

private:
  using Node = int64_t;

  Node nodeOf(Value value, int64_t dim) const;
  Node find(Node node) const;
  /// Joins two dimensions that are the same to the `parts`-th; false where their classes are not
  /// divided in a way that goes with it.
  bool join(Node a, Node b, int64_t parts);
  void joinWhole(Value a, Value b);
  void addValue(Value value);
  void addBlock(Block &block);
  void addOp(Operation &op);
  void joinFactors(Operation &op);
  void joinLoop(Operation &op);
  void require(Value value, const TensorSharding &sharding);
  void alignProducts(func::FuncOp function, const RowAlignment &alignment);
  void followShapes(func::FuncOp function, DictionaryAttr shapes);
  bool alignRows(Node node, int64_t elements, int64_t mostPercent);
  void resolve();

  DenseMap<Value, Node> first; ///< of the value's dimensions, which follow each other
  std::vector<int64_t> sizes;  ///< of each dimension
  mutable std::vector<Node> parents;
  std::vector<int64_t> units; ///< of a root's class
  struct Requirement {
    Node node;
    int64_t parts;
  };
  std::vector<Requirement> requirements;
  std::vector<int64_t> paddedUnits;
  std::vector<int64_t> multiples; ///< that a root's units are padded to
  std::vector<int64_t> shards;    ///< into which seeds split a root's dimensions
  DenseMap<Operation *, ShardingRule> rules;
  DenseSet<std::pair<Operation *, int64_t>> joined; ///< factors whose dimensions are one class
  bool isPadded = false;
};

} // namespace mlir::st
