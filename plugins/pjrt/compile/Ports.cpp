#include "plugins/pjrt/compile/Ports.h"

#include "dialects/Sdy/SdyDialect.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/StableHLO/StableHLOOps.h"

#include "plugins/pjrt/runtime/ArrayType.h"
#include "plugins/pjrt/runtime/PluginDevice.h"

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
      .Case<Float8E5M2Type>([](auto) { return PJRT_Buffer_Type_F8E5M2; })
      .Case<Float8E4M3Type>([](auto) { return PJRT_Buffer_Type_F8E4M3; })
      .Case<Float8E4M3FNType>([](auto) { return PJRT_Buffer_Type_F8E4M3FN; })
      .Case<Float8E4M3B11FNUZType>([](auto) { return PJRT_Buffer_Type_F8E4M3B11FNUZ; })
      .Case<Float8E5M2FNUZType>([](auto) { return PJRT_Buffer_Type_F8E5M2FNUZ; })
      .Case<Float8E4M3FNUZType>([](auto) { return PJRT_Buffer_Type_F8E4M3FNUZ; })
      .Case<Float8E3M4Type>([](auto) { return PJRT_Buffer_Type_F8E3M4; })
      .Case<Float8E8M0FNUType>([](auto) { return PJRT_Buffer_Type_F8E8M0FNU; })
      .Case<Float4E2M1FNType>([](auto) { return PJRT_Buffer_Type_F4E2M1FN; })
      .Case<Float6E2M3FNType>([](auto) { return PJRT_Buffer_Type_F6E2M3FN; })
      .Case<Float6E3M2FNType>([](auto) { return PJRT_Buffer_Type_F6E3M2FN; })
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
  if (element == PJRT_Buffer_Type_INVALID || byteWidth(element) == 0)
    return absl::UnimplementedError(absl::StrCat(
        what, " is ", text,
        ": expected a tensor of pred, of integers of 2, 4, 8, 16, 32 or 64 bits, of floats of 4 to "
        "64 bits, or of complex numbers"));
  if (!tensor.hasStaticShape())
    return absl::UnimplementedError(absl::StrCat(what, " is ", text, ": expected a static shape"));
  port.set_type(element);
  for (int64_t dim : tensor.getShape())
    port.add_dims(dim);
  return absl::OkStatus();
}

/// The layout that a program constrains its result to, if the caller leaves it open: "{0,1}".
static StringAttr findConstrainedLayout(Value result) {
  auto call = result.getDefiningOp<stablehlo::CustomCallOp>();
  auto layouts = call && call.getCallTargetName() == "LayoutConstraint"
                     ? call->getAttrOfType<ArrayAttr>("result_layouts")
                     : nullptr;
  auto order = layouts && layouts.size() == 1 ? dyn_cast<DenseIntElementsAttr>(layouts[0])
                                              : DenseIntElementsAttr();
  if (!order)
    return nullptr;
  return StringAttr::get(result.getContext(),
                         "{" + absl::StrJoin(order.getValues<int64_t>(), ",") + "}");
}

/// Sets the memory and the layout that a caller wants for a port.
static absl::Status choosePlace(StringAttr memory, StringAttr layout, const std::string &what,
                                proto::PluginPort &port) {
  if (memory) {
    const auto *kind = llvm::find(kMemoryKinds, memory.getValue());
    if (kind == std::end(kMemoryKinds))
      return absl::InvalidArgumentError(
          absl::StrCat(what, " is in memory \"", memory.getValue().str(),
                       "\": expected device, pinned_host or unpinned_host"));
    port.set_memory(static_cast<int>(kind - std::begin(kMemoryKinds)));
  }
  if (!layout || layout.getValue() == "default" || layout.getValue() == "auto")
    return absl::OkStatus();
  StringRef text = layout.getValue();
  SmallVector<StringRef> parts;
  const bool isList = text.consume_front("{") && text.consume_back("}");
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  std::vector<bool> seen(static_cast<size_t>(port.dims_size()));
  for (StringRef part : parts) {
    uint64_t dim = 0;
    if (part.getAsInteger(10, dim) || dim >= seen.size() || seen[dim])
      break;
    seen[dim] = true;
    port.add_minor_to_major(static_cast<int64_t>(dim));
  }
  if (!isList || parts.size() != seen.size() || port.minor_to_major_size() != port.dims_size())
    return absl::UnimplementedError(absl::StrCat(what, " has layout ", layout.getValue().str(),
                                                 ": expected an order of its ", seen.size(),
                                                 " dimensions, without tiles"));
  if (llvm::equal(llvm::reverse(port.minor_to_major()), llvm::seq<int64_t>(0, port.dims_size())))
    port.clear_minor_to_major();
  return absl::OkStatus();
}

