#include "graph/onnx/quantization/model_editor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/onnx/convert.h"
#include "graph/onnx/functions/own_functions.h"
#include "graph/onnx/quantization/raise_opset.h"

namespace lemma {
namespace {

// The first IR version in which a model of the operator set may be.
int64_t IrVersionOf(int opset) {
  return opset >= 21 ? 10 : opset >= 19 ? 9 : opset >= 15 ? 8 : opset >= 13 ? 7 : 5;
}

}  // namespace

ModelEditor::ModelEditor(const ModelIndex& index)
    : index_(index), model_(index.model()), names_(index.AllNames()) {
  for (auto& node : *model_.mutable_graph()->mutable_node()) nodes_.push_back(std::move(node));
  model_.mutable_graph()->clear_node();
}

std::string ModelEditor::NewName(const std::string& base) {
  std::string name = base;
  for (int i = 2; !names_.insert(name).second; ++i) name = absl::StrCat(base, "_", i);
  return name;
}

std::string ModelEditor::AddConstant(const std::string& base, const Tensor& tensor) {
  const std::string name = NewName(base);
  *model_.mutable_graph()->add_initializer() = ToProto(name, tensor);
  return name;
}

int ModelEditor::MakerOf(const std::string& value) const {
  auto it = makers_.find(value);
  return it == makers_.end() ? index_.MakerOf(value) : it->second;
}

void ModelEditor::RenameOutput(int position, const std::string& from, const std::string& to) {
  for (std::string& output : *node(position).mutable_output()) {
    if (output == from) output = to;
  }
  makers_[to] = position;
}

onnx::NodeProto ModelEditor::MakeNode(const std::string& type,
                                      const std::vector<std::string>& inputs,
                                      const std::string& output) {
  onnx::NodeProto node;
  node.set_op_type(type);
  node.set_name(NewName(absl::StrCat(output, "_", type)));
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

onnx::NodeProto* ModelEditor::AddBefore(int position, const std::string& type,
                                        const std::vector<std::string>& inputs,
                                        const std::string& output) {
  before_[position].push_back(MakeNode(type, inputs, output));
  return &before_[position].back();
}

onnx::NodeProto* ModelEditor::AddAfter(int position, const std::string& type,
                                       const std::vector<std::string>& inputs,
                                       const std::string& output) {
  after_[position].push_back(MakeNode(type, inputs, output));
  return &after_[position].back();
}

absl::Status ModelEditor::RaiseOpset(int opset, const std::string& why,
                                     std::vector<std::string>* notes) {
  for (auto& entry : *model_.mutable_opset_import()) {
    if (!entry.domain().empty() && entry.domain() != "ai.onnx") continue;
    const int from = static_cast<int>(entry.version());
    if (from >= opset) return absl::OkStatus();
    for (const auto& function : model_.functions()) {
      for (const auto& own : function.opset_import()) {
        if (!own.domain().empty() && own.domain() != "ai.onnx") continue;
        if (own.version() == opset) continue;
        return absl::InvalidArgumentError(
            absl::StrCat(why, " need operator set ", opset, ", but the function '", function.name(),
                         "' is of ", own.version(), "; inline the model's functions first"));
      }
    }
    const std::string changed = RaiseNodes(from, opset, this);
    if (!changed.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(why, " need operator set ", opset,
                                                     ", but the model is of ", from, " and ",
                                                     changed, "; convert the model first"));
    }
    entry.set_version(opset);
    notes->push_back(absl::StrCat("the result is of operator set ", opset, ", the input of ", from,
                                  ": ", why, " need it"));
    needed_ir_version_ = IrVersionOf(opset);
    return absl::OkStatus();
  }
  auto* entry = model_.add_opset_import();
  entry->set_version(opset);
  return absl::OkStatus();
}

void ModelEditor::NeedDomain(const std::string& domain) {
  for (const auto& entry : model_.opset_import()) {
    if (entry.domain() == domain) return;
  }
  auto* entry = model_.add_opset_import();
  entry->set_domain(domain);
  entry->set_version(1);
}

absl::Status ModelEditor::NeedFunction(const std::string& name, std::vector<std::string>* notes) {
  for (const auto& function : model_.functions()) {
    if (function.domain() != kOwnDomain || function.name() != name) continue;
    if (IsOwnFunction(function)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the model has another function ", kOwnDomain, ".", name, "; rename it"));
  }
  int opset = kFunctionOpset;
  for (const auto& entry : model_.opset_import()) {
    const bool is_default = entry.domain().empty() || entry.domain() == "ai.onnx";
    if (is_default) opset = std::max(opset, static_cast<int>(entry.version()));
  }
  *model_.add_functions() = *OwnFunction(name, opset);
  NeedDomain(kOwnDomain);
  if (model_.ir_version() < kFunctionIrVersion) {
    notes->push_back(absl::StrCat("the result is of IR version ", kFunctionIrVersion,
                                  ", the input of ", model_.ir_version(), ": it has a function"));
  }
  needed_ir_version_ = std::max<int64_t>(needed_ir_version_, kFunctionIrVersion);
  return absl::OkStatus();
}

void ModelEditor::AssembleNodes() {
  auto add = [&](std::vector<onnx::NodeProto>* list) {
    for (onnx::NodeProto& node : *list) *model_.mutable_graph()->add_node() = std::move(node);
  };
  add(&after_[-1]);
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    add(&before_[i]);
    if (removed_.count(i) == 0) *model_.mutable_graph()->add_node() = std::move(node(i));
    add(&after_[i]);
  }
}

std::set<std::string> ModelEditor::ReadNames() const {
  std::set<std::string> read;
  for (const auto& output : model_.graph().output()) read.insert(output.name());
  for (const auto& node : model_.graph().node()) {
    read.insert(node.input().begin(), node.input().end());
    for (const std::string& name : CapturedBy(node)) read.insert(name);
  }
  return read;
}

void ModelEditor::RemoveUnread() {
  onnx::GraphProto& graph = *model_.mutable_graph();
  auto remove = [](auto* list, auto&& condition) {
    list->erase(std::remove_if(list->begin(), list->end(), condition), list->end());
  };
  std::set<std::string> read = ReadNames();
  auto is_dropped = [&](const std::string& name) {
    return dropped_.count(name) > 0 && read.count(name) == 0;
  };
  // The nodes behind which constants lie; what they read may then be unread too.
  for (int before = -1; before != graph.node_size();) {
    before = graph.node_size();
    remove(graph.mutable_node(), [&](const auto& node) {
      if (node.output_size() == 0 || !index_.IsConstant(node.output(0))) return false;
      if (!is_dropped(node.output(0))) return false;
      dropped_.insert(node.input().begin(), node.input().end());
      return true;
    });
    read = ReadNames();
  }
  remove(graph.mutable_initializer(), [&](const auto& t) { return is_dropped(t.name()); });
  remove(graph.mutable_input(), [&](const auto& input) {
    return is_dropped(input.name()) && index_.IsConstant(input.name());
  });
  std::set<std::string> made;
  for (const auto& node : graph.node()) made.insert(node.output().begin(), node.output().end());
  remove(graph.mutable_value_info(), [&](const auto& info) {
    return index_.MakerOf(info.name()) >= 0 && made.count(info.name()) == 0;
  });
}

onnx::ModelProto ModelEditor::Finish(std::vector<std::string>* notes) {
  AssembleNodes();
  RemoveUnread();
  if (model_.ir_version() < 4) {
    // Since IR version 4, an initializer that is also an input is no constant.
    std::set<std::string> constants;
    for (const auto& tensor : model_.graph().initializer()) constants.insert(tensor.name());
    auto* inputs = model_.mutable_graph()->mutable_input();
    inputs->erase(std::remove_if(inputs->begin(), inputs->end(),
                                 [&](const auto& i) { return constants.count(i.name()) > 0; }),
                  inputs->end());
    notes->push_back(absl::StrCat("the result is of IR version 4, the input of ",
                                  model_.ir_version(), ": its constants are inputs no more"));
    model_.set_ir_version(4);
  }
  model_.set_ir_version(std::max(model_.ir_version(), needed_ir_version_));
  return std::move(model_);
}

}  // namespace lemma
