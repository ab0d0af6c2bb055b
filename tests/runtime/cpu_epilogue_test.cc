// Every ordered pair and triple of operators that may be fused behind a product, for each kernel of
// products, against the reference. BUILD.bazel runs this once for each instruction set that oneDNN
// has code for.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

// $0 is the result, $1 the value before. Operators that use the same oneDNN algorithm have
// different parameters.
const char* const kFollowers[] = {
    "$0 = relu($1)",
    "$0 = leaky_relu($1) {alpha = 0.1}",
    "$0 = leaky_relu($1) {alpha = 0.5}",
    "$0 = clip($1) {min = 0.0, max = 6.0}",
    "$0 = clip($1) {min = -0.5, max = 0.7}",
    "$0 = elu($1) {alpha = 1.0}",
    "$0 = elu($1) {alpha = 0.3}",
    "$0 = sigmoid($1)",
    "$0 = tanh($1)",
    "$0 = gelu($1)",
    "$0 = gelu_tanh($1)",
    "$0 = silu($1)",
    "$0 = hard_swish($1)",
    "$0 = scalar_mul($1) {alpha = 3.0}",
    "c$0 = constant f32[] fill 0.2 $0 = mul($1, c$0)",
    "c$0 = constant f32[] fill 32.0 $0 = div($1, c$0)",
    "s$0 = sigmoid($1) $0 = mul($1, s$0)",
    "$0 = add($1, $2)",
    "$0 = add($1, r)",
    "c$0 = constant f32[] fill 0.1 $0 = max($1, c$0)",
    "h$0 = cast($1) {dtype = \"bf16\"} $0 = cast(h$0) {dtype = \"f32\"}",
};
constexpr int kNumFollowers = sizeof(kFollowers) / sizeof(kFollowers[0]);
// One or two operators of each algorithm, for triples.
constexpr int kOfTriples[] = {0, 2, 3, 4, 6, 8, 13, 14, 16, 18};

