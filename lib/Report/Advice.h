// What to change first, with the figures behind it.
#ifndef ST_REPORT_ADVICE_H
#define ST_REPORT_ADVICE_H

#include "lib/Report/StepFigures.h"

#include <string>
#include <vector>

namespace st {

struct Advice {
  std::string finding; ///< what the figures say
  std::string change;  ///< what lessens it
  /// Of the step, what that is worth: simulated, or at most that by a formula or a count.
  double gain = 0;
  bool isSimulated = false;
};

/// The most worth first.
std::vector<Advice> adviseOn(const StepFigures &figures);

/// Of the time of all devices, what is of a class.
double shareOf(const StepFigures &figures, TimeClass timeClass);

} // namespace st

#endif // ST_REPORT_ADVICE_H
