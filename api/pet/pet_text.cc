// Partially equivalent mutants as text.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "api/pet.h"
#include "base/text_table.h"
#include "graph/text/text.h"
#include "pet/regions/picture.h"

namespace lemma::api {
namespace {

std::string BoxesOf(const pet::Region& region) {
  return absl::StrJoin(region.differs, " ",
                       [](std::string* text, const pet::Box& box) { text->append(ToString(box)); });
}

std::string VerdictText(const Verdict& verdict) {
  return IsProved(verdict) ? Word(verdict) : ToString(verdict);
}

// For each box of the mutant, on one line, what is proved at all sizes.
std::string ForAllSizes(const MutatedPart& part, const pet::Candidate& candidate) {
  auto region = ProveForAllSizes(part, candidate);
  if (!region.ok()) {
    return absl::StrCat("   for all sizes: not known: ", region.status().message(), "\n");
  }
  std::string text;
  for (size_t i = 0; i < region->rules.size(); ++i) {
    absl::StrAppend(&text, "   for all sizes: agrees on ", region->agreeing_boxes[i], ": ",
                    VerdictText(region->verdicts[i]), "\n");
  }
  for (const std::string& box : region->differing_boxes) {
    absl::StrAppend(&text, "   differs on ", box, " at the sizes that were tried\n");
  }
  if (region->differing_boxes.empty()) return text;
  if (!region->not_counted.empty()) {
    absl::StrAppend(&text, "   at others: not known: ", region->not_counted, "\n");
  }
  for (size_t i = 0; i < region->counted_boxes.size(); ++i) {
    const Verdict &original = region->count_verdicts[2 * i],
                  &mutant = region->count_verdicts[2 * i + 1];
    absl::StrAppend(&text, "   for all sizes: differs on ", region->counted_boxes[i],
                    " products over ones: ", VerdictText(IsProved(original) ? mutant : original),
                    "\n");
  }
  return text;
}

}  // namespace

std::string TextOf(const MutatedPart& part, const PetTextOptions& options) {
  PrintOptions elide;
  elide.elide = true;
  const pet::Candidates& candidates = *part.candidates;
  std::string text = PrintGraph(part.part.graph, elide);
  absl::StrAppendFormat(
      &text, "%s, %.3f ms; %s, %d looked at, %d kept\n", FormatCount(part.part.occurrences, "time"),
      static_cast<double>(candidates.original_cost) * 1e-6,
      FormatCount(candidates.mutants, "mutant"), candidates.looked_at, candidates.found.size());
  int number = 0;
  for (const pet::Candidate& c : candidates.found) {
    absl::StrAppend(&text, "\n", ++number, ". ", c.mutant.how(), "\n");
    if (c.region.empty()) {
      absl::StrAppend(&text, "   differs nowhere: ", FormatCount(c.region.cells, "cell"),
                      " proved, ", FormatCount(c.region.tested, "position"), " tested\n");
    } else {
      absl::StrAppend(&text, "   differs at ", c.region.positions, " of ",
                      FormatCount(NumElements(c.region.shape), "position"), ": ", BoxesOf(c.region),
                      "\n", pet::TextPicture(c.region));
    }
    absl::StrAppendFormat(&text, "   corrector: %s; %.3f ms, predicted gain %.1f %%\n", c.corrector,
                          static_cast<double>(c.cost) * 1e-6, 100 * PredictedGain(part, c));
    if (options.all_sizes && c.mutant.recipe) text += ForAllSizes(part, c);
    if (options.graphs) text += PrintGraph(c.corrected, elide);
  }
  return text + "\n";
}

absl::StatusOr<std::string> PictureOf(const std::vector<MutatedPart>& parts) {
  const pet::Candidate* first = FirstThatDiffers(parts);
  if (first == nullptr) return absl::NotFoundError("none of the mutants differs anywhere");
  return pet::SvgPicture(first->region);
}

}  // namespace lemma::api
