// Where the user wants stages to begin: at layers by name, or at scopes of the program.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// On the module, after apply-parallel-config: a glob for each stage but the first.
constexpr llvm::StringLiteral kStageStartsAttr = "st.stage_starts";

/// On the module: a dictionary of the stages of another program's parameters by their names, which
/// the forward pass of this one is cut like. It goes before `kStageStartsAttr`.
constexpr llvm::StringLiteral kParameterStagesAttr = "st.parameter_stages";

/// Where a pattern of `kStageStartsAttr` points to.
struct StageStart {
  /// Among the forward ops; none where nothing matches.
  std::optional<size_t> op;
  /// What matched: the name of a parameter or of a scope.
  std::string name;
};

/// The ops of the forward pass that depend on a parameter or other state; all where there is none.
SmallVector<Operation *> forwardOpsOfState(func::FuncOp function);

/// Finds the first of the forward ops, given in program order, at which each pattern matches. A
/// pattern matches
///
/// - the name of a parameter that an op reads, or what stands before one of its dots:
///   `transformer.h.6` all that layer 6 has. If nothing before in the op's block (`st.block`) reads
///   a parameter, the stage begins with the block;
/// - scopes in an op's location, one or several in a row: `jit(step)/jvp(Bert)/layer_3/dot_general`
///   matches `layer_3` and `Bert/layer_3`.
SmallVector<StageStart> findStageStarts(func::FuncOp function, ArrayRef<Operation *> forward,
                                        ArrayRef<StringRef> patterns);

/// The stage of each of the forward ops, given in program order: that of the first parameter with a
/// known stage that its block (`st.block`) reads, or without blocks the op and those before it. Ops
/// before any go with the first, the others with those before them.
SmallVector<int64_t> followParameters(func::FuncOp function, ArrayRef<Operation *> forward,
                                      DictionaryAttr stages);

/// What is wrong with where the stages begin, or nothing: one that matches nothing, that begins
/// with the model or before another one, named by its pattern; `index` is its number.
std::string findFault(ArrayRef<StageStart> starts, ArrayRef<StringRef> patterns, size_t &index);

} // namespace mlir::st