struct Product {
  const char* name;
  const char* inputs;
  const char* line;
  const char* vector;  // a bias
  const char* more;    // followers of this product alone
  bool fuses = true;   // false: nothing is fused behind it, at least with some instruction sets
  WinogradUse winograd = WinogradUse::kWhereFaster;
};
constexpr Product kProducts[] = {
    {"matmul", "x: f32[3,7], w: weight f32[7,5], v: weight f32[5], r: f32[3,5]", "p = matmul(x, w)",
     "v", ""},
    {"product of many rows", "x: f32[2,9,7], w: weight f32[7,5], v: weight f32[5], r: f32[2,9,5]",
     "p = matmul(x, w)", "v", ""},
    {"pixelwise convolution",
     "x: f32[2,6,4,5], w: weight f32[5,6,1,1], v: weight f32[5,1,1], r: f32[2,5,4,5]",
     "p = conv2d(x, w)", "v", ""},
    {"convolution of a block of channels",
     "x: f32[2,8,4,5], w: weight f32[10,8,3,3], v: weight f32[10,1,1], r: f32[2,10,4,5], "
     "s: weight f32[10], b: weight f32[10], m: weight f32[10], "
     "q: weight f32[10] = [0.5, 1.0, 2.0, 0.25, 1.5, 1.0, 3.0, 0.75, 0.5, 1.25]",
     "p = conv2d(x, w) {pads = [1,1,1,1]}", "v", "$0 = batch_norm($1, s, b, m, q)"},
    {"convolution",
     "x: f32[1,3,4,5], w: weight f32[5,3,3,3], v: weight f32[5,1,1], r: f32[1,5,4,5], "
     "s: weight f32[5], b: weight f32[5], m: weight f32[5], "
     "q: weight f32[5] = [0.5, 1.0, 2.0, 0.25, 1.5]",
     "p = conv2d(x, w) {pads = [1,1,1,1]}", "v", "$0 = batch_norm($1, s, b, m, q)"},
    {"convolution with windows that lie in the padding",
     "x: f32[1,3,5,4], w: weight f32[4,3,1,3], v: weight f32[4,1,1], r: f32[1,4,6,1]",
     "p = conv2d(x, w) {pads = [0,0,1,0], strides = [1,2]}", "v", ""},
    {"convolution by tiles of 4 x 4",
     "x: f32[1,16,4,5], w: weight f32[16,16,3,3], v: weight f32[16,1,1], r: f32[1,16,4,5]",
     "h = scalar_mul(x) {alpha = 0.25} p = conv2d(h, w) {pads = [1,1,1,1]}", "v", "", true,
     WinogradUse::kAlways},
    {"convolution by tiles of 6 x 6",
     "x: f32[5,16,4,5], w: weight f32[16,16,3,3], v: weight f32[16,1,1], r: f32[5,16,4,5]",
     "h = scalar_mul(x) {alpha = 0.25} p = conv2d(h, w) {pads = [1,1,1,1]}", "v", "", true,
     WinogradUse::kAlways},
    {"grouped convolution",
     "x: f32[1,16,4,5], w: weight f32[16,8,3,3], v: weight f32[16,1,1], r: f32[1,16,4,5]",
     "p = conv2d(x, w) {pads = [1,1,1,1], groups = 2}", "v", ""},
    {"convolution of small groups",
     "x: f32[1,4,4,5], w: weight f32[6,2,3,3], v: weight f32[6,1,1], r: f32[1,6,4,5]",
     "p = conv2d(x, w) {pads = [1,1,1,1], groups = 2}", "v", "", /*fuses=*/false},
    {"depthwise convolution",
     "x: f32[1,6,4,5], w: weight f32[6,1,3,3], v: weight f32[6,1,1], r: f32[1,6,4,5]",
     "p = conv2d(x, w) {pads = [1,1,1,1], groups = 6}", "v", ""},
    {"matmul of bf16 numbers", "x: bf16[3,7], w: weight bf16[7,5], v: weight f32[5], r: f32[3,5]",
     "a = cast(x) {dtype = \"f32\"} b = cast(w) {dtype = \"f32\"} p = matmul(a, b)", "v", ""},
    {"product of two bf16 activations",
     "x: bf16[2,3,7], w: bf16[2,5,7], v: weight f32[5], r: f32[2,3,5]",
     "a = cast(x) {dtype = \"f32\"} b = cast(w) {dtype = \"f32\"} "
     "t = transpose(b) {perm = [0,2,1]} p = matmul(a, t)",
     "v", ""},
    {"pixelwise convolution of bf16 numbers",
     "x: bf16[2,6,4,5], w: weight bf16[5,6,1,1], v: weight f32[5,1,1], r: f32[2,5,4,5]",
     "a = cast(x) {dtype = \"f32\"} b = cast(w) {dtype = \"f32\"} p = conv2d(a, b)", "v", ""},
    {"convolution of bf16 numbers",
     "x: f32[1,4,4,5], w: weight bf16[5,4,3,3], v: weight f32[5,1,1], r: f32[1,5,4,5], "
     "s: weight f32[5], b: weight f32[5], m: weight f32[5], "
     "q: weight f32[5] = [0.5, 1.0, 2.0, 0.25, 1.5]",
     "h = cast(x) {dtype = \"bf16\"} a = cast(h) {dtype = \"f32\"} u = cast(w) {dtype = \"f32\"} "
     "p = conv2d(a, u) {pads = [1,1,1,1]}",
     "v", "$0 = batch_norm($1, s, b, m, q)"},
    {"grouped convolution of bf16 numbers",
     "x: bf16[1,16,4,5], w: weight bf16[16,8,3,3], v: weight f32[16,1,1], r: f32[1,16,4,5]",
     "a = cast(x) {dtype = \"f32\"} b = cast(w) {dtype = \"f32\"} "
     "p = conv2d(a, b) {pads = [1,1,1,1], groups = 2}",
     "v", ""},
    {"convolution of bf16 numbers in groups of blocks",
     "x: bf16[1,16,14,14], w: weight bf16[32,4,3,3], v: weight f32[32,1,1], r: f32[1,32,14,14]",
     "a = cast(x) {dtype = \"f32\"} b = cast(w) {dtype = \"f32\"} "
     "p = conv2d(a, b) {pads = [1,1,1,1], groups = 4}",
     "v", "", /*fuses=*/false},
    {"depthwise convolution of bf16 numbers",
     "x: bf16[1,6,4,5], w: weight bf16[6,1,3,3], v: weight f32[6,1,1], r: f32[1,6,4,5]",
     "a = cast(x) {dtype = \"f32\"} b = cast(w) {dtype = \"f32\"} "
     "p = conv2d(a, b) {pads = [1,1,1,1], groups = 6}",
     "v", ""},
    {"transposed convolution",
     "x: f32[1,3,2,3], w: weight f32[3,5,3,3], v: weight f32[5,1,1], r: f32[1,5,5,7]",
     "p = conv_transpose2d(x, w) {strides = [2,2]}", "v", "", /*fuses=*/false},
};

std::vector<std::string> FollowersOf(const Product& product) {
  std::vector<std::string> all(kFollowers, kFollowers + kNumFollowers);
  if (*product.more != '\0') all.push_back(product.more);
  return all;
}

class Epilogues : public testing::TestWithParam<Product> {
 protected:
  // Runs the chain on the CPU back end and counts its operators that one kernel computed.
  void Check(const std::vector<std::string>& chain) {
    std::string text = absl::StrCat("graph g(", GetParam().inputs, ") {\n", GetParam().line, "\n");
    std::string last = "p";
    for (size_t i = 0; i < chain.size(); ++i) {
      const std::string now = absl::StrCat("y", i);
      absl::StrAppend(&text, absl::Substitute(chain[i], now, last, GetParam().vector), "\n");
      last = now;
    }
    const Graph graph = GraphWithWeights(absl::StrCat(text, "return ", last, "\n}"));
    const std::vector<Tensor> inputs = RandomInputs(graph);
    auto expected = (*MakeReferenceBackend()->Compile(graph, {}))->Run(inputs);
    auto executable = backend_->Compile(graph, {});
    ASSERT_TRUE(executable.ok()) << executable.status() << text;
    std::vector<KernelTiming> kernels;
    auto actual = (*executable)->RunTimed(inputs, &kernels);
    ASSERT_TRUE(expected.ok() && actual.ok()) << actual.status();
    const Difference d = Compare((*actual)[0], (*expected)[0], RelativeTolerances(graph)[0]);
    EXPECT_TRUE(d.within) << d.ToString() << "\n" << text << (*executable)->Describe();
    for (const KernelTiming& kernel : kernels) {
      if (absl::StrContains(kernel.kernel, "conv") || absl::StrContains(kernel.kernel, "matmul")) {
        ++implementations_[kernel.note];
        most_fused_ =
            std::max(most_fused_, 1 + std::count(kernel.kernel.begin(), kernel.kernel.end(), '+'));
      }
    }
  }

