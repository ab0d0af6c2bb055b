// Attention and rotary embeddings at symbolic sizes.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/graph/onnx/onnx_text.h"
#include "tests/graph/onnx/symbolic/all_sizes.h"

namespace lemma {
namespace {

const std::vector<DimValues> kSizes = {{{"batch", 1}, {"seq", 1}, {"past", 1}, {"total", 2}},
                                       {{"batch", 2}, {"seq", 5}, {"past", 3}, {"total", 8}},
                                       {{"batch", 3}, {"seq", 1}, {"past", 4}, {"total", 5}},
                                       {{"batch", 2}, {"seq", 4}, {"past", 3}, {"total", 4}}};

// The lengths that GroupQueryAttention reads: of every row, that of the mask m.
#define LEMMA_LENGTHS                                                                            \
  "one = Constant<value = int64 {1}>() ms = Shape(m) t = Gather(ms, one) t32 = Cast<to = 6>(t) " \
  "rows = Shape<start = 0, end = 1>(m) last = Sub(t, one) lasts = Expand(last, rows) "           \
  "lengths = Cast<to = 6>(lasts) "

onnx::ModelProto Model(const std::string& inputs, const std::string& nodes,
                       const std::string& outputs, int opset) {
  onnx::ModelProto model =
      OnnxModel(absl::StrCat("g (", inputs, ") => (", outputs, ") {", nodes, "}"), opset);
  auto* entry = model.add_opset_import();
  entry->set_domain("com.microsoft");
  entry->set_version(1);
  return model;
}

struct Case {
  const char *name, *inputs, *nodes, *outputs;
  int opset = 17;
};

class SymbolicAttentionTest : public testing::TestWithParam<Case> {};

TEST_P(SymbolicAttentionTest, IsOneModelForAllSizes) {
  const Case& c = GetParam();
  ExpectOneModelForAllSizes(Model(c.inputs, c.nodes, c.outputs, c.opset), kSizes);
}

INSTANTIATE_TEST_SUITE_P(
    Operators, SymbolicAttentionTest,
    testing::Values(
        Case{"Attention",
             "float[batch,4,seq,8] q, float[batch,2,past,8] k, float[batch,2,past,6] v",
             "y = Attention(q, k, v)", "float[batch,4,seq,6] y", 23},
        Case{"CausalAttention", "float[batch,seq,8] q, float[batch,seq,8] k, float[batch,seq,8] v",
             "y = Attention<is_causal = 1, q_num_heads = 2, kv_num_heads = 2>(q, k, v)",
             "float[batch,seq,8] y", 23},
        Case{"AttentionWithCache",
             "float[batch,2,seq,4] q, float[batch,2,seq,4] k, float[batch,2,seq,4] v, "
             "float[batch,2,past,4] pk, float[batch,2,past,4] pv",
             "y, nk, nv = Attention<is_causal = 1>(q, k, v, , pk, pv)",
             "float[batch,2,seq,4] y, float[batch,2,a,4] nk, float[batch,2,a,4] nv", 23},
        Case{"AttentionWithMask",
             "float[batch,2,seq,4] q, float[batch,2,past,4] k, float[batch,2,past,4] v, "
             "float[seq,past] m",
             "y = Attention(q, k, v, m)", "float[batch,2,seq,4] y", 24},
        Case{"RotaryEmbedding",
             "float[batch,2,seq,8] x, float[batch,seq,4] c, float[batch,seq,4] s",
             "y = RotaryEmbedding(x, c, s)", "float[batch,2,seq,8] y", 23},
        Case{"RotaryEmbeddingOfPositions",
             "float[batch,seq,16] x, float[50,4] c, float[50,4] s, int64[batch,seq] p",
             "y = RotaryEmbedding<num_heads = 2, interleaved = 1>(x, c, s, p)",
             "float[batch,seq,16] y", 23},
        Case{"ContribRotaryEmbedding",
             "float[batch,seq,16] x, int64[batch,seq] p, float[50,4] c, float[50,4] s",
             "y = com.microsoft.RotaryEmbedding(x, p, c, s)", "float[batch,seq,16] y"},
        Case{"ContribRotaryEmbeddingFrom",
             "float[batch,2,seq,8] x, int64[1] p, float[50,4] c, float[50,4] s",
             "y = com.microsoft.RotaryEmbedding(x, p, c, s)", "float[batch,2,seq,8] y"},
        Case{"MultiHeadAttention",
             "float[batch,seq,8] q, float[batch,past,8] k, float[batch,past,8] v, float[24] b, "
             "int32[batch,past] m",
             "y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k, v, b, m)",
             "float[batch,seq,8] y"},
        Case{"MultiHeadAttentionWithCache",
             "float[batch,seq,8] q, float[batch,seq,8] k, float[batch,seq,8] v, "
             "float[batch,2,past,4] pk, float[batch,2,past,4] pv",
             "y, nk, nv = com.microsoft.MultiHeadAttention<num_heads = 2, unidirectional = 1>"
             "(q, k, v, , , , pk, pv)",
             "float[batch,seq,8] y, float[batch,2,a,4] nk, float[batch,2,a,4] nv"},
        Case{"ContribAttention",
             "float[batch,seq,8] x, float[8,24] w, float[24] b, int32[batch] m, "
             "float[2,batch,2,past,4] p",
             "y, n = com.microsoft.Attention<num_heads = 2, unidirectional = 1>(x, w, b, m, p)",
             "float[batch,seq,8] y, float[2,batch,2,a,4] n"},
        // With and without old positions: the last sizes have none.
        Case{"GroupQueryAttention",
             "float[batch,seq,16] q, float[batch,seq,8] k, float[batch,seq,8] v, "
             "float[batch,2,past,4] pk, float[batch,2,past,4] pv, int64[batch,total] m, "
             "float[50,2] c, float[50,2] s",
             LEMMA_LENGTHS
             "y, nk, nv = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2, "
             "do_rotary = 1>(q, k, v, pk, pv, lengths, t32, c, s)",
             "float[batch,seq,16] y, float[batch,2,a,4] nk, float[batch,2,a,4] nv"},
        Case{"GroupQueryAttentionInAWindow",
             "float[batch,seq,32] q, float[batch,2,past,4] pk, float[batch,2,past,4] pv, "
             "int64[batch,total] m, float[50,2] c, float[50,2] s, int64[batch,seq] p",
             LEMMA_LENGTHS
             "y, nk, nv = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2, "
             "do_rotary = 1, local_window_size = 2, smooth_softmax = 1>"
             "(q, , , pk, pv, lengths, t32, c, s, p)",
             "float[batch,seq,16] y, float[batch,2,a,4] nk, float[batch,2,a,4] nv"},
        Case{"GroupQueryAttentionWithoutACache",
             "float[batch,seq,8] q, float[batch,seq,4] k, float[batch,seq,4] v, "
             "int64[batch,total] m",
             LEMMA_LENGTHS
             "y, nk, nv = com.microsoft.GroupQueryAttention<num_heads = 2, kv_num_heads = 1>"
             "(q, k, v, , , lengths, t32)",
             "float[batch,seq,8] y, float[batch,1,a,4] nk, float[batch,1,a,4] nv"},
        Case{"ContribAttentionWithStarts",
             "float[3,seq,8] x, float[8,24] w, float[24] b, int32[6] m",
             "y = com.microsoft.Attention<num_heads = 2>(x, w, b, m)", "float[3,seq,8] y"}),
    [](const auto& info) { return info.param.name; });

TEST(SymbolicAttentionErrorTest, NumbersAreAskedForWhereSizesMustBeKnown) {
  const std::string bytes =
      Model("float[batch,seq,width] x, float[batch,seq,width] k, float[batch,seq,width] v",
            "y = com.microsoft.MultiHeadAttention<num_heads = 2>(x, k, v)",
            "float[batch,seq,width] y", 17)
          .SerializeAsString();
  const absl::Status status = ImportOnnxBytes(bytes, Symbolic()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "--dim")) << status;
}

}  // namespace
}  // namespace lemma
