// The command at work on a small model.
#include <fstream>
#include <string>
#include <type_traits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A convolution, a batch normalization, an activation.
std::string ConvModel() {
  onnx::ModelProto model = OnnxModel(
      "g (float[1,3,8,8] x) => (float[1,4,8,8] y) {"
      "  c = Conv <pads = [1,1,1,1]> (x, w)"
      "  b = BatchNormalization (c, scale, shift, mean, variance)"
      "  y = Relu(b) }");
  AddOnes(&model, "w", {4, 3, 3, 3});
  for (const char* name : {"scale", "shift", "mean", "variance"}) AddOnes(&model, name, {4});
  return WriteTemp("conv.onnx", model.SerializeAsString());
}

TEST(LemmaTest, OptimizesAndTheResultComputesTheSame) {
  const std::string model = ConvModel(), folder = NewFolder();
  LemmaResult before = RunLemma({"run", model, "--reseed-weights=1", "--outputs=" + folder});
  ASSERT_EQ(before.exit_status, 0) << before.err;
  const std::string out = folder + "/out.onnx";
  LemmaResult optimized =
      RunLemma({"optimize", model, "-o", out, "--reseed-weights=1", "--cost=analytic", "--json"});
  ASSERT_EQ(optimized.exit_status, 0) << optimized.err;
  EXPECT_THAT(optimized.out, HasSubstr("\"operators_before\":3"));
  EXPECT_THAT(FilesIn(folder), ElementsAre("out.onnx", "out.onnx.cert", "output_0.pb"));
  LemmaResult after = RunLemma({"run", out, "--expect=" + folder});
  EXPECT_EQ(after.exit_status, 0) << after.out << after.err;
  EXPECT_THAT(after.out, HasSubstr("as expected"));
}

TEST(LemmaTest, ATargetNeedsItsLibrary) {
  const std::string model = ConvModel(), out = NewFolder() + "/out.onnx";
  ExpectOneLine(RunLemma({"optimize", model, "-o", out, "--target=onnxruntime",
                          "--onnxruntime=/nowhere/libonnxruntime.so"}),
                {"--target=onnxruntime needs ONNX Runtime's library", "/nowhere/libonnxruntime.so",
                 "tools/lib/ort installs it", "--onnxruntime"});
  ExpectOneLine(
      RunLemma({"optimize", model, "-o", out, "--target=onnxruntime", "--backend=reference"}),
      {"--backend: not with --target"});
}

TEST(LemmaTest, CostsAreComparedWithARun) {
  const std::string model = ConvModel(), db = NewFolder() + "/a.sqlite";
  LemmaResult text = RunLemma({"costs", "check", model, "--cost-db", db, "--runs=3"});
  ASSERT_EQ(text.exit_status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("conv"));
  EXPECT_THAT(text.out, HasSubstr("the whole run takes"));
  LemmaResult json = RunLemma({"costs", "check", model, "--cost-db", db, "--runs=3", "--json"});
  EXPECT_THAT(json.out, HasSubstr("\"signature\":\"conv(f32[1,3,8,8]"));
  EXPECT_THAT(json.out, HasSubstr("\"predicted_ms\":"));
  EXPECT_THAT(RunLemma({"costs", "check", model, "--cost-db", db, "--runs=3", "--learn"}).out,
              HasSubstr("learned the times of"));
  EXPECT_THAT(RunLemma({"costs", "check", model, "--cost-db", db, "--runs=3", "--learn"}).out,
              Not(HasSubstr("learned the times of")));
  LemmaResult bad = RunLemma({"costs", "check", model, "--backend=reference"});
  EXPECT_EQ(bad.exit_status, 2);
  EXPECT_THAT(bad.err, HasSubstr("the kernels of reference are not measured"));
}

