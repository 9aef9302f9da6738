// From a module of dtu programs to the Executable that a runner takes.
#pragma once

#include "dialects/St/IR/StDialect.h"
#include "lib/Proto/executable.pb.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir::dtu {

/// The Executable of a module as `convert-to-dtu` leaves it. What it says of the model comes from
/// the module's attributes: `st.model_type`, `st.task`, `st.batch`, `st.sequence`, `st.vocabulary`,
/// `st.model_config`, `st.vocab_txt`, `st.optimizer`, `st.learning_rate`; those that are missing
/// stay empty. Fails with a diagnostic.
FailureOr<::st::proto::Executable> buildExecutable(ModuleOp module);

/// The bytes of an Executable, the same for equal ones.
std::string serialize(const ::st::proto::Executable &executable);

} // namespace mlir::dtu