  void CheckTriples(const std::vector<std::string>& all) {
    for (const std::string& a : all) {
      for (const std::string& b : all) {
        for (const std::string& c : all) {
          Check({a, b, c});
          if (HasFatalFailure()) return;
        }
      }
    }
    EXPECT_GE(most_fused_, GetParam().fuses ? 4 : 1);
  }

  void TearDown() override {
    for (const auto& [implementation, count] : implementations_) {
      std::printf("%s: %d kernels by %s\n", GetParam().name, count, implementation.c_str());
    }
  }

  std::unique_ptr<Backend> backend_ = MakeCpuBackend({/*fuse_layout=*/true, GetParam().winograd});
  std::map<std::string, int> implementations_;
  std::ptrdiff_t most_fused_ = 0;
};

TEST_P(Epilogues, EveryPairIsRight) {
  const std::vector<std::string> all = FollowersOf(GetParam());
  for (const std::string& a : all) {
    for (const std::string& b : all) {
      Check({a, b});
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GE(most_fused_, GetParam().fuses ? 3 : 1);
}

// Only in tests tagged large, because it takes minutes; TriplesOfEachAlgorithmAreRight is a part of
// it.
TEST_P(Epilogues, EveryTripleIsRight) { CheckTriples(FollowersOf(GetParam())); }

TEST_P(Epilogues, TriplesOfEachAlgorithmAreRight) {
  std::vector<std::string> all;
  for (int i : kOfTriples) all.push_back(kFollowers[i]);
  if (*GetParam().more != '\0') all.push_back(GetParam().more);
  CheckTriples(all);
}

// oneDNN's reference code for post-operations multiplies by 0, which makes -0 and NaN.
TEST_P(Epilogues, ReluOfNegativeNumbersAndInfinityIsZero) {
  const Graph graph = GraphWithWeights(absl::StrCat("graph g(", GetParam().inputs, ") {\n",
                                                    GetParam().line, "\ny = relu(p) return y\n}"));
  std::vector<Tensor> inputs = RandomInputs(graph);
  std::vector<double> x = inputs[0].ToDoubles();
  x[0] = -std::numeric_limits<double>::infinity();
  inputs[0] = *Tensor::FromDoubles(inputs[0].type(), x);
  auto expected = (*MakeReferenceBackend()->Compile(graph, {}))->Run(inputs);
  auto actual = (*backend_->Compile(graph, {}))->Run(inputs);
  ASSERT_TRUE(expected.ok() && actual.ok()) << actual.status();
  int zeros = 0;
  for (int64_t i = 0; i < (*expected)[0].type().num_elements(); ++i) {
    const double y = (*actual)[0].AtDouble(i);
    if ((*expected)[0].AtDouble(i) != 0) continue;
    EXPECT_TRUE(y == 0 && !std::signbit(y)) << "element " << i << " is " << y;
    ++zeros;
  }
  EXPECT_GT(zeros, 0);
}

// oneDNN gives the second operator of an algorithm the first one's parameters, so the back end must
// not fuse both.
TEST_P(Epilogues, TwoOfOneAlgorithmKeepTheirOwnParameters) {
  auto times = [](const char* factor) {
    return absl::StrCat("c$0 = constant f32[] fill ", factor, " $0 = mul($1, c$0)");
  };
  auto over = [](const char* factor) {
    return absl::StrCat("c$0 = constant f32[] fill ", factor, " $0 = div($1, c$0)");
  };
  const std::string relu = "$0 = relu($1)", tanh = "$0 = tanh($1)";
  Check({times("3.0"), relu, times("0.2")});
  Check({times("3.0"), tanh, times("5.0")});
  Check({"$0 = leaky_relu($1) {alpha = 0.1}", tanh, "$0 = leaky_relu($1) {alpha = 0.5}"});
  Check({"$0 = clip($1) {min = 0.0, max = 6.0}", tanh, "$0 = clip($1) {min = 0.5, max = 0.7}"});
  Check({over("32.0"), tanh, times("32.0")});
  Check({times("0.125"), over("50.0"), tanh, times("50.0")});
}

INSTANTIATE_TEST_SUITE_P(Products, Epilogues, testing::ValuesIn(kProducts),
                         [](const testing::TestParamInfo<Product>& info) {
                           return absl::StrReplaceAll(info.param.name, {{" ", "_"}});
                         });

}  // namespace
}  // namespace lemma
