//===- CommandLine.cpp - Command lines in shell text ----------------------===//

#include "lib/Frontend/Megatron/CommandLine.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::st;

/// Maximum bytes of one assignment, and of the value of one variable: each may double the one
/// before it.
constexpr size_t maxAssignment = size_t(1) << 16;

static bool isNameChar(char c) { return llvm::isAlnum(c) || c == '_'; }

/// The length of `NAME=` or `NAME+=` at the start of a word; 0 if there is none.
static size_t assignmentLength(StringRef word) {
  size_t end = 0;
  while (end < word.size() && isNameChar(word[end]))
    ++end;
  if (end == 0 || llvm::isDigit(word[0]))
    return 0;
  if (word.substr(end).starts_with("="))
    return end + 1;
  return word.substr(end).starts_with("+=") ? end + 2 : 0;
}

static bool isExport(StringRef word) {
  return word == "export" || word == "declare" || word == "local" || word == "readonly";
}

static bool beginsAssignment(StringRef text) {
  text = text.ltrim(" \t");
  StringRef first = text.take_until([](char c) { return c == ' ' || c == '\t' || c == '\n'; });
  if (isExport(first))
    text = text.drop_front(first.size()).ltrim(" \t");
  return assignmentLength(text.take_front(256)) != 0;
}

/// The position after the quote that closes the one at `at`; npos if there is none.
static size_t skipQuotes(StringRef text, size_t at) {
  char quote = text[at++];
  for (; at < text.size(); ++at) {
    if (text[at] == quote)
      return at + 1;
    if (quote == '"' && text[at] == '\\')
      ++at;
  }
  return StringRef::npos;
}

/// The first newline from `at` on that no backslash precedes; the end of the text without one.
static size_t findLineEnd(StringRef text, size_t at) {
  for (size_t end = text.find('\n', at);; end = text.find('\n', end + 1)) {
    if (end == StringRef::npos)
      return text.size();
    if (!text.slice(at, end).rtrim('\r').ends_with("\\"))
      return end;
  }
}

size_t ShellReader::statementEnd(StringRef text, size_t start) {
  size_t lineEnd = std::min(findLineEnd(text, start) + 1, text.size());
  if (joinsNoLines || !beginsAssignment(text.substr(start)))
    return lineEnd;
  StringRef reach = text.take_front(std::min(text.size(), start + maxAssignment));
  int depth = 0;
  size_t at = start;
  while (at < reach.size()) {
    char c = reach[at];
    if (c == '\n' && depth <= 0)
      return at + 1;
    depth += (c == '(') - (c == ')');
    if (c == '\'' || c == '"')
      at = skipQuotes(reach, at);
    else if (c == '#' && at > start && llvm::isSpace(reach[at - 1]))
      at = std::min(reach.find('\n', at), reach.size());
    else
      at += c == '\\' ? 2 : 1;
  }
  // The last line may end without a newline.
  if (at != StringRef::npos && depth <= 0 && reach.size() == text.size())
    return text.size();
  joinsNoLines = true;
  return lineEnd;
}

namespace {
/// Splits one statement into words.
class WordSplitter {
public:
  using Variables = llvm::StringMap<std::vector<std::string>>;

  WordSplitter(StringRef text, unsigned line, const Variables &variables, size_t &budget)
      : text(text), line(line), variables(variables), budget(budget) {}

  std::vector<CommandWord> run() {
    while (at < text.size())
      step();
    finish();
    return std::move(words);
  }

private:
  void step();
  void stepQuoted();
  void expand(bool isQuoted);
  void expandVariable(StringRef name, StringRef reference, bool isQuoted);
  std::optional<int64_t> sum(StringRef &expression);
  std::optional<int64_t> product(StringRef &expression);
  std::optional<int64_t> factor(StringRef &expression);

  void append(StringRef piece) {
    word += piece;
    isOpen = true;
  }
  void finish() {
    if (isOpen)
      words.push_back({std::move(word), line});
    word.clear();
    isOpen = false;
  }

  StringRef text;
  unsigned line;
  const Variables &variables;
  /// Bytes that variables may still expand to.
  size_t &budget;
  size_t at = 0;
  std::vector<CommandWord> words;
  std::string word;
  bool isOpen = false;
  /// False if a bracket is not closed, so that the text is not a shell command.
  bool bracketsClose = true;
};
} // namespace

void WordSplitter::step() {
  char c = text[at];
  if (llvm::isSpace(c)) {
    finish();
    line += c == '\n';
    ++at;
  } else if (c == '\\') {
    StringRef next = text.substr(at + 1);
    at += 2;
    if (next.starts_with("\r\n"))
      ++at;
    if (next.starts_with("\n") || next.starts_with("\r\n")) {
      finish();
      ++line;
    } else {
      append(next.take_front(1));
    }
  } else if (c == '\'') {
    size_t end = std::min(text.find('\'', at + 1), text.size());
    append(text.slice(at + 1, end));
    line += text.slice(at, end).count('\n');
    at = end + 1;
  } else if (c == '"') {
    stepQuoted();
  } else if (c == '#' && !isOpen) {
    at = std::min(text.find('\n', at), text.size());
  } else if (c == '$') {
    expand(false);
  } else if (StringRef(";&|<>()").contains(c)) {
    // The number of a stream, as in "2>&1".
    if ((c == '<' || c == '>') && !word.empty() && llvm::all_of(word, llvm::isDigit)) {
      word.clear();
      isOpen = false;
    }
    finish();
    words.push_back({std::string(1, c), line, true});
    ++at;
  } else {
    append(text.substr(at++, 1));
  }
}

