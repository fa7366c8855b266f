#include "cli/line_editor.h"

#include <histedit.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <new>
#include <string_view>

#include "base/utf8.h"
#include "cli/interrupts.h"

namespace gumbel::cli {
namespace {

constexpr int kHistoryEntries = 1000;

// What a terminal writes around a paste, once it was asked to.
constexpr std::string_view kPasteOn = "\x1b[?2004h";
constexpr std::string_view kPasteOff = "\x1b[?2004l";
constexpr std::wstring_view kPasteEnd = L"\x1b[201~";

struct EditorDeleter {
  void operator()(EditLine* editor) const { ::el_end(editor); }
};
struct HistoryDeleter {
  void operator()(History* history) const { ::history_end(history); }
};

// The editor measures and writes characters by the locale's rules.
void use_utf8_locale() {
  std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
}

unsigned char insert(EditLine* editor, const std::wstring& text) {
  return ::el_winsertstr(editor, text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
}

unsigned char insert_line_end(EditLine* editor, int) { return insert(editor, L"\n"); }

// Takes all of a paste, whose line ends would otherwise each end a message.
unsigned char insert_paste(EditLine* editor, int) {
  std::wstring text;
  wchar_t c = 0;
  while (!text.ends_with(kPasteEnd)) {
    if (::el_wgetc(editor, &c) != 1) return CC_EOF;
    if (c == L'\n' && text.ends_with(L'\r')) text.pop_back();
    text += c;
  }
  text.resize(text.size() - kPasteEnd.size());
  std::wstring kept;
  for (const wchar_t character : text) {
    if (character == L'\r') kept += L'\n';
    if (character >= L' ' || character == L'\n' || character == L'\t') kept += character;
  }
  while (kept.ends_with(L'\n')) kept.pop_back();
  return insert(editor, kept);
}

}  // namespace

struct LineEditor::Impl {
  std::string prompt;
  std::FILE* out = ::isatty(STDOUT_FILENO) != 0 ? stdout : stderr;
  std::unique_ptr<History, HistoryDeleter> history{::history_init()};
  std::unique_ptr<EditLine, EditorDeleter> editor{::el_init("gumbel", stdin, out, stderr)};
  std::string unread;  // bytes of a character that is not complete yet
  bool interrupted = false;
  int interrupts_before = 0;

  explicit Impl(std::string text) : prompt(std::move(text)) {
    if (!history || !editor) throw std::bad_alloc();
    HistEvent event{};
    ::history(history.get(), &event, H_SETSIZE, kHistoryEntries);
    ::history(history.get(), &event, H_SETUNIQUE, 1);
    EditLine* e = editor.get();
    ::el_set(e, EL_CLIENTDATA, this);
    ::el_set(e, EL_PROMPT, &Impl::prompt_of);
    ::el_set(e, EL_EDITOR, "emacs");
    ::el_set(e, EL_HIST, ::history, history.get());
    ::el_set(e, EL_GETCFN, &Impl::read_character);
    ::el_set(e, EL_ADDFN, "insert-line-end", "Begin a new line", &insert_line_end);
    ::el_set(e, EL_ADDFN, "insert-paste", "Insert what is pasted", &insert_paste);
    for (const auto& [keys, function] : {std::pair{"\\e[200~", "insert-paste"},
                                         {"\\e^M", "insert-line-end"},
                                         {"\\e^J", "insert-line-end"},
                                         {"^R", "em-inc-search-prev"},
                                         {"\\e[3~", "ed-delete-next-char"},
                                         {"\\e[H", "ed-move-to-beg"},
                                         {"\\e[F", "ed-move-to-end"},
                                         {"\\e[1~", "ed-move-to-beg"},
                                         {"\\e[4~", "ed-move-to-end"},
                                         {"\\e[1;5C", "em-next-word"},
                                         {"\\e[1;5D", "ed-prev-word"}})
      ::el_set(e, EL_BIND, keys, function, nullptr);
  }

  static Impl& of(EditLine* editor) {
    void* data = nullptr;
    ::el_get(editor, EL_CLIENTDATA, &data);
    return *static_cast<Impl*>(data);
  }

  static char* prompt_of(EditLine* editor) { return of(editor).prompt.data(); }

  // Gives one character: 1, or 0 at the end of input, or -1.
  static int read_character(EditLine* editor, wchar_t* character) {
    std::string& bytes = of(editor).unread;
    while (true) {
      if (!bytes.empty()) {
        const Utf8Step step = read_utf8(bytes);
        if (step.state != Utf8Step::State::kTruncated) {
          const bool valid = step.state == Utf8Step::State::kCharacter;
          *character = static_cast<wchar_t>(valid ? step.character : U'\uFFFD');
          bytes.erase(0, step.length);
          return 1;
        }
      }
      of(editor).interrupts_before = interrupts();
      char byte = 0;
      const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
      if (count <= 0) {
        of(editor).interrupted = count < 0 && errno == EINTR;
        return static_cast<int>(count);
      }
      bytes += byte;
    }
  }

  void write(std::string_view text) const {
    std::fwrite(text.data(), 1, text.size(), out);
    std::fflush(out);
  }
};

LineEditor::LineEditor(std::string prompt) {
  use_utf8_locale();
  impl_ = std::make_unique<Impl>(std::move(prompt));
}

LineEditor::~LineEditor() = default;

std::optional<std::string> LineEditor::read() {
  while (true) {
    impl_->interrupted = false;
    impl_->unread.clear();
    ::el_resize(impl_->editor.get());
    impl_->write(kPasteOn);
    int count = 0;
    const char* line = ::el_gets(impl_->editor.get(), &count);
    impl_->write(kPasteOff);
    if (line == nullptr || count <= 0) {
      impl_->write("\n");
      if (impl_->interrupted) continue;
      return std::nullopt;
    }
    std::string message(line);
    while (message.ends_with('\n') || message.ends_with('\r')) message.pop_back();
    if (!message.empty()) {
      HistEvent event{};
      ::history(impl_->history.get(), &event, H_ENTER, message.c_str());
    }
    return message;
  }
}

int LineEditor::interrupts_before() const { return impl_->interrupts_before; }

}  // namespace gumbel::cli
