// Each fault that is put into a kernel's text, or into its launch, is refused for its reason.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "api/checking/program_parts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/verifier/kernels/checked_graph.h"
#include "tests/verifier/kernels/schedule_examples.h"

namespace lemma {
namespace {

using codegen::GridKernel;
using codegen::GridProgram;
using Kind = kernels::ProgramVerdict::Kind;

struct Fault {
  const char* name;
  const char* graph;
  const char* from;  // the first occurrence in the program is replaced
  const char* to;
  const char* reason;
};

constexpr char kValue[] = "another value than its operators define";
constexpr char kUnwritten[] = "is not written";
constexpr char kTwice[] = "is written twice";
constexpr char kNoValue[] = "before it has a value";
constexpr char kRace[] = "without a barrier between";

// Kinds: guards, indices, values, conversions, packs, reductions, shared memory, barriers, tiles,
// several kernels, kernels side by side.
constexpr Fault kFaults[] = {
    {"GuardTooLarge", "element", "item >= 35", "item >= 36", "reads element"},
    {"GuardTooSmall", "element", "item >= 35", "item >= 34", kUnwritten},
    {"SwappedIndex", "element", "p0[(i0 + i1 * 5)]", "p0[(i0 * 5 + i1)]", kValue},
    {"StoreAtWrongStride", "element", "Store(p2 + (i0 * 7", "Store(p2 + (i0 * 6", kTwice},
    {"StoreShifted", "element", "Store(p2 + (i0 * 7 + i1)", "Store(p2 + (i0 * 7 + i1 + 1)",
     "writes element 35"},
    {"OtherFunction", "element", "fn_mul", "fn_add", kValue},
    {"OperatorLeftOut", "element", "fn_exp(n1)", "fn_mul(n1, 1.0f)", kValue},
    {"OtherOperand", "element", "fn_mul(n2, n3)", "fn_mul(n2, n2)", kValue},
    {"IndexOverflows", "element", "item / 7", "item * 2000000000 / 2000000000 / 7",
     "leaves its type"},
    {"NumberOfOtherType", "element", "const float n3 = Load<float>",
     "const double n3 = Load<double>", "several types"},
    {"TensorOfOtherType", "element", "float* __restrict__ p2", "int* __restrict__ p2",
     "another type than its tensor"},
    {"WritesOperand", "element", "const float* __restrict__ p0", "float* __restrict__ p0",
     "constant and results mixed up"},
    {"PackNotAligned", "packed", "p0 + (i0 * 512 + i1_start)", "p0 + (i0 * 512 + i1_start + 1)",
     "not aligned"},
    {"PackElsewhere", "packed", "StorePack<8>(p2 + (i0 * 512 + i1_start)",
     "StorePack<8>(p2 + (i0 * 512 + 504 - i1_start)", kValue},
    {"PackIncomplete", "packed", "u < 8", "u < 7", kNoValue},
    {"ConversionLost", "packed", "fn_stored_f16(n2)", "fn_mul(n2, 1.0f)", kValue},
    {"OtherConversion", "packed", "fn_stored_f16(n2)", "fn_stored_bf16(n2)", kValue},
    {"BorderTooEarly", "pad", "(-i0 + 1) <= 0", "(-i0 + 0) <= 0", "reads element -7"},
    {"BorderTooLate", "pad", "(i1 - 6) <= 0", "(i1 - 5) <= 0", kValue},
    {"OtherConstant", "pad", "0.5f", "0.0f", kValue},
    {"IndexCheckTooNarrow", "gather", "t1 < 9", "t1 < 8", "is reported as wrong"},
    {"IndexCheckTooWide", "gather", "t1 < 9", "t1 < 10", "reads element 63"},
    {"IndexCheckLeftOut", "gather", "0 <= t1 && ", "", "reads element -"},
    {"LastOfAShortAxis", "short_gather", " t1 = m2;",
     " t1 = fn_where(fn_equal(m4, int64(2ll)), int64(1ll), m2);", kValue},
    {"ClassOfAShortAxis", "classes", "fn_equal(n3, n9)",
     "fn_and(fn_equal(n3, n9), fn_not(fn_equal(n9, 3.0f)))", kValue},
    {"PositionShifted", "cache", " = t0;", " = t0 + 1;", kUnwritten},
    {"PositionLeftOut", "cache", " = t0;", " = 0;", kValue},
    {"PositionNotCheckedBelow", "cache", "if (0 <= i1 && ", "if (", "writes element -"},
    {"PositionNotCheckedAbove", "cache", "i1 < 9", "i1 < 10", "writes element"},
    {"OtherUpdate", "cache", "fn_exp(", "fn_tanh(", kValue},
    {"OtherBits", "nibbles", "HighBits<float, 16>", "HighBits<float, 8>", kValue},
    {"LowBitsForHigh", "nibbles", "HighBits<float, 16>", "LowBits<float, 16>", kValue},
    {"HighBitsForLow", "nibbles", "LowBits<float, 16>", "HighBits<float, 16>", kValue},
    {"BitsOfAnotherDivisor", "nibbles", "HighBits<float, 16>", "HighBits<float, 12>",
     "expected a power of two"},
    {"WeightsNotAligned", "nibbles", "LoadPack<16>(p0 + (", "LoadPack<16>(p0 + (1 + ",
     "not aligned"},
    {"WeightLeftOut", "nibbles", "_u < 16", "_u < 15", kValue},
    {"IndexNotReported", "gather", "*error = 1;", "", "is not reported"},
    {"NegativeIndexWrong", "gather", "int64(9ll)", "int64(10ll)", kValue},
    {"WindowIncomplete", "pool", "i5 < 3", "i5 < 2", kValue},
    {"WindowBeginsWithZero", "pool", "float(-Infinity())", "0.0f", kValue},
    {"WindowOutside", "pool", "((i3 * (-2) - i5 + 1) <= 0)", "(0 <= 0)", "reads element -"},
    {"IntegerSumIncomplete", "integers", "< 6", "< 5", kValue},
    {"IntegerMaximumIncomplete", "integer_maximum", "< 6", "< 5", kValue},
    {"SumByAllThreads", "sum", "if (lane == 0)", "if (lane <= 1)", kTwice},
    {"SumUninitialized", "softmax", "float n6_part = 0.0f;", "float n6_part;", kNoValue},
    {"SumBeginsWithOne", "softmax", "float n6_part = 0.0f;", "float n6_part = 1.0f;", kValue},
    {"SumIncomplete", "softmax", "n6_step < 70", "n6_step < 69", kValue},
    {"MaximumIncomplete", "softmax", "n4_step < 70", "n4_step < 69", kValue},
    {"SumOverlaps", "softmax", "n6_step += 32", "n6_step += 31", kValue},
    {"OtherReduction", "softmax", "WarpReduce<Max>", "WarpReduce<Min>", kValue},
    {"ReductionLeftOut", "softmax", "WarpReduce<Sum>(n6_part)", "fn_mul(n6_part, 1.0f)", kValue},
    {"WarpDiverges", "softmax", "row >= 6", "row >= 6 || lane > 20",
     "not all threads of a warp take part"},
    {"SharedTooSmall", "wide_softmax", "shared[8]", "shared[7]", "has room for 7 of 8 warps"},
    {"BlockDiverges", "wide_softmax", "const int row = blockIdx.x;",
     "const int row = blockIdx.x; if (lane >= 32) return;", "reach a barrier"},
    {"ReductionOfFewerThreads", "wide_softmax", "<Sum, 256>", "<Sum, 128>",
     "another number of threads"},
    {"BarrierLeftOut", "tile", "__syncthreads();", "", kRace},
    {"BarrierOnlyOnce", "tile", "__syncthreads();", "if (depth == 0) __syncthreads();", kRace},
    {"OneBufferForTwo", "tile", "stage ^= 1;", "", kRace},
    {"TileGuardLeftOut", "tile", "ai0 < 70 && ai1 < 50", "ai0 < 70", "reads element 3500"},
    {"SumNotCleared", "tile", "sum[i][j] = 0", "sum[i][j] = sum[i][j]", kValue},
    {"RowsSwapped", "tile", "[thread_row * 4 + i]", "[thread_row * 4 + 3 - i]", kValue},
    {"TileTooSmall", "tile", "a_tile[2][32][36]", "a_tile[2][32][31]", "index 31 of a_tile"},
    {"TwoBlocksOneTile", "tile", "blockIdx.x / 3 % 3", "blockIdx.x / 3 % 2", kTwice},
    {"LastStepLeftOut", "tile", "if (depth >= 50) break;", "if (depth >= 32) break;", kValue},
    {"DepthIncomplete", "tile", "d < 32", "d < 31", kValue},
    {"BiasLeftOut", "tile", "fn_add(sum[i][j], n3)", "fn_add(sum[i][j], 0.0f)", kValue},
    {"BiasTwice", "tile", "fn_add(sum[i][j], n3)", "fn_add(fn_add(sum[i][j], n3), n3)", kValue},
    {"ResultGuardTooLarge", "tile", "if (i0 < 70 &&", "if (i0 < 71 &&", "writes element 6300"},
    {"PartOverlaps", "parts", "i0 * 4445 + i2 - 39999", "i0 * 4445 + i2 - 40000", kValue},
    {"PartLeftOut", "parts", "i1 < 9", "i1 < 8", kValue},
    {"OtherBlockNumber", "side_by_side", "blockIdx.x - 1", "blockIdx.x - 0", kUnwritten},
    {"BlockLeftOut", "side_by_side", "blockIdx.x < 2", "blockIdx.x < 1", kUnwritten},
    {"OtherArguments", "side_by_side", "p3, p4, p5)", "p3, p4, p2)", kTwice},
    {"StateReadTooLate", "side_by_side", "Load<float>(p0[i0])", "Load<float>(p0[(69 - i0)])",
     "a place that another thread reads"},
    {"NeverEqual", "equal", "fn_equal(n1, n2)", "fn_less(n1, n1)", kValue},
    {"IntegersNeverEqual", "integers_equal", "fn_equal(m1, m2)", "fn_less(m1, m1)", kValue},
    {"NeverNaN", "not_a_number", "fn_is_nan(n1)", "fn_less(n1, n1)", kValue},
    {"NaNLost", "maximum", "fn_max(n1, n2)", "fn_where(fn_less(n1, n2), n2, n1)", kValue},
    {"OneTruthLeftOut", "truths", "p4[", "p3[", kValue},
    {"OtherThreshold", "threshold", "1.0f", "0.0f", kValue},
    {"OneHotOfNothing", "one_hot", "fn_equal(n2, n8)", "fn_less(n2, n2)", kValue},
    {"OneHotFromTheEndWrong", "one_hot", "fn_where(n3, n6, n4)", "fn_where(n3, n4, n4)", kValue},
    {"FloatsBesideDoubles", "doubles", "double(n0)",
     "fn_mul(Load<float>(p0[i0]), Load<float>(p1[i0]))", "an expression is a float"},
    {"IntegerWrapsBesideReals", "bytes", "float(n0)", "Load<int64>(p0[i0])",
     "where its operators saturate"},
    {"OwnValue", "doubles", "Store(p2 + i0, double(n0));",
     "{ const double n0 = fn_mul(n0, 1.0); Store(p2 + i0, double(n0)); }", "unknown name n0"},
    {"IntegerWithoutValue", "integer_maximum", "int64 m0 = (-0x7fffffffffffffffll - 1);",
     "int64 m0;", kNoValue},
    {"ElementAsIndex", "doubles", "Store(p2 + i0, double(n0));",
     "int64 a[2]; a[i0 % 2] = 0; double b[2][2]; b[i0 % 2][a[i0 % 2]] = n0; "
     "Store(p2 + i0, b[i0 % 2][a[i0 % 2]]);",
     "an array's element as an index"},
    {"CommentOfTwoLines", "doubles", "Store(p2", "// the end \\\nStore(p2",
     "a comment of two lines"},
    {"OctalNumber", "element", "item >= 35", "item >= 035", "an octal number"},
    {"IndexReportedOnce", "gather", "*error = 1;", "if (i0 == 0) *error = 1;", "is not reported"},
    {"PromisesDistinctTensors", "side_by_side", "_aliases(const float* p0",
     "_aliases(const float* __restrict__ p0", "share no memory, but they do"},
    {"UnknownText", "element", "Store(p2", "atomicAdd(p2", "no variable"},
};

// Programs whose values jump, and types that no schedule's example has.
std::vector<ScheduleExample> MoreExamples() {
  return {
      {"equal", "graph g(x: f32[40], y: f32[40]) { e = equal(x, y) return e }"},
      {"integers_equal", "graph g(x: i32[40], y: i32[40]) { e = equal(x, y) return e }"},
      {"maximum", "graph g(x: f32[40], y: f32[40]) { e = max(x, y) return e }"},
      {"truths",
       "graph g(a: bool[1], b: bool[1], c: bool[1], d: bool[1], e: bool[1]) "
       "{ p = and(a, b) q = and(p, c) r = and(q, d) s = and(r, e) return s }"},
      {"not_a_number", "graph g(x: f32[40]) { e = is_nan(x) return e }"},
      {"threshold", "graph g(x: f32[40]) { e = thresholded_relu(x) {alpha = 1.0} return e }"},
      {"one_hot", "graph g(x: i64[20], v: f32[2]) { e = one_hot(x, v) {depth = 6} return e }"},
      {"short_gather",
       "graph g(x: f32[3,512], i: i64[20]) { s = gather(x, i) {axis = 0} return s }"},
      {"classes",
       "graph g(x: i64[20], v: f32[2], y: f32[20,6,512]) { e = one_hot(x, v) {depth = 6} "
       "r = reshape(e) {shape = [20,6,1]} m = mul(r, y) return m }"},
      {"bytes", "graph g(x: f32[40]) { e = cast(x) {dtype = \"u8\"} return e }"},
      {"cache",
       "graph g(s: f32[5,9,4], i: i64[5,1,4], u: f32[5,1,4]) { e = exp(u) "
       "s.next = scatter_elements(s, i, e) {axis = 1} return s.next }"},
      {"nibbles",
       "graph g(x: f32[1,256], q: weight u8[256,8,32], s: weight f32[256,8,1]) "
       "{ c = cast(q) {dtype = \"f32\"} m = mul(c, s) r = reshape(m) {shape = [256,256]} "
       "w = transpose(r) {perm = [1,0]} y = matmul(x, w) return y }"},
      {"doubles", "graph g(x: f64[40], y: f64[40]) { e = mul(x, y) return e }"},
  };
}

cuda::CudaPlan PlanOfExample(absl::string_view name) {
  std::vector<ScheduleExample> examples = ScheduleExamples();
  for (const ScheduleExample& example : MoreExamples()) examples.push_back(example);
  for (const ScheduleExample& example : examples) {
    if (example.name == name) return CudaPlanOf(GraphOfExample(example));
  }
  ADD_FAILURE() << "no example " << name;
  return {};
}

void ExpectRefused(absl::string_view graph, const std::function<bool(GridProgram*)>& change,
                   absl::string_view reason) {
  bool changed = false;
  std::string code;
  for (const cuda::CudaStep& step : PlanOfExample(graph).steps) {
    const kernels::ProgramVerdict unchanged = CheckStep(step);
    ASSERT_EQ(unchanged.kind, Kind::kAgrees) << unchanged.reason;
    for (const GridKernel& kernel : step.program->kernels) code += kernel.code;
    const kernels::ProgramVerdict verdict =
        CheckStep(step, [&](GridProgram* program) { changed = change(program); });
    if (!changed) continue;
    EXPECT_NE(verdict.kind, Kind::kAgrees) << step.program->kernels[0].code;
    EXPECT_THAT(verdict.reason, testing::HasSubstr(std::string(reason)));
    return;
  }
  FAIL() << "the text to change is not there:\n" << code;
}

class KernelFault : public testing::TestWithParam<Fault> {};

TEST_P(KernelFault, IsRefused) {
  const Fault& fault = GetParam();
  ExpectRefused(
      fault.graph,
      [&](GridProgram* program) {
        for (GridKernel& kernel : program->kernels) {
          const size_t at = kernel.code.find(fault.from);
          if (at == std::string::npos) continue;
          kernel.code.replace(at, std::string(fault.from).size(), fault.to);
          return true;
        }
        return false;
      },
      fault.reason);
}

INSTANTIATE_TEST_SUITE_P(All, KernelFault, testing::ValuesIn(kFaults),
                         [](const auto& info) { return std::string(info.param.name); });

// If only one of the two tiles is not cleared, the other one's zeros hide it.
TEST(KernelFaults, TilesNotCleared) {
  ExpectRefused(
      "tile",
      [](GridProgram* program) {
        return absl::StrReplaceAll({{"a_next[u] = 0;", ""}, {"b_next[u] = 0;", ""}},
                                   &program->kernels[0].code) == 2;
      },
      kValue);
}

// A result in the memory of two operands, of which its thread reads only one.
TEST(KernelFaults, ResultInTheMemoryOfAnotherOperand) {
  const cuda::CudaPlan plan = PlanOfExample("side_by_side");
  ASSERT_EQ(plan.steps.size(), 1u);
  kernels::ProgramCheckOptions options;
  options.in_place = {{3, 2}, {0, 2}};
  const kernels::ProgramVerdict verdict =
      kernels::CheckProgram(*plan.steps[0].program, api::PartsOf(plan.steps[0]), options);
  EXPECT_EQ(verdict.kind, Kind::kWrong);
  EXPECT_THAT(verdict.reason, testing::HasSubstr("in whose place another tensor has been written"));
}

TEST(LaunchFault, OneBlockTooFew) {
  ExpectRefused(
      "packed",
      [](GridProgram* program) {
        --program->kernels[0].blocks;
        return true;
      },
      kUnwritten);
}

TEST(LaunchFault, OneBlockTooMany) {
  ExpectRefused(
      "tile",
      [](GridProgram* program) {
        ++program->kernels[0].blocks;
        return true;
      },
      kTwice);
}

TEST(LaunchFault, FewerThreads) {
  ExpectRefused(
      "element",
      [](GridProgram* program) {
        program->kernels[0].threads = 32;
        return true;
      },
      "is launched with 32 threads");
}

TEST(LaunchFault, ArgumentsSwapped) {
  ExpectRefused(
      "element",
      [](GridProgram* program) {
        std::swap(program->kernels[0].reads[0], program->kernels[0].reads[1]);
        return true;
      },
      kValue);
}

// The kernel writes only what changes, so the rest has to be there.
TEST(LaunchFault, KeepsTheElementsOfAnotherTensor) {
  ExpectRefused(
      "cache", [](GridProgram* program) { return program->kept = 2, true; },
      "does not have the memory of tensor 2");
}

TEST(LaunchFault, KeepsNoElements) {
  ExpectRefused(
      "cache", [](GridProgram* program) { return program->kept = -1, true; }, kUnwritten);
}

TEST(LaunchFault, KernelsInOtherOrder) {
  ExpectRefused(
      "parts",
      [](GridProgram* program) {
        std::reverse(program->kernels.begin(), program->kernels.end());
        return true;
      },
      "which nothing wrote");
}

TEST(LaunchFault, TemporaryOfAnotherType) {
  ExpectRefused(
      "parts",
      [](GridProgram* program) {
        program->slots[2].dtype = DType::kF16;
        int places = 0;
        for (GridKernel& kernel : program->kernels) {
          places += absl::StrReplaceAll({{"float* __restrict__ p2", "f16* __restrict__ p2"}},
                                        &kernel.code);
        }
        return places == 2;
      },
      "reads back what was rounded");
}

// Both are 16 bits wide, so nothing else shows.
TEST(LaunchFault, OperandOfAnotherType) {
  ExpectRefused(
      "packed",
      [](GridProgram* program) {
        program->slots[0].dtype = DType::kBF16;
        return absl::StrReplaceAll({{"f16* __restrict__ p0", "bf16* __restrict__ p0"}},
                                   &program->kernels[0].code) == 1;
      },
      "tensor 0 has another type");
}

TEST(LaunchFault, ResultOfAnotherType) {
  ExpectRefused(
      "doubles",
      [](GridProgram* program) {
        program->slots[2].dtype = DType::kF32;
        return absl::StrReplaceAll({{"double* __restrict__ p2", "float* __restrict__ p2"}},
                                   &program->kernels[0].code) == 1;
      },
      "tensor 2 has another type");
}

TEST(LaunchFault, TwoKernelsOfOneName) {
  ExpectRefused(
      "parts",
      [](GridProgram* program) {
        GridKernel& last = program->kernels[1];
        const std::string name = program->kernels[0].name;
        const int places = absl::StrReplaceAll({{last.name, name}}, &last.code);
        last.name = name;
        return places == 1;
      },
      "two kernels have the name");
}

TEST(LaunchFault, KernelLeftOut) {
  ExpectRefused(
      "parts",
      [](GridProgram* program) {
        program->kernels.pop_back();
        return true;
      },
      kUnwritten);
}

}  // namespace
}  // namespace lemma
