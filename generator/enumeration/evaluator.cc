#include "generator/enumeration/evaluator.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/hash.h"
#include "base/status_macros.h"
#include "generator/sets/terms.h"

namespace lemma::generator {
namespace {

constexpr int kMostSamples = 24;  // limit on the elements that a key covers
constexpr int64_t kSmall = int64_t{1} << 20;
constexpr uint64_t kFactorSeed = 0x8f3a21c5;
constexpr uint64_t kConfirmingSeed = 0x5bd1e995;
constexpr uint64_t kExactSeed = 0x2545f491;
constexpr int kExactRounds = 3;
// On a single number, relu(s) = s holds half of the time, hence several rounds. Later ones are
// signed.
constexpr int kConfirmingRounds = 16, kRandomRounds = 4;
// A multiple of 81, so that averages over nine elements, and averages of them, are integers.
constexpr int kSignedUnit = 81, kSignedValues = 4096;

uint64_t MixKey(uint64_t key, uint64_t x) {
  const unsigned __int128 product =
      static_cast<unsigned __int128>(key ^ x) * 0x9e3779b97f4a7c15u + (x << 1 | 1);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

Evaluator::Evaluator(OperatorSet* set, uint64_t seed)
    : set_(set), num_inputs_(static_cast<int>(set->inputs().size())), seed_(seed), compiler_(seed) {
  for (int round = 0; round < kExactRounds; ++round) {
    exact_inputs_.push_back(RandomInputs(seed_ ^ (kExactSeed + round)));
  }
  for (int round = 0; round < kConfirmingRounds; ++round) {
    confirming_inputs_.push_back(ConfirmingInputs(round, {}));
  }
}

int64_t Evaluator::NumElements(int type) const {
  int64_t n = 1;
  for (int64_t d : set_->DimsOf(type)) n *= d;
  return n;
}

const std::vector<int>& Evaluator::SampleOf(int type) {
  const std::vector<int>*& known = samples_of_type_[type];
  if (known != nullptr) return *known;
  const std::vector<int64_t>& dims = set_->DimsOf(type);
  std::vector<int>& sample = samples_[dims];
  if (sample.empty()) {
    const int n = static_cast<int>(NumElements(type));
    std::vector<int> all(n);
    std::iota(all.begin(), all.end(), 0);
    uint64_t state = seed_;
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

Evaluator::TypeHash Evaluator::TypeHashOf(int type) {
  const std::vector<int64_t>& dims = set_->DimsOf(type);
  uint64_t dims_hash = dims.size() + 1;
  for (int64_t d : dims) dims_hash = MixKey(dims_hash, static_cast<uint64_t>(d));
  return {dims_hash, static_cast<int>(SampleOf(type).size())};
}

// A random linear function of the elements in the field, then scrambled.
uint64_t Evaluator::TypeHash::KeyOf(const Field* sampled) const {
  static const std::array<uint64_t, kMostSamples> kFactors = [] {
    std::array<uint64_t, kMostSamples> factors;
    for (int i = 0; i < kMostSamples; ++i) factors[i] = Mix64(kFactorSeed + i) % Field::kPrime;
    return factors;
  }();
  unsigned __int128 sum = 0;
  for (int i = 0; i < num_sampled; ++i) {
    sum += static_cast<unsigned __int128>(sampled[i].raw()) * kFactors[i];
  }
  const uint64_t key = Mix64(Field::Reduce(sum) ^ dims_hash) & ~uint64_t{1};
  return key == 0 ? 2 : key;
}

uint64_t Evaluator::Refined(uint64_t key, absl::Span<const Field> elements) {
  for (Field v : elements) key = MixKey(key, v.raw());
  key = Mix64(key) & ~uint64_t{1};
  return key == 0 ? 2 : key;
}

absl::StatusOr<const Kernel*> Evaluator::KernelOf(const Graph& graph, bool sampled) {
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

absl::StatusOr<const std::vector<Evaluator::Application>*> Evaluator::Applications(int type0,
                                                                                   int type1) {
  if (const std::vector<Application>* known = Known(type0, type1)) return known;
  auto found = std::make_unique<std::vector<Application>>();
  std::vector<int> types;
  for (int type : {type0, type1}) {
    if (type != kNone) types.push_back(type);
  }
  for (size_t i = 0; i < set_->variants().size(); ++i) {
    if (set_->variants()[i].num_operands != static_cast<int>(types.size())) continue;
    auto applied = set_->Apply(static_cast<int>(i), types);
    if (absl::IsNotFound(applied.status())) continue;
    LEMMA_RETURN_IF_ERROR(applied.status());
    Application application;
    for (int type : applied->types) application.type_hashes.push_back(TypeHashOf(type));
    application.variant = static_cast<int>(i);
    application.types = applied->types;
    application.commutative = set_->variants()[i].commutative;
    application.distinct = set_->variants()[i].distinct;
    LEMMA_ASSIGN_OR_RETURN(application.sampled, KernelOf(applied->graph, true));
    application.graph = std::move(applied->graph);
    found->push_back(std::move(application));
  }
  const size_t row = static_cast<size_t>(type0 + 1), column = static_cast<size_t>(type1 + 1);
  if (applications_.size() <= row) applications_.resize(row + 1);
  if (applications_[row].size() <= column) applications_[row].resize(column + 1);
  applications_[row][column] = std::move(found);
  return applications_[row][column].get();
}

absl::Status Evaluator::RunFull(const Application& application, const Field* const* operands,
                                std::vector<Field>* out) {
  if (application.whole == nullptr) {
    LEMMA_ASSIGN_OR_RETURN(application.whole, KernelOf(application.graph, false));
  }
  out->resize(application.whole->num_wanted());
  application.whole->Run({operands, kMostOperands}, out->data(), &scratch_);
  return absl::OkStatus();
}

std::vector<std::vector<Field>> Evaluator::RandomInputs(uint64_t seed,
                                                        const std::vector<int>& more_types) const {
  std::vector<std::vector<Field>> values;
  uint64_t state = Mix64(seed);
  for (int i = 0; i < num_inputs() + static_cast<int>(more_types.size()); ++i) {
    values.emplace_back(NumElements(TypeOfInput(i, more_types)));
    const bool small = set_->inputs()[i < num_inputs() ? i : 0].small;
    for (Field& v : values.back()) {
      state = Mix64(state + 1);
      v = small ? Field(static_cast<int64_t>(state % (2 * kSmall)) - kSmall)
                : Field::FromRaw(state % Field::kPrime);
    }
  }
  return values;
}

std::vector<std::vector<Field>> Evaluator::SignedInputs(uint64_t seed,
                                                        const std::vector<int>& more_types) const {
  std::vector<std::vector<Field>> values = RandomInputs(seed, more_types);
  uint64_t state = Mix64(~seed);
  for (std::vector<Field>& input : values) {
    const int64_t sign = (state = Mix64(state + 1)) & 1 ? 1 : -1;
    for (Field& v : input) {
      v = Field(sign * kSignedUnit * (1 + static_cast<int64_t>(v.raw() % kSignedValues)));
    }
  }
  return values;
}

std::vector<std::vector<Field>> Evaluator::ConfirmingInputs(
    int round, const std::vector<int>& more_types) const {
  const uint64_t seed = seed_ ^ (kConfirmingSeed + round);
  return round < kRandomRounds ? RandomInputs(seed, more_types) : SignedInputs(seed, more_types);
}

int Evaluator::TypeOfInput(int input, const std::vector<int>& more_types) const {
  return input < num_inputs() ? set_->inputs()[input].type : more_types[input - num_inputs()];
}

absl::StatusOr<std::vector<std::vector<Field>>> Evaluator::EvaluateGraph(
    const NumberedGraph& graph, const std::vector<std::vector<Field>>& inputs,
    const std::vector<int>& more_types) {
  std::vector<std::vector<Field>> values(graph.ops.size() * kMostOutputs);
  std::vector<int> types(values.size(), kNone);
  std::vector<Field> all;
  auto type_of = [&](int v) { return v < 0 ? TypeOfInput(-1 - v, more_types) : types[v]; };
  auto value_of = [&](int v) -> const std::vector<Field>& {
    return v < 0 ? inputs[-1 - v] : values[v];
  };
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const NumberedOp& term = graph.ops[i];
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
        [&](const Application& application) { return application.variant == term.variant; });
    if (found == applications->end()) {
      return absl::InvalidArgumentError("a graph is not well-formed");
    }
    LEMMA_RETURN_IF_ERROR(RunFull(*found, operands, &all));
    auto it = all.begin();
    for (size_t o = 0; o < found->types.size(); ++o) {
      types[OutputValue(i, o)] = found->types[o];
      const int64_t n = NumElements(found->types[o]);
      values[OutputValue(i, o)].assign(it, it + n);
      it += n;
    }
  }
  std::vector<std::vector<Field>> outputs;
  for (int v : graph.outputs) {
    outputs.push_back(value_of(v));
    // Appends the dimensions, so that equal elements of different shapes differ.
    for (int64_t d : set_->DimsOf(type_of(v))) outputs.back().push_back(Field(d));
  }
  return outputs;
}

absl::StatusOr<uint64_t> Evaluator::ExactKey(const NumberedGraph& graph) {
  uint64_t key = 0;
  for (const auto& inputs : exact_inputs_) {
    LEMMA_ASSIGN_OR_RETURN(const auto outputs, EvaluateGraph(graph, inputs));
    for (const std::vector<Field>& output : outputs) {
      for (Field v : output) key = MixKey(key, v.raw());
    }
  }
  return key;
}

absl::StatusOr<bool> Evaluator::Confirm(const Pair& pair, const std::vector<int>& more_types) {
  for (int round = 0; round < kConfirmingRounds; ++round) {
    std::vector<std::vector<Field>> made;
    if (!more_types.empty()) {
      made = ConfirmingInputs(round, more_types);
    }
    const auto& inputs = more_types.empty() ? confirming_inputs_[round] : made;
    LEMMA_ASSIGN_OR_RETURN(const auto source, EvaluateGraph(pair.source, inputs, more_types));
    LEMMA_ASSIGN_OR_RETURN(const auto target, EvaluateGraph(pair.target, inputs, more_types));
    if (source != target) return false;
  }
  return true;
}

}  // namespace lemma::generator
