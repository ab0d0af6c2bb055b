#include "api/json/check.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace lemma::api {

Json ToJson(const CheckResult& answer, const std::string& advice) {
  const Certificate& c = answer.certificate;
  const CertificateCheck& check = answer.check;
  Json json = Json::Object();
  json.Set("ok", check.ok()).Set("step", check.step);
  json.Set("problem", absl::StrCat(answer.problem(), advice));
  if (!check.ok()) return json;
  json.Set("steps", static_cast<int64_t>(c.steps.size()));
  json.Set("rules", static_cast<int64_t>(c.rules.size()));
  json.Set("folds", static_cast<int64_t>(c.folds.size()));
  json.Set("result", Name(c.result)).Set("contract", Name(c.contract));
  Json dims = Json::Object();
  for (const auto& [name, size] : c.dims) dims.Set(name, size);
  for (const auto& [name, size] : answer.assumed) dims.Set(name, size);
  json.Set("dims", std::move(dims));
  Json symbolic = Json::Object();
  for (const auto& [name, range] : c.symbolic) {
    Json ends = Json::Array();
    ends.Add(range.least).Add(range.most);
    symbolic.Set(name, std::move(ends));
  }
  json.Set("symbolic", std::move(symbolic));
  Json fixed = Json::Object();
  for (const auto& [name, value] : c.fixed_inputs) {  // integers or truth values
    Json numbers = Json::Array();
    for (int64_t i = 0; i < value.size(); ++i) numbers.Add(value.AtInt(i));
    fixed.Set(name, std::move(numbers));
  }
  json.Set("fixed_inputs", std::move(fixed));
  if (c.reseed) json.Set("reseed", *c.reseed);
  Json mutants = Json::Array();
  for (const certificate::CheckedMutant& mutant : check.mutants) {
    Json entry = Json::Object();
    entry.Set("contract", Name(mutant.contract)).Set("prime", absl::StrCat(mutant.prime));
    mutants.Add(std::move(entry.Set("compared", mutant.compared).Set("of", mutant.elements)));
  }
  json.Set("mutants", std::move(mutants)).Set("seed", static_cast<int64_t>(answer.seed));
  json.Set("samples", check.samples)
      .Set("elements", check.elements)
      .Set("laws", check.steps_in_double);
  json.Set("by_steps", check.by_steps).Set("bodies", check.bodies);
  return json;
}

Json ToJson(const PlanCheck& check, const std::string& backend) {
  Json json = Json::Object();
  json.Set("ok", check.ok()).Set("problem", check.problem);
  if (backend == "cuda") {
    json.Set("launches", check.compared + check.by_definition);
  } else {
    json.Set("proved", check.proved).Set("in_blocks", check.in_blocks);
  }
  json.Set("compared", check.compared).Set("by_definition", check.by_definition);
  json.Set("seed", static_cast<int64_t>(check.seed));
  return json;
}

Json ToJson(const KernelCheck& check) {
  Json json = Json::Object();
  int64_t kernels = 0, agree = 0;
  Json programs = Json::Array();
  for (const CheckedProgram& program : check.programs) {
    const int64_t count = int64_t{program.kernels} * program.uses;
    kernels += count;
    if (program.agrees) agree += count;
    Json entry = Json::Object();
    entry.Set("operators", program.operators).Set("schedule", program.schedule);
    entry.Set("kernels", count).Set("agrees", program.agrees).Set("wrong", program.wrong);
    entry.Set("reason", program.reason).Set("seconds", program.seconds);
    programs.Add(std::move(entry));
  }
  json.Set("ok", check.ok()).Set("problem", check.problem);
  json.Set("kernels", kernels).Set("agree", agree).Set("programs", std::move(programs));
  json.Set("seed", static_cast<int64_t>(check.seed));
  return json;
}

}  // namespace lemma::api
