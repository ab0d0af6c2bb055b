#include "graph/grad/training_step.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "graph/builder.h"
#include "graph/grad/gradient.h"
#include "graph/grad/loss_scale.h"
#include "graph/grad/mixed_precision.h"
#include "graph/ops/training/training_replacement.h"
#include "graph/training_state.h"

namespace lemma {
namespace {

using ValueMap = absl::flat_hash_map<Value, Value>;

// The operands that `map` gives for the node's own operands.
std::vector<Value> OperandsOf(const Node& node, const ValueMap& map) {
  std::vector<Value> operands;
  for (const Value& input : node.inputs()) operands.push_back(map.at(input));
  return operands;
}

// Applies the node to operands of its own operands' types, and adds its outputs to `map`.
void Rebuild(const NodePtr& node, std::vector<Value> operands, ValueMap& map) {
  NodePtr rebuilt = node;
  if (operands != node->inputs()) {
    rebuilt = Node::Apply(&node->op(), std::move(operands), node->attrs(), node->types());
  }
  for (int i = 0; i < node->num_outputs(); ++i) map[Value(node, i)] = Value(rebuilt, i);
}

// Whether the operands have the types of the node's own operands.
bool FitsTypes(const Node& node, const std::vector<Value>& operands) {
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].type() != node.inputs()[i].type()) return false;
  }
  return true;
}

class StepBuilder {
 public:
  StepBuilder(const Graph& model, const TrainingOptions& options)
      : model_(model), options_(options), f_(ApplyOp) {
    if (IsHalfFloat(options.precision)) mixed_.emplace(&f_, options.precision);
  }

  absl::StatusOr<TrainingStep> Build() {
    LEMMA_RETURN_IF_ERROR(BuildForward());
    LEMMA_RETURN_IF_ERROR(BuildLoss());
    LEMMA_RETURN_IF_ERROR(BuildUpdates());
    LEMMA_RETURN_IF_ERROR(f_.status());
    return Finish();
  }

 private:
  // One variable of the state. Until Finish() it is a weight of the graph.
  struct Variable {
    std::string name;
    Value now, next;
    Tensor initial;
  };

  Value NewState(const std::string& name, const Tensor& initial) {
    const Value now(Node::Weight(name, initial.type(), initial), 0);
    state_.push_back({name, now, Value(), initial});
    return now;
  }
  Value NewZeroState(const std::string& name, const TensorType& type) {
    auto zeros = Tensor::Filled(type, 0);
    if (zeros.ok()) return NewState(name, *zeros);
    f_.Fail(zeros.status());
    return Value();
  }
  Variable& StateOf(const std::string& name) {
    return *std::find_if(state_.begin(), state_.end(),
                         [&](const Variable& v) { return v.name == name; });
  }

  // Builds the model with the training forms of its operators; running statistics become state.
  absl::Status BuildForward() {
    int64_t salt = 0;
    for (const NodePtr& node : model_.nodes()) {
      if (!node->is_op()) {
        map_[Value(node, 0)] = Value(node, 0);
        continue;
      }
      MixedPrecision::Form form{OperandsOf(*node, map_), false};
      if (mixed_) form = mixed_->FormOf(*node, form.inputs);
      TrainingContext context{options_.batch_norm_momentum, [this] { return Seed(); }, ++salt};
      const auto training = ReplacementInTraining(f_, *node, form.inputs, context);
      LEMMA_RETURN_IF_ERROR(f_.status());
      if (!training && !form.rounds && FitsTypes(*node, form.inputs)) {
        Rebuild(node, std::move(form.inputs), map_);
        continue;
      }
      // A batch normalization gives the type of its data.
      if (mixed_ && training && !training->running.empty()) {
        form.rounds = map_.at(node->inputs()[0]).dtype() == options_.precision;
      }
      std::vector<Value> outputs =
          training ? training->outputs : f_.Ops(node->op().name, form.inputs, node->attrs());
      if (mixed_) outputs = mixed_->Results(form, std::move(outputs));
      LEMMA_RETURN_IF_ERROR(f_.status());
      for (int i = 0; i < node->num_outputs(); ++i) map_[Value(node, i)] = outputs[i];
      if (!training) continue;
      for (const auto& [input, next] : training->running) {
        LEMMA_RETURN_IF_ERROR(AddRunning(node->inputs()[input], next));
      }
    }
    return absl::OkStatus();
  }

  // The state variable `seed`, which each step increments.
  Value Seed() {
    if (!seed_) {
      const TensorType type{DType::kI64, {}};
      auto initial = Tensor::FromInts(type, {options_.seed});
      if (!initial.ok()) {
        f_.Fail(initial.status());
        return Value();
      }
      seed_ = NewState("seed", *initial);
      StateOf("seed").next = f_.Add(seed_, 1);
    }
    return seed_;
  }

