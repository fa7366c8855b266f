// What an engine owns.
#pragma once

#include <gumbel/engine.h>

#include <memory>
#include <mutex>
#include <optional>

#include "engine/host_sampler.h"
#include "program/program_file.h"
#include "program/weight_check.h"
#include "runtime/backend.h"
#include "runtime/executor.h"
#include "runtime/weights.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace gumbel {

struct Engine::Impl {
  Impl(const std::filesystem::path& path, const EngineOptions& options);

  const Tokenizer& text() const;     ///< throws Error(kUnsupported) without a tokenizer
  const ChatTemplate& chat() const;  ///< throws Error(kUnsupported) without a chat template

  ProgramFile file;
  std::unique_ptr<Backend> backend;
  Weights weights;
  bool host_sampling;
  ModelInfo info;
  std::optional<Tokenizer> tokenizer;
  std::optional<ChatTemplate> chat_template;
  double load_seconds = 0;

  std::mutex run_mutex;  ///< guards what follows: one call at a time
  std::unique_ptr<Executor> forward;
  std::unique_ptr<Executor> prefill;        ///< null: forward serves prefill too
  std::optional<HostSampler> host_sampler;  ///< programs that return logits

  /// Of `file`, where its weights are used as they are mapped and nobody has checked them.
  std::optional<WeightCheck> weight_check;
};

}  // namespace gumbel
