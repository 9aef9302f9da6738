#include "backends/dtu/simulator/replay/RankValues.h"

#include <algorithm>

namespace st::dtu {
namespace {

/// Wraps on overflow, as registers do.
int64_t multiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

int64_t add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

int64_t indexOf(int64_t value, int64_t divide, int64_t modulo, int64_t factor) {
  value /= divide;
  return multiply(modulo ? value % modulo : value, factor);
}

} // namespace

RankValues::Value RankValues::add(Expression expression) {
  auto [at, isNew] = numbers.emplace(expression, static_cast<int64_t>(expressions.size()));
  if (isNew)
    expressions.push_back(std::move(expression));
  return {/*isShared=*/false, at->second};
}

int64_t RankValues::expressionOf(Value value) {
  return value.isShared ? add({Kind::Affine, {value.number}}).number : value.number;
}

RankValues::Value RankValues::affine(const FlatAffine &affine, const Value *registers) {
  Expression sum{Kind::Affine, {affine.constant}};
  for (uint32_t i = 0; i < affine.count; ++i) {
    const Value &value = registers[affine.regs[i]];
    if (value.isShared)
      sum.operands[0] = dtu::add(sum.operands[0], multiply(affine.coefficients[i], value.number));
    else
      sum.operands.insert(sum.operands.end(), {affine.coefficients[i], value.number});
  }
  if (sum.operands.size() == 1)
    return {/*isShared=*/true, sum.operands[0]};
  return add(std::move(sum));
}

std::optional<RankValues::Value> RankValues::index(const IndexInst &inst, const Value *registers) {
  const Value value = affine(inst.value, registers);
  if (!value.isShared)
    return add({Kind::Index, {value.number, inst.divide, inst.modulo, inst.multiply}});
  if (value.number < 0)
    return std::nullopt;
  return Value{/*isShared=*/true, indexOf(value.number, inst.divide, inst.modulo, inst.multiply)};
}

RankValues::Value RankValues::table(const TableInst &inst, const Value *registers) {
  return add({Kind::Table, {expressionOf(affine(inst.index, registers))}});
}

std::optional<std::vector<int64_t>> RankValues::evaluate(const RankConfig &rank,
                                                         int64_t microBatch) const {
  const int64_t entries = std::min(tableSize, static_cast<int64_t>(rank.table.size()));
  std::vector<int64_t> values;
  for (const auto &[kind, operands] : expressions) {
    auto operand = [&, &operands = operands] { return values[static_cast<size_t>(operands[0])]; };
    switch (kind) {
    case Kind::Rank:
      values.push_back(rank.rankInGroup);
      break;
    case Kind::MicroBatch:
      values.push_back(microBatch);
      break;
    case Kind::Affine: {
      int64_t sum = operands[0];
      for (size_t i = 1; i < operands.size(); i += 2)
        sum = dtu::add(sum, multiply(operands[i], values[static_cast<size_t>(operands[i + 1])]));
      values.push_back(sum);
      break;
    }
    case Kind::Index:
      if (operand() < 0)
        return std::nullopt;
      values.push_back(indexOf(operand(), operands[1], operands[2], operands[3]));
      break;
    case Kind::Table:
      if (operand() < 0 || operand() >= entries)
        return std::nullopt;
      values.push_back(rank.table[static_cast<size_t>(operand())]);
      break;
    }
  }
  return values;
}

} // namespace st::dtu
