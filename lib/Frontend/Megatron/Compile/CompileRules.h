//===- CompileRules.h - What compiling does with an argument ----*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_MEGATRON_COMPILE_COMPILERULES_H
#define ST_LIB_FRONTEND_MEGATRON_COMPILE_COMPILERULES_H

#include "lib/Frontend/Megatron/Arguments.h"

namespace mlir::st {

struct CompileRule {
  enum Kind {
    /// Decides the program, or several flags: CompiledRunBuilder reads it. `text`: as what.
    Program,
    /// Becomes the run-time flag `text` with the value as it is.
    RunFlag,
    /// Becomes the option `text` of st-compile with the value as it is.
    CompileOption,
    /// `text`: why.
    NoEffect,
    /// Other values than `accepted` are refused; these have no effect. `text`: why.
    Only
  };
  StringRef name;
  Kind kind;
  StringRef text;
  /// With bars between them.
  StringRef accepted = "";
  /// Of the other family the argument has no effect.
  std::optional<RunFamily> family = std::nullopt;
};

/// The rule for an argument; for one without an entry in the table of CompileRules.cpp, what
/// follows from the tables of arguments: it has no effect, or only None, False and 0 are accepted.
CompileRule findCompileRule(const Argument &argument);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_MEGATRON_COMPILE_COMPILERULES_H
