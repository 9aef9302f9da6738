//===- Arguments.h - The arguments of Megatron ------------------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_MEGATRON_ARGUMENTS_H
#define ST_LIB_FRONTEND_MEGATRON_ARGUMENTS_H

#include "lib/Frontend/TrainingRun.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"
#include <variant>

namespace mlir::st {

/// What values an argument takes. `None` is a value of each: not given.
enum class ArgumentKind {
  Flag,
  Integer,     // any whole number
  Count,       // a whole number from 0 on
  Size,        // a whole number from 1 on
  Number,      // any finite number
  NonNegative, // a finite number from 0 on
  Positive,    // a finite number above 0
  Probability, // from 0 to 1
  Text,
  Texts, // several; on a command line all up to the next argument
  Any    // versions differ
};

/// What is done with an argument.
enum class ArgumentFate {
  Honoured,
  NoEffect,
  /// Only some values are accepted; another is refused when a run is made of the arguments.
  Restricted
};

/// The field of a run that takes the value as it is, if one does.
using RunField =
    std::variant<std::monostate, bool TrainingRun::*, int64_t TrainingRun::*, double TrainingRun::*,
                 std::optional<double> TrainingRun::*, std::string TrainingRun::*>;

/// One argument. A log names it as `name`; on a command line it is `--name` with dashes or
/// underscores unless an `ArgumentAlias` says otherwise.
struct Argument {
  StringRef name;
  ArgumentKind kind;
  ArgumentFate fate;
  RunField field;
  /// NoEffect: why. Restricted: the accepted values, with bars between them.
  StringRef note;
  /// The texts that are accepted, with bars between them; empty where any is.
  StringRef choices;
};

/// An option of the command line that sets an argument of another name, or sets a flag to false.
struct ArgumentAlias {
  StringRef option;
  StringRef name;
  bool flagValue = true;
};

/// The arguments that decide something of a run or restrict what can be one.
ArrayRef<Argument> planArguments();
/// All tables: `planArguments`, and by theme those that change nothing that a plan knows.
ArrayRef<ArrayRef<Argument>> argumentTables();
ArrayRef<ArgumentAlias> argumentAliases();

/// The argument of this name; null where there is none.
const Argument *findArgument(StringRef name);
/// The alias of an option, given without its two dashes; null where it has none.
const ArgumentAlias *findAlias(StringRef option);
/// ", did you mean 'X'?" with the nearest known name, or nothing where none is near.
std::string suggestArgument(StringRef name);

/// An argument with the value that somebody gave it.
struct GivenArgument {
  const Argument *argument = nullptr;
  /// The value without quotes; of several, with spaces between them.
  std::string text;
  SmallVector<std::string, 1> texts;
  /// Of numbers and, as 0 and 1, of flags.
  double number = 0.0;
  int64_t integer = 0;
  bool isNone = false;
  unsigned line = 0;

  bool flag() const { return integer != 0; }
};

/// Reads a value as a log prints it (a Python value): sets all of `given` but the line. Returns
/// "expected ..., found ..." where it is none of the argument's kind, or nothing.
std::string readValue(const Argument &argument, StringRef text, GivenArgument &given);
/// The same for values of a command line.
std::string readValues(const Argument &argument, ArrayRef<std::string> texts, GivenArgument &given);

/// Text of a file as a message quotes it: short, on one line, in quotes.
std::string quoted(StringRef text);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_MEGATRON_ARGUMENTS_H
