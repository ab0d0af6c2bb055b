#include "verifier/referee/certificate/check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/work.h"
#include "graph/builder.h"
#include "graph/sizes/assumptions.h"
#include "graph/sizes/specialize.h"
#include "graph/text/text.h"
#include "verifier/certificate/sizes_to_try.h"
#include "verifier/referee/certificate/execution.h"
#include "verifier/referee/certificate/region_maker.h"
#include "verifier/referee/evidence/conclusion.h"
#include "verifier/referee/evidence/interface.h"
#include "verifier/referee/evidence/known_elements.h"
#include "verifier/referee/evidence/one_sided.h"
#include "verifier/referee/evidence/region_proof.h"
#include "verifier/referee/evidence/rewire.h"
#include "verifier/referee/evidence/weight_comparison.h"

namespace lemma::referee {
namespace {

absl::Status Rejected(const std::string& problem) { return absl::FailedPreconditionError(problem); }

class Checker {
 public:
  Checker(const RefereeCertificate& certificate, const Graph& before,
          const CertificateCheckOptions& options)
      : certificate_(certificate),
        before_(before),
        options_(options),
        prover_(options.prover, AssumptionsOf(before)) {
    for (const NodePtr& node : before.nodes()) in_before_.insert(node.get());
  }

  CertificateCheck Run(const Graph& given) {
    const absl::Status status = All(given);
    if (!status.ok()) {
      result_.problem = std::string(status.message());
      if (result_.problem.empty()) result_.problem = "it cannot be checked";
    }
    result_.proofs = prover_.proofs();
    return std::move(result_);
  }

 private:
  absl::Status All(const Graph& given) {
    MatchedInterface interface = MatchInterface(before_, given);
    result_.notes = interface.notes;
    if (!interface.differences.empty()) return Rejected(interface.differences[0]);
    after_ = std::move(interface.after);
    if (before_.outputs() != after_.outputs()) {
      if (std::string reason = WhyNoProof(before_, after_); !reason.empty())
        return Rejected(reason);
    }
    LEMMA_RETURN_IF_ERROR(Formulas());
    LEMMA_RETURN_IF_ERROR(Constants());
    LEMMA_RETURN_IF_ERROR(Weights());
    LEMMA_RETURN_IF_ERROR(Regions());
    const Conclusion conclusion = ConclusionOf(before_, after_, parts_);
    if (!conclusion.problem.empty()) return Rejected(conclusion.problem);
    if (conclusion.contract != certificate_.contract) {
      return Rejected(absl::StrCat("the contract is ", Name(conclusion.contract), ", not ",
                                   Name(certificate_.contract)));
    }
    result_.contract = conclusion.contract;
    result_.coverage = conclusion.coverage;
    return Compare();
  }

  // Puts values of the first graph in the place of the formulas' inputs.
  absl::Status Formulas() {
    if (certificate_.formulas.empty()) return absl::OkStatus();
    ParseOptions parse;
    parse.file = "formulas";
    LEMMA_ASSIGN_OR_RETURN(const Graph graph, ParseGraph(certificate_.formulas, parse));
    if (PrintGraph(graph) != certificate_.formulas) {
      return Rejected("the formulas are not written as Lemma writes them");
    }
    LEMMA_RETURN_IF_ERROR(CheckSizes(graph));
    ValueMap moved;
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const std::string& name = graph.input_names()[i];
      LEMMA_ASSIGN_OR_RETURN(const ValueName at, ParseValueName(name));
      if (at.graph != ValueName::Graph::kBefore || Print(at) != name) {
        return Rejected(absl::StrCat("formulas: ", name, " is no value of the first model"));
      }
      LEMMA_ASSIGN_OR_RETURN(const Value value, Resolve(at));
      if (value.type() != graph.inputs()[i].type()) {
        return Rejected(absl::StrCat("formulas: ", name, " has another type"));
      }
      moved[graph.inputs()[i]] = value;
    }
    for (const NodePtr& node : graph.nodes()) {
      const NodePtr now = WithOperands(node, moved);
      for (int o = 0; o < node->num_outputs(); ++o) {
        moved.try_emplace(Value(node, o), Value(now, o));
      }
      formulas_.push_back(moved.at(Value(node, 0)).node_ptr());
    }
    return CheckOperators();
  }

