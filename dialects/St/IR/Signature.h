// The arguments and results of a function while a pass changes many of them.
//
// A function keeps the attributes of all of its arguments in one attribute: every call of
// setArgAttr or insertArgument copies them all, and a step has thousands of parameters. This class
// holds them in vectors and writes them back once.
#pragma once

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/GlobPattern.h"

namespace mlir::st {

/// A glob of names of arguments, with a bound on brace expansion; without one, braces would be
/// literal. It must not outlive its text.
llvm::Expected<llvm::GlobPattern> createNamePattern(StringRef pattern);

class Signature {
public:
  /// `function` has a body of one block. Until write(), its arguments and results may change only
  /// through this object.
  explicit Signature(FunctionOpInterface function);

  unsigned getNumArguments() const { return arguments.size(); }
  unsigned getNumResults() const { return results.size(); }

  Attribute getArgumentAttr(unsigned i, StringRef name) const { return arguments[i].get(name); }
  Attribute getResultAttr(unsigned i, StringRef name) const { return results[i].get(name); }
  /// A null value removes the attribute.
  void setArgumentAttr(unsigned i, StringRef name, Attribute value);
  void setResultAttr(unsigned i, StringRef name, Attribute value);
  void setResultType(unsigned i, Type type) { resultTypes[i] = type; }

  BlockArgument insertArgument(unsigned i, Type type, const NamedAttrList &attrs, Location loc);
  BlockArgument appendArgument(Type type, const NamedAttrList &attrs, Location loc) {
    return insertArgument(getNumArguments(), type, attrs, loc);
  }
  /// The attributes of an argument, for a copy of it.
  const NamedAttrList &getArgumentAttrs(unsigned i) const { return arguments[i]; }
  const NamedAttrList &getResultAttrs(unsigned i) const { return results[i]; }

  /// Adds an operand of the terminator as the last result.
  void appendResult(Value value, const NamedAttrList &attrs);
  /// Removes results and the terminator's operands.
  void eraseResults(const llvm::BitVector &gone);

  /// Gives the function its new type and attributes; argument types are those of the block.
  void write();

private:
  FunctionOpInterface function;
  std::vector<NamedAttrList> arguments, results;
  SmallVector<Type> resultTypes;
};

} // namespace mlir::st
