//===- Arguments.h - The arguments of Megatron ------------------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_MEGATRON_ARGUMENTS_H
#define ST_LIB_FRONTEND_MEGATRON_ARGUMENTS_H

#include "lib/Frontend/TrainingRun.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <variant>

namespace mlir::st {

/// The kind of an argument's values. `None` is a value of each kind: not given.
enum class ArgumentKind {
  Flag,
  Integer,     // any integer
  Count,       // an integer of at least 0
  Size,        // an integer of at least 1
  Number,      // any finite number
  NonNegative, // a finite number of at least 0
  Positive,    // a finite number above 0
  Probability, // from 0 to 1
  Text,
  Texts, // several; on a command line all words up to the next argument
  Any    // differs between versions
};

/// The treatment of an argument.
enum class ArgumentStatus {
  Honoured,
  NoEffect,
  /// Only some values are accepted; others are refused when the arguments become a run.
  Restricted
};

/// The field of a run that takes the value unchanged, if there is one.
using RunField =
    std::variant<std::monostate, bool TrainingRun::*, int64_t TrainingRun::*, double TrainingRun::*,
                 std::optional<double> TrainingRun::*, std::string TrainingRun::*>;

/// One argument. A log names it as `name`; on a command line it is `--name` with dashes or
/// underscores unless an `ArgumentAlias` says otherwise.
struct Argument {
  StringRef name;
  ArgumentKind kind;
  ArgumentStatus status;
  RunField field;
  /// NoEffect: the reason. Restricted: the accepted values, separated by bars.
  StringRef note;
  /// The accepted texts, separated by bars; empty if any text is accepted.
  StringRef choices;
};

/// A command-line option that sets an argument of another name, or sets a flag to false.
struct ArgumentAlias {
  StringRef option;
  StringRef name;
  bool flagValue = true;
};

/// The arguments that determine a part of a run or restrict possible runs.
ArrayRef<Argument> planArguments();
/// All tables: `planArguments`, and by theme those without effect on a plan.
ArrayRef<ArrayRef<Argument>> argumentTables();
ArrayRef<ArgumentAlias> argumentAliases();

/// The argument of this name; null if there is none.
const Argument *findArgument(StringRef name);
/// The alias of an option, given without its two dashes; null if there is none.
const ArgumentAlias *findAlias(StringRef option);
/// ", did you mean 'X'?" with the nearest known name; empty if none is near.
std::string suggestArgument(StringRef name);

/// An argument with its given value.
struct GivenArgument {
  const Argument *argument = nullptr;
  /// The value without quotes; several values are separated by spaces.
  std::string text;
  SmallVector<std::string, 1> texts;
  /// The value of a number, or 0 or 1 for a flag.
  double number = 0.0;
  int64_t integer = 0;
  bool isNone = false;
  unsigned line = 0;

  bool flag() const { return integer != 0; }
};

/// Reads a value as a log prints it (a Python value): sets all of `given` except the line. Returns
/// "expected ..., found ..." if the value is not of the argument's kind; otherwise empty.
std::string readValue(const Argument &argument, StringRef text, GivenArgument &given);
/// The same for values of a command line.
std::string readValues(const Argument &argument, ArrayRef<std::string> texts, GivenArgument &given);

/// Text of a file as quoted in a message: short, on one line, in quotes.
std::string inQuotes(StringRef text);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_MEGATRON_ARGUMENTS_H
