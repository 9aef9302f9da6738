// The reference interpreter: runs a program, slowly and obviously right.
//
// It is the oracle of all other ways to run one. The caller sees global
// tensors, whatever phase of the road the program is in: a function on one
// device, a partitioned function, or programs of device groups.
#ifndef ST_REFERENCE_INTERPRETER_H
#define ST_REFERENCE_INTERPRETER_H

#include "lib/Reference/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>

namespace mlir::st::ref {

using NamedTensors = std::map<std::string, Tensor>;

/// Runs function `function` of the module, or its `st.program`s where it has
/// any. An argument takes the input of the name in its attribute `st.name`,
/// else of `arg<i>`; results are named likewise, else `result<i>`. Arguments of
/// one name get one input, results of one name must agree bit for bit. Programs
/// name their states, inputs and outputs; a state that a task writes is also a
/// result. Errors are diagnostics in the module.
///
/// A partitioned function runs on devices x micro-batches virtual ranks. A
/// function with collectives of stablehlo runs on `mhlo.num_replicas` x
/// `mhlo.num_partitions` of them: each gets the same inputs, all must give the
/// same results.
FailureOr<NamedTensors> interpret(ModuleOp module, StringRef function, const NamedTensors &inputs);

} // namespace mlir::st::ref

#endif // ST_REFERENCE_INTERPRETER_H
