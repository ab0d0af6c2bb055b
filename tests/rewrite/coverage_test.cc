// An instance that no proved form covers is not applied.
#include "rewrite/rules/coverage.h"

#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "rewrite/derivation/randomized_check.h"
#include "rewrite/matching/rewrite_source.h"
#include "rewrite/rules/batch_text.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {
namespace {

std::vector<Substitution> Rules(absl::string_view text) {
  auto rules = ParseRules(text);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return rules.ok() ? *std::move(rules) : std::vector<Substitution>();
}

// The number of places where the rule is applied to the graph.
int Applications(absl::string_view rule, absl::string_view text) {
  auto set = RuleSet::Create(Rules(rule));
  auto graph = ParseGraph(text);
  EXPECT_TRUE(set.ok() && graph.ok()) << set.status() << graph.status();
  MatchIndex index(*graph);
  int count = 0;
  (*set)->ForEach(index, [&](const Rewrite& rewrite) {
    auto result = rewrite.Apply();
    EXPECT_TRUE(result.ok()) << result.status();
    ++count;
    return true;
  });
  return count;
}

// The proof requires g*k = c; with one output channel the sum broadcasts instead.
TEST(Coverage, CompoundSizeThatIsOne) {
  constexpr char kRule[] = R"(rule r(x: [n,g*c,h,w], f: [g*k,c,r,s], b: [1,l,1,1]) bit_exact {
  y = conv2d(x, f) {groups = g}
  z = add(y, b)
  u = relu(z)
  return u
} => {
  y = conv2d(x, f) {groups = g}
  z = add(b, y)
  u = relu(z)
  return u
})";
  auto graph = [](int outputs, int biases) {
    return absl::StrCat("graph g(x: f32[1,2,5,5], f: f32[", outputs, ",2,3,3], b: f32[1,", biases,
                        ",1,1]) { y = conv2d(x, f) {groups = 1} z = add(y, b) u = relu(z) "
                        "return u }");
  };
  EXPECT_EQ(Applications(kRule, graph(4, 4)), 1);
  EXPECT_EQ(Applications(kRule, graph(1, 1)), 1);
  EXPECT_EQ(Applications(kRule, graph(4, 1)), 0);  // l = 1 would be a form of its own
  EXPECT_EQ(Applications(kRule, graph(1, 4)), 0);
}

constexpr char kFlatten[] = R"(rule r(x: [s..]) bit_exact {
  y = reshape(x) {shape = [product(s)]}
  z = relu(y)
  return z
} => {
  y = relu(x)
  z = reshape(y) {shape = [product(s)]}
  return z
})";

TEST(Coverage, LongerListThanWasTried) {
  auto graph = [](absl::string_view shape, int size) {
    return absl::StrCat("graph g(x: f32", shape, ") { y = reshape(x) {shape = [", size,
                        "]} z = relu(y) return z }");
  };
  EXPECT_EQ(Applications(kFlatten, graph("[2,3]", 6)), 1);
  EXPECT_EQ(Applications(kFlatten, graph("[2,3,1,2,1,1,2,1]", 24)), 0);
}

TEST(Coverage, AxisThatWasNotTried) {
  constexpr char kRule[] = R"(rule r(x: [h,i,j,k,l,m,n]) bit_exact {
  y = softmax(x) {axis = a}
  z = reshape(y) {shape = [h*i*j*k*l*m*n]}
  u = relu(z)
  return u
} => {
  y = softmax(x) {axis = a}
  z = relu(y)
  u = reshape(z) {shape = [h*i*j*k*l*m*n]}
  return u
})";
  auto graph = [](int axis) {
    return absl::StrCat("graph g(x: f32[2,1,2,1,2,2,1]) { y = softmax(x) {axis = ", axis,
                        "} z = reshape(y) {shape = [16]} u = relu(z) return u }");
  };
  EXPECT_EQ(Applications(kRule, graph(2)), 1);
  EXPECT_EQ(Applications(kRule, graph(4)), 0);
}

