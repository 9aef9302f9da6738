// Each fuzz target defines libFuzzer's entry point. An input must not crash, hang or trip a
// sanitizer; it may be accepted or rejected.
#ifndef ST_TEST_FUZZ_FUZZTARGET_H
#define ST_TEST_FUZZ_FUZZTARGET_H

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif // ST_TEST_FUZZ_FUZZTARGET_H
