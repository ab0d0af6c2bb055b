#include "api/hunt.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/hunting/cases.h"
#include "api/hunting/message_kind.h"
#include "api/hunting/own_faults.h"
#include "api/hunting/record.h"
#include "api/hunting/reduce.h"
#include "api/models/option_error.h"
#include "api/rules/rules_file.h"
#include "base/deadline.h"
#include "rewrite/rules/proof_check.h"
#include "runtime/onnxruntime/ort_process.h"

namespace lemma::api {
namespace {

using hunt::Difference;
using hunt::Outcome;
using hunt::Subject;

constexpr char kDefault[] = "default", kNone[] = "none";

absl::StatusOr<std::vector<Substitution>> RulesFor(const HuntOptions& options) {
  std::vector<Substitution> proved;
  if (options.rules == kNone) return proved;
  auto file = LoadRulesFile(options.rules == kDefault ? kAllRules : options.rules);
  if (!file.ok()) return file.status();
  for (Substitution& rule : file->rules) {
    // The program's tests check the ids of the built-in rules' records.
    const std::string problem = file->is_builtin ? RecordProblem(rule) : ProofProblem(rule);
    if (problem.empty()) proved.push_back(std::move(rule));
  }
  if (!proved.empty()) return proved;
  return absl::InvalidArgumentError(
      absl::StrCat(file->name, ": no rule is proved; see lemma verify"));
}

absl::StatusOr<std::vector<std::string>> ModelsIn(const std::string& folder) {
  std::vector<std::string> paths;
  if (folder == kNone || folder.empty()) return paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".onnx") paths.push_back(entry.path().string());
  }
  if (error) return absl::NotFoundError(absl::StrCat(folder, ": ", error.message()));
  if (paths.empty()) return absl::NotFoundError(absl::StrCat(folder, ": has no file *.onnx"));
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> OperatorsOf(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodePtr& node : graph.nodes()) {
    if (node->is_op()) names.push_back(node->op().name);
  }
  return names;
}

// Findings with the same signature are taken for the same fault, unless only one of them is finite.
std::string SignatureOf(const Graph& graph, const Difference& difference) {
  std::string text = absl::StrCat(Name(difference.fault), difference.is_optimization);
  for (const NodePtr& node : graph.nodes()) {
    if (node->is_op()) absl::StrAppend(&text, " ", node->op().name, Name(node->type(0).dtype));
  }
  return text;
}

class Hunter {
 public:
  Hunter(const HuntOptions& options, Engine* engine, std::unique_ptr<hunt::Cases> cases)
      : options_(options), judge_(engine), cases_(std::move(cases)) {
    result_.engine = engine->Name();
  }

  absl::StatusOr<HuntResult> Run() {
    const auto start = std::chrono::steady_clock::now();
    const Deadline deadline = Deadline::After(options_.seconds, options_.interrupted);
    const bool is_one = options_.only >= 0;
    for (int64_t number = is_one ? options_.only : 0; !deadline.Passed(); ++number) {
      if (options_.cases > 0 && result_.cases >= options_.cases) break;
      absl::Status done = RunCase(number);
      if (absl::IsCancelled(done)) break;
      if (!done.ok()) return done;
      if (options_.progress) {
        options_.progress(result_.cases, static_cast<int64_t>(result_.findings.size()));
      }
      if (is_one) break;
    }
    result_.was_interrupted = deadline.interrupted();
    result_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(result_);
  }

