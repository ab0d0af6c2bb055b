// Certificates of the referee: forged ones are rejected. referee_testutil.cc checks the certificate
// of every proof in this folder's tests.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/sha256.h"
#include "gmock/gmock.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "rewrite/rules/rule_text.h"
#include "tests/verifier/referee/referee_testutil.h"
#include "verifier/referee/record_certificate.h"

namespace lemma {
namespace {

using referee::CertifiedRegion;
using referee::Known;
using referee::RefereeCertificate;
using referee::ValueName;
using ::testing::HasSubstr;

struct Proof {
  Graph before, after;
  RefereeCertificate certificate;
};

// With other rules than the starter rules if `rules` are given.
Proof ProofOf(const std::string& before, const std::string& after, const std::string& rules = "") {
  Proof proof;
  proof.before = *ParseGraph("graph before" + before);
  proof.after = *ParseGraph("graph after" + after);
  const std::vector<Substitution> parsed = *ParseRules(rules, "rules");
  const auto result = JudgeGraphs(proof.before, proof.after, 60, rules.empty() ? nullptr : &parsed);
  EXPECT_EQ(result.answer, referee::Answer::kProved) << Summary(result);
  auto certificate = referee::RecordCertificate(proof.before, proof.after, result);
  EXPECT_TRUE(certificate.ok()) << certificate.status();
  if (certificate.ok()) proof.certificate = *std::move(certificate);
  return proof;
}

Proof FoldedNormalization() {
  const ConvNorm model;
  return ProofOf(model.Text(), ConvNorm::FoldedText(model.FoldedWeight(), model.FoldedBias()));
}

// The problem after a change.
std::string After(const Proof& proof, const std::function<void(RefereeCertificate*)>& change) {
  RefereeCertificate forged = proof.certificate;
  change(&forged);
  return ProblemOf(forged, proof.before, proof.after);
}

TEST(RefereeCertificateTest, TheTextNamesFormulasWeightsAndRegions) {
  const Proof proof = FoldedNormalization();
  const std::string text = Print(proof.certificate);
  EXPECT_THAT(text, HasSubstr("lemma referee certificate 1\n"));
  EXPECT_THAT(text, HasSubstr("\ncontract reassociates\n"));
  EXPECT_THAT(text, HasSubstr("\ngraph formulas(b"));
  EXPECT_THAT(text, HasSubstr("\nweights 2\n"));
  EXPECT_THAT(text, HasSubstr("\nregions 1\n"));
  EXPECT_TRUE(referee::IsRefereeCertificate(text));
}

TEST(RefereeCertificateTest, ChangedTextsAreNotRead) {
  const std::string text = Print(FoldedNormalization().certificate);
  EXPECT_FALSE(referee::ParseRefereeCertificate("").ok());
  EXPECT_FALSE(referee::ParseRefereeCertificate(text.substr(0, text.size() / 2)).ok());
  EXPECT_FALSE(referee::ParseRefereeCertificate(text + "\n").ok());
  for (size_t i = 0; i < text.size(); i += 3) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] == '1' ? '2' : '1');
    EXPECT_FALSE(referee::ParseRefereeCertificate(changed).ok()) << i;
  }
}

TEST(RefereeCertificateTest, NoPartCanBeLeftOut) {
  const Proof proof = FoldedNormalization();
  EXPECT_THAT(After(proof, [](auto* c) { c->regions.clear(); }), HasSubstr("is not proved equal"));
  EXPECT_NE(After(proof, [](auto* c) { c->weights.clear(); }), "");
  EXPECT_NE(After(proof, [](auto* c) { c->weights.pop_back(); }), "");
  EXPECT_NE(After(proof, [](auto* c) { c->formulas.clear(); }), "");
}

TEST(RefereeCertificateTest, TheContractFollows) {
  const Proof proof = FoldedNormalization();
  for (const FloatContract other : {FloatContract::kBitExact, FloatContract::kRealOnly}) {
    EXPECT_THAT(After(proof, [&](auto* c) { c->contract = other; }),
                HasSubstr("the contract is reassociates"));
  }
}

