// Operators of transformers against ONNX Runtime, which has kernels of its own for them.
#include "absl/strings/str_cat.h"
#include "graph/onnx/import.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/compare.h"
#include "tests/graph/onnx/grid.h"
#include "tests/graph/onnx/onnx_text.h"
#include "tests/runtime/ort/engine.h"

namespace lemma {
namespace {

struct OrtCase {
  const char* inputs;  // floats; integers are constants in the body
  const char* body;
  const char* outputs = "float y";
};

// The shapes of outputs are left open.
onnx::ModelProto ModelOf(const OrtCase& c, int opset, const std::string& domain) {
  onnx::ModelProto model =
      OnnxModel(absl::StrCat("g (", c.inputs, ") => (", c.outputs, ") { ", c.body, " }"), opset);
  for (auto& output : *model.mutable_graph()->mutable_output()) {
    output.mutable_type()->mutable_tensor_type()->clear_shape();
  }
  if (domain.empty()) return model;
  auto* entry = model.add_opset_import();
  entry->set_domain(domain);
  entry->set_version(1);
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    if (node.op_type() != "Constant") node.set_domain(domain);
  }
  return model;
}

void ExpectOrtsOutputs(const std::vector<OrtCase>& cases, int opset, const std::string& domain) {
  auto ort = OrtEngine::Start({"--optimize", "disabled"});
  if (absl::IsFailedPrecondition(ort.status())) GTEST_SKIP() << ort.status().message();
  ASSERT_TRUE(ort.ok()) << ort.status();
  for (const OrtCase& c : cases) {
    SCOPED_TRACE(c.body);
    const std::string bytes = ModelOf(c, opset, domain).SerializeAsString();
    auto model = ImportOnnxBytes(bytes);
    ASSERT_TRUE(model.ok()) << model.status();
    ASSERT_TRUE(model->opaque.empty()) << model->opaque[0];
    std::vector<Tensor> inputs;
    for (const Value& input : model->graph.inputs()) {
      const Grid grid = Random(input.shape(), inputs.size() + 1);
      inputs.push_back(*Tensor::FromDoubles(input.type(), grid.values));
    }
    auto executable = MakeReferenceBackend()->Compile(model->graph, {});
    ASSERT_TRUE(executable.ok()) << executable.status();
    auto actual = (*executable)->Run(inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    auto expected = (*ort)->Run(bytes, inputs);
    ASSERT_TRUE(expected.ok()) << expected.status();
    EXPECT_EQ(Mismatch(model->graph, *actual, *expected), "");
  }
}

constexpr char kContrib[] = "com.microsoft";

TEST(TransformerOrtTest, AttentionOfOperatorSet23) {
  constexpr char kInputs[] = "float[2,4,3,8] q, float[2,2,5,8] k, float[2,2,5,6] v, float[3,5] m";
  constexpr char kPast[] =
      "float[2,4,3,8] q, float[2,2,5,8] k, float[2,2,5,6] v, float[2,2,4,8] a, float[2,2,4,6] b";
  const std::vector<OrtCase> cases = {
      {kInputs, "y = Attention(q, k, v)"},
      {kInputs, "y = Attention<is_causal = 1, scale = 0.3>(q, k, v, m)"},
      {kInputs, "y = Attention<softcap = 0.5>(q, k, v, m)"},
      {kInputs,
       "b = Constant<value = bool[3,5] {1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 1}>() y = "
       "Attention(q, k, v, b)"},
      {kInputs, "y, c, d, s = Attention<qk_matmul_output_mode = 2>(q, k, v, m)",
       "float y, float c, float d, float s"},
      {kPast, "y, c, d = Attention<is_causal = 1>(q, k, v, , a, b)", "float y, float c, float d"},
      {"float[2,3,32] q, float[2,5,16] k, float[2,5,12] v",
       "y = Attention<q_num_heads = 4, kv_num_heads = 2>(q, k, v)"},
  };
  ExpectOrtsOutputs(cases, 23, "");
}

TEST(TransformerOrtTest, NormalizationsOfOperatorSet23) {
  const std::vector<OrtCase> cases = {
      {"float[2,3,8] x, float[8] w", "y = RMSNormalization<epsilon = 0.1>(x, w)"},
      {"float[2,3,8] x, float[3,8] w", "y = RMSNormalization<axis = -2>(x, w)"},
      {"float16[2,3,8] x, float16[8] w", "y = RMSNormalization(x, w)", "float16 y"},
      {"float16[2,3,8] x, float16[8] w", "y = LayerNormalization(x, w)", "float16 y"},
      {"float[2,6,3] x, float[6] w, float[6] b", "y = GroupNormalization<num_groups = 3>(x, w, b)"},
      {"float[2,4,3,8] x, float[2,3,4] c, float[2,3,4] s",
       "y = RotaryEmbedding<interleaved = 1>(x, c, s)"},
      {"float[2,3,8] x", "y = Gelu<approximate = \"tanh\">(x)"},
  };
  ExpectOrtsOutputs(cases, 23, "");
}

TEST(TransformerOrtTest, ContribNormalizationsAndProducts) {
  constexpr char kSkip[] = "float[2,3,8] x, float[3,8] s, float[8] w, float[8] b, float[8] c";
  constexpr char kTables[] = "float[7,8] w, float[5,8] p, float[2,8] k, float[8] a, float[8] b";
  const std::vector<OrtCase> cases = {
      {kSkip, "y, m, d, t = SkipLayerNormalization(x, s, w, b, c)", "float y, float t"},
      {kSkip, "y = SkipLayerNormalization<epsilon = 0.1>(x, s, w, , c)"},
      {kSkip, "y, m, d, t = SkipSimplifiedLayerNormalization(x, s, w, c)", "float y, float t"},
      {kTables,
       "i = Constant<value = int32[2,2] {6, 0, 3, 3}>() s = Constant<value = int32[2,2] {0, 1, 1, "
       "1}>() n = Constant<value = int32[2,2] {1, 0, 1, 1}>() "
       "y, m, e = EmbedLayerNormalization(i, s, w, p, k, a, b, n)",
       "float y, int32 m, float e"},
      {kSkip, "y = BiasGelu(x, b)"},
      {kSkip, "y = FastGelu(x, b)"},
      {kSkip, "y = QuickGelu(x)"},
      {"float[3,2,4] a, float[2,5,4] w",
       "y = FusedMatMul<transBatchA = 1, transB = 1, alpha = 0.5>(a, w)"},
      {"float[2,3] x, float[4,3] w, float[4] b",
       "y = FusedGemm<alpha = 0.5, beta = 0.25, transB = 1, activation = \"Relu\">(x, w, b)"},
      {"float[2,3] x, float[4,3] w, float[4] b",
       "y = FusedGemm<transB = 1, activation = \"HardSigmoid\", activation_alpha = 0.3, "
       "activation_beta = 0.4>(x, w, b)"},
      {"float[2,3] x, float[4,3] w, float[4] b",
       "y = FusedGemm<transB = 1, activation = \"Elu\", activation_alpha = 0.3>(x, w, b)"},
      {"float[2,3] x, float[4,3] w, float[4] b",
       "y = FusedGemm<transB = 1, activation = \"Softplus\">(x, w, b)"},
      {"float[1,2,5,5] x, float[3,2,3,3] w, float[3] b, float[1,3,5,5] z",
       "y = FusedConv<activation = \"Relu\", pads = [1, 1, 1, 1]>(x, w, b, z)"},
      {"float[1,2,5,5] x, float[3,2,3,3] w, float[3] b",
       "y = FusedConv<activation = \"HardSigmoid\", activation_params = [0.3, 0.4]>(x, w, b)"},
  };
  ExpectOrtsOutputs(cases, 17, kContrib);
}

TEST(TransformerOrtTest, ContribAttentions) {
  constexpr char kInputs[] =
      "float[2,3,8] x, float[8,24] w, float[24] b, float[2,2,2,4,4] p, float[1,2,3,3] s";
  constexpr char kHeads[] =
      "float[2,3,8] q, float[2,5,8] k, float[2,5,12] v, float[28] b, float[1,2,3,5] s";
  constexpr char kLengths[] = "n = Constant<value = int32[2] {2, 1}>() ";
  const std::string rows =
      "n = Constant<value = int32[2,7] {1, 0, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0}>() "
      "y, r = Attention<num_heads = 2, unidirectional = 1, mask_filter_value = -3.0>(x, w, b, n, "
      "p)";
  const std::string ends = absl::StrCat(kLengths, "y = Attention<num_heads = 2>(x, w, b, n)");
  const std::string padded =
      absl::StrCat(kLengths, "y = MultiHeadAttention<num_heads = 2>(q, k, v, b, n)");
  const std::vector<OrtCase> cases = {
      {kInputs, "y = Attention<num_heads = 2, unidirectional = 1, scale = 2.0>(x, w, b)"},
      {kInputs, rows.c_str(), "float y, float r"},
      {kInputs, ends.c_str()},
      {kInputs, "y = Attention<num_heads = 2>(x, w, b, , , s)"},
      {kHeads, "y = MultiHeadAttention<num_heads = 2>(q, k, v, b, , s)"},
      {kHeads, padded.c_str()},
      {"float[2,3,8] q, float[2,3,8] k, float[2,2,4,4] a, float[2,2,4,4] b",
       "y, c, d = MultiHeadAttention<num_heads = 2, unidirectional = 1>(q, k, k, , , , a, b)",
       "float y, float c, float d"},
      {"float[2,3,12] x, float[9,2] c, float[9,2] s",
       "p = Constant<value = int64[2,3] {0, 8, 1, 4, 4, 2}>() "
       "y = RotaryEmbedding<num_heads = 2, rotary_embedding_dim = 4>(x, p, c, s)"},
  };
  ExpectOrtsOutputs(cases, 17, kContrib);
}

TEST(TransformerOrtTest, GroupedAttention) {
  constexpr char kPrompt[] =
      "float[2,3,128] q, float[12,8] c, float[12,8] s, float[2,4,3,3] m, "
      "float[4] z";
  constexpr char kToken[] =
      "float[2,1,64] q, float[2,1,32] k, float[2,1,32] v, float[2,2,5,16] a, float[2,2,5,16] b, "
      "float[12,8] c, float[12,8] s";
  constexpr char kOutputs[] = "float y, float d, float e";
  const std::string prompt =
      "n = Constant<value = int32[2] {2, 1}>() t = Constant<value = int32 {3}>() "
      "y, d, e = GroupQueryAttention<num_heads = 4, kv_num_heads = 2";
  const std::string token =
      "n = Constant<value = int32[2] {5, 3}>() t = Constant<value = int32 {6}>() "
      "y, d, e = GroupQueryAttention<num_heads = 4, kv_num_heads = 2";
  const std::string bodies[] = {
      prompt + ", do_rotary = 1>(q, , , , , n, t, c, s)",
      prompt + ", do_rotary = 1, rotary_interleaved = 1, softcap = 0.5>(q, , , , , n, t, c, s)",
      prompt + ", local_window_size = 2, scale = 0.4>(q, , , , , n, t)",
      prompt + ">(q, , , , , n, t, , , , m, z)",
  };
  std::vector<OrtCase> cases;
  for (const std::string& body : bodies) cases.push_back({kPrompt, body.c_str(), kOutputs});
  const std::string next[] = {
      token + ">(q, k, v, a, b, n, t)",
      token + ", do_rotary = 1, local_window_size = 3>(q, k, v, a, b, n, t, c, s)",
  };
  // A window and a sink together, without padding: its rows mean nothing, and ONNX Runtime's
  // differ.
  const std::string full =
      "n = Constant<value = int32[2] {2, 2}>() t = Constant<value = int32 {3}>() "
      "y, d, e = GroupQueryAttention<num_heads = 4, kv_num_heads = 2, local_window_size = 2, "
      "smooth_softmax = 1>(q, , , , , n, t)";
  cases.push_back({kPrompt, full.c_str(), kOutputs});
  for (const std::string& body : next) cases.push_back({kToken, body.c_str(), kOutputs});
  ExpectOrtsOutputs(cases, 17, kContrib);
}

}  // namespace
}  // namespace lemma
