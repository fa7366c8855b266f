// Replaces operator new in this test program so that no single allocation may exceed 64 MiB: code
// that allocates on the word of a hostile length then fails with std::bad_alloc, which is no
// gumbel::Error. The tests' own files are far smaller.
#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t kLargest = std::size_t{64} << 20;

}  // namespace

void* operator new(std::size_t size) {
  if (size > kLargest) throw std::bad_alloc();
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
