// lemma check: repeats a certificate with the small checker, or checks a back end's plan.
#include "api/check.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/models/model_file.h"
#include "base/flags.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/common_flags.h"

namespace lemma::cli {
namespace {

struct CheckFlags {
  std::string rules, proofs;
  bool prove = false, json = false;
  int64_t samples = 1, seed = -1, threads = 1;
  int64_t reseed = -1;
};

std::optional<uint64_t> SeedOf(const CheckFlags& flags) {
  if (flags.seed < 0) return std::nullopt;
  return static_cast<uint64_t>(flags.seed);
}

api::CheckOptions OptionsOf(const CheckFlags& flags) {
  api::CheckOptions options;
  options.rules = flags.rules;
  options.prove = flags.prove;
  options.proofs = flags.proofs;
  options.samples = static_cast<int>(flags.samples);
  options.seed = SeedOf(flags);
  if (flags.reseed >= 0) options.reseed = flags.reseed;
  options.threads = static_cast<int>(flags.threads);
  return options;
}

// What was done to the input before its graph is the certificate's.
std::string HowRead(const api::CheckResult& answer) {
  const Certificate& certificate = answer.certificate;
  std::string text;
  for (const auto& [name, size] : certificate.dims) absl::StrAppend(&text, ", ", name, " = ", size);
  for (const auto& [name, size] : answer.assumed) {
    absl::StrAppend(&text, ", ", name, " taken to be ", size);
  }
  if (certificate.reseed) {
    absl::StrAppend(&text, ", weights replaced by random ones of seed ", *certificate.reseed);
  }
  return text;
}

// Names of a certificate's rules may hold anything: no control character reaches the terminal,
// where it could make a rejection look like an acceptance.
std::string Printable(absl::string_view text) {
  std::string printable;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      absl::StrAppendFormat(&printable, "\\x%02x", byte);
    } else {
      printable += c;
    }
  }
  return printable;
}

// The problem, with the flags that might help.
std::string ProblemOf(const api::CheckResult& answer) {
  using Hint = api::CheckResult::Hint;
  switch (answer.hint) {
    case Hint::kNone:
      return answer.problem();
    case Hint::kRules:
      return absl::StrCat(answer.problem(),
                          "; --rules FILE says which to believe, --prove proves it");
    case Hint::kReseed:
      return absl::StrCat(answer.problem(), "; --reseed-weights=", *answer.certificate.reseed,
                          " asks for these");
  }
  return answer.problem();
}

void Print(const CheckFlags& flags, const api::CheckResult& answer) {
  const Certificate& c = answer.certificate;
  const CertificateCheck& check = answer.check;
  if (flags.json) {
    Json json = Json::Object();
    json.Set("ok", check.ok()).Set("step", check.step).Set("problem", ProblemOf(answer));
    if (check.ok()) {
      json.Set("steps", static_cast<int64_t>(c.steps.size()));
      json.Set("rules", static_cast<int64_t>(c.rules.size()));
      json.Set("folds", static_cast<int64_t>(c.folds.size()));
      json.Set("result", Name(c.result)).Set("contract", Name(c.contract));
      Json dims = Json::Object();
      for (const auto& [name, size] : c.dims) dims.Set(name, size);
      for (const auto& [name, size] : answer.assumed) dims.Set(name, size);
      json.Set("dims", std::move(dims));
      if (c.reseed) json.Set("reseed", *c.reseed);
      Json mutants = Json::Array();
      for (const certificate::CheckedMutant& mutant : check.mutants) {
        Json entry = Json::Object();
        entry.Set("contract", Name(mutant.contract)).Set("prime", absl::StrCat(mutant.prime));
        mutants.Add(std::move(entry.Set("compared", mutant.compared).Set("of", mutant.elements)));
      }
      json.Set("mutants", std::move(mutants)).Set("seed", static_cast<int64_t>(answer.seed));
      json.Set("samples", check.samples).Set("elements", check.elements).Set("laws", check.laws);
    }
    std::puts(json.ToString().c_str());
    return;
  }
  if (!check.ok()) {
    const std::string step = check.step > 0 ? absl::StrCat("step ", check.step, ": ") : "";
    std::printf("REJECTED: %s%s\n", step.c_str(), Printable(ProblemOf(answer)).c_str());
    return;
  }
  std::printf("checked: %zu steps by %zu rules, %zu constants folded, %s (%s%s)\n", c.steps.size(),
              c.rules.size(), c.folds.size(), Name(c.contract), Name(c.result),
              Printable(HowRead(answer)).c_str());
  for (const certificate::CheckedMutant& mutant : check.mutants) {
    std::printf("a corrected mutant is %s: its %lld elements are equal, %lld of them modulo %llu\n",
                Name(mutant.contract), static_cast<long long>(mutant.elements),
                static_cast<long long>(mutant.compared),
                static_cast<unsigned long long>(mutant.prime));
  }
  if (check.samples > 0) {
    std::printf("input and output agree in the field: %d x %lld elements\n", check.samples,
                static_cast<long long>(check.elements));
  }
  if (check.laws > 0) {
    std::printf(
        "%lld steps by laws that the field lacks, or that round constants, agree in double\n",
        static_cast<long long>(check.laws));
  }
  if (check.samples > 0 || !check.mutants.empty()) {
    std::printf("repeatable with --seed=%lld\n", static_cast<long long>(answer.seed));
  }
}

