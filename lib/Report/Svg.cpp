#include "lib/Report/Svg.h"

#include "lib/Report/Html.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <cmath>

namespace st {

std::string number(double value) {
  std::string text = absl::StrFormat("%.1f", value);
  if (text.size() > 2 && text.substr(text.size() - 2) == ".0")
    text.resize(text.size() - 2);
  return text;
}

std::string beginPicture(double height, const std::string &title) {
  return absl::StrCat("<svg class=\"chart\" role=\"img\" viewBox=\"0 0 ",
                      number(kLeft + kWidth + kRight), " ", number(height), "\" aria-label=\"",
                      escapeHtml(title), "\">\n");
}

double scaled(int64_t value, int64_t maximum) {
  return maximum > 0 ? kWidth * static_cast<double>(value) / static_cast<double>(maximum) : 0;
}

double niceStep(double maximum) {
  const double power = std::pow(10.0, std::floor(std::log10(maximum / 4)));
  for (double factor : {5.0, 2.0})
    if (power * factor <= maximum / 4)
      return power * factor;
  return power;
}

std::string timeAxis(int64_t total, double top, double bottom) {
  std::string out;
  const double maximum = static_cast<double>(total) / 1e9, step = niceStep(maximum);
  const int digits = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  for (int i = 0; i * step <= maximum; ++i) {
    const double x = kLeft + kWidth * (i * step / maximum);
    absl::StrAppend(&out, "<line class=\"grid\" x1=\"", number(x), "\" x2=\"", number(x),
                    "\" y1=\"", number(top), "\" y2=\"", number(bottom), "\"/><text x=\"",
                    number(x), "\" y=\"", number(bottom + 15), "\" text-anchor=\"middle\">",
                    absl::StrFormat("%.*f", digits, i * step), i == 0 ? " ms" : "", "</text>\n");
  }
  return out;
}

std::string rowName(const std::string &name, double y) {
  return absl::StrCat("<text x=\"", number(kLeft - 8), "\" y=\"", number(y),
                      "\" text-anchor=\"end\">", escapeHtml(name), "</text>");
}

std::string box(double x, double y, double width, double height) {
  return absl::StrCat("M", number(x), " ", number(y), "h", number(width), "v", number(height), "h-",
                      number(width), "z");
}

} // namespace st
