// Rules of quantized graphs are proved to keep every bit, and keep every bit where both sides are
// executed. Their neighbors in quantized_misses.txt are false: execution shows it, and none is
// proved with the contract that it claims, with refutation switched off.
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "gtest/gtest.h"
#include "rewrite/derivation/randomized_check.h"
#include "runtime/reference/reference.h"
#include "tests/verifier/prover_testutil.h"

namespace lemma {
namespace {

constexpr char kRules[] = "data/rules/quantized.txt";
constexpr char kMisses[] = "tests/verifier/quantized_misses.txt";
constexpr int kStyles = 3;

// Integers: any, many at the ends of their range, or all at one end. Floats: multiples of 1/8 and
// of 1/7, with infinities and NaN among them.
Tensor Draw(const TensorType& type, int style, std::mt19937_64* random) {
  auto below = [&](int64_t n) { return static_cast<int64_t>((*random)() % uint64_t(n)); };
  std::vector<double> values(static_cast<size_t>(type.num_elements()));
  const int bits = static_cast<int>(8 * SizeOf(type.dtype));
  const double low = IsUnsigned(type.dtype) ? 0 : -std::ldexp(1.0, bits - 1);
  const double high = low + std::ldexp(1.0, bits) - 1;
  for (double& value : values) {
    if (IsFloat(type.dtype)) {
      const int64_t kind = below(16);
      value = static_cast<double>(below(4000) - 2000) / (kind < 8 ? 8 : 7);
      if (kind == 13 && style > 0) value = std::numeric_limits<double>::quiet_NaN();
      if (kind == 14 && style > 0) value = std::numeric_limits<double>::infinity();
      if (kind == 15) value = below(2) == 0 ? 0.0 : -0.25;
    } else if (style == 2) {
      value = IsUnsigned(type.dtype) ? high : low;
    } else if (style == 1 && below(3) != 0) {
      value = below(2) == 0 ? low : high;
    } else {
      value = bits > 31 ? static_cast<double>(below(int64_t{1} << 26) - (int64_t{1} << 25))
                        : low + static_cast<double>(below(int64_t{1} << bits));
    }
  }
  return *Tensor::FromDoubles(type, values);
}

std::vector<Tensor> Execute(const Graph& graph, const std::vector<Tensor>& inputs) {
  auto executable = MakeReferenceBackend()->Compile(graph, {});
  if (!executable.ok()) return {};
  auto outputs = (*executable)->Run(inputs);
  return outputs.ok() ? *outputs : std::vector<Tensor>();
}

// Equal bits, but for the payload of NaN and the sign of a zero that a maximum may give.
bool Same(const Tensor& a, const Tensor& b, bool zeros) {
  if (a.type() != b.type()) return false;
  for (int64_t i = 0; i < a.size(); ++i) {
    const double x = a.AtDouble(i), y = b.AtDouble(i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x != y || (zeros && std::signbit(x) != std::signbit(y))) return false;
  }
  return true;
}

enum class Found { kNothing, kSame, kDifferent };

Found Compare(const Substitution& rule, const Assignment& assignment, uint64_t seed) {
  auto source = Instantiate(rule, rule.source, assignment);
  auto target = Instantiate(rule, rule.target, assignment);
  if (!source.ok() || !target.ok()) return Found::kNothing;
  std::set<std::string> operators;
  for (const NodePtr& node : source->nodes()) {
    if (node->is_op()) operators.insert(node->op().name);
  }
  std::mt19937_64 random(seed);
  Found found = Found::kNothing;
  for (int style = 0; style < kStyles; ++style) {
    std::vector<Tensor> inputs;
    for (const Value& input : source->inputs()) {
      inputs.push_back(Draw(input.type(), style, &random));
    }
    const std::vector<Tensor> a = Execute(*source, inputs), b = Execute(*target, inputs);
    if (a.empty() || b.size() != a.size()) continue;
    found = Found::kSame;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!Same(a[i], b[i], operators.count("clip") + operators.count("max") == 0)) {
        return Found::kDifferent;
      }
    }
  }
  return found;
}

