// Passes of a softmax in one: maxima, sums and products are relative to the running maximum.
#include "backends/dtu/codegen/attention/StreamedKernel.h"
#include "backends/dtu/isa/Names.h"
#include "dialects/StableHLO/Utils/SoftmaxScale.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::dtu;
namespace hlo = mlir::stablehlo;

namespace {
/// The reductions of a row program, in its body and in its tile ops.
struct Softmax {
  SmallVector<hlo::ReduceOp> maxima, sums;
  SmallVector<int> maximumOps, sumOps;
  SmallVector<size_t> maximumOf;                 // of each sum
  SmallVector<mlir::st::SoftmaxScale> consumers; // of the products' operands
};

/// Rewrites the passes of a softmax as one.
class OnlineSoftmax {
public:
  OnlineSoftmax(FusedAttention &fused, StreamedPlan &plan, const Softmax &softmax)
      : fused(fused), program(fused.program), plan(plan), softmax(softmax) {}
  void run();

private:
  FusedAttention &fused;
  TileProgram &program;
  StreamedPlan &plan;
  const Softmax &softmax;
  TilePhase pass;
  DenseMap<int, int> running;      // values relative to the final maxima, to running ones
  SmallVector<int> before, scales; // of each maximum

  int addValue(GroupSet groups, hw::DType type, Rate rate);
  int addConstant(double value);
  int addOp(hw::VectorOp op, hw::DType type, ArrayRef<int> sources, std::optional<int> dst = {});
  int dstOf(int op) const { return program.ops[op].dst; }
  bool isRelative(int op) const;
  void addFree(ArrayRef<int> ops);
  void addScales();
  void addRelative(ArrayRef<int> ops);
  void finish();
};
} // namespace

static bool isIdentity(hlo::ReduceOp reduce) {
  Attribute init;
  hw::DType type =
      getDType(getElementTypeOrSelf(reduce.getResult(0).getType())).value_or(hw::DType::F32);
  std::optional<Reduction> kind = getReduction(reduce, type == hw::DType::I1);
  return kind && matchPattern(reduce.getInitValues()[0], m_Constant(&init)) &&
         (getSplatBits(init) == getIdentity(*kind, type) ||
          (*kind == Reduction::Sum && matchPattern(init, m_AnyZeroFloat())));
}

/// Finds the softmax of a kernel in which later blocks only scale the values of earlier ones: all
/// reductions are maxima and the sums of exponentials relative to them, and all products read such
/// exponentials. std::nullopt for other kernels.
static std::optional<Softmax> findSoftmax(FusedAttention &fused, const StreamedPlan &plan) {
  Softmax softmax;
  Block &body = fused.rows->getBody().front();
  SmallVector<int> ops;
  for (auto [index, op] : llvm::enumerate(fused.program.ops))
    if (op.reduction)
      ops.push_back(static_cast<int>(index));
  size_t next = 0;
  for (auto reduce : body.getOps<hlo::ReduceOp>()) {
    if (fused.space.getGroups(reduce.getResult(0)) == fused.space.getGroups(reduce.getInputs()[0]))
      continue; // of a dimension of size 1
    if (!isIdentity(reduce) || next == ops.size())
      return std::nullopt;
    int op = ops[next++];
    if (fused.program.ops[op].reduction == Reduction::Max) {
      softmax.maxima.push_back(reduce);
      softmax.maximumOps.push_back(op);
      continue;
    }
    std::optional<size_t> maximum = mlir::st::findMaximum(reduce, softmax.maxima);
    if (!maximum)
      return std::nullopt;
    softmax.sums.push_back(reduce);
    softmax.sumOps.push_back(op);
    softmax.maximumOf.push_back(*maximum);
  }
  if (next != ops.size() || softmax.sums.empty() ||
      llvm::any_of(plan.passes, [](const TilePhase &pass) { return !pass.outputs.empty(); }))
    return std::nullopt;
  OperandRange yielded = body.getTerminator()->getOperands();
  for (Value operand : yielded.drop_front(fused.stored.size())) {
    auto scale = mlir::st::findSoftmaxScale(operand, softmax.sums);
    if (!scale)
      return std::nullopt;
    softmax.consumers.push_back(*scale);
  }
  return softmax;
}

int OnlineSoftmax::addValue(GroupSet groups, hw::DType type, Rate rate) {
  TileValue value;
  value.groups = groups;
  value.type = type;
  value.rate = rate;
  value.level = 1; // after the first reduction
  program.values.push_back(std::move(value));
  return static_cast<int>(program.values.size()) - 1;
}

int OnlineSoftmax::addConstant(double number) {
  int index = addValue(0, hw::DType::F32, Rate::Invariant);
  program.values[index].kind = TileValue::Kind::Constant;
  program.values[index].bits = llvm::bit_cast<uint32_t>(static_cast<float>(number));
  return index;
}

/// Adds an op on row values to the program.
int OnlineSoftmax::addOp(hw::VectorOp vectorOp, hw::DType type, ArrayRef<int> sources,
                         std::optional<int> dst) {
  TileOp op;
  op.op = vectorOp;
  op.dstType = type;
  for (int source : sources) {
    op.sources.push_back({source, program.values[source].type});
    op.groups |= program.values[source].groups;
  }
  op.dst = dst ? *dst : addValue(op.groups, type, Rate::Item);
  program.ops.push_back(std::move(op));
  return static_cast<int>(program.ops.size()) - 1;
}

