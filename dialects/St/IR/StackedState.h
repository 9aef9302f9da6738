// State that is a row of a tensor, as unstack-state produces it.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

namespace mlir::st {

/// On an argument, a result or a state that is a row of a stacked tensor: {name, of, row, rows},
/// where `name` and `of` are the `st.name` and `st.of` of that tensor.
constexpr llvm::StringLiteral kStackAttr = "st.stack";

/// The name of a state's tensor; for a row, the name of the stacked tensor.
inline StringRef externalName(DictionaryAttr attributes) {
  auto stack = attributes.getAs<DictionaryAttr>(kStackAttr);
  auto name = (stack ? stack : attributes).getAs<StringAttr>(stack ? "name" : "st.name");
  return name ? name.getValue() : StringRef();
}

} // namespace mlir::st
