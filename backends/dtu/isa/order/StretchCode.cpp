#include "backends/dtu/isa/order/StretchCode.h"

#include "backends/dtu/isa/Fields.h"
#include "backends/dtu/isa/order/StreamWalker.h"

#include "absl/strings/string_view.h"

#include <algorithm>
#include <type_traits>
#include <variant>

namespace st::dtu {
namespace {

/// Writes the form of an instruction and collects its bases.
class FormWriter {
public:
  /// `isBase`: an index whose constant belongs to the addresses that it computes.
  FormWriter(std::string &form, CodePlace &place, bool isBase)
      : form(form), place(place), isBase(isBase) {}

  template <typename I> void operator()(const I &instruction) {
    isScatter = std::is_same_v<I, Scatter>;
    isVector = std::is_same_v<I, Vector>;
    Fields<I>::visit(*this, instruction);
  }

  void affine(absl::string_view name, const Affine &value) {
    // The elements of an iota are data.
    if (isVector && name == "start")
      return;
    number(isBase ? -1 : value.constant);
    addTerms(value);
  }
  void address(const char *name, const Address &value) {
    number(static_cast<int64_t>(value.space));
    if (value.space == Space::L1 || value.space == Space::L2)
      number(value.offset.constant);
    else
      addBase(isWritten(name), value.offset.constant);
    addTerms(value.offset);
    affine("core", value.core);
  }
  void view(const char *name, const View &value) {
    address(name, value.address);
    number(static_cast<int64_t>(value.strides.size()));
    for (int64_t stride : value.strides)
      number(stride);
  }
  void extent(const char *, const Extent &value) {
    number(value.tile);
    number(value.reg);
    number(value.limit);
  }
  void sizes(const char *name, const std::vector<Extent> &values) {
    number(static_cast<int64_t>(values.size()));
    for (const Extent &value : values)
      extent(name, value);
  }
  void operand(const char *name, const TileOperand &value) {
    address(name, value.address);
    number(value.rowStride);
    number(value.colStride);
    number(byteWidth(value.type));
  }
  void operands(const std::array<TileOperand, 3> &values) {
    for (const TileOperand &value : values)
      operand("", value);
  }
  void reg(const char *, uint8_t value) { number(value); }
  void integer(const char *, int64_t value, int64_t) { number(value); }
  void bits(const char *, uint64_t) {} // data
  void flag(const char *, bool value) { number(value); }
  template <typename Enum> void enumeration(const char *, Enum value, Enum) {
    if constexpr (std::is_same_v<Enum, DType>)
      number(byteWidth(value));
    else
      number(static_cast<int64_t>(value));
  }

private:
  bool isWritten(absl::string_view name) const { return name == (isScatter ? "table" : "dst"); }
  /// If an instruction reads several addresses, all but the first are relative to the first.
  void addBase(bool isWrite, int64_t constant) {
    int64_t &base = place.bases[isWrite];
    if (has[isWrite]) {
      number(constant - base);
      return;
    }
    has[isWrite] = true;
    base += constant;
  }
  void addTerms(const Affine &value) {
    number(static_cast<int64_t>(value.terms.size()));
    for (const Affine::Term &term : value.terms) {
      number(term.reg);
      number(term.coefficient);
    }
  }
  void number(int64_t value) {
    // Most numbers are small.
    if (value >= 0 && value < 255) {
      form.push_back(static_cast<char>(value));
      return;
    }
    form.push_back(static_cast<char>(255));
    form.append(reinterpret_cast<const char *>(&value), sizeof(value));
  }

  std::string &form;
  CodePlace &place;
  const bool isBase;
  bool isScatter = false, isVector = false;
  bool has[2] = {false, false};
};

/// Finds the indices that only compute addresses outside of the cluster.
class BaseIndices {
public:
  BaseIndices(const Stream &stream, const StreamRegisters &registers)
      : all(stream.instructions), live(registers.live), matches(matchLoops(stream)) {}

  /// If the instruction is such an index, adds its constant to the addresses.
  bool moveConstant(size_t at, std::vector<CodePlace> &places) const;

private:
  struct Use {
    size_t at;
    bool isWrite;
  };
  /// Returns true if an expression at an instruction is never negative.
  bool isNonNegative(size_t at, const Affine &value, int depth = 0) const {
    return value.constant >= 0 &&
           std::all_of(value.terms.begin(), value.terms.end(), [&](const Affine::Term &term) {
             return term.coefficient >= 0 && isNonNegative(at, term.reg, depth);
           });
  }
  bool isNonNegative(size_t at, uint8_t reg, int depth) const;
  bool findUses(size_t at, uint8_t reg, std::vector<Use> &uses) const;

