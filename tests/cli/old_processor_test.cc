// The command on processors without AVX-512, without AVX2 and without AVX, as QEMU shows them.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;

// A product, a convolution, functions of libm, a reduction, integers: all tables of lanes.
constexpr char kModel[] = R"(graph g(x: f32[2,3,6,6], i: i64[4],
    w: weight f32[4,3,3,3] = fill 0.25, v: weight f32[144,5] = fill 0.5) {
  c = conv2d(x, w) {pads = [1,1,1,1]}
  e = exp(c)
  t = tanh(e)
  r = reshape(t) {shape = [2,144]}
  m = matmul(r, v)
  s = reduce_sum(m) {axes = [0]}
  d = cast(s) {dtype = "f64"}
  q = sqrt(d)
  j = add(i, i)
  h = cast(r) {dtype = "f16"}
  k = mul(h, h)
  return s, q, j, k
})";

class OldProcessorTest : public testing::TestWithParam<const char*> {};

TEST_P(OldProcessorTest, RunsAModelAsThisOneDoes) {
  const std::string model = WriteTemp("m.lemma", kModel);
  for (const std::string backend : {"--backend=reference", "--backend=cpu"}) {
    const std::string here = NewFolder();
    ASSERT_EQ(RunLemma({"run", model, backend, "--runs=1", "--outputs=" + here}).exit_status, 0);
    const LemmaResult there =
        RunLemmaUnder({"qemu-x86_64-static", "-cpu", GetParam()},
                      {"run", model, backend, "--runs=1", "--expect=" + here});
    ASSERT_EQ(there.exit_status, 0)
        << backend << there.err << "(tools/install installs qemu-user-static)";
    EXPECT_THAT(there.out, HasSubstr("as expected")) << backend;
  }
}

INSTANTIATE_TEST_SUITE_P(All, OldProcessorTest, testing::Values("Nehalem", "Haswell", "EPYC-Rome"),
                         [](const auto& info) {
                           std::string name = info.param;
                           return name == "EPYC-Rome" ? "EpycRome" : name;
                         });

}  // namespace
}  // namespace lemma
