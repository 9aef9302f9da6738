// Chooses which ops of a task share a kernel, and the order of kernels and task-level ops.
//
// Everything that runs is a node with a place in one order. A node reads only from earlier nodes:
// an op joins an existing node only if all its operands come from the node or from nodes before it,
// and a node moves down into a later one only if no node in between reads it. Both rules keep the
// order valid, so no cycle can arise and no search for one is needed.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/Kernels/OpKinds.h"
#include "passes/Kernels/Passes.h"
#include "passes/Kernels/Space.h"
#include "llvm/ADT/SetVector.h"
#include <deque>

namespace mlir::st {

struct FusionLimits {
  int64_t maxOps = 400;
  int64_t maxInputs = 12;
  int64_t scratchBytes = 256 * 1024; ///< per core
  int64_t cores = 1;                 ///< that share the work of a kernel
  int64_t sharedBytes = 0;           ///< of the memory that all these cores share
  AttentionForm attention = AttentionForm::Resident;
  bool masksInline = false; ///< see OpKinds
  /// With the form Auto, also streams rows that fit in a core, because their columns arrive in
  /// parts.
  bool prefersStreamed = false;
};

struct PlanNode {
  enum Kind { TaskOp, Loop, Attention, Reduce, Matmul, Copy, Gather, Scatter };

  Kind kind = TaskOp;
  uint64_t place = 0;
  llvm::SetVector<Operation *> ops; ///< unordered after merges
  SmallVector<int64_t> space;       ///< of a fused kernel
  bool streamed = false;            ///< a fused attention-like kernel that does not hold full rows
  int64_t rowDims = -1; ///< leading dimensions that a loop's row reductions keep; -1: none yet
  llvm::SmallSetVector<Value, 1> materialized; ///< inline values that this node stores
  SmallVector<Operation *> writes;             ///< of its values to buffers, placed directly after
                                               ///< it
  SmallVector<unsigned> users;                 ///< nodes that read from it; may contain duplicates
  llvm::SmallSetVector<Value, 8> inputs;       ///< values it reads from other nodes
  /// Nodes that it reads from and cannot merge with.
  llvm::SmallDenseSet<unsigned> apart;
  bool merged = false; ///< into another node
};

/// The first product of a matmul node.
stablehlo::DotGeneralOp getProduct(const PlanNode &node);

/// Rows between two products that are too long for a core's scratch memory.
struct LongRows {
  Operation *product = nullptr; ///< that reads them
  int64_t elements = 0;         ///< of a row
  int64_t rows = 0;             ///< per core
  int64_t needed = 0;           ///< rows per core that would be worthwhile
};

class KernelPlan {
public:
  /// `storage` resolves the symbols of the task's program. `resident` has the reductions whose rows
  /// a core holds; only the form Auto uses it.
  KernelPlan(Block &task, const SymbolTable &storage, const FusionLimits &limits,
             DenseSet<Operation *> resident = {});

  /// Fails with a diagnostic on an op without a kernel.
  LogicalResult build();

  /// The first loop between products that is not fused with them because a core holds too few of
  /// its rows.
  std::optional<LongRows> getLongRows() const { return longRows; }
  /// Returns true if some rows do not fit a core's scratch memory, as a loop or between products.
  bool hasLongRows() const { return hasUnfusedRows || refusedRows; }
  /// Returns true if a kernel streams its rows.
  bool hasStreamedRows() const;
  /// Returns true if kernels that stream their rows are marked.
  bool marksStreamed() const { return limits.attention == AttentionForm::Auto; }
  /// The reductions of loops whose rows do not fit a core's scratch memory.
  SmallVector<Operation *> getLongReductions() const;
  /// Nodes in execution order.
  SmallVector<const PlanNode *> getOrder() const;
  const OpKinds &getKinds() const { return kinds; }
  /// The node that stores a value; an alias shares the memory of its operand.
  const PlanNode &getHome(Value value) const { return nodes[find(homeIndex(value))]; }
  /// The axes of an op's result in the space of its kernel.
  Axes getAxes(Operation *op) const { return axesOf.lookup(op); }

private:
  /// A value that an op needs from outside its node, looking through inline values.
  struct Leaf {
    Value value;
    Axes axes;     ///< that the op requires
    bool inKernel; ///< may be computed by the op's own kernel instead of read
  };

  unsigned find(unsigned node) const;
  unsigned addNode(PlanNode::Kind kind, uint64_t place, Operation *op = nullptr);
  unsigned appendNode(PlanNode::Kind kind, Operation *op) { return addNode(kind, takePlace(), op); }
  /// Places are even numbers. A copy that moves up, or a product or copy that moves down, gets an
  /// odd one.
  uint64_t takePlace() { return nextPlace += 2; }

  unsigned homeIndex(Value value) const;
  /// The node that stores a value; creates one for an inline value.
  unsigned home(Value value);
  unsigned materialize(Value value);
  std::optional<unsigned> materializeInLoop(Value value, ArrayRef<Leaf> leaves);

