// lemma optimize --target=onnxruntime, with ONNX Runtime. Skipped where it is not installed.

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/base/temp_files.h"
#include "tests/cli/lemma_process.h"
#include "tests/cli/onnxruntime/installed.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A HardSwish, written out, between two convolutions: ONNX Runtime computes it inside the first one
// only if it is one operator.
std::string WrittenOut() {
  onnx::ModelProto model = OnnxModel(
      "g (float[1,32,64,64] x) => (float[1,32,64,64] y) {"
      "  three = Constant <value_float = 3.0> ()"
      "  six = Constant <value_float = 6.0> ()"
      "  zero = Constant <value_float = 0.0> ()"
      "  c = Conv (x, v)"
      "  a = Add (c, three)"
      "  b = Clip (a, zero, six)"
      "  m = Mul (c, b)"
      "  s = Div (m, six)"
      "  y = Conv (s, w) }");
  for (const char* name : {"v", "w"}) AddOnes(&model, name, {32, 32, 1, 1});
  return WriteTemp("written_out.onnx", model.SerializeAsString());
}

TEST(TargetTest, MakesAModelThatIsFasterInOnnxRuntime) {
  const std::string library = InstalledOnnxRuntime();
  if (library.empty()) GTEST_SKIP() << "ONNX Runtime is not installed: run tools/lib/ort";
  const std::string folder = NewFolder(), model = WrittenOut(), out = folder + "/out.onnx";
  const LemmaResult result =
      RunLemma({"optimize", model, "-o", out, "--target=onnxruntime", "--onnxruntime=" + library,
                "--reseed-weights=1", "--effort=quick", "--cost-db=" + folder + "/a.sqlite"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("recognize_hard_swish"));
  EXPECT_THAT(result.out, Not(HasSubstr("peak memory")));
  const LemmaResult costs = RunLemma({"costs", "--cost-db=" + folder + "/a.sqlite"});
  EXPECT_THAT(costs.out, HasSubstr("onnxruntime 1."));
  const LemmaResult checked = RunLemma({"check", model, out, out + ".cert", "--reseed-weights=1"});
  EXPECT_EQ(checked.exit_status, 0) << checked.out << checked.err;
}

TEST(TargetTest, ItsMemoryIsNoObjective) {
  const std::string library = InstalledOnnxRuntime();
  if (library.empty()) GTEST_SKIP() << "ONNX Runtime is not installed: run tools/lib/ort";
  ExpectOneLine(
      RunLemma({"optimize", WrittenOut(), "-o", NewFolder() + "/out.onnx", "--target=onnxruntime",
                "--onnxruntime=" + library, "--objective=memory"}),
      {"--objective: onnxruntime does not tell how much memory it takes"});
}

}  // namespace
}  // namespace lemma
