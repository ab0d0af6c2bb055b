#include "tests/verifier/certificate/forgery.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {

using testing::HasSubstr;

Substitution RuleOf(const Forgery& f, const std::string& target) {
  const std::string text = absl::StrCat("rule forged(", f.vars, ") ", f.contract, " { ", f.source,
                                        " } => { ", target, " }");
  auto rules = ParseRules(text);
  EXPECT_TRUE(rules.ok()) << rules.status() << "\n" << text;
  if (!rules.ok()) return Substitution();
  Substitution rule = (*rules)[0];
  rule.proof.verdict = ProofRecord::Verdict::kProved;
  rule.proof.contract = rule.contract;
  rule.proof.id = CurrentProofId(rule);
  return rule;
}

std::string GraphText(const Forgery& f) {
  return absl::StrCat("graph g(", f.vars, ") { ", absl::StrReplaceAll(f.source, {{"return z", ""}}),
                      " w = neg(z) return w }");
}

std::string ProblemOf(const Forgery& f, const CertificateMutant::Box& box) {
  const CertificateMutant mutant = {RuleOf(f, f.mutant), {box}};
  const CertificateCase files = Walk(GraphText(f), {RuleOf(f, f.target)}, {"forged"});
  EXPECT_THAT(files.certificate, HasSubstr("steps 1\n"));
  return Problem(Changed(files, [&](Certificate* c) { c->mutants = {mutant}; }));
}

Forgery ForgedProduct(const std::string& name, const std::string& statements,
                      const std::string& problem) {
  return {name,
          kForgedVars,
          "reassociates",
          "z = mul(x, y) return z",
          absl::StrCat("a = mul(x, y) ", statements, " return z"),
          "z = add(x, y) return z",
          problem};
}

CertificateCase Resigned(const CertificateCase& files, const Texts& input, const Texts& output,
                         const std::function<void(Certificate*)>& change) {
  CertificateCase forged = files;
  for (auto& [text, changes] : {std::pair(&forged.input, &input), {&forged.output, &output}}) {
    for (const auto& [from, to] : *changes) {
      EXPECT_THAT(*text, HasSubstr(from));
      *text = absl::StrReplaceAll(*text, {{from, to}});
    }
  }
  return Changed(forged, [&](Certificate* c) {
    EXPECT_EQ(c->steps.size(), 1u);
    EXPECT_TRUE(c->folds.empty());
    c->input_file = Sha256Of(forged.input);
    c->output_file = Sha256Of(forged.output);
    c->input_graph = GraphOf(forged.input).StructuralHash();
    c->output_graph = c->steps[0].after = GraphOf(forged.output).StructuralHash();
    change(c);
  });
}

}  // namespace lemma
