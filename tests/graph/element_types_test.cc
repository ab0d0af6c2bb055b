// Computation with each element type: u64 against C's arithmetic, narrow types, opaque types.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

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

Tensor Cast(const Tensor& x, DType dtype) {
  auto y = Apply("cast", {x}, {{"dtype", std::string(Name(dtype))}});
  EXPECT_TRUE(y.ok()) << Name(dtype) << y.status();
  return y.ok() ? *y : x;
}

using Ints = std::vector<int64_t>;
using Reals = std::vector<double>;

TEST(NarrowIntegers, FloatsAreCutOffAndSaturate) {
  const Tensor x = *Tensor::FromDoubles({DType::kF32, {7}}, {-9, -2.9, -0.5, 0.9, 2.5, 3.9, 1e9});
  EXPECT_EQ(Cast(x, DType::kI4).ToInts(), Ints({-8, -2, 0, 0, 2, 3, 7}));
  EXPECT_EQ(Cast(x, DType::kU4).ToInts(), Ints({0, 0, 0, 0, 2, 3, 15}));
  EXPECT_EQ(Cast(x, DType::kI2).ToInts(), Ints({-2, -2, 0, 0, 1, 1, 1}));
  EXPECT_EQ(Cast(x, DType::kU2).ToInts(), Ints({0, 0, 0, 0, 2, 3, 3}));
}

TEST(NarrowIntegers, IntegersWrap) {
  Ints numbers;
  for (int64_t i = -40; i < 40; ++i) numbers.push_back(i);
  const Tensor x = *Tensor::FromInts({DType::kI32, {80}}, numbers);
  const struct {
    DType dtype;
    int64_t count, least;
  } cases[] = {{DType::kI4, 16, -8}, {DType::kU4, 16, 0}, {DType::kI2, 4, -2}, {DType::kU2, 4, 0}};
  for (const auto& c : cases) {
    const Ints y = Cast(x, c.dtype).ToInts();
    for (size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_TRUE(y[i] >= c.least && y[i] < c.least + c.count && (numbers[i] - y[i]) % c.count == 0)
          << Name(c.dtype) << " of " << numbers[i] << " is " << y[i];
    }
  }
}

TEST(NarrowIntegers, SumsWrapWhenStored) {
  const Tensor a = *Tensor::FromInts({DType::kI4, {4}}, {7, -8, 3, -1});
  const Tensor b = *Tensor::FromInts({DType::kI4, {4}}, {1, -1, 4, -1});
  EXPECT_EQ(Apply("add", {a, b})->ToInts(), Ints({-8, 7, 7, -2}));
  EXPECT_EQ(Apply("mul", {a, b})->ToInts(), Ints({7, -8, -4, 1}));  // -8 * -1 = 8, 3 * 4 = 12
}

TEST(NarrowIntegers, AreMoved) {
  const Tensor x = *Tensor::FromInts({DType::kU2, {2, 3}}, {0, 1, 2, 3, 2, 1});
  EXPECT_EQ(Apply("transpose", {x}, {{"perm", Ints{1, 0}}})->ToInts(), Ints({0, 3, 1, 2, 2, 1}));
  EXPECT_EQ(Apply("concat", {x, x}, {{"axis", int64_t{1}}})->ToInts(),
            Ints({0, 1, 2, 0, 1, 2, 3, 2, 1, 3, 2, 1}));
  EXPECT_EQ(Apply("gather", {x, Tensor::Ints({1, 0})}, {{"axis", int64_t{0}}})->ToInts(),
            Ints({3, 2, 1, 0, 1, 2}));
  EXPECT_EQ(
      Apply("gather", {Tensor::Ints({5, 6, 7, 8}), Cast(x, DType::kI2)}, {{"axis", int64_t{0}}})
          ->ToInts(),
      Ints({5, 6, 7, 8, 7, 6}));  // -2 and -1 count from the end
}

TEST(SmallFloats, CastsRoundAndSaturateNot) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = *Tensor::FromDoubles({DType::kF32, {6}}, {0.3, 1.0625, -449, 500, 1e6, -inf});
  auto back = [&](DType dtype) { return Cast(Cast(x, dtype), DType::kF32).ToDoubles(); };
  EXPECT_EQ(back(DType::kF8E5M2), Reals({0.3125, 1, -448, 512, inf, -inf}));
  EXPECT_EQ(back(DType::kF4E2M1), Reals({0.5, 1, -6, 6, 6, -6}));
  const Reals y = back(DType::kF8E4M3);
  EXPECT_EQ(Reals(y.begin(), y.begin() + 3), Reals({0.3125, 1, -448}));
  for (int i = 3; i < 6; ++i) EXPECT_TRUE(std::isnan(y[i]));
}

