#include "hub/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "base/error.h"

namespace gumbel {

void Digest::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Digest::Digest(const char* algorithm) : context_(EVP_MD_CTX_new()) {
  const EVP_MD* type = EVP_get_digestbyname(algorithm);
  if (!context_ || type == nullptr || EVP_DigestInit_ex(context_.get(), type, nullptr) != 1)
    fail(ErrorCode::kUnsupported, "{}: the cryptographic library does not have it", algorithm);
}

Digest Digest::sha256() { return Digest("SHA256"); }

Digest Digest::git_blob(uint64_t bytes) {
  Digest digest("SHA1");
  const std::string header = fmt::format("blob {}", bytes);
  // With the zero byte that ends it.
  digest.add(std::as_bytes(std::span(header.c_str(), header.size() + 1)));
  return digest;
}

void Digest::add(std::span<const std::byte> bytes) {
  EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

std::string Digest::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int size = 0;
  EVP_DigestFinal_ex(context_.get(), bytes.data(), &size);
  std::string text;
  for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

}  // namespace gumbel
