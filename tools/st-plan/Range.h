// A number on the command line, or a range of numbers.
#ifndef ST_TOOLS_ST_PLAN_RANGE_H
#define ST_TOOLS_ST_PLAN_RANGE_H

#include "llvm/Support/CommandLine.h"

#include <string>

namespace mlir::st {

/// "8" or "8:64"; 0 if not given.
struct Range {
  unsigned least = 0, most = 0;
  std::string fault; ///< the invalid text

  bool isRange() const { return most > least; }
  operator unsigned() const { return least; }
};

} // namespace mlir::st

template <> class llvm::cl::parser<mlir::st::Range> : public basic_parser<mlir::st::Range> {
public:
  using basic_parser::basic_parser;

  /// Errors are kept for the tool, which prints them in one line.
  bool parse(Option &, StringRef, StringRef text, mlir::st::Range &range) {
    auto [least, most] = text.split(':');
    constexpr unsigned kMax = 1U << 30;
    if (least.getAsInteger(10, range.least) ||
        (text.contains(':') ? most : least).getAsInteger(10, range.most) || range.least < 1 ||
        range.most < range.least || range.most > kMax)
      range.fault = text.str();
    return false;
  }
  StringRef getValueName() const override { return "n"; }
  void printOptionDiff(const Option &option, const mlir::st::Range &value, const OptVal &,
                       size_t width) const {
    printOptionName(option, width);
    outs() << "= " << value.least << ':' << value.most << '\n';
  }
};

#endif // ST_TOOLS_ST_PLAN_RANGE_H
