// lemma pet: partially equivalent mutants of a model's parts.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/models/model_file.h"
#include "api/optimization/costs.h"
#include "base/flags.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/optimize.h"
#include "cli/pet_examples.h"
#include "cli/progress_line.h"
#include "cli/verdict_text.h"
#include "graph/text/text.h"
#include "pet/finder.h"
#include "pet/regions/picture.h"
#include "pet/symbolic/symbolic.h"

namespace lemma::cli {
namespace {

struct PetFlags {
  OptimizeFlags optimize;  // the model and the costs
  std::string example, svg;
  int64_t keep = 8, look_at = 48, max_ops = 2;
  bool graphs = false, all_sizes = false;
};

// What was found for one part.
struct Part {
  Subprogram part;
  std::shared_ptr<const Candidates> candidates;
};

absl::StatusOr<Graph> ReadGraph(const PetFlags& flags, const std::vector<std::string>& positional) {
  if (flags.example.empty()) {
    auto path = OneArgument("MODEL", positional);
    if (!path.ok()) return path.status();
    auto model = flags.optimize.common.Load(*path);
    if (!model.ok()) return model.status();
    return std::move(model->graph);
  }
  if (!positional.empty()) return absl::InvalidArgumentError("MODEL or --example, not both");
  for (const PetExample& example : PetExamples()) {
    if (flags.example == example.name) return ParseGraph(example.text);
  }
  return absl::InvalidArgumentError(absl::StrCat("--example: there is no ", flags.example));
}

absl::StatusOr<std::vector<Part>> FindParts(const PetFlags& flags, const Graph& graph,
                                            CostModel* costs, ProgressLine* progress) {
  PetOptions options;
  options.candidates.cost = api::Nanoseconds(costs, false);
  options.candidates.estimate = api::Nanoseconds(costs, true);
  options.candidates.keep = static_cast<int>(flags.keep);
  options.candidates.look_at = static_cast<int>(flags.look_at);
  options.subprograms.max_ops = static_cast<int>(flags.max_ops);
  auto parts = SubprogramsOf(graph, options.subprograms);
  if (!parts.ok()) return parts.status();
  PetFinder finder(options);
  std::vector<Part> found;
  for (Subprogram& part : *parts) {
    progress->Show(absl::StrCat("part ", found.size() + 1, " of ", parts->size()));
    auto candidates = finder.CandidatesOf(part.graph);
    if (!candidates.ok()) return candidates.status();
    found.push_back({std::move(part), *std::move(candidates)});
  }
  progress->Clear();
  return found;
}

double Gain(const Part& part, const Candidate& candidate) {
  return static_cast<double>(part.candidates->original_cost) /
             static_cast<double>(std::max<int64_t>(candidate.cost, 1)) -
         1;
}

std::string BoxesOf(const Region& region) {
  std::string text;
  for (const Box& box : region.differs)
    absl::StrAppend(&text, text.empty() ? "" : " ", ToString(box));
  return text;
}

// What holds of the mutant at all sizes, one line for each box.
void PrintForAllSizes(const Graph& original, const Recipe& recipe) {
  auto region = ProveForAllSizes(original, recipe);
  if (!region.ok()) {
    std::printf("   for all sizes: not known: %s\n",
                std::string(region.status().message()).c_str());
    return;
  }
  for (size_t i = 0; i < region->rules.size(); ++i) {
    const Verdict& verdict = region->verdicts[i];
    std::printf("   for all sizes: agrees on %s: %s\n", region->agrees[i].c_str(),
                IsProved(verdict) ? Word(verdict) : ToString(verdict).c_str());
  }
  for (const std::string& box : region->differs) {
    std::printf("   differs on %s at the sizes that were tried\n", box.c_str());
  }
  if (region->differs.empty()) return;
  if (!region->not_counted.empty()) {
    std::printf("   at others: not known: %s\n", region->not_counted.c_str());
  }
  for (size_t i = 0; i < region->counted.size(); ++i) {
    const Verdict &original = region->count_verdicts[2 * i],
                  &mutant = region->count_verdicts[2 * i + 1];
    const Verdict& weaker = IsProved(original) ? mutant : original;
    std::printf("   for all sizes: differs on %s products over ones: %s\n",
                region->counted[i].c_str(),
                IsProved(weaker) ? Word(weaker) : ToString(weaker).c_str());
  }
}

void PrintPart(const PetFlags& flags, const Part& part) {
  PrintOptions elide;
  elide.elide = true;
  std::printf("%s", PrintGraph(part.part.graph, elide).c_str());
  std::printf("%d times, %.3f ms; %lld mutants, %lld looked at, %zu kept\n", part.part.occurrences,
              static_cast<double>(part.candidates->original_cost) * 1e-6,
              static_cast<long long>(part.candidates->mutants),
              static_cast<long long>(part.candidates->looked_at), part.candidates->found.size());
  int number = 0;
  for (const Candidate& c : part.candidates->found) {
    std::printf("\n%d. %s\n", ++number, c.mutant.how().c_str());
    const int64_t positions = NumElements(c.region.shape);
    if (c.region.empty()) {
      std::printf("   differs nowhere: %lld cells proved, %lld positions tested\n",
                  static_cast<long long>(c.region.cells), static_cast<long long>(c.region.tested));
    } else {
      std::printf("   differs at %lld of %lld positions: %s\n",
                  static_cast<long long>(c.region.positions), static_cast<long long>(positions),
                  BoxesOf(c.region).c_str());
      std::printf("%s", TextPicture(c.region).c_str());
    }
    std::printf("   corrector: %s; %.3f ms, predicted gain %.1f %%\n", c.corrector.c_str(),
                static_cast<double>(c.cost) * 1e-6, 100 * Gain(part, c));
    if (flags.all_sizes && c.mutant.recipe) PrintForAllSizes(part.part.graph, *c.mutant.recipe);
    if (flags.graphs) std::printf("%s", PrintGraph(c.corrected, elide).c_str());
  }
  std::printf("\n");
}

Json JsonOf(const Part& part) {
  Json mutants = Json::Array();
  for (const Candidate& c : part.candidates->found) {
    Json boxes = Json::Array();
    for (const Box& box : c.region.differs) boxes.Add(ToString(box));
    Json mutant = Json::Object();
    mutant.Set("how", c.mutant.how()).Set("differs", c.region.positions);
    mutant.Set("positions", NumElements(c.region.shape)).Set("boxes", std::move(boxes));
    mutant.Set("cells", c.region.cells).Set("tested", c.region.tested);
    mutant.Set("corrector", c.corrector).Set("ns", c.cost).Set("gain", Gain(part, c));
    mutants.Add(std::move(mutant));
  }
  Json json = Json::Object();
  json.Set("operators", part.part.graph.num_ops());
  json.Set("output", part.part.graph.outputs()[0].type().ToString());
  json.Set("occurrences", part.part.occurrences).Set("ns", part.candidates->original_cost);
  json.Set("mutants", part.candidates->mutants).Set("looked_at", part.candidates->looked_at);
  json.Set("kept", std::move(mutants));
  return json;
}

// The first part's cheapest mutant that differs somewhere, as a picture.
absl::Status WriteSvg(const std::string& path, const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    for (const Candidate& c : part.candidates->found) {
      if (!c.region.empty()) return api::WriteText(path, SvgPicture(c.region));
    }
  }
  return absl::NotFoundError("--svg: none of the mutants differs anywhere");
}

}  // namespace

