// Integers of 4 and 2 bits and floats of 8 and 4 bits against ONNX Runtime. Skipped where it is not
// installed.
#include <onnx/onnx_pb.h>
#include <pwd.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "gtest/gtest.h"
#include "runtime/onnxruntime/ort_process.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

constexpr int kU4 = 21, kI4 = 22, kU2 = 25, kI2 = 26;  // ONNX's numbers
constexpr int kF8E4M3 = 17, kF8E4M3Uz = 18, kF8E5M2 = 19, kF8E5M2Uz = 20;

class SmallTypesOrtTest : public testing::Test {
 protected:
  void SetUp() override {
    // The library is in the user's home, whose path Bazel hides from tests.
    if (const passwd* user = getpwuid(getuid()); user != nullptr) setenv("HOME", user->pw_dir, 1);
    auto process = OrtProcess::Start({});
    if (!process.ok()) GTEST_SKIP() << process.status();
    ort_ = *std::move(process);
  }

  // Both execute the model; so do they what Lemma writes for it.
  void Compare(onnx::ModelProto model, const std::vector<Tensor>& inputs) {
    const std::string bytes = model.SerializeAsString();
    const auto imported = ImportOnnxBytes(bytes);
    ASSERT_TRUE(imported.ok()) << imported.status();
    ASSERT_TRUE(imported->opaque.empty()) << imported->opaque[0];
    const Graph& graph = imported->graph;
    const auto executable = MakeReferenceBackend()->Compile(graph, {});
    ASSERT_TRUE(executable.ok()) << executable.status();
    const auto actual = (*executable)->Run(inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    const auto written = ExportOnnx(graph);
    ASSERT_TRUE(written.ok()) << written.status();
    for (const std::string& file : {bytes, *written}) {
      const auto expected =
          ort_->Run({file, graph.input_names(), graph.output_names()}, inputs, "disabled");
      ASSERT_TRUE(expected.ok()) << expected.status();
      ASSERT_EQ((*actual)[0].type(), (*expected)[0].type());
      for (int64_t i = 0; i < (*expected)[0].size(); ++i) {
        const double a = (*actual)[0].AtDouble(i), e = (*expected)[0].AtDouble(i);
        EXPECT_TRUE(a == e || (std::isnan(a) && std::isnan(e)))
            << (file == bytes ? "read: " : "written: ") << "element " << i << " is " << a
            << ", in ONNX Runtime " << e << "; operand "
            << (inputs[0].size() > i ? inputs[0].AtDouble(i) : 0);
      }
    }
  }

  static Tensor Floats(const std::vector<double>& values) {
    return *Tensor::FromDoubles({DType::kF32, {static_cast<int64_t>(values.size())}}, values);
  }

  std::unique_ptr<Engine> ort_;
};

std::string Text(int size, const std::string& body) {
  return absl::StrCat("g (float[", size, "] x) => (float[", size, "] y) { ", body, " }");
}

TEST_F(SmallTypesOrtTest, CastsToIntegers) {
  std::vector<double> values;
  for (double x = -20; x <= 20; x += 0.25) values.push_back(x);
  const std::string n = absl::StrCat(values.size());
  for (int type : {kU4, kI4, kU2, kI2}) {
    SCOPED_TRACE(type);
    Compare(OnnxModel(Text(static_cast<int>(values.size()),
                           absl::StrCat("h = Cast<to = ", type, ">(x) y = Cast<to = 1>(h)")),
                      25),
            {Floats(values)});
  }
}

}  // namespace
}  // namespace lemma
