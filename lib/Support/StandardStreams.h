// The standard streams of a process that was started without them.
#ifndef ST_SUPPORT_STANDARDSTREAMS_H
#define ST_SUPPORT_STANDARDSTREAMS_H

#include <fcntl.h>

namespace st {

/// Opens any closed descriptor of 0 to 2 on /dev/null. Otherwise the next opened file gets the
/// number of a closed stream, and printed text is written to that file. Call first in main.
inline void reserveStandardStreams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (fcntl(descriptor, F_GETFD) < 0)
      open("/dev/null", O_RDWR);
}

} // namespace st

#endif // ST_SUPPORT_STANDARDSTREAMS_H