TEST(RefereeCertificateTest, WeightsHaveToBeInTheirIntervals) {
  const Proof proof = FoldedNormalization();
  EXPECT_NE(After(proof, [](auto* c) { std::swap(c->weights[0].second, c->weights[1].second); }),
            "");
  EXPECT_NE(After(proof, [](auto* c) { c->weights[0].second = c->weights[0].first; }), "");
  // Another formula.
  EXPECT_NE(
      After(proof,
            [](auto* c) {
              c->formulas = absl::StrReplaceAll(c->formulas, {{"mul(", "add("}, {"div(", "mul("}});
            }),
      "");
  // Other weights, one of them by 2^-19: not a model that the certificate is of.
  const ConvNorm model;
  std::vector<float> w = model.FoldedWeight();
  w[5] *= 1 + 0x1p-19f;
  const Graph other = *ParseGraph("graph o" + ConvNorm::FoldedText(w, model.FoldedBias()));
  EXPECT_THAT(ProblemOf(proof.certificate, proof.before, other),
              HasSubstr("1 elements are outside"));
}

TEST(RefereeCertificateTest, ValuesHaveToExist) {
  const Proof proof = FoldedNormalization();
  for (const int position : {-1, 99}) {
    EXPECT_NE(After(proof, [&](auto* c) { c->regions[0].before.position = position; }), "");
    EXPECT_NE(After(proof, [&](auto* c) { c->regions[0].after.position = position; }), "");
    EXPECT_NE(After(proof, [&](auto* c) { c->weights[0].first.position = position; }), "");
    EXPECT_NE(After(proof, [&](auto* c) { c->weights[0].second.position = position; }), "");
    EXPECT_NE(After(proof, [&](auto* c) { c->regions[0].cuts[0].first.position = position; }), "");
  }
  EXPECT_NE(After(proof, [](auto* c) { c->regions[0].before.output = 1; }), "");
  EXPECT_NE(After(proof, [](auto* c) { c->regions[0].after.graph = ValueName::Graph::kBefore; }),
            "");
}

// Each value of the first graph in the place of the one that is equal.
TEST(RefereeCertificateTest, RegionsHaveToBeProvable) {
  const Proof proof = FoldedNormalization();
  const int right = proof.certificate.regions[0].before.position;
  for (int position = 0; position < static_cast<int>(proof.before.nodes().size()); ++position) {
    if (position == right) continue;
    EXPECT_NE(After(proof, [&](auto* c) { c->regions[0].before.position = position; }), "");
  }
}

constexpr char kMixedSigns[] = "[1.0, -2.0, 3.0, -4.0]", kPositive[] = "[1.0, 2.0, 3.0, 4.0]";

// relu(x) * w = relu(x * w) holds for weights that are not negative.
std::string ReluFirst(const std::string& w) {
  return absl::StrCat("(x: f32[3,4], w: weight f32[4] = ", w,
                      ") { r = relu(x)\n y = mul(r, w)\n return y }");
}
std::string ReluLast(const std::string& w) {
  return absl::StrCat("(x: f32[3,4], w: weight f32[4] = ", w,
                      ") { p = mul(x, w)\n y = relu(p)\n return y }");
}

TEST(RefereeCertificateTest, FactsAboutWeightsAreChecked) {
  const Proof proof = ProofOf(ReluFirst(kPositive), ReluLast(kPositive));
  bool uses_signs = false;
  for (const CertifiedRegion& region : proof.certificate.regions) {
    for (const auto& [value, known] : region.cuts) uses_signs |= known == Known::kNotNegative;
  }
  EXPECT_TRUE(uses_signs) << Print(proof.certificate);
  for (const Known known : {Known::kAny, Known::kZeroOrOne, Known::kNotPositive}) {
    EXPECT_NE(After(proof,
                    [&](auto* c) {
                      for (auto& [value, is] : c->regions[0].cuts) {
                        if (is == Known::kNotNegative) is = known;
                      }
                    }),
              "");
  }
  // The same certificate for weights of both signs.
  EXPECT_THAT(ProblemOf(proof.certificate, *ParseGraph("graph b" + ReluFirst(kMixedSigns)),
                        *ParseGraph("graph a" + ReluLast(kMixedSigns))),
              HasSubstr("a value is not not_negative"));
}

