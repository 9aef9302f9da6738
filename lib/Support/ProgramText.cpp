#include "lib/Support/ProgramText.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace st {
namespace {

bool isWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isWordPart(char c) { return isWordStart(c) || isDigit(c) || c == '$' || c == '.'; }
bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

char closerOf(char open) {
  switch (open) {
  case '(':
    return ')';
  case '[':
    return ']';
  case '{':
    return '}';
  default:
    return '>';
  }
}

class NestingScanner {
public:
  explicit NestingScanner(std::string_view text) : text(text) {}

  std::optional<TextFault> run() {
    while (at < text.size() && !fault)
      step();
    return std::move(fault);
  }

private:
  /// An alias (`#map = ...`, `!type = ...`): the depth and the uses of aliases that it expands to.
  struct Alias {
    int depth = 0;
    size_t uses = 1;
  };

  bool startsWith(std::string_view token) const { return text.substr(at, token.size()) == token; }

  void refuse(std::string what) {
    if (!fault)
      fault = TextFault{at, std::move(what)};
  }

  void step();
  void skipString();
  void skipWord();
  void skipName();
  void readPunctuation();
  void open(char bracket);
  void close(char bracket);
  void countOperator();
  void readAlias();
  void endDefinition();
  void reach(int depth);

  std::string_view text;
  size_t at = 0;
  std::optional<TextFault> fault;
  std::vector<char> brackets;
  /// Operators since the last comma, equals sign or bracket, a number for each open bracket.
  std::vector<int> operators = {0};
  /// The last character that is no space or comment; '-' for an arrow.
  char previous = '\0';
  /// The last alias, if nothing follows it yet.
  std::string_view lastAlias;
  std::unordered_map<std::string_view, Alias> aliases;
  /// The alias whose definition is being read; its name is empty outside of one.
  std::string_view defined;
  Alias definition;
};

void NestingScanner::reach(int depth) {
  if (depth > kMaxProgramDepth)
    refuse("expected text that nests at most " + std::to_string(kMaxProgramDepth) + " deep");
  definition.depth = std::max(definition.depth, depth);
}

void NestingScanner::open(char bracket) {
  brackets.push_back(bracket);
  operators.push_back(0);
  reach(static_cast<int>(brackets.size()));
}

// A '<' or '>' may be an operator of some syntax: other brackets close over those left open.
void NestingScanner::close(char bracket) {
  size_t count = brackets.size();
  while (bracket != '>' && count > 0 && brackets[count - 1] == '<')
    --count;
  if (count == 0 || closerOf(brackets[count - 1]) != bracket)
    return;
  brackets.resize(count - 1);
  operators.resize(count);
}

void NestingScanner::countOperator() {
  if (++operators.back() > kMaxProgramOperators)
    refuse("expected an expression of at most " + std::to_string(kMaxProgramOperators) +
           " operators");
}

void NestingScanner::skipString() {
  // A string ends with its line at the latest.
  for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
    if (text[at] == '\\')
      ++at;
  ++at;
}

void NestingScanner::skipWord() {
  size_t start = at;
  while (at < text.size() && isWordPart(text[at]))
    ++at;
  std::string_view word = text.substr(start, at - start);
  if (word == "mod" || word == "floordiv" || word == "ceildiv")
    countOperator();
}

// The sigil of a value, symbol, block or alias, and its name.
void NestingScanner::skipName() {
  for (++at; at < text.size() && (isWordPart(text[at]) || text[at] == '-') && !startsWith("->");)
    ++at;
}

void NestingScanner::endDefinition() {
  if (!defined.empty())
    aliases[defined] = definition;
  defined = {};
}

void NestingScanner::readAlias() {
  size_t start = at;
  skipName();
  lastAlias = text.substr(start, at - start);
  auto alias = aliases.find(lastAlias);
  if (alias == aliases.end())
    return;
  reach(static_cast<int>(brackets.size()) + alias->second.depth + 1);
  definition.uses += alias->second.uses;
  if (!defined.empty() && definition.uses > kMaxAliasUses)
    refuse("expected an alias that uses at most " + std::to_string(kMaxAliasUses) +
           " others, directly or indirectly");
}

void NestingScanner::readPunctuation() {
  char c = text[at];
  if (startsWith("->"))
    ++at;
  else if (startsWith("<=") || startsWith(">=") || startsWith("=="))
    operators.back() = 0, ++at;
  else if (c == '(' || c == '[' || c == '{' || c == '<')
    open(c);
  else if (c == ')' || c == ']' || c == '}' || c == '>')
    close(c);
  else if (c == '-' || c == '+' || c == '*')
    countOperator();
  else if (c == ',' || c == '=')
    operators.back() = 0;
  if (c == '=' && brackets.empty() && !lastAlias.empty()) {
    endDefinition();
    defined = lastAlias;
    definition = {};
  }
  ++at;
}

void NestingScanner::step() {
  char c = text[at];
  if (isSpace(c)) {
    ++at;
    return;
  }
  if (startsWith("//")) {
    at = std::min(text.find('\n', at), text.size());
    return;
  }
  // A definition ends where an op begins.
  const bool isWord = isWordStart(c), isName = c == '%' || c == '@' || c == '^';
  if (brackets.empty() && (isWord || isName || c == '"') && previous != ':' && previous != '=' &&
      previous != '-')
    endDefinition();
  const bool isAlias = c == '#' || c == '!';
  if (isAlias)
    readAlias();
  else if (c == '"')
    skipString();
  else if (isWord)
    skipWord();
  else if (isName)
    skipName();
  else
    readPunctuation();
  if (!isAlias)
    lastAlias = {};
  previous = c;
}

} // namespace

std::optional<TextFault> findDeepNesting(std::string_view text) {
  return NestingScanner(text).run();
}

bool isBytecode(std::string_view bytes) { return bytes.substr(0, 4) == "ML\xEFR"; }

} // namespace st
