#include "passes/Partition/Config/ParameterRules.h"
#include "dialects/St/IR/Signature.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::st;

constexpr llvm::StringLiteral kExpected =
    "expected a list with an axis, a list of axes or null for each dimension";

/// The axes of one dimension: null, "tensor" or ["tensor", "data"]. None for any other value.
static std::optional<std::vector<std::string>> parseAxes(const llvm::json::Value &value) {
  std::vector<std::string> axes;
  if (value.getAsNull())
    return axes;
  if (std::optional<llvm::StringRef> axis = value.getAsString())
    return std::vector<std::string>{axis->str()};
  const llvm::json::Array *list = value.getAsArray();
  if (!list)
    return std::nullopt;
  for (const llvm::json::Value &entry : *list) {
    std::optional<llvm::StringRef> axis = entry.getAsString();
    if (!axis)
      return std::nullopt;
    axes.push_back(axis->str());
  }
  return axes;
}

llvm::GlobPattern mlir::st::compilePattern(const ParameterRule &rule) {
  return llvm::cantFail(createNamePattern(rule.pattern));
}

llvm::Expected<ParameterRule> mlir::st::parseParameterRule(llvm::StringRef pattern,
                                                           const llvm::json::Value &value) {
  ParameterRule rule;
  rule.pattern = pattern.str();
  const llvm::json::Array *dims = value.getAsArray();
  if (!dims)
    return llvm::createStringError(kExpected);
  for (const llvm::json::Value &dim : *dims) {
    auto axes = parseAxes(dim);
    if (!axes)
      return llvm::createStringError(kExpected);
    rule.dims.push_back(std::move(*axes));
  }
  if (llvm::Expected<llvm::GlobPattern> glob = createNamePattern(rule.pattern); !glob)
    return glob.takeError();
  return rule;
}

std::string mlir::st::printDims(const ParameterRule &rule) {
  llvm::json::Array dims;
  for (const std::vector<std::string> &axes : rule.dims) {
    if (axes.empty())
      dims.push_back(nullptr);
    else if (axes.size() == 1)
      dims.push_back(axes[0]);
    else
      dims.push_back(llvm::json::Array(axes));
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(dims));
  return text;
}
