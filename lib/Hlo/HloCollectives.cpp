// Collectives, and the shardings of their operands.
#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Hlo/HloToStableHlo.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::st;
namespace hlo = ::st::hlo;
namespace sh = mlir::stablehlo;

/// A larger number means that the file is damaged.
static constexpr int64_t kMaxDevices = 1 << 20;

/// The numbers of an iota of shape `dims`, transposed; std::nullopt if those do not fit.
static std::optional<SmallVector<int64_t>> transposedIota(ArrayRef<int64_t> dims,
                                                          ArrayRef<int32_t> permutation) {
  int64_t count = 1;
  for (int64_t dim : dims) {
    if (dim < 1 || dim > kMaxDevices || count > kMaxDevices / dim)
      return std::nullopt;
    count *= dim;
  }
  SmallVector<int64_t> order(permutation.begin(), permutation.end()), sorted;
  if (order.empty())
    order = llvm::to_vector(llvm::seq<int64_t>(0, dims.size()));
  sorted = order;
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, dims.size())))
    return std::nullopt;
  SmallVector<int64_t> strides(dims.size(), 1), numbers(count);
  for (size_t i = dims.size(); i-- > 1;)
    strides[i - 1] = strides[i] * dims[i];
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    for (size_t j = order.size(); j-- > 0;) {
      numbers[i] += rest % dims[order[j]] * strides[order[j]];
      rest /= dims[order[j]];
    }
  }
  return numbers;
}

FailureOr<DenseIntElementsAttr> HloToStableHlo::replicaGroups(const hlo::Instruction &at) {
  auto make = [&](int64_t rows, int64_t columns, ArrayRef<int64_t> numbers) {
    auto type = RankedTensorType::get({rows, columns}, builder.getI64Type());
    return DenseIntElementsAttr::get(type, numbers);
  };
  const hlo::CollectiveDeviceList &list = at.collective_device_list();
  if (list.has_iota_replica_groups()) {
    const hlo::IotaReplicaGroups &iota = list.iota_replica_groups();
    const auto &order = iota.iota_transpose_perm();
    auto numbers = transposedIota(toArray(iota.iota_reshape_dims()),
                                  {order.data(), static_cast<size_t>(order.size())});
    int64_t rows = iota.num_replica_groups(), columns = iota.num_devices_per_group();
    if (!numbers || rows < 1 || columns < 1 || rows > kMaxDevices || columns > kMaxDevices ||
        rows * columns != static_cast<int64_t>(numbers->size()))
      return error(at) << "has replica groups of inconsistent sizes";
    devices = std::max<int64_t>(devices, numbers->size());
    return make(rows, columns, *numbers);
  }
  const auto &groups = at.replica_groups().empty() ? list.replica_groups() : at.replica_groups();
  int64_t columns = 0;
  for (const hlo::ReplicaGroup &group : groups)
    columns = std::max<int64_t>(columns, group.replica_ids_size());
  if (columns * groups.size() > kMaxDevices)
    return error(at) << "has more than " << kMaxDevices << " devices";
  SmallVector<int64_t> numbers;
  for (const hlo::ReplicaGroup &group : groups) {
    for (int64_t id : group.replica_ids()) {
      if (id < 0 || id >= kMaxDevices)
        return error(at) << "names device " << id;
      devices = std::max(devices, id + 1);
      numbers.push_back(id);
    }
    // A smaller group is padded with -1, which stands for no device.
    numbers.append(columns - group.replica_ids_size(), -1);
  }
  return make(columns == 0 ? 0 : groups.size(), columns, numbers);
}

