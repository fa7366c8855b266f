#include "text/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/quote.h"
#include "base/utf8.h"

namespace gumbel {
namespace {

template <auto Free>
struct FreeWith {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Code = std::unique_ptr<pcre2_code, FreeWith<pcre2_code_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, FreeWith<pcre2_match_data_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, FreeWith<pcre2_match_context_free>>;
using CompileContext = std::unique_ptr<pcre2_compile_context, FreeWith<pcre2_compile_context_free>>;

constexpr std::size_t kMaxPatternLength = 16384;
constexpr std::uint32_t kMaxParentheses = 100;
// A built-in pattern backtracks at most once per character of a run of white space.
constexpr std::uint32_t kMatchLimit = 50'000'000;
constexpr std::uint32_t kHeapLimitKib = 65536;

std::string error_text(int code) {
  PCRE2_UCHAR buffer[256] = {};
  pcre2_get_error_message(code, buffer, sizeof(buffer));
  return reinterpret_cast<const char*>(buffer);
}

// PCRE2's \s holds U+180E, which is not White_Space; write the property out. Within a class, \S
// stays PCRE2's own.
std::string with_white_space(std::string_view pattern) {
  constexpr std::string_view kWhiteSpace =
      R"(\x09-\x0d\x20\x85\xa0\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c != '\\' || i + 1 == pattern.size()) {
      if (c == '[' && !in_class) {
        in_class = true;
        // A ']' that comes first is a member.
        const std::size_t first = i + 1 + (i + 1 < pattern.size() && pattern[i + 1] == '^');
        if (first < pattern.size() && pattern[first] == ']') {
          out += pattern.substr(i, first - i + 1);
          i = first;
          continue;
        }
      } else if (c == '[' && pattern.substr(i).starts_with("[:")) {
        // "[:alpha:]" within a class.
        const std::size_t end = std::min(pattern.find(":]", i), pattern.size() - 2);
        out += pattern.substr(i, end + 2 - i);
        i = end + 1;
        continue;
      } else if (c == ']') {
        in_class = false;
      }
      out += c;
      continue;
    }
    const char escaped = pattern[++i];
    if (escaped == 's' && in_class) {
      out += kWhiteSpace;
    } else if ((escaped == 's' || escaped == 'S') && !in_class) {
      out += escaped == 's' ? "[" : "[^";
      out += kWhiteSpace;
      out += ']';
    } else {
      out += '\\';
      out += escaped;
    }
  }
  return out;
}

Code compile(const std::string& pattern) {
  const CompileContext context(pcre2_compile_context_create(nullptr));
  pcre2_set_max_pattern_length(context.get(), kMaxPatternLength);
  pcre2_set_parens_nest_limit(context.get(), kMaxParentheses);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  const std::string written_out = with_white_space(pattern);
  Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(written_out.data()), written_out.size(),
                          PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                          &offset, context.get()));
  if (!code) {
    fail(ErrorCode::kUnsupported, "pre-tokenizer pattern {}: {}", quote(pattern),
         error_text(error));
  }
  // Where machine code may not be made, matching interprets the pattern.
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  return code;
}

struct Part {
  TextRange range;
  bool is_match;
};

// Joins parts the way `behavior` says; see SplitBehavior.
std::vector<TextRange> arrange(const std::vector<Part>& parts, SplitBehavior behavior) {
  std::vector<TextRange> pieces;
  bool joins_next = false;
  bool previous_match = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto [range, is_match] = parts[i];
    bool joins = joins_next;
    joins_next = false;
    switch (behavior) {
      case SplitBehavior::kIsolated:
        break;
      case SplitBehavior::kRemoved:
        if (is_match) continue;
        break;
      case SplitBehavior::kMergedWithPrevious:
        joins = is_match && !previous_match && !pieces.empty();
        break;
      case SplitBehavior::kMergedWithNext:
        joins_next = is_match && i + 1 < parts.size() && !parts[i + 1].is_match;
        break;
      case SplitBehavior::kContiguous:
        joins = is_match == previous_match && !pieces.empty();
        break;
    }
    previous_match = is_match;
    if (joins) {
      pieces.back().end = range.end;
    } else {
      pieces.push_back(range);
    }
  }
  std::erase_if(pieces, [](const TextRange& piece) { return piece.begin == piece.end; });
  return pieces;
}

}  // namespace

struct PreTokenizer::Step {
  Code code;
  SplitBehavior behavior;
  bool invert;

  // The parts of `text`, in order and without gaps.
  std::vector<Part> match(std::string_view text, pcre2_match_context* context) const;
};

std::vector<Part> PreTokenizer::Step::match(std::string_view text,
                                            pcre2_match_context* context) const {
  const MatchData data(pcre2_match_data_create_from_pattern(code.get(), nullptr));
  std::vector<Part> parts;
  std::size_t unmatched = 0;  // start of the text after the last match
  for (std::size_t from = 0; from < text.size();) {
    const auto run = [&](std::uint32_t options) {
      return pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                         PCRE2_NO_UTF_CHECK | options, data.get(), context);
    };
    int result = run(0);
    // Machine code has a small stack; the interpreter has the heap.
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = run(PCRE2_NO_JIT);
    if (result == PCRE2_ERROR_NOMATCH) break;
    if (result < 0) {
      fail(ErrorCode::kInvalidArgument, "pre-tokenizer: at byte {} of a text of {} bytes: {}", from,
           text.size(), error_text(result));
    }
    const PCRE2_SIZE* span = pcre2_get_ovector_pointer(data.get());
    const std::size_t begin = std::max(span[0], unmatched);
    const std::size_t end = std::min(std::max(span[1], begin), text.size());
    if (begin > unmatched) parts.push_back({{unmatched, begin}, invert});
    if (end > begin) parts.push_back({{begin, end}, !invert});
    unmatched = end;
    from = end > from ? end : from + read_utf8(text.substr(from)).length;
  }
  if (unmatched < text.size()) parts.push_back({{unmatched, text.size()}, invert});
  return parts;
}

PreTokenizer::PreTokenizer(std::span<const SplitStep> steps) {
  for (const SplitStep& step : steps) {
    steps_.push_back({compile(step.pattern), step.behavior, step.invert});
  }
}
PreTokenizer::~PreTokenizer() = default;
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;

std::vector<TextRange> PreTokenizer::split(std::string_view text) const {
  std::vector<TextRange> pieces;
  if (!text.empty()) pieces.push_back({0, text.size()});
  if (steps_.empty()) return pieces;

  const MatchContext context(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(context.get(), kMatchLimit);
  pcre2_set_heap_limit(context.get(), kHeapLimitKib);
  for (const Step& step : steps_) {
    std::vector<TextRange> finer;
    for (const auto [begin, end] : pieces) {
      const auto parts = step.match(text.substr(begin, end - begin), context.get());
      for (const TextRange& piece : arrange(parts, step.behavior)) {
        finer.push_back({begin + piece.begin, begin + piece.end});
      }
    }
    pieces = std::move(finer);
  }
  return pieces;
}

}  // namespace gumbel
