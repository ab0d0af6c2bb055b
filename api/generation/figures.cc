#include "api/generation/figures.h"

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace lemma::api {

std::vector<Figure> FiguresOf(const generator::EnumeratorStats& stats) {
  return {{"graphs", stats.graphs},
          {"terms", stats.terms},
          {"pruned_terms", stats.pruned_terms},
          {"distinct", stats.distinct},
          {"hits", stats.colliding_graphs},
          {"classes", stats.classes},
          {"class_members", stats.members}};
}

std::vector<Figure> FiguresOf(const GenerateResult& result) {
  const generator::GenerateStats& s = result.decided;
  std::vector<Figure> figures = FiguresOf(result.enumerated);
  for (const Figure& figure : {Figure{"pairs", s.pairs},
                               {"candidates", s.candidates},
                               {"derived", s.derived},
                               {"not_tried", s.not_tried},
                               {"no_form", s.unliftable},
                               {"proved", s.proved},
                               {"guarded", s.guarded},
                               {"refuted", s.refuted},
                               {"unknown", s.unknown},
                               {"pruned", s.pruned},
                               {"written", result.written},
                               {"resumed", result.resumed}}) {
    figures.push_back(figure);
  }
  return figures;
}

std::string TextOf(const std::vector<Figure>& figures, const ProcessUse& enumeration,
                   const ProcessUse& all) {
  std::string text;
  for (const Figure& figure : figures) {
    absl::StrAppendFormat(&text, "%-14s %12d\n", absl::StrReplaceAll(figure.name, {{"_", " "}}),
                          figure.value);
  }
  absl::StrAppendFormat(&text, "enumeration: %.1f s of processor time, %.0f MB at most\n",
                        enumeration.seconds, enumeration.megabytes);
  absl::StrAppendFormat(&text, "in all: %.1f s of processor time, %.0f MB at most\n", all.seconds,
                        all.megabytes);
  return text;
}

}  // namespace lemma::api
