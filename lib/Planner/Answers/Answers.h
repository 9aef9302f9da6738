// Answers to questions about capacity, as data and as text.
#ifndef ST_PLANNER_ANSWERS_H
#define ST_PLANNER_ANSWERS_H

#include "lib/Proto/plan.pb.h"

#include <string>

namespace st {

/// The training time for `tokens` at the rate of a step, next to the closed form 8 T P / (n X) of
/// arXiv 2104.04473 (equation 4): with full recomputation a parameter costs 8 FLOPs per token, at X
/// FLOP/s per device. `assumedTflops` is a value of X to compare with; 0: none.
proto::PlanTraining describeTraining(const proto::PlanStep &step, double tokens,
                                     double assumedTflops);

/// Computes efficiencies and the Pareto front of nodes against time, per scaling. Rows must be in
/// the order of their nodes.
void completeScale(proto::PlanScale &scale);

std::string printTraining(const proto::PlanTraining &training, int devices, double parameters);
std::string printLargestModels(const proto::PlanLargestModels &answer);
std::string printFewestDevices(const proto::PlanFewestDevices &answer);
std::string printScale(const proto::PlanScale &scale);
/// Prints the phases of a log next to the predicted ones and marks those that deviate.
std::string printPhases(const proto::PlanLint &lint);
std::string printWhatIf(const proto::PlanWhatIf &answer);

} // namespace st

#endif // ST_PLANNER_ANSWERS_H