// A list that is only carried along may have any length, and an axis among such dimensions any
// value.
TEST(Coverage, AnyRank) {
  constexpr char kRule[] = R"(rule r(x: [s..], y: [t..]) bit_exact {
  n = neg(y)
  z = sub(x, n)
  u = softmax(z) {axis = a}
  return u
} => {
  z = add(x, y)
  u = softmax(z) {axis = a}
  return u
})";
  constexpr char kBody[] = ") { n = neg(y) z = sub(x, n) u = softmax(z) {axis = 5} return u }";
  EXPECT_EQ(Applications(kRule, absl::StrCat("graph g(x: f32[2,1,2,1,2,3,2], y: f32[3,2]", kBody)),
            1);
  EXPECT_EQ(Applications(kRule, absl::StrCat("graph g(x: f32[3,2], y: f32[2,1,2,1,2,1,1]", kBody)),
            1);
  constexpr char kTransposes[] = R"(rule r(x: [s..]) bit_exact {
  y = transpose(x) {perm = p}
  z = transpose(y) {perm = q}
  return z
} => {
  z = transpose(x) {perm = compose(p, q)}
  return z
})";
  EXPECT_EQ(Applications(kTransposes, R"(graph g(x: f32[1,2,3,2,1,2]) {
    y = transpose(x) {perm = [5,0,3,2,4,1]} z = transpose(y) {perm = [1,2,0,5,4,3]} return z })"),
            1);
}

// A number that is not finite is no real number, so no proof covers it.
TEST(Coverage, FiniteNumbers) {
  constexpr char kRule[] = R"(rule r(x: [s..]) reassociates {
  y = scalar_mul(x) {alpha = a}
  z = scalar_mul(y) {alpha = b}
  return z
} => {
  z = scalar_mul(x) {alpha = a*b}
  return z
})";
  std::vector<Substitution> rules = Rules(kRule);
  Coverage coverage(rules[0]);
  auto covers = [&](double a, double b) {
    SymbolValues values(rules[0].symbols.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const std::string& name = rules[0].symbols[i].name;
      values[i] = name == "s" ? ExprAttr(Idx{2, 3}) : ExprAttr(ScalarExpr(name == "a" ? a : b));
    }
    return coverage.Covers(values, DType::kF32);
  };
  EXPECT_TRUE(covers(2, 0));
  EXPECT_FALSE(covers(2, std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(covers(std::numeric_limits<double>::quiet_NaN(), 1));
}

// The proof is about real numbers; integers cut off fractions.
TEST(Coverage, IntegersThatAreMovedOrAdded) {
  auto covers = [](absl::string_view rule, DType type) {
    std::vector<Substitution> rules = Rules(rule);
    Coverage coverage(rules[0]);
    return coverage.Covers(SymbolValues(rules[0].symbols.size(), ExprAttr(IndexExpr(3))), type);
  };
  constexpr char kSum[] = R"(rule r(x: [n], y: [n]) bit_exact { z = add(x, y) return z } =>
                             { z = add(y, x) return z })";
  EXPECT_TRUE(covers(kSum, DType::kF16));
  EXPECT_TRUE(covers(kSum, DType::kI64));
  EXPECT_FALSE(covers(kSum, DType::kI8));
  constexpr char kMean[] = R"(rule r(x: [n,m]) bit_exact {
      y = transpose(x) {perm = [1,0]} z = reduce_mean(y) {axes = [0]} return z } =>
      { z = reduce_mean(x) {axes = [1]} return z })";
  EXPECT_TRUE(covers(kMean, DType::kF64));
  EXPECT_FALSE(covers(kMean, DType::kI64));
  constexpr char kMove[] = R"(rule r(x: [n,m]) bit_exact {
      y = transpose(x) {perm = [1,0]} z = transpose(y) {perm = [1,0]} return z } => { return x })";
  for (DType type : {DType::kBool, DType::kU8, DType::kI32, DType::kBF16}) {
    EXPECT_TRUE(covers(kMove, type));
  }
}

Statement FormOf(absl::string_view text) {
  std::vector<Substitution> rules = Rules(text);
  RuleForms forms = FormsOf(rules[0]);
  EXPECT_EQ(forms.forms.size(), 1u) << forms.problem;
  return forms.forms.empty() ? Statement() : forms.forms[0].statement;
}

std::vector<std::string> Erased(absl::string_view rule) {
  return TextWithoutBatchDims(FormOf(rule), DType::kF32).erased;
}

