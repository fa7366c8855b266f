#include "text/chat_format.h"

namespace gumbel {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The text that follows at the start of `literal` up to `end`, as a Jinja string literal writes it;
// none if the literal, or its text, ends before.
std::optional<std::string> literal_until(std::string_view literal, std::string_view end) {
  std::string text;
  for (std::size_t i = 0; i < literal.size(); ++i) {
    if (literal.substr(i).starts_with(end)) return text;
    const char c = literal[i];
    if (c == '\'' || c == '"' || c == '{' || c == '}') return {};
    if (c == '\\' && i + 1 < literal.size()) {
      const char escaped = literal[++i];
      text += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
    } else {
      text += c;
    }
  }
  return {};
}

// The first string literal of `jinja` that begins with `start`.
std::optional<std::string> literal_with(std::string_view jinja, std::string_view start) {
  for (const char* quote : {"'", "\""}) {
    const std::size_t at = jinja.find(quote + std::string(start));
    if (at != std::string_view::npos) return literal_until(jinja.substr(at + 1), quote);
  }
  return {};
}

// The system message that a ChatML template writes by itself: the first that stands in it as text.
std::string chatml_default_system(std::string_view jinja) {
  constexpr std::string_view kStart = "<|im_start|>system";
  for (std::size_t at = 0; (at = jinja.find(kStart, at)) != std::string_view::npos;) {
    at += kStart.size();
    const auto text = literal_until(jinja.substr(at), "<|im_end|>");
    if (text && text->size() > 1 && text->front() == '\n') return text->substr(1);
  }
  return {};
}

// Some templates begin the answer's thought themselves, unless told otherwise; some only end it at
// once where there shall be none; some know both.
void set_chatml_thinking(ChatFormat& format, std::string_view jinja) {
  const std::size_t prompt = jinja.rfind("add_generation_prompt");
  if (prompt == std::string_view::npos) return;
  const std::string_view tail = jinja.substr(prompt);
  const std::size_t on = tail.find("'<think>\\n'");
  const std::size_t off = tail.find("'<think>\\n\\n</think>\\n\\n'");
  const bool begins = on != std::string_view::npos || contains(tail, "assistant\\n<think>\\n'");
  format.thinking_switch = off != std::string_view::npos && contains(tail, "enable_thinking");
  if (!begins && !format.thinking_switch) return;
  format.thought_begin = "<think>";
  format.thought_end = "</think>";
  if (begins) format.thinking_prompt = "<think>\n";
  if (format.thinking_switch) format.no_thinking_prompt = "<think>\n\n</think>\n\n";
  if (!begins || !format.thinking_switch) {
    format.thinks = true;
    return;
  }
  format.name = "qwen3.5";
  // The default is what the last branch writes.
  format.thinks = on > off;
  format.keep_last_thought = contains(jinja, "last_query_index");
}

ChatFormat chatml(std::string_view jinja) {
  ChatFormat format;
  format.name = "chatml";
  format.system_prefix = "<|im_start|>system\n";
  format.user_prefix = "<|im_start|>user\n";
  format.assistant_prefix = "<|im_start|>assistant\n";
  format.system_suffix = format.user_suffix = format.assistant_suffix = "<|im_end|>\n";
  format.generation_prompt = format.assistant_prefix;
  format.default_system = chatml_default_system(jinja);
  format.trim_content = contains(jinja, "|trim") || contains(jinja, "| trim");
  format.strip_thinking = contains(jinja, "</think>");
  set_chatml_thinking(format, jinja);
  format.end_of_turn = {"<|im_end|>"};
  return format;
}

ChatFormat llama3(std::string_view jinja) {
  const auto header = [](const char* role) {
    return std::string("<|start_header_id|>") + role + "<|end_header_id|>\n\n";
  };
  ChatFormat format;
  format.name = "llama3";
  format.system_prefix = header("system");
  format.user_prefix = header("user");
  format.assistant_prefix = header("assistant");
  format.system_suffix = format.user_suffix = format.assistant_suffix = "<|eot_id|>";
  format.generation_prompt = format.assistant_prefix;
  format.trim_content = true;
  format.end_of_turn = {"<|eot_id|>"};
  if (contains(jinja, "Cutting Knowledge Date: December 2023")) {
    // The date is the one in the template, not today's, so that a prompt is the same every day.
    constexpr std::string_view kDate = "date_string = \"";
    const std::size_t at = jinja.find(kDate);
    const auto date = at == std::string_view::npos
                          ? std::nullopt
                          : literal_until(jinja.substr(at + kDate.size()), "\"");
    format.system_preamble =
        "Cutting Knowledge Date: December 2023\nToday Date: " + date.value_or("26 Jul 2024") +
        "\n\n";
  }
  return format;
}

ChatFormat gemma3() {
  ChatFormat format;
  format.name = "gemma3";
  format.user_prefix = "<start_of_turn>user\n";
  format.assistant_prefix = "<start_of_turn>model\n";
  format.user_suffix = format.assistant_suffix = "<end_of_turn>\n";
  format.generation_prompt = format.assistant_prefix;
  format.system_in_first_user = true;
  format.trim_content = true;
  format.end_of_turn = {"<end_of_turn>"};
  return format;
}

ChatFormat gemma4(std::string_view jinja) {
  ChatFormat format;
  format.name = "gemma4";
  format.system_prefix = "<|turn>system\n";
  format.user_prefix = "<|turn>user\n";
  format.assistant_prefix = "<|turn>model\n";
  format.system_suffix = format.user_suffix = format.assistant_suffix = "<turn|>\n";
  format.generation_prompt = format.assistant_prefix;
  format.trim_content = true;
  format.strip_thinking = true;
  format.end_of_turn = {"<turn|>"};
  format.thought_begin = "<|channel>";
  format.thought_header = "thought";
  format.thought_end = "<channel|>";
  format.thoughts_anywhere = true;
  // Templates differ in the line end after the marker, and in whether an answer without a thought
  // is asked for by an empty one.
  const auto marker = literal_with(jinja, "<|think|>");
  format.thinking_switch = marker.has_value();
  format.thinking_system = marker.value_or("");
  const std::size_t prompt = jinja.rfind("add_generation_prompt");
  if (prompt != std::string_view::npos)
    format.no_thinking_prompt = literal_with(jinja.substr(prompt), "<|channel>").value_or("");
  return format;
}

}  // namespace

std::optional<ChatFormat> detect_chat_format(std::string_view jinja) {
  std::optional<ChatFormat> format;
  if (contains(jinja, "<|im_start|>") && contains(jinja, "<|im_end|>") &&
      !contains(jinja, "<|im_sep|>")) {
    format = chatml(jinja);
  } else if (contains(jinja, "<|start_header_id|>") && contains(jinja, "<|eot_id|>")) {
    format = llama3(jinja);
  } else if (contains(jinja, "<|turn>") && contains(jinja, "<turn|>")) {
    format = gemma4(jinja);
  } else if (contains(jinja, "<start_of_turn>") && contains(jinja, "<end_of_turn>")) {
    format = gemma3();
  }
  if (format) format->starts_with_bos = contains(jinja, "bos_token");
  return format;
}

}  // namespace gumbel
