// The assembler. A line is a word and key=value fields, separated by blanks; a
// '#' outside quotes begins a comment.
#include "backends/dtu/isa/Fields.h"
#include "backends/dtu/isa/Names.h"
#include "backends/dtu/isa/Text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <map>

namespace st::dtu {
namespace {

/// Reads the value grammars of Printer.cpp from one string; keeps the first failure.
class ValueReader {
public:
  explicit ValueReader(absl::string_view text) : rest(text) {}

  bool ok = true;
  absl::string_view rest;

  bool take(absl::string_view token) {
    if (rest.substr(0, token.size()) != token)
      return false;
    rest.remove_prefix(token.size());
    return true;
  }
  void expect(absl::string_view token) { ok = take(token) && ok; }

  int64_t integer() {
    size_t length = !rest.empty() && (rest[0] == '-' || rest[0] == '+') ? 1 : 0;
    while (length < rest.size() && absl::ascii_isdigit(rest[length]))
      ++length;
    int64_t value = 0;
    ok = absl::SimpleAtoi(rest.substr(0, length), &value) && ok;
    rest.remove_prefix(length);
    return value;
  }
  uint8_t reg() {
    expect("r");
    int64_t value = integer();
    ok = ok && value >= 0 && value < kNumRegisters;
    return static_cast<uint8_t>(value);
  }
  template <typename Enum> Enum enumeration() {
    size_t length = 0;
    while (length < rest.size() && (absl::ascii_isalnum(rest[length]) || rest[length] == '_'))
      ++length;
    std::optional<Enum> value = fromName<Enum>(rest.substr(0, length));
    rest.remove_prefix(length);
    ok = ok && value;
    return value.value_or(Enum());
  }
  Affine affine() {
    Affine value;
    bool first = true;
    do {
      int64_t number = integer();
      if (take("*")) {
        uint8_t r = reg();
        value.terms.push_back({r, number});
      } else {
        // The constant comes first, and only once.
        ok = ok && first;
        value.constant = number;
      }
      first = false;
      ok = ok && value.terms.size() <= Affine::kMaxTerms;
    } while (ok && !rest.empty() && (rest[0] == '+' || rest[0] == '-'));
    return value;
  }
  Address address() {
    Address value;
    value.space = enumeration<Space>();
    expect("[");
    value.offset = affine();
    if (take(";"))
      value.core = affine();
    expect("]");
    return value;
  }
  View view() {
    View value;
    value.address = address();
    expect("{");
    while (ok && !take("}")) {
      if (!value.strides.empty())
        expect(",");
      value.strides.push_back(integer());
      ok = ok && value.strides.size() <= kMaxCopyDims;
    }
    return value;
  }
  Extent extent() {
    Extent value;
    bool ragged = take("min(");
    value.tile = integer();
    if (!ragged)
      return value;
    expect(",");
    value.limit = integer();
    expect("-");
    value.reg = reg();
    expect(")");
    return value;
  }
  std::vector<Extent> sizes() {
    std::vector<Extent> value;
    expect("[");
    while (ok && !take("]")) {
      if (!value.empty())
        expect(",");
      value.push_back(extent());
      ok = ok && value.size() <= kMaxCopyDims;
    }
    return value;
  }
  TileOperand operand() {
    TileOperand value;
    value.type = enumeration<DType>();
    expect(":");
    value.address = address();
    expect("{");
    value.rowStride = integer();
    expect(",");
    value.colStride = integer();
    expect("}");
    return value;
  }
};

/// The key=value fields of a line; each may be taken once.
class FieldParser {
public:
  std::map<absl::string_view, absl::string_view> fields;
  std::string error;

  template <typename Read> void field(const char *key, Read read) {
    auto it = fields.find(key);
    if (it == fields.end())
      return;
    ValueReader reader(it->second);
    read(reader);
    if ((!reader.ok || !reader.rest.empty()) && error.empty())
      error = absl::StrCat("cannot read ", key, "=", it->second);
    fields.erase(it);
  }