  // Bounds what it takes to evaluate the formulas.
  static absl::Status CheckSizes(const Graph& graph) {
    constexpr int64_t kMostElements = int64_t{1} << 28;
    constexpr int kMostDeep = 1000;
    absl::flat_hash_map<const Node*, int> depth;
    for (const NodePtr& node : graph.nodes()) {
      int& own = depth[node.get()];
      for (const Value& operand : node->inputs()) {
        own = std::max(own, depth.at(&operand.node()) + 1);
      }
      if (own > kMostDeep) return Rejected("the formulas are too deep");
      for (const TensorType& type : node->types()) {
        if (type.num_elements() > kMostElements) return Rejected("the formulas are too large");
      }
    }
    return absl::OkStatus();
  }

  // Constants may be computed. Other values may only be moved, as to another layout: neither model
  // computes them, so nothing shows that this is possible.
  absl::Status CheckOperators() {
    std::vector<NodePtr> nodes = before_.nodes();
    nodes.insert(nodes.end(), formulas_.begin(), formulas_.end());
    const absl::flat_hash_set<const Node*> constants = ConstantNodes(nodes);
    for (const NodePtr& node : formulas_) {
      if (HasOwnNumber(*node)) own_numbers_.insert(node.get());
      if (!node->is_op() || in_before_.contains(node.get())) continue;
      const bool moves = OnlyMoves(*node) && !ReadsByData(*node);
      if (moves || constants.contains(node.get())) continue;
      return Rejected(absl::StrCat("formulas: ", node->op().name, " computes more than weights"));
    }
    return absl::OkStatus();
  }

  // Whether a node of the formulas has a number that the first model does not have in this place.
  bool HasOwnNumber(const Node& node) const {
    if (in_before_.contains(&node)) return false;
    if (!node.is_op()) return node.has_payload() && IsFloat(node.type(0).dtype);
    const auto is_real = [](const auto& attr) {
      return std::holds_alternative<double>(attr.second);
    };
    if (!absl::c_any_of(node.attrs(), is_real)) return false;
    return absl::c_none_of(before_.nodes(), [&](const NodePtr& other) {
      return other->is_op() && &other->op() == &node.op() &&
             SameAttrs(other->attrs(), node.attrs());
    });
  }

  // A limit on the steps to evaluate a constant of this type (base/work.h). A formula has a few
  // operators of this size.
  int64_t WorkFor(const TensorType& type) const {
    constexpr int64_t kTimes = 100;
    return options_.prover.work + kTimes * type.num_elements();
  }

  // A proof takes values to be finite.
  absl::Status Constants() {
    const absl::flat_hash_set<const Node*> in_after = ConstantNodes(after_.nodes());
    for (const NodePtr& node : after_.nodes()) {
      if (!node->is_op() || !in_after.contains(node.get()) || in_before_.contains(node.get())) {
        continue;
      }
      const WorkScope work(WorkFor(node->type(0)), options_.prover.interrupted);
      for (int o = 0; o < node->num_outputs(); ++o) {
        const auto computed = evaluator_.Of(Value(node, o));
        if (computed == nullptr || !IsFloat(node->type(o).dtype)) continue;
        const double most = LargestFinite(node->type(o).dtype);
        for (const double x : computed->value) {
          if (std::abs(x) <= most) continue;
          return Rejected(absl::StrCat("a constant that the second model computes by ",
                                       node->op().name, " is not finite"));
        }
      }
    }
    return absl::OkStatus();
  }

  static double LargestFinite(DType dtype) {
    switch (dtype) {
      case DType::kF16:
        return 65504;
      case DType::kF64:
        return std::numeric_limits<double>::max();
      default:  // bf16 reaches as far
        return std::numeric_limits<float>::max();
    }
  }

