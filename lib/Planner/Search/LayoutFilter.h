// Layouts by what they have: "tp=1,pp=32,recompute=full".
#ifndef ST_PLANNER_LAYOUTFILTER_H
#define ST_PLANNER_LAYOUTFILTER_H

#include "lib/Planner/Layout.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <string>
#include <vector>

namespace st {

class LayoutFilter {
public:
  /// Keys are those of printLayout, with `batch` and `devices`. InvalidArgument names the key, what
  /// was expected and what was found.
  static absl::StatusOr<LayoutFilter> parse(absl::string_view text);

  bool matches(const Layout &layout) const;
  /// Why none of some layouts matches: the key whose value none has, with the values there are.
  std::string explainNone(const std::vector<Layout> &layouts) const;

private:
  struct Term {
    std::string key, value; ///< the value as the key's layouts print it
  };
  std::vector<Term> terms;
};

} // namespace st

#endif // ST_PLANNER_LAYOUTFILTER_H
