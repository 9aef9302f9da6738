#include "plugins/pjrt/compile/Ports.h"

#include "dialects/Sdy/SdyDialect.h"

#include "plugins/pjrt/runtime/ArrayType.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;

namespace st::pjrt {

// ---- types ------------------------------------------------------------------------------------

static PJRT_Buffer_Type integerType(IntegerType type) {
  const bool isUnsigned = type.isUnsigned();
  switch (type.getWidth()) {
  case 1:
    return PJRT_Buffer_Type_PRED;
  case 2:
    return isUnsigned ? PJRT_Buffer_Type_U2 : PJRT_Buffer_Type_S2;
  case 4:
    return isUnsigned ? PJRT_Buffer_Type_U4 : PJRT_Buffer_Type_S4;
  case 8:
    return isUnsigned ? PJRT_Buffer_Type_U8 : PJRT_Buffer_Type_S8;
  case 16:
    return isUnsigned ? PJRT_Buffer_Type_U16 : PJRT_Buffer_Type_S16;
  case 32:
    return isUnsigned ? PJRT_Buffer_Type_U32 : PJRT_Buffer_Type_S32;
  case 64:
    return isUnsigned ? PJRT_Buffer_Type_U64 : PJRT_Buffer_Type_S64;
  default:
    return PJRT_Buffer_Type_INVALID;
  }
}

static PJRT_Buffer_Type elementType(Type type) {
  return llvm::TypeSwitch<Type, PJRT_Buffer_Type>(type)
      .Case<IntegerType>(integerType)
      .Case<Float16Type>([](auto) { return PJRT_Buffer_Type_F16; })
      .Case<Float32Type>([](auto) { return PJRT_Buffer_Type_F32; })
      .Case<Float64Type>([](auto) { return PJRT_Buffer_Type_F64; })
      .Case<BFloat16Type>([](auto) { return PJRT_Buffer_Type_BF16; })
      .Case<ComplexType>([](ComplexType complex) {
        return complex.getElementType().isF64() ? PJRT_Buffer_Type_C128 : PJRT_Buffer_Type_C64;
      })
      .Default([](Type) { return PJRT_Buffer_Type_INVALID; });
}

absl::Status addPort(Type type, const std::string &what, proto::PluginPort &port) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  const PJRT_Buffer_Type element =
      tensor ? elementType(tensor.getElementType()) : PJRT_Buffer_Type_INVALID;
  std::string text;
  llvm::raw_string_ostream(text) << type;
  if (element == PJRT_Buffer_Type_INVALID || byteWidth(element) == 0 ||
      (isa<IntegerType>(tensor.getElementType()) &&
       tensor.getElementType().getIntOrFloatBitWidth() < 8 &&
       !tensor.getElementType().isInteger(1)))
    return absl::UnimplementedError(
        absl::StrCat(what, " is ", text,
                     ": expected a tensor of pred, of integers of 8 to 64 bits, of f16, "
                     "bf16, f32 or f64, or of complex numbers"));
  if (!tensor.hasStaticShape())
    return absl::UnimplementedError(absl::StrCat(what, " is ", text, ": expected a static shape"));
  port.set_type(element);
  for (int64_t dim : tensor.getShape())
    port.add_dims(dim);
  return absl::OkStatus();
}

absl::Status addPorts(ModuleOp module, proto::PluginProgram &program) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (!function)
    return absl::InvalidArgumentError("the module has no function @main");
  program.set_name(module.getName().value_or("main").str());
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    proto::PluginPort &port = *program.add_arguments();
    if (absl::Status status = addPort(type, absl::StrCat("argument ", i), port); !status.ok())
      return status;
    auto donor = function.getArgAttrOfType<BoolAttr>(i, "jax.buffer_donor");
    port.set_is_donated(function.getArgAttr(i, "tf.aliasing_output") ||
                        (donor && donor.getValue()));
  }
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    if (absl::Status status = addPort(type, absl::StrCat("result ", i), *program.add_results());
        !status.ok())
      return status;
  return absl::OkStatus();
}

