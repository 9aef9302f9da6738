// Reads and writes the shardings, stages and roles of values, and computes with shardings.
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
/// On a parameter: it has no gradient and no update.
constexpr llvm::StringLiteral kFrozenAttr = "st.frozen";
constexpr llvm::StringLiteral kLimitAttr = "st.limit";
constexpr llvm::StringLiteral kBlockAttr = "st.block";
constexpr llvm::StringLiteral kStopGradientAttr = "st.stop_gradient";
constexpr llvm::StringLiteral kGlobalTypeAttr = "st.global_type";
/// On an argument or result that was padded: its original type.
constexpr llvm::StringLiteral kUnpaddedTypeAttr = "st.unpadded_type";
/// On a module with a known target: a SpeedAttr.
constexpr llvm::StringLiteral kSpeedAttr = "st.speed";

/// On a module: the scale of its loss for differentiation. A dynamic scale is the state
/// kLossScaleName and has `growth_interval`; a constant one has `scale`.
constexpr llvm::StringLiteral kLossScaleAttr = "st.loss_scale";
constexpr llvm::StringLiteral kLossScaleName = "loss_scale.scale";
/// On a module: its precision (`compute`, `reduce`, `loss_scale`), if the user sets one.
constexpr llvm::StringLiteral kPrecisionAttr = "st.precision";
/// On a reshard: the 16-bit type in which devices send partial sums.
constexpr llvm::StringLiteral kReduceTypeAttr = "st.reduce_type";

/// The module's mesh, or null.
MeshOp getMesh(Operation *within);

/// Returns the sharding recorded for a value, on its op or on the function argument, or null.
ShardingAttr getSharding(Value value);

/// The sharding of a value; replicated if none is recorded.
ShardingAttr getShardingOrReplicated(Value value, FlatSymbolRefAttr mesh);

/// The stage recorded for an op or a function argument.
std::optional<int64_t> getStage(Operation *op);
void setStage(Operation *op, int64_t stage);

/// Checks rank and axis names of a sharding for a global type and, unless `mayBeUneven`, that every
/// dimension divides.
LogicalResult verifyShardingFits(ShardingAttr sharding, Type type, Operation *op,
                                 bool mayBeUneven = false);

/// Returns true if devices that each hold `local` together hold all of `global` under this sharding
/// (including micro). The remaining space is padding at the end of a dimension.
bool holdsParts(RankedTensorType local, RankedTensorType global, ShardingAttr sharding,
                MeshOp mesh);

/// A sharding whose dimensions are split only by axes, and the shape of its tensor.
struct FineSharding {
  ShardingAttr sharding;
  SmallVector<int64_t> shape;
};

/// Splits the tensor's dimensions at unsharded parts before an axis: [{3, "a"}] of 12 elements is
/// [{}, {"a"}] of 3 x 4. Elements keep their order in the tensor and on a device. Returns
/// std::nullopt if a dimension does not divide.
std::optional<FineSharding> splitAtUnshardedParts(ShardingAttr sharding, ArrayRef<int64_t> shape,
                                                  function_ref<int64_t(StringRef)> sizeOf);
/// Returns true if it has unsplit parts.
bool hasUnsplitParts(ShardingAttr sharding);

/// Product of the sizes of the axes.
int64_t getAxesSize(ArrayRef<StringRef> axes, MeshOp mesh);

} // namespace mlir::st
