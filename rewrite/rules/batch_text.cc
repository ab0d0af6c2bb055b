#include "rewrite/rules/batch_text.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/expr/substitute.h"
#include "rewrite/rules/batch_dims.h"

namespace lemma {
namespace {

class Printer {
 public:
  // Leaves out the batch dimensions `carried`, if given.
  Printer(const Statement& statement, DType common, const BatchDims* carried)
      : statement_(statement), common_(common), carried_(carried) {}

  StatementText Print() {
    for (size_t i = 0; i < statement_.source.inputs.size(); ++i) {
      const ExprType& input = statement_.source.inputs[i];
      Type(input.dtype);
      for (size_t dim = 0; dim < input.dims.size(); ++dim) {
        if (Keep(0, static_cast<TensorId>(i), dim)) Add(input.dims[dim]);
      }
      out_ += ";";
    }
    PrintSide(0, statement_.source);
    out_ += "=>";
    PrintSide(1, statement_.target);
    StatementText result{std::move(out_), std::move(symbols_), {}};
    for (const std::string& name : erased_) result.erased.push_back(name);
    return result;
  }

 private:
  bool Keep(int side, TensorId tensor, size_t dim) {
    if (carried_ == nullptr || !carried_->IsBatch(side, tensor, dim)) return true;
    const IndexExpr& size = carried_->SizeOf(side, tensor, dim);
    if (size.kind() == IndexExpr::Kind::kSymbol) erased_.insert(size.name());
    return false;
  }

  void PrintSide(int side, const Definition& d) {
    side_ = side;
    vars_.clear();
    for (size_t i = 0; i < d.tensors.size(); ++i) {
      const TensorExpr& tensor = d.tensors[i];
      Type(tensor.dtype);
      for (size_t dim = 0; dim < tensor.axes.size(); ++dim) {
        if (!Keep(side, d.num_inputs() + static_cast<TensorId>(i), dim)) continue;
        Var(tensor.axes[dim].var);
        Add(tensor.axes[dim].extent);
      }
      out_ += "=";
      Add(tensor.body);
      out_ += ";";
    }
    for (TensorId output : d.outputs) absl::StrAppend(&out_, "o", output);
  }

  void Type(DType dtype) { absl::StrAppend(&out_, dtype == common_ ? "T" : Name(dtype), ":"); }
  void Var(VarId var) {
    absl::StrAppend(&out_, "v", vars_.emplace(var, vars_.size()).first->second);
  }
  void Symbol(const std::string& name) {
    auto [it, added] = numbers_.emplace(name, symbols_.size());
    if (added) symbols_.push_back(name);
    absl::StrAppend(&out_, "s", it->second);
  }

  void Add(const IndexExpr& e) {
    switch (e.kind()) {
      case IndexExpr::Kind::kConst:
        absl::StrAppend(&out_, "#", e.value(), " ");
        return;
      case IndexExpr::Kind::kSymbol:
        Symbol(e.name());
        out_ += " ";
        return;
      case IndexExpr::Kind::kVar:
        Var(e.var());
        out_ += " ";
        return;
      case IndexExpr::Kind::kLoad:
        out_ += "[";
        Add(ScalarExpr(e.load()));
        out_ += "]";
        return;
      default:
        absl::StrAppend(&out_, "(i", static_cast<int>(e.kind()), " ");
        Add(e.lhs());
        Add(e.rhs());
        out_ += ")";
    }
  }
  void Add(const Guard& g) {
    absl::StrAppend(&out_, "(g", static_cast<int>(g.kind()), " ");
    if (g.kind() == Guard::Kind::kLe || g.kind() == Guard::Kind::kEq) {
      Add(g.lhs());
      Add(g.rhs());
    } else if (!g.is_true() && !g.is_false()) {
      Add(g.left());
      if (g.kind() != Guard::Kind::kNot) Add(g.right());
    }
    out_ += ")";
  }
  void Add(const ScalarExpr& e) {
    absl::StrAppend(&out_, "(e", static_cast<int>(e.kind()), " ");
    switch (e.kind()) {
      case ScalarExpr::Kind::kConst:
        absl::StrAppendFormat(&out_, "%a", e.value());
        break;
      case ScalarExpr::Kind::kParam:
        absl::StrAppend(&out_, e.name().size(), ":", e.name());
        break;
      case ScalarExpr::Kind::kIndex:
        Add(e.index());
        break;
      case ScalarExpr::Kind::kRead:
        absl::StrAppend(&out_, e.tensor(), " ");
        for (size_t dim = 0; dim < e.indices().size(); ++dim) {
          if (Keep(side_, e.tensor(), dim)) Add(e.indices()[dim]);
        }
        break;
      case ScalarExpr::Kind::kReduce:
        absl::StrAppend(&out_, static_cast<int>(e.reduce()), " ");
        for (const Axis& axis : e.axes()) {
          Var(axis.var);
          Add(axis.extent);
        }
        [[fallthrough]];
      case ScalarExpr::Kind::kSelect:
        Add(e.guard());
        [[fallthrough]];
      case ScalarExpr::Kind::kApply:
        if (e.kind() == ScalarExpr::Kind::kApply) absl::StrAppend(&out_, Info(e.fn()).name, " ");
        for (const ScalarExpr& arg : e.args()) Add(arg);
    }
    out_ += ")";
  }

  const Statement& statement_;
  DType common_;
  const BatchDims* carried_;
  int side_ = 0;
  std::string out_;
  std::map<VarId, size_t> vars_;
  std::map<std::string, size_t> numbers_;
  std::vector<std::string> symbols_;
  std::set<std::string> erased_;
};

}  // namespace

StatementText TextOf(const Statement& statement, DType common) {
  return Printer(statement, common, nullptr).Print();
}

StatementText TextWithoutBatchDims(const Statement& statement, DType common) {
  const BatchDims carried(statement);
  return Printer(statement, common, &carried).Print();
}

bool OnlyAddsBatchDims(const Statement& statement, const Statement& proved) {
  const StatementText mine = TextWithoutBatchDims(statement, DType::kF32);
  const StatementText other = TextWithoutBatchDims(proved, DType::kF32);
  if (mine.text != other.text) return false;
  ExprSubstitution names;
  for (size_t i = 0; i < other.symbols.size(); ++i) {
    names.symbols[other.symbols[i]] = IndexExpr::Symbol(mine.symbols[i]);
  }
  for (const std::string& name : other.erased) names.symbols[name] = IndexExpr(1);
  std::set<std::string> given;
  for (const Guard& guard : statement.requirements) given.insert(guard.ToString());
  return std::all_of(proved.requirements.begin(), proved.requirements.end(), [&](const Guard& g) {
    const Guard needed = Substitute(g, names);
    return needed.is_true() || given.count(needed.ToString()) > 0;
  });
}

}  // namespace lemma
