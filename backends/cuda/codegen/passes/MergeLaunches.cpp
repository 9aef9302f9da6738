#include "backends/cuda/IR/CudaDialect.h"
#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/analysis/BufferUses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <map>

namespace mlir::cuda {
#define GEN_PASS_DEF_MERGELAUNCHES
#include "backends/cuda/codegen/Passes.h.inc"
} // namespace mlir::cuda

using namespace mlir;
using namespace mlir::cuda;

/// ptxas loads the addresses of all launches before it selects one, and spills registers at about a
/// hundred addresses. Six AdamW updates that also write 16-bit copies have 34.
static constexpr size_t kMaxBuffers = 36;

namespace {
/// A buffer at a fixed offset of an arena or of scratch memory.
struct Buffer {
  bool inScratch;
  int64_t offset;
  Type type;

  bool operator<(const Buffer &other) const {
    return std::tuple(inScratch, offset, type.getAsOpaquePointer()) <
           std::tuple(other.inScratch, other.offset, other.type.getAsOpaquePointer());
  }
  bool operator==(const Buffer &other) const { return !(*this < other) && !(other < *this); }
};

/// Bytes that an op reads or writes.
struct Touched {
  bool inScratch;
  int64_t begin, end;
  bool isWritten;

  bool conflicts(const Touched &other) const {
    return inScratch == other.inScratch && begin < other.end && other.begin < end &&
           (isWritten || other.isWritten);
  }
};
using TouchedBytes = SmallVector<Touched>;

bool conflict(ArrayRef<Touched> a, ArrayRef<Touched> b) {
  return llvm::any_of(a, [&](const Touched &one) {
    return llvm::any_of(b, [&](const Touched &other) { return one.conflicts(other); });
  });
}

/// Launches of one kernel that can move to the first of them.
struct Group {
  gpu::GPUFuncOp kernel;
  SmallVector<gpu::LaunchFuncOp> launches;
  SmallVector<SmallVector<Buffer>> buffers; ///< of each launch
  std::map<Buffer, unsigned> numbers;       ///< of the distinct buffers
  TouchedBytes since;                       ///< of all ops from the first launch on
};

class Merger {
public:
  void mergeIn(Block &block);
  int64_t numMerged = 0;

private:
  void visit(Operation &op);
  bool join(Group &group, gpu::LaunchFuncOp launch, ArrayRef<Buffer> buffers,
            ArrayRef<Touched> ranges);
  void closeAll();
  void merge(Group &group);
  gpu::GPUFuncOp mergedKernel(Group &group, ArrayRef<SmallVector<unsigned>> arguments);
  bool canMerge(gpu::GPUFuncOp kernel);

  /// Keys: the kernel, and whether it is marked with `kLeftByUpdateAttr`.
  llvm::MapVector<std::pair<Operation *, unsigned>, Group> open;
  DenseMap<Operation *, bool> mergeable;
  std::map<std::pair<Operation *, SmallVector<SmallVector<unsigned>>>, gpu::GPUFuncOp> merged;
};
} // namespace

// ---- memory accesses of ops ---------------------------------------------------------------------

static std::optional<Buffer> bufferOf(Value value) {
  auto view = value.getDefiningOp<memref::ViewOp>();
  if (!view)
    return std::nullopt;
  auto offset = view.getByteShift().getDefiningOp<arith::ConstantIndexOp>();
  const bool inScratch = view.getSource().getDefiningOp<ScratchOp>() != nullptr;
  if (!offset || (!inScratch && !isa<BlockArgument>(view.getSource())))
    return std::nullopt;
  return Buffer{inScratch, offset.value(), view.getType()};
}

static Touched rangeOf(const Buffer &buffer, bool isWritten) {
  auto type = cast<MemRefType>(buffer.type);
  const int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
  return {buffer.inScratch, buffer.offset, buffer.offset + bytes, isWritten};
}

/// Returns a launch's buffers and appends their accesses; std::nullopt if an address varies.
static std::optional<SmallVector<Buffer>> buffersOf(gpu::LaunchFuncOp launch, gpu::GPUFuncOp kernel,
                                                    TouchedBytes &ranges) {
  SmallVector<Buffer> buffers;
  for (auto [operand, argument] : llvm::zip(launch.getKernelOperands(), kernel.getArguments())) {
    std::optional<Buffer> buffer = bufferOf(operand);
    if (!buffer)
      return std::nullopt;
    buffers.push_back(*buffer);
    ranges.push_back(rangeOf(*buffer, !isOnlyRead(argument)));
  }
  return buffers;
}

/// Adds all operands of a copy or a product as written.
static bool addRanges(Operation &op, TouchedBytes &ranges) {
  for (Value operand : op.getOperands())
    if (isa<MemRefType>(operand.getType())) {
      std::optional<Buffer> buffer = bufferOf(operand);
      if (!buffer)
        return false;
      ranges.push_back(rangeOf(*buffer, true));
    }
  return true;
}

// ---- groups -------------------------------------------------------------------------------------

