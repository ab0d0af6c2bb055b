// The referee's result as text.
#include <algorithm>
#include <cstdio>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "api/referee.h"
#include "base/text_table.h"

namespace lemma::api {
namespace {

using referee::Answer;

constexpr size_t kMostLines = 5;  // of a list that is not verbose

std::string Named(const std::string& label) { return label.empty() ? "(unnamed)" : label; }

std::string OperatorList(const std::vector<std::string>& names) {
  return names.empty() ? "no operator" : absl::StrJoin(names, ", ");
}

// "12 bit_exact, 3 reassociates"
std::string Contracts(const referee::RefereeResult& verdict) {
  std::map<FloatContract, int> counts;
  for (const referee::ProvedRegion& region : verdict.regions) ++counts[region.contract];
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [contract, count] : counts) {
    parts.push_back(absl::StrCat(count, " ", Name(contract)));
  }
  return absl::StrJoin(parts, ", ");
}

void AddRegions(const referee::RefereeResult& verdict, bool verbose, std::string* text) {
  if (verdict.regions.empty()) return;
  absl::StrAppend(text, "regions   ", verdict.regions.size(), ": ", Contracts(verdict), "; ",
                  FormatCount(verdict.proofs, "proof"), ", ", verdict.remembered, " repeated\n");
  if (!verbose) return;
  for (const referee::ProvedRegion& region : verdict.regions) {
    absl::StrAppend(text, "  ", Name(region.contract), "  ", Named(region.before), " = ",
                    Named(region.after), ": ", OperatorList(region.before_operators), " = ",
                    OperatorList(region.after_operators), "\n");
  }
}

void AddWeights(const referee::RefereeResult& verdict, bool verbose, std::string* text) {
  if (verdict.weights.empty()) return;
  size_t exact = 0;
  double ulps = 0;
  for (const referee::FoldedWeight& weight : verdict.weights) {
    exact += weight.exact ? 1 : 0;
    ulps = std::max(ulps, weight.ulps);
  }
  absl::StrAppend(text, "weights   ", exact, " copied, ", verdict.weights.size() - exact,
                  " computed");
  if (exact < verdict.weights.size()) absl::StrAppendFormat(text, " within %.3g ulps", ulps);
  *text += "\n";
  if (!verbose) return;
  for (const referee::FoldedWeight& weight : verdict.weights) {
    absl::StrAppend(text, "  ", weight.after, " = ", weight.before);
    if (!weight.exact) absl::StrAppendFormat(text, " (%.3g ulps)", weight.ulps);
    *text += "\n";
  }
}

void AddStrangeWeights(const referee::RefereeResult& verdict, std::string* text) {
  for (const referee::StrangeWeight& w : verdict.strange_weights) {
    absl::StrAppendFormat(
        text, "weight    %s is like %s, but %s: [%s] is %.9g, outside of [%.9g, %.9g]\n", w.after,
        w.before, FormatCount(w.outside, "element") + (w.outside == 1 ? " differs" : " differ"),
        absl::StrJoin(w.index, ","), w.value, w.low, w.high);
  }
}

void AddOutputs(const referee::RefereeResult& verdict, std::string* text) {
  for (const referee::OutputComparison& output : verdict.outputs) {
    absl::StrAppendFormat(text,
                          "output    %s: largest difference %.3g of values up to %.3g; rounding "
                          "explains %.3g\n",
                          output.name, output.difference, output.scale, output.explained);
  }
}

std::string SizesOf(const referee::Refutation& refutation) {
  return absl::StrJoin(refutation.sizes, ", ", absl::PairFormatter("="));
}

// Adds all but the headline.
void AddRefutation(const referee::Refutation& refutation, std::string* text) {
  if (!refutation.failure.empty()) return;
  const std::string sizes = SizesOf(refutation);
  if (!sizes.empty()) absl::StrAppend(text, "sizes     ", sizes, "\n");
  if (!refutation.pair) return;
  const referee::DifferentPair& pair = *refutation.pair;
  auto operators = [](const Graph& graph) {
    std::vector<std::string> names;
    for (const NodePtr& node : graph.nodes()) {
      if (node->is_op()) names.push_back(node->op().name);
    }
    return OperatorList(names);
  };
  absl::StrAppend(text, "first     ", Named(pair.before_label), " (", operators(pair.before),
                  ") and ", Named(pair.after_label), " (", operators(pair.after), ") ",
                  HowTheyDiffer(pair), "\n");
  if (!refutation.only_here) return;
  const std::string where =
      refutation.by_weights ? "by the weights below"
      : refutation.places > 1
          ? absl::StrCat("there and at ", FormatCount(refutation.places - 1, "other place"))
          : "there";
  absl::StrAppend(text, "only      ", where, "; all else is proved equal\n");
}

void AddOpen(const referee::RefereeResult& verdict, bool verbose, std::string* text) {
  for (size_t i = 0; i < verdict.open.size() && (verbose || i < kMostLines); ++i) {
    const referee::OpenRegion& open = verdict.open[i];
    absl::StrAppend(text, "open      ", Named(open.before), " = ", Named(open.after));
    if (open.operators > 0) absl::StrAppend(text, ", ", FormatCount(open.operators, "operator"));
    absl::StrAppend(text, ": ", open.reason, "\n");
  }
}

}  // namespace

