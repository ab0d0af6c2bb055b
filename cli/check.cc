// lemma check: repeats a certificate with the certificate checker, or checks a back end's plan.
#include "api/check.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "api/json/check.h"
#include "api/json/referee.h"
#include "api/models/model_file.h"
#include "api/referee.h"
#include "base/flags.h"
#include "base/interrupt.h"
#include "base/text_table.h"
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

// How the input has to be read so that its graph is the certificate's: sizes, new weights.
std::string HowRead(const api::CheckResult& answer) {
  const Certificate& certificate = answer.certificate;
  std::string text;
  for (const auto& [name, size] : certificate.dims) absl::StrAppend(&text, ", ", name, " = ", size);
  for (const auto& [name, size] : answer.assumed) {
    absl::StrAppend(&text, ", ", name, " taken to be ", size);
  }
  for (const auto& [name, range] : certificate.symbolic) {
    absl::StrAppend(&text, ", every ", name, " from ", range.least,
                    range.most < SizeRange::kNoLimit ? absl::StrCat(" to ", range.most) : " on");
  }
  for (const auto& [name, value] : certificate.fixed_inputs) {
    absl::StrAppend(&text, ", input ", name, " = ", absl::StrJoin(value.ToInts(), " "));
  }
  if (certificate.reseed) {
    absl::StrAppend(&text, ", weights replaced by random ones of seed ", *certificate.reseed);
  }
  return text;
}

// Names of a certificate's rules may contain any character. Control characters must not reach the
// terminal, where they could make a rejection look like an acceptance.
std::string Printable(absl::string_view text) {
  std::string printable;
  unsigned char last = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    // The second half of U+0080 to U+009F in UTF-8, which are control characters, too.
    const bool is_control = last == 0xc2 && byte >= 0x80 && byte <= 0x9f;
    if (byte < 0x20 || byte == 0x7f || is_control) {
      absl::StrAppendFormat(&printable, "\\x%02x", byte);
    } else {
      printable += c;
    }
    last = byte;
  }
  return printable;
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

