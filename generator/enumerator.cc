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
constexpr int kMostSamples = 24;  // elements that a key looks at
constexpr uint64_t kConfirmingSeed = 0x5bd1e995;
constexpr uint64_t kExactSeed = 0x2545f491;
constexpr int kExactRounds = 3;
// Of an order: one alone says relu(s) = s of half of all numbers.
constexpr int kConfirmingRounds = 8;

uint64_t MixKey(uint64_t key, uint64_t x) {
  const unsigned __int128 product =
      static_cast<unsigned __int128>(key ^ x) * 0x9e3779b97f4a7c15u + (x << 1 | 1);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

int NumElements(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return static_cast<int>(n);
}

}  // namespace

Enumerator::Enumerator(OperatorSet* set, const EnumeratorOptions& options)
    : set_(set),
      num_inputs_(static_cast<int>(set->inputs().size())),
      options_(options),
      compiler_(options.seed) {
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

const std::vector<int>& Enumerator::SampleOf(int type) {
  const std::vector<int>*& known = samples_of_type_[type];
  if (known != nullptr) return *known;
  const std::vector<int64_t>& dims = set_->DimsOf(type);
  std::vector<int>& sample = samples_[dims];
  if (sample.empty()) {
    const int n = NumElements(dims);
    std::vector<int> all(n);
    std::iota(all.begin(), all.end(), 0);
    uint64_t state = options_.seed;
    for (int i = 0; i < std::min(n, kMostSamples); ++i) {
      state = Mix64(state + 1);
      std::swap(all[i], all[i + static_cast<int>(state % static_cast<uint64_t>(n - i))]);
    }
    all.resize(std::min(n, kMostSamples));
    std::sort(all.begin(), all.end());
    sample = std::move(all);
  }
  known = &sample;
  return sample;
}

uint64_t Enumerator::KeyOf(int type, const Field* sampled) {
  const std::vector<int64_t>& dims = set_->DimsOf(type);
  uint64_t key = dims.size() + 1;
  for (int64_t d : dims) key = MixKey(key, static_cast<uint64_t>(d));
  const size_t n = SampleOf(type).size();
  for (size_t i = 0; i < n; ++i) key = MixKey(key, sampled[i].raw());
  key = Mix64(key) & ~uint64_t{1};
  return key == 0 ? 2 : key;
}

absl::StatusOr<const Kernel*> Enumerator::KernelOf(const Graph& graph, bool sampled) {
  uint64_t id = sampled ? 1 : 2;
  for (const Value& v : graph.outputs()) id = Mix64(id ^ Mix64(v.hash()));
  std::unique_ptr<Kernel>& kernel = kernels_[id];
  if (kernel != nullptr) return kernel.get();
  std::vector<std::vector<int>> wanted;
  for (const Value& v : graph.outputs()) {
    std::vector<int> all(v.type().num_elements());
    std::iota(all.begin(), all.end(), 0);
    auto it = samples_.find(std::vector<int64_t>(v.shape().begin(), v.shape().end()));
    wanted.push_back(sampled && it != samples_.end() ? it->second : all);
  }
  LEMMA_ASSIGN_OR_RETURN(Kernel compiled, compiler_.Compile(graph, wanted));
  kernel = std::make_unique<Kernel>(std::move(compiled));
  return kernel.get();
}

absl::StatusOr<const std::vector<Enumerator::Application>*> Enumerator::Applications(int type0,
                                                                                     int type1) {
  const uint64_t id = static_cast<uint64_t>(type0 + 1) << 32 | static_cast<uint32_t>(type1 + 1);
  std::unique_ptr<std::vector<Application>>& known = applications_[id];
  if (known != nullptr) return known.get();
  auto found = std::make_unique<std::vector<Application>>();
  std::vector<int> types;
  for (int type : {type0, type1}) {
    if (type != kNone) types.push_back(type);
  }
  for (size_t i = 0; i < set_->instances().size(); ++i) {
    if (set_->instances()[i].num_operands != static_cast<int>(types.size())) continue;
    auto applied = set_->Apply(static_cast<int>(i), types);
    if (absl::IsNotFound(applied.status())) continue;
    LEMMA_RETURN_IF_ERROR(applied.status());
    for (int type : applied->types) SampleOf(type);
    Application application;
    application.instance = static_cast<int>(i);
    application.types = applied->types;
    application.commutative = set_->instances()[i].commutative;
    LEMMA_ASSIGN_OR_RETURN(application.sampled, KernelOf(applied->graph, true));
    application.graph = std::move(applied->graph);
    found->push_back(std::move(application));
  }
  // `known` may have moved.
  auto& place = applications_[id];
  place = std::move(found);
  return place.get();
}

void Enumerator::AddInputs() {
  for (int round = 0; round < kExactRounds; ++round) {
    exact_inputs_.push_back(RandomInputs(options_.seed ^ (kExactSeed + round)));
  }
  for (int round = 0; round < kConfirmingRounds; ++round) {
    confirming_inputs_.push_back(RandomInputs(options_.seed ^ (kConfirmingSeed + round)));
  }
  std::vector<std::vector<Field>> values = RandomInputs(options_.seed);
  for (int i = 0; i < num_inputs(); ++i) {
    const int type = set_->inputs()[i].type;
    types_.push_back(type);
    offsets_.push_back(static_cast<int64_t>(elements_.size()));
    elements_.insert(elements_.end(), values[i].begin(), values[i].end());
    std::vector<Field> sampled;
    for (int element : SampleOf(type)) sampled.push_back(values[i][element]);
    keys_.push_back(KeyOf(type, sampled.data()));
  }
}

std::vector<std::vector<Field>> Enumerator::RandomInputs(
    uint64_t seed, const std::vector<int>& more_inputs) const {
  std::vector<std::vector<Field>> values;
  uint64_t state = Mix64(seed);
  for (int i = 0; i < num_inputs() + static_cast<int>(more_inputs.size()); ++i) {
    values.emplace_back(NumElements(set_->DimsOf(TypeOfInput(i, more_inputs))));
    for (Field& v : values.back()) v = Field::FromRaw((state = Mix64(state + 1)) % Field::kPrime);
  }
  return values;
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
        Applications(a == kNone ? kNone : types_[a], b == kNone ? kNone : types_[b]));
    term.operands = {a, b};
    for (const Application& application : *applications) {
      if (application.commutative && a > b) continue;
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

absl::Status Enumerator::RunFull(const Application& application, const Field* const* operands) {
  LEMMA_ASSIGN_OR_RETURN(const Kernel* kernel, KernelOf(application.graph, false));
  output_.resize(kernel->num_wanted());
  kernel->Run({operands, kMostOperands}, output_.data(), &scratch_);
  return absl::OkStatus();
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
      Applications(a == kNone ? kNone : types_[a], b == kNone ? kNone : types_[b]));
  for (const Application& application : *applications) {
    if (application.instance != node.instance) continue;
    const Field* operands[kMostOperands] = {a == kNone ? nullptr : Elements(a),
                                            b == kNone ? nullptr : Elements(b)};
    LEMMA_RETURN_IF_ERROR(RunFull(application, operands));
    auto it = output_.begin();
    for (size_t o = 0; o < application.types.size(); ++o) {
      const int n = NumElements(set_->DimsOf(application.types[o]));
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
    const uint64_t key = (*keys)[o] = KeyOf(types[o], sampled);
    sampled += SampleOf(types[o]).size();
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
  LEMMA_ASSIGN_OR_RETURN(*pruned, Confirm(identity));
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
        LEMMA_RETURN_IF_ERROR(RunFull(*term.application, operands));
      }
      int64_t offset = static_cast<int64_t>(elements_.size());
      for (int o = 0; o < kMostOutputs; ++o) {
        const bool there = o < static_cast<int>(types.size());
        types_.push_back(there ? types[o] : kNone);
        keys_.push_back(keys[o]);
        offsets_.push_back(keep && there ? offset : -1);
        if (there) offset += NumElements(set_->DimsOf(types[o]));
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

absl::StatusOr<std::vector<std::vector<Field>>> Enumerator::EvaluateGraph(
    const TermGraph& graph, const std::vector<std::vector<Field>>& inputs,
    const std::vector<int>& more_inputs) {
  std::vector<std::vector<Field>> values(graph.ops.size() * kMostOutputs);
  std::vector<int> types(values.size(), kNone);
  auto type_of = [&](int v) { return v < 0 ? TypeOfInput(-1 - v, more_inputs) : types[v]; };
  auto value_of = [&](int v) -> const std::vector<Field>& {
    return v < 0 ? inputs[-1 - v] : values[v];
  };
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Term& term = graph.ops[i];
    const Field* operands[kMostOperands] = {};
    for (size_t k = 0; k < term.operands.size(); ++k) {
      operands[k] = value_of(term.operands[k]).data();
    }
    LEMMA_ASSIGN_OR_RETURN(
        const std::vector<Application>* applications,
        Applications(term.operands.size() > 0 ? type_of(term.operands[0]) : kNone,
                     term.operands.size() > 1 ? type_of(term.operands[1]) : kNone));
    auto found = std::find_if(
        applications->begin(), applications->end(),
        [&](const Application& application) { return application.instance == term.instance; });
    if (found == applications->end()) {
      return absl::InvalidArgumentError("a graph is not well-formed");
    }
    LEMMA_RETURN_IF_ERROR(RunFull(*found, operands));
    auto it = output_.begin();
    for (size_t o = 0; o < found->types.size(); ++o) {
      types[OutputValue(i, o)] = found->types[o];
      const int n = NumElements(set_->DimsOf(found->types[o]));
      values[OutputValue(i, o)].assign(it, it + n);
      it += n;
    }
  }
  std::vector<std::vector<Field>> outputs;
  for (int v : graph.outputs) {
    outputs.push_back(value_of(v));
    // Dimensions go with the elements, so that equal elements of another shape differ.
    for (int64_t d : set_->DimsOf(type_of(v))) outputs.back().push_back(Field(d));
  }
  return outputs;
}

absl::StatusOr<uint64_t> Enumerator::ExactKey(const TermGraph& graph) {
  uint64_t key = 0;
  for (const auto& inputs : exact_inputs_) {
    LEMMA_ASSIGN_OR_RETURN(const auto outputs, EvaluateGraph(graph, inputs));
    for (const std::vector<Field>& output : outputs) {
      for (Field v : output) key = MixKey(key, v.raw());
    }
  }
  return key;
}

int Enumerator::TypeOfInput(int input, const std::vector<int>& more_inputs) const {
  return set_->inputs()[input < num_inputs() ? input : more_inputs[input - num_inputs()]].type;
}

absl::StatusOr<bool> Enumerator::Confirm(const Pair& pair, const std::vector<int>& more_inputs) {
  for (int round = 0; round < kConfirmingRounds; ++round) {
    std::vector<std::vector<Field>> made;
    if (!more_inputs.empty()) {
      made = RandomInputs(options_.seed ^ (kConfirmingSeed + round), more_inputs);
    }
    const auto& inputs = more_inputs.empty() ? confirming_inputs_[round] : made;
    LEMMA_ASSIGN_OR_RETURN(const auto source, EvaluateGraph(pair.source, inputs, more_inputs));
    LEMMA_ASSIGN_OR_RETURN(const auto target, EvaluateGraph(pair.target, inputs, more_inputs));
    if (source != target) return false;
  }
  return true;
}

}  // namespace lemma::generator
