// Reading and writing shardings, stages and roles on values, and the arithmetic of shardings.
#pragma once

#include "dialects/St/IR/StDialect.h"

namespace mlir::st {

constexpr llvm::StringLiteral kShardingAttr = "st.sharding";
constexpr llvm::StringLiteral kStageAttr = "st.stage";
constexpr llvm::StringLiteral kNameAttr = "st.name";
constexpr llvm::StringLiteral kRoleAttr = "st.role";
constexpr llvm::StringLiteral kOfAttr = "st.of";
constexpr llvm::StringLiteral kInitAttr = "st.init";
constexpr llvm::StringLiteral kNoDecayAttr = "st.no_decay";
constexpr llvm::StringLiteral kLimitAttr = "st.limit";
constexpr llvm::StringLiteral kBlockAttr = "st.block";
constexpr llvm::StringLiteral kStopGradientAttr = "st.stop_gradient";
constexpr llvm::StringLiteral kGlobalTypeAttr = "st.global_type";
/// Of an argument or result that was made larger so that it divides: its type before.
constexpr llvm::StringLiteral kUnpaddedTypeAttr = "st.unpadded_type";
/// Of a module whose target is known: a SpeedAttr.
constexpr llvm::StringLiteral kSpeedAttr = "st.speed";

/// Of a module: what its loss is scaled by where it is differentiated; `growth_interval` of a dynamic
/// scale, which is the state of that name, else `scale`.
constexpr llvm::StringLiteral kLossScaleAttr = "st.loss_scale";
constexpr llvm::StringLiteral kLossScaleName = "loss_scale.scale";
/// Of a module: the precision that it is compiled in (`compute`, `reduce`, `loss_scale`), where a
/// user said one.
constexpr llvm::StringLiteral kPrecisionAttr = "st.precision";
/// Of a reshard: the 16-bit type in which devices send what they add up.
constexpr llvm::StringLiteral kReduceTypeAttr = "st.reduce_type";

/// The module's one mesh, or null.
MeshOp getMesh(Operation *within);

/// The sharding recorded for a value: on its op, or on the function argument; null if none.
ShardingAttr getSharding(Value value);

/// The sharding of a value; replicated if none is recorded.
ShardingAttr getShardingOrReplicated(Value value, FlatSymbolRefAttr mesh);

/// The stage recorded for an op or a function argument.
std::optional<int64_t> getStage(Operation *op);
void setStage(Operation *op, int64_t stage);

/// Checks rank and axis names of a sharding for a global type and, but where `mayBeUneven`, that
/// every dimension divides.
LogicalResult verifyShardingFits(ShardingAttr sharding, Type type, Operation *op,
                                 bool mayBeUneven = false);

/// Whether devices that hold `local` each hold all of `global` together, sharded so (micro
/// included). What they have room for beyond it is padding at the end of a dimension.
bool holdsParts(RankedTensorType local, RankedTensorType global, ShardingAttr sharding,
                MeshOp mesh);

/// A sharding whose dimensions are split by axes alone, and the shape of the tensor that it is of.
struct FineSharding {
  ShardingAttr sharding;
  SmallVector<int64_t> shape;
};

/// The tensor with its dimensions cut where the sharding leaves parts of them unsplit before an
/// axis: [{3, "a"}] of 12 elements is [{}, {"a"}] of 3 x 4. Elements keep their order, of the
/// tensor and of what a device holds. Nothing where a dimension does not divide.
std::optional<FineSharding> cutAtUnsplitParts(ShardingAttr sharding, ArrayRef<int64_t> shape,
                                              function_ref<int64_t(StringRef)> sizeOf);
/// Whether it leaves any.
bool hasUnsplitParts(ShardingAttr sharding);

/// Product of the sizes of the axes.
int64_t getAxesSize(ArrayRef<StringRef> axes, MeshOp mesh);

} // namespace mlir::st
