// Costs on a GPU under an implementation profile.
//
// A product runs in tiles on multiprocessors, wave after wave. Its time is that of the fastest tile
// shape, with each wave at the peak rate times a fitted efficiency. Operands whose rows are not
// multiples of 16 bytes use instructions of half the rate. All other ops move bytes at a fitted
// share of the memory's bandwidth. The profile gives the number of launches of an op on the host.
#ifndef ST_COSTS_GPUCOSTS_H
#define ST_COSTS_GPUCOSTS_H

#include "lib/Costs/Costs.h"
#include "lib/Proto/cluster.pb.h"
#include "lib/Proto/profile.pb.h"
#include "lib/Timing/CollectiveTime.h"

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <string>
#include <vector>

namespace st {

/// The constants that st-fit fits, at most five for a cluster and profile.
struct GpuConstants {
  double launchUs = 10;            ///< host time of a launch
  double productEfficiency = 0.75; ///< of the peak, for full waves
  double memoryEfficiency = 0.75;  ///< of the memory's bandwidth
  double networkEfficiency = 0.8;  ///< of the nominal rate of the cards
  double stepUs = 3000;            ///< host time once per step: data, logs, schedules
};

/// The names of the constants in files.
std::vector<std::string> constantNames();
/// Null if no constant has that name.
double *findConstant(GpuConstants &constants, absl::string_view name);

class GpuCosts : public Costs {
public:
  GpuCosts(const proto::ClusterDescription &cluster, const proto::ImplementationProfile &profile,
           const GpuConstants &constants);

  OpTime op(const proto::OpWork &work) const override;
  OpTime collective(absl::string_view kind, double bytes,
                    const GroupPlacement &placement) const override;
  double transfer(double bytes, bool crossesNodes, int sharers) const override;
  OpTime memoryPass(double bytes, double launches) const override;
  double peakFlops(proto::ElementType type) const override;
  double sizeFactor(const proto::OpWork &work) const override;
  double fastestProduct(proto::ElementType type) const override {
    return peakFlops(type) * constants.productEfficiency;
  }

private:
  double productUs(const proto::OpWork &work) const;
  double memoryUs(double bytes) const;

  const proto::ClusterDescription cluster; ///< with the fitted efficiency of its cards
  const proto::ImplementationProfile &profile;
  const GpuConstants constants;
  CollectiveTime collectives;
  absl::flat_hash_map<std::string, const proto::RegionProfile *> regions;
};

} // namespace st

#endif // ST_COSTS_GPUCOSTS_H
