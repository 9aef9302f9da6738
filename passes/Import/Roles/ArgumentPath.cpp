#include "passes/Import/Roles/ArgumentPath.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::st;

ArgumentPath mlir::st::parseArgumentPath(StringRef text) {
  ArgumentPath parts;
  while (!text.empty()) {
    char front = text.front();
    if (front == '\'' || front == '"') {
      auto [quoted, rest] = text.drop_front().split(front);
      parts.push_back(quoted.str());
      text = rest;
      continue;
    }
    size_t length = text.find_first_of("[]'\".");
    if (length == 0) {
      text = text.drop_front();
      continue;
    }
    parts.push_back(text.take_front(length).str());
    text = length == StringRef::npos ? StringRef() : text.drop_front(length);
  }
  return parts;
}

ArgumentPath mlir::st::pathOfArgument(func::FuncOp function, unsigned argument) {
  if (auto info = function.getArgAttrOfType<StringAttr>(argument, "jax.arg_info"))
    return parseArgumentPath(info.getValue());
  StringAttr name;
  function.getArgument(argument).getLoc()->walk([&](Location location) {
    auto named = dyn_cast<NameLoc>(location);
    if (named)
      name = named.getName();
    return named ? WalkResult::interrupt() : WalkResult::advance();
  });
  return name ? parseArgumentPath(name.getValue()) : ArgumentPath();
}

ArgumentPath mlir::st::pathOfResult(func::FuncOp function, unsigned result) {
  auto info = function.getResultAttrOfType<StringAttr>(result, "jax.result_info");
  ArgumentPath path = info ? parseArgumentPath(info.getValue()) : ArgumentPath();
  if (!path.empty() && path.front() == "result")
    path.erase(path.begin());
  return path;
}

std::string mlir::st::joinPath(ArrayRef<std::string> parts) { return llvm::join(parts, "."); }
