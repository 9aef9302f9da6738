# Precompiled headers (docs/contributing/README.md). They are in cmake/: CompilerPch.h, DialectsPch.h, which includes it,
# and GpuPch.h, which includes both, for the compiler side; RuntimePch.h for the runtime side and UnitTestPch.h for its unit
# tests. A folder of the compiler side chooses one before its targets: set(ST_FOLDER_PCH dialects).
option(ST_PCH "Compile with precompiled headers; OFF shows that each file includes what it uses" ON)

# CMake's own flags name the header behind -Xclang, where ccache does not see a path: no object that was
# compiled with it would be found from another folder.
set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include-pch <PCH_FILE>)

# The flags of a precompiled header and of all that is compiled with it; clang refuses a header of another level.
function(_st_pch_flags target name)
  target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp" -fpch-instantiate-templates -fPIC)
  if(name STREQUAL "runtime")
    target_compile_options(${target} PRIVATE -O2)
  endif()
endfunction()

# _st_add_pch(NAME HEADER [DEPENDS targets...]): the target st_NAME_pch; DEPENDS generate headers that HEADER includes.
function(_st_add_pch name header)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  set(target st_${name}_pch)
  file(WRITE ${CMAKE_BINARY_DIR}/${target}.cpp "")
  add_library(${target} OBJECT ${CMAKE_BINARY_DIR}/${target}.cpp)
  target_precompile_headers(${target} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/${header})
  _st_pch_flags(${target} ${name})
  # After an edit of comments ccache would find the earlier precompiled header, which clang refuses: a file's size differs.
  set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "")

  # ccache hashes this file instead of the precompiled header (CCACHE_PCH_EXTSUM), which holds the path of the
  # build folder, so no other folder would ever find an object in the cache.
  set(sum ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.pch.sum)
  add_custom_command(
    OUTPUT ${sum}
    COMMAND ${CMAKE_COMMAND} -DHEADER=${CMAKE_SOURCE_DIR}/cmake/${header}
            "-DROOTS=${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}" -DTOOLCHAIN=${ST_PCH_TOOLCHAIN}
            -DSUM=${sum} -DDEPFILE=${sum}.d -P ${CMAKE_SOURCE_DIR}/cmake/PchSum.cmake
    DEPENDS ${CMAKE_SOURCE_DIR}/cmake/PchSum.cmake ${ARG_DEPENDS}
    DEPFILE ${sum}.d
    COMMENT "Sum of ${header}"
    VERBATIM)
  add_custom_target(${target}_sum DEPENDS ${sum})
  add_dependencies(${target} ${target}_sum)
endfunction()

# The versions that stand for the headers of LLVM, Abseil, Protobuf, GoogleTest and the standard library in a sum.
function(_st_pch_toolchain)
  set(contents "${CMAKE_CXX_COMPILER_VERSION} ${LLVM_PACKAGE_VERSION} ${LLVM_DEFINITIONS} ${Protobuf_VERSION} ${absl_VERSION}")
  string(APPEND contents " ${GTest_VERSION}")
  foreach(header ${LLVM_INCLUDE_DIR}/llvm/Support/VCSRevision.h ${LLVM_INCLUDE_DIR}/llvm/Config/llvm-config.h)
    file(READ ${header} text)
    string(APPEND contents "${text}")
  endforeach()
  string(SHA256 sum "${contents}")
  set(ST_PCH_TOOLCHAIN ${sum} PARENT_SCOPE)
endfunction()

set(ST_FOLDER_PCH compiler)
if(ST_PCH)
  _st_pch_toolchain()
  _st_add_pch(compiler CompilerPch.h)
  _st_add_pch(dialects DialectsPch.h DEPENDS StDialectIncGen StOpsIncGen StStableHLOIncGen)
  _st_add_pch(gpu GpuPch.h DEPENDS StDialectIncGen StOpsIncGen StStableHLOIncGen)
  _st_add_pch(runtime RuntimePch.h)
  _st_add_pch(unit_test UnitTestPch.h)
  foreach(name compiler dialects gpu)
    _st_compiler_flags(st_${name}_pch)
  endforeach()
  target_link_libraries(st_unit_test_pch PRIVATE GTest::gtest)
endif()

# st_use_pch(TARGET NAME): compiles the target with the precompiled header NAME.
function(st_use_pch target name)
  if(NOT ST_PCH)
    return()
  endif()
  _st_pch_flags(${target} ${name})
  target_precompile_headers(${target} REUSE_FROM st_${name}_pch)
endfunction()
