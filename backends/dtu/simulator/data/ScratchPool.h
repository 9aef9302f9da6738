// L1 and L2 of clusters. They are needed while a task runs and are undefined afterwards, so all
// simulators of a process share them, and an idle simulator holds none.
#pragma once

#include "backends/dtu/simulator/data/LazyMemory.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace st::dtu {

/// Thread-safe.
class ScratchPool {
public:
  /// The pool of this process. It lives while any reference to it exists.
  static std::shared_ptr<ScratchPool> shared();

  /// Returns memory with undefined contents; its data is null if the host refuses. The most
  /// recently released memory of that size is reused first, because it is still cached.
  LazyMemory take(int64_t bytes);
  void release(LazyMemory memory);

private:
  std::mutex mutex;
  std::map<int64_t, std::vector<LazyMemory>> free; ///< by size
  size_t allocated = 0;                            ///< including the memories that are in use
};

} // namespace st::dtu
