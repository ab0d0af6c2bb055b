#include "api/report/page_data.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "api/report/overview.h"
#include "api/report/words.h"
#include "base/text_table.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::api {
namespace {

Json NumbersOf(const std::vector<int>& numbers) {
  Json list = Json::Array();
  for (int number : numbers) list.Add(number);
  return list;
}

std::string ShareText(double part, double whole) {
  return absl::StrFormat("%.1f %%", whole > 0 ? 100 * part / whole : 0);
}

// A share above 1 says no more than that the roofline, of data outside of caches, does not apply.
std::string RoofText(double roof) {
  if (roof > 1) return "over 100 %: the data came from caches, or the limit was measured too low";
  return absl::StrFormat("%.0f %%", 100 * roof);
}

// What a node reads: "weight f32[8]", or the number of an operator and the type.
Json Reads(const ReportSide& side, const Node& node) {
  Json list = Json::Array();
  for (const Value& v : node.inputs()) {
    Json read = Json::Object();
    read.Set("type", v.type().ToString());
    const std::string label(side.graph->graph.LabelOf(v));
    if (!label.empty()) read.Set("name", label);
    if (auto it = side.ops.number.find(&v.node()); it != side.ops.number.end()) {
      read.Set("op", it->second);
    } else {
      read.Set("kind", v.node().kind() == Node::Kind::kInput      ? "input"
                       : v.node().kind() == Node::Kind::kConstant ? "constant"
                                                                  : "weight");
    }
    list.Add(std::move(read));
  }
  return list;
}

Json AttributesOf(const Node& node) {
  Json list = Json::Array();
  for (const auto& [name, value] : node.attrs()) {
    list.Add(Json::Texts({name, ToString(value)}));
  }
  return list;
}

Json OperatorJson(const ReportSide& side, const ReportOperator& op) {
  Json json = Json::Object(), types = Json::Array();
  for (const TensorType& type : op.node->types()) types.Add(type.ToString());
  json.Set("op", op.node->op().name).Set("types", std::move(types));
  if (!op.label.empty()) json.Set("name", op.label);
  if (!op.node->attrs().empty()) json.Set("attrs", AttributesOf(*op.node));
  if (!op.node->inputs().empty()) json.Set("reads", Reads(side, *op.node));
  if (!op.kernels.empty()) {
    json.Set("kernels", NumbersOf(op.kernels)).Set("time", FormatMs(op.ms));
    json.Set("share", ShareText(op.ms, side.ops.ms));
  }
  if (op.with >= 0) json.Set("with", op.with);
  if (op.roof >= 0) json.Set("roof", RoofText(op.roof));
  if (!op.steps.empty()) json.Set("steps", NumbersOf(op.steps));
  if (op.changed) json.Set("changed", true);
  return json;
}

std::string WorkText(const Work& work) {
  return absl::StrFormat("%.4g Mflop, %s", work.flops * 1e-6,
                         FormatBytes(work.bytes_read + work.bytes_written));
}

Json KernelJson(const Report& report, const ReportSide& side, size_t number) {
  const KernelTiming& kernel = side.graph->kernels[number];
  Json json = Json::Object();
  json.Set("name", kernel.kernel).Set("value", kernel.label).Set("time", FormatMs(kernel.ms));
  json.Set("share", ShareText(kernel.ms, side.ops.ms));
  if (kernel.work.flops > 0 || kernel.work.bytes_read > 0 || kernel.work.bytes_written > 0) {
    json.Set("work", WorkText(kernel.work));
  }
  if (const double roof = RoofOf(kernel, report.roofline); roof >= 0) {
    json.Set("roof", RoofText(roof));
  }
  if (!kernel.note.empty()) json.Set("note", kernel.note);
  if (side.ops.of_kernel[number] >= 0) json.Set("op", side.ops.of_kernel[number]);
  return json;
}

Json BlockJson(const ReportSide& side, const Block& block) {
  double ms = 0;
  for (int i = block.first; i < block.end(); ++i) ms += side.ops.all[i].ms;
  Json json = Json::Object();
  json.Set("name", NameOf(block)).Set("first", block.first).Set("period", block.period);
  json.Set("copies", block.copies);
  if (ms > 0) json.Set("time", FormatMs(ms)).Set("share", ShareText(ms, side.ops.ms));
  return json;
}

Json SideJson(const Report& report, const ReportSide& side) {
  Json ops = Json::Array(), kernels = Json::Array(), blocks = Json::Array();
  for (const ReportOperator& op : side.ops.all) ops.Add(OperatorJson(side, op));
  for (size_t i = 0; i < side.graph->kernels.size(); ++i) kernels.Add(KernelJson(report, side, i));
  for (const Block& block : side.blocks) blocks.Add(BlockJson(side, block));
  Json json = Json::Object();
  json.Set("ops", std::move(ops)).Set("kernels", std::move(kernels));
  json.Set("blocks", std::move(blocks));
  return json;
}

// The operators at these positions of the graph.
Json OperatorsAt(const ReportSide& side, const std::vector<int>& positions) {
  const auto& nodes = side.graph->graph.nodes();
  Json list = Json::Array();
  for (int position : positions) {
    if (position < 0 || static_cast<size_t>(position) >= nodes.size()) continue;
    const auto it = side.ops.number.find(nodes[position].get());
    if (it != side.ops.number.end()) list.Add(it->second);
  }
  return list;
}

Json StepsJson(const Report& report, const ReportSide& before, const ReportSide& after) {
  Json steps = Json::Array();
  double previous = report.predicted_ms;
  for (const ReportStep& step : report.steps) {
    Json json = Json::Object();
    json.Set("rule", step.rule).Set("where", step.where);
    if (step.ms >= 0) {
      json.Set("time", FormatMs(step.ms));
      json.Set("change", ChangeText(step.ms - previous));
      previous = step.ms;
    }
    json.Set("before", OperatorsAt(before, step.replaced));
    json.Set("after", OperatorsAt(after, step.made));
    steps.Add(std::move(json));
  }
  return steps;
}

Json RulesJson(const Report& report) {
  Json rules = Json::Object();
  for (const Substitution& rule : report.rules) {
    Json json = Json::Object();
    json.Set("words", WordsOf(rule, 1)).Set("text", PrintRule(rule));
    json.Set("contract", WordsOf(rule.contract));
    if (!rule.doc.empty()) json.Set("doc", rule.doc);
    if (rule.proof.verdict == ProofRecord::Verdict::kProved) {
      json.Set("proof", rule.proof.id).Set("covers", rule.proof.detail);
    }
    rules.Set(rule.name, std::move(json));
  }
  return rules;
}

}  // namespace

Json PageData(const Report& report, const ReportSide& before, const ReportSide& after) {
  Json data = Json::Object();
  data.Set("before", SideJson(report, before)).Set("after", SideJson(report, after));
  data.Set("steps", StepsJson(report, before, after)).Set("rules", RulesJson(report));
  return data;
}

std::string ScriptText(const Json& json) {
  // "</script>" would end the element, and "<!--" change how it is read.
  return absl::StrReplaceAll(json.ToString(), {{"<", "\\u003c"}});
}

}  // namespace lemma::api
