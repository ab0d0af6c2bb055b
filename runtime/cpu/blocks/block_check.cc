#include "runtime/cpu/blocks/block_check.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graph/barrier.h"
#include "graph/expr/affine.h"
#include "graph/expr/free_vars.h"
#include "graph/ops/formula.h"
#include "runtime/cpu/blocks/block_text.h"
#include "runtime/cpu/blocks/carried_dims.h"
#include "runtime/cpu/blocks/moved_dims.h"
#include "runtime/plan/node_traits.h"
#include "runtime/plan/use_table.h"

namespace lemma::cpu {
namespace {

// The indices of a block along one dimension.
struct Part {
  std::optional<int64_t> begin;  // nullopt: anywhere, since the values do not depend on the index
  int64_t size = 0;

  bool operator==(const Part& o) const { return begin == o.begin && size == o.size; }
};

// A value is these indices of the value `of`. If `sums` is not empty, it is the part of the sum
// `of` over these indices of its variables, by position in SummedDimsOf.
struct Block {
  Value of;
  std::vector<Part> indices, sums;

  bool operator==(const Block& o) const {
    return of == o.of && indices == o.indices && sums == o.sums;
  }
};

Part WholePart(int64_t size) { return {0, size}; }

// Whether the indices are among those from 0 to size - 1.
bool IsInside(const Part& part, int64_t size) {
  const int64_t begin = part.begin.value_or(0);
  return begin >= 0 && part.size >= 0 && begin <= size - part.size;
}

Block WholeBlock(const Value& v) {
  Block block{v, {}, {}};
  for (const int64_t size : v.shape()) block.indices.push_back(WholePart(size));
  return block;
}

// Both parts as one, if the second one follows the first one.
std::optional<Part> Joined(const Part& a, const Part& b, int64_t whole) {
  if (a.begin && b.begin && *b.begin != *a.begin + a.size) return std::nullopt;
  Part joined{a.begin, a.size + b.size};
  if (!a.begin && b.begin) joined.begin = *b.begin - a.size;
  if (!joined.begin && joined.size == whole) joined.begin = 0;
  if (!IsInside(joined, whole)) return std::nullopt;
  return joined;
}

// The reads of a body, also in data-dependent indices, and the variables used in other places.
struct Uses {
  std::vector<ScalarExpr> reads;
  std::set<VarId> elsewhere;
  FreeVars free;

  template <typename T>
  void Elsewhere(const T& e) {
    for (const VarId var : free.Of(e)) elsewhere.insert(var);
  }
  void VisitIndex(const IndexExpr& e) {
    switch (e.kind()) {
      case IndexExpr::Kind::kConst:
      case IndexExpr::Kind::kSymbol:
      case IndexExpr::Kind::kVar:
        return;
      case IndexExpr::Kind::kLoad:
        return Visit(ScalarExpr(e.load()));
      default:
        VisitIndex(e.lhs());
        VisitIndex(e.rhs());
    }
  }
  void Visit(const ScalarExpr& e) {
    switch (e.kind()) {
      case ScalarExpr::Kind::kConst:
      case ScalarExpr::Kind::kParam:
        return;
      case ScalarExpr::Kind::kIndex:
        return Elsewhere(e.index());
      case ScalarExpr::Kind::kRead:
        reads.push_back(e);
        for (const IndexExpr& index : e.indices()) VisitIndex(index);
        return;
      case ScalarExpr::Kind::kReduce:
        for (const Axis& axis : e.axes()) Elsewhere(axis.extent);
        Elsewhere(e.guard());
        break;
      case ScalarExpr::Kind::kSelect:
        Elsewhere(e.guard());
        break;
      case ScalarExpr::Kind::kApply:
        break;
    }
    for (const ScalarExpr& arg : e.args()) Visit(arg);
  }
};

// The variables of an index that do not only decide what is loaded.
void AddVarsBesideLoads(const IndexExpr& e, std::set<VarId>* vars) {
  switch (e.kind()) {
    case IndexExpr::Kind::kConst:
    case IndexExpr::Kind::kSymbol:
    case IndexExpr::Kind::kLoad:
      return;
    case IndexExpr::Kind::kVar:
      vars->insert(e.var());
      return;
    default:
      AddVarsBesideLoads(e.lhs(), vars);
      AddVarsBesideLoads(e.rhs(), vars);
  }
}

class BlockChecker {
 public:
  explicit BlockChecker(const Graph& whole) : whole_(whole) {
    for (const NodePtr& node : whole_.nodes) {
      if (node->num_outputs() == 0) continue;
      const Value v(node, 0);
      if (const auto number = NumberOf(v)) uniform_[*number].push_back(v);
    }
  }