  absl::Status AddRunning(const Value& statistic, const Value& next) {
    const Node& node = statistic.node();
    if (node.kind() != Node::Kind::kWeight || !node.has_payload()) {
      return absl::InvalidArgumentError(
          "a batch normalization has running statistics that are no weights with values");
    }
    if (!running_.insert(node.name()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("two batch normalizations share the running statistics ", node.name()));
    }
    NewState(node.name(), node.payload());
    StateOf(node.name()).next = next;
    return absl::OkStatus();
  }

  absl::Status BuildLoss() {
    const auto& names = model_.output_names();
    const auto at = options_.output.empty()
                        ? names.begin()
                        : std::find(names.begin(), names.end(), options_.output);
    if (at == names.end()) {
      return absl::InvalidArgumentError(absl::StrCat("the model has no output ", options_.output,
                                                     "; it has ", absl::StrJoin(names, ", ")));
    }
    const Value& output = model_.outputs()[at - names.begin()];
    const Value scores = f_.Cast(map_.at(output), output.dtype());
    LEMMA_ASSIGN_OR_RETURN(const TensorType labels_type, LabelsType(options_.loss, scores.type()));
    const int inputs = static_cast<int>(model_.inputs().size());
    labels_ = Value(Node::Input(inputs, labels_type), 0);
    if (options_.loss.kind == LossKind::kSoftmaxCrossEntropy) {
      classes_ = scores.type().num_elements() / std::max<int64_t>(1, labels_type.num_elements());
    }
    rate_ = Value(Node::Input(inputs + 1, {DType::kF32, {}}), 0);
    loss_ = LossOf(f_, options_.loss, scores, labels_);
    return f_.status();
  }

  bool IsFrozen(const Node& node) const {
    const auto& frozen = options_.frozen;
    return std::find(frozen.begin(), frozen.end(), node.name()) != frozen.end();
  }

  bool Trains(const Node& node) const {
    return node.kind() == Node::Kind::kWeight && IsFloat(node.type(0).dtype) &&
           node.type(0).rank() > 0 && running_.count(node.name()) == 0 && !IsFrozen(node);
  }

  absl::Status CheckFrozen() const {
    for (const std::string& name : options_.frozen) {
      const bool found =
          std::any_of(model_.nodes().begin(), model_.nodes().end(), [&](const NodePtr& node) {
            return node->kind() == Node::Kind::kWeight && node->name() == name;
          });
      if (!found) {
        return absl::InvalidArgumentError(
            absl::StrCat("there is no weight ", name, " on which the outputs depend"));
      }
    }
    return absl::OkStatus();
  }

  // A trained weight with its gradient, both in the type of the update.
  struct Trained {
    std::string name;
    Value weight, gradient;
  };

  absl::StatusOr<std::vector<Trained>> FindTrained() {
    LEMMA_RETURN_IF_ERROR(CheckFrozen());
    std::vector<Value> weights;
    for (const NodePtr& node : model_.nodes()) {
      if (Trains(*node)) weights.emplace_back(node, 0);
      NoteScalar(*node);
    }
    if (options_.dynamic_loss_scale) AddLossScale();
    constexpr double kLargestHalf = 65504;
    const bool is_half = loss_.dtype() == DType::kF16;
    if (is_half && !scale_.scale && options_.loss_scale > kLargestHalf) {
      return absl::InvalidArgumentError(absl::StrCat("the loss is in f16, so a loss scale of ",
                                                     options_.loss_scale, " is infinite"));
    }
    const Value seed = scale_.scale ? f_.Cast(scale_.scale, loss_.dtype())
                                    : f_.Scalar(loss_.dtype(), options_.loss_scale);
    LEMMA_ASSIGN_OR_RETURN(auto gradients, Gradient({loss_}, {seed}, weights));
    std::vector<Trained> trained;
    for (size_t i = 0; i < weights.size(); ++i) {
      const Node& node = weights[i].node();
      if (!gradients[i]) {
        untrained_.push_back({node.name(), "the loss does not depend on it"});
        continue;
      }
      if (!node.has_payload()) {
        return absl::InvalidArgumentError(absl::StrCat("weight ", node.name(), " has no values"));
      }
      trained.push_back({node.name(), weights[i], gradients[i]});
    }
    if (trained.empty()) {
      return absl::InvalidArgumentError("the loss depends on no weight that could be trained");
    }
    for (Trained& t : trained) LEMMA_RETURN_IF_ERROR(Widen(t));
    return trained;
  }

