#include "skyfix/base/hash.h"

#include <openssl/evp.h>

#include <array>
#include <memory>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"

namespace skyfix {
namespace {

std::string digest_hex(const EVP_MD* kind, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, kind, nullptr) != 1) {
    throw Error(Reason::internal, "the digest could not be computed");
  }
  static constexpr char kHex[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * size);
  for (unsigned int i = 0; i < size; ++i) {
    hex += kHex[digest[i] >> 4];
    hex += kHex[digest[i] & 15];
  }
  return hex;
}

}  // namespace

std::string sha1_hex(std::string_view bytes) { return digest_hex(EVP_sha1(), bytes); }
std::string sha256_hex(std::string_view bytes) { return digest_hex(EVP_sha256(), bytes); }

std::string sha256_hex_of_file(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  return sha256_hex(mapped.text());
}

}  // namespace skyfix
