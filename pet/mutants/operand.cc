#include "pet/mutants/operand.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "pet/mutants/layout_move.h"

namespace lemma::pet {
namespace {

constexpr int64_t kLongestWindow = 11;
constexpr int64_t kMostElements = int64_t{1} << 25;  // limit for a weight in blocks on a diagonal

bool OverLeaves(const Node& node) {
  return node.is_op() && node.num_outputs() == 1 &&
         std::none_of(node.inputs().begin(), node.inputs().end(),
                      [](const Value& v) { return v.node().is_op(); });
}

std::string NameOf(const Value& leaf) {
  switch (leaf.node().kind()) {
    case Node::Kind::kInput:
      return absl::StrCat("input ", leaf.node().input_index());
    case Node::Kind::kWeight:
      return leaf.node().name();
    default:
      return "a constant";
  }
}

bool IsStatic(const Value& v) {
  if (!v.node().is_op()) return v.node().kind() != Node::Kind::kInput;
  return std::all_of(v.node().inputs().begin(), v.node().inputs().end(), IsStatic);
}

// All ways to combine the leaves into one value.
std::vector<Operand> Together(const std::vector<Value>& leaves, bool may_add) {
  std::vector<Operand> found;
  const bool same =
      std::all_of(leaves.begin(), leaves.end(), [&](const Value& v) { return v == leaves[0]; });
  if (same) found.push_back({leaves[0], NameOf(leaves[0]), {}});
  if (leaves.size() == 1) return found;
  std::string names;
  for (const Value& v : leaves) absl::StrAppend(&names, names.empty() ? "" : ", ", NameOf(v));
  for (int64_t axis = 0; axis < leaves[0].type().rank(); ++axis) {
    auto joined = Apply1("concat", leaves, {{"axis", axis}});
    if (joined.ok()) found.push_back({*joined, absl::StrCat(names, " along dim ", axis), {}});
  }
  if (!may_add) return found;
  Value sum = leaves[0];
  for (size_t i = 1; i < leaves.size(); ++i) {
    auto next = Apply1("add", {sum, leaves[i]});
    if (!next.ok()) return found;
    sum = *next;
  }
  found.push_back({sum, absl::StrCat(names, " added"), {}});
  return found;
}

void AddDiagonals(const Siblings& part, std::vector<Operand>* operands) {
  const size_t whole = operands->size();
  for (size_t i = 0; i < whole; ++i) {
    const Operand operand = (*operands)[i];
    const int rank = operand.value.type().rank();
    if (!IsStatic(operand.value)) continue;
    for (int64_t blocks : part.numbers) {
      if (operand.value.type().num_elements() > kMostElements / blocks) break;
      for (int from = 0; from < rank; ++from) {
        for (int to = 0; to < rank; ++to) {
          if (from == to) continue;
          auto moved = ApplyMove(operand.value, DiagonalMove{from, to, blocks});
          if (!moved.ok()) continue;
          operands->push_back({*moved,
                               absl::StrCat(operand.how, " in ", blocks, " blocks of dim ", from,
                                            " along a diagonal of dim ", to),
                               {}});
        }
      }
    }
  }
}

// Reverses one or two short dimensions.
void AddReversals(std::vector<Operand>* operands) {
  const Operand operand = (*operands)[0];
  const Shape& shape = operand.value.shape();
  auto may = [&](size_t d) { return shape[d] > 1 && shape[d] <= kLongestWindow; };
  for (size_t first = 0; first < shape.size(); ++first) {
    for (size_t second = first; second < shape.size(); ++second) {
      if (!may(first) || !may(second)) continue;
      Shape starts(shape.size(), 0), steps(shape.size(), 1);
      for (size_t d : {first, second}) {
        starts[d] = shape[d] - 1;
        steps[d] = -1;
      }
      auto reversed = SliceOf(operand.value, starts, shape, steps);
      if (!reversed.ok()) continue;
      const std::string dims =
          first == second ? absl::StrCat(first) : absl::StrCat(first, " and ", second);
      operands->push_back({*reversed, absl::StrCat(operand.how, " reversed in dim ", dims), {}});
    }
  }
}

std::vector<Operand> Ones(const Siblings& part) {
  std::vector<Operand> found;
  const Value& data = part.applications[0]->inputs()[0];
  std::set<int64_t> sizes = {1};
  sizes.insert(data.shape().begin(), data.shape().end());
  std::set<Shape> shapes;
  for (int64_t first : sizes) {
    for (int64_t second : sizes) {
      for (const std::vector<int64_t>& list : part.lists) {
        if (list.size() != 2 || *std::min_element(list.begin(), list.end()) < 1) continue;
        shapes.insert({first, second, list[0], list[1]});
      }
    }
  }
  for (const Shape& shape : shapes) {
    auto ones = Tensor::Filled({data.dtype(), shape}, 1);
    if (!ones.ok()) continue;
    found.push_back(
        {Value(Node::Constant(*ones), 0), absl::StrCat("ones ", lemma::ToString(shape)), {}});
  }
  return found;
}

}  // namespace

Siblings SiblingsOf(const Graph& graph) {
  Siblings part;
  const Node& last = graph.outputs()[0].node();
  if (OverLeaves(last)) {
    part.applications = {graph.outputs()[0].node_ptr()};
  } else if (last.is_op()) {
    for (const Value& v : last.inputs()) {
      if (!OverLeaves(v.node())) return {};
      const Node& first = last.inputs()[0].node();
      if (&v.node().op() != &first.op() || v.node().inputs().size() != first.inputs().size()) {
        return {};
      }
      part.applications.push_back(v.node_ptr());
    }
  }
  std::set<std::vector<int64_t>> lists;
  std::set<Shape> windows;  // the last dimensions of second operands
  std::set<int64_t> numbers = {2, 3, 4};
  for (const NodePtr& node : part.applications) {
    for (const auto& [name, value] : node->attrs()) {
      if (auto* list = std::get_if<std::vector<int64_t>>(&value)) lists.insert(*list);
      if (auto* number = std::get_if<int64_t>(&value)) numbers.insert(*number);
    }
    if (node->inputs().size() > 1 && node->inputs()[1].type().rank() == 4) {
      const Shape& shape = node->inputs()[1].shape();
      windows.insert({shape[2], shape[3]});
    }
    for (const Value& v : node->inputs()) numbers.insert(v.shape().begin(), v.shape().end());
  }
  for (const Shape& window : windows) {
    // A window's reach beyond its first element, less the padding.
    for (const std::vector<int64_t>& list : std::set<std::vector<int64_t>>(lists)) {
      if (list.size() != 2 * window.size()) continue;
      std::vector<int64_t> rest;
      for (size_t i = 0; i < list.size(); ++i) {
        rest.push_back(window[i % window.size()] - 1 - list[i]);
      }
      if (*std::min_element(rest.begin(), rest.end()) >= 0) lists.insert(std::move(rest));
    }
  }
  numbers.insert(static_cast<int64_t>(part.applications.size()));
  part.lists.assign(lists.begin(), lists.end());
  part.numbers.assign(numbers.upper_bound(1), numbers.end());
  return part;
}

std::vector<Operand> OperandsAt(const Siblings& part, size_t place) {
  std::vector<Operand> operands;
  if (place >= part.applications[0]->inputs().size()) {
    operands = Ones(part);
    for (Operand& one : operands) one.groups = {RegroupsOf(one.value.shape(), false)[0]};
    return operands;
  }
  std::vector<Value> leaves;
  for (const NodePtr& node : part.applications) leaves.push_back(node->inputs()[place]);
  operands = Together(leaves, place >= 2);
  // Not for several siblings: data of one would meet zero weights of another, and spread a NaN.
  if (place < 2 && leaves.size() == 1) AddDiagonals(part, &operands);
  const size_t with_diagonals = operands.size();
  if (place == 1 && leaves.size() == 1) AddReversals(&operands);
  for (size_t i = 0; i < operands.size(); ++i) {
    const Shape& shape = operands[i].value.shape();
    const bool diagonal = i > 0 && i < with_diagonals && leaves.size() == 1;
    operands[i].groups = RegroupsOf(shape, !diagonal || LongDims(shape) < 4);
  }
  return operands;
}

}  // namespace lemma::pet
