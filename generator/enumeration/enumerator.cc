// Enumerates terms and computes their values.
#include "generator/enumeration/enumerator.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "generator/enumeration/enumerator_sets.h"
#include "generator/sets/terms.h"

namespace lemma::generator {
namespace {

constexpr int kMostNodes = 1 << 27;
constexpr int kTermsBetweenChecks = 4096;
constexpr uint64_t kRefiningSeed = 0x3c6ef372;

template <class T>
int64_t BytesOf(const std::vector<T>& v) {
  return static_cast<int64_t>(v.capacity() * sizeof(T));
}

}  // namespace

Enumerator::Enumerator(OperatorSet* set, const EnumeratorOptions& options)
    : set_(set),
      num_inputs_(static_cast<int>(set->inputs().size())),
      options_(options),
      evaluator_(set, options.seed) {
  const std::vector<Input>& inputs = set_->inputs();
  for (size_t k = 1; k < inputs.size(); ++k) {
    uint64_t mask = 0;
    for (size_t i = 0; i + k < inputs.size() && i < 64; ++i) {
      if (inputs[i].group == inputs[i + k].group) mask |= uint64_t{1} << i;
    }
    if (mask == 0) break;
    same_group_.push_back(mask);
  }
  for (const Variant& variant : set_->variants()) outputs_of_.push_back(variant.num_outputs);
  patterns_.resize(outputs_of_.size());
  first_node_.fill(kMostNodes);
}

absl::Status Enumerator::Run() {
  constexpr size_t kMostInputs = 64, kMostVariants = 256;
  if (set_->inputs().size() > kMostInputs || set_->variants().size() > kMostVariants) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the operator set has ", set_->inputs().size(), " inputs and ", set_->variants().size(),
        " variants of operators; there can be ", kMostInputs, " and ", kMostVariants));
  }
  if (options_.threads < 1) return absl::InvalidArgumentError("at least one thread is needed");
  if (options_.max_ops < 1 || options_.max_ops > kMostOps) {
    return absl::InvalidArgumentError(
        absl::StrCat("graphs of 1 to ", kMostOps, " operators can be enumerated"));
  }
  if (options_.num_shards < 1 || options_.num_shards > kMostKeyRanges || options_.shard < 0 ||
      options_.shard >= options_.num_shards) {
    return absl::InvalidArgumentError(absl::StrCat("there is no shard ", options_.shard, " of ",
                                                   options_.num_shards, "; there can be ",
                                                   kMostKeyRanges));
  }
  AddInputs();
  for (int size = 1; size < options_.max_ops; ++size) LEMMA_RETURN_IF_ERROR(AddNodes(size));
  first_node_[options_.max_ops] = static_cast<int>(nodes_.size());
  LEMMA_RETURN_IF_ERROR(EvaluateLastLevel());
  last_keys_.shrink_to_fit();
  MarkColliding();
  LEMMA_RETURN_IF_ERROR(RefineKeys());
  MarkColliding();
  stats_.terms_memory = TermsMemory();
  return FindGraphs();
}

absl::Status Enumerator::CheckInterrupted() const {
  if (options_.interrupted != nullptr && *options_.interrupted) {
    return absl::CancelledError("interrupted");
  }
  return absl::OkStatus();
}

int64_t Enumerator::TermsMemory() const {
  return BytesOf(nodes_) + BytesOf(masks_) + BytesOf(sums_) + BytesOf(colliding_) +
         BytesOf(types_) + BytesOf(keys_) + BytesOf(offsets_) + BytesOf(elements_) +
         BytesOf(last_keys_) +
         static_cast<int64_t>(runs_.capacity() * (sizeof(uint64_t) + sizeof(NodeRun) + 1));
}

