// Early return for functions that return absl::Status or absl::StatusOr.
#ifndef ST_SUPPORT_STATUSMACROS_H
#define ST_SUPPORT_STATUSMACROS_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"

/// Returns from the enclosing function if `expression` is an error.
#define ST_RETURN_IF_ERROR(expression)                                                             \
  do {                                                                                             \
    if (absl::Status stStatus = (expression); !stStatus.ok())                                      \
      return stStatus;                                                                             \
  } while (false)

#define ST_STATUS_CONCAT_IMPL(a, b) a##b
#define ST_STATUS_CONCAT(a, b) ST_STATUS_CONCAT_IMPL(a, b)

#define ST_ASSIGN_OR_RETURN_IMPL(result, declaration, expression)                                  \
  auto result = (expression);                                                                      \
  if (!result.ok())                                                                                \
    return result.status();                                                                        \
  declaration = *std::move(result)

/// Declares or assigns `declaration` from a StatusOr, or returns its error.
#define ST_ASSIGN_OR_RETURN(declaration, ...)                                                      \
  ST_ASSIGN_OR_RETURN_IMPL(ST_STATUS_CONCAT(stResult, __LINE__), declaration, (__VA_ARGS__))

#endif // ST_SUPPORT_STATUSMACROS_H
