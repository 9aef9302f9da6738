#include "lib/Hlo/HloTextCursor.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::st;

LogicalResult HloTextCursor::failAt(size_t at, const Twine &message) const {
  StringRef before = text.take_front(at);
  auto line = static_cast<unsigned>(before.count('\n') + 1);
  size_t start = before.rfind('\n');
  auto column = static_cast<unsigned>(start == StringRef::npos ? at + 1 : at - start);
  return emitError(FileLineColLoc::get(context, name, line, column)) << message;
}

/// Skips white space and comments such as `/*index=5*/`. A comment that is not closed extends to
/// the end.
void HloTextCursor::skipSpace() {
  while (place < text.size()) {
    if (llvm::isSpace(text[place])) {
      ++place;
      continue;
    }
    if (text.substr(place, 2) != "/*")
      return;
    size_t end = text.find("*/", place + 2);
    place = end == StringRef::npos ? text.size() : end + 2;
  }
}

bool HloTextCursor::take(StringRef token) {
  skipSpace();
  return takeAdjacent(token);
}

bool HloTextCursor::takeAdjacent(StringRef token) {
  if (!text.substr(place).starts_with(token))
    return false;
  place += token.size();
  return true;
}

LogicalResult HloTextCursor::expect(StringRef token) {
  return take(token) ? success() : fail("expected '" + token + "'");
}

LogicalResult HloTextCursor::readName(StringRef &result, StringRef what) {
  size_t start = here();
  if (start < text.size() && text[start] == '%')
    ++start;
  size_t end = start;
  while (end < text.size() && (llvm::isAlnum(text[end]) || text[end] == '_' || text[end] == '.' ||
                               (text[end] == '-' && text.substr(end, 2) != "->")))
    ++end;
  if (end == start || llvm::isDigit(text[start]))
    return fail("expected " + what);
  result = text.slice(start, end);
  place = end;
  return success();
}

LogicalResult HloTextCursor::readInteger(int64_t &result) {
  size_t start = here(), end = start;
  if (end < text.size() && text[end] == '-')
    ++end;
  while (end < text.size() && llvm::isDigit(text[end]))
    ++end;
  if (text.slice(start, end).getAsInteger(10, result))
    return fail("expected an integer of at most 64 bits");
  place = end;
  return success();
}

LogicalResult HloTextCursor::readBool(bool &result) {
  result = take("true");
  return result || take("false") ? success() : fail("expected true or false");
}

LogicalResult HloTextCursor::skipString() {
  size_t start = place++;
  while (place < text.size() && text[place] != '"')
    place += text[place] == '\\' ? 2 : 1;
  if (place >= text.size())
    return failAt(start, "a string that does not end");
  ++place;
  return success();
}

LogicalResult HloTextCursor::readString(std::string &result) {
  size_t start = here();
  if (peek() != '"')
    return fail("expected a string");
  if (failed(skipString()))
    return failure();
  StringRef inner = text.slice(start + 1, place - 1);
  result.clear();
  for (size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] == '\\' && i + 1 < inner.size())
      ++i;
    result.push_back(inner[i]);
  }
  return success();
}

StringRef HloTextCursor::readUntil(StringRef characters) {
  size_t start = here();
  size_t end = std::min(text.find_first_of(characters, start), text.find('\n', start));
  place = std::min(end, text.size());
  return text.slice(start, place).rtrim();
}

LogicalResult HloTextCursor::readList(StringRef open, StringRef close,
                                      llvm::function_ref<LogicalResult()> readItem) {
  if (failed(expect(open)))
    return failure();
  if (take(close))
    return success();
  do {
    if (failed(readItem()))
      return failure();
  } while (take(","));
  return expect(close);
}

LogicalResult HloTextCursor::readIntegers(StringRef open, StringRef close,
                                          llvm::function_ref<void(int64_t)> add) {
  return readList(open, close, [&] {
    int64_t value = 0;
    if (failed(readInteger(value)))
      return failure();
    add(value);
    return success();
  });
}

LogicalResult HloTextCursor::skipValue() {
  int64_t depth = 0;
  for (skipSpace(); place < text.size();) {
    char c = text[place];
    if (c == '"') {
      if (failed(skipString()))
        return failure();
      continue;
    }
    if (depth == 0 && (c == ',' || c == '\n' || c == ')' || c == ']' || c == '}'))
      return success();
    depth += c == '(' || c == '[' || c == '{';
    depth -= c == ')' || c == ']' || c == '}';
    ++place;
  }
  return depth == 0 ? success() : fail("brackets that do not close");
}

LogicalResult HloTextCursor::readValueText(StringRef &result) {
  size_t start = here();
  if (failed(skipValue()))
    return failure();
  result = text.slice(start, place).rtrim();
  return success();
}
