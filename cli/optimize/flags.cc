// The flags of `lemma optimize`.
#include <filesystem>
#include <map>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "api/models/model_file.h"
#include "cli/optimize/optimize.h"

namespace lemma::cli {
void OptimizeFlags::AddTo(Flags* flags) {
  flags->String("output|o", &output, "OUT", "where to: .onnx, .lemma or .txt, .pb");
  flags->String("rules", &rules, "FILE|starter|all,...",
                "rules to use: files, the built-in ones that are written by hand (starter), all "
                "built-in ones (the default), or a list of these");
  flags->Bool("allow-unproved", &allow_unproved,
              "use rules whose proof is missing or out of date too");
  flags->List("disable", &disable, "RULE,...", "rules not to use");
  flags->List("only", &only, "RULE,...", "the only rules to use");
  flags->Choice("numerics", &numerics, {"exact", "reassociate", "real", "quantize", "tf32"},
                "what rules may change: no bit, roundings, or overflow and NaN too; quantize: "
                "roundings, then operators become 8-bit integers where that is faster, as in lemma "
                "quantize; tf32: roundings, then operands of products are rounded to TF32, for "
                "tensor cores");
  flags->Real("max-error", &max_error,
              "with --numerics=quantize or tf32: limit on the relative error of each output on the "
              "samples");
  flags->String(
      "calibration", &calibration, "DIR|FILE.npz|synthetic[:N]",
      "with --numerics=quantize or tf32: samples of the inputs; synthetic: N random ones");
  std::vector<std::string> efforts, efforts_help;
  for (const api::Effort& e : api::Efforts()) {
    efforts.push_back(e.name);
    efforts_help.push_back(absl::StrCat(e.help, " (--search=", e.search, ")"));
  }
  flags->Choice("effort", &effort, efforts, absl::StrJoin(efforts_help, "; "));
  flags->Choice("search", &search, api::SearchNames(),
                absl::StrJoin(api::SearchDescriptions(), "; "));
  flags->Choice("loops", &loops, {"keep", "open"},
                "loops and samplers (LSTM, GRU, RNN, Loop, Scan, GridSample, RoiAlign, DeformConv) "
                "for ONNX output: leave them as they are, or rewrite inside them too, which may "
                "write them as their parts");
  flags->Choice("pet", &pet, {"off", "on"},
                "rewrite parts by corrected mutants of theirs too, which takes seconds for each");
  flags->Int("nodes", &nodes, "operators that saturation keeps at once");
  flags->Int("budget", &budget, "graphs to generate");
  flags->Real("seconds", &seconds, "time limit of the search; 0: none");
  flags->Real("alpha", &alpha, "explore graphs that cost less than this times the best");
  flags->Choice("objective", &objective, {"time", "memory", "pareto"},
                "what is to be less: time; peak memory, then time; pareto: shows the graphs that "
                "no other one beats in both, and writes the one of the least product");
  flags->Bytes("memory-limit", &memory_limit,
               "peak memory that the result may take; pareto: writes the fastest below it");
  flags->Real("memory-weight", &memory_weight,
              "pareto: the product is time^(1 - this) * memory^this");
  flags->Choice("cost", &cost, {"measured", "analytic"},
                "kernels measured on this machine, or an estimate");
  flags->String("cost-db", &cost_db, "FILE", "where measured costs are kept");
  flags->String(
      "device", &device, "NAME",
      "optimize for this device with what --cost-db knows of it; measure and time nothing");
  flags->String("wanted", &wanted, "FILE",
                "with --device: write the CUDA kernels whose costs were estimated, for lemma costs "
                "measure");
  std::vector<std::string> targets = api::TargetNames();
  targets.insert(targets.begin(), "lemma");
  flags->Choice("target", &target, targets,
                "the program that will run the model: Lemma, or ONNX Runtime on the CPU, in which "
                "costs and both models are then timed");
  flags->String("onnxruntime", &common.onnxruntime, "FILE",
                "ONNX Runtime's library, libonnxruntime.so; where tools/lib/ort installs it unless "
                "given");
  flags->Choice("execution", &execution, {"on", "off"},
                "off: execute, time and measure nothing; the lowest price decides. Costs that are "
                "not in --cost-db are estimated, and weights stay in their files");
  flags->String("certificate", &certificate, "FILE",
                "where the certificate goes; OUT.cert unless given; none: nowhere");
  flags->String("report", &report, "FILE",
                "a page (HTML) with both graphs, each step, times and memory");
  flags->String("why-not", &why_not, "RULE",
                "say where this rule was not applied, and why; without -o do nothing else");
  flags->Bool("explain", &explain,
              "say what each rule saved and how sure that is, and what the rules that were not "
              "applied would cost");
  flags->String("replay", &replay, "CERT",
                "apply the steps of a certificate instead of searching; time nothing");
  flags->Int("runs", &runs,
             "alternating runs of both models at the end; up to four times as many if they "
             "leave it open which is faster");
  flags->SizeSets("hint", &hints,
                  "sizes of symbolic dimensions to optimize for; may be given several times");
  common.AddRanges(flags);
  common.AddExecution(flags);
  common.AddModel(flags);
}

void OptimizeFlags::SetEffort(const Flags& flags) {
  for (const api::Effort& e : api::Efforts()) {
    if (effort != e.name) continue;
    // Only the default search knows memory.
    if (!flags.Given("search") && ObjectiveOf().IsTime()) search = e.search;
    if (!flags.Given("budget")) budget = e.budget;
    if (!flags.Given("nodes")) nodes = e.nodes;
  }
}

absl::Status OptimizeFlags::Check() const {
  if (output.empty() && why_not.empty()) {
    return absl::InvalidArgumentError("missing -o OUT: the file to write");
  }
  if (!why_not.empty() && !replay.empty()) {
    return absl::InvalidArgumentError("--why-not: nothing is searched with --replay");
  }
  if (output.empty() && !(report.empty() && certificate.empty())) {
    return absl::InvalidArgumentError("--report and --certificate need -o OUT");
  }
  if (!device.empty() && cost != "measured") {
    return absl::InvalidArgumentError("--device: there are no measured costs with --cost analytic");
  }
  if (!wanted.empty() && !replay.empty()) {
    return absl::InvalidArgumentError("--wanted: nothing is searched with --replay");
  }
  if (!wanted.empty() && (device.empty() || common.backend.rfind("cuda", 0) != 0)) {
    return absl::InvalidArgumentError(
        "--wanted: needs --device, and --backend cuda or cuda-generated");
  }
  if (!replay.empty() && explain) {
    return absl::InvalidArgumentError("--explain: nothing is searched with --replay");
  }
  if (!replay.empty() && pet == "on") {
    return absl::InvalidArgumentError("--pet: nothing is searched with --replay");
  }
  if (!replay.empty() && objective != "time") {
    return absl::InvalidArgumentError("--objective: nothing is searched with --replay");
  }
  if (Quantizes()) {
    const auto format = api::FormatOfPath(output);
    if (!format.ok() || *format != api::ModelFormat::kOnnx) {
      return absl::InvalidArgumentError(
          absl::StrCat("--numerics=", numerics, ": quantized models are written as .onnx"));
    }
    const std::pair<const char*, bool> others[] = {
        {"--target", target != "lemma"},      {"--device", !device.empty()},
        {"--execution", execution != "on"},   {"--replay", !replay.empty()},
        {"--objective", objective != "time"}, {"--memory-limit", memory_limit > 0}};
    for (const auto& [flag, is_given] : others) {
      if (is_given) {
        return absl::InvalidArgumentError(absl::StrCat(
            flag, ": not with --numerics=", numerics, "; optimize first, then use lemma quantize"));
      }
    }
    std::error_code error;
    if (!HasRandomSamples() && !std::filesystem::exists(calibration, error)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--calibration: there is no file or folder ", calibration));
    }
    if (!(max_error >= 0)) return absl::InvalidArgumentError("--max-error: must be at least 0");
    if (runs < 3) return absl::InvalidArgumentError("--runs: must be at least 3");
  }
  if (!(seconds >= 0)) return absl::InvalidArgumentError("--seconds: must be at least 0");
  return WithFlags(Options().Check());
}

api::OptimizeOptions OptimizeFlags::Options() const {
  static const std::map<std::string, FloatContract> kContracts = {
      {"exact", FloatContract::kBitExact},
      {"reassociate", FloatContract::kReassociates},
      {"real", FloatContract::kRealOnly},
      {"quantize", FloatContract::kReassociates},
      {"tf32", FloatContract::kReassociates}};
  const auto format = api::FormatOfPath(output);
  api::OptimizeOptions options;
  options.rules = rules;
  options.disable = disable;
  options.only = only;
  options.numerics = kContracts.at(numerics);
  options.allow_unproved = allow_unproved;
  options.pet = pet == "on";
  options.search = search;
  options.budget = budget;
  options.alpha = alpha;
  options.nodes = nodes;
  options.objective = ObjectiveOf();
  options.price_steps = !report.empty();
  options.explain = explain;
  options.replay = replay;
  options.costs = Costs();
  options.execution = common.Execution();
  options.runs = runs;
  options.execute = !output.empty();
  options.by_price = execution == "off";
  options.keeps_barriers = !format.ok() || *format != api::ModelFormat::kOnnx;
  options.certify = !CertificatePath().empty();
  options.why_not = why_not;
  return options;
}

api::CostOptions OptimizeFlags::Costs() const {
  api::CostOptions costs;
  costs.measured = cost == "measured";
  costs.database = cost_db;
  costs.device = device;
  return costs;
}

optimizer::Objective OptimizeFlags::ObjectiveOf() const {
  static const std::map<std::string, optimizer::Objective::Goal> kGoals = {
      {"time", optimizer::Objective::Goal::kTime},
      {"memory", optimizer::Objective::Goal::kMemory},
      {"pareto", optimizer::Objective::Goal::kPareto}};
  return {kGoals.at(objective), memory_limit, memory_weight};
}

std::string OptimizeFlags::CertificatePath() const {
  if (certificate == "none" || output.empty()) return "";
  return certificate.empty() ? absl::StrCat(output, ".cert") : certificate;
}

bool OptimizeFlags::HasRandomSamples() const {
  return calibration == "synthetic" || absl::StartsWith(calibration, "synthetic:");
}

OptimizeFlags OptimizeFlags::BeforeQuantizing() const {
  OptimizeFlags before = *this;
  before.output = absl::StrCat(absl::StripSuffix(output, ".onnx"), ".f32.onnx");
  before.numerics = "reassociate";
  return before;
}

}  // namespace lemma::cli
