#include "backends/dtu/isa/Registers.h"

#include "backends/dtu/isa/Fields.h"
#include "backends/dtu/isa/order/StreamWalker.h"

#include "absl/strings/string_view.h"

namespace st::dtu {
namespace {

/// Collects the registers that an instruction reads that sets none.
class Reads {
public:
  Reads(RegisterSet &registers, bool peers) : registers(registers), peers(peers) {}

  template <typename I> void operator()(const I &instruction) {
    isLink = std::is_same_v<I, Send> || std::is_same_v<I, Recv>;
    Fields<I>::visit(*this, instruction);
  }

  void reg(const char *name, uint8_t value) {
    if (peers || !isLink || absl::string_view(name) != "peer")
      registers.set(value);
  }
  void affine(const char *, const Affine &value) {
    for (const Affine::Term &term : value.terms)
      registers.set(term.reg);
  }
  void address(const char *name, const Address &value) {
    affine(name, value.offset);
    affine(name, value.core);
  }
  void view(const char *name, const View &value) { address(name, value.address); }
  void extent(const char *, const Extent &value) { registers.set(value.reg); }
  void sizes(const char *name, const std::vector<Extent> &values) {
    for (const Extent &value : values)
      extent(name, value);
  }
  void operand(const char *name, const TileOperand &value) { address(name, value.address); }
  void operands(const std::array<TileOperand, 3> &values) {
    for (const TileOperand &value : values)
      operand("", value);
  }
  template <typename... Rest> void integer(const char *, Rest &&...) {}
  template <typename... Rest> void bits(const char *, Rest &&...) {}
  template <typename... Rest> void flag(const char *, Rest &&...) {}
  template <typename... Rest> void enumeration(const char *, Rest &&...) {}

private:
  RegisterSet &registers;
  const bool peers;
  bool isLink = false;
};

} // namespace

RegisterSet registersRead(const Instruction &instruction, bool peers) {
  RegisterSet registers;
  Reads reads(registers, peers);
  if (auto *loop = std::get_if<Loop>(&instruction)) {
    reads.affine("", loop->start);
    reads.affine("", loop->limit);
  } else if (auto *index = std::get_if<Index>(&instruction)) {
    reads.affine("", index->value);
  } else if (auto *table = std::get_if<Table>(&instruction)) {
    reads.affine("", table->index);
  } else if (auto *load = std::get_if<Load>(&instruction)) {
    reads.address("", load->address);
  } else {
    std::visit(reads, instruction);
  }
  return registers;
}

uint8_t registerSet(const Instruction &instruction) {
  if (auto *loop = std::get_if<Loop>(&instruction))
    return loop->reg;
  if (auto *index = std::get_if<Index>(&instruction))
    return index->dst;
  if (auto *table = std::get_if<Table>(&instruction))
    return table->dst;
  if (auto *load = std::get_if<Load>(&instruction))
    return load->dst;
  return kZero;
}

StreamRegisters::StreamRegisters(const Stream &stream, bool peers)
    : live(stream.instructions.size() + 1), depth(stream.instructions.size() + 1) {
  const std::vector<Instruction> &all = stream.instructions;
  const std::vector<uint32_t> matches = matchLoops(stream);
  uint8_t open = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    depth[i] = open;
    open = static_cast<uint8_t>(open + std::holds_alternative<Loop>(all[i]) -
                                std::holds_alternative<EndLoop>(all[i]));
  }
  // Iterates backwards until no loop needs more registers from its next trip.
  for (bool grew = true; grew;) {
    grew = false;
    for (size_t i = all.size(); i-- > 0;) {
      RegisterSet before = live[i + 1];
      const bool computes =
          std::holds_alternative<Index>(all[i]) || std::holds_alternative<Table>(all[i]);
      const bool counts = !computes || before.test(registerSet(all[i]));
      if (std::holds_alternative<Loop>(all[i]) || std::holds_alternative<Leave>(all[i]))
        before |= live[matches[i] + 1];
      before.reset(registerSet(all[i]));
      if (counts)
        before |= registersRead(all[i], peers);
      if (std::holds_alternative<EndLoop>(all[i])) {
        before |= live[matches[i] + 1];
        before.set(std::get<Loop>(all[matches[i]]).reg);
      }
      before.reset(kZero);
      grew |= before != live[i];
      live[i] = before;
    }
  }
}

} // namespace st::dtu
