#include "passes/Import/Roles/RoleOverrides.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::st;

static constexpr StringLiteral kArgumentRoles[] = {"parameter", "optimizer_state", "batch", "key",
                                                   "scalar"};
static constexpr StringLiteral kResultRoles[] = {"loss", "metric"};

/// One entry, `arg0-15=parameter` or `result1=metric:accuracy`.
static LogicalResult parseEntry(StringRef entry, func::FuncOp function, RoleOverrides &overrides) {
  auto fail = [&](const Twine &why) {
    return function.emitError("roles: \"") << entry << "\": " << why;
  };
  auto [place, given] = entry.split('=');
  bool isResult = place.consume_front("result");
  if (!isResult && !place.consume_front("arg"))
    return fail("expected argN=ROLE or resultN=ROLE");
  auto [firstText, lastText] = place.split('-');
  unsigned first, last;
  if (firstText.getAsInteger(10, first) || (!lastText.empty() && lastText.getAsInteger(10, last)))
    return fail("expected a number after arg or result");
  if (lastText.empty())
    last = first;
  unsigned count = isResult ? function.getNumResults() : function.getNumArguments();
  if (last >= count || first > last)
    return fail("the function has " + Twine(count) + (isResult ? " results" : " arguments"));
  auto [role, name] = given.split(':');
  ArrayRef<StringLiteral> known = isResult ? ArrayRef(kResultRoles) : ArrayRef(kArgumentRoles);
  if (!llvm::is_contained(known, role))
    return fail("expected one of " + llvm::join(known, ", "));
  for (unsigned i = first; i <= last; ++i)
    (isResult ? overrides.results : overrides.arguments)[i] = {role.str(), name.str()};
  return success();
}

FailureOr<RoleOverrides> RoleOverrides::parse(StringRef text, func::FuncOp function) {
  RoleOverrides overrides;
  SmallVector<StringRef> entries;
  text.split(entries, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef entry : entries)
    if (failed(parseEntry(entry.trim(), function, overrides)))
      return failure();
  return overrides;
}
