// From what names a model on the command line to files that can be opened.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/file_lock.h"
#include "export/export.h"

namespace gumbel::cli {

/// --quantize, --max-seq-len and --kv, as the user gave them.
struct ExportChoice {
  std::string quantize = "none";
  std::optional<int64_t> max_sequence_length;
  std::string kv;

  CLI::Option* quantize_option = nullptr;
  CLI::Option* length_option = nullptr;
  CLI::Option* kv_option = nullptr;

  ExportOptions options() const;
};
void add_export_options(CLI::App& command, ExportChoice& choice);

/// MODEL, as program_of() takes it.
void add_model_argument(CLI::App& command, std::string& model);

/// Something to open, which the cache keeps as long as this lives.
struct ModelFile {
  std::string path;
  FileLock lock;  ///< of what lies in the cache
};

/// A model that import_model() takes: `source` itself, or for "hf:OWNER/NAME[:FILE]" what was
/// fetched of it, now or earlier, from HF_ENDPOINT with the token HF_TOKEN. Says on standard error
/// what it does. Throws Error as fetch_model() does, and EndedBySignal.
ModelFile fetched(const std::string& source);

/// A program for `model`: itself where it is one, or a file of no known kind; else a program that
/// was exported from it, now or earlier, with these settings, from the cache. Says on standard
/// error what it does. Throws Error as fetched() and export_program() do, kInvalidArgument for
/// settings of a program, and EndedBySignal.
ModelFile program_of(const std::string& model, bool sample, const ExportChoice& choice,
                     int threads);

}  // namespace gumbel::cli
