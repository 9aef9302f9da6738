//===- Log.cpp - A Megatron log or command line ---------------------------===//

#include "lib/Frontend/Megatron/Log.h"

#include "lib/Frontend/Megatron/CommandLine.h"
#include "lib/Support/InputFile.h"
#include "lib/Support/StatusMacros.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::st;

const GivenArgument *MegatronLog::find(StringRef name, bool orNone) const {
  for (const ArgumentMap *map : {&fromDump, &fromCommand})
    if (const auto *found = map->find(name); found != map->end())
      return orNone || !found->second.isNone ? &found->second : nullptr;
  return nullptr;
}

std::optional<int64_t> MegatronLog::integer(StringRef name) const {
  const GivenArgument *given = find(name);
  return given ? std::optional(given->integer) : std::nullopt;
}

std::optional<double> MegatronLog::number(StringRef name) const {
  const GivenArgument *given = find(name);
  return given ? std::optional(given->number) : std::nullopt;
}

StringRef MegatronLog::text(StringRef name) const {
  const GivenArgument *given = find(name);
  return given ? StringRef(given->text) : StringRef();
}

static bool isNameChar(char c) { return llvm::isAlnum(c) || c == '_'; }

/// Removes a launcher's prefix of a line: `0: `, `[default0]:`, `[1,0]<stdout>:`, `node-1: `, and
/// the time of newer versions.
static StringRef stripRank(StringRef text) {
  constexpr int maxPrefixes = 3;
  for (int i = 0; i < maxPrefixes; ++i) {
    StringRef rest = text.ltrim();
    if (rest.consume_front("[")) {
      size_t end = rest.find(']');
      if (end == StringRef::npos)
        return text;
      rest = rest.drop_front(end + 1);
      if (!rest.consume_front("<stdout>:") && !rest.consume_front("<stderr>:") &&
          !rest.consume_front(":") && !rest.starts_with(" "))
        return text;
    } else {
      rest = rest.drop_while([](char c) { return isNameChar(c) || c == '.' || c == '-'; });
      if (rest.size() == text.ltrim().size() || !rest.consume_front(":") || !rest.starts_with(" "))
        return text;
    }
    text = rest;
  }
  return text;
}

namespace {
class LogParser {
public:
  LogParser(StringRef text, StringRef path) : text(text) { log.path = path.str(); }

  absl::StatusOr<MegatronLog> run();

private:
  absl::Status readLine(StringRef raw);
  absl::Status readDumpLine(StringRef line);
  absl::Status readNamespace(StringRef values);
  absl::Status readCommand(const CommandLine &command);
  absl::Status readOption(ArrayRef<CommandWord> words, size_t &at);
  absl::Status addDumped(StringRef name, StringRef value);
  absl::Status addGiven(GivenArgument given, unsigned atLine);
  void beginDump();
  bool mayBeStatement(StringRef raw) const;

  absl::Status error(unsigned atLine, const Twine &message) const {
    std::string place = log.path + (atLine == 0 ? "" : ":" + std::to_string(atLine));
    return absl::InvalidArgumentError(place + ": " + message.str());
  }

  StringRef text;
  MegatronLog log;
  ShellReader shell;
  size_t at = 0;
  unsigned line = 0;
  bool isInDump = false;
};
} // namespace

void LogParser::beginDump() {
  log.fromDump.clear();
  log.dumpLine = line;
  log.measured.restart();
}

absl::Status LogParser::addDumped(StringRef name, StringRef value) {
  const Argument *argument = findArgument(name);
  // Some versions print a flag under the name of its inverse option.
  const ArgumentAlias *alias = argument ? nullptr : findAlias(name);
  if (alias) {
    argument = findArgument(alias->name);
    if (!alias->flagValue)
      value = value == "True" ? "False" : value == "False" ? "True" : value;
  }
  if (!argument)
    return error(line, "unknown argument " + inQuotes(name) + suggestArgument(name));
  GivenArgument given;
  if (std::string problem = readValue(*argument, value, given); !problem.empty())
    return error(line, "argument '" + name + "': " + problem);
  given.line = line;
  auto [place, isNew] = log.fromDump.try_emplace(argument->name, given);
  if (!isNew && place->second.text != given.text)
    return error(line, "argument '" + name + "' appears twice: expected " +
                           inQuotes(place->second.text) + " as before, found " +
                           inQuotes(given.text));
  return absl::OkStatus();
}