// With the symbol k at the most that the precondition allows, or at 65,794.
Assignment WithMostTerms(const Substitution& rule, Assignment assignment) {
  for (size_t s = 0; s < rule.symbols.size(); ++s) {
    if (rule.symbols[s].name != "k" || rule.symbols[s].kind != SymbolKind::kInt) continue;
    int64_t most = 65794;
    for (const Comparison& c : rule.where) {
      if (c.lhs.ToString() == "k" && c.rhs.kind() == Term::Kind::kInt) most = c.rhs.integer();
    }
    assignment.symbols[s] = IndexExpr(most);
  }
  return assignment;
}

// With each parameter at an end of its bounds, or at a number that is no sum of few powers of two.
std::vector<Assignment> WithOtherScales(const Substitution& rule, const Assignment& assignment) {
  std::vector<Assignment> all(3, assignment);
  for (size_t s = 0; s < rule.symbols.size(); ++s) {
    if (rule.symbols[s].kind != SymbolKind::kReal) continue;
    all[0].symbols[s] = ScalarExpr(0.1F);
    for (const Comparison& c : rule.where) {
      if (c.lhs.ToString() != rule.symbols[s].name) continue;
      const double bound =
          c.rhs.kind() == Term::Kind::kInt ? static_cast<double>(c.rhs.integer()) : c.rhs.real();
      all[c.relation == Relation::kGe ? 1 : 2].symbols[s] = ScalarExpr(static_cast<float>(bound));
    }
  }
  return all;
}

TEST(QuantizedRules, AreProvedBitExact) {
  const std::vector<Substitution> rules = RulesIn(kRules);
  EXPECT_GE(rules.size(), size_t{40});
  for (const Substitution& rule : rules) {
    EXPECT_EQ(rule.contract, FloatContract::kBitExact) << rule.name;
    const Verdict verdict = ProveRule(rule);
    const auto* proved = std::get_if<Proved>(&verdict);
    ASSERT_TRUE(proved != nullptr) << rule.name << ": " << ToString(verdict);
    EXPECT_EQ(proved->contract, FloatContract::kBitExact) << rule.name;
  }
}

TEST(QuantizedRules, KeepEveryBit) {
  for (const Substitution& rule : RulesIn(kRules)) {
    InstanceSampler sampler(rule, 1);
    int same = 0;
    for (uint64_t i = 0; i < 40; ++i) {
      auto assignment = sampler.Draw();
      if (!assignment) break;
      const Found found = Compare(rule, *assignment, i);
      ASSERT_NE(found, Found::kDifferent) << rule.name << ", " << Describe(rule, *assignment);
      if (found == Found::kSame) ++same;
      // A scale of 0.1 is within the bounds of every rule with a positive one.
      const Assignment tenth = WithOtherScales(rule, *assignment)[0];
      bool holds = true;
      for (const Comparison& c : rule.where) {
        holds = holds && Evaluate(c, tenth.symbols).value_or(false);
      }
      if (holds) {
        ASSERT_NE(Compare(rule, tenth, i), Found::kDifferent) << rule.name << " with 0.1";
      }
    }
    EXPECT_GE(same, 5) << rule.name;
  }
}

TEST(QuantizedMisses, AreNotBelieved) {
  const std::vector<Substitution> rules = RulesIn(kMisses);
  EXPECT_GE(rules.size(), size_t{60});
  ProverOptions options;
  options.samples = 0;
  for (const Substitution& rule : rules) {
    const Verdict verdict = ProveRule(rule, options);
    const auto* proved = std::get_if<Proved>(&verdict);
    EXPECT_TRUE(proved == nullptr || proved->contract > rule.contract)
        << rule.name << ": " << ToString(verdict);
    EXPECT_FALSE(IsProved(ProveRule(rule)) && rule.contract == FloatContract::kRealOnly)
        << rule.name;
  }
}

TEST(QuantizedMisses, AreFalse) {
  for (const Substitution& rule : RulesIn(kMisses)) {
    InstanceSampler sampler(rule, 1);
    bool differs = false;
    for (uint64_t i = 0; i < 60 && !differs; ++i) {
      auto assignment = sampler.Draw();
      if (!assignment) break;
      differs = Compare(rule, *assignment, i) == Found::kDifferent ||
                Compare(rule, WithMostTerms(rule, *assignment), i) == Found::kDifferent;
      for (const Assignment& other : WithOtherScales(rule, *assignment)) {
        differs = differs || Compare(rule, other, i) == Found::kDifferent;
      }
    }
    EXPECT_TRUE(differs) << rule.name;
  }
}

}  // namespace
}  // namespace lemma
