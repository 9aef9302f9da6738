// Ops with windows: convolutions and window reductions.
#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Hlo/HloToStableHlo.h"

using namespace mlir;
using namespace mlir::st;
namespace hlo = ::st::hlo;
namespace sh = mlir::stablehlo;

namespace {
/// A window's numbers, dimension by dimension. Proto3 omits zeros, and a stride or a dilation of
/// zero means one.
struct WindowNumbers {
  explicit WindowNumbers(const hlo::Window &window) {
    auto atLeastOne = [](int64_t value) { return value == 0 ? 1 : value; };
    for (const hlo::Window::Dimension &dim : window.dimensions()) {
      sizes.push_back(dim.size());
      strides.push_back(atLeastOne(dim.stride()));
      padding.append({dim.padding_low(), dim.padding_high()});
      windowDilations.push_back(atLeastOne(dim.window_dilation()));
      baseDilations.push_back(atLeastOne(dim.base_dilation()));
      reversal.push_back(dim.window_reversal());
    }
  }

  DenseIntElementsAttr paddingAttr(MLIRContext *context) const {
    auto type = RankedTensorType::get({static_cast<int64_t>(sizes.size()), 2},
                                      IntegerType::get(context, 64));
    return DenseIntElementsAttr::get(type, ArrayRef<int64_t>(padding));
  }

  SmallVector<int64_t> sizes, strides, padding, windowDilations, baseDilations;
  SmallVector<bool> reversal;
};
} // namespace

LogicalResult HloToStableHlo::addConvolution(const hlo::Instruction &at, OperationState &state) {
  const hlo::ConvolutionDimensionNumbers &dims = at.convolution_dimension_numbers();
  WindowNumbers window(at.window());
  state.addAttribute(
      "dimension_numbers",
      sh::ConvDimensionNumbersAttr::get(
          context, dims.input_batch(), dims.input_feature(), toArray(dims.input_spatial()),
          dims.kernel_input_feature(), dims.kernel_output_feature(), toArray(dims.kernel_spatial()),
          dims.output_batch(), dims.output_feature(), toArray(dims.output_spatial())));
  addDims(state, "window_strides", window.strides);
  state.addAttribute("padding", window.paddingAttr(context));
  addDims(state, "lhs_dilation", window.baseDilations);
  addDims(state, "rhs_dilation", window.windowDilations);
  if (llvm::is_contained(window.reversal, true))
    state.addAttribute("window_reversal", builder.getDenseBoolArrayAttr(window.reversal));
  auto atLeastOne = [](int64_t value) { return value == 0 ? 1 : value; };
  addNumber(state, "feature_group_count", atLeastOne(at.feature_group_count()));
  addNumber(state, "batch_group_count", atLeastOne(at.batch_group_count()));
  return addPrecision(at, state);
}

LogicalResult HloToStableHlo::addWindow(const hlo::Instruction &at, OperationState &state) {
  WindowNumbers window(at.window());
  bool isPlain = llvm::all_of(window.baseDilations, [](int64_t d) { return d == 1; }) &&
                 llvm::all_of(window.windowDilations, [](int64_t d) { return d == 1; });
  bool hasDilations = at.opcode() == "reduce-window";
  if (llvm::is_contained(window.reversal, true) || (!hasDilations && !isPlain))
    return error(at) << "has a window that cannot be imported";
  addDims(state, "window_dimensions", window.sizes);
  addDims(state, "window_strides", window.strides);
  state.addAttribute("padding", window.paddingAttr(context));
  if (hasDilations) {
    addDims(state, "base_dilations", window.baseDilations);
    addDims(state, "window_dilations", window.windowDilations);
  }
  return success();
}
