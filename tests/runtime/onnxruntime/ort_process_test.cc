// ONNX Runtime in a process of its own. Skipped where it is not installed.
#include "runtime/onnxruntime/ort_process.h"

#include <pwd.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/onnx/export.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OrtProcessWithoutLibraryTest, SaysHowToInstallIt) {
  OrtProcessOptions options;
  options.library = "/nowhere/libonnxruntime.so";
  const auto process = OrtProcess::Start(options);
  EXPECT_EQ(process.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(process.status().message(), HasSubstr("tools/lib/ort installs it"));
}

class OrtProcessTest : public testing::Test {
 protected:
  void SetUp() override {
    // The library is in the user's home, whose path Bazel hides from tests.
    if (const passwd* user = getpwuid(getuid()); user != nullptr) setenv("HOME", user->pw_dir, 1);
    auto process = OrtProcess::Start({});
    if (!process.ok()) GTEST_SKIP() << process.status();
    process_ = *std::move(process);
  }

  absl::StatusOr<std::vector<Tensor>> Run(const std::string& text,
                                          const std::vector<Tensor>& inputs,
                                          const std::string& level = "all") {
    auto graph = ParseGraph(text);
    EXPECT_TRUE(graph.ok()) << graph.status();
    auto bytes = ExportOnnx(*graph);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    return process_->Run({*bytes, graph->input_names(), graph->output_names()}, inputs, level);
  }

  std::unique_ptr<Engine> process_;
};

constexpr char kAdd[] = "graph g(a: f32[2], b: f32[2]) { y = add(a, b) return y }";

std::vector<Tensor> TwoAndThree() {
  return {*Tensor::Filled({DType::kF32, {2}}, 2), *Tensor::Filled({DType::kF32, {2}}, 3)};
}

TEST_F(OrtProcessTest, RunsAtEveryLevel) {
  EXPECT_THAT(process_->Name(), HasSubstr("ONNX Runtime 1."));
  EXPECT_THAT(process_->Levels(), ElementsAre("disabled", "basic", "extended", "all"));
  for (const std::string& level : process_->Levels()) {
    const auto outputs = Run(kAdd, TwoAndThree(), level);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_THAT((*outputs)[0].ToDoubles(), ElementsAre(5, 5));
  }
}

TEST_F(OrtProcessTest, ReportsWhatTheLibraryRefuses) {
  const auto refused = process_->Run({"no model", {"a"}, {"y"}}, TwoAndThree(), "all");
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument) << refused.status();
  EXPECT_TRUE(Run(kAdd, TwoAndThree()).ok());
}

TEST_F(OrtProcessTest, IsInterrupted) {
  std::atomic<bool> interrupted{false};
  OrtProcessOptions options;
  options.interrupted = &interrupted;
  auto process = OrtProcess::Start(options);
  ASSERT_TRUE(process.ok()) << process.status();
  process_ = *std::move(process);
  interrupted = true;
  EXPECT_EQ(Run(kAdd, TwoAndThree()).status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace lemma
