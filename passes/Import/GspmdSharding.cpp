#include "passes/Import/GspmdSharding.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include <numeric>
#include <set>

using namespace mlir;
using namespace mlir::st;

static constexpr int64_t kMaxDevices = 1 << 20;

/// Consumes `[1,2]`, or a list that ends with `close`, at the front of the text.
static bool takeList(StringRef &text, char open, char close, SmallVectorImpl<int64_t> &list) {
  if (!text.consume_front(StringRef(&open, 1)))
    return false;
  size_t end = text.find(close);
  if (end == StringRef::npos)
    return false;
  SmallVector<StringRef> parts;
  text.take_front(end).split(parts, ',');
  text = text.drop_front(end + 1);
  return llvm::all_of(parts, [&](StringRef part) {
    return !part.trim().getAsInteger(10, list.emplace_back()) && list.back() >= 0 &&
           list.back() <= kMaxDevices;
  });
}

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result = std::min(result * std::min(size, kMaxDevices), kMaxDevices + 1);
  return result;
}

static bool isPermutation(ArrayRef<int64_t> numbers, size_t count) {
  SmallVector<int64_t> sorted(numbers);
  llvm::sort(sorted);
  return llvm::equal(sorted, llvm::seq<int64_t>(0, count));
}

/// The shape and the transposition that produce a list of devices; returns false if there are none.
static bool readOrder(ArrayRef<int64_t> list, GspmdSharding &sharding) {
  // The digits of a position in the list, fastest first: their sizes, and the distance between the
  // devices of neighbours.
  struct Digit {
    int64_t count, stride;
  };
  SmallVector<Digit> digits;
  auto size = static_cast<int64_t>(list.size());
  for (int64_t covered = 1; covered < size; covered *= digits.back().count) {
    int64_t stride = list[covered], count = 1;
    while (covered * count < size && list[covered * count] == stride * count)
      ++count;
    if (count == 1 || size % (covered * count) != 0)
      return false;
    digits.push_back({count, stride});
  }
  for (int64_t place = 0; place < size; ++place) {
    int64_t device = 0, left = place;
    for (Digit digit : digits) {
      device += left % digit.count * digit.stride;
      left /= digit.count;
    }
    if (list[place] != device)
      return false;
  }
  SmallVector<size_t> bySize = llvm::to_vector(llvm::seq<size_t>(0, digits.size()));
  llvm::sort(bySize, [&](size_t a, size_t b) { return digits[a].stride > digits[b].stride; });
  int64_t below = size;
  for (size_t i : bySize) {
    below /= digits[i].count;
    if (digits[i].stride != below)
      return false;
    sharding.reshape.push_back(digits[i].count);
  }
  for (size_t i = digits.size(); i-- > 0;)
    sharding.transpose.push_back(llvm::find(bySize, i) - bySize.begin());
  if (digits.empty()) {
    sharding.reshape = {1};
    sharding.transpose = {0};
  }
  return true;
}

/// Consumes ` shard_as 3` or ` shard_like 3` at the end of the text.
static std::optional<int64_t> takeGroup(StringRef &text) {
  StringRef rest = text.rtrim("0123456789");
  int64_t group;
  if (text.substr(rest.size()).getAsInteger(10, group) ||
      (!rest.consume_back("shard_as ") && !rest.consume_back("shard_like ")))
    return std::nullopt;
  text = rest.trim();
  return group;
}

