# Run by CTest; see CMakeLists.txt. Everything it writes is in BUILD/install_test.
set(work ${BUILD}/install_test)
set(prefix ${work}/prefix)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})

function(run)
  execute_process(COMMAND ${ARGV} WORKING_DIRECTORY ${work} OUTPUT_VARIABLE output
                  ERROR_VARIABLE errors RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGV}\nended with ${status}\n${output}\n${errors}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --config ${CONFIG} --prefix ${prefix})
run(${CMAKE_COMMAND} -S ${EXAMPLE} -B ${work}/example -G ${GENERATOR}
    -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DCMAKE_BUILD_TYPE=${CONFIG}
    -DCMAKE_CXX_FLAGS=${CXX_FLAGS} -DCMAKE_PREFIX_PATH=${prefix})
run(${CMAKE_COMMAND} --build ${work}/example --config ${CONFIG})

set(gumbel ${prefix}/${BINDIR}/gumbel)
run(${WRITE_TINY_MODEL} ${work})
run(${gumbel} export qwen3-chat -o tiny.gumbel --sample)
find_program(example stream_text PATHS ${work}/example ${work}/example/${CONFIG} NO_DEFAULT_PATH
             REQUIRED)
run(${example} tiny.gumbel hello)
set(streamed "${output}")
run(${gumbel} run tiny.gumbel --prompt hello --temperature 0.7 --top-k 64 --top-p 0.95 --seed 42)
string(LENGTH "${streamed}" length)
if(length LESS 10 OR NOT streamed STREQUAL output)
  message(FATAL_ERROR "the example printed\n${streamed}\nbut gumbel run\n${output}")
endif()
