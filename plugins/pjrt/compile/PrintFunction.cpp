#include "plugins/pjrt/compile/PrintFunction.h"

#include "dialects/Sdy/SdyDialect.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "plugins/pjrt/compile/DiagnosticCollector.h"
#include "plugins/pjrt/compile/PartitionFunction.h"
#include "plugins/pjrt/compile/Ports.h"
#include "plugins/pjrt/compile/ReadFunction.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>

using namespace mlir;

namespace st::pjrt {

namespace {

/// Replaces ops of one device's program by StableHLO's.
class CollectiveWriter {
public:
  explicit CollectiveWriter(mlir::st::MeshOp mesh) : mesh(mesh) {}
  void write(Operation *op);

private:
  DenseIntElementsAttr groupsOver(ArrayRef<StringRef> axes);
  DenseIntElementsAttr pairsOver(ArrayRef<StringRef> axes, ArrayRef<int64_t> positions);
  std::vector<std::vector<int64_t>> membersOver(ArrayRef<StringRef> axes);
  void replace(Operation *op, StringRef name, ArrayRef<NamedAttribute> attributes,
               StringRef reducer = "");

  mlir::st::MeshOp mesh;
};

} // namespace

/// The ranks that differ only along `axes`, group by group, in the order of their positions along
/// the axes.
std::vector<std::vector<int64_t>> CollectiveWriter::membersOver(ArrayRef<StringRef> axes) {
  std::map<std::vector<int64_t>, std::map<std::vector<int64_t>, int64_t>> groups;
  for (int64_t rank = 0; rank < mesh.getNumDevices(); ++rank) {
    std::vector<int64_t> outer, inner;
    for (auto axis : mesh.getAxisNames().getAsRange<StringAttr>())
      if (!llvm::is_contained(axes, axis.getValue()))
        outer.push_back(mesh.getCoordinate(rank, axis));
    for (StringRef axis : axes)
      inner.push_back(mesh.getCoordinate(rank, axis));
    groups[outer][inner] = rank;
  }
  std::vector<std::vector<int64_t>> members;
  for (const auto &[outer, ranks] : groups) {
    members.emplace_back();
    for (const auto &[inner, rank] : ranks)
      members.back().push_back(rank);
  }
  return members;
}

static DenseIntElementsAttr tableOf(MLIRContext *context,
                                    const std::vector<std::vector<int64_t>> &rows, int64_t width) {
  SmallVector<int64_t> numbers;
  for (const std::vector<int64_t> &row : rows)
    llvm::append_range(numbers, row);
  auto type = RankedTensorType::get({static_cast<int64_t>(rows.size()), width},
                                    IntegerType::get(context, 64));
  return DenseIntElementsAttr::get(type, ArrayRef<int64_t>(numbers));
}

DenseIntElementsAttr CollectiveWriter::groupsOver(ArrayRef<StringRef> axes) {
  const std::vector<std::vector<int64_t>> members = membersOver(axes);
  return tableOf(mesh.getContext(), members, static_cast<int64_t>(members.front().size()));
}

DenseIntElementsAttr CollectiveWriter::pairsOver(ArrayRef<StringRef> axes,
                                                 ArrayRef<int64_t> positions) {
  std::vector<std::vector<int64_t>> pairs;
  for (const std::vector<int64_t> &ranks : membersOver(axes))
    for (size_t i = 0; i + 1 < positions.size(); i += 2)
      pairs.push_back(
          {ranks[static_cast<size_t>(positions[i])], ranks[static_cast<size_t>(positions[i + 1])]});
  return tableOf(mesh.getContext(), pairs, 2);
}

/// The op that combines two numbers.
static StringRef reducerOf(mlir::st::ReduceKind kind) {
  switch (kind) {
  case mlir::st::ReduceKind::Sum:
    return "stablehlo.add";
  case mlir::st::ReduceKind::Max:
    return "stablehlo.maximum";
  case mlir::st::ReduceKind::Min:
    return "stablehlo.minimum";
  case mlir::st::ReduceKind::And:
    return "stablehlo.and";
  case mlir::st::ReduceKind::Or:
    return "stablehlo.or";
  }
}

/// Replaces a collective by one of StableHLO per operand, with a region that is `reducer` of two
/// numbers if it is not empty, and another op by a custom call.
void CollectiveWriter::replace(Operation *op, StringRef name, ArrayRef<NamedAttribute> attributes,
                               StringRef reducer) {
  OpBuilder builder(op);
  const bool isEach = name != "stablehlo.custom_call";
  for (unsigned i = 0; i < (isEach ? op->getNumOperands() : 1); ++i) {
    OperationState state(op->getLoc(), name);
    state.addOperands(isEach ? op->getOperands().slice(i, 1) : op->getOperands());
    if (isEach)
      state.addTypes(op->getResult(i).getType());
    else
      state.addTypes(op->getResultTypes());
    state.addAttributes(attributes);
    if (!reducer.empty()) {
      Type element = cast<RankedTensorType>(op->getOperand(i).getType()).getElementType();
      Type number = RankedTensorType::get({}, element);
      OpBuilder inner(op->getContext());
      Block *body =
          inner.createBlock(state.addRegion(), {}, {number, number}, {op->getLoc(), op->getLoc()});
      OperationState combine(op->getLoc(), reducer, body->getArguments(), {number});
      Operation *combined = inner.create(combine);
      OperationState finish(op->getLoc(), "stablehlo.return", combined->getResults(), {});
      inner.create(finish);
    }
    Operation *made = builder.create(state);
    for (unsigned result = 0; result < made->getNumResults(); ++result)
      op->getResult(i + result).replaceAllUsesWith(made->getResult(result));
  }
  op->erase();
}

void CollectiveWriter::write(Operation *op) {
  Builder builder(op->getContext());
  const auto named = [&](StringRef name, Attribute value) {
    return builder.getNamedAttr(name, value);
  };
  const NamedAttribute channel =
      named("channel_handle", stablehlo::ChannelHandleAttr::get(op->getContext(), /*handle=*/1,
                                                                /*type=*/1));
  const NamedAttribute global = named("use_global_device_ids", builder.getUnitAttr());
  const auto groups = [&](auto collective) {
    return named("replica_groups", groupsOver(collective.getAxisNames()));
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](mlir::st::AllReduceOp reduce) {
        replace(op, "stablehlo.all_reduce", {groups(reduce), channel, global},
                reducerOf(reduce.getKind()));
      })
      .Case([&](mlir::st::ReduceScatterOp scatter) {
        replace(
            op, "stablehlo.reduce_scatter",
            {groups(scatter), channel, global, named("scatter_dimension", scatter.getDimAttr())},
            reducerOf(scatter.getKind()));
      })
      .Case([&](mlir::st::AllGatherOp gather) {
        replace(op, "stablehlo.all_gather",
                {groups(gather), channel, global, named("all_gather_dim", gather.getDimAttr())});
      })
      .Case([&](mlir::st::AllToAllOp exchange) {
        const auto count = static_cast<int64_t>(membersOver(exchange.getAxisNames())[0].size());
        replace(op, "stablehlo.all_to_all",
                {groups(exchange), channel, named("split_dimension", exchange.getSplitDimAttr()),
                 named("concat_dimension", exchange.getConcatDimAttr()),
                 named("split_count", builder.getI64IntegerAttr(count))});
      })
      .Case([&](mlir::st::CollectivePermuteOp permute) {
        replace(op, "stablehlo.collective_permute",
                {channel, named("source_target_pairs",
                                pairsOver(permute.getAxisNames(), permute.getPairs()))});
      })
      .Default([&](Operation *) {
        const std::string name = op->getName().getStringRef().str();
        replace(op, "stablehlo.custom_call",
                {named("call_target_name", builder.getStringAttr(name))});
      });
}