  // Training treats a parameter without dimensions as a constant.
  void NoteScalar(const Node& node) {
    if (node.is_op() || !IsFloat(node.type(0).dtype) || node.type(0).rank() > 0) return;
    const bool is_weight = node.kind() == Node::Kind::kWeight;
    if (is_weight && !IsFrozen(node)) untrained_.push_back({node.name(), "it has no dimensions"});
  }

  // A weight stored in a narrow type is updated in f32 and rounded where the model uses it.
  absl::Status Widen(Trained& t) {
    const Node& node = t.weight.node();
    const DType stored = t.weight.dtype();
    if (SizeOf(stored) >= SizeOf(DType::kF32)) {
      t.weight = NewState(t.name, node.payload());
    } else {
      const TensorType wide{DType::kF32, t.weight.shape()};
      LEMMA_ASSIGN_OR_RETURN(Tensor initial, Tensor::FromDoubles(wide, node.payload().ToDoubles()));
      const Value narrow = t.weight;
      t.weight = NewState(t.name, initial);
      rounded_[narrow] = f_.Cast(t.weight, stored);
    }
    t.gradient = f_.Cast(t.gradient, t.weight.dtype());
    if (scale_.scale) {
      const Value inverse = f_.Div(f_.Scalar(DType::kF32, 1), scale_.scale);
      t.gradient = f_.Mul(t.gradient, f_.Cast(inverse, t.gradient.dtype()));
    } else if (options_.loss_scale != 1) {
      t.gradient = f_.Mul(t.gradient, 1 / options_.loss_scale);
    }
    return f_.status();
  }

  void AddLossScale() {
    const auto zero = Tensor::FromInts({DType::kI64, {}}, {0});
    if (!zero.ok()) return f_.Fail(zero.status());
    scale_.scale = NewState("loss_scale", Tensor::ScalarF32(LossScale::kInitial));
    scale_.good = NewState("good_steps", *zero);
  }

  // With a dynamic loss scale: returns whether all gradients are finite; otherwise empty. `last` is
  // the result of Accumulate. Where a gradient is not finite, running statistics stay as they are.
  Value UpdateLossScale(const std::vector<Trained>& trained, const Value& last) {
    if (!scale_.scale) return Value();
    std::vector<Value> gradients;
    gradients.reserve(trained.size());
    for (const Trained& t : trained) gradients.push_back(t.gradient);
    const Value finite = AllFinite(f_, gradients);
    const LossScale next = NextLossScale(f_, scale_, finite, options_.scale_interval);
    StateOf("loss_scale").next = last ? f_.Where(last, next.scale, scale_.scale) : next.scale;
    StateOf("good_steps").next = last ? f_.Where(last, next.good, scale_.good) : next.good;
    for (const std::string& name : running_) {
      Variable& statistic = StateOf(name);
      statistic.next = f_.Where(finite, statistic.next, statistic.now);
    }
    return finite;
  }

  // g * min(1, clip / (norm + 10^-6)), norm = sqrt(sum over all weights of sum(g²)).
  void Clip(std::vector<Trained>& trained) {
    if (options_.clip_norm == 0) return;
    Value squares;
    for (const Trained& t : trained) {
      const Value g = f_.Cast(t.gradient, DType::kF32);
      squares = f_.Add(squares, f_.Sum(f_.Square(g), AxesBut(g.type().rank())));
    }
    const Value norm = f_.Add(f_.Op("sqrt", {squares}), 1e-6);
    const Value ratio = f_.Div(f_.Scalar(DType::kF32, options_.clip_norm), norm);
    const Value factor = f_.Op("min", {ratio, f_.Scalar(DType::kF32, 1)});
    for (Trained& t : trained) {
      t.gradient = f_.Mul(t.gradient, f_.Cast(factor, t.gradient.dtype()));
    }
  }

  // Averages the gradients of several steps. Returns whether this is the last of them; empty if
  // every step updates.
  Value Accumulate(std::vector<Trained>& trained) {
    if (options_.accumulate == 1) return Value();
    const Value micro = NewZeroState("micro", {DType::kF32, {}});
    const Value count = f_.Add(micro, 1);
    const Value last = f_.Op(
        "greater_equal", {count, f_.Scalar(DType::kF32, static_cast<double>(options_.accumulate))});
    StateOf("micro").next = f_.Where(last, Value(), count);
    for (Trained& t : trained) {
      const std::string name = t.name + ".grad";
      const Value sum = NewZeroState(name, t.weight.type());
      t.gradient = f_.Add(sum, f_.Mul(t.gradient, 1 / static_cast<double>(options_.accumulate)));
      StateOf(name).next = f_.Where(last, Value(), t.gradient);
    }
    return last;
  }

