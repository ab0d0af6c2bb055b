#include "api/run.h"

#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "api/execution/run_server.h"
#include "api/models/random_values.h"
#include "api/models/tensor_files.h"
#include "api/optimization/hints.h"
#include "graph/builder.h"
#include "graph/sizes/symbolic_size.h"
#include "gtest/gtest.h"
#include "tests/api/model_text.h"

namespace lemma {
namespace {

constexpr char kSum[] = "graph g(x: f32[2,3]) { y = add(x, x) return y }";

api::RunOptions Reference() {
  api::RunOptions options;
  options.execution.backend = "reference";
  options.runs = 3;
  return options;
}

TEST(RunTest, GivesOutputsAndTimes) {
  const std::string folder = NewTestFolder();
  const api::Model model = ModelOf(kSum);
  api::RunOptions options = Reference();
  options.trace = true;
  options.on_outputs = [&](const std::vector<Tensor>& outputs) {
    return api::SaveOutputs(model.graph, outputs, folder);
  };
  auto result = api::Run(model, options);
  ASSERT_TRUE(result.ok()) << result.status();
  auto inputs = api::InputsOf(model, options.inputs);
  ASSERT_TRUE(inputs.ok());
  EXPECT_EQ(result->outputs[0].AtDouble(1), 2 * (*inputs)[0].AtDouble(1));
  EXPECT_EQ(result->ms.size(), 3u);
  EXPECT_EQ(result->trace.size(), 1u);
  EXPECT_TRUE(result->profile.empty());
  EXPECT_FALSE(result->difference);

  options.expect = {folder};
  result = api::Run(model, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->difference->ok);
}

TEST(RunTest, RandomIntegersReachWhatTheyAreComparedWith) {
  const api::Model model = ModelOf(R"(graph g(x: f32[2], rate: i64[1], ids: i64[64]) {
  hz = constant i64[] fill 16000
  pad = constant i64[] fill 7
  r = reshape(rate) {shape = []}
  c = equal(r, hz)
  p = equal(ids, pad)
  a = neg(x)
  y = where(c, a, x)
  return y, p
})");
  std::vector<int64_t> rates;
  int64_t pads = 0;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const auto inputs = api::RandomInputs(model.graph, seed, 2);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    rates.push_back((*inputs)[1].AtInt(0));
    for (int64_t i = 0; i < 64; ++i) pads += (*inputs)[2].AtInt(i) == 7;
  }
  EXPECT_EQ(rates[0], 16000);
  EXPECT_LT(rates[1], 2);
  EXPECT_EQ(rates[2], 16001);
  EXPECT_GT(pads, 32);
  EXPECT_LT(pads, 160);
}

TEST(RunTest, SaysHowFarOutputsAreFromWhatIsExpected) {
  const std::string folder = NewTestFolder();
  const api::Model model = ModelOf(kSum);
  ASSERT_TRUE(
      api::SaveOutputs(model.graph, {*Tensor::Filled({DType::kF32, {2, 3}}, 9)}, folder).ok());
  api::RunOptions options = Reference();
  options.expect = {folder};
  auto result = api::Run(model, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->difference->ok);

  options.expect = {folder, folder};
  EXPECT_EQ(api::Run(model, options).status().message(),
            "option expect: 2 tensors given, the model has 1 outputs");
}