LogicalResult HloToStableHlo::addCollective(const hlo::Instruction &at, ValueRange operands,
                                            OperationState &state) {
  StringRef opcode = at.opcode();
  if (at.channel_id() > 0)
    state.addAttribute("channel_handle",
                       sh::ChannelHandleAttr::get(context, at.channel_id(), /*type=*/1));
  if (opcode == "collective-permute") {
    SmallVector<int64_t> numbers;
    for (const hlo::SourceTarget &pair : at.source_target_pairs()) {
      for (int64_t id : {pair.source(), pair.target()})
        if (id < 0 || id >= kMaxDevices)
          return error(at) << "names device " << id;
      devices = std::max({devices, pair.source() + 1, pair.target() + 1});
      numbers.append({pair.source(), pair.target()});
    }
    auto type = RankedTensorType::get({at.source_target_pairs_size(), 2}, builder.getI64Type());
    state.addAttribute("source_target_pairs",
                       DenseIntElementsAttr::get(type, ArrayRef<int64_t>(numbers)));
    return success();
  }
  FailureOr<DenseIntElementsAttr> groups = replicaGroups(at);
  if (failed(groups))
    return failure();
  state.addAttribute("replica_groups", *groups);
  if (opcode == "collective-broadcast")
    return success();
  if (at.use_global_device_ids() && opcode != "all-to-all")
    state.addAttribute("use_global_device_ids", builder.getUnitAttr());
  if (opcode == "all-reduce")
    return success();
  if (at.dimensions_size() != 1 || (opcode != "all-gather" && operands.size() != 1))
    return error(at) << "has " << at.dimensions_size() << " dimensions and " << operands.size()
                     << " operands, expected one";
  if (opcode == "all-to-all") {
    addNumber(state, "split_dimension", at.dimensions(0));
    addNumber(state, "concat_dimension", at.dimensions(0));
    addNumber(state, "split_count", groups->getType().getDimSize(1));
  } else {
    addNumber(state, opcode == "all-gather" ? "all_gather_dim" : "scatter_dimension",
              at.dimensions(0));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

std::string mlir::st::textOfSharding(const hlo::OpSharding &sharding) {
  if (!sharding.text().empty())
    return sharding.text();
  enum { kReplicated, kMaximal, kTuple, kOther, kManual, kUnknown };
  std::string text, group;
  llvm::raw_string_ostream os(text);
  if (sharding.is_shard_group())
    group = (sharding.shard_group_type() == 0 ? " shard_as " : " shard_like ") +
            std::to_string(sharding.shard_group_id());
  switch (sharding.type()) {
  case kReplicated:
    return "{replicated" + group + "}";
  case kManual:
    return "{manual" + group + "}";
  case kUnknown:
    return "{unknown" + group + "}";
  case kMaximal:
    if (sharding.tile_assignment_devices_size() == 1)
      os << "{maximal device=" << sharding.tile_assignment_devices(0) << "}";
    return text;
  case kTuple:
    os << "{";
    llvm::interleave(
        sharding.tuple_shardings(), os,
        [&](const hlo::OpSharding &part) { os << textOfSharding(part); }, ", ");
    os << "}";
    return text;
  case kOther:
    break;
  default:
    return text;
  }
  os << "{devices=[";
  llvm::interleave(sharding.tile_assignment_dimensions(), os, ",");
  os << "]";
  if (sharding.iota_reshape_dims_size() > 0) {
    os << "<=[";
    llvm::interleave(sharding.iota_reshape_dims(), os, ",");
    os << "]";
    if (sharding.iota_transpose_perm_size() > 1) {
      os << "T(";
      llvm::interleave(sharding.iota_transpose_perm(), os, ",");
      os << ")";
    }
  } else {
    llvm::interleave(sharding.tile_assignment_devices(), os, ",");
  }
  if (sharding.replicate_on_last_tile_dim())
    os << " last_tile_dim_replicate";
  if (sharding.last_tile_dims_size() > 0) {
    os << " last_tile_dims={";
    llvm::interleave(
        sharding.last_tile_dims(), os,
        [&](int32_t type) { os << (type == kManual ? "manual" : "replicated"); }, ", ");
    os << "}";
  }
  os << group << "}";
  return text;
}
