// Recurrent networks: sequences of several lengths, and what cannot be computed.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/onnx/import.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/onnx_text.h"
#include "tests/graph/onnx/symbolic/all_sizes.h"

namespace lemma {
namespace {

// A short sequence gives what its own steps give, then zeros, and its last state stays.
TEST(RecurrentTest, SequencesEndAtTheirLengths) {
  for (const std::string direction : {"forward", "reverse"}) {
    SCOPED_TRACE(direction);
    const std::string gru = absl::StrCat("GRU<hidden_size = 3, direction = \"", direction, "\">");
    auto imported = ImportOnnxBytes(
        OnnxModel(
            absl::StrCat("g (float[3,2,2] x, float[1,9,2] w, float[1,9,3] r, float[1,18] b) => "
                         "(float[3,1,2,3] y, float[1,2,3] h, float[2,1,1,3] z, float[1,1,3] k) { "
                         "n = Constant<value = int32[2] {3, 2}>() y, h = ",
                         gru,
                         "(x, w, r, b, n) s = Constant<value_ints = [0, 1]>() "
                         "e = Constant<value_ints = [2, 2]>() c = Slice(x, s, e) z, k = ",
                         gru, "(c, w, r, b) }"))
            .SerializeAsString());
    ASSERT_TRUE(imported.ok()) << imported.status();
    ASSERT_TRUE(imported->opaque.empty()) << imported->opaque[0];
    const std::vector<Tensor> values = RunOnReference(imported->graph);
    ASSERT_EQ(values.size(), 4u);
    const Tensor &y = values[0], &h = values[1], &z = values[2], &k = values[3];
    for (int64_t i = 0; i < 3; ++i) {
      // y is [step, 1, sequence, i].
      for (int64_t step : {0, 1}) {
        EXPECT_NEAR(y.AtDouble((step * 2 + 1) * 3 + i), z.AtDouble(step * 3 + i), 1e-6);
      }
      EXPECT_EQ(y.AtDouble((2 * 2 + 1) * 3 + i), 0);
      EXPECT_NE(y.AtDouble((2 * 2 + 0) * 3 + i), 0);
      EXPECT_NEAR(h.AtDouble(3 + i), k.AtDouble(i), 1e-6);
    }
  }
}

// Importing it at run time does not help: the run says so instead of trying forever.
TEST(RecurrentTest, WhatIsUnknownAtRunTimeIsAnError) {
  auto imported = ImportOnnxBytes(
      OnnxModel("g (float[2,1,2] x, float[1,12,2] w, float[1,12,3] r) => (float[2,1,1,3] y) { "
                "y = LSTM<hidden_size = 3, activation_alpha = [0.5], activations = [\"Sigmoid\", "
                "\"LeakyRelu\", \"Tanh\"]>(x, w, r) }")
          .SerializeAsString());
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_EQ(imported->opaque.size(), 1u);
  auto executable = MakeReferenceBackend()->Compile(imported->graph, {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  std::vector<Tensor> inputs;
  for (const Value& input : imported->graph.inputs()) {
    inputs.push_back(*Tensor::Filled(input.type(), 0.5));
  }
  const absl::Status status = (*executable)->Run(inputs).status();
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "activations with parameters")) << status;
}

}  // namespace
}  // namespace lemma
