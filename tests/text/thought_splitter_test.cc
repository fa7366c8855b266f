// A reply divided, however it is cut.
#include "text/thought_splitter.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace gumbel {

void PrintTo(const ReplyText& text, std::ostream* out) {
  *out << "thought " << testing::PrintToString(text.thought) << ", answer "
       << testing::PrintToString(text.answer);
}

namespace {

ThoughtMarkers markers_of(const char* begin, const char* end, const char* header = "",
                          bool anywhere = false, bool begun = false) {
  return {begin, end, header, anywhere, begun, false, false};
}

const ThoughtMarkers kQwen = markers_of("<think>", "</think>");
const ThoughtMarkers kQwenBegun = markers_of("<think>", "</think>", "", false, /*begun=*/true);
const ThoughtMarkers kGemma = markers_of("<|channel>", "<channel|>", "thought", /*anywhere=*/true);

ReplyText divide(const ThoughtMarkers& markers, const std::vector<std::string>& pieces) {
  ThoughtSplitter splitter(markers);
  ReplyText whole;
  const auto add = [&](const ReplyText& text) {
    whole.thought += text.thought;
    whole.answer += text.answer;
  };
  for (const std::string& piece : pieces) add(splitter.add(piece));
  add(splitter.finish());
  return whole;
}

struct Case {
  const ThoughtMarkers& markers;
  std::string reply;
  ReplyText expected;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {kQwen, "<think>\nhm, 日本\n\nso\n</think>\n\nYes.\n", {"hm, 日本\n\nso", "Yes.\n"}},
      {kQwen, " \n<think>a</think> b", {"a", "b"}},
      {kQwen, "<think>\n\n</think>\n\nYes", {"", "Yes"}},
      {kQwen, "<think></think>", {"", ""}},
      {kQwen, "  plain <b> < </ <thin\n", {"", "  plain <b> < </ <thin\n"}},
      {kQwen, "a <think>b</think> c", {"", "a <think>b</think> c"}},
      {kQwen, "</think>x", {"", "</think>x"}},
      {kQwen, "<<think>x</think>", {"", "<<think>x</think>"}},
      {kQwen,
       "<think>a<think>b</thin></think><think>c</think>",
       {"a<think>b</thin>", "<think>c</think>"}},
      {kQwen, "<think>cut \n", {"cut", ""}},
      {kQwen, "<think>cut </thin", {"cut </thin", ""}},
      {kQwen, "\n<thi", {"", "\n<thi"}},
      {kQwen, "\n \n", {"", "\n \n"}},
      {kQwen, "", {"", ""}},
      {kQwenBegun, "hm\n</think>\n\nYes </think>", {"hm", "Yes </think>"}},
      {kQwenBegun, "\n</think>\n\n", {"", ""}},
      {kQwenBegun, "</think>é", {"", "é"}},
      {kQwenBegun, "no end </", {"no end </", ""}},
      {kQwenBegun, "a </think ></think> b", {"a </think >", "b"}},
      {kGemma, "<|channel>thought\nhm é\n<channel|>Yes.", {"hm é", "Yes."}},
      {kGemma, "<|channel>thought\n<channel|>Yes.", {"", "Yes."}},
      {kGemma, "<|channel>thought<channel|>\nYes.", {"", "Yes."}},
      {kGemma, "<|channel>other\nhm<channel|>Yes.", {"other\nhm", "Yes."}},
      {kGemma, "<|channel>thou<channel|>Yes.", {"thou", "Yes."}},
      {kGemma, "<|channel>thou", {"thou", ""}},
      {kGemma, "<|channel><channel|>Yes.", {"", "Yes."}},
      {kGemma, " Yes.<|channel>thought\n<channel|>", {"", " Yes."}},
      {kGemma,
       "A <|channel>thought\nx<channel|> B<|channel>thought\ny <channel|>",
       {"x\ny", "A  B"}},
      {kGemma, "<|channel>thought\nx<channel|>\n<|channel>thought\n<channel|> B", {"x", "B"}},
      {kGemma, "<|channel>thought\na<|channel>b<channel|>c", {"ab", "c"}},
      {kGemma, "stray <channel|>end<channel|>", {"", "stray end"}},
      {kGemma, "<|channel", {"", "<|channel"}},
      {kGemma, "<|channel>thought\ncut <chan", {"cut <chan", ""}},
      {kGemma, "<|turn> <| <channel <channel||>", {"", "<|turn> <| <channel <channel||>"}},
  };
  return all;
}

TEST(ThoughtSplitter, EveryCutGivesTheSame) {
  for (const Case& c : cases()) {
    const std::string& reply = c.reply;
    ASSERT_EQ(divide(c.markers, {reply}), c.expected) << reply;
    for (std::size_t i = 0; i <= reply.size(); ++i)
      for (std::size_t j = i; j <= reply.size(); ++j)
        ASSERT_EQ(divide(c.markers, {reply.substr(0, i), reply.substr(i, j - i), reply.substr(j)}),
                  c.expected)
            << reply << " cut at " << i << " and " << j;
    std::vector<std::string> bytes;
    for (const char byte : reply) bytes.emplace_back(1, byte);
    ASSERT_EQ(divide(c.markers, bytes), c.expected) << reply;
  }
}