// A fact about something that is no weight.
TEST(RefereeCertificateTest, InputsHaveNoKnownElements) {
  const Proof proof = ProofOf(ReluFirst(kPositive), ReluLast(kPositive));
  for (const Known known :
       {Known::kZeroOrOne, Known::kNotNegative, Known::kNotPositive, Known::kElements}) {
    EXPECT_NE(After(proof,
                    [&](auto* c) {
                      for (auto& [value, is] : c->regions[0].cuts) {
                        if (is == Known::kAny) is = known;
                      }
                    }),
              "");
  }
}

// What the check says of a certificate with these formulas, weights and regions.
std::string ProblemOfText(const std::string& before, const std::string& after,
                          const std::string& contract, const std::string& rest) {
  const std::string text =
      absl::StrCat("lemma referee certificate 1\nbefore x\nafter x\nchannel_block 0\ncontract ",
                   contract, "\n\n", rest);
  const auto certificate =
      referee::ParseRefereeCertificate(absl::StrCat(text, "\nsha256 ", Sha256Of(text), "\n"));
  EXPECT_TRUE(certificate.ok()) << certificate.status();
  if (!certificate.ok()) return "";
  return ProblemOf(*certificate, *ParseGraph("graph b" + before), *ParseGraph("graph a" + after));
}

// Formulas with numbers that make any weight a rounded one.
TEST(RefereeCertificateTest, FormulasWithLargeNumbers) {
  auto model = [](const std::string& w) {
    return absl::StrCat("(x: f32[2,3], w: weight f32[3] = ", w, ") { y = mul(x, w) return y }");
  };
  auto problem = [&](const std::string& number, const std::string& w) {
    return ProblemOfText(
        model("[1.0, 2.0, 3.0]"), model(w), "reassociates",
        absl::StrCat("formulas 6\n",
                     PrintGraph(*ParseGraph(
                         absl::StrCat("graph formulas(b1: f32[3]) { c = constant f32[3] fill ",
                                      number, "\n s = add(b1, c)\n t = sub(s, c)\n return t }"))),
                     "\nweights 1\na1 = f3\n\nregions 1\nregion a2 = b2\n  b0 any\n  b1 any\n"));
  };
  EXPECT_THAT(problem("1e10", "[500.0, -700.0, 3.0]"), HasSubstr("outside"));
  EXPECT_THAT(problem("1e4", "[1.0, 2.0005, 3.0]"), HasSubstr("outside"));
  EXPECT_EQ(problem("2.0", "[1.0, 2.0, 3.0]"), "");
}

// A region that is cut at a value that only the second model computes does not show its reads.
TEST(RefereeCertificateTest, CutsAreValuesOfTheFirstModel) {
  EXPECT_THAT(ProblemOfText("(x: f32[5], i: i64[3], z: f32[3]) { y = mul(z, z) return y }",
                            "(x: f32[5], i: i64[3], z: f32[3]) { u = gather(x, i) {axis = 0}\n"
                            " f = constant bool[3] fill 0\n s = mul(z, z)\n y = where(f, u, s)\n"
                            " return y }",
                            "bit_exact",
                            "formulas 0\n\nweights 0\n\nregions 1\nregion a6 = b3\n  a4 any\n"
                            "  b3 any\n"),
              HasSubstr("the first model does not compute a4"));
}

