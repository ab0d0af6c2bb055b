// Lists the figures of a run of the generator, for people and for JSON.
#ifndef LEMMA_API_GENERATION_FIGURES_H_
#define LEMMA_API_GENERATION_FIGURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "api/generate.h"
#include "base/process_use.h"

namespace lemma::api {

struct Figure {
  const char* name;  // the member's name in JSON, such as "pruned_terms"
  int64_t value;
};

// The figures, in the order in which they are shown.
std::vector<Figure> FiguresOf(const generator::EnumeratorStats& stats);
std::vector<Figure> FiguresOf(const GenerateResult& result);

// The figures for people, with the process's use of time and memory until the enumeration was done
// (`enumeration`) and in all (`all`).
std::string TextOf(const std::vector<Figure>& figures, const ProcessUse& enumeration,
                   const ProcessUse& all);

}  // namespace lemma::api

#endif  // LEMMA_API_GENERATION_FIGURES_H_