  void reg(const char *key, uint8_t &value) {
    value = kZero;
    field(key, [&](ValueReader &r) { value = r.reg(); });
  }
  void integer(const char *key, int64_t &value, int64_t standard) {
    value = standard;
    field(key, [&](ValueReader &r) { value = r.integer(); });
  }
  void flag(const char *key, bool &value) {
    field(key, [&](ValueReader &r) {
      value = r.take("true");
      r.ok = value;
    });
  }
  void bits(const char *key, uint64_t &value) {
    field(key, [&](ValueReader &r) {
      r.ok = absl::SimpleHexAtoi(r.rest, &value) && r.take("0x");
      r.rest = "";
    });
  }
  template <typename Enum> void enumeration(const char *key, Enum &value, Enum standard) {
    value = standard;
    field(key, [&](ValueReader &r) { value = r.enumeration<Enum>(); });
  }
  void affine(const char *key, Affine &value) {
    field(key, [&](ValueReader &r) { value = r.affine(); });
  }
  void address(const char *key, Address &value) {
    field(key, [&](ValueReader &r) { value = r.address(); });
  }
  void view(const char *key, View &value) {
    field(key, [&](ValueReader &r) { value = r.view(); });
  }
  void extent(const char *key, Extent &value) {
    field(key, [&](ValueReader &r) { value = r.extent(); });
  }
  void sizes(const char *key, std::vector<Extent> &value) {
    field(key, [&](ValueReader &r) { value = r.sizes(); });
  }
  void operand(const char *key, TileOperand &value) {
    field(key, [&](ValueReader &r) { value = r.operand(); });
  }
  void operands(std::array<TileOperand, 3> &value) {
    constexpr const char *keys[] = {"a", "b", "c"};
    for (size_t i = 0; i < value.size(); ++i)
      operand(keys[i], value[i]);
  }

  /// Remaining fields are unknown.
  std::string finish(absl::string_view word) {
    if (error.empty() && !fields.empty())
      error = absl::StrCat("'", word, "' has no field '", fields.begin()->first, "'");
    return error;
  }
};

template <size_t N = 0> bool makeByMnemonic(absl::string_view word, Instruction &out) {
  if constexpr (N < std::variant_size_v<Instruction>) {
    if (word == Fields<std::variant_alternative_t<N, Instruction>>::mnemonic)
      return makeInstruction(N, out);
    return makeByMnemonic<N + 1>(word, out);
  } else {
    return false;
  }
}

/// Takes a quoted string from the front of `rest`.
bool takeQuoted(absl::string_view &rest, std::string &out) {
  if (rest.empty() || rest[0] != '"')
    return false;
  size_t end = 1;
  while (end < rest.size() && rest[end] != '"')
    end += rest[end] == '\\' ? 2 : 1;
  if (end >= rest.size() || !absl::CUnescape(rest.substr(1, end - 1), &out))
    return false;
  rest = absl::StripLeadingAsciiWhitespace(rest.substr(end + 1));
  return true;
}

class ProgramParser {
public:
  absl::StatusOr<Program> parse(absl::string_view text) {
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      ++lineNumber;
      if (std::string error = parseLine(line); !error.empty())
        return absl::InvalidArgumentError(absl::StrCat("line ", lineNumber, ": ", error));
    }
    if (state != State::Done)
      return absl::InvalidArgumentError("the program does not end with '}'");
    return std::move(program);
  }

private:
  enum class State { Start, Program, Stream, Done };

  std::string parseLine(absl::string_view line) {
    absl::string_view rest = absl::StripAsciiWhitespace(line);
    if (rest.empty() || rest[0] == '#')
      return "";
    size_t end = rest.find(' ');
    absl::string_view word = rest.substr(0, end);
    rest = end == rest.npos ? "" : absl::StripLeadingAsciiWhitespace(rest.substr(end));
    switch (state) {
    case State::Start:
      return parseHeader(word, rest);
    case State::Program:
      return parseStreamHeader(word, rest);
    case State::Stream:
      return parseInstruction(word, rest);
    case State::Done:
      return "text after the program";
    }
    return "";
  }