void Print(const api::CheckResult& answer) {
  const Certificate& c = answer.certificate;
  const CertificateCheck& check = answer.check;
  if (!check.ok()) {
    const std::string step = check.step > 0 ? absl::StrCat("step ", check.step, ": ") : "";
    std::printf("REJECTED: %s%s\n", step.c_str(),
                Printable(absl::StrCat(answer.problem(), AdviceOf(answer))).c_str());
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
  if (check.by_steps > 0) {
    std::printf(
        "each step agrees by itself; in the field, an index of the whole model is outside its "
        "tensor\n");
  } else if (check.samples > 0) {
    std::printf("input and output agree in the field: %d x %lld elements\n", check.samples,
                static_cast<long long>(check.elements));
  }
  if (check.steps_in_double > 0) {
    std::printf(
        "%lld steps by laws that the field lacks, or that round constants, agree in double\n",
        static_cast<long long>(check.steps_in_double));
  }
  if (check.samples > 0 || !check.mutants.empty()) {
    std::printf("repeatable with --seed=%lld\n", static_cast<long long>(answer.seed));
  }
}

void PrintPlan(const std::string& backend, const api::PlanCheck& check) {
  const auto compared = static_cast<long long>(check.compared);
  const auto by_definition = static_cast<long long>(check.by_definition);
  if (!check.ok()) {
    std::printf("REJECTED: %s\n", check.problem.c_str());
  } else if (backend == "cuda") {
    std::printf(
        "checked: of %lld launches each finds in memory what its operators read, in every order "
        "that the plan allows; %lld are products, described to the library as their operators mean "
        "on random values, %lld are generated or copies\n",
        compared + by_definition, compared, by_definition);
  } else {
    std::printf(
        "checked: %lld kernels of the library are proved to compute, in real numbers, what their "
        "operators mean, %lld compute it on random values, %lld are generated or our own; each "
        "element stays in memory until it is read\n",
        static_cast<long long>(check.proved), compared, by_definition);
    if (check.in_blocks > 0) {
      std::printf(
          "%lld operators on blocks of large values are proved to compute these blocks, in real "
          "numbers\n",
          static_cast<long long>(check.in_blocks));
    }
  }
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
  flags.json ? PrintJson(ToJson(*check, backend)) : PrintPlan(backend, *check);
  return check->ok() ? kExitOk : kExitNo;
}

struct ScheduleRow {
  int64_t kernels = 0, right = 0;
  std::vector<double> seconds;  // by program
};

// "by tile" of "by tile 64x32x16 by 128".
std::string FamilyOf(const api::CheckedProgram& program) {
  if (program.kernels > 1) return "several kernels";
  const std::vector<std::string> words = absl::StrSplit(program.schedule, absl::ByAnyChar(" ,"));
  return absl::StrJoin(words.begin(), words.begin() + std::min<size_t>(2, words.size()), " ");
}

void PrintSchedules(const api::KernelCheck& check) {
  std::map<std::string, ScheduleRow> rows;
  for (const api::CheckedProgram& program : check.programs) {
    ScheduleRow& row = rows[FamilyOf(program)];
    const int64_t count = int64_t{program.kernels} * program.uses;
    row.kernels += count;
    row.right += program.agrees ? count : 0;
    row.seconds.push_back(program.seconds);
  }
  std::printf("%-16s %8s %8s %18s %8s\n", "schedule", "kernels", "right", "seconds, median",
              "most");
  for (auto& [name, row] : rows) {
    absl::c_sort(row.seconds);
    std::printf("%-16s %8lld %8lld %18.3f %8.3f\n", name.c_str(),
                static_cast<long long>(row.kernels), static_cast<long long>(row.right),
                row.seconds[row.seconds.size() / 2], row.seconds.back());
  }
}

void PrintKernels(const api::KernelCheck& check) {
  if (!check.ok()) {
    std::printf("REJECTED: %s\n", check.problem.c_str());
    return;
  }
  PrintSchedules(check);
  int64_t kernels = 0, right = 0;
  for (const api::CheckedProgram& program : check.programs) {
    const int64_t count = int64_t{program.kernels} * program.uses;
    kernels += count;
    right += program.agrees ? count : 0;
    if (program.agrees) continue;
    std::printf("not checked: %lld x %s (%s): %s\n", static_cast<long long>(count),
                program.operators.c_str(), program.schedule.c_str(), program.reason.c_str());
  }
  std::printf(
      "%s: %lld of %lld generated kernels, executed for every thread in exact arithmetic, stay "
      "inside their tensors, write each element once, do not race, and give what their operators "
      "define at random points of a field (repeatable with --seed=%lld)\n",
      right == kernels ? "checked" : "NOT ALL CHECKED", static_cast<long long>(right),
      static_cast<long long>(kernels), static_cast<long long>(check.seed));
}

absl::StatusOr<int> CheckKernels(const CheckFlags& flags, const std::string& path) {
  if (flags.architecture != 80 && flags.architecture != 90) {
    return absl::InvalidArgumentError("--architecture: must be 80 or 90");
  }
  auto model = api::LoadModel(path, flags.dims);
  if (!model.ok()) return model.status();
  auto check =
      api::CheckKernels(model->graph, {"cuda", SeedOf(flags), static_cast<int>(flags.threads),
                                       PrecisionOf(flags.precision),
                                       static_cast<int>(flags.architecture), flags.compile});
  if (!check.ok()) return check.status();
  flags.json ? PrintJson(ToJson(*check)) : PrintKernels(*check);
  if (!check->ok()) return kExitNo;
  const bool all = absl::c_all_of(check->programs, [](const auto& p) { return p.agrees; });
  return all ? kExitOk : kExitUnknown;
}

void PrintVerdict(const api::VerdictCheck& answer) {
  const referee::CertificateCheck& check = answer.check;
  if (!check.ok()) {
    std::printf("REJECTED: %s\n", Printable(check.problem).c_str());
    return;
  }
  std::printf("checked: the models are proved equal, %s, for %s\n", Name(check.contract),
              Printable(check.coverage).c_str());
  std::printf("%s by %s; %s copied, %d computed (at most %.3g ulps off)\n",
              FormatCount(check.regions, "region").c_str(),
              FormatCount(check.proofs, "proof").c_str(),
              FormatCount(check.weights, "weight").c_str(), check.computed, check.ulps);
  std::printf("outputs agree in double on random inputs: %d x %lld elements\n", check.samples,
              static_cast<long long>(check.elements));
  for (const std::string& note : check.notes) std::printf("note: %s\n", Printable(note).c_str());
  std::printf("repeatable with --seed=%lld\n", static_cast<long long>(answer.seed));
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
  flags.json ? PrintJson(ToJson(*answer)) : PrintVerdict(*answer);
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
  flags.json ? PrintJson(ToJson(*answer, AdviceOf(*answer))) : Print(*answer);
  return answer->ok() ? kExitOk : kExitNo;
}

}  // namespace

absl::StatusOr<int> RunCheck(Arguments arguments) {
  CheckFlags check;
  Flags flags("check", "IN OUT CERTIFICATE",
              "Repeats what lemma optimize says it did, by a small checker that shares no code "
              "with it, or the proof of lemma referee, without its search. Exit status 1 if the "
              "certificate is not of these models or anything in it "
              "is wrong; the step is named. With --plan, of one model: whether the back end's "
              "kernels, as handed to the library, compute what their operators mean. With "
              "--kernels: whether the text of every generated CUDA kernel does. Exit status 4 if "
              "some kernels cannot be checked and no mistake is found.");
  flags.String("plan", &check.plan, "BACKEND", "check the plan of one model instead: cpu or cuda");
  flags.Bool("kernels", &check.kernels,
             "check the text of every CUDA kernel that would be generated for one model");
  flags.Choice("precision", &check.precision, PrecisionNames(),
               "of products, with --kernels: all but f32 use tensor cores");
  flags.Int("architecture", &check.architecture,
            "with --kernels: the compute capability to generate for, 80 or 90 (sm_90a)");
  flags.Bool("compile", &check.compile,
             "with --kernels: NVRTC compiles every kernel too, for this architecture");
  flags.Sizes("dim", &check.dims,
              "with --plan or --kernels: size of a symbolic dimension of an ONNX model");
  flags.String("rules", &check.rules, "FILE",
               "rules whose records are believed, instead of the built-in ones");
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
  flags.Bool("json", &check.json, "print one JSON object instead of text");
  return ParseAndRun(&flags, arguments,
                     [&](const Positional& files) { return Check(check, files); });
}

}  // namespace lemma::cli
