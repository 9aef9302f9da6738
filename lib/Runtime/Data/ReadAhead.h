// Batches made on a thread before they are asked for.
#ifndef ST_RUNTIME_DATA_READAHEAD_H
#define ST_RUNTIME_DATA_READAHEAD_H

#include "lib/Runtime/Data/BatchSource.h"

namespace st {

/// A source of the same batches as `source`. Once batch i is asked for, a thread makes up to
/// `depth` of those behind it; asking for another than the next one starts it there. A batch that
/// cannot be made is an error when it is asked for, not before. The thread ends with the source.
std::unique_ptr<BatchSource> readAhead(std::unique_ptr<BatchSource> source, int depth = 2);

} // namespace st

#endif // ST_RUNTIME_DATA_READAHEAD_H
