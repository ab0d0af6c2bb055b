// `lemma run --profile`, `--trace`, `--backend=cuda`, `--fusion` and `lemma show --plan`.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;

constexpr char kLayers[] = R"(graph layers(x: f32[32,64]) {
  w = scalar_mul(x) {alpha = 0.5}
  t = transpose(w) {perm = [1,0]}
  p = matmul(x, t)
  r = relu(p)
  s = softmax(r)
  return s
}
)";

// The number behind `key` in JSON.
double NumberOf(const std::string& json, const std::string& key) {
  const size_t at = json.find("\"" + key + "\":");
  EXPECT_NE(at, std::string::npos) << key << " in " << json;
  return at == std::string::npos ? 0 : std::atof(json.c_str() + at + key.size() + 3);
}

TEST(ProfileTest, CountsWorkAndComparesItWithTheRoofline) {
  const std::string model = WriteTemp("layers.txt", kLayers);
  for (const char* backend : {"cpu", "reference"}) {
    const LemmaResult run = RunLemma(
        {"run", model, "--profile", "--json", "--runs=3", std::string("--backend=") + backend});
    ASSERT_EQ(run.exit_status, 0) << run.err;
    // 32 x 32 x 64 products and as many sums, 32 x 32 activations, more in softmax.
    EXPECT_GT(NumberOf(run.out, "flops"), 2 * 32 * 32 * 64) << run.out;
    EXPECT_LT(NumberOf(run.out, "flops"), 3 * 32 * 32 * 64) << run.out;
    EXPECT_GT(NumberOf(run.out, "roof_flops_per_second"), 1e6);
    EXPECT_GT(NumberOf(run.out, "roof_bytes_per_second"), 1e6);
    EXPECT_GT(NumberOf(run.out, "mfu"), 0);
    EXPECT_GT(NumberOf(run.out, "flops_per_byte"), 0);
  }
  const LemmaResult table = RunLemma({"run", model, "--profile", "--runs=3"});
  EXPECT_THAT(table.out, HasSubstr("flop/B"));
  EXPECT_THAT(table.out, HasSubstr("MFU"));
}

// oneDNN's reference code is a hundred times slower than its other code. With AVX2 and no more,
// that is all there is for a sum behind other post-operations.
TEST(ProfileTest, NoReferenceCodeWithAvx2) {
  const std::string model = WriteTemp(
      "residual.txt",
      "graph residual(x: f32[1,16,14,14], f: weight f32[16,16,3,3] = fill 0.5, s: weight f32[16] = "
      "fill 0.5, b: weight f32[16] = fill 0.5, m: weight f32[16] = fill 0.5, v: weight f32[16] = "
      "fill 0.5) {\n  c = conv2d(x, f) {pads = [1,1,1,1]}\n"
      "  n = batch_norm(c, s, b, m, v)\n  a = add(n, x)\n  r = relu(a)\n  return r\n}\n");
  const LemmaResult run =
      RunLemmaUnder({"env", "DNNL_MAX_CPU_ISA=AVX2"}, {"run", model, "--profile", "--runs=1"});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("jit:"));
  EXPECT_THAT(run.out, ::testing::Not(HasSubstr("ref:"))) << run.out;
}

TEST(ProfileTest, BlocksOfOneValueAreOneRow) {
  const std::string model =
      WriteTemp("attention.txt",
                "graph attention(q: f32[8,700,8], k: f32[8,8,650], v: f32[8,650,8]) {\n"
                "  s = matmul(q, k)\n  p = softmax(s) {axis = -1}\n  y = matmul(p, v)\n"
                "  return y\n}\n");
  const LemmaResult run = RunLemma({"run", model, "--profile", "--runs=1"});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  EXPECT_THAT(run.out, ::testing::ContainsRegex("softmax .* [0-9]+ times"));
  EXPECT_LT(std::count(run.out.begin(), run.out.end(), '\n'), 12) << run.out;
}

TEST(ProfileTest, WritesATrace) {
  const std::string model = WriteTemp("layers.txt", kLayers), file = NewFolder() + "/trace.json";
  const LemmaResult run = RunLemma({"run", model, "--runs=1", "--trace=" + file});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  const std::string trace = ReadAll(file);
  EXPECT_THAT(trace, HasSubstr("\"traceEvents\":["));
  EXPECT_THAT(trace, HasSubstr("\"name\":\"softmax\",\"cat\":\"kernel\",\"ph\":\"X\""));
  EXPECT_GT(NumberOf(trace, "dur"), 0);
}

TEST(ProfileTest, ShowsPlansWithoutADevice) {
  const std::string model = WriteTemp("layers.txt", kLayers);
  for (const char* backend : {"cpu", "cuda"}) {
    const LemmaResult text = RunLemma({"show", model, std::string("--plan=") + backend});
    ASSERT_EQ(text.exit_status, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr(std::string("kernels on ") + backend + ", peak memory"));
  }
  ExpectOneLine(RunLemma({"show", model, "--plan=reference"}), {"makes no plans"});
}

