#include "lib/Driver/Input/RolesFile.h"

#include "dialects/St/IR/ShardingUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::st;

/// The number of an argument or result in the original program.
static constexpr StringLiteral kNumberAttr = "st.program_number";

void mlir::st::numberPorts(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (!function)
    return;
  Builder builder(module.getContext());
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    function.setArgAttr(i, kNumberAttr, builder.getI64IntegerAttr(i));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    function.setResultAttr(i, kNumberAttr, builder.getI64IntegerAttr(i));
}

/// The original number of the argument or result that is now at `place`.
static int64_t numberOf(DictionaryAttr attributes, unsigned place) {
  auto number = attributes ? attributes.getAs<IntegerAttr>(kNumberAttr) : IntegerAttr();
  return number ? number.getInt() : place;
}

static std::string textOf(DictionaryAttr attributes, StringRef name) {
  auto text = attributes ? attributes.getAs<StringAttr>(name) : StringAttr();
  return text ? text.getValue().str() : "";
}

static llvm::json::Object describe(Type type, DictionaryAttr attributes) {
  llvm::json::Object port;
  auto tensor = cast<RankedTensorType>(type);
  std::string element;
  llvm::raw_string_ostream(element) << tensor.getElementType();
  port["name"] = textOf(attributes, kNameAttr);
  port["role"] = textOf(attributes, kRoleAttr);
  port["type"] = element;
  port["shape"] = llvm::json::Array(tensor.getShape());
  if (std::string of = textOf(attributes, kOfAttr); !of.empty())
    port["of"] = of;
  return port;
}

static void print(llvm::raw_ostream &os, StringRef name, ArrayRef<llvm::json::Value> ports) {
  os << "  \"" << name << "\": [";
  llvm::interleave(ports, os, [&](const llvm::json::Value &port) { os << "\n    " << port; }, ",");
  os << "\n  ]";
}

std::string mlir::st::takeRoles(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  std::vector<llvm::json::Value> arguments, results;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    DictionaryAttr attributes = function.getArgAttrDict(i);
    llvm::json::Object port = describe(type, attributes);
    port["argument"] = numberOf(attributes, i);
    auto alias = attributes ? attributes.getAs<IntegerAttr>("tf.aliasing_output") : IntegerAttr();
    if (alias)
      port["replaced_by"] = numberOf(function.getResultAttrDict(alias.getInt()), alias.getInt());
    arguments.push_back(std::move(port));
  }
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    llvm::json::Object port = describe(type, function.getResultAttrDict(i));
    port["result"] = numberOf(function.getResultAttrDict(i), i);
    results.push_back(std::move(port));
  }
  auto number = StringAttr::get(module.getContext(), kNumberAttr);
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    function.removeArgAttr(i, number);
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    function.removeResultAttr(i, number);
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "{\n";
  print(os, "arguments", arguments);
  os << ",\n";
  print(os, "results", results);
  os << "\n}\n";
  return text;
}