  absl::StatusOr<BlockEvidence> Check(const Graph& whole, const Graph& divided) {
    if (whole.outputs().size() != divided.outputs().size()) {
      return absl::InternalError("the graph in blocks has another number of outputs");
    }
    if (whole.inputs() != divided.inputs() || whole.input_names() != divided.input_names()) {
      return absl::InternalError("the graph in blocks has other inputs");
    }
    std::string unknown;
    for (const NodePtr& node : divided.nodes()) {
      Visit(node);
      if (unknown.empty() && node->num_outputs() > 0 && BlocksOf(Value(node, 0)).empty() &&
          !NumberOf(Value(node, 0))) {
        unknown = absl::StrCat("; nothing is known of a result of ",
                               node->is_op() ? node->op().name : "a constant", ", ",
                               node->type(0).ToString());
      }
    }
    for (size_t i = 0; i < divided.outputs().size(); ++i) {
      const std::vector<Block>& blocks = BlocksOf(divided.outputs()[i]);
      const Block wanted = WholeBlock(whole.outputs()[i]);
      if (std::find(blocks.begin(), blocks.end(), wanted) == blocks.end()) {
        return absl::InternalError(absl::StrCat("the graph in blocks is not proved to compute \"",
                                                whole.output_names()[i], "\"", unknown));
      }
    }
    return evidence_;
  }

 private:
  const std::vector<Block>& BlocksOf(const Value& v) const {
    static const std::vector<Block> none;
    const auto known = known_.find(v);
    return known == known_.end() ? none : known->second;
  }

  // Whether v has the type of the block, and the block lies in the value of which it is one.
  bool Fits(const Value& v, const Block& block) {
    const Shape& whole = block.of.shape();
    if (v.dtype() != block.of.dtype() || v.shape().size() != whole.size()) return false;
    for (size_t d = 0; d < whole.size(); ++d) {
      const Part& part = block.indices[d];
      if (part.size != v.shape()[d] || !IsInside(part, whole[d])) return false;
    }
    for (size_t s = 0; s < block.sums.size(); ++s) {
      if (!IsInside(block.sums[s], SummedOf(block.of.node())[s].extent)) return false;
    }
    return true;
  }

  void Add(const Value& v, Block block) {
    if (!Fits(v, block)) return;
    std::vector<Block>& blocks = known_[v];
    if (std::find(blocks.begin(), blocks.end(), block) != blocks.end()) return;
    const bool is_whole = block == WholeBlock(block.of);
    if (is_whole && put_together_.insert(block.of).second) ++evidence_.values;
    blocks.push_back(std::move(block));
  }

  void Visit(const NodePtr& node) {
    if (whole_.position.count(node.get()) > 0) {
      for (int i = 0; i < node->num_outputs(); ++i) {
        const Value v(node, i);
        known_[v].push_back(WholeBlock(v));
      }
      return;
    }
    if (node->num_outputs() == 1) AddUniform(Value(node, 0));
    if (!node->is_op() || node->inputs().empty()) return;
    if (AddSame(node) || node->num_outputs() != 1) return;
    const Value v(node, 0);
    if (IsBarrier(*node)) {
      for (const Block& block : std::vector<Block>(BlocksOf(node->inputs()[0]))) Add(v, block);
    }
    AddSlice(*node, v);
    AddConcat(*node, v);
    AddSum(*node, v);
    AddApplications(*node, v);
  }

