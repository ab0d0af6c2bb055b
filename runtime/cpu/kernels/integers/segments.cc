#include "runtime/cpu/kernels/integers/segments.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"
#include "graph/expr/compose.h"
#include "runtime/cpu/kernels/dnnl_util.h"
#include "runtime/cpu/kernels/integers/requantization/requantize.h"
#include "runtime/cpu/kernels/integers/tiles.h"
#include "runtime/plan/compose_nodes.h"

namespace lemma::cpu {
namespace {

// The nodes behind `head`, the way from the head to the last node cut where the domain changes.
std::vector<Segment> CutByDomain(const NodePtr& head, absl::Span<const NodePtr> nodes) {
  std::vector<Segment> segments;
  std::vector<NodePtr> behind = NodesBehind(Value(head, 0), nodes);
  absl::flat_hash_map<const Node*, bool> on_chain = {{head.get(), true}};
  Value start(head, 0), at = start;
  Domain domain = Domain::kAny;
  auto cut = [&] {
    if (at == start) return;
    std::vector<NodePtr> until;
    for (const NodePtr& node : behind) {
      until.push_back(node);
      if (node == at.node_ptr()) break;
    }
    segments.push_back({start, NodesBehind(start, until), std::nullopt});
    start = at;
    domain = Domain::kAny;
  };
  for (const NodePtr& node : behind) {
    const bool reads = std::any_of(node->inputs().begin(), node->inputs().end(),
                                   [&](const Value& v) { return on_chain.contains(&v.node()); });
    if (!reads) continue;  // computes another operand of a later node
    on_chain[node.get()] = true;
    std::optional<Domain> both = Common(domain, NodeTraitsOf(*node).domain);
    if (!both) {
      cut();
      both = NodeTraitsOf(*node).domain;
    }
    domain = *both;
    at = Value(node, 0);
  }
  cut();
  return segments;
}

// Whether Requantization may compute the chain.
bool MayBeShort(const ChainProgram& chain) {
  return chain.result() != kernels::ChainResult::kF32 &&
         std::all_of(chain.steps().begin(), chain.steps().end(), [](const kernels::ChainStep& s) {
           return kernels::Requantization::MayTake(s.kind);
         });
}

// Where the last nodes of `segment` become a segment of their own: the value from which they start;
// empty if nowhere.
Value StartOfEnd(const CpuKernelSpec& spec, const Segment& segment, int channel) {
  const DType to = segment.nodes.back()->type(0).dtype;
  if (to != DType::kU8 && to != DType::kI8) return {};
  for (const NodePtr& node : segment.nodes) {
    const Value v(node, 0);
    if (node == segment.nodes.back() || v.dtype() != DType::kF32) continue;
    if (v.shape() != segment.start.shape()) continue;
    const auto end = ChainProgram::Compile(spec, v, NodesBehind(v, segment.nodes), channel);
    if (end && MayBeShort(*end)) return v;
  }
  return {};
}

}  // namespace

std::vector<Segment> SegmentsBehind(const CpuKernelSpec& spec, int channel) {
  std::vector<Segment> result;
  const bool shortens = kernels::BestIntegerIsa() == kernels::IntegerIsa::kVnni;
  for (Segment& segment : CutByDomain(spec.head_node(), spec.nodes)) {
    const auto compile = [&](Segment* s) {
      s->chain = ChainProgram::Compile(spec, s->start, s->nodes, channel);
    };
    compile(&segment);
    const bool whole = segment.chain && (!shortens || MayBeShort(*segment.chain));
    const Value middle = whole ? Value() : StartOfEnd(spec, segment, channel);
    if (!middle) {
      result.push_back(std::move(segment));
      continue;
    }
    const auto until = std::find(segment.nodes.begin(), segment.nodes.end(), middle.node_ptr()) + 1;
    const std::vector<NodePtr> first(segment.nodes.begin(), until);
    result.push_back({segment.start, NodesBehind(segment.start, first), std::nullopt});
    compile(&result.back());
    result.push_back({middle, NodesBehind(middle, segment.nodes), std::nullopt});
    compile(&result.back());
  }
  return result;
}

absl::StatusOr<BlockProgram> CompileSegment(const CpuKernelSpec& spec, const Segment& segment,
                                            int channel, int64_t rows, int64_t columns,
                                            bool has_gaps) {
  BlockProgram result;
  LEMMA_ASSIGN_OR_RETURN(EpilogueGraph epilogue,
                         MakeEpilogueGraph(segment.start, segment.nodes, channel, rows, columns));
  const bool whole = columns == segment.start.shape()[channel];
  if (whole && !has_gaps &&
      std::count(epilogue.forms.begin(), epilogue.forms.end(), EpilogueGraph::Form::kVector) == 0) {
    // One long row: there are fewer and longer vectors.
    LEMMA_ASSIGN_OR_RETURN(
        epilogue, MakeEpilogueGraph(segment.start, segment.nodes, channel, 1, rows * columns));
  }
  std::vector<NodePtr> nodes;
  for (const NodePtr& node : epilogue.graph.nodes()) {
    if (node->is_op()) nodes.push_back(node);
  }
  LEMMA_ASSIGN_OR_RETURN(Definition definition, ComposeNodes(nodes, epilogue.graph.inputs()));
  definition = Inline(definition, [&](TensorId local) {
    int64_t elements = 1;
    for (const IndexExpr& dim : definition.TypeOf(local).dims) elements *= dim.value();
    return elements >= rows * columns;
  });
  LEMMA_ASSIGN_OR_RETURN(result.program, CompileLoops(definition));
  result.arithmetic = ArithmeticOf(nodes);
  for (const Value& v : epilogue.operands) {
    result.operands.push_back(spec.InputIndex(v));
    if (result.operands.back() < 0) return absl::UnimplementedError("an operand of another part");
  }
  result.forms = epilogue.forms;
  result.rows = rows;
  result.columns = columns;
  result.from = segment.start.dtype();
  result.to = segment.nodes.back()->type(0).dtype;
  return result;
}

}  // namespace lemma::cpu
