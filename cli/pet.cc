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

namespace lemma::cli {
namespace {

struct PetFlags {
  CommonFlags common;
  api::PetSearchOptions search;
  api::PetTextOptions text;
  std::string example, svg, cost = "analytic";
};

absl::StatusOr<Graph> ReadGraph(const PetFlags& flags, const std::vector<std::string>& positional) {
  if (flags.example.empty()) {
    auto path = OneArgument("MODEL", positional);
    if (!path.ok()) return path.status();
    if (absl::Status s = api::CheckOutputs({flags.svg}, {*path}); !s.ok()) return s;
    auto model = flags.common.Load(*path);
    if (!model.ok()) return model.status();
    return std::move(model->graph);
  }
  if (!positional.empty()) return absl::InvalidArgumentError("MODEL or --example, not both");
  return api::GraphOfExample(flags.example);
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

absl::StatusOr<int> ListMutants(const PetFlags& flags, const Positional& positional) {
  if (absl::Status s = flags.common.Check(); !s.ok()) return s;
  auto graph = ReadGraph(flags, positional);
  if (!graph.ok()) return graph.status();
  auto parts = FindParts(flags, *graph);
  if (!parts.ok()) return parts.status();
  if (!flags.svg.empty()) {
    auto picture = api::PictureOf(*parts);
    if (!picture.ok()) return api::Prefixed("--svg", picture.status());
    if (absl::Status s = api::WriteText(flags.svg, *picture); !s.ok()) return s;
  }
  if (flags.common.json) {
    PrintJson(ToJson(*parts));
  } else {
    for (const api::MutatedPart& part : *parts) PrintText(TextOf(part, flags.text));
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
  flags.Bool("graphs", &pet.text.graphs, "print corrected mutants");
  flags.Bool("all-sizes", &pet.text.all_sizes,
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
