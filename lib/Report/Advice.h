// Advice on the first change to make, with figures.
#ifndef ST_REPORT_ADVICE_H
#define ST_REPORT_ADVICE_H

#include "lib/Report/StepFigures.h"

#include <string>
#include <vector>

namespace st {

struct Advice {
  std::string finding; ///< the finding from the figures
  std::string change;  ///< the suggested change
  /// The gain as a fraction of the step: simulated, or an upper bound by a formula or a count.
  double gain = 0;
  bool isSimulated = false;
};

/// Sorted by gain, the largest first.
std::vector<Advice> adviseOn(const StepFigures &figures);

/// The fraction of the time of all devices that belongs to a class.
double shareOf(const StepFigures &figures, TimeClass timeClass);

} // namespace st

#endif // ST_REPORT_ADVICE_H
