# Compile options shared by every target of the project.
#
# -ffp-contract=off: a fused multiply-add is used only where one is written, which is what makes
# results equal between compilers and instruction sets (docs/numerics.md).
function(gumbel_configure_target target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Werror
                         -ffp-contract=off -fno-math-errno)
  if(GUMBEL_SANITIZE)
    # g++ 12 takes instrumented code of its own library (std::function) for uninitialized.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_compile_options(${target} PUBLIC -fsanitize=address,undefined -fno-sanitize-recover=all
                           -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=address,undefined)
  endif()
endfunction()

# gumbel_test(NAME SOURCE... [LIBRARIES LIB...]): one GoogleTest executable, run as one CTest test.
function(gumbel_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES")
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  gumbel_configure_target(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests
                             ${PROJECT_BINARY_DIR}/generated)
  target_compile_definitions(${name} PRIVATE GUMBEL_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  target_link_libraries(${name} PRIVATE gumbel::gumbel ${GUMBEL_DEPENDENCIES} GTest::gtest
                        GTest::gtest_main ${arg_LIBRARIES})
  add_test(NAME ${name} COMMAND ${name})
endfunction()
