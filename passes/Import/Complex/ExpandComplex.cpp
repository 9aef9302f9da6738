// The pass expand-complex: complex values become pairs of reals.

#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Emitter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "passes/Import/Complex/ComplexParts.h"
#include "passes/Import/Complex/ComplexRegions.h"
#include "passes/Import/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::st {
#define GEN_PASS_DEF_EXPANDCOMPLEX
#include "passes/Import/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;
using Direction = stablehlo::ComparisonDirection;

static bool isEmpty(Operation *op) {
  return llvm::any_of(op->getOperandTypes(),
                      [](Type type) { return cast<RankedTensorType>(type).getNumElements() == 0; });
}

static RankedTensorType realType(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto complex = dyn_cast<ComplexType>(type.getElementType());
  return complex ? type.clone(complex.getElementType()) : type;
}

namespace {
/// Writes one op in terms of the parts of its operands.
class OpExpansion {
public:
  OpExpansion(Emitter &emit, Operation *op) : emit(emit), math(emit), op(op) {}

  /// The replacement of the op's only result; null if it stays.
  Value run();

private:
  Emitter &emit;
  ComplexEmitter math;
  Operation *op;

  Parts partsOf(Value value);
  Parts partsOf(unsigned operand) { return partsOf(op->getOperand(operand)); }
  Value join(Parts parts) {
    return stablehlo::ComplexOp::create(emit.builder, emit.loc, op->getResult(0).getType(),
                                        parts.re, parts.im);
  }
  Value cloneFor(bool imaginary);
  std::optional<Parts> expand();
  Parts tanh(Parts z);
  Parts sign(Parts z);
  std::optional<Parts> expandExponential(Parts a);
  std::optional<Parts> expandTrigonometric(Parts a);
  std::optional<Parts> expandFunction();

  template <typename Op> Value real(Value x) { return math.real<Op>(x); }
  Parts choose(Value predicate, Parts a, Parts b) {
    return {emit.select(predicate, a.re, b.re), emit.select(predicate, a.im, b.im)};
  }
  Parts product();
};
} // namespace

Parts OpExpansion::partsOf(Value value) {
  if (auto pair = value.getDefiningOp<stablehlo::ComplexOp>())
    return {pair.getLhs(), pair.getRhs()};
  if (DenseElementsAttr constant; matchPattern(value, m_Constant(&constant))) {
    SmallVector<APFloat> re, im;
    if (constant.isSplat()) {
      auto number = constant.getSplatValue<std::complex<APFloat>>();
      re.push_back(number.real());
      im.push_back(number.imag());
    } else {
      for (std::complex<APFloat> number : constant.getValues<std::complex<APFloat>>()) {
        re.push_back(number.real());
        im.push_back(number.imag());
      }
    }
    return {emit.constant(DenseElementsAttr::get(realType(value), re)),
            emit.constant(DenseElementsAttr::get(realType(value), im))};
  }
  return {stablehlo::RealOp::create(emit.builder, emit.loc, realType(value), value),
          stablehlo::ImagOp::create(emit.builder, emit.loc, realType(value), value)};
}

