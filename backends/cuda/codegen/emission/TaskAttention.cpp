#include "backends/cuda/IR/CudaDialect.h"
#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/attention/CrossingProduct.h"
#include "backends/cuda/codegen/emission/TaskConverter.h"
#include "dialects/StableHLO/Utils/ProductStrides.h"

using namespace mlir;
using namespace mlir::cuda;

/// Returns true if two places have bytes in common in any two micro-batches.
static bool overlap(const Place &one, const Place &other) {
  auto endOf = [](const Place &place) {
    return place.address.getOffset() + (place.address.getSlots() - 1) * place.address.getStride() +
           place.bytes();
  };
  return one.isScratch == other.isScratch && one.address.getOffset() < endOf(other) &&
         other.address.getOffset() < endOf(one);
}

/// cuDNN reads 16 bytes per access, and writes one result while it reads operands of another. The
/// memory plan assumes that the kernels run one after the other.
static std::string findObstacle(ArrayRef<mlir::st::KernelOp> kernels,
                                ArrayRef<SmallVector<Place>> places) {
  for (const SmallVector<Place> &ofKernel : places)
    for (const Place &place : ofKernel)
      if (place.alignment() != kMaxAlignment)
        return "its places are not aligned to 16 bytes";
  for (size_t producer = 0; producer < kernels.size(); ++producer)
    for (size_t consumer = 0; consumer < kernels.size(); ++consumer) {
      mlir::st::KernelOp consumerOp = kernels[consumer], producerOp = kernels[producer];
      ArrayRef<Place> results = places[producer], inputs = places[consumer];
      for (const Place &result : results.drop_front(producerOp.getInputs().size()))
        for (auto [input, place] : llvm::zip(consumerOp.getInputs(), inputs))
          if (!llvm::is_contained(kernels, input.getDefiningOp()) && overlap(result, place))
            return "a result overlaps an operand of its kernels";
    }
  return "";
}

LogicalResult TaskConverter::convertAttentionKernel(st::KernelOp kernel, ArrayRef<Place> places) {
  if (attention.usesCudnn) {
    SmallVector<st::KernelOp> kernels{kernel};
    // Attention is one fused kernel, and its gradient two.
    Operation *after = kernel->getNextNode();
    while (isa_and_nonnull<stablehlo::ReshapeOp>(after))
      after = after->getNextNode();
    auto next = dyn_cast_or_null<st::KernelOp>(after);
    if (next && next.getKind() == "attention" && llvm::is_contained(kernel->getUsers(), next))
      kernels.push_back(next);
    FailureOr<bool> isAttention = convertAttention(kernels);
    if (failed(isAttention))
      return failure();
    if (*isAttention)
      return success();
  }
  return launchAttentionKernel(kernel, places);
}

SmallVector<std::pair<int64_t, RankedTensorType>>
mlir::cuda::getSerialBuffers(mlir::st::KernelOp kernel) {
  auto isCrossing = [](stablehlo::DotGeneralOp dot) {
    return !isa<BlockArgument>(dot.getLhs()) && !mlir::st::contractsRows(dot);
  };
  auto products = kernel.getBody().front().getOps<stablehlo::DotGeneralOp>();
  if (kernel.getKind() != "attention" || llvm::none_of(products, isCrossing))
    return {};
  FailureOr<FusedAttention> fused = analyzeAttention(kernel);
  if (failed(fused) || fused->crossing.empty())
    return {};
  Builder builder(kernel.getContext());
  auto sums = RankedTensorType::get({countCrossingSums(*fused)}, builder.getF32Type());
  auto semaphores = RankedTensorType::get({countCrossingSemaphores(*fused)}, builder.getI32Type());
  return {{0, sums}, {Place{{}, sums}.bytes(), semaphores}};
}

LogicalResult TaskConverter::launchAttentionKernel(st::KernelOp kernel, ArrayRef<Place> places) {
  SmallVector<Place> all(places);
  for (const auto &[offset, type] : getSerialBuffers(kernel)) {
    auto address = mlir::st::AddressAttr::get(kernel.getContext(), offset, 0, 1);
    all.push_back({address, type, /*isScratch=*/true});
    scratchBytes = std::max(scratchBytes, offset + all.back().bytes());
  }
  if (all.size() > places.size() &&
      failed(
          launchGenerated(kernel, "loop", {}, all.back(), [&](OpBuilder &ir, ValueRange) -> Value {
            auto zero = DenseElementsAttr::get(all.back().type, ir.getI32IntegerAttr(0));
            return stablehlo::ConstantOp::create(ir, kernel.getLoc(), zero);
          })))
    return failure();
  return launch(kernel, all);
}

FailureOr<bool> TaskConverter::convertAttention(ArrayRef<st::KernelOp> kernels) {
  SmallVector<SmallVector<Place>> places;
  for (st::KernelOp kernel : kernels) {
    FailureOr<SmallVector<Place>> own = placesOf(kernel);
    if (failed(own))
      return failure();
    places.push_back(std::move(*own));
  }
  std::string reason;
  FailureOr<Attention> found = failure();
  if (kernels.size() == 2)
    found = matchAttentionGradient(kernels[0], kernels[1], reason);
  else
    found = getSerialBuffers(kernels[0]).empty() ? matchAttention(kernels[0], reason)
                                                 : matchJoinedGradient(kernels[0], reason);
  if (failed(found) && reason.empty())
    return failure();
  if (succeeded(found))
    reason = findObstacle(kernels, places);
  if (reason.empty()) {
    isConverted = kernels.back();
    if (failed(emitAttention(kernels, *found, places)))
      return failure();
    return true;
  }
  if (attention.explains)
    kernels.front()->emitRemark() << "is not attention as cuDNN computes it: " << reason;
  return false;
}