absl::Status addPorts(ModuleOp module, proto::PluginProgram &program) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (!function)
    return absl::InvalidArgumentError("the module has no function @main");
  program.set_name(module.getName().value_or("main").str());
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    proto::PluginPort &port = *program.add_arguments();
    const std::string what = absl::StrCat("argument ", i);
    if (absl::Status status = addPort(type, what, port); !status.ok())
      return status;
    if (absl::Status status =
            choosePlace(function.getArgAttrOfType<StringAttr>(i, "mhlo.memory_kind"),
                        function.getArgAttrOfType<StringAttr>(i, "mhlo.layout_mode"), what, port);
        !status.ok())
      return status;
    auto donor = function.getArgAttrOfType<BoolAttr>(i, "jax.buffer_donor");
    port.set_is_donated(function.getArgAttr(i, "tf.aliasing_output") ||
                        (donor && donor.getValue()));
  }
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    const std::string what = absl::StrCat("result ", i);
    proto::PluginPort &port = *program.add_results();
    if (absl::Status status = addPort(type, what, port); !status.ok())
      return status;
    const auto textOf = [&](StringRef name) {
      return dyn_cast_or_null<StringAttr>(function.getResultAttr(i, name));
    };
    StringAttr layout = textOf("mhlo.layout_mode");
    if (layout && layout.getValue() == "auto")
      layout = findConstrainedLayout(function.front().getTerminator()->getOperand(i));
    if (absl::Status status = choosePlace(textOf("mhlo.memory_kind"), layout, what, port);
        !status.ok())
      return status;
  }
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

/// The number of dimensions that the program's tensor has before those of the port: one for each
/// axis over which the port is unreduced. Complex numbers have one more at the end.
static int leadingDims(const proto::Slice &slice, const proto::PluginPort &port) {
  const bool isComplex =
      port.type() == PJRT_Buffer_Type_C64 || port.type() == PJRT_Buffer_Type_C128;
  return std::max(slice.counts_size() - port.dims_size() - (isComplex ? 1 : 0), 0);
}

/// HLO's kinds of shardings, and of the dimensions that follow those of the tensor.
constexpr int kUnreduced = 6, kTiled = 3, kReplicated = 0;

/// Converts parts by rank to an HLO sharding: tiles in row-major order, each with the ranks that
/// hold it. The ranks of an unreduced tile have its terms in their order.
static hlo::OpSharding shardingOf(const proto::Slice &slice, int leading, int rank, int64_t ranks,
                                  absl::Span<const int64_t> order) {
  int64_t tiles = 1, terms = 1;
  hlo::OpSharding sharding;
  for (int dim = 0; dim < leading; ++dim)
    terms *= slice.counts(dim);
  for (int dim = 0; dim < rank; ++dim) {
    sharding.add_tile_assignment_dimensions(slice.counts(leading + dim));
    tiles *= slice.counts(leading + dim);
  }
  if (terms == ranks && leading > 0) {
    sharding.clear_tile_assignment_dimensions();
    sharding.set_type(kUnreduced);
    return sharding;
  }
  std::vector<std::vector<int64_t>> holders(static_cast<size_t>(tiles * terms));
  for (int64_t r = 0; r < ranks; ++r) {
    int64_t tile = 0, term = 0;
    const auto part = [&](int dim) {
      return slice.parts(static_cast<int>(r * slice.counts_size() + dim));
    };
    for (int dim = 0; dim < leading; ++dim)
      term = term * slice.counts(dim) + part(dim);
    for (int dim = leading; dim < leading + rank; ++dim)
      tile = tile * slice.counts(dim) + part(dim);
    holders[static_cast<size_t>(tile * terms + term)].push_back(
        order.empty() ? r : order[static_cast<size_t>(r)]);
  }
  sharding.set_type(kTiled);
  const int64_t copies = ranks / (tiles * terms);
  if (leading > 0) {
    sharding.add_tile_assignment_dimensions(terms);
    sharding.add_last_tile_dims(kUnreduced);
  }
  if (copies > 1) {
    sharding.add_tile_assignment_dimensions(copies);
    if (leading > 0)
      sharding.add_last_tile_dims(kReplicated);
    else
      sharding.set_replicate_on_last_tile_dim(true);
  }
  for (const std::vector<int64_t> &holder : holders)
    for (int64_t r : holder)
      sharding.add_tile_assignment_devices(r);
  return sharding;
}