/// `  name ....... value`. Skips lines of other processes in between.
absl::Status LogParser::readDumpLine(StringRef content) {
  StringRef rest = content.ltrim();
  StringRef name = rest.take_while(isNameChar);
  rest = rest.drop_front(name.size());
  // Names of this length leave no room for dots.
  constexpr size_t column = 48;
  if (name.empty() || !rest.consume_front(" "))
    return absl::OkStatus();
  StringRef dots = rest.take_while([](char c) { return c == '.'; });
  if (dots.empty() && name.size() < column)
    return absl::OkStatus();
  return addDumped(name, rest.drop_front(dots.size()).trim());
}

/// The end of a Python value, at a comma or closing bracket.
static size_t findValueEnd(StringRef text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\'' || c == '"') {
      for (++i; i < text.size() && text[i] != c; ++i)
        i += text[i] == '\\';
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (depth == 0 && (c == ',' || c == ')')) {
      return i;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    }
  }
  return StringRef::npos;
}

/// `a=1, b='x')`, the rest of a line after `Namespace(`.
absl::Status LogParser::readNamespace(StringRef values) {
  beginDump();
  while (!(values = values.ltrim()).consume_front(")")) {
    StringRef name = values.take_while(isNameChar);
    values = values.drop_front(name.size());
    if (name.empty() || !values.consume_front("="))
      return error(line, "expected 'name=value' in the Namespace of arguments, found " +
                             inQuotes(name.empty() ? values : name));
    size_t end = findValueEnd(values);
    if (end == StringRef::npos)
      return error(line, "the Namespace of arguments does not end: expected ')' after '" +
                             inQuotes(name).substr(1) + ", found the end of the line");
    ST_RETURN_IF_ERROR(addDumped(name, values.take_front(end)));
    values = values.drop_front(end);
    values.consume_front(",");
  }
  return absl::OkStatus();
}

absl::Status LogParser::addGiven(GivenArgument given, unsigned atLine) {
  given.line = atLine;
  StringRef name = given.argument->name;
  // The last of repeated options counts, as in Python's parser.
  log.fromCommand.erase(name);
  log.fromCommand.try_emplace(name, std::move(given));
  return absl::OkStatus();
}

static bool isOption(StringRef word) { return word.starts_with("--") && word.size() > 2; }

/// Reads the option at word `at` and its values, and moves past them.
absl::Status LogParser::readOption(ArrayRef<CommandWord> words, size_t &at) {
  const CommandWord &word = words[at++];
  auto [written, attached] = StringRef(word.text).drop_front(2).split('=');
  bool hasAttached = written.size() + 2 < word.text.size();
  std::string option = written.str();
  llvm::replace(option, '-', '_');
  const ArgumentAlias *alias = findAlias(option);
  const Argument *argument = findArgument(alias ? alias->name : StringRef(option));
  if (!argument)
    return error(word.line,
                 "unknown argument " + inQuotes(("--" + written).str()) + suggestArgument(option));

  std::string name = "argument '--" + written.str() + "': ";
  GivenArgument given;
  if (argument->kind == ArgumentKind::Flag) {
    if (hasAttached)
      return error(word.line, name + "expected no value, found " + inQuotes(attached));
    readValue(*argument, !alias || alias->flagValue ? "True" : "False", given);
    return addGiven(std::move(given), word.line);
  }
  bool takesMany = argument->kind == ArgumentKind::Texts || argument->kind == ArgumentKind::Any;
  SmallVector<std::string> values;
  if (hasAttached)
    values.push_back(attached.str());
  else
    while (at < words.size() && !isOption(words[at].text) && (takesMany || values.empty()))
      values.push_back(words[at++].text);
  if (values.empty() && argument->kind == ArgumentKind::Any)
    values.push_back("True");
  if (values.empty() && argument->kind != ArgumentKind::Texts)
    return error(word.line, name + "expected a value, found none");
  if (std::string problem = readValues(*argument, values, given); !problem.empty())
    return error(word.line, name + problem);
  return addGiven(std::move(given), word.line);
}

