#include "backends/dtu/simulator/data/VectorRuns.h"

#include "backends/dtu/isa/Names.h"
#include "backends/dtu/simulator/ControlFlow.h"

#include <algorithm>
#include <array>
#include <optional>

namespace st::dtu {
namespace {

enum class Relation { Apart, Same, Mixed };

bool operator==(const FlatExtent &a, const FlatExtent &b) {
  return a.tile == b.tile && a.reg == b.reg && a.limit == b.limit;
}

/// A value between `low` and `high`.
struct Interval {
  __int128 low = 0, high = 0;
};

/// Ranges of the registers whose values are known: buffer slots, which tile loops count modulo the
/// number of slots.
class RegisterValues {
public:
  RegisterValues() { values[kZero] = Interval(); }

  /// Updates the ranges after the instruction in `slot`.
  void pass(const DecodedProgram &program, Slot slot) {
    if (slot.opcode == Opcode::Index) {
      const IndexInst &inst = program.indices[slot.index];
      std::optional<Interval> &value = values[inst.dst];
      value.reset();
      if (inst.modulo > 0) {
        const __int128 last = static_cast<__int128>(inst.modulo - 1) * inst.multiply;
        value = {std::min<__int128>(last, 0), std::max<__int128>(last, 0)};
        if (last < -kFarthest || last > kFarthest)
          value.reset();
      }
    } else if (slot.opcode == Opcode::Load || isControl(slot.opcode)) {
      *this = RegisterValues();
    }
  }

  /// The distance from a to b.
  std::optional<Interval> between(const FlatAffine &a, const FlatAffine &b) const {
    Interval result;
    result.low = result.high = static_cast<__int128>(b.constant) - a.constant;
    auto coefficient = [](const FlatAffine &affine, uint8_t reg) {
      __int128 sum = 0;
      for (uint32_t i = 0; i < affine.count; ++i)
        sum += affine.regs[i] == reg ? affine.coefficients[i] : 0;
      return sum;
    };
    for (const FlatAffine *affine : {&a, &b})
      for (uint32_t i = 0; i < affine->count; ++i) {
        const uint8_t reg = affine->regs[i];
        if (affine == &b && coefficient(a, reg) != 0)
          continue; // counted
        const __int128 factor = coefficient(b, reg) - coefficient(a, reg);
        if (factor == 0)
          continue;
        if (!values[reg] || factor < -kFarthest || factor > kFarthest)
          return std::nullopt;
        result.low += std::min(factor * values[reg]->low, factor * values[reg]->high);
        result.high += std::max(factor * values[reg]->low, factor * values[reg]->high);
      }
    return result;
  }

private:
  /// Larger values are not buffer slots; the limit prevents overflow.
  static constexpr int64_t kFarthest = int64_t(1) << 40;

  std::array<std::optional<Interval>, kNumRegisters> values;
};

/// Low and high byte of an operand at its tile's full size, relative to its address.
void span(const FlatOperand &operand, int64_t rows, int64_t cols, __int128 &low, __int128 &high) {
  low = 0, high = operand.width;
  for (auto [stride, size] : {std::pair{operand.rowBytes, rows}, {operand.colBytes, cols}}) {
    const __int128 reach = static_cast<__int128>(stride) * (size - 1);
    (reach < 0 ? low : high) += reach;
  }
}

/// The overlap of two operands of instructions of one core.
Relation relate(const FlatOperand &a, const FlatOperand &b, int64_t rows, int64_t cols,
                const RegisterValues &registers) {
  if (a.address.space != b.address.space)
    return Relation::Apart;
  const std::optional<Interval> between = registers.between(a.address.offset, b.address.offset);
  if (!between)
    return Relation::Mixed;
  __int128 aLow, aHigh, bLow, bHigh;
  span(a, rows, cols, aLow, aHigh);
  span(b, rows, cols, bLow, bHigh);
  if (between->low + bLow >= aHigh || between->high + bHigh <= aLow)
    return Relation::Apart;
  const bool same = between->low == 0 && between->high == 0 && a.rowBytes == b.rowBytes &&
                    a.colBytes == b.colBytes && a.width == b.width;
  return same ? Relation::Same : Relation::Mixed;
}

/// Returns true for the kernel's compute type, or a 16-bit float that is converted on the way.
bool fits(const FlatOperand &operand, DType type) {
  return operand.type == type || (is16Bit(operand.type) && type == DType::F32);
}

/// Returns true if the instruction works element by element on rows of contiguous elements.
bool isElementwise(const VectorInst &inst) {
  if (isReduction(inst.op) || inst.op == VectorOp::Fill || inst.op == VectorOp::Iota)
    return false;
  if (inst.cols.tile <= 1 || inst.dst.colBytes != inst.dst.width)
    return false;
  // Outside L1, a source may be at the source of a deferred copy.
  if (inst.dst.address.space != Space::L1)
    return false;
  for (unsigned k = 0; k < inst.operands; ++k)
    if (inst.src[k].colBytes != inst.src[k].width && inst.src[k].colBytes != 0)
      return false;
  if (!inst.kernel)
    return inst.src[0].colBytes != 0;
  for (unsigned k = 0; k < inst.operands; ++k)
    if (!fits(inst.src[k], inst.op == VectorOp::Select && k == 0 ? DType::I1 : inst.computeType))
      return false;
  const bool answers = isCompare(inst.op) || inst.op == VectorOp::IsFinite;
  return answers ? inst.dst.type == DType::I1 : fits(inst.dst, inst.computeType);
}

/// Returns true if `inst` writes only bytes that `other` accesses at the same element, or does not
/// access.
bool writesInStep(const VectorInst &inst, const VectorInst &other,
                  const RegisterValues &registers) {
  const int64_t rows = inst.rows.tile, cols = inst.cols.tile;
  if (relate(inst.dst, other.dst, rows, cols, registers) == Relation::Mixed)
    return false;
  for (unsigned k = 0; k < other.operands; ++k)
    if (relate(inst.dst, other.src[k], rows, cols, registers) == Relation::Mixed)
      return false;
  return true;
}

} // namespace

std::vector<uint8_t> findVectorRuns(const DecodedProgram &program, const DecodedStream &stream) {
  const size_t size = stream.slots.size();
  std::vector<uint8_t> runs(size, 0);
  // In other streams, an operand names its core.
  if (stream.engine != Engine::Core)
    return runs;
  RegisterValues registers;
  auto instAt = [&](size_t at) -> const VectorInst * {
    const Slot slot = stream.slots[at];
    if (slot.opcode != Opcode::Vector)
      return nullptr;
    const VectorInst &inst = program.vectors[slot.index];
    return isElementwise(inst) && writesInStep(inst, inst, registers) ? &inst : nullptr;
  };
  for (size_t begin = 0; begin < size;) {
    std::vector<const VectorInst *> run;
    for (size_t at = begin; at < size && run.size() < kMaxRun; ++at) {
      const VectorInst *inst = instAt(at);
      if (!inst || (!run.empty() && !(inst->rows == run[0]->rows && inst->cols == run[0]->cols)))
        break;
      bool inStep = std::all_of(run.begin(), run.end(), [&](const VectorInst *earlier) {
        return writesInStep(*earlier, *inst, registers) && writesInStep(*inst, *earlier, registers);
      });
      if (!inStep)
        break;
      run.push_back(inst);
    }
    if (run.size() > 1)
      runs[begin] = static_cast<uint8_t>(run.size());
    else
      registers.pass(program, stream.slots[begin]);
    begin += std::max<size_t>(run.size(), 1);
  }
  return runs;
}

} // namespace st::dtu