/// The op on the real or the imaginary parts of its complex operands.
Value OpExpansion::cloneFor(bool imaginary) {
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (isComplex(operand) && !mapping.contains(operand)) {
      Parts parts = partsOf(operand);
      mapping.map(operand, imaginary ? parts.im : parts.re);
    }
  Operation *copy = emit.builder.clone(*op, mapping);
  for (Value result : copy->getResults())
    result.setType(realType(result));
  // The computation of a reduction or a scatter.
  copy->walk([](Operation *inner) {
    for (Value result : inner->getResults())
      result.setType(realType(result));
    for (Region &region : inner->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setType(realType(argument));
  });
  return copy->getResult(0);
}

/// dot_general and convolution: bilinear, so four of them.
Parts OpExpansion::product() {
  Parts a = partsOf(0u), b = partsOf(1u);
  auto of = [&](Value x, Value y) -> Value {
    Operation *copy = emit.builder.clone(*op);
    copy->setOperands({x, y});
    copy->getResult(0).setType(realType(copy->getResult(0)));
    return copy->getResult(0);
  };
  return {emit.sub(of(a.re, b.re), of(a.im, b.im)), emit.add(of(a.re, b.im), of(a.im, b.re))};
}

/// tanh z = (t (1 + s^2) + i s (1 - t^2)) / (1 + t^2 s^2) with t = tanh re z and s = tan im z.
/// At an infinite real part it is t, whatever the imaginary part is.
Parts OpExpansion::tanh(Parts z) {
  Value t = real<stablehlo::TanhOp>(z.re), s = real<stablehlo::TanOp>(z.im);
  Value tt = emit.mul(t, t), ss = emit.mul(s, s), divisor = emit.offset(emit.mul(tt, ss), 1);
  Value re = emit.mul(t, emit.offset(ss, 1));
  Value im = emit.mul(s, emit.sub(emit.splatLike(tt, 1), tt));
  Value size = emit.abs(z.re);
  Value isInfinite = emit.compare(Direction::EQ, size,
                                  emit.splatLike(size, std::numeric_limits<double>::infinity()));
  return choose(isInfinite, {t, emit.zerosLike(t)}, {emit.div(re, divisor), emit.div(im, divisor)});
}

/// z / |z|, and 0 for 0.
Parts OpExpansion::sign(Parts z) {
  Value length = math.magnitude(z);
  Value isZero = emit.compare(Direction::EQ, length, emit.zerosLike(length));
  Value divisor = emit.select(isZero, emit.splatLike(length, 1.0), length);
  return {emit.div(z.re, divisor), emit.div(z.im, divisor)};
}

/// Expands exponentials, logarithms and powers; returns std::nullopt for other ops.
std::optional<Parts> OpExpansion::expandExponential(Parts a) {
  using namespace stablehlo;
  return TypeSwitch<Operation *, std::optional<Parts>>(op)
      .Case([&](ExpOp) { return math.exponential(a); })
      .Case([&](Expm1Op) {
        // e^x cos y - 1, without terms near 1 for small z.
        Value half = emit.sine(emit.scale(a.im, 0.5));
        Value re = emit.sub(emit.mul(emit.expm1(a.re), emit.cosine(a.im)),
                            emit.scale(emit.mul(half, half), 2));
        return Parts{re, math.exponential(a).im};
      })
      .Case([&](Log1pOp) {
        // |1 + z|^2 - 1 is computed without the 1, which would cancel.
        Value square = emit.add(emit.mul(a.re, emit.offset(a.re, 2)), emit.mul(a.im, a.im));
        return Parts{emit.scale(real<Log1pOp>(square), 0.5),
                     math.atan2(a.im, emit.offset(a.re, 1))};
      })
      .Case([&](LogOp) { return math.logarithm(a); })
      .Case([&](SqrtOp) { return math.root(a); })
      .Case([&](RsqrtOp) {
        return math.polar(emit.rsqrt(math.magnitude(a)), emit.scale(math.atan2(a.im, a.re), -0.5));
      })
      .Case([&](CbrtOp) {
        return math.power(a, {emit.splatLike(a.re, 1.0 / 3), emit.zerosLike(a.im)});
      })
      .Case([&](PowOp) { return math.power(a, partsOf(1u)); })
      .Case([&](LogisticOp) {
        Parts one = {emit.splatLike(a.re, 1.0), emit.zerosLike(a.im)};
        return math.div(one, math.add(one, math.exponential({emit.neg(a.re), emit.neg(a.im)})));
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// Expands trigonometric and hyperbolic functions and their inverses; returns std::nullopt for
/// other ops.
std::optional<Parts> OpExpansion::expandTrigonometric(Parts a) {
  using namespace stablehlo;
  return TypeSwitch<Operation *, std::optional<Parts>>(op)
      .Case<chlo::SinhOp>([&](auto) {
        return Parts{math.timesAngle(real<chlo::SinhOp>(a.re), emit.cosine(a.im)),
                     math.timesAngle(real<chlo::CoshOp>(a.re), emit.sine(a.im))};
      })
      .Case<chlo::CoshOp>([&](auto) {
        return Parts{math.timesAngle(real<chlo::CoshOp>(a.re), emit.cosine(a.im)),
                     math.timesAngle(real<chlo::SinhOp>(a.re), emit.sine(a.im))};
      })
      .Case([&](SineOp) {
        return Parts{emit.mul(emit.sine(a.re), real<chlo::CoshOp>(a.im)),
                     emit.mul(emit.cosine(a.re), real<chlo::SinhOp>(a.im))};
      })
      .Case([&](CosineOp) {
        return Parts{emit.mul(emit.cosine(a.re), real<chlo::CoshOp>(a.im)),
                     emit.neg(emit.mul(emit.sine(a.re), real<chlo::SinhOp>(a.im)))};
      })
      .Case([&](TanhOp) { return tanh(a); })
      .Case<TanOp, chlo::TanOp>([&](auto) {
        Parts turned = tanh({emit.neg(a.im), a.re}); // tan z = -i tanh(i z)
        return Parts{turned.im, emit.neg(turned.re)};
      })
      .Case([&](chlo::AsinOp) { return math.asin(a); })
      .Case([&](chlo::AcosOp) { return math.acos(a); })
      .Case([&](chlo::AcoshOp) { return math.acosh(a); })
      .Case([&](chlo::AtanhOp) { return math.atanh(a); })
      .Case([&](chlo::AsinhOp) { return math.overI(math.asin(math.timesI(a))); })
      .Case([&](chlo::AtanOp) { return math.overI(math.atanh(math.timesI(a))); })
      .Case([&](Atan2Op) { return math.angle(a, partsOf(1u)); })
      .Default([](Operation *) { return std::nullopt; });
}

/// Expands functions whose first operand is complex; returns std::nullopt for other ops.
std::optional<Parts> OpExpansion::expandFunction() {
  using namespace stablehlo;
  if (op->getNumOperands() == 0 || !isComplex(op->getOperand(0)))
    return std::nullopt;
  Parts a = partsOf(0u);
  if (std::optional<Parts> parts = expandExponential(a))
    return parts;
  if (std::optional<Parts> parts = expandTrigonometric(a))
    return parts;
  return TypeSwitch<Operation *, std::optional<Parts>>(op)
      .Case([&](MaxOp) { return choose(math.precedes(a, partsOf(1u)), partsOf(1u), a); })
      .Case([&](MinOp) { return choose(math.precedes(partsOf(1u), a), partsOf(1u), a); })
      .Case([&](CholeskyOp cholesky) { return expandCholesky(emit, cholesky, a); })
      .Case([&](TriangularSolveOp solve) {
        return expandTriangularSolve(emit, solve, a, partsOf(1u));
      })
      .Case([&](BitcastConvertOp) { return a; })
      .Case([&](SignOp) { return sign(a); })
      .Case([&](chlo::ConjOp) { return Parts{a.re, emit.neg(a.im)}; })
      .Case([&](chlo::SquareOp) { return math.mul(a, a); })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<Parts> OpExpansion::expand() {
  using namespace stablehlo;
  return TypeSwitch<Operation *, std::optional<Parts>>(op)
      .Case<AddOp, SubtractOp, NegOp, SelectOp, BroadcastInDimOp, ReshapeOp, TransposeOp, SliceOp,
            ConcatenateOp, PadOp, ReverseOp, DynamicSliceOp, DynamicUpdateSliceOp, GatherOp,
            st::ConstrainOp>([&](auto) { return Parts{cloneFor(false), cloneFor(true)}; })
      .Case<ReduceOp, ReduceWindowOp, ScatterOp>([&](Operation *combining) -> std::optional<Parts> {
        if (!hasSeparateParts(combining))
          return std::nullopt;
        return Parts{cloneFor(false), cloneFor(true)};
      })
      .Case([&](ClampOp) {
        Parts low = partsOf(0u), x = partsOf(1u), high = partsOf(2u);
        ArrayRef<int64_t> shape = Emitter::shapeOf(x.re);
        for (Parts *bound : {&low, &high})
          if (Emitter::shapeOf(bound->re).empty())
            *bound = {emit.broadcast(bound->re, {}, shape), emit.broadcast(bound->im, {}, shape)};
        x = choose(math.precedes(low, x), x, low);
        return choose(math.precedes(high, x), high, x);
      })
      .Case([&](FftOp fft) -> std::optional<Parts> {
        if (isEmpty(op))
          return std::nullopt;
        Value operand = fft.getOperand();
        return expandFourier(emit, fft, isComplex(operand) ? partsOf(0u) : Parts{operand, {}});
      })
      .Case([&](MulOp) { return math.mul(partsOf(0u), partsOf(1u)); })
      .Case([&](DivOp) { return math.div(partsOf(0u), partsOf(1u)); })
      .Case<DotGeneralOp, ConvolutionOp>([&](Operation *) { return product(); })
      .Case([&](IotaOp iota) {
        RankedTensorType type = realType(iota.getResult());
        Value count = emit.iota(type.getShape(), type.getElementType(), iota.getIotaDimension());
        return Parts{count, emit.zerosLike(count)};
      })
      .Case([&](ConvertOp convert) {
        Type element = realType(convert.getResult()).getElementType();
        if (!isComplex(convert.getOperand())) {
          Value re = emit.convert(convert.getOperand(), element);
          return Parts{re, emit.zerosLike(re)};
        }
        Parts from = partsOf(0u);
        return Parts{emit.convert(from.re, element), emit.convert(from.im, element)};
      })
      .Default([&](Operation *) { return expandFunction(); });
}

Value OpExpansion::run() {
  using namespace stablehlo;
  if (isa<RealOp>(op))
    return partsOf(0u).re;
  if (isa<ImagOp>(op))
    return partsOf(0u).im;
  if (isComplex(op->getResult(0))) {
    std::optional<Parts> parts = expand();
    return parts ? join(*parts) : Value();
  }
  if (auto fft = dyn_cast<FftOp>(op))
    return isEmpty(op) ? Value() : expandFourier(emit, fft, partsOf(0u)).re;
  if (isa<AbsOp>(op))
    return math.magnitude(partsOf(0u));
  auto compare = dyn_cast<CompareOp>(op);
  if (!compare || (compare.getComparisonDirection() != Direction::EQ &&
                   compare.getComparisonDirection() != Direction::NE))
    return nullptr;
  Parts a = partsOf(0u), b = partsOf(1u);
  Value re = emit.compare(compare.getComparisonDirection(), a.re, b.re);
  Value im = emit.compare(compare.getComparisonDirection(), a.im, b.im);
  return compare.getComparisonDirection() == Direction::EQ ? emit.bitAnd(re, im)
                                                           : emit.bitOr(re, im);
}

namespace {
struct ExpandComplex : mlir::st::impl::ExpandComplexBase<ExpandComplex> {
  using ExpandComplexBase::ExpandComplexBase;
  void runOnOperation() override;
  void expandOps(func::FuncOp function);
};
} // namespace

/// The sharding of pairs. The dimension of the two parts is not split.
static ShardingAttr addPartDim(ShardingAttr sharding) {
  SmallVector<ArrayAttr> dims(sharding.getDims());
  dims.push_back(ArrayAttr::get(sharding.getContext(), {}));
  SmallVector<int64_t> priorities(sharding.getPriorities());
  if (!priorities.empty())
    priorities.push_back(0);
  return ShardingAttr::get(sharding.getContext(), sharding.getMesh(), dims, sharding.getKind(),
                           sharding.getUnreduced(), sharding.getOpen(), priorities,
                           sharding.getReplicated());
}

/// Arguments and results of @main get one more dimension, of the two parts.
static void expandSignature(func::FuncOp function) {
  Block &body = function.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  Emitter emit(builder, &body, function.getLoc());
  auto paired = [](Value value) {
    SmallVector<int64_t> shape(realType(value).getShape());
    shape.push_back(2);
    return realType(value).clone(shape);
  };
  for (BlockArgument argument : body.getArguments()) {
    if (!isComplex(argument))
      continue;
    RankedTensorType complexType = cast<RankedTensorType>(argument.getType()),
                     pairs = paired(argument);
    argument.setType(pairs);
    unsigned number = argument.getArgNumber();
    if (auto sharding = function.getArgAttrOfType<ShardingAttr>(number, kShardingAttr))
      function.setArgAttr(number, kShardingAttr, addPartDim(sharding));
    int64_t last = pairs.getRank() - 1;
    SmallVector<Value> parts;
    llvm::SmallPtrSet<Operation *, 2> slices;
    for (int64_t i : {0, 1}) {
      Value slice = emit.sliceDim(argument, last, i, i + 1);
      slices.insert(slice.getDefiningOp());
      parts.push_back(emit.reshape(slice, complexType.getShape()));
    }
    Value value = stablehlo::ComplexOp::create(builder, emit.loc, complexType, parts[0], parts[1]);
    argument.replaceAllUsesExcept(value, slices);
  }
  Operation *end = body.getTerminator();
  builder.setInsertionPoint(end);
  for (OpOperand &operand : end->getOpOperands()) {
    if (!isComplex(operand.get()))
      continue;
    Value value = operand.get();
    SmallVector<int64_t> shape(realType(value).getShape());
    shape.push_back(1);
    Value re = stablehlo::RealOp::create(builder, emit.loc, realType(value), value),
          im = stablehlo::ImagOp::create(builder, emit.loc, realType(value), value);
    operand.set(
        emit.concatenate({emit.reshape(re, shape), emit.reshape(im, shape)}, shape.size() - 1));
    unsigned number = operand.getOperandNumber();
    if (auto sharding = function.getResultAttrOfType<ShardingAttr>(number, kShardingAttr))
      function.setResultAttr(number, kShardingAttr, addPartDim(sharding));
  }
  function.setFunctionType(
      FunctionType::get(function.getContext(), body.getArgumentTypes(), end->getOperandTypes()));
}

void ExpandComplex::expandOps(func::FuncOp function) {
  SmallVector<Operation *> ops, pairs;
  function.walk([&](Operation *op) {
    bool concerns = op->getNumResults() == 1 &&
                    !isa<stablehlo::ComplexOp, stablehlo::ConstantOp>(op) &&
                    (isComplex(op->getResult(0)) || llvm::any_of(op->getOperands(), isComplex));
    // Ops in the computation of a sum are replaced together with it.
    Operation *parent = op->getParentOp();
    if (concerns && !(hasSeparateParts(parent) && llvm::any_of(parent->getOperands(), isComplex)))
      ops.push_back(op);
  });
  // In program order, so that the operands of an op are already pairs.
  for (Operation *op : ops) {
    OpBuilder builder(op);
    Emitter emit(builder, op->getBlock(), op->getLoc());
    Value replacement = OpExpansion(emit, op).run();
    if (!replacement)
      continue;
    op->getResult(0).replaceAllUsesWith(replacement);
    op->erase();
    ++numExpanded;
  }
  function.walk([&](stablehlo::ComplexOp op) { pairs.push_back(op); });
  for (Operation *op : llvm::reverse(pairs))
    if (op->use_empty())
      op->erase();
}

void ExpandComplex::runOnOperation() {
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    bool hasComplex = llvm::any_of(function.getArguments(), isComplex);
    function.walk([&](Operation *op) { hasComplex |= llvm::any_of(op->getResults(), isComplex); });
    if (!hasComplex)
      continue;
    if (function.getSymName() == "main")
      expandSignature(function);
    splitComplexRegions(function);
    expandOps(function);
  }
}
