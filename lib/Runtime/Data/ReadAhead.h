// Prepares batches on a thread before they are requested.
#ifndef ST_RUNTIME_DATA_READAHEAD_H
#define ST_RUNTIME_DATA_READAHEAD_H

#include "lib/Runtime/Data/BatchSource.h"

namespace st {

/// A source of the same batches as `source`. After batch i is requested, a thread prepares up to
/// `depth` of the following ones; requesting any other batch than the next one restarts the thread
/// there. A failure to prepare a batch is an error when the batch is requested, not before. The
/// thread ends with the source.
std::unique_ptr<BatchSource> readAhead(std::unique_ptr<BatchSource> source, int depth = 2);

} // namespace st

#endif // ST_RUNTIME_DATA_READAHEAD_H
