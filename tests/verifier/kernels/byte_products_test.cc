// The check accepts kernels that multiply integers of 8 bits, and refuses each fault that is put
// into one.
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/codegen/grid_program.h"
#include "tests/runtime/runtime_testutil.h"
#include "tests/verifier/kernels/checked_graph.h"

namespace lemma {
namespace {

using codegen::GridKernel;
using codegen::GridProgram;
using Kind = kernels::ProgramVerdict::Kind;

constexpr char kProduct[] = R"(graph product(x: u8[37,70], w: i8[70,41], z: u8[], b: f32[41]) {
  c = cast(x) {dtype = "f32"} e = cast(z) {dtype = "f32"} f = sub(c, e)
  d = cast(w) {dtype = "f32"} p = matmul(f, d) q = add(p, b) r = relu(q) return r
})";

// Zero points of both factors, of sums in f32 and in i32; all pairs of types; packs; padding.
constexpr const char* kProducts[] = {
    kProduct,
    R"(graph two(x: i8[36,72], w: u8[72,40], y: i8[], z: u8[]) {
      a = cast(x) {dtype = "i32"} b = cast(y) {dtype = "i32"} c = sub(a, b)
      d = cast(w) {dtype = "i32"} e = cast(z) {dtype = "i32"} f = sub(d, e)
      p = matmul(c, f) return p
    })",
    R"(graph none(x: i8[36,68], w: i8[68,40]) {
      a = cast(x) {dtype = "i32"} b = cast(w) {dtype = "i32"} p = matmul(a, b) return p
    })",
    R"(graph unsigned(x: u8[36,68], w: u8[68,40], z: u8[]) {
      a = cast(x) {dtype = "f32"} d = cast(w) {dtype = "f32"} e = cast(z) {dtype = "f32"}
      f = sub(d, e) p = matmul(a, f) return p
    })",
    R"(graph padded(x: u8[1,9,9,8], w: i8[20,9,3,3], z: u8[]) {
      a = cast(x) {dtype = "f32"} b = cast(z) {dtype = "f32"} c = sub(a, b)
      d = cast(w) {dtype = "f32"} p = conv2d(c, d) {pads = [1,1,1,1]} return p
    })",
    R"(graph requantized(x: u8[1,8,9,8], w: i8[20,8,3,3], z: u8[], s: f32[]) {
      a = cast(x) {dtype = "f32"} b = cast(z) {dtype = "f32"} c = sub(a, b)
      d = cast(w) {dtype = "f32"} p = conv2d(c, d) {pads = [1,1,1,1]}
      m = mul(p, s) r = round(m) y = cast(r) {dtype = "u8"} return y
    })",
};

// The answers about the programs that multiply bytes.
std::vector<kernels::ProgramVerdict> Verdicts(
    const char* graph, const std::function<void(GridProgram*)>& change = nullptr) {
  std::vector<kernels::ProgramVerdict> verdicts;
  for (const cuda::CudaStep& step : CudaPlanOf(GraphWithWeights(graph)).steps) {
    for (const GridKernel& kernel : step.program->kernels) {
      if (!absl::StrContains(kernel.schedule, " in bytes")) continue;
      verdicts.push_back(CheckStep(step, change));
      break;
    }
  }
  return verdicts;
}

TEST(ByteProducts, Agree) {
  for (const char* graph : kProducts) {
    SCOPED_TRACE(graph);
    const auto verdicts = Verdicts(graph);
    ASSERT_EQ(verdicts.size(), 1u);
    EXPECT_EQ(verdicts[0].kind, Kind::kAgrees) << verdicts[0].reason;
  }
}

// The first occurrence of `from` in the kernel's text is replaced, or all of them.
struct Fault {
  const char* name;
  enum { kOneZero, kTwoZeros, kPadded } kernel;
  const char* from;
  const char* to;
  const char* reason;
  bool everywhere = false;
};

constexpr char kValue[] = "another value than its operators define";
constexpr char kRace[] = "without a barrier between";
constexpr char kNoValue[] = "before it has a value";
constexpr char kOtherType[] = "that may be no such ones";

