// Binary form: little-endian base-128 varints, signed ones in zigzag, fields in
// the order of Fields.h.
#include "backends/dtu/isa/Binary.h"

#include "backends/dtu/isa/Fields.h"
#include "backends/dtu/isa/Names.h"

#include "absl/strings/str_cat.h"

#include <limits>

namespace st::dtu {
namespace {

constexpr absl::string_view kMagic = "DTUP";
constexpr uint64_t kVersion = 2;
// A one-byte instruction takes about a hundred bytes in memory. These limits bound the memory that
// a malicious input can request.
constexpr uint64_t kMaxInstructions = 1 << 20;
constexpr uint64_t kMaxStreams = 1 << 12;

// An address begins with its space and a flag that is set if a core expression follows.
constexpr uint8_t kHasCore = 4;

class Encoder {
public:
  std::string out;

  void raw(uint64_t value) {
    while (value >= 128) {
      out.push_back(static_cast<char>(value | 128));
      value >>= 7;
    }
    out.push_back(static_cast<char>(value));
  }
  void number(int64_t value) {
    raw((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }
  void text(const std::string &value) {
    raw(value.size());
    out += value;
  }

  void reg(const char *, uint8_t value) { out.push_back(static_cast<char>(value)); }
  void integer(const char *, int64_t value, int64_t) { number(value); }
  void flag(const char *, bool value) { out.push_back(value ? 1 : 0); }
  void bits(const char *, uint64_t value) { raw(value); }
  template <typename Enum> void enumeration(const char *, Enum value, Enum) {
    out.push_back(static_cast<char>(value));
  }
  void affine(const char *, const Affine &value) {
    raw(value.terms.size());
    number(value.constant);
    for (const Affine::Term &term : value.terms) {
      reg("", term.reg);
      number(term.coefficient);
    }
  }
  void address(const char *, const Address &value) {
    bool hasCore = !(value.core == Affine());
    out.push_back(static_cast<char>(static_cast<uint8_t>(value.space) | (hasCore ? kHasCore : 0)));
    affine("", value.offset);
    if (hasCore)
      affine("", value.core);
  }
  void view(const char *, const View &value) {
    address("", value.address);
    raw(value.strides.size());
    for (int64_t stride : value.strides)
      number(stride);
  }
  void extent(const char *, const Extent &value) {
    number(value.tile);
    reg("", value.reg);
    // A limit without a register has no meaning, but a round trip must preserve it.
    number(value.limit);
  }
  void sizes(const char *, const std::vector<Extent> &value) {
    raw(value.size());
    for (const Extent &size : value)
      extent("", size);
  }
  void operand(const char *, const TileOperand &value) {
    address("", value.address);
    number(value.rowStride);
    number(value.colStride);
    enumeration("", value.type, DType::F32);
  }
  void operands(const std::array<TileOperand, 3> &value) {
    size_t used = value.size();
    while (used && value[used - 1] == TileOperand())
      --used;
    raw(used);
    for (size_t i = 0; i < used; ++i)
      operand("", value[i]);
  }
};

class Decoder {
public:
  explicit Decoder(absl::string_view bytes) : bytes(bytes) {}

  absl::Status status;
  absl::string_view bytes;
  size_t position = 0;

  void fail(absl::string_view what) {
    if (status.ok())
      status = absl::InvalidArgumentError(
          absl::StrCat("malformed DTU program at byte ", position, ": ", what));
  }
  uint8_t byte() {
    if (position >= bytes.size()) {
      fail("truncated");
      return 0;
    }
    return static_cast<uint8_t>(bytes[position++]);
  }
  uint64_t raw() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      uint8_t b = byte();
      if (shift == 63 && b > 1)
        break;
      value |= static_cast<uint64_t>(b & 127) << shift;
      if (b < 128) {
        // Each value has exactly one encoding.
        if (b == 0 && shift)
          fail("overlong number");
        return value;
      }
    }
    fail("number too large");
    return 0;
  }
  int64_t number() {
    uint64_t value = raw();
    return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
  }
  /// A count of items that take at least one byte each.
  uint64_t count(uint64_t limit, absl::string_view what) {
    uint64_t value = raw();
    if (status.ok() && (value > limit || value > bytes.size() - position)) {
      fail(absl::StrCat("too many ", what, " (", value, ")"));
      return 0;
    }
    return status.ok() ? value : 0;
  }
  std::string text() {
    uint64_t size = count(std::numeric_limits<uint32_t>::max(), "characters");
    std::string result(bytes.substr(position, size));
    position += size;
    return result;
  }

