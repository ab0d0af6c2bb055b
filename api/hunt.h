// Tests an engine (another program that executes ONNX models) with models whose right results are
// known. Code: api/hunting. docs/findings.md lists the findings.
//
// A case is a random model, or both sides of a proved rule, or a model together with the model that
// Lemma's rewrites make of it. The engine executes each model of a case with its optimizations off
// and on. A model whose results differ from the definitions by more than rounding explains is
// reduced to a minimal model.
#ifndef LEMMA_API_HUNT_H_
#define LEMMA_API_HUNT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/hunting/judge.h"
#include "api/hunting/subject.h"
#include "runtime/engine.h"

namespace lemma::api {

struct HuntOptions {
  std::string engine = "onnxruntime";  // the only engine
  std::string onnxruntime;             // path of its library; "": from tools/lib/ort or the system
  double seconds = 60;                 // limit on the hunt's time; 0: none
  int64_t seed = 1;                    // seed of the cases; equal seeds give equal cases
  int64_t cases = 0;                   // limit on the number of cases; 0: none
  int64_t only = -1;                   // the number of the only case to run; -1: all
  // "default": all built-in rules; "none": no rules; otherwise as in LoadRulesFile
  // (api/rules/rules_file.h).
  std::string rules = "default";
  std::string models = "none";  // a folder with further models (.onnx); "none": none
  // A folder for the findings, created if missing; "": none. With `only`, the models of the case
  // are written there, too.
  std::string output;
  double run_seconds = 1;      // a longer run of the engine counts as hunt::Fault::kNoAnswer
  double reduce_seconds = 20;  // limit on each reduction; four times as much for kNoAnswer
  // May be null. Soon after it becomes true, the hunt ends and returns the findings so far.
  const std::atomic<bool>* interrupted = nullptr;
  // Receives the numbers of cases and of findings (HuntResult::findings) so far.
  std::function<void(int64_t cases, int64_t findings)> progress;

  // InvalidArgument names the option that is out of range.
  absl::Status Check() const;
};

// A difference between the engine and the definitions.
struct Finding {
  hunt::Subject model;                 // the reduced model
  hunt::Difference difference;         // the difference that the reduced model shows
  std::vector<std::string> operators;  // names of the reduced model's operators, in its order
  std::vector<std::string> levels;     // the engine's levels of optimization that show the fault
  std::string source;                  // the kind of case: Case::source (api/hunting/cases.h)
  int64_t case_number = 0;
  int64_t operators_before = 0;  // number of operators before the reduction
  // Numbers of later cases that reduce to the same operators, element types and kind of fault.
  std::vector<int64_t> again;
  // Why the finding is Lemma's fault and not the engine's fault: the exported model, read again,
  // computes other results than `model` by the definitions, or cannot be read (WhyExportDiffers in
  // api/hunting/own_faults.h). "": no such reason was found.
  std::string own_fault;
  std::string repeat;  // the command that runs the case again
  std::string folder;  // where the finding was written; "": nowhere
};

// How often something occurred, and the number of the first case with it.
struct Tally {
  int64_t count = 0;
  int64_t first_case = 0;
};

struct HuntResult {
  std::string engine;     // its name and version
  int64_t cases = 0;      // cases run; a case has at most two models
  int64_t models = 0;     // models executed and compared
  int64_t agree = 0;      // models with the results of the definitions
  int64_t rounding = 0;   // models that differ, but no more than rounding explains
  int64_t undecided = 0;  // models with Outcome::kUndecided (api/hunting/judge.h)
  // Numbers of models by reason or message. Without `only`, the messages in `refused` and
  // `not_compared` lose names, numbers and paths (MessageKind in api/hunting/message_kind.h);
  // messages about unreadable files keep them.
  std::map<std::string, Tally> open;          // models that differ where ONNX defines nothing
  std::map<std::string, Tally> refused;       // models that the engine did not execute
  std::map<std::string, Tally> not_compared;  // no form in ONNX, no values, or an unreadable file
  std::vector<Finding> findings;
  // Findings in which infinite or NaN values take part, unless `findings` has the same fault.
  std::vector<Finding> not_finite;
  // Pairs of models that are equal by Lemma's rules, but differ by its definitions: faults of
  // Lemma, one text each.
  std::vector<std::string> own_faults;
  double seconds = 0;
  bool was_interrupted = false;
};

// Errors begin with a file's path or name an option. NotFound if the engine is not installed; the
// message says how to install it.
absl::StatusOr<HuntResult> Hunt(const HuntOptions& options);
// The same with an engine that the caller provides. The engine must outlive the call.
// options.engine is its name in Finding::repeat; options.onnxruntime and options.run_seconds are
// ignored. The options are not checked.
absl::StatusOr<HuntResult> Hunt(const HuntOptions& options, Engine* engine);

// The result for people.
std::string TextOf(const HuntResult& result);

}  // namespace lemma::api

#endif  // LEMMA_API_HUNT_H_