absl::Status Enumerator::CheckMemory() const {
  if (TermsMemory() <= options_.max_memory) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the terms do not fit in the ", options_.max_memory, " bytes allowed"));
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

absl::Status Enumerator::AddNodes(int size) {
  first_node_[size] = static_cast<int>(nodes_.size());
  return ForEachSet(size - 1, 0, kMostNodes,
                    [&](const NodeSet& set, absl::Span<const NodeRun> runs) -> absl::Status {
                      CountGraphs(size, set, runs);
                      const int first = static_cast<int>(nodes_.size());
                      LEMMA_RETURN_IF_ERROR(ForEachNewApplication(
                          set, true, [&](const NewApplication& term) -> absl::Status {
                            Keys keys = {};
                            bool pruned = false;
                            LEMMA_RETURN_IF_ERROR(Evaluate(set, term, &keys, &pruned));
                            return pruned ? absl::OkStatus() : AddNode(size, term, keys);
                          }));
                      const int end = static_cast<int>(nodes_.size());
                      if (first == end) return absl::OkStatus();
                      uint64_t packed = 0;
                      for (int i = 0; i < set.size; ++i) {
                        packed = packed << kNodeBits | static_cast<uint64_t>(set.nodes[i] + 1);
                      }
                      bool two_outputs = false;
                      for (int node = first; node < end; ++node) two_outputs |= OutputsOf(node) > 1;
                      runs_[packed] = {first, end, set.size == 0, two_outputs};
                      if (set.size > 0) has_users_[set.nodes[set.size - 1]] = true;
                      return absl::OkStatus();
                    });
}

absl::Status Enumerator::AddNode(int size, const NewApplication& term, const Keys& keys) {
  const bool keep = size <= options_.max_ops - 2;
  if (nodes_.size() >= (keep ? (size_t{1} << kNodeBits) - 2 : kMostNodes)) {
    return absl::ResourceExhaustedError("there are more terms than can be numbered");
  }
  if (nodes_.size() % kTermsBetweenChecks == 0) LEMMA_RETURN_IF_ERROR(CheckMemory());
  const std::vector<int>& types = term.application->types;
  if (keep) {
    LEMMA_RETURN_IF_ERROR(
        evaluator_.RunFull(*term.application,
                           std::array<const Field*, kMostOperands>{Elements(term.operands[0]),
                                                                   Elements(term.operands[1])}
                               .data(),
                           &output_));
  }
  int64_t offset = static_cast<int64_t>(elements_.size());
  for (int o = 0; o < kMostOutputs; ++o) {
    const bool there = o < static_cast<int>(types.size());
    types_.push_back(there ? types[o] : kNone);
    keys_.push_back(keys[o]);
    if (keep) offsets_.push_back(offset);
    if (there) offset += evaluator_.NumElements(types[o]);
  }
  if (keep) elements_.insert(elements_.end(), output_.begin(), output_.end());
  nodes_.push_back({term.application->variant, term.operands});
  masks_.push_back(term.mask);
  has_users_.push_back(false);
  return absl::OkStatus();
}

absl::Status Enumerator::EvaluateLastLevel() {
  uint64_t ordinal = 0;
  return ForEachSet(options_.max_ops - 1, 0, kMostNodes,
                    [&](const NodeSet& set, absl::Span<const NodeRun> runs) -> absl::Status {
                      CountGraphs(options_.max_ops, set, runs);
                      // Sets are ordered by their first nodes.
                      if (set.size > 0) {
                        cursors_.resize(std::max<size_t>(cursors_.size(), set.nodes[0] + 1),
                                        {ordinal, last_keys_.size()});
                      }
                      ++ordinal;
                      return ForEachNewApplication(
                          set, true, [&](const NewApplication& term) -> absl::Status {
                            Keys keys = {};
                            bool pruned = false;
                            LEMMA_RETURN_IF_ERROR(Evaluate(set, term, &keys, &pruned));
                            if (stats_.terms % kTermsBetweenChecks == 0)
                              LEMMA_RETURN_IF_ERROR(CheckMemory());
                            for (size_t o = 0; o < term.application->types.size(); ++o) {
                              last_keys_.push_back(pruned ? 0 : keys[o]);
                            }
                            return absl::OkStatus();
                          });
                    });
}

const Field* Enumerator::Elements(int value) {
  if (value == kNone) return nullptr;
  if (value < static_cast<int>(offsets_.size())) return elements_.data() + offsets_[value];
  return prepared_[OutputOf(value)].data();
}

// A set has at most one node whose elements are not stored, because it rests on all others.
absl::Status Enumerator::PrepareElements(int number) {
  if (number == prepared_node_) return absl::OkStatus();
  const Application& application = ApplicationOf(number);
  const Operands& read = nodes_[number].operands;
  const Field* operands[kMostOperands] = {Elements(read[0]), Elements(read[1])};
  LEMMA_RETURN_IF_ERROR(evaluator_.RunFull(application, operands, &output_));
  auto it = output_.begin();
  for (size_t o = 0; o < application.types.size(); ++o) {
    const int64_t n = evaluator_.NumElements(application.types[o]);
    prepared_[o].assign(it, it + n);
    it += n;
  }
  prepared_node_ = number;
  return absl::OkStatus();
}

absl::Status Enumerator::PrepareOperands(const Operands& operands) {
  for (int v : operands) {
    if (v >= static_cast<int>(offsets_.size())) {
      LEMMA_RETURN_IF_ERROR(PrepareElements(NodeOf(v)));
    }
  }
  return absl::OkStatus();
}

const Evaluator::Application& Enumerator::ApplicationOf(int node) const {
  const auto [a, b] = nodes_[node].operands;
  const std::vector<Application>& applications =
      *evaluator_.Known(a == kNone ? kNone : types_[a], b == kNone ? kNone : types_[b]);
  return *std::find_if(applications.begin(), applications.end(),
                       [&](const Application& one) { return one.variant == nodes_[node].variant; });
}

absl::Status Enumerator::Evaluate(const NodeSet& set, const NewApplication& term, Keys* keys,
                                  bool* pruned) {
  ++stats_.terms;
  *pruned = false;
  LEMMA_RETURN_IF_ERROR(PrepareOperands(term.operands));
  const Field* operands[kMostOperands] = {Elements(term.operands[0]), Elements(term.operands[1])};
  const Application& application = *term.application;
  output_.resize(application.sampled->num_wanted());
  application.sampled->Run(operands, output_.data(), &scratch_);
  const Field* sampled = output_.data();
  std::vector<int> targets;  // value numbers
  for (size_t o = 0; o < application.types.size(); ++o) {
    const uint64_t key = (*keys)[o] = application.type_hashes[o].KeyOf(sampled);
    sampled += application.type_hashes[o].num_sampled;
    if (targets.size() < o) continue;
    for (uint64_t inputs = term.mask; inputs != 0 && targets.size() == o; inputs &= inputs - 1) {
      const int input = __builtin_ctzll(inputs);
      if (keys_[input] == key) targets.push_back(input);
    }
    for (int i = 0; i < set.size; ++i) {
      for (int p = 0; p < OutputsOf(set.nodes[i]) && targets.size() == o; ++p) {
        if (keys_[ValueOf(set.nodes[i], p)] == key) targets.push_back(ValueOf(set.nodes[i], p));
      }
    }
  }
  if (targets.size() == application.types.size()) {
    LEMMA_ASSIGN_OR_RETURN(*pruned, IsIdentity(set, term, targets));
  }
  stats_.pruned_terms += *pruned;
  if (!*pruned && Missing(term.mask) == 0) AddToCount(set.size + 1, 1);
  return absl::OkStatus();
}

absl::StatusOr<bool> Enumerator::IsIdentity(const NodeSet& set, const NewApplication& term,
                                            const std::vector<int>& targets) {
  const int variant = term.application->variant;
  Pair identity;
  identity.source =
      Expanded(GraphOf(set, variant, term.operands, std::array<uint64_t, kMostOutputs>{}.data()));
  identity.target.ops = identity.source.ops;
  identity.target.ops.pop_back();
  identity.source.outputs.clear();
  for (size_t o = 0; o < targets.size(); ++o) {
    identity.source.outputs.push_back(OutputValue(set.size, static_cast<int>(o)));
    identity.target.outputs.push_back(LocalValue(set, targets[o]));
  }
  // If another identity implies it, no random inputs are needed.
  bool follows = false;
  for (const IdentityPattern& pattern : patterns_[variant]) {
    const size_t last = pattern.source.ops.size() - 1;
    const NumberedOp& top = pattern.source.ops[last];
    std::vector<int> inputs(num_inputs(), kNone), ops(pattern.source.ops.size(), kNone);
    follows = true;
    for (size_t k = 0; k < top.operands.size() && follows; ++k) {
      follows = Matches(pattern.source, top.operands[k], term.operands[k], &inputs, &ops);
    }
    for (size_t o = 0; o < targets.size() && follows; ++o) {
      const int v = pattern.targets[o];
      follows =
          targets[o] == (v < 0 ? inputs[-1 - v] : ValueOf(ops[v / kMostOutputs], v % kMostOutputs));
    }
    if (follows) break;
  }
  if (!follows) {
    LEMMA_ASSIGN_OR_RETURN(const bool confirmed, evaluator_.Confirm(identity));
    if (!confirmed) return false;
    patterns_[variant].push_back({identity.source, identity.target.outputs});
  }
  RemoveUnread(&identity.target);
  if (Missing(term.mask) == 0 && num_identities_++ % options_.num_shards == options_.shard) {
    identities_.push_back(std::move(identity));
  }
  return true;
}

// Whether an identity of one value may hold for the other: they must have the same rank and, after
// the first two dimensions, the same sizes (such as those of a kernel's window).
bool Enumerator::MayShareIdentity(int value, int other) const {
  const std::vector<int64_t>& a = set_->DimsOf(types_[value]);
  const std::vector<int64_t>& b = set_->DimsOf(types_[other]);
  const size_t skipped = std::min<size_t>(a.size(), 2);
  return a.size() == b.size() && std::equal(a.begin() + skipped, a.end(), b.begin() + skipped);
}

bool Enumerator::Matches(const NumberedGraph& pattern, int value, int of, std::vector<int>* inputs,
                         std::vector<int>* ops) const {
  if (value < 0) {
    int& bound = (*inputs)[-1 - value];
    if (bound == kNone && MayShareIdentity(-1 - value, of)) bound = of;
    return bound == of;
  }
  const NumberedOp& term = pattern.ops[value / kMostOutputs];
  const int node = NodeOf(of);
  if (node == kNone || OutputOf(of) != value % kMostOutputs ||
      nodes_[node].variant != term.variant) {
    return false;
  }
  int& bound = (*ops)[value / kMostOutputs];
  if (bound != kNone) return bound == node;
  bound = node;
  for (size_t k = 0; k < term.operands.size(); ++k) {
    if (!Matches(pattern, term.operands[k], nodes_[node].operands[k], inputs, ops)) return false;
  }
  return true;
}

absl::Status Enumerator::RefineKeys() {
  const auto inputs = evaluator_.SignedInputs(options_.seed ^ kRefiningSeed);
  for (int i = 0; i < num_inputs(); ++i) {
    std::copy(inputs[i].begin(), inputs[i].end(), elements_.begin() + offsets_[i]);
    if (keys_[i] & kColliding) keys_[i] = Evaluator::Refined(keys_[i], inputs[i]);
  }
  prepared_node_ = kNone;
  // Computes the elements into output_.
  auto refine = [&](const Application& application, const Operands& operands,
                    uint64_t* keys) -> absl::Status {
    const Field* elements[kMostOperands] = {Elements(operands[0]), Elements(operands[1])};
    LEMMA_RETURN_IF_ERROR(evaluator_.RunFull(application, elements, &output_));
    absl::Span<const Field> rest = output_;
    for (size_t o = 0; o < application.types.size(); ++o) {
      const size_t n = static_cast<size_t>(evaluator_.NumElements(application.types[o]));
      if (keys[o] & kColliding) keys[o] = Evaluator::Refined(keys[o], rest.subspan(0, n));
      rest.remove_prefix(n);
    }
    return absl::OkStatus();
  };
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) {
    const int value = ValueOf(node, 0);
    const bool kept = value < static_cast<int>(offsets_.size());
    if (!kept && ((keys_[value] | keys_[value + 1]) & kColliding) == 0) continue;
    LEMMA_RETURN_IF_ERROR(refine(ApplicationOf(node), nodes_[node].operands, &keys_[value]));
    if (kept) std::copy(output_.begin(), output_.end(), elements_.begin() + offsets_[value]);
    if (node % kTermsBetweenChecks == 0) LEMMA_RETURN_IF_ERROR(CheckInterrupted());
  }
  uint64_t* keys = last_keys_.data();
  return ForEachSet(options_.max_ops - 1, 0, kMostNodes,
                    [&](const NodeSet& set, absl::Span<const NodeRun>) -> absl::Status {
                      return ForEachNewApplication(
                          set, false, [&](const NewApplication& term) -> absl::Status {
                            const size_t n = term.application->types.size();
                            uint64_t* const here = keys;
                            keys += n;
                            uint64_t colliding = 0;
                            for (size_t o = 0; o < n; ++o) colliding |= here[o] & kColliding;
                            if (colliding == 0) return absl::OkStatus();
                            LEMMA_RETURN_IF_ERROR(PrepareOperands(term.operands));
                            return refine(*term.application, term.operands, here);
                          });
                    });
}

void Enumerator::MarkColliding() {
  std::vector<uint64_t> all;
  all.reserve(last_keys_.size() + keys_.size());
  all.insert(all.end(), last_keys_.begin(), last_keys_.end());
  all.insert(all.end(), keys_.begin(), keys_.end());
  for (uint64_t& key : all) key &= ~kColliding;
  const KeySet repeated(std::move(all), 2);
  stats_.distinct = repeated.distinct();
  for (std::vector<uint64_t>* keys : {&keys_, &last_keys_}) {
    for (uint64_t& key : *keys) {
      key &= ~kColliding;
      key |= repeated.Contains(key) ? kColliding : 0;
    }
  }
  colliding_.resize(nodes_.size());
  sums_.assign(nodes_.size(), 0);
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) {
    colliding_[node] = 1;
    for (int o = 0; o < OutputsOf(node); ++o) {
      const uint64_t key = keys_[ValueOf(node, o)];
      colliding_[node] &= key & kColliding;
      sums_[node] += key & ~kColliding;
    }
  }
}

}  // namespace lemma::generator
