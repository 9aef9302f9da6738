// Values of registers that depend on the rank that runs a program: expressions of its number, its
// table and the micro-batch. A program whose decisions do not depend on them runs once for all
// ranks.
#pragma once

#include "backends/dtu/simulator/Decoded.h"
#include "backends/dtu/simulator/Simulator.h"

#include <map>
#include <optional>
#include <vector>

namespace st::dtu {

class RankValues {
public:
  /// A value that all ranks share, or one of the expressions.
  struct Value {
    bool isShared = true;
    int64_t number = 0; ///< the value, or the number of the expression
  };

  /// For a program with this many entries in its rank table.
  explicit RankValues(int64_t tableSize) : tableSize(tableSize) {}

  Value rank() { return add({Kind::Rank, {}}); }
  Value microBatch() { return add({Kind::MicroBatch, {}}); }
  Value affine(const FlatAffine &affine, const Value *registers);
  /// Empty if the shared value is negative, which is an error.
  std::optional<Value> index(const IndexInst &inst, const Value *registers);
  Value table(const TableInst &inst, const Value *registers);

  /// The value of each expression for a rank; empty if one of them is an error.
  std::optional<std::vector<int64_t>> evaluate(const RankConfig &rank, int64_t microBatch) const;

private:
  enum class Kind : uint8_t { Rank, MicroBatch, Affine, Index, Table };
  struct Expression {
    Kind kind;
    /// Affine: the constant, then a coefficient and an expression for each term. Index: an
    /// expression, the divisor, the modulus and the factor. Table: an expression.
    std::vector<int64_t> operands;

    bool operator<(const Expression &other) const {
      return std::tie(kind, operands) < std::tie(other.kind, other.operands);
    }
  };

  Value add(Expression expression);
  /// The number of an expression of this value.
  int64_t expressionOf(Value value);

  int64_t tableSize;
  std::map<Expression, int64_t> numbers;
  std::vector<Expression> expressions; ///< operands before their users
};

} // namespace st::dtu
