// Normalised code: instructions that differ only in base addresses compare equal.
#pragma once

#include "backends/dtu/isa/Registers.h"

#include "absl/container/flat_hash_map.h"

#include <cstdint>
#include <string>
#include <vector>

namespace st::dtu {

/// An instruction without the constants of its addresses outside of the cluster. If an Index only
/// computes such addresses, its constant is removed too.
struct CodePlace {
  uint32_t form = 0;         ///< equal for instructions that otherwise do the same
  int64_t bases[2] = {0, 0}; ///< the constants of the bytes read, and written
};

struct StretchCode {
  const Program *program;
  std::vector<std::vector<CodePlace>> places; ///< of each stream
  std::vector<StreamRegisters> registers;     ///< of each stream; peers count
};

/// Assigns numbers to forms, so that forms of several programs can be compared.
class CodeForms {
public:
  /// `program` must outlive the result.
  StretchCode codeOf(const Program &program);

private:
  absl::flat_hash_map<std::string, uint32_t> forms;
};

} // namespace st::dtu
