#include "st/Runtime/Communicator.h"

#include "absl/strings/numbers.h"

#include <cstdlib>

namespace st {

Launch detectLaunch() {
  struct Known {
    const char *rank, *size;
    absl::string_view launcher;
    bool usesMpi;
  };
  // Slurm's variables of a job are there in a script that nothing launched; those of a step are
  // not.
  constexpr Known kKnown[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "mpirun", true},
                              {"RANK", "WORLD_SIZE", "RANK and WORLD_SIZE", false},
                              {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "srun", true}};
  for (const Known &known : kKnown) {
    const char *rank = std::getenv(known.rank), *size = std::getenv(known.size);
    Launch launch{known.launcher, 1, known.usesMpi};
    if (rank && size && absl::SimpleAtoi(size, &launch.processes) && launch.processes > 1)
      return launch;
  }
  return {};
}

} // namespace st
