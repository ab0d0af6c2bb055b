// Optimize as a library: what it finds, keeps, explains and refuses.
#include "api/optimize.h"

#include <atomic>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "api/check.h"
#include "api/models/random_values.h"
#include "base/file.h"
#include "gmock/gmock.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Stage = api::OptimizeProgress::Stage;

// Two products, which can become one with the sum of the weights.
constexpr char kTwoProducts[] = R"(graph g(x: f32[256,256]) {
  f = constant f32[256,256] fill 0.5
  g = constant f32[256,256] fill 0.25
  a = matmul(x, f)
  b = matmul(x, g)
  y = add(a, b)
  return y
})";

// A graph with so many steps that the search lasts long enough to report progress.
std::string ManySteps() {
  std::string text = "graph g(x: f32[4]) { v0 = relu(x)";
  for (int i = 1; i < 2500; ++i) {
    text += " v" + std::to_string(i) + " = relu(v" + std::to_string(i - 1) + ")";
  }
  return text + " return v2499 }";
}

Graph Parse(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *graph;
}

api::OptimizeOptions Quick() {
  api::OptimizeOptions options;
  options.costs.measured = false;
  options.runs = 5;
  return options;
}

absl::StatusOr<api::OptimizeResult> Optimize(const std::string& text,
                                             const api::OptimizeOptions& options) {
  const Graph graph = Parse(text);
  const auto inputs = *api::RandomInputs(graph, 1, 2);
  return api::Optimize(graph, inputs, options);
}

std::string ErrorOf(const api::OptimizeOptions& options) {
  return std::string(Optimize(kTwoProducts, options).status().message());
}

std::string NewFolder() {
  std::string folder = testing::TempDir() + "/optimize_XXXXXX";
  EXPECT_NE(mkdtemp(&folder[0]), nullptr);
  return folder;
}

TEST(OptimizeTest, TakesWhatIsFaster) {
  auto result = Optimize(kTwoProducts, Quick());
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_FALSE(result->accepted.kept_input()) << result->accepted.rejected;
  EXPECT_LT(result->accepted.ratio, 1);
  EXPECT_EQ(result->accepted.graph.num_ops(), 1);  // the sum of the weights is folded
  ASSERT_TRUE(result->certificate.has_value());
  EXPECT_EQ(result->certificate->steps.size(), result->accepted.rewrites.size());
  EXPECT_EQ(result->certificate->folds.size(), 1);
}

// Weights of 4 bits and casts to 8 bits around the products, which are optimized as before.
TEST(OptimizeTest, ModelsWithSmallTypesAreOptimized) {
  const std::string text = R"(graph g(x: f32[256,256], q: weight i4[256,256] = fill 3) {
  f = cast(q) {dtype = "f32"}
  h = clip(x) {min = -448.0, max = 448.0}
  i = cast(h) {dtype = "f8e4m3fn"}
  j = cast(i) {dtype = "f32"}
  g = constant f32[256,256] fill 0.25
  a = matmul(j, f)
  b = matmul(j, g)
  y = add(a, b)
  return y
})";
  const std::string folder = NewFolder(), in = folder + "/in.lemma", out = folder + "/out.onnx";
  ASSERT_TRUE(WriteFileAtomically(in, {text}).ok());
  auto model = api::LoadModel(in);
  ASSERT_TRUE(model.ok()) << model.status();
  auto record = api::RecordInput(in, *model);
  ASSERT_TRUE(record.ok()) << record.status();
  auto result = Optimize(text, Quick());
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_FALSE(result->accepted.kept_input()) << result->accepted.rejected;
  EXPECT_THAT(PrintGraph(result->accepted.graph), HasSubstr("f8e4m3fn"));
  ASSERT_TRUE(api::SaveOptimized(*model, *record, *result, out, out + ".cert").ok());
  auto checked = api::CheckCertificate(in, out, out + ".cert", {});
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->problem(), "");
}

// What cannot be written is not accepted, with the reason; nothing is lost after a long search.
TEST(OptimizeTest, KeepsTheInputIfTheResultCannotBeWritten) {
  for (const bool by_price : {false, true}) {
    api::OptimizeOptions options = Quick();
    options.by_price = by_price;
    options.can_write = [](const Graph& graph) {
      return graph.num_ops() > 1 ? absl::OkStatus() : absl::UnimplementedError("no form for it");
    };
    auto result = Optimize(kTwoProducts, options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->accepted.kept_input());
    EXPECT_EQ(result->accepted.rejected, "it cannot be written: no form for it");
  }
}

TEST(OptimizeTest, WritesAModelWithACertificateThatIsRight) {
  const std::string folder = NewFolder(), in = folder + "/in.lemma", out = folder + "/out.onnx";
  ASSERT_TRUE(WriteFileAtomically(in, {kTwoProducts}).ok());
  auto model = api::LoadModel(in);
  ASSERT_TRUE(model.ok()) << model.status();
  auto record = api::RecordInput(in, *model);
  ASSERT_TRUE(record.ok()) << record.status();
  auto result = Optimize(kTwoProducts, Quick());
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_TRUE(api::SaveOptimized(*model, *record, *result, out, out + ".cert").ok());
  auto checked = api::CheckCertificate(in, out, out + ".cert", {});
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->problem(), "");
}

