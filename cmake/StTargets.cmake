# There are two kinds of libraries: the compiler side sees MLIR, the runtime
# side never does (docs/architecture.md has the table).

separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND "${LLVM_DEFINITIONS}")

function(_st_compiler_flags target)
  target_include_directories(${target} SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(${target} PRIVATE ${LLVM_DEFINITIONS_LIST})
  target_compile_options(${target} PRIVATE -fno-exceptions)
  if(NOT ST_PCH)
    target_compile_options(${target} PRIVATE "SHELL:-include ${CMAKE_SOURCE_DIR}/cmake/LlvmStatistics.h")
  endif()
endfunction()

include(StPch)

# st_compiler_library(NAME SRCS... [LINK libs...] [DEPENDS targets...])
#   A static library of the compiler side: MLIR visible, exceptions off, the folder's precompiled header.
function(st_compiler_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SRCS} ${ARG_UNPARSED_ARGUMENTS})
  set_property(GLOBAL APPEND PROPERTY ST_LIBRARIES ${name})
  _st_compiler_flags(${name})
  st_use_pch(${name} ${ST_FOLDER_PCH})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# st_compiler_tool(NAME SRCS... LINK libs...): an executable of the compiler side.
function(st_compiler_tool name)
  cmake_parse_arguments(ARG "" "" "SRCS;LINK;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SRCS} ${ARG_UNPARSED_ARGUMENTS})
  _st_compiler_flags(${name})
  st_use_pch(${name} ${ST_FOLDER_PCH})
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
  st_use_pch(${name} runtime)
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
