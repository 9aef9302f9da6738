// Elements of pictures in a page.
#ifndef ST_REPORT_SVG_H
#define ST_REPORT_SVG_H

#include <cstdint>
#include <string>

namespace st {

// Sizes in units of the pictures' view box: the margin for names on the left, the drawing, and the
// margin for axes below.
constexpr double kLeft = 90, kWidth = 900, kRight = 10, kAxis = 24;

/// 12.3 rather than 12.300000.
std::string number(double value);

/// The start of a picture; screen readers read `title`.
std::string beginPicture(double height, const std::string &title);

/// The position of a value, from 0 to kWidth.
double scaled(int64_t value, int64_t most);

/// The largest of 1, 2 and 5 times a power of ten that gives at least four intervals.
double niceStep(double most);

/// Vertical lines over 0 to `total` picoseconds, with milliseconds below them.
std::string timeAxis(int64_t total, double top, double bottom);

/// A name left of the drawing.
std::string rowName(const std::string &name, double y);

/// A rectangle of a path's data.
std::string box(double x, double y, double width, double height);

} // namespace st

#endif // ST_REPORT_SVG_H
