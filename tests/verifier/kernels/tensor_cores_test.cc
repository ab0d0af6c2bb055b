// The check accepts kernels for tensor cores, and refuses each fault that is put into one.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/codegen/tiles/tile_choice.h"
#include "tests/runtime/runtime_testutil.h"
#include "tests/verifier/kernels/checked_graph.h"

namespace lemma {
namespace {

using codegen::GridKernel;
using codegen::GridOptions;
using codegen::GridProgram;
using codegen::ProductPrecision;
using codegen::TileChoice;
using Kind = kernels::ProgramVerdict::Kind;

// Products by warp: borders, both layouts, guards, batches, factors of 16 bits, an epilogue.
constexpr const char* kProducts[] = {
    R"(graph product(x: f32[67,70], w: f32[70,69], b: f32[69]) {
      p = matmul(x, w) q = add(p, b) r = relu(q) return r
    })",
    "graph packed(x: f32[132,68], w: f32[68,132]) { p = matmul(x, w) return p }",
    R"(graph transposed(x: f32[72,66], w: f32[68,72]) {
      a = transpose(x) {perm = [1,0]} b = transpose(w) {perm = [1,0]} p = matmul(a, b) return p
    })",
    R"(graph grouped(x: f32[2,16,9,8], w: f32[36,8,3,3]) {
      c = conv2d(x, w) {pads = [2,2,2,2], dilations = [2,2], groups = 2} return c
    })",
    "graph batches(x: f32[3,36,64], w: f32[3,64,44]) { p = matmul(x, w) return p }",
    R"(graph halves(x: bf16[34,72], w: f16[72,36]) {
      a = cast(x) {dtype = "f32"} b = cast(w) {dtype = "f32"} p = matmul(a, b) return p
    })",
    R"(graph softened(x: f32[34,72], w: f32[72,36]) {
      e = exp(x) a = cast(e) {dtype = "bf16"} b = cast(a) {dtype = "f32"} p = matmul(b, w) return p
    })",
};

// Products by warpgroup: both layouts, borders, a batch, a residual, packed and single results.
constexpr const char* kBulkProducts[] = {
    R"(graph bulk(x: bf16[133,136], w: bf16[136,200], b: f32[200]) {
      c = cast(x) {dtype = "f32"} d = cast(w) {dtype = "f32"}
      p = matmul(c, d) r = add(p, b) s = relu(r) return s
    })",
    "graph direct(x: f16[70,72], w: f16[72,264]) { p = matmul(x, w) return p }",
    R"(graph bulk_transposed(x: bf16[328,136], w: bf16[136,328]) {
      a = transpose(x) {perm = [1,0]} b = transpose(w) {perm = [1,0]}
      c = cast(a) {dtype = "f32"} d = cast(b) {dtype = "f32"} p = matmul(c, d) return p
    })",
    R"(graph bulk_heads(x: bf16[2,72,3,64], w: bf16[2,136,3,64]) {
      a = transpose(x) {perm = [0,2,1,3]} b = transpose(w) {perm = [0,2,3,1]}
      c = cast(a) {dtype = "f32"} d = cast(b) {dtype = "f32"} p = matmul(c, d) return p
    })",
    R"(graph bulk_along_rows(x: bf16[72,72], w: bf16[72,136], r: f32[136,72]) {
      a = cast(x) {dtype = "f32"} b = cast(w) {dtype = "f32"}
      p = einsum(a, b) {equation = "ik,kj->ji"} q = add(p, r) return q
    })",
    R"(graph bulk_odd(x: f16[69,72], w: f16[137,72], r: f32[69,137]) {
      t = transpose(w) {perm = [1,0]} a = cast(x) {dtype = "f32"} b = cast(t) {dtype = "f32"}
      p = matmul(a, b) q = add(p, r) return q
    })",
};

