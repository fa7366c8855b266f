// Reading little-endian values from untrusted bytes, one after another.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/error.h"

namespace gumbel {

static_assert(std::endian::native == std::endian::little,
              "checkpoint files are little-endian and are read by copying");

/// The value at `data`, which need not be aligned.
template <typename T>
T load(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return value;
}

/// A position in a file's bytes. Every read that would pass the end throws Error(kCorruptFile)
/// saying where the file ends and what was being read.
class ByteCursor {
 public:
  ByteCursor(std::span<const std::byte> bytes, std::string_view file)
      : bytes_(bytes), file_(file) {}

  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }

  std::span<const std::byte> take(uint64_t count, std::string_view what) {
    if (count > remaining())
      fail(ErrorCode::kCorruptFile, "{}: expected {} bytes of {} at byte {}, got {} before the end",
           file_, count, what, position_, remaining());
    const auto taken = bytes_.subspan(position_, static_cast<size_t>(count));
    position_ += static_cast<size_t>(count);
    return taken;
  }

  template <typename T>
  T read(std::string_view what) {
    return load<T>(take(sizeof(T), what).data());
  }

  /// A 64-bit length and that many bytes.
  std::string_view read_string(std::string_view what) {
    const auto length = read<uint64_t>(what);
    const auto bytes = take(length, what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  std::span<const std::byte> bytes_;
  std::string_view file_;
  size_t position_ = 0;
};

}  // namespace gumbel
