// The disassembler: one instruction per line, fields as key=value in the order of Fields.h, without
// those that have their default.
#include "backends/dtu/isa/Fields.h"
#include "backends/dtu/isa/Names.h"
#include "backends/dtu/isa/Text.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace st::dtu {
namespace {

std::string quote(const std::string &text) { return absl::StrCat("\"", absl::CEscape(text), "\""); }

std::string str(const Affine &value) {
  std::string out;
  if (value.constant || value.terms.empty())
    absl::StrAppend(&out, value.constant);
  for (const Affine::Term &term : value.terms) {
    if (!out.empty() && term.coefficient >= 0)
      out += '+';
    absl::StrAppend(&out, term.coefficient, "*r", static_cast<int>(term.reg));
  }
  return out;
}

std::string str(const Address &value) {
  std::string core = value.core == Affine() ? "" : absl::StrCat(";", str(value.core));
  return absl::StrCat(name(value.space), "[", str(value.offset), core, "]");
}

std::string str(const View &value) {
  return absl::StrCat(str(value.address), "{", absl::StrJoin(value.strides, ","), "}");
}

std::string str(const Extent &value) {
  if (value.reg == kZero && value.limit == 0)
    return absl::StrCat(value.tile);
  return absl::StrCat("min(", value.tile, ",", value.limit, "-r", static_cast<int>(value.reg), ")");
}

std::string str(const TileOperand &value) {
  return absl::StrCat(name(value.type), ":", str(value.address), "{", value.rowStride, ",",
                      value.colStride, "}");
}

class FieldPrinter {
public:
  std::string out;

  void put(const char *key, absl::string_view value) {
    absl::StrAppend(&out, " ", key, "=", value);
  }

  void reg(const char *key, uint8_t value) {
    if (value != kZero)
      put(key, absl::StrCat("r", static_cast<int>(value)));
  }
  void integer(const char *key, int64_t value, int64_t standard) {
    if (value != standard)
      put(key, absl::StrCat(value));
  }
  void flag(const char *key, bool value) {
    if (value)
      put(key, "true");
  }
  void bits(const char *key, uint64_t value) {
    if (value)
      put(key, absl::StrCat("0x", absl::Hex(value)));
  }
  template <typename Enum> void enumeration(const char *key, Enum value, Enum standard) {
    if (value != standard)
      put(key, name(value));
  }
  void affine(const char *key, const Affine &value) {
    if (!(value == Affine()))
      put(key, str(value));
  }
  void address(const char *key, const Address &value) { put(key, str(value)); }
  void view(const char *key, const View &value) { put(key, str(value)); }
  void extent(const char *key, const Extent &value) { put(key, str(value)); }
  void sizes(const char *key, const std::vector<Extent> &value) {
    put(key, absl::StrCat("[",
                          absl::StrJoin(
                              value, ",",
                              [](std::string *out, const Extent &size) { out->append(str(size)); }),
                          "]"));
  }
  void operand(const char *key, const TileOperand &value) { put(key, str(value)); }
  void operands(const std::array<TileOperand, 3> &value) {
    constexpr const char *keys[] = {"a", "b", "c"};
    for (size_t i = 0; i < value.size(); ++i)
      if (!(value[i] == TileOperand()))
        operand(keys[i], value[i]);
  }
};

void printStream(std::string &out, const Stream &stream) {
  absl::StrAppend(&out, "  stream ", name(stream.engine), " first=", stream.first,
                  " count=", stream.count, " {\n");
  for (const std::string &label : stream.labels)
    absl::StrAppend(&out, "    name ", quote(label), "\n");
  auto start = stream.labelStarts.begin();
  unsigned depth = 2;
  for (size_t i = 0; i <= stream.instructions.size(); ++i) {
    for (; start != stream.labelStarts.end() && start->first == static_cast<int64_t>(i); ++start)
      absl::StrAppend(&out, "    label ", start->second, "\n");
    if (i == stream.instructions.size())
      break;
    const Instruction &instruction = stream.instructions[i];
    if (std::holds_alternative<EndLoop>(instruction) && depth > 2)
      --depth;
    absl::StrAppend(&out, std::string(2 * depth, ' '), printInstruction(instruction), "\n");
    if (std::holds_alternative<Loop>(instruction))
      ++depth;
  }
  out += "  }\n";
}

} // namespace

std::string printInstruction(const Instruction &instruction) {
  FieldPrinter printer;
  std::visit([&](const auto &i) { Fields<std::decay_t<decltype(i)>>::visit(printer, i); },
             instruction);
  return absl::StrCat(mnemonic(instruction), printer.out);
}

std::string printProgram(const Program &program) {
  std::string out = absl::StrCat(
      "program ", quote(program.name), " semaphores=", program.semaphores,
      " barriers=", program.barriers, " l1=", program.l1Bytes, " l2=", program.l2Bytes,
      " l3=", program.l3Bytes, " host=", program.hostBytes, " table=", program.tableSize, " {\n");
  for (const Stream &stream : program.streams)
    printStream(out, stream);
  out += "}\n";
  return out;
}

} // namespace st::dtu
