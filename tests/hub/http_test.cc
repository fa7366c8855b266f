#include "hub/http.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "hub/local_hub.h"
#include "hub/retry.h"

namespace gumbel {
namespace {

using test::expect_error;
using test::LocalHub;

HttpResult get(HttpClient& client, const std::string& url, std::string* text) {
  return client.get(url, {}, [&](const HttpHead&, std::span<const std::byte> bytes) {
    text->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return true;
  });
}

TEST(Http, GetsBodiesAndHeaders) {
  LocalHub hub;
  hub.add("o/m/a b#?%.txt", "contents");
  HttpClient client(hub.url() + "/", "", nullptr);
  EXPECT_EQ(client.endpoint(), hub.url());
  std::string text;
  const HttpResult result =
      get(client, hub.url() + "/o/m/resolve/main/" + escape_url("a b#?%.txt"), &text);
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.head.status, 200);
  EXPECT_EQ(text, "contents");
  EXPECT_EQ(result.head.number("content-length"), 8u);
  EXPECT_EQ(result.head.number("etag"), std::nullopt);
  EXPECT_EQ(result.head.header("x-none"), std::nullopt);
  EXPECT_EQ(hub.requests().at(0).count("authorization"), 0u);
}

TEST(Http, TheTokenGoesToTheEndpointAlone) {
  LocalHub hub, elsewhere;
  elsewhere.add("o/m/f", "there");
  hub.set_faults({{"/away", {"redirect:" + elsewhere.url() + "/o/m/resolve/main/f"}},
                  {"/near", {"redirect:/o/m/resolve/main/away"}}});
  HttpClient client(hub.url(), "secret", nullptr);
  std::string text;
  const HttpResult result = get(client, hub.url() + "/o/m/resolve/main/near", &text);
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(text, "there");
  EXPECT_EQ(result.head.url, elsewhere.url() + "/o/m/resolve/main/f");
  ASSERT_EQ(hub.requests().size(), 2u);
  for (const auto& request : hub.requests())
    EXPECT_EQ(request.at("authorization"), "Bearer secret");
  ASSERT_EQ(elsewhere.requests().size(), 1u);
  EXPECT_EQ(elsewhere.requests().at(0).count("authorization"), 0u);
  // Nor does it go there where that is asked directly.
  get(client, elsewhere.url() + "/o/m/resolve/main/f", &text);
  EXPECT_EQ(elsewhere.requests().at(1).count("authorization"), 0u);
}

TEST(Http, RedirectsHaveLimits) {
  LocalHub hub;
  hub.set_faults({{"/loop", {"redirect:/loop*"}},
                  {"/file", {"redirect:file:///etc/passwd"}},
                  {"/none", {"redirect:"}}});
  HttpClient client(hub.url(), "", nullptr);
  std::string text;
  EXPECT_EQ(get(client, hub.url() + "/loop", &text).failure, "redirected more than 8 times");
  EXPECT_EQ(hub.requests().size(), 9u);
  EXPECT_NE(get(client, hub.url() + "/file", &text).failure.find("file:///etc/passwd"),
            std::string::npos);
  EXPECT_NE(get(client, hub.url() + "/none", &text).failure, "");
  EXPECT_EQ(text, "");
  EXPECT_EQ(refused_redirect("https://a/b", "https://c/d"), "");
  EXPECT_EQ(refused_redirect("https://a/b", "/d"), "");
  EXPECT_EQ(refused_redirect("http://a/b", "https://c"), "");
  EXPECT_NE(refused_redirect("https://a/b", "http://a/b"), "");
  EXPECT_NE(refused_redirect("https://a/b", "HTTP://a/b"), "");
  for (const char* other : {"file:///x", "ftp://a/b", "gopher://a", "http://", "https://a b/"})
    EXPECT_NE(refused_redirect("http://a/b", other), "") << other;
}

TEST(Http, HeadersHaveLimits) {
  LocalHub hub;
  hub.set_faults({{"/many", {"headers:1000"}}, {"/few", {"headers:50"}}});
  HttpClient client(hub.url(), "", nullptr);
  std::string text;
  EXPECT_NE(get(client, hub.url() + "/many", &text).failure.find("headers"), std::string::npos);
  EXPECT_EQ(get(client, hub.url() + "/few", &text).failure, "");
}

TEST(Http, CutConnectionsMayBeRetried) {
  LocalHub hub;
  hub.add("o/m/f", std::string(1000, 'x'));
  hub.set_faults({{"/f", {"cut:10", "close"}}});
  HttpClient client(hub.url(), "", nullptr);
  for (int i = 0; i < 2; ++i) {
    std::string text;
    const HttpResult result = get(client, hub.url() + "/o/m/resolve/main/f", &text);
    EXPECT_NE(result.failure, "");
    EXPECT_TRUE(result.may_retry);
    EXPECT_TRUE(is_temporary(result));
    EXPECT_EQ(text, std::string(i == 0 ? 10 : 0, 'x'));
  }
  std::string text;
  HttpClient nobody("http://127.0.0.1:1", "", nullptr);
  EXPECT_TRUE(get(nobody, "http://127.0.0.1:1/x", &text).may_retry);
}

TEST(Http, ExceptionsEndARequest) {
  LocalHub hub;
  hub.add("o/m/f", "contents");
  const std::string url = hub.url() + "/o/m/resolve/main/f";
  HttpClient client(hub.url(), "", nullptr);
  EXPECT_THROW(client.get(url, {},
                          [](const HttpHead&, std::span<const std::byte>) -> bool {
                            throw std::runtime_error("enough");
                          }),
               std::runtime_error);
  hub.set_faults({{"/f", {"slow:3"}}});
  int calls = 0;
  HttpClient impatient(hub.url(), "", [&] {
    if (++calls > 3) throw std::runtime_error("enough");
  });
  std::string text;
  EXPECT_THROW(get(impatient, url, &text), std::runtime_error);
}

TEST(Http, RefusesEndpointsAndTokens) {
  for (const char* endpoint : {"", "huggingface", "ftp://h", "file:///x", "http://", "http://u:p@h",
                               "http://h?x", "http://h/#x"})
    expect_error(ErrorCode::kInvalidArgument, "HF_ENDPOINT",
                 [&] { HttpClient(endpoint, "", nullptr); });
  for (const char* token : {"a b", "a\nX-Evil: 1", "\xC3\xA4"})
    expect_error(ErrorCode::kInvalidArgument, "HF_TOKEN",
                 [&] { HttpClient("http://h", token, nullptr); });
}

TEST(Retries, WaitAndEnd) {
  using std::chrono::milliseconds;
  int calls = 0;
  Retries retries({.attempts = 3, .first_wait = milliseconds(1), .longest_wait = milliseconds(2)},
                  [&] { ++calls; });
  HttpResult busy;
  busy.head.status = 429;
  busy.head.headers["retry-after"] = "999999999999999999";
  EXPECT_TRUE(retries.wait(busy));
  EXPECT_TRUE(retries.wait(busy));
  EXPECT_FALSE(retries.wait(busy));
  EXPECT_GE(calls, 2);
  retries.restart();
  EXPECT_TRUE(retries.wait(busy));
  HttpResult gone;
  gone.head.status = 404;
  EXPECT_FALSE(retries.wait(gone));
}

}  // namespace
}  // namespace gumbel