// softmax(q k^T scale + mask) v; `type` is the element type of all tensors.
std::string Attention(const std::string& type, int heads, int queries, int keys, int width,
                      const std::string& mask = "") {
  const std::string c = absl::StrCat(type, "[", heads, ",");
  return absl::StrCat("graph attention(q: ", c, queries, ",", width, "], k: ", c, keys, ",", width,
                      "], v: ", c, keys, ",", width, "]",
                      mask.empty() ? "" : absl::StrCat(", m: ", type, mask), R"() {
    c = constant )",
                      type, "[] fill ", 1 / std::sqrt(width), R"(
    t = transpose(k) {perm = [0,2,1]} s = matmul(q, t) a = mul(s, c)
    )",
                      mask.empty() ? "" : "b = add(a, m)", R"(
    p = softmax()",
                      mask.empty() ? "a" : "b", R"() {axis = 2} o = matmul(p, v) return o
  })");
}

struct Example {
  std::string graph;
  GridOptions options;
};

Example ProductExample(const char* graph, ProductPrecision precision) {
  Example example{graph, {}};
  example.options.precision = precision;
  return example;
}

// Products by warpgroup with the first tile of so many rows.
Example BulkExample(const char* graph, int rows,
                    ProductPrecision precision = ProductPrecision::kTf32) {
  Example example = ProductExample(graph, precision);
  const auto tiles = codegen::TileShapes(precision);
  const auto tile = std::find_if(tiles.begin(), tiles.end(), [&](const codegen::TileShape& t) {
    return t.stages > 0 && t.rows == rows;
  });
  example.options.tile = TileChoice{static_cast<int>(tile - tiles.begin()), 1};
  return example;
}

Example StreamExample(std::string graph, int rows, int keys,
                      ProductPrecision precision = ProductPrecision::kF16) {
  Example example{std::move(graph), {}};
  example.options.precision = precision;
  example.options.stream = codegen::StreamTile{rows, keys};
  return example;
}

// The answers about the plan's programs with a kernel whose schedule contains `schedule`.
std::vector<kernels::ProgramVerdict> Verdicts(
    const Example& example, const std::string& schedule,
    const std::function<void(GridProgram*)>& change = nullptr) {
  std::vector<kernels::ProgramVerdict> verdicts;
  for (const cuda::CudaStep& step :
       CudaPlanOf(GraphWithWeights(example.graph), example.options).steps) {
    if (step.program == nullptr) continue;
    const bool has = std::any_of(
        step.program->kernels.begin(), step.program->kernels.end(),
        [&](const GridKernel& kernel) { return absl::StrContains(kernel.schedule, schedule); });
    if (has) verdicts.push_back(CheckStep(step, change, example.options.precision));
  }
  return verdicts;
}

void ExpectAgrees(const Example& example, const std::string& schedule) {
  SCOPED_TRACE(example.graph);
  const auto verdicts = Verdicts(example, schedule);
  EXPECT_FALSE(verdicts.empty());
  for (const kernels::ProgramVerdict& verdict : verdicts) {
    EXPECT_EQ(verdict.kind, Kind::kAgrees) << verdict.reason;
  }
}

TEST(TensorCores, ProductsByWarpAgree) {
  for (const char* graph : kProducts) {
    for (ProductPrecision precision : {ProductPrecision::kTf32, ProductPrecision::kF32x3,
                                       ProductPrecision::kF16, ProductPrecision::kBf16}) {
      ExpectAgrees(ProductExample(graph, precision), absl::StrCat(" in ", Name(precision)));
    }
  }
}

TEST(TensorCores, ProductsByWarpgroupAgree) {
  for (const char* graph : kBulkProducts) {
    for (int rows : {64, 128}) ExpectAgrees(BulkExample(graph, rows), " stages in ");
  }
}

TEST(TensorCores, EveryTileAgrees) {
  constexpr char kLarge[] =
      "graph large(x: f32[260,34], w: f32[34,261]) { p = matmul(x, w) return p }";
  for (ProductPrecision precision : {ProductPrecision::kTf32, ProductPrecision::kBf16}) {
    const auto tiles = codegen::TileShapes(precision);
    for (size_t tile = 0; tile < tiles.size(); ++tile) {
      const bool bulk = tiles[tile].stages > 0;
      Example example = ProductExample(bulk ? kBulkProducts[2] : kLarge, precision);
      example.options.tile = TileChoice{static_cast<int>(tile), 1};
      ExpectAgrees(example, tiles[tile].ToString());
    }
  }
}

