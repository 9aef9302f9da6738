// Collectives as programs of sends, receives and reductions on the links.
//
// Large reductions and gathers use a ring of the members, in which only neighbours communicate;
// reductions use nested rings if these take less time. Small reductions use a single exchange:
// every member sends to every other and adds up in rank order. In all cases the order of a
// reduction is fixed and all members hold the same bits.
//
// A collective of several tensors sends messages for each tensor in every step. Tensors are not
// packed, and each waits only for its own messages: while one message is received, the next is in
// transit. For the same reason, a large part is split into several messages if the device
// description makes that worthwhile.
#pragma once

#include "backends/common/RankTable.h"
#include "backends/dtu/codegen/collectives/Links.h"
#include "lib/Timing/DtuRings.h"

#include <map>
#include <tuple>

namespace mlir::dtu {

using st::RankTable;

class CollectiveEmitter {
public:
  CollectiveEmitter(ProgramBuilder &builder, Links &links, RankTable &table,
                    const ::st::DtuRings &rings)
      : builder(builder), links(links), table(table), rings(rings) {}

  /// Emits a collective whose operands and results are at the given places.
  LogicalResult emit(Operation *op, ArrayRef<Placement> operands, ArrayRef<Placement> results);

  /// Returns true if the code of a collective uses L2.
  bool usesL2(Operation *op);

private:
  ProgramBuilder &builder;
  Links &links;
  RankTable &table;
  const ::st::DtuRings &rings;
  /// By axes, and stride and size of the rings.
  std::map<std::tuple<const void *, int64_t, int64_t>, ::st::DtuHop> hops;
  llvm::DenseMap<Attribute, ::st::DtuHop> exchanges; // by axes

  /// The members of a collective as a stream sees them.
  struct Ring {
    int64_t entry = 0, size = 1;
    Expr position; // of this rank

    /// (position + offset) mod size.
    Expr member(StreamBuilder &stream, const Expr &offset) const;
    /// Global rank of member number `member`.
    Expr rankOf(StreamBuilder &stream, const Expr &member) const {
      return stream.table(member + (entry + 1));
    }
  };
  Ring ringOf(StreamBuilder &stream, ArrayAttr axes);

  /// One tensor of a collective: its types and places before and after.
  struct Tensor {
    RankedTensorType before, after;
    Placement operand, result;
    hw::DType type;
    int64_t pieces = 1; // messages per part in a ring
    int64_t elements() const { return before.getNumElements(); }
    int64_t bytes() const { return elements() * static_cast<int64_t>(hw::byteWidth(type)); }
  };
  using Tensors = ArrayRef<Tensor>;

  const ::st::DtuHop &hopOf(ArrayAttr axes, int64_t stride, int64_t size);
  ::st::DtuRingPlan planOf(ArrayAttr axes, int64_t bytes);
  /// Returns true if a reduction of `bytes`, in slots of `slot` bytes, uses a single exchange.
  bool isExchanged(ArrayAttr axes, int64_t bytes, int64_t slot);
  /// Splits the parts of tensors into the number of messages that is fastest.
  void choosePieces(Operation *op, MutableArrayRef<Tensor> tensors);

  LogicalResult allReduce(st::AllReduceOp op, Tensors tensors);
  void exchange(st::AllReduceOp op, Tensors tensors);
  void combine(st::AllReduceOp op, Tensors tensors);
  void ringReduce(st::AllReduceOp op, Tensors tensors);
  class StagedReduce;
  LogicalResult allGather(st::AllGatherOp op, Tensors tensors);
  LogicalResult reduceScatter(st::ReduceScatterOp op, Tensors tensors);
  LogicalResult allToAll(st::AllToAllOp op, const Placement &operand, const Placement &result);
  LogicalResult allSlice(st::AllSliceOp op, const Placement &operand, const Placement &result);
  LogicalResult permute(st::CollectivePermuteOp op, const Placement &operand,
                        const Placement &result);

  void copyUnsplit(RankedTensorType type, const Placement &operand, const Placement &result);
};

} // namespace mlir::dtu
