// What every fuzz target defines: libFuzzer's entry point. One input must neither crash nor hang
// nor trip a sanitizer; whether it is accepted is not asked.
#ifndef ST_TEST_FUZZ_FUZZTARGET_H
#define ST_TEST_FUZZ_FUZZTARGET_H

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif // ST_TEST_FUZZ_FUZZTARGET_H
