#include "runtime/cpu/planner.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/barrier.h"
#include "runtime/cpu/blocks/blocks.h"
#include "runtime/cpu/grouping.h"
#include "runtime/cpu/limits.h"
#include "runtime/cpu/narrowing.h"
#include "runtime/cpu/plan_check.h"
#include "runtime/plan/run_conditions.h"

namespace lemma::cpu {
namespace {

class Planner {
 public:
  Planner(WideGraph wide, NodeTraitsCache& traits, const PlanOptions& options)
      : plan_{std::move(wide), {}, {}, {}, {}},
        graph_(plan_.wide.graph),
        traits_(traits),
        options_(options),
        uses_(graph_) {}

  absl::StatusOr<CpuPlan> Run() {
    if (absl::Status s = CheckDefined(); !s.ok()) return s;
    grouping_ = GroupNodes(uses_, traits_, options_.threads, options_.fuse_layout);
    conditions_ = RunConditions(uses_, traits_);
    location_.resize(uses_.users.size());
    done_.assign(uses_.nodes.size(), false);
    pending_.assign(uses_.nodes.size(), 0);
    for (const Group& group : grouping_.groups) {
      for (int n : group.nodes) ++pending_[n];
    }
    static_id_.assign(uses_.users.size(), -1);
    for (size_t i = 0; i < graph_.inputs().size(); ++i) PlaceInput(static_cast<int>(i));
    for (size_t i = 0; i < uses_.nodes.size(); ++i) {
      const int n = static_cast<int>(i);
      switch (grouping_.role[n]) {
        case NodeRole::kNone:
        case NodeRole::kCopied:
          break;
        case NodeRole::kView:
          EmitView(n);
          done_[n] = true;
          break;
        case NodeRole::kConcat:
          EmitConcat(n);
          done_[n] = true;
          break;
        case NodeRole::kKernel:
          if (grouping_.groups[grouping_.group_of[n]].nodes.back() == n) EmitGroup(n);
          break;
      }
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) EmitOutput(static_cast<int>(i));
    if (options_.with_places) ListPlaces();
    if (absl::Status s = CheckPlaces(plan_); !s.ok()) return s;
    return std::move(plan_);
  }

 private:
  absl::Status CheckDefined() {
    for (const NodePtr& node : uses_.nodes) {
      if (!node->is_op() && IsOpaque(node->type(0).dtype)) {
        return absl::UnimplementedError(
            absl::StrCat("unsupported: values of element type ", Name(node->type(0).dtype)));
      }
      if (!node->is_op() || traits_.Of(*node).defined) continue;
      absl::Status why = DefinitionOf(*node).status();
      return absl::UnimplementedError(
          absl::StrCat("unsupported: ", node->op().name, " (", why.message(), ")"));
    }
    return absl::OkStatus();
  }

  bool IsStatic(const Value& v) const { return uses_.is_static[uses_.NodeOf(v.node())]; }
  Location& LocationOf(const Value& v) { return location_[uses_.IdOf(v)]; }

  int NewBuffer(PlanBuffer::Kind kind, int index, int64_t bytes) {
    const int now = static_cast<int>(plan_.steps.size());
    plan_.buffers.push_back({kind, index, bytes, now, now});
    holders_.push_back(0);
    return static_cast<int>(plan_.buffers.size()) - 1;
  }
  Location NewLocation(const TensorType& type, Strides strides) {
    int64_t bytes = SpanOf(type.shape, strides) * SizeOf(type.dtype);
    return {NewBuffer(PlanBuffer::Kind::kArena, 0, bytes), 0, std::move(strides)};
  }
  void Settle(const Value& v, Location location) {
    ++holders_[location.buffer];
    LocationOf(v) = std::move(location);
  }

  void ListPlaces() {
    for (const NodePtr& node : uses_.nodes) {
      for (int k = 0; k < node->num_outputs(); ++k) {
        const int buffer = LocationOf(Value(node, k)).buffer;
        if (buffer >= 0) plan_.places.emplace_back(plan_.wide.OriginOf(Value(node, k)), buffer);
      }
    }
  }

