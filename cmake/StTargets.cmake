# There are two kinds of libraries: the compiler side sees MLIR, the runtime
# side never does (docs/architecture.md has the table).

# CMake's own flags name the header behind -Xclang, where ccache does not see a path: no object that was
# compiled with it would be found from another folder.
set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include-pch <PCH_FILE>)

# The one precompiled header of the compiler side.
function(_st_ensure_pch)
  if(TARGET st_compiler_pch)
    return()
  endif()
  file(WRITE ${CMAKE_BINARY_DIR}/st_compiler_pch.cpp "")
  add_library(st_compiler_pch OBJECT ${CMAKE_BINARY_DIR}/st_compiler_pch.cpp)
  _st_compiler_flags(st_compiler_pch)
  target_precompile_headers(st_compiler_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/CompilerPch.h)
  _st_write_pch_sum()
endfunction()

# ccache hashes this file instead of the precompiled header (CCACHE_PCH_EXTSUM), which holds the path of the
# build folder, so no other folder would ever find an object in the cache.
function(_st_write_pch_sum)
  set(contents "${CMAKE_CXX_COMPILER_VERSION} ${LLVM_PACKAGE_VERSION} ${LLVM_DEFINITIONS}")
  foreach(header ${CMAKE_SOURCE_DIR}/cmake/CompilerPch.h ${LLVM_INCLUDE_DIR}/llvm/Support/VCSRevision.h
          ${LLVM_INCLUDE_DIR}/llvm/Config/llvm-config.h)
    file(READ ${header} text)
    string(APPEND contents "${text}")
  endforeach()
  string(SHA256 sum "${contents}")
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/st_compiler_pch.dir/cmake_pch.hxx.pch.sum "${sum}\n")
endfunction()

function(_st_compiler_flags target)
  target_include_directories(${target} SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(${target} PRIVATE ${LLVM_DEFINITIONS_LIST})
  target_compile_options(${target} PRIVATE -fno-exceptions
    "SHELL:-Xclang -fno-pch-timestamp" -fpch-instantiate-templates)
endfunction()

separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND "${LLVM_DEFINITIONS}")

# st_compiler_library(NAME SRCS... [LINK libs...] [DEPENDS targets...])
#   A static library of the compiler side: MLIR visible, exceptions off, shared PCH.
function(st_compiler_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;LINK;DEPENDS" ${ARGN})
  _st_ensure_pch()
  add_library(${name} STATIC ${ARG_SRCS} ${ARG_UNPARSED_ARGUMENTS})
  set_property(GLOBAL APPEND PROPERTY ST_LIBRARIES ${name})
  _st_compiler_flags(${name})
  target_precompile_headers(${name} REUSE_FROM st_compiler_pch)
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# st_compiler_tool(NAME SRCS... LINK libs...): an executable of the compiler side.
function(st_compiler_tool name)
  cmake_parse_arguments(ARG "" "" "SRCS;LINK;DEPENDS" ${ARGN})
  _st_ensure_pch()
  add_executable(${name} ${ARG_SRCS} ${ARG_UNPARSED_ARGUMENTS})
  _st_compiler_flags(${name})
  target_compile_options(${name} PRIVATE -fPIC)   # as the precompiled header, not -fPIE
  target_precompile_headers(${name} REUSE_FROM st_compiler_pch)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} MLIR LLVM)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# st_runtime_library(NAME SRCS... [LINK libs...]): no MLIR, no LLVM.
function(st_runtime_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SRCS} ${ARG_UNPARSED_ARGUMENTS})
  set_property(GLOBAL APPEND PROPERTY ST_LIBRARIES ${name})
  target_compile_options(${name} PRIVATE -O2)
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# st_tablegen(TARGET file.td  OUTPUT GENERATOR-FLAGS ...): pairs of output name and flags,
# e.g. st_tablegen(StPassesIncGen Passes.td "Passes.h.inc" "-gen-pass-decls").
# The outputs are in the source's folder under the build folder.
function(st_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(pairs ${ARGN})
  while(pairs)
    list(POP_FRONT pairs output flags)
    separate_arguments(flags NATIVE_COMMAND "${flags}")
    mlir_tablegen(${output} ${flags} -I${CMAKE_SOURCE_DIR} -I${MLIR_INCLUDE_DIRS})
  endwhile()
  add_public_tablegen_target(${target})
endfunction()