TEST(RunTest, ErrorsNameOptionsOrTheModel) {
  api::Model model = ModelOf(kSum);
  model.path = "sum.lemma";
  api::RunOptions options = Reference();
  options.runs = 0;
  EXPECT_EQ(api::Run(model, options).status().message(), "option runs: must be at least 1");
  options = Reference();
  options.execution.threads = 0;
  EXPECT_EQ(api::Run(model, options).status().message(), "option threads: 0 is not in 1…1024");
  options = Reference();
  options.execution.backend_options.fuse_layout = false;
  EXPECT_EQ(api::Run(model, options).status().message(),
            "option fuse_layout: the back end cpu knows it, reference does not");
  options.execution.backend_options.fuse_layout = true;
  options.execution.backend_options.winograd = false;
  EXPECT_EQ(api::Run(model, options).status().message(),
            "option winograd: the back end cpu knows it, reference does not");
  options = Reference();
  options.inputs.max_memory_gb = 0;
  const absl::Status status = api::Run(model, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(absl::StartsWith(status.message(), "sum.lemma: needs ")) << status;
}

TEST(RunTest, AnErrorOfTheCallersEndsTheRun) {
  api::RunOptions options = Reference();
  options.on_outputs = [](const std::vector<Tensor>&) { return absl::DataLossError("full"); };
  EXPECT_EQ(api::Run(ModelOf(kSum), options).status(), absl::DataLossError("full"));
}

TEST(RunTest, AModelIsPreparedOnce) {
  auto model = api::PreparedModel::Make(ModelOf(kSum), Reference().execution, {});
  ASSERT_TRUE(model.ok()) << model.status();
  auto ms = model->Times(4);
  ASSERT_TRUE(ms.ok());
  EXPECT_EQ(ms->size(), 4u);
  EXPECT_TRUE(model->Outputs().ok());
}

TEST(RunServerTest, AnswersEachLine) {
  auto model = api::PreparedModel::Make(ModelOf(kSum), Reference().execution, {});
  ASSERT_TRUE(model.ok()) << model.status();
  const std::string folder = NewTestFolder();
  std::istringstream in("run 2\n\nsave " + folder + "\nquit\nrun 1\n");
  std::ostringstream out;
  ASSERT_TRUE(api::ServeRuns(&*model, in, out).ok());
  EXPECT_TRUE(absl::StartsWith(out.str(), "{\"ready\":true}\n{\"ms\":[")) << out.str();
  EXPECT_TRUE(absl::EndsWith(out.str(), "]}\n{\"saved\":1}\n")) << out.str();
  EXPECT_TRUE(api::ReadTensors({folder}, "output_").ok());
  std::istringstream wrong("run x\n");
  EXPECT_EQ(api::ServeRuns(&*model, wrong, out).message(),
            "option serve: 'run x' is none of: run N, save DIR, quit");
}

TEST(InputsTest, FilesAndDefaultsMakeTheInputs) {
  api::Model model = ModelOf("graph g(x: f32[2], y: f32[2]) { z = sub(x, y) return z }");
  model.info.defaults["y"] = *Tensor::Filled({DType::kF32, {2}}, 5);
  auto random = api::InputsOf(model, {});
  ASSERT_TRUE(random.ok()) << random.status();
  EXPECT_EQ((*random)[1].AtDouble(0), 5);

  const std::string folder = NewTestFolder();
  ASSERT_TRUE(api::SaveOutputs(model.graph, {*Tensor::Filled({DType::kF32, {2}}, 3)}, folder).ok());
  api::InputOptions options;
  options.files = {folder + "/output_0.pb"};
  auto read = api::InputsOf(model, options);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)[0].AtDouble(0), 3);
  EXPECT_EQ((*read)[1].AtDouble(0), 5);

  options.files = {folder};
  EXPECT_EQ(api::InputsOf(model, options).status().message(),
            folder + ": has no file input_0.pb or input_0.npy");
  options = {};
  options.int_range = 0;
  EXPECT_EQ(api::InputsOf(model, options).status().message(),
            "option int_range: must be at least 1");
}

// The sizes that files give are found with the inputs that have a default left out.
TEST(InputsTest, FilesAndDefaultsGiveTheSizes) {
  GraphBuilder builder("g");
  const Value x = builder.Input("x", {DType::kF32, {*ToSize(SymbolicDim("n"))}});
  const Value k = builder.Input("k", {DType::kF32, {1}});
  builder.Output("y", *builder.Op("mul", {x, k}));
  api::Model model;
  model.graph = *std::move(builder).Build();
  model.info.defaults["k"] = *Tensor::Filled({DType::kF32, {1}}, 5);
  const std::string folder = NewTestFolder();
  const api::Model four = ModelOf("graph g(x: f32[4]) { y = relu(x) return y }");
  ASSERT_TRUE(api::SaveOutputs(four.graph, {*Tensor::Filled({DType::kF32, {4}}, 3)}, folder).ok());
  api::HintOptions options;
  options.inputs.files = {folder + "/output_0.pb"};
  auto hints = api::HintsFor(model, options);
  ASSERT_TRUE(hints.ok()) << hints.status();
  ASSERT_EQ(hints->sizes.size(), 1u);
  EXPECT_EQ(hints->sizes[0].sizes, (DimValues{{"n", 4}}));
  auto inputs = api::InputsFor(model, hints->sizes, options.inputs);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  EXPECT_EQ((*inputs)[0].type().shape, (Shape{4}));
}

TEST(HintsTest, TheLeastOfTheGivenSizes) {
  EXPECT_EQ(api::LeastSizes({{{"m", 4}, {"n", 2}}, {{"m", 3}}}), (DimValues{{"m", 3}, {"n", 2}}));
}

TEST(OutputsTest, NeedAFolder) {
  const api::Model model = ModelOf(kSum);
  const std::string file = NewTestFolder() + "/g.lemma";
  ASSERT_TRUE(api::SaveModel(model, file, api::ModelFormat::kText).ok());
  const absl::Status status = api::SaveOutputs(model.graph, {}, file + "/folder");
  EXPECT_TRUE(absl::StartsWith(status.message(), file)) << status;
}

TEST(LoadModelTest, FillsWeightsAnew) {
  const std::string path = NewTestFolder() + "/g.lemma";
  const api::Model model =
      ModelOf("graph g(x: f32[2], w: weight f32[2] = fill 1.0) { y = add(x, w) return y }");
  ASSERT_TRUE(api::SaveModel(model, path, api::ModelFormat::kText).ok());
  api::LoadOptions options;
  auto plain = api::LoadModel(path, options);
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->path, path);
  EXPECT_EQ(plain->graph.StructuralHash(), model.graph.StructuralHash());
  options.reseed = 7;
  auto seeded = api::LoadModel(path, options);
  ASSERT_TRUE(seeded.ok()) << seeded.status();
  EXPECT_NE(PrintGraph(seeded->graph), PrintGraph(model.graph));
}

}  // namespace
}  // namespace lemma