// Each strategy works; those that prove a bound print it.
TEST(LemmaTest, OptimizesByTheStrategyThatIsAskedFor) {
  const std::string model = ConvModel(), folder = NewFolder(), out = folder + "/out.onnx";
  ASSERT_EQ(RunLemma({"run", model, "--outputs=" + folder}).exit_status, 0);
  std::string predicted;
  for (const std::string search : {"backtracking", "saturation", "auto", "descent"}) {
    LemmaResult result =
        RunLemma({"optimize", model, "-o", out, "--cost=analytic", "--execution=off",
                  "--search=" + search, "--nodes=200", "--json"});
    ASSERT_EQ(result.exit_status, 0) << result.err;
    // Without timing the graph that was found is written, so all strategies write the same price.
    const size_t at = result.out.find("\"predicted_ms_after\"");
    ASSERT_NE(at, std::string::npos);
    const std::string found = result.out.substr(at, result.out.find(',', at) - at);
    if (predicted.empty()) predicted = found;
    EXPECT_EQ(found, predicted) << search;
    if (search == "backtracking" || search == "descent") {
      EXPECT_THAT(result.out, Not(HasSubstr("bound_ms")));
    } else {
      EXPECT_THAT(result.out, HasSubstr("\"bound_ms\":0."));
    }
    EXPECT_EQ(RunLemma({"run", out, "--expect=" + folder}).exit_status, 0) << search;
    EXPECT_EQ(RunLemma({"check", model, out, out + ".cert"}).exit_status, 0) << search;
  }
  EXPECT_THAT(
      RunLemma({"optimize", model, "-o", out, "--cost=analytic", "--search=saturation"}).out,
      HasSubstr("costs less than"));
  ExpectOneLine(RunLemma({"optimize", model, "-o", out, "--search=quick"}),
                {"--search", "backtracking", "saturation", "auto", "descent"});
  for (const char* nodes : {"--nodes=0", "--nodes=-5", "--nodes=100001"}) {
    ExpectOneLine(RunLemma({"optimize", model, "-o", out, nodes}), {"--nodes", "1 to 100000"});
  }
  ExpectOneLine(RunLemma({"optimize", model, "-o", out, "--nodes=many"}), {"--nodes", "many"});
}

// Measuring fills one database. Its costs go to another one as text, under another device's name,
// and give the same result there without measuring.
TEST(LemmaTest, CostsTravelAsText) {
  const std::string model = WriteTemp("g.lemma", R"(graph g(x: f32[64,64], y: f32[64,64]) {
    a = relu(x) b = relu(y) c = add(a, b) return c })");
  const std::string folder = NewFolder();
  const std::string db = folder + "/a.sqlite", text = folder + "/costs.txt";
  LemmaResult measured = RunLemma({"optimize", model, "-o", folder + "/a.lemma", "--cost-db", db});
  ASSERT_EQ(measured.exit_status, 0) << measured.err;
  LemmaResult exported = RunLemma({"costs", "export", "--cost-db", db, "-o", text});
  ASSERT_EQ(exported.exit_status, 0) << exported.err;
  std::string costs = ReadAll(text);
  const size_t at = costs.find("device ") + 7;
  costs.replace(at, costs.find('\n', at) - at, "far away");
  const std::string other = WriteTemp("far.txt", costs), far_db = folder + "/b.sqlite";
  LemmaResult imported = RunLemma({"costs", "import", other, "--cost-db", far_db, "--json"});
  ASSERT_EQ(imported.exit_status, 0) << imported.err;
  EXPECT_THAT(imported.out, HasSubstr("\"kept\":0"));
  EXPECT_THAT(RunLemma({"costs", "--cost-db", far_db}).out, HasSubstr("far away"));
  std::vector<std::string> results;
  for (const char* name : {"/b.lemma", "/c.lemma"}) {
    LemmaResult optimized = RunLemma(
        {"optimize", model, "-o", folder + name, "--cost-db", far_db, "--device", "far away"});
    ASSERT_EQ(optimized.exit_status, 0) << optimized.err;
    EXPECT_THAT(optimized.out, HasSubstr("not timed"));
    results.push_back(ReadAll(folder + name));
  }
  EXPECT_EQ(results[0], results[1]);
  // The GPU need not be present either.
  LemmaResult gpu =
      RunLemma({"optimize", model, "-o", folder + "/g.lemma", "--cost-db", far_db, "--device",
                "far away", "--backend", "cuda", "--wanted", folder + "/wanted.txt"});
  EXPECT_EQ(gpu.exit_status, 0) << gpu.err;
  // No kernel of a GPU has a cost here.
  EXPECT_THAT(ReadAll(folder + "/wanted.txt"), HasSubstr("\n# kernel "));
  EXPECT_THAT(gpu.err, HasSubstr("1 kernel of far away has no cost and was estimated: "));
  ExpectOneLine(RunLemma({"costs", "measure", text}), {"not a file of wanted kernels"});
  ExpectOneLine(RunLemma({"optimize", model, "-o", folder + "/g.lemma", "--wanted", "w.txt"}),
                {"--wanted: needs --device, and --backend cuda"});
  LemmaResult again = RunLemma({"costs", "export", "--cost-db", far_db});
  EXPECT_EQ(again.out, costs);
  ExpectOneLine(RunLemma({"optimize", model, "-o", folder + "/d.lemma", "--cost-db", far_db,
                          "--device", "nowhere"}),
                {"nowhere", "far away"});
}

