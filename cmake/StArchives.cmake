# Libraries of Debian that St links statically: a training binary must not need them where it runs. Included by the build of St
# and by programs that find St.

# Debian's package of Abseil describes the shared libraries and also ships the static ones, so every target is pointed at
# its archive.
get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
foreach(target ${imported})
  get_target_property(type ${target} TYPE)
  if(target MATCHES "^absl::" AND type STREQUAL "SHARED_LIBRARY")
    get_target_property(location ${target} LOCATION)
    string(REGEX REPLACE "\\.so.*" ".a" archive ${location})
    if(EXISTS ${archive})
      get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
      foreach(configuration ${configurations})
        set_target_properties(${target} PROPERTIES
          IMPORTED_LOCATION_${configuration} ${archive} IMPORTED_SONAME_${configuration} "")
      endforeach()
    endif()
  endif()
endforeach()

# Unicode and regular expressions for the tokenizers, and checksums.
foreach(library utf8proc pcre2 libdeflate)
  if(NOT TARGET st::${library})
    find_library(ST_${library} NAMES lib${library}.a lib${library}-8.a ${library}.a REQUIRED)
    find_path(ST_${library}_INCLUDE ${library}.h REQUIRED)
    add_library(st::${library} STATIC IMPORTED GLOBAL)
    set_target_properties(st::${library} PROPERTIES
      IMPORTED_LOCATION ${ST_${library}} INTERFACE_INCLUDE_DIRECTORIES ${ST_${library}_INCLUDE})
  endif()
endforeach()
