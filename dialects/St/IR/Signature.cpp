#include "dialects/St/IR/Signature.h"

using namespace mlir;
using namespace mlir::st;

llvm::Expected<llvm::GlobPattern> mlir::st::createNamePattern(StringRef pattern) {
  constexpr size_t maxPatterns = 1024;
  return llvm::GlobPattern::create(pattern, maxPatterns);
}

Signature::Signature(FunctionOpInterface function)
    : function(function), resultTypes(function.getResultTypes()) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    arguments.emplace_back(function.getArgAttrDict(i));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    results.emplace_back(function.getResultAttrDict(i));
}

static void setOrErase(NamedAttrList &attrs, StringRef name, Attribute value) {
  if (value)
    attrs.set(name, value);
  else
    attrs.erase(name);
}

void Signature::setArgumentAttr(unsigned i, StringRef name, Attribute value) {
  setOrErase(arguments[i], name, value);
}

void Signature::setResultAttr(unsigned i, StringRef name, Attribute value) {
  setOrErase(results[i], name, value);
}

BlockArgument Signature::insertArgument(unsigned i, Type type, const NamedAttrList &attrs,
                                        Location loc) {
  arguments.insert(arguments.begin() + i, attrs);
  return function.front().insertArgument(i, type, loc);
}

void Signature::appendResult(Value value, const NamedAttrList &attrs) {
  Operation *terminator = function.front().getTerminator();
  terminator->insertOperands(terminator->getNumOperands(), value);
  resultTypes.push_back(value.getType());
  results.push_back(attrs);
}

void Signature::eraseResults(const llvm::BitVector &gone) {
  function.front().getTerminator()->eraseOperands(gone);
  unsigned kept = 0;
  for (unsigned i = 0; i < results.size(); ++i) {
    if (gone.test(i))
      continue;
    if (kept != i) {
      results[kept] = std::move(results[i]);
      resultTypes[kept] = resultTypes[i];
    }
    ++kept;
  }
  results.resize(kept);
  resultTypes.resize(kept);
}

void Signature::write() {
  MLIRContext *context = function.getContext();
  function.setType(FunctionType::get(context, function.front().getArgumentTypes(), resultTypes));
  auto write = [&](std::vector<NamedAttrList> &attrs) {
    return llvm::map_to_vector(
        attrs, [&](const NamedAttrList &list) { return list.getDictionary(context); });
  };
  function.setAllArgAttrs(write(arguments));
  function.setAllResultAttrs(write(results));
}