// A double is rounded once: this one is above a tie of f8e4m3fn, its nearest f32 is the tie.
TEST(SmallFloats, DoublesAreRoundedOnce) {
  const Tensor x = *Tensor::FromDoubles({DType::kF64, {1}}, {1.0625 + 1e-12});
  EXPECT_EQ(Cast(x, DType::kF8E4M3).AtDouble(0), 1.125);
}

TEST(SmallFloats, BecomeIntegersAndTruthValues) {
  const Tensor x = *Tensor::FromDoubles({DType::kF8E4M3, {4}}, {-2.5, 0, 0.25, 300});
  EXPECT_EQ(Cast(x, DType::kI8).ToInts(), Ints({-2, 0, 0, 127}));
  EXPECT_EQ(Cast(x, DType::kI64).ToInts(), Ints({-2, 0, 0, 288}));
  EXPECT_EQ(Cast(x, DType::kBool).ToInts(), Ints({1, 0, 1, 1}));
  EXPECT_EQ(Cast(x, DType::kF4E2M1).ToDoubles(), Reals({-2, 0, 0, 6}));
  EXPECT_EQ(Cast(*Tensor::FromInts({DType::kI64, {2}}, {-3, 17}), DType::kF8E4M3).ToDoubles(),
            Reals({-3, 16}));
}

TEST(SmallFloats, EveryByteIsMoved) {
  for (DType dtype : {DType::kF8E4M3, DType::kF8E4M3Uz, DType::kF8E5M2Uz, DType::kF8E8M0}) {
    Tensor x = *Tensor::Allocate({dtype, {16, 16}});
    for (int byte = 0; byte < 256; ++byte) x.mutable_data<uint8_t>()[byte] = byte;
    const auto y = Apply("transpose", {x}, {{"perm", Ints{1, 0}}});
    const auto z = Apply("gather", {x, Tensor::Ints({1, 0})}, {{"axis", int64_t{1}}});
    ASSERT_TRUE(y.ok() && z.ok()) << y.status() << z.status();
    for (int byte = 0; byte < 256; ++byte) {
      EXPECT_EQ(y->data<uint8_t>()[byte % 16 * 16 + byte / 16], byte) << Name(dtype);
      if (byte % 16 < 2) {
        EXPECT_EQ(z->data<uint8_t>()[byte / 16 * 2 + 1 - byte % 16], byte) << Name(dtype);
      }
    }
  }
}

TEST(SmallFloats, NothingElseIsComputed) {
  GraphBuilder builder("g");
  const Value x = builder.Input("x", {DType::kF8E5M2, {2}});
  for (const char* op : {"add", "equal", "less"}) {
    EXPECT_EQ(ApplyOp(op, {x, x}, {}).status().message(),
              absl::StrCat("unsupported: ", op, " of element type f8e5m2"));
  }
  EXPECT_FALSE(ApplyOp("relu", {x}, {}).ok());
  EXPECT_FALSE(ApplyOp("exp", {x}, {}).ok());
  EXPECT_FALSE(ApplyOp("reduce_max", {x}, {{"axes", Ints{0}}}).ok());
  EXPECT_FALSE(ApplyOp("matmul", {x, x}, {}).ok());
  EXPECT_TRUE(ApplyOp("concat", {x, x}, {{"axis", int64_t{0}}}).ok());
}

TEST(Opaque, NothingIsComputedWithOpaqueTypes) {
  EXPECT_EQ(Tensor::Allocate({DType::kString, {1}}).status().message(),
            "unsupported: values of element type string");
  GraphBuilder builder("g");
  const Value x = builder.Input("x", {DType::kString, {2}});
  EXPECT_EQ(ApplyOp("transpose", {x}, {{"perm", std::vector<int64_t>{0}}}).status().message(),
            "unsupported: transpose of element type string");
  EXPECT_EQ(
      ApplyOp("cast", {builder.Input("y", {DType::kF32, {2}})}, {{"dtype", std::string("c64")}})
          .status()
          .message(),
      "unsupported: cast of element type c64");
}

}  // namespace
}  // namespace lemma