  void PlaceInput(int i) {
    const Value& v = graph_.inputs()[i];
    int buffer = NewBuffer(PlanBuffer::Kind::kInput, i, v.type().num_bytes());
    Settle(v, {buffer, 0, RowMajorStrides(v.shape())});
  }

  int StaticId(const Value& v) {
    int& id = static_id_[uses_.IdOf(v)];
    if (id < 0) {
      id = static_cast<int>(plan_.statics.size());
      plan_.statics.push_back(v);
    }
    return id;
  }

  void Push(CpuStep step) {
    const int now = static_cast<int>(plan_.steps.size());
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (step.static_inputs[i] < 0) plan_.buffers[step.inputs[i].buffer].last_step = now;
    }
    for (const Location& out : step.outputs) {
      PlanBuffer& buffer = plan_.buffers[out.buffer];
      buffer.last_step = std::max(buffer.last_step, now);
    }
    for (const CpuStep::Condition& condition : step.conditions) {
      plan_.buffers[condition.at.buffer].last_step = now;
    }
    plan_.steps.push_back(std::move(step));
  }

  // Emits a step that copies a value (located at `from`, or static) to `to`.
  void EmitCopy(const Value& v, const TensorType& type, const Location* from, const Location& to) {
    CpuStep step;
    step.spec = std::make_shared<CpuKernelSpec>();
    step.spec->def = &CopyKernel();
    step.spec->threads = options_.threads;
    const bool is_static = from == nullptr;
    step.spec->inputs = {
        {v, type, is_static ? RowMajorStrides(type.shape) : from->strides, is_static}};
    step.spec->outputs = {{Value(), type, to.strides, false}};
    step.static_inputs = {is_static ? StaticId(v) : -1};
    step.inputs = {is_static ? Location() : *from};
    step.outputs = {to};
    Push(std::move(step));
  }

  // The value in another layout, copied only once.
  Location Reordered(const Value& v, const Strides& strides) {
    auto [entry, fresh] = reordered_.try_emplace({uses_.IdOf(v), strides});
    if (fresh) {
      Location to = NewLocation(v.type(), strides);
      Location from = LocationOf(v);
      EmitCopy(v, v.type(), &from, to);
      entry->second = std::move(to);
    }
    return entry->second;
  }

  void EmitView(int n) {
    const NodePtr& node = uses_.nodes[n];
    const NodeTraits& traits = traits_.Of(*node);
    for (int k = 0; k < node->num_outputs(); ++k) {
      Value out(node, k);
      if (traits.views.empty()) {
        EmitReshape(node->inputs()[0], out);
        continue;
      }
      const AffineView& view = traits.views[k];
      const Value& in = node->inputs()[view.input];
      if (IsStatic(in)) {  // another operand is dynamic, but no element of it is read
        Location from = NewLocation(in.type(), RowMajorStrides(in.shape()));
        EmitCopy(in, in.type(), nullptr, from);
        Settle(out, {from.buffer, view.OffsetOver(from.strides), view.StridesOver(from.strides)});
        continue;
      }
      const Location from = LocationOf(in);
      Settle(out, {from.buffer, from.offset + view.OffsetOver(from.strides),
                   view.StridesOver(from.strides)});
    }
  }

  void EmitReshape(const Value& in, const Value& out) {
    const Location from = LocationOf(in);
    if (auto strides = ReshapedView(in.shape(), from.strides, out.shape())) {
      Settle(out, {from.buffer, from.offset, *strides});
      return;
    }
    // Copies, and directly into the layout that the users will want, if that is a view of the
    // source.
    Strides wanted = Taken(out);
    if (wanted.empty() && out.type().rank() == 4 && !uses_.IsOutput(out) &&
        ChannelsInnermost(in.shape(), from.strides)) {
      wanted = ChannelsLast(out.shape());
    }
    auto as_input = wanted.empty() ? std::nullopt : ReshapedView(out.shape(), wanted, in.shape());
    if (!as_input) {
      wanted = RowMajorStrides(out.shape());
      as_input = RowMajorStrides(in.shape());
    }
    const std::optional<Location> output = OutputFor(out, wanted);
    Location to = output ? *output : NewLocation(out.type(), wanted);
    Location target = to;
    target.strides = *as_input;
    EmitCopy(in, in.type(), &from, target);
    Settle(out, std::move(to));
  }

