#include "api/report/operators.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace lemma::api {
namespace {

// The node without its operands: if these counted, every node behind a change would differ.
std::string LocalText(const Graph& graph, const NodePtr& node) {
  std::string text =
      absl::StrCat(node->is_op() ? node->op().name : "", " ", graph.LabelOf(Value(node, 0)));
  for (const auto& [name, value] : node->attrs()) {
    absl::StrAppend(&text, " ", name, "=", ToString(value));
  }
  for (const Value& v : node->inputs()) absl::StrAppend(&text, " ", v.type().ToString());
  return text;
}

void AddKernels(const Report& report, const ReportGraph& side, ReportOperators* ops) {
  absl::flat_hash_map<std::string, int> by_label;
  for (const NodePtr& node : side.graph.nodes()) {
    if (!node->is_op()) continue;
    for (int i = 0; i < node->num_outputs(); ++i) {
      const absl::string_view label = side.graph.LabelOf(Value(node, i));
      if (label.empty()) continue;
      const auto [it, is_new] = by_label.emplace(label, ops->number.at(node.get()));
      // Iterations of a loop have the same labels: no kernel says which iteration it is of.
      if (!is_new && it->second != ops->number.at(node.get())) it->second = -1;
    }
  }
  std::vector<double> least(ops->all.size(), 0);
  for (size_t k = 0; k < side.kernels.size(); ++k) {
    const KernelTiming& kernel = side.kernels[k];
    ops->ms += kernel.ms;
    const auto it = by_label.find(kernel.label);
    ops->of_kernel.push_back(it == by_label.end() ? -1 : it->second);
    if (ops->of_kernel.back() < 0) continue;
    ReportOperator& op = ops->all[it->second];
    op.kernels.push_back(static_cast<int>(k));
    op.ms += kernel.ms;
    if (report.roofline) least[it->second] += report.roofline->SecondsFor(kernel.work) * 1e3;
  }
  for (size_t i = 0; i < ops->all.size(); ++i) {
    ReportOperator& op = ops->all[i];
    if (op.ms > 0 && least[i] > 0) op.roof = least[i] / op.ms;
  }
}

// An operator without a kernel goes with the first reader that has one.
void FollowReaders(ReportOperators* ops) {
  std::vector<int> reader(ops->all.size(), -1);
  for (int i = static_cast<int>(ops->all.size()) - 1; i >= 0; --i) {
    ReportOperator& op = ops->all[i];
    if (op.kernels.empty()) op.with = reader[i];
    const int kernel_of = op.kernels.empty() ? op.with : i;
    for (const Value& v : op.node->inputs()) {
      if (auto it = ops->number.find(&v.node()); it != ops->number.end()) {
        if (kernel_of >= 0) reader[it->second] = kernel_of;
      }
    }
  }
}

void AddSteps(const Report& report, bool before, ReportOperators* ops) {
  const auto& nodes = (before ? report.before : report.after).graph.nodes();
  for (size_t s = 0; s < report.steps.size(); ++s) {
    for (int position : before ? report.steps[s].replaced : report.steps[s].made) {
      if (position < 0 || static_cast<size_t>(position) >= nodes.size()) continue;
      const auto it = ops->number.find(nodes[position].get());
      if (it != ops->number.end()) ops->all[it->second].steps.push_back(static_cast<int>(s));
    }
  }
}

}  // namespace

ReportOperators OperatorsOf(const Report& report, bool before) {
  const ReportGraph& side = before ? report.before : report.after;
  const ReportGraph& other = before ? report.after : report.before;
  absl::flat_hash_set<std::string> known;
  for (const NodePtr& node : other.graph.nodes()) known.insert(LocalText(other.graph, node));
  ReportOperators ops;
  for (const NodePtr& node : side.graph.nodes()) {
    if (!node->is_op()) continue;
    ops.number[node.get()] = static_cast<int>(ops.all.size());
    ReportOperator op;
    op.node = node.get();
    op.label = std::string(side.graph.LabelOf(Value(node, 0)));
    op.changed = !known.contains(LocalText(side.graph, node));
    ops.all.push_back(std::move(op));
  }
  AddKernels(report, side, &ops);
  FollowReaders(&ops);
  AddSteps(report, before, &ops);
  return ops;
}

double RoofOf(const KernelTiming& kernel, const std::optional<Roofline>& roofline) {
  if (!roofline || kernel.ms <= 0) return -1;
  const double seconds = roofline->SecondsFor(kernel.work);
  return seconds > 0 ? seconds / (kernel.ms * 1e-3) : -1;
}

}  // namespace lemma::api