// Two operands of a step may be widened from one value.
TEST(TensorCores, OneValueInTwoForms) {
  constexpr char kGraph[] = R"(graph forms(x: bf16[128,64]) {
    c = cast(x) {dtype = "f32"} k = transpose(c) {perm = [1,0]} v = reshape(c) {shape = [64,128]}
    s = matmul(v, c) t = matmul(c, k) r = matmul(t, c) return s, r
  })";
  ExpectAgrees(ProductExample(kGraph, ProductPrecision::kBf16), " in ");
}

TEST(TensorCores, StreamsAgree) {
  ExpectAgrees(StreamExample(Attention("f16", 2, 200, 328, 64), 64, 128), "streamed");
  ExpectAgrees(StreamExample(Attention("f16", 1, 200, 328, 64), 192, 64), "streamed");
  ExpectAgrees(StreamExample(Attention("bf16", 1, 136, 520, 128, "[136,520]"), 128, 128),
               "streamed");
  ExpectAgrees(StreamExample(Attention("f32", 2, 72, 136, 64, "[1,136]"), 64, 64), "streamed");
}

// The first occurrence of `from` in the program's text is replaced, or all of them.
struct Fault {
  const char* name;
  enum { kWarp, kBulk, kBulkByTwo, kStream } kernel;
  const char* from;
  const char* to;
  const char* reason;
  bool everywhere = false;
};

constexpr char kValue[] = "another value than its operators define";
constexpr char kRace[] = "without a barrier between";
constexpr char kForEver[] = "for ever";
constexpr char kUnseen[] = "a product reads what a copy may still write";
constexpr char kWaits[] = "not all threads of a warpgroup wait";
constexpr char kEarly[] = "before the phase before is known to be over";
constexpr char kPhase[] = "another phase of a barrier";