  static bool ChannelsInnermost(const Shape& shape, const Strides& strides) {
    if (shape.size() < 4) return false;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (strides[d] == 1 && shape[d] > 1) return d == 1 || d == 2;
    }
    return false;
  }

  // The strides to which `v`, if it were row-major, would be copied for a kernel; empty: no copy.
  Strides Taken(const Value& v) {
    if (uses_.IsOutput(v)) return {};
    for (int user : uses_.Users(v)) {
      if (grouping_.role[user] != NodeRole::kKernel) continue;
      const auto spec = SpecOf(grouping_.groups[grouping_.group_of[user]]);
      const int index = spec->InputIndex(v);
      if (index < 0) continue;  // the group computes the value itself
      CpuKernelSpec::Operand& in = spec->inputs[index];
      in.strides = RowMajorStrides(v.shape());
      spec->def->layouts(*spec, {});
      if (!SameLayout(v.shape(), in.strides, RowMajorStrides(v.shape()))) return in.strides;
    }
    return {};
  }

  // The nodes that read the elements of `v`; barriers may only wait for it.
  std::vector<int> Readers(const Value& v) {
    std::vector<int> readers;
    for (const int user : uses_.Users(v)) {
      const Value out(uses_.nodes[user], 0);
      const bool waits = IsBarrier(out.node()) && !uses_.IsOutput(out) &&
                         (out.node().inputs()[0] != v || Readers(out).empty());
      if (!waits) readers.push_back(user);
    }
    return readers;
  }

  // The strides that the users of `v` prefer; empty: no preference.
  Strides Preferred(const Value& v) {
    if (uses_.IsOutput(v)) return RowMajorStrides(v.shape());
    const std::vector<int> users = Readers(v);
    if (users.size() != 1) return {};
    const NodePtr& user = uses_.nodes[users[0]];
    if (grouping_.role[users[0]] == NodeRole::kKernel) {
      // The kernel may add its result to v in v's place, in v's layout. Such sums form long chains.
      if (auto known = preferred_.find(v); known != preferred_.end()) return known->second;
      const Group& group = grouping_.groups[grouping_.group_of[users[0]]];
      if (users[0] == group.head || group.def == &PointwiseKernel()) return {};
      const auto spec = SpecOf(group);
      const int index = spec->InputIndex(v);
      Strides wanted = Preferred(spec->outputs[0].value);
      spec->def->layouts(*spec, wanted);
      const std::vector<int>& places = spec->in_place;
      const bool adds = std::count(places.begin(), places.end(), index) > 0;
      if (!adds || spec->inputs[index].strides != wanted) wanted.clear();
      return preferred_[v] = std::move(wanted);
    }
    if (grouping_.role[users[0]] != NodeRole::kView) return {};
    const NodeTraits& traits = traits_.Of(*user);
    if (traits.views.size() != 1 || traits.views[0].permutation.empty()) return {};
    if (user->inputs()[traits.views[0].input] != v) return {};  // the view does not read v
    Value out(user, 0);
    Strides outer = Preferred(out);
    if (outer.empty()) outer = RowMajorStrides(out.shape());
    Strides result(outer.size());
    const std::vector<int>& permutation = traits.views[0].permutation;
    for (size_t d = 0; d < outer.size(); ++d) result[permutation[d]] = outer[d];
    return result;
  }

  std::shared_ptr<CpuKernelSpec> SpecOf(const Group& group) {
    auto spec = std::make_shared<CpuKernelSpec>();
    spec->def = group.def;
    spec->threads = options_.threads;
    spec->winograd = options_.winograd;
    for (int n : group.nodes) {
      if (n == group.head) spec->head_at = static_cast<int>(spec->nodes.size());
      spec->nodes.push_back(uses_.nodes[n]);
    }
    const absl::flat_hash_set<int> own(group.nodes.begin(), group.nodes.end());
    for (int n : group.nodes) {
      for (const Value& v : uses_.nodes[n]->inputs()) {
        if (own.contains(uses_.NodeOf(v.node())) || spec->InputIndex(v) >= 0) continue;
        const Location& at = LocationOf(v);  // none if it is static or not computed yet
        spec->inputs.push_back(
            {v, v.type(), at.buffer < 0 ? RowMajorStrides(v.shape()) : at.strides, IsStatic(v)});
      }
    }
    const NodePtr& last = spec->nodes.back();
    for (int k = 0; k < last->num_outputs(); ++k) {
      spec->outputs.push_back({Value(last, k), last->type(k), {}, false});
    }
    return spec;
  }