TEST(OptimizeTest, WritesAllFilesOrNone) {
  const std::string folder = NewFolder(), out = folder + "/out.lemma";
  auto result = Optimize(kTwoProducts, Quick());
  ASSERT_TRUE(result.ok()) << result.status();
  api::Model model;
  model.graph = Parse(kTwoProducts);
  EXPECT_FALSE(
      api::SaveOptimized(model, {}, *result, out, folder + "/there/is/no/such/folder.cert").ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  result->certificate.reset();
  EXPECT_THAT(std::string(api::SaveOptimized(model, {}, *result, out, out + ".cert").message()),
              HasSubstr("no certificate"));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(OptimizeTest, TellsItsStages) {
  std::set<Stage> begun;
  bool searched = false;
  api::OptimizeOptions options = Quick();
  options.on_progress = [&](const api::OptimizeProgress& progress) {
    if (progress.begins) begun.insert(progress.stage);
    searched = searched || progress.search.has_value();
  };
  ASSERT_TRUE(Optimize(ManySteps(), options).ok());
  EXPECT_THAT(begun,
              ElementsAre(Stage::kRules, Stage::kSearch, Stage::kAcceptance, Stage::kResult));
  EXPECT_TRUE(searched);
}

TEST(OptimizeTest, ExplainsWithoutExecuting) {
  api::OptimizeOptions options = Quick();
  options.execute = false;
  options.why_not = "relu_of_relu";
  auto result = Optimize("graph g(x: f32[4]) { a = relu(x) b = relu(a) return b }", options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->accepted.measured);
  EXPECT_FALSE(result->certificate.has_value());
  ASSERT_TRUE(result->why_not.has_value());
  EXPECT_EQ(result->why_not->excluded, api::WhyNotReport::Excluded::kNot);
  EXPECT_THAT(result->why_not->source, ElementsAre("relu", "relu"));
  EXPECT_EQ(result->why_not->applied, 1);
  EXPECT_EQ(result->why_not->input.anchors, 2);
  EXPECT_EQ(result->why_not->input.not_looked_at, 0);
  options.disable = {"relu_of_relu"};
  result = Optimize("graph g(x: f32[4]) { a = relu(x) b = relu(a) return b }", options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->why_not->excluded, api::WhyNotReport::Excluded::kDisabled);
  EXPECT_EQ(result->why_not->applied, 0);
}

// The graph found before an interruption is judged and certified, though the flag stays set.
TEST(OptimizeTest, AnInterruptionEndsTheSearchOnly) {
  std::atomic<bool> interrupted{false};
  api::OptimizeOptions options = Quick();
  options.deadline = Deadline::After(0, &interrupted);
  options.on_progress = [&](const api::OptimizeProgress& progress) {
    if (progress.search) interrupted = true;
  };
  auto result = Optimize(ManySteps(), options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->search.stop, optimizer::StopReason::kCancelled);
  EXPECT_TRUE(result->certificate.has_value());
  interrupted = false;
  options.on_progress = [&](const api::OptimizeProgress& progress) {
    if (progress.stage == Stage::kResult) interrupted = true;
  };
  EXPECT_TRUE(absl::IsCancelled(Optimize(kTwoProducts, options).status()));
}

TEST(OptimizeTest, RepeatsACertificate) {
  const std::string path = NewFolder() + "/c.cert";
  auto result = Optimize(kTwoProducts, Quick());
  ASSERT_TRUE(result.ok() && result->certificate) << result.status();
  result->certificate->input_file = result->certificate->output_file = std::string(64, '0');
  ASSERT_TRUE(WriteFileAtomically(path, {PrintCertificate(*result->certificate)}).ok());
  api::OptimizeOptions options = Quick();
  options.replay = path;
  auto replayed = Optimize(kTwoProducts, options);
  ASSERT_TRUE(replayed.ok()) << replayed.status();
  EXPECT_EQ(replayed->accepted.graph.StructuralHash(), result->accepted.graph.StructuralHash());
  EXPECT_EQ(replayed->certificate->result, Certificate::Result::kReplayed);
  EXPECT_FALSE(replayed->accepted.found.has_value());  // not timed
  options.disable = {replayed->accepted.rewrites[0].name};
  EXPECT_THAT(ErrorOf(options), HasSubstr("uses the rule " + options.disable[0]));
}

TEST(OptimizeTest, NothingKeepsToATinyLimit) {
  api::OptimizeOptions options = Quick();
  options.objective.memory_limit = 1000;
  auto result = Optimize(R"(graph g(x: f32[64,64]) {
    a = matmul(x, x) b = matmul(a, x) c = matmul(b, a) return c })",
                         options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->fits());
  EXPECT_GT(*result->accepted.least_bytes, 1000);
  EXPECT_FALSE(result->certificate.has_value());
  EXPECT_FALSE(api::StageOptimized({}, {}, *result, NewFolder() + "/o.lemma", "").ok());
}

