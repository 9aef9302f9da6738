#include "test/fuzz/targets/ProgramMutator.h"

#include "backends/dtu/isa/Fields.h"
#include "backends/dtu/isa/Names.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace st::dtu {
namespace {

/// Collects a change for each number that an instruction holds.
class FieldChanges {
public:
  explicit FieldChanges(ProgramMutator &mutator) : mutator(mutator) {}

  std::vector<std::function<void()>> changes;

  void reg(const char *, uint8_t &value) {
    changes.emplace_back([this, &value] {
      value = static_cast<uint8_t>(mutator.below(mutator.below(8) ? 12 : kNumRegisters));
    });
  }
  void integer(const char *, int64_t &value, int64_t) { number(value); }
  void flag(const char *, bool &value) {
    changes.emplace_back([&value] { value = !value; });
  }
  void bits(const char *, uint64_t &value) {
    changes.emplace_back(
        [this, &value] { value = static_cast<uint64_t>(mutator.number(0)) << mutator.below(64); });
  }
  template <typename Enum> void enumeration(const char *, Enum &value, Enum) {
    changes.emplace_back(
        [this, &value] { value = static_cast<Enum>(mutator.below(enumCount<Enum>())); });
  }
  void affine(const char *, Affine &value) {
    number(value.constant);
    for (Affine::Term &term : value.terms) {
      reg("", term.reg);
      number(term.coefficient);
    }
    changes.emplace_back([this, &value] {
      if (value.terms.size() < Affine::kMaxTerms && mutator.below(2))
        value.terms.push_back({static_cast<uint8_t>(mutator.below(12)), mutator.number(1)});
      else if (!value.terms.empty())
        value.terms.pop_back();
    });
  }
  void address(const char *, Address &value) {
    enumeration("", value.space, Space::L3);
    affine("", value.offset);
    affine("", value.core);
  }
  void extent(const char *, Extent &value) {
    number(value.tile);
    reg("", value.reg);
    number(value.limit);
  }
  void sizes(const char *, std::vector<Extent> &value) {
    for (Extent &size : value)
      extent("", size);
    changes.emplace_back([this, &value] {
      if (value.size() < kMaxCopyDims && mutator.below(2))
        value.push_back({mutator.number(1), kZero, 0});
      else if (!value.empty())
        value.pop_back();
    });
  }
  void view(const char *, View &value) {
    address("", value.address);
    for (int64_t &stride : value.strides)
      number(stride);
    changes.emplace_back([this, &value] {
      if (value.strides.size() < kMaxCopyDims && mutator.below(2))
        value.strides.push_back(mutator.number(4));
      else if (!value.strides.empty())
        value.strides.pop_back();
    });
  }
  void operand(const char *, TileOperand &value) {
    address("", value.address);
    number(value.rowStride);
    number(value.colStride);
    enumeration("", value.type, DType::F32);
  }
  void operands(std::array<TileOperand, 3> &value) {
    for (TileOperand &tile : value)
      operand("", tile);
  }

private:
  void number(int64_t &value) {
    changes.emplace_back([this, &value] { value = mutator.number(value); });
  }

  ProgramMutator &mutator;
};

} // namespace

int64_t ProgramMutator::number(int64_t value) {
  auto bits = static_cast<uint64_t>(value);
  switch (below(8)) {
  case 0:
    return static_cast<int64_t>(bits + 1);
  case 1:
    return static_cast<int64_t>(bits - 1);
  case 2:
    return static_cast<int64_t>(bits * 2);
  case 3:
    return value / 2;
  case 4:
    return static_cast<int64_t>(below(16));
  case 5:
    return static_cast<int64_t>(bits + 4 * (below(33) - 16));
  case 6:
    return static_cast<int64_t>(uint64_t(1) << below(64));
  default:
    return static_cast<int64_t>(below(4) ? 0 - bits : engine());
  }
}

void ProgramMutator::mutateField(Instruction &instruction) {
  FieldChanges fields(*this);
  std::visit([&](auto &i) { Fields<std::decay_t<decltype(i)>>::visit(fields, i); }, instruction);
  if (!fields.changes.empty())
    fields.changes[below(fields.changes.size())]();
}

void ProgramMutator::moveInstructions(Stream &stream) {
  std::vector<Instruction> &list = stream.instructions;
  size_t at = below(list.size());
  switch (below(4)) {
  case 0:
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
    // Labels must be at existing instructions, or at the end.
    for (auto &start : stream.labelStarts)
      start.first = std::min(start.first, static_cast<int64_t>(list.size()));
    break;
  case 1: {
    Instruction copy = list[at];
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(below(list.size() + 1)),
                std::move(copy));
    break;
  }
  case 2:
    std::swap(list[at], list[below(list.size())]);
    break;
  default:
    std::swap(list[at], list[std::min(at + 1, list.size() - 1)]);
  }
}

void ProgramMutator::mutate(Program &program) {
  if (program.streams.empty())
    return;
  Stream &stream = program.streams[below(program.streams.size())];
  if (below(16) == 0) {
    int64_t *sizes[] = {&program.semaphores, &program.barriers, &program.l1Bytes,
                        &program.l2Bytes,    &program.l3Bytes,  &program.hostBytes,
                        &program.tableSize,  &stream.first,     &stream.count};
    int64_t &size = *sizes[below(std::size(sizes))];
    size = number(size);
  } else if (!stream.instructions.empty()) {
    if (below(4) == 0)
      moveInstructions(stream);
    else
      mutateField(stream.instructions[below(stream.instructions.size())]);
  }
}

} // namespace st::dtu