  void EmitGroup(int n) {
    const Group& group = grouping_.groups[grouping_.group_of[n]];
    CpuStep step;
    step.spec = SpecOf(group);
    CpuKernelSpec& spec = *step.spec;
    spec.def->layouts(spec, Preferred(spec.outputs[0].value));
    for (const CpuKernelSpec::Operand& in : spec.inputs) {
      step.static_inputs.push_back(in.is_static ? StaticId(in.value) : -1);
      if (in.is_static) {
        step.inputs.push_back({});
      } else if (SameLayout(in.type.shape, LocationOf(in.value).strides, in.strides)) {
        step.inputs.push_back(LocationOf(in.value));
      } else {
        step.inputs.push_back(Reordered(in.value, in.strides));
      }
    }
    for (size_t k = 0; k < spec.outputs.size(); ++k) {
      Location to = PlaceOutput(step, k);
      spec.outputs[k].strides = to.strides;
      Settle(spec.outputs[k].value, to);
      step.outputs.push_back(std::move(to));
    }
    step.conditions = ConditionsOf(group.nodes.back());
    Push(std::move(step));
    for (int node : group.nodes) {
      if (--pending_[node] == 0) done_[node] = true;
    }
  }

  // Those of node n's conditions that lie in memory when the node is executed.
  std::vector<CpuStep::Condition> ConditionsOf(int n) {
    std::vector<CpuStep::Condition> result;
    for (const auto& [condition, holds] : conditions_[n]) {
      if (IsStatic(condition)) continue;
      const Location& at = LocationOf(condition);
      if (at.buffer < 0) break;  // computed within a kernel
      result.push_back({condition, at, holds});
    }
    return result;
  }

  Location PlaceOutput(const CpuStep& step, size_t k) {
    const CpuKernelSpec& spec = *step.spec;
    const CpuKernelSpec::Operand& out = spec.outputs[k];
    const Shape& shape = out.type.shape;
    if (auto region = RegionFor(out.value, out.strides)) {
      // Loops from definitions write any strides; library kernels allow gaps only in their own
      // order.
      const bool any = spec.def == &PointwiseKernel() || spec.def == &DefinitionKernel();
      const bool gaps = spec.def->strided_output != nullptr &&
                        DimOrder(shape, region->strides) == DimOrder(shape, out.strides) &&
                        spec.def->strided_output(spec, region->strides);
      if (any || gaps || SameLayout(shape, region->strides, out.strides)) return *region;
    }
    if (auto output = OutputFor(out.value, out.strides)) return *output;
    for (int i : k == 0 ? spec.in_place : std::vector<int>()) {
      const Location& in = step.inputs[i];
      if (!spec.inputs[i].is_static && SameLayout(shape, in.strides, out.strides) &&
          Reusable(step, i)) {
        return in;
      }
    }
    return NewLocation(out.type, out.strides);
  }

  // The memory of the graph output itself, if the value is row-major there.
  std::optional<Location> OutputFor(const Value& v, const Strides& strides) {
    if (!uses_.IsOutput(v) || !SameLayout(v.shape(), strides, RowMajorStrides(v.shape()))) {
      return std::nullopt;
    }
    const auto& outputs = graph_.outputs();
    const int index =
        static_cast<int>(std::find(outputs.begin(), outputs.end(), v) - outputs.begin());
    int buffer = NewBuffer(PlanBuffer::Kind::kOutput, index, v.type().num_bytes());
    return Location{buffer, 0, strides};
  }

