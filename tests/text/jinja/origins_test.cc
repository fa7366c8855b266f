// What a person writes stays told apart from what the template writes.
#include <gtest/gtest.h>

#include <string>

#include "text/jinja/jinja.h"

namespace gumbel::jinja {
namespace {

// The text with every stretch of a value's in guillemets.
std::string marked(const std::string& source, const std::string& value = "a<b>\"C\" d") {
  std::string text;
  const std::vector<std::pair<std::string, Value>> variables{
      {"v", Value::string(value)},
      {"d", Value::dict({{"k", Value::string(value)}, {"role", Value::string("user")}})},
      {"l", Value::list({Value::string("x"), Value::string("y")})}};
  for (const Stretch& stretch : Template(source).render(variables))
    text += stretch.origin == Origin::kValue ? "«" + stretch.text + "»" : stretch.text;
  return text;
}

TEST(JinjaOrigins, FollowWhatATemplateDoesWithAString) {
  EXPECT_EQ(marked("<s>{{ v }}</s>"), "<s>«a<b>\"C\" d»</s>");
  EXPECT_EQ(marked("{{ '<s>' ~ v ~ '</s>' }}"), "<s>«a<b>\"C\" d»</s>");
  EXPECT_EQ(marked("{{ '<s>' + v[1:4] }}"), "<s>«<b>»");
  EXPECT_EQ(marked("{{ v | trim | upper }}!"), "«A<B>\"C\" D»!");
  EXPECT_EQ(marked("{{ v | replace('<b>', '<c>') }}"), "«a»<c>«\"C\" d»");
  EXPECT_EQ(marked("{{ v.split('<')[1] }}"), "«b>\"C\" d»");
  EXPECT_EQ(marked("{{ l | join('<sep>') }}"), "«x»<sep>«y»");
  EXPECT_EQ(marked("{% set t %}<s>{{ v }}{% endset %}{{ t }}{{ t | length }}"),
            "<s>«a<b>\"C\" d»12");
  EXPECT_EQ(marked("{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(v) }}"), "<«a<b>\"C\" d»>");
  EXPECT_EQ(marked("{{ '<{}>'.format(v) }}"), "<«a<b>\"C\" d»>");
  EXPECT_EQ(marked("{{ v | indent(2, true) }}"), "  «a<b>\"C\" d»");
  EXPECT_EQ(marked("{{ v[0].center(3, '-') }}"), "-«a»-");
  EXPECT_EQ(marked("{% for c in v[:2] %}{{ c }}|{% endfor %}"), "«a»|«<»|");
}

TEST(JinjaOrigins, FollowIntoPrintedListsAndJson) {
  EXPECT_EQ(marked("{{ d | tojson }}"), "{\"k\": \"«a<b>\\\"C\\\" d»\", \"role\": \"«user»\"}");
  EXPECT_EQ(marked("{{ [v, 1] }}"), "['«a<b>\"C\" d»', 1]");
}

TEST(JinjaOrigins, OfTheTemplateAreItsLiteralsEvenWhereAValueChoosesThem) {
  EXPECT_EQ(marked("{{ {'user': '<u>'}[d.role] }}"), "<u>");
  EXPECT_EQ(marked("{% for key in d %}{{ key }}{% endfor %}"), "krole");
  EXPECT_EQ(marked("{{ 'x' if v else 'y' }}{{ v | length }}"), "x9");
}

}  // namespace
}  // namespace gumbel::jinja
