# cmake -DBUILD=… -DCONSUMER=… -DWORK=… -DCXX=… -DSANITIZE=… -P install_test.cmake
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    string(REPLACE ";" " " words "${ARGN}")
    message(FATAL_ERROR "${words}\nended with ${result}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
file(RENAME ${WORK}/first ${WORK}/prefix)  # an installed tree may be moved

set(flags "")
if(SANITIZE)
  set(flags "-fsanitize=address,undefined")
endif()
step(${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/consumer -G Ninja -DCMAKE_PREFIX_PATH=${WORK}/prefix
     -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_FLAGS=${flags})
step(${CMAKE_COMMAND} --build ${WORK}/consumer)

# ZB-H1 with the costs of the paper: m (F + I + W) + (P − 1)(F + I − W) + 4 c (P − 1), in microseconds.
step(${WORK}/consumer/consumer)
if(NOT output MATCHES "zb-h1 1310405 us")
  message(FATAL_ERROR "the consumer printed: ${output}")
endif()
step(${WORK}/prefix/bin/pipecast check ${WORK}/prefix/share/pipecast/scenarios/zero-bubble-1.5b.yaml)
