//===- Arguments.cpp - The arguments of Megatron --------------------------===//

#include "lib/Frontend/Megatron/Arguments.h"

#include "lib/Frontend/Megatron/Other/Tables.h"
#include "lib/Support/Text.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>

using namespace mlir;
using namespace mlir::st;

using Kind = ArgumentKind;

ArrayRef<ArrayRef<Argument>> mlir::st::argumentTables() {
  static const ArrayRef<Argument> tables[] = {planArguments(),  trainingArguments(),
                                              dataArguments(),  runArguments(),
                                              modelArguments(), implementationArguments()};
  return tables;
}

static llvm::StringMap<const Argument *> indexArguments() {
  llvm::StringMap<const Argument *> index;
  for (ArrayRef<Argument> table : argumentTables())
    for (const Argument &argument : table)
      index.try_emplace(argument.name, &argument);
  return index;
}

const Argument *mlir::st::findArgument(StringRef name) {
  static const llvm::StringMap<const Argument *> index = indexArguments();
  return index.lookup(name);
}

const ArgumentAlias *mlir::st::findAlias(StringRef option) {
  const auto *found = llvm::find_if(
      argumentAliases(), [&](const ArgumentAlias &alias) { return alias.option == option; });
  return found == argumentAliases().end() ? nullptr : found;
}

std::string mlir::st::suggestArgument(StringRef name) {
  constexpr size_t longest = 80;
  if (name.size() > longest)
    return "";
  unsigned nearest = static_cast<unsigned>(name.size() / 3) + 1;
  StringRef suggestion;
  auto consider = [&](StringRef known) {
    unsigned distance = name.edit_distance_insensitive(known, true, nearest);
    if (distance >= nearest)
      return;
    nearest = distance;
    suggestion = known;
  };
  for (ArrayRef<Argument> table : argumentTables())
    for (const Argument &argument : table)
      consider(argument.name);
  for (const ArgumentAlias &alias : argumentAliases())
    consider(alias.option);
  return suggestion.empty() ? "" : ("; did you mean '" + suggestion + "'?").str();
}

std::string mlir::st::inQuotes(StringRef text) {
  constexpr size_t limit = 60;
  bool isLong = text.size() > limit;
  StringRef start = isLong ? text.take_front(limit) : text;
  return "'" + ::st::escapeControls({start.data(), start.size()}) + (isLong ? "...'" : "'");
}

static StringRef describe(Kind kind) {
  switch (kind) {
  case Kind::Flag:
    return "True or False";
  case Kind::Integer:
    return "an integer";
  case Kind::Count:
    return "an integer from 0 to 2^53";
  case Kind::Size:
    return "an integer from 1 to 2^31 - 1";
  case Kind::Number:
    return "a finite number";
  case Kind::NonNegative:
    return "a finite number of at least 0";
  case Kind::Positive:
    return "a finite number above 0";
  case Kind::Probability:
    return "a number from 0 to 1";
  case Kind::Text:
  case Kind::Texts:
  case Kind::Any:
    return "a value";
  }
  llvm_unreachable("unknown kind of argument");
}

static bool isInRange(Kind kind, double number) {
  switch (kind) {
  case Kind::Size:
    return number >= 1 && number <= INT32_MAX;
  case Kind::Count:
  case Kind::NonNegative:
    return number >= 0;
  case Kind::Positive:
    return number > 0;
  case Kind::Probability:
    return number >= 0 && number <= 1;
  default:
    return true;
  }
}

/// Reads a number into `given`; integers may be printed as 1.0 or 5e8.
static bool readNumber(Kind kind, StringRef text, GivenArgument &given) {
  bool isInteger = kind == Kind::Integer || kind == Kind::Count || kind == Kind::Size;
  constexpr double exact = 9007199254740992.0; // 2^53
  double number = 0.0;
  // strtod would also take hexadecimal numbers and names such as "inf".
  if (text.empty() || text.find_first_not_of("0123456789+-.eE") != StringRef::npos ||
      text.getAsDouble(number) || !std::isfinite(number))
    return false;
  if (isInteger && (number != std::floor(number) || std::fabs(number) > exact))
    return false;
  given.number = number;
  if (std::fabs(number) <= exact)
    given.integer = static_cast<int64_t>(number);
  return isInRange(kind, number);
}

/// The text between a pair of quotes, or all of it.
static StringRef unquote(StringRef text) {
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') &&
      text.back() == text.front())
    return text.drop_front().drop_back();
  return text;
}

/// The elements of a Python list as it is printed, or the text itself.
static SmallVector<std::string, 1> splitList(StringRef text) {
  if (!text.consume_front("[") || !text.consume_back("]"))
    return {unquote(text).str()};
  SmallVector<std::string, 1> items;
  while (!text.ltrim().empty()) {
    text = text.ltrim();
    size_t end = 0;
    if (text.front() == '\'' || text.front() == '"')
      end = text.find(text.front(), 1);
    end = text.find(',', end == StringRef::npos ? 0 : end);
    items.push_back(unquote(text.take_front(end).rtrim()).str());
    text = end == StringRef::npos ? StringRef() : text.drop_front(end + 1);
  }
  return items;
}

static bool isChoice(StringRef choices, StringRef text) {
  return choices.empty() || llvm::is_contained(llvm::split(choices, "|"), text);
}

static std::string expectedChoice(StringRef choices) {
  std::string list;
  for (StringRef choice : llvm::split(choices, "|"))
    list += (list.empty() ? "" : ", ") + choice.str();
  return list;
}

/// Reads one value that is not None into `given`.
static std::string readOne(const Argument &argument, StringRef text, GivenArgument &given) {
  Kind kind = argument.kind;
  std::string found = ", found " + inQuotes(text);
  if (kind == Kind::Flag) {
    if (text != "True" && text != "False")
      return "expected True or False" + found;
    given.integer = text == "True";
    given.number = static_cast<double>(given.integer);
  } else if (kind == Kind::Text) {
    if (!isChoice(argument.choices, text))
      return "expected one of " + expectedChoice(argument.choices) + found;
  } else if (kind == Kind::Any) {
    readNumber(kind, text, given);
  } else if (kind != Kind::Texts && !readNumber(kind, text, given)) {
    return "expected " + describe(kind).str() + found;
  }
  return "";
}

std::string mlir::st::readValue(const Argument &argument, StringRef text, GivenArgument &given) {
  given = GivenArgument();
  given.argument = &argument;
  text = text.trim();
  if (text == "None") {
    given.isNone = true;
    given.text = "None";
    return "";
  }
  if (argument.kind == Kind::Texts || argument.kind == Kind::Any) {
    given.texts = splitList(text);
    given.text = llvm::join(given.texts, " ");
    return given.texts.size() == 1 ? readOne(argument, given.texts[0], given) : "";
  }
  given.text = unquote(text).str();
  return readOne(argument, given.text, given);
}

std::string mlir::st::readValues(const Argument &argument, ArrayRef<std::string> texts,
                                 GivenArgument &given) {
  if (texts.size() == 1 && argument.kind != Kind::Texts && argument.kind != Kind::Any)
    return readValue(argument, texts[0], given);
  given = GivenArgument();
  given.argument = &argument;
  given.texts.assign(texts.begin(), texts.end());
  given.text = llvm::join(texts, " ");
  return texts.size() == 1 ? readOne(argument, texts[0], given) : "";
}
