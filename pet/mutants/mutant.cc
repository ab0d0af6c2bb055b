#include "pet/mutants/mutant.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pet/mutants/operator_mutant.h"
#include "pet/mutants/reach.h"
#include "pet/mutants/recipe.h"
#include "pet/mutants/samples.h"
#include "pet/mutants/split_mutant.h"

namespace lemma::pet {
namespace {

class Enumeration {
 public:
  Enumeration(const Graph& original, const MutantOptions& options, Samples* samples,
              const std::function<bool(Mutant)>& found)
      : original_(original), options_(options), samples_(samples), found_(found) {}

  absl::Status Run() {
    Prepare();
    for (leaf_ = 0; leaf_ < static_cast<int>(original_.inputs().size()); ++leaf_) {
      data_ = original_.inputs()[static_cast<size_t>(leaf_)];
      LEMMA_ASSIGN_OR_RETURN(reach_, ReachOf(original_.outputs()[0], data_));
      if (reach_.empty() || data_.shape().empty()) continue;
      for (const Layout& layout : Layouts()) {
        LEMMA_RETURN_IF_ERROR(Try(layout));
        if (done_) return absl::OkStatus();
      }
    }
    return absl::OkStatus();
  }

 private:
  void Prepare() {
    for (const NodePtr& node : original_.nodes()) {
      if (!node->is_op()) continue;
      ops_.push_back(node);
      size_t list = 0;
      for (const AttrSpec& spec : node->op().attrs) list += spec.kind == AttrKind::kInts;
      lists_ = std::max(lists_, list);
    }
    changes_ = Changes();
  }

  std::set<int64_t> Factors(int dim) const {
    std::set<int64_t> factors = {2, 3, 4};
    const int64_t size = data_.shape()[dim];
    factors.insert(size);
    for (const NodePtr& node : ops_) {
      for (const auto& [name, value] : node->attrs()) {
        auto* list = std::get_if<std::vector<int64_t>>(&value);
        if (list == nullptr) continue;
        for (int64_t entry : *list) factors.insert(entry);
      }
    }
    std::set<int64_t> possible;
    for (int64_t f : factors) {
      if (f > 1 && f <= size && f <= 64) possible.insert(f);
    }
    return possible;
  }

  std::vector<Layout> Layouts() const {
    std::vector<Layout> layouts;
    const int rank = data_.type().rank();
    for (int from = 0; from < rank; ++from) {
      for (int to = 0; to < rank; ++to) {
        if (from == to) continue;
        for (int64_t f : Factors(from)) {
          AddDigits(from, to, f, &layouts);
          AddBlocks(from, to, f, &layouts);
        }
      }
    }
    return layouts;
  }

  // Layouts that move one digit, with and without a gap in the target dimension. A second dimension
  // may give a digit too.
  void AddDigits(int from, int to, int64_t f, std::vector<Layout>* layouts) const {
    for (int form = 0; form < 4; ++form) {
      const DigitMove move = {from, to, f, (form & 1) != 0, (form & 2) != 0};
      for (int64_t gap : Gaps(to)) AddDigits(move, gap, false, layouts);
      if (reach_[from] > 1) AddDigits(move, 0, true, layouts);
    }
  }

  // `pads`: make the operator's own padding, half its reach, explicit.
  void AddDigits(const DigitMove& move, int64_t gap, bool pads,
                 std::vector<Layout>* layouts) const {
    Layout one;
    if (gap > 0) one.pads.push_back({move.to, 0, gap});
    auto add = [&](int from, Layout* layout) {
      const int64_t own = pads ? reach_[from] / 2 : 0;
      if (own > 0) layout->pads.push_back({from, own, own});
      RoundUp(data_.shape(), from, move.factor, &layout->pads);
      layout->digits.push_back(move);
      layout->digits.back().from = from;
    };
    add(move.from, &one);
    layouts->push_back(one);
    for (int other = move.from + 1; other < data_.type().rank(); ++other) {
      if (other == move.to || data_.shape()[other] < move.factor) continue;
      Layout two = one;
      add(other, &two);
      layouts->push_back(std::move(two));
    }
  }

  // No gap, and gaps as wide as the reach of a window beyond one element, or half of it.
  std::set<int64_t> Gaps(int dim) const {
    const int64_t reach = reach_[dim];
    return {0, reach / 2, reach};
  }

  // Blocks overlap by a window's reach beyond its first element, after the operator's own padding.
  void AddBlocks(int from, int to, int64_t f, std::vector<Layout>* layouts) const {
    const int64_t overlap = reach_[from];
    if (overlap == 0) return;
    for (int64_t before : std::set<int64_t>{0, overlap / 2, overlap}) {
      Layout layout;
      int64_t size = data_.shape()[from] + before;
      int64_t after = overlap - before;
      while ((size + after - overlap) % f != 0) ++after;
      layout.pads.push_back({from, before, after});
      layout.blocks.push_back({from, to, f, overlap});
      layouts->push_back(layout);
    }
  }

