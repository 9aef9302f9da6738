// State that is a row of a tensor, as unstack-state leaves it.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

namespace mlir::st {

/// {name, of, row, rows} with the `st.name` and `st.of` of the tensor whose row an argument, a
/// result or a state is.
constexpr llvm::StringLiteral kStackAttr = "st.stack";

/// The name that a state's tensor has outside: of a row that of the tensor that it belongs to.
inline StringRef wholeName(DictionaryAttr attributes) {
  auto stack = attributes.getAs<DictionaryAttr>(kStackAttr);
  auto name = (stack ? stack : attributes).getAs<StringAttr>(stack ? "name" : "st.name");
  return name ? name.getValue() : StringRef();
}

} // namespace mlir::st