 private:
  absl::Status RunCase(int64_t number) {
    auto made = cases_->Make(number);
    if (absl::IsNotFound(made.status()) && !IsFile(number)) {
      ++result_.cases;
      return absl::OkStatus();
    }
    if (!made.ok() && IsFile(number)) {
      Count(std::string(made.status().message()), number, &result_.not_compared);
      ++result_.cases;
      return absl::OkStatus();
    }
    if (!made.ok()) return made.status();
    for (size_t i = 0; i < made->subjects.size(); ++i) {
      const Subject& subject = made->subjects[i];
      if (options_.only >= 0 && !options_.output.empty()) {
        absl::Status written = WriteSubject(subject, absl::StrCat(FolderOf(number), "_model_", i));
        if (!written.ok() && !absl::IsUnimplemented(written)) return written;
      }
      absl::Status judged = Examine(subject, *made, number);
      if (!judged.ok()) return judged;
    }
    if (made->subjects.size() == 2) {
      const std::string own = hunt::DifferByDefinition(made->subjects[0], made->subjects[1]);
      if (!own.empty()) {
        result_.own_faults.push_back(absl::StrCat("case ", number, ", ", made->source, ": ", own));
      }
    }
    ++result_.cases;
    return absl::OkStatus();
  }

  std::string Kind(const std::string& message) const {
    return options_.only >= 0 ? message : hunt::MessageKind(message);
  }

  static void Count(const std::string& reason, int64_t number,
                    std::map<std::string, Tally>* tallies) {
    Tally& tally = tallies->try_emplace(reason, Tally{0, number}).first->second;
    ++tally.count;
  }

  bool IsFile(int64_t number) const { return number < cases_->num_files(); }

  absl::Status Examine(const Subject& subject, const hunt::Case& made, int64_t number) {
    auto judgment = judge_.JudgeSubject(subject);
    if (!judgment.ok()) return judgment.status();
    switch (judgment->outcome) {
      case Outcome::kAgrees:
        ++result_.agree;
        break;
      case Outcome::kRounding:
        ++result_.rounding;
        break;
      case Outcome::kUndecided:
        ++result_.undecided;
        break;
      case Outcome::kLeftOpenByOnnx:
        Count(judgment->reason, number, &result_.open);
        break;
      case Outcome::kRefused:
        Count(Kind(judgment->reason), number, &result_.refused);
        return absl::OkStatus();
      case Outcome::kNotCompared:
        Count(Kind(judgment->reason), number, &result_.not_compared);
        return absl::OkStatus();
      case Outcome::kDiffers:
        break;
    }
    ++result_.models;
    if (judgment->outcome != Outcome::kDiffers) return absl::OkStatus();
    return Take(subject, *judgment->difference, made.source, number);
  }

  // A smaller subject shows the same fault if it is as clear a one.
  bool Shows(const Subject& subject, const Difference& original) const {
    const auto judgment = judge_.JudgeSubject(subject);
    if (!judgment.ok() || judgment->outcome != Outcome::kDiffers) return false;
    const Difference& difference = *judgment->difference;
    return difference.fault == original.fault &&
           difference.is_optimization == original.is_optimization &&
           (difference.is_finite || !original.is_finite);
  }

  // The finding of this list with the signature; nullptr if there is none.
  static Finding* Known(const std::string& signature, std::vector<Finding>* findings) {
    for (Finding& known : *findings) {
      if (SignatureOf(known.model.graph, known.difference) == signature) return &known;
    }
    return nullptr;
  }

  Subject Reduce(const Subject& subject, const Difference& original) {
    hunt::ReduceOptions reduce;
    const double factor = original.fault == hunt::Fault::kNoAnswer ? 4 : 1;
    reduce.deadline = Deadline::After(factor * options_.reduce_seconds, options_.interrupted);
    reduce.is_known = [&](const Subject& smaller) {
      return Known(SignatureOf(smaller.graph, original), &result_.findings) != nullptr;
    };
    return hunt::Reduced(
        subject, [&](const Subject& smaller) { return Shows(smaller, original); }, reduce);
  }

