#include "dialects/St/Sharding/TensorSharding.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Sharding/OpWork.h"
#include "dialects/St/Sharding/ReshardPlans.h"

using namespace mlir;
using namespace mlir::st;

//===----------------------------------------------------------------------===//
// TensorSharding
//===----------------------------------------------------------------------===//

std::optional<int64_t> TensorSharding::dimOf(Axis axis) const {
  for (auto [dim, splits] : llvm::enumerate(dims))
    for (const Split &split : splits)
      if (split.axis == axis)
        return dim;
  return std::nullopt;
}

bool TensorSharding::isReplicated() const {
  return unreduced.empty() &&
         llvm::all_of(dims, [](const Splits &splits) { return splits.empty(); });
}

void TensorSharding::addUnreduced(Axis axis) {
  if (!isUnreducedOver(axis))
    unreduced.insert(llvm::upper_bound(unreduced, axis), axis);
}

void TensorSharding::dropUnreduced(Axis axis) {
  llvm::erase(unreduced, axis);
  if (unreduced.empty())
    kind = ReduceKind::Sum;
}

void TensorSharding::dropAllUnreduced() {
  unreduced.clear();
  kind = ReduceKind::Sum;
}

void TensorSharding::makeContiguous() {
  for (Splits &splits : dims) {
    bool isBehind = false;
    for (Split &split : splits) {
      isBehind |= split.axis == kUnsplit;
      if (isBehind && split.axis != kMicroAxis)
        split.axis = kUnsplit;
    }
    canonicalize(splits);
  }
}

//===----------------------------------------------------------------------===//
// MeshAxes
//===----------------------------------------------------------------------===//

MeshAxes::MeshAxes(MeshOp mesh) {
  symbol = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  names.push_back(StringAttr::get(mesh.getContext(), MeshOp::kMicro));
  sizes.push_back(mesh.getMicro());
  for (auto [name, size] : llvm::zip_equal(mesh.getAxisNames(), mesh.getAxisSizes())) {
    names.push_back(cast<StringAttr>(name));
    sizes.push_back(size);
  }
  for (Axis axis = 0; axis < count(); ++axis)
    if (sizes[axis] > 1)
      usedAxes.push_back(axis);
  auto module = mesh->getParentOfType<ModuleOp>();
  if (auto speed = module ? module->getAttrOfType<SpeedAttr>(kSpeedAttr) : SpeedAttr())
    llvm::append_range(linkRates, speed.getLinkBytesPerUs().asArrayRef());
  targetCosts = makeCosts(mesh);
  planned = std::make_unique<ReshardPlans>();
}

MeshAxes::~MeshAxes() = default;

::st::GroupPlacement MeshAxes::placeGroup(ArrayRef<Axis> axes) const {
  ::st::GroupPlacement group;
  group.ranks = static_cast<int>(size(axes));
  std::optional<int64_t> slowest;
  for (Axis axis : axes) {
    if (axis == kMicroAxis || sizes[axis] == 1)
      continue;
    const int link = static_cast<int>(axis) - 1;
    // Ranks along an axis without links share a device, and do not wait for each other's transfers.
    const int64_t rate = linkRates.empty() || linkRates[link] == 0
                             ? std::numeric_limits<int64_t>::max()
                             : linkRates[link];
    if (!slowest || rate < *slowest) {
      slowest = rate;
      group.link = link;
    }
  }
  return group;
}

std::optional<Axis> MeshAxes::lookup(StringAttr name) const {
  const auto *it = llvm::find(names, name);
  if (it == names.end())
    return std::nullopt;
  return static_cast<Axis>(it - names.begin());
}

int64_t MeshAxes::size(ArrayRef<Axis> axes) const {
  int64_t product = 1;
  for (Axis axis : axes)
    product *= sizes[axis];
  return product;
}

ArrayAttr MeshAxes::namesOf(ArrayRef<Axis> axes) const {
  SmallVector<Attribute> result;
  for (Axis axis : axes)
    result.push_back(names[axis]);
  return ArrayAttr::get(symbol.getContext(), result);
}

TensorSharding MeshAxes::read(ShardingAttr sharding) const {
  TensorSharding result(sharding.getRank());
  for (auto [dim, parts] : llvm::enumerate(sharding.getDims())) {
    Splits &splits = result.dims[dim];
    for (Attribute part : parts) {
      if (auto unsplit = dyn_cast<IntegerAttr>(part))
        splits.push_back({kUnsplit, unsplit.getInt()});
      else if (std::optional<Axis> axis = lookup(cast<StringAttr>(part)); axis && size(*axis) > 1)
        splits.push_back({*axis, size(*axis)});
    }
    canonicalize(splits);
  }
  for (StringAttr name : sharding.getUnreduced())
    if (std::optional<Axis> axis = lookup(name); axis && size(*axis) > 1)
      result.unreduced.push_back(*axis);
  if (!result.unreduced.empty())
    result.kind = sharding.getKind();
  return result;
}

ShardingAttr MeshAxes::write(const TensorSharding &sharding) const {
  MLIRContext *context = symbol.getContext();
  Builder builder(context);
  SmallVector<ArrayAttr> dims;
  for (const Splits &splits : sharding.dims) {
    SmallVector<Attribute> parts;
    for (const Split &split : splits)
      parts.push_back(split.axis == kUnsplit ? Attribute(builder.getI64IntegerAttr(split.size))
                                             : Attribute(names[split.axis]));
    dims.push_back(builder.getArrayAttr(parts));
  }
  SmallVector<StringAttr> unreduced;
  for (Axis axis : sharding.unreduced)
    unreduced.push_back(names[axis]);
  return ShardingAttr::get(context, symbol, dims, sharding.kind, unreduced);
}

TensorSharding MeshAxes::read(Value value) const {
  if (ShardingAttr sharding = getSharding(value))
    return read(sharding);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return TensorSharding(type ? type.getRank() : 0);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

SmallVector<int64_t> mlir::st::localShape(ArrayRef<int64_t> shape, const TensorSharding &sharding) {
  SmallVector<int64_t> local(shape);
  for (auto [size, splits] : llvm::zip_equal(local, sharding.dims))
    size /= shardCount(splits);
  return local;
}

bool mlir::st::divides(ArrayRef<int64_t> shape, const TensorSharding &sharding) {
  return llvm::all_of(llvm::zip_equal(shape, sharding.dims), [](auto pair) {
    return std::get<0>(pair) % productOfSizes(std::get<1>(pair)) == 0;
  });
}

bool mlir::st::fits(ArrayRef<int64_t> shape, const TensorSharding &sharding) {
  return llvm::all_of(llvm::zip_equal(shape, sharding.dims), [](auto pair) {
    return std::get<0>(pair) >= productOfSizes(std::get<1>(pair));
  });
}

bool mlir::st::fitsDevices(ArrayRef<int64_t> shape, const TensorSharding &sharding) {
  return llvm::all_of(llvm::zip_equal(shape, sharding.dims),
                      [](auto pair) { return std::get<0>(pair) >= shardCount(std::get<1>(pair)); });
}
