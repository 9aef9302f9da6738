#include "test/fuzz/differential/RandomInputs.h"

#include "dialects/St/IR/ShardingUtils.h"
#include "lib/Reference/TensorTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>

using namespace mlir;
using namespace mlir::st;

namespace {
/// Numbers that follow from a name.
class Draw {
public:
  explicit Draw(StringRef name) {
    for (char c : name)
      state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }

  /// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
  uint64_t bits() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  double normal() {
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform());
  }

private:
  uint64_t state = 0xcbf29ce484222325;
};
} // namespace

static ref::Tensor makeTensor(Draw &draw, ref::ElementType type, ArrayRef<int64_t> shape,
                              function_ref<double(double)> shapeNumber, int64_t limit) {
  ref::Tensor tensor(type, shape);
  ref::dispatchAll(type, [&](auto tag) {
    using T = decltype(tag);
    T *data = tensor.mutableData<T>();
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      if constexpr (ref::isComplex<T>)
        data[i] = T(draw.normal(), draw.normal());
      else if constexpr (ref::isFloat<T>)
        data[i] = static_cast<T>(static_cast<ref::Compute<T>>(shapeNumber(draw.normal())));
      else if constexpr (ref::isBool<T>)
        data[i] = draw.bits() & 1;
      else
        data[i] = static_cast<T>(draw.bits() % limit);
  });
  return tensor;
}

FailureOr<ref::NamedTensors> mlir::st::makeRandomInputs(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (!function)
    return module.emitError("expected a function @main");
  ref::NamedTensors inputs;
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    auto text = [&, i = i](StringRef key) {
      auto attribute = function.getArgAttrOfType<StringAttr>(i, key);
      return attribute ? attribute.str() : std::string();
    };
    std::string name = text(kNameAttr), role = text(kRoleAttr);
    if (name.empty())
      name = "arg" + std::to_string(i);
    auto type = ref::getTensorElementType(argument.getType());
    if (!type)
      return function.emitError("argument ")
             << i << " has a type without values: " << argument.getType();
    const auto shape = cast<RankedTensorType>(argument.getType()).getShape();
    const bool isScaled =
        module->hasAttr("st.scales_matrices") && role == "parameter" && shape.size() > 1;
    auto shapeNumber = [&](double number) {
      if (isScaled)
        return number / std::sqrt(shape.back());
      if (name == "learning_rate")
        return 0.5;
      if (name == "step")
        return 3.0;
      return role == "optimizer_state" ? 0.1 + std::abs(number) : number;
    };
    auto limit = function.getArgAttrOfType<IntegerAttr>(i, "st.limit");
    Draw draw(name);
    inputs[name] = makeTensor(draw, *type, shape, shapeNumber, limit ? limit.getInt() : 4);
  }
  return inputs;
}
