// The certificate checker accepts right certificates and rejects wrong ones.
#include "verifier/certificate/check.h"

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graph/builder.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"
#include "tests/verifier/certificate/certificate_cases.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;

// relu of relu, and a product whose weights are multiplied beforehand.
const char kGraph[] =
    "graph g(x: f32[2,3], f: weight f32[3,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 7.0],"
    " h: weight f32[2,2] = [0.1, 0.2, 0.3, 0.4]) {"
    " a = relu(x) b = relu(a) c = matmul(b, f) d = matmul(c, h) return d }";

CertificateCase TwoSteps() {
  return Walk(kGraph, StarterRules(), {"relu_of_relu", "matmul_chain_of_weights"});
}

Substitution Rule(const std::string& text) {
  auto rules = ParseRules(text);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return (*rules)[0];
}

// The rule with a record that says that it is proved.
Substitution Forged(const std::string& text) {
  Substitution rule = Rule(text);
  rule.proof.verdict = ProofRecord::Verdict::kProved;
  rule.proof.contract = rule.contract;
  rule.proof.id = CurrentProofId(rule);
  return rule;
}

// As Problem, but every rule with a current record is believed.
std::string CredulousProblem(const CertificateCase& files) {
  auto certificate = ParseCertificate(files.certificate);
  if (!certificate.ok()) return std::string(certificate.status().message());
  return CheckCertificate(*certificate, GraphOf(files.input), GraphOf(files.output), {}).problem;
}

TEST(CertificateTest, IsRight) {
  const CertificateCase files = TwoSteps();
  EXPECT_EQ(Problem(files), "") << files.certificate;
  EXPECT_THAT(files.certificate, HasSubstr("steps 2\n"));
  EXPECT_THAT(files.certificate, HasSubstr("folds 1\n"));
  EXPECT_THAT(files.certificate, HasSubstr("contract reassociates\n"));
  EXPECT_THAT(files.certificate, HasSubstr("result best\n"));
}

TEST(CertificateTest, SaysThatTheInputIsKept) {
  const CertificateCase files = Walk(kGraph, StarterRules(), {});
  EXPECT_EQ(Problem(files), "");
  EXPECT_THAT(files.certificate, HasSubstr("result input\ncontract bit_exact\n"));
  auto best = [](Certificate* c) { c->result = Certificate::Result::kBest; };
  EXPECT_THAT(Problem(Changed(files, best)), HasSubstr("the result is not best"));
  auto input = [](Certificate* c) { c->result = Certificate::Result::kInput; };
  EXPECT_THAT(Problem(Changed(TwoSteps(), input)), HasSubstr("the result is not input"));
}

TEST(CertificateTest, MovingWeightsIsBitExactAndComputingThemIsNot) {
  const std::string graph =
      "graph g(x: f32[2,3], f: weight f32[2,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) {"
      " a = relu(x) b = relu(a) t = transpose(f) {perm = [1,0]} $ c = matmul(b, $) return c }";
  auto contract = [&](const std::string& statement, const std::string& name) {
    std::string text = graph;
    text.replace(text.find("$"), 1, statement);
    text.replace(text.find("$"), 1, name);
    const CertificateCase files = Walk(text, StarterRules(), {"relu_of_relu"});
    EXPECT_EQ(Problem(files), "");
    return ParseCertificate(files.certificate)->contract;
  };
  EXPECT_EQ(contract("", "t"), FloatContract::kBitExact);
  EXPECT_EQ(contract("u = exp(t)", "u"), FloatContract::kReassociates);
}