TEST(RefereeCertificateTest, ConstantsHaveToBeFinite) {
  const std::string before = "(x: f32[3]) { r = neg(x) return r }";
  for (const std::string constant :
       {"e = exp(w)\n p = mul(e, z)", "e = div(w, z)\n p = mul(e, z)",
        "t = constant f32[] fill 3e38\n e = add(t, t)\n p = mul(e, z)"}) {
    const std::string after =
        absl::StrCat("(x: f32[3], w: weight f32[3] = fill 1000.0) { z = constant f32[] fill 0.0\n ",
                     constant, "\n y = add(x, p)\n r = neg(y)\n return r }");
    const Graph graph = *ParseGraph("graph a" + after);
    const std::string regions = absl::StrCat("formulas 0\n\nweights 0\n\nregions 1\nregion a",
                                             graph.nodes().size() - 1, " = b1\n");
    EXPECT_NE(ProblemOfText(before, after, "reassociates", regions), "") << constant;
    EXPECT_NE(ProblemOfText(before, after, "real_only", regions), "") << constant;
  }
}

// Not a number for negative elements only.
TEST(RefereeCertificateTest, InputsOfBothSignsAreTried) {
  EXPECT_THAT(ProblemOfText(
                  "(x: f32[3]) { r = neg(x) return r }",
                  "(x: f32[3]) { e = log(x)\n q = sub(e, e)\n y = add(x, q)\n r = neg(y)\n"
                  " return r }",
                  "real_only", "formulas 0\n\nweights 0\n\nregions 1\nregion a4 = b1\n  b0 any\n"),
              HasSubstr("infinities or NaN"));
}

// The formulas cannot make the check hang or use up the memory.
TEST(RefereeCertificateTest, LargeFormulas) {
  const std::string model = "(x: f32[3], w: weight f32[1] = [1.0]) { y = mul(x, w)\n return y }";
  EXPECT_THAT(ProblemOfText(model, model, "bit_exact",
                            "formulas 4\ngraph formulas(b1: f32[1]) {\n  y0 = expand(b1) {shape = "
                            "[1000000000000]}\n  return y0\n}\n\nweights 0\n\nregions 0\n"),
              HasSubstr("too large"));
  std::string deep = "graph formulas(b1: f32[1]) {\n  %0 = neg(b1)\n";
  const int depth = 2000;
  for (int i = 1; i < depth; ++i) absl::StrAppend(&deep, "  %", i, " = neg(%", i - 1, ")\n");
  absl::StrAppend(&deep, "  return y0 = %", depth - 1, "\n}\n");
  EXPECT_NE(
      ProblemOfText(model, model, "bit_exact",
                    absl::StrCat("formulas ", depth + 3, "\n", deep, "\nweights 0\n\nregions 0\n")),
      "");
}

// Two regions: the second one relies on the first one.
TEST(RefereeCertificateTest, RegionsComeInTheOrderOfTheirOperands) {
  const std::string head = "(x: f32[3,4], z: f32[3,4]) { ";
  const Proof proof = ProofOf(
      head +
          "a = mul(x, z)\n b = relu(a)\n c = mul(b, b)\n d = tanh(c)\n e = add(d, x)\n return e }",
      head +
          "a = mul(z, x)\n b = relu(a)\n p = constant f32[] fill 2.0\n c = pow(b, p)\n"
          " d = tanh(c)\n e = add(x, d)\n return e }");
  ASSERT_GE(proof.certificate.regions.size(), 2) << Print(proof.certificate);
  EXPECT_NE(After(proof, [](auto* c) { std::swap(c->regions[0], c->regions.back()); }), "");
  EXPECT_NE(After(proof, [](auto* c) { c->regions.push_back(c->regions[0]); }), "");
  EXPECT_NE(After(proof, [](auto* c) { c->regions.erase(c->regions.begin()); }), "");
  EXPECT_NE(After(proof, [](auto* c) { c->regions[0].output = 0; }), "");
}