FailureOr<GspmdSharding> mlir::st::parseGspmdSharding(StringRef text, std::string &why) {
  GspmdSharding sharding;
  auto fail = [&](StringRef message) {
    why = message.str();
    return failure();
  };
  text = text.trim();
  if (!text.consume_front("{") || !text.consume_back("}"))
    return fail("expected { and } around it");
  sharding.group = takeGroup(text);
  if (text == "replicated")
    return sharding;
  if (text == "manual") {
    sharding.kind = GspmdSharding::Manual;
    return sharding;
  }
  if (text == "unknown") {
    sharding.kind = GspmdSharding::Unknown;
    return sharding;
  }
  sharding.kind = GspmdSharding::Tiled;
  if (!text.consume_front("devices=") || !takeList(text, '[', ']', sharding.tiles))
    return fail("expected {replicated}, {manual} or {devices=[...]<=[...]}");
  if (!text.empty() && llvm::isDigit(text.front())) {
    auto [list, rest] = text.split(' ');
    std::string bracketed = ("[" + list + "]").str();
    StringRef left = bracketed;
    SmallVector<int64_t> devices;
    if (!takeList(left, '[', ']', devices) || !isPermutation(devices, devices.size()) ||
        !readOrder(devices, sharding))
      return fail("no axes of a mesh give this order of the devices");
    text = rest;
  } else if (!text.consume_front("<=") || !takeList(text, '[', ']', sharding.reshape)) {
    return fail("expected the devices as <=[...]");
  } else if (text.consume_front("T") && !takeList(text, '(', ')', sharding.transpose)) {
    return fail("expected the order of dimensions as T(...)");
  }
  if (sharding.transpose.empty())
    sharding.transpose = llvm::to_vector(llvm::seq<int64_t>(0, sharding.reshape.size()));
  text = text.trim();
  sharding.lastIsReplicated = text.consume_front("last_tile_dim_replicate");
  if (!text.trim().empty())
    return fail("unexpected text after the devices");
  if (!isPermutation(sharding.transpose, sharding.reshape.size()))
    return fail("T(...) is not a permutation of the dimensions");
  int64_t devices = product(sharding.reshape);
  if (devices < 1 || devices > kMaxDevices || devices != product(sharding.tiles))
    return fail("the number of tiles differs from the number of devices");
  return sharding;
}

FailureOr<SmallVector<int64_t>> mlir::st::commonAxes(ArrayRef<GspmdSharding> shardings) {
  // Axis boundaries: products of the sizes of preceding axes.
  std::set<int64_t> borders = {1};
  std::optional<int64_t> devices;
  for (const GspmdSharding &sharding : shardings) {
    if (sharding.kind != GspmdSharding::Tiled)
      continue;
    if (devices.value_or(product(sharding.reshape)) != product(sharding.reshape))
      return failure();
    devices = product(sharding.reshape);
    bool isInOrder = llvm::is_sorted(sharding.transpose);
    int64_t border = 1;
    for (int64_t size : isInOrder ? sharding.tiles : sharding.reshape)
      borders.insert(border *= size);
  }
  SmallVector<int64_t> axes;
  int64_t last = 1;
  for (int64_t border : borders) {
    if (border % last != 0)
      return failure();
    if (border > 1)
      axes.push_back(border / last);
    last = border;
  }
  return axes;
}

FailureOr<SmallVector<SmallVector<int64_t>>>
mlir::st::axesOf(const GspmdSharding &sharding, ArrayRef<int64_t> meshAxes, int64_t rank) {
  SmallVector<SmallVector<int64_t>> result(rank);
  if (sharding.kind != GspmdSharding::Tiled)
    return result;
  // The mesh axes of each dimension of the devices' shape.
  SmallVector<SmallVector<int64_t>> ofDimension;
  size_t next = 0;
  for (int64_t size : sharding.reshape) {
    SmallVector<int64_t> &axes = ofDimension.emplace_back();
    for (int64_t left = size; left > 1; left /= meshAxes[next++]) {
      if (next == meshAxes.size() || left % meshAxes[next] != 0)
        return failure();
      axes.push_back(next);
    }
  }
  SmallVector<int64_t> order;
  for (int64_t dimension : sharding.transpose)
    llvm::append_range(order, ofDimension[dimension]);
  // Tiles take them one after the other.
  if (static_cast<int64_t>(sharding.tiles.size()) != rank + sharding.lastIsReplicated)
    return failure();
  size_t taken = 0;
  for (int64_t dim = 0; dim < rank; ++dim)
    for (int64_t left = sharding.tiles[dim]; left > 1; left /= meshAxes[order[taken++]]) {
      if (taken == order.size() || left % meshAxes[order[taken]] != 0)
        return failure();
      result[dim].push_back(order[taken]);
    }
  return result;
}
