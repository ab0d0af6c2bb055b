// Computation with each element type: u64 against C's arithmetic, narrow types, opaque types.
#include <algorithm>
#include <cstring>

#include "graph/builder.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"

namespace lemma {
namespace {

using Words = std::vector<uint64_t>;

constexpr uint64_t kTop = uint64_t{1} << 63;
constexpr uint64_t kMost = ~uint64_t{0};

Tensor ToTensor(const Words& words, Shape shape = {}) {
  if (shape.empty()) shape = {static_cast<int64_t>(words.size())};
  Tensor tensor = *Tensor::Allocate({DType::kU64, std::move(shape)});
  std::copy(words.begin(), words.end(), tensor.mutable_data<uint64_t>().begin());
  return tensor;
}

Words WordsOf(const Tensor& tensor) {
  return Words(tensor.data<uint64_t>().begin(), tensor.data<uint64_t>().end());
}

// The operator's first result by the reference execution, which the CPU's must equal.
absl::StatusOr<Tensor> Apply(absl::string_view op, const std::vector<Tensor>& inputs,
                             Attrs attrs = {}) {
  GraphBuilder builder("g");
  std::vector<Value> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    values.push_back(builder.Input(absl::StrCat("x", i), inputs[i].type()));
  }
  auto y = ApplyOp(op, values, std::move(attrs));
  if (!y.ok()) return y.status();
  builder.Output("y", (*y)[0]);
  auto graph = std::move(builder).Build();
  if (!graph.ok()) return graph.status();
  std::vector<Tensor> results;
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(MakeReferenceBackend());
  backends.push_back(MakeCpuBackend());
  for (const auto& backend : backends) {
    auto executable = backend->Compile(*graph, {});
    if (!executable.ok()) return executable.status();
    auto outputs = (*executable)->Run(inputs);
    if (!outputs.ok()) return outputs.status();
    results.push_back((*outputs)[0]);
  }
  EXPECT_TRUE(results[0].SameBytes(results[1])) << op;
  return results[0];
}

struct Pairs {
  Words a, b;
};

// All pairs of numbers near the borders of the type and of its signed reading.
Pairs AllPairs() {
  const Words some = {0,        1,        2,         3,         7,         10,
                      kTop - 2, kTop - 1, kTop,      kTop + 1,  kTop + 2,  kTop / 2,
                      kTop + 7, kMost,    kMost - 1, kMost - 6, kMost / 3, kMost / 3 * 2 + 1};
  Pairs pairs;
  for (uint64_t a : some) {
    for (uint64_t b : some) {
      pairs.a.push_back(a);
      pairs.b.push_back(b);
    }
  }
  return pairs;
}

uint64_t PowerOf(uint64_t a, uint64_t n) {
  uint64_t result = 1;
  for (; n != 0; n >>= 1, a *= a) {
    if (n & 1) result *= a;
  }
  return result;
}

TEST(Unsigned, FunctionsOfTwoNumbersAreThoseOfC) {
  const struct {
    const char* op;
    uint64_t (*expected)(uint64_t, uint64_t);
  } cases[] = {
      {"add", [](uint64_t a, uint64_t b) { return a + b; }},
      {"sub", [](uint64_t a, uint64_t b) { return a - b; }},
      {"mul", [](uint64_t a, uint64_t b) { return a * b; }},
      {"div", [](uint64_t a, uint64_t b) { return b == 0 ? 0 : a / b; }},
      {"mod", [](uint64_t a, uint64_t b) { return b == 0 ? 0 : a % b; }},
      {"fmod", [](uint64_t a, uint64_t b) { return b == 0 ? 0 : a % b; }},
      {"max", [](uint64_t a, uint64_t b) { return std::max(a, b); }},
      {"min", [](uint64_t a, uint64_t b) { return std::min(a, b); }},
      {"pow", PowerOf},
      {"bitwise_and", [](uint64_t a, uint64_t b) { return a & b; }},
  };
  const Pairs pairs = AllPairs();
  for (const auto& c : cases) {
    auto y = Apply(c.op, {ToTensor(pairs.a), ToTensor(pairs.b)});
    ASSERT_TRUE(y.ok()) << c.op << y.status();
    for (size_t i = 0; i < pairs.a.size(); ++i) {
      EXPECT_EQ(y->data<uint64_t>()[i], c.expected(pairs.a[i], pairs.b[i]))
          << c.op << " " << pairs.a[i] << " " << pairs.b[i];
    }
  }
}

TEST(Unsigned, ComparisonsAreThoseOfC) {
  const struct {
    const char* op;
    bool (*expected)(uint64_t, uint64_t);
  } cases[] = {
      {"less", [](uint64_t a, uint64_t b) { return a < b; }},
      {"less_equal", [](uint64_t a, uint64_t b) { return a <= b; }},
      {"greater", [](uint64_t a, uint64_t b) { return a > b; }},
      {"greater_equal", [](uint64_t a, uint64_t b) { return a >= b; }},
      {"equal", [](uint64_t a, uint64_t b) { return a == b; }},
  };
  const Pairs pairs = AllPairs();
  for (const auto& c : cases) {
    auto y = Apply(c.op, {ToTensor(pairs.a), ToTensor(pairs.b)});
    ASSERT_TRUE(y.ok()) << c.op << y.status();
    for (size_t i = 0; i < pairs.a.size(); ++i) {
      EXPECT_EQ(y->data<uint8_t>()[i] != 0, c.expected(pairs.a[i], pairs.b[i]))
          << c.op << " " << pairs.a[i] << " " << pairs.b[i];
    }
  }
}

TEST(Unsigned, FunctionsOfOneNumber) {
  const Words x = {0, 1, 5, kTop - 1, kTop, kMost};
  auto of = [&](absl::string_view op, Attrs attrs = {}) {
    auto y = Apply(op, {ToTensor(x)}, std::move(attrs));
    EXPECT_TRUE(y.ok()) << op << y.status();
    return y.ok() ? WordsOf(*y) : Words();
  };
  EXPECT_EQ(of("abs"), x);
  EXPECT_EQ(of("sign"), Words({0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(of("neg"), Words({0, kMost, kMost - 4, kTop + 1, kTop, 1}));
  EXPECT_EQ(of("relu"), x);
  EXPECT_EQ(of("clip", {{"min", 2.0}, {"max", 0x1p63}}), Words({2, 2, 5, kTop - 1, kTop, kTop}));
}

TEST(Unsigned, ExtremesOfAnAxis) {
  const Tensor x =
      ToTensor({1, 2, kTop, 3, kMost, kTop, 9, 8, 7, kTop + 2, kTop + 9, kTop + 1}, {4, 3});
  const Attrs last = {{"axes", std::vector<int64_t>{1}}};
  auto max = Apply("reduce_max", {x}, last), min = Apply("reduce_min", {x}, last);
  ASSERT_TRUE(max.ok() && min.ok()) << max.status() << min.status();
  EXPECT_EQ(WordsOf(*max), Words({kTop, kMost, 9, kTop + 9}));
  EXPECT_EQ(WordsOf(*min), Words({1, 3, 7, kTop + 1}));
  auto at = Apply("argmax", {x}, {{"axis", int64_t{1}}});
  ASSERT_TRUE(at.ok()) << at.status();
  EXPECT_EQ(at->ToInts(), std::vector<int64_t>({2, 1, 0, 1}));
}

TEST(Unsigned, CastsKeepTheNumberOrWrap) {
  const Tensor x = ToTensor({3, kTop, kMost});
  auto to = [&](const char* dtype) {
    auto y = Apply("cast", {x}, {{"dtype", std::string(dtype)}});
    EXPECT_TRUE(y.ok()) << dtype << y.status();
    return y.ok() ? *y : x;
  };
  EXPECT_EQ(to("f64").ToDoubles(), std::vector<double>({3, 0x1p63, 0x1p64}));
  EXPECT_EQ(to("f32").ToDoubles(), std::vector<double>({3, 0x1p63, 0x1p64}));
  EXPECT_EQ(to("i64").ToInts(), std::vector<int64_t>({3, INT64_MIN, -1}));
  EXPECT_EQ(to("u32").ToInts(), std::vector<int64_t>({3, 0, 0xffffffff}));
  EXPECT_EQ(to("i16").ToInts(), std::vector<int64_t>({3, 0, -1}));
  EXPECT_EQ(to("bool").ToInts(), std::vector<int64_t>({1, 1, 1}));
  auto back = Apply("cast", {*Tensor::FromDoubles({DType::kF64, {4}}, {-1, 2.9, 0x1p63, 1e30})},
                    {{"dtype", std::string("u64")}});
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(WordsOf(*back), Words({0, 2, kTop, kMost}));
  auto negative = Apply("cast", {*Tensor::FromInts({DType::kI16, {2}}, {-2, 5})},
                        {{"dtype", std::string("u64")}});
  ASSERT_TRUE(negative.ok()) << negative.status();
  EXPECT_EQ(WordsOf(*negative), Words({kMost - 1, 5}));
}

TEST(Unsigned, NarrowTypesWrapWhenStored) {
  auto sum = [](DType dtype, int64_t a, int64_t b) {
    auto y =
        Apply("add", {*Tensor::FromInts({dtype, {1}}, {a}), *Tensor::FromInts({dtype, {1}}, {b})});
    EXPECT_TRUE(y.ok()) << y.status();
    return y.ok() ? y->AtInt(0) : 0;
  };
  EXPECT_EQ(sum(DType::kI16, 32767, 1), -32768);
  EXPECT_EQ(sum(DType::kU16, 65535, 2), 1);
  EXPECT_EQ(sum(DType::kU32, 4294967295, 2), 1);
}

TEST(Unsigned, TextKeepsEveryNumber) {
  GraphBuilder builder("g");
  const Value c = builder.Constant(ToTensor({1, kTop, kMost}));
  builder.Output("y", *ApplyOp("neg", {c}, {}).value().begin());
  auto graph = std::move(builder).Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  auto again = ParseGraph(PrintGraph(*graph));
  ASSERT_TRUE(again.ok()) << again.status() << PrintGraph(*graph);
  EXPECT_TRUE(
      again->outputs()[0].node().inputs()[0].node().payload().SameBytes(c.node().payload()));
  EXPECT_FALSE(
      ParseGraph(
          "graph g(x: u64[1]) {\n  c = constant u64[1] [-1]\n  y = add(x, c)\n  return y\n}\n")
          .ok());
}

TEST(Opaque, NothingIsComputedWithOpaqueTypes) {
  EXPECT_EQ(Tensor::Allocate({DType::kString, {1}}).status().message(),
            "unsupported: values of element type string");
  GraphBuilder builder("g");
  const Value x = builder.Input("x", {DType::kF8E5M2, {2}});
  EXPECT_EQ(ApplyOp("transpose", {x}, {{"perm", std::vector<int64_t>{0}}}).status().message(),
            "unsupported: transpose of element type f8e5m2");
  EXPECT_EQ(
      ApplyOp("cast", {builder.Input("y", {DType::kF32, {2}})}, {{"dtype", std::string("i4")}})
          .status()
          .message(),
      "unsupported: cast of element type i4");
}

}  // namespace
}  // namespace lemma