constexpr Fault kFaults[] = {
    {"OtherFormat", Fault::kWarp, "WordsBf16::Make", "WordsF16::Make", "words of two formats"},
    {"CutsNumbersOff", Fault::kWarp, "::Make(a_next", "::Join(a_next", "may have more digits"},
    {"WordsSwapped", Fault::kWarp, "(q + w) * 2], a_next", "(q + w) * 2 + 1], a_next", kValue},
    {"FragmentRowsSwapped", Fault::kWarp, "r % 2 * 8 + group][word", "r / 2 * 8 + group][word",
     kValue},
    {"FragmentDepthWrong", Fault::kWarp, "[word + lane + r * 4]", "[word + lane + r * 3]", kValue},
    {"OtherFragment", Fault::kWarp, "left[i], right[j]", "left[i], right[0]", kValue},
    {"SumsOfOtherRows", Fault::kWarp, "&sum[2 * i + 1][2 * j]", "&sum[2 * i][2 * j]", kValue},
    {"DepthLeftOut", Fault::kWarp, "word < 16", "word < 8", kValue},
    {"BarrierLeftOut", Fault::kWarp, "__syncthreads();", "", kRace},
    {"OneBufferForTwo", Fault::kWarp, "stage ^= 1;", "", kRace},
    {"TileOutside", Fault::kWarp, "shared_words, 4864", "shared_words, 4800", "byte 192"},
    {"TilesOverlap", Fault::kWarp, "shared_words + 2560", "shared_words + 2552", kRace},
    {"StoresUnaligned", Fault::kBulk, "lane * 2], Pack", "lane * 2 + 1], Pack", "not aligned"},
    {"ResultColumnsSwapped", Fault::kWarp, "lane * 2 + j % 2", "lane * 2 + 1 - j % 2", kValue},
    {"PaddingNotCleared", Fault::kWarp, "[u][v] = 0;", "[u][v] = 1.0f;", kValue, true},
    {"SharedTooSmall", Fault::kBulk, "shared, 131200", "shared, 131208", "is launched with 131200"},

    {"CopyNotExpected", Fault::kBulk, "[stage], 16384);", "[stage], 8192);", kEarly},
    {"CopyExpectedTwice", Fault::kBulk, "[stage], 16384);", "[stage], 32768);", kForEver},
    {"CopyElsewhere", Fault::kBulk, "{depth, static", "{depth + 1, static", kValue},
    {"CopyOverOther", Fault::kBulk, "16384 + 8192 + row", "16384 + row", "is being written"},
    {"CopyUnaligned", Fault::kBulk, "shared + stage * 16384, map_a",
     "shared + stage * 16384 + 512, map_a", "not aligned"},
    {"CopyWithoutRoom", Fault::kBulk, "step % 8, depth", "step % 2, depth", kEarly},
    {"OtherStage", Fault::kBulk, "const int stage = step % 8;", "const int stage = (step + 1) % 8;",
     kForEver},
    {"WaitLeftOut", Fault::kBulk, "WaitFor(&full[stage], step / 8 % 2);", "", kUnseen},
    {"OtherParity", Fault::kBulk, "step / 8 % 2)", "(step / 8 + 1) % 2)", kPhase},
    {"BarrierCountWrong", Fault::kBulk, "InitBarrier(&full[stage], 1)",
     "InitBarrier(&full[stage], 2)", kForEver},
    {"NotPublished", Fault::kBulk, "PublishBarriers();", "", "not made and published"},
    {"BarriersOverlap", Fault::kBulk, "full + 8;", "full + 7;", "memory that is in use"},
    {"BarriersInTiles", Fault::kBulk, "shared + 131072", "shared + 8192",
     "writes the memory of a barrier"},
    {"DescriptorOfOtherDepth", Fault::kBulk, "a_tile + k * 2", "a_tile + k", kValue},
    {"LinesTheOtherWay", Fault::kBulk, "8, false, true>(sum, TileDescriptor(a_tile + k * 2, false)",
     "8, true, true>(sum, TileDescriptor(a_tile + k * 2, true)", kValue},
    {"LinesSaidTwoWays", Fault::kBulk, "(a_tile + k * 2, false)", "(a_tile + k * 2, true)",
     "other lines"},
    {"FewerColumns", Fault::kBulk, "<WordsBf16, 8,", "<WordsBf16, 16,", "another shape"},
    {"OtherFactorFormat", Fault::kBulk, "<WordsBf16,", "<WordsF16,", "numbers of type bf16 as f16"},
    {"FenceLeftOut", Fault::kBulk, "BeginProducts();", "", "changed since the last BeginProducts"},
    {"CommitLeftOut", Fault::kBulk, "CommitProducts();\n//", "//", "products in flight"},
    {"NoWaitForProducts", Fault::kBulk, "WaitForProducts<0>();\nTakeSums(sum);", "",
     "while products add to it"},
    {"SumsNotTaken", Fault::kBulk, "TakeSums(sum);", "", "while products add to it"},
    {"StagedTooEarly", Fault::kBulkByTwo, "SyncThreads<256>();", "",
     "that the copy engine did not write"},
    {"WarpsDoNotMeet", Fault::kBulk, "__syncwarp();", "", kRace},
    {"StagedElsewhere", Fault::kBulk, "threadIdx.x / 32 * 16;\nSync",
     "threadIdx.x / 32 * 15;\nSync", kRace},
    {"EarlyReturn", Fault::kBulk, "if (threadIdx.x % 128 > 0) return;", "", "too many arrivals"},
    {"BarrierForFewer", Fault::kBulk, "SyncThreads<128>", "SyncThreads<96>",
     "a barrier for the first 96"},
    {"StepLeftOut", Fault::kBulk, "step < 3; ++step) {\nconst int stage = step % 8;",
     "step < 2; ++step) {\nconst int stage = step % 8;", "nobody waits for a copy"},

    {"OneThreadWaits", Fault::kBulk, "WaitFor(&full[stage], step / 8 % 2);",
     "if (threadIdx.x % 128 == 0) WaitFor(&full[stage], step / 8 % 2);", kWaits},
    {"OneWarpWaits", Fault::kStream, "WaitFor(queries, 0);",
     "if (threadIdx.x % 128 < 32) WaitFor(queries, 0);", kWaits},
    {"PublishedByAnother", Fault::kBulk, "PublishBarriers();\n}",
     "}\nif (threadIdx.x == 1) PublishBarriers();", "not made and published"},
    {"PhasePassesWarps", Fault::kBulk, "float sum[2][16];",
     "if (threadIdx.x % 128 == 0) Arrive(&full[7]);\nWaitFor(&full[7], 0);\n"
     "if (threadIdx.x % 128 == 0) Arrive(&full[7]);\nWaitFor(&full[7], 1);\nfloat sum[2][16];",
     "before all have seen the one before"},
    {"WarpgroupsShareAnArray", Fault::kBulkByTwo, "TakeSums(sum);",
     "TakeSums(sum);\n__shared__ float part[128];\npart[threadIdx.x % 128] = sum[0][0];\n"
     "sum[0][0] = part[threadIdx.x % 128];",
     "shares arrays between warpgroups"},
    {"BarriersOfTwoSizes", Fault::kBulkByTwo, "SyncThreads<256>();",
     "if (warpgroup == 0) SyncThreads<128>();\nSyncThreads<256>();", "two sizes"},
    {"OneArrivalForAllThreads", Fault::kBulkByTwo, "__syncwarp();",
     "if (threadIdx.x % 128 == 0) Arrive(&empty[3]);\nWaitFor(&empty[3], 0);", kRace},
    {"TileUnaligned", Fault::kBulk, "(a_tile + k * 2, false)", "(a_tile + 2 + k * 2, false)",
     "a tile that is not aligned"},
    {"ColumnsOfNoProduct", Fault::kBulk, "<WordsBf16, 8,", "<WordsBf16, 4,", "has 32 columns"},

    {"NotReleased", Fault::kStream, "if (first_of_warpgroup) Arrive(&empty[stage]);", "", kForEver},
    {"ReleasedByAll", Fault::kStream, "if (first_of_warpgroup) Arrive(&empty[stage]);",
     "Arrive(&empty[stage]);", kEarly},
    {"ReleasedTooEarly", Fault::kStream,
     "WaitForProducts<1>();\nif (first_of_warpgroup) Arrive(&empty[key_step % 4]);",
     "if (first_of_warpgroup) Arrive(&empty[key_step % 4]);\nWaitForProducts<1>();",
     "may still read"},
    {"QueriesNotAwaited", Fault::kStream, "WaitFor(queries, 0);", "", kUnseen},
    {"TurnNotPassed", Fault::kStream, "PassTurn((warpgroup + 1) % 2);", "", kForEver},
    {"TurnPassedTwice", Fault::kStream, "PassTurn((warpgroup + 1) % 2);",
     "PassTurn((warpgroup + 1) % 2); PassTurn((warpgroup + 1) % 2);", "passed on twice"},
    {"TurnsOneWay", Fault::kStream, "PassTurn((warpgroup + 1) % 2);",
     "if (warpgroup == 0) PassTurn(1); else PassTurn(0);\nif (warpgroup == 0 && tile == 0) "
     "PassTurn(1);",
     "turn is passed on"},
    {"OtherTurn", Fault::kStream, "TakeTurn(warpgroup);", "TakeTurn(0);",
     "the turn of another warpgroup"},
    {"TooManyRegisters", Fault::kStream, "TakeRegisters<232>", "TakeRegisters<248>", "registers"},
    {"RegistersThatNobodyGave", Fault::kStream, "GiveRegisters<40>", "GiveRegisters<48>",
     "registers, of 64512"},
    {"GivesMoreThanItHas", Fault::kStream, "GiveRegisters<40>", "GiveRegisters<200>",
     "a share of 168 registers becomes 200"},
    {"RegistersNotByEights", Fault::kStream, "GiveRegisters<40>", "GiveRegisters<33>",
     "becomes 33"},
    {"RegistersWithoutPromise", Fault::kStream, "__launch_bounds__(384, 1)",
     "__launch_bounds__(384)", "registers"},
    {"CorrectionLeftOut", Fault::kStream, "ScaleSums(sum, rows);", "", kValue},
    {"CorrectedTwice", Fault::kStream, "ScaleSums(sum, rows);",
     "ScaleSums(sum, rows); ScaleSums(sum, rows);", kValue},
    {"DivisionLeftOut", Fault::kStream, "DivideSums(sum, rows);", "", kValue},
    {"KeysBeyondTheEnd", Fault::kStream, "score[i][j] = -Infinity();", "score[i][j] = 0;", kValue,
     true},
    {"MaskOfOtherKeys", Fault::kStream, "p3[(si1 * 328 + si2)]", "p3[(si1 * 328 + 327 - si2)]",
     kValue},
    {"WordsOverwritten", Fault::kStream, "PassTurn((warpgroup + 1) % 2);",
     "PassTurn((warpgroup + 1) % 2); PackScores<WordsF16>(score, words);", "is used by products"},
    {"ScoresTooEarly", Fault::kStream, "WaitForProducts<1>();\nif", "if", "products in flight"},
    {"FirstProductAdds", Fault::kStream, "false, false, false>(score", "false, false, true>(score",
     kValue, true},
    {"PacksScores", Fault::kStream, "TakeScores(score, rows);\nPackScores<WordsF16>(score, words);",
     "PackScores<WordsF16>(score, words);\nTakeScores(score, rows);", "no softmax"},
    {"ConversionLost", Fault::kStream, "fn_stored_f16((score[i][j] + 0.0f))",
     "fn_mul((score[i][j] + 0.0f), 1.0f)", kValue},
    {"KeysLeftOut", Fault::kStream, "k < 64; k += 16) {\nconst uint64 a",
     "k < 48; k += 16) {\nconst uint64 a", kValue},
    {"NumeratorsOfAnotherMaximum", Fault::kStream,
     "TakeScores(score, rows);\nPackScores<WordsF16>(score, words);",
     "float none[2][32], large[2][32], copy[2][32];\nStreamedRow other[2];\n"
     "for (int i = 0; i < 2; ++i) {\nfor (int j = 0; j < 32; ++j) {\n"
     "none[i][j] = -Infinity();\nlarge[i][j] = 10000.0f;\ncopy[i][j] = score[i][j];\n}\n}\n"
     "TakeScores(none, rows);\nTakeScores(large, other);\nTakeScores(copy, other);\n"
     "TakeScores(score, rows);\nPackScores<WordsF16>(copy, words);",
     kValue},
    {"FirstFenceLeftOut", Fault::kBulk, "BeginProducts();\n", "if (step > 0) BeginProducts();\n",
     "changed since the last BeginProducts"},
    {"OtherWords", Fault::kStream, "words[k / 16]", "words[0]", kValue},
};

