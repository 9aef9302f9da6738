#include "st/Runtime/Communicator.h"

#include "absl/strings/numbers.h"

#include <cstdlib>

namespace st {

Launch detectLaunch() {
  struct Known {
    const char *rank, *size;
    absl::string_view launcher;
  };
  // Slurm's variables of a job are there in a script that nothing launched; those of a step are
  // not.
  constexpr Known kKnown[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "mpirun"},
                              {"RANK", "WORLD_SIZE", "RANK and WORLD_SIZE"},
                              {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "srun"}};
  for (const Known &known : kKnown) {
    const char *rank = std::getenv(known.rank), *size = std::getenv(known.size);
    Launch launch{known.launcher, 1};
    if (rank && size && absl::SimpleAtoi(size, &launch.processes) && launch.processes > 1)
      return launch;
  }
  return {};
}

} // namespace st
