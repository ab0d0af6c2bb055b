#include "api/hunting/reduce.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "api/hunting/draft.h"
#include "api/hunting/simpler.h"

namespace lemma::hunt {
namespace {

class Reducer {
 public:
  Reducer(Subject subject, Draft draft, const std::function<bool(const Subject&)>& shows_fault,
          const ReduceOptions& options)
      : best_(std::move(subject)),
        now_(std::move(draft)),
        shows_fault_(shows_fault),
        options_(options) {}

  Subject Run() {
    // Operators first: all else is faster on few of them.
    const std::initializer_list<Pass> operators = {&Reducer::OneOutput, &Reducer::EarlierOutput,
                                                   &Reducer::CutOff, &Reducer::Bypass};
    while (Do(operators)) {
    }
    if (options_.is_known && options_.is_known(best_)) return std::move(best_);
    for (bool changed = true; changed;) {
      changed = Do({&Reducer::FewerOperands, &Reducer::FewerLeaves, &Reducer::SmallerSizes,
                    &Reducer::SimplerAttributes, &Reducer::SimplerValues, &Reducer::UsualOpset});
      changed = Do(operators) || changed;
    }
    return std::move(best_);
  }

 private:
  using Ref = Draft::Ref;
  using Pass = bool (Reducer::*)();

  // Repeats each pass as long as it finds something; whether any did.
  bool Do(std::initializer_list<Pass> passes) {
    bool changed = false;
    for (const Pass pass : passes) {
      while (!Ended() && (this->*pass)()) changed = true;
    }
    return changed;
  }

  bool Ended() const { return tests_ >= options_.most_tests || options_.deadline.Passed(); }

  // Each pass returns whether it found something smaller, and stops there, since positions have
  // changed.
  bool Try(const Draft& candidate) {
    if (Ended()) return false;
    std::optional<Subject> subject = candidate.Build();
    if (!subject || IsBest(*subject)) return false;
    ++tests_;
    if (!shows_fault_(*subject)) return false;
    // Without what is not used any more.
    std::optional<Draft> draft = Draft::FromSubject(*subject);
    if (!draft) return false;
    now_ = *std::move(draft);
    best_ = *std::move(subject);
    return true;
  }

  bool IsBest(const Subject& subject) const {
    return subject.opset == best_.opset &&
           subject.graph.StructuralHash() == best_.graph.StructuralHash() &&
           std::equal(subject.inputs.begin(), subject.inputs.end(), best_.inputs.begin(),
                      best_.inputs.end(),
                      [](const Tensor& a, const Tensor& b) { return a.SameBytes(b); });
  }

  std::vector<Ref> Results() const {
    std::vector<Ref> refs;
    for (size_t s = 0; s < now_.steps.size(); ++s) {
      for (size_t k = 0; k < now_.steps[s].results.size(); ++k) {
        refs.push_back({static_cast<int>(s), static_cast<int>(k)});
      }
    }
    return refs;
  }

  bool OneOutput() {
    for (size_t o = 0; now_.outputs.size() > 1 && o < now_.outputs.size(); ++o) {
      Draft candidate = now_;
      candidate.outputs = {now_.outputs[o]};
      if (Try(candidate)) return true;
    }
    return false;
  }

  // The output is an earlier value.
  bool EarlierOutput() {
    if (now_.outputs.size() != 1) return false;
    for (const Ref& ref : Results()) {
      if (ref == now_.outputs[0]) continue;
      // Every result but the output is used by some step after it, so the graph gets smaller.
      if (ref.step >= now_.outputs[0].step) continue;
      Draft candidate = now_;
      candidate.outputs = {ref};
      if (Try(candidate)) return true;
    }
    return false;
  }

  // Values become inputs or weights: of all steps but the last, else of a single one.
  bool CutOff() {
    for (const Node::Kind kind : {Node::Kind::kInput, Node::Kind::kWeight}) {
      Draft alone = now_;
      for (const Ref& ref : Results()) {
        if (ref.step + 1 < static_cast<int>(now_.steps.size())) Cut(ref, kind, &alone);
      }
      if (now_.steps.size() > 1 && Try(alone)) return true;
    }
    for (size_t s = now_.steps.size(); s-- > 0;) {
      if (IsOutput(static_cast<int>(s))) continue;
      for (const Node::Kind kind : {Node::Kind::kInput, Node::Kind::kWeight}) {
        Draft candidate = now_;
        for (size_t k = 0; k < now_.steps[s].results.size(); ++k) {
          Cut({static_cast<int>(s), static_cast<int>(k)}, kind, &candidate);
        }
        if (Try(candidate)) return true;
      }
    }
    return false;
  }

  void Cut(const Ref& ref, Node::Kind kind, Draft* draft) const {
    const Ref leaf = draft->AddLeaf(kind, now_.steps[ref.step].results[ref.number]);
    draft->Replace(ref, leaf);
  }

  bool IsOutput(int step) const {
    return std::any_of(now_.outputs.begin(), now_.outputs.end(),
                       [step](const Ref& ref) { return ref.step == step; });
  }