  const std::vector<Instruction> &all;
  const std::vector<RegisterSet> &live;
  const std::vector<uint32_t> matches;
};

/// Looks at the definitions that may reach the instruction.
bool BaseIndices::isNonNegative(size_t at, uint8_t reg, int depth) const {
  if (reg < kFirstFree)
    return true;
  if (depth > static_cast<int>(kMaxLoopDepth))
    return false;
  auto isSafe = [&](size_t i) {
    // A negative value of an index is a fault.
    if (auto *index = std::get_if<Index>(&all[i]))
      return index->multiply >= 0;
    auto *loop = std::get_if<Loop>(&all[i]);
    return loop && isNonNegative(i, loop->start, depth + 1);
  };
  size_t end = at; // of the outermost loop that begins after the definition
  for (size_t i = at, closed = 0; i-- > 0;) {
    const bool isDefinition = registerSet(all[i]) == reg;
    if (isDefinition && !isSafe(i))
      return false;
    closed += std::holds_alternative<EndLoop>(all[i]);
    if (std::holds_alternative<Loop>(all[i])) {
      if (closed == 0)
        end = matches[i];
      else
        --closed;
    }
    if (isDefinition && closed == 0)
      break;
  }
  for (size_t i = at; i < end; ++i)
    if (registerSet(all[i]) == reg && !isSafe(i))
      return false;
  return true;
}

/// Returns true if the only use of the register is as the base of an address outside of the
/// cluster.
bool isBaseOf(const Copy &copy, uint8_t reg, bool &isWrite) {
  auto addsBase = [&](const Address &address) {
    return (address.space == Space::L3 || address.space == Space::Host) &&
           std::any_of(
               address.offset.terms.begin(), address.offset.terms.end(),
               [&](const Affine::Term &term) { return term.reg == reg && term.coefficient == 1; });
  };
  isWrite = addsBase(copy.dst.address);
  Copy rest = copy;
  std::vector<Affine::Term> &terms = (isWrite ? rest.dst : rest.src).address.offset.terms;
  auto used = std::find_if(terms.begin(), terms.end(),
                           [&](const Affine::Term &term) { return term.reg == reg; });
  if (!addsBase((isWrite ? copy.dst : copy.src).address) || used->coefficient != 1)
    return false;
  terms.erase(used);
  return !registersRead(rest, /*peers=*/true).test(reg);
}

/// All uses follow the index in its own trip of all loops, with no other definition in between.
bool BaseIndices::findUses(size_t at, uint8_t reg, std::vector<Use> &uses) const {
  size_t end = at + 1; // after all uses, and after loops that begin before them
  for (size_t i = at + 1; i < all.size(); ++i) {
    if (i >= end && !live[i].test(reg))
      return true;
    if (std::holds_alternative<EndLoop>(all[i]) && matches[i] < at)
      return false;
    if (std::holds_alternative<Loop>(all[i]))
      end = std::max<size_t>(end, matches[i] + 1);
    if (registerSet(all[i]) == reg)
      return false;
    if (!registersRead(all[i], /*peers=*/true).test(reg))
      continue;
    bool isWrite = false;
    auto *copy = std::get_if<Copy>(&all[i]);
    if (!copy || !isBaseOf(*copy, reg, isWrite))
      return false;
    uses.push_back({i, isWrite});
    end = std::max(end, i + 1);
  }
  return !live[all.size()].test(reg);
}

bool BaseIndices::moveConstant(size_t at, std::vector<CodePlace> &places) const {
  auto *index = std::get_if<Index>(&all[at]);
  if (!index || index->divide != 1 || index->modulo != 0 || index->multiply != 1 ||
      !isNonNegative(at, index->value))
    return false;
  std::vector<Use> uses;
  if (!findUses(at, index->dst, uses))
    return false;
  for (const Use &use : uses)
    places[use.at].bases[use.isWrite] += index->value.constant;
  return !uses.empty();
}

} // namespace

StretchCode CodeForms::codeOf(const Program &program) {
  StretchCode code{&program, {}, {}};
  std::string form;
  for (const Stream &stream : program.streams) {
    std::vector<CodePlace> &places = code.places.emplace_back(stream.instructions.size());
    const StreamRegisters &registers = code.registers.emplace_back(stream, /*peers=*/true);
    const BaseIndices indices(stream, registers);
    for (size_t i = 0; i < places.size(); ++i) {
      const Instruction &instruction = stream.instructions[i];
      const bool isBase = indices.moveConstant(i, places);
      form.assign(1, static_cast<char>(instruction.index()));
      std::visit(FormWriter(form, places[i], isBase), instruction);
      places[i].form = forms.try_emplace(form, static_cast<uint32_t>(forms.size())).first->second;
    }
  }
  return code;
}

} // namespace st::dtu
