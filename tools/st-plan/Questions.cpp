// Checks which flags can be combined.

#include "lib/Support/AtomicFile.h"
#include "tools/st-plan/PlanTool.h"

#include "absl/strings/str_cat.h"

using namespace mlir;
using namespace mlir::st;

template <typename... Parts> static absl::Status invalid(const Parts &...parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

std::vector<std::string> PlanTool::askedQuestions() const {
  std::vector<std::string> asked;
  auto ask = [&](bool isAsked, const char *name) {
    if (isAsked)
      asked.push_back(name);
  };
  ask(!flags.rows.empty(), "--rows");
  ask(!flags.lintLog.empty(), "--lint-log");
  ask(flags.largestModel, "--largest-model");
  ask(flags.fewestDevices, "--fewest-devices");
  ask(!flags.scale.empty(), "--scale");
  ask(flags.shrinkTo > 0, "--shrink-to");
  return asked;
}

/// Rows and logs describe complete runs. A model provides values for columns that rows lack.
absl::Status PlanTool::checkRunsAlone(const std::string &question) const {
  const bool hasModel = question == "--rows" && !flags.model.empty();
  if (!hasModel && !flags.model.empty())
    return invalid("expected no model with ", question, ", found ", flags.model.getValue());
  const auto ofModel = {static_cast<const llvm::cl::Option *>(std::addressof(flags.deepspeed)),
                        static_cast<const llvm::cl::Option *>(std::addressof(flags.task)),
                        static_cast<const llvm::cl::Option *>(std::addressof(flags.sequence)),
                        static_cast<const llvm::cl::Option *>(std::addressof(flags.precision)),
                        static_cast<const llvm::cl::Option *>(std::addressof(flags.microBatch)),
                        static_cast<const llvm::cl::Option *>(std::addressof(flags.zero))};
  const std::vector<const llvm::cl::Option *> trained = modelOptions();
  std::vector<const llvm::cl::Option *> options = trained;
  options.insert(options.end(), {std::addressof(flags.deepspeed),
                                 std::addressof(flags.task),
                                 std::addressof(flags.sequence),
                                 std::addressof(flags.batch),
                                 std::addressof(flags.precision),
                                 std::addressof(flags.optimizer),
                                 std::addressof(flags.devices),
                                 std::addressof(flags.nodes),
                                 std::addressof(flags.tp),
                                 std::addressof(flags.pp),
                                 std::addressof(flags.dp),
                                 std::addressof(flags.context),
                                 std::addressof(flags.contextAttention),
                                 std::addressof(flags.expert),
                                 std::addressof(flags.vpp),
                                 std::addressof(flags.microBatch),
                                 std::addressof(flags.zero),
                                 std::addressof(flags.recompute),
                                 std::addressof(flags.schedule),
                                 std::addressof(flags.sequenceParallel),
                                 std::addressof(flags.offload)});
  for (const llvm::cl::Option *option : options)
    if (option->getNumOccurrences() &&
        !(hasModel && (llvm::is_contained(ofModel, option) || llvm::is_contained(trained, option))))
      return invalid("--", option->ArgStr.str(), " has no effect with ", question);
  return absl::OkStatus();
}

/// Accepts only one question and only flags that affect its answer, and checks that outputs can be
/// written.
absl::Status PlanTool::checkQuestions() const {
  const std::vector<std::string> asked = askedQuestions();
  if (asked.size() > 1)
    return invalid(asked[0], " and ", asked[1], " exclude each other");
  const std::string question =
      asked.empty() ? flags.whatIf.empty() ? "" : "--what-if" : asked.front();
  struct Companion {
    bool isGiven;
    const char *name;
    std::vector<std::string> questions; ///< the questions that it affects; "" is a plan
  };
  for (const Companion &companion :
       {Companion{!flags.sizes.empty(), "--sizes", {"--largest-model"}},
        Companion{!flags.page.empty(), "--page", {"", "--shrink-to"}},
        Companion{!flags.emit.empty(), "--emit", {"", "--shrink-to"}},
        Companion{!flags.whyNot.empty(), "--why-not", {""}},
        Companion{flags.daysFor > 0, "--days-for", {"", "--scale", "--fewest-devices"}}})
    if (companion.isGiven && !llvm::is_contained(companion.questions, question))
      return invalid(companion.name, " has no effect ",
                     question.empty() ? "without " + companion.questions.front()
                                      : "with " + question);
  if (flags.assumedTflops > 0 && !(flags.daysFor > 0))
    return invalid("--assumed-tflops has no effect without --days-for");
  if (!asked.empty() && flags.whatIf.size() > 1)
    return invalid("--what-if: expected one set of changes with ", question, ", found ",
                   flags.whatIf.size());
  for (const std::string *path : {&flags.page.getValue(), &flags.emit.getValue()})
    if (!path->empty() && *path != "-")
      if (absl::Status status = ::st::AtomicFile::probe(*path); !status.ok())
        return status;
  return question == "--rows" || question == "--lint-log" ? checkRunsAlone(question)
                                                          : absl::OkStatus();
}
