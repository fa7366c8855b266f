// Programs small enough to export within a test.
#pragma once

#include <gumbel/engine.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "export/export.h"
#include "export/test_files.h"
#include "program/program.h"

namespace gumbel::test {

/// Vocabulary of the checkpoints under tests/data/models.
inline constexpr int64_t kTinyVocab = 320;
/// What the tokenizer of write_tiny_folder() holds: a token for each byte (its id is the byte),
/// some words, and then the control tokens. Ids above have no text.
inline constexpr int64_t kImStart = 262;
inline constexpr int64_t kImEnd = 263;
inline constexpr int64_t kTinyTokens = 264;

/// The folder tests/data/models/<model>, which has no tokenizer.
std::filesystem::path checkpoint_path(const std::string& model);

/// Writes a Hugging Face folder into `parent` with that checkpoint, made for `positions` positions,
/// a byte-level tokenizer and, if `chat`, a ChatML template.
std::filesystem::path write_tiny_folder(const std::filesystem::path& parent,
                                        const std::string& model, bool chat,
                                        int64_t positions = 256);

/// Exports `source` for the CPU backend as <name>.gumbel.
std::filesystem::path export_to(const TemporaryFolder& folder, const std::string& name,
                                const std::string& source, const ExportOptions& options = {});

/// A copy of a program with something changed, its weights as they are.
std::filesystem::path edited(const TemporaryFolder& folder, const std::string& name,
                             const std::filesystem::path& program,
                             const std::function<void(Program&)>& edit);

/// The same with other prefill chunks.
std::filesystem::path with_chunks(const TemporaryFolder& folder, const std::filesystem::path& path,
                                  int64_t min_chunk, int64_t max_chunk);

/// A synthetic model without tokenizer whose context is `positions`.
std::string long_context_source(const TemporaryFolder& folder, int64_t positions);

/// `count` token ids that look random and are the same every time.
std::vector<int64_t> some_tokens(size_t count, uint64_t seed = 1);

/// The ids drawn after `prompt`: the first by prefill, the others by decode, until `count` of them
/// or a full context.
std::vector<int64_t> drawn(Session& session, const std::vector<int64_t>& prompt,
                           const Sampling& sampling, size_t count);
std::vector<int64_t> drawn(Engine& engine, const std::vector<int64_t>& prompt,
                           const Sampling& sampling, size_t count);

/// Tiny models gain nothing from threads, and a busy machine makes them wait for each other.
inline const EngineOptions kOneThread{.threads = 1};

/// Greedy, and without anything a program that returns logits refuses.
inline constexpr Sampling kGreedy{0.0f, 0, 1.0f, 0.0f, 0};

}  // namespace gumbel::test
