// lemma check: repeats a certificate with the certificate checker, or checks a back end's plan.
#include "api/check.h"

#include <map>
#include <optional>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "api/json/check.h"
#include "api/json/referee.h"
#include "api/models/model_file.h"
#include "api/referee.h"
#include "base/flags.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/common_flags.h"

namespace lemma::cli {
namespace {

struct CheckFlags {
  std::map<std::string, int64_t> dims;
  std::string plan, rules, proofs;
  bool prove = false, json = false, kernels = false;
  std::string precision = "f32";
  int64_t architecture = 90;
  bool compile = false;
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

// The flags that might help against the problem.
std::string AdviceOf(const api::CheckResult& answer) {
  using Hint = api::CheckResult::Hint;
  switch (answer.hint) {
    case Hint::kNone:
      return "";
    case Hint::kRules:
      return "; --rules FILE says which to believe, --prove proves it";
    case Hint::kReseed:
      return absl::StrCat("; --reseed-weights=", *answer.certificate.reseed, " asks for these");
  }
  return "";
}

absl::StatusOr<int> CheckPlan(const CheckFlags& flags, const std::string& path) {
  const std::string& backend = flags.plan;
  if (!absl::c_linear_search(api::PlanCheckBackends(), backend)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--plan=", backend, ": there are plans of cpu and of cuda"));
  }
  auto model = api::LoadModel(path, flags.dims);
  if (!model.ok()) return model.status();
  auto check =
      api::CheckPlan(model->graph, {backend, SeedOf(flags), static_cast<int>(flags.threads)});
  if (!check.ok()) return check.status();
  PrintResult(flags.json, *check, backend);
  return check->ok() ? kExitOk : kExitNo;
}

absl::StatusOr<int> CheckKernels(const CheckFlags& flags, const std::string& path) {
  if (flags.architecture != 80 && flags.architecture != 90) {
    return absl::InvalidArgumentError("--architecture: must be 80 or 90");
  }
  auto model = api::LoadModel(path, flags.dims);
  if (!model.ok()) return model.status();
  auto check =
      api::CheckKernels(model->graph, {"cuda", SeedOf(flags), static_cast<int>(flags.threads),
                                       *codegen::ParseProductPrecision(flags.precision),
                                       static_cast<int>(flags.architecture), flags.compile});
  if (!check.ok()) return check.status();
  PrintResult(flags.json, *check);
  if (!check->ok()) return kExitNo;
  return check->all_agree() ? kExitOk : kExitUnknown;
}

// A certificate of the referee.
absl::StatusOr<int> CheckVerdict(const CheckFlags& flags, const Positional& files) {
  for (const auto& [name, given] :
       std::map<std::string, bool>{{"--rules", !flags.rules.empty()},
                                   {"--proofs", !flags.proofs.empty()},
                                   {"--prove", flags.prove},
                                   {"--reseed-weights", flags.reseed >= 0}}) {
    if (!given) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": a certificate of lemma referee has no rules and no other weights"));
  }
  if (flags.samples < 1) {
    return absl::InvalidArgumentError(
        "--samples: at least 1 for a certificate of lemma referee, since only an execution shows "
        "that constant positions lie inside their tensors");
  }
  InterruptScope interrupt;
  api::VerdictCheckOptions options;
  options.samples = static_cast<int>(flags.samples);
  options.seed = SeedOf(flags);
  options.threads = static_cast<int>(flags.threads);
  options.interrupted = &interrupt.flag();
  auto answer = api::CheckVerdict(files[0], files[1], files[2], options);
  if (!answer.ok()) return answer.status();
  PrintResult(flags.json, *answer);
  return answer->ok() ? kExitOk : kExitNo;
}

absl::StatusOr<int> Check(const CheckFlags& flags, const Positional& files) {
  if (flags.threads < 1 || flags.threads > 1024) {
    return absl::InvalidArgumentError("--threads: must be in 1…1024");
  }
  if (flags.seed < -1) return absl::InvalidArgumentError("--seed: must be at least -1");
  if (flags.kernels) {
    if (!flags.plan.empty() && flags.plan != "cuda") {
      return absl::InvalidArgumentError(
          "--kernels: only the plans of cuda have generated kernels with a text; leave out --plan");
    }
    auto path = OneArgument("MODEL", files);
    if (!path.ok()) return path.status();
    return CheckKernels(flags, *path);
  }
  if (flags.precision != "f32") {
    return absl::InvalidArgumentError("--precision: belongs to --kernels");
  }
  if (!flags.dims.empty() && flags.plan.empty()) {
    return absl::InvalidArgumentError("--dim: belongs to --plan and --kernels");
  }
  if (flags.compile || flags.architecture != 90) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags.compile ? "--compile" : "--architecture", ": belongs to --kernels"));
  }
  if (!flags.plan.empty()) {
    auto path = OneArgument("MODEL", files);
    if (!path.ok()) return path.status();
    return CheckPlan(flags, *path);
  }
  if (files.size() != 3) {
    return absl::InvalidArgumentError("which IN, OUT and CERTIFICATE? see --help");
  }
  if (flags.samples < 0 || flags.samples > 1000) {
    return absl::InvalidArgumentError("--samples: must be in 0…1000");
  }
  auto is_verdict = api::IsVerdictCertificate(files[2]);
  if (is_verdict.ok() && *is_verdict) return CheckVerdict(flags, files);
  auto answer = api::CheckCertificate(files[0], files[1], files[2], OptionsOf(flags));
  if (!answer.ok()) return answer.status();
  PrintResult(flags.json, *answer, AdviceOf(*answer));
  return answer->ok() ? kExitOk : kExitNo;
}

}  // namespace

