#include "rewrite/rules/certificate.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/sha256.h"
#include "graph/text/lexer.h"
#include "rewrite/rules/certificate_text.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {
namespace {

using text::QuoteName;

std::string Hex16(uint64_t hash) { return absl::StrCat(absl::Hex(hash, absl::kZeroPad16)); }

std::string Print(const ValueAt& ref) {
  return ref.output == 0 ? absl::StrCat("%", ref.position)
                         : absl::StrCat("%", ref.position, ".", ref.output);
}

std::string PrintSize(int64_t size) {
  return IsSymbolic(size) ? absl::StrCat("{", SizeName(size), "}") : absl::StrCat(size);
}

// As ToString; symbolic sizes in braces.
std::string PrintSymbol(const AttrValue& value) {
  if (auto* size = std::get_if<int64_t>(&value)) return PrintSize(*size);
  auto* sizes = std::get_if<std::vector<int64_t>>(&value);
  if (sizes == nullptr) return ToString(value);
  auto format = [](std::string* out, int64_t size) { out->append(PrintSize(size)); };
  return absl::StrCat("[", absl::StrJoin(*sizes, ", ", format), "]");
}

// The result sizes in the symbols of the steps, with their ranges.
std::map<std::string, SizeRange> ResultSizesIn(const std::vector<CertificateStep>& steps) {
  std::map<std::string, SizeRange> dims;
  for (const CertificateStep& step : steps) {
    for (const AttrValue& symbol : step.symbols) {
      if (auto* size = std::get_if<int64_t>(&symbol)) CollectDims(*size, &dims);
      if (auto* sizes = std::get_if<std::vector<int64_t>>(&symbol)) {
        for (int64_t size : *sizes) CollectDims(size, &dims);
      }
    }
  }
  for (auto it = dims.begin(); it != dims.end();) {
    it = IsResultSize(it->second) ? std::next(it) : dims.erase(it);
  }
  return dims;
}

void PrintStep(const Substitution& rule, const CertificateStep& step, size_t number,
               std::string* out) {
  absl::StrAppend(out, "step ", number, " ", QuoteName(rule.name), " proof ",
                  certificate_text::ProofOf(rule), "\n");
  absl::StrAppend(out, "  type ", Name(step.dtype), "\n");
  for (size_t i = 0; i < step.vars.size(); ++i) {
    absl::StrAppend(out, i == 0 ? "  " : ", ", QuoteName(rule.vars[i].name), " = ",
                    Print(step.vars[i]));
  }
  absl::StrAppend(out, step.vars.empty() ? "" : "\n", "  nodes");
  for (int node : step.nodes) absl::StrAppend(out, " %", node);
  absl::StrAppend(out, "\n");
  for (size_t i = 0; i < step.symbols.size(); ++i) {
    absl::StrAppend(out, i == 0 ? "  " : ", ", QuoteName(rule.symbols[i].name), " = ",
                    PrintSymbol(step.symbols[i]));
  }
  absl::StrAppend(out, step.symbols.empty() ? "" : "\n", "  gives ", Hex16(step.after), "\n");
}

void PrintMutant(const CertificateMutant& mutant, std::string* out) {
  Substitution bare = mutant.rule;
  bare.proof = ProofRecord();
  absl::StrAppend(out, PrintRule(bare), "differs ", mutant.differs.size(), "\n");
  for (const CertificateMutant::Box& box : mutant.differs) {
    *out += "  box";
    for (const CertificateMutant::Range& r : box) {
      absl::StrAppend(out, " ", r[0], ":", r[1], ":", r[2]);
    }
    *out += "\n";
  }
}

}  // namespace

const char* Name(Certificate::Result result) {
  switch (result) {
    case Certificate::Result::kBest:
      return "best";
    case Certificate::Result::kDescended:
      return "first descent";
    case Certificate::Result::kCertain:
      return "certain rewrites";
    case Certificate::Result::kReplayed:
      return "replayed";
    case Certificate::Result::kInput:
      return "input";
  }
  return "";
}

Substitution ForCertificate(Substitution rule) {
  rule.doc.clear();
  if (rule.proof.verdict != ProofRecord::Verdict::kProved) rule.proof = ProofRecord();
  rule.proof.detail.clear();
  return rule;
}

bool CanBeFixed(const TensorType& type) {
  return (IsInteger(type.dtype) || type.dtype == DType::kBool) && type.rank() <= 8 &&
         type.num_elements() <= kMaxFixedElements;
}

std::string PrintCertificate(const Certificate& c) {
  std::string out = absl::StrCat(certificate_text::kFormat, certificate_text::kVersion, "\ninput ",
                                 c.input_file, " graph ", Hex16(c.input_graph), "\noutput ",
                                 c.output_file, " graph ", Hex16(c.output_graph), "\n");
  for (const auto& [name, size] : c.dims) {
    absl::StrAppend(&out, "dim ", QuoteName(name), " ", size, "\n");
  }
  for (const auto& [name, range] : c.symbolic) {
    absl::StrAppend(&out, "symbolic ", QuoteName(name), " ", range.least, " ", range.most, "\n");
  }
  for (const auto& [name, range] : ResultSizesIn(c.steps)) {
    absl::StrAppend(&out, "result_size ", QuoteName(name), " ", range.most, "\n");
  }
  for (const auto& [name, value] : c.fixed_inputs) {
    absl::StrAppend(&out, "fixed ", QuoteName(name), " ", value.type().ToString());
    for (int64_t i : value.ToInts()) absl::StrAppend(&out, " ", i);
    absl::StrAppend(&out, "\n");
  }
  if (c.reseed) absl::StrAppend(&out, "reseed ", *c.reseed, "\n");
  absl::StrAppend(&out, "result ", Name(c.result), "\ncontract ", Name(c.contract), "\n");
  absl::StrAppend(&out, "\nrules ", c.rules.size(), "\n");
  for (const Substitution& rule : c.rules) {
    Substitution bare = rule;
    bare.proof = ProofRecord();
    absl::StrAppend(&out, "proof ", certificate_text::ProofOf(rule), " ", Name(rule.proof.contract),
                    "\n", PrintRule(bare));
  }
  if (!c.mutants.empty()) absl::StrAppend(&out, "\nmutants ", c.mutants.size(), "\n");
  for (const CertificateMutant& mutant : c.mutants) PrintMutant(mutant, &out);
  absl::StrAppend(&out, "\nsteps ", c.steps.size(), "\n");
  for (size_t i = 0; i < c.steps.size(); ++i) {
    PrintStep(*certificate_text::Find(c.rules, c.steps[i].rule), c.steps[i], i + 1, &out);
  }
  absl::StrAppend(&out, "\nfolds ", c.folds.size(), "\n");
  for (const CertificateFold& fold : c.folds) {
    absl::StrAppend(&out, Print(fold.value), " ", fold.type.ToString(), " sha256 ", fold.sha256,
                    "\n");
  }
  if (!c.bodies.empty()) absl::StrAppend(&out, "\nbodies ", c.bodies.size(), "\n");
  for (const CertificateBody& body : c.bodies) {
    absl::StrAppend(&out, "%", body.position, " reads");
    for (int read : body.reads) absl::StrAppend(&out, " ", read);
    absl::StrAppend(&out, "\n");
    for (absl::string_view line : absl::StrSplit(absl::StripSuffix(body.certificate, "\n"), '\n')) {
      absl::StrAppend(&out, certificate_text::kIndent, line, "\n");
    }
  }
  const std::string checksum = Sha256Of(out);
  return absl::StrCat(out, certificate_text::kChecksum, checksum, "\n");
}

}  // namespace lemma
