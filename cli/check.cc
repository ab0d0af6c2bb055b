// lemma check: repeats a certificate with the small checker.
#include "verifier/certificate/check.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/models/model_file.h"
#include "api/models/random_values.h"
#include "api/optimization/certificate_file.h"
#include "api/rules/rules_file.h"
#include "base/file.h"
#include "base/flags.h"
#include "base/json.h"
#include "cli/check_plan.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "rewrite/rules/rule_text.h"
#include "verifier/checker/checker.h"
#include "verifier/prover/proof_file.h"
#include "verifier/prover/prover.h"

namespace lemma::cli {
namespace {

struct CheckFlags {
  std::string rules, proofs;
  bool prove = false, json = false;
  int64_t samples = 1, seed = -1, threads = 1;
  int64_t reseed = -1;
};

struct Answer {
  Certificate certificate;
  CertificateCheck check;
  std::map<std::string, int64_t> assumed;  // symbolic dimensions that nobody bound
};

Answer No(std::string problem) {
  Answer answer;
  answer.check.problem = std::move(problem);
  return answer;
}

// Why the rule is not proved, by proving it; "" if it is, as its record says.
std::string ProveAnew(const Substitution& rule) {
  const Verdict verdict = ProveRule(rule);
  if (!IsProved(verdict)) return absl::StrCat(Word(verdict), ": ", Explanation(verdict));
  const ProofRecord record = RecordOf(rule, verdict);
  if (record.id == rule.proof.id && record.contract == rule.proof.contract) return "";
  return absl::StrCat("what is proved is ", record.id, " ", Name(record.contract));
}

// Why a proof file is no proof of the rule; "" if it is one.
std::string ReplayOne(const Substitution& rule, const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/", FileNameOf(rule.name), ".proof");
  auto text = ReadFile(path, int64_t{1} << 30);
  if (!text.ok()) return absl::StrCat("there is no proof ", path);
  const checker::Checked checked = checker::CheckRule(rule);
  if (checked.answer == checker::Checked::Answer::kDiffers) {
    return absl::StrCat("its sides differ: ", checked.detail);
  }
  const checker::Replayed replayed = checker::ReplayProof(*text, rule);
  return replayed.accepted ? "" : absl::StrCat(path, ": ", replayed.problem);
}

// Why a rule of a certificate is not to be believed; "" if it is one of the file's, or is proved.
std::string Disbelieve(const CheckFlags& flags, const api::RulesFile& file,
                       const Substitution& rule) {
  const Substitution* own = nullptr;
  for (const Substitution& r : file.rules) {
    if (r.name == rule.name && PrintRule(ForCertificate(r)) == PrintRule(rule)) own = &r;
  }
  if (flags.prove) return ProveAnew(rule);
  if (own == nullptr) {
    return absl::StrCat("it is none of ", file.name,
                        "; --rules FILE says which to believe, --prove proves it");
  }
  return flags.proofs.empty() ? "" : ReplayOne(*own, flags.proofs);
}

// The graph after it was written in the format and read again.
absl::StatusOr<Graph> AsWritten(const Graph& graph, const api::Model& written) {
  if (written.format != api::ModelFormat::kOnnx) return graph;
  ExportOptions options;
  options.info = written.info;
  auto bytes = ExportOnnx(graph, options);
  if (!bytes.ok()) return bytes.status();
  auto model = ImportOnnxBytes(*bytes, {});
  if (!model.ok()) return model.status();
  return std::move(model->graph);
}

// What inputs are that are not given is part of a model's meaning.
bool SameDefaults(const OnnxInfo& a, const OnnxInfo& b) {
  return std::equal(a.defaults.begin(), a.defaults.end(), b.defaults.begin(), b.defaults.end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && x.second.SameBytes(y.second);
                    });
}

// Sizes that were chosen for symbolic dimensions when the model was read.
std::map<std::string, int64_t> AssumedDims(const api::Model& model,
                                           const std::map<std::string, int64_t>& given) {
  std::map<std::string, int64_t> assumed;
  const std::vector<std::string>& names = model.graph.input_names();
  for (const OnnxPort& port : model.info.inputs) {
    const auto at = std::find(names.begin(), names.end(), port.name);
    if (at == names.end()) continue;
    const Shape& shape = model.graph.inputs()[static_cast<size_t>(at - names.begin())].shape();
    for (size_t axis = 0; axis < port.dims.size() && axis < shape.size(); ++axis) {
      std::string name = port.dims[axis];
      int64_t fixed = 0;
      if (absl::SimpleAtoi(name, &fixed)) continue;
      if (name == "?") name = absl::StrCat(port.name, ".", axis);
      if (given.count(name) == 0) assumed[name] = shape[axis];
    }
  }
  return assumed;
}

// The output has the sizes that were bound, or symbolic dimensions of those names still.
absl::StatusOr<api::Model> LoadOutput(const std::string& path,
                                      const std::map<std::string, int64_t>& dims) {
  auto model = api::LoadModel(path, dims);
  if (model.ok() || dims.empty()) return model;
  auto plain = api::LoadModel(path);
  if (!plain.ok()) return model;
  const std::map<std::string, int64_t> used = api::UsedDims(*plain, dims);
  return used.empty() ? std::move(plain) : api::LoadModel(path, used);
}

// A file may be two things at once: others take it for ONNX, by its name, and Lemma for something
// else, by its content. "" if both say the same.
std::string OtherFormat(const std::string& path, const api::Model& model) {
  const auto named = api::FormatOfPath(path);
  if (!named.ok() || *named != api::ModelFormat::kOnnx || model.format == *named) return "";
  return absl::StrCat(path, " is ", Name(model.format), " by its content and ", Name(*named),
                      " by its name");
}

absl::StatusOr<Answer> Check(const CheckFlags& flags, const std::vector<std::string>& paths) {
  auto rules = api::LoadRulesFile(flags.rules);
  if (!rules.ok()) return rules.status();
  auto text = api::ReadCertificateText(paths[2]);
  if (!text.ok()) return text.status();
  auto certificate = ParseCertificate(*text);
  if (!certificate.ok()) return No(std::string(certificate.status().message()));
  const std::string* recorded[] = {&certificate->input_file, &certificate->output_file};
  for (int i = 0; i < 2; ++i) {
    auto sha256 = api::FileSha256(paths[i]);
    if (!sha256.ok()) return sha256.status();
    if (*sha256 != *recorded[i]) {
      return No(absl::StrCat(paths[i], " is not the file that the certificate is of"));
    }
  }
  auto input = api::LoadModel(paths[0], certificate->dims);
  if (!input.ok()) return input.status();
  auto output = LoadOutput(paths[1], certificate->dims);
  if (!output.ok()) return output.status();
  for (const std::string& problem :
       {OtherFormat(paths[0], *input), OtherFormat(paths[1], *output)}) {
    if (!problem.empty()) return No(problem);
  }
  if (!SameDefaults(input->info, output->info)) {
    return No("inputs have other default values than the output's");
  }
  if (api::UsedDims(*input, certificate->dims) != certificate->dims) {
    return No("the input has no such symbolic dimension as the certificate says");
  }
  if (certificate->reseed.value_or(-1) != flags.reseed) {
    if (!certificate->reseed) return No("the input's weights were not replaced");
    const int64_t seed = *certificate->reseed;
    return No(absl::StrCat("the output has random weights of seed ", seed,
                           ", not the input's; --reseed-weights=", seed, " asks for these"));
  }
  if (certificate->reseed) {
    auto graph = api::ReseedWeights(input->graph, static_cast<uint64_t>(*certificate->reseed));
    if (!graph.ok()) return graph.status();
    input->graph = *std::move(graph);
  }
  CertificateCheckOptions options;
  options.disbelieve = [&](const Substitution& rule) { return Disbelieve(flags, *rules, rule); };
  options.as_written = [&](const Graph& graph) { return AsWritten(graph, *output); };
  options.samples = static_cast<int>(flags.samples);
  options.seed = static_cast<uint64_t>(flags.seed);
  options.threads = static_cast<int>(flags.threads);
  Answer answer;
  answer.assumed = AssumedDims(*input, certificate->dims);
  answer.check = CheckCertificate(*certificate, input->graph, output->graph, options);
  answer.certificate = *std::move(certificate);
  return answer;
}

// What was done to the input before its graph is the certificate's.
std::string HowRead(const Answer& answer) {
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

void Print(const CheckFlags& flags, const Answer& answer) {
  const Certificate& c = answer.certificate;
  const CertificateCheck& check = answer.check;
  if (flags.json) {
    Json json = Json::Object();
    json.Set("ok", check.ok()).Set("step", check.step).Set("problem", check.problem);
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
      json.Set("mutants", std::move(mutants)).Set("seed", flags.seed);
      json.Set("samples", check.samples).Set("elements", check.elements).Set("laws", check.laws);
    }
    std::puts(json.ToString().c_str());
    return;
  }
  if (!check.ok()) {
    const std::string step = check.step > 0 ? absl::StrCat("step ", check.step, ": ") : "";
    std::printf("REJECTED: %s%s\n", step.c_str(), Printable(check.problem).c_str());
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
    std::printf("repeatable with --seed=%lld\n", static_cast<long long>(flags.seed));
  }
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
    const int64_t seed = check.seed < 0 ? static_cast<int64_t>(api::DrawSeed()) : check.seed;
    return CheckPlan({plan, check.json, seed, check.threads}, *path);
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
  if (check.seed < 0) check.seed = static_cast<int64_t>(api::DrawSeed());
  auto answer = Check(check, *positional);
  if (!answer.ok()) return answer.status();
  Print(check, *answer);
  return answer->check.ok() ? kExitOk : kExitNo;
}

}  // namespace lemma::cli
