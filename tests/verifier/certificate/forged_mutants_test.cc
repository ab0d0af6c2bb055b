// More forged mutants: polynomials of huge degree, reads that count as none, attributes that the
// field rounds, weights that are not finite; and others in a table.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rewrite/rules/certificate.h"
#include "tests/verifier/certificate/certificate_cases.h"
#include "tests/verifier/certificate/forgery.h"
#include "verifier/certificate/mutant.h"

namespace lemma {
namespace {

using testing::HasSubstr;

using Wide = unsigned __int128;
constexpr Wide kPrime = (Wide{1} << 61) - 1;

// Statements that make `result` the power base^exponent. Their names begin with `prefix`.
std::string PowerOf(const std::string& base, Wide exponent, std::string* result) {
  int bit = 127;
  while ((exponent >> bit & 1) == 0) --bit;
  std::string text;
  *result = base;
  for (--bit; bit >= 0; --bit) {
    absl::StrAppend(&text, "p", bit, " = mul(", *result, ", ", *result, ") ");
    *result = absl::StrCat("p", bit);
    if ((exponent >> bit & 1) == 0) continue;
    absl::StrAppend(&text, "q", bit, " = mul(", *result, ", ", base, ") ");
    *result = absl::StrCat("q", bit);
  }
  return text;
}

// x + y, where the first element of x is raised to a power that changes no element of the field.
Forgery Power(const std::string& name, Wide exponent, const std::string& contract, int64_t n) {
  std::string power;
  const std::string statements = PowerOf("h", exponent, &power);
  return {name,
          absl::StrCat("x: f32[", n, "], y: f32[", n, "]"),
          contract,
          "z = add(x, y) return z",
          absl::StrCat("h = slice(x) {starts = [0], sizes = [1]} ", statements,
                       "r = slice(x) {starts = [1], sizes = [", n - 1, "]} u = concat(", power,
                       ", r) {axis = 0} z = add(u, y) return z"),
          "z = mul(x, y) return z",
          "its degree may be too large"};
}

// The second prime also shows the difference, but it is compared at a fourth of the four million
// elements only.
TEST(ForgedMutantTest, ADegreeIsBelowThePrime) {
  for (const Forgery& f :
       {Power("x^p", kPrime, "real_only", 8), Power("x^(p - 1) x", kPrime, "reassociates", 8),
        Power("x^(1 + p(p - 1)), read once modulo p", 1 + kPrime * (kPrime - 1), "reassociates",
              1 << 16)}) {
    EXPECT_THAT(ProblemOf(f, {{0, f.vars.size() > 30 ? 1 << 16 : 8, 1}}), HasSubstr(f.problem))
        << f.name;
  }
}

// Row 4 of x times 0 is added 2^61 - 1 times: a number of reads that is 0 in the field.
TEST(ForgedMutantTest, ReadsAreCountedNotModuloThePrime) {
  std::string target =
      "a = slice(x) {starts = [0,0], sizes = [1,4]} t = add(y, a)"
      " b = slice(x) {starts = [4,0], sizes = [1,4]} c = constant f32[1,1] fill 0.0"
      " u0 = mul(b, c) s0 = add(t, u0) ";
  for (int i = 1; i <= 60; ++i) {
    absl::StrAppend(&target, "u", i, " = add(u", i - 1, ", u", i - 1, ") s", i, " = add(s", i - 1,
                    ", u", i, ") ");
  }
  const Forgery f = {"",
                     kForgedVars,
                     "reassociates",
                     "a = slice(x) {starts = [0,0], sizes = [1,4]} z = add(y, a) return z",
                     target + "return s60",
                     "z = mul(x, y) return z",
                     ""};
  EXPECT_THAT(ProblemOf(f), HasSubstr("computed from more than 2^40 others"));
  EXPECT_FALSE(certificate::ContractOfSums(RuleOf(f, f.target), 1).ok());
}

// In the field 1e-50 counts as 0 and 1.000000001 as 1, as in f32; a definition distinguishes them.
TEST(ForgedMutantTest, AnAttributeIsAnF32Number) {
  const struct {
    const char *one, *other, *problem;
  } kCases[] = {{"1e-50", "2e-50", "1e-50 is another number in f32"},
                {"1.000000001", "1.000000002", "an attribute is no f32 number"},
                {"1e300", "1e301", "1e+300 is another number in f32"}};
  for (const auto& [one, other, problem] : kCases) {
    const std::string text = "a = scalar_mul(x) {alpha = $} z = add(y, a) return z";
    const Forgery f = {"",
                       kForgedVars,
                       "reassociates",
                       absl::StrReplaceAll(text, {{"$", one}}),
                       absl::StrReplaceAll(text, {{"$", other}}),
                       "z = mul(x, y) return z",
                       ""};
    const CertificateMutant mutant = {RuleOf(f, f.mutant), {{{0, 5, 1}, {0, 4, 1}}}};
    const auto checked = certificate::CheckMutant(RuleOf(f, f.target), mutant, 1, 1);
    EXPECT_THAT(std::string(checked.status().message()), HasSubstr(problem)) << one;
  }
}

// (x + y) - y = x for a weight y: weights must be finite, and the checker computes them to see.
TEST(ForgedMutantTest, WhatIsComputedFromWeightsIsFinite) {
  const Forgery f = {"",
                     "x: f32[5,4], y: weight f32[5,4]",
                     "reassociates",
                     "a = add(x, y) z = sub(a, y) return z",
                     "return x",
                     "z = add(x, y) return z",
                     ""};
  const CertificateMutant mutant = {RuleOf(f, f.mutant), {{{0, 5, 1}, {0, 4, 1}}}};
  const struct {
    const char *weights, *statements;
    bool finite;
  } kCases[] = {
      {"q: weight f32[5,4] = fill 2.0", "w = log(q)", true},
      {"q: weight f32[5,4] = fill 0.0", "w = log(q)", false},
      {"q: weight f32[5,4] = fill 1e30", "w = mul(q, q)", false},
      {"q: weight f32[5,4] = fill 1e30", "s = mul(q, q) w = div(q, s)", false},
      {"q: weight f32[5,4] = fill -1.0", "w = sqrt(q)", false},
      {"q: weight f64[5,4] = fill 1e40", "w = cast(q) {dtype = \"f32\"}", false},
      {"q: weight f32[5,4] = fill 0.0", "o = constant f32[] fill 1.0 w = div(o, q)", false},
      // A weight without values, of which nothing is known.
      {"q: weight f32[5,4]", "w = log(q)", true},
  };
  for (const auto& c : kCases) {
    const std::string graph = absl::StrCat("graph g(x: f32[5,4], ", c.weights, ") { ", c.statements,
                                           " a = add(x, w) z = sub(a, w) v = neg(z) return v }");
    const CertificateCase files = Walk(graph, {RuleOf(f, f.target)}, {"forged"});
    const std::string problem =
        Problem(Changed(files, [&](Certificate* k) { k->mutants = {mutant}; }));
    EXPECT_EQ(problem.empty(), c.finite) << graph << problem;
    if (!c.finite) {
      EXPECT_THAT(problem, HasSubstr("variable y is no weight"));
    }
  }
}

constexpr char kTooLarge[] = "its numbers are too large or too fine";
constexpr char kNoSum[] = "is no sum of products";

std::vector<Forgery> Forgeries() {
  auto product = [](const std::string& name, const std::string& statements,
                    const std::string& problem) {
    return ForgedProduct(name, statements, problem);
  };
  return {
      product("denormal times huge",
              "b = constant f32[1] fill 1e-45 c = constant f32[1] fill 7e44 d = mul(a, b)"
              " z = mul(d, c)",
              "the constant 1e-45 is another number as f32"),
      product("a constant that f32 takes for 0", "b = constant f32[1] fill 1e-50 z = add(a, b)",
              "the constant 1e-50 is another number as f32"),
      product("a constant that f16 takes for infinity",
              "b = constant f16[1] fill 1e6 c = cast(b) {dtype = \"f32\"} d = sub(c, c)"
              " z = add(a, d)",
              "is another number as f16"),
      product("a sum of 2^60 ones by doubling",
              "b = constant f32[1] fill 1048576.0 c = mul(b, b) d = mul(c, b) e = mul(a, d)"
              " f = sub(e, e) z = add(a, f)",
              kTooLarge),
      product(
          "divided by 3, times 3, forty times",
          [] {
            std::string text = "b = constant f32[1] fill 3.0 d0 = mul(a, b) ";
            for (int i = 1; i <= 40; ++i) {
              absl::StrAppend(&text, "d", i, " = div(d", i - 1, ", b) ");
            }
            return text + "z = neg(d40)";
          }(),
          kTooLarge),
      product("negative zero divides", "b = constant f32[1] fill -0.0 z = div(a, b)",
              "it divides by 0"),
      product("divided by a difference of constants",
              "b = constant f32[1] fill 2.0 c = sub(b, b) d = add(c, b) z = div(a, d)",
              "it divides by what is no constant"),
      product("divided by infinity", "b = constant f32[1] fill inf c = div(a, b) z = add(a, c)",
              "no number"),
      product("one element twice",
              "b = slice(a) {starts = [0,0], sizes = [1,4]} c = pad(b) {pads = [0,0,4,0]}"
              " z = add(a, c)",
              "differ in the field"),
      product("rows the other way round",
              "b = slice(a) {starts = [4,0], sizes = [1,4]} c = slice(a) {starts = [0,0], sizes ="
              " [4,4]} z = concat(b, c) {axis = 0}",
              "differ in the field"),
      product("the same sum, wrapped",
              "b = reshape(a) {shape = [4,5]} z = transpose(b) {perm ="
              " [1,0]}",
              "differ in the field"),
      product("less of itself", "b = less(x, y) c = cast(b) {dtype = \"f32\"} z = add(a, c)",
              "computes with integers"),
      product("a maximum with itself", "z = max(a, a)", kNoSum),
      product("relu of a square", "b = mul(x, x) c = relu(b) d = sub(c, b) z = add(a, d)", kNoSum),
      product("x^1 by pow", "b = constant f32[1] fill 1.0 z = pow(a, b)", kNoSum),
      product("exp of log", "b = exp(a) z = log(b)", kNoSum),
      product("rounded to bf16", "b = cast(a) {dtype = \"bf16\"} z = cast(b) {dtype = \"f32\"}",
              "only real_only holds"),
      product("through f64", "b = cast(a) {dtype = \"f64\"} z = cast(b) {dtype = \"f32\"}",
              "only real_only holds"),
      product("a product of all", "b = reduce_prod(a) {axes = [0], keepdims = 1} z = add(a, b)",
              kNoSum),
      product("hidden in a dropped part",
              "b = sub(x, x) c = concat(a, b) {axis = 0} d = slice(c) {starts = [5,0], sizes ="
              " [5,4]} z = add(a, d)",
              "only real_only holds"),
      {"another type of variable", "x: f64[5,4], y: f64[5,4]", "reassociates",
       "z = mul(x, y) return z",
       "a = mul(x, y) b = cast(a) {dtype = \"f32\"} z = cast(b) {dtype = \"f64\"} return z",
       "z = add(x, y) return z", "only real_only holds"},
      {"integers that wrap", "x: i64[5,4], y: i64[5,4]", "bit_exact", "z = mul(x, y) return z",
       "z = mul(y, x) return z", "z = add(x, y) return z", "it computes with integers"},
      {"a mutant that is the rule", kForgedVars, "reassociates", "z = mul(x, y) return z",
       "z = mul(y, x) return z", "z = mul(y, x) return z", "the mutant differs elsewhere"},
      {"a mutant that differs in a row", kForgedVars, "reassociates", "z = mul(x, y) return z",
       "z = mul(y, x) return z",
       "a = mul(x, y) b = slice(a) {starts = [0,0], sizes = [1,4]} c = pad(b) {pads ="
       " [0,0,4,0]} z = add(a, c) return z",
       "the mutant differs elsewhere"},
      {"a mutant of two outputs", kForgedVars, "reassociates",
       "a = mul(x, y) z = neg(a) return a, z", "a = mul(y, x) z = neg(a) return a, z",
       "a = add(x, y) z = neg(a) return a, z", "more than one output"},
  };
}

TEST(ForgedMutantTest, NoneOfTheseIsAccepted) {
  const std::vector<Forgery> all = Forgeries();
  EXPECT_GE(all.size(), 25u);
  for (const Forgery& f : all) {
    SCOPED_TRACE(f.name);
    const CertificateMutant mutant = {RuleOf(f, f.mutant), {{{0, 5, 1}, {0, 4, 1}}}};
    const auto checked = certificate::CheckMutant(RuleOf(f, f.target), mutant, 1, 1);
    EXPECT_THAT(std::string(checked.status().message()), HasSubstr(f.problem));
  }
}

}  // namespace
}  // namespace lemma
