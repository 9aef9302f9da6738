// docs/dtu-isa.md names every instruction with its opcode and fields, and every
// enumeration in its order.
#include "backends/dtu/isa/Fields.h"
#include "backends/dtu/isa/Names.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace st::dtu {
namespace {

std::string document() {
  std::ifstream file(ST_SOURCE_DIR "/docs/dtu-isa.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Collects the names of an instruction's fields.
struct FieldNames {
  std::vector<std::string> names;
  template <typename... T> void add(const char *key, T &&...) { names.push_back(key); }
  template <typename... T> void reg(T &&...args) { add(args...); }
  template <typename... T> void integer(T &&...args) { add(args...); }
  template <typename... T> void flag(T &&...args) { add(args...); }
  template <typename... T> void bits(T &&...args) { add(args...); }
  template <typename... T> void enumeration(T &&...args) { add(args...); }
  template <typename... T> void affine(T &&...args) { add(args...); }
  template <typename... T> void address(T &&...args) { add(args...); }
  template <typename... T> void extent(T &&...args) { add(args...); }
  template <typename... T> void view(T &&...args) { add(args...); }
  template <typename... T> void sizes(T &&...args) { add(args...); }
  template <typename... T> void operand(T &&...args) { add(args...); }
  void operands(const std::array<TileOperand, 3> &) {
    for (const char *key : {"a", "b", "c"})
      names.push_back(key);
  }
};

TEST(Document, EveryInstructionHasItsOpcodeAndFields) {
  std::string text = document();
  ASSERT_FALSE(text.empty());
  for (size_t opcode = 0; opcode < std::variant_size_v<Instruction>; ++opcode) {
    Instruction instruction;
    ASSERT_TRUE(makeInstruction(opcode, instruction));
    std::string heading = absl::StrCat("**", mnemonic(instruction), "** [", opcode, "]");
    size_t at = text.find(heading);
    ASSERT_NE(at, std::string::npos) << heading;
    // The fields follow in code quotes, in order.
    FieldNames fields;
    std::visit([&](const auto &i) { Fields<std::decay_t<decltype(i)>>::visit(fields, i); },
               instruction);
    std::string expected;
    for (const std::string &name : fields.names)
      absl::StrAppend(&expected, expected.empty() ? "" : " ", name);
    if (!expected.empty()) {
      EXPECT_EQ(text.substr(at + heading.size(), expected.size() + 3), " `" + expected + "`");
    }
  }
}

template <typename Enum> void expectOrder(const std::string &text) {
  size_t at = 0;
  for (unsigned i = 0; i < enumCount<Enum>(); ++i) {
    std::string word(name(static_cast<Enum>(i)));
    size_t found = at;
    auto isWordAt = [&](size_t p) {
      auto isLetter = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
      };
      return (p == 0 || !isLetter(text[p - 1])) && !isLetter(text[p + word.size()]);
    };
    while ((found = text.find(word, found)) != std::string::npos && !isWordAt(found))
      ++found;
    ASSERT_NE(found, std::string::npos) << word << " is missing or out of order";
    at = found + word.size();
  }
}

TEST(Document, EnumerationsAreInOrder) {
  std::string text = document();
  expectOrder<DType>(text.substr(text.find("### Types")));
  expectOrder<VectorOp>(text.substr(text.find("| `copy` | converts")));
  expectOrder<Engine>(text.substr(text.find("engines core")));
  expectOrder<Space>(text.substr(text.find("spaces L1")));
  expectOrder<Reduce>(text.substr(text.find("`reduce` is")));
}

} // namespace
} // namespace st::dtu
