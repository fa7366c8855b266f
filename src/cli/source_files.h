// The files that a model is exported from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gumbel::cli {

/// The files that an export of `source` (as import_model() takes it) may read, in the order of
/// their names: a GGUF file with all parts of a split one, the files of a Hugging Face folder, the
/// configuration of a random model. None where there is nothing.
std::vector<std::filesystem::path> source_files(std::string_view source);

/// A number that differs, but for a chance of 2^-64, where the files do: by their names, their
/// sizes, and the contents of files up to 16 MiB. Of larger ones it has the time of change and 64
/// blocks of 64 KiB, spread evenly, the first and the last among them. Throws Error(kIo) for a file
/// that cannot be read.
uint64_t fingerprint(const std::vector<std::filesystem::path>& files);

}  // namespace gumbel::cli
