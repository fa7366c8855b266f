// Reading a model from whatever files it comes in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "export/checkpoint.h"
#include "export/model_config.h"
#include "text/tokenizer_definition.h"

namespace gumbel {

/// A model as the exporter sees it, whatever it was read from.
struct ImportedModel {
  ModelConfig config;
  std::unique_ptr<Checkpoint> weights;
  std::optional<TokenizerDefinition> tokenizer;  ///< where the source has one
  std::string chat_template;                     ///< Jinja text; empty where the source has none
  int64_t bos_id = -1;                           ///< -1 where the source names none
  std::vector<int64_t> eos_ids;  ///< every id that ends a turn, ascending; may be empty
  std::string source_name;       ///< name of the file or folder, without the path to it
  std::string format;            ///< "GGUF", "Hugging Face" or "synthetic"
  /// Tensors by weight type, e.g. "61 f32, 210 q4_1, 1 q8_0".
  std::string weight_summary;
  /// What of the source was left out, a line each, e.g. "skipped 12 vision tensors".
  std::vector<std::string> notes;
  /// Files that an export must not replace: those the model was read from and, of a folder, all
  /// others that are no programs or what an interrupted export left. Weights are read from them
  /// during the export.
  std::vector<std::filesystem::path> source_files;
};

/// Opens `source`: a GGUF file, a folder with config.json and safetensors, or "random:" followed by
/// the path of a config.json or the name of a built-in one (synthetic bfloat16 weights of that
/// shape, without a tokenizer). Files are told apart by content, not by name. Throws Error:
/// kNotFound, kCorruptFile, kUnsupported, kIo, and kInvalidArgument for a source of none of these
/// kinds.
ImportedModel import_model(std::string_view source);

}  // namespace gumbel
