#include "verifier/verdict.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "rewrite/rules/proof_check.h"

namespace lemma {

void Join(const Proved& part, Proved* total) {
  total->contract = std::max(total->contract, part.contract);
  if (total->coverage.empty()) total->coverage = part.coverage;
  total->queries += part.queries;
  total->work += part.work;
  auto append = [](const auto& from, auto* to) { to->insert(to->end(), from.begin(), from.end()); };
  append(part.log.queries, &total->log.queries);
  append(part.log.steps, &total->log.steps);
}

std::string Refuted::ToString() const {
  std::vector<std::string> bindings;
  for (const auto& [name, value] : values) bindings.push_back(absl::StrCat(name, " = ", value));
  const std::string where = absl::StrCat(bindings.empty() ? "refuted" : "refuted at ",
                                         absl::StrJoin(bindings, ", "), ": output ", output);
  if (shapes_differ()) {
    return absl::StrCat(where, " is of shape [", absl::StrJoin(source_shape, ","), "] and [",
                        absl::StrJoin(target_shape, ","), "]");
  }
  std::string text =
      absl::StrCat(where, "[", absl::StrJoin(index, ","), "] is ", source, " and ", target);
  std::vector<std::string> elements;
  for (const std::vector<double>& input : inputs) {
    elements.push_back(absl::StrCat("[", absl::StrJoin(input, ","), "]"));
  }
  if (!elements.empty()) {
    absl::StrAppend(&text,
                    elements.size() == 1 ? ", where the input is " : ", where the inputs are ",
                    absl::StrJoin(elements, ", "));
  }
  return text;
}

std::string ToString(const Verdict& verdict) {
  if (auto* proved = std::get_if<Proved>(&verdict)) {
    return absl::StrCat("proved (", Name(proved->contract), ") for ", proved->coverage);
  }
  if (auto* refuted = std::get_if<Refuted>(&verdict)) return refuted->ToString();
  return absl::StrCat("unknown: ", std::get<Unknown>(verdict).reason);
}

const char* Word(const Verdict& verdict) {
  return IsProved(verdict) ? "proved" : IsRefuted(verdict) ? "refuted" : "unknown";
}

std::string Explanation(const Verdict& verdict) {
  if (auto* proved = std::get_if<Proved>(&verdict)) return proved->coverage;
  if (auto* refuted = std::get_if<Refuted>(&verdict)) return refuted->ToString();
  return std::get<Unknown>(verdict).reason;
}

ProofRecord RecordOf(const Substitution& rule, const Verdict& verdict) {
  ProofRecord record;
  record.detail = Explanation(verdict);
  if (auto* proved = std::get_if<Proved>(&verdict)) {
    record.verdict = ProofRecord::Verdict::kProved;
    record.contract = proved->contract;
    record.id = proved->id;
  } else {
    record.verdict =
        IsRefuted(verdict) ? ProofRecord::Verdict::kRefuted : ProofRecord::Verdict::kUnknown;
    record.id = CurrentProofId(rule);
  }
  return record;
}

}  // namespace lemma