/// `slice`: null for a replicated port.
static absl::Status place(const proto::Slice *slice, int64_t ranks, proto::PluginPort &port) {
  *port.mutable_local() = port.dims();
  port.clear_sharding();
  if (!slice || ranks == 1)
    return absl::OkStatus();
  if (port.device_order_size() > 0 && port.device_order_size() != ranks)
    return absl::InvalidArgumentError(
        absl::StrCat("a mesh of ", port.device_order_size(), " devices in a program for ", ranks));
  const int rank = port.dims_size(), leading = leadingDims(*slice, port);
  const bool isDense = slice->local().empty() && slice->view().empty() && slice->rows() == 0;
  // Complex numbers have an additional dimension in the program, which must not be sharded.
  const bool splitsPairs =
      slice->counts_size() > leading + rank && slice->counts(leading + rank) != 1;
  if (!isDense || splitsPairs) {
    port.set_is_recut(true);
    return absl::OkStatus();
  }
  bool isSplit = leading > 0;
  for (int dim = 0; dim < rank && leading + dim < slice->counts_size(); ++dim) {
    const int64_t count = slice->counts(leading + dim);
    isSplit |= count > 1;
    port.set_local(dim, port.dims(dim) / count);
  }
  if (isSplit)
    *port.mutable_sharding() = shardingOf(*slice, leading, rank, ranks, port.device_order());
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
  for (int i = 0; i < ports.size(); ++i) {
    const proto::Slice *slice = slices[static_cast<size_t>(i)];
    if (absl::Status status = slice ? place(slice, ranks, ports[i]) : absl::OkStatus();
        !status.ok())
      return status;
  }
  return absl::OkStatus();
}

/// The part that each rank has of a tensor with this sharding.
static proto::Slice sliceOf(mlir::st::ShardingAttr sharding, mlir::st::MeshOp mesh) {
  proto::Slice slice;
  const int64_t ranks = mesh.getNumDevices();
  for (int64_t dim = 0; dim < sharding.getRank(); ++dim)
    slice.add_counts(mlir::st::getAxesSize(sharding.getAxes(dim), mesh));
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (int64_t dim = 0; dim < sharding.getRank(); ++dim) {
      int64_t part = 0;
      for (StringRef axis : sharding.getAxes(dim))
        part = part * *mesh.getAxisSize(axis) + mesh.getCoordinate(rank, axis);
      slice.add_parts(part);
    }
  return slice;
}

absl::Status placeDeclaredPorts(ModuleOp module, proto::PluginProgram &program) {
  mlir::st::MeshOp mesh = mlir::st::getMesh(module);
  auto function = module.lookupSymbol<func::FuncOp>("main");
  const auto declare = [&](Attribute attribute, proto::PluginPort &port) {
    auto sharding = dyn_cast_or_null<mlir::st::ShardingAttr>(attribute);
    if (!sharding || !mesh)
      return place(nullptr, 1, port);
    const proto::Slice slice = sliceOf(sharding, mesh);
    return place(&slice, mesh.getNumDevices(), port);
  };
  for (int i = 0; i < program.arguments_size(); ++i)
    if (absl::Status status =
            declare(function.getArgAttr(i, mlir::st::kShardingAttr), *program.mutable_arguments(i));
        !status.ok())
      return status;
  for (int i = 0; i < program.results_size(); ++i)
    if (absl::Status status = declare(function.getResultAttr(i, mlir::st::kShardingAttr),
                                      *program.mutable_results(i));
        !status.ok())
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
    return sharding.type() == kUnreduced ? "{unreduced}" : "{replicated}";
  std::vector<std::string> last;
  for (int kind : sharding.last_tile_dims())
    last.push_back(kind == kUnreduced ? "unreduced" : "replicated");
  return absl::StrCat("{devices=[", absl::StrJoin(sharding.tile_assignment_dimensions(), ","), "]",
                      absl::StrJoin(sharding.tile_assignment_devices(), ","),
                      sharding.replicate_on_last_tile_dim() ? " last_tile_dim_replicate" : "",
                      last.empty() ? "" : " last_tile_dims={" + absl::StrJoin(last, ", ") + "}",
                      "}");
}

} // namespace st::pjrt
