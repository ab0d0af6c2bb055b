// Models with symbolic dimensions: the import for all sizes must be, at each size, the import for
// that size, before and after an export.
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/onnx/sizes/asked_size.h"
#include "graph/sizes/specialize.h"
#include "gtest/gtest.h"
#include "tests/graph/onnx/onnx_text.h"
#include "tests/graph/onnx/symbolic/all_sizes.h"

namespace lemma {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::string ErrorOf(const onnx::ModelProto& model, std::map<std::string, SizeRange> ranges = {}) {
  auto imported = ImportOnnxBytes(model.SerializeAsString(), Symbolic(std::move(ranges)));
  if (!imported.ok()) return std::string(imported.status().message());
  EXPECT_FALSE(imported->opaque.empty()) << "it was imported";
  return imported->opaque.empty() ? "" : imported->opaque[0];
}

const std::vector<DimValues> kSizes = {
    {{"batch", 1}, {"seq", 1}}, {{"batch", 2}, {"seq", 7}}, {{"batch", 3}, {"seq", 16}}};

TEST(SymbolicTest, ShapeArithmetic) {
  auto model = OnnxModel(R"(g (float[batch,seq,6] x) => (float[p,q,r,s] y) {
    shape = Shape(x)
    b = Gather(shape, zero)
    s = Gather(shape, one)
    target = Concat<axis = 0>(b, s, two, three)
    four = Reshape(x, target)
    y = Transpose<perm = [0, 2, 1, 3]>(four)
  })");
  for (const auto& [name, value] :
       {std::pair("zero", 0), std::pair("one", 1), std::pair("two", 2), std::pair("three", 3)}) {
    auto* tensor = model.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::INT64);
    tensor->add_dims(1);
    tensor->add_int64_data(value);
  }
  ExpectOneModelForAllSizes(model, kSizes);
}

TEST(SymbolicTest, FlattensReshapesAndSplits) {
  ExpectOneModelForAllSizes(OnnxModel(R"(g (float[batch,seq,8] x) => (float[n,m] y) {
    a = Flatten<axis = 2>(x)
    p, q = Split<axis = 1>(a)
    y = Mul(p, q)
  })"),
                            kSizes);
  ExpectOneModelForAllSizes(OnnxModel(R"(g (float[batch,seq,8] x) => (float[b,n] y) {
    shape = Constant<value_ints = [0, -1]>()
    y = Reshape(x, shape)
  })"),
                            kSizes);
}

TEST(SymbolicTest, SizesAsData) {
  ExpectOneModelForAllSizes(OnnxModel(R"(g (float[batch,seq] x) => (float[batch,seq] y) {
    shape = Shape(x)
    i = Constant<value_int = 1>()
    length = Gather(shape, i)
    real = Cast<to = 1>(length)
    zero = Constant<value_int = 0>()
    positions = Range(zero, length, i)
    where = Cast<to = 1>(positions)
    z = Div(x, real)
    y = Add(z, where)
  })"),
                            kSizes);
}

TEST(SymbolicTest, ExpandsAndCompares) {
  // As PyTorch writes expand(-1, n): sizes of -1 are replaced by those of the operand.
  ExpectOneModelForAllSizes(OnnxModel(R"(g (float[batch,seq] x) => (float[batch,seq,4] y) {
    shape = Shape(x)
    four = Constant<value_ints = [4]>()
    target = Concat<axis = 0>(shape, four)
    minus = Constant<value_ints = [-1, -1, -1]>()
    ones = Constant<value_ints = [1, 1, 1]>()
    is_minus = Equal(target, minus)
    sizes = Where(is_minus, ones, target)
    axes = Constant<value_ints = [2]>()
    wide = Unsqueeze(x, axes)
    y = Expand(wide, sizes)
  })"),
                            kSizes);
}