TEST(ProfileTest, FusionOfLayoutCanBeOff) {
  const std::string model = WriteTemp("g.lemma",
                                      "graph g(x: f32[6,9], w: weight f32[6,4] = fill 1.0) {\n"
                                      "t = transpose(x) {perm = [1,0]}\n y = matmul(t, w)\n"
                                      "return y }");
  for (const char* fusion : {"on", "off"}) {
    const std::string flag = std::string("--fusion=") + fusion, folder = NewFolder();
    const std::string db = folder + "/a.sqlite", out = folder + "/out.lemma";
    const bool off = std::string(fusion) == "off";
    EXPECT_THAT(RunLemma({"show", model, "--plan=cpu", flag}).out,
                HasSubstr(off ? "2 kernels on cpu" : "1 kernel on cpu"));
    EXPECT_EQ(absl::StrContains(RunLemma({"run", model, "--profile", flag}).out, "transpose"), off);
    EXPECT_EQ(
        RunLemma({"optimize", model, "-o", out, "--cost-db", db, "--runs=3", flag}).exit_status, 0);
    EXPECT_EQ(absl::StrContains(RunLemma({"costs", "--cost-db", db}).out, ", fusion off"), off);
  }
  ExpectOneLine(RunLemma({"run", model, "--fusion=maybe"}), {"--fusion", "maybe", "on, off"});
  ExpectOneLine(RunLemma({"run", model, "--fusion=off", "--backend=reference"}),
                {"--fusion=off: the back end cpu knows it, reference does not"});
  ExpectOneLine(RunLemma({"show", model, "--fusion=off", "--plan=cuda"}), {"--fusion=off"});
}

TEST(ProfileTest, ProductsOnCudaHaveAPrecision) {
  const std::string model =
      WriteTemp("g.lemma", "graph g(x: f32[96,80], w: f32[80,64]) { y = matmul(x, w) return y }");
  EXPECT_THAT(RunLemma({"show", model, "--plan=cuda"}).out, Not(HasSubstr("bf16")));
  EXPECT_THAT(RunLemma({"show", model, "--plan=cuda", "--precision=bf16"}).out,
              HasSubstr("in bf16"));
  ExpectOneLine(RunLemma({"run", model, "--precision=bf16"}),
                {"--precision: only the back ends cuda and cuda-generated"});
  ExpectOneLine(RunLemma({"show", model, "--plan=cpu", "--precision=tf32"}), {"--precision"});
  ExpectOneLine(RunLemma({"run", model, "--precision=f8", "--backend=cuda"}),
                {"--precision", "f8", "f32, f32x3, tf32, f16, bf16"});
}

TEST(ProfileTest, TilesOfAFileAreUsed) {
  const std::string model = WriteTemp(
      "g.lemma", "graph g(x: f32[512,256], w: f32[256,512]) { y = matmul(x, w) return y }");
  const std::string size = "f32 1x512x512x256 work 0+0", tile = "128x128x8 by 256";
  const std::string tiles = WriteTemp(
      "tiles.txt", "lemma tiles 1\ndevice test\n" + size + ": " + tile + ", 5 us (before: 6)\n");
  EXPECT_THAT(RunLemma({"show", model, "--plan=cuda", "--tiles=model"}).out, Not(HasSubstr(tile)));
  EXPECT_THAT(RunLemma({"show", model, "--plan=cuda", "--tiles=" + tiles}).out, HasSubstr(tile));
  ExpectOneLine(RunLemma({"show", model, "--plan=cuda", "--tiles=" + model}),
                {"--tiles: ", "g.lemma: not a file of tiles"});
  ExpectOneLine(RunLemma({"tune", model, "--most=0"}), {"--most: 0 is not in 1…1000"});
}

TEST(ProfileTest, PrecisionsHaveErrors) {
  const std::string model =
      WriteTemp("g.lemma", "graph g(x: f32[96,80], w: f32[80,64]) { y = matmul(x, w) return y }");
  const LemmaResult all = RunLemma({"precision", model});
  EXPECT_EQ(all.exit_status, 0) << all.err;
  for (const char* name : {"f32 ", "f32x3 ", "tf32 ", "f16 ", "bf16 "}) {
    EXPECT_THAT(all.out, HasSubstr(name));
  }
  const LemmaResult one = RunLemma({"precision", model, "--precision=bf16", "--json"});
  EXPECT_EQ(one.exit_status, 0) << one.err;
  EXPECT_EQ(NumberOf(one.out, "products"), 1);
  EXPECT_EQ(NumberOf(one.out, "terms"), 80);
  EXPECT_GT(NumberOf(one.out, "relative"), 1e-4);
  EXPECT_LT(NumberOf(one.out, "relative"), NumberOf(one.out, "bound"));
  ExpectOneLine(RunLemma({"precision", model, "--precision=stored"}),
                {"--precision: stored is none of f32, f32x3, tf32, f16, bf16"});
  ExpectOneLine(RunLemma({"precision", model, "--architecture=70"}),
                {"--architecture: must be 80 or 90"});
}

TEST(ProfileTest, PlansOfModelsStateTheirPeak) {
  for (const char* name :
       {"bvlc_alexnet", "densenet121", "inception_v1", "resnet50", "squeezenet", "vgg19"}) {
    const std::string model = std::string("data/models/light/light_") + name + ".onnx";
    const LemmaResult plan = RunLemma({"show", model, "--plan=cuda", "--json"});
    ASSERT_EQ(plan.exit_status, 0) << plan.err;
    EXPECT_GT(NumberOf(plan.out, "kernels"), 10) << name;
    EXPECT_GE(NumberOf(plan.out, "peak_bytes"), NumberOf(plan.out, "live_bytes")) << name;
    // At most the values of the largest layers, however deep the model is.
    EXPECT_LT(NumberOf(plan.out, "peak_bytes"), 64e6) << name;
    EXPECT_GT(NumberOf(plan.out, "weight_bytes"), 1e6) << name;
  }
}

TEST(ProfileTest, WithoutADeviceIsOneLine) {
  const LemmaResult run =
      RunLemma({"run", WriteTemp("layers.txt", kLayers), "--backend=cuda", "--runs=1"});
  if (run.exit_status == 0) GTEST_SKIP() << "there is one";
  ExpectOneLine(run, {"layers.txt", "no CUDA device: "});
}

}  // namespace
}  // namespace lemma
