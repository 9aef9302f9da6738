#include "passes/Import/MeshAxes.h"
#include "dialects/St/Interfaces/Notes.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include <map>

using namespace mlir;
using namespace mlir::st;

namespace {
/// `"a":(2)4`: after parts of `a` that make up 2, that of 4.
struct AxisPart {
  StringRef axis;
  int64_t before = 1, size = 0; ///< 0 for a whole axis
};

class AxisSplitter {
public:
  explicit AxisSplitter(ModuleOp module) : module(module) {}
  LogicalResult run();

private:
  LogicalResult collect(Operation *op, StringAttr name);
  LogicalResult collect();
  LogicalResult checkCuts();
  sdy::MeshAttr splitMesh(sdy::MeshAttr mesh);
  SmallVector<StringAttr> partsOf(StringAttr name) const;
  SmallVector<StringAttr> partsOf(ArrayRef<StringAttr> names) const;
  void replace();

  ModuleOp module;
  llvm::StringMap<int64_t> sizes;
  /// For each axis that is used in parts, their boundaries (1, ..., its size), each with the first op
  /// that names it.
  llvm::StringMap<std::map<int64_t, Operation *>> cuts;
};
} // namespace

static AxisPart parse(StringRef name) {
  auto [axis, rest] = name.split(":(");
  AxisPart part{axis};
  if (rest.empty())
    return part;
  auto [before, size] = rest.split(')');
  if (before.getAsInteger(10, part.before) || size.getAsInteger(10, part.size))
    part.size = -1; // for a name that only looks like a part
  return part;
}

static std::string nameOf(StringRef axis, int64_t before, int64_t size) {
  return (axis + ":(" + Twine(before) + ")" + Twine(size)).str();
}

LogicalResult AxisSplitter::collect(Operation *op, StringAttr name) {
  AxisPart part = parse(name);
  auto size = sizes.find(part.axis);
  if (part.size == 0 || sizes.contains(name.getValue()) || size == sizes.end())
    return success(); // a whole axis, or an unknown one, which its user reports
  if (part.before < 1 || part.size < 2 || part.before > size->second || part.size > size->second ||
      size->second % (part.before * part.size) != 0)
    return op->emitError("a sharding names ")
           << name << ", which is not a part of axis \"" << part.axis << "\" of size " << size->second;
  for (int64_t place : {int64_t(1), part.before, part.before * part.size, size->second})
    cuts[part.axis].emplace(place, op);
  return success();
}

LogicalResult AxisSplitter::collect() {
  WalkResult walk = module.walk([&](Operation *op) {
    bool isValid = true;
    AttrTypeWalker walker;
    walker.addWalk([&](sdy::TensorShardingAttr sharding) {
      auto visit = [&](StringAttr name) { isValid = isValid && succeeded(collect(op, name)); };
      for (ArrayAttr dim : sharding.getDims())
        llvm::for_each(dim.getAsRange<StringAttr>(), visit);
      llvm::for_each(sharding.getReplicated(), visit);
      llvm::for_each(sharding.getUnreduced(), visit);
    });
    walker.addWalk([&](sdy::ManualAxesAttr manual) {
      for (StringAttr name : manual.getAxes())
        isValid = isValid && succeeded(collect(op, name));
    });
    walker.walk(op->getAttrDictionary());
    return isValid ? WalkResult::advance() : WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult AxisSplitter::checkCuts() {
  for (const auto &[axis, places] : cuts) {
    auto last = places.begin();
    for (auto place = last; place != places.end(); last = place++)
      if (place->first % last->first != 0)
        return withNote(place->second->emitError("axis \"")
                            << axis
                            << "\" is used in parts that do not fit into each other: one ends at "
                            << last->first << ", another at " << place->first,
                        last->second, "the first part is used here");
  }
  return success();
}

/// The axes of the new mesh that a name denotes: those within its bounds.
SmallVector<StringAttr> AxisSplitter::partsOf(StringAttr name) const {
  AxisPart part = parse(name);
  auto found = cuts.find(part.axis);
  if (found == cuts.end() || part.size < 0)
    return {name};
  const std::map<int64_t, Operation *> &places = found->second;
  int64_t begin = part.before;
  int64_t end = part.size == 0 ? sizes.lookup(part.axis) : begin * part.size;
  SmallVector<StringAttr> parts;
  for (auto place = places.find(begin); place->first < end;) {
    int64_t from = place++->first;
    parts.push_back(
        StringAttr::get(name.getContext(), nameOf(part.axis, from, place->first / from)));
  }
  return parts;
}

SmallVector<StringAttr> AxisSplitter::partsOf(ArrayRef<StringAttr> names) const {
  SmallVector<StringAttr> parts;
  for (StringAttr name : names)
    llvm::append_range(parts, partsOf(name));
  return parts;
}

sdy::MeshAttr AxisSplitter::splitMesh(sdy::MeshAttr mesh) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> newSizes;
  for (auto [name, size] : llvm::zip_equal(mesh.getAxes(), mesh.getSizes())) {
    SmallVector<StringAttr> parts = partsOf(name);
    bool isSplit = cuts.contains(name.getValue());
    for (StringAttr part : parts)
      newSizes.push_back(isSplit ? parse(part).size : size);
    llvm::append_range(names, parts);
  }
  return sdy::MeshAttr::get(module.getContext(), names, newSizes, mesh.getDeviceIds());
}

void AxisSplitter::replace() {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](sdy::MeshAttr mesh) { return splitMesh(mesh); });
  replacer.addReplacement([&](sdy::TensorShardingAttr sharding) {
    SmallVector<ArrayAttr> dims;
    for (ArrayAttr dim : sharding.getDims()) {
      SmallVector<Attribute> parts;
      for (auto name : dim.getAsRange<StringAttr>())
        llvm::append_range(parts, partsOf(name));
      dims.push_back(ArrayAttr::get(module.getContext(), parts));
    }
    return sdy::TensorShardingAttr::get(
        module.getContext(), sharding.getMesh(), dims, sharding.getOpen(), sharding.getPriorities(),
        partsOf(sharding.getReplicated()), partsOf(sharding.getUnreduced()));
  });
  replacer.addReplacement([&](sdy::ManualAxesAttr manual) {
    return sdy::ManualAxesAttr::get(module.getContext(), partsOf(manual.getAxes()));
  });
  replacer.recursivelyReplaceElementsIn(module);
}

LogicalResult AxisSplitter::run() {
  for (auto mesh : module.getOps<sdy::MeshOp>())
    for (auto [name, size] : llvm::zip_equal(mesh.getMesh().getAxes(), mesh.getMesh().getSizes()))
      sizes.try_emplace(name.getValue(), size);
  if (failed(collect()) || failed(checkCuts()))
    return failure();
  if (!cuts.empty())
    replace();
  return success();
}

LogicalResult mlir::st::splitMeshAxes(ModuleOp module) { return AxisSplitter(module).run(); }