  // The number of type float that all elements equal, as its type and its bits in double; nullopt
  // if it is not known.
  static std::optional<std::pair<DType, uint64_t>> NumberOf(const Value& v) {
    if (!IsFloat(v.dtype())) return std::nullopt;
    const std::optional<double> number = Formula::Uniform(v);
    if (!number) return std::nullopt;
    uint64_t bits = 0;
    std::memcpy(&bits, &*number, sizeof bits);
    return std::make_pair(v.dtype(), bits);
  }

  // A constant with one number in all places is a block of each such constant that is as large.
  void AddUniform(const Value& v) {
    const auto number = NumberOf(v);
    if (!number) return;
    const auto equal = uniform_.find(*number);
    if (equal == uniform_.end()) return;
    for (const Value& whole : equal->second) {
      if (whole.shape().size() != v.shape().size()) continue;
      Block block{whole, {}, {}};
      for (size_t d = 0; d < v.shape().size(); ++d) {
        block.indices.push_back({std::nullopt, v.shape()[d]});
        if (v.shape()[d] == whole.shape()[d]) block.indices[d].begin = 0;
      }
      if (Fits(v, block)) known_[v].push_back(std::move(block));
    }
  }

  // The same application to other values that are whole.
  bool AddSame(const NodePtr& node) {
    bool found = false;
    for (const Block& first : std::vector<Block>(BlocksOf(node->inputs()[0]))) {
      if (!(first == WholeBlock(first.of))) continue;
      for (const int user : whole_.Users(first.of)) {
        const NodePtr& before = whole_.nodes[user];
        bool same = HashApplication(*before) == HashApplication(*node);
        for (size_t j = 0; same && j < node->inputs().size(); ++j) {
          const std::vector<Block>& blocks = BlocksOf(node->inputs()[j]);
          same = std::find(blocks.begin(), blocks.end(), WholeBlock(before->inputs()[j])) !=
                 blocks.end();
        }
        if (!same) continue;
        found = true;
        for (int i = 0; i < node->num_outputs(); ++i) {
          Add(Value(node, i), WholeBlock(Value(before, i)));
        }
      }
    }
    return found;
  }

  // y[i…] = x[i… + start…].
  void AddSlice(const Node& node, const Value& v) {
    const std::optional<MovedDims>& moved = MovedOf(node);
    if (!moved || moved->at.size() != moved->vars.size()) return;
    std::vector<int64_t> starts;
    for (size_t d = 0; d < moved->at.size(); ++d) {
      const std::optional<Affine> at = ToAffine(moved->at[d]);
      if (!at || at->terms.size() > 1) return;
      const bool one = at->is_const() && moved->to[d] == 1;
      if (!one &&
          (at->is_const() || at->terms[0].first != moved->vars[d] || at->terms[0].second != 1)) {
        return;
      }
      starts.push_back(at->base);
    }
    for (Block block : std::vector<Block>(BlocksOf(node.inputs()[0]))) {
      for (size_t d = 0; d < starts.size(); ++d) {
        Part& part = block.indices[d];
        if (part.begin) *part.begin += starts[d];
        part.size = moved->to[d];
        if (!part.begin && part.size == block.of.shape()[d]) part.begin = 0;
      }
      Add(v, std::move(block));
    }
  }

