// A complete GGUF model of a few kilobytes.
#pragma once

#include "export/gguf/writer.h"
#include "export/import.h"

namespace gumbel::test {

/// One layer of llama with a vocabulary of 8, a hidden size of 32, 2 heads of 16, 1 key-value head
/// and an MLP of 32; q4_0 matrices, f32 norms, tied embeddings, no tokenizer. Element (r, c) of
/// the projections decodes to a value that tells its row.
GgufWriter tiny_llama();

/// The data of such a matrix: rows of 32 columns in q4_0, whose scale is the row's number plus one.
std::string tiny_q4_0_rows(int rows);

/// tiny_llama with a byte-level tokenizer of these tokens (the embedding table has 8 rows), of
/// which those that begin with "<|" are control tokens, token 0 is BOS and token 1 EOS; and that
/// chat template, or none where it is empty.
GgufWriter tiny_llama_with_tokenizer(const std::vector<std::string>& tokens,
                                     const std::string& chat_template = "{{ x }}");

/// Reads all weights of a model of tiny_llama's tensors, by the shapes that its configuration
/// gives.
void read_tiny_weights(const ImportedModel& model);

}  // namespace gumbel::test
