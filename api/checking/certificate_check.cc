// Checks certificates: which rules are believed, and how files become models.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/check.h"
#include "api/models/random_values.h"
#include "api/models/sizes.h"
#include "api/optimization/certificate_file.h"
#include "api/rules/rules_file.h"
#include "base/file.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/onnx/run_time/loop_body.h"
#include "graph/sizes/specialize.h"
#include "rewrite/rules/rule_text.h"
#include "verifier/checker/checker.h"
#include "verifier/prover/proof_file.h"
#include "verifier/prover/prover.h"
#include "verifier/verdict.h"

namespace lemma::api {
namespace {

CheckResult No(std::string problem) {
  CheckResult result;
  result.check.problem = std::move(problem);
  return result;
}

// Proves the rule anew. "" if it is proved as its record says, otherwise why not.
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

// Why a rule of a certificate is not trusted; "" if it is one of the file's rules, or is proved.
std::string WhyUntrusted(const CheckOptions& options, const RulesFile& file,
                         const Substitution& rule, CheckResult::Hint* hint) {
  const Substitution* own = nullptr;
  for (const Substitution& r : file.rules) {
    if (r.name == rule.name && PrintRule(ForCertificate(r)) == PrintRule(rule)) own = &r;
  }
  if (options.prove) return ProveAnew(rule);
  if (own == nullptr) {
    *hint = CheckResult::Hint::kRules;
    return absl::StrCat("it is none of ", file.name);
  }
  return options.proofs.empty() ? "" : ReplayOne(*own, options.proofs);
}

// The graph after it was written in the format of the output and read again. What did not change
// is written as in the input.
absl::StatusOr<Graph> AsWritten(const Graph& graph, const Model& input, const Model& written) {
  if (written.format != ModelFormat::kOnnx) return graph;
  ExportOptions options;
  options.info = written.info;
  options.info.origin = input.info.origin;
  ImportOptions import;
  const std::map<std::string, SizeRange> dims = InputDimsOf(graph);
  import.symbolic = !dims.empty();
  import.ranges = dims;
  auto model = RoundTrip(graph, options, import);
  if (!model.ok()) return model.status();
  return std::move(model->graph);
}

absl::StatusOr<LoopIteration> IterationOf(const std::string& payload,
                                          absl::Span<const Value> values,
                                          const std::vector<int>& reads) {
  auto body = ImportLoopBody({payload, reads}, values);
  if (!body.ok()) return body.status();
  LoopIteration iteration{body->graph, body->frame, {}};
  iteration.as_written = [body = *std::move(body)](const Graph& graph) {
    return AsWritten(body, graph);
  };
  return iteration;
}

// Loops as ONNX has them.
LoopReader Loops() {
  LoopReader reader;
  reader.payload = [](const Node& node) {
    return IsOpaqueLoop(node) ? std::optional(LoopNodeOf(node).payload) : std::nullopt;
  };
  reader.iteration = IterationOf;
  reader.apply = [](const Node& loop, const std::string& payload, const std::vector<int>& reads) {
    return ApplyLoop(loop, {payload, reads});
  };
  return reader;
}

// Default values of inputs are part of a model's meaning. Only ONNX files store them.
bool SameDefaults(const OnnxInfo& a, const OnnxInfo& b) {
  return std::equal(a.defaults.begin(), a.defaults.end(), b.defaults.begin(), b.defaults.end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && x.second.SameBytes(y.second);
                    });
}

// Sizes that were chosen for symbolic dimensions when the model was read.
std::map<std::string, int64_t> AssumedDims(const Model& model,
                                           const std::map<std::string, int64_t>& given) {
  std::map<std::string, int64_t> assumed;
  for (const SymbolicDim& dim : SymbolicDimsOf(model)) {
    if (given.count(dim.name) == 0 && !IsSymbolic(dim.size)) assumed[dim.name] = dim.size;
  }
  return assumed;
}

// Loads the output, whose symbolic dimensions may still be open or have the sizes that were bound.
absl::StatusOr<Model> LoadOutput(const std::string& path, LoadOptions options) {
  auto model = LoadModel(path, options);
  if (model.ok() || options.dims.empty()) return model;
  const std::map<std::string, int64_t> dims = std::move(options.dims);
  options.dims.clear();
  auto plain = LoadModel(path, options);
  if (!plain.ok()) return model;
  options.dims = UsedDims(*plain, dims);
  return options.dims.empty() ? std::move(plain) : LoadModel(path, options);
}

// How the certificate says that the models were read.
LoadOptions LoadAs(const Certificate& certificate) {
  LoadOptions options;
  options.dims = certificate.dims;
  options.symbolic = !certificate.symbolic.empty();
  options.ranges = certificate.symbolic;
  options.input_values = certificate.fixed_inputs;
  return options;
}

// A file may be read in two ways: other programs take it for ONNX by its name, Lemma for another
// format by its content. "" if name and content agree.
std::string OtherFormat(const std::string& path, const Model& model) {
  const auto named = FormatOfPath(path);
  if (!named.ok() || *named != ModelFormat::kOnnx || model.format == *named) return "";
  return absl::StrCat(path, " is ", Name(model.format), " by its content and ", Name(*named),
                      " by its name");
}

using FixedInputs = std::map<std::string, Tensor>;

bool SameFixedInputs(const FixedInputs& a, const FixedInputs& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& one, const auto& other) {
    return one.first == other.first && one.second.SameBytes(other.second);
  });
}

