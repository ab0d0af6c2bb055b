#include "graph/onnx/run_time/choosing_if.h"

#include <algorithm>

#include "graph/onnx/importer.h"

namespace lemma {
namespace {

bool PassesOn(const onnx::NodeProto& node, const onnx::GraphProto& branch) {
  if (branch.input_size() + branch.initializer_size() + branch.sparse_initializer_size() > 0 ||
      branch.output_size() != node.output_size() || branch.node_size() != node.output_size()) {
    return false;
  }
  for (int i = 0; i < branch.node_size(); ++i) {
    const onnx::NodeProto& inner = branch.node(i);
    const bool is_identity = inner.op_type() == "Identity" &&
                             NormalDomain(inner.domain()).empty() && inner.input_size() == 1 &&
                             inner.output_size() == 1;
    if (!is_identity || inner.output(0) != branch.output(i).name()) return false;
    // A result of the branch itself is not captured.
    if (std::any_of(branch.node().begin(), branch.node().end(), [&](const onnx::NodeProto& other) {
          return other.output_size() == 1 && other.output(0) == inner.input(0);
        })) {
      return false;
    }
  }
  return true;
}

}  // namespace

const char* BranchAttribute(bool holds) { return holds ? "then_branch" : "else_branch"; }

onnx::GraphProto* AddBranch(bool holds, onnx::NodeProto* node) {
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(BranchAttribute(holds));
  attribute->set_type(onnx::AttributeProto::GRAPH);
  return attribute->mutable_g();
}

onnx::ValueInfoProto* AddPassedOn(const std::string& captured, const std::string& result,
                                  onnx::GraphProto* branch) {
  onnx::NodeProto* identity = branch->add_node();
  identity->set_op_type("Identity");
  identity->add_input(captured);
  identity->add_output(result);
  onnx::ValueInfoProto* output = branch->add_output();
  output->set_name(result);
  return output;
}

bool IsChoosingIf(const onnx::NodeProto& node) {
  if (node.op_type() != "If" || !NormalDomain(node.domain()).empty() || node.input_size() != 1 ||
      node.output_size() == 0 || node.attribute_size() != 2) {
    return false;
  }
  int branches = 0;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    for (const bool holds : {false, true}) {
      if (attribute.name() != BranchAttribute(holds) || !attribute.has_g()) continue;
      branches += PassesOn(node, attribute.g()) ? 1 : 0;
    }
  }
  return branches == 2;
}

}  // namespace lemma