TEST(SymbolicTest, SlicesWhoseEndIsClamped) {
  ExpectOneModelForAllSizes(OnnxModel(R"(g (float[batch,seq] x) => (float[batch,m] y) {
    start = Constant<value_ints = [0]>()
    end = Constant<value_ints = [5]>()
    axis = Constant<value_ints = [1]>()
    y = Slice(x, start, end, axis)
  })"),
                            kSizes);
  ExpectOneModelForAllSizes(OnnxModel(R"(g (float[batch,seq] x) => (float[batch,m] y) {
    start = Constant<value_ints = [1]>()
    end = Constant<value_ints = [9223372036854775807]>()
    axis = Constant<value_ints = [1]>()
    step = Constant<value_ints = [2]>()
    y = Slice(x, start, end, axis, step)
  })"),
                            {{{"batch", 2}, {"seq", 2}}, {{"batch", 1}, {"seq", 9}}},
                            {{"seq", {2, 100}}});
}

TEST(SymbolicTest, ConvolutionsAndPoolings) {
  auto model = OnnxModel(R"(g (float[batch,3,h,w] x) => (float[batch,5,p,q] y) {
    a = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, k)
    b = Relu(a)
    y = MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>(b)
  })");
  AddOnes(&model, "k", {5, 3, 3, 3});
  ExpectOneModelForAllSizes(
      model, {{{"batch", 1}, {"h", 8}, {"w", 9}}, {{"batch", 2}, {"h", 5}, {"w", 1}}});
}

// The numeric imports of these operators are compared with ONNX Runtime (transformer_ort_test.cc,
// blocked_test.cc).
TEST(SymbolicTest, FusedOperators) {
  struct Case {
    const char *domain, *inputs, *node;
  };
  constexpr char kMicrosoft[] = "com.microsoft", kNchwc[] = "com.microsoft.nchwc";
  constexpr char kRow[] = "float[batch,seq,8] x, float[batch,seq,8] s, float[8] w, float[8] b";
  constexpr char kImage[] = "float[batch,3,seq,5] x, float[4,3,3,3] w, float[4] b";
  constexpr char kBlocked[] = "float[batch,16,seq,3] x";
  const Case cases[] = {
      {kMicrosoft, "float[batch,2,seq,4] x, float[batch,2,seq,4] z",
       "y = FusedMatMul<transB = 1, alpha = 0.5>(x, z)"},
      {kMicrosoft, "float[seq,4] x, float[batch,4] z",
       "y = FusedGemm<transB = 1, activation = \"Relu\">(x, z)"},
      {kMicrosoft, kImage,
       "y = FusedConv<pads = [1, 1, 1, 1], strides = [2, 2], activation = \"Relu\">(x, w, b)"},
      {kMicrosoft, kRow, "y = Gelu(x)"},
      {kMicrosoft, kRow, "y = BiasGelu(x, b)"},
      {kMicrosoft, kRow, "y = FastGelu(x, b)"},
      {kMicrosoft, kRow, "y = QuickGelu(x)"},
      {kMicrosoft, kRow, "y = SkipLayerNormalization(x, s, w, b)"},
      {kMicrosoft, kRow, "y = SkipSimplifiedLayerNormalization(x, s, w)"},
      {"", kRow, "y = SimplifiedLayerNormalization(x, w)"},
      {kNchwc, kBlocked, "y = ReorderInput(x)"},
      {kNchwc, kBlocked, "y = ReorderOutput<channels = 13>(x)"},
      {kNchwc, kBlocked, "y = MaxPool<kernel_shape = [2, 2], pads = [1, 1, 1, 1]>(x)"},
      {kNchwc, kBlocked, "y = GlobalAveragePool(x)"},
      {kNchwc, kBlocked, "y = Upsample<scales = [1, 1, 2, 3]>(x)"},
      {kNchwc, kBlocked, "y = Upsample<scales = [1, 1, 2, 3], mode = \"linear\">(x)"},
  };
  for (const Case& c : cases) {
    onnx::ModelProto model =
        OnnxModel(absl::StrCat("g (", c.inputs, ") => (float y) { ", c.node, " }"));
    onnx::GraphProto& graph = *model.mutable_graph();
    graph.mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
    graph.mutable_node(0)->set_domain(c.domain);
    auto* set = model.add_opset_import();
    set->set_domain(c.domain);
    set->set_version(1);
    if (c.domain[0] == 0) model.mutable_opset_import()->RemoveLast();
    const std::string bytes = model.SerializeAsString();
    auto symbolic = ImportOnnxBytes(bytes, Symbolic());
    ASSERT_TRUE(symbolic.ok()) << c.node << ": " << symbolic.status();
    EXPECT_TRUE(symbolic->opaque.empty()) << c.node;
    for (const DimValues& sizes : kSizes) {
      ImportOptions numbers;
      numbers.dims = sizes;
      auto sized = ImportOnnxBytes(bytes, numbers);
      ASSERT_TRUE(sized.ok()) << c.node << ": " << sized.status();
      auto made = Specialize(symbolic->graph, sizes);
      ASSERT_TRUE(made.ok()) << c.node << ": " << made.status();
      ExpectSame(sized->graph, *made, c.node);
    }
  }
}