  absl::Status BuildUpdates() {
    LEMMA_ASSIGN_OR_RETURN(std::vector<Trained> trained, FindTrained());
    const Value last = Accumulate(trained);
    const Value finite = UpdateLossScale(trained, last);
    const Value updates = last && finite ? f_.Op("and", {last, finite}) : last ? last : finite;
    Clip(trained);
    auto next_if_updated = [&](const Value& next, const Value& now) {
      return updates ? f_.Where(updates, next, now) : next;
    };
    Value step;
    if (options_.update.counts_steps()) {
      const Value done = NewZeroState("step", {DType::kF32, {}});
      step = f_.Add(done, 1);
      StateOf("step").next = next_if_updated(step, done);
    }
    for (const Trained& t : trained) {
      const DType dtype = t.weight.dtype();
      UpdateInput in{t.weight, t.gradient, f_.Cast(rate_, dtype), f_.Cast(step, dtype), {}, {}};
      in.state = [&](const std::string& suffix) {
        return NewZeroState(absl::StrCat(t.name, ".", suffix), t.weight.type());
      };
      in.set_state = [&](const std::string& suffix, const Value& next) {
        Variable& variable = StateOf(absl::StrCat(t.name, ".", suffix));
        variable.next = next_if_updated(next, variable.now);
      };
      const Value next = UpdatedWeight(f_, options_.update, in);
      StateOf(t.name).next = next_if_updated(next, t.weight);
    }
    return f_.status();
  }

  // The graph, with inputs instead of the state's weights.
  absl::StatusOr<TrainingStep> Finish() {
    GraphBuilder draft(model_.name());
    for (size_t i = 0; i < model_.inputs().size(); ++i) {
      draft.Input(model_.input_names()[i], model_.inputs()[i].type());
    }
    draft.Input("labels", labels_.type());
    draft.Input("lr", rate_.type());
    GraphBuilder builder = draft;
    draft.Output("loss", loss_);
    for (const Variable& v : state_) draft.Output(NextName(v.name), v.next);
    LEMMA_ASSIGN_OR_RETURN(const Graph with_weights, std::move(draft).Build());

    TrainingStep step;
    ValueMap map;
    for (const Variable& v : state_) {
      map[v.now] = builder.Input(v.name, v.now.type());
      step.state[v.name] = v.initial;
    }
    for (const auto& [narrow, rounded] : rounded_) {
      map[narrow] = f_.Cast(map.at(rounded.node().inputs()[0]), narrow.dtype());
    }
    for (const NodePtr& node : with_weights.nodes()) {
      if (node->is_op()) {
        Rebuild(node, OperandsOf(*node, map), map);
      } else {
        map.emplace(Value(node, 0), Value(node, 0));
      }
    }
    CopyLabels(map, builder);
    builder.Output("loss", map.at(loss_));
    for (const Variable& v : state_) builder.Output(NextName(v.name), map.at(v.next));
    LEMMA_ASSIGN_OR_RETURN(step.graph, std::move(builder).Build());
    step.classes = classes_;
    step.products = mixed_ ? mixed_->products() : 0;
    step.untrained = std::move(untrained_);
    return step;
  }

  // Copies the model's names of values that still exist.
  void CopyLabels(const ValueMap& map, GraphBuilder& builder) const {
    for (const NodePtr& node : model_.nodes()) {
      for (int i = 0; i < node->num_outputs(); ++i) {
        const absl::string_view label = model_.LabelOf(Value(node, i));
        auto forward = map_.find(Value(node, i));
        if (label.empty() || forward == map_.end()) continue;
        auto final_value = map.find(forward->second);
        if (final_value != map.end()) builder.Label(final_value->second, std::string(label));
      }
    }
  }

  const Graph& model_;
  const TrainingOptions& options_;
  Formula f_;
  std::optional<MixedPrecision> mixed_;
  ValueMap map_;  // maps the model's values to their values in training
  std::set<std::string> running_;
  std::vector<Variable> state_;
  ValueMap rounded_;  // weights stored in a narrow type, and the state rounded to that type
  Value labels_, rate_, loss_, seed_;
  LossScale scale_;  // empty unless the scale is dynamic
  int64_t classes_ = 0;
  std::vector<TrainingStep::Untrained> untrained_;
};

}  // namespace

absl::StatusOr<TrainingStep> BuildTrainingStep(const Graph& model, const TrainingOptions& options) {
  return StepBuilder(model, options).Build();
}

}  // namespace lemma
