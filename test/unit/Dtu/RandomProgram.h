// Random instructions and programs, made through the field visitors, so that new fields are
// covered.
#pragma once

#include "backends/dtu/isa/Fields.h"
#include "backends/dtu/isa/Names.h"

#include <random>

namespace st::dtu {

class RandomFiller {
public:
  explicit RandomFiller(uint64_t seed) : engine(seed) {}

  uint64_t below(uint64_t n) { return engine() % n; }
  int64_t number() {
    // Small, medium and extreme values alike.
    uint64_t bits = engine() >> below(64);
    return static_cast<int64_t>(below(2) ? bits : ~bits + 1);
  }

  void reg(const char *, uint8_t &value) { value = static_cast<uint8_t>(below(kNumRegisters)); }
  void integer(const char *, int64_t &value, int64_t standard) {
    value = below(3) ? number() : standard;
  }
  void flag(const char *, bool &value) { value = below(2); }
  void bits(const char *, uint64_t &value) { value = below(3) ? engine() >> below(64) : 0; }
  template <typename Enum> void enumeration(const char *, Enum &value, Enum) {
    value = static_cast<Enum>(below(enumCount<Enum>()));
  }
  void affine(const char *, Affine &value) {
    value.constant = below(3) ? number() : 0;
    value.terms.resize(below(Affine::kMaxTerms + 1));
    for (Affine::Term &term : value.terms) {
      reg("", term.reg);
      term.coefficient = number();
    }
  }
  void address(const char *, Address &value) {
    enumeration("", value.space, Space::L3);
    affine("", value.offset);
    if (below(2))
      affine("", value.core);
  }
  void view(const char *, View &value) {
    address("", value.address);
    value.strides.resize(below(kMaxCopyDims + 1));
    for (int64_t &stride : value.strides)
      stride = number();
  }
  void extent(const char *, Extent &value) {
    value.tile = number();
    if (below(2)) {
      reg("", value.reg);
      value.limit = number();
    }
  }
  void sizes(const char *, std::vector<Extent> &value) {
    value.resize(below(kMaxCopyDims + 1));
    for (Extent &size : value)
      extent("", size);
  }
  void operand(const char *, TileOperand &value) {
    address("", value.address);
    value.rowStride = number();
    value.colStride = number();
    enumeration("", value.type, DType::F32);
  }
  void operands(std::array<TileOperand, 3> &value) {
    for (TileOperand &tile : value)
      if (below(2))
        operand("", tile);
  }

  Instruction instruction() {
    Instruction result;
    makeInstruction(below(std::variant_size_v<Instruction>), result);
    std::visit([&](auto &i) { Fields<std::decay_t<decltype(i)>>::visit(*this, i); }, result);
    return result;
  }
  std::string text() {
    std::string result;
    for (uint64_t i = below(12); i > 0; --i)
      result.push_back(static_cast<char>(below(256)));
    return result;
  }
  Program program() {
    Program result;
    result.name = text();
    for (int64_t *value : {&result.semaphores, &result.barriers, &result.l1Bytes, &result.l2Bytes,
                           &result.l3Bytes, &result.hostBytes, &result.tableSize})
      *value = number();
    result.streams.resize(below(4));
    for (Stream &stream : result.streams) {
      enumeration("", stream.engine, Engine::Core);
      stream.first = number();
      stream.count = number();
      for (uint64_t i = below(12); i > 0; --i)
        stream.instructions.push_back(instruction());
      for (uint64_t i = below(3); i > 0; --i)
        stream.labels.push_back(text());
      for (size_t i = 0; i <= stream.instructions.size() && !stream.labels.empty(); ++i)
        if (below(3) == 0)
          stream.labelStarts.emplace_back(i, below(stream.labels.size()));
    }
    return result;
  }

private:
  std::mt19937_64 engine;
};

} // namespace st::dtu