// Blocks of channels need their number.
TEST(SymbolicTest, RefusesSymbolicChannelsInBlocks) {
  onnx::ModelProto model = OnnxModel("g (float[1,c,4,4] x) => (float y) { y = ReorderInput(x) }");
  model.mutable_graph()->mutable_node(0)->set_domain("com.microsoft.nchwc");
  auto* set = model.add_opset_import();
  set->set_domain("com.microsoft.nchwc");
  set->set_version(1);
  EXPECT_NE(ErrorOf(model), "");
}

TEST(SymbolicTest, EnlargesByWholeFactors) {
  ExpectOneModelForAllSizes(
      OnnxModel(R"(g (float[batch,2,h,w] x) => (float[batch,2,p,q] y) {
    scales = Constant<value_floats = [1.0, 1.0, 2.0, 3.0]>()
    y = Resize<mode = "nearest">(x, , scales)
  })"),
      {{{"batch", 1}, {"h", 1}, {"w", 2}}, {{"batch", 2}, {"h", 5}, {"w", 3}}});
  EXPECT_TRUE(absl::StrContains(ErrorOf(OnnxModel(R"(g (float[1,2,h,w] x) => (float[1,2,p,q] y) {
    scales = Constant<value_floats = [1.0, 1.0, 1.5, 2.0]>()
    y = Resize<mode = "nearest">(x, , scales)
  })")),
                                "whole numbers"));
}

TEST(SymbolicTest, InterpolatesByWholeFactors) {
  for (const char* coordinates :
       {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"}) {
    const std::string model =
        OnnxModel(absl::StrReplaceAll(R"(g (float[batch,2,h,w] x) => (float[batch,2,p,q] y) {
      scales = Constant<value_floats = [1.0, 1.0, 2.0, 3.0]>()
      y = Resize<mode = "linear", coordinate_transformation_mode = "C">(x, , scales)
    })",
                                      {{"\"C\"", absl::StrCat("\"", coordinates, "\"")}}))
            .SerializeAsString();
    auto symbolic = ImportOnnxBytes(model, Symbolic());
    ASSERT_TRUE(symbolic.ok()) << symbolic.status();
    auto written = ExportOnnx(symbolic->graph);
    ASSERT_TRUE(written.ok()) << written.status();
    auto again = ImportOnnxBytes(*written, Symbolic());
    ASSERT_TRUE(again.ok()) << again.status();
    for (const DimValues& sizes :
         {DimValues{{"batch", 1}, {"h", 1}, {"w", 2}}, {{"batch", 2}, {"h", 5}, {"w", 3}}}) {
      ImportOptions numbers;
      numbers.dims = sizes;
      auto sized = ImportOnnxBytes(model, numbers);
      ASSERT_TRUE(sized.ok()) << sized.status();
      ExpectSame(*Specialize(symbolic->graph, sizes), sized->graph, coordinates);
      // ONNX has no such operator: its parts round in between.
      const Tensor x = RunOnReference(sized->graph)[0];
      const Tensor y = RunOnReference(*Specialize(again->graph, sizes))[0];
      ASSERT_EQ(x.type(), y.type());
      for (int64_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x.AtDouble(i), y.AtDouble(i), 1e-6);
    }
  }
}

