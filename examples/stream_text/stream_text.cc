// Streams an answer: stream_text PROGRAM PROMPT
#include <gumbel/engine.h>

#include <iostream>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: stream_text PROGRAM PROMPT\n";
    return 2;
  }
  try {
    gumbel::Engine engine(argv[1]);
    gumbel::Session session = engine.create_session();

    const std::vector<gumbel::Message> chat = {{"user", argv[2]}};
    const bool chats = engine.info().has_chat_template;
    const auto prompt = chats ? engine.encode_chat(chat) : engine.encode(argv[2]);

    const gumbel::Sampling sampling{.temperature = 0.7f, .top_k = 64, .top_p = 0.95f, .seed = 42};
    gumbel::Token token = session.prefill(prompt, sampling);
    std::cout << token.text << std::flush;
    while (!token.terminal) {
      token = session.decode(sampling);
      std::cout << token.text << std::flush;
    }
    std::cout << '\n';
  } catch (const gumbel::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return std::cout ? 0 : 1;
}
