// What is said where ONNX Runtime's library is missing, or is another file.
#include "runtime/onnxruntime/ort_library.h"

#include "gmock/gmock.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/onnxruntime/ort_backend.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;

TEST(OrtLibraryTest, AMissingLibraryIsNamedWithWhatInstallsIt) {
  const absl::Status status = CheckOrtLibrary("/nowhere/libonnxruntime.so");
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nowhere/libonnxruntime.so"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("tools/lib/ort installs it"));
}

TEST(OrtLibraryTest, AnotherLibraryIsRefused) {
  const absl::Status status = CheckOrtLibrary("libm.so.6");
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("libm.so.6: not ONNX Runtime's library"));
}

TEST(OrtLibraryTest, WithoutTheLibraryNothingIsCompiledOrMeasured) {
  const OrtOptions options{"/nowhere/libonnxruntime.so", nullptr};
  const auto graph = ParseGraph("graph g(x: f32[2]) { y = relu(x) return y }");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::unique_ptr<Backend> backend = MakeOrtBackend(options);
  EXPECT_TRUE(absl::IsNotFound(backend->Compile(*graph, {}).status()));
  EXPECT_EQ(backend->version(), "not installed");
  EXPECT_EQ(MakeOrtMeasurer(1, options), nullptr);
}

}  // namespace
}  // namespace lemma
