// lemma hunt: flags and exit statuses. With ONNX Runtime, if it is installed.
#include <pwd.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/base/temp_files.h"
#include "tests/cli/lemma_process.h"

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

// The library that tools/lib/ort has installed; "" if it has not.
std::string Library() {
  namespace fs = std::filesystem;
  const passwd* user = getpwuid(getuid());
  if (user == nullptr) return "";
  std::error_code error;
  const fs::path folder = fs::path(user->pw_dir) / ".cache/lemma/ort";
  for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
    const fs::path& path = entry.path();
    if (path.filename() == "libonnxruntime.so.1" && path.parent_path().filename() == "x64") {
      return path.string();
    }
  }
  return "";
}

TEST(HuntCommandTest, HuntsInOnnxRuntime) {
  const std::string library = Library();
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
