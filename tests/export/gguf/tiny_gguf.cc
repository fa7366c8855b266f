#include "export/gguf/tiny_gguf.h"

#include "base/float16.h"

namespace gumbel::test {

std::string tiny_q4_0_rows(int rows) {
  std::string data;
  for (int row = 0; row < rows; ++row)
    data += encode(f32_to_f16(static_cast<float>(row + 1))) + std::string(16, '\x98');
  return data;
}

GgufWriter tiny_llama() {
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  writer.add_u32("llama.embedding_length", 32);
  writer.add_u32("llama.block_count", 1);
  writer.add_u32("llama.feed_forward_length", 32);
  writer.add_u32("llama.attention.head_count", 2);
  writer.add_u32("llama.attention.head_count_kv", 1);
  writer.add_u32("llama.context_length", 64);
  writer.add_f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  const std::vector<float> ones(32, 1.0f);
  writer.add_tensor("token_embd.weight", {32, 8}, 2, tiny_q4_0_rows(8));
  writer.add_f32_tensor("output_norm.weight", {32}, ones);
  writer.add_f32_tensor("blk.0.attn_norm.weight", {32}, ones);
  writer.add_f32_tensor("blk.0.ffn_norm.weight", {32}, ones);
  writer.add_tensor("blk.0.attn_q.weight", {32, 32}, 2, tiny_q4_0_rows(32));
  writer.add_tensor("blk.0.attn_k.weight", {32, 16}, 2, tiny_q4_0_rows(16));
  writer.add_tensor("blk.0.attn_v.weight", {32, 16}, 2, tiny_q4_0_rows(16));
  writer.add_tensor("blk.0.attn_output.weight", {32, 32}, 2, tiny_q4_0_rows(32));
  writer.add_tensor("blk.0.ffn_gate.weight", {32, 32}, 2, tiny_q4_0_rows(32));
  writer.add_tensor("blk.0.ffn_up.weight", {32, 32}, 2, tiny_q4_0_rows(32));
  writer.add_tensor("blk.0.ffn_down.weight", {32, 32}, 2, tiny_q4_0_rows(32));
  return writer;
}

GgufWriter tiny_llama_with_tokenizer(const std::vector<std::string>& tokens,
                                     const std::string& chat_template) {
  GgufWriter writer = tiny_llama();
  writer.add_string("tokenizer.ggml.model", "gpt2");
  writer.add_string("tokenizer.ggml.pre", "gpt-2");
  writer.add_strings("tokenizer.ggml.tokens", tokens);
  std::vector<int32_t> types;
  for (const std::string& token : tokens) types.push_back(token.starts_with("<|") ? 3 : 1);
  writer.add_i32s("tokenizer.ggml.token_type", types);
  writer.add_strings("tokenizer.ggml.merges", {"a b"});
  writer.add_u32("tokenizer.ggml.bos_token_id", 0);
  writer.add_u32("tokenizer.ggml.eos_token_id", 1);
  if (!chat_template.empty()) writer.add_string("tokenizer.chat_template", chat_template);
  return writer;
}

void read_tiny_weights(const ImportedModel& model) {
  const ModelConfig& c = model.config;
  WeightRows rows;
  const auto read = [&](const std::string& name, const std::vector<int64_t>& shape) {
    const int64_t count = shape.size() == 1 ? 1 : shape[0];
    model.weights->tensor(name, shape).read_rows(0, count, rows);
  };
  read("model.embed_tokens.weight", {c.vocab_size, c.hidden_size});
  read("model.norm.weight", {c.hidden_size});
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".";
    read(prefix + "input_layernorm.weight", {c.hidden_size});
    read(prefix + "post_attention_layernorm.weight", {c.hidden_size});
    read(prefix + "self_attn.q_proj.weight", {c.heads * c.head_dim, c.hidden_size});
    read(prefix + "self_attn.k_proj.weight", {c.kv_heads * c.head_dim, c.hidden_size});
    read(prefix + "self_attn.v_proj.weight", {c.kv_heads * c.head_dim, c.hidden_size});
    read(prefix + "self_attn.o_proj.weight", {c.hidden_size, c.heads * c.head_dim});
    read(prefix + "mlp.gate_proj.weight", {c.intermediate_size, c.hidden_size});
    read(prefix + "mlp.up_proj.weight", {c.intermediate_size, c.hidden_size});
    read(prefix + "mlp.down_proj.weight", {c.hidden_size, c.intermediate_size});
  }
}

}  // namespace gumbel::test
