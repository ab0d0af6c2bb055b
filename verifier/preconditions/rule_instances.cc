#include "verifier/preconditions/rule_instances.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "graph/expr/compose.h"
#include "verifier/refutation/concrete.h"
#include "verifier/refutation/refuter.h"

namespace lemma::prover {
namespace {

constexpr int64_t kMaxSteps = 8000;
constexpr int64_t kMaxElements = 600;

// The tensors that a body reads, and its outermost reductions.
struct BodyFacts {
  std::set<TensorId> reads;
  std::vector<ScalarExpr> reductions;
};

void Collect(const ScalarExpr& e, bool inside, BodyFacts* facts) {
  if (e.kind() == ScalarExpr::Kind::kRead) facts->reads.insert(e.tensor());
  const bool reduces = e.kind() == ScalarExpr::Kind::kReduce;
  if (reduces && !inside) facts->reductions.push_back(e);
  for (const ScalarExpr& arg : e.args()) Collect(arg, inside || reduces, facts);
}

// The elements to draw: any; small integers, of one sign in each tensor; or mostly 0.
enum class Elements { kAny, kOneSign, kSparse };

Field RandomElement(Elements elements, bool negative, std::mt19937_64* random) {
  if (elements == Elements::kAny) return Field::FromRaw((*random)() % Field::kPrime);
  if (elements == Elements::kSparse && (*random)() % 4 != 0) return Field(0);
  const Field size(static_cast<int64_t>(1 + (*random)() % 4));
  return negative ? Field(0) - size : size;
}

// Random inputs in the field at constant sizes; nullopt if there are too many elements.
std::optional<std::vector<Values<Field>>> RandomInputs(const Definition& definition,
                                                       Elements elements, std::mt19937_64* random) {
  std::vector<Values<Field>> inputs;
  for (const ExprType& input : definition.inputs) {
    Values<Field> values;
    int64_t size = 1;
    for (const IndexExpr& dim : input.dims) {
      if (!dim.is_const() || dim.value() < 0) return std::nullopt;
      values.dims.push_back(dim.value());
      size *= dim.value();
      if (size > kMaxElements) return std::nullopt;
    }
    const bool negative = elements != Elements::kAny && (*random)() % 2 == 0;
    for (int64_t i = 0; i < size; ++i) {
      values.data.push_back(IsFloat(input.dtype)
                                ? RandomElement(elements, negative, random)
                                : Field::FromDouble(static_cast<double>((*random)() % 2)));
    }
    inputs.push_back(std::move(values));
  }
  return inputs;
}

// Computes every tensor of one side, and what the side's operators do.
class Side {
 public:
  Side(const Definition& definition, const absl::flat_hash_map<std::string, int64_t>& binding)
      : definition_(Bind(definition, binding)), results_(definition_.outputs) {}

  const Definition& definition() const { return definition_; }

  bool Run(const std::vector<Values<Field>>& inputs, const std::map<std::string, Field>& params) {
    // After the tensors, the number of terms of each reduction.
    const size_t tensors = definition_.tensors.size();
    for (size_t i = 0; i < tensors; ++i) {
      facts_.emplace_back();
      Collect(definition_.tensors[i].body, false, &facts_.back());
      for (const ScalarExpr& e : facts_.back().reductions) {
        TensorExpr count = definition_.tensors[i];
        count.body = ScalarExpr::Reduce(ReduceKind::kSum, e.axes(), e.guard(), 1);
        definition_.tensors.push_back(std::move(count));
      }
    }
    const int first = definition_.num_inputs();
    definition_.outputs.clear();
    for (size_t i = 0; i < definition_.tensors.size(); ++i) {
      definition_.outputs.push_back(first + static_cast<int>(i));
    }
    auto all = EvaluateAll<Field>(definition_, inputs, params, kMaxSteps);
    if (!all) return false;
    tensors_ = inputs;
    for (Values<Field>& values : *all) tensors_.push_back(std::move(values));
    return true;
  }

  bool SameResults(const Side& other) const {
    for (size_t i = 0; i < results_.size(); ++i) {
      const Values<Field>&a = tensors_[results_[i]], &b = other.tensors_[other.results_[i]];
      if (a.dims != b.dims || a.data != b.data) return false;
    }
    return true;
  }

  void AppendEffects(std::vector<bool>* effects) const {
    size_t counts = definition_.num_inputs() + facts_.size();
    for (size_t i = 0; i < facts_.size(); ++i) {
      for (size_t k = 0; k < facts_[i].reductions.size(); ++k) {
        const std::vector<Field>& terms = tensors_[counts++].data;
        effects->push_back(std::any_of(terms.begin(), terms.end(),
                                       [](Field n) { return n != Field(0) && n != Field(1); }));
      }
      const Values<Field>& result = tensors_[definition_.num_inputs() + i];
      bool copies = false;
      for (TensorId id : facts_[i].reads) {
        copies |= tensors_[id].dims == result.dims && tensors_[id].data == result.data;
      }
      effects->push_back(!copies);
    }
  }