  // Whether nothing reads input i of the step after that step.
  bool Reusable(const CpuStep& step, int i) {
    const Value& v = step.spec->inputs[i].value;
    const int buffer = LocationOf(v).buffer;
    if (step.inputs[i].buffer != buffer || holders_[buffer] != 1 || uses_.IsOutput(v) ||
        plan_.buffers[buffer].kind != PlanBuffer::Kind::kArena) {
      return false;
    }
    const int group = grouping_.group_of[uses_.NodeOf(step.spec->last())];
    for (int user : uses_.Users(v)) {
      if (!done_[user] && grouping_.group_of[user] != group) return false;
    }
    return true;
  }

  // --- Concatenations: their inputs are written in place if possible. ---

  // The concatenation whose leading inputs are exactly concat n's, so that n is a part of it; or
  // -1.
  int Extension(int n) const {
    const Node& node = *uses_.nodes[n];
    int best = -1;
    for (int other : uses_.Users(node.inputs()[0])) {
      const Node& longer = *uses_.nodes[other];
      if (grouping_.role[other] != NodeRole::kConcat || other == n ||
          traits_.Of(longer).concat_dim != traits_.Of(node).concat_dim ||
          longer.inputs().size() <= node.inputs().size() ||
          !std::equal(node.inputs().begin(), node.inputs().end(), longer.inputs().begin())) {
        continue;
      }
      if (best < 0 || longer.inputs().size() < uses_.nodes[best]->inputs().size()) best = other;
    }
    return best;
  }

  // Gives concat n a location, with the order of dimensions that `strides` has over `shape`.
  void LocateConcat(int n, const Shape& shape, const Strides& strides) {
    Value out(uses_.nodes[n], 0);
    if (LocationOf(out).buffer >= 0) return;
    if (int longer = Extension(n); longer >= 0) {
      LocateConcat(longer, shape, strides);
      Settle(out, LocationOf(Value(uses_.nodes[longer], 0)));
      return;
    }
    Strides dense = DenseInOrder(out.shape(), DimOrder(shape, strides));
    if (auto region = RegionFor(out, dense)) {
      Settle(out, *region);
    } else if (auto output = OutputFor(out, dense)) {
      Settle(out, *output);
    } else {
      Settle(out, NewLocation(out.type(), dense));
    }
    // Other values will lie there, too.
    holders_[LocationOf(out).buffer] += 2;
  }

  Location RegionOf(int concat, size_t operand) {
    const Node& node = *uses_.nodes[concat];
    Location region = LocationOf(Value(uses_.nodes[concat], 0));
    const auto axis = static_cast<size_t>(*traits_.Of(node).concat_dim);
    std::vector<int64_t>& starts = concat_starts_[concat];
    if (starts.empty()) {
      starts.push_back(0);
      for (const Value& v : node.inputs()) starts.push_back(starts.back() + v.shape()[axis]);
    }
    region.offset += starts[operand] * region.strides[axis];
    return region;
  }

  // Whether node `user` can read `v` with gaps between its elements.
  bool ReadsStrided(int user, const Value& v) const {
    const NodePtr& node = uses_.nodes[user];
    if (grouping_.role[user] == NodeRole::kCopied) return false;
    if (grouping_.role[user] == NodeRole::kConcat) return true;
    if (grouping_.role[user] == NodeRole::kView) return !traits_.Of(*node).reshapes;
    const Group& group = grouping_.groups[grouping_.group_of[user]];
    if (group.def->strided_input == nullptr) return false;
    const auto& inputs = node->inputs();
    const int operand =
        static_cast<int>(std::find(inputs.begin(), inputs.end(), v) - inputs.begin());
    std::vector<NodePtr> nodes;
    for (int n : group.nodes) nodes.push_back(uses_.nodes[n]);
    const int at = static_cast<int>(std::find(group.nodes.begin(), group.nodes.end(), user) -
                                    group.nodes.begin());
    return group.def->strided_input(nodes, at, operand);
  }