absl::StatusOr<int> RunPet(Arguments arguments) {
  PetFlags pet;
  pet.optimize.cost = "analytic";
  std::vector<std::string> names = {""};
  for (const PetExample& example : PetExamples()) names.push_back(example.name);
  Flags flags("pet", "MODEL | --example=NAME",
              "Lists partially equivalent mutants of the parts of a model that are sums of "
              "products: where each differs, proved, what corrects it, and what it costs.");
  flags.Choice("example", &pet.example, names, "a small model instead");
  flags.String("svg", &pet.svg, "FILE", "a picture of where the first one that differs does");
  flags.Int("keep", &pet.keep, "corrected mutants of a part, the cheapest");
  flags.Int("look-at", &pet.look_at, "mutants of a part that are corrected and priced");
  flags.Int("max-ops", &pet.max_ops, "operators in a part");
  flags.Bool("graphs", &pet.graphs, "print corrected mutants");
  flags.Bool("all-sizes", &pet.all_sizes,
             "prove for all sizes where a mutant agrees, which takes seconds for each");
  flags.Choice("cost", &pet.optimize.cost, {"analytic", "measured"},
               "an estimate, or kernels measured on this machine");
  flags.String("cost-db", &pet.optimize.cost_db, "FILE", "where measured costs are kept");
  pet.optimize.common.AddExecution(&flags);
  pet.optimize.common.AddModel(&flags);
  auto positional = flags.Parse(arguments);
  if (!positional.ok()) return positional.status();
  if (flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return kExitOk;
  }
  if (absl::Status s = pet.optimize.common.Check(); !s.ok()) return s;
  if (pet.keep < 1 || pet.look_at < 1 || pet.max_ops < 1) {
    return absl::InvalidArgumentError("--keep, --look-at and --max-ops must be at least 1");
  }
  auto graph = ReadGraph(pet, *positional);
  if (!graph.ok()) return graph.status();
  ProgressLine progress(pet.optimize.common.json);
  auto costs = api::MakeCosts(pet.optimize.Costs(), pet.optimize.common.Execution(), Deadline(),
                              [&](absl::string_view kernel) { ShowMeasuring(kernel, &progress); });
  if (!costs.ok()) return costs.status();
  auto parts = FindParts(pet, *graph, costs->model.get(), &progress);
  if (!parts.ok()) return parts.status();
  if (!pet.svg.empty()) {
    if (absl::Status s = WriteSvg(pet.svg, *parts); !s.ok()) return s;
  }
  if (pet.optimize.common.json) {
    Json json = Json::Array();
    for (const Part& part : *parts) json.Add(JsonOf(part));
    std::puts(json.ToString().c_str());
  } else {
    for (const Part& part : *parts) PrintPart(pet, part);
    if (parts->empty()) std::puts("no part is a sum of products");
  }
  return parts->empty() ? kExitNo : kExitOk;
}

}  // namespace lemma::cli
