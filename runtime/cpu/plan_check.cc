#include "runtime/cpu/plan_check.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "runtime/plan/node_traits.h"

namespace lemma::cpu {
namespace {

// Whether no two elements share a place: from the fastest dimension on, each dimension's step
// is at least the span of all faster ones.
bool IsApart(const Shape& shape, const Strides& strides) {
  if (NumElements(shape) == 0) return true;
  const std::vector<int> order = DimOrder(shape, strides);
  int64_t span = 1;
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    if (shape[*d] == 1) continue;
    if (strides[*d] < span) return false;
    span += (shape[*d] - 1) * strides[*d];
  }
  return true;
}

std::string TextOf(const Strides& strides) {
  return absl::StrCat("(", absl::StrJoin(strides, ","), ")");
}

class PlaceChecker {
 public:
  explicit PlaceChecker(const CpuPlan& plan) : plan_(plan) {}

  absl::Status Run() {
    for (step_ = 0; step_ < plan_.steps.size(); ++step_) {
      const CpuStep& step = plan_.steps[step_];
      for (size_t i = 0; i < step.inputs.size(); ++i) {
        if (step.static_inputs[i] >= 0) continue;
        absl::Status s = Check("input", i, step.spec->inputs[i], step.inputs[i]);
        if (!s.ok()) return s;
      }
      for (size_t k = 0; k < step.outputs.size(); ++k) {
        const CpuKernelSpec::Operand& out = step.spec->outputs[k];
        if (absl::Status s = Check("output", k, out, step.outputs[k]); !s.ok()) return s;
        if (IsApart(out.type.shape, out.strides)) continue;
        return Fault("output", k,
                     absl::StrCat("elements overlap by strides ", TextOf(out.strides)));
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Fault(const char* what, size_t index, const std::string& fault) const {
    return absl::InternalError(absl::StrCat("plan: step ", step_, ", ", what, " ", index, ": ",
                                            fault, " (", plan_.steps[step_].spec->Signature(),
                                            ")"));
  }

  absl::Status Check(const char* what, size_t index, const CpuKernelSpec::Operand& operand,
                     const Location& at) const {
    const Shape& shape = operand.type.shape;
    if (at.buffer < 0 || at.buffer >= static_cast<int>(plan_.buffers.size())) {
      return Fault(what, index, "has no memory");
    }
    if (operand.strides.size() != shape.size() || at.strides.size() != shape.size() ||
        !SameLayout(shape, operand.strides, at.strides)) {
      return Fault(what, index,
                   absl::StrCat("the kernel is built for strides ", TextOf(operand.strides),
                                ", the value lies by ", TextOf(at.strides)));
    }
    if (operand.type.num_elements() == 0) return absl::OkStatus();
    const int64_t size = SizeOf(operand.type.dtype);
    const int64_t end = (at.offset + SpanOf(shape, at.strides)) * size;
    const PlanBuffer& buffer = plan_.buffers[at.buffer];
    if (at.offset < 0 || end > buffer.bytes) {
      return Fault(what, index,
                   absl::StrCat("ends at byte ", end, " of a buffer of ", buffer.bytes));
    }
    const int step = static_cast<int>(step_);
    if (buffer.kind == PlanBuffer::Kind::kArena &&
        (step < buffer.first_step || step > buffer.last_step)) {
      return Fault(what, index, "its buffer is not alive");
    }
    return absl::OkStatus();
  }

  const CpuPlan& plan_;
  size_t step_ = 0;
};

// An element of a value, by its number in row-major order. Views and concatenations are traced back
// to the value that a kernel or an input gives.
struct Element {
  static constexpr int kIndexBits = 40;
  int64_t key = -1;  // the number of the value, and that of the element

  static Element Of(int32_t value, int64_t index) {
    return {(int64_t{value} << kIndexBits) | index};
  }
  bool operator==(const Element& other) const { return key == other.key; }
};

// The elements of a value: those of value `id` in order or, if they were moved, a list.
struct Elements {
  int32_t id = -1;
  std::vector<Element> moved;

  Element operator[](int64_t e) const { return moved.empty() ? Element::Of(id, e) : moved[e]; }
};

// Calls visit(number in row-major order, place) for each element.
template <class Visit>
void ForEachElement(const Shape& shape, const Strides& strides, int64_t offset,
                    const Visit& visit) {
  const int64_t elements = NumElements(shape);
  Shape index(shape.size(), 0);
  int64_t place = offset;
  for (int64_t e = 0; e < elements; ++e) {
    visit(e, place);
    for (size_t d = shape.size(); d-- > 0;) {
      place += strides[d];
      if (++index[d] < shape[d]) break;
      place -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

class MovementChecker {
 public:
  MovementChecker(const Graph& graph, const CpuPlan& plan) : graph_(graph), plan_(plan) {}

  absl::Status Run() {
    ChooseUnits();
    for (const PlanBuffer& buffer : plan_.buffers) {
      memory_.emplace_back(static_cast<size_t>(buffer.bytes / units_[memory_.size()] + 1));
      if (buffer.kind != PlanBuffer::Kind::kInput) continue;
      const Value& v = graph_.inputs()[buffer.index];
      Write(ElementsOf(v), v.type(),
            {static_cast<int>(memory_.size()) - 1, 0, RowMajorStrides(v.shape())});
    }
    for (step_ = 0; step_ < plan_.steps.size(); ++step_) {
      if (absl::Status s = Follow(plan_.steps[step_]); !s.ok()) return s;
    }
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const PlanBuffer& buffer = plan_.buffers[b];
      if (buffer.kind != PlanBuffer::Kind::kOutput) continue;
      const Value& v = graph_.outputs()[buffer.index];
      const Location at{static_cast<int>(b), 0, RowMajorStrides(v.shape())};
      if (Holds(at, v.type(), ElementsOf(v))) continue;
      return absl::InternalError(absl::StrCat("plan: output ", graph_.output_names()[buffer.index],
                                              " is not complete in the end"));
    }
    return absl::OkStatus();
  }

 private:
  int32_t IdOf(const Value& v) {
    return ids_.try_emplace(v, static_cast<int32_t>(ids_.size())).first->second;
  }

  // A buffer's memory is followed in units of its smallest element.
  void ChooseUnits() {
    constexpr int64_t kLargest = 16;  // bytes
    units_.assign(plan_.buffers.size(), kLargest);
    auto use = [&](int buffer, const TensorType& type) {
      units_[buffer] = std::min<int64_t>(units_[buffer], SizeOf(type.dtype));
    };
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const PlanBuffer& buffer = plan_.buffers[b];
      if (buffer.kind == PlanBuffer::Kind::kInput) {
        use(static_cast<int>(b), graph_.inputs()[buffer.index].type());
      } else if (buffer.kind == PlanBuffer::Kind::kOutput) {
        use(static_cast<int>(b), graph_.outputs()[buffer.index].type());
      }
    }
    for (const CpuStep& step : plan_.steps) {
      for (const CpuStep::Condition& condition : step.conditions) {
        use(condition.at.buffer, condition.value.type());
      }
      for (size_t i = 0; i < step.inputs.size(); ++i) {
        if (step.inputs[i].buffer >= 0) use(step.inputs[i].buffer, step.spec->inputs[i].type);
      }
      for (size_t k = 0; k < step.outputs.size(); ++k) {
        if (step.outputs[k].buffer >= 0) use(step.outputs[k].buffer, step.spec->outputs[k].type);
      }
    }
  }

  const Elements& ElementsOf(const Value& v) {
    if (auto known = elements_.find(v); known != elements_.end()) return *known->second;
    auto result = std::make_unique<Elements>();
    const Node& node = v.node();
    const bool moves = node.is_op() && !node.inputs().empty();
    if (moves && traits_.Of(node).reshapes) {
      *result = ElementsOf(node.inputs()[0]);
    } else if (moves && traits_.Of(node).concat_dim) {
      Concatenate(v, result.get());
    } else if (moves && !traits_.Of(node).views.empty()) {
      const AffineView& view = traits_.Of(node).views[v.output()];
      const Value& in = node.inputs()[view.input];
      const Elements& from = ElementsOf(in);
      const Strides row = RowMajorStrides(in.shape());
      result->moved.resize(NumElements(v.shape()));
      ForEachElement(v.shape(), view.StridesOver(row), view.OffsetOver(row),
                     [&](int64_t e, int64_t place) { result->moved[e] = from[place]; });
    } else {
      result->id = IdOf(v);
    }
    return *(elements_[v] = std::move(result));
  }

  void Concatenate(const Value& v, Elements* result) {
    result->moved.resize(NumElements(v.shape()));
    const Node& node = v.node();
    const auto dim = static_cast<size_t>(*traits_.Of(node).concat_dim);
    const Strides row = RowMajorStrides(v.shape());
    int64_t offset = 0;
    for (const Value& part : node.inputs()) {
      const Elements& from = ElementsOf(part);
      ForEachElement(part.shape(), row, offset,
                     [&](int64_t e, int64_t place) { result->moved[place] = from[e]; });
      offset += part.shape()[dim] * row[dim];
    }
  }

  // The first unit of an element identifies it; the others are as Write leaves them.
  bool Holds(const Location& at, const TensorType& type, const Elements& elements) {
    const int64_t size = static_cast<int64_t>(SizeOf(type.dtype)) / units_[at.buffer];
    const std::vector<Element>& memory = memory_[at.buffer];
    bool all = true;
    ForEachElement(type.shape, at.strides, at.offset, [&](int64_t e, int64_t place) {
      all = all && memory[place * size] == elements[e];
      for (int64_t u = 1; u < size; ++u) all = all && memory[place * size + u] == Element();
    });
    return all;
  }

  void Write(const Elements& elements, const TensorType& type, const Location& at) {
    const int64_t size = static_cast<int64_t>(SizeOf(type.dtype)) / units_[at.buffer];
    std::vector<Element>& memory = memory_[at.buffer];
    ForEachElement(type.shape, at.strides, at.offset, [&](int64_t e, int64_t place) {
      std::fill_n(memory.begin() + place * size, size, Element());
      memory[place * size] = elements[e];
    });
  }

  // Whether the two share a place.
  static bool Overlap(const Location& a, const TensorType& a_type, const Location& b,
                      const TensorType& b_type) {
    const int64_t a_size = SizeOf(a_type.dtype), b_size = SizeOf(b_type.dtype);
    const int64_t a_end = (a.offset + SpanOf(a_type.shape, a.strides)) * a_size;
    const int64_t b_end = (b.offset + SpanOf(b_type.shape, b.strides)) * b_size;
    if (a.buffer != b.buffer || a_end <= b.offset * b_size || b_end <= a.offset * a_size) {
      return false;
    }
    std::vector<bool> taken(static_cast<size_t>(std::max(a_end, b_end)));
    ForEachElement(a_type.shape, a.strides, a.offset, [&](int64_t, int64_t place) {
      std::fill_n(taken.begin() + place * a_size, a_size, true);
    });
    bool any = false;
    ForEachElement(b_type.shape, b.strides, b.offset, [&](int64_t, int64_t place) {
      for (int64_t byte = 0; byte < b_size; ++byte) any = any || taken[place * b_size + byte];
    });
    return any;
  }

  absl::Status Fault(const std::string& fault) const {
    return absl::InternalError(absl::StrCat("plan: step ", step_, ": ", fault, " (",
                                            plan_.steps[step_].spec->Signature(), ")"));
  }

  absl::Status Follow(const CpuStep& step) {
    const CpuKernelSpec& spec = *step.spec;
    for (const CpuStep::Condition& condition : step.conditions) {
      if (condition.value.type() == TensorType{DType::kBool, {}} &&
          Holds(condition.at, condition.value.type(), ElementsOf(condition.value))) {
        continue;
      }
      return Fault("its condition is not in memory where it is read");
    }
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (step.static_inputs[i] >= 0) continue;
      const TensorType& type = spec.inputs[i].type;
      if (!Holds(step.inputs[i], type, ElementsOf(spec.inputs[i].value))) {
        return Fault(absl::StrCat("input ", i, " is not in memory where it is read"));
      }
      for (size_t k = 0; k < step.outputs.size(); ++k) {
        const bool in_place =
            k == 0 && type == spec.outputs[k].type &&
            step.inputs[i].offset == step.outputs[k].offset &&
            SameLayout(type.shape, step.inputs[i].strides, step.outputs[k].strides) &&
            std::find(spec.in_place.begin(), spec.in_place.end(), i) != spec.in_place.end();
        if (!in_place && Overlap(step.inputs[i], type, step.outputs[k], spec.outputs[k].type)) {
          return Fault(absl::StrCat("output ", k, " is written where input ", i, " is read"));
        }
      }
    }
    for (size_t k = 0; k < step.outputs.size(); ++k) {
      // A copy gives the elements of its input.
      const Value& v = spec.nodes.empty() ? spec.inputs[0].value : spec.outputs[k].value;
      Write(ElementsOf(v), spec.outputs[k].type, step.outputs[k]);
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  const CpuPlan& plan_;
  NodeTraitsCache traits_;
  absl::flat_hash_map<Value, int32_t> ids_;
  absl::flat_hash_map<Value, std::unique_ptr<Elements>> elements_;
  std::vector<int64_t> units_;                // by buffer, in bytes
  std::vector<std::vector<Element>> memory_;  // by buffer, by unit
  size_t step_ = 0;
};

// The values on which the outputs depend, for given truth values of conditions.
absl::flat_hash_set<Value> NeededValues(const Graph& graph, NodeTraitsCache& traits,
                                        const absl::flat_hash_map<Value, bool>& truth) {
  absl::flat_hash_set<Value> needed(graph.outputs().begin(), graph.outputs().end());
  const std::vector<NodePtr>& nodes = graph.nodes();
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const Node& node = **it;
    bool is_needed = false;
    for (int k = 0; k < node.num_outputs(); ++k) is_needed |= needed.contains(Value(*it, k));
    if (!node.is_op() || !is_needed) continue;
    const std::optional<Choice>& choice = traits.Of(node).choice;
    auto known = choice ? truth.find(node.inputs()[choice->condition]) : truth.end();
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const Choice::Side unused = known == truth.end()
                                      ? Choice::Side::kBoth
                                      : (known->second ? Choice::Side::kElse : Choice::Side::kThen);
      if (unused != Choice::Side::kBoth && choice->sides[i] == unused) continue;
      needed.insert(node.inputs()[i]);
    }
  }
  return needed;
}

}  // namespace

absl::Status CheckConditions(const CpuPlan& plan) {
  const Graph& graph = plan.wide.graph;
  absl::flat_hash_map<Value, bool> truth;
  for (const CpuStep& step : plan.steps) {
    for (const CpuStep::Condition& condition : step.conditions) truth[condition.value] = false;
  }
  if (truth.empty()) return absl::OkStatus();
  constexpr size_t kMostForAll = 6;
  constexpr uint64_t kTrials = uint64_t{1} << kMostForAll;
  NodeTraitsCache traits;
  const uint64_t trials = uint64_t{1} << std::min(truth.size(), kMostForAll);
  for (uint64_t trial = 0; trial < trials; ++trial) {
    uint64_t bits = trials < kTrials || truth.size() == kMostForAll ? trial : Mix64(trial);
    for (auto& [value, holds] : truth) {
      holds = (bits & 1) != 0;
      bits = truth.size() <= kMostForAll ? bits >> 1 : Mix64(bits);
    }
    const absl::flat_hash_set<Value> needed = NeededValues(graph, traits, truth);
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      const CpuStep& step = plan.steps[s];
      const bool is_run = std::all_of(
          step.conditions.begin(), step.conditions.end(),
          [&](const auto& condition) { return truth.at(condition.value) == condition.holds; });
      for (const CpuKernelSpec::Operand& out : step.spec->outputs) {
        if (is_run || !out.value || !needed.contains(out.value)) continue;
        return absl::InternalError(absl::StrCat("plan: step ", s, " may be skipped though needed (",
                                                step.spec->Signature(), ")"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPlaces(const CpuPlan& plan) { return PlaceChecker(plan).Run(); }

absl::Status CheckMovement(const CpuPlan& plan) {
  const Graph& graph = plan.wide.graph;
  return MovementChecker(graph, plan).Run();
}

}  // namespace lemma::cpu
