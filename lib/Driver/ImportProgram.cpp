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
  // What is wrong with such a module, the pass says.
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
  // A program of a batch alone has nothing to differentiate by; a model's front end
  // always makes parameters.
  return false;
}

static void printRow(StringRef place, Type type, StringRef role, StringRef name, StringRef note) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  llvm::errs() << llvm::format("  %-10s %-24s %-16s ", place.str().c_str(), text.c_str(),
                               role.str().c_str())
               << name << note << '\n';
}

static void printRoles(func::FuncOp function) {
  llvm::errs() << "  argument   type                     role             name\n";
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    StringRef of = textOf(function.getArgAttr(i, kOfAttr));
    printRow("arg" + std::to_string(i), type, textOf(function.getArgAttr(i, kRoleAttr)),
             textOf(function.getArgAttr(i, kNameAttr)), of.empty() ? "" : " of " + of.str());
  }
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    printRow("result" + std::to_string(i), type, textOf(function.getResultAttr(i, kRoleAttr)),
             textOf(function.getResultAttr(i, kNameAttr)), "");
}

/// Sequences in a batch, for the runner: the leading dimension that all batch arguments
/// share.
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

LogicalResult mlir::st::importProgram(ModuleOp module, StringRef roles, bool quiet) {
  PassManager simplification(module.getContext()), inference(module.getContext());
  simplification.addPass(createImportShardings());
  simplification.addPass(createExpandOps());
  simplification.addPass(createSimplify());
  simplification.addPass(createUnrollLoops());
  simplification.addPass(createSimplify());
  simplification.addPass(createExpandOps());
  simplification.addPass(createSimplify());
  InferRolesOptions options;
  options.roles = roles.str();
  inference.addPass(createInferRoles(options));
  inference.addPass(createMarkBlocks());
  if (failed(simplification.run(module)) || failed(inference.run(module)))
    return failure();
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (!quiet)
    printRoles(function);
  recordBatch(module, function);
  return success();
}
