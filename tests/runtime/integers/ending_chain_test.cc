// Element-wise applications that end with a quantization give what their definitions give.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/cpu/kernels/integers/tiles.h"
#include "runtime/reference/reference.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

// What is in front of the quantization of `a`, over x and u of shape [n], and the kernel's note:
// chains have none.
struct Front {
  const char* text;
  const char* note;
};
const Front kFronts[] = {
    {"e = div(x, c) f = erf(e) g = add(f, one) h = mul(x, g) a = mul(h, half)", ""},
    {"s = sigmoid(x) t = mul(x, s) a = add(t, u)", ""},
    {"a = exp(x)", ""},
    {"e = erf(u) t = mul(x, e) r = tanh(t) a = sub(r, c)", ""},
    {"s = elu(x) a = div(s, u)", ""},
    {"a = sin(x)", "in two parts"},
    {"s = softplus(x) t = tanh(s) a = mul(x, t)", "in two parts"},
    {"e = exp(x) s = tanh(u) a = add(e, s)", "in two parts"},
};

Graph GraphOf(const std::string& front, const std::string& shape, const char* type, int zero) {
  const bool is_unsigned = std::string(type) == "u8";
  auto graph = ParseGraph(absl::StrCat(
      "graph g(x: f32[", shape, "], u: f32[", shape, "]) { c = constant f32[] fill 1.4142135\n",
      "one = constant f32[] fill 1\n half = constant f32[] fill 0.5\n",
      "scale = constant f32[] fill 0.013\n zero = constant f32[] fill ", zero, "\n", front,
      "\n q = div(a, scale) r1 = round(q) z = add(r1, zero) b = clip(z) {min = ",
      is_unsigned ? "0.0, max = 255.0" : "-128.0, max = 127.0", "} y = cast(b) {dtype = \"", type,
      "\"}\n return y }"));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

struct Outputs {
  Tensor actual, expected;
  std::string kernels, note;  // the names of the kernels, and the note of the last one
};

// Of the CPU back end, and of the reference.
Outputs OutputsOf(const Graph& graph, const std::vector<Tensor>& inputs, int threads) {
  CompileOptions options;
  options.threads = threads;
  auto cpu = MakeCpuBackend()->Compile(graph, options);
  auto reference = MakeReferenceBackend()->Compile(graph, {});
  EXPECT_TRUE(cpu.ok() && reference.ok()) << cpu.status() << reference.status();
  std::vector<KernelTiming> timings;
  auto actual = (*cpu)->RunTimed(inputs, &timings);
  auto expected = (*reference)->Run(inputs);
  EXPECT_TRUE(actual.ok() && expected.ok()) << actual.status() << expected.status();
  return {(*actual)[0], (*expected)[0], KernelsOf(**cpu, inputs), timings.back().note};
}

// The functions in front are rounded differently, which may cross a tie: at most one element of a
// thousand, by one step.
void ExpectNear(const Outputs& outputs) {
  int64_t different = 0;
  for (int64_t i = 0; i < outputs.actual.size(); ++i) {
    const double a = outputs.actual.AtDouble(i), e = outputs.expected.AtDouble(i);
    ASSERT_LE(std::abs(a - e), 1) << i;
    different += a != e ? 1 : 0;
  }
  EXPECT_LE(different * 1000, outputs.actual.size()) << different;
}

TEST(EndingChainTest, GivesWhatTheDefinitionsGive) {
  for (const auto& [front, note] : kFronts) {
    for (const char* shape : {"2", "7,3", "8192", "3,8193", "4,5,1000"}) {
      for (const char* type : {"u8", "i8"}) {
        SCOPED_TRACE(absl::StrCat(front, " ", shape, " ", type));
        const Graph graph = GraphOf(front, shape, type, type[0] == 'u' ? 131 : 0);
        std::vector<Tensor> inputs = RandomInputs(graph);
        for (Tensor& input : inputs) {
          absl::Span<float> values = input.mutable_data<float>();
          for (float& v : values) v *= 3;
          values[0] = std::nanf("");
          values[values.size() - 1] = INFINITY;
          values[values.size() / 2] = -INFINITY;
        }
        for (const int threads : {1, 2}) {
          const Outputs outputs = OutputsOf(graph, inputs, threads);
          ExpectNear(outputs);
          if (kernels::HasIntegerTiles()) {
            EXPECT_EQ(outputs.note, note);
            EXPECT_EQ(outputs.kernels.find(' '), std::string::npos) << outputs.kernels;
          }
        }
      }
    }
  }
}

// A normalization, its bounds and the quantization are one kernel; without a quantization, what
// follows the bounds is another one.
TEST(EndingChainTest, NormalizationsEndWithIntegers) {
  for (const char* bounds : {"", "n = relu(n0)", "n = clip(n0) {min = -0.5, max = 0.75}"}) {
    for (const char* channels : {"3", "16", "100"}) {
      for (const bool integers : {true, false}) {
        SCOPED_TRACE(absl::StrCat(bounds, " ", channels, " ", integers));
        const std::string shape = absl::StrCat("2,", channels, ",9,7");
        const std::string vector = absl::StrCat("weight f32[", channels, "]");
        const Graph graph = GraphWithWeights(absl::StrCat(
            "graph g(x: f32[", shape, "], s: ", vector, ", b: ", vector, ", m: ", vector,
            ", v: weight f32[", channels, "] = fill 0.75) { scale = constant f32[] fill 0.02\n",
            "zero = constant f32[] fill 100\n ", *bounds == 0 ? "n" : "n0",
            " = batch_norm(x, s, b, m, v)\n ", bounds, "\n q = div(n, scale) r = round(q)\n",
            "z = add(r, zero)\n c = clip(z) {min = 0.0, max = 255.0}\n",
            integers ? "y = cast(c) {dtype = \"u8\"}" : "y = neg(c)", "\n return y }"));
        const std::vector<Tensor> inputs = RandomInputs(graph);
        for (const int threads : {1, 2}) {
          const Outputs outputs = OutputsOf(graph, inputs, threads);
          ExpectNear(outputs);
          const bool one = absl::StrContains(outputs.kernels, "+cast");
          EXPECT_EQ(one, integers && kernels::HasIntegerTiles()) << outputs.kernels;
        }
      }
    }
  }
}

// A normalization that ends with integers reads integers too, and gives the same bytes as if it
// read their numbers.
TEST(EndingChainTest, NormalizationsReadIntegers) {
  for (const char* type : {"u8", "i8"}) {
    for (const char* bounds : {"", "n = relu(n0)", "n = clip(n0) {min = -0.5, max = 0.75}"}) {
      for (const char* shape : {"1,1,1,1", "2,3,9,7", "1,16,8,8", "2,100,5,5"}) {
        for (const bool two_scales : {false, true}) {
          SCOPED_TRACE(absl::StrCat(type, " ", bounds, " ", shape, " ", two_scales));
          const std::vector<std::string> sizes = absl::StrSplit(shape, ',');
          const std::string vector = absl::StrCat("weight f32[", sizes[1], "]");
          const std::string front =
              absl::StrCat("p = constant f32[] fill 0.031\n o = constant f32[] fill 3\n",
                           "w = cast(q) {dtype = \"f32\"} d = sub(w, o)\n",
                           two_scales ? "e = mul(d, p) x = mul(e, o)" : "x = mul(d, p)", "\n");
          const auto graph = [&](const std::string& input, const std::string& begin) {
            return GraphWithWeights(
                absl::StrCat("graph g(", input, ", s: ", vector, ", b: ", vector, ", m: ", vector,
                             ", v: weight f32[", sizes[1], "] = fill 0.75) {\n", begin,
                             "scale = constant f32[] fill 0.02\n zero = constant f32[] fill 100\n ",
                             *bounds == 0 ? "n" : "n0", " = batch_norm(x, s, b, m, v)\n ", bounds,
                             "\n k = div(n, scale) r = round(k) z = add(r, zero)\n",
                             "c = clip(z) {min = 0.0, max = 255.0}\n y = cast(c) {dtype = "
                             "\"u8\"}\n return y }"));
          };
          const std::string integers = absl::StrCat("q: ", type, "[", shape, "]");
          const Graph whole = graph(integers, front);
          const Graph rest = graph(absl::StrCat("x: f32[", shape, "]"), "");
          auto numbers =
              ParseGraph(absl::StrCat("graph f(", integers, ") {\n", front, "return x }"));
          ASSERT_TRUE(numbers.ok()) << numbers.status();
          const TensorType input = whole.inputs()[0].type();
          std::vector<int64_t> values(static_cast<size_t>(input.num_elements()));
          for (size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<int64_t>(i * 37 % 256) - (input.dtype == DType::kI8 ? 128 : 0);
          }
          const Tensor q = *Tensor::FromInts(input, values);
          const Tensor x = OutputsOf(*numbers, {q}, 1).expected;
          for (const int threads : {1, 2}) {
            const Outputs outputs = OutputsOf(whole, {q}, threads);
            EXPECT_TRUE(absl::StrContains(outputs.kernels, "mul+batch_norm")) << outputs.kernels;
            EXPECT_TRUE(outputs.actual.SameBytes(OutputsOf(rest, {x}, threads).actual));
            ExpectNear(outputs);
          }
        }
      }
    }
  }
}

// Where others need the numbers too, they are computed once.
TEST(EndingChainTest, NormalizationsReadNumbersThatOthersNeed) {
  const Graph graph = GraphWithWeights(
      "graph g(q: u8[1,16,8,8], s: weight f32[16], b: weight f32[16], m: weight f32[16],\n"
      "v: weight f32[16] = fill 0.75) { p = constant f32[] fill 0.031\n"
      "o = constant f32[] fill 3\n zero = constant f32[] fill 100\n"
      "w = cast(q) {dtype = \"f32\"} d = sub(w, o) x = mul(d, p)\n n = batch_norm(x, s, b, m, v)\n"
      "k = div(n, p) r = round(k) z = add(r, zero) c = clip(z) {min = 0.0, max = 255.0}\n"
      "y = cast(c) {dtype = \"u8\"} return y, x }");
  std::vector<int64_t> values(1024);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i * 37 % 256);
  ExpectNear(OutputsOf(graph, {*Tensor::FromInts(graph.inputs()[0].type(), values)}, 1));
}

// A quantization that reads what is in front twice, or a vector, is no such chain, and right too.
TEST(EndingChainTest, OtherEndsAreRightToo) {
  for (const char* body :
       {"e = exp(x) q = div(e, s) r = round(q) t = mul(r, e) b = clip(t) {min = 0.0, max = 255.0}",
        "e = exp(x) q = mul(e, v) r = round(q) b = clip(r) {min = 0.0, max = 255.0}",
        "e = exp(x) q = div(e, u) r = round(q) b = clip(r) {min = 0.0, max = 255.0}"}) {
    auto graph = ParseGraph(absl::StrCat(
        "graph g(x: f32[40,300], u: f32[]) { s = constant f32[] fill 0.25\n",
        "v = constant f32[300] fill 3\n", body, " y = cast(b) {dtype = \"u8\"}\n return y }"));
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_NE(ExpectCpuMatchesReference(*graph, RandomInputs(*graph)), nullptr);
  }
}

}  // namespace
}  // namespace lemma