std::string Headline(const RefereeResult& result) {
  const referee::RefereeResult& verdict = result.verdict;
  const auto& refutation = verdict.refutation;
  switch (verdict.answer) {
    case Answer::kProved:
      return "proved";
    case Answer::kRefuted:
      if (!refutation->failure.empty()) {
        return absl::StrCat(
            "refuted: at ", SizesOf(*refutation),
            ", where the first model runs, the second one does not: ", refutation->failure);
      }
      return absl::StrFormat(
          "refuted: %s[%s] is %.9g before and %.9g after; rounding explains %.3g",
          refutation->output, absl::StrJoin(refutation->index, ","), refutation->before,
          refutation->after, refutation->explained);
    case Answer::kUnknown:
      return absl::StrCat("unknown: ", verdict.reason);
    case Answer::kDifferentInterface:
      return absl::StrCat("different interface: ", absl::StrJoin(verdict.interface, "; "));
  }
  return "";
}

std::string HowTheyDiffer(const referee::DifferentPair& pair) {
  const TensorType &before = pair.before.outputs()[0].type(),
                   &after = pair.after.outputs()[0].type();
  if (before != after) {
    return absl::StrCat("have the types ", before.ToString(), " and ", after.ToString(),
                        " on the same operands");
  }
  return absl::StrFormat("differ by %.3g on the same operands; rounding explains %.3g",
                         pair.difference, pair.explained);
}

std::string TextOf(const RefereeResult& result, bool verbose) {
  const referee::RefereeResult& verdict = result.verdict;
  std::string text = absl::StrCat(Headline(result), "\n");
  if (verdict.answer == Answer::kProved) {
    absl::StrAppend(&text, "contract  ", Name(verdict.contract), "\nsizes     ", verdict.coverage,
                    "\n");
  }
  if (verdict.answer == Answer::kRefuted) AddRefutation(*verdict.refutation, &text);
  for (const std::string& note : verdict.notes) absl::StrAppend(&text, "note      ", note, "\n");
  AddRegions(verdict, verbose, &text);
  AddWeights(verdict, verbose, &text);
  AddStrangeWeights(verdict, &text);
  if (verdict.answer != Answer::kProved) AddOpen(verdict, verbose, &text);
  AddOutputs(verdict, &text);
  for (const std::string& file : result.files) absl::StrAppend(&text, "written   ", file, "\n");
  absl::StrAppendFormat(&text, "time      %.1f s\n", result.seconds);
  return text;
}

std::string TextOf(const VerdictCheck& answer) {
  const referee::CertificateCheck& check = answer.check;
  if (!check.ok()) return absl::StrCat("REJECTED: ", Printable(check.problem), "\n");
  std::string text = absl::StrFormat("checked: the models are proved equal, %s, for %s\n",
                                     Name(check.contract), Printable(check.coverage));
  absl::StrAppendFormat(&text, "%s by %s; %s copied, %d computed (at most %.3g ulps off)\n",
                        FormatCount(check.regions, "region"), FormatCount(check.proofs, "proof"),
                        FormatCount(check.weights, "weight"), check.computed, check.ulps);
  absl::StrAppend(&text, "outputs agree in double on random inputs: ", check.samples, " x ",
                  FormatCount(check.elements, "element"), "\n");
  for (const std::string& note : check.notes) {
    absl::StrAppend(&text, "note: ", Printable(note), "\n");
  }
  absl::StrAppend(&text, "repeatable with --seed=", answer.seed, "\n");
  return text;
}

}  // namespace lemma::api
