// Compares declarations of functions with a vendor's headers.
#ifndef ST_TEST_UNIT_CUDA_CALLEDAS_H
#define ST_TEST_UNIT_CUDA_CALLEDAS_H

#include <type_traits>

namespace st::cuda {

/// Returns true if an argument is passed as the header declares it: pointers and handles as any
/// pointer, enumerations as int, structures by their size.
template <class Ours, class Theirs> constexpr bool isPassedAs() {
  if constexpr (std::is_pointer_v<Theirs>)
    return std::is_pointer_v<Ours>;
  else if constexpr (std::is_enum_v<Theirs>)
    return std::is_integral_v<Ours> && sizeof(Ours) == sizeof(Theirs);
  else if constexpr (std::is_class_v<Theirs>)
    return std::is_class_v<Ours> && sizeof(Ours) == sizeof(Theirs);
  else
    return std::is_integral_v<Ours> == std::is_integral_v<Theirs> && sizeof(Ours) == sizeof(Theirs);
}

template <class OurResult, class... Ours, class TheirResult, class... Theirs>
constexpr bool isCalledAs(OurResult (*)(Ours...), TheirResult (*)(Theirs...)) {
  if constexpr (sizeof...(Ours) == sizeof...(Theirs))
    return isPassedAs<OurResult, TheirResult>() && (isPassedAs<Ours, Theirs>() && ...);
  else
    return false;
}
// For a member that is a pointer to a function.
#define CALLED_AS(MEMBER, FUNCTION)                                                                \
  static_assert(isCalledAs(decltype(MEMBER){}, static_cast<decltype(&FUNCTION)>(nullptr)))

} // namespace st::cuda

#endif // ST_TEST_UNIT_CUDA_CALLEDAS_H