// The reason why these are not the models of the certificate, before its steps are looked at.
CheckResult WrongModels(const Model& input, const Model& output, const Certificate& certificate,
                        const CheckOptions& options) {
  if (output.format == ModelFormat::kOnnx && !SameDefaults(input.info, output.info)) {
    return No("inputs have other default values than the output's");
  }
  if (UsedDims(input, certificate.dims) != certificate.dims) {
    return No("the input has no such symbolic dimension as the certificate says");
  }
  if (InputDimsOf(input.graph) != certificate.symbolic) {
    return No("the symbolic dimensions are others than the certificate's");
  }
  if (!SameFixedInputs(input.fixed_inputs, certificate.fixed_inputs)) {
    return No("the inputs whose values are part of the model are others than the certificate's");
  }
  if (certificate.reseed == options.reseed) return CheckResult();
  if (!certificate.reseed) return No("the input's weights were not replaced");
  CheckResult result = No(absl::StrCat("the output has random weights of seed ",
                                       *certificate.reseed, ", not the input's"));
  result.hint = CheckResult::Hint::kReseed;
  return result;
}

}  // namespace

absl::StatusOr<CheckResult> CheckCertificate(const Model& input, const Model& output,
                                             const Certificate& certificate,
                                             const CheckOptions& options) {
  if (options.samples < 0) return absl::InvalidArgumentError("samples: must be at least 0");
  auto rules = LoadRulesFile(options.rules);
  if (!rules.ok()) return rules.status();
  CheckResult result = WrongModels(input, output, certificate, options);
  result.seed = options.seed ? *options.seed : DrawSeed();
  result.certificate = certificate;
  if (!result.ok()) return result;
  Graph graph = input.graph;
  if (certificate.reseed) {
    auto reseeded = ReseedWeights(graph, static_cast<uint64_t>(*certificate.reseed));
    if (!reseeded.ok()) return reseeded.status();
    graph = *std::move(reseeded);
  }
  CertificateCheckOptions check;
  check.why_untrusted = [&](const Substitution& rule) {
    return WhyUntrusted(options, *rules, rule, &result.hint);
  };
  check.as_written = [&](const Graph& written) { return AsWritten(written, input, output); };
  check.loops = Loops();
  check.samples = options.samples;
  check.seed = result.seed;
  check.threads = options.threads;
  result.check = lemma::CheckCertificate(certificate, graph, output.graph, check);
  result.assumed = AssumedDims(input, certificate.dims);
  return result;
}

absl::StatusOr<CheckResult> CheckCertificate(const std::string& input, const std::string& output,
                                             const std::string& certificate,
                                             const CheckOptions& options) {
  if (auto rules = LoadRulesFile(options.rules); !rules.ok()) return rules.status();
  auto text = ReadCertificateText(certificate);
  if (!text.ok()) return text.status();
  auto parsed = ParseCertificate(*text);
  if (!parsed.ok()) return No(std::string(parsed.status().message()));
  const std::pair<const std::string&, const std::string&> files[] = {{input, parsed->input_file},
                                                                     {output, parsed->output_file}};
  for (const auto& [path, recorded] : files) {
    auto sha256 = FileSha256(path);
    if (!sha256.ok()) return sha256.status();
    if (*sha256 != recorded) {
      return No(absl::StrCat(path, " is not the file that the certificate is of"));
    }
  }
  LoadOptions how = LoadAs(*parsed);
  // `optimize` leaves loops as they are where it can, although values of inputs are given.
  how.keeps_loops = !parsed->fixed_inputs.empty();
  auto before = LoadModel(input, how);
  if (how.keeps_loops && (!before.ok() || before->graph.StructuralHash() != parsed->input_graph)) {
    how.keeps_loops = false;
    before = LoadModel(input, how);
  }
  if (!before.ok()) return before.status();
  // A model may have been read for all sizes and have none: other inputs have to be fixed then.
  if (!SameFixedInputs(before->fixed_inputs, parsed->fixed_inputs) && !how.symbolic) {
    how.symbolic = how.fixes_sizes = true;
    before = LoadModel(input, how);
    if (!before.ok()) return before.status();
  }
  auto after = LoadOutput(output, how);
  if (!after.ok()) return after.status();
  for (const std::string& problem : {OtherFormat(input, *before), OtherFormat(output, *after)}) {
    if (!problem.empty()) return No(problem);
  }
  return CheckCertificate(*before, *after, *parsed, options);
}

}  // namespace lemma::api
