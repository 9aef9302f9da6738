//===- PrintOutcomes.cpp - Outcomes of arguments as tables ----------------===//

#include "lib/Frontend/Megatron/Compile/CompiledRun.h"

#include "lib/Support/Text.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace mlir;
using namespace mlir::st;

StringRef mlir::st::stringify(ArgumentOutcome::Status status) {
  switch (status) {
  case ArgumentOutcome::Honoured:
    return "honoured";
  case ArgumentOutcome::NoEffect:
    return "no effect";
  case ArgumentOutcome::Refused:
    return "refused";
  }
  llvm_unreachable("unknown status of an argument");
}

static std::string shown(const std::string &value) {
  constexpr size_t maximum = 28;
  const std::string text = ::st::escapeControls(value);
  return text.size() <= maximum ? text : text.substr(0, maximum - 3) + "...";
}

static std::string padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size() + 1), ' ');
  return text;
}

std::string mlir::st::printOutcomes(ArrayRef<ArgumentOutcome> outcomes) {
  std::string text;
  for (const ArgumentOutcome &outcome : outcomes) {
    const StringRef relation = outcome.status == ArgumentOutcome::Honoured  ? "as "
                               : outcome.status == ArgumentOutcome::Refused ? "expected "
                                                                            : "";
    text += "  " + padded(outcome.name, 43) + padded(shown(outcome.value), 30) +
            padded(stringify(outcome.status).str(), 11) + relation.str() + outcome.text + "\n";
  }
  return text;
}

std::string mlir::st::printOutcomesJson(ArrayRef<ArgumentOutcome> outcomes) {
  std::string text = "[";
  for (const ArgumentOutcome &outcome : outcomes)
    text += std::string(&outcome == outcomes.begin() ? "\n" : ",\n") +
            "  {\"argument\": " + ::st::quoteJson(outcome.name) +
            ", \"value\": " + ::st::quoteJson(outcome.value) + ", \"outcome\": \"" +
            stringify(outcome.status).str() + "\", \"as\": " + ::st::quoteJson(outcome.text) +
            ", \"line\": " + std::to_string(outcome.line) + "}";
  return text + "\n]\n";
}

std::string mlir::st::summariseOutcomes(ArrayRef<ArgumentOutcome> outcomes) {
  auto count = [&](ArgumentOutcome::Status status) {
    return llvm::count_if(outcomes, [&](const auto &outcome) { return outcome.status == status; });
  };
  std::string text = std::to_string(outcomes.size()) +
                     " arguments: " + std::to_string(count(ArgumentOutcome::Honoured)) +
                     " honoured, " + std::to_string(count(ArgumentOutcome::NoEffect)) +
                     " without effect";
  if (auto refused = count(ArgumentOutcome::Refused))
    text += ", " + std::to_string(refused) + " refused";
  return text;
}
