// Lists which keys of a user's configuration st-plan uses, and which have no effect.
#ifndef ST_TOOLS_ST_PLAN_KEYSTATUSES_H
#define ST_TOOLS_ST_PLAN_KEYSTATUSES_H

#include "lib/Frontend/TrainingRun.h"
#include "lib/Proto/plan.pb.h"

namespace mlir::st {

/// The number of honoured keys, and the keys without effect by reason. Empty without keys.
std::string printKeys(const std::vector<KeyStatus> &statuses);

void addKeys(const std::vector<KeyStatus> &statuses,
             google::protobuf::RepeatedPtrField<::st::proto::PlanKey> &keys);

} // namespace mlir::st

#endif // ST_TOOLS_ST_PLAN_KEYSTATUSES_H