  const Tensor& ValueOf(const Ref& ref) const {
    return ref.step < 0 ? now_.leaves[ref.number].value : now_.steps[ref.step].results[ref.number];
  }

  // A step is left out: one of its operands takes the place of its result.
  bool Bypass() {
    for (const Ref& ref : Results()) {
      for (const Ref& operand : now_.steps[ref.step].operands) {
        const bool same = ValueOf(operand).type() == ValueOf(ref).type();
        if (!same || (operand.step < 0 && now_.outputs[0] == ref)) continue;
        Draft candidate = now_;
        candidate.Replace(ref, operand);
        if (Try(candidate)) return true;
      }
    }
    return false;
  }

  // An optional last operand is left out.
  bool FewerOperands() {
    for (size_t s = 0; s < now_.steps.size(); ++s) {
      const Draft::Step& step = now_.steps[s];
      const auto operands = static_cast<int>(step.operands.size());
      if (operands <= step.op->min_inputs) continue;
      Draft candidate = now_;
      candidate.steps[s].operands.pop_back();
      if (Try(candidate)) return true;
    }
    return false;
  }

  // One leaf takes the place of another.
  bool FewerLeaves() {
    const auto count = static_cast<int>(now_.leaves.size());
    for (int i = 0; i < count; ++i) {
      for (int j = 0; j < count; ++j) {
        const bool same = now_.leaves[i].value.type() == now_.leaves[j].value.type();
        if (i == j || !same) continue;
        Draft candidate = now_;
        candidate.Replace({-1, i}, {-1, j});
        if (Try(candidate)) return true;
      }
    }
    return false;
  }

  // A size is smaller wherever it occurs, in attributes too; or in one leaf.
  bool SmallerSizes() {
    std::set<int64_t, std::greater<>> sizes;
    for (const Draft::Leaf& leaf : now_.leaves) {
      for (int64_t size : leaf.value.shape()) {
        if (size > 1) sizes.insert(size);
      }
    }
    for (int64_t size : sizes) {
      for (int64_t smaller : std::set<int64_t>{1, 2, 3, size / 2, size - 1}) {
        if (smaller >= size || smaller < 1) continue;
        if (Try(WithSize(size, smaller, true)) || Try(WithSize(size, smaller, false))) return true;
        for (size_t i = 0; i < now_.leaves.size(); ++i) {
          const Shape shape = now_.leaves[i].value.shape();
          for (size_t d = 0; d < shape.size(); ++d) {
            if (shape[d] != size) continue;
            Draft candidate = now_;
            Shape other = shape;
            other[d] = smaller;
            candidate.leaves[i].value = Cropped(candidate.leaves[i].value, other);
            if (Try(candidate)) return true;
          }
        }
      }
    }
    return false;
  }

  Draft WithSize(int64_t size, int64_t smaller, bool in_attributes) const {
    Draft candidate = now_;
    for (Draft::Leaf& leaf : candidate.leaves) {
      Shape shape = leaf.value.shape();
      std::replace(shape.begin(), shape.end(), size, smaller);
      if (shape != leaf.value.shape()) leaf.value = Cropped(leaf.value, shape);
    }
    for (Draft::Step& step : candidate.steps) {
      for (auto& [name, value] : step.attrs) {
        auto* ints = std::get_if<std::vector<int64_t>>(&value);
        if (in_attributes && ints != nullptr) {
          std::replace(ints->begin(), ints->end(), size, smaller);
        }
      }
    }
    return candidate;
  }

  bool SimplerAttributes() {
    for (size_t s = 0; s < now_.steps.size(); ++s) {
      for (const AttrSpec& spec : now_.steps[s].op->attrs) {
        const auto attr = now_.steps[s].attrs.find(spec.name);
        if (attr == now_.steps[s].attrs.end()) continue;
        for (const AttrValue& simpler : SimplerAttrs(attr->second, spec)) {
          Draft candidate = now_;
          candidate.steps[s].attrs[spec.name] = simpler;
          if (Try(candidate)) return true;
        }
      }
    }
    return false;
  }

  bool SimplerValues() {
    for (size_t i = 0; i < now_.leaves.size(); ++i) {
      for (const Tensor& simpler : SimplerTensors(now_.leaves[i].value)) {
        Draft candidate = now_;
        candidate.leaves[i].value = simpler;
        if (Try(candidate)) return true;
      }
    }
    return false;
  }

  bool UsualOpset() {
    Draft candidate = now_;
    candidate.opset = Subject().opset;
    return candidate.opset != now_.opset && Try(candidate);
  }

  Subject best_;
  Draft now_;  // of best_
  const std::function<bool(const Subject&)>& shows_fault_;
  const ReduceOptions& options_;
  int64_t tests_ = 0;
};

}  // namespace

Subject Reduced(const Subject& subject, const std::function<bool(const Subject&)>& shows_fault,
                const ReduceOptions& options) {
  std::optional<Draft> draft = Draft::FromSubject(subject);
  if (!draft) return subject;
  return Reducer(subject, *std::move(draft), shows_fault, options).Run();
}

}  // namespace lemma::hunt
