#include "passes/Import/Roles/StepNames.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::st;

static bool isNumber(StringRef text) { return !text.empty() && llvm::all_of(text, llvm::isDigit); }

std::string NamePool::unique(StringRef name) {
  std::string candidate = name.str();
  for (unsigned i = 1; !taken.insert(candidate).second; ++i)
    candidate = (name + "_" + Twine(i)).str();
  return candidate;
}

SmallVector<std::string> mlir::st::nameParameters(ArrayRef<ArgumentPath> paths) {
  // Number of leading parts to drop.
  size_t skipped = 0;
  auto sharePart = [&](size_t i) {
    return llvm::all_of(paths, [&](const ArgumentPath &path) {
      return path.size() > i + 1 && path[i] == paths[0][i];
    });
  };
  while (!paths.empty() && sharePart(skipped) &&
         (skipped == 0 || isNumber(paths[0][skipped]) || paths[0][skipped] == "params"))
    ++skipped;
  SmallVector<std::string> names;
  for (const ArgumentPath &path : paths)
    names.push_back(joinPath(ArrayRef(path).drop_front(std::min(skipped, path.size()))));
  return names;
}

std::string mlir::st::stateSuffix(const ArgumentPath &state, const ArgumentPath &parameter) {
  size_t common = 0;
  while (common < state.size() && common < parameter.size() &&
         state[state.size() - 1 - common] == parameter[parameter.size() - 1 - common])
    ++common;
  ArrayRef<std::string> rest = ArrayRef(state).drop_back(common);
  while (!rest.empty() && isNumber(rest.back()))
    rest = rest.drop_back();
  return rest.empty() ? "" : rest.back();
}