static Value skipReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<stablehlo::ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

/// Returns true if only these kernels read an op's results, or reshapes of them.
static bool isReadOnlyBy(Operation *op, const DenseSet<Operation *> &kernels) {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    return kernels.contains(user) ||
           (isa<stablehlo::ReshapeOp>(user) && isReadOnlyBy(user, kernels));
  });
}

/// Adds the places that an op of a task writes. Returns false if they are unknown.
static bool addWritten(Operation &op, llvm::function_ref<bool(Value)> addResult,
                       llvm::function_ref<bool(mlir::st::WriteOp)> addTarget) {
  if (isa<mlir::st::ReadOp, stablehlo::ConstantOp>(op))
    return true;
  if (auto write = dyn_cast<mlir::st::WriteOp>(op))
    return addTarget(write);
  return isa<mlir::st::KernelOp, stablehlo::ReshapeOp, mlir::st::AxisIndexOp>(op) &&
         op.hasAttr("st.addresses") && llvm::all_of(op.getResults(), addResult);
}

/// For example, moves launches that compute row values which only the generated kernel of a
/// gradient reads. A moved launch runs later than the memory plan assumes, so no op in between may
/// write to the places that it reads or writes.
LogicalResult TaskConverter::moveLaunches(ArrayRef<st::KernelOp> kernels, ValueRange readByCudnn,
                                          Block &body) {
  DenseSet<Operation *> moved(kernels.begin(), kernels.end()), pending;
  auto addInputs = [&](st::KernelOp kernel) {
    for (Value input : kernel.getInputs())
      if (Operation *producer = skipReshapes(input).getDefiningOp(); launches.contains(producer))
        pending.insert(producer);
  };
  llvm::for_each(kernels, addInputs);
  SmallVector<Place> written;
  auto add = [&](FailureOr<Place> place) {
    if (succeeded(place))
      written.push_back(*place);
    return succeeded(place);
  };
  st::KernelOp first = kernels.front();
  for (Operation *op = first->getPrevNode(); op && !pending.empty(); op = op->getPrevNode()) {
    if (pending.erase(op)) {
      auto kernel = cast<st::KernelOp>(op);
      gpu::LaunchFuncOp kernelLaunch = launches.lookup(op);
      FailureOr<SmallVector<Place>> places = placesOf(kernel);
      if (failed(places))
        return failure();
      const bool isFree = llvm::none_of(*places, [&](const Place &place) {
        return llvm::any_of(written, [&](const Place &other) { return overlap(place, other); });
      });
      if (isFree && !kernelLaunch->hasAttr(kLeftByUpdateAttr) && isReadOnlyBy(op, moved) &&
          llvm::none_of(readByCudnn, [&](Value value) {
            return value && skipReshapes(value).getDefiningOp() == op;
          })) {
        kernelLaunch->moveBefore(&body, body.begin());
        moved.insert(op);
        addInputs(kernel);
        continue;
      }
    }
    if (!addWritten(
            *op, [&](Value result) { return add(placeOf(result)); },
            [&](st::WriteOp write) { return add(placeOfStorage(write, write.getTarget())); }))
      break;
  }
  return success();
}

LogicalResult TaskConverter::emitAttention(ArrayRef<st::KernelOp> kernels, const Attention &found,
                                           ArrayRef<SmallVector<Place>> places) {
  Location loc = kernels.front()->getLoc();
  auto viewOf = [&](Value value) {
    for (size_t i = 0; value && i < kernels.size(); ++i) {
      st::KernelOp kernel = kernels[i];
      SmallVector<Value> values(kernel.getInputs());
      llvm::append_range(values, kernel.getResults());
      if (const auto *it = llvm::find(values, value); it != values.end())
        return view(loc, places[i][it - values.begin()]);
    }
    return Value();
  };
  auto strides = [&](const Attention::Tensor &tensor) {
    return tensor.value ? builder.getDenseI64ArrayAttr({tensor.batch, tensor.head, tensor.row})
                        : DenseI64ArrayAttr();
  };
  Value q = viewOf(found.q.value), k = viewOf(found.k.value), v = viewOf(found.v.value);
  Value bias = viewOf(found.bias.value);
  Value o = viewOf(found.o.value), max = viewOf(found.max), sum = viewOf(found.sum);
  Value dO = viewOf(found.dO.value), dQ = viewOf(found.dQ.value), dK = viewOf(found.dK.value),
        dV = viewOf(found.dV.value);
  auto op = AttentionOp::create(
      builder, loc, q, k, v, bias, o, max, sum, dO, dQ, dK, dV, found.batch, found.heads,
      found.rows, found.columns, found.depth, found.width, strides(found.q), strides(found.k),
      strides(found.v), strides(found.o), strides(found.bias), strides(found.dO), strides(found.dQ),
      strides(found.dK), strides(found.dV), APFloat(found.scale), found.isCausal, found.group);
  ++numAttention;
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&op.getBody());
  const Value read[] = {found.q.value,  found.k.value, found.v.value, found.bias.value,
                        found.dO.value, found.max,     found.sum};
  if (failed(moveLaunches(kernels, read, *body)))
    return failure();
  for (auto [kernel, own] : llvm::zip_equal(kernels, places))
    if (failed(launchAttentionKernel(kernel, own)))
      return failure();
  return success();
}