/// A part of a word between double quotes.
void WordSplitter::stepQuoted() {
  isOpen = true;
  ++at;
  while (at < text.size() && text[at] != '"') {
    char c = text[at];
    if (c == '\\' && at + 1 < text.size()) {
      StringRef next = text.substr(at + 1, 1);
      if (next == "\n")
        ++line;
      else
        append(StringRef("\"\\$`").contains(next) ? next : text.substr(at, 2));
      at += 2;
    } else if (c == '$') {
      expand(true);
    } else {
      line += c == '\n';
      append(text.substr(at++, 1));
    }
  }
  ++at;
}

/// The position of the bracket that closes the one at `at`; npos if none is near.
static size_t findClosing(StringRef text, size_t at) {
  constexpr size_t longest = 4096;
  text = text.take_front(at + longest);
  char open = text[at], close = open == '(' ? ')' : '}';
  int depth = 0;
  for (; at < text.size(); ++at) {
    depth += text[at] == open;
    depth -= text[at] == close;
    if (depth == 0)
      return at;
  }
  return StringRef::npos;
}

/// Expands the `$` at this place.
void WordSplitter::expand(bool isQuoted) {
  size_t start = at++;
  char next = at < text.size() ? text[at] : ' ';
  if (next == '(' || next == '{') {
    size_t end = bracketsClose ? findClosing(text, at) : StringRef::npos;
    if (end == StringRef::npos) {
      bracketsClose = false;
      return append("$");
    }
    StringRef inside = text.slice(at + 1, end);
    at = end + 1;
    StringRef reference = text.slice(start, at);
    if (next == '{')
      return expandVariable(inside, reference, isQuoted);
    StringRef expression = inside;
    if (expression.consume_front("(") && expression.consume_back(")"))
      if (std::optional<int64_t> value = sum(expression); value && expression.trim().empty())
        return append(std::to_string(*value));
    return append(reference);
  }
  if (next == '@' || next == '*') {
    ++at;
    return;
  }
  size_t end = at;
  while (end < text.size() && isNameChar(text[end]))
    ++end;
  StringRef name = text.slice(at, end);
  at = end;
  if (name.empty())
    return append("$");
  expandVariable(name, text.slice(start, at), isQuoted);
}

void WordSplitter::expandVariable(StringRef name, StringRef reference, bool isQuoted) {
  StringRef base = name.take_while(isNameChar);
  StringRef rest = name.drop_front(base.size());
  bool isArray = rest == "[@]" || rest == "[*]";
  auto found = variables.find(base);
  if (found == variables.end()) {
    if (name.starts_with("@") || name.starts_with("*"))
      return;
    // ${NAME:-value} and ${NAME-value}.
    if (rest.consume_front(":-") || rest.consume_front("-"))
      return append(rest);
    return append(reference);
  }
  for (size_t i = 0; i < found->second.size() && (i == 0 || isArray); ++i) {
    if (i != 0)
      finish();
    StringRef value = found->second[i];
    if (value.size() > budget)
      return;
    budget -= value.size();
    if (isQuoted || isArray || assignmentLength(word) != 0) {
      append(value);
      continue;
    }
    if (value.empty())
      continue;
    if (llvm::isSpace(value.front()))
      finish();
    SmallVector<StringRef> pieces;
    llvm::SplitString(value, pieces);
    for (auto [index, piece] : llvm::enumerate(pieces)) {
      if (index != 0)
        finish();
      append(piece);
    }
    if (llvm::isSpace(value.back()))
      finish();
  }
}

std::optional<int64_t> WordSplitter::sum(StringRef &expression) {
  std::optional<int64_t> value = product(expression);
  while (value) {
    expression = expression.ltrim();
    bool isSum = expression.consume_front("+");
    if (!isSum && !expression.consume_front("-"))
      break;
    std::optional<int64_t> other = product(expression);
    int64_t result = 0;
    if (!other || (isSum ? llvm::AddOverflow(*value, *other, result)
                         : llvm::SubOverflow(*value, *other, result)))
      return std::nullopt;
    value = result;
  }
  return value;
}

std::optional<int64_t> WordSplitter::product(StringRef &expression) {
  std::optional<int64_t> value = factor(expression);
  while (value) {
    expression = expression.ltrim();
    bool isProduct = expression.consume_front("*");
    if (!isProduct && !expression.consume_front("/"))
      break;
    std::optional<int64_t> other = factor(expression);
    int64_t result = 0;
    if (!other || (!isProduct && *other <= 0) ||
        (isProduct && llvm::MulOverflow(*value, *other, result)))
      return std::nullopt;
    value = isProduct ? result : *value / *other;
  }
  return value;
}

