#include "rewrite/rules/batch_dims.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace lemma {
namespace {

int Root(std::vector<int>* parents, int i) {
  while ((*parents)[i] != i) i = (*parents)[i] = (*parents)[(*parents)[i]];
  return i;
}

bool IsOne(const IndexExpr& e) { return e.AsConst() == 1; }

}  // namespace

class BatchDims::Finder {
  // Numbers the dimensions of the inputs, which both sides share, and of each side's tensors.
  class Slots {
   public:
    explicit Slots(const Statement& statement) {
      const Definition* sides[] = {&statement.source, &statement.target};
      for (const ExprType& input : statement.source.inputs) Add(&first_[0], input.dims);
      first_[1] = first_[0];
      for (int side = 0; side < 2; ++side) {
        for (const TensorExpr& tensor : sides[side]->tensors) {
          Idx dims;
          for (const Axis& axis : tensor.axes) dims.push_back(axis.extent);
          Add(&first_[side], dims);
        }
      }
    }
    int size() const { return static_cast<int>(sizes_.size()); }
    int Of(int side, TensorId tensor, size_t dim) const {
      return first_[side][tensor] + static_cast<int>(dim);
    }
    const IndexExpr& SizeOf(int slot) const { return sizes_[slot]; }
    int TensorOf(int slot) const { return owners_[slot]; }  // a different number per tensor

   private:
    void Add(std::vector<int>* first, const Idx& dims) {
      first->push_back(size());
      sizes_.insert(sizes_.end(), dims.begin(), dims.end());
      owners_.insert(owners_.end(), dims.size(), tensors_);
      ++tensors_;
    }
    std::vector<int> first_[2], owners_;
    Idx sizes_;
    int tensors_ = 0;
  };

 public:
  explicit Finder(const Statement& statement)
      : statement_(statement), slots_(statement), parents_(slots_.size()), bad_(slots_.size()) {
    std::iota(parents_.begin(), parents_.end(), 0);
    const Definition* sides[] = {&statement.source, &statement.target};
    for (side_ = 0; side_ < 2; ++side_) VisitSide(*sides[side_]);
    LinkOutputs();
    for (const Guard& guard : statement.requirements) {
      if (guard.kind() == Guard::Kind::kEq && guard.lhs().kind() == IndexExpr::Kind::kSymbol &&
          guard.rhs().kind() == IndexExpr::Kind::kSymbol) {
        const std::string a = Same(guard.lhs().name()), b = Same(guard.rhs().name());
        if (a != b) same_[std::max(a, b)] = std::min(a, b);
      }
    }
    Judge();
  }

  const Slots& slots() const { return slots_; }
  bool IsBatch(int slot) { return !bad_[Root(&parents_, slot)]; }

 private:
  void VisitSide(const Definition& d) {
    for (size_t i = 0; i < d.tensors.size(); ++i) {
      axes_.clear();
      for (size_t dim = 0; dim < d.tensors[i].axes.size(); ++dim) {
        const int slot = slots_.Of(side_, d.num_inputs() + static_cast<TensorId>(i), dim);
        axes_[d.tensors[i].axes[dim].var] = slot;
      }
      Visit(d.tensors[i].body);
    }
  }

  void LinkOutputs() {
    const Definition &a = statement_.source, &b = statement_.target;
    for (size_t o = 0; o < a.outputs.size() && o < b.outputs.size(); ++o) {
      const size_t x = a.TypeOf(a.outputs[o]).dims.size(), y = b.TypeOf(b.outputs[o]).dims.size();
      for (size_t dim = 0; dim < std::max(x, y); ++dim) {
        if (x == y) {
          Join(slots_.Of(0, a.outputs[o], dim), slots_.Of(1, b.outputs[o], dim));
        } else {
          if (dim < x) bad_[slots_.Of(0, a.outputs[o], dim)] = true;
          if (dim < y) bad_[slots_.Of(1, b.outputs[o], dim)] = true;
        }
      }
    }
  }

  void Join(int a, int b) { parents_[Root(&parents_, a)] = Root(&parents_, b); }

