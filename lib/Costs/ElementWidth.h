// The bytes of an element.
#ifndef ST_COSTS_ELEMENTWIDTH_H
#define ST_COSTS_ELEMENTWIDTH_H

#include "lib/Proto/types.pb.h"

namespace st {

/// Bytes of an element in memory; an I1 takes a full byte.
inline double widthOf(proto::ElementType type) {
  switch (type) {
  case proto::F64:
  case proto::I64:
  case proto::U64:
    return 8;
  case proto::F16:
  case proto::BF16:
  case proto::I16:
  case proto::U16:
    return 2;
  case proto::I1:
  case proto::I8:
  case proto::U8:
    return 1;
  default:
    return 4;
  }
}

} // namespace st

#endif // ST_COSTS_ELEMENTWIDTH_H