/// A number or a variable that holds one. Brackets within are not read.
std::optional<int64_t> WordSplitter::factor(StringRef &expression) {
  expression = expression.ltrim();
  expression.consume_front("$");
  bool isBraced = expression.consume_front("{");
  StringRef name = expression.take_while(isNameChar);
  expression = expression.drop_front(name.size());
  if (isBraced && !expression.consume_front("}"))
    return std::nullopt;
  if (auto found = variables.find(name); found != variables.end() && !found->second.empty())
    name = found->second.front();
  int64_t value = 0;
  if (name.getAsInteger(10, value))
    return std::nullopt;
  return value;
}

std::vector<CommandWord> ShellReader::split(StringRef text, unsigned line) {
  return WordSplitter(text, line, variables, budget).run();
}

/// Runs the assignment at word `at`, if there is one, and returns its last word.
std::optional<size_t> ShellReader::assign(ArrayRef<CommandWord> words, size_t at) {
  StringRef word = words[at].text;
  size_t length = words[at].isOperator ? 0 : assignmentLength(word);
  if (length == 0)
    return std::nullopt;
  StringRef name = word.take_while(isNameChar);
  bool adds = word[length - 2] == '+';
  std::vector<std::string> values;
  if (adds)
    values = variables.lookup(name);
  if (length == word.size() && at + 1 < words.size() && words[at + 1].isOperator &&
      words[at + 1].text == "(") {
    for (at += 2; at < words.size() && !words[at].isOperator; ++at)
      values.push_back(words[at].text);
  } else if (adds && !values.empty()) {
    values.front() += word.drop_front(length);
  } else {
    values.assign(1, word.drop_front(length).str());
  }
  size_t bytes = 0;
  for (const std::string &value : values)
    bytes += value.size();
  if (bytes <= maxAssignment)
    variables[name] = std::move(values);
  return at;
}

static StringRef fileName(StringRef path) { return path.substr(path.rfind('/') + 1); }

/// Returns true if a word names a script that trains, and not one that prepares data.
static bool isTrainingScript(StringRef word) {
  StringRef name = fileName(word);
  return name.ends_with(".py") && name.contains("train") && !word.starts_with("-");
}

std::optional<CommandLine> ShellReader::run(StringRef statement, unsigned line) {
  std::vector<CommandWord> words = split(statement, line);
  CommandLine command;
  bool isFound = false, isStart = true;
  for (size_t at = 0; at < words.size(); ++at) {
    const CommandWord &word = words[at];
    if (word.isOperator) {
      if (isFound)
        break;
      command.launcher.clear();
      isStart = true;
    } else if (isFound) {
      command.words.push_back(word);
    } else if (std::optional<size_t> last = isStart ? assign(words, at) : std::nullopt) {
      at = *last;
    } else if (isTrainingScript(word.text)) {
      isFound = true;
      command.script = fileName(word.text).str();
      command.line = word.line;
    } else {
      isStart &= isExport(word.text);
      command.launcher.push_back(word);
    }
  }
  // A script without arguments is a mention of it, as in a traceback.
  bool hasArguments = llvm::any_of(command.words, [](const CommandWord &word) {
    return StringRef(word.text).starts_with("--");
  });
  if (!isFound || !hasArguments)
    return std::nullopt;
  return command;
}

/// The integer that the first of `names` has in the words, as `--name N` or `--name=N`; 0 if it is
/// no number.
static std::optional<int64_t> launcherNumber(const CommandLine &command,
                                             ArrayRef<StringRef> names) {
  for (size_t i = 0; i < command.launcher.size(); ++i) {
    StringRef word = command.launcher[i].text;
    auto [option, value] = word.split('=');
    if (!llvm::is_contained(names, option))
      continue;
    if (option.size() == word.size() && i + 1 < command.launcher.size())
      value = command.launcher[i + 1].text;
    int64_t number = 0;
    bool isNumber = !value.getAsInteger(10, number) && number > 0 && number <= INT32_MAX;
    return isNumber ? number : 0;
  }
  return std::nullopt;
}

static bool usesLauncher(const CommandLine &command, ArrayRef<StringRef> names) {
  return llvm::any_of(command.launcher, [&](const CommandWord &word) {
    return llvm::is_contained(names, fileName(word.text));
  });
}

std::optional<int64_t> mlir::st::launchedProcesses(const CommandLine &command) {
  std::optional<int64_t> perNode =
      launcherNumber(command, {"--nproc_per_node", "--nproc-per-node", "--num_gpus"});
  std::optional<int64_t> nodes = launcherNumber(command, {"--nnodes", "--num_nodes"});
  std::optional<int64_t> processes = perNode;
  if (perNode && nodes)
    processes = *perNode * *nodes;
  else if (usesLauncher(command, {"mpirun", "mpiexec", "srun", "horovodrun"}))
    processes = launcherNumber(command, {"-np", "-n", "--np", "--ntasks"});
  return processes == 0 ? std::nullopt : processes;
}
