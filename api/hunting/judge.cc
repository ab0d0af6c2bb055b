#include "api/hunting/judge.h"

#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/onnx/left_open/left_open.h"
#include "runtime/reference/all_values.h"
#include "runtime/reference/definitions_referee.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"

namespace lemma::hunt {
namespace {

using Outputs = absl::StatusOr<std::vector<Tensor>>;

// By output: why ONNX leaves a value open that it depends on; "" if it leaves none.
std::vector<std::string> OpenReasons(const Subject& subject) {
  const auto values = AllValues(subject.graph, subject.inputs);
  std::vector<std::string> of_outputs(subject.graph.outputs().size());
  if (!values.ok()) return of_outputs;
  absl::flat_hash_map<const Node*, std::string> reasons;
  for (const NodePtr& node : subject.graph.nodes()) {
    if (!node->is_op()) continue;
    std::vector<Tensor> operands;
    std::string& reason = reasons[node.get()];
    for (const Value& v : node->inputs()) {
      operands.push_back(values->at(v));
      const auto before = reasons.find(&v.node());
      if (reason.empty() && before != reasons.end()) reason = before->second;
    }
    if (reason.empty()) reason = LeftOpen(*node, operands);
  }
  for (size_t i = 0; i < of_outputs.size(); ++i) {
    of_outputs[i] = reasons[&subject.graph.outputs()[i].node()];
  }
  return of_outputs;
}

// The place of the largest difference.
int64_t FarthestElement(const Tensor& seen, const Tensor& expected) {
  double largest = -1;
  int64_t at = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    const double e = expected.AtDouble(i), s = seen.AtDouble(i);
    if (e == s || (std::isnan(e) && std::isnan(s))) continue;
    const double distance = std::fabs(e - s);
    const double far = std::isfinite(distance) ? distance : HUGE_VAL;
    if (far > largest) {
      largest = far;
      at = i;
    }
  }
  return at;
}

std::vector<int64_t> IndexOf(int64_t position, const Shape& shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; position /= shape[d]) index[d] = position % shape[d];
  return index;
}

// One subject, with what is computed once for all levels.
class Examination {
 public:
  Examination(Engine& engine, const Subject& subject)
      : engine_(engine),
        subject_(subject),
        model_(Serialized(subject)),
        referee_(subject.graph, subject.inputs) {}

  // Why nothing can be compared; "" if something can.
  std::string Obstacle() const {
    if (!model_.ok()) return absl::StrCat("no form in ONNX: ", model_.status().message());
    if (!referee_.expected().ok()) {
      return absl::StrCat("no values: ", referee_.expected().status().message());
    }
    return "";
  }

  absl::StatusOr<Judgment> At(const std::string& level) {
    Outputs seen = engine_.Run(*model_, subject_.inputs, level);
    if (absl::IsCancelled(seen.status())) return seen.status();
    if (seen.ok()) return Compared(*seen, level);
    Judgment judgment;
    if (absl::IsAborted(seen.status()) || absl::IsDeadlineExceeded(seen.status())) {
      judgment.outcome = Outcome::kDiffers;
      judgment.difference = Begin(Fault::kNoAnswer, level);
    } else {
      judgment.outcome = Outcome::kRefused;
      judgment.difference = Begin(Fault::kRefusal, level);
    }
    judgment.reason = judgment.difference->message = std::string(seen.status().message());
    return judgment;
  }

 private:
  Difference Begin(Fault fault, const std::string& level) {
    Difference difference;
    difference.fault = fault;
    difference.level = level;
    difference.expected_outputs = *referee_.expected();
    if (!is_finite_) is_finite_ = HasFiniteValuesOnly(subject_);
    difference.is_finite = *is_finite_;
    return difference;
  }

  Judgment Compared(const std::vector<Tensor>& seen, const std::string& level) {
    Judgment judgment;
    const std::vector<Tensor>& expected = *referee_.expected();
    for (size_t i = 0; i < expected.size(); ++i) {
      if (i >= seen.size() || seen[i].type() != expected[i].type()) {
        judgment.outcome = Outcome::kDiffers;
        judgment.difference = OfType(i, seen, level);
        return judgment;
      }
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      Judgment here = ValuesAt(i, seen, level);
      if (here.outcome == Outcome::kDiffers) return here;
      if (judgment.outcome == Outcome::kAgrees) judgment = std::move(here);
    }
    return judgment;
  }

  Difference OfType(size_t output, const std::vector<Tensor>& seen, const std::string& level) {
    Difference difference = Begin(Fault::kType, level);
    difference.output = subject_.graph.output_names()[output];
    difference.expected_type = (*referee_.expected())[output].type();
    if (output < seen.size()) difference.seen_type = seen[output].type();
    difference.message = absl::StrCat("expected ", difference.expected_type.ToString(), ", seen ",
                                      difference.seen_type.ToString());
    difference.seen_outputs = seen;
    return difference;
  }