  absl::Status Weights() {
    for (const auto& [after, before] : certificate_.weights) {
      const std::string name = absl::StrCat("weight ", Print(after));
      if (after.graph != ValueName::Graph::kAfter || before.graph == ValueName::Graph::kAfter) {
        return Rejected(absl::StrCat(name, ": it is no weight of the second model"));
      }
      LEMMA_ASSIGN_OR_RETURN(const NodePtr node, NodeAt(after_.nodes(), after));
      const Value weight(node, after.output);
      LEMMA_ASSIGN_OR_RETURN(const Value formula, Resolve(before));
      const WorkScope work(WorkFor(weight.type()), options_.prover.interrupted);
      const auto x = evaluator_.Of(weight), y = evaluator_.Of(formula);
      if (!IsFloat(weight.dtype()) || x == nullptr || !x->exact()) {
        return Rejected(absl::StrCat(name, " has no known elements"));
      }
      if (y == nullptr || formula.type() != weight.type()) {
        return Rejected(absl::StrCat(name, ": its formula does not give such a weight"));
      }
      // The author of the certificate chose these numbers: their roundings may be as large as ever.
      constexpr double kMostOfOwn = 0x1p-16;
      const WeightComparison all =
          CompareWeights(weight, x->value, formula, *y,
                         DependsOn(formula, own_numbers_) ? kMostOfOwn : kMostRelative);
      if (!all.bounded) return Rejected(absl::StrCat(name, ": its formula has no bounds"));
      if (!all.related()) {
        return Rejected(
            absl::StrCat(name, ": ", all.unrelated.outside,
                         " elements are outside of what evaluations of its formula give"));
      }
      if (!weights_.emplace(weight, formula).second)
        return Rejected(absl::StrCat(name, " comes twice"));
      parts_.exact_weights &= all.relation.exact;
      (all.relation.exact ? result_.weights : result_.computed) += 1;
      result_.ulps = std::max(result_.ulps, all.relation.ulps);
    }
    return absl::OkStatus();
  }

  absl::Status Regions() {
    result_.regions = static_cast<int>(certificate_.regions.size());
    size_t next = 0;
    const std::vector<NodePtr>& nodes = after_.nodes();
    // Formulas use no values of the second graph, so their regions come first, in any order.
    for (; next < certificate_.regions.size(); ++next) {
      const CertifiedRegion& region = certificate_.regions[next];
      if (region.output >= 0 || !IsWeight(region.after)) break;
      LEMMA_RETURN_IF_ERROR(Prove(region, nullptr));
    }
    for (size_t i = 0; i < nodes.size(); ++i) {
      const NodePtr now = WithOperands(nodes[i], equal_);
      over_equals_.push_back(now);
      for (int o = 0; o < nodes[i]->num_outputs(); ++o) {
        const Value value(nodes[i], o);
        auto weight = weights_.find(value);
        equal_[value] =
            weight == weights_.end() ? ProvedEqual(Value(now, o)) : OverProved(weight->second);
      }
      for (; next < certificate_.regions.size(); ++next) {
        const CertifiedRegion& region = certificate_.regions[next];
        if (region.output >= 0 || region.after.position != static_cast<int>(i)) break;
        LEMMA_RETURN_IF_ERROR(Prove(region, &equal_[Value(nodes[i], region.after.output)]));
      }
    }
    std::map<int, Value> outputs;  // by number
    for (; next < certificate_.regions.size(); ++next) {
      const CertifiedRegion& region = certificate_.regions[next];
      const size_t output = static_cast<size_t>(region.output);
      if (region.output < 0)
        return Rejected(NameOf(region) + " is not in the order of the operands");
      LEMMA_ASSIGN_OR_RETURN(const NodePtr node, NodeAt(nodes, region.after));
      if (output >= after_.outputs().size() ||
          after_.outputs()[output] != Value(node, region.after.output)) {
        return Rejected(NameOf(region) + " is not that output");
      }
      LEMMA_RETURN_IF_ERROR(Prove(region, &outputs[region.output]));
    }
    for (size_t o = 0; o < after_.outputs().size(); ++o) {
      auto proved = outputs.find(static_cast<int>(o));
      const Value& now = proved == outputs.end() ? equal_.at(after_.outputs()[o]) : proved->second;
      if (now == before_.outputs()[o]) continue;
      return Rejected(absl::StrCat("output ", before_.output_names()[o], " is not proved equal"));
    }
    return absl::OkStatus();
  }

  // What a value is proved equal to; the value itself if nothing is proved. Two values of the
  // second graph are one value here if their weights have one formula.
  Value ProvedEqual(const Value& now) const {
    auto it = proved_.find(now);
    return it == proved_.end() ? now : it->second;
  }

  // Whether it names a weight of the second graph that has a formula.
  bool IsWeight(const ValueName& name) const {
    if (name.graph != ValueName::Graph::kAfter) return false;
    const auto node = NodeAt(after_.nodes(), name);
    return node.ok() && weights_.contains(Value(*node, name.output));
  }

