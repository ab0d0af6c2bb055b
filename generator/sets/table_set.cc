#include "generator/sets/table_set.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "rewrite/rules/rule_text.h"
#include "rewrite/taso/rule_builder.h"

namespace lemma::generator {
namespace {

using taso::RuleBuilder;
using taso::SizeSolver;
using taso::TypedValue;

// Unifies ranks of the form: a list of unknown length, plus a number of dimensions. A list may turn
// out to equal another one, to be longer than another one by a number of dimensions, or to have a
// known length.
class Rows {
 public:
  struct Rank {
    int row = kNone;
    int dims = 0;
  };
  static constexpr int kNone = -1;

  int New() {
    known_.push_back(std::nullopt);
    return static_cast<int>(known_.size()) - 1;
  }
  Rank Find(Rank rank) const {
    while (rank.row != kNone && known_[rank.row]) {
      rank = {known_[rank.row]->row, rank.dims + known_[rank.row]->dims};
    }
    return rank;
  }
  // Returns false if no lengths fit.
  bool Unify(const Rank& a, const Rank& b) {
    Rank longer = Find(a), shorter = Find(b);
    if (longer.dims < shorter.dims) std::swap(longer, shorter);
    if (longer.row == shorter.row) return longer.dims == shorter.dims;
    if (shorter.row == kNone) {
      if (longer.dims != shorter.dims) return false;
      std::swap(longer, shorter);
    }
    known_[shorter.row] = {longer.row, longer.dims - shorter.dims};
    return true;
  }

 private:
  std::vector<std::optional<Rank>> known_;
};

class Lifting {
 public:
  Lifting(const std::vector<TableVariant>& variants, const Pair& pair)
      : variants_(variants), sides_{&pair.source, &pair.target} {}

  absl::StatusOr<std::string> Run(absl::string_view name, absl::string_view doc) {
    LEMMA_RETURN_IF_ERROR(FindRanks());
    MakeVariables();
    for (int side = 0; side < 2; ++side) LEMMA_RETURN_IF_ERROR(Lower(side));
    for (size_t i = 0; i < sides_[0]->outputs.size(); ++i) {
      const auto& source = values_.at({0, sides_[0]->outputs[i]});
      const auto& target = values_.at(Key(1, sides_[1]->outputs[i]));
      for (size_t p = 0; p < source.size(); ++p) {
        LEMMA_RETURN_IF_ERROR(builder_.AddOutput(source[p], target[p]));
      }
    }
    return builder_.Text(name, doc);
  }

 private:
  using ValueKey = std::pair<int, int>;  // a side, and a value on it; variables are on side 0
  static ValueKey Key(int side, int value) { return {value < 0 ? 0 : side, value}; }

  // By part of a value.
  using Ranks = std::vector<Rows::Rank>;

  Ranks& RanksOf(const ValueKey& key, int parts) {
    Ranks& ranks = ranks_[key];
    while (static_cast<int>(ranks.size()) < parts) ranks.push_back({rows_.New(), 0});
    return ranks;
  }
  bool Unify(const Ranks& a, const Ranks& b) {
    bool fits = a.size() == b.size();
    for (size_t p = 0; p < a.size() && fits; ++p) fits = rows_.Unify(a[p], b[p]);
    return fits;
  }
  int PartsOf(int variable) const {
    const auto& [variant, operand] = uses_.at(variable);
    return variant->operand_parts()[operand];
  }

