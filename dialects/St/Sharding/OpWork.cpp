#include "dialects/St/Sharding/OpWork.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Sharding/OpSharding.h"
#include "dialects/St/Sharding/ReshardCost.h"
#include "dialects/St/Utils/Collectives.h"
#include "lib/Costs/DeviceCosts.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::st;

std::unique_ptr<::st::Costs> mlir::st::makeCosts(MeshOp mesh) {
  auto module = mesh->getParentOfType<ModuleOp>();
  auto speed = module ? module->getAttrOfType<SpeedAttr>(kSpeedAttr) : SpeedAttr();
  if (!speed)
    return std::make_unique<::st::DeviceCosts>(
        ::st::DevicePeaks::unit(static_cast<int>(mesh.getAxisSizes().size())));
  auto perUs = [](int64_t perNs) { return 1e3 * static_cast<double>(std::max<int64_t>(perNs, 1)); };
  ::st::DevicePeaks peaks;
  peaks.flops = perUs(speed.getFlopsPerNs());
  peaks.flops16 = perUs(speed.getFlops16PerNs());
  peaks.vectorBytes = perUs(speed.getVectorBytesPerNs());
  peaks.memoryBytes = perUs(speed.getBytesPerNs());
  for (int64_t rate : speed.getLinkBytesPerUs().asArrayRef())
    peaks.linkBytes.push_back(static_cast<double>(rate));
  peaks.launchUs = static_cast<double>(speed.getKernelNs()) / 1e3;
  peaks.messageUs = static_cast<double>(speed.getLinkNs()) / 1e3;
  return std::make_unique<::st::DeviceCosts>(std::move(peaks));
}

/// Number of products summed per element of the result; 0 if the op is no product. Each element is
/// a sum over the factors that do not index the result.
static double getContracted(const ShardingRule &rule) {
  if (rule.linearity != ShardingRule::Linearity::Separately || rule.linearOperands.size() != 2 ||
      rule.results.size() != 1)
    return 0;
  SmallVector<bool> isContracted(rule.factors.size(), true);
  for (ArrayRef<int64_t> dim : rule.results[0])
    for (int64_t factor : dim)
      isContracted[factor] = false;
  double contracted = 1;
  for (auto [factor, isSummed] : llvm::zip_equal(rule.factors, isContracted))
    if (isSummed)
      contracted *= static_cast<double>(factor.size);
  return contracted > 1 ? contracted : 0;
}

/// The type of elements of this width, as far as costs distinguish types.
static ::st::proto::ElementType protoType(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.isBF16())
    return ::st::proto::BF16;
  if (element.isF16())
    return ::st::proto::F16;
  switch (elementBytes(element)) {
  case 1:
    return ::st::proto::U8;
  case 2:
    return ::st::proto::U16;
  case 4:
    return isa<FloatType>(element) ? ::st::proto::F32 : ::st::proto::U32;
  default:
    return isa<FloatType>(element) ? ::st::proto::F64 : ::st::proto::U64;
  }
}

::st::proto::OpWork mlir::st::workInKernel(Operation *op) {
  return workInKernel(op, getShardingRule(op));
}

::st::proto::OpWork mlir::st::workInKernel(Operation *op, const ShardingRule &rule) {
  ::st::proto::OpWork work;
  double elements = 0;
  for (Value result : op->getResults())
    if (auto type = dyn_cast<RankedTensorType>(result.getType())) {
      elements += static_cast<double>(type.getNumElements());
      work.set_type(protoType(type));
    }
  if (double contracted = getContracted(rule)) {
    work.set_kind(::st::proto::OpWork::PRODUCT);
    work.set_type(protoType(op->getOperand(0).getType()));
    work.set_flops(2 * elements * contracted);
  } else {
    work.set_flops(elements);
  }
  return work;
}

/// The sum of the work of a kernel's ops.
static ::st::proto::OpWork workWithin(KernelOp kernel) {
  ::st::proto::OpWork sum;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    ::st::proto::OpWork work = workInKernel(&op);
    if (work.kind() == sum.kind()) {
      sum.set_flops(sum.flops() + work.flops());
      sum.set_type(work.type());
    } else if (work.kind() == ::st::proto::OpWork::PRODUCT) {
      sum = std::move(work);
    }
  }
  return sum;
}

static double bytesOf(ValueRange values) {
  double bytes = 0;
  for (Value value : values)
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      bytes += static_cast<double>(type.getNumElements() * elementBytes(type));
  return bytes;
}

::st::proto::OpWork mlir::st::workOf(Operation *op) { return workOf(op, getShardingRule(op)); }

::st::proto::OpWork mlir::st::workOf(Operation *op, const ShardingRule &rule) {
  auto kernel = dyn_cast<KernelOp>(op);
  ::st::proto::OpWork work = kernel ? workWithin(kernel) : workInKernel(op, rule);
  work.set_read_bytes(bytesOf(op->getOperands()));
  work.set_written_bytes(bytesOf(op->getResults()));
  return work;
}

absl::string_view mlir::st::kindOfCollective(Operation *op) {
  StringRef name = op->getName().stripDialect();
  return {name.data(), name.size()};
}

::st::GroupPlacement mlir::st::groupOfCollective(Operation *op, const MeshAxes &axes) {
  SmallVector<Axis> along;
  for (auto name : op->getAttrOfType<ArrayAttr>("axes").getAsRange<StringAttr>())
    if (std::optional<Axis> axis = axes.lookup(name))
      along.push_back(*axis);
  return axes.placeGroup(along);
}

double mlir::st::timeOfBytes(absl::string_view kind, double bytes, ArrayRef<Axis> along,
                             const MeshAxes &axes) {
  auto time = [&](double sent) {
    return axes.costs().collective(kind, sent, axes.placeGroup(along)).total();
  };
  return time(bytes) - time(0);
}

::st::OpTime mlir::st::timeOfCollective(Operation *op, const MeshAxes &axes) {
  ValueRange full =
      isa<AllGatherOp>(op) ? ValueRange(op->getResults()) : ValueRange(op->getOperands());
  return axes.costs().collective(kindOfCollective(op), bytesOf(full), groupOfCollective(op, axes));
}

double mlir::st::timeInTask(Operation *op, const MeshAxes &axes) {
  if (isCollective(op))
    return timeOfCollective(op, axes).total();
  return axes.costs().op(workInKernel(op)).device;
}
