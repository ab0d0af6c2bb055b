// Executes a model in an engine and judges the results by the operators' definitions.
#ifndef LEMMA_API_HUNTING_JUDGE_H_
#define LEMMA_API_HUNTING_JUDGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "api/hunting/subject.h"
#include "graph/tensor.h"
#include "runtime/engine.h"

namespace lemma::hunt {

// Results by the definitions are of two kinds. "As typed": each operator's result is rounded to its
// type. "In double": without this rounding.
enum class Outcome {
  kAgrees,
  kDiffers,
  kRounding,        // differs, but rounding errors, which the model may amplify, explain it
  kLeftOpenByOnnx,  // differs where ONNX defines no result (graph/onnx/left_open/left_open.h)
  // Differs as typed, but the definitions in double do not confirm it (Judge::JudgeSubject).
  kUndecided,
  // Refused at the lowest or the highest level, but not a fault (Judge::JudgeSubject).
  kRefused,
  kNotCompared,  // the model has no form in ONNX, or the definitions give no values
};

enum class Fault {
  kValues,    // wrong elements
  kType,      // another shape or element type
  kRefusal,   // refused with optimizations, although executed without
  kNoAnswer,  // the engine's process crashed, or gave no answer in time
};
const char* Name(Fault fault);  // "wrong values", …

struct Difference {
  Fault fault = Fault::kValues;
  // The engine's level of optimization that shows the difference: its lowest level if the
  // difference is there, otherwise its highest level.
  std::string level;
  // Whether the difference is due to optimizations: the engine also executes the model at its
  // lowest level, which optimizes nothing, and there is no difference there.
  bool is_optimization = false;
  // Whether all values that the definitions give are finite (HasFiniteValuesOnly).
  bool is_finite = true;
  std::string message;  // the engine's error, or how an output differs

  // For kValues and kType: the name of the output, its type by the definitions, and its type by the
  // engine.
  std::string output;
  TensorType expected_type, seen_type;
  // For kValues: the index of the element that differs most; its value by the definitions as typed,
  // by the engine, and by the definitions in double; the absolute difference that rounding
  // explains.
  std::vector<int64_t> index;
  double expected = 0, seen = 0, in_double = 0, explained = 0;

  // All outputs: by the definitions as typed, and by the engine (empty if it gave none).
  std::vector<Tensor> expected_outputs, seen_outputs;
};

struct Judgment {
  Outcome outcome = Outcome::kAgrees;
  std::string reason;                    // set for kLeftOpenByOnnx, kRefused and kNotCompared
  std::optional<Difference> difference;  // set for kDiffers
};

class Judge {
 public:
  // The engine must outlive the judge.
  explicit Judge(Engine* engine) : engine_(*engine) {}

  // Executes the subject at the engine's lowest level of optimization and, if nothing differs
  // there, at its highest. A difference of values is reported only if the definitions as typed and
  // in double agree with each other, and neither agrees with the engine (docs/reliability.md). A
  // refusal is a difference if the engine agrees with the definitions at its lowest level and
  // refuses the model at its highest level. A crash or a missing answer is always a difference.
  // Cancelled if the engine was interrupted.
  absl::StatusOr<Judgment> JudgeSubject(const Subject& subject) const;

  // The names of the engine's levels at which the subject shows this fault. Meant for a subject
  // that JudgeSubject has judged to differ.
  std::vector<std::string> LevelsWith(const Subject& subject, Fault fault) const;

 private:
  Engine& engine_;
};

}  // namespace lemma::hunt

#endif  // LEMMA_API_HUNTING_JUDGE_H_
