// write_tiny_model FOLDER: writes FOLDER/qwen3-chat, a Hugging Face folder.
#include <cstdio>
#include <exception>

#include "engine/tiny_programs.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    gumbel::test::write_tiny_folder(argv[1], "qwen3", /*chat=*/true);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
