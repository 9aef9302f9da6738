// State that is a row of a tensor, as unstack-state produces it.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

namespace mlir::st {

/// {name, of, row, rows} with the `st.name` and `st.of` of the tensor that has an argument, a
/// result or a state as a row.
constexpr llvm::StringLiteral kStackAttr = "st.stack";

/// The external name of a state's tensor: for a row, that of its tensor.
inline StringRef externalName(DictionaryAttr attributes) {
  auto stack = attributes.getAs<DictionaryAttr>(kStackAttr);
  auto name = (stack ? stack : attributes).getAs<StringAttr>(stack ? "name" : "st.name");
  return name ? name.getValue() : StringRef();
}

} // namespace mlir::st
