#include "graph/text/text.h"

#include <cmath>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graph/builder.h"
#include "gtest/gtest.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;

Graph Parse(absl::string_view text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

std::string ErrorOf(absl::string_view text) {
  ParseOptions options;
  options.file = "m.lemma";
  auto graph = ParseGraph(text, options);
  return graph.ok() ? "parsed" : std::string(graph.status().message());
}

// Canonical texts: reading and printing gives the text back.
constexpr absl::string_view kCanonical[] = {
    R"(graph two_heads(x: f32[8,64], wq: weight f32[64,32], wk: weight f32[64,32]) {
  q = matmul(x, wq)
  k = matmul(x, wk)
  return q, k
}
)",
    R"(graph conv(x: f32[1,3,8,8], w: weight f32[4,3,3,3]) {
  %0 = conv2d(x, w) {pads = [1, 1, 1, 1], strides = [2, 2]}
  y = relu(%0)
  return y
}
)",
    // Repeated labels, quoted names, an input that is returned, a value with two names.
    R"(graph "a b"("in/1": f32[], w: weight f32[2]) {
  return = relu("in/1")
  return "in/1", r = return, w
}
)",
    R"(graph payloads(w: weight f32[2] = [1.0, -0.5]) {
  c = constant i64[2,2] fill -9223372036854775808
  d = constant f32[0] []
  e = constant f16[2] [inf, 0.1]
  b = constant bool[2] [0, 1]
  return w, c, d, e, b
}
)",
    R"(graph opaque(x: f32[2]) {
  top: f32[1], _: i64[1] = opaque(x) {op_type = "TopK", payload = "\x00\xff\""}
  return top
}
)",
};

TEST(Text, PrintsWhatItReads) {
  for (absl::string_view text : kCanonical) {
    std::string quoted = absl::StrReplaceAll(
        text, {{"return =", "\"return\" ="}, {"r = return,", "r = \"return\","}});
    EXPECT_EQ(PrintGraph(Parse(quoted)), quoted);
  }
}

TEST(Text, ReadsLooseLayoutCommentsAndTypes) {
  Graph a = Parse("# a comment\ngraph g(x:f32[2,2]) {y:f32[2,2]=relu(x)# why\nreturn y}");
  EXPECT_EQ(ErrorOf("graph g(x:f32[2,2],) {return x}"),
            "m.lemma:1:20: expected a parameter's name or ')', found ')'");
  Graph b = Parse("graph h(z: f32[2,2]) {\n  y = relu(z)\n  return y\n}");
  EXPECT_EQ(a.StructuralHash(), b.StructuralHash());
}

TEST(Text, KeepsEveryBitOfLongPayloads) {
  std::mt19937_64 random(7);
  auto tensor = Tensor::Allocate({DType::kF32, {41}});
  ASSERT_TRUE(tensor.ok());
  for (float& v : tensor->mutable_data<float>()) {
    uint32_t bits = static_cast<uint32_t>(random());
    std::memcpy(&v, &bits, 4);
  }
  GraphBuilder builder("g");
  builder.Output("w", builder.Weight("w", *tensor));
  auto graph = std::move(builder).Build();
  ASSERT_TRUE(graph.ok());
  Graph again = Parse(PrintGraph(*graph));
  EXPECT_EQ(again.outputs(), graph->outputs());
  EXPECT_THAT(PrintGraph(*graph, {.elide = true}), HasSubstr("w: weight f32[41] = ...)"));
}

TEST(Text, KeepsNaNsAndNegativeZero) {
  auto tensor = Tensor::Allocate({DType::kF64, {3}});
  ASSERT_TRUE(tensor.ok());
  auto values = tensor->mutable_data<double>();
  values[0] = -0.0;
  values[1] = std::nan("77");
  values[2] = 0.1;
  GraphBuilder builder("g");
  builder.Output("c", builder.Constant(*tensor));
  auto graph = std::move(builder).Build();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(Parse(PrintGraph(*graph)).outputs(), graph->outputs());
}

TEST(Text, NamesWeightsAndLabelsThatCollide) {
  GraphBuilder builder("g");
  Value x = builder.Input("x", {DType::kF32, {2, 2}});
  Value w1 = builder.Weight("w", {DType::kF32, {2, 2}});
  Value w2 = builder.Weight("w", {DType::kF32, {2, 3}});
  Value a = *builder.Op("matmul", {x, w1});
  builder.Label(a, "x");
  builder.Output("y", *builder.Op("matmul", {a, w2}));
  auto graph = std::move(builder).Build();
  ASSERT_TRUE(graph.ok());
  std::string text = PrintGraph(*graph);
  EXPECT_EQ(text, R"(graph g(x: f32[2,2], w: weight f32[2,2], %0 as w: weight f32[2,3]) {
  %1 as x = matmul(x, w)
  y = matmul(%1, %0)
  return y
}
)");
  Graph again = Parse(text);
  EXPECT_EQ(again.outputs(), graph->outputs());
  EXPECT_EQ(again.labels(), graph->labels());
}