constexpr Fault kFaults[] = {
    {"ZeroPointLeftOut", Fault::kOneZero, " - a_zero * b_total[i % 2][j]", "", kValue},
    {"ZeroPointTwice", Fault::kOneZero, "- a_zero *", "- 2 * a_zero *", kValue},
    {"ZeroPointOfSecondLeftOut", Fault::kTwoZeros, " - b_zero * (a_total[i][j % 2] - 72 * a_zero)",
     "", kValue},
    {"ZeroPointsNotMultiplied", Fault::kTwoZeros, " - 72 * a_zero", "", kValue},
    {"TermsRoundedUp", Fault::kTwoZeros, "72 * a_zero", "128 * a_zero", kValue},
    {"PaddingIsNoZeroPoint", Fault::kPadded, "bm0 = bm5;", "bm0 = 0;", kValue},
    {"PackingOrderOfOne", Fault::kOneZero, "a_next[u][(q + w) * 4], a_next[u][(q + w) * 4 + 1]",
     "a_next[u][(q + w) * 4 + 1], a_next[u][(q + w) * 4]", kValue},
    {"PackingRepeatsANumber", Fault::kOneZero, "b_next[u][(q + w) * 1 + 3]",
     "b_next[u][(q + w) * 1 + 2]", kValue},
    {"PackingAcrossRows", Fault::kTwoZeros, "b_next[u][(q + w) * 1 + 8]",
     "b_next[u][(q + w) * 1 + 1]", kValue},
    {"SignsSwapped", Fault::kOneZero, "WordsU8I8", "WordsI8U8", kOtherType, true},
    {"BothSigned", Fault::kOneZero, "WordsU8I8", "WordsI8I8", kOtherType, true},
    {"BothUnsigned", Fault::kOneZero, "WordsU8I8", "WordsU8U8", kOtherType, true},
    {"OneProductOfOtherSigns", Fault::kOneZero, "WordsU8I8::MultiplyAdd(&sum",
     "WordsI8I8::MultiplyAdd(&sum", "words of two formats"},
    {"WordsOfTheOtherFactor", Fault::kOneZero, "MakeA(a_next", "MakeB(a_next", kOtherType},
    {"FactorsSwapped", Fault::kOneZero, "left[i], right[j]", "right[j], left[i]", "too small"},
    {"MoreThanAByte", Fault::kOneZero, "a_next[u][v] = am0;", "a_next[u][v] = am0 + 1;",
     kOtherType},
    {"SumNotCleared", Fault::kOneZero, "sum[i][j] = 0;", "sum[i][j] = sum[i][j];", kNoValue},
    {"SumHasNoBeginning", Fault::kOneZero, ") sum[i][j] = 0;", ") {}", kNoValue},
    {"SumBeginsWithOne", Fault::kOneZero, "sum[i][j] = 0;", "sum[i][j] = 1;", kValue},
    {"TotalNotCleared", Fault::kOneZero, "b_total[i][j] = 0;", "b_total[i][j] = b_total[i][j];",
     kNoValue},
    {"OnesAreNoOnes", Fault::kOneZero, "MakeA(1, 1, 1, 1)", "MakeA(1, 1, 1, 0)", kValue},
    {"TotalsOfOtherColumns", Fault::kOneZero, "a_ones.at, right[j]", "a_ones.at, right[0]", kValue},
    {"TotalsOfTheOtherFactor", Fault::kTwoZeros, "left[i], b_ones.at", "a_ones.at, b_ones.at",
     kValue},
    {"BarrierLeftOut", Fault::kOneZero, "__syncthreads();", "", kRace},
    {"OneBufferForTwo", Fault::kOneZero, "stage ^= 1;", "", kRace},
    {"DepthNotChecked", Fault::kOneZero, "ai0 < 37 && ai1 < 70", "ai0 < 37", "reads element 2592"},
    {"DepthCheckedByWord", Fault::kOneZero, "bi0 < 41 && bi1 < 70", "bi0 < 41 && bi1 / 4 < 70 / 4",
     kValue},
    {"BorderNotCleared", Fault::kOneZero, "[u][v] = 0;", "[u][v] = 1;", kValue, true},
    {"LastStepLeftOut", Fault::kOneZero, "if (depth >= 70) break;", "if (depth >= 64) break;",
     kValue},
    {"DepthLeftOut", Fault::kOneZero, "word < 16", "word < 8", kValue},
    {"WordsOfTwo", Fault::kOneZero, "a_depth / 4 + q", "a_depth / 2 + q", "whose size is 20"},
    {"FragmentDepthWrong", Fault::kOneZero, "[word + lane + r * 4]", "[word + lane + r * 3]",
     kValue},
    {"SumsOfOtherRows", Fault::kOneZero, "&sum[2 * i + 1][2 * j]", "&sum[2 * i][2 * j]", kValue},
    {"ProductOfFewerThreads", Fault::kOneZero, "WordsU8I8::MultiplyAdd(&sum",
     "if (lane > 0) WordsU8I8::MultiplyAdd(&sum", "not all threads of a warp"},
    {"MayOverflow", Fault::kOneZero, "WordsU8I8::MultiplyAdd(&sum",
     "for (int t = 0; t < 1100; ++t) WordsU8I8::MultiplyAdd(&sum", "may leave i32"},
    {"SumsAreFloats", Fault::kOneZero, "int sum[2 * 2][2 * 4];", "float sum[2 * 2][2 * 4];",
     "a product of other types"},
};

TEST(ByteProducts, EachFaultIsRefused) {
  for (const Fault& fault : kFaults) {
    SCOPED_TRACE(fault.name);
    bool changed = false;
    const auto put = [&](GridProgram* program) {
      for (GridKernel& kernel : program->kernels) {
        size_t at = 0;
        while ((at = kernel.code.find(fault.from, at)) != std::string::npos) {
          if (changed && !fault.everywhere) break;
          changed = true;
          kernel.code.replace(at, std::string(fault.from).size(), fault.to);
          at += std::string(fault.to).size();
        }
      }
    };
    const auto verdicts = Verdicts(kProducts[fault.kernel == Fault::kOneZero    ? 0
                                             : fault.kernel == Fault::kTwoZeros ? 1
                                                                                : 4],
                                   put);
    ASSERT_EQ(verdicts.size(), 1u);
    EXPECT_TRUE(changed);
    EXPECT_NE(verdicts[0].kind, Kind::kAgrees);
    EXPECT_THAT(verdicts[0].reason, testing::HasSubstr(fault.reason));
  }
}

}  // namespace
}  // namespace lemma
