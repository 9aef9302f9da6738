// Collectives as programs of sends, receives and reductions on the links.
//
// Large reductions and gathers go round a ring of the members, in which only
// neighbours talk; small reductions are one exchange in which everyone sends to
// everyone and adds up in the order of the ranks. Either way the order of a
// reduction is fixed and all members hold the same bits.
#pragma once

#include "backends/dtu/codegen/Links.h"
#include "backends/dtu/codegen/RankTable.h"

namespace mlir::dtu {

class CollectiveEmitter {
public:
  CollectiveEmitter(ProgramBuilder &builder, Links &links, RankTable &table)
      : builder(builder), links(links), table(table) {}

  /// The code of a collective whose operand and result lie at the given places.
  LogicalResult emit(Operation *op, const Placement &operand, const Placement &result);

  /// Whether the code of a collective keeps something in L2.
  static bool usesL2(Operation *op);

private:
  ProgramBuilder &builder;
  Links &links;
  RankTable &table;

  /// The members as a stream sees them.
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

  LogicalResult allReduce(st::AllReduceOp op, const Placement &operand, const Placement &result);
  void exchange(st::AllReduceOp op, const Placement &operand, const Placement &result);
  void combine(st::AllReduceOp op, const Placement &result);
  void ringReduce(st::AllReduceOp op, const Placement &operand, const Placement &result);
  LogicalResult allGather(st::AllGatherOp op, const Placement &operand, const Placement &result);
  LogicalResult reduceScatter(st::ReduceScatterOp op, const Placement &operand,
                              const Placement &result);
  LogicalResult allToAll(st::AllToAllOp op, const Placement &operand, const Placement &result);
  LogicalResult allSlice(st::AllSliceOp op, const Placement &operand, const Placement &result);
  LogicalResult permute(st::CollectivePermuteOp op, const Placement &operand,
                        const Placement &result);

  void copyWhole(RankedTensorType type, const Placement &operand, const Placement &result);
};

} // namespace mlir::dtu
