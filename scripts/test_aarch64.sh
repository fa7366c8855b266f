#!/bin/sh
# Cross-compiles the library and the tests of sampling, kernels and tiny models for aarch64, and runs
# them under qemu's user emulation. The libraries come from Debian's arm64 packages, unpacked into a
# folder of the build rather than installed: libpthreadpool-dev cannot be installed beside amd64's.
set -eu
cd "$(dirname "$0")/.."
build=$PWD/build/aarch64
sysroot=$build/sysroot
libraries="libbenchmark-dev libcurl4 libcurl4-openssl-dev libedit-dev libedit2 libfmt-dev libfmt9 libgtest-dev
  libhwy-dev libhwy1 libpcre2-8-0 libpcre2-dev libpthreadpool-dev libpthreadpool0 libssl-dev libssl3
  libutf8proc-dev libutf8proc2 libxxhash-dev libxxhash0"

if [ ! -e "$sysroot/complete" ]; then
  mkdir -p "$sysroot" "$build/apt/lists/partial" "$build/apt/archives/partial"
  # A package index of its own, so that the system's architectures stay as they are.
  apt="apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::Lists=$build/apt/lists
    -o Dir::Cache=$build/apt -o Debug::NoLocking=1 -o APT::Sandbox::User=root"
  $apt update
  (cd "$build/apt/archives" && $apt download $libraries)
  for package in "$build"/apt/archives/*.deb; do dpkg -x "$package" "$sysroot"; done
  touch "$sysroot/complete"
fi

cmake --preset aarch64
cmake --build --preset aarch64
ctest --preset aarch64
