// The rank table of a program: the values that differ between the ranks of a group, so that all
// ranks share one program.
#pragma once

#include "dialects/St/IR/StDialect.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <utility>
#include <vector>

namespace mlir::st {

class RankTable {
public:
  RankTable(st::ProgramOp program, st::MeshOp mesh) : program(program), mesh(mesh) {}

  /// Returns the first entry for some axes. The entries are the rank's position among the ranks
  /// that differ from it only along the axes (first axis major), then the global ranks of these
  /// ranks in order of position.
  int64_t addAxes(ArrayAttr axes);
  /// Returns the entry with the rank's position along an axis plus `shift`, modulo the axis' size.
  int64_t addShifted(StringAttr axis, int64_t shift);
  /// Number of ranks along axes.
  int64_t getSize(ArrayAttr axes);

  /// Returns the messages of one step of rings along axes, as pairs of ranks of the group. A ring
  /// has `size` members whose positions are `stride` apart.
  std::vector<std::pair<int64_t, int64_t>> getRing(ArrayAttr axes, int64_t stride, int64_t size);

  /// Returns the messages of an exchange along axes. Every rank sends to every other one.
  std::vector<std::pair<int64_t, int64_t>> getExchange(ArrayAttr axes);

  /// Adds five entries for source-target pairs of positions along axes and returns the first: the
  /// number of sends of the rank (0 or 1), the global target rank, the number of receives, the
  /// source rank, and 1 if the rank sends to itself. A rank that is its own target sends no
  /// message.
  int64_t addPairs(ArrayAttr axes, ArrayRef<int64_t> pairs);

  /// Returns the first of two entries for such pairs: the global rank to which the rank sends
  /// (itself if it is its own target), and the global rank from which it receives; -1 if there is
  /// none.
  int64_t addNeighbours(ArrayAttr axes, ArrayRef<int64_t> pairs);

  /// Returns the entry with the global rank in another group that corresponds to this rank.
  int64_t addCounterpart(ProgramOp group);

  int64_t size() const { return entries.size(); }
  /// All tables, rank-major.
  SmallVector<int64_t> getTables() const;

private:
  st::ProgramOp program;
  st::MeshOp mesh;
  llvm::StringMap<int64_t> known;
  SmallVector<SmallVector<int64_t>> entries; // each entry's value for every rank

  int64_t numRanks() { return program.getDevices().size(); }
  /// Returns the first of the `count` entries of a key. If the key is new, `fill` sets the entries
  /// of each rank.
  int64_t addEntries(const std::string &key, size_t count,
                     llvm::function_ref<void(int64_t rank, MutableArrayRef<int64_t>)> fill);
  int64_t position(int64_t rank, ArrayAttr axes);
  SmallVector<int64_t> members(int64_t rank, ArrayAttr axes);
};

} // namespace mlir::st