/// Returns false for kernels with tensor cores too, which have no registers left for addresses.
bool Merger::canMerge(gpu::GPUFuncOp kernel) {
  auto [it, isNew] = mergeable.try_emplace(kernel, false);
  if (isNew)
    it->second = kernel.getNumPrivateAttributions() == 0 && kernel.getBody().hasOneBlock() &&
                 kernel.getKnownGridSize() &&
                 !kernel
                      .walk([](Operation *op) {
                        return isa<nvgpu::MmaSyncOp, gpu::GridDimOp>(op) ? WalkResult::interrupt()
                                                                         : WalkResult::advance();
                      })
                      .wasInterrupted();
  return it->second;
}

bool Merger::join(Group &group, gpu::LaunchFuncOp launch, ArrayRef<Buffer> buffers,
                  ArrayRef<Touched> ranges) {
  size_t count = group.numbers.size();
  for (auto [i, buffer] : llvm::enumerate(buffers))
    count += group.numbers.count(buffer) == 0 && !llvm::is_contained(buffers.take_front(i), buffer);
  if (count > kMaxBuffers || conflict(group.since, ranges))
    return false;
  group.launches.push_back(launch);
  group.buffers.emplace_back(buffers);
  for (const Buffer &buffer : buffers)
    group.numbers.try_emplace(buffer, group.numbers.size());
  return true;
}

void Merger::visit(Operation &op) {
  TouchedBytes ranges;
  if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op)) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<gpu::GPUFuncOp>(launch, launch.getKernel());
    std::optional<SmallVector<Buffer>> buffers = buffersOf(launch, kernel, ranges);
    if (!buffers)
      return closeAll();
    if (canMerge(kernel)) {
      Group &group = open[{kernel, launch->hasAttr(kLeftByUpdateAttr)}];
      if (group.kernel && !join(group, launch, *buffers, ranges)) {
        merge(group);
        group = {};
      }
      if (!group.kernel) {
        group.kernel = kernel;
        (void)join(group, launch, *buffers, ranges);
      }
    }
  } else if (!isa<ProductOp, gpu::MemcpyOp>(op)) {
    if (!isMemoryEffectFree(&op))
      closeAll();
    return;
  } else if (!addRanges(op, ranges)) {
    return closeAll();
  }
  for (auto &[kernel, group] : open)
    llvm::append_range(group.since, ranges);
}

void Merger::closeAll() {
  for (auto &[kernel, group] : open)
    merge(group);
  open.clear();
}

void Merger::mergeIn(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    visit(op);
  closeAll();
}

// ---- merged kernels -----------------------------------------------------------------------------

/// Returns the element of `values` for an instance, counted from `first`, by bisection. All threads
/// of a block take the same branches.
static SmallVector<Value> choose(OpBuilder &builder, Location loc, Value instance, size_t first,
                                 ArrayRef<SmallVector<Value>> values) {
  if (values.size() == 1)
    return values.front();
  const size_t half = values.size() / 2;
  Value middle = arith::ConstantIndexOp::create(builder, loc, first + half);
  Value isBelow = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, instance, middle);
  auto branch = [&](size_t from, ArrayRef<SmallVector<Value>> part) {
    return [&, from, part](OpBuilder &inner, Location) {
      scf::YieldOp::create(inner, loc, choose(inner, loc, instance, from, part));
    };
  };
  auto either = scf::IfOp::create(builder, loc, isBelow, branch(first, values.take_front(half)),
                                  branch(first + half, values.drop_front(half)));
  return SmallVector<Value>(either.getResults());
}