  absl::Status FindRanks() {
    for (int side = 0; side < 2; ++side) {
      for (size_t i = 0; i < sides_[side]->ops.size(); ++i) {
        const NumberedOp& term = sides_[side]->ops[i];
        const TableVariant& variant = variants_[term.variant];
        const int row = rows_.New();
        auto take = [&](std::vector<RankPattern>::const_iterator* p, int parts) {
          Ranks ranks;
          for (; parts > 0; --parts, ++*p) {
            ranks.push_back({(*p)->has_batch ? row : Rows::kNone, (*p)->dims});
          }
          return ranks;
        };
        auto operand = variant.operands().begin(), result = variant.results().begin();
        for (size_t k = 0; k < term.operands.size(); ++k) {
          const int v = term.operands[k];
          if (v < 0 && !uses_.count(v)) {
            if (side == 1) {
              return absl::InvalidArgumentError(
                  absl::StrCat("x", -v, " occurs in the target only"));
            }
            order_.push_back(v);
            uses_[v] = {&variant, static_cast<int>(k)};
          }
          const int parts = variant.operand_parts()[k];
          if (!Unify(take(&operand, parts), RanksOf(Key(side, v), parts))) {
            return absl::InvalidArgumentError(absl::StrCat(
                "operand ", k, " of ", variant.variant().name, " would have two ranks"));
          }
        }
        for (size_t k = 0; k < variant.result_parts().size(); ++k) {
          ranks_[{side, OutputValue(static_cast<int>(i), static_cast<int>(k))}] =
              take(&result, variant.result_parts()[k]);
        }
      }
    }
    for (size_t i = 0; i < sides_[0]->outputs.size(); ++i) {
      const int source = sides_[0]->outputs[i], target = sides_[1]->outputs[i];
      if (source < 0) return absl::InvalidArgumentError("an output of the source is a variable");
      if (target < 0 && !uses_.count(target)) {
        return absl::InvalidArgumentError(absl::StrCat("x", -target, " occurs in the target only"));
      }
      const Ranks ranks = RanksOf({0, source}, 1);
      if (!Unify(ranks, RanksOf(Key(1, target), static_cast<int>(ranks.size())))) {
        return absl::InvalidArgumentError("an output has another rank on each side");
      }
    }
    return absl::OkStatus();
  }

  void MakeVariables() {
    for (int v : order_) {
      const auto& [variant, operand] = uses_.at(v);
      const int parts = PartsOf(v);
      const Ranks ranks = RanksOf({0, v}, parts);
      int number = 0;  // the number of the first part among the variant's tensors
      for (int k = 0; k < operand; ++k) number += variant->operand_parts()[k];
      for (int p = 0; p < parts; ++p) {
        const Rows::Rank rank = rows_.Find(ranks[p]);
        Idx dims;
        for (int d = rank.dims - 1; d >= 0; --d) {
          const std::string name = variant->NameOfDim(number + p, d);
          // Names that begin with b stand for lists.
          dims.push_back(builder_.sizes().New(name.empty() || name[0] == 'b' ? "d" : name,
                                              SizeSolver::Kind::kSize));
        }
        const std::string name = absl::StrCat("x", -v);
        values_[{0, v}].push_back(
            builder_.AddVariable(parts == 1 ? name : absl::StrCat(name, "_", p + 1),
                                 NameOfRow(rank.row), std::move(dims)));
      }
    }
  }

  std::string NameOfRow(int row) {
    if (row == Rows::kNone) return "";
    auto [it, added] = row_names_.emplace(row, "b");
    if (added && row_names_.size() > 1) absl::StrAppend(&it->second, row_names_.size());
    return it->second;
  }

  absl::Status Lower(int side) {
    builder_.Begin(side == 0 ? RuleBuilder::Side::kSource : RuleBuilder::Side::kTarget);
    for (size_t i = 0; i < sides_[side]->ops.size(); ++i) {
      const NumberedOp& term = sides_[side]->ops[i];
      const TableVariant& variant = variants_[term.variant];
      std::vector<TypedValue> in;
      for (int v : term.operands) {
        const std::vector<TypedValue>& parts = values_.at(Key(side, v));
        in.insert(in.end(), parts.begin(), parts.end());
      }
      SymbolValues values(variant.symbols().size());
      for (int a : variant.attributes()) values[a] = Attribute(side, variant, a);
      SymbolValues& first = first_[term.variant];
      const ValueKey result = {side, OutputValue(static_cast<int>(i), 0)};
      const Rows::Rank rank = rows_.Find(ranks_.at(result)[0]);
      LEMMA_ASSIGN_OR_RETURN(
          std::vector<TypedValue> out,
          variant.Lower(builder_, in, {NameOfRow(rank.row), rank.dims - variant.results()[0].dims},
                        first, &values));
      if (first.empty()) first = values;
      auto part = out.begin();
      for (size_t k = 0; k < variant.result_parts().size(); ++k) {
        const auto end = part + variant.result_parts()[k];
        values_[{side, OutputValue(static_cast<int>(i), static_cast<int>(k))}].assign(part, end);
        part = end;
      }
    }
    return absl::OkStatus();
  }

