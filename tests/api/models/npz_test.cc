// NumPy's archives of arrays.
#include "api/models/npz.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/api/quantization/npz_file.h"

namespace lemma::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Tensor& Numbers() {
  static const auto* const tensor =
      new Tensor(*Tensor::FromDoubles({DType::kF32, {2, 2}}, {1, 2, 3, 4}));
  return *tensor;
}

TEST(NpzTest, ReadsArraysByName) {
  const std::string file = NpzFile({{"x", Numbers()}, {"mask", Tensor::Ints({7})}});
  EXPECT_TRUE(IsNpz(file));
  auto arrays = ParseNpz(file);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  ASSERT_EQ(arrays->size(), 2u);
  EXPECT_THAT(arrays->at("x").ToDoubles(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(arrays->at("x").type().ToString(), "f32[2,2]");
  EXPECT_THAT(arrays->at("mask").ToInts(), ElementsAre(7));
  // A comment at the end.
  EXPECT_TRUE(ParseNpz(file + "comment").ok());
}

TEST(NpzTest, SaysWhatIsWrong) {
  EXPECT_THAT(ParseNpz(NpzFile({{"x", Numbers()}}, 8)).status().message(),
              HasSubstr("'x.npy' is compressed; numpy.savez writes files that are not"));
  EXPECT_THAT(ParseNpz("").status().message(), HasSubstr("truncated or damaged"));
  EXPECT_THAT(ParseNpz(std::string(100, 'x')).status().message(),
              HasSubstr("truncated or damaged"));
}

TEST(NpzTest, EveryDamagedFileGivesAnErrorOrArrays) {
  const std::string file = NpzFile({{"x", Numbers()}, {"y", Numbers()}});
  for (size_t at = 0; at < file.size(); ++at) {
    EXPECT_FALSE(ParseNpz(file.substr(0, at)).ok()) << at;
    for (const char bit : {'\x01', '\x80', '\xff'}) {
      std::string damaged = file;
      damaged[at] = static_cast<char>(damaged[at] ^ bit);
      auto arrays = ParseNpz(damaged);  // must not read outside of the bytes
      if (arrays.ok()) {
        EXPECT_LE(arrays->size(), 2u) << at;
      }
    }
  }
}

}  // namespace
}  // namespace lemma::api
