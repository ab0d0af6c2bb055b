#include "rewrite/taso/import.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "rewrite/rules/rule_text.h"
#include "rewrite/taso/operators.h"
#include "rewrite/taso/rule_builder.h"
#include "rewrite/taso/rules.pb.h"

namespace lemma {
namespace {

using taso::RuleBuilder;
using taso::SizeSolver;
using taso::TasoOp;
using taso::TypedValue;

constexpr int kMostOperators = 32;  // of one side

// A tensor of a rule: output ts of operator op on one side, or variable op < 0 of both sides.
struct TensorKey {
  int side = 0, op = 0, ts = 0;
  friend bool operator<(const TensorKey& a, const TensorKey& b) {
    return std::tie(a.side, a.op, a.ts) < std::tie(b.side, b.op, b.ts);
  }
};
TensorKey Key(int side, int op, int ts) {
  return op < 0 ? TensorKey{0, op, 0} : TensorKey{side, op, ts};
}

// Classes of tensors with equal rank.
class RankClasses {
 public:
  struct Rank {
    std::optional<int> fixed;
    int least = 0;
    bool counts_from_first = false;  // of rank `least` if `fixed` is absent
  };

  int Find(const TensorKey& key) {
    auto [it, added] = members_.emplace(key, static_cast<int>(parent_.size()));
    if (added) {
      parent_.push_back(it->second);
      ranks_.push_back({});
    }
    int c = it->second;
    while (parent_[c] != c) c = parent_[c];
    return c;
  }
  // False if two ranks contradict each other.
  bool Unite(const TensorKey& a, const TensorKey& b) {
    const int x = Find(a), y = Find(b);
    if (x == y) return true;
    parent_[std::max(x, y)] = std::min(x, y);
    return Restrict(a, ranks_[std::max(x, y)]);
  }
  bool Restrict(const TensorKey& key, const Rank& rank) {
    Rank& r = ranks_[Find(key)];
    if (r.fixed && rank.fixed && *r.fixed != *rank.fixed) return false;
    if (rank.fixed) r.fixed = rank.fixed;
    r.least = std::max(r.least, rank.least);
    r.counts_from_first |= rank.counts_from_first;
    return !r.fixed || *r.fixed >= r.least;
  }
  const Rank& RankOf(const TensorKey& key) { return ranks_[Find(key)]; }

 private:
  std::map<TensorKey, int> members_;
  std::vector<int> parent_;
  std::vector<Rank> ranks_;
};

class RuleImporter {
 public:
  RuleImporter(const taso::Rule& rule, int number) : rule_(rule), number_(number) {}

  absl::StatusOr<std::string> Run() {
    for (int side = 0; side < 2; ++side) LEMMA_RETURN_IF_ERROR(ReadSide(side));
    LEMMA_RETURN_IF_ERROR(ReadOutputs());
    MakeVariables();
    for (int side = 0; side < 2; ++side) LEMMA_RETURN_IF_ERROR(LowerSide(side));
    for (const auto& [source, target] : outputs_) {
      absl::Status status = builder_.AddOutput(values_.at(source), values_.at(target));
      if (!status.ok()) return Error("", status);
    }
    auto text =
        builder_.Text(absl::StrCat("taso_", number_), absl::StrCat("TASO's rule ", number_));
    if (!text.ok()) return Error("", text.status());
    // Parsed alone, so that an error names the rule.
    auto read = ParseRules(*text, absl::StrCat("rule ", number_));
    if (!read.ok()) return Error("", read.status());
    return text;
  }

 private:
  const google::protobuf::RepeatedPtrField<taso::Operator>& Ops(int side) const {
    return side == 0 ? rule_.src_op() : rule_.dst_op();
  }
  static const char* SideName(int side) { return side == 0 ? "source" : "target"; }

  absl::Status Error(absl::string_view where, const absl::Status& status) const {
    return absl::InvalidArgumentError(
        absl::StrCat("rule ", number_, where.empty() ? "" : ", ", where, ": ", status.message()));
  }
  absl::Status Error(absl::string_view where, absl::string_view message) const {
    return Error(where, absl::InvalidArgumentError(message));
  }
  std::string Where(int side, int op) const {
    return absl::StrCat(SideName(side), " operator ", op,
                        op < static_cast<int>(ops_[side].size())
                            ? absl::StrCat(" (", ops_[side][op].name(), ")")
                            : "");
  }