  void AddConcat(const Node& node, const Value& v) {
    const std::optional<int> dim = traits_.Of(node).concat_dim;
    if (!dim) return;
    for (Block block : std::vector<Block>(BlocksOf(node.inputs()[0]))) {
      bool fits = true;
      for (size_t j = 1; fits && j < node.inputs().size(); ++j) {
        fits = false;
        for (Block next : BlocksOf(node.inputs()[j])) {
          const auto joined = Joined(block.indices[*dim], next.indices[*dim],
                                     block.of == next.of ? block.of.shape()[*dim] : 0);
          if (!joined) continue;
          next.indices[*dim] = block.indices[*dim];
          if (!(next == block)) continue;
          block.indices[*dim] = *joined;
          fits = true;
          break;
        }
      }
      if (fits) Add(v, std::move(block));
    }
  }

  // y[i…] = a[i…] + b[i…].
  static bool IsSumOfTwo(const Definition& definition) {
    const TensorExpr& tensor = definition.tensors[0];
    if (definition.num_inputs() != 2 || tensor.body.kind() != ScalarExpr::Kind::kApply ||
        tensor.body.fn() != ScalarFn::kAdd) {
      return false;
    }
    for (size_t j = 0; j < 2; ++j) {
      const ScalarExpr& read = tensor.body.args()[j];
      if (read.kind() != ScalarExpr::Kind::kRead || read.tensor() != static_cast<TensorId>(j) ||
          read.indices().size() != tensor.axes.size()) {
        return false;
      }
      for (size_t d = 0; d < tensor.axes.size(); ++d) {
        const IndexExpr& at = read.indices()[d];
        const bool one = at.is_const() && at.value() == 0 && tensor.axes[d].extent.AsConst() == 1;
        if (!one && (at.kind() != IndexExpr::Kind::kVar || at.var() != tensor.axes[d].var)) {
          return false;
        }
      }
    }
    return true;
  }

  void AddSum(const Node& node, const Value& v) {
    if (node.inputs().size() != 2) return;
    const std::vector<Block> first = BlocksOf(node.inputs()[0]);
    if (std::all_of(first.begin(), first.end(), [](const Block& b) { return b.sums.empty(); })) {
      return;
    }
    const auto* definition = DefinitionFor(node);
    if (definition == nullptr || !IsSumOfTwo(*definition)) return;
    for (const Block& a : first) {
      for (const Block& b : std::vector<Block>(BlocksOf(node.inputs()[1]))) {
        if (a.sums.empty() || a.of != b.of || a.sums.size() != b.sums.size()) continue;
        const std::vector<SummedDim>& dims = SummedOf(a.of.node());
        int other = -1, different = 0;
        bool is_whole = true;
        Block both = a;
        for (size_t s = 0; s < a.sums.size(); ++s) {
          if (!(a.sums[s] == b.sums[s]) || !a.sums[s].begin) {
            other = static_cast<int>(s);
            ++different;
            const bool later = a.sums[s].begin > b.sums[s].begin;  // nullopt is less
            const auto joined = Joined(later ? b.sums[s] : a.sums[s], later ? a.sums[s] : b.sums[s],
                                       dims[s].extent);
            if (!joined) different = 2;
            both.sums[s] = joined.value_or(Part());
          }
          is_whole = is_whole && both.sums[s] == WholePart(dims[s].extent);
        }
        if (different != 1 || other < 0 || !(a.indices == b.indices)) continue;
        if (is_whole) both.sums.clear();
        Add(v, std::move(both));
      }
    }
  }

  // The block of the result of an operator of the whole graph that `node` applies to blocks.
  void AddApplications(const Node& node, const Value& v) {
    bool proved = false;
    absl::flat_hash_set<int> tried;
    for (const Block& first : std::vector<Block>(BlocksOf(node.inputs()[0]))) {
      for (const int user : whole_.Users(first.of)) {
        const Node& before = *whole_.nodes[user];
        if (!tried.insert(user).second || &before.op() != &node.op() || before.num_outputs() != 1 ||
            before.inputs().size() != node.inputs().size() ||
            before.type(0).dtype != node.type(0).dtype ||
            before.type(0).rank() != node.type(0).rank()) {
          continue;
        }
        std::vector<Block> operands;
        for (size_t j = 0; j < node.inputs().size(); ++j) {
          // Definitions do not show element types; a block has that of its value (Fits).
          for (const Block& block : BlocksOf(node.inputs()[j])) {
            if (block.of != before.inputs()[j] || !block.sums.empty()) continue;
            operands.push_back(block);
            break;
          }
        }
        if (operands.size() != node.inputs().size()) continue;
        std::optional<Block> block = Applied(before, node, operands);
        if (!block) block = Moved(before, node, operands[0]);
        if (!block) continue;
        block->of = Value(whole_.nodes[user], 0);
        proved = true;
        Add(v, *std::move(block));
      }
    }
    if (proved) ++evidence_.applications;
  }