absl::Status LogParser::readCommand(const CommandLine &command) {
  log.script = command.script;
  log.commandLine = command.line;
  log.processes = launchedProcesses(command);
  log.fromCommand.clear();
  for (size_t i = 0; i < command.words.size();) {
    const CommandWord &word = command.words[i];
    // An expansion of the shell may hold options or nothing.
    if (StringRef(word.text).starts_with("$")) {
      ++i;
      continue;
    }
    if (!isOption(word.text))
      return error(word.line,
                   "expected an argument that begins with '--', found " + inQuotes(word.text));
    ST_RETURN_IF_ERROR(readOption(command.words, i));
  }
  return absl::OkStatus();
}

/// Returns true if a line may call a script or assign its arguments.
bool LogParser::mayBeStatement(StringRef raw) const {
  if (raw.contains(".py") || raw.contains('$') || raw.rtrim().ends_with("\\"))
    return true;
  StringRef word = raw.ltrim();
  word.consume_front("export ");
  StringRef rest = word.drop_while(isNameChar);
  return rest.size() < word.size() && (rest.starts_with("=") || rest.starts_with("+="));
}

absl::Status LogParser::readLine(StringRef raw) {
  StringRef content = stripRank(raw);
  StringRef trimmed = content.trim();
  bool isMarker = trimmed.starts_with("---") && trimmed.ends_with("---");
  if (isInDump) {
    if (isMarker && trimmed.contains("end of arguments"))
      isInDump = false;
    else
      return readDumpLine(content);
  } else if (isMarker && trimmed.contains(" arguments ")) {
    beginDump();
    isInDump = true;
  } else if (size_t open = content.find("Namespace(");
             open != StringRef::npos && content.contains("num_layers=")) {
    return readNamespace(content.drop_front(open + StringRef("Namespace(").size()));
  } else {
    log.measured.read(content, line);
  }
  return absl::OkStatus();
}

absl::StatusOr<MegatronLog> LogParser::run() {
  // Arguments without a script.
  bool isBare = text.ltrim().starts_with("--") && !text.ltrim().starts_with("---");
  if (isBare) {
    line = 1;
    std::string statement = "train.py " + text.str();
    if (std::optional<CommandLine> command = shell.run(statement, line))
      ST_RETURN_IF_ERROR(readCommand(*command));
    log.script.clear();
    return std::move(log);
  }
  while (at < text.size()) {
    ++line;
    size_t end = std::min(text.find('\n', at), text.size());
    StringRef raw = text.slice(at, end);
    if (isInDump || !mayBeStatement(raw)) {
      at = end + 1;
      ST_RETURN_IF_ERROR(readLine(raw));
      continue;
    }
    size_t statementEnd = shell.statementEnd(text, at);
    StringRef statement = text.slice(at, statementEnd);
    std::optional<CommandLine> command = shell.run(statement, line);
    if (command)
      ST_RETURN_IF_ERROR(readCommand(*command));
    else
      ST_RETURN_IF_ERROR(readLine(raw));
    line += statement.rtrim('\n').count('\n');
    at = statementEnd;
  }
  if (isInDump)
    return error(log.dumpLine, "the argument dump does not end: expected 'end of arguments', "
                               "found the end of the file");
  if (log.dumpLine == 0 && log.commandLine == 0)
    return error(0, "expected a Megatron command line or argument dump, found neither");
  return std::move(log);
}

absl::StatusOr<MegatronLog> mlir::st::parseMegatronLog(StringRef text, StringRef path) {
  return LogParser(text, path).run();
}

absl::StatusOr<MegatronLog> mlir::st::loadMegatronLog(StringRef path) {
  absl::StatusOr<std::string> text = ::st::readInputFile(path.str(), maxLogBytes);
  if (!text.ok())
    return absl::InvalidArgumentError(path.str() + ": " + std::string(text.status().message()));
  return parseMegatronLog(*text, path);
}
