#include "test/unit/Sharding/EveryPath.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mlir::st;

constexpr double kNever = std::numeric_limits<double>::infinity(), kStart = 512, kTouch = 0.05;

EveryPath::EveryPath(ArrayRef<int64_t> shape, const MeshAxes &axes, int64_t elementBytes)
    : shape(shape), elementBytes(static_cast<double>(elementBytes)) {
  for (int64_t size : shape)
    digits.push_back(llvm::Log2_64(size));
  for (Axis axis = 1; axis < axes.count(); ++axis)
    sizes.push_back(axes.size(axis));
  State state;
  enumerate(state, 0);
  for (const State &each : states)
    shardings.push_back(write(each));
}

void EveryPath::enumerate(State &state, size_t axis) {
  if (axis == sizes.size()) {
    states.push_back(state);
    return;
  }
  auto with = [&](Role role) {
    state.push_back(role);
    enumerate(state, axis + 1);
    state.pop_back();
  };
  with({});
  with({Role::Unreduced, 0, 0});
  int64_t width = llvm::Log2_64(sizes[axis]);
  for (size_t dim = 0; dim < digits.size(); ++dim)
    for (int64_t digit = 0; digit + width <= digits[dim]; ++digit) {
      bool isFree = true;
      for (int64_t i = 0; i < width; ++i)
        isFree &= !isTaken(state, dim, digit + i);
      if (isFree)
        with({Role::Placed, dim, digit});
    }
}

bool EveryPath::isTaken(const State &state, size_t dim, int64_t digit) const {
  for (auto [axis, role] : llvm::enumerate(state))
    if (role.kind == Role::Placed && role.dim == dim && digit >= role.digit &&
        digit < role.digit + llvm::Log2_64(sizes[axis]))
      return true;
  return false;
}

TensorSharding EveryPath::write(const State &state) const {
  TensorSharding sharding(shape.size());
  for (auto [i, role] : llvm::enumerate(state)) {
    Axis axis = static_cast<Axis>(i + 1);
    if (role.kind == Role::Unreduced)
      sharding.addUnreduced(axis);
    if (role.kind == Role::Placed)
      sharding.dims[role.dim] =
          *unite(sharding.dims[role.dim], splitAt(axis, sizes[i], int64_t(1) << role.digit));
  }
  return sharding;
}

double EveryPath::bytes(const State &state) const {
  double count = elementBytes;
  for (int64_t size : shape)
    count *= static_cast<double>(size);
  for (auto [axis, role] : llvm::enumerate(state))
    if (role.kind == Role::Placed)
      count /= static_cast<double>(sizes[axis]);
  return count;
}

/// Returns true if axes split one dimension with nothing unsplit between them.
bool EveryPath::lieTogether(const State &state, ArrayRef<size_t> moved) const {
  int64_t first = 64, last = 0;
  for (size_t axis : moved) {
    if (state[axis].dim != state[moved[0]].dim)
      return false;
    first = std::min(first, state[axis].digit);
    last = std::max(last, state[axis].digit);
  }
  for (int64_t digit = first; digit < last; ++digit)
    if (!isTaken(state, state[moved[0]].dim, digit))
      return false;
  return true;
}

/// Returns true if devices hold the same parts in both, on possibly different devices.
bool EveryPath::isPermutation(const State &a, const State &b) const {
  for (size_t dim = 0; dim < digits.size(); ++dim)
    for (int64_t digit = 0; digit < digits[dim]; ++digit)
      if (isTaken(a, dim, digit) != isTaken(b, dim, digit))
        return false;
  int64_t terms[2] = {1, 1};
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    terms[0] *= a[axis].kind == Role::Unreduced ? sizes[axis] : 1;
    terms[1] *= b[axis].kind == Role::Unreduced ? sizes[axis] : 1;
  }
  return terms[0] == terms[1];
}

/// The cost of a single step from `a` to `b`.
double EveryPath::edge(const State &a, const State &b, const State &goal) const {
  SmallVector<size_t> moved;
  double members = 1;
  for (size_t axis = 0; axis < sizes.size(); ++axis)
    if (!(a[axis] == b[axis])) {
      moved.push_back(axis);
      members *= static_cast<double>(sizes[axis]);
    }
  auto all = [&](const State &state, auto kind) {
    return llvm::all_of(moved, [&](size_t axis) { return state[axis].kind == kind; });
  };
  double share = 1 - 1 / members, best = kNever;
  if (all(a, Role::Free) && all(b, Role::Placed) && moved.size() == 1)
    best = kTouch * bytes(b);
  if (all(a, Role::Free) && all(b, Role::Unreduced) &&
      llvm::all_of(moved, [&](size_t axis) { return goal[axis].kind == Role::Unreduced; }))
    best = kTouch * bytes(a);
  if (all(a, Role::Placed) && all(b, Role::Free) && lieTogether(a, moved))
    best = kStart + share * bytes(b);
  if (all(a, Role::Unreduced) && all(b, Role::Free))
    best = kStart + 2 * share * bytes(a);
  if (all(a, Role::Unreduced) && all(b, Role::Placed) && lieTogether(b, moved))
    best = kStart + share * bytes(a);
  if (all(a, Role::Placed) && all(b, Role::Placed) && lieTogether(a, moved) &&
      lieTogether(b, moved)) {
    bool fits = true;
    for (size_t i : moved)
      for (size_t j : moved) {
        fits &= i == j || (a[i].digit < a[j].digit) == (b[i].digit < b[j].digit);
        // Nothing moves onto the remaining digits.
        fits &= a[i].dim != b[j].dim || b[j].digit >= a[i].digit + llvm::Log2_64(sizes[i]) ||
                a[i].digit >= b[j].digit + llvm::Log2_64(sizes[j]);
      }
    if (fits)
      best = kStart + share * bytes(a);
  }
  if (isPermutation(a, b))
    best = std::min(best, kStart + bytes(a));
  return best;
}

double EveryPath::cost(size_t from, size_t to) const {
  // Axes that neither sharding uses stay unused in between.
  auto isUseless = [&](const State &state) {
    for (size_t axis = 0; axis < sizes.size(); ++axis)
      if (state[axis].kind != Role::Free && states[from][axis].kind == Role::Free &&
          states[to][axis].kind == Role::Free)
        return true;
    return false;
  };
  std::vector<double> least(states.size(), kNever);
  std::vector<bool> isDone(states.size());
  for (size_t i = 0; i < states.size(); ++i)
    isDone[i] = isUseless(states[i]);
  least[from] = 0;
  while (true) {
    size_t next = states.size();
    for (size_t i = 0; i < states.size(); ++i)
      if (!isDone[i] && least[i] < kNever && (next == states.size() || least[i] < least[next]))
        next = i;
    if (next == states.size() || next == to)
      return least[to];
    isDone[next] = true;
    for (size_t i = 0; i < states.size(); ++i)
      if (!isDone[i])
        least[i] = std::min(least[i], least[next] + edge(states[next], states[i], states[to]));
  }
}
