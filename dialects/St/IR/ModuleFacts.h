// The phase of a module, derived from the module itself.
//
// A module has no label of its phase: a pass can run alone on hand-written text, and a label could
// be wrong. The results of each pass are visible in the IR. A pass states the facts that it
// requires and those that must be absent, the driver states those of each phase, and this file
// checks both.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// On a module: `exact-sums` ran, and results must not depend on the layout. A pass whose choice
/// depends on local shapes must not change how numbers are rounded.
constexpr llvm::StringLiteral kExactSumsAttr = "st.exact_sums";

/// On a module: the mesh axis whose devices share sequences and send keys and values around a
/// ring (`ring-attention`).
constexpr llvm::StringLiteral kRingAxisAttr = "st.ring_axis";

/// Properties of a module, in the order in which the phases establish them.
enum class Fact : unsigned {
  Roles,      ///< an argument or result of @main has an st.role
  Gradients,  ///< a result has role "gradient"
  Update,     ///< a result has role "parameter"
  Optimizer,  ///< the module has st.optimizer
  Mesh,       ///< the module has an st.mesh
  Layout,     ///< the module has st.stages
  Shardings,  ///< an op of a function has an st.sharding or is an st.reshard; also true without
              ///< such ops
  Stages,     ///< an op or argument of a function has an st.stage
  LocalTypes, ///< an argument or result of a function has an st.global_type
  Programs,   ///< there is an st.program
  TensorOps,  ///< a task holds tensor ops outside of kernels
  Schedules,  ///< every program has an st.schedule
  Kernels,    ///< a task holds an st.kernel
  Addresses,  ///< storage or a value of a task has an address
  DeviceCode, ///< a task holds instructions of a device
};
constexpr unsigned kNumFacts = static_cast<unsigned>(Fact::DeviceCode) + 1;

class FactSet {
public:
  constexpr FactSet(std::initializer_list<Fact> facts = {}) {
    for (Fact fact : facts)
      bits |= bit(fact);
  }
  constexpr bool contains(Fact fact) const { return bits & bit(fact); }
  constexpr void insert(Fact fact) { bits |= bit(fact); }
  /// Facts from `first` on.
  static constexpr FactSet from(Fact first) {
    FactSet set;
    for (unsigned i = static_cast<unsigned>(first); i < kNumFacts; ++i)
      set.insert(static_cast<Fact>(i));
    return set;
  }
  constexpr FactSet operator|(FactSet other) const {
    other.bits |= bits;
    return other;
  }

private:
  static constexpr unsigned bit(Fact fact) { return 1u << static_cast<unsigned>(fact); }
  unsigned bits = 0;
};

/// The requirements of a pass or a phase.
struct FactContract {
  FactSet needed, refused;
};

/// The contract of passes that import programs of other tools: the module has no layout yet.
inline constexpr FactContract kBeforeLayout = {{}, FactSet::from(Fact::Layout)};

/// Fails if the module does not fulfil the contract. The error is one line that begins with `who`
/// and names the expected and the found facts. Takes time linear in the module.
LogicalResult checkFacts(ModuleOp module, StringRef who, const FactContract &contract);

} // namespace mlir::st
