// Which dimensions of a program's values are the same dimension, by the ops' factor rules, and how
// large each has to be so that every sharding that is asked for divides it.
#pragma once

#include "dialects/St/Sharding/OpSharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// Dimensions that become larger together. A class has a number of units, and each of its
/// dimensions that many parts of equal size: a dimension of 12 heads of 64 elements in one, and one
/// of 12 heads, are a class of 12 units.
class DimensionClasses {
public:
  /// Reads the seeds: shardings of arguments and results and of st.constrain.
  DimensionClasses(func::FuncOp function, const MeshAxes &axes);

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
  void settle();

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
  DenseMap<Operation *, ShardingRule> rules;
  DenseSet<std::pair<Operation *, int64_t>> joined; ///< factors whose dimensions are one class
  bool isPadded = false;
};

} // namespace mlir::st
