// docs/program-format.md names what the schema has.
#include <fmt/format.h>

#include <filesystem>
#include <regex>

#include "export/test_files.h"
#include "program/program.h"

namespace gumbel {
namespace {

const std::filesystem::path kRoot = std::filesystem::path(GUMBEL_TEST_DATA) / ".." / "..";

std::string without_comments_and_attributes(const std::string& schema) {
  return std::regex_replace(schema, std::regex("//[^\n]*|\\([^)]*\\)"), "");
}

std::string quoted(const std::string& text) { return fmt::format("`{}`", text); }

bool has_word(const std::string& text, const std::string& word) {
  return std::regex_search(text, std::regex("(^|[^A-Za-z0-9_])" + word + "($|[^A-Za-z0-9_])"));
}

TEST(FormatDocument, NamesEveryTableFieldAndEnumerator) {
  const std::string document = test::read_file(kRoot / "docs" / "program-format.md");
  const std::string schema =
      without_comments_and_attributes(test::read_file(kRoot / "src" / "program" / "program.fbs"));
  const std::regex word("[A-Za-z_][A-Za-z0-9_]*");
  const std::regex field("([a-z_0-9]+)\\s*:");
  const std::regex declaration("(table|enum)\\s+(\\w+)[^{]*\\{([^}]*)\\}");
  int names = 0;
  for (std::sregex_iterator i(schema.begin(), schema.end(), declaration), end; i != end; ++i) {
    const bool is_table = (*i)[1] == "table";
    const std::string body = (*i)[3];
    if (is_table) {
      EXPECT_TRUE(has_word(document, quoted((*i)[2]))) << (*i)[2];
    }
    const std::regex& name = is_table ? field : word;
    for (std::sregex_iterator k(body.begin(), body.end(), name); k != end; ++k) {
      const std::string text = (*k)[is_table ? 1 : 0];
      if ((*i)[2] == "Activation") continue;
      ++names;
      EXPECT_TRUE(has_word(document, is_table ? quoted(text) : text)) << (*i)[2] << " " << text;
    }
  }
  EXPECT_GT(names, 60);
}

TEST(FormatDocument, ItsFilesAreThere) {
  const std::string document = test::read_file(kRoot / "docs" / "program-format.md");
  const std::regex path("(src|docs)/[a-z_/-]+(\\.[a-z]+)?");
  int paths = 0;
  for (std::sregex_iterator i(document.begin(), document.end(), path), end; i != end; ++i, ++paths)
    EXPECT_TRUE(std::filesystem::exists(kRoot / i->str())) << i->str();
  EXPECT_GT(paths, 5);
  EXPECT_NE(document.find(std::to_string(kSegmentAlignment)), std::string::npos);
}

}  // namespace
}  // namespace gumbel
