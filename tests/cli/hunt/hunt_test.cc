// lemma hunt: flags and exit statuses. With ONNX Runtime, if it is installed.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/base/temp_files.h"
#include "tests/cli/lemma_process.h"
#include "tests/cli/onnxruntime/installed.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;

TEST(HuntCommandTest, SaysHowToInstallTheEngine) {
  ExpectOneLine(RunLemma({"hunt", "--engine=onnxruntime", "--onnxruntime=/nowhere/libort.so"}),
                {"/nowhere/libort.so", "tools/lib/ort installs it", "--onnxruntime"});
}

TEST(HuntCommandTest, RefusesWrongUse) {
  ExpectOneLine(RunLemma({"hunt", "--engine=abacus"}), {"--engine", "onnxruntime"});
  ExpectOneLine(RunLemma({"hunt", "--seconds=-1"}), {"--seconds"});
  ExpectOneLine(RunLemma({"hunt", "--cases=-1"}), {"--cases"});
  ExpectOneLine(RunLemma({"hunt", "model.onnx"}), {"flags only"});
}

TEST(HuntCommandTest, HuntsInOnnxRuntime) {
  const std::string library = InstalledOnnxRuntime();
  if (library.empty()) GTEST_SKIP() << "ONNX Runtime is not installed: run tools/lib/ort";
  const std::string folder = NewFolder() + "/found";
  const LemmaResult result =
      RunLemma({"hunt", "--onnxruntime=" + library, "--cases=20", "--rules=starter", "--seconds=60",
                "--seed=1", "--out=" + folder, "--json"});
  EXPECT_TRUE(result.exit_status == 0 || result.exit_status == 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("{\"engine\":\"ONNX Runtime 1."));
  EXPECT_THAT(result.out, HasSubstr("\"cases\":20,"));
  EXPECT_THAT(result.out, HasSubstr("\"own_faults\":[]"));
}

}  // namespace
}  // namespace lemma