  Judgment ValuesAt(size_t output, const std::vector<Tensor>& seen, const std::string& level) {
    Judgment judgment;
    const auto run = [&](const std::vector<Tensor>& inputs) {
      return engine_.Run(*model_, inputs, level);
    };
    bool excused = false;
    const std::string off = referee_.FaultOfOutput(output, seen, run, &excused);
    if (excused) judgment.outcome = Outcome::kRounding;
    if (off.empty()) return judgment;
    if (!open_) open_ = OpenReasons(subject_);
    if (!(*open_)[output].empty()) {
      judgment.outcome = Outcome::kLeftOpenByOnnx;
      judgment.reason = (*open_)[output];
      return judgment;
    }
    if (!InDoubleToo(output, seen)) {
      judgment.outcome = Outcome::kUndecided;
      return judgment;
    }
    judgment.outcome = Outcome::kDiffers;
    judgment.difference = OfValues(output, seen, level, off);
    return judgment;
  }

  // Whether the definitions in double agree with those as typed, and differ from the engine.
  bool InDoubleToo(size_t output, const std::vector<Tensor>& seen) {
    if (!in_double_) {
      in_double_ = absl::UnknownError("");
      auto compiled = MakeReferenceBackend(BetweenOperators::kUnrounded)
                          ->Compile(subject_.graph, CompileOptions());
      if (compiled.ok()) in_double_ = (*compiled)->Run(subject_.inputs);
    }
    if (!in_double_->ok()) return false;
    const Tensor& expected = (*referee_.expected())[output];
    const Tensor& in_double = (**in_double_)[output];
    const double tolerance = RelativeTolerances(subject_.graph)[output];
    return Compare(in_double, expected, tolerance).within &&
           !Compare(seen[output], in_double, tolerance).within;
  }

  Difference OfValues(size_t output, const std::vector<Tensor>& seen, const std::string& level,
                      const std::string& off) {
    Difference difference = Begin(Fault::kValues, level);
    const Tensor& expected = (*referee_.expected())[output];
    const double tolerance = RelativeTolerances(subject_.graph)[output];
    const int64_t at = FarthestElement(seen[output], expected);
    difference.output = subject_.graph.output_names()[output];
    difference.expected_type = difference.seen_type = expected.type();
    difference.index = IndexOf(at, expected.shape());
    difference.expected = expected.AtDouble(at);
    difference.seen = seen[output].AtDouble(at);
    difference.in_double = (**in_double_)[output].AtDouble(at);
    difference.explained = tolerance * Compare(seen[output], expected, tolerance).scale;
    difference.message = off;
    difference.seen_outputs = seen;
    return difference;
  }

  Engine& engine_;
  const Subject& subject_;
  const absl::StatusOr<SerializedModel> model_;
  const DefinitionsReferee referee_;
  std::optional<Outputs> in_double_;
  std::optional<std::vector<std::string>> open_;
  std::optional<bool> is_finite_;
};

}  // namespace

const char* Name(Fault fault) {
  switch (fault) {
    case Fault::kValues:
      return "wrong values";
    case Fault::kType:
      return "wrong type or shape";
    case Fault::kRefusal:
      return "refused with optimizations";
    case Fault::kNoAnswer:
      return "no answer";
  }
  return "";
}

absl::StatusOr<Judgment> Judge::JudgeSubject(const Subject& subject) const {
  Examination examination(engine_, subject);
  Judgment none;
  none.outcome = Outcome::kNotCompared;
  none.reason = examination.Obstacle();
  if (!none.reason.empty()) return none;
  auto lowest = examination.At(engine_.Levels().front());
  if (!lowest.ok() || lowest->outcome == Outcome::kDiffers) return lowest;
  auto highest = examination.At(engine_.Levels().back());
  if (!highest.ok()) return highest;
  if (lowest->outcome == Outcome::kRefused && highest->outcome == Outcome::kRefused) {
    lowest->difference.reset();
    return lowest;
  }
  // Without optimizations the engine computes what the definitions say, so the model is valid.
  if (lowest->outcome == Outcome::kAgrees && highest->outcome == Outcome::kRefused) {
    highest->outcome = Outcome::kDiffers;
  }
  if (highest->outcome != Outcome::kDiffers) {
    lowest->difference.reset();
    highest->difference.reset();
    return highest->outcome == Outcome::kAgrees ? lowest : highest;
  }
  highest->difference->is_optimization = lowest->outcome != Outcome::kRefused;
  return highest;
}

std::vector<std::string> Judge::LevelsWith(const Subject& subject, Fault fault) const {
  Examination examination(engine_, subject);
  std::vector<std::string> levels;
  if (!examination.Obstacle().empty()) return levels;
  for (const std::string& level : engine_.Levels()) {
    auto judgment = examination.At(level);
    if (judgment.ok() && judgment->difference && judgment->difference->fault == fault) {
      levels.push_back(level);
    }
  }
  return levels;
}

}  // namespace lemma::hunt