  void reg(const char *, uint8_t &value) {
    value = byte();
    if (value >= kNumRegisters)
      fail(absl::StrCat("no register ", value));
  }
  void integer(const char *, int64_t &value, int64_t) { value = number(); }
  void flag(const char *, bool &value) {
    uint8_t b = byte();
    if (b > 1)
      fail("flag is neither 0 nor 1");
    value = b == 1;
  }
  void bits(const char *, uint64_t &value) { value = raw(); }
  template <typename Enum> void enumeration(const char *, Enum &value, Enum) {
    uint8_t b = byte();
    if (b >= enumCount<Enum>()) {
      fail(absl::StrCat("enumeration value ", b, " out of range"));
      b = 0;
    }
    value = static_cast<Enum>(b);
  }
  void affine(const char *, Affine &value) {
    uint64_t terms = count(Affine::kMaxTerms, "terms");
    value.constant = number();
    value.terms.resize(terms);
    for (Affine::Term &term : value.terms) {
      reg("", term.reg);
      term.coefficient = number();
    }
  }
  void address(const char *, Address &value) {
    uint8_t tag = byte();
    if ((tag & ~kHasCore) >= kNumSpaces) {
      fail(absl::StrCat("address tag ", tag, " out of range"));
      return;
    }
    value.space = static_cast<Space>(tag & ~kHasCore);
    affine("", value.offset);
    if (tag & kHasCore) {
      affine("", value.core);
      if (value.core == Affine())
        fail("core expression is zero and should be absent");
    }
  }
  void view(const char *, View &value) {
    address("", value.address);
    value.strides.resize(count(kMaxCopyDims, "strides"));
    for (int64_t &stride : value.strides)
      stride = number();
  }
  void extent(const char *, Extent &value) {
    value.tile = number();
    reg("", value.reg);
    value.limit = number();
  }
  void sizes(const char *, std::vector<Extent> &value) {
    value.resize(count(kMaxCopyDims, "dimensions"));
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
    uint64_t used = count(value.size(), "operands");
    for (uint64_t i = 0; i < used; ++i)
      operand("", value[i]);
    if (used && value[used - 1] == TileOperand())
      fail("trailing operand is absent");
  }
};

void encodeStream(Encoder &e, const Stream &stream) {
  e.enumeration("", stream.engine, Engine::Core);
  e.number(stream.first);
  e.number(stream.count);
  e.raw(stream.labels.size());
  for (const std::string &label : stream.labels)
    e.text(label);
  e.raw(stream.labelStarts.size());
  for (auto [instruction, label] : stream.labelStarts) {
    e.raw(static_cast<uint64_t>(instruction));
    e.raw(static_cast<uint64_t>(label));
  }
  e.raw(stream.instructions.size());
  for (const Instruction &instruction : stream.instructions) {
    e.out.push_back(static_cast<char>(instruction.index()));
    std::visit([&](const auto &i) { Fields<std::decay_t<decltype(i)>>::visit(e, i); }, instruction);
  }
}

void decodeLabels(Decoder &d, Stream &stream) {
  uint64_t labels = d.count(kMaxInstructions, "labels");
  for (uint64_t i = 0; i < labels && d.status.ok(); ++i)
    stream.labels.push_back(d.text());
  uint64_t starts = d.count(kMaxInstructions, "label starts");
  for (uint64_t i = 0; i < starts && d.status.ok(); ++i) {
    uint64_t instruction = d.raw(), label = d.raw();
    uint64_t previous = i ? static_cast<uint64_t>(stream.labelStarts.back().first) : 0;
    if (label >= labels || instruction < previous || instruction > kMaxInstructions)
      d.fail("label start out of range");
    stream.labelStarts.emplace_back(instruction, label);
  }
}

void decodeStream(Decoder &d, Stream &stream, uint64_t &instructionsLeft) {
  d.enumeration("", stream.engine, Engine::Core);
  stream.first = d.number();
  stream.count = d.number();
  decodeLabels(d, stream);
  uint64_t instructions = d.count(instructionsLeft, "instructions");
  instructionsLeft -= instructions;
  if (!stream.labelStarts.empty() &&
      static_cast<uint64_t>(stream.labelStarts.back().first) > instructions)
    d.fail("label start past the last instruction");
  stream.instructions.reserve(instructions);
  for (uint64_t i = 0; i < instructions && d.status.ok(); ++i) {
    Instruction &instruction = stream.instructions.emplace_back();
    if (!makeInstruction(d.byte(), instruction)) {
      d.fail("unknown opcode");
      return;
    }
    std::visit([&](auto &value) { Fields<std::decay_t<decltype(value)>>::visit(d, value); },
               instruction);
  }
}

} // namespace

std::string encode(const Program &program) {
  Encoder e;
  e.out = std::string(kMagic);
  e.raw(kVersion);
  e.text(program.name);
  for (int64_t value : {program.semaphores, program.barriers, program.l1Bytes, program.l2Bytes,
                        program.l3Bytes, program.hostBytes, program.tableSize})
    e.number(value);
  e.raw(program.streams.size());
  for (const Stream &stream : program.streams)
    encodeStream(e, stream);
  return std::move(e.out);
}

absl::StatusOr<Program> decode(absl::string_view bytes) {
  Decoder d(bytes);
  if (bytes.substr(0, kMagic.size()) != kMagic)
    return absl::InvalidArgumentError("not a DTU program: it does not begin with DTUP");
  d.position = kMagic.size();
  if (uint64_t version = d.raw(); version != kVersion)
    return absl::InvalidArgumentError(
        absl::StrCat("DTU program of version ", version, "; this build reads version ", kVersion));
  Program program;
  program.name = d.text();
  for (int64_t *value : {&program.semaphores, &program.barriers, &program.l1Bytes, &program.l2Bytes,
                         &program.l3Bytes, &program.hostBytes, &program.tableSize})
    *value = d.number();
  uint64_t streams = d.count(kMaxStreams, "streams");
  uint64_t instructionsLeft = kMaxInstructions;
  for (uint64_t i = 0; i < streams && d.status.ok(); ++i)
    decodeStream(d, program.streams.emplace_back(), instructionsLeft);
  if (d.status.ok() && d.position != bytes.size())
    d.fail("bytes after the end");
  if (!d.status.ok())
    return d.status;
  return program;
}

} // namespace st::dtu
