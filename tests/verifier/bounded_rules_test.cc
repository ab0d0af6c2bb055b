// Rules whose contract bounds the difference of the sides: the bounds are proved, no execution
// exceeds them, smaller bounds are not proved, and nobody takes such a rule for an equality.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/rules/rules_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rewrite/derivation/randomized_check.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"
#include "runtime/reference/reference.h"
#include "tests/verifier/prover_testutil.h"
#include "verifier/error_bound/upper_bound.h"

namespace lemma {
namespace {

using testing::HasSubstr;

constexpr char kRules[] = "data/rules/bounded.txt";
constexpr char kMisses[] = "tests/verifier/bounded_misses.txt";

ProverOptions Bounded(int samples = 10) {
  ProverOptions options;
  options.bounded = true;
  options.samples = samples;
  return options;
}

// Floats: some within the range of 8-bit integers, some beyond it, many half way between integers.
Tensor Draw(const TensorType& type, double step, std::mt19937_64* random) {
  auto below = [&](int64_t n) { return static_cast<int64_t>((*random)() % uint64_t(n)); };
  std::vector<double> values(static_cast<size_t>(type.num_elements()));
  for (double& value : values) {
    if (type.dtype == DType::kU8) {
      value = below(4) == 0 ? 255 : static_cast<double>(below(256));
    } else if (type.dtype == DType::kI8) {
      value = below(4) == 0 ? -128 : static_cast<double>(below(256) - 128);
    } else {
      const double steps = static_cast<double>(below(1200) - 600);
      value = step * (below(3) == 0 ? steps + 0.499 : steps / (1 + below(5)));
    }
  }
  return *Tensor::FromDoubles(type, values);
}

// The largest |source - target| on random inputs, divided by the bound. Values are computed in
// double and not rounded to f32, as the claim is about real numbers. nullopt if a side is not
// well-formed.
std::optional<double> LargestShare(const Substitution& rule, const Assignment& assignment,
                                   double step, std::mt19937_64* random) {
  auto source = Instantiate(rule, rule.source, assignment);
  auto target = Instantiate(rule, rule.target, assignment);
  auto bound = Evaluate(*rule.bound, assignment.symbols);
  if (!source.ok() || !target.ok() || !bound) return std::nullopt;
  const auto* real = std::get_if<ScalarExpr>(&*bound);
  const double most =
      real != nullptr ? real->value() : static_cast<double>(std::get<IndexExpr>(*bound).value());
  std::vector<Tensor> inputs;
  for (const Value& input : source->inputs()) inputs.push_back(Draw(input.type(), step, random));
  std::vector<std::vector<Tensor>> outputs;
  for (const Graph* side : {&*source, &*target}) {
    auto executable = MakeReferenceBackend(BetweenOperators::kUnrounded)->Compile(*side, {});
    if (!executable.ok()) return std::nullopt;
    auto computed = (*executable)->Run(inputs);
    if (!computed.ok()) return std::nullopt;
    outputs.push_back(*std::move(computed));
  }
  double largest = 0;
  for (size_t o = 0; o < outputs[0].size(); ++o) {
    for (int64_t i = 0; i < outputs[0][o].size(); ++i) {
      const double x = outputs[0][o].AtDouble(i), y = outputs[1][o].AtDouble(i);
      // Outputs are stored as f32.
      const double slack = 4e-7 * (std::abs(x) + std::abs(y));
      largest = std::max(largest, (std::abs(x - y) - slack) / most);
    }
  }
  return largest;
}

Assignment WithScales(const Substitution& rule, Assignment assignment, double scale) {
  for (size_t s = 0; s < rule.symbols.size(); ++s) {
    if (rule.symbols[s].kind == SymbolKind::kReal) assignment.symbols[s] = ScalarExpr(scale);
  }
  return assignment;
}

TEST(BoundedRules, AreProved) {
  const std::vector<Substitution> rules = RulesIn(kRules);
  EXPECT_GE(rules.size(), size_t{20});
  for (const Substitution& rule : rules) {
    EXPECT_EQ(OutdatedRecord(rule), "") << rule.name;
    EXPECT_EQ(ProofProblem(rule), "it changes values (bounded)") << rule.name;
    const Verdict verdict = ProveRule(rule, Bounded());
    const auto* proved = std::get_if<Proved>(&verdict);
    ASSERT_TRUE(proved != nullptr) << rule.name << ": " << ToString(verdict);
    EXPECT_EQ(proved->contract, FloatContract::kBounded) << rule.name;
  }
}

TEST(BoundedRules, NoExecutionExceedsTheBound) {
  std::mt19937_64 random(1);
  for (const Substitution& rule : RulesIn(kRules)) {
    InstanceSampler sampler(rule, 1);
    double largest = 0;
    int compared = 0;
    for (int i = 0; i < 60; ++i) {
      auto assignment = sampler.Draw();
      ASSERT_TRUE(assignment.has_value()) << rule.name;
      const double scale = std::ldexp(1.0, i % 7 - 3);
      const Assignment scaled = WithScales(rule, *assignment, scale);
      auto share = LargestShare(rule, scaled, scale, &random);
      if (!share) continue;
      ++compared;
      ASSERT_LE(*share, 1) << rule.name << ", " << Describe(rule, scaled);
      largest = std::max(largest, *share);
    }
    EXPECT_GE(compared, 20) << rule.name;
    // The bound is not far off either. In products, few random elements have the largest errors.
    EXPECT_GE(largest, 0.05) << rule.name;
  }
}

TEST(BoundedRules, SmallerBoundsAreNotProved) {
  for (Substitution rule : RulesIn(kRules)) {
    rule.bound = Term::Call(TermFn::kMul, {Term::Real(0.99), *rule.bound});
    const Verdict verdict = ProveRule(rule, Bounded(0));
    EXPECT_FALSE(IsProved(verdict)) << rule.name;
    EXPECT_THAT(Explanation(verdict), HasSubstr("larger")) << rule.name;
  }
}

TEST(BoundedRules, ASumOfBoundsIsABound) {
  for (Substitution rule : RulesIn(kRules)) {
    rule.bound = Term::Call(TermFn::kAdd, {*rule.bound, Term::Real(0.125)});
    EXPECT_TRUE(IsProved(ProveRule(rule, Bounded(0)))) << rule.name;
  }
}

TEST(BoundedMisses, AreNotProved) {
  const std::vector<Substitution> rules = RulesIn(kMisses);
  EXPECT_GE(rules.size(), size_t{26});
  int refuted = 0;
  for (const Substitution& rule : rules) {
    const Verdict unseen = ProveRule(rule, Bounded(0));
    EXPECT_FALSE(IsProved(unseen)) << rule.name << ": " << ToString(unseen);
    const Verdict verdict = ProveRule(rule, Bounded());
    EXPECT_FALSE(IsProved(verdict)) << rule.name;
    refuted += IsRefuted(verdict);
  }
  EXPECT_GE(refuted, 12);
}

// Random operators behind two quantized values; all results are added up.
std::string RandomChain(std::mt19937_64* random) {
  auto below = [&](size_t n) { return static_cast<size_t>((*random)() % n); };
  static const char* const kOperators[] = {"relu(A)",
                                           "abs(A)",
                                           "neg(A)",
                                           "tanh(A)",
                                           "round(A)",
                                           "floor(A)",
                                           "add(A, B)",
                                           "sub(A, B)",
                                           "max(A, B)",
                                           "min(A, B)",
                                           "mul(A, B)",
                                           "scalar_mul(A) {alpha = 0.75}",
                                           "transpose(A) {perm = [1, 0]}",
                                           "clip(A) {max = 3.5, min = -2.25}"};
  static const char* const kLast[] = {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min"};
  std::vector<std::string> values = {"xq", "yq"}, unread = values;
  std::string text;
  for (size_t i = 0, length = 1 + below(5); i < length; ++i) {
    const std::string a = values[below(values.size())], b = values[below(values.size())];
    const std::string op = kOperators[below(std::size(kOperators))];
    for (const std::string& read : {a, b}) {
      const bool is_read = read == a || absl::StrContains(op, "B");
      if (is_read) unread.erase(std::remove(unread.begin(), unread.end(), read), unread.end());
    }
    values.push_back(absl::StrCat("v", i));
    unread.push_back(values.back());
    absl::StrAppend(&text, "  ", values.back(), " = ",
                    absl::StrReplaceAll(op, {{"A", a}, {"B", b}}), "\n");
  }
  std::string total = unread[0];
  for (size_t i = 1; i < unread.size(); ++i) {
    absl::StrAppend(&text, "  t", i, " = add(", total, ", ", unread[i], ")\n");
    total = absl::StrCat("t", i);
  }
  return absl::StrCat(text, "  r = ", kLast[below(std::size(kLast))], "(", total,
                      ") {axes = [1], keepdims = 0}\n  return r\n");
}

// `name` as steps of s between -128 s and 127 s; without roundings if `is_rounded` is false.
std::string Quantized(const std::string& name, bool is_rounded) {
  const char* text = is_rounded
                         ? "  N1 = div(N, step)\n  N2 = round(N1)\n"
                           "  N3 = clip(N2) {max = 127.0, min = -128.0}\n"
                           "  N4 = cast(N3) {dtype = \"i8\"}\n  N5 = cast(N4) {dtype = \"f32\"}\n"
                           "  Nq = mul(N5, step)\n"
                         : "  N1 = div(N, step)\n  N3 = clip(N1) {max = 127.0, min = -128.0}\n"
                           "  Nq = mul(N3, step)\n";
  return absl::StrReplaceAll(text, {{"N", name}});
}

// Whatever bound is proved, no execution exceeds it.
TEST(BoundedRules, RandomChainsKeepWhatIsProved) {
  const std::string bounds[] = {"0.25 * s",  "0.5 * s",      "s", "2.5 * s", "0.5 * n * s",
                                "1 + 4 * s", "n + 8 * n * s"};
  std::mt19937_64 random(7);
  int proved = 0, tight = 0;
  for (int chain = 0; chain < 100; ++chain) {
    const std::string operators = RandomChain(&random);
    for (const std::string& bound : bounds) {
      std::string text = absl::StrCat("rule chain(x: f32 [n, n], y: f32 [n, n]) bounded(", bound,
                                      ") where s >= 0.125, s <= 8 {\n");
      for (const bool is_rounded : {true, false}) {
        absl::StrAppend(&text, "  step = constant f32 [] fill s\n", Quantized("x", is_rounded),
                        Quantized("y", is_rounded), operators, is_rounded ? "} => {\n" : "}\n");
      }
      const Substitution rule = Rules(text)[0];
      if (!IsProved(ProveRule(rule, Bounded(0)))) continue;
      ++proved;
      double largest = 0;
      for (int i = 0; i < 40; ++i) {
        const Assignment assignment = *InstanceSampler(rule, static_cast<uint64_t>(i + 1)).Draw();
        const double scale = std::ldexp(1.0, i % 7 - 3);
        const Assignment scaled = WithScales(rule, assignment, scale);
        auto share = LargestShare(rule, scaled, scale, &random);
        ASSERT_TRUE(share.has_value()) << text;
        ASSERT_LE(*share, 1) << text << Describe(rule, scaled);
        largest = std::max(largest, *share);
      }
      tight += largest > 0.7;
      break;
    }
  }
  EXPECT_GE(proved, 50);
  EXPECT_GE(tight, 10);
}

// Each once ended the program, or had another contract.
TEST(BoundedRules, OddBoundsHaveAnAnswer) {
  const auto verdict = [](const std::string& bound, const std::string& type) {
    return ProveText(absl::StrCat("rule r(x: ", type, " [n, m]) bounded(", bound,
                                  ") { a = cast(x) {dtype = \"f32\"} y = round(a) return y } => { "
                                  "y = cast(x) {dtype = \"f32\"} return y }"),
                     Bounded());
  };
  for (const char* bound : {"min(n, m)", "0.5 + (n div m)", "1e308 * 10", "n - 0.5", "0.5 - 1"}) {
    EXPECT_FALSE(IsProved(verdict(bound, "f32"))) << bound;
  }
  for (const char* bound : {"0.5", "0.5 * n", "n * m", "0.25 * n + 0.25 * m"}) {
    const Verdict proved = verdict(bound, "f16");
    ASSERT_TRUE(IsProved(proved)) << bound << ToString(proved);
    EXPECT_EQ(std::get<Proved>(proved).contract, FloatContract::kBounded);
  }
  EXPECT_FALSE(IsProved(ProveText(R"(
      rule padded(x: f32 [n, m]) bounded(0.5 * n) {
        a = round(x) c = pad(a) {pads = [p, q, r, t]}
        y = reduce_sum(c) {axes = [0], keepdims = 0} return y
      } => {
        c = pad(x) {pads = [p, q, r, t]}
        y = reduce_sum(c) {axes = [0], keepdims = 0} return y
      })",
                                  Bounded())));
  EXPECT_TRUE(IsProved(ProveText(R"(
      rule mean(x: f32 [n, 4]) bounded(0.5) {
        a = round(x) y = reduce_mean(a) {axes = [1], keepdims = 0} return y
      } => {
        y = reduce_mean(x) {axes = [1], keepdims = 0} return y
      })",
                                 Bounded())));
}

TEST(BoundedRules, AreNoEqualities) {
  const Substitution rule = RulesIn(kRules)[0];
  EXPECT_THAT(ToString(ProveRule(rule)), HasSubstr("changes values"));
  const auto file = api::LoadRulesFile(kRules);
  EXPECT_THAT(std::string(file.status().message()), HasSubstr("changes values (bounded)"));
  EXPECT_TRUE(api::LoadRulesFile(kRules, RuleKinds::kAll).ok());
}

TEST(BoundedRules, AreReadAndPrinted) {
  for (const Substitution& rule : RulesIn(kRules)) {
    EXPECT_EQ(PrintRule(Rules(PrintRule(rule))[0]), PrintRule(rule));
  }
  const auto message = [](const std::string& contract) {
    const std::string text =
        absl::StrCat("rule r(x: f32 [n]) ", contract, " { y = round(x) return y } => { return x }");
    return std::string(ParseRules(text, "text", RuleKinds::kAll).status().message());
  };
  EXPECT_EQ(message("bounded(0.5)"), "");
  EXPECT_THAT(message("bounded"), HasSubstr("bounded needs a bound, as in bounded(0.5 * s)"));
  EXPECT_THAT(message("bit_exact(0.5)"), HasSubstr("bit_exact has no bound"));
  EXPECT_THAT(message("bounded(0.5 * s)"), HasSubstr("s occurs in the bound only"));
  EXPECT_THAT(message("bounded(0.5"), HasSubstr("expected"));
  // The bound is a part of what is proved.
  Substitution other = RulesIn(kRules)[0];
  other.bound = Term::Real(3);
  EXPECT_THAT(ProofProblem(other), HasSubstr("stale"));
}

TEST(UpperBoundTest, Compares) {
  using prover::AtMost;
  using prover::UpperBound;
  const UpperBound s = UpperBound::Of("s"), n = UpperBound::Of("n:n"), one = UpperBound::Number(1);
  EXPECT_TRUE(AtMost(UpperBound(), UpperBound()));
  EXPECT_TRUE(AtMost(s, n * s));
  EXPECT_FALSE(AtMost(n * s, s));
  EXPECT_FALSE(AtMost(one, s));
  EXPECT_FALSE(AtMost(s, one));
  EXPECT_TRUE(AtMost(one, n));
  EXPECT_FALSE(AtMost(n + one, n));
  EXPECT_TRUE(AtMost(n + one, n + n));
  EXPECT_TRUE(AtMost(UpperBound::Of("n:n", -1) * n, one));
  EXPECT_TRUE(AtMost(UpperBound::Of("n:n", -1), one));
  EXPECT_FALSE(AtMost(one, UpperBound::Of("n:n", -1)));
  EXPECT_TRUE(AtMost(UpperBound::Of("s", -1) * s, one));
  EXPECT_FALSE(AtMost(UpperBound::Number(0.1) + UpperBound::Number(0.2), UpperBound::Number(0.3)));
  EXPECT_TRUE(AtMost(UpperBound::Number(3).DividedBy(3), one));
  EXPECT_FALSE(AtMost(UpperBound::Number(-1), n));
  EXPECT_FALSE(AtMost(one.DividedBy(-3), n));
  EXPECT_EQ((UpperBound::Number(0.5) * s * n + UpperBound::Of("n:k", -1)).ToString(),
            "1/k + 0.5*n*s");
}

}  // namespace
}  // namespace lemma
