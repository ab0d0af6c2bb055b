// lemma pet: partially equivalent mutants of a model's parts.
#include "api/pet.h"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/json/pet.h"
#include "api/models/model_file.h"
#include "api/pet/examples.h"
#include "base/flags.h"
#include "base/progress_line.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "cli/proof_commands.h"
#include "graph/text/text.h"
#include "pet/regions/picture.h"

namespace lemma::cli {
namespace {

struct PetFlags {
  CommonFlags common;
  api::PetSearchOptions search;
  std::string example, svg, cost = "analytic";
  bool graphs = false, all_sizes = false;
};

absl::StatusOr<Graph> ReadGraph(const PetFlags& flags, const std::vector<std::string>& positional) {
  if (flags.example.empty()) {
    auto path = OneArgument("MODEL", positional);
    if (!path.ok()) return path.status();
    auto model = flags.common.Load(*path);
    if (!model.ok()) return model.status();
    return std::move(model->graph);
  }
  if (!positional.empty()) return absl::InvalidArgumentError("MODEL or --example, not both");
  for (const api::PetExample& example : api::PetExamples()) {
    if (flags.example == example.name) return ParseGraph(example.text);
  }
  return absl::InvalidArgumentError(absl::StrCat("--example: there is no ", flags.example));
}

absl::StatusOr<std::vector<api::MutatedPart>> FindParts(const PetFlags& flags, const Graph& graph) {
  ProgressLine progress(flags.common.json);
  api::PetSearchOptions options = flags.search;
  options.execution = flags.common.Execution();
  options.costs.measured = flags.cost == "measured";
  options.on_part = [&progress](int part, int parts) {
    progress.Show(absl::StrCat("part ", part, " of ", parts));
  };
  options.on_measure = [&progress](absl::string_view signature) {
    progress.Show(absl::StrCat("measuring ", signature.substr(0, 60)));
  };
  auto parts = api::FindMutants(graph, options);
  if (!parts.ok()) return WithFlags(parts.status());
  return parts;
}

std::string BoxesOf(const pet::Region& region) {
  std::string text;
  for (const pet::Box& box : region.differs)
    absl::StrAppend(&text, text.empty() ? "" : " ", ToString(box));
  return text;
}

// Prints for each box of the mutant, on one line, what is proved at all sizes.
void PrintForAllSizes(const api::MutatedPart& part, const pet::Candidate& candidate) {
  auto region = api::ProveForAllSizes(part, candidate);
  if (!region.ok()) {
    std::printf("   for all sizes: not known: %s\n",
                std::string(region.status().message()).c_str());
    return;
  }
  for (size_t i = 0; i < region->rules.size(); ++i) {
    const Verdict& verdict = region->verdicts[i];
    std::printf("   for all sizes: agrees on %s: %s\n", region->agreeing_boxes[i].c_str(),
                IsProved(verdict) ? Word(verdict) : ToString(verdict).c_str());
  }
  for (const std::string& box : region->differing_boxes) {
    std::printf("   differs on %s at the sizes that were tried\n", box.c_str());
  }
  if (region->differing_boxes.empty()) return;
  if (!region->not_counted.empty()) {
    std::printf("   at others: not known: %s\n", region->not_counted.c_str());
  }
  for (size_t i = 0; i < region->counted_boxes.size(); ++i) {
    const Verdict &original = region->count_verdicts[2 * i],
                  &mutant = region->count_verdicts[2 * i + 1];
    const Verdict& weaker = IsProved(original) ? mutant : original;
    std::printf("   for all sizes: differs on %s products over ones: %s\n",
                region->counted_boxes[i].c_str(),
                IsProved(weaker) ? Word(weaker) : ToString(weaker).c_str());
  }
}

void PrintPart(const PetFlags& flags, const api::MutatedPart& part) {
  PrintOptions elide;
  elide.elide = true;
  std::printf("%s", PrintGraph(part.part.graph, elide).c_str());
  std::printf("%d times, %.3f ms; %lld mutants, %lld looked at, %zu kept\n", part.part.occurrences,
              static_cast<double>(part.candidates->original_cost) * 1e-6,
              static_cast<long long>(part.candidates->mutants),
              static_cast<long long>(part.candidates->looked_at), part.candidates->found.size());
  int number = 0;
  for (const pet::Candidate& c : part.candidates->found) {
    std::printf("\n%d. %s\n", ++number, c.mutant.how().c_str());
    const int64_t positions = NumElements(c.region.shape);
    if (c.region.empty()) {
      std::printf("   differs nowhere: %lld cells proved, %lld positions tested\n",
                  static_cast<long long>(c.region.cells), static_cast<long long>(c.region.tested));
    } else {
      std::printf("   differs at %lld of %lld positions: %s\n",
                  static_cast<long long>(c.region.positions), static_cast<long long>(positions),
                  BoxesOf(c.region).c_str());
      std::printf("%s", pet::TextPicture(c.region).c_str());
    }
    std::printf("   corrector: %s; %.3f ms, predicted gain %.1f %%\n", c.corrector.c_str(),
                static_cast<double>(c.cost) * 1e-6, 100 * api::PredictedGain(part, c));
    if (flags.all_sizes && c.mutant.recipe) PrintForAllSizes(part, c);
    if (flags.graphs) std::printf("%s", PrintGraph(c.corrected, elide).c_str());
  }
  std::printf("\n");
}

absl::StatusOr<int> ListMutants(const PetFlags& flags, const Positional& positional) {
  if (absl::Status s = flags.common.Check(); !s.ok()) return s;
  auto graph = ReadGraph(flags, positional);
  if (!graph.ok()) return graph.status();
  auto parts = FindParts(flags, *graph);
  if (!parts.ok()) return parts.status();
  if (!flags.svg.empty()) {
    const pet::Candidate* first = api::FirstThatDiffers(*parts);
    if (first == nullptr) {
      return absl::NotFoundError("--svg: none of the mutants differs anywhere");
    }
    absl::Status written = api::WriteText(flags.svg, pet::SvgPicture(first->region));
    if (!written.ok()) return written;
  }
  if (flags.common.json) {
    PrintJson(ToJson(*parts));
  } else {
    for (const api::MutatedPart& part : *parts) PrintPart(flags, part);
    if (parts->empty()) std::puts("no part is a sum of products");
  }
  return parts->empty() ? kExitNo : kExitOk;
}

}  // namespace

absl::StatusOr<int> RunPet(Arguments arguments) {
  PetFlags pet;
  std::vector<std::string> names = {""};
  for (const api::PetExample& example : api::PetExamples()) names.push_back(example.name);
  Flags flags("pet", "MODEL | --example=NAME",
              "Lists partially equivalent mutants of the parts of a model that are sums of "
              "products: where each differs, proved, what corrects it, and what it costs.");
  flags.Choice("example", &pet.example, names, "a small model instead");
  flags.String("svg", &pet.svg, "FILE", "a picture of where the first one that differs does");
  flags.Int("keep", &pet.search.keep, "corrected mutants of a part, the cheapest");
  flags.Int("look-at", &pet.search.look_at, "mutants of a part that are corrected and priced");
  flags.Int("max-ops", &pet.search.max_ops, "operators in a part");
  flags.Bool("graphs", &pet.graphs, "print corrected mutants");
  flags.Bool("all-sizes", &pet.all_sizes,
             "prove for all sizes where a mutant agrees, which takes seconds for each");
  flags.Choice("cost", &pet.cost, {"analytic", "measured"},
               "an estimate, or kernels measured on this machine");
  flags.String("cost-db", &pet.search.costs.database, "FILE", "where measured costs are kept");
  pet.common.AddExecution(&flags);
  pet.common.AddModel(&flags);
  return ParseAndRun(&flags, arguments,
                     [&](const Positional& words) { return ListMutants(pet, words); });
}

}  // namespace lemma::cli
