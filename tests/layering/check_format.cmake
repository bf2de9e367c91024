# cmake -DCLANG_FORMAT=… -DSOURCE=… -P check_format.cmake: fails when a source is not laid out by .clang-format.
file(GLOB_RECURSE sources ${SOURCE}/sim/*.[ch]pp ${SOURCE}/schedules/*.[ch]pp ${SOURCE}/platforms/*.[ch]pp
     ${SOURCE}/tools/*.[ch]pp ${SOURCE}/tests/*.[ch]pp)
execute_process(COMMAND ${CLANG_FORMAT} --dry-run -Werror ${sources} RESULT_VARIABLE result ERROR_VARIABLE complaints)
if(NOT result EQUAL 0)
  string(SUBSTRING "${complaints}" 0 4000 complaints)
  message(FATAL_ERROR "run clang-format-14 -i on the files below\n${complaints}")
endif()
