//===- Tables.h - Megatron arguments without effect on a plan ---*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_MEGATRON_OTHER_TABLES_H
#define ST_LIB_FRONTEND_MEGATRON_OTHER_TABLES_H

#include "lib/Frontend/Megatron/Arguments.h"

namespace mlir::st {

/// An argument that does not affect plans, with the reason.
constexpr Argument noEffect(StringRef name, ArgumentKind kind, StringRef reason) {
  return {name, kind, ArgumentStatus::NoEffect, {}, reason, ""};
}

// The tables by theme; `argumentTables` has them all.
ArrayRef<Argument> trainingArguments();
ArrayRef<Argument> dataArguments();
ArrayRef<Argument> runArguments();
ArrayRef<Argument> implementationArguments();
ArrayRef<Argument> modelArguments();

/// Returns true if the argument concerns processes, their output and their checks: it does not
/// change the training.
bool isOfProcesses(const Argument &argument);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_MEGATRON_OTHER_TABLES_H