TEST(CertificateTest, NamesTheStepThatIsWrong) {
  const CertificateCase files = TwoSteps();
  struct {
    std::function<void(Certificate*)> change;
    const char* problem;
  } const kCases[] = {
      {[](Certificate* c) { ++c->input_graph; }, "the input is another graph"},
      {[](Certificate* c) { ++c->output_graph; }, "folding gives another graph"},
      {[](Certificate* c) { ++c->steps[1].after; },
       "step 2: matmul_chain_of_weights gives another"},
      {[](Certificate* c) { ++c->steps[0].after; }, "step 1: relu_of_relu gives another graph"},
      {[](Certificate* c) { std::swap(c->steps[0], c->steps[1]); }, "the rules are not those"},
      {[](Certificate* c) {
         std::swap(c->steps[0], c->steps[1]);
         std::swap(c->rules[0], c->rules[1]);
       },
       "step 1: "},
      {[](Certificate* c) { c->steps.pop_back(); }, "the rules are not those of the steps"},
      {[](Certificate* c) {
         c->steps.pop_back();
         c->rules.pop_back();
       },
       "fold of"},
      {[](Certificate* c) { c->steps.push_back(c->steps[1]); }, "step 3: "},
      {[](Certificate* c) { c->steps[0].vars[0].position = 1000; }, "step 1: relu_of_relu: "},
      {[](Certificate* c) { c->steps[0].vars[0].position = -1; }, "the graph has no %-1"},
      {[](Certificate* c) { c->steps[0].vars[0].output = 1; }, "has no output 1"},
      {[](Certificate* c) { c->steps[0].nodes[0] = 0; }, "step 1: "},
      {[](Certificate* c) { c->steps[0].dtype = DType::kF64; }, "variable x has type f32[2,3]"},
      {[](Certificate* c) { c->steps[1].dtype = DType::kI64; }, "is not about i64"},
      {[](Certificate* c) { c->steps[1].symbols[0] = int64_t{9}; }, "step 2: "},
      {[](Certificate* c) { c->steps[1].symbols.pop_back(); }, ""},
      {[](Certificate* c) { c->steps[1].symbols.back() = 1.0; }, "step 2: "},
      {[](Certificate* c) { c->contract = FloatContract::kRealOnly; }, "the float contract"},
      {[](Certificate* c) { c->contract = FloatContract::kBitExact; }, "the float contract"},
      {[](Certificate* c) { c->folds.clear(); }, "folding gives another graph"},
      {[](Certificate* c) { c->folds[0].sha256[0] = 'z'; }, ""},
      {[](Certificate* c) { c->folds.push_back(c->folds[0]); }, "it is not in order"},
      {[](Certificate* c) { c->folds[0].value.position = 0; }, "depends on more than weights"},
      {[](Certificate* c) { c->folds[0].type.dtype = DType::kF64; }, "gives other values"},
      {[](Certificate* c) { c->rules[0].proof = ProofRecord(); }, "step 1: rule relu_of_relu: "},
      {[](Certificate* c) { c->rules[1].proof.contract = FloatContract::kRealOnly; },
       "step 2: rule matmul_chain_of_weights: it promises"},
      {[](Certificate* c) { c->rules[1].proof.id = std::string(32, '0'); }, "stale"},
      {[](Certificate* c) { c->rules[1].contract = FloatContract::kRealOnly; },
       "it is no starter rule"},
      {[](Certificate* c) { c->input_file[0] ^= 1; }, ""},
      {[](Certificate* c) { c->reseed = 3; }, ""},
  };
  int rejected = 0;
  for (const auto& changed : kCases) {
    const CertificateCase now = Changed(files, changed.change);
    if (now.certificate.find("reseed") != std::string::npos) continue;  // the caller's business
    EXPECT_THAT(Problem(now), HasSubstr(changed.problem));
    EXPECT_NE(Problem(now), "") << now.certificate;
    ++rejected;
  }
  EXPECT_EQ(rejected, 30);
}

TEST(CertificateTest, OtherModelsAreNoticed) {
  const CertificateCase files = TwoSteps();
  ASSERT_EQ(CredulousProblem(files), "");
  // Other changes: a weight of the input, a name, a constant of the output by one unit in the last
  // place.
  CertificateCase other = files;
  other.input = absl::StrReplaceAll(files.input, {{"7.0", "7.5"}});
  ASSERT_NE(other.input, files.input);
  EXPECT_THAT(CredulousProblem(other), HasSubstr("the input is another graph"));
  other = files;
  other.output = absl::StrReplaceAll(files.output, {{"(x:", "(z:"}, {"relu(x)", "relu(z)"}});
  EXPECT_THAT(CredulousProblem(other), HasSubstr("the inputs' names differ"));
  other.output = absl::StrReplaceAll(files.output, {{"relu(x)", "tanh(x)"}});
  EXPECT_THAT(CredulousProblem(other), HasSubstr("the operator differs"));
  other.output = files.input;
  EXPECT_THAT(CredulousProblem(other), HasSubstr("the output is not the graph of the last step"));
}

// The output graph with element 0 of its constant changed by one unit in the last place.
TEST(CertificateTest, OneUnitInTheLastPlaceIsNoticed) {
  const CertificateCase files = TwoSteps();
  const Graph output = GraphOf(files.output);
  for (const NodePtr& node : output.nodes()) {
    if (!node->has_payload()) continue;
    Tensor tensor = *Tensor::Allocate(node->type(0));
    std::memcpy(tensor.mutable_raw(), node->payload().raw(),
                static_cast<size_t>(tensor.type().num_bytes()));
    ++tensor.mutable_data<uint32_t>()[0];
    auto changed = files;
    GraphBuilder builder("g");
    const Value x = builder.Input("x", output.inputs()[0].type());
    const Value a = *builder.Op("relu", {x});
    builder.Output(output.output_names()[0], *builder.Op("matmul", {a, builder.Constant(tensor)}));
    changed.output = PrintGraph(*std::move(builder).Build());
    EXPECT_THAT(CredulousProblem(changed), HasSubstr("its values differs"));
    return;
  }
  FAIL() << "the output has no constant";
}

