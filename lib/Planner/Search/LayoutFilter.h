// Selects layouts by values: "tp=1,pp=32,recompute=full".
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
  /// Keys are those of printLayout, `batch` and `devices`. InvalidArgument names the key, and the
  /// expected and actual text.
  static absl::StatusOr<LayoutFilter> parse(absl::string_view text);

  bool matches(const Layout &layout) const;
  /// Explains why no layout matches: names a key whose value no layout has, and the existing
  /// values.
  std::string explainNone(const std::vector<Layout> &layouts) const;

private:
  struct Term {
    std::string key, value; ///< the value in the form of printed layouts
  };
  std::vector<Term> terms;
};

} // namespace st

#endif // ST_PLANNER_LAYOUTFILTER_H
