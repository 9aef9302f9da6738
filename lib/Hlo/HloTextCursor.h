// A position in HLO text and the readers of its tokens.
#pragma once

#include "mlir/IR/Diagnostics.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::st {

/// Reads tokens. A method that returns LogicalResult emits its error at file, line and column.
class HloTextCursor {
public:
  HloTextCursor(StringRef text, StringRef name, MLIRContext *context)
      : text(text), name(name), context(context) {}

  LogicalResult fail(const Twine &message) const { return failAt(place, message); }
  LogicalResult failAt(size_t at, const Twine &message) const;

  /// The position of the next token.
  size_t here() {
    skipSpace();
    return place;
  }
  bool atEnd() { return here() == text.size(); }
  char peek() { return atEnd() ? '\0' : text[place]; }

  /// Consumes a token if it is next.
  bool take(StringRef token);
  /// Consumes a token if it is next, without space before it.
  bool takeAdjacent(StringRef token);
  LogicalResult expect(StringRef token);

  /// A name without its `%`: letters, digits, `_`, `.`, `-`.
  LogicalResult readName(StringRef &result, StringRef what);
  LogicalResult readInteger(int64_t &result);
  LogicalResult readBool(bool &result);
  /// `"..."` with backslash escapes.
  LogicalResult readString(std::string &result);
  /// The text up to one of the characters, or to the end of the line.
  StringRef readUntil(StringRef characters);

  /// `open`, items between commas, `close`.
  LogicalResult readList(StringRef open, StringRef close,
                         llvm::function_ref<LogicalResult()> readItem);
  LogicalResult readIntegers(StringRef open, StringRef close,
                             llvm::function_ref<void(int64_t)> add);

  /// Skips a value of any form, up to a comma, a closing bracket or the end of the line outside of
  /// brackets and strings.
  LogicalResult skipValue();
  /// Skips a value and returns its text.
  LogicalResult readValueText(StringRef &result);

private:
  void skipSpace();
  LogicalResult skipString();

  StringRef text, name;
  MLIRContext *context;
  size_t place = 0;
};

} // namespace mlir::st