  absl::Status Take(const Subject& subject, const Difference& original, const std::string& source,
                    int64_t number) {
    Finding finding;
    finding.model = Reduce(subject, original);
    auto judgment = judge_.JudgeSubject(finding.model);
    if (!judgment.ok()) return judgment.status();
    const bool differs = judgment->outcome == Outcome::kDiffers;
    if (!differs && original.fault == hunt::Fault::kNoAnswer) {  // a busy machine
      Count("no answer, once", number, &result_.refused);
      return absl::OkStatus();
    }
    // A fault that comes and goes: the first difference stands.
    if (!differs) finding.model = subject;
    finding.difference = differs ? *judgment->difference : original;
    std::vector<Finding>& list =
        finding.difference.is_finite ? result_.findings : result_.not_finite;
    const std::string signature = SignatureOf(finding.model.graph, finding.difference);
    Finding* known = Known(signature, &result_.findings);
    if (known == nullptr) known = Known(signature, &list);
    if (known != nullptr) {
      const bool is_new =
          known->case_number != number && (known->again.empty() || known->again.back() != number);
      if (is_new) known->again.push_back(number);
      return absl::OkStatus();
    }
    finding.operators = OperatorsOf(finding.model.graph);
    finding.source = source;
    finding.case_number = number;
    finding.operators_before = subject.graph.num_ops();
    finding.levels = judge_.LevelsWith(finding.model, finding.difference.fault);
    finding.own_fault = hunt::WhyExportDiffers(finding.model);
    finding.repeat = Command(number);
    if (absl::Status s = Write(&finding); !s.ok()) return s;
    list.push_back(std::move(finding));
    return absl::OkStatus();
  }

  std::string FolderOf(int64_t number) const {
    return absl::StrCat(options_.output, "/seed_", options_.seed, "_case_", number);
  }

  absl::Status Write(Finding* finding) {
    if (options_.output.empty()) return absl::OkStatus();
    finding->folder = FolderOf(finding->case_number);
    if (finding->case_number == last_written_) finding->folder += "_b";
    last_written_ = finding->case_number;
    return WriteFinding(*finding, result_.engine);
  }

  std::string Command(int64_t number) const {
    std::string command = absl::StrCat("lemma hunt --engine=", options_.engine,
                                       " --seed=", options_.seed, " --only=", number);
    if (options_.rules != kDefault) absl::StrAppend(&command, " --rules=", options_.rules);
    if (options_.models != kNone) absl::StrAppend(&command, " --models=", options_.models);
    return command;
  }

  const HuntOptions& options_;
  const hunt::Judge judge_;
  const std::unique_ptr<hunt::Cases> cases_;
  HuntResult result_;
  int64_t last_written_ = -1;
};

}  // namespace

absl::Status HuntOptions::Check() const {
  if (engine != "onnxruntime") {
    return OptionError(absl::StrCat("option engine: '", engine, "' is not known; onnxruntime is"));
  }
  if (seconds < 0) return OptionError("option seconds: must not be negative");
  if (run_seconds <= 0) return OptionError("option run_seconds: must be positive");
  if (cases < 0) return OptionError("option cases: must not be negative");
  if (only < -1) return OptionError("option only: must not be negative");
  return absl::OkStatus();
}

absl::StatusOr<HuntResult> Hunt(const HuntOptions& options, Engine* engine) {
  hunt::CaseOptions cases;
  cases.seed = static_cast<uint64_t>(options.seed);
  auto rules = RulesFor(options);
  if (!rules.ok()) return rules.status();
  cases.rules = *std::move(rules);
  auto models = ModelsIn(options.models);
  if (!models.ok()) return models.status();
  cases.models = *std::move(models);
  if (!options.output.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.output, error);
    if (error) {
      return absl::InvalidArgumentError(
          absl::StrCat(options.output, ": cannot be made: ", error.message()));
    }
  }
  auto made = hunt::Cases::Create(std::move(cases));
  if (!made.ok()) return made.status();
  return Hunter(options, engine, *std::move(made)).Run();
}

absl::StatusOr<HuntResult> Hunt(const HuntOptions& options) {
  if (absl::Status s = options.Check(); !s.ok()) return s;
  OrtProcessOptions process;
  process.library = options.onnxruntime;
  process.interrupted = options.interrupted;
  process.seconds = options.run_seconds;
  auto engine = OrtProcess::Start(process);
  if (!engine.ok()) return MarkOptionError(engine.status());
  return Hunt(options, engine->get());
}

}  // namespace lemma::api
