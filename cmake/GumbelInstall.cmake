# `cmake --install`: headers, library, program and a package that find_package(gumbel) finds.