// Replies of random parts, markers and parts of markers among them, cut at random: the division is
// that of the uncut reply, and no text is lost but white space, markers and the header.
TEST(ThoughtSplitter, RandomRepliesInRandomPieces) {
  std::mt19937 random(7);
  const std::vector<std::string> parts = {
      "<think>", "</think>", "<|channel>", "<channel|>", "thought", "\n",   " ",   "a",  "é",
      "日",      "<",        "</",         "<|",         "think>",  "thou", "ght", "|>", ">"};
  const auto bare = [](const ThoughtMarkers& markers, std::string text) {
    for (const std::string& drop :
         {markers.begin, markers.end, markers.header, std::string("\n"), std::string(" ")})
      for (std::size_t at; !drop.empty() && (at = text.find(drop)) != std::string::npos;)
        text.erase(at, drop.size());
    return text;
  };
  for (int round = 0; round < 20000; ++round) {
    const ThoughtMarkers& markers = round % 3 == 0 ? kQwen : round % 3 == 1 ? kQwenBegun : kGemma;
    std::string reply;
    for (std::size_t n = random() % 12; n > 0; --n) reply += parts[random() % parts.size()];
    std::vector<std::string> pieces;
    for (std::size_t done = 0; done < reply.size();) {
      pieces.push_back(reply.substr(done, 1 + random() % 5));
      done += pieces.back().size();
    }
    const ReplyText whole = divide(markers, {reply});
    ASSERT_EQ(divide(markers, pieces), whole) << reply;
    if (reply.find("<") == std::string::npos) {
      const std::string& text = markers.begun ? whole.thought : whole.answer;
      ASSERT_EQ(bare(markers, text), bare(markers, reply)) << reply;
    }
  }
}

TEST(ThoughtSplitter, StreamsWhatIsSettled) {
  ThoughtSplitter splitter(kQwen);
  EXPECT_EQ(splitter.add("\n<th"), (ReplyText{}));
  EXPECT_EQ(splitter.add("ink>\n"), (ReplyText{}));
  EXPECT_EQ(splitter.add("one"), (ReplyText{"one", ""}));
  EXPECT_EQ(splitter.add(" two\n"), (ReplyText{" two", ""}));
  EXPECT_EQ(splitter.add("<"), (ReplyText{}));
  EXPECT_EQ(splitter.add("b"), (ReplyText{"\n<b", ""}));
  EXPECT_EQ(splitter.add("</think"), (ReplyText{}));
  EXPECT_EQ(splitter.add(">\n\nan"), (ReplyText{"", "an"}));
  EXPECT_EQ(splitter.add("swer <"), (ReplyText{"", "swer <"}));  // no marker can follow
  EXPECT_EQ(splitter.finish(), (ReplyText{}));
  // Another reply.
  EXPECT_EQ(splitter.add("<think>x</think>y"), (ReplyText{"x", "y"}));
}

TEST(ThoughtSplitter, WithoutMarkersAllIsAnswerAtOnce) {
  for (const ThoughtMarkers& markers : {ThoughtMarkers{}, markers_of("<a>", "", "", false, true),
                                        markers_of("", "<a>", "", true)}) {
    ThoughtSplitter splitter(markers);
    for (const char* text : {" \n", "<", "<a>", "<think>x</think>", " "})
      EXPECT_EQ(splitter.add(text), (ReplyText{"", text}));
    EXPECT_EQ(splitter.finish(), (ReplyText{}));
  }
}

// Markers that are control tokens come by mark_begin() and mark_end(); their spelling is text.
TEST(ThoughtSplitter, ControlTokens) {
  ThoughtMarkers markers = kGemma;
  markers.begin_is_token = markers.end_is_token = true;
  ThoughtSplitter splitter(markers);
  EXPECT_EQ(splitter.mark_begin(), (ReplyText{}));
  EXPECT_EQ(splitter.add("thou"), (ReplyText{}));
  EXPECT_EQ(splitter.add("ght\nhm <channel|>\n"), (ReplyText{"hm <channel|>", ""}));
  EXPECT_EQ(splitter.mark_end(), (ReplyText{}));
  EXPECT_EQ(splitter.add("\nYes <|channel>"), (ReplyText{"", "Yes <|channel>"}));
  EXPECT_EQ(splitter.mark_end(), (ReplyText{}));  // without a thought
  EXPECT_EQ(splitter.add(" B"), (ReplyText{"", " B"}));
  EXPECT_EQ(splitter.mark_begin(), (ReplyText{}));
  EXPECT_EQ(splitter.add("thou"), (ReplyText{}));
  EXPECT_EQ(splitter.mark_end(), (ReplyText{"\nthou", ""}));
  EXPECT_EQ(splitter.mark_begin(), (ReplyText{}));
  EXPECT_EQ(splitter.add("th"), (ReplyText{}));
  EXPECT_EQ(splitter.finish(), (ReplyText{"\nth", ""}));

  // One of the two as text; a token where the format has no use for it is nothing.
  markers = kQwen;
  markers.begin_is_token = true;
  ThoughtSplitter mixed(markers);
  EXPECT_EQ(mixed.mark_begin(), (ReplyText{}));
  EXPECT_EQ(mixed.add("x</thi"), (ReplyText{"x", ""}));
  EXPECT_EQ(mixed.mark_begin(), (ReplyText{"</thi", ""}));
  EXPECT_EQ(mixed.add("nk></think>y"), (ReplyText{"nk>", "y"}));
  EXPECT_EQ(mixed.mark_begin(), (ReplyText{}));
  EXPECT_EQ(mixed.add("z"), (ReplyText{"", "z"}));
}

}  // namespace
}  // namespace gumbel
