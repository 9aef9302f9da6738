// The names of adapters' parameters, which the compiler makes and the runner writes.
#ifndef ST_SUPPORT_ADAPTERNAMES_H
#define ST_SUPPORT_ADAPTERNAMES_H

namespace st {

/// Their names begin with this, as in the files of the Python package PEFT.
constexpr char kAdapterPrefix[] = "base_model.model.";

} // namespace st

#endif // ST_SUPPORT_ADAPTERNAMES_H
