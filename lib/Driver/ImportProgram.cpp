#include "lib/Driver/ImportProgram.h"

#include "dialects/St/IR/ShardingUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Import/Passes.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::st;

static StringRef textOf(Attribute attribute) {
  auto text = dyn_cast_or_null<StringAttr>(attribute);
  return text ? text.getValue() : "";
}

bool mlir::st::hasRoles(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (!function)
    return false;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (function.getArgAttr(i, kRoleAttr))
      return true;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (function.getResultAttr(i, kRoleAttr))
      return true;
  return false;
}

bool mlir::st::computesLoss(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  // A pass reports the errors in such a module.
  if (!function || !hasRoles(module))
    return true;
  bool hasOnlyMetrics = function.getNumResults() > 0;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    if (textOf(function.getResultAttr(i, kRoleAttr)) == "parameter")
      return false;
    hasOnlyMetrics &= textOf(function.getResultAttr(i, kRoleAttr)) == "metric";
  }
  if (hasOnlyMetrics)
    return false;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (textOf(function.getArgAttr(i, kRoleAttr)) == "parameter")
      return true;
  // A program with only a batch has nothing to differentiate; a model's front end always creates
  // parameters.
  return false;
}

namespace {
/// One argument or result in the table of roles.
struct Port {
  std::string type;
  StringRef role, name;
  /// The parameter of optimizer state, or empty.
  StringRef of;
};
} // namespace

static void printRow(const std::string &place, const Port &port) {
  llvm::errs() << llvm::format("  %-13s %-24s %-16s ", place.c_str(), port.type.c_str(),
                               port.role.str().c_str())
               << port.name << (port.of.empty() ? "" : " of ") << port.of << '\n';
}

/// Prints one row per port. Prints only the ends of a long run of one role, because a large model
/// has thousands.
static void printPorts(StringRef kind, ArrayRef<Port> ports) {
  constexpr size_t shown = 2, longRun = 8;
  auto place = [&](size_t i) { return (kind + Twine(i)).str(); };
  for (size_t begin = 0, end = 0; begin < ports.size(); begin = end) {
    while (end < ports.size() && ports[end].role == ports[begin].role)
      ++end;
    bool isLong = end - begin > longRun;
    for (size_t i = begin; i < end; ++i) {
      if (isLong && i == begin + shown) {
        i = end - shown;
        std::string range = (place(begin + shown) + "-" + Twine(i - 1)).str();
        printRow(range, {"...", ports[i].role, "...", ""});
      }
      printRow(place(i), ports[i]);
    }
  }
}

static void printRoles(func::FuncOp function) {
  auto portOf = [](Type type, Attribute role, Attribute name, Attribute of) {
    Port port = {"", textOf(role), textOf(name), textOf(of)};
    llvm::raw_string_ostream(port.type) << type;
    return port;
  };
  SmallVector<Port> arguments, results;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    arguments.push_back(portOf(type, function.getArgAttr(i, kRoleAttr),
                               function.getArgAttr(i, kNameAttr), function.getArgAttr(i, kOfAttr)));
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    results.push_back(portOf(type, function.getResultAttr(i, kRoleAttr),
                             function.getResultAttr(i, kNameAttr), {}));
  llvm::errs() << "  argument      type                     role             name\n";
  printPorts("arg", arguments);
  printPorts("result", results);
}

/// Records the number of sequences in a batch for the runner: the leading dimension that all batch
/// arguments share.
static void recordBatch(ModuleOp module, func::FuncOp function) {
  std::optional<int64_t> rows;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    if (textOf(function.getArgAttr(i, kRoleAttr)) != "batch" || tensor.getRank() == 0)
      continue;
    if (rows && *rows != tensor.getDimSize(0))
      return;
    rows = tensor.getDimSize(0);
  }
  if (rows)
    module->setAttr("st.batch", Builder(module.getContext()).getI64IntegerAttr(*rows));
}

/// Simplifies a program before its arguments are analysed.
static LogicalResult simplifyProgram(ModuleOp module, int64_t unroll) {
  PassManager manager(module.getContext());
  manager.addPass(createImportShardings());
  manager.addPass(createExpandOps());
  manager.addPass(createSimplify());
  manager.addPass(createExpandSmallTypes());
  UnrollLoopsOptions loops;
  loops.maxTrips = unroll;
  manager.addPass(createUnrollLoops(loops));
  manager.addPass(createSimplify());
  manager.addPass(createExpandComplex());
  manager.addPass(createExpandOps());
  manager.addPass(createSimplify());
  return manager.run(module);
}

LogicalResult mlir::st::importProgram(ModuleOp module, StringRef roles, int64_t unroll,
                                      bool quiet) {
  PassManager inference(module.getContext());
  InferRolesOptions options;
  options.roles = roles.str();
  inference.addPass(createInferRoles(options));
  inference.addPass(createMarkBlocks());
  if (failed(simplifyProgram(module, unroll)) || failed(inference.run(module)))
    return failure();
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (!quiet)
    printRoles(function);
  recordBatch(module, function);
  return success();
}

LogicalResult mlir::st::markLayers(ModuleOp module) {
  PassManager manager(module.getContext());
  manager.addPass(createMarkBlocks());
  return manager.run(module);
}

LogicalResult mlir::st::importFunction(ModuleOp module, int64_t unroll) {
  Builder builder(module.getContext());
  auto removeDonations = [](func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      for (StringRef name : {"tf.aliasing_output", "jax.buffer_donor"})
        function.removeArgAttr(i, StringAttr::get(function.getContext(), name));
  };
  for (auto function : module.getOps<func::FuncOp>())
    removeDonations(function);
  if (failed(simplifyProgram(module, unroll)))
    return failure();
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (!function)
    return module.emitError("expected a function @main");
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    function.setArgAttr(i, kRoleAttr, builder.getStringAttr("batch"));
    function.setArgAttr(i, kNameAttr, builder.getStringAttr("arg" + Twine(i)));
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    function.setResultAttr(i, kRoleAttr, builder.getStringAttr("metric"));
    function.setResultAttr(i, kNameAttr, builder.getStringAttr("result" + Twine(i)));
  }
  return success();
}
