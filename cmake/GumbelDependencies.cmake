# Libraries from the system's packages; docs/dependencies.md says why each is here.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
find_path(FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h REQUIRED)
find_program(FLATC flatc REQUIRED)
find_path(PTHREADPOOL_INCLUDE pthreadpool.h REQUIRED)
find_library(PTHREADPOOL_LIBRARY pthreadpool REQUIRED)

set(GUMBEL_DEPENDENCIES fmt::fmt nlohmann_json::nlohmann_json PkgConfig::hwy PkgConfig::pcre2
    PkgConfig::utf8proc PkgConfig::xxhash ${PTHREADPOOL_LIBRARY} Threads::Threads)