  // Records a use of variables and symbols other than passing a batch dimension through.
  void Use(const IndexExpr& e) {
    switch (e.kind()) {
      case IndexExpr::Kind::kConst:
        return;
      case IndexExpr::Kind::kSymbol:
        used_.insert(e.name());
        return;
      case IndexExpr::Kind::kVar:
        if (auto it = axes_.find(e.var()); it != axes_.end()) bad_[it->second] = true;
        return;
      case IndexExpr::Kind::kLoad:
        Visit(ScalarExpr(e.load()));
        return;
      default:
        Use(e.lhs());
        Use(e.rhs());
    }
  }
  void Use(const Guard& g) {
    switch (g.kind()) {
      case Guard::Kind::kTrue:
      case Guard::Kind::kFalse:
        return;
      case Guard::Kind::kLe:
      case Guard::Kind::kEq:
        Use(g.lhs());
        Use(g.rhs());
        return;
      case Guard::Kind::kNot:
        Use(g.left());
        return;
      default:
        Use(g.left());
        Use(g.right());
    }
  }

  void Visit(const ScalarExpr& e) {
    switch (e.kind()) {
      case ScalarExpr::Kind::kConst:
      case ScalarExpr::Kind::kParam:
        return;
      case ScalarExpr::Kind::kIndex:
        Use(e.index());
        return;
      case ScalarExpr::Kind::kRead:
        for (size_t dim = 0; dim < e.indices().size(); ++dim) {
          const IndexExpr& index = e.indices()[dim];
          const int slot = slots_.Of(side_, e.tensor(), dim);
          auto axis = index.kind() == IndexExpr::Kind::kVar ? axes_.find(index.var()) : axes_.end();
          if (axis != axes_.end()) {
            Join(axis->second, slot);
          } else if (index.AsConst() != 0 || !IsOne(slots_.SizeOf(slot))) {
            bad_[slot] = true;
            Use(index);
          }
        }
        return;
      case ScalarExpr::Kind::kReduce:
        for (const Axis& axis : e.axes()) Use(axis.extent);
        [[fallthrough]];
      case ScalarExpr::Kind::kSelect:
        Use(e.guard());
        [[fallthrough]];
      case ScalarExpr::Kind::kApply:
        for (const ScalarExpr& arg : e.args()) Visit(arg);
    }
  }

  std::string Same(const std::string& name) const {
    auto it = same_.find(name);
    return it == same_.end() ? name : Same(it->second);
  }

  // Extends bad_ to whole classes, and rejects classes whose sizes are unsuitable.
  void Judge() {
    std::map<int, std::vector<int>> classes;
    for (int slot = 0; slot < slots_.size(); ++slot) {
      classes[Root(&parents_, slot)].push_back(slot);
    }
    for (auto& [root, members] : classes) {
      std::set<int> tensors;
      bool bad = false;
      for (int slot : members) {
        const IndexExpr &size = slots_.SizeOf(slot), &first = slots_.SizeOf(members[0]);
        bad = bad || bad_[slot] || !tensors.insert(slots_.TensorOf(slot)).second;
        if (IsOne(first)) {
          bad = bad || !IsOne(size);
        } else {
          bad = bad || first.kind() != IndexExpr::Kind::kSymbol ||
                size.kind() != IndexExpr::Kind::kSymbol || Same(size.name()) != Same(first.name());
        }
      }
      bad_[root] = bad;
      if (bad) {
        for (int slot : members) CollectUsed(slots_.SizeOf(slot));
      }
    }
    // A size with another use makes its dimensions ordinary ones. Their sizes are then in use too.
    for (bool more = true; more;) {
      more = false;
      for (auto& [root, members] : classes) {
        if (bad_[root]) continue;
        const bool used = std::any_of(members.begin(), members.end(), [&](int slot) {
          const IndexExpr& size = slots_.SizeOf(slot);
          return !IsOne(size) && used_.count(size.name()) > 0;
        });
        if (!used) continue;
        bad_[root] = more = true;
        for (int slot : members) CollectUsed(slots_.SizeOf(slot));
      }
    }
  }
  void CollectUsed(const IndexExpr& size) {
    axes_.clear();
    Use(size);
  }

  const Statement& statement_;
  Slots slots_;
  std::vector<int> parents_;
  std::vector<bool> bad_;  // by slot; after Judge, the root's value is that of its class
  int side_ = 0;
  std::map<VarId, int> axes_;  // axes of the tensor being visited
  std::set<std::string> used_;
  std::map<std::string, std::string> same_;
};

BatchDims::BatchDims(const Statement& statement) : finder_(std::make_unique<Finder>(statement)) {}
BatchDims::~BatchDims() = default;

bool BatchDims::IsBatch(int side, TensorId tensor, size_t dim) const {
  return finder_->IsBatch(finder_->slots().Of(side, tensor, dim));
}

const IndexExpr& BatchDims::SizeOf(int side, TensorId tensor, size_t dim) const {
  return finder_->slots().SizeOf(finder_->slots().Of(side, tensor, dim));
}

}  // namespace lemma