TEST(SymbolicTest, DimensionsThatAreSums) {
  ExpectOneModelForAllSizes(
      OnnxModel(R"(g (float[batch,past] a, float[batch,seq] b) => (float[batch,total] y) {
    y = Concat<axis = 1>(a, b)
  })"),
      {{{"batch", 2}, {"past", 3}, {"seq", 1}}, {{"batch", 1}, {"past", 1}, {"seq", 4}}});
  auto model = OnnxModel(
      "g (float[batch,past] a, float[batch,seq] b, float[batch,all] m) => (float[batch,all] y) {"
      " c = Concat<axis = 1>(a, b) y = Add(c, m) }");
  model.mutable_graph()
      ->mutable_input(2)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(1)
      ->set_dim_param("past + seq");
  auto imported = ImportOnnxBytes(model.SerializeAsString(), Symbolic());
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->graph.outputs()[0].type().ToString(), "f32[batch,past + seq]");
}

// A size that the model names but no input has: the name stays, although the size is known.
TEST(SymbolicTest, DeclaredNamesOfOutputsStay) {
  const std::string bytes =
      OnnxModel("g (float[2,n] x) => (float[rows,n] y) { y = Relu(x) }").SerializeAsString();
  for (const bool fixed : {false, true}) {
    ImportOptions options = Symbolic();
    if (fixed) options.dims = {{"n", 3}};
    auto imported = ImportOnnxBytes(bytes, options);
    ASSERT_TRUE(imported.ok()) << imported.status();
    ExportOptions as_it_was;
    as_it_was.info = imported->info;
    auto written = ExportOnnx(imported->graph, as_it_was);
    ASSERT_TRUE(written.ok()) << written.status();
    onnx::ModelProto model;
    ASSERT_TRUE(model.ParseFromString(*written));
    const auto& shape = model.graph().output(0).type().tensor_type().shape();
    EXPECT_EQ(shape.dim(0).dim_param(), "rows");
    if (fixed) {
      EXPECT_EQ(shape.dim(1).dim_value(), 3);
    } else {
      EXPECT_EQ(shape.dim(1).dim_param(), "n");
    }
  }
}

// Sizes that are equal, or not 1, at some sizes only: nothing may be made of that.
TEST(SymbolicTest, RefusesWhatHoldsForSomeSizesOnly) {
  EXPECT_TRUE(absl::StrContains(
      ErrorOf(OnnxModel("g (float[a,4] x, float[b,4] y) => (float[c,4] z) { z = Add(x, y) }")),
      "a = b"));
  EXPECT_TRUE(absl::StrContains(
      ErrorOf(OnnxModel("g (float[a,4] x, float[7,4] y) => (float[c,4] z) { z = Add(x, y) }")),
      "a = 7"));
  EXPECT_TRUE(absl::StrContains(
      ErrorOf(OnnxModel("g (float[a,4] x) => (float[c] z) { z = Squeeze(x) }")), "whether"));
  EXPECT_TRUE(
      absl::StrContains(ErrorOf(OnnxModel("g (float[a,4] x) => (float[p,4] y, float[q,4] z) {"
                                          " y, z = Split<axis = 0>(x) }")),
                        "divides"));
  EXPECT_TRUE(absl::StrContains(ErrorOf(OnnxModel(R"(g (float[a,4] x) => (float[p,6] y) {
    shape = Constant<value_ints = [-1, 6]>()
    y = Reshape(x, shape)
  })")),
                                "cannot be reshaped"));
}

// A size that is used as a number must be computed when the model runs.
TEST(SymbolicTest, SizesAreNoParameters) {
  ExpectOneModelForAllSizes(OnnxModel(R"(g (int64[batch,seq] x) => (int64[batch,seq] y) {
    shape = Shape(x) one = Constant<value_int = 1>() zero = Constant<value_int = 0>()
    length = Gather(shape, one)
    y = Clip(x, one, length)
  })"),
                            kSizes);
}

