// The reference interpreter: runs a program slowly and in the simplest way.
//
// Tests compare all other ways to run a program with it. The caller passes and receives global
// tensors in every phase of the program: a function on one device, a partitioned function, or
// programs of device groups.
#ifndef ST_REFERENCE_INTERPRETER_H
#define ST_REFERENCE_INTERPRETER_H

#include "lib/Reference/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>

namespace mlir::st::ref {

using NamedTensors = std::map<std::string, Tensor>;

/// Runs function `function` of the module, or its `st.program`s if it has any. An argument takes
/// the input named by its attribute `st.name`, else `arg<i>`; results are named in the same way,
/// else `result<i>`. Arguments with the same name get the same input; results with the same name
/// must agree to the bit. Programs name their states, inputs and outputs; a state that a task
/// writes is also a result. Errors are diagnostics in the module.
///
/// A partitioned function runs on devices x micro-batches virtual ranks. A function with
/// collectives of stablehlo runs on `mhlo.num_replicas` x `mhlo.num_partitions` ranks: all get the
/// same inputs and must return the same results.
FailureOr<NamedTensors> interpret(ModuleOp module, StringRef function, const NamedTensors &inputs);

} // namespace mlir::st::ref

#endif // ST_REFERENCE_INTERPRETER_H
