#include "cli/optimize/print.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/json/optimize.h"
#include "api/json/quantize.h"
#include "cli/common_flags.h"

namespace lemma::cli {
namespace {

// Why the search did not use the rule of --why-not; "" if the rule was not excluded.
std::string Exclusion(const api::WhyNotReport& report, const std::string& numerics) {
  using Excluded = api::WhyNotReport::Excluded;
  switch (report.excluded) {
    case Excluded::kNot:
      return "";
    case Excluded::kDisabled:
      return "--disable names it";
    case Excluded::kNotAmongOnly:
      return "--only leaves it out";
    case Excluded::kContract:
      return absl::StrCat("it is ", Name(report.contract), ", which --numerics=", numerics,
                          " does not allow");
    case Excluded::kUnproved:
      return report.problem;
  }
  return "";
}

api::OptimizeContext ContextOf(const OptimizeFlags& flags, const Outcome& outcome) {
  const auto& why_not = outcome.result.why_not;
  return {flags.output,
          flags.CertificatePath(),
          outcome.search_start_bytes,
          outcome.search_peak_bytes,
          why_not ? Exclusion(*why_not, flags.numerics) : "",
          flags.report};
}

Json JsonOf(const OptimizeFlags& flags, const Graph& input, const Outcome& outcome) {
  const api::OptimizeContext context = ContextOf(flags, outcome);
  return flags.output.empty() ? api::WhyNotJson(input, outcome.result, context.excluded)
                              : ToJson(input, flags.Options(), outcome.result, context);
}

}  // namespace

void Print(const OptimizeFlags& flags, const Graph& input, const Outcome& outcome) {
  if (flags.common.json) return PrintJson(JsonOf(flags, input, outcome));
  PrintText(TextOf(input, flags.Options(), outcome.result, ContextOf(flags, outcome)));
}

void PrintQuantized(const OptimizeFlags& flags, const Graph& input, const Outcome& outcome,
                    const std::string& output, const api::QuantizedIfFaster& quantized) {
  if (!flags.common.json) return PrintText("\n" + TextOf(quantized, output));
  Json object = JsonOf(flags, input, outcome);
  object.Set("quantized", ToJson(flags.output, output, quantized));
  PrintJson(object);
}

}  // namespace lemma::cli