  LogicalResult place(Operation *op);
  void placeTaskOp(Operation *op, OpKind kind);
  void placeElementwise(Operation *op);
  void placeReduce(Operation *op);
  void placeSeparately(Operation *op, PlanNode::Kind kind);

  SmallVector<Leaf> getLeaves(Operation *op, Axes axes, ArrayRef<int64_t> space) const;
  void addLeaves(Value value, Axes axes, ArrayRef<int64_t> space,
                 SmallVectorImpl<Leaf> &leaves) const;

  /// The node that produces the last of an op's leaves; -1 if it has none.
  int64_t getLastProducer(ArrayRef<Leaf> leaves);
  bool joinLoop(Operation *op, unsigned node);
  std::optional<Axes> getAxesInLoop(Operation *op, const PlanNode &node) const;
  bool fits(ArrayRef<Leaf> leaves, unsigned node);
  /// Returns true if rows of a space fit a core's scratch memory together with `inputs` tensors.
  bool rowsFit(ArrayRef<int64_t> space, int64_t rowDims, size_t inputs) const;
  /// Returns true if a loop with these ops may have rows of this space: they fit, or are streamed.
  bool mayHaveRows(ArrayRef<int64_t> space, int64_t rowDims, size_t inputs,
                   ArrayRef<Operation *> ops);
  void join(Operation *op, unsigned node, Axes axes, ArrayRef<Leaf> leaves);
  void noteReads(unsigned node, ArrayRef<Leaf> leaves);
  void mergeProducers(unsigned node, ArrayRef<Leaf> leaves);
  bool findFollowers(unsigned from, unsigned into,
                     llvm::SmallSetVector<unsigned, 4> &followers) const;
  bool mergeInto(unsigned from, unsigned into);

  void shareOperands();
  bool joinProducts(unsigned later, unsigned first);

  bool joinMatmul(Operation *op, unsigned node);
  void formEpilogue(unsigned loop);
  bool joinProduct(unsigned loop, unsigned product);
  std::optional<uint64_t> getEpiloguePlace(unsigned loop, unsigned product) const;
  bool isOnTile(Operation *op, unsigned loop, unsigned product) const;
  bool tileFits(SmallVector<Operation *> ops, ArrayRef<int64_t> space) const;
  bool isReadOutside(Value value, const DenseSet<Operation *> &ops) const;

  /// The scratch memory that a fused kernel with the fewest worthwhile rows leaves free, and that
  /// its tile takes, in bytes.
  struct AttentionMemory {
    int64_t spare = 0, tile = 0;
    bool streamed = false;
  };
  static constexpr AttentionMemory kStreamed = {0, 0, true};
  void formAttention(unsigned loop);
  void hoistCopy(unsigned copy, unsigned loop);
  bool existsBefore(Value value, uint64_t place) const;
  bool isAttentionProducer(unsigned product, unsigned loop) const;
  bool isAttentionConsumer(unsigned product, unsigned loop) const;
  bool readsRows(unsigned product, unsigned loop) const;
  bool isColumnProduct(unsigned product, unsigned loop) const;
  void addColumnProducts(unsigned loop, ArrayRef<unsigned> producers,
                         SmallVectorImpl<unsigned> &products, const AttentionMemory &room) const;
  bool leavesColumnProducts(unsigned loop, ArrayRef<unsigned> products) const;
  SmallVector<unsigned> getColumnProducts(Value rows, unsigned loop,
                                          ArrayRef<unsigned> products) const;
  std::optional<uint64_t> getAttentionPlace(unsigned loop, ArrayRef<unsigned> consumers) const;
  std::optional<AttentionMemory> getAttentionMemory(unsigned loop, ArrayRef<unsigned> producers,
                                                    ArrayRef<unsigned> consumers);
  bool canStream(unsigned loop, ArrayRef<unsigned> producers, ArrayRef<unsigned> consumers,
                 bool ofColumns = false) const;
  bool mayStream(unsigned loop, ArrayRef<unsigned> producers, ArrayRef<unsigned> consumers) const;
  bool storesRows(unsigned loop, ArrayRef<unsigned> consumers) const;
  void moveInto(unsigned from, unsigned into);

  void fuseReduceProducers(PlanNode &node);
  bool isReadElsewhere(Value value, const PlanNode &node,
                       const llvm::SetVector<Operation *> &taken) const;

  Block &task;
  const SymbolTable &storage;
  FusionLimits limits;
  OpKinds kinds;
  std::deque<PlanNode> nodes;             ///< references stay valid as it grows
  mutable SmallVector<unsigned> parents;  ///< union-find over merged nodes
  DenseMap<Operation *, unsigned> nodeOf; ///< of ops that compute in a node
  DenseMap<Operation *, Axes> axesOf;     ///< of those in loops
  DenseMap<Value, unsigned> materializedIn;
  std::optional<LongRows> longRows;
  DenseSet<Operation *> resident; ///< reductions whose rows are not streamed
  bool refusedRows = false;       ///< some rows of a loop do not fit
  bool hasUnfusedRows = false;    ///< some rows between products do not fit
  uint64_t nextRead = 0, nextPlace = uint64_t(1) << 32, nextLast = uint64_t(1) << 48;
};

} // namespace mlir::st
