// Reading the configuration of a GGUF file that a test describes.
#pragma once

#include <functional>
#include <string>

#include "export/gguf/writer.h"
#include "export/model_config.h"

namespace gumbel::test {

/// The configuration of a file with the keys of `architecture` that every file has, and what `more`
/// adds. 12 layers, 4 heads of 8, a vocabulary of 10.
ModelConfig read_config(const std::string& architecture,
                        const std::function<void(GgufWriter&)>& more);

}  // namespace gumbel::test