// One value of the second model is two outputs; the first model moves it once more for the second.
TEST(RefereeCertificateTest, OneValueMayBeTwoOutputs) {
  const std::string head = "(x: f32[8,3,4]) { p = pad(x) {pads = [0, 0, 0, 0, 0, 12]}\n";
  const Proof proof =
      ProofOf(head +
                  "t = transpose(x) {perm = [0, 2, 1]}\n m = matmul(t, p)\n"
                  "o = transpose(m) {perm = [0, 2, 1]}\n"
                  "u = pad(o) {pads = [0, 0, 0, 0, 0, 0]}\n return o, u }",
              head + "t = transpose(p) {perm = [0, 2, 1]}\n o = matmul(t, x)\n return o, u = o }");
  EXPECT_EQ(ProblemOf(proof.certificate, proof.before, proof.after), "");
}

// A product computes rows of the input and a row of weights together. The second model has that
// last row as one weight and, in front of it in the graph, a weight that is computed from the row.
TEST(RefereeCertificateTest, WeightsMayBeProvedInAnyOrder) {
  const std::vector<float> b = RandomFloats(4 * 5, 1), c = RandomFloats(5, 2);
  const std::vector<float> w = RandomFloats(4, 3);
  std::vector<float> product(5, 0), computed;
  for (size_t k = 0; k < 4; ++k) {
    for (size_t j = 0; j < 5; ++j) product[j] += w[k] * b[k * 5 + j];
  }
  for (const float x : c) computed.push_back(std::max(x, 0.0f));
  for (const float x : product) computed.push_back(std::abs(x));
  const std::string inputs = absl::StrCat("(x: f32[3,4], b: weight f32[4,5] = ", Listed(b));
  const Proof proof = ProofOf(
      absl::StrCat(inputs, ", c: weight f32[1,5] = ", Listed(c),
                   ", w: weight f32[1,4] = ", Listed(w),
                   ") {\n p = concat(x, w) {axis = 0}\n q = matmul(p, b)\n"
                   "u, r = split(q) {axis = 0, sizes = [3, 1]}\n"
                   "g = relu(c)\n h = abs(r)\n y = concat(g, h) {axis = 0}\n return y, u, r }"),
      absl::StrCat(inputs, ") {\n y = constant f32[2,5] ", Listed(computed),
                   "\n u = matmul(x, b)\n r = constant f32[1,5] ", Listed(product),
                   "\n return y, u, r }"),
      "rule rows(x: [m,k], w: [n,k], b: [k,l]) reassociates {\n p = concat(x, w) {axis = 0}\n"
      "q = matmul(p, b)\n u, r = split(q) {axis = 0, sizes = [m, n]}\n return u, r\n} => {\n"
      "u = matmul(x, b)\n r = matmul(w, b)\n return u, r\n}\n");
  ASSERT_GE(proof.certificate.regions.size(), 2) << Print(proof.certificate);
  EXPECT_GT(proof.certificate.regions[0].after.position,
            proof.certificate.regions[1].after.position)
      << Print(proof.certificate);
}

TEST(RefereeCertificateTest, OtherModelsAreRejected) {
  const Proof proof = FoldedNormalization();
  const Graph swapped = *ParseGraph("graph g(x: f32[1,3,6,6]) { y = relu(x)\n return y }");
  EXPECT_NE(ProblemOf(proof.certificate, proof.before, swapped), "");
  EXPECT_NE(ProblemOf(proof.certificate, swapped, proof.after), "");
  EXPECT_NE(ProblemOf(proof.certificate, proof.after, proof.before), "");
}

// Constant positions outside of the tensor: the first model does not run, and no proof says so.
TEST(RefereeCertificateTest, ReadsHaveToBeInside) {
  const std::string inside =
      "(x: f32[3,4]) { i = constant i64[2] [0, 2]\n y = gather(x, i) {axis = 0}\n return y }";
  const Proof proof = ProofOf(inside, inside);
  EXPECT_EQ(ProblemOf(proof.certificate, proof.before, proof.after), "");
  const Graph outside = *ParseGraph(
      "graph g(x: f32[3,4]) { i = constant i64[2] [0, 9]\n y = gather(x, i) {axis = 0}\n return y "
      "}");
  EXPECT_NE(ProblemOf(proof.certificate, outside, outside), "");
}

}  // namespace
}  // namespace lemma