// Rounding needs a precision that allows it, or operators that round so.
TEST(TensorCores, RoundsOnlyAsAllowed) {
  const auto verdict = [](const Example& example, ProductPrecision allowed) {
    for (const cuda::CudaStep& step :
         CudaPlanOf(GraphWithWeights(example.graph), example.options).steps) {
      for (const GridKernel& kernel : step.program->kernels) {
        if (absl::StrContains(kernel.schedule, " in ")) return CheckStep(step, nullptr, allowed);
      }
    }
    return kernels::ProgramVerdict();
  };
  const Example product = ProductExample(kProducts[0], ProductPrecision::kBf16);
  for (ProductPrecision allowed : {ProductPrecision::kF32, ProductPrecision::kF16}) {
    EXPECT_EQ(verdict(product, allowed).kind, Kind::kWrong);
    EXPECT_THAT(verdict(product, allowed).reason, testing::HasSubstr("which no precision allows"));
  }
  // With kStored, only what is a number of the format already.
  EXPECT_EQ(verdict(product, ProductPrecision::kStored).kind, Kind::kWrong);
  for (const char* graph : {"graph halves(x: f16[34,72], w: f16[72,36]) { a = cast(x) {dtype = "
                            "\"f32\"} b = cast(w) {dtype = \"f32\"} p = matmul(a, b) return p }",
                            R"(graph rounded(x: f32[34,72], w: f16[72,36]) {
                              h = cast(x) {dtype = "f16"} a = cast(h) {dtype = "f32"}
                              b = cast(w) {dtype = "f32"} p = matmul(a, b) return p
                            })",
                            R"(graph tf32(x: f32[34,72], w: f16[72,36]) {
                              a = round_tf32(x) b = cast(w) {dtype = "f32"}
                              p = matmul(a, b) return p
                            })",
                            R"(graph padded(x: f32[2,9,13,11], w: f32[34,9,3,3]) {
                              a = round_tf32(x) b = round_tf32(w)
                              c = conv2d(a, b) {pads = [1,1,1,1]} return c
                            })"}) {
    const Example exact = ProductExample(graph, ProductPrecision::kStored);
    EXPECT_EQ(verdict(exact, ProductPrecision::kStored).kind, Kind::kAgrees)
        << verdict(exact, ProductPrecision::kStored).reason;
  }
  // A kernel that leaves out an operator that rounds is wrong, although the tensor cores round too.
  const Example tf32 = ProductExample(R"(graph tf32(x: f32[34,72], w: f32[72,36]) {
    a = round_tf32(x) b = round_tf32(w) p = matmul(a, b) return p
  })",
                                      ProductPrecision::kStored);
  const auto faulty = Verdicts(tf32, " in tf32", [](GridProgram* program) {
    std::string& code = program->kernels[0].code;
    const size_t at = code.find("fn_round_tf32");
    ASSERT_NE(at, std::string::npos);
    code.replace(at, std::string("fn_round_tf32").size(), "");
  });
  ASSERT_EQ(faulty.size(), 1u);
  EXPECT_EQ(faulty[0].kind, Kind::kWrong);
  EXPECT_THAT(faulty[0].reason, testing::HasSubstr("which no precision allows"));
  // The softmax of the second one is f32 and not rounded by an operator.
  const Example rounded = StreamExample(Attention("f16", 1, 72, 136, 64), 64, 64);
  EXPECT_EQ(verdict(rounded, ProductPrecision::kF32).kind, Kind::kAgrees);
  EXPECT_EQ(verdict(rounded, ProductPrecision::kStored).kind, Kind::kAgrees);
  const Example stored = StreamExample(Attention("f32", 2, 72, 136, 64), 64, 64);
  EXPECT_EQ(verdict(stored, ProductPrecision::kStored).kind, Kind::kWrong);
  EXPECT_EQ(verdict(stored, ProductPrecision::kF16).kind, Kind::kAgrees);
  EXPECT_EQ(verdict(stored, ProductPrecision::kF32).kind, Kind::kWrong);
}