  std::vector<AttrChange> Changes() const {
    std::vector<AttrChange> changes;
    const unsigned all = 1u << lists_;
    for (unsigned divided = 0; divided < all; ++divided) {
      for (unsigned zeroed = 0; zeroed < all; ++zeroed) {
        if (divided & zeroed) continue;
        for (unsigned entries : {3u, 1u, 2u}) {
          if (divided + zeroed == 0 && entries != 3) continue;
          changes.push_back({divided, zeroed, entries});
        }
      }
    }
    return changes;
  }

  absl::Status Try(const Layout& layout) {
    const Shape shape = ShapeAfter(data_.shape(), layout);
    if (shape.empty()) return absl::OkStatus();
    const auto before = static_cast<double>(NumElements(data_.shape()));
    if (static_cast<double>(NumElements(shape)) > options_.max_growth * before + 64) {
      return absl::OkStatus();
    }
    LEMMA_RETURN_IF_ERROR(MoveLeaves(layout));
    std::set<Attrs> seen;
    for (const AttrChange& change : changes_) {
      if (++tried_ > options_.max_tried) {
        done_ = true;
        return absl::OkStatus();
      }
      // Skips changes that leave the attributes as they are.
      Attrs together;
      for (const NodePtr& node : ops_) {
        for (auto& [name, value] : Changed(*node, change, layout.factor())) {
          together[absl::StrCat(together.size(), name)] = value;
        }
      }
      if (!seen.insert(together).second) continue;
      for (bool with_weights : {false, true}) {
        if (with_weights && moved_[1].empty()) continue;
        LEMMA_RETURN_IF_ERROR(TryOne(layout, change, with_weights));
        if (done_) return absl::OkStatus();
      }
    }
    return absl::OkStatus();
  }

  // moved_[0]: only the data; moved_[1]: weights too, or empty if no weight can be moved.
  absl::Status MoveLeaves(const Layout& layout) {
    LEMMA_ASSIGN_OR_RETURN(moved_[0], MovedLeaves(original_, leaf_, layout, false));
    moved_[1].clear();
    if (!layout.blocks.empty()) return absl::OkStatus();
    LEMMA_ASSIGN_OR_RETURN(moved_[1], MovedLeaves(original_, leaf_, layout, true));
    if (moved_[1] == moved_[0]) moved_[1].clear();
    return absl::OkStatus();
  }

  absl::Status TryOne(const Layout& layout, const AttrChange& change, bool with_weights) {
    const Value& wanted = original_.outputs()[0];
    auto y = Rebuilt(original_, moved_[with_weights], change, layout.factor());
    if (!y.ok()) return absl::OkStatus();
    for (bool back : {true, false}) {
      auto result = MovedBack(*y, back ? layout.Back() : std::vector<DigitMove>(), wanted);
      if (!result.ok() || *result == wanted || !seen_.insert(*result).second) continue;
      LEMMA_ASSIGN_OR_RETURN(const bool agrees, samples_->AgreeWith(*result));
      if (!agrees) continue;
      done_ = !found_({original_.WithOutputs({*result}),
                       Recipe{leaf_, layout, change, with_weights, back}, "", Value()});
      if (done_) break;
    }
    return absl::OkStatus();
  }

  const Graph& original_;
  const MutantOptions& options_;
  Samples* const samples_;
  const std::function<bool(Mutant)>& found_;
  std::vector<NodePtr> ops_;
  size_t lists_ = 0;  // the largest number of list attributes of an operator
  std::vector<AttrChange> changes_;
  LeafMap moved_[2];
  int leaf_ = 0;  // the input whose layout changes
  Value data_;
  std::vector<int64_t> reach_;  // by dimension of the data
  absl::flat_hash_set<Value> seen_;
  int64_t tried_ = 0;
  bool done_ = false;
};

}  // namespace

absl::Status ForEachMutant(const Graph& original, const MutantOptions& options,
                           const std::function<bool(Mutant)>& found) {
  if (original.outputs().size() != 1) {
    return absl::InvalidArgumentError("mutants are of graphs with one output");
  }
  if (original.outputs()[0].type().num_elements() == 0) return absl::OkStatus();
  Samples samples(original.outputs()[0], options.samples, options.seed);
  // Fails if the output is not a polynomial.
  LEMMA_RETURN_IF_ERROR(samples.AgreeWith(original.outputs()[0]).status());
  bool more = true;
  const std::function<bool(Mutant)> counted = [&](Mutant mutant) {
    return more = found(std::move(mutant));
  };
  LEMMA_RETURN_IF_ERROR(Enumeration(original, options, &samples, counted).Run());
  if (!more) return absl::OkStatus();
  LEMMA_RETURN_IF_ERROR(ForEachSplitMutant(original, &samples, counted));
  if (!more) return absl::OkStatus();
  return ForEachOperatorMutant(original, options, &samples, counted);
}

}  // namespace lemma::pet
