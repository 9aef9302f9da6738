#include "passes/Import/MeshAxes.h"
#include "dialects/St/Interfaces/Notes.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include <map>
#include <set>
#include <utility>

using namespace mlir;
using namespace mlir::st;

namespace {
/// `"a":(2)4`: the part of size 4 after major parts of `a` whose product is 2.
struct AxisPart {
  StringRef axis;
  int64_t before = 1, size = 0; ///< 0 for a complete axis
};

class AxisSplitter {
public:
  explicit AxisSplitter(ModuleOp module) : module(module) {}
  LogicalResult run();

private:
  LogicalResult collect(Operation *op, StringAttr name);
  LogicalResult collect();
  LogicalResult checkNesting();
  sdy::MeshAttr splitMesh(sdy::MeshAttr mesh);
  SmallVector<StringAttr> partsOf(StringAttr name) const;
  SmallVector<StringAttr> partsOf(ArrayRef<StringAttr> names) const;
  void replace();

  ModuleOp module;
  llvm::StringMap<int64_t> sizes;
  /// For each axis that is used in parts, their boundaries (1, ..., its size), each with the first
  /// op that names it.
  llvm::StringMap<std::map<int64_t, Operation *>> boundaries;
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
    return success(); // a complete axis, or an unknown one, which its user reports
  if (part.before < 1 || part.size < 2 || part.before > size->second || part.size > size->second ||
      size->second % (part.before * part.size) != 0)
    return op->emitError("a sharding names ") << name << ", which is not a part of axis \""
                                              << part.axis << "\" of size " << size->second;
  for (int64_t place : {int64_t(1), part.before, part.before * part.size, size->second})
    boundaries[part.axis].emplace(place, op);
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

LogicalResult AxisSplitter::checkNesting() {
  for (const auto &[axis, places] : boundaries) {
    auto last = places.begin();
    for (auto place = last; place != places.end(); last = place++)
      if (place->first % last->first != 0)
        return withNote(place->second->emitError("axis \"")
                            << axis << "\" is split into sub-axes that do not nest: one ends at "
                            << last->first << ", another at " << place->first,
                        last->second, "the first part is used here");
  }
  return success();
}

/// The axes of the new mesh that a name denotes: those within its bounds.
SmallVector<StringAttr> AxisSplitter::partsOf(StringAttr name) const {
  AxisPart part = parse(name);
  auto found = boundaries.find(part.axis);
  if (found == boundaries.end() || part.size < 0)
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
    bool isSplit = boundaries.contains(name.getValue());
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
  if (failed(collect()) || failed(checkNesting()))
    return failure();
  if (!boundaries.empty())
    replace();
  return success();
}

LogicalResult mlir::st::splitMeshAxes(ModuleOp module) { return AxisSplitter(module).run(); }

namespace {
/// The axes of several meshes over the same devices as runs of axes of one finer mesh.
class MeshUnifier {
public:
  explicit MeshUnifier(ModuleOp module) : module(module) {}
  void run();

private:
  bool findBounds();
  void createAxes();
  SmallVector<StringAttr> partsOf(StringRef mesh, ArrayRef<StringAttr> names) const;
  void replace();

  ModuleOp module;
  SmallVector<sdy::MeshOp> meshes;
  /// The products of the sizes of the first axes, of all meshes.
  std::set<int64_t> bounds;
  SmallVector<StringAttr> axes; ///< of the finer mesh
  SmallVector<int64_t> sizes;
  /// By mesh and axis.
  llvm::StringMap<llvm::StringMap<SmallVector<StringAttr>>> parts;
};
} // namespace

/// Returns false if the meshes are equal, or have no common refinement.
bool MeshUnifier::findBounds() {
  int64_t devices = 0;
  for (auto op : module.getOps<sdy::MeshOp>()) {
    if (op.getMesh().getAxes().empty())
      continue;
    int64_t product = 1;
    bounds.insert(product);
    for (int64_t size : op.getMesh().getSizes())
      bounds.insert(product *= size);
    if (devices != 0 && product != devices)
      return false;
    devices = product;
    meshes.push_back(op);
  }
  bool areEqual = llvm::all_of(meshes, [&](sdy::MeshOp op) {
    return op.getMesh().getAxes() == meshes.front().getMesh().getAxes() &&
           op.getMesh().getSizes() == meshes.front().getMesh().getSizes();
  });
  int64_t last = 1;
  for (int64_t bound : bounds)
    if (bound % std::exchange(last, bound) != 0)
      return false;
  return !areEqual;
}

void MeshUnifier::createAxes() {
  int64_t last = 1;
  for (int64_t bound : llvm::drop_begin(bounds)) {
    axes.push_back(StringAttr::get(module.getContext(), "axis" + Twine(axes.size())));
    sizes.push_back(bound / std::exchange(last, bound));
  }
  for (sdy::MeshOp op : meshes) {
    size_t next = 0;
    for (auto [name, size] : llvm::zip_equal(op.getMesh().getAxes(), op.getMesh().getSizes())) {
      SmallVector<StringAttr> &own = parts[op.getSymName()][name.getValue()];
      for (int64_t rest = size; rest > 1; rest /= sizes[next++])
        own.push_back(axes[next]);
    }
  }
}

SmallVector<StringAttr> MeshUnifier::partsOf(StringRef mesh, ArrayRef<StringAttr> names) const {
  auto own = parts.find(mesh);
  SmallVector<StringAttr> result;
  for (StringAttr name : names) {
    if (own == parts.end() || !own->second.contains(name.getValue()))
      result.push_back(name); // An unknown axis, which its user reports.
    else
      llvm::append_range(result, own->second.lookup(name.getValue()));
  }
  return result;
}

void MeshUnifier::replace() {
  MLIRContext *context = module.getContext();
  // Manual axes are those of the mesh of the computation's values.
  module.walk([&](sdy::ManualComputationOp op) {
    StringRef mesh = meshes.front().getSymName();
    for (auto shardings : {op.getInShardings(), op.getOutShardings()})
      for (sdy::TensorShardingAttr sharding : shardings.getShardings())
        if (parts.contains(sharding.getMesh().getValue()))
          mesh = sharding.getMesh().getValue();
    op.setManualAxesAttr(
        sdy::ManualAxesAttr::get(context, partsOf(mesh, op.getManualAxes().getAxes())));
  });
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](sdy::TensorShardingAttr sharding) {
    StringRef mesh = sharding.getMesh().getValue();
    SmallVector<ArrayAttr> dims;
    for (ArrayAttr dim : sharding.getDims()) {
      SmallVector<StringAttr> names = llvm::to_vector(dim.getAsRange<StringAttr>());
      SmallVector<StringAttr> finer = partsOf(mesh, names);
      dims.push_back(ArrayAttr::get(context, SmallVector<Attribute>(finer.begin(), finer.end())));
    }
    return sdy::TensorShardingAttr::get(
        context, sharding.getMesh(), dims, sharding.getOpen(), sharding.getPriorities(),
        partsOf(mesh, sharding.getReplicated()), partsOf(mesh, sharding.getUnreduced()));
  });
  replacer.recursivelyReplaceElementsIn(module);
  for (sdy::MeshOp op : meshes)
    op.setMeshAttr(sdy::MeshAttr::get(context, axes, sizes, op.getMesh().getDeviceIds()));
}

void MeshUnifier::run() {
  if (!findBounds())
    return;
  createAxes();
  replace();
}

void mlir::st::unifyMeshes(ModuleOp module) { MeshUnifier(module).run(); }
