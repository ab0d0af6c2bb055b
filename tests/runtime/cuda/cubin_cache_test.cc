// A damaged file of the cache counts as missing.
#include "runtime/cuda/cubin_cache.h"

#include <string>

#include "base/file.h"
#include "gtest/gtest.h"

namespace lemma::cuda {
namespace {

class CubinCacheTest : public testing::Test {
 protected:
  CubinCacheTest() : folder_(testing::TempDir() + "/cubins"), path_(folder_ + "/key.cubin") {
    KeepCubin(folder_, "key", "\177ELF and so on");
  }
  std::string Kept() const { return *ReadFile(path_, 1000); }
  void Keep(const std::string& bytes) { ASSERT_TRUE(WriteFileAtomically(path_, {bytes}).ok()); }

  const std::string folder_, path_;
};

TEST_F(CubinCacheTest, GivesWhatWasKept) {
  EXPECT_EQ(CachedCubin(folder_, "key"), "\177ELF and so on");
  EXPECT_EQ(CachedCubin(folder_, "other"), std::nullopt);
}

TEST_F(CubinCacheTest, DoesNotTrustAFileOfAnyOtherLength) {
  const std::string kept = Kept();
  for (size_t n = 0; n < kept.size(); ++n) {
    Keep(kept.substr(0, n));
    EXPECT_EQ(CachedCubin(folder_, "key"), std::nullopt) << n;
  }
  Keep(kept + '\0');
  EXPECT_EQ(CachedCubin(folder_, "key"), std::nullopt);
}

TEST_F(CubinCacheTest, DoesNotTrustAFileWithAnotherByte) {
  for (size_t i = 0; i < Kept().size(); ++i) {
    KeepCubin(folder_, "key", "\177ELF and so on");
    std::string bytes = Kept();
    bytes[i] ^= 1;
    Keep(bytes);
    EXPECT_EQ(CachedCubin(folder_, "key"), std::nullopt) << i;
  }
}

TEST_F(CubinCacheTest, DoesNotTrustAnothersFile) {
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/other.cubin", {Kept()}).ok());
  EXPECT_EQ(CachedCubin(folder_, "other"), std::nullopt);
}

}  // namespace
}  // namespace lemma::cuda
