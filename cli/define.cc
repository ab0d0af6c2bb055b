// lemma define: reads definitions of operators and tries them.
#include "api/define.h"

#include <string>

#include "api/json/inspect.h"
#include "base/flags.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/common_flags.h"

namespace lemma::cli {
absl::StatusOr<int> RunDefine(Arguments arguments) {
  Flags flags("define", "FILE...",
              "Reads files that define operators, prints what it understood, and tries each "
              "operator: its kernels against its definition, its gradient against finite "
              "differences. Other commands know the operators with --define=FILE.");
  bool json = false;
  AddJson(&flags, &json);
  flags.Note(
      "A definition:\n\n"
      "  operator rms_norm(x: [b.., n], gain: [n]) {epsilon: real = 1e-5} {\n"
      "    square[i.. < b..] = sum(k < n, x[i.., k] * x[i.., k]) / n\n"
      "    y[i.. < b.., j < n] = x[i.., j] / sqrt(square[i..] + epsilon) * gain[j]\n"
      "    return y\n"
      "  }\n\n"
      "docs/operators-of-your-own.md says more.");
  return ParseAndRun(&flags, arguments, [&](const Positional& files) -> absl::StatusOr<int> {
    if (files.empty()) return absl::InvalidArgumentError("which FILE? see --help");
    bool ok = true;
    Json operators = Json::Array();
    for (const std::string& file : files) {
      auto names = api::DefineOperators(file);
      if (!names.ok()) return names.status();
      for (const std::string& name : *names) {
        auto check = api::CheckOperator(name);
        if (!check.ok()) return check.status();
        ok = ok && check->problems.empty();
        if (json) {
          operators.Add(ToJson(name, *check));
        } else {
          PrintText(TextOf(*check));
        }
      }
    }
    if (json) {
      Json object = Json::Object();
      object.Set("operators", operators);
      PrintJson(object);
    }
    return ok ? kExitOk : kExitNo;
  });
}

}  // namespace lemma::cli
