// Roles that the user gives to arguments and results.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>

namespace mlir::st {

/// A role and an optional name.
struct GivenRole {
  std::string role, name;
};

struct RoleOverrides {
  std::map<unsigned, GivenRole> arguments, results;

  /// Parses `arg3=batch,result0=loss,arg4=scalar:learning_rate,arg0-15=parameter`. Fails, with a
  /// diagnostic, if the text or a number is wrong.
  static FailureOr<RoleOverrides> parse(StringRef text, func::FuncOp function);
};

} // namespace mlir::st