TEST(LemmaTest, ReportsAsAPage) {
  const std::string model = WriteTemp("g.lemma", R"(graph g(x: f32[256,512]) {
    a = transpose(x) {perm = [1, 0]} b = transpose(a) {perm = [1, 0]}
    c = relu(b) return c })");
  const std::string folder = NewFolder(), db = folder + "/a.sqlite";
  // Optimized for a device that is not present, so that no timing decides.
  const std::string costs = WriteTemp("c.txt", "lemma costs 2\ndevice d\n0.001 0 1 0 0 0 none\n");
  ASSERT_EQ(RunLemma({"costs", "import", costs, "--cost-db", db}).exit_status, 0);
  LemmaResult result = RunLemma({"optimize", model, "-o", folder + "/o.lemma", "--cost-db", db,
                                 "--device", "d", "--report", folder + "/r.html"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  const std::string page = ReadAll(folder + "/r.html");
  EXPECT_THAT(page, HasSubstr("g.lemma"));
  EXPECT_THAT(page, HasSubstr("time, predicted"));
  EXPECT_THAT(page, HasSubstr("\"changed\":true"));  // an operator that the other graph lacks
  EXPECT_THAT(page, HasSubstr("proved bit_exact"));  // the rule that was used, with its record
  ExpectOneLine(RunLemma({"optimize", model, "-o", folder + "/o.lemma", "--report",
                          folder + "/missing/r.html"}),
                {"missing"});
}

TEST(LemmaTest, SaysWhenOutputsDiffer) {
  const std::string model = ConvModel(), folder = NewFolder();
  ASSERT_EQ(RunLemma({"run", model, "--reseed-weights=1", "--outputs=" + folder}).exit_status, 0);
  LemmaResult other = RunLemma({"run", model, "--reseed-weights=2", "--expect=" + folder});
  EXPECT_EQ(other.exit_status, 1);
  EXPECT_THAT(other.out, HasSubstr("DIFFER"));
}

TEST(LemmaTest, BackendsAgree) {
  const std::string model = ConvModel(), folder = NewFolder();
  ASSERT_EQ(
      RunLemma({"run", model, "--reseed-weights=3", "--backend=reference", "--outputs=" + folder})
          .exit_status,
      0);
  EXPECT_EQ(RunLemma({"run", model, "--reseed-weights=3", "--expect=" + folder}).exit_status, 0);
}

TEST(LemmaTest, TextAndProtobufReadBack) {
  const std::string model = ConvModel(), folder = NewFolder();
  LemmaResult text = RunLemma({"show", model, "--values"});
  ASSERT_EQ(text.exit_status, 0) << text.err;
  const std::string copy = WriteTemp("copy.lemma", text.out);
  EXPECT_THAT(text.out, StartsWith("# ONNX, operator set 17, IR version 8, by test\n"));
  EXPECT_EQ(RunLemma({"show", copy, "--values"}).out, text.out.substr(text.out.find('\n') + 1));
  const std::string proto = folder + "/copy.pb";
  LemmaResult saved = RunLemma({"optimize", copy, "-o", proto, "--cost=analytic"});
  ASSERT_EQ(saved.exit_status, 0) << saved.err;
  LemmaResult shown = RunLemma({"show", proto, "--json"});
  EXPECT_EQ(shown.exit_status, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("\"format\":\"proto\""));
}

// A model that no rule makes faster is copied, with the file of its weights.
TEST(LemmaTest, AModelThatIsKeptIsCopied) {
  const std::string folder = NewFolder(), other = NewFolder();
  auto model = OnnxModel("g (float[N,4] x) => (float[N,4] y) { y = Add(x, w) }", 9);
  AddOnes(&model, "w", {4});
  auto* weight = model.mutable_graph()->mutable_initializer(0);
  const std::string values(16, '@');  // 3.0039 each
  weight->clear_float_data();
  weight->set_data_location(std::decay_t<decltype(*weight)>::EXTERNAL);
  auto* location = weight->add_external_data();
  location->set_key("location");
  location->set_value("w.bin");
  model.mutable_graph()->mutable_node(0)->set_doc_string("adds");
  std::ofstream(folder + "/w.bin") << values;
  std::ofstream(folder + "/m.onnx") << model.SerializeAsString();
  const std::string in = folder + "/m.onnx";
  for (const std::string& out : {other + "/o.onnx", folder + "/o.onnx"}) {
    const LemmaResult result = RunLemma({"optimize", in, "-o", out, "--cost=analytic", "--runs=3"});
    ASSERT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(ReadAll(out), ReadAll(in));
    const LemmaResult checked = RunLemma({"check", in, out, out + ".cert"});
    EXPECT_EQ(checked.exit_status, 0) << checked.out << checked.err;
  }
  EXPECT_EQ(ReadAll(other + "/w.bin"), values);
  // Another file of that name is not replaced: the weights go into the model then.
  std::ofstream(other + "/w.bin") << "something else";
  const std::string out = other + "/p.onnx";
  const LemmaResult result = RunLemma({"optimize", in, "-o", out, "--cost=analytic", "--runs=3"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(ReadAll(other + "/w.bin"), "something else");
  EXPECT_EQ(RunLemma({"check", in, out, out + ".cert"}).exit_status, 0);
}

// Optimizes a graph in the text form without measuring. Returns the written graph.
std::string Optimized(const std::string& graph, const std::string& numerics) {
  const std::string out = NewFolder() + "/out.lemma";
  LemmaResult result = RunLemma({"optimize", WriteTemp("g.lemma", graph), "-o", out,
                                 "--cost=analytic", "--runs=3", "--numerics=" + numerics});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  return ReadAll(out);
}

TEST(LemmaTest, ConstantsThatOverflowAreNotMerged) {
  const std::string graph =
      "graph g(x: f32[4], c: weight f32[4] = fill 3e38, d: weight f32[4] = fill 3e38) {"
      " p = add(x, c) z = add(p, d) return z }";
  EXPECT_THAT(Optimized(graph, "reassociate"), Not(HasSubstr("inf")));
}

TEST(LemmaTest, ExactKeepsTheSignOfZero) {
  const std::string graph =
      "graph g(x: f32[4]) { z = constant f32[] fill -0.0 y = sub(x, z) w = relu(y) return w }";
  EXPECT_THAT(Optimized(graph, "exact"), HasSubstr("sub("));
}

TEST(LemmaTest, ExactIsBitForBit) {
  const std::string graph =
      "graph g(y: f32[1,3,9,9], k: f32[5,3,3,3]) {"
      " p = pad(y) {pads = [0,0,1,1,0,0,1,1]}"
      " c = conv2d(p, k) {pads = [1,0,0,1], strides = [2,1]} return c }";
  const std::string model = WriteTemp("g.lemma", graph);
  const std::string out = WriteTemp("out.lemma", Optimized(graph, "exact"));
  const std::string before = NewFolder(), after = NewFolder();
  ASSERT_EQ(RunLemma({"run", model, "--outputs=" + before}).exit_status, 0);
  ASSERT_EQ(RunLemma({"run", out, "--outputs=" + after}).exit_status, 0);
  EXPECT_EQ(ReadAll(before + "/output_0.pb"), ReadAll(after + "/output_0.pb"));
}

TEST(LemmaTest, LargeIntegersStayExact) {
  const std::string graph =
      "graph g(x: i64[4]) { c = constant i64[] fill 9007199254740993 y = mul(x, c) return y }";
  EXPECT_THAT(Optimized(graph, "reassociate"), HasSubstr("9007199254740993"));
}

TEST(LemmaTest, Shows) {
  const std::string model = ConvModel();
  EXPECT_THAT(RunLemma({"show", model}).out, HasSubstr("conv2d"));
  EXPECT_THAT(RunLemma({"show", model, "--format=dot"}).out, StartsWith("digraph"));
  EXPECT_THAT(RunLemma({"show", model, "--format=ops"}).out, HasSubstr("batch_norm"));
  EXPECT_THAT(RunLemma({"show", model, "--json"}).out, HasSubstr("\"operators\":3"));
}

TEST(LemmaTest, Profiles) {
  LemmaResult result = RunLemma({"run", ConvModel(), "--profile", "--runs=3"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("kernel"));
}

TEST(LemmaTest, Serves) {
  const std::string folder = NewFolder();
  LemmaResult result =
      RunLemma({"run", ConvModel(), "--serve"}, "run 3\nsave " + folder + "\nquit\n");
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("{\"ready\":true}\n{\"ms\":["));
  EXPECT_THAT(result.out, HasSubstr("{\"saved\":1}"));
  EXPECT_THAT(FilesIn(folder), ElementsAre("output_0.pb"));
}

TEST(LemmaTest, HelpAndVersion) {
  EXPECT_THAT(RunLemma({"--version"}).out, StartsWith("lemma "));
  EXPECT_EQ(RunLemma({"--help"}).exit_status, 0);
  EXPECT_EQ(RunLemma({}).exit_status, 2);
  for (const char* command :
       {"check", "costs", "optimize", "prove", "rules", "run", "show", "verify"}) {
    LemmaResult help = RunLemma({command, "--help"});
    EXPECT_EQ(help.exit_status, 0);
    EXPECT_THAT(help.out, StartsWith(std::string("Usage: lemma ") + command));
  }
}

}  // namespace
}  // namespace lemma