  absl::Status ReadSide(int side) {
    const auto& list = Ops(side);
    if (list.size() > kMostOperators) {
      return Error("", absl::StrCat("the ", SideName(side), " has ", list.size(),
                                    " operators, at most ", kMostOperators, " are read"));
    }
    for (int i = 0; i < list.size(); ++i) {
      auto op = TasoOp::Read(list[i]);
      if (!op.ok()) return Error(Where(side, i), op.status());
      ops_[side].push_back(*std::move(op));
      absl::Status status = ReadOperands(side, i);
      if (!status.ok()) return Error(Where(side, i), status);
    }
    return absl::OkStatus();
  }

  absl::Status ReadOperands(int side, int i) {
    const taso::Operator& op = Ops(side)[i];
    const TasoOp::Ranks ranks = ops_[side][i].ranks();
    const TensorKey result{side, i, 0};
    bool fits = ranks_.Restrict(result, {ranks.fixed, ranks.least, ranks.counts_from_first});
    for (int ts = 1; ts < ops_[side][i].num_outputs(); ++ts) {
      fits &= ranks_.Unite(result, {side, i, ts});
    }
    for (int k = 0; k < op.input_size(); ++k) {
      const taso::Tensor& input = op.input(k);
      LEMMA_RETURN_IF_ERROR(CheckTensor(side, i, input));
      const TensorKey key = Key(side, input.op_id(), input.ts_id());
      if (input.op_id() < 0 && !variables_.count(input.op_id())) {
        if (side == 1) {
          return absl::InvalidArgumentError(
              absl::StrCat("the source has no variable ", input.op_id()));
        }
        variables_.emplace(input.op_id(), static_cast<int>(order_.size()));
        order_.push_back(input.op_id());
      }
      if (input.op_id() < 0 && ops_[side][i].TakesWeight(k)) weights_[input.op_id()] = true;
      fits &= k == 1 && ranks.scalar_operand ? ranks_.Restrict(key, {0, 0, false})
                                             : ranks_.Unite(result, key);
    }
    if (!fits) return absl::InvalidArgumentError("its operands cannot have the ranks it takes");
    return absl::OkStatus();
  }

