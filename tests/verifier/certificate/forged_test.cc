// Certificates written to get a false or too strict claim accepted: by constants that are 0 in a
// field, by rules that promise more than holds, by the elements that are read, by sizes. Each has a
// current record, a correct checksum and correct hashes.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rewrite/rules/proof_check.h"
#include "tests/verifier/certificate/certificate_cases.h"
#include "tests/verifier/certificate/forgery.h"
#include "verifier/certificate/exact.h"
#include "verifier/certificate/mutant.h"

namespace lemma {
namespace {

using testing::HasSubstr;

constexpr const char* kVars = kForgedVars;
constexpr char kProduct[] = "z = mul(x, y) return z";
constexpr char kCancel[] = "a = add(x, y) z = sub(a, y) return z";

Forgery Product(const std::string& name, const std::string& statements,
                const std::string& problem) {
  return ForgedProduct(name, statements, problem);
}

constexpr char kTooLarge[] = "its numbers are too large or too fine";

std::vector<Forgery> Forgeries() {
  std::vector<Forgery> all = {
      // 2^61 - 1 is 0 in the field, 2^61 is 1.
      {"the field's characteristic as a constant", kVars, "reassociates", kProduct,
       "a = constant f32[1] fill 2305843009213693952.0 b = constant f32[1] fill 1.0"
       " c = sub(a, b) d = constant f32[1] fill 4.336808689942018e-19 e = mul(c, d)"
       " s = add(x, e) z = mul(s, y) return z",
       "z = add(x, y) return z", kTooLarge},
      Product("times 2^61", "b = constant f32[1] fill 2305843009213693952.0 z = mul(a, b)",
              kTooLarge),
      Product("times 2^61 in steps",
              "b = constant f32[1] fill 2147483648.0 c = constant f32[1] fill 1073741824.0"
              " d = mul(a, b) z = mul(d, c)",
              kTooLarge),
      Product("times 2^-61", "b = constant f32[1] fill 4.336808689942018e-19 z = mul(a, b)",
              kTooLarge),
      Product("times 2^61 by an attribute", "z = scalar_mul(a) {alpha = 2305843009213693952.0}",
              kTooLarge),
      Product("divided by 2^61", "b = constant f32[1] fill 2305843009213693952.0 z = div(a, b)",
              "it divides by 0"),
      Product("plus (2^61 - 1)·x",
              "b = constant f32[1] fill 2305843009213693952.0 c = mul(x, b) d = sub(c, x)"
              " z = add(a, d)",
              kTooLarge),
      Product("times a sum of many",
              "b = constant f32[1] fill 1e30 c = mul(x, b) d = mul(y, b)"
              " e = mul(c, d) f = sub(e, e) z = add(a, f)",
              kTooLarge),
      Product("plus an infinity less it",
              "b = constant f32[1] fill inf c = sub(b, b) z = add(a, c)", kTooLarge),
      Product("times no number", "b = constant f32[1] fill nan z = mul(a, b)", kTooLarge),
      Product("divided by 0", "b = constant f32[1] fill 0.0 z = div(a, b)", "it divides by 0"),
      Product("divided by an input", "b = div(a, x) z = mul(b, x)",
              "it divides by what is no constant"),
      Product("one element off by the field's characteristic",
              "b = constant f32[1,1] fill 2305843009213693952.0 c = constant f32[1,1] fill 1.0"
              " d = sub(b, c) e = pad(d) {pads = [2,1,2,2]} z = add(a, e)",
              kTooLarge),
      // The elements that the sides read, and the types that they store.
      {"an element that cancels", kVars, "reassociates", kCancel, "return x",
       "z = add(x, y) return z", "it promises reassociates, but only real_only holds"},
      {"an element that cancels, bit by bit", kVars, "bit_exact", kCancel, "return x",
       "z = add(x, y) return z", "it promises bit_exact, but only"},
      {"an element times 0", kVars, "reassociates", kProduct,
       "b = sub(y, y) a = mul(x, y) z = add(a, b) return z", "z = add(x, y) return z",
       "only real_only holds"},
      {"other elements of the same input", kVars, "reassociates",
       "a = slice(x) {starts = [0,0], sizes = [1,4]} b = slice(x) {starts = [4,0], sizes = [1,4]}"
       " c = add(a, b) d = sub(c, b) z = add(d, y) return z",
       "a = slice(x) {starts = [0,0], sizes = [1,4]} z = add(a, y) return z",
       "z = mul(x, y) return z", "only real_only holds"},
      Product("through f16", "b = cast(a) {dtype = \"f16\"} z = cast(b) {dtype = \"f32\"}",
              "only real_only holds"),
      Product("through integers", "b = cast(a) {dtype = \"i32\"} z = cast(b) {dtype = \"f32\"}",
              "it computes with integers"),
      Product("rounded", "b = floor(a) z = add(b, a)", "is no sum of products"),
      Product("of one sign", "b = abs(a) z = add(a, b)", "is no sum of products"),
      Product("a twentieth of it off", "b = constant f32[1] fill 1.0000001 z = mul(a, b)",
              "differ in the field"),
      // Sizes.
      Product("a constant of many bytes",
              "b = constant f32[1048576,1048576] fill 0.0"
              " c = slice(b) {starts = [0,0], sizes = [5,4]} z = add(a, c)",
              "huge"),
  };
  Forgery chain = Product("a chain without end", "", "too many operators");
  chain.target = "a0 = mul(x, y) ";
  for (int i = 1; i <= 1200; ++i) absl::StrAppend(&chain.target, "a", i, " = neg(a", i - 1, ") ");
  absl::StrAppend(&chain.target, "return a1200");
  all.push_back(chain);
  return all;
}

TEST(ForgedCertificateTest, NoForgedMutantIsAccepted) {
  const std::vector<Forgery> all = Forgeries();
  EXPECT_GE(all.size(), 20u);
  for (const Forgery& f : all) {
    SCOPED_TRACE(f.name);
    if (f.name == "a constant of many bytes") {
      // No graph contains it, so the rule is checked alone.
      EXPECT_THAT(
          std::string(certificate::ContractOfSums(RuleOf(f, f.target), 1).status().message()),
          HasSubstr(f.problem));
      continue;
    }
    EXPECT_THAT(ProblemOf(f), HasSubstr(f.problem));
  }
}

// The same rules are accepted if their claims are true.
TEST(ForgedCertificateTest, HonestOnesAreAccepted) {
  const std::string sum = "z = add(x, y) return z";
  for (const Forgery& f : std::vector<Forgery>{
           {"", kVars, "real_only", kCancel, "return x", sum, ""},
           {"", kVars, "reassociates", kProduct, "z = mul(y, x) return z", sum, ""},
           Product("", "b = constant f32[1] fill 0.5 c = mul(a, b) z = add(c, c)", ""),
           Product("", "b = constant f32[1] fill 3.0 c = mul(a, b) z = div(c, b)", "")}) {
    Forgery honest = f;
    // If the halves are added, the numbers of reads differ, so the checker derives real_only.
    if (f.target.find("add(c, c)") != std::string::npos) honest.contract = "real_only";
    EXPECT_EQ(ProblemOf(honest), "") << f.target;
  }
}

TEST(ForgedCertificateTest, AContractIsDerivedAndNotRead) {
  const Forgery cancel = {"", kVars, "reassociates", kCancel, "return x", "", ""};
  EXPECT_EQ(*certificate::ContractOfSums(RuleOf(cancel, cancel.target), 7),
            FloatContract::kRealOnly);
  const Forgery swapped = {"", kVars, "real_only", kProduct, "z = mul(y, x) return z", "", ""};
  EXPECT_EQ(*certificate::ContractOfSums(RuleOf(swapped, swapped.target), 7),
            FloatContract::kReassociates);
}

// A value that a rule calls a weight must be finite; the checker looks.
TEST(ForgedCertificateTest, AnInputIsNoWeightAndAnInfinityIsNone) {
  const Forgery honest = {"", kVars, "real_only", kCancel, "return x", "z = add(x, y) return z",
                          ""};
  Forgery forged = honest;
  forged.vars = "x: f32[5,4], y: weight f32[5,4]";
  forged.contract = "reassociates";
  const CertificateMutant mutant = {RuleOf(forged, forged.mutant), {{{0, 5, 1}, {0, 4, 1}}}};
  auto change = [&](Certificate* c) {
    c->rules = {ForCertificate(RuleOf(forged, forged.target))};
    c->mutants = {mutant};
    c->contract = FloatContract::kReassociates;
  };
  const CertificateCase input =
      Walk(GraphText(honest), {RuleOf(honest, honest.target)}, {"forged"});
  EXPECT_THAT(Problem(Changed(input, change)), HasSubstr("variable y is no weight"));
  const std::string text =
      "graph g(x: f32[5,4], y: weight f32[5,4] = fill $) { a = add(x, y) z = sub(a, y) w = neg(z)"
      " return w }";
  for (const auto& [fill, problem] : std::vector<std::pair<std::string, std::string>>{
           {"2.0", ""}, {"inf", "variable y is no weight"}, {"nan", "variable y is no weight"}}) {
    const CertificateCase weight =
        Walk(absl::StrReplaceAll(text, {{"$", fill}}), {RuleOf(honest, honest.target)}, {"forged"});
    EXPECT_THAT(Problem(Changed(weight, change)), HasSubstr(problem)) << fill;
  }
}

// Forged boxes, names and lists of mutants.
TEST(ForgedCertificateTest, NoForgedListOfMutantsIsAccepted) {
  const Forgery f = {
      "", kVars, "reassociates", kProduct, "z = mul(y, x) return z", "z = add(x, y) return z", ""};
  const CertificateCase files = Walk(GraphText(f), {RuleOf(f, f.target)}, {"forged"});
  const CertificateMutant right = {RuleOf(f, f.mutant), {{{0, 5, 1}, {0, 4, 1}}}};
  auto problem = [&](const std::function<void(Certificate*)>& change) {
    return Problem(Changed(files, [&](Certificate* c) {
      c->mutants = {right};
      change(c);
    }));
  };
  EXPECT_EQ(problem([](Certificate*) {}), "");
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const struct {
    std::function<void(Certificate*)> change;
    const char* problem;
  } kCases[] = {
      {[](Certificate* c) {
         c->mutants[0].differs[0][0] = {kMost, 1, 1};
       },
       "not inside"},
      {[](Certificate* c) {
         c->mutants[0].differs[0][0] = {0, kMost, 1};
       },
       "not inside"},
      {[](Certificate* c) {
         c->mutants[0].differs[0][0] = {1, 2, kMost};
       },
       "not inside"},
      {[](Certificate* c) {
         c->mutants[0].differs[0][0] = {-1, 5, 1};
       },
       "not inside"},
      {[](Certificate* c) {
         c->mutants[0].differs[0][0] = {0, 0, 1};
       },
       "not inside"},
      {[](Certificate* c) {
         c->mutants[0].differs[0][0] = {0, 5, 0};
       },
       "not inside"},
      {[](Certificate* c) { c->mutants[0].differs[0].clear(); }, "another rank"},
      {[](Certificate* c) { c->mutants.push_back(c->mutants[0]); }, "a mutant is of no rule"},
      {[](Certificate* c) { c->mutants[0].rule.vars[0].dtype = DType::kI64; }, ""},
      {[](Certificate* c) { c->mutants[0].rule.vars[0].dtype = DType::kF64; }, ""},
      {[](Certificate* c) { c->rules[0].contract = FloatContract::kBitExact; }, ""},
      {[](Certificate* c) { c->contract = FloatContract::kBitExact; }, "the float contract"},
      {[](Certificate* c) { c->rules[0].proof.contract = FloatContract::kRealOnly; },
       "it promises"},
      {[](Certificate* c) { c->rules[0].proof = ProofRecord(); }, "it has no proof"},
      {[](Certificate* c) { c->steps[0].dtype = DType::kI64; }, ""},
      {[](Certificate* c) { c->mutants.clear(); }, "it is no starter rule"},
  };
  for (const auto& forged : kCases) {
    const std::string found = problem(forged.change);
    EXPECT_NE(found, "");
    EXPECT_THAT(found, HasSubstr(forged.problem));
  }
}

// The second prime, which nobody knows in advance, shows a difference that the first one does not
// show.
TEST(ForgedCertificateTest, TheSecondPrimeIsAnotherOne) {
  const Forgery f = Forgeries()[0];
  const Substitution rule = RuleOf(f, f.target);
  const Graph source = GraphOf(absl::StrCat("graph g(", kVars, ") { ", f.source, " }"));
  const Graph target = GraphOf(absl::StrCat("graph g(", kVars, ") { ", f.target, " }"));
  const uint64_t prime = certificate::DrawPrime(3);
  EXPECT_GT(prime, uint64_t{1} << 61);
  EXPECT_LT(prime, uint64_t{1} << 62);
  EXPECT_EQ(prime, certificate::DrawPrime(3));
  EXPECT_NE(prime, certificate::DrawPrime(4));
  const auto same = certificate::CompareModulo(source.outputs()[0], source.outputs()[0], prime, 3);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(*same, 20);
  EXPECT_THAT(
      std::string(certificate::CompareModulo(source.outputs()[0], target.outputs()[0], prime, 3)
                      .status()
                      .message()),
      HasSubstr("differ modulo"));
}

}  // namespace
}  // namespace lemma
