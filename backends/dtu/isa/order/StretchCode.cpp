#include "backends/dtu/isa/order/StretchCode.h"

#include "backends/dtu/isa/Fields.h"

#include "absl/strings/string_view.h"

#include <type_traits>
#include <variant>

namespace st::dtu {
namespace {

/// Writes the form of an instruction and collects its bases.
class FormWriter {
public:
  FormWriter(std::string &form, CodePlace &place) : form(form), place(place) {}

  template <typename I> void operator()(const I &instruction) {
    isScatter = std::is_same_v<I, Scatter>;
    isVector = std::is_same_v<I, Vector>;
    Fields<I>::visit(*this, instruction);
  }

  void affine(absl::string_view name, const Affine &value) {
    // The elements of an iota are data.
    if (isVector && name == "start")
      return;
    number(value.constant);
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
    number(static_cast<int64_t>(value.type));
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
    number(static_cast<int64_t>(value));
  }

private:
  bool isWritten(absl::string_view name) const {
    return name == (isScatter ? "table" : "dst");
  }
  /// Of several addresses that an instruction reads, the others are relative to the first.
  void addBase(bool isWrite, int64_t constant) {
    int64_t &base = place.bases[isWrite];
    if (has[isWrite]) {
      number(constant - base);
      return;
    }
    has[isWrite] = true;
    base = constant;
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
  bool isScatter = false, isVector = false;
  bool has[2] = {false, false};
};

} // namespace

StretchCode CodeForms::codeOf(const Program &program) {
  StretchCode code{&program, {}, {}};
  std::string form;
  for (const Stream &stream : program.streams) {
    std::vector<CodePlace> &places = code.places.emplace_back(stream.instructions.size());
    for (size_t i = 0; i < places.size(); ++i) {
      const Instruction &instruction = stream.instructions[i];
      form.assign(1, static_cast<char>(instruction.index()));
      std::visit(FormWriter(form, places[i]), instruction);
      places[i].form = forms.try_emplace(form, static_cast<uint32_t>(forms.size())).first->second;
    }
    code.registers.emplace_back(stream, /*peers=*/true);
  }
  return code;
}

} // namespace st::dtu