TEST(Carried, OnlyWhatIsUsedNowhereElse) {
  using Names = std::vector<std::string>;
  // The transpose of a square matrix is not that matrix, whatever dimensions are carried along.
  EXPECT_EQ(Erased(R"(rule r(x: [n,n]) bit_exact { y = transpose(x) {perm = [1,0]} return y } =>
                      { y = relu(x) return y })"),
            Names());
  EXPECT_EQ(Erased(R"(rule r(x: [m,n]) bit_exact { y = transpose(x) {perm = [1,0]} z = relu(y)
                      return z } => { y = relu(x) z = transpose(y) {perm = [1,0]} return z })"),
            (Names{"m", "n"}));
  // Dimensions that are summed over, divided by or shifted are not carried along.
  EXPECT_EQ(Erased(R"(rule r(x: [m,n]) bit_exact { y = reduce_mean(x) {axes = [1]} return y } =>
                      { y = reduce_sum(x) {axes = [1]} return y })"),
            Names{"m"});
  EXPECT_EQ(Erased(R"(rule r(x: [m,n]) bit_exact { y = pad(x) {pads = [0,1,0,0]} return y } =>
                      { y = pad(x) {pads = [0,1,0,0]} return y })"),
            Names());
  EXPECT_EQ(Erased(R"(rule r(x: [m,n]) bit_exact { y = cumsum(x) {axis = 0} return y } =>
                      { y = cumsum(x) {axis = 0} return y })"),
            Names{"n"});
  // Nor is a dimension of which one side reads a fixed row.
  EXPECT_EQ(Erased(R"(rule r(x: [m,n]) bit_exact {
                        y = slice(x) {starts = [0,0], sizes = [1,n]} z = expand(y) {shape = [m,n]}
                        return z } => { y = relu(x) return y })"),
            Names{"n"});
  // Nor is a size that one side multiplies by.
  EXPECT_EQ(Erased(R"(rule r(x: [m]) reassociates {
                        y = expand(x) {shape = [m,m]} z = reduce_sum(y) {axes = [0]} return z
                      } => { c = constant [] fill 2 y = mul(x, c) return y })"),
            Names());
}

// At least nine tenths of the random instances of the starter rules are covered.
TEST(Coverage, OfRandomInstancesOfTheStarterRules) {
  auto loaded = RuleSet::Load("data/rules/starter.txt");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  int covered = 0, total = 0;
  for (const Substitution& rule : (*loaded)->rules()) {
    Coverage coverage(rule);
    InstanceSampler sampler(rule, 5);
    int mine = 0, all = 0;
    for (int i = 0; i < 60; ++i) {
      auto assignment = sampler.Draw();
      ASSERT_TRUE(assignment.has_value());
      auto source = Instantiate(rule, rule.source, *assignment, VarsAs::kRoles);
      auto target = Instantiate(rule, rule.target, *assignment, VarsAs::kRoles);
      if (!source.ok() || !target.ok()) continue;
      ++all;
      mine += coverage.Covers(assignment->symbols, assignment->dtype);
    }
    EXPECT_GE(mine, all / 2) << rule.name;
    if (mine < all) printf("%s: %d of %d\n", rule.name.c_str(), mine, all);
    covered += mine;
    total += all;
  }
  printf("%d of %d covered\n", covered, total);
  EXPECT_GE(covered, total * 9 / 10);
}

// A record of another statement proves nothing: the rule has no matches.
TEST(Coverage, RequiresTheCurrentRecordIfAsked) {
  std::vector<Substitution> rules = Rules(
      "rule r(x: [s..]) bit_exact { y = relu(x) z = relu(y) return z } => "
      "{ y = relu(x) return y }");
  auto graph = ParseGraph("graph g(x: f32[3]) { y = relu(x) z = relu(y) return z }");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const MatchIndex index(*graph);
  auto applies = [&](const std::string& id, RecordCheck check) {
    rules[0].proof = {ProofRecord::Verdict::kProved, FloatContract::kBitExact, id, "all"};
    RuleSetOptions options;
    options.records = check;
    auto set = RuleSet::Create(rules, options);
    bool found = false;
    (*set)->ForEach(index, [&](const Rewrite&) { return !(found = true); });
    return found;
  };
  const std::string current = CurrentProofId(rules[0]);
  EXPECT_TRUE(applies(current, RecordCheck::kWhenUsed));
  EXPECT_FALSE(applies("0123456789abcdef0123456789abcdef", RecordCheck::kWhenUsed));
  EXPECT_FALSE(applies("", RecordCheck::kWhenUsed));
  EXPECT_TRUE(applies("", RecordCheck::kBefore));
}

}  // namespace
}  // namespace lemma
