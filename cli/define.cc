// lemma define: reads definitions of operators and tries them.
#include "api/define.h"

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/flags.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/common_flags.h"

namespace lemma::cli {
namespace {

Json ToJson(const std::string& name, const api::OperatorCheck& check) {
  Json json = Json::Object();
  json.Set("name", name);
  json.Set("differentiable", check.differentiable);
  json.Set("applications", check.applications);
  json.Set("gradients", check.gradients);
  json.Set("execution_error", check.execution_error);
  json.Set("gradient_error", check.gradient_error);
  json.Set("problems", Json::Texts(check.problems));
  return json;
}

void Print(const api::OperatorCheck& check) {
  std::fputs(check.page.c_str(), stdout);
  if (check.applications > 0) {
    std::printf("\nTried on %d applications: the CPU differs from the definition by %.1e",
                check.applications, check.execution_error);
    if (check.gradients > 0) {
      std::printf(", the gradient from finite differences by %.1e", check.gradient_error);
    }
    std::puts(".");
    if (check.differentiable && check.gradients == 0) {
      std::puts("Its gradient was not tried: that needs f64, and finite results.");
    }
  } else {
    std::puts("\nNo small sizes were found that it takes; nothing was tried.");
  }
  for (const std::string& problem : check.problems) std::printf("\nWrong: %s\n", problem.c_str());
  std::puts("");
}

}  // namespace

absl::StatusOr<int> RunDefine(Arguments arguments) {
  Flags flags("define", "FILE...",
              "Reads files that define operators, prints what it understood, and tries each "
              "operator: its kernels against its definition, its gradient against finite "
              "differences. Other commands know the operators with --define=FILE.");
  bool json = false;
  flags.Bool("json", &json, "print one JSON object instead of text");
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
          Print(*check);
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