TEST(SymbolicTest, RefusesSizesWithAnotherMeaning) {
  EXPECT_TRUE(absl::StrContains(ErrorOf(OnnxModel(R"(g (float[n] x) => (float[p,q] y) {
    shape = Shape(x) one = Constant<value_ints = [1]>()
    less = Sub(shape, one) target = Concat<axis = 0>(less, one) y = Reshape(x, target)
  })")),
                                "may be 0 or -1"));
  EXPECT_TRUE(absl::StrContains(ErrorOf(OnnxModel(R"(g (float[n] x) => (float[m] y) {
    pads = Constant<value_ints = [3, 3]>() y = Pad<mode = "reflect">(x, pads)
  })")),
                                "may be shorter"));
}

// A number of the model that could be the name of a symbolic size.
TEST(SymbolicTest, RefusesNumbersThatLookLikeSizes) {
  for (const char* text : {"g (float[n] x) => (float[m] y) {"
                           " a = Constant<value_ints = [4611686018427387904]>() y = Expand(x, a) }",
                           "g (float[n] x) => (float[m] y) {"
                           " a = Constant<value = int64[1] {5000000000000000000}>()"
                           " y = Expand(x, a) }"}) {
    EXPECT_TRUE(absl::StrContains(ErrorOf(OnnxModel(text)), "2^62 or more")) << text;
  }
}

// The sizes of the dimensions that an import fixes.
DimValues FixedSizes(const onnx::ModelProto& model, ImportOptions options = {}) {
  const std::string path = testing::TempDir() + "/fixed_sizes.onnx";
  std::ofstream(path, std::ios::binary) << model.SerializeAsString();
  options.symbolic = options.fixes_sizes = true;
  auto imported = ImportOnnx(path, options);
  EXPECT_TRUE(imported.ok()) << imported.status();
  if (!imported.ok()) return {};
  const bool is_noted = absl::StrContains(absl::StrJoin(imported->notes, "\n"), "they are fixed");
  EXPECT_EQ(is_noted, !imported->bound_dims.empty());
  return imported->bound_dims;
}

TEST(SymbolicTest, FixesOnlyWhatNeedsNumbers) {
  EXPECT_THAT(FixedSizes(OnnxModel("g (float[n,l] x) => (float[n,l] y) { y = Relu(x) }")),
              IsEmpty());
  EXPECT_THAT(
      FixedSizes(OnnxModel("g (float[n,l] x, float[4,4,l] z) => (float[4,4,k] y, float[n,l] r) {"
                           " y = LpPool<kernel_shape = [2]>(z) r = Relu(x) }")),
      ElementsAre(Pair("l", 128)));
}

TEST(SymbolicTest, FixesSizesThatTheModelAccepts) {
  // This pool needs a size, and its window of 200 more than the usual one.
  EXPECT_THAT(FixedSizes(OnnxModel("g (float[n,1,l] x) => (float[n,1,k] y) {"
                                   " y = LpPool<kernel_shape = [200]>(x) }")),
              Contains(Pair("l", 256)));
  // Two dimensions that have to be 1.
  EXPECT_THAT(
      FixedSizes(OnnxModel("g (float[4,a] x, float[4,b] z) => (float[8,1,c] q, float[4,1] r) {"
                           " p = Concat<axis = 0>(x, z) a3 = Constant<value_ints = [8, 1, -1]>()"
                           " p3 = Reshape(p, a3) q = LpPool<kernel_shape = [1]>(p3)"
                           " s = Constant<value_ints = [4, 1]>() r = Reshape(z, s) }")),
      ElementsAre(Pair("a", 1), Pair("b", 1)));
}

// The import for all sizes with least lengths that operators ask for.
absl::StatusOr<ImportedModel> WithLeastLengths(const char* text, ImportOptions options = {}) {
  const std::string path = testing::TempDir() + "/least_lengths.onnx";
  std::ofstream(path, std::ios::binary) << OnnxModel(text).SerializeAsString();
  options.symbolic = options.fixes_sizes = true;
  return ImportOnnx(path, options);
}