  // The place for `v`, which is about to be written with `strides`, as a part of a concatenation.
  std::optional<Location> RegionFor(const Value& v, const Strides& strides) {
    if (uses_.IsOutput(v)) return std::nullopt;
    int concat = -1;
    for (int user : uses_.Users(v)) {
      if (grouping_.role[user] == NodeRole::kConcat && concat < 0) concat = user;
      if (!ReadsStrided(user, v)) return std::nullopt;
    }
    if (concat < 0) return std::nullopt;
    LocateConcat(concat, v.shape(), strides);
    const auto& inputs = uses_.nodes[concat]->inputs();
    const size_t operand = std::find(inputs.begin(), inputs.end(), v) - inputs.begin();
    return RegionOf(concat, operand);
  }

  void EmitConcat(int n) {
    const NodePtr& node = uses_.nodes[n];
    const auto& inputs = node->inputs();
    if (LocationOf(Value(node, 0)).buffer < 0) {
      const Value* largest = nullptr;
      for (const Value& v : inputs) {
        if (IsStatic(v)) continue;
        if (largest == nullptr || v.type().num_elements() > largest->type().num_elements()) {
          largest = &v;
        }
      }
      const Strides taken = Taken(Value(node, 0));
      LocateConcat(n, largest->shape(), taken.empty() ? LocationOf(*largest).strides : taken);
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Location region = RegionOf(n, i);
      if (IsStatic(inputs[i])) {
        EmitCopy(inputs[i], inputs[i].type(), nullptr, region);
        continue;
      }
      const Location from = LocationOf(inputs[i]);
      if (from.buffer == region.buffer && from.offset == region.offset &&
          SameLayout(inputs[i].shape(), from.strides, region.strides)) {
        continue;
      }
      if (!copied_.insert({{region.buffer, region.offset}, uses_.IdOf(inputs[i])}).second) continue;
      EmitCopy(inputs[i], inputs[i].type(), &from, region);
    }
  }

  void EmitOutput(int i) {
    const Value& v = graph_.outputs()[i];
    if (!IsStatic(v)) {
      const Location& at = LocationOf(v);
      const PlanBuffer& buffer = plan_.buffers[at.buffer];
      if (buffer.kind == PlanBuffer::Kind::kOutput && buffer.index == i) return;
    }
    const int buffer = NewBuffer(PlanBuffer::Kind::kOutput, i, v.type().num_bytes());
    const Location to{buffer, 0, RowMajorStrides(v.shape())};
    const Location from = IsStatic(v) ? Location() : LocationOf(v);
    EmitCopy(v, v.type(), IsStatic(v) ? nullptr : &from, to);
  }

  absl::flat_hash_map<int, std::vector<int64_t>> concat_starts_;  // by operand, along its axis
  CpuPlan plan_;
  const Graph& graph_;
  NodeTraitsCache& traits_;
  const PlanOptions options_;
  UseTable uses_;
  Grouping grouping_;
  std::vector<std::vector<RunCondition>> conditions_;  // by node
  std::vector<Location> location_;                     // by value
  std::vector<int> static_id_;                         // by value
  std::vector<bool> done_;    // by node: reads of its users' operands are planned
  std::vector<int> pending_;  // by node: the groups with it that are not planned yet
  std::vector<int> holders_;  // by buffer: the number of values in it
  std::map<std::pair<int, Strides>, Location> reordered_;
  std::set<std::pair<std::pair<int, int64_t>, int>> copied_;
  absl::flat_hash_map<Value, Strides> preferred_;  // of values to which a kernel adds its result
};

}  // namespace

GraphInBlocks DividedGraph(const Graph& graph, NodeTraitsCache& traits) {
  WideGraph whole = Narrowed(Widened(graph, traits), traits);
  GraphInBlocks both{whole.graph, {}};
  both.divided = InBlocks(std::move(whole));
  return both;
}

absl::StatusOr<CpuPlan> PlanGraph(const Graph& graph, NodeTraitsCache& traits,
                                  const PlanOptions& options) {
  if (absl::Status s = CheckLimits(graph); !s.ok()) return s;
  WideGraph wide =
      options.fuse_layout ? DividedGraph(graph, traits).divided : Widened(graph, traits);
  return Planner(std::move(wide), traits, options).Run();
}

}  // namespace lemma::cpu
