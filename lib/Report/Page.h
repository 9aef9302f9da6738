// A step's figures as one page that a browser opens without network access.
#ifndef ST_REPORT_PAGE_H
#define ST_REPORT_PAGE_H

#include "lib/Report/StepFigures.h"

#include <string>

namespace st {

/// HTML that is also XML. The element with id "figures" has the figures of the page as JSON, times
/// in picoseconds.
std::string printPage(const StepFigures &figures);

/// The JSON of that element.
std::string printFigures(const StepFigures &figures);

} // namespace st

#endif // ST_REPORT_PAGE_H
