# Finds St's build dependencies and sets the flags that all targets share.
#
# The compiler side links the shared libMLIR and libLLVM; the runtime side links
# Protobuf, Abseil and libxsmm statically, so that a training binary needs
# nothing beyond glibc.

if(NOT DEFINED MLIR_DIR)
  set(MLIR_DIR /usr/lib/llvm-22/lib/cmake/mlir)
endif()
set(ZLIB_USE_STATIC_LIBS ON)   # before MLIR: its configuration looks for zlib too
find_package(MLIR REQUIRED CONFIG)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
if(NOT LLVM_ENABLE_ASSERTIONS)
  add_compile_definitions(ST_LLVM_HAS_NO_ASSERTIONS)
endif()
set(LLVM_EXTERNAL_LIT ${LLVM_TOOLS_BINARY_DIR}/lit CACHE STRING "The lit test runner")

set(Protobuf_USE_STATIC_LIBS ON)
find_package(Protobuf REQUIRED)
find_package(absl REQUIRED)

find_package(Threads REQUIRED)
find_package(GTest REQUIRED)
find_package(ZLIB REQUIRED)
find_path(ST_NLOHMANN_JSON nlohmann/json.hpp REQUIRED)

include(StArchives)

find_program(ST_CCACHE ccache)
if(ST_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${ST_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ST_CCACHE})
endif()

find_program(ST_MOLD mold)
if(ST_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# -O1 keeps the compiler side quick to build; hot runtime files ask for -O3 themselves.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O1")
add_compile_options(-Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers)

set(ST_SANITIZE "" CACHE STRING "Comma-separated sanitizers, e.g. address,undefined")
if(ST_SANITIZE)
  add_compile_options(-fsanitize=${ST_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${ST_SANITIZE})
endif()

option(ST_FUZZ "Link the fuzz targets with libFuzzer" OFF)
if(ST_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