std::map<std::string, SizeRange> DimsOfImport(const char* text, ImportOptions options = {}) {
  auto imported = WithLeastLengths(text, options);
  EXPECT_TRUE(imported.ok()) << imported.status();
  if (!imported.ok()) return {};
  EXPECT_THAT(imported->bound_dims, IsEmpty());
  return DimsOf(imported->graph);
}

constexpr char kMirrored[] = R"(g (float[n,l] x) => (float[n,k] y) {
  pads = Constant<value_ints = [0, 3, 0, 64]>() y = Pad<mode = "reflect">(x, pads) })";

TEST(SymbolicTest, RaisesLeastLengthsWhereShorterOnesAreErrors) {
  EXPECT_THAT(DimsOfImport(kMirrored),
              ElementsAre(Pair("l", SizeRange{65, SizeRange::kNoLimit}), Pair("n", SizeRange{})));
  EXPECT_THAT(WithLeastLengths(kMirrored)->notes,
              Contains(HasSubstr("dimension l is at least 65 here (shorter ones are left out), for "
                                 "node of 'y' (Pad); --range l=LEAST:MOST gives another range")));
}

TEST(SymbolicTest, LeastLengthsReachTheEndOfTheRange) {
  const auto least = [](const SizeRange& range) {
    return LeastLength({*ToSize(SymbolicDim("l", range)), 65, true, "Pad"});
  };
  for (const SizeRange& range : {SizeRange{1, 65}, {1, 100}, {3, 90}, {1, SizeRange::kNoLimit}}) {
    EXPECT_EQ(least(range), std::pair(std::string("l"), int64_t{65}));
  }
  EXPECT_EQ(least({1, 64}), std::nullopt);
}

TEST(SymbolicTest, OtherBordersDoNotRaiseLeastLengths) {
  const std::string text = absl::StrReplaceAll(kMirrored, {{"reflect", "edge"}});
  EXPECT_THAT(DimsOfImport(text.c_str()), Contains(Pair("l", SizeRange{})));
  const std::string wrap = absl::StrReplaceAll(kMirrored, {{"reflect", "wrap"}});
  const auto wrapped = WithLeastLengths(wrap.c_str());
  ASSERT_TRUE(wrapped.ok()) << wrapped.status();
  EXPECT_THAT(wrapped->bound_dims, Contains(Pair("l", 128)));
}

// The sizes at which a model is used stay in range.
TEST(SymbolicTest, LeastLengthsAreNotRaisedAboveUse) {
  ImportOptions options;
  options.used_sizes["l"] = 64;
  const auto at_64 = WithLeastLengths(kMirrored, options);
  ASSERT_TRUE(at_64.ok()) << at_64.status();
  EXPECT_THAT(at_64->bound_dims, Contains(Pair("l", 128)));
  options.used_sizes["l"] = 65;
  EXPECT_THAT(DimsOfImport(kMirrored, options),
              Contains(Pair("l", SizeRange{65, SizeRange::kNoLimit})));
  options.used_sizes.clear();
  options.inputs = {*Tensor::Filled({DType::kF32, {2, 10}}, 1)};
  const auto at_10 = WithLeastLengths(kMirrored, options);
  ASSERT_TRUE(at_10.ok()) << at_10.status();
  EXPECT_THAT(at_10->bound_dims, Contains(Pair("l", 10)));
}

