// Descriptors of cuDNN's stand-in, and the checks of their attributes.
#pragma once

#include "backends/cuda/runtime/libraries/CudnnLibrary.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace standin::cudnn {

constexpr int kSuccess = 0, kBadParam = 2000, kNotSupported = 3000, kExecutionFailed = 5000;

/// Stores the reason for cudnnGetLastErrorString and returns the status.
int fail(int status, const std::string &why);
const std::string &lastError();

using Extents = std::array<int64_t, 4>;

struct Desc {
  explicit Desc(int kind) : kind(kind) {}

  const int kind;
  bool isFinal = false;
  std::map<int, std::vector<int64_t>> numbers;
  std::map<int, std::vector<const void *>> pointers; // also other descriptors

  int64_t number(int attribute, int64_t otherwise = 0) const {
    auto it = numbers.find(attribute);
    return it == numbers.end() ? otherwise : it->second.front();
  }
  const Desc *other(int attribute) const {
    auto it = pointers.find(attribute);
    return it == pointers.end() ? nullptr : static_cast<const Desc *>(it->second.front());
  }
  Extents extents(int attribute) const {
    Extents all{};
    std::copy_n(numbers.at(attribute).begin(), 4, all.begin());
    return all;
  }
};

/// The bytes of an element.
int64_t widthOf(int64_t type);

/// Checks a descriptor when it is finalised; returns a status.
int check(Desc &desc);

/// Returns true if an engine supports the graph: attention or its gradient, with heads of a
/// supported size.
bool hasEngine(const Desc &graph);

} // namespace standin::cudnn