TEST(Text, DeclaresHugeTypesWithoutAllocating) {
  Graph graph = Parse("graph g(x: f32[1000000000,8], w: weight f32[8,1000000000]) {return x, w}");
  EXPECT_EQ(graph.inputs()[0].type().num_elements(), 8000000000);
}

TEST(Text, ErrorsPointAtTheirCause) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "m.lemma: holds 0 graphs, expected one"},
      {"grap g", "m.lemma:1:1: expected 'graph' or 'rule', found 'grap'"},
      {"graph g(x: q32[2]) {", "m.lemma:1:12: expected an element type (f32, f64, "},
      {"graph g(x: [2]) {return x}", "m.lemma:1:12: a type needs its element type"},
      {"graph g(x: f32[-2]) {return x}", "m.lemma:1:17: a size is a number, 0 or more"},
      {"graph g(x: f32[2]) {\n  y = rel(x)\n  return y}",
       "m.lemma:2:7: there is no operator rel; did you mean relu?"},
      {"graph g(x: f32[2]) {\n  y = relu(z)\n  return y}",
       "m.lemma:2:12: no value z above; there is x"},
      {"graph g(x: f32[2]) {\n  x = relu(x)\n  return x}", "m.lemma:2:3: x is defined twice"},
      {"graph g(x: f32[2]) {y = matmul(x, x) return y}",
       "m.lemma:1:25: matmul(f32[2], f32[2]): operands need rank 2 or more"},
      {"graph g(x: f32[2]) {y = relu(x) {axis = 1} return y}", "no attribute axis"},
      {"graph g(x: f32[2]) {y, z = relu(x) return y}", "2 names for 1 outputs"},
      {"graph g(x: f32[2]) {y: f32[3] = relu(x) return y}", "this is f32[2], not f32[3]"},
      {"graph g() {c = constant f32[2] [1] return c}", "f32[2] takes 2 values, 1 are given"},
      {"graph g() {c = constant i8[1] [300] return c}", "300 does not fit in i8"},
      {"graph g() {c = constant i8[1] [0.5] return c}", "must be an integer"},
      {"graph g() {c = constant f32[2] base64 \"AAAA\" return c}", "takes 8 bytes"},
      {"graph g() {c = constant f32[1000000000000] fill 0 return c}", "a fill of"},
      {"graph g() {c = constant f32[2] ... return c}", "left out"},
      {"graph g(x: f32[2]) {return x, x}", "two outputs named x"},
      {"graph g(x: f32[99999999999999999999]) {return x}", "does not fit in 64 bits"},
      {"graph g(x: f32[2]) {y = relu(\"x) return y}", "the closing quote is missing"},
      {"graph g(x: f32[2]) {y = opaque(x) {op_type = \"A\"} return y}", "outputs need types"},
      {"graph g(x: f32[2]) {y = relu(x) {a = n} return y}", "symbols and arithmetic are for rules"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(ErrorOf(text), HasSubstr(message)) << text;
  }
}

// Flipped, removed and repeated bytes give an error or a graph, never a crash.
TEST(Text, SurvivesDamage) {
  std::mt19937_64 random(20261120);
  ParseOptions options;
  options.max_fill_bytes = 1 << 20;
  int parsed = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text(kCanonical[random() % std::size(kCanonical)]);
    for (int damage = 1 + random() % 4; damage > 0 && !text.empty(); --damage) {
      size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 8);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 16));
          break;
        case 3:
          text[at] = "()[]{},:=%.\"-0123456789"[random() % 23];
          break;
      }
    }
    auto graph = ParseGraph(text, options);
    if (!graph.ok()) continue;
    ++parsed;
    std::string printed = PrintGraph(*graph);
    auto again = ParseGraph(printed, options);
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << text << "\n" << printed;
    EXPECT_EQ(PrintGraph(*again), printed);
    EXPECT_EQ(again->StructuralHash(), graph->StructuralHash());
  }
  EXPECT_GT(parsed, 100);
}

TEST(Text, RefusesDeepNesting) {
  std::string deep = absl::StrCat("graph g(x: f32[", std::string(100000, '('), "1]) {return x}");
  EXPECT_THAT(ErrorOf(deep), HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace lemma