TEST(CertificateTest, ARuleThatIsFalseIsNotBelieved) {
  const Substitution rule =
      Forged("rule half(x: [n]) real_only { a = relu(x) return a } => { b = neg(x) return b }");
  const CertificateCase files =
      Walk("graph g(x: f32[4]) { a = relu(x) return a }", {rule}, {"half"});
  EXPECT_THAT(Problem(files), HasSubstr("it is no starter rule"));
  // Even if its record is believed, the sides differ on random values.
  EXPECT_THAT(CredulousProblem(files), HasSubstr("half: source and target differ"));
}

// A rule that holds for positive numbers only is false.
TEST(CertificateTest, BothSignsAreLookedAt) {
  const Substitution rule = Forged(
      "rule id(x: [n]) real_only { a = relu(x) b = abs(a) return b } => { b = abs(x) return b }");
  const CertificateCase files =
      Walk("graph g(x: f32[4]) { a = relu(x) b = abs(a) return b }", {rule}, {"id"});
  EXPECT_THAT(CredulousProblem(files), HasSubstr("id: source and target differ"));
}

TEST(CertificateTest, LawsThatTheFieldLacksAreComparedInDouble) {
  // 2x has the sign of x, but not in a finite field.
  const Substitution rule = Forged(
      "rule scaled(x: [n]) reassociates { s = scalar_mul(x) {alpha = 2.0} a = relu(s) return a } =>"
      " { r = relu(x) b = scalar_mul(r) {alpha = 2.0} return b }");
  const CertificateCase files = Walk(
      "graph g(x: f32[64]) { t = tanh(x) s = scalar_mul(t) {alpha = 2.0} a = relu(s) b = neg(a)"
      " return b }",
      {rule}, {"scaled"});
  auto certificate = ParseCertificate(files.certificate);
  ASSERT_TRUE(certificate.ok()) << certificate.status();
  const CertificateCheck check =
      CheckCertificate(*certificate, GraphOf(files.input), GraphOf(files.output), {});
  EXPECT_EQ(check.problem, "");
  EXPECT_EQ(check.steps_in_double, 1);
}

// As in T5: the index of a bucket is computed by log, whose values in the field are arbitrary.
TEST(CertificateTest, IndicesByFunctionsAreComparedStepByStep) {
  const std::string graph =
      "graph g(x: f32[4,3]) { n = iota() {size = 4} f = cast(n) {dtype = \"f32\"}"
      " one = constant f32[] fill 1.0 p = add(f, one) l = log(p) i = cast(l) {dtype = \"i64\"}"
      " a = relu(x) b = relu(a) y = gather(b, i) {axis = 0} return y }";
  auto check_of = [](const CertificateCase& files) {
    auto certificate = ParseCertificate(files.certificate);
    EXPECT_TRUE(certificate.ok()) << certificate.status();
    return CheckCertificate(*certificate, GraphOf(files.input), GraphOf(files.output), {});
  };
  const CertificateCheck right = check_of(Walk(graph, StarterRules(), {"relu_of_relu"}));
  EXPECT_EQ(right.problem, "");
  EXPECT_EQ(right.by_steps, right.samples);
  const Substitution wrong = Forged(
      "rule twice(x: [n,m]) bit_exact { a = relu(x) b = relu(a) return b } =>"
      " { b = abs(x) return b }");
  EXPECT_THAT(check_of(Walk(graph, {wrong}, {"twice"})).problem,
              HasSubstr("twice: source and target differ"));
}

TEST(CertificateTest, AGuardThatDoesNotHoldIsNoticed) {
  const std::string text =
      "rule guarded(x: [n]) bit_exact where n >= $ { a = relu(x) b = relu(a) return b } =>"
      " { c = relu(x) return c }";
  const Substitution loose = Forged(absl::StrReplaceAll(text, {{"$", "2"}}));
  const Substitution strict = Forged(absl::StrReplaceAll(text, {{"$", "5"}}));
  const CertificateCase files =
      Walk("graph g(x: f32[4]) { a = relu(x) b = relu(a) return b }", {loose}, {"guarded"});
  ASSERT_EQ(CredulousProblem(files), "");
  auto change = [&](Certificate* c) { c->rules[0] = ForCertificate(strict); };
  EXPECT_THAT(CredulousProblem(Changed(files, change)), HasSubstr("the rule requires n >= 5"));
}

