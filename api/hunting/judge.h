// Judges what an engine makes of a model by the operators' definitions.
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

enum class Outcome {
  kAgrees,
  kDiffers,
  kRounding,     // differs, but not more than errors of rounding that the model amplifies
  kOpen,         // differs where ONNX defines no result (graph/onnx/left_open/left_open.h)
  kUndecided,    // differs, but the definitions as typed and in double do not agree either
  kRefused,      // the engine does not execute the model, at no level
  kNotCompared,  // the model has no form in ONNX, or the definitions give no values
};

enum class Fault {
  kValues,    // wrong elements
  kType,      // another shape or element type
  kRefusal,   // refused with optimizations, although executed without
  kNoAnswer,  // the engine's process ended, or it did not come to an end
};
const char* Name(Fault fault);  // "wrong values", …

struct Difference {
  Fault fault = Fault::kValues;
  std::string level;  // the lowest one at which it was seen
  // Whether it is not seen at the lowest level, at which the engine optimizes nothing.
  bool is_optimization = false;
  // Whether all values that the definitions give are finite.
  bool is_finite = true;
  std::string message;  // what the engine said, or how far an output is off

  // kValues and kType.
  std::string output;
  TensorType expected_type, seen_type;
  // kValues: the element that differs most, by the definitions as typed, by the engine, by the
  // definitions in double; and the difference that rounding explains.
  std::vector<int64_t> index;
  double expected = 0, seen = 0, in_double = 0, explained = 0;

  std::vector<Tensor> expected_outputs, seen_outputs;  // all of them; seen_outputs may be missing
};

struct Judgement {
  Outcome outcome = Outcome::kAgrees;
  std::string reason;                    // kOpen, kRefused, kNotCompared
  std::optional<Difference> difference;  // kDiffers
};

class Judge {
 public:
  // The engine must outlive the judge.
  explicit Judge(Engine* engine) : engine_(*engine) {}

  // Executes the subject at the engine's lowest and highest levels. A difference is reported only
  // if the definitions as typed and in double agree with each other, and neither agrees with the
  // engine (docs/reliability.md); at the lowest level if it is seen there. Cancelled if the engine
  // was interrupted.
  absl::StatusOr<Judgement> Of(const Subject& subject) const;

  // The levels at which the subject, which was judged to differ, has a fault of that kind.
  std::vector<std::string> LevelsWith(const Subject& subject, Fault fault) const;

 private:
  Engine& engine_;
};

}  // namespace lemma::hunt

#endif  // LEMMA_API_HUNTING_JUDGE_H_