/// Returns a kernel with the blocks of each launch, one launch after the other. `arguments` has the
/// buffer numbers of each launch's arguments.
gpu::GPUFuncOp Merger::mergedKernel(Group &group, ArrayRef<SmallVector<unsigned>> arguments) {
  gpu::GPUFuncOp kernel = group.kernel;
  SmallVector<SmallVector<unsigned>> key(arguments);
  gpu::GPUFuncOp &known = merged[{kernel, key}];
  if (known)
    return known;
  Location loc = kernel.getLoc();
  SmallVector<Type> types(group.numbers.size());
  for (const auto &[buffer, number] : group.numbers)
    types[number] = buffer.type;
  // Built before the kernel is inserted: launches of equal number can share buffers in several
  // ways, and each way has a kernel with the same base name.
  SymbolTable symbols(kernel->getParentOp());
  OpBuilder builder(kernel->getContext());
  builder.setInsertionPointAfter(kernel);
  auto name = (kernel.getName() + "_times_" + Twine(arguments.size())).str();
  SmallVector<Type> shared = llvm::map_to_vector(
      kernel.getWorkgroupAttributions(), [](BlockArgument memory) { return memory.getType(); });
  known = gpu::GPUFuncOp::create(builder, loc, name, builder.getFunctionType(types, {}), shared);
  known->setDiscardableAttrs(kernel->getDiscardableAttrDictionary());
  known.setWorkgroupAttribAttrsAttr(kernel.getWorkgroupAttribAttrsAttr());
  SymbolTable::setSymbolName(known, name);
  known->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  // The cost counts buffers that launches share once per launch.
  for (StringRef name : {kBytesAttr, kProductFlopsAttr})
    if (auto each = kernel->getAttrOfType<FloatAttr>(name))
      known->setAttr(name, builder.getF64FloatAttr(each.getValueAsDouble() *
                                                   static_cast<double>(arguments.size())));
  known.setKnownBlockSizeAttr(kernel.getKnownBlockSizeAttr());
  const int32_t blocks = kernel.getKnownGridSize()->front();
  known.setKnownGridSize(ArrayRef<int32_t>{blocks * static_cast<int32_t>(arguments.size()), 1, 1});
  symbols.insert(known);

  builder.setInsertionPointToStart(&known.getBody().front());
  Value block = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  Value size = arith::ConstantIndexOp::create(builder, loc, blocks);
  Value instance = arith::DivUIOp::create(builder, loc, block, size);
  Value own = arith::RemUIOp::create(builder, loc, block, size);
  // Arguments that all launches share need no selection.
  SmallVector<unsigned> different;
  IRMapping mapping;
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i) {
    if (llvm::any_of(arguments, [&](const auto &launch) { return launch[i] != arguments[0][i]; }))
      different.push_back(i);
    else
      mapping.map(kernel.getArgument(i), known.getArgument(arguments[0][i]));
  }
  for (auto [memory, own] :
       llvm::zip_equal(kernel.getWorkgroupAttributions(), known.getWorkgroupAttributions()))
    mapping.map(memory, own);
  SmallVector<SmallVector<Value>> values;
  for (const SmallVector<unsigned> &launch : arguments)
    values.push_back(llvm::map_to_vector(
        different, [&](unsigned i) -> Value { return known.getArgument(launch[i]); }));
  for (auto [i, value] : llvm::zip_equal(different, choose(builder, loc, instance, 0, values)))
    mapping.map(kernel.getArgument(i), value);
  for (Operation &op : kernel.getBody().front())
    builder.clone(op, mapping);
  known.walk([&](gpu::BlockIdOp op) {
    if (op.getResult() == block)
      return;
    op.replaceAllUsesWith(own);
    op.erase();
  });
  return known;
}

void Merger::merge(Group &group) {
  if (group.launches.size() < 2)
    return;
  SmallVector<SmallVector<unsigned>> arguments;
  for (ArrayRef<Buffer> buffers : group.buffers)
    arguments.push_back(llvm::map_to_vector(
        buffers, [&](const Buffer &buffer) { return group.numbers.at(buffer); }));
  gpu::GPUFuncOp kernel = mergedKernel(group, arguments);
  gpu::LaunchFuncOp first = group.launches.front();
  OpBuilder builder(first);
  Location loc = first.getLoc();
  SmallVector<Value> operands(group.numbers.size());
  for (auto [launch, numbers] : llvm::zip_equal(group.launches, arguments))
    for (auto [operand, number] : llvm::zip_equal(launch.getKernelOperands(), numbers)) {
      if (operands[number])
        continue;
      auto view = operand.getDefiningOp<memref::ViewOp>();
      Value memory = view.getSource();
      if (Operation *scratch = memory.getDefiningOp())
        memory = builder.clone(*scratch)->getResult(0);
      Value offset = builder.clone(*view.getByteShift().getDefiningOp())->getResult(0);
      operands[number] =
          memref::ViewOp::create(builder, loc, view.getType(), memory, offset, ValueRange());
    }
  auto size = [&](int64_t x) {
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    return gpu::KernelDim3{arith::ConstantIndexOp::create(builder, loc, x), one, one};
  };
  auto merged =
      gpu::LaunchFuncOp::create(builder, loc, kernel, size(kernel.getKnownGridSize()->front()),
                                size(kernel.getKnownBlockSize()->front()), Value(), operands);
  merged->setDiscardableAttrs(first->getDiscardableAttrDictionary());
  for (gpu::LaunchFuncOp launch : group.launches)
    launch.erase();
  numMerged += static_cast<int64_t>(group.launches.size());
}

// ---- the pass -----------------------------------------------------------------------------------

namespace {
struct MergeLaunches : mlir::cuda::impl::MergeLaunchesBase<MergeLaunches> {
  using MergeLaunchesBase::MergeLaunchesBase;

  void runOnOperation() override {
    Merger merger;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        merger.mergeIn(function.getBody().front());
    numMerged += merger.numMerged;
    DenseSet<Attribute> used;
    getOperation().walk([&](gpu::LaunchFuncOp launch) { used.insert(launch.getKernel()); });
    for (auto kernels : getOperation().getOps<gpu::GPUModuleOp>())
      for (auto kernel : llvm::make_early_inc_range(kernels.getOps<gpu::GPUFuncOp>()))
        if (!used.contains(
                SymbolRefAttr::get(kernels.getSymNameAttr(),
                                   FlatSymbolRefAttr::get(SymbolTable::getSymbolName(kernel)))))
          kernel.erase();
  }
};
} // namespace