 private:
  Definition definition_;
  std::vector<TensorId> results_;
  std::vector<BodyFacts> facts_;  // of each tensor
  std::vector<Values<Field>> tensors_;
};

// The values of the rule's symbols, given values of its open sizes.
SymbolValues Close(const RuleForm& form, const SymbolMap& symbols) {
  IndexEnv env;
  env.symbol = [&](const std::string& name) -> std::optional<int64_t> {
    auto it = symbols.find(name);
    return it == symbols.end() ? std::nullopt : std::make_optional(it->second);
  };
  SymbolValues values;
  for (const auto& value : form.symbols) {
    values.emplace_back();
    if (!value) continue;
    if (auto* index = std::get_if<IndexExpr>(&*value)) {
      if (auto number = EvaluateIndex(*index, env)) values.back() = IndexExpr(*number);
    } else if (auto* list = std::get_if<Idx>(&*value)) {
      Idx closed;
      for (const IndexExpr& e : *list) {
        auto number = EvaluateIndex(e, env);
        if (number) closed.push_back(*number);
      }
      if (closed.size() == list->size()) values.back() = closed;
    }
  }
  return values;
}

std::string KeyOf(const SymbolValues& values) {
  std::string key;
  for (const auto& value : values) {
    auto constant = value ? ToAttrValue(*value) : std::nullopt;
    absl::StrAppend(&key, constant ? ToString(*constant) : "?", ";");
  }
  return key;
}

}  // namespace

RuleInstances::RuleInstances(const Substitution& rule, const ProverOptions& options)
    : rule_(rule), options_(options) {}

int RuleInstances::NumberOf(const RuleForm& form) {
  std::string key;
  for (const auto& [name, value] : form.chosen) absl::StrAppend(&key, name, "=", value, ";");
  absl::StrAppend(&key, form.statement.source.tensors.size(), ",",
                  form.statement.target.tensors.size());
  return forms_.emplace(key, static_cast<int>(forms_.size())).first->second;
}

void RuleInstances::Draw(const std::vector<Comparison>& where, int count) {
  Substitution guarded = rule_;
  guarded.where.insert(guarded.where.end(), where.begin(), where.end());
  const RuleForms forms = FormsOf(guarded, options_.forms);
  if (forms.forms.empty()) return;
  const int share = std::max(2, count / static_cast<int>(forms.forms.size()));
  const size_t most = all_.size() + count;
  for (const RuleForm& form : forms.forms) {
    if (all_.size() >= most) break;
    DrawFrom(form, share);
  }
}

void RuleInstances::DrawFrom(const RuleForm& form, int count) {
  Leaves leaves;
  NormalForms forms(&leaves);
  Arith arith(&leaves);
  arith.rlimit = options_.rlimit;
  std::vector<IndexExpr> sizes;
  for (const ExprType& input : form.statement.source.inputs) {
    sizes.insert(sizes.end(), input.dims.begin(), input.dims.end());
  }
  const Hypotheses hypotheses(&forms, &arith, form.statement.requirements, sizes);
  Refuter refuter(form.statement, hypotheses, &leaves, options_.seed);
  std::vector<std::string> symbols, params;
  CollectSymbols(form.statement.source, &symbols, &params);
  CollectSymbols(form.statement.target, &symbols, &params);
  bool compares = false;
  for (const Definition* side : {&form.statement.source, &form.statement.target}) {
    for (const TensorExpr& tensor : side->tensors) compares |= ComparesNumbers(tensor.body);
  }
  const int number = NumberOf(form);
  std::mt19937_64 random(HashCombine(options_.seed, ++draws_));
  for (int i = 0; i < count; ++i) {
    constexpr Refuter::Style kStyles[] = {Refuter::Style::kVaried, Refuter::Style::kSpecial,
                                          Refuter::Style::kNegative};
    auto sample = refuter.Sample(&random, kStyles[i % 3], 400);
    if (!sample) continue;
    RuleInstance instance;
    instance.form = number;
    instance.values = Close(form, *sample);
    if (!known_.insert(absl::StrCat(number, ":", KeyOf(instance.values))).second) continue;
    const absl::flat_hash_map<std::string, int64_t> binding(sample->begin(), sample->end());
    Side source(form.statement.source, binding), target(form.statement.target, binding);
    auto inputs = RandomInputs(source.definition(), Elements::kAny, &random);
    if (!inputs) continue;
    std::map<std::string, Field> param_values;
    for (const std::string& name : params) {
      param_values[name] = Field::FromRaw(random() % Field::kPrime);
    }
    if (!source.Run(*inputs, param_values) || !target.Run(*inputs, param_values)) continue;
    target.AppendEffects(&instance.effects);
    instance.agree = true;
    bool same = source.SameResults(target);
    for (Elements elements : {Elements::kOneSign, Elements::kSparse}) {
      if (!same || !compares) break;
      Side a(form.statement.source, binding), b(form.statement.target, binding);
      auto more = RandomInputs(a.definition(), elements, &random);
      if (!more || !a.Run(*more, param_values) || !b.Run(*more, param_values)) break;
      same = a.SameResults(b);
    }
    if (!same) {
      // The field has fewer laws than the reals, so this compares in double too. Signs may matter.
      std::optional<Refuted> found;
      for (int tries = compares ? 4 : 1; tries > 0 && !found; --tries) {
        found = refuter.Compare(*sample, random());
      }
      if (found) {
        instance.agree = false;
        if (!counterexample_) {
          counterexample_ = found;
          counterexample_->values.insert(form.chosen.begin(), form.chosen.end());
        }
      }
    }
    std::vector<bool>& seen = seen_[instance.effects.size()];
    seen.resize(instance.effects.size());
    for (size_t k = 0; k < instance.effects.size(); ++k) seen[k] = seen[k] || instance.effects[k];
    all_.push_back(std::move(instance));
  }
}

bool RuleInstances::ShowAllEffects(const std::vector<int>& instances) const {
  std::map<size_t, std::vector<bool>> shown;
  for (int i : instances) {
    const std::vector<bool>& effects = all_[i].effects;
    std::vector<bool>& done = shown[effects.size()];
    done.resize(effects.size());
    for (size_t k = 0; k < effects.size(); ++k) done[k] = done[k] || effects[k];
  }
  for (const auto& [size, done] : shown) {
    if (done == seen_.at(size)) return true;
  }
  return false;
}

}  // namespace lemma::prover
