# Libraries from the system's packages; docs/dependencies.md says why each is here.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(libedit REQUIRED IMPORTED_TARGET libedit)
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
find_path(FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h REQUIRED)
find_program(FLATC flatc REQUIRED)
include(GumbelPthreadpool)
if(NOT TARGET pthreadpool::pthreadpool)
  message(FATAL_ERROR "pthreadpool.h and libpthreadpool were not found")
endif()

# nlohmann_json is headers alone: who links the installed library does without.
set(GUMBEL_DEPENDENCIES fmt::fmt $<BUILD_INTERFACE:nlohmann_json::nlohmann_json> PkgConfig::hwy
    PkgConfig::pcre2 PkgConfig::utf8proc PkgConfig::xxhash pthreadpool::pthreadpool
    Threads::Threads)