  // A value of the formulas, over what the values in it are proved equal to.
  Value OverProved(const Value& value) { return proved_.empty() ? value : OverProvedMoved(value); }

  Value OverProvedMoved(const Value& formula) {
    ValueMap moved;
    std::vector<Value> stack = {formula};
    while (!stack.empty()) {
      const Value value = stack.back();
      if (moved.contains(value)) {
        stack.pop_back();
        continue;
      }
      const Node& node = value.node();
      const size_t open = stack.size();
      if (!in_before_.contains(&node)) {
        for (const Value& operand : node.inputs()) {
          if (!moved.contains(operand)) stack.push_back(operand);
        }
      }
      if (stack.size() > open) continue;
      stack.pop_back();
      NodePtr now = value.node_ptr();
      if (!in_before_.contains(&node)) {
        now = WithOperands(now, moved);
        if (own_numbers_.contains(&node)) own_numbers_.insert(now.get());
      }
      moved.emplace(value, ProvedEqual(Value(now, value.output())));
    }
    return moved.at(formula);
  }

  static std::string NameOf(const CertifiedRegion& region) {
    return absl::StrCat("region ", Print(region.after), " = ", Print(region.before));
  }

  // Sets *equal, if given, to the value that the region's value is proved equal to.
  absl::Status Prove(const CertifiedRegion& region, Value* equal) {
    const std::string name = NameOf(region);
    if (region.after.graph != ValueName::Graph::kAfter ||
        region.before.graph == ValueName::Graph::kAfter) {
      return Rejected(name + " is not between the two models");
    }
    LEMMA_ASSIGN_OR_RETURN(Value now, Resolve(region.after));
    // A value that is an output may be proved equal to another value of the first model.
    if (region.output >= 0) now = ProvedEqual(now);
    LEMMA_ASSIGN_OR_RETURN(const Value before, Resolve(region.before));
    if (now.type() != before.type()) return Rejected(name + ": the types differ");
    absl::flat_hash_map<Value, Known> cuts;
    for (const auto& [at, known] : region.cuts) {
      LEMMA_ASSIGN_OR_RETURN(const Value value, Resolve(at));
      // The first model computes the value, so what is read for it is inside its tensor.
      if (known == Known::kAny && value.node().is_op() && !in_before_.contains(&value.node())) {
        return Rejected(absl::StrCat(name, ": the first model does not compute ", Print(at)));
      }
      if (!cuts.emplace(value, known).second) {
        return Rejected(absl::StrCat(name, ": ", Print(at), " comes twice"));
      }
    }
    auto claim = MakeRegion(before, now, cuts, own_numbers_, &evaluator_);
    if (!claim.ok()) return Rejected(absl::StrCat(name, ": ", claim.status().message()));
    const Verdict verdict = prover_.Prove(*claim, options_.prover.work);
    const auto* proved = std::get_if<Proved>(&verdict);
    if (proved == nullptr) {
      return Rejected(absl::StrCat(name, " is not proved: ", Explanation(verdict)));
    }
    ++parts_.regions;
    parts_.contract = std::max(parts_.contract, proved->contract);
    if (parts_.condition.empty()) parts_.condition = proved->coverage;
    if (equal != nullptr) *equal = before;
    if (region.output < 0) proved_[now] = before;
    return absl::OkStatus();
  }

  static absl::StatusOr<NodePtr> NodeAt(const std::vector<NodePtr>& nodes, const ValueName& name) {
    const auto position = static_cast<size_t>(name.position);
    if (name.position < 0 || position >= nodes.size() || name.output < 0 ||
        name.output >= nodes[position]->num_outputs()) {
      return Rejected(absl::StrCat("there is no value ", Print(name)));
    }
    return nodes[position];
  }

  // A value of kAfter: see ValueName.
  absl::StatusOr<Value> Resolve(const ValueName& name) {
    if (IsWeight(name)) {
      return OverProved(weights_.at(Value(after_.nodes()[name.position], name.output)));
    }
    const std::vector<NodePtr>& nodes = name.graph == ValueName::Graph::kBefore ? before_.nodes()
                                        : name.graph == ValueName::Graph::kFormulas ? formulas_
                                                                                    : over_equals_;
    LEMMA_ASSIGN_OR_RETURN(const NodePtr node, NodeAt(nodes, name));
    const Value value(node, name.output);
    return name.graph == ValueName::Graph::kFormulas ? OverProved(value) : value;
  }

