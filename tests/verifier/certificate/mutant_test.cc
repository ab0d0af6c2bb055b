// Certificates of corrected mutants: right ones, and changed ones.
#include "verifier/certificate/mutant.h"

#include <functional>
#include <string>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"
#include "tests/verifier/certificate/certificate_cases.h"

namespace lemma {
namespace {

using testing::HasSubstr;

const char kModel[] = R"(graph model(x: f32[1,1,8,4], w: weight f32[1,1,3,3]) {
  a = conv2d(x, w) {pads = [1,1,1,1]}
  y = relu(a)
  return y
})";

// A height of 8 in two overlapping blocks of the batch.
const char kRule[] = R"(
rule pet_halves(x: f32[1,1,8,4], w: weight f32[1,1,3,3]) reassociates {
  y = conv2d(x, w) {pads = [1,1,1,1]}
  return y
} => {
  p = pad(x) {pads = [0,0,1,0,0,0,1,0]}
  a = slice(p) {starts = [0,0,0,0], sizes = [1,1,6,4]}
  b = slice(p) {starts = [0,0,4,0], sizes = [1,1,6,4]}
  c = concat(a, b) {axis = 0}
  d = conv2d(c, w) {pads = [0,1,0,1]}
  y = reshape(d) {shape = [1,1,8,4]}
  return y
})";

// The same without the overlap.
const char kMutant[] = R"(
rule pet_halves(x: f32[1,1,8,4], w: weight f32[1,1,3,3]) reassociates {
  y = conv2d(x, w) {pads = [1,1,1,1]}
  return y
} => {
  c = reshape(x) {shape = [2,1,4,4]}
  d = conv2d(c, w) {pads = [1,1,1,1]}
  y = reshape(d) {shape = [1,1,8,4]}
  return y
})";

Substitution RuleOf(const std::string& text) {
  auto rules = ParseRules(text);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return (*rules)[0];
}

// The rule with the record that its finder would write.
Substitution Recorded(const std::string& text) {
  Substitution rule = RuleOf(text);
  rule.proof.verdict = ProofRecord::Verdict::kProved;
  rule.proof.contract = rule.contract;
  rule.proof.id = CurrentProofId(rule);
  return rule;
}

CertificateMutant Mutant() {
  return {RuleOf(kMutant), {{{0, 1, 1}, {0, 1, 1}, {3, 2, 1}, {0, 4, 1}}}};
}

// The certificate of one step by the rule.
CertificateCase CaseOf(const Substitution& rule, const CertificateMutant& mutant) {
  return Changed(Walk(kModel, {rule}, {rule.name}), [&](Certificate* c) { c->mutants = {mutant}; });
}

std::string ProblemWith(const std::function<void(CertificateMutant*)>& change) {
  CertificateMutant mutant = Mutant();
  change(&mutant);
  return Problem(CaseOf(Recorded(kRule), mutant));
}

TEST(CertificateMutantTest, IsBelievedByNobodysWord) {
  EXPECT_EQ(Problem(CaseOf(Recorded(kRule), Mutant())), "");
  // Without the mutant, the rule needs somebody who vouches for it.
  EXPECT_THAT(Problem(Walk(kModel, {Recorded(kRule)}, {"pet_halves"})),
              HasSubstr("it is no starter rule"));
}

TEST(CertificateMutantTest, TheRegionIsComputed) {
  EXPECT_THAT(ProblemWith([](CertificateMutant* m) { m->differs[0][2][1] = 1; }),
              HasSubstr("the mutant differs elsewhere"));
  EXPECT_THAT(ProblemWith([](CertificateMutant* m) { m->differs[0][2][0] = 4; }),
              HasSubstr("the mutant differs elsewhere"));
  EXPECT_THAT(ProblemWith([](CertificateMutant* m) { m->differs[0][2][1] = 3; }),
              HasSubstr("the mutant differs elsewhere"));
  EXPECT_THAT(ProblemWith([](CertificateMutant* m) { m->differs.clear(); }),
              HasSubstr("the mutant differs elsewhere"));
  EXPECT_THAT(ProblemWith([](CertificateMutant* m) { m->differs.push_back(m->differs[0]); }),
              HasSubstr("two boxes overlap"));
  EXPECT_THAT(ProblemWith([](CertificateMutant* m) { m->differs[0][3][1] = 5; }),
              HasSubstr("a box is not inside the output"));
  EXPECT_THAT(ProblemWith([](CertificateMutant* m) { m->differs[0].pop_back(); }),
              HasSubstr("a box has another rank"));
}

TEST(CertificateMutantTest, TheCorrectorIsComputed) {
  // The second block begins one row too late: a wrong rule with a right record.
  const std::string wrong =
      absl::StrReplaceAll(kRule, {{"pads = [0,0,1,0,0,0,1,0]", "pads = [0,0,1,0,0,0,2,0]"},
                                  {"starts = [0,0,4,0]", "starts = [0,0,5,0]"}});
  EXPECT_THAT(Problem(CaseOf(Recorded(wrong), Mutant())),
              HasSubstr("source and target differ in the field"));
  // The mutant itself is not a corrected one.
  EXPECT_THAT(Problem(CaseOf(Recorded(kMutant), Mutant())),
              HasSubstr("source and target differ in the field"));
}

TEST(CertificateMutantTest, OfThisRuleAlone) {
  EXPECT_THAT(ProblemWith([](CertificateMutant* m) { m->rule.name = "other"; }),
              HasSubstr("a mutant is of no rule"));
  EXPECT_THAT(ProblemWith([](CertificateMutant* m) {
                m->rule = RuleOf(absl::StrReplaceAll(
                    kMutant, {{"y = conv2d(x, w) {pads = [1,1,1,1]}",
                               "a = conv2d(x, w) {pads = [1,1,1,1]}\n y = neg(a)"}}));
              }),
              HasSubstr("the mutant is of another source"));
  EXPECT_THAT(ProblemWith([](CertificateMutant* m) {
                m->rule = RuleOf(absl::StrReplaceAll(
                    kMutant, {{"y = reshape(d)", "e = relu(d)\n y = reshape(e)"}}));
              }),
              HasSubstr("relu is no sum of products"));
}

TEST(CertificateMutantTest, ForSizesThatAreOpenItIsNoProof) {
  const Substitution open =
      Recorded(absl::StrReplaceAll(kRule, {{"x: f32[1,1,8,4]", "x: f32[1,1,8,m]"},
                                           {"sizes = [1,1,6,4]", "sizes = [1,1,6,m]"},
                                           {"shape = [1,1,8,4]", "shape = [1,1,8,m]"}}));
  EXPECT_THAT(Problem(CaseOf(open, Mutant())), HasSubstr("it is not about one size"));
}

}  // namespace
}  // namespace lemma
