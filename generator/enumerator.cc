// Terms: their enumeration and their values.
#include "generator/enumerator.h"

#include <algorithm>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "generator/terms.h"
#include "graph/hash.h"
#include "graph/ops/status_macros.h"

namespace lemma::generator {
namespace {

// Three numbers of nodes are packed into 64 bits.
constexpr size_t kMostNodes = (size_t{1} << 21) - 2;

}  // namespace

Enumerator::Enumerator(OperatorSet* set, const EnumeratorOptions& options)
    : set_(set),
      num_inputs_(static_cast<int>(set->inputs().size())),
      options_(options),
      evaluator_(set, options.seed) {
  const std::vector<Input>& inputs = set_->inputs();
  for (size_t k = 1; k < inputs.size(); ++k) {
    uint64_t mask = 0;
    for (size_t i = 0; i + k < inputs.size(); ++i) {
      if (inputs[i].group == inputs[i + k].group) mask |= uint64_t{1} << i;
    }
    if (mask == 0) break;
    same_group_.push_back(mask);
  }
}

absl::Status Enumerator::CheckInterrupted() const {
  if (options_.interrupted != nullptr && *options_.interrupted) {
    return absl::CancelledError("interrupted");
  }
  return absl::OkStatus();
}

void Enumerator::AddInputs() {
  std::vector<std::vector<Field>> values = evaluator_.RandomInputs(options_.seed);
  for (int i = 0; i < num_inputs(); ++i) {
    const int type = set_->inputs()[i].type;
    types_.push_back(type);
    offsets_.push_back(static_cast<int64_t>(elements_.size()));
    elements_.insert(elements_.end(), values[i].begin(), values[i].end());
    std::vector<Field> sampled;
    for (int element : evaluator_.SampleOf(type)) sampled.push_back(values[i][element]);
    keys_.push_back(evaluator_.KeyOf(type, sampled.data()));
  }
}

absl::Status Enumerator::ForEachNewTerm(const NodeSet& set,
                                        const std::function<absl::Status(const NewTerm&)>& visit) {
  // Values that have to be read by the new term: those of nodes that no other node reads.
  absl::InlinedVector<int, 4> top;
  for (int i = 0; i < set.size; ++i) {
    bool read = false;
    for (int j = i + 1; j < set.size; ++j) {
      for (int v : nodes_[set.nodes[j]].operands) read |= v != kNone && NodeOf(v) == set.nodes[i];
    }
    if (!read) top.push_back(set.nodes[i]);
    if (top.size() > kMostOperands) return absl::OkStatus();
  }
  NewTerm term;
  auto apply = [&](int a, int b) -> absl::Status {
    term.mask = set.mask;
    for (int v : {a, b}) {
      if (v != kNone && v < num_inputs()) term.mask |= uint64_t{1} << v;
    }
    if (!Completable(term.mask, set.size + 1)) return absl::OkStatus();
    LEMMA_ASSIGN_OR_RETURN(
        const std::vector<Application>* applications,
        evaluator_.Applications(a == kNone ? kNone : types_[a], b == kNone ? kNone : types_[b]));
    term.operands = {a, b};
    for (const Application& application : *applications) {
      if ((application.commutative && a > b) || (application.distinct && a == b)) continue;
      term.application = &application;
      LEMMA_RETURN_IF_ERROR(visit(term));
    }
    return absl::OkStatus();
  };
  using Values = absl::InlinedVector<int, 64>;
  auto outputs = [&](int node) {
    Values values;
    for (int o = 0; o < OutputsOf(node); ++o) values.push_back(ValueOf(node, o));
    return values;
  };
  auto apply_all = [&](const Values& first, const Values& second) -> absl::Status {
    for (int a : first) {
      for (int b : second) LEMMA_RETURN_IF_ERROR(apply(a, b));
    }
    return absl::OkStatus();
  };
  if (top.size() == 2) {
    LEMMA_RETURN_IF_ERROR(apply_all(outputs(top[0]), outputs(top[1])));
    return apply_all(outputs(top[1]), outputs(top[0]));
  }
  Values others;  // than those of the top
  for (int i = 0; i < num_inputs(); ++i) others.push_back(i);
  for (int i = 0; i < set.size; ++i) {
    if (!top.empty() && set.nodes[i] == top[0]) continue;
    for (int v : outputs(set.nodes[i])) others.push_back(v);
  }
  if (top.empty()) {
    LEMMA_RETURN_IF_ERROR(apply(kNone, kNone));
    LEMMA_RETURN_IF_ERROR(apply_all(others, {kNone}));
    return apply_all(others, others);
  }
  const Values read = outputs(top[0]);
  LEMMA_RETURN_IF_ERROR(apply_all(read, {kNone}));
  LEMMA_RETURN_IF_ERROR(apply_all(read, read));
  LEMMA_RETURN_IF_ERROR(apply_all(read, others));
  return apply_all(others, read);
}

const Field* Enumerator::Elements(int value) {
  if (offsets_[value] >= 0) return elements_.data() + offsets_[value];
  return prepared_[(value - num_inputs()) % kMostOutputs].data();
}

// Only the last node of a set can be one whose elements are not kept: it rests on all others.
absl::Status Enumerator::PrepareElements(const NodeSet& set) {
  if (set.size == 0) return absl::OkStatus();
  const int number = set.nodes[set.size - 1];
  if (offsets_[ValueOf(number, 0)] >= 0 || number == prepared_node_) return absl::OkStatus();
  const Node& node = nodes_[number];
  const auto [a, b] = node.operands;
  LEMMA_ASSIGN_OR_RETURN(
      const std::vector<Application>* applications,
      evaluator_.Applications(a == kNone ? kNone : types_[a], b == kNone ? kNone : types_[b]));
  for (const Application& application : *applications) {
    if (application.instance != node.instance) continue;
    const Field* operands[kMostOperands] = {a == kNone ? nullptr : Elements(a),
                                            b == kNone ? nullptr : Elements(b)};
    LEMMA_RETURN_IF_ERROR(evaluator_.RunFull(application, operands, &output_));
    auto it = output_.begin();
    for (size_t o = 0; o < application.types.size(); ++o) {
      const int64_t n = evaluator_.NumElements(application.types[o]);
      prepared_[o].assign(it, it + n);
      it += n;
    }
  }
  prepared_node_ = number;
  return absl::OkStatus();
}

absl::Status Enumerator::Evaluate(const NodeSet& set, const NewTerm& term,
                                  std::array<uint64_t, kMostOutputs>* keys, bool* pruned) {
  ++stats_.terms;
  const Field* operands[kMostOperands] = {
      term.operands[0] == kNone ? nullptr : Elements(term.operands[0]),
      term.operands[1] == kNone ? nullptr : Elements(term.operands[1])};
  const Kernel& kernel = *term.application->sampled;
  output_.resize(kernel.num_wanted());
  kernel.Run(operands, output_.data(), &scratch_);
  const std::vector<int>& types = term.application->types;
  const Field* sampled = output_.data();
  Pair identity;
  for (size_t o = 0; o < types.size(); ++o) {
    const uint64_t key = (*keys)[o] = evaluator_.KeyOf(types[o], sampled);
    sampled += evaluator_.SampleOf(types[o]).size();
    auto is_equal = [&](int value) { return (keys_[value] & ~uint64_t{1}) == key; };
    for (int i = 0; i < num_inputs() && identity.target.outputs.size() == o; ++i) {
      if ((term.mask >> i & 1) && is_equal(i)) identity.target.outputs.push_back(InputValue(i));
    }
    for (int i = 0; i < set.size && identity.target.outputs.size() == o; ++i) {
      for (int p = 0; p < OutputsOf(set.nodes[i]); ++p) {
        if (identity.target.outputs.size() == o && is_equal(ValueOf(set.nodes[i], p))) {
          identity.target.outputs.push_back(OutputValue(i, p));
        }
      }
    }
  }
  *pruned = false;
  if (identity.target.outputs.size() < types.size()) return absl::OkStatus();
  const std::vector<int> target_outputs = identity.target.outputs;
  identity.source = GraphOf(set, term.application->instance, term.operands, {});
  identity.target.ops = identity.source.ops;
  identity.target.ops.pop_back();
  identity.source.outputs.clear();
  for (size_t o = 0; o < types.size(); ++o) {
    identity.source.outputs.push_back(OutputValue(set.size, static_cast<int>(o)));
  }
  RemoveUnread(&identity.target);
  LEMMA_ASSIGN_OR_RETURN(*pruned, evaluator_.Confirm(identity));
  if (!*pruned) return absl::OkStatus();
  ++stats_.pruned_terms;
  if (Missing(term.mask) == 0) identities_.push_back(std::move(identity));
  return absl::OkStatus();
}

absl::Status Enumerator::AddNodes(int size) {
  const bool keep = size <= options_.max_ops - 2;
  return ForEachSet(size - 1, [&](const NodeSet& set) -> absl::Status {
    const int first = static_cast<int>(nodes_.size());
    LEMMA_RETURN_IF_ERROR(PrepareElements(set));
    LEMMA_RETURN_IF_ERROR(ForEachNewTerm(set, [&](const NewTerm& term) -> absl::Status {
      std::array<uint64_t, kMostOutputs> keys = {};
      bool pruned = false;
      LEMMA_RETURN_IF_ERROR(Evaluate(set, term, &keys, &pruned));
      if (pruned) return absl::OkStatus();
      Node node;
      node.instance = term.application->instance;
      node.operands = term.operands;
      node.mask = term.mask;
      node.size = size;
      std::copy_n(set.nodes.begin(), set.size, node.closure.begin());
      node.closure[set.size] = static_cast<int>(nodes_.size());
      if (nodes_.size() >= kMostNodes) {
        return absl::ResourceExhaustedError("there are more terms than can be numbered");
      }
      const std::vector<int>& types = term.application->types;
      if (keep) {
        const Field* operands[kMostOperands] = {
            term.operands[0] == kNone ? nullptr : Elements(term.operands[0]),
            term.operands[1] == kNone ? nullptr : Elements(term.operands[1])};
        LEMMA_RETURN_IF_ERROR(evaluator_.RunFull(*term.application, operands, &output_));
      }
      int64_t offset = static_cast<int64_t>(elements_.size());
      for (int o = 0; o < kMostOutputs; ++o) {
        const bool there = o < static_cast<int>(types.size());
        types_.push_back(there ? types[o] : kNone);
        keys_.push_back(keys[o]);
        offsets_.push_back(keep && there ? offset : -1);
        if (there) offset += evaluator_.NumElements(types[o]);
      }
      if (keep) elements_.insert(elements_.end(), output_.begin(), output_.end());
      nodes_.push_back(node);
      return absl::OkStatus();
    }));
    const int count = static_cast<int>(nodes_.size()) - first;
    if (count > 0) runs_[PackedKey(set, (1u << set.size) - 1)] = {first, count};
    return absl::OkStatus();
  });
}

absl::Status Enumerator::EvaluateLastLevel() {
  return ForEachSet(options_.max_ops - 1, [&](const NodeSet& set) -> absl::Status {
    LEMMA_RETURN_IF_ERROR(PrepareElements(set));
    return ForEachNewTerm(set, [&](const NewTerm& term) -> absl::Status {
      std::array<uint64_t, kMostOutputs> keys = {};
      bool pruned = false;
      LEMMA_RETURN_IF_ERROR(Evaluate(set, term, &keys, &pruned));
      for (size_t o = 0; o < term.application->types.size(); ++o) {
        last_keys_.push_back(pruned ? 0 : keys[o]);
      }
      return absl::OkStatus();
    });
  });
}

}  // namespace lemma::generator
