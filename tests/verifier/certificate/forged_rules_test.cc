// Steps forged with true rules, where the graph's numbers are not those of the rule; and forged
// rules, which --prove proves anew.
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rewrite/rules/certificate.h"
#include "tests/verifier/certificate/certificate_cases.h"
#include "tests/verifier/certificate/forgery.h"
#include "verifier/prover/prover.h"

namespace lemma {
namespace {

using testing::HasSubstr;

AttrValue Real(double x) { return x; }

// Matches a text that contains `part`; if `part` is "", only the empty text.
testing::Matcher<std::string> IsProblem(const std::string& part) {
  if (part.empty()) return testing::Eq("");
  return HasSubstr(part);
}

// x·0 = 0 for all x, and not (x·1e-9)·1e9: 1e-9 is 0 in f16, but that constant is 0 everywhere.
TEST(ForgedRuleTest, AConstantOfTheSourceIsNotWhatRoundsToIt) {
  const struct {
    const char *type, *constant, *forged;
    double value;
    const char* problem;
  } kCases[] = {
      {"f32", "0.5", "0.5", 0.5, ""},
      {"f16", "0.0", "1e-09", 1e-9, "it is another constant"},
      {"f32", "0.0", "1e-60", 1e-60, "it is another constant"},
      {"f16", "1.0", "1.0004", 1.0004, "it is another constant"},
      {"bf16", "1.0", "1.0038", 1.0038, "it is another constant"},
      {"f32", "1.0", "1.00000001", 1.00000001, "it is another constant"},
      {"f16", "inf", "1e+06", 1e6, "it is another constant"},
  };
  for (const auto& c : kCases) {
    const CertificateCase honest =
        Walk(absl::StrCat("graph g(x: ", c.type, "[4]) { c = constant ", c.type,
                          "[] fill 0.25 y = mul(x, c) z = neg(y) return z }"),
             StarterRules(), {"mul_by_scalar"});
    const CertificateCase forged =
        Resigned(honest, {{"fill 0.25", absl::StrCat("fill ", c.constant)}},
                 {{"alpha = 0.25", absl::StrCat("alpha = ", c.forged)}}, [&](Certificate* k) {
                   for (AttrValue& symbol : k->steps[0].symbols) {
                     if (std::holds_alternative<double>(symbol)) symbol = Real(c.value);
                   }
                 });
    EXPECT_THAT(Problem(forged), IsProblem(c.problem)) << c.type << " " << c.forged;
  }
}

// (x·a)·b = x·(a·b), where a·b is 0 or infinite in double or in f32: x·1e-30·1e-30·1e30·1e30 is x.
TEST(ForgedRuleTest, AnAttributeIsNotComputedToNothing) {
  const struct {
    const char *type, *a, *b, *product, *problem;
  } kCases[] = {
      {"f32", "0.5", "0.125", "0.0625", ""},
      {"f64", "1e-100", "1e-100", "1e-200", ""},
      {"f32", "1e-200", "2e-200", "0.0", "is another number in double"},
      {"f64", "1e-200", "2e-200", "0.0", "is another number in double"},
      {"f64", "1e+200", "2e+200", "inf", "is another number in double"},
      {"f32", "1e+20", "2e+20", "2e+40", "is another number in f32"},
      {"f32", "1e-30", "2e-30", "2e-60", "is another number in f32"},
      {"f16", "0.0001", "0.0002", "2e-08", "is another number in f16"},
      {"f16", "1000.0", "2000.0", "2e+06", "is another number in f16"},
  };
  for (const auto& c : kCases) {
    const CertificateCase honest =
        Walk(absl::StrCat("graph g(x: ", c.type,
                          "[4]) { y = scalar_mul(x) {alpha = 0.5} z = scalar_mul(y) {alpha = 0.25}"
                          " w = neg(z) return w }"),
             StarterRules(), {"scalar_mul_of_scalar_mul"});
    double a = 0, b = 0;
    ASSERT_TRUE(absl::SimpleAtod(c.a, &a) && absl::SimpleAtod(c.b, &b));
    const CertificateCase forged =
        Resigned(honest, {{"0.25", c.b}, {"0.5", c.a}},
                 {{"alpha = 0.125", absl::StrCat("alpha = ", c.product)}}, [&](Certificate* k) {
                   for (AttrValue& symbol : k->steps[0].symbols) {
                     auto* real = std::get_if<double>(&symbol);
                     if (real != nullptr) symbol = Real(*real == 0.5 ? a : b);
                   }
                 });
    EXPECT_THAT(Problem(forged), IsProblem(c.problem)) << c.type << " " << c.a;
  }
}

// Rules that are true for real numbers, at numbers that a type cannot hold.
TEST(ForgedRuleTest, ConstantsOfTheTargetAreHeld) {
  const struct {
    const char *type, *honest, *forged, *stored, *problem;
  } kCases[] = {
      {"f32", "0.1", "0.3", "0.3", ""},
      {"f16", "0.25", "1e-09", "0.0", "is another number as f16"},
      {"f16", "0.25", "1e+06", "inf", "is another number as f16"},
      {"f32", "0.25", "1e-60", "0.0", "is another number as f32"},
      {"bf16", "0.25", "1e-50", "0.0", "is another number as bf16"},
  };
  Forgery f = {"", "x: [n]", "reassociates", "z = scalar_mul(x) {alpha = a} return z", "", "", ""};
  f.target = "c = constant [] fill a z = mul(x, c) return z";
  for (const auto& c : kCases) {
    const CertificateCase honest =
        Walk(absl::StrCat("graph g(x: ", c.type, "[4]) { z = scalar_mul(x) {alpha = ", c.honest,
                          "} w = neg(z) return w }"),
             {RuleOf(f, f.target)}, {"forged"});
    double value = 0;
    ASSERT_TRUE(absl::SimpleAtod(c.forged, &value));
    const std::string stored = honest.output.substr(honest.output.find("fill "));
    const CertificateCase forged =
        Resigned(honest, {{c.honest, c.forged}},
                 {{stored.substr(0, stored.find('\n')), absl::StrCat("fill ", c.stored)}},
                 [&](Certificate* k) {
                   for (AttrValue& symbol : k->steps[0].symbols) {
                     if (std::holds_alternative<double>(symbol)) symbol = Real(value);
                   }
                 });
    EXPECT_THAT(Problem(forged, [](const Substitution&) { return std::string(); }),
                IsProblem(c.problem))
        << c.type << " " << c.forged;
  }
}

// The answer of --prove about a rule: "" if it is proved with the contract that it promises.
std::string ProvedAs(const Substitution& rule) {
  const Verdict verdict = ProveRule(rule);
  if (!IsProved(verdict)) return "not proved";
  const FloatContract contract = std::get<Proved>(verdict).contract;
  return contract == rule.contract ? "" : absl::StrCat("only ", Name(contract));
}

TEST(ForgedRuleTest, NoFalseRuleIsProved) {
  const struct {
    const char *contract, *vars, *source, *target;
  } kRules[] = {
      // Signed zeros and NaN.
      {"bit_exact", "x: [n]", "c = constant [] fill -0.0 z = add(x, c)",
       "c = constant [] fill 0.0 z = add(x, c)"},
      {"bit_exact", "x: [n]", "c = constant [] fill 0.0 z = add(x, c)", "a = neg(x) z = neg(a)"},
      {"bit_exact", "x: [n]", "c = constant [] fill -0.0 z = sub(x, c)", "a = neg(x) z = neg(a)"},
      {"bit_exact", "x: [n]", "z = relu(x)", "c = constant [] fill -0.0 z = max(x, c)"},
      {"bit_exact", "x: [n]", "z = relu(x)", "z = leaky_relu(x) {alpha = 0.0}"},
      {"bit_exact", "x: [n]", "z = is_nan(x)", "z = less(x, x)"},
      {"real_only", "x: [n]", "z = is_nan(x)", "a = equal(x, x) z = not(a)"},
      {"real_only", "x: [n], y: [n]", "c = less(x, y) z = not(c)", "z = greater_equal(x, y)"},
      {"bit_exact", "x: [n], y: [n]", "c = less(x, y) z = where(c, y, x)", "z = max(x, y)"},
      {"real_only", "x: [n]", "c = constant [] fill -inf z = max(x, c)",
       "c = constant [] fill 1.0 z = mul(x, c)"},
      // One term, but a sum: 0 + (-0) is 0.
      {"bit_exact", "x: [n,1]", "z = reduce_sum(x) {axes = [1]}", "z = reshape(x) {shape = [n]}"},
      {"bit_exact", "x: [n,1]", "z = reduce_mean(x) {axes = [1]}", "z = reshape(x) {shape = [n]}"},
      {"bit_exact", "x: [n,1], y: [1,m]", "z = matmul(x, y)", "z = mul(x, y)"},
      {"bit_exact", "x: [n,1]", "z = cumsum(x) {axis = 1}", "a = neg(x) z = neg(a)"},
      {"bit_exact", "x: [n,c,h,w]", "z = avg_pool2d(x) {kernel = [1,1]}", "a = neg(x) z = neg(a)"},
      // Narrow types.
      {"bit_exact", "x: f32[n]", "a = cast(x) {dtype = \"f16\"} z = cast(a) {dtype = \"f32\"}",
       "a = neg(x) z = neg(a)"},
      {"real_only", "x: f32[n]", "a = cast(x) {dtype = \"i32\"} z = cast(a) {dtype = \"f32\"}",
       "a = cast(x) {dtype = \"i64\"} z = cast(a) {dtype = \"f32\"}"},
      {"real_only", "x: i8[n], y: i8[n]", "a = add(x, y) z = less(a, y)",
       "c = constant i8[] fill 0 z = less(x, c)"},
      {"real_only", "x: u8[n]", "c = constant u8[] fill 0 a = sub(c, x) z = less(a, c)",
       "c = constant u8[] fill 0 z = less(c, x)"},
      {"real_only", "x: i32[n]", "c = constant i32[] fill 1 z = add(x, c)",
       "c = constant i32[] fill 0.5 a = add(x, c) z = add(a, c)"},
      {"bit_exact", "x: i64[n]", "c = constant i64[] fill 1 a = add(x, c) z = less(x, a)",
       "z = equal(x, x)"},
      // Claims about sizes that are true at the sizes that one would try.
      {"real_only", "x: [n]", "z = reduce_sum(x) {axes = [0]}",
       "a = slice(x) {starts = [0], sizes = [min(n, 64)]} z = reduce_sum(a) {axes = [0]}"},
      {"real_only", "x: [n]", "z = reduce_sum(x) {axes = [0]}",
       "a = slice(x) {starts = [0], sizes = [min(n, 100000)]} z = reduce_sum(a) {axes = [0]}"},
      {"real_only", "x: [n]", "z = reduce_sum(x) {axes = [0]}",
       "a = slice(x) {starts = [0], sizes = [n - n mod 1048576 * (n div 1048576)]}"
       " z = reduce_sum(a) {axes = [0]}"},
      {"bit_exact", "x: [n,m]", "z = transpose(x) {perm = [1,0]}",
       "z = reshape(x) {shape = [m,n]}"},
      {"bit_exact", "x: [n + n]", "p, z = split(x) {axis = 0, sizes = [n,n]}",
       "z, p = split(x) {axis = 0, sizes = [n,n]}"},
      // A symbol must not have the name of a list's element.
      {"reassociates", "y: [\"b[0]\"], x: [b..]",
       "t = reduce_sum(y) {axes = [0]} u = reduce_sum(x) {axes = iota(len(b))} z = add(t, u)",
       "s = slice(y) {starts = [0], sizes = [product(b)]} t = reduce_sum(s) {axes = [0]}"
       " u = reduce_sum(x) {axes = iota(len(b))} z = add(t, u)"},
      // Contracts.
      {"bit_exact", "x: [n,m], y: [m]", "a = add(x, y) z = reduce_max(a) {axes = [0]}",
       "b = reduce_max(x) {axes = [0]} z = add(b, y)"},
      {"real_only", "x: [n]", "a = mul(x, x) z = sqrt(a)", "z = neg(x)"},
      {"real_only", "x: [n]", "z = leaky_relu(x) {alpha = a}",
       "y = scalar_mul(x) {alpha = a} z = max(x, y)"},
      {"reassociates", "x: [n], y: [n]", "a = add(x, y) z = sub(a, y)",
       "c = constant [] fill 0.0 b = mul(x, c) z = add(x, b)"},
  };
  int tried = 0;
  for (const auto& r : kRules) {
    const Forgery f = {"", r.vars, r.contract, absl::StrCat(r.source, " return z"), "", "", ""};
    EXPECT_NE(ProvedAs(RuleOf(f, absl::StrCat(r.target, " return z"))), "")
        << r.source << " => " << r.target;
    ++tried;
  }
  EXPECT_GE(tried, 30);
}

// A fold that compares numbers before they are rounded is real_only.
TEST(ForgedRuleTest, AFoldThatJumpsIsRealOnly) {
  const struct {
    const char* statements;
    FloatContract contract;
  } kCases[] = {
      {"a = transpose(w) {perm = [1,0]}", FloatContract::kBitExact},
      {"a = floor(w)", FloatContract::kReassociates},
      {"b = mul(w, w) a = add(b, w)", FloatContract::kReassociates},
      {"b = mul(w, w) a = floor(b)", FloatContract::kRealOnly},
      {"b = mul(w, w) c = less(b, w) a = where(c, w, b)", FloatContract::kRealOnly},
      {"c = less(w, v) b = mul(w, w) a = where(c, w, b)", FloatContract::kReassociates},
      {"b = mul(w, w) c = cast(b) {dtype = \"i32\"} a = cast(c) {dtype = \"f32\"}",
       FloatContract::kRealOnly},
  };
  for (const auto& c : kCases) {
    const CertificateCase files = Walk(
        absl::StrCat("graph g(x: f32[2,2], w: weight f32[2,2] = fill 0.7, v: weight f32[2,2] = fill"
                     " 0.1) { ",
                     c.statements, " n = neg(x) m = neg(n) y = add(m, a) return y }"),
        StarterRules(), {"neg_of_neg"});
    auto certificate = ParseCertificate(files.certificate);
    ASSERT_TRUE(certificate.ok()) << certificate.status();
    EXPECT_EQ(certificate->contract, c.contract) << c.statements;
    EXPECT_EQ(Problem(files), "") << c.statements;
  }
}

}  // namespace
}  // namespace lemma