TEST(OptimizeTest, WrongOptionsAreNamed) {
  const auto error = [](auto change) {
    api::OptimizeOptions options = Quick();
    change(&options);
    return ErrorOf(options);
  };
  using O = api::OptimizeOptions;
  EXPECT_THAT(error([](O* o) { o->alpha = 0.5; }), HasSubstr("option alpha: must be at least 1"));
  EXPECT_THAT(error([](O* o) { o->runs = 2; }), HasSubstr("option runs"));
  EXPECT_THAT(error([](O* o) { o->budget = 0; }), HasSubstr("option budget"));
  EXPECT_THAT(error([](O* o) { o->nodes = 1 << 20; }), HasSubstr("option nodes"));
  EXPECT_THAT(error([](O* o) { o->objective.memory_weight = 2; }), HasSubstr("memory_weight"));
  EXPECT_THAT(error([](O* o) {
                o->replay = "c";
                o->pet = true;
              }),
              HasSubstr("option pet"));
  EXPECT_THAT(error([](O* o) {
                o->search = "saturation";
                o->objective.goal = optimizer::Objective::Goal::kMemory;
              }),
              HasSubstr("option search"));
  EXPECT_THAT(error([](O* o) { o->search = "luck"; }), HasSubstr("'luck' is none of backtracking"));
  EXPECT_THAT(error([](O* o) { o->only = {"no_such_rule"}; }), HasSubstr("no rule named"));
  EXPECT_THAT(error([](O* o) { o->execution.backend = "abacus"; }), HasSubstr("abacus"));
  EXPECT_THAT(error([](O* o) { o->rules = "/no/such/file"; }), HasSubstr("/no/such/file"));
}

TEST(OptimizeTest, RefusesRulesWithoutAProof) {
  const std::string rules = NewFolder() + "/r.txt";
  ASSERT_TRUE(WriteFileAtomically(rules, {R"(rule mine(x: [n]) bit_exact {
    a = relu(x) b = relu(a) return b } => { c = relu(x) return c })"})
                  .ok());
  api::OptimizeOptions options = Quick();
  options.rules = rules;
  std::vector<optimizer::UnprovedRule> told;
  options.on_progress = [&](const api::OptimizeProgress& progress) {
    told = progress.so_far->unproved;
  };
  auto refused = Optimize(kTwoProducts, options);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("rule mine may not be used: it has no proof"));
  ASSERT_EQ(told.size(), 1);
  options.allow_unproved = true;
  auto allowed = Optimize(kTwoProducts, options);
  ASSERT_TRUE(allowed.ok()) << allowed.status();
  EXPECT_EQ(allowed->unproved.size(), 1);
  EXPECT_THAT(allowed->accepted.rewrites, IsEmpty());
}

// No rule written by hand removes an operator here.
TEST(OptimizeTest, UsesGeneratedRulesUnlessToldOtherwise) {
  const std::string text = R"(graph g(x: f32[64,64]) {
    a = reduce_max(x) {axes = [-1], keepdims = 1}
    b = concat(x, a) {axis = -1}
    c = reduce_max(b) {axes = [-1], keepdims = 1}
    return c
  })";
  api::OptimizeOptions options = Quick();
  options.execute = false;
  const auto all = Optimize(text, options);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->search.best.num_ops(), 1);
  ASSERT_EQ(all->search.rewrites.size(), 1);
  EXPECT_THAT(all->search.rewrites[0].name, StartsWith("transformer_gen_"));
  options.rules = "starter";
  const auto starter = Optimize(text, options);
  ASSERT_TRUE(starter.ok()) << starter.status();
  EXPECT_EQ(starter->search.best.num_ops(), 3);
}

// Every place is explained before the deadline, or counted as not looked at.
TEST(WhyNotTest, ADeadlineCutsItShort) {
  std::string text = "graph g(x: f32[4]) { v0 = tanh(x)";
  for (int i = 1; i < 50; ++i) {
    const std::string n = std::to_string(i), before = std::to_string(i - 1);
    text += " v" + n + " = relu(v" + before + ")";
  }
  const Graph graph = Parse(text + " return v49 }");
  api::OptimizeOptions options = Quick();
  options.execute = false;
  options.why_not = "relu_of_relu";
  std::atomic<bool> interrupted{false};
  options.deadline = Deadline::After(0, &interrupted);
  options.on_progress = [&](const api::OptimizeProgress& progress) {
    if (progress.stage == Stage::kResult) interrupted = true;
  };
  auto result = api::Optimize(graph, {}, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->why_not->input.anchors, 49);
  EXPECT_EQ(result->why_not->input.not_looked_at, 49);
  EXPECT_THAT(result->why_not->input.groups, IsEmpty());
}

}  // namespace
}  // namespace lemma
