#include "api/hunting/own_faults.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/onnx/export.h"
#include "graph/text/text.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"

namespace lemma::hunt {
namespace {

// Models that are equal as real numbers may differ by this in double, times the length of sums.
constexpr double kInDouble = 1e-6, kNarrow = 1e-2;

absl::StatusOr<std::vector<Tensor>> Define(const Graph& graph, const std::vector<Tensor>& inputs,
                                           BetweenOperators values) {
  auto executable = MakeReferenceBackend(values)->Compile(graph, CompileOptions());
  if (!executable.ok()) return executable.status();
  return (*executable)->Run(inputs);
}

}  // namespace

std::string DifferByDefinition(const Subject& before, const Subject& after) {
  if (!HasFiniteValuesOnly(before) || !HasFiniteValuesOnly(after)) return "";
  const auto a = Define(before.graph, before.inputs, BetweenOperators::kUnrounded);
  const auto b = Define(after.graph, after.inputs, BetweenOperators::kUnrounded);
  const auto c = Define(before.graph, before.inputs, BetweenOperators::kRounded);
  const auto d = Define(after.graph, after.inputs, BetweenOperators::kRounded);
  for (const auto* outputs : {&a, &b, &c, &d}) {
    if (!outputs->ok()) return "";
  }
  const std::vector<double> t = RelativeTolerances(before.graph);
  const std::vector<double> u = RelativeTolerances(after.graph);
  for (size_t i = 0; i < a->size(); ++i) {
    const bool is_narrow = SizeOf((*a)[i].dtype()) < 4;
    const lemma::Difference difference = Compare((*b)[i], (*a)[i], is_narrow ? kNarrow : kInDouble);
    const bool as_typed = Compare((*d)[i], (*c)[i], t[i] + u[i]).within;
    // Rounding may take a value across a discontinuity, in either evaluation.
    if (difference.within || as_typed) continue;
    return absl::StrCat("output ", i, " in double: ", difference.ToString(), "\n",
                        PrintGraph(before.graph), PrintGraph(after.graph));
  }
  return "";
}

std::string WhyExportDiffers(const Subject& subject) {
  ExportOptions options;
  options.info.opset = subject.opset;
  auto again = RoundTrip(subject.graph, options, ImportOptions());
  if (!again.ok()) return absl::StrCat("it cannot be read again: ", again.status().message());
  if (again->graph.inputs().size() != subject.inputs.size()) return "";  // some are constants now
  const auto expected = Define(subject.graph, subject.inputs, BetweenOperators::kRounded);
  const auto actual = Define(again->graph, subject.inputs, BetweenOperators::kRounded);
  if (absl::IsUnimplemented(actual.status()) || !expected.ok()) return "";
  if (!actual.ok()) {
    return absl::StrCat("read again, it has no values: ", actual.status().message());
  }
  const std::vector<double> tolerances = RelativeTolerances(subject.graph);
  const std::vector<double> others = RelativeTolerances(again->graph);
  for (size_t i = 0; i < expected->size(); ++i) {
    if (i >= actual->size()) return "read again, it has fewer outputs";
    const auto difference =
        Compare((*actual)[i], (*expected)[i], std::max(tolerances[i], others[i]));
    if (difference.within) continue;
    return absl::StrCat("read again, output ", i, ": ", difference.ToString());
  }
  return "";
}

}  // namespace lemma::hunt