  // Executes both graphs on the same random inputs; at several sizes if some are symbolic.
  absl::Status Compare() {
    const std::map<std::string, SizeRange> dims = DimsOf(before_);
    // With formulas in the place of weights, the graphs differ by no rounding of weights.
    const ValueMap moved = AfterReplacing(after_, weights_);
    std::vector<Value> outputs;
    for (const Value& value : after_.outputs()) outputs.push_back(moved.at(value));
    const Graph with_formulas = WithValues(after_, outputs);
    if (dims.empty()) {
      LEMMA_RETURN_IF_ERROR(CompareAt(before_, with_formulas));
      return CompareWithWeights(before_, after_);
    }
    for (int choice = 0; choice < certificate::kChoicesOfSizes; ++choice) {
      if (choice >= certificate::kSmallChoices && result_.samples > 0) break;
      const DimValues sizes = certificate::SizesToTry(dims, options_.seed, choice);
      auto before = Specialize(before_, sizes);
      if (!before.ok()) continue;  // the first model does not run at these sizes
      auto after = Specialize(with_formulas, sizes);
      if (!after.ok()) {
        return Rejected(absl::StrCat("at some sizes only the first model is well-formed: ",
                                     after.status().message()));
      }
      LEMMA_RETURN_IF_ERROR(CompareAt(*before, *after));
      LEMMA_ASSIGN_OR_RETURN(const Graph own, Specialize(after_, sizes));
      LEMMA_RETURN_IF_ERROR(CompareWithWeights(*before, own));
    }
    if (result_.samples > 0) return absl::OkStatus();
    return Rejected("the first model takes none of the sizes that were tried");
  }

  // The second graph has its own weights, so rounding may add up over its layers.
  absl::Status CompareWithWeights(const Graph& before, const Graph& after) const {
    constexpr double kTolerance = 1e-3;
    if (parts_.exact_weights) return absl::OkStatus();
    return AgreeOnRandomInputs(before, after, kTolerance, options_.seed, options_.threads);
  }

  absl::Status CompareAt(const Graph& before, const Graph& after) {
    constexpr double kTolerance = 2e-6;
    // A few numbers may all be positive.
    constexpr int64_t kFewElements = 64;
    constexpr int kMoreSamples = 8;
    int64_t inputs = 0;
    for (const Value& v : before.inputs()) inputs += v.type().num_elements();
    const int samples = options_.samples * (inputs < kFewElements ? kMoreSamples : 1);
    for (int sample = 0; sample < samples; ++sample) {
      const uint64_t seed = options_.seed + static_cast<uint64_t>(sample);
      LEMMA_RETURN_IF_ERROR(AgreeOnRandomInputs(before, after, kTolerance, seed, options_.threads));
      ++result_.samples;
    }
    result_.elements = 0;
    for (const Value& v : before.outputs()) result_.elements += v.type().num_elements();
    return absl::OkStatus();
  }

  const RefereeCertificate& certificate_;
  const Graph& before_;
  const CertificateCheckOptions& options_;
  RegionProver prover_;
  Graph after_;
  ConstantEvaluator evaluator_;
  absl::flat_hash_set<const Node*> in_before_,
      own_numbers_;                   // nodes: of `before_`; with numbers of formulas
  std::vector<NodePtr> formulas_;     // by node of the formulas: the same over values of `before_`
  ValueMap weights_;                  // by weight of the second graph: its formula
  std::vector<NodePtr> over_equals_;  // by node of the second graph: over what its operands equal
  ValueMap proved_;                   // by value over `over_equals_`: what it is proved equal to
  ValueMap equal_;                    // by value of the second graph: what it equals
  ProvedParts parts_;
  CertificateCheck result_;
};

}  // namespace

CertificateCheck CheckCertificate(const RefereeCertificate& certificate, const Graph& before,
                                  const Graph& after, const CertificateCheckOptions& options) {
  WorkScope work(kUnlimitedWork, options.prover.interrupted);  // each region has its own limit
  try {
    return Checker(certificate, before, options).Run(after);
  } catch (const WorkEnded& end) {
    CertificateCheck result;
    result.problem = end.Reason("the check");
    return result;
  }
}

}  // namespace lemma::referee