  absl::Status CheckTensor(int side, int before, const taso::Tensor& tensor) const {
    if (!tensor.has_op_id() || !tensor.has_ts_id()) {
      return absl::InvalidArgumentError("an operand lacks its opId or its tsId");
    }
    if (tensor.op_id() < 0) return absl::OkStatus();
    if (tensor.op_id() >= before) {
      return absl::InvalidArgumentError(
          absl::StrCat("it reads operator ", tensor.op_id(), ", which does not come before it"));
    }
    if (tensor.ts_id() < 0 || tensor.ts_id() >= ops_[side][tensor.op_id()].num_outputs()) {
      return absl::InvalidArgumentError(absl::StrCat("it reads output ", tensor.ts_id(),
                                                     " of operator ", tensor.op_id(),
                                                     ", which has none such"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadOutputs() {
    for (const taso::MapOutput& map : rule_.mapped_output()) {
      if (!map.has_src_op_id() || !map.has_dst_op_id() || !map.has_src_ts_id() ||
          !map.has_dst_ts_id()) {
        return Error("", "a mapped output lacks a field");
      }
      const int ids[] = {map.src_op_id(), map.dst_op_id()};
      const int tensors[] = {map.src_ts_id(), map.dst_ts_id()};
      for (int side = 0; side < 2; ++side) {
        const bool variable = side == 1 && ids[side] < 0 && variables_.count(ids[side]);
        const bool op = ids[side] >= 0 && ids[side] < Ops(side).size() && tensors[side] >= 0 &&
                        tensors[side] < ops_[side][ids[side]].num_outputs();
        if (!variable && !op) {
          return Error("", absl::StrCat("a mapped output is output ", tensors[side], " of the ",
                                        SideName(side), "'s operator ", ids[side],
                                        ", which does not exist"));
        }
      }
      const TensorKey source = Key(0, ids[0], tensors[0]), target = Key(1, ids[1], tensors[1]);
      if (!ranks_.Unite(source, target)) {
        return Error("", "a mapped output has another rank on each side");
      }
      outputs_.emplace_back(source, target);
    }
    if (outputs_.empty()) return Error("", "it has no mapped output");
    return absl::OkStatus();
  }

  // "" if the rank is known, else the list symbol for the dimensions before.
  std::string BatchOf(const TensorKey& key) {
    const RankClasses::Rank& rank = ranks_.RankOf(key);
    if (rank.fixed || rank.counts_from_first) return "";
    auto [it, added] = batches_.emplace(ranks_.Find(key), "");
    if (added) it->second = batches_.size() == 1 ? "b" : absl::StrCat("b", batches_.size());
    return it->second;
  }
  int RankOf(const TensorKey& key) {
    const RankClasses::Rank& rank = ranks_.RankOf(key);
    return rank.fixed.value_or(rank.least);
  }

  void MakeVariables() {
    for (int id : order_) {
      const TensorKey key = Key(0, id, 0);
      const int rank = RankOf(key);
      const char* hints[] = {"d", "d", "d", "d"};
      if (rank == 2) std::tie(hints[0], hints[1]) = std::make_tuple("m", "n");
      if (rank == 4) {
        const bool weight = weights_.count(id) > 0;
        const char* names[2][4] = {{"n", "c", "h", "w"}, {"k", "c", "r", "s"}};
        std::copy(names[weight], names[weight] + 4, hints);
      }
      Idx dims;
      for (int d = 0; d < rank; ++d) {
        dims.push_back(builder_.sizes().New(hints[std::min(d, 3)], SizeSolver::Kind::kSize));
      }
      values_[key] = builder_.AddVariable(absl::StrCat("x", -static_cast<int64_t>(id)),
                                          BatchOf(key), std::move(dims));
    }
  }

  absl::Status LowerSide(int side) {
    builder_.Begin(side == 0 ? RuleBuilder::Side::kSource : RuleBuilder::Side::kTarget);
    for (size_t i = 0; i < ops_[side].size(); ++i) {
      std::vector<TypedValue> inputs;
      for (const taso::Tensor& input : Ops(side)[static_cast<int>(i)].input()) {
        inputs.push_back(values_.at(Key(side, input.op_id(), input.ts_id())));
      }
      const TensorKey result{side, static_cast<int>(i), 0};
      auto outputs = ops_[side][i].Lower(builder_, inputs, BatchOf(result), RankOf(result));
      if (!outputs.ok()) return Error(Where(side, static_cast<int>(i)), outputs.status());
      for (size_t ts = 0; ts < outputs->size(); ++ts) {
        values_[{side, static_cast<int>(i), static_cast<int>(ts)}] = (*outputs)[ts];
      }
    }
    return absl::OkStatus();
  }

  const taso::Rule& rule_;
  const int number_;
  std::vector<TasoOp> ops_[2];
  std::map<int, int> variables_;  // variables and their positions
  std::vector<int> order_;
  std::map<int, bool> weights_;
  RankClasses ranks_;
  std::map<int, std::string> batches_;
  std::vector<std::pair<TensorKey, TensorKey>> outputs_;
  RuleBuilder builder_;
  std::map<TensorKey, TypedValue> values_;
};

}  // namespace

absl::StatusOr<std::vector<Substitution>> ImportTaso(absl::string_view bytes) {
  taso::RuleCollection collection;
  if (!collection.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("this is no TASO rule file: it is no RuleCollection message");
  }
  if (collection.rule_size() == 0) {
    return absl::InvalidArgumentError(
        "this is no TASO rule file, or an empty one: it has no rules");
  }
  std::string text;
  for (int i = 0; i < collection.rule_size(); ++i) {
    LEMMA_ASSIGN_OR_RETURN(std::string rule, RuleImporter(collection.rule(i), i).Run());
    text += rule;
  }
  return ParseRules(text, "TASO's rules");
}

}  // namespace lemma
