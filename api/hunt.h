// Tests another engine with models whose results are known. Code: api/hunting; docs/findings.md
// says what was found.
//
// Executes random models, both sides of proved rules, and models beside their own optimizations in
// the engine, with its optimizations off and on. A model whose results differ from
// the definitions beyond rounding is reduced to a minimal one.
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
  std::string engine = "onnxruntime";
  std::string onnxruntime;  // path of its library; "": where tools/lib/ort installs it
  double seconds = 60;      // 0: no limit
  int64_t seed = 1;
  int64_t cases = 0;              // the largest number of cases; 0: no limit
  int64_t only = -1;              // the number of the only case to run; -1: all
  std::string rules = "default";  // a file; "default": the built-in rules; "none": no rules
  std::string models = "none";    // a folder with further models (.onnx); "none": none
  // A folder for what is found, created if missing; "": none. With `only`, also for the models of
  // the case.
  std::string output;
  double run_seconds = 1;      // after which a run of the engine counts as no answer
  double reduce_seconds = 20;  // limit on each reduction; four times this if runs do not end
  // May be null. Soon after it becomes true, the hunt ends with what it has found.
  const std::atomic<bool>* interrupted = nullptr;
  // Receives the numbers of cases and of findings so far.
  std::function<void(int64_t cases, int64_t findings)> progress;

  // InvalidArgument names the option that is out of range.
  absl::Status Check() const;
};

// A difference between the engine and the definitions.
struct Finding {
  hunt::Subject model;                 // reduced
  hunt::Difference difference;         // that the reduced model shows
  std::vector<std::string> operators;  // of the reduced model
  std::vector<std::string> levels;     // of optimization, at which it is seen
  std::string source;                  // as in hunt::Case
  int64_t case_number = 0;
  int64_t operators_before = 0;  // of the model before its reduction
  // Numbers of later cases that reduce to the same operators, element types and kind of fault.
  std::vector<int64_t> again;
  // Why it is Lemma's fault and not the engine's: the exported model, read again, computes
  // something else. "": it is not, as far as is known.
  std::string own_fault;
  std::string repeat;  // a command
  std::string folder;  // where it was written; "": nowhere
};

struct Tally {
  int64_t count = 0;
  int64_t first_case = 0;
};

struct HuntResult {
  std::string engine;     // its name and version
  int64_t cases = 0;      // that were run
  int64_t models = 0;     // that were executed and compared
  int64_t agree = 0;      // of these
  int64_t rounding = 0;   // differ, but no more than rounding explains
  int64_t undecided = 0;  // differ, but the definitions as typed and in double differ too
  // By reason or message, for a single case in full.
  std::map<std::string, Tally> open;          // differ where ONNX defines nothing
  std::map<std::string, Tally> refused;       // not executed by the engine
  std::map<std::string, Tally> not_compared;  // without a form in ONNX, or without values
  std::vector<Finding> findings;
  // Findings that show only if infinite or NaN values take part.
  std::vector<Finding> not_finite;
  // Equal models that differ by Lemma's own definitions: a fault of Lemma, one text each.
  std::vector<std::string> own_faults;
  double seconds = 0;
  bool was_interrupted = false;
};

// Errors begin with a file's path or name an option. NotFound if the engine is not installed; the
// message says how to install it.
absl::StatusOr<HuntResult> Hunt(const HuntOptions& options);
// The same with an engine of the caller's; options.engine is its name in commands.
absl::StatusOr<HuntResult> Hunt(const HuntOptions& options, Engine* engine);

// The result for people.
std::string TextOf(const HuntResult& result);

}  // namespace lemma::api

#endif  // LEMMA_API_HUNT_H_