/// Returns true if an op reads a value that is relative to a maximum.
bool OnlineSoftmax::isRelative(int op) const {
  return llvm::any_of(program.ops[op].sources,
                      [&](const TileRef &source) { return running.contains(source.value); });
}

/// Computes the maxima, and all values that do not depend on a maximum.
void OnlineSoftmax::addFree(ArrayRef<int> ops) {
  for (int op : ops) {
    if (llvm::is_contained(softmax.maximumOps, op)) {
      int copy = addOp(hw::VectorOp::Copy, program.ops[op].dstType, dstOf(op));
      before.push_back(dstOf(copy));
      pass.ops.push_back(copy);
    }
    if (!isRelative(op) && !llvm::is_contained(softmax.sumOps, op))
      pass.ops.push_back(op);
  }
}

/// Rescales the sums to the new maxima. A maximum of minus infinity counts as 0, so that exponents
/// are minus infinity.
void OnlineSoftmax::addScales() {
  auto add = [&](hw::VectorOp op, hw::DType type, ArrayRef<int> sources,
                 std::optional<int> dst = {}) {
    pass.ops.push_back(addOp(op, type, sources, dst));
    return dstOf(pass.ops.back());
  };
  const int lowest = addConstant(-std::numeric_limits<double>::infinity()), zero = addConstant(0);
  for (auto [index, op] : llvm::enumerate(softmax.maximumOps)) {
    const int maximum = dstOf(op);
    int isLowest = add(hw::VectorOp::CmpEq, hw::DType::I1, {maximum, lowest});
    int below = add(hw::VectorOp::Select, hw::DType::F32, {isLowest, zero, maximum});
    int difference = add(hw::VectorOp::Sub, hw::DType::F32, {before[index], below});
    scales.push_back(add(hw::VectorOp::Exp, hw::DType::F32, difference));
    running[maximum] = below;
  }
  for (auto [op, maximum] : llvm::zip_equal(softmax.sumOps, softmax.maximumOf))
    add(hw::VectorOp::Mul, hw::DType::F32, {dstOf(op), scales[maximum]}, dstOf(op));
}

/// Computes exponentials relative to the running maxima, their sums and the products' operands,
/// which are not divided yet.
void OnlineSoftmax::addRelative(ArrayRef<int> ops) {
  for (int index : ops) {
    if (!isRelative(index))
      continue;
    TileOp op = program.ops[index];
    for (TileRef &source : op.sources)
      if (auto found = running.find(source.value); found != running.end())
        source.value = found->second;
    if (!llvm::is_contained(softmax.sumOps, index)) {
      const TileValue old = program.values[op.dst];
      const int dst = addValue(old.groups, old.type, old.rate);
      running[op.dst] = dst;
      op.dst = dst;
    }
    program.ops.push_back(std::move(op));
    pass.ops.push_back(static_cast<int>(program.ops.size()) - 1);
  }
}

/// After the pass: row values, and the divisors of the products' results.
void OnlineSoftmax::finish() {
  for (const TilePhase &phase : plan.passes) {
    llvm::append_range(pass.itemOps, phase.itemOps);
    pass.inputs.append(phase.inputs);
  }
  llvm::sort(pass.inputs);
  pass.inputs.erase(llvm::unique(pass.inputs), pass.inputs.end());
  const int one = addConstant(1);
  for (auto [product, scale] : llvm::zip_equal(fused.consumers, softmax.consumers)) {
    StreamedPlan::Rescale rescale;
    rescale.scale = scales[softmax.maximumOf[scale.sum]];
    if (scale.isDivided) {
      pass.itemOps.push_back(
          addOp(hw::VectorOp::Div, hw::DType::F32, {one, dstOf(softmax.sumOps[scale.sum])}));
      rescale.inverse = dstOf(pass.itemOps.back());
    }
    product.value = running.lookup(product.value);
    pass.kept.push_back(product.value);
    plan.rescales.push_back(rescale);
  }
  plan.passes.assign(1, pass);
}

void OnlineSoftmax::run() {
  // Row values between the reductions and the products are part of the pass as well.
  llvm::SmallSetVector<int, 32> all;
  for (const TilePhase &phase : plan.passes) {
    all.insert_range(phase.ops);
    all.insert_range(phase.itemOps);
  }
  SmallVector<int> ops = all.takeVector();
  llvm::sort(ops);
  SmallVector<int> step;
  for (int op : ops)
    if (program.ops[op].reduction || program.values[dstOf(op)].rate == Rate::Step)
      step.push_back(op);
  // A placeholder makes ops relative before the running values exist.
  for (int op : softmax.maximumOps)
    running[dstOf(op)] = dstOf(op);
  for (int op : ops)
    if (isRelative(op) || llvm::is_contained(softmax.sumOps, op))
      running[dstOf(op)] = dstOf(op);
  addFree(step);
  running.clear();
  addScales();
  const int one = addConstant(1);
  for (int op : softmax.sumOps)
    running[dstOf(op)] = one;
  addRelative(ops);
  finish();
}

bool mlir::dtu::mergeSoftmaxPasses(FusedAttention &fused, StreamedPlan &plan) {
  std::optional<Softmax> softmax = findSoftmax(fused, plan);
  if (!softmax)
    return false;
  OnlineSoftmax(fused, plan, *softmax).run();
  return true;
}
