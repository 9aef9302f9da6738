#include "lib/Runtime/Processes/MpiLibrary.h"

#include "absl/strings/str_cat.h"

#include <dlfcn.h>
#include <type_traits>

namespace st {

absl::StatusOr<MpiLibrary> MpiLibrary::open() {
  constexpr const char *kName = "libmpi.so.40";
  // Open MPI's plug-ins look up its symbols globally.
  void *library = ::dlopen(kName, RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    return absl::NotFoundError(absl::StrCat("started by mpirun, but ", kName,
                                            " of Open MPI cannot be opened: ", ::dlerror()));
  MpiLibrary mpi;
  const char *missing = nullptr;
  auto find = [&](auto &to, const char *name) {
    void *symbol = ::dlsym(library, name);
    if (!symbol)
      missing = name;
    to = reinterpret_cast<std::decay_t<decltype(to)>>(symbol);
  };
  find(mpi.initThread, "MPI_Init_thread");
  find(mpi.finalize, "MPI_Finalize");
  find(mpi.rank, "MPI_Comm_rank");
  find(mpi.size, "MPI_Comm_size");
  find(mpi.setErrorHandler, "MPI_Comm_set_errhandler");
  find(mpi.send, "MPI_Isend");
  find(mpi.receive, "MPI_Irecv");
  find(mpi.broadcast, "MPI_Ibcast");
  find(mpi.barrier, "MPI_Ibarrier");
  find(mpi.test, "MPI_Test");
  find(mpi.count, "MPI_Get_count");
  find(mpi.errorText, "MPI_Error_string");
  find(mpi.world, "ompi_mpi_comm_world");
  find(mpi.byte, "ompi_mpi_byte");
  find(mpi.errorsReturn, "ompi_mpi_errors_return");
  if (missing)
    return absl::NotFoundError(
        absl::StrCat(kName, " has no ", missing, ": it is not Open MPI's, which is needed"));
  return mpi;
}

} // namespace st
