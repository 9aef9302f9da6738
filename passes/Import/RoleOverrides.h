// What the user says of arguments and results.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>

namespace mlir::st {

/// A role and, where it was given, a name.
struct GivenRole {
  std::string role, name;
};

struct RoleOverrides {
  std::map<unsigned, GivenRole> arguments, results;

  /// Reads `arg3=batch,result0=loss,arg4=scalar:learning_rate,arg0-15=parameter`. Fails,
  /// with a diagnostic, where the text or a number is wrong.
  static FailureOr<RoleOverrides> parse(StringRef text, func::FuncOp function);
};

} // namespace mlir::st