/// Removes attributes that only St's passes read from the program of one device.
static void removeOwnAttributes(ModuleOp module) {
  module.walk([](Operation *op) {
    for (NamedAttribute attribute : llvm::to_vector(op->getDiscardableAttrs()))
      if (attribute.getName().getValue().starts_with("st.") ||
          attribute.getName().getValue().starts_with("dtu."))
        op->removeDiscardableAttr(attribute.getName());
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      function.removeArgAttrsAttr();
      function.removeResAttrsAttr();
    }
  });
}

/// Replaces all ops by ops of StableHLO.
static void replaceOtherOps(ModuleOp module) {
  mlir::st::MeshOp mesh = mlir::st::getMesh(module);
  SmallVector<Operation *> own;
  module.walk([&](Operation *op) {
    if (op != mesh && isa<mlir::st::StDialect, chlo::ChloDialect>(op->getDialect()))
      own.push_back(op);
  });
  CollectiveWriter writer(mesh);
  for (Operation *op : own)
    writer.write(op);
  if (mesh)
    mesh.erase();
}

static bool hasShardings(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        return isa<sdy::SdyDialect>(op->getDialect()) ? WalkResult::interrupt()
                                                      : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Sets the attributes from which callers read the shardings of parameters and results.
static void setShardings(ModuleOp module, const proto::PluginProgram &program) {
  Builder builder(module.getContext());
  SmallVector<Attribute> arguments;
  for (const proto::PluginPort &port : program.arguments())
    arguments.push_back(builder.getStringAttr(printSharding(port.sharding())));
  std::vector<std::string> results;
  for (const proto::PluginPort &port : program.results())
    results.push_back(printSharding(port.sharding()));
  module->setAttr("mhlo.spmd_parameters_shardings", builder.getArrayAttr(arguments));
  module->setAttr("mhlo.spmd_output_sharding",
                  builder.getStringAttr(results.empty() ? "{replicated}"
                                        : results.size() == 1
                                            ? results[0]
                                            : "{" + llvm::join(results, ", ") + "}"));
}

absl::StatusOr<std::string> printFunction(const proto::PluginProgram &program) {
  MLIRContext context(functionDialects(program.target()), MLIRContext::Threading::DISABLED);
  DiagnosticCollector diagnostics(&context);
  OwningOpRef<ModuleOp> module = readFunction(program.source(), &context);
  const bool isPartitioned =
      program.partitions() > 1 && !program.is_replicated() && !program.has_host();
  if (module && isPartitioned)
    module = partitionFunction(std::move(module), program);
  const bool isOnOne = module && !isPartitioned && hasShardings(*module);
  if (!module || (isOnOne && mlir::failed(importShardings(*module))))
    return absl::InternalError(diagnostics.message());
  if (isOnOne)
    dropShardings(*module);
  if (isPartitioned)
    removeOwnAttributes(*module);
  replaceOtherOps(*module);
  if (program.partitions() > 1)
    setShardings(*module, program);
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  return text;
}

} // namespace st::pjrt