// Attention of random sizes and masks, by random tiles.
TEST(TensorCores, RandomStreamsAgree) {
  std::mt19937 random(7);
  const auto pick = [&](int from, int to) {
    return from + static_cast<int>(random() % static_cast<unsigned>(to - from + 1));
  };
  for (int round = 0; round < 24; ++round) {
    const bool f16 = pick(0, 1) == 1;
    const int queries = pick(1, 150), keys = 8 * pick(1, 50), width = 8 * pick(1, 16);
    const std::string masks[] = {"", absl::StrCat("[1,", keys, "]"),
                                 absl::StrCat("[", queries, ",", keys, "]")};
    Example example = StreamExample(
        Attention(f16 ? "f16" : "bf16", pick(1, 3), queries, keys, width, masks[pick(0, 2)]),
        64 * pick(1, 3), 64 * pick(1, 2), f16 ? ProductPrecision::kF16 : ProductPrecision::kBf16);
    ExpectAgrees(example, "streamed");
  }
}

Example ExampleOf(const Fault& fault) {
  switch (fault.kernel) {
    case Fault::kWarp:
      return ProductExample(kProducts[0], ProductPrecision::kBf16);
    case Fault::kBulk:
      return ProductExample(kBulkProducts[0], ProductPrecision::kTf32);
    case Fault::kBulkByTwo:
      return BulkExample(kBulkProducts[0], 128);
    default:
      return StreamExample(Attention("f16", 1, 200, 328, 64, "[200,328]"), 128, 128);
  }
}

TEST(TensorCores, EachFaultIsRefused) {
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
    const auto verdicts = Verdicts(ExampleOf(fault), " in ", put);
    ASSERT_EQ(verdicts.size(), 1u);
    EXPECT_TRUE(changed);
    EXPECT_NE(verdicts[0].kind, Kind::kAgrees);
    EXPECT_THAT(verdicts[0].reason, testing::HasSubstr(fault.reason));
  }
}

}  // namespace
}  // namespace lemma