TEST(CertificateTest, EmptyOperandsAreNotCovered) {
  const CertificateCase files = Walk("graph g(x: f32[4]) { a = relu(x) b = relu(a) return b }",
                                     StarterRules(), {"relu_of_relu"});
  auto empty = files;
  empty.input = absl::StrReplaceAll(files.input, {{"f32[4]", "f32[0]"}});
  empty.output = absl::StrReplaceAll(files.output, {{"f32[4]", "f32[0]"}});
  auto change = [&](Certificate* c) {
    c->input_graph = GraphOf(empty.input).StructuralHash();
    c->output_graph = c->steps[0].after = GraphOf(empty.output).StructuralHash();
    c->steps[0].symbols[0] = std::vector<int64_t>{0};
  };
  empty.certificate = Changed(files, change).certificate;
  EXPECT_THAT(CredulousProblem(empty), HasSubstr("an operand is empty"));
}

TEST(CertificateTest, AVariableThatDependsOnWhatIsReplacedIsNoticed) {
  // Two sums with a common operand; here the second one reads the first.
  const Substitution rule = Forged(
      "rule pair(x: [n], y: [n]) bit_exact { a = relu(x) b = relu(a) c = neg(y) d = neg(c)"
      " return b, d } => { e = relu(x) f = neg(y) g = neg(f) return e, g }");
  const std::string text =
      "graph g(x: f32[4]) { a = relu(x) b = relu(a) c = neg($) d = neg(c)"
      " return b, d }";
  const Graph input = GraphOf(absl::StrReplaceAll(text, {{"$", "b"}}));
  Certificate c;
  c.input_graph = input.StructuralHash();
  c.result = Certificate::Result::kBest;
  c.contract = FloatContract::kBitExact;
  c.rules = {ForCertificate(rule)};
  CertificateStep step;
  step.rule = "pair";
  step.vars = {{0, 0}, {2, 0}};
  step.nodes = {1, 2, 3, 4};
  step.symbols = {int64_t{4}};
  c.steps = {step};
  EXPECT_THAT(CheckCertificate(c, input, input, {}).problem,
              HasSubstr("a variable depends on what is replaced"));
}

TEST(CertificateTest, NumbersThatAreNotNumbersAreComparedByTheirBits) {
  const CertificateCase files = Walk(
      "graph g(x: f32[2], w: weight f32[2] = [nan, -0.0]) {"
      " a = relu(x) b = relu(a) c = add(b, w) return c }",
      StarterRules(), {"relu_of_relu"});
  EXPECT_EQ(Problem(files), "");
  CertificateCase other = files;
  other.output = absl::StrReplaceAll(files.output, {{"AADAfwAAAIA=", "AADAfwAAAAA="}});
  ASSERT_NE(other.output, files.output);
  EXPECT_THAT(CredulousProblem(other), HasSubstr("its values differs"));
}

TEST(CertificateTest, WeightsOfOneNameAreToldApartByTheirValues) {
  GraphBuilder builder("g");
  const Value x = builder.Input("x", {DType::kF32, {2}});
  const Value a = *builder.Op("relu", {*builder.Op("relu", {x})});
  const Value u = builder.Weight("w", *Tensor::Filled({DType::kF32, {2}}, 2));
  const Value v = builder.Weight("w", *Tensor::Filled({DType::kF32, {2}}, 3));
  builder.Output("y", *builder.Op("add", {*builder.Op("mul", {a, u}), v}));
  const Graph graph = *std::move(builder).Build();
  const CertificateCase files = RandomWalk(graph, {Rule(PrintRule(StarterRules().back()))}, 0, 1);
  auto certificate = ParseCertificate(files.certificate);
  ASSERT_TRUE(certificate.ok()) << certificate.status();
  EXPECT_EQ(CheckCertificate(*certificate, graph, graph, {}).problem, "");
  GraphBuilder other("g");
  const Value y = other.Input("x", {DType::kF32, {2}});
  const Value b = *other.Op("relu", {*other.Op("relu", {y})});
  other.Output("y", *other.Op("add", {*other.Op("mul", {b, v}), u}));
  EXPECT_NE(CheckCertificate(*certificate, graph, *std::move(other).Build(), {}).problem, "");
}

TEST(CertificateTest, ReadsOnlyWhatIsWritten) {
  const std::string text = TwoSteps().certificate;
  ASSERT_TRUE(ParseCertificate(text).ok());
  EXPECT_FALSE(ParseCertificate(absl::StrReplaceAll(text, {{"result best", "result worst"}})).ok());
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"result best", "result  best"},
           {"steps 2", "steps 02"},
           {"step 1 ", "step 1  "},
           {"  type f32\n", "  type f32 \n"},
           {"rule relu_of_relu(", "# a comment\nrule relu_of_relu("},
           {"  gives ", "  gives 0"},
           {"\nfolds", "\n\nfolds"},
           {"relu(x)", "relu( x)"}}) {
    ASSERT_THAT(text, HasSubstr(from));
    const std::string changed = WithChecksum(absl::StrReplaceAll(text, {{from, to}}));
    EXPECT_FALSE(ParseCertificate(changed).ok()) << to;
  }
}

}  // namespace
}  // namespace lemma