void PrintCudaPlan(const CheckFlags& flags, const api::PlanCheck& check) {
  const int64_t launches = check.compared + check.by_definition;
  if (flags.json) {
    Json json = Json::Object();
    json.Set("ok", check.ok()).Set("problem", check.problem);
    json.Set("launches", launches).Set("compared", check.compared);
    json.Set("by_definition", check.by_definition);
    std::puts(json.Set("seed", static_cast<int64_t>(check.seed)).ToString().c_str());
  } else if (!check.ok()) {
    std::printf("REJECTED: %s\n", check.problem.c_str());
  } else {
    std::printf(
        "checked: of %lld launches each finds in memory what its operators read, in every order "
        "that the plan allows; %lld are products, described to the library as their operators mean "
        "on random values, %lld are generated or copies\n",
        static_cast<long long>(launches), static_cast<long long>(check.compared),
        static_cast<long long>(check.by_definition));
  }
}

void PrintCpuPlan(const CheckFlags& flags, const api::PlanCheck& check) {
  if (flags.json) {
    Json json = Json::Object();
    json.Set("ok", check.ok()).Set("problem", check.problem).Set("proved", check.proved);
    json.Set("compared", check.compared).Set("by_definition", check.by_definition);
    std::puts(json.Set("seed", static_cast<int64_t>(check.seed)).ToString().c_str());
  } else if (!check.ok()) {
    std::printf("REJECTED: %s\n", check.problem.c_str());
  } else {
    std::printf(
        "checked: %lld kernels of the library are proved to compute, in real numbers, what their "
        "operators mean, %lld compute it on random values, %lld are generated or our own; each "
        "element stays in memory until it is read\n",
        static_cast<long long>(check.proved), static_cast<long long>(check.compared),
        static_cast<long long>(check.by_definition));
  }
}

absl::StatusOr<int> CheckPlan(const CheckFlags& flags, const std::string& backend,
                              const std::string& path) {
  if (!absl::c_linear_search(api::PlanCheckBackends(), backend)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--plan=", backend, ": there are plans of cpu and of cuda"));
  }
  auto model = api::LoadModel(path);
  if (!model.ok()) return model.status();
  auto check =
      api::CheckPlan(model->graph, {backend, SeedOf(flags), static_cast<int>(flags.threads)});
  if (!check.ok()) return check.status();
  if (backend == "cuda") {
    PrintCudaPlan(flags, *check);
  } else {
    PrintCpuPlan(flags, *check);
  }
  return check->ok() ? kExitOk : kExitNo;
}

}  // namespace

absl::StatusOr<int> RunCheck(Arguments arguments) {
  CheckFlags check;
  std::string plan;
  Flags flags("check", "IN OUT CERTIFICATE",
              "Repeats what lemma optimize says it did, by a small checker that shares no code "
              "with it. Exit status 1 if the certificate is not of these models or anything in it "
              "is wrong; the step is named. With --plan, of one model: whether the back end's "
              "kernels, as handed to the library, compute what their operators mean.");
  flags.String("plan", &plan, "BACKEND", "check the plan of one model instead: cpu or cuda");
  flags.String("rules", &check.rules, "FILE",
               "rules whose records are believed, instead of the built-in ones");
  flags.Bool("prove", &check.prove, "believe no record: prove the certificate's rules anew");
  flags.String(
      "proofs", &check.proofs, "DIR",
      "have the small checker repeat the rules' proofs, which verify --proofs wrote there");
  flags.Int("samples", &check.samples,
            "how often input and output are compared on random values in the field; 0: not");
  flags.Int("seed", &check.seed,
            "of the random values and of the second prime for mutants; -1: drawn from the system "
            "and printed, so that nobody who wrote the certificate could know it");
  flags.Int("reseed-weights", &check.reseed,
            "the input's weights are to be random ones of this seed, as lemma optimize was told");
  flags.Int("threads", &check.threads, "threads inside an evaluation");
  flags.Bool("json", &check.json, "print one JSON object instead of text");
  auto positional = flags.Parse(arguments);
  if (!positional.ok()) return positional.status();
  if (flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return kExitOk;
  }
  if (!plan.empty()) {
    auto path = OneArgument("MODEL", *positional);
    if (!path.ok()) return path.status();
    return CheckPlan(check, plan, *path);
  }
  if (positional->size() != 3) {
    return absl::InvalidArgumentError("which IN, OUT and CERTIFICATE? see --help");
  }
  if (check.samples < 0 || check.samples > 1000) {
    return absl::InvalidArgumentError("--samples: must be in 0…1000");
  }
  if (check.threads < 1 || check.threads > 1024) {
    return absl::InvalidArgumentError("--threads: must be in 1…1024");
  }
  if (check.seed < -1) return absl::InvalidArgumentError("--seed: must be at least -1");
  auto answer =
      api::CheckCertificate((*positional)[0], (*positional)[1], (*positional)[2], OptionsOf(check));
  if (!answer.ok()) return answer.status();
  Print(check, *answer);
  return answer->ok() ? kExitOk : kExitNo;
}

}  // namespace lemma::cli
