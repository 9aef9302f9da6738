//===- CompileRules.h - How compiling treats an argument --------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_MEGATRON_COMPILE_COMPILERULES_H
#define ST_LIB_FRONTEND_MEGATRON_COMPILE_COMPILERULES_H

#include "lib/Frontend/Megatron/Arguments.h"

namespace mlir::st {

struct CompileRule {
  enum Kind {
    /// Determines the program, or several flags: CompiledRunBuilder reads it. `text`: its role.
    Program,
    /// Becomes the run-time flag `text` with the value unchanged.
    RunFlag,
    /// Becomes the option `text` of st-compile with the value unchanged.
    CompileOption,
    /// `text`: the reason.
    NoEffect,
    /// Values other than `accepted` are refused; accepted values have no effect. `text`: the
    /// reason.
    Only
  };
  StringRef name;
  Kind kind;
  StringRef text;
  /// Separated by bars.
  StringRef accepted = "";
  /// For the other family the argument has no effect.
  std::optional<RunFamily> family = std::nullopt;
};

/// The rule for an argument. Without an entry in the table of CompileRules.cpp it follows from the
/// tables of arguments: the argument has no effect, or only None, False and 0 are accepted.
CompileRule findCompileRule(const Argument &argument);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_MEGATRON_COMPILE_COMPILERULES_H