  /// Splits key=value fields; a trailing '{' is required if `opens`.
  std::string split(absl::string_view rest, bool opens, FieldParser &out) {
    bool opened = false;
    for (absl::string_view token : absl::StrSplit(rest, ' ', absl::SkipEmpty())) {
      if (token[0] == '#')
        break;
      if (opened)
        return "text after '{'";
      if (opens && token == "{") {
        opened = true;
        continue;
      }
      size_t equals = token.find('=');
      if (equals == token.npos)
        return absl::StrCat("expected key=value, not '", token, "'");
      if (!out.fields.emplace(token.substr(0, equals), token.substr(equals + 1)).second)
        return absl::StrCat("field '", token.substr(0, equals), "' appears twice");
    }
    return opens && !opened ? "expected '{'" : "";
  }

  std::string parseHeader(absl::string_view word, absl::string_view rest) {
    if (word != "program" || !takeQuoted(rest, program.name))
      return "expected: program \"name\" key=value ... {";
    FieldParser fields;
    if (std::string error = split(rest, true, fields); !error.empty())
      return error;
    fields.integer("semaphores", program.semaphores, 0);
    fields.integer("barriers", program.barriers, 0);
    fields.integer("l1", program.l1Bytes, 0);
    fields.integer("l2", program.l2Bytes, 0);
    fields.integer("l3", program.l3Bytes, 0);
    fields.integer("host", program.hostBytes, 0);
    fields.integer("table", program.tableSize, 0);
    state = State::Program;
    return fields.finish(word);
  }

  std::string parseStreamHeader(absl::string_view word, absl::string_view rest) {
    if (word == "}") {
      state = State::Done;
      return rest.empty() || rest[0] == '#' ? "" : "text after '}'";
    }
    if (word != "stream")
      return absl::StrCat("expected 'stream' or '}', not '", word, "'");
    size_t end = rest.find(' ');
    std::optional<Engine> engine = fromName<Engine>(rest.substr(0, end));
    if (!engine)
      return absl::StrCat("unknown engine '", rest.substr(0, end), "'");
    FieldParser fields;
    rest = end == rest.npos ? "" : rest.substr(end);
    if (std::string error = split(rest, true, fields); !error.empty())
      return error;
    Stream &stream = program.streams.emplace_back();
    stream.engine = *engine;
    fields.integer("first", stream.first, 0);
    fields.integer("count", stream.count, 1);
    state = State::Stream;
    return fields.finish(word);
  }

  std::string parseInstruction(absl::string_view word, absl::string_view rest) {
    Stream &stream = program.streams.back();
    if (word == "}") {
      state = State::Program;
      return rest.empty() || rest[0] == '#' ? "" : "text after '}'";
    }
    if (word == "name") {
      std::string text;
      if (!takeQuoted(rest, text))
        return "expected: name \"text\"";
      stream.labels.push_back(text);
      return "";
    }
    if (word == "label") {
      int64_t label = -1;
      if (!absl::SimpleAtoi(rest, &label) || label < 0 ||
          label >= static_cast<int64_t>(stream.labels.size()))
        return absl::StrCat("no label '", rest, "'");
      stream.labelStarts.emplace_back(stream.instructions.size(), label);
      return "";
    }
    Instruction instruction;
    if (!makeByMnemonic(word, instruction))
      return absl::StrCat("unknown instruction '", word, "'");
    FieldParser fields;
    if (std::string error = split(rest, false, fields); !error.empty())
      return error;
    std::visit([&](auto &i) { Fields<std::decay_t<decltype(i)>>::visit(fields, i); }, instruction);
    stream.instructions.push_back(std::move(instruction));
    return fields.finish(word);
  }

  Program program;
  State state = State::Start;
  int lineNumber = 0;
};

} // namespace

absl::StatusOr<Program> parseProgram(absl::string_view text) { return ProgramParser().parse(text); }

} // namespace st::dtu