  // A symbol if the source has it; attributes that only the target has keep their values.
  ExprAttr Attribute(int side, const TableVariant& variant, int symbol) {
    const std::string& name = variant.symbols()[symbol].name;
    auto it = attributes_.find(name);
    if (it != attributes_.end()) return it->second;
    ExprAttr value = ToExprAttr(variant.values().at(name));
    auto open = [&](IndexExpr* number) {
      *number = builder_.sizes().New(name, SizeSolver::Kind::kAttribute);
    };
    if (side == 0) {
      if (auto* number = std::get_if<IndexExpr>(&value)) open(number);
      if (auto* list = std::get_if<Idx>(&value)) {
        for (IndexExpr& number : *list) open(&number);
      }
      if (std::holds_alternative<ScalarExpr>(value)) value = ScalarExpr::Param(name);
      attributes_.emplace(name, value);
    }
    return value;
  }

  const std::vector<TableVariant>& variants_;
  const NumberedGraph* const sides_[2];
  Rows rows_;
  std::map<ValueKey, Ranks> ranks_;
  std::vector<int> order_;                                   // variables by first occurrence
  std::map<int, std::pair<const TableVariant*, int>> uses_;  // the first use of each
  std::map<int, std::string> row_names_;
  RuleBuilder builder_;
  std::map<ValueKey, std::vector<TypedValue>> values_;  // a bundle's parts
  std::map<int, SymbolValues> first_;  // values of a variant's symbols at its first occurrence
  std::map<std::string, ExprAttr> attributes_;
};

constexpr int kBundleRank = 9;

class TableOperators : public OperatorSet {
 public:
  TableOperators(std::vector<TableVariant> table, const std::vector<InputGroup>& inputs)
      : table_(std::move(table)) {
    for (const TableVariant& t : table_) variants_.push_back(t.variant());
    int group = 0;
    for (const InputGroup& g : inputs) {
      for (int i = 1; i <= g.count; ++i) {
        inputs_.push_back(
            {g.count == 1 ? g.name : absl::StrCat(g.name, i), TypeOf(g.bundle()), group, true});
      }
      ++group;
    }
  }

  const std::vector<Input>& inputs() const override { return inputs_; }
  const std::vector<Variant>& variants() const override { return variants_; }
  const std::vector<int64_t>& DimsOf(int type) const override { return dims_[type]; }

  absl::StatusOr<Application> Apply(int variant, const std::vector<int>& types) override {
    std::vector<BundleShape> operands;
    for (int type : types) operands.push_back(types_[type]);
    LEMMA_ASSIGN_OR_RETURN(TableVariant::Built built, table_[variant].Build(operands));
    Application result;
    for (const BundleShape& shapes : built.results) result.types.push_back(TypeOf(shapes));
    result.graph = std::move(built.graph);
    return result;
  }

  absl::StatusOr<Substitution> Lift(const Pair& pair, absl::string_view name) const override {
    LEMMA_ASSIGN_OR_RETURN(
        const std::string text,
        Lifting(table_, pair).Run(name, ToString(*this, pair, Names::kVariables)));
    LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> rules, ParseRules(text, name));
    return std::move(rules[0]);
  }

 private:
  int TypeOf(const BundleShape& shapes) {
    auto [it, added] = interned_.emplace(shapes, static_cast<int>(types_.size()));
    if (!added) return it->second;
    types_.push_back(shapes);
    if (shapes.size() == 1) {
      dims_.push_back(shapes[0]);
      return it->second;
    }
    // No tensor has so many dimensions of size 1, so a bundle equals no tensor.
    Shape dims(kBundleRank - 1, 1);
    dims.push_back(0);
    for (const Shape& shape : shapes) dims.back() += TensorType{DType::kF32, shape}.num_elements();
    dims_.push_back(std::move(dims));
    return it->second;
  }

  std::vector<TableVariant> table_;
  std::vector<Variant> variants_;
  std::vector<Input> inputs_;
  std::vector<BundleShape> types_;
  std::vector<Shape> dims_;
  std::map<BundleShape, int> interned_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<OperatorSet>> TableSet(const std::vector<VariantText>& variants,
                                                      const std::vector<InputGroup>& inputs) {
  std::vector<TableVariant> table;
  for (const VariantText& text : variants) {
    LEMMA_ASSIGN_OR_RETURN(TableVariant variant, TableVariant::Read(text));
    table.push_back(std::move(variant));
  }
  return std::unique_ptr<OperatorSet>(new TableOperators(std::move(table), inputs));
}

}  // namespace lemma::generator