// Names need not be identifiers.
TEST(SymbolicTest, AnyDimensionMayBeRaised) {
  auto model = OnnxModel(kMirrored);
  auto* type = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  type->mutable_shape()->mutable_dim(1)->set_dim_param("seq-len x");
  const std::string path = testing::TempDir() + "/odd_name.onnx";
  std::ofstream(path, std::ios::binary) << model.SerializeAsString();
  ImportOptions options;
  options.symbolic = options.fixes_sizes = true;
  const auto imported = ImportOnnx(path, options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(DimsOf(imported->graph),
              Contains(Pair("seq-len x", SizeRange{65, SizeRange::kNoLimit})));
}

// A size that is computed from the shape of a convolution's result must not be 0 or -1, which
// Reshape would take for something else.
TEST(SymbolicTest, RaisesLeastLengthsWhereShorterOnesMeanSomethingElse) {
  EXPECT_THAT(DimsOfImport(R"(g (float[1,1,l] x) => (float[1,1,k] y) {
                a = AveragePool<kernel_shape = [127], strides = [64]>(x) s = Shape(a)
                y = Reshape(a, s) })"),
              ElementsAre(Pair("l", SizeRange{127, SizeRange::kNoLimit})));
}

TEST(SymbolicTest, ARangeThatIsGivenStays) {
  ImportOptions options;
  options.ranges["l"] = {10, 20};
  const auto imported = WithLeastLengths(kMirrored, options);
  EXPECT_TRUE(absl::StrContains(imported.status().message(), "may be shorter"));
  options.ranges["l"] = {70, 80};
  EXPECT_THAT(DimsOfImport(kMirrored, options), Contains(Pair("l", SizeRange{70, 80})));
}

// Whether the branch runs is known only then, but not from a size: both branches are imported.
TEST(SymbolicTest, BranchesRaiseLeastLengthsUnlessSizesChooseThem) {
  const std::string branches =
      R"(<then_branch = t () => (float[n,l] a) {
           p = Constant<value_ints = [0, 0, 0, 64]>() b = Pad<mode = "reflect">(x, p)
           s = Constant<value_ints = [0]>() e = Shape(x) o = Constant<value_ints = [0, 1]>()
           a = Slice(b, z, e, o) },
         else_branch = f () => (float[n,l] a) { a = Neg(x) }> })";
  const auto with = [&](const std::string& inputs, const std::string& condition) {
    return "g (float[n,l] x" + inputs +
           ") => (float[n,l] y) { z = Constant<value_ints = [0, 0]>() " + condition +
           " y = If (c) " + branches;
  };
  EXPECT_THAT(DimsOfImport(with(", bool c", "").c_str()),
              Contains(Pair("l", SizeRange{65, SizeRange::kNoLimit})));
  EXPECT_THAT(DimsOfImport(with("", R"(h = Shape(x) i = Constant<value_int = 1>()
                g = Gather(h, i) m = Constant<value_int = 64>() c = Greater(g, m))")
                               .c_str()),
              Contains(Pair("l", SizeRange{})));
}

TEST(SymbolicTest, FixesTotalsToTheSumsOfTheirParts) {
  EXPECT_THAT(
      FixedSizes(OnnxModel("g (float[2,seq_len,8] x, float[2,past_seq_len,8] p, "
                           "float[2,total_seq_len,1] m) => (float[2,k,8] y) {"
                           " c = Concat<axis = 1>(p, x) y = Add(c, m) }")),
      ElementsAre(Pair("past_seq_len", 128), Pair("seq_len", 128), Pair("total_seq_len", 256)));
}

TEST(SymbolicTest, FixesSizesOfGivenValues) {
  ImportOptions options;
  options.inputs = {*Tensor::Filled({DType::kF32, {1, 2, 7}}, 1)};
  EXPECT_THAT(FixedSizes(OnnxModel("g (float[1,2,a] x) => (float[1,2,b] y) {"
                                   " y = LpPool<kernel_shape = [2]>(x) }"),
                         options),
              ElementsAre(Pair("a", 7)));
}

TEST(SymbolicTest, NamesWhoNeedsNumbers) {
  const std::string error =
      ErrorOf(OnnxModel("g (float[1,2,a] x) => (float[1,2,b] y) {"
                        " y = LpPool<kernel_shape = [2]>(x) }"));
  EXPECT_TRUE(absl::StrContains(error, "LpPool needs numbers")) << error;
  EXPECT_TRUE(absl::StrContains(error, "--dim")) << error;
}

}  // namespace
}  // namespace lemma
