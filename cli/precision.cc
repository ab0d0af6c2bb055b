// lemma precision: measures the errors of a model whose products run on tensor cores.
#include "api/precision.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/json/precision.h"
#include "cli/commands.h"
#include "cli/common_flags.h"

namespace lemma::cli {
namespace {

// The names without "stored".
std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (codegen::ProductPrecision p : codegen::kRoundingPrecisions) names.push_back(Name(p));
  return names;
}

}  // namespace

absl::StatusOr<int> RunPrecision(Arguments arguments) {
  CommonFlags common;
  std::vector<std::string> precisions;
  int64_t architecture = 90;
  Flags flags(
      "precision", "MODEL",
      "Measures how far a model's outputs are from f64 if CUDA kernels compute its products "
      "in each precision, beside the bound of a product. Needs no GPU: factors are rounded "
      "as the kernels round them, and the CPU computes in f32. Exit status 1 if an error is "
      "larger than run --expect allows.");
  flags.List("precision", &precisions, "NAME,...",
             absl::StrCat("of ", absl::StrJoin(Names(), ", "), "; all unless given"));
  flags.Int("architecture", &architecture,
            "the compute capability whose kernels are planned, 80 or 90 (sm_90a)");
  flags.List("inputs", &common.inputs, "FILE,...",
             "values of the inputs, or a folder with input_0.pb, …; random unless given");
  common.AddRandom(&flags);
  common.AddModel(&flags);
  return ParseAndRun(&flags, arguments, "MODEL", [&](const auto& path) -> absl::StatusOr<int> {
    api::PrecisionOptions options;
    if (!precisions.empty()) options.precisions.clear();
    for (const std::string& name : precisions) {
      const std::vector<std::string> names = Names();
      if (std::count(names.begin(), names.end(), name) == 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("--precision: ", name, " is none of ", absl::StrJoin(names, ", ")));
      }
      options.precisions.push_back(*codegen::ParseProductPrecision(name));
    }
    options.architecture = static_cast<int>(architecture);
    auto model = common.Load(path);
    if (!model.ok()) return model.status();
    options.inputs = common.InputValues();
    options.threads = static_cast<int>(common.threads);
    auto result = api::MeasurePrecisions(*model, options);
    if (!result.ok()) return WithFlags(result.status());
    PrintResult(common.json, *result);
    return result->within() ? kExitOk : kExitNo;
  });
}

}  // namespace lemma::cli
