#include "verifier/prover/proof_file.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {
namespace {

std::string ValueText(const ExprAttr& value) {
  if (auto* index = std::get_if<IndexExpr>(&value)) return index->ToString();
  if (auto* real = std::get_if<ScalarExpr>(&value)) {
    return real->kind() == ScalarExpr::Kind::kParam ? absl::StrCat("(real ", real->name(), ")")
                                                    : absl::StrCat("(number ", real->value(), ")");
  }
  if (auto* list = std::get_if<Idx>(&value)) {
    std::string text = "(list";
    for (const IndexExpr& e : *list) absl::StrAppend(&text, " ", e.ToString());
    return text + ")";
  }
  return "(other)";
}

void AppendQuoted(const std::string& text, std::string* out) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!line.empty()) absl::StrAppend(out, "| ", line, "\n");
  }
}

}  // namespace

std::vector<std::string> FormLines(const Substitution& rule, const RuleForm& form) {
  std::vector<std::string> lines = {"form"};
  for (size_t i = 0; i < rule.symbols.size(); ++i) {
    if (!form.symbols[i]) continue;
    lines.push_back(
        absl::StrCat("symbol ", rule.symbols[i].name, " ", ValueText(*form.symbols[i])));
  }
  return lines;
}

std::string WriteProofFile(const Substitution& rule, const Proved& proved) {
  Substitution claim = rule;
  claim.proof = {};
  std::string text = "lemma-proof 1\nrule\n";
  AppendQuoted(PrintRule(claim), &text);
  int64_t forms = 0;
  for (const std::string& line : proved.log.steps) forms += line == "form";
  absl::StrAppend(&text, "id ", proved.id, "\ncontract ", Name(proved.contract), "\nforms ", forms,
                  "\n");
  for (const std::string& line : proved.log.steps) absl::StrAppend(&text, line, "\n");
  for (const ProofLog::Query& query : proved.log.queries) {
    absl::StrAppend(&text, "query ", query.about, "\n");
    AppendQuoted(query.smt2, &text);
  }
  absl::StrAppend(&text, "end ", proved.log.steps.size(), " ", proved.log.queries.size(), "\n");
  return text;
}

std::string ObligationScript(const std::string& title, const ProofLog& log) {
  auto comment = [](absl::string_view text) { return absl::StrReplaceAll(text, {{"\n", " "}}); };
  std::string script = absl::StrCat("; ", comment(title), ": ", log.queries.size(),
                                    " obligations; every answer must be unsat\n");
  for (size_t i = 0; i < log.queries.size(); ++i) {
    absl::StrAppend(&script, i == 0 ? "" : "(reset)\n", "; ", i, ": ",
                    comment(log.queries[i].about), "\n", log.queries[i].smt2, "(check-sat)\n");
  }
  return script;
}

std::string FileNameOf(const std::string& name) {
  std::string file;
  for (unsigned char c : name) {
    const bool plain =
        absl::ascii_isalnum(c) || c == '_' || c == '-' || (c == '.' && !file.empty());
    file += plain ? std::string(1, static_cast<char>(c)) : absl::StrFormat("%%%02x", c);
  }
  return file;
}

}  // namespace lemma
