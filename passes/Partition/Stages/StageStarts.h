// The ops at which the user lets stages begin: layers by name, or scopes of the program.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// On the module, after apply-parallel-config: a glob for each stage but the first.
constexpr llvm::StringLiteral kStageStartsAttr = "st.stage_starts";

/// On the module: the stages of another program's parameters by name; the forward pass of this
/// program is split in the same way. Takes precedence over `kStageStartsAttr`.
constexpr llvm::StringLiteral kParameterStagesAttr = "st.parameter_stages";

/// The match of a pattern of `kStageStartsAttr`.
struct StageStart {
  /// index among the forward ops; std::nullopt without a match
  std::optional<size_t> op;
  /// The matching name of a parameter or scope.
  std::string name;
};

/// The forward ops that depend on a parameter or other state; all forward ops if there is no state.
SmallVector<Operation *> forwardOpsOfState(func::FuncOp function);

/// Finds the first forward op, in program order, that each pattern matches. A pattern matches
///
/// - the name of a parameter that an op reads, or its part before a dot: `transformer.h.6` matches
///   all parameters of layer 6. If no earlier op in the op's block (`st.block`) reads a parameter,
///   the stage begins with the block;
/// - scopes in an op's location, one or several consecutive ones:
///   `jit(step)/jvp(Bert)/layer_3/dot_general` matches `layer_3` and `Bert/layer_3`.
SmallVector<StageStart> findStageStarts(func::FuncOp function, ArrayRef<Operation *> forward,
                                        ArrayRef<StringRef> patterns);

/// The stage of each forward op, given in program order: the stage of the first parameter with a
/// known stage that its block (`st.block`) reads. Without blocks, it is the first such parameter
/// that the op or an earlier one reads. Ops before the first such op belong to its stage, other ops
/// to the stage of the op before them.
SmallVector<int64_t> followParameters(func::FuncOp function, ArrayRef<Operation *> forward,
                                      DictionaryAttr stages);

/// Describes the first faulty stage start, whose number is `index`; empty if there is none. A
/// pattern is faulty if it matches nothing, or starts with the model or before an earlier pattern.
std::string findFault(ArrayRef<StageStart> starts, ArrayRef<StringRef> patterns, size_t &index);

} // namespace mlir::st
