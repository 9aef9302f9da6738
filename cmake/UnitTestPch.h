// RuntimePch.h and GoogleTest, for unit tests of the runtime side.
#include "cmake/RuntimePch.h"

#include <gtest/gtest.h>