absl::StatusOr<int> RunCheck(Arguments arguments) {
  CheckFlags check;
  Flags flags("check", "IN OUT CERTIFICATE",
              "Repeats what lemma optimize says it did, by a checker that shares no code "
              "with it, or the proof of lemma referee, without its search. Exit status 1 if the "
              "certificate is not of these models or anything in it "
              "is wrong; the step is named. With --plan, of one model: whether the back end's "
              "kernels, as handed to the library, compute what their operators mean. With "
              "--kernels: whether the text of every generated CUDA kernel does. Exit status 4 if "
              "some kernels cannot be checked and no mistake is found.");
  flags.String("plan", &check.plan, "BACKEND", "check the plan of one model instead: cpu or cuda");
  flags.Bool("kernels", &check.kernels,
             "check the text of every CUDA kernel that would be generated for one model");
  flags.Choice("precision", &check.precision, codegen::ProductPrecisionNames(),
               "of products, with --kernels: all but f32 use tensor cores");
  flags.Int("architecture", &check.architecture,
            "with --kernels: the compute capability to generate for, 80 or 90 (sm_90a)");
  flags.Bool("compile", &check.compile,
             "with --kernels: NVRTC compiles every kernel too, for this architecture");
  flags.Sizes("dim", &check.dims,
              "with --plan or --kernels: size of a symbolic dimension of an ONNX model");
  flags.String(
      "rules", &check.rules, "FILE|all,...",
      "rules whose records are believed, instead of the built-in ones; a list: those of all");
  flags.Bool("prove", &check.prove, "believe no record: prove the certificate's rules anew");
  flags.String(
      "proofs", &check.proofs, "DIR",
      "have the small checker repeat the rules' proofs, which verify --proofs wrote there");
  flags.Int("samples", &check.samples,
            "how often input and output are compared on random values in the field; 0: not. For a "
            "proof of lemma referee in double, at least 1");
  flags.Int("seed", &check.seed,
            "of the random values and of the second prime for mutants; -1: drawn from the system "
            "and printed, so that nobody who wrote the certificate could know it");
  flags.Int("reseed-weights", &check.reseed,
            "the input's weights are to be random ones of this seed, as lemma optimize was told");
  flags.Int("threads", &check.threads,
            "threads inside an evaluation; with --kernels, kernels that are checked side by side");
  AddJson(&flags, &check.json);
  return ParseAndRun(&flags, arguments,
                     [&](const Positional& files) { return Check(check, files); });
}

}  // namespace lemma::cli