void takeDeviceOrders(ModuleOp module, proto::PluginProgram &program) {
  llvm::StringMap<SmallVector<int64_t>> orders;
  for (auto op : module.getOps<sdy::MeshOp>()) {
    sdy::MeshAttr mesh = op.getMesh();
    ArrayRef<int64_t> ids = mesh.getDeviceIds();
    if (mesh.getAxes().empty() || llvm::equal(ids, llvm::seq<int64_t>(0, ids.size())))
      continue;
    orders[op.getSymName()] = SmallVector<int64_t>(ids);
    op.setMeshAttr(sdy::MeshAttr::get(module.getContext(), mesh.getAxes(), mesh.getSizes(), {}));
  }
  auto function = module.lookupSymbol<func::FuncOp>("main");
  const auto note = [&](Attribute attribute, proto::PluginPort &port) {
    auto sharding = dyn_cast_or_null<sdy::TensorShardingAttr>(attribute);
    if (auto it = sharding ? orders.find(sharding.getMesh().getValue()) : orders.end();
        it != orders.end())
      port.mutable_device_order()->Add(it->second.begin(), it->second.end());
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    note(function.getArgAttr(i, "sdy.sharding"), *program.mutable_arguments(static_cast<int>(i)));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    note(function.getResultAttr(i, "sdy.sharding"), *program.mutable_results(static_cast<int>(i)));
}

// ---- places -----------------------------------------------------------------------------------

/// Converts parts by rank to an HLO sharding: tiles in row-major order, each with the ranks that
/// hold it.
static hlo::OpSharding shardingOf(const proto::Slice &slice, int64_t rank, int64_t ranks,
                                  absl::Span<const int64_t> order) {
  int64_t tiles = 1;
  hlo::OpSharding sharding;
  for (int64_t dim = 0; dim < rank; ++dim) {
    sharding.add_tile_assignment_dimensions(slice.counts(static_cast<int>(dim)));
    tiles *= slice.counts(static_cast<int>(dim));
  }
  std::vector<std::vector<int64_t>> holders(static_cast<size_t>(tiles));
  for (int64_t r = 0; r < ranks; ++r) {
    int64_t tile = 0;
    for (int64_t dim = 0; dim < rank; ++dim)
      tile = tile * slice.counts(static_cast<int>(dim)) +
             slice.parts(static_cast<int>(r * slice.counts_size() + dim));
    holders[static_cast<size_t>(tile)].push_back(order.empty() ? r : order[static_cast<size_t>(r)]);
  }
  sharding.set_type(3);
  if (ranks > tiles) {
    sharding.add_tile_assignment_dimensions(ranks / tiles);
    sharding.set_replicate_on_last_tile_dim(true);
  }
  for (const std::vector<int64_t> &tile : holders)
    for (int64_t r : tile)
      sharding.add_tile_assignment_devices(r);
  return sharding;
}

/// `slice`: null if the program lacks the port; the port is then replicated.
static absl::Status place(const proto::Slice *slice, int64_t ranks, proto::PluginPort &port) {
  *port.mutable_local() = port.dims();
  if (!slice || ranks == 1)
    return absl::OkStatus();
  if (port.device_order_size() > 0 && port.device_order_size() != ranks)
    return absl::InvalidArgumentError(
        absl::StrCat("a mesh of ", port.device_order_size(), " devices in a program for ", ranks));
  const int rank = port.dims_size();
  const bool isDense = slice->local().empty() && slice->view().empty() && slice->rows() == 0;
  // Complex numbers have an additional dimension in the program, which must not be sharded.
  const bool splitsPairs = slice->counts_size() > rank && slice->counts(rank) != 1;
  if (!isDense || splitsPairs) {
    port.set_is_recut(true);
    return absl::OkStatus();
  }
  bool isSplit = false;
  for (int dim = 0; dim < rank && dim < slice->counts_size(); ++dim) {
    isSplit |= slice->counts(dim) > 1;
    port.set_local(dim, port.dims(dim) / slice->counts(dim));
  }
  if (isSplit)
    *port.mutable_sharding() = shardingOf(*slice, rank, ranks, port.device_order());
  return absl::OkStatus();
}

template <typename Ports>
static absl::Status placeAll(const Ports &from, absl::string_view prefix, int64_t ranks,
                             google::protobuf::RepeatedPtrField<proto::PluginPort> &ports) {
  std::vector<const proto::Slice *> slices(static_cast<size_t>(ports.size()));
  for (const auto &port : from) {
    absl::string_view name = port.name();
    uint64_t number = 0;
    if (absl::ConsumePrefix(&name, prefix) && absl::SimpleAtoi(name, &number) &&
        number < slices.size())
      slices[number] = &port.slice();
  }
  for (int i = 0; i < ports.size(); ++i)
    if (absl::Status status = place(slices[static_cast<size_t>(i)], ranks, ports[i]); !status.ok())
      return status;
  return absl::OkStatus();
}

absl::Status placePorts(proto::PluginProgram &program) {
  if (program.code().groups_size() != 1)
    return absl::InternalError(
        absl::StrCat("the program has ", program.code().groups_size(), " device groups, not 1"));
  const proto::Group &group = program.code().groups(0);
  const int64_t ranks = group.device_ids_size();
  if (absl::Status status = placeAll(group.inputs(), "arg", ranks, *program.mutable_arguments());
      !status.ok())
    return status;
  return placeAll(group.outputs(), "result", ranks, *program.mutable_results());
}

std::string printSharding(const hlo::OpSharding &sharding) {
  if (sharding.tile_assignment_dimensions().empty())
    return "{replicated}";
  return absl::StrCat("{devices=[", absl::StrJoin(sharding.tile_assignment_dimensions(), ","), "]",
                      absl::StrJoin(sharding.tile_assignment_devices(), ","),
                      sharding.replicate_on_last_tile_dim() ? " last_tile_dim_replicate" : "", "}");
}

} // namespace st::pjrt
