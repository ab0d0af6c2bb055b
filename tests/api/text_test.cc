// Results of the library as text for people.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/check.h"
#include "api/costs.h"
#include "api/define.h"
#include "api/doctor.h"
#include "api/generation/figures.h"
#include "api/generation/progress.h"
#include "api/inspect.h"
#include "api/models/random_values.h"
#include "api/optimize.h"
#include "api/pet.h"
#include "api/precision.h"
#include "api/prove.h"
#include "api/quantize.h"
#include "api/referee.h"
#include "api/rules/explain.h"
#include "api/rules/import_taso.h"
#include "api/rules/prune_file.h"
#include "api/rules/rules_file.h"
#include "api/rules/stats.h"
#include "api/run.h"
#include "api/session.h"
#include "api/train.h"
#include "api/tune.h"
#include "api/verify.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rewrite/rules/rule_text.h"
#include "tests/api/model_text.h"

namespace lemma::api {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kTwice[] = "graph g(x: f32[2,3]) { a = relu(x) b = relu(a) return b }";

std::vector<Substitution> Rules() {
  auto rules = ParseRules(
      "rule twice(x: [n]) bit_exact { y = relu(x) z = relu(y) return z } => "
      "{ y = relu(x) return y }\n"
      "rule neg(x: [n]) bit_exact { y = neg(x) z = neg(y) return z } => { return x }\n");
  EXPECT_TRUE(rules.ok()) << rules.status();
  return *rules;
}

TEST(TextTest, ACertificate) {
  CheckResult answer;
  answer.certificate.steps.resize(1);
  answer.certificate.rules.resize(2);
  answer.certificate.dims["n"] = 4;
  answer.check.samples = 1;
  answer.check.elements = 10;
  answer.seed = 7;
  const std::string text = TextOf(answer);
  EXPECT_THAT(text, StartsWith("checked: 1 step by 2 rules, 0 constants folded, "));
  EXPECT_THAT(text, HasSubstr(", n = 4)\n"));
  EXPECT_THAT(text, HasSubstr("agree in the field: 1 x 10 elements\n"));
  EXPECT_THAT(text, EndsWith("repeatable with --seed=7\n"));
}

// A name in a certificate must not be able to hide the rejection.
TEST(TextTest, ARejectionShowsControlCharacters) {
  CheckResult answer;
  answer.check.step = 3;
  answer.check.problem = "rule a\x1b[2Kb";
  EXPECT_EQ(TextOf(answer, "; try another"), "REJECTED: step 3: rule a\\x1b[2Kb; try another\n");
  VerdictCheck verdict;
  verdict.check.problem = "x\ry";
  EXPECT_EQ(TextOf(verdict), "REJECTED: x\\x0dy\n");
}

TEST(TextTest, AVerdictThatIsRepeated) {
  VerdictCheck answer;
  answer.check.coverage = "all n";
  answer.check.regions = 1;
  answer.check.proofs = 2;
  answer.check.notes = {"inputs are paired"};
  const std::string text = TextOf(answer);
  EXPECT_THAT(text, StartsWith("checked: the models are proved equal, real_only, for all n\n"
                               "1 region by 2 proofs; 0 weights copied, 0 computed"));
  EXPECT_THAT(text, HasSubstr("\nnote: inputs are paired\n"));
}

TEST(TextTest, APlan) {
  PlanCheck check;
  check.proved = 3;
  check.in_blocks = 2;
  EXPECT_THAT(TextOf(check, "cpu"), StartsWith("checked: 3 kernels of the library are proved"));
  EXPECT_THAT(TextOf(check, "cpu"), HasSubstr("\n2 operators on blocks of large values"));
  check.compared = 4;
  check.by_definition = 1;
  EXPECT_THAT(TextOf(check, "cuda"), StartsWith("checked: of 5 launches"));
  check.problem = "kernel 1";
  EXPECT_EQ(TextOf(check, "cpu"), "REJECTED: kernel 1\n");
}

TEST(TextTest, Kernels) {
  KernelCheck check;
  check.programs = {{"relu", "by row of 256", 1, 3, true, false, "", 0.25},
                    {"matmul", "by tile 64x32", 1, 1, false, false, "too large", 0.5}};
  EXPECT_FALSE(check.all_agree());
  const std::string text = TextOf(check);
  EXPECT_THAT(text, HasSubstr("by row                  3        3              0.250    0.250\n"));
  EXPECT_THAT(text, HasSubstr("not checked: 1 x matmul (by tile 64x32): too large\n"));
  EXPECT_THAT(text, HasSubstr("NOT ALL CHECKED: 3 of 4 generated kernels"));
  check.programs.pop_back();
  EXPECT_TRUE(check.all_agree());
  EXPECT_THAT(TextOf(check), HasSubstr("\nchecked: 3 of 3"));
}

TEST(TextTest, AnOptimization) {
  const Graph graph = ModelOf(kTwice).graph;
  OptimizeOptions options;
  options.costs.measured = false;
  options.by_price = true;
  options.explain = true;
  options.why_not = "relu_of_relu";
  auto result = Optimize(graph, {}, options);
  ASSERT_TRUE(result.ok()) << result.status();
  OptimizeContext context;
  context.output = "out.onnx";
  context.certificate = "out.cert";
  context.report = "out.html";
  const std::string text = TextOf(graph, options, *result, context);
  EXPECT_THAT(text, HasSubstr("\noperators             2       1\n"));
  EXPECT_THAT(text, HasSubstr("\nnothing was executed, the result was accepted by its price: "));
  EXPECT_THAT(text, HasSubstr("\n    1 x relu_of_relu\n"));
  EXPECT_THAT(text, HasSubstr("\nwritten to out.onnx\ncertificate: out.cert\nreport: out.html\n"));
  EXPECT_THAT(text, HasSubstr(ExplanationText(*result)));
  EXPECT_THAT(text, EndsWith(TextOf(*result->why_not, "", false)));
  EXPECT_THAT(TextOf(graph, options, *result, {}), StartsWith(ExplanationText(*result)));
}

TEST(TextTest, TimesThatAreNotWhatTheySeem) {
  const Graph graph = ModelOf(kTwice).graph;
  OptimizeOptions options;
  options.costs.measured = false;
  options.by_price = true;
  auto result = Optimize(graph, {}, options);
  ASSERT_TRUE(result.ok()) << result.status();
  Acceptance& accepted = result->accepted;
  ASSERT_FALSE(accepted.kept_input());
  accepted.measured = true;
  options.by_price = false;
  accepted.ms_before = 22.5;
  accepted.ms_after = 23.4;
  accepted.ratio = 0.975;
  OptimizeContext context;
  context.output = "out.onnx";
  EXPECT_THAT(TextOf(graph, options, *result, context),
              HasSubstr("\ntime, after/before: the median of the ratios of runs side by side\n"));
  options.hints.resize(2);
  accepted.ratio = 23.4 / 22.5;
  const std::string text = TextOf(graph, options, *result, context);
  EXPECT_THAT(text, Not(HasSubstr("side by side")));
  EXPECT_THAT(text,
              HasSubstr("\ntime, median: at the first hint; predicted: the sum over 2 hints\n"));
}

TEST(TextTest, WhyTheInputIsKept) {
  OptimizeOptions options;
  OptimizeResult result;
  EXPECT_EQ(WhyKept(options, result), "no rule makes it faster");
  options.objective.goal = optimizer::Objective::Goal::kMemory;
  EXPECT_EQ(WhyKept(options, result), "no rule makes it smaller, nor as small and faster");
  options.objective.goal = optimizer::Objective::Goal::kPareto;
  EXPECT_EQ(WhyKept(options, result), "no rule makes it better");
  options.objective.goal = optimizer::Objective::Goal::kTime;
  result.search.steps = 1;
  result.accepted.found = RatioInterval{0.98, 0.99, 1.02};
  EXPECT_EQ(WhyKept(options, result), "what the search found changes more than --numerics allows");
  result.accepted.found_bytes = 2000;
  result.accepted.runs = 15;
  EXPECT_EQ(WhyKept(options, result),
            "the best of 1 graph was 1.0 % faster, within noise (±2.0 %) in 15 runs");
  result.accepted.found = RatioInterval{0.996, 0.997, 0.998};
  EXPECT_THAT(WhyKept(options, result), EndsWith(", less than the 0.5 % that counts"));
  result.accepted.rejected = "it is wrong";
  EXPECT_EQ(WhyKept(options, result), "what the search found was dropped: it is wrong");
}

TEST(TextTest, WhyARuleWasNotApplied) {
  WhyNotReport report;
  report.rule = "r";
  report.source = {"conv2d", "relu"};
  report.anchor = "relu";
  report.input.anchors = 6;
  report.input.groups = {
      {Missing::kNothing, "fits", 2, false, {"a", "b", "c", "d", "e"}, {{-1, 2, 0, -1000}}}};
  report.result.not_looked_at = 1;
  const std::string text = TextOf(report, "", /*memory=*/true);
  EXPECT_THAT(text, StartsWith("rule r (conv2d + relu): not applied\ninput: 6 x relu\n"));
  EXPECT_THAT(text, HasSubstr("    5 x fits: -1.000 ms to +2.000 ms, +0 B to -1.0 kB\n"));
  EXPECT_THAT(text, HasSubstr("          a, b, c, d, …\n"));
  EXPECT_THAT(text, HasSubstr("1 of them were not looked at"));
  EXPECT_THAT(TextOf(report, "it is forbidden", false),
              StartsWith("rule r (conv2d + relu): the search did not use it: it is forbidden\n"));
}

TEST(TextTest, AQuantizationThatIsNotKept) {
  QuantizedIfFaster outcome;
  outcome.kept = "it is slower";
  EXPECT_EQ(TextOf(outcome, "out.onnx"),
            "kept the model in f32: it is slower\nwritten to out.onnx\n");
}

TEST(TextTest, Proofs) {
  ProveResult result;
  result.outcome.verdict = Proved{FloatContract::kBitExact, "all n", "id1", 1, 5, {}};
  EXPECT_THAT(TextOf("a", "b", result),
              StartsWith("proved: a = b\ncontract  bit_exact\nsizes     all n\nproof id  id1\n"));
  EXPECT_THAT(TextOf("a", "b", result), HasSubstr(", 1 query\n"));
  result.outcome.verdict = Unknown{"it is hard"};
  EXPECT_EQ(TextOf("a", "b", result), "unknown: it is hard\n");
}

TEST(TextTest, VerdictsOnRules) {
  VerifyResult result;
  result.rules.push_back({Rules()[0], {}, "it has no proof"});
  result.rules[0].outcome.verdict = Proved{FloatContract::kReassociates, "all n", "id1", 1, 5, {}};
  VerifyOptions options;
  options.proof.check = true;
  std::string text = TextOf(result, options);
  EXPECT_THAT(text, HasSubstr("queries  checker\n"));
  EXPECT_THAT(text, HasSubstr("\n1 rule: 1 proved, 0 refuted, 0 unknown; "));
  EXPECT_THAT(text, EndsWith("\n1 record is missing or out of date; -o FILE writes them\n"));
  options.output = "out.txt";
  EXPECT_THAT(TextOf(result, options), EndsWith("\nrecords written to out.txt\n"));

  ReplayResult replay;
  replay.rules.resize(2);
  replay.rules[0].rule = Rules()[0];
  replay.rules[1].rule = Rules()[1];
  replay.rules[1].problem = "step 2 is wrong";
  text = TextOf(replay);
  EXPECT_THAT(text, HasSubstr("neg    REJECTED"));
  EXPECT_THAT(text, EndsWith("\nneg: step 2 is wrong\n2 proofs: 1 accepted\n"));
}

TEST(TextTest, FilesOfRules) {
  RulesFile file;
  file.rules = Rules();
  EXPECT_THAT(TableOf(file), HasSubstr("relu + relu => relu\n"));
  EXPECT_THAT(TableOf(file), EndsWith("\n2 rules, 0 of them usable\n"));
  EXPECT_THAT(PageOf({&file.rules[0]}), StartsWith("rule twice(x: [n]) bit_exact {"));
  EXPECT_THAT(PageOf({&file.rules[0]}), EndsWith("\n# not usable: it has no proof\n\n"));
  const std::string text = TextOf(StatsOf(file.rules));
  EXPECT_THAT(text, StartsWith("2 rules, 0 of them usable, 0 with a guard, 0 with several"));
  EXPECT_THAT(text, HasSubstr("\ncontract   bit_exact             2\n"));
  EXPECT_EQ(TextOf(PrunedFile{3, 2, 1, "x.pruned.txt"}),
            "3 rules: 2 kept, 1 follows from them and is in x.pruned.txt\n");
  EXPECT_EQ(TextOf(PrunedFile{1, 1, 0, ""}), "1 rule: 1 kept, 0 follow from them\n");
}

TEST(TextTest, ExplanationsOfRules) {
  Explanations explanations;
  explanations.file.name = "rules.txt";
  ExplainedRule member;
  member.rule = Rules()[0];
  member.is_member = true;
  member.answer = "no derivation was found";
  explanations.rules = {member, member};
  explanations.rules[1].is_member = false;
  EXPECT_EQ(TextOf(explanations, /*brief=*/true),
            "twice: no derivation was found\ntwice: no derivation was found\n");
  const std::string text = TextOf(explanations);
  EXPECT_THAT(text, HasSubstr("\nin      rules.txt\n"));
  EXPECT_THAT(text, HasSubstr("\nguard   none\nproof   current\n"));
  EXPECT_THAT(text, EndsWith("\n\ntwice: no derivation was found\n"));
}

TEST(TextTest, ImportedRules) {
  ImportedTaso imported;
  imported.rules.resize(1);
  ImportedRule& rule = imported.rules[0];
  rule.rule = Rules()[0];
  rule.outcome.verdict = Proved{FloatContract::kBitExact, "all n", "id1", 1, 5, {}};
  rule.without_guard = Unknown{"n may be odd"};
  rule.guard = "n % 2 = 0";
  rule.written = true;
  const std::string text = TextOf(imported, "out.txt");
  EXPECT_THAT(text, HasSubstr("\ntwice: without its guard n may be odd\n"));
  EXPECT_THAT(text, HasSubstr("\n1 rule: 0 proved, 1 proved under a guard, 0 refuted"));
  EXPECT_THAT(text, EndsWith("\n1 rule written to out.txt\n"));
  EXPECT_THAT(TextOf(imported, ""), Not(HasSubstr("written")));
}

TEST(TextTest, AModelItsPlanAndItsMemory) {
  const Model model = ModelOf(kTwice);
  EXPECT_THAT(OperatorTable(model), HasSubstr("g (text): 2 operators, 0 B of weights\n"
                                              "  input  x: f32[2,3]\n  output b: f32[2,3]\n"));
  EXPECT_THAT(OperatorList(), HasSubstr("\nmatmul(x, w)"));
  PlanSummary plan;
  plan.text = "relu\n";
  plan.kernels = 1;
  EXPECT_EQ(TextOf(plan, "cpu"),
            "relu\n1 kernel on cpu, peak memory 0 B of values, 0 B of weights\n");
  MemoryOverRun memory;
  EXPECT_EQ(TextOf(memory), "nothing is computed when it runs\n");
  memory.kernels = {{"a", 10}, {"b", 40}};
  memory.at_peak = {{"v", "f32[10]", 40, 0, 1}};
  memory.peak = 1;
  memory.live_bytes = memory.arena_bytes = 40;
  EXPECT_THAT(TextOf(memory), HasSubstr("0         10 B  ##########                                "
                                        "a\n"));
  EXPECT_THAT(TextOf(memory), HasSubstr("\nv                    f32[10]    40 B      0–1\n"));
  EXPECT_THAT(TextOf(memory),
              EndsWith("\npeak  40 B of values at once, at kernel 1 of 2; 40 B with "
                       "gaps between them\n"));
  // More kernels than lines: each line shows the largest of its kernels.
  memory.kernels.assign(96, {"small", 10});
  memory.kernels[51] = {"large", 40};
  EXPECT_THAT(TextOf(memory),
              HasSubstr("\n51        40 B  ########################################  "
                        "large\n"));
}

TEST(TextTest, WhatAMachineHas) {
  const std::vector<ExaminedPart> parts = {
      {"processor", ExaminedPart::State::kWorks, "fast", ""},
      {"cvc5", ExaminedPart::State::kMissing, "not in PATH", "needed for proofs"}};
  EXPECT_FALSE(IsBroken(parts));
  EXPECT_THAT(TextOf(parts), HasSubstr("\ncvc5         missing  not in PATH; needed for proofs\n"));
  EXPECT_TRUE(IsBroken({{"memory", ExaminedPart::State::kBroken, "", ""}}));
}

TEST(TextTest, AnOperatorThatWasTried) {
  OperatorCheck check;
  check.page = "### f(x)\n";
  EXPECT_THAT(TextOf(check), HasSubstr("### f(x)\n\nNo small sizes were found"));
  check.applications = 1;
  check.differentiable = true;
  check.problems = {"it is wrong"};
  EXPECT_EQ(TextOf(check),
            "### f(x)\n\nTried on 1 application: the CPU differs from the definition by 0.0e+00.\n"
            "Its gradient was not tried: that needs f64, and finite results.\n"
            "\nWrong: it is wrong\n\n");
}

TEST(TextTest, ARun) {
  const Model model = ModelOf(kTwice);
  RunOptions options;
  RunResult result;
  result.ms = {1, 2, 3};
  result.difference.emplace();
  result.difference->ok = false;
  EXPECT_THAT(TextOf(model, options, result),
              StartsWith("g: 2 operators on cpu, 1 thread\ntime         2.000 ms (median of 3)\n"
                         "peak memory  0 B of values, 0 B of weights\noutputs      DIFFER: "));
  SizesTiming timing;
  timing.sizes = {{"m", 2}, {"n", 3}};
  timing.ms = {1};
  EXPECT_THAT(TextOf(std::vector<SizesTiming>{timing}), HasSubstr("\nm=2,n=3"));
}

TEST(TextTest, Training) {
  const Model model = ModelOf(
      "graph net(x: f32[8,4], w: weight f32[4,3] = fill 0.5) { y = matmul(x, w) return y }");
  TrainingStepOptions options;
  options.loss = "mse";
  auto made = MakeTrainingStep(model, options);
  ASSERT_TRUE(made.ok()) << made.status();
  const std::string text = TextOf(model, options, made->step, "s.onnx");
  EXPECT_THAT(text, StartsWith(absl::StrCat("s.onnx: ", made->step.graph.num_ops(),
                                            " operators, of 1 in the model\ns.onnx.safetensors: "
                                            "1 variable, 48 B\n")));
  TrainingLog log({"loss"});
  log.Add({1, {0.5}, 2.0});
  EXPECT_EQ(TextOf(log, {1, {0.5}, 2.0}), "step 1  loss 0.5  2.000 ms\n");
}

TEST(TextTest, MutantsOfAPart) {
  PetSearchOptions options;
  options.costs.measured = false;
  options.keep = 1;
  auto parts =
      FindMutants(ModelOf("graph halves(x: f32[1,1,8,4], w: weight f32[1,1,3,3] = fill 1.0) {\n"
                          "  y = conv2d(x, w) {pads = [1,1,1,1]} return y }")
                      .graph,
                  options);
  ASSERT_TRUE(parts.ok()) << parts.status();
  const std::string text = TextOf((*parts)[0]);
  EXPECT_THAT(text, HasSubstr("\n1 time, "));
  EXPECT_THAT(text, HasSubstr("\n1. "));
  EXPECT_THAT(text, HasSubstr("\n   corrector: "));
  PetTextOptions more;
  more.graphs = true;
  EXPECT_GT(TextOf((*parts)[0], more).size(), text.size());
  EXPECT_EQ(PictureOf({}).status(), absl::NotFoundError("none of the mutants differs anywhere"));
}

TEST(TextTest, ErrorsOfPrecisions) {
  PrecisionResult result;
  result.rows.resize(1);
  result.rows[0].left = 1;
  result.rows[0].tolerance_used = 2;
  result.not_finite = 1;
  EXPECT_FALSE(result.within());
  EXPECT_THAT(
      TextOf(result),
      EndsWith("\nleft out: 1 element of outputs that are infinite or NaN in f64\nf32: the "
               "measurement computes 1 product in f32: values that it cannot round alone\n"));
  result.rows[0].tolerance_used = 1;
  EXPECT_TRUE(result.within());
}

TEST(TextTest, CostsAndTiles) {
  EXPECT_THAT(TextOf(std::vector<DeviceCosts>{{"cpu", 3, 2e9, 1e9, 500}}),
              HasSubstr("\ncpu           3      2.0   1.0    0.5 us\n"));
  EXPECT_EQ(TextOf(ImportedCosts{1, 2}, "db"),
            "1 cost imported into db; 2 were known and stay as they are\n");
  EXPECT_EQ(TextOf(MeasuredKernels{"gpu", 2, 1, 0, 3}),
            "2 kernels measured on gpu; 1 was known; 3 are left\n");
  TuneResult tuned;
  tuned.device = "gpu";
  tuned.file = "f";
  tuned.tuned.left = 1;
  EXPECT_EQ(TextOf(tuned),
            "device   gpu\nfile     f (0 sizes before)\n1 size not measured: the time is over\n");
}

TEST(TextTest, TheGenerator) {
  EXPECT_THAT(
      TextOf(std::vector<Figure>{{"pruned_terms", 12}}, {1.5, 20}, {2, 30}),
      StartsWith("pruned terms             12\nenumeration: 1.5 s of processor time, 20 MB"));
  std::vector<std::string> lines;
  GenerateProgress progress([&](const std::string& line) { lines.push_back(line); });
  progress.Stage("comparing graphs", 0, 0);
  progress.Stage("deciding", 120, 800);
  progress.Decided(true, false);  // too soon to be shown
  EXPECT_EQ(lines, std::vector<std::string>({"comparing graphs", "deciding: 120 of 800"}));
}

}  // namespace
}  // namespace lemma::api
