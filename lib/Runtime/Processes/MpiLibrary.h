// Open MPI's library, loaded at run time, so that a training binary starts on machines without it.
#ifndef ST_LIB_RUNTIME_MPILIBRARY_H
#define ST_LIB_RUNTIME_MPILIBRARY_H

#include "absl/status/statusor.h"

#include <cstddef>

namespace st {

/// The functions in use, declared as in Open MPI's binary interface since version 3: handles are
/// pointers to objects that the library exports.
struct MpiLibrary {
  using Handle = void *;
  static constexpr int kSuccess = 0, kThreadMultiple = 3;
  /// The public fields of MPI_Status come first.
  struct Status {
    int source, tag, error, cancelled;
    size_t bytes;
    void *reserved[4];
  };

  int (*initThread)(int *argc, char ***argv, int required, int *provided);
  int (*finalize)();
  int (*rank)(Handle communicator, int *rank);
  int (*size)(Handle communicator, int *size);
  int (*setErrorHandler)(Handle communicator, Handle handler);
  int (*send)(const void *bytes, int count, Handle type, int to, int tag, Handle communicator,
              Handle *request);
  int (*receive)(void *bytes, int count, Handle type, int from, int tag, Handle communicator,
                 Handle *request);
  int (*broadcast)(void *bytes, int count, Handle type, int root, Handle communicator,
                   Handle *request);
  int (*barrier)(Handle communicator, Handle *request);
  int (*test)(Handle *request, int *isDone, Status *status);
  int (*count)(const Status *status, Handle type, int *count);
  int (*errorText)(int error, char *text, int *length);

  Handle world, byte, errorsReturn;

  /// NotFound if there is no library, or it is not Open MPI.
  static absl::StatusOr<MpiLibrary> open();
};

} // namespace st

#endif // ST_LIB_RUNTIME_MPILIBRARY_H
