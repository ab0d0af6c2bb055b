// lemma optimize: search, fold, compare, measure end to end, and write the better model.
#include "cli/optimize.h"

#include <cstdio>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/execution/backends.h"
#include "api/models/model_file.h"
#include "api/optimization/certificate_file.h"
#include "cli/commands.h"
#include "cli/optimize_print.h"
#include "cli/optimize_report.h"
#include "cli/optimize_search.h"
#include "optimizer/folding/constant_folding.h"
#include "optimizer/search/certificate.h"
#include "rewrite/rules/certificate.h"

namespace lemma::cli {
namespace {

// What the search found, and what its first descent reached, unless it is among `*seen`; with a
// limit of memory the input too, if values have to be computed again or offloaded to keep to it.
absl::StatusOr<std::vector<api::Contender>> Contenders(const OptimizeFlags& flags,
                                                       const Graph& input,
                                                       const SearchResult& search, Setup* setup,
                                                       std::set<uint64_t>* seen) {
  std::vector<api::Contender> contenders;
  auto add = [&](const Graph& graph, const std::vector<RewriteStep>& rewrites) -> absl::Status {
    auto folded = FoldConstants(graph, static_cast<int>(flags.common.threads));
    if (!folded.ok()) return folded.status();
    auto kept = KeptToLimit(flags, {*std::move(folded), rewrites}, setup);
    if (!kept.ok()) return kept.status();
    const bool differs = !rewrites.empty() || kept->recomputed > 0 || kept->offloaded > 0;
    if (differs) contenders.push_back(*std::move(kept));
    return absl::OkStatus();
  };
  auto is_new = [&](const Graph& graph) { return seen->insert(graph.StructuralHash()).second; };
  absl::Status status;
  if (is_new(search.best)) status = add(search.best, search.rewrites);
  if (status.ok() && is_new(search.descended)) {
    status = add(search.descended, search.descended_rewrites);
  }
  if (status.ok() && setup->peak_limit > 0) status = add(input, {});
  if (!status.ok()) return status;
  return contenders;
}

// Of a GPU that is not here the CPU stands in: nothing is timed, and outputs are the same.
absl::StatusOr<std::unique_ptr<Backend>> BackendToCompareOn(const OptimizeFlags& flags) {
  return flags.DeviceIsAbsent() ? api::MakeBackend("cpu") : flags.common.MakeBackend();
}

// Executes what the search found beside the input, and takes it if it pays. Where it does not, the
// search is repeated once with what that taught.
absl::Status Judge(const OptimizeFlags& flags, const Graph& input, absl::Span<const Tensor> inputs,
                   Backend* backend, Setup* setup, Outcome* outcome) {
  api::AcceptanceOptions options;
  options.numerics = flags.numerics;
  options.threads = static_cast<int>(flags.common.threads);
  options.unproved = !outcome->unproved.empty();
  options.runs = flags.Times() ? static_cast<int>(flags.runs) : 0;
  options.objective = flags.ObjectiveOf();
  options.deadline = setup->deadline;
  auto planner = flags.common.MakeBackend();
  if (!planner.ok()) return planner.status();
  if (flags.DeviceIsAbsent()) options.planner = planner->get();
  std::set<uint64_t> seen = {input.StructuralHash()};
  for (int search = 1;; ++search) {
    auto contenders = Contenders(flags, input, outcome->search, setup, &seen);
    if (!contenders.ok()) return contenders.status();
    if (search == 2 && contenders->empty()) return absl::OkStatus();
    auto accepted = api::Accept(backend, input, *std::move(contenders), inputs, options);
    if (!accepted.ok()) return accepted.status();
    outcome->accepted = *std::move(accepted);
    auto learned = Learn(flags, setup, outcome);
    if (!learned.ok()) return learned.status();
    if (!*learned || search == 2) return absl::OkStatus();
    if (absl::Status s = SearchAgain(flags, input, setup, outcome); !s.ok()) return s;
  }
}

// What there is to say of those of the rules that are corrected mutants.
std::vector<CertificateMutant> MutantsOf(const std::vector<Substitution>& used,
                                         const std::vector<CertificateMutant>& known) {
  std::vector<CertificateMutant> mutants;
  for (const Substitution& rule : used) {
    for (const CertificateMutant& mutant : known) {
      if (mutant.rule.name == rule.name) mutants.push_back(mutant);
    }
  }
  return mutants;
}

// Stages how the input became what was accepted, if that is wanted. `input_file`: its hash; the
// last of `files` is the output.
absl::Status StageCertificateOf(const OptimizeFlags& flags, const api::Model& model,
                                const Graph& input, const std::string& input_file,
                                const Outcome& outcome, const Setup& setup,
                                std::vector<StagedFile>* files) {
  const std::string path = flags.CertificatePath();
  if (path.empty()) return absl::OkStatus();
  using Result = Certificate::Result;
  const api::Acceptance& accepted = outcome.accepted;
  Result result = Result::kInput;
  if (!accepted.kept_input()) {
    const bool best = accepted.rewrites.empty() ||
                      accepted.rewrites.back().after == outcome.search.best.StructuralHash();
    result = best ? Result::kBest : Result::kDescended;
    if (!flags.replay.empty()) result = Result::kReplayed;
  }
  auto certificate =
      Certify(input, accepted.rewrites, accepted.graph, setup.file.rules, result, setup.deadline);
  if (!certificate.ok()) return certificate.status();
  if (certificate->steps.empty() && certificate->folds.empty()) {
    certificate->result = Result::kInput;
  }
  certificate->mutants = MutantsOf(certificate->rules, setup.mutants);
  certificate->input_file = input_file;
  certificate->dims = api::UsedDims(model, flags.common.dims);
  if (flags.common.reseed >= 0) certificate->reseed = flags.common.reseed;
  auto staged = api::StageCertificate(*std::move(certificate), files->back(), path);
  if (staged.ok()) files->push_back(*std::move(staged));
  return staged.status();
}

// Searches; nothing of it is executed or written.
absl::StatusOr<int> OnlyExplain(const OptimizeFlags& flags, const std::string& path) {
  auto model = flags.common.Load(path);
  if (!model.ok()) return model.status();
  Outcome outcome;
  Setup setup(flags);
  if (absl::Status s = FindResult(flags, model->graph, &setup, &outcome); !s.ok()) return s;
  absl::Status s = ExplainWhyNot(flags, &setup, model->graph, outcome.search.best, &outcome);
  if (!s.ok()) return s;
  Print(flags, model->graph, outcome);
  return kExitOk;
}

int NothingFits(const OptimizeFlags& flags, const api::Acceptance& accepted) {
  std::fprintf(stderr,
               "lemma: nothing that was found keeps to --memory-limit, %lld bytes: the least needs "
               "%lld, the input %lld; nothing was written%s\n",
               static_cast<long long>(flags.memory_limit),
               static_cast<long long>(*accepted.least_bytes),
               static_cast<long long>(accepted.memory_before.planned_bytes),
               LosesBarriers(flags.output)
                   ? "; ONNX cannot hold values that are computed again: .pb and .lemma can"
                   : "");
  return kExitNo;
}

absl::StatusOr<int> Optimize(const OptimizeFlags& flags, const std::string& path) {
  if (flags.output.empty()) return OnlyExplain(flags, path);
  auto format = api::FormatOfPath(flags.output);
  if (!format.ok()) return format.status();
  absl::Status writable = api::CheckOutputs({flags.output, flags.CertificatePath(), flags.report},
                                            {path, flags.cost_db});
  if (!writable.ok()) return writable;
  auto model = flags.common.Load(path);
  if (!model.ok()) return model.status();
  auto input_file = api::FileSha256(path);  // as it is now
  if (!input_file.ok()) return input_file.status();

  // What cannot be run should be said before the search.
  auto inputs = flags.common.Inputs(*model);
  if (!inputs.ok()) return api::Prefixed(path, inputs.status());

  Outcome outcome;
  Setup setup(flags);
  const Graph input = model->graph;
  if (absl::Status s = FindResult(flags, input, &setup, &outcome); !s.ok()) return s;
  auto backend = BackendToCompareOn(flags);
  if (!backend.ok()) return backend.status();
  absl::Status judged = Judge(flags, input, *inputs, backend->get(), &setup, &outcome);
  if (!judged.ok()) return judged;
  if (outcome.accepted.least_bytes) return NothingFits(flags, outcome.accepted);
  model->graph = outcome.accepted.graph;
  auto files = api::StageModel(*model, flags.output, *format);
  if (!files.ok()) return files.status();
  absl::Status done =
      StageCertificateOf(flags, *model, input, *input_file, outcome, setup, &*files);
  if (done.ok()) {
    done = StageReport(flags, path, input, outcome, backend->get(), *inputs, &*files);
  }
  if (done.ok()) {
    done = ExplainWhyNot(flags, &setup, input, outcome.accepted.graph, &outcome);
  }
  if (done.ok()) done = CommitAll(*std::move(files));
  if (!done.ok()) return done;
  Print(flags, input, outcome);
  return kExitOk;
}

}  // namespace

absl::StatusOr<int> RunOptimize(Arguments arguments) {
  OptimizeFlags optimize;
  Flags flags("optimize", "MODEL -o OUT",
              "Rewrites a model so that it runs faster, and writes it. What does not pay when both "
              "are executed is not kept; a model with unknown operators is not executed.");
  optimize.AddTo(&flags);
  auto positional = flags.Parse(arguments);
  if (!positional.ok()) return positional.status();
  if (flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return kExitOk;
  }
  auto path = OneArgument("MODEL", *positional);
  if (!path.ok()) return path.status();
  if (absl::Status s = optimize.Check(); !s.ok()) return s;
  if (!optimize.ObjectiveOf().IsTime()) optimize.common.reuse = "soon";
  return Optimize(optimize, *path);
}

}  // namespace lemma::cli
