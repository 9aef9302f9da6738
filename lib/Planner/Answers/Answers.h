// Answers to questions about capacity, as data and as text.
#ifndef ST_PLANNER_ANSWERS_H
#define ST_PLANNER_ANSWERS_H

#include "lib/Proto/plan.pb.h"

#include <string>

namespace st {

/// How long `tokens` take at the rate of a step, beside the closed form 8 T P / (n X) of arXiv
/// 2104.04473 (its equation 4): with full recomputation a parameter costs 8 FLOPs a token, and a
/// device does X FLOP/s. `assumedTflops` is somebody's X; 0: none.
proto::PlanTraining describeTraining(const proto::PlanStep &step, double tokens,
                                     double assumedTflops);

/// Efficiencies and the front of nodes against time, of rows in the order of their nodes, by
/// scaling.
void completeScale(proto::PlanScale &scale);

std::string printTraining(const proto::PlanTraining &training, int devices, double parameters);
std::string printLargestModels(const proto::PlanLargestModels &answer);
std::string printFewestDevices(const proto::PlanFewestDevices &answer);
std::string printScale(const proto::PlanScale &scale);
/// The phases of a log beside the predicted ones, and which of them are off.
std::string printPhases(const proto::PlanLint &lint);
std::string printWhatIf(const proto::PlanWhatIf &answer);

} // namespace st

#endif // ST_PLANNER_ANSWERS_H
