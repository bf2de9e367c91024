# Embeds the files of sim/report/page/bundle in a target, as the functions of page_bundle.hpp.
function(pipecast_embed_page target)
  set(folder ${PROJECT_SOURCE_DIR}/sim/report/page/bundle)
  set(source ${PROJECT_BINARY_DIR}/page_bundle.cpp)
  file(READ ${folder}/page.js script)
  file(READ ${folder}/page.css style)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/page.js ${folder}/page.css)
  set(code "// Made by tools/cmake/page_bundle.cmake.
#include \"sim/report/page_bundle.hpp\"

namespace pipecast {
std::string_view page_script() { return R\"~bundle~(${script})~bundle~\"; }
std::string_view page_style() { return R\"~bundle~(${style})~bundle~\"; }
}  // namespace pipecast
")
  set(before "")
  if(EXISTS ${source})
    file(READ ${source} before)
  endif()
  if(NOT code STREQUAL before)  # an untouched file is not compiled again
    file(WRITE ${source} "${code}")
  endif()
  # The bundle is one literal, longer than the standard asks compilers to take; clang says so.
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
  target_sources(${target} PRIVATE ${source})
endfunction()
