# The files that `cmake --install` writes, by component: `tools` (tools, runner, device descriptions, completions),
# `libraries` (the shared libraries that the tools need, for machines without LLVM) and `development` (headers, static
# libraries and the package that find_package(St) reads).
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# An executable finds its shared libraries next to itself, or where Debian puts LLVM's. An RPATH, and not a RUNPATH, also serves
# the libraries' own dependencies.
set(ST_TOOL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}:$ORIGIN/../lib:${LLVM_LIBRARY_DIR}")

# cpack installs what is built; it does not build everything first.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

# st_install_tool(NAME [STATIC]): the executable belongs to the component `tools`; a STATIC one needs no library but glibc's.
function(st_install_tool name)
  if(NOT "STATIC" IN_LIST ARGN)
    set_target_properties(${name} PROPERTIES INSTALL_RPATH "${ST_TOOL_RPATH}")
    target_link_options(${name} PRIVATE -Wl,--disable-new-dtags)
  endif()
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  set_property(GLOBAL APPEND PROPERTY ST_INSTALLED_TOOLS ${name})
endfunction()

# Everything below the given folders that a program includes; paths start at the root of the repository, as in the sources.
function(_st_install_headers root)
  foreach(folder ${ARGN})
    install(DIRECTORY ${root}/${folder} DESTINATION ${ST_INCLUDE_DIR} COMPONENT development
      FILES_MATCHING PATTERN "*.h" PATTERN "*.inc" PATTERN "*.td" PATTERN "CMakeFiles" EXCLUDE)
  endforeach()
endfunction()

# Call this after all targets are defined.
function(st_install_everything)
  set(ST_INCLUDE_DIR ${CMAKE_INSTALL_INCLUDEDIR}/st-${PROJECT_VERSION})
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/St)

  install(DIRECTORY ${CMAKE_SOURCE_DIR}/devices DESTINATION ${CMAKE_INSTALL_DATADIR}/st COMPONENT tools
    FILES_MATCHING PATTERN "*.textproto")
  install(FILES ${CMAKE_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/st COMPONENT tools)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/st/docs COMPONENT tools)
  # bash-completion looks for a file of the command's name, Debian's zsh in vendor-completions.
  get_property(tools GLOBAL PROPERTY ST_INSTALLED_TOOLS)
  foreach(tool ${tools})
    install(FILES ${CMAKE_BINARY_DIR}/completions/st.bash RENAME ${tool} COMPONENT tools
      DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions OPTIONAL)
  endforeach()
  install(FILES ${CMAKE_BINARY_DIR}/completions/_st COMPONENT tools
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions OPTIONAL)

  get_property(libraries GLOBAL PROPERTY ST_LIBRARIES)
  foreach(library ${libraries})
    string(REGEX REPLACE "^St" "" name ${library})
    set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
  endforeach()
  install(TARGETS ${libraries} EXPORT StTargets COMPONENT development
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/st
    INCLUDES DESTINATION ${ST_INCLUDE_DIR})
  install(EXPORT StTargets NAMESPACE St:: DESTINATION ${package} COMPONENT development)
  _st_install_headers(${CMAKE_SOURCE_DIR} lib dialects passes backends)
  _st_install_headers(${CMAKE_SOURCE_DIR}/include st)
  _st_install_headers(${CMAKE_BINARY_DIR} lib dialects passes backends)

  configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/StConfig.cmake.in ${CMAKE_BINARY_DIR}/StConfig.cmake
    INSTALL_DESTINATION ${package})
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/StConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/StConfig.cmake ${CMAKE_BINARY_DIR}/StConfigVersion.cmake
    ${CMAKE_SOURCE_DIR}/cmake/StArchives.cmake DESTINATION ${package} COMPONENT development)
  _st_install_shared_libraries()
endfunction()

# Copies the libraries that the tools load, except glibc's own, which belong to the machine.
function(_st_install_shared_libraries)
  install(CODE "set(tool \"$<TARGET_FILE:st-compile>\")
set(folder \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}\")" COMPONENT libraries)
  install(CODE [=[
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${tool} RESOLVED_DEPENDENCIES_VAR found
  UNRESOLVED_DEPENDENCIES_VAR missing
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv)\\.so")
if(missing)
  message(FATAL_ERROR "${tool}: no file for the shared libraries ${missing}")
endif()
file(INSTALL ${found} DESTINATION ${folder} TYPE SHARED_LIBRARY FOLLOW_SYMLINK_CHAIN)
]=] COMPONENT libraries)
endfunction()