  // See CheckBlocks. The definitions may differ in the extents of the result and of the sum.
  std::optional<Block> Applied(const Node& before, const Node& node,
                               const std::vector<Block>& operands) {
    const Definition *whole = DefinitionFor(before), *part = DefinitionFor(node);
    if (whole == nullptr || part == nullptr) return std::nullopt;
    const TensorExpr& tensor = whole->tensors[0];
    const Shape &to = before.type(0).shape, &shape = node.type(0).shape;
    absl::flat_hash_map<VarId, int64_t> sizes;  // of variables of which there is a part
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] != to[d]) sizes[tensor.axes[d].var] = shape[d];
    }
    const std::vector<SummedDim>& summed = SummedOf(before);
    std::vector<std::pair<int, int64_t>> extents;
    for (const SummedDim& sum : summed) {
      int64_t size = sum.extent;
      for (size_t j = 0; j < operands.size(); ++j) {
        if (sum.dims[j] >= 0) size = operands[j].indices[sum.dims[j]].size;
      }
      if (size == sum.extent) continue;
      sizes[tensor.body.axes()[sum.variable].var] = size;
      extents.emplace_back(sum.variable, size);
    }
    // Where each variable begins.
    Uses uses;
    uses.Visit(tensor.body);
    absl::flat_hash_map<VarId, int64_t> begins;
    std::set<VarId> at_zero = uses.elsewhere;
    for (const ScalarExpr& read : uses.reads) {
      const Block& operand = operands[read.tensor()];
      for (size_t k = 0; k < read.indices().size(); ++k) {
        const IndexExpr& index = read.indices()[k];
        const Part& range = operand.indices[k];
        const auto size =
            index.kind() == IndexExpr::Kind::kVar ? sizes.find(index.var()) : sizes.end();
        if (size != sizes.end()) {
          if (range.size != size->second) return std::nullopt;
          if (!range.begin) continue;
          if (begins.try_emplace(index.var(), *range.begin).first->second != *range.begin) {
            return std::nullopt;
          }
          continue;
        }
        if (!(range == WholePart(operand.of.shape()[k]))) return std::nullopt;
        AddVarsBesideLoads(index, &at_zero);
      }
    }
    for (const VarId var : at_zero) {
      if (begins.try_emplace(var, 0).first->second != 0) return std::nullopt;
    }
    Block block;
    std::vector<bool> zero;
    for (size_t d = 0; d < shape.size(); ++d) {
      const auto begin = begins.find(tensor.axes[d].var);
      std::optional<int64_t> at;
      if (begin != begins.end()) at = begin->second;
      if (!at && shape[d] == to[d]) at = 0;
      block.indices.push_back({at, shape[d]});
      zero.push_back(shape[d] == 1 && to[d] != 1);
    }
    if (!extents.empty()) {
      for (const SummedDim& sum : summed) {
        const VarId var = tensor.body.axes()[sum.variable].var;
        Part terms = WholePart(sum.extent);
        if (const auto size = sizes.find(var); size != sizes.end()) {
          terms = {std::nullopt, size->second};
          if (const auto begin = begins.find(var); begin != begins.end()) {
            terms.begin = begin->second;
          }
        }
        block.sums.push_back(terms);
      }
      if (part->tensors[0].body.kind() != ScalarExpr::Kind::kReduce) return std::nullopt;
    }
    const auto key = std::make_pair(HashApplication(before), HashApplication(node));
    auto [same, fresh] = same_text_.try_emplace(key, false);
    if (fresh) {
      same->second = BodyAt(*whole, zero, !extents.empty(), extents) ==
                     BodyAt(*part, zero, !extents.empty(), {});
    }
    if (!same->second) return std::nullopt;
    return block;
  }

  // The block of the result of an operator that only moves elements, such as a reshape.
  std::optional<Block> Moved(const Node& before, const Node& node, const Block& operand) {
    const std::optional<MovedDims>&whole = MovedOf(before), &part = MovedOf(node);
    if (!whole || !part) return std::nullopt;
    std::vector<Range> from;
    for (const Part& index : operand.indices) {
      from.push_back({index.begin.value_or(0), index.size});
    }
    const std::vector<Range> indices = InSameOrder(*whole, from, part->to);
    if (indices.empty()) return std::nullopt;
    Block block;
    for (size_t d = 0; d < indices.size(); ++d) {
      block.indices.push_back({indices[d].begin, indices[d].size});
      if (!IsInside(block.indices[d], whole->to[d])) return std::nullopt;
    }
    if (!MovesBlock(*whole, from, indices, *part)) return std::nullopt;
    return block;
  }

  // Where the block `from` lies if the result has the elements of the operand in the same row-major
  // order; empty if it has no elements.
  static std::vector<Range> InSameOrder(const MovedDims& whole, const std::vector<Range>& from,
                                        const Shape& sizes) {
    int64_t position = 0;
    for (size_t d = 0; d < whole.from.size(); ++d) {
      position = position * whole.from[d] + from[d].begin;
    }
    std::vector<Range> indices(whole.to.size());
    for (size_t d = whole.to.size(); d-- > 0;) {
      if (whole.to[d] == 0) return {};
      indices[d] = {position % whole.to[d], sizes[d]};
      position /= whole.to[d];
    }
    return indices;
  }

  const Definition* DefinitionFor(const Node& node) {
    std::unique_ptr<std::optional<Definition>>& entry = definitions_[HashApplication(node)];
    if (entry == nullptr) {
      entry = std::make_unique<std::optional<Definition>>(InlinedDefinition(node));
    }
    return *entry ? &**entry : nullptr;
  }
  const std::vector<SummedDim>& SummedOf(const Node& node) {
    std::unique_ptr<std::vector<SummedDim>>& entry = summed_[HashApplication(node)];
    if (entry == nullptr) entry = std::make_unique<std::vector<SummedDim>>(SummedDimsOf(node));
    return *entry;
  }
  const std::optional<MovedDims>& MovedOf(const Node& node) {
    std::unique_ptr<std::optional<MovedDims>>& entry = moved_[HashApplication(node)];
    if (entry == nullptr) entry = std::make_unique<std::optional<MovedDims>>(MovedDimsOf(node));
    return *entry;
  }

  const UseTable whole_;
  NodeTraitsCache traits_;
  absl::flat_hash_map<Value, std::vector<Block>> known_;
  absl::flat_hash_map<std::pair<DType, uint64_t>, std::vector<Value>> uniform_;  // by NumberOf
  absl::flat_hash_set<Value> put_together_;
  absl::flat_hash_map<uint64_t, std::unique_ptr<std::optional<Definition>>> definitions_;
  absl::flat_hash_map<uint64_t, std::unique_ptr<std::optional<MovedDims>>> moved_;
  absl::flat_hash_map<uint64_t, std::unique_ptr<std::vector<SummedDim>>> summed_;
  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, bool> same_text_;
  BlockEvidence evidence_;
};

}  // namespace

absl::StatusOr<BlockEvidence> CheckBlocks(const Graph& whole, const Graph& divided) {
  return BlockChecker(whole).Check(whole, divided);
}

}  // namespace lemma::cpu
