#include "verifier/referee/certificate/check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/work.h"
#include "graph/builder.h"
#include "graph/sizes/assumptions.h"
#include "graph/sizes/specialize.h"
#include "graph/text/text.h"
#include "verifier/certificate/run_graphs.h"
#include "verifier/certificate/sizes_to_try.h"
#include "verifier/referee/evidence/conclusion.h"
#include "verifier/referee/evidence/interface.h"
#include "verifier/referee/evidence/known_elements.h"
#include "verifier/referee/evidence/one_sided.h"
#include "verifier/referee/evidence/other_roundings.h"
#include "verifier/referee/evidence/region_proof.h"
#include "verifier/referee/evidence/rewire.h"
#include "verifier/referee/evidence/weight_comparison.h"

namespace lemma::referee {
namespace {

// On each side of a region. The referee itself makes none so large.
constexpr int kMostOperators = 200;

absl::Status No(std::string problem) { return absl::FailedPreconditionError(std::move(problem)); }

// Copies a region out of the models.
class RegionMaker {
 public:
  // `cuts`: by value, what the proof uses of its elements. `computing`: the nodes of formulas.
  RegionMaker(const absl::flat_hash_map<Value, Known>& cuts,
              const absl::flat_hash_set<const Node*>& computing, ConstantEvaluator* evaluator)
      : cuts_(cuts), computing_(computing), evaluator_(*evaluator) {}

  absl::StatusOr<RegionClaim> Run(const Value& before, const Value& after) {
    LEMMA_ASSIGN_OR_RETURN(const Value x, Side(before));
    LEMMA_ASSIGN_OR_RETURN(const Value y, Side(after));
    RegionClaim claim;
    LEMMA_ASSIGN_OR_RETURN(claim.before, Build("before", x));
    LEMMA_ASSIGN_OR_RETURN(claim.after, Build("after", y));
    claim.finite = finite_;
    claim.near_numbers = near_numbers_;
    return claim;
  }

 private:
  absl::StatusOr<Value> Side(const Value& output) {
    copied_.clear();
    return Copy(output);
  }

  absl::StatusOr<Value> Copy(const Value& value) {
    const Node& node = value.node();
    if (auto cut = cuts_.find(value); cut != cuts_.end()) return CutAt(value, cut->second);
    if (!node.is_op()) {
      return node.has_payload() ? Value(Node::Constant(node.payload()), 0)
                                : InputFor(value, Known::kAny);
    }
    if (auto it = copied_.find(&node); it != copied_.end()) {
      return Value(it->second, value.output());
    }
    if (static_cast<int>(entered_.size()) >= 2 * kMostOperators) return No("it is too large");
    entered_.push_back(&node);
    // The numbers of formulas were chosen by the author of the certificate, so their roundings may
    // add up to any difference.
    near_numbers_ &= !computing_.contains(&node);
    std::vector<Value> operands;
    for (const Value& operand : node.inputs()) {
      LEMMA_ASSIGN_OR_RETURN(operands.emplace_back(), Copy(operand));
    }
    NodePtr copy = Node::Apply(&node.op(), std::move(operands), node.attrs(), node.types());
    copied_[&node] = copy;
    return Value(copy, value.output());
  }

  absl::StatusOr<Value> CutAt(const Value& value, Known known) {
    if (known == Known::kAny) return InputFor(value, known);
    if (known == Known::kElements) {
      auto constant = AsConstant(value, &evaluator_);
      if (!constant) return No("a value that it takes as known is not computed exactly");
      return *constant;
    }
    const auto computed = IsFloat(value.dtype()) ? evaluator_.Of(value) : nullptr;
    if (computed == nullptr || !Implies(SignsOf(*computed), known)) {
      return No(absl::StrCat("a value is not ", Name(known)));
    }
    return Restricted(known, value.dtype(), InputFor(value, known));
  }

  static bool Implies(Known is, Known claimed) {
    return is == claimed || (is == Known::kZeroOrOne && claimed == Known::kNotNegative);
  }

  Value InputFor(const Value& value, Known known) {
    auto [it, added] = inputs_.try_emplace(value, Value());
    if (added) {
      types_.push_back({InputTypeFor(known, value.dtype()), value.shape()});
      it->second = Value(Node::Input(static_cast<int>(types_.size()) - 1, types_.back()), 0);
      finite_.push_back(value.node().has_payload() && value.node().is_finite());
    }
    return it->second;
  }

  absl::StatusOr<Graph> Build(const std::string& name, const Value& output) const {
    GraphBuilder builder(name);
    for (size_t i = 0; i < types_.size(); ++i) builder.Input(absl::StrCat("x", i), types_[i]);
    builder.Output("y", output);
    return std::move(builder).Build();
  }

  const absl::flat_hash_map<Value, Known>& cuts_;
  const absl::flat_hash_set<const Node*>& computing_;
  bool near_numbers_ = true;
  ConstantEvaluator& evaluator_;
  absl::flat_hash_map<const Node*, NodePtr> copied_;
  std::vector<const Node*> entered_;
  absl::flat_hash_map<Value, Value> inputs_;
  std::vector<TensorType> types_;
  std::vector<bool> finite_;
};

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
    if (!interface.differences.empty()) return No(interface.differences[0]);
    after_ = std::move(interface.after);
    if (before_.outputs() != after_.outputs()) {
      if (std::string reason = WhyNoProof(before_, after_); !reason.empty()) return No(reason);
    }
    LEMMA_RETURN_IF_ERROR(Formulas());
    LEMMA_RETURN_IF_ERROR(Constants());
    LEMMA_RETURN_IF_ERROR(Weights());
    LEMMA_RETURN_IF_ERROR(Regions());
    const Conclusion conclusion = ConclusionOf(before_, after_, parts_);
    if (!conclusion.problem.empty()) return No(conclusion.problem);
    if (conclusion.contract != certificate_.contract) {
      return No(absl::StrCat("the contract is ", Name(conclusion.contract), ", not ",
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
      return No("the formulas are not written as Lemma writes them");
    }
    LEMMA_RETURN_IF_ERROR(CheckSizes(graph));
    ValueMap moved;
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const std::string& name = graph.input_names()[i];
      LEMMA_ASSIGN_OR_RETURN(const ValueName at, ParseValueName(name));
      if (at.graph != ValueName::Graph::kBefore || Print(at) != name) {
        return No(absl::StrCat("formulas: ", name, " is no value of the first model"));
      }
      LEMMA_ASSIGN_OR_RETURN(const Value value, Resolve(at));
      if (value.type() != graph.inputs()[i].type()) {
        return No(absl::StrCat("formulas: ", name, " has another type"));
      }
      moved[graph.inputs()[i]] = value;
    }
    for (const NodePtr& node : graph.nodes()) {
      const NodePtr now = OverMoved(node, moved);
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
      if (own > kMostDeep) return No("the formulas are too deep");
      for (const TensorType& type : node->types()) {
        if (type.num_elements() > kMostElements) return No("the formulas are too large");
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
      if (!node->is_op() || in_before_.contains(node.get())) continue;
      const bool moves = OnlyMoves(*node) && !ReadsByData(*node);
      if (!moves) computing_.insert(node.get());
      if (moves || constants.contains(node.get())) continue;
      return No(absl::StrCat("formulas: ", node->op().name, " computes more than weights"));
    }
    return absl::OkStatus();
  }

  // A proof takes values to be finite.
  absl::Status Constants() {
    const absl::flat_hash_set<const Node*> in_after = ConstantNodes(after_.nodes());
    for (const NodePtr& node : after_.nodes()) {
      if (!node->is_op() || !in_after.contains(node.get()) || in_before_.contains(node.get())) {
        continue;
      }
      const WorkScope work(options_.prover.work, options_.prover.interrupted);
      for (int o = 0; o < node->num_outputs(); ++o) {
        const auto computed = evaluator_.Of(Value(node, o));
        if (computed == nullptr || !IsFloat(node->type(o).dtype)) continue;
        const double most = LargestFinite(node->type(o).dtype);
        for (const double x : computed->value) {
          if (std::abs(x) <= most) continue;
          return No(absl::StrCat("a constant that the second model computes by ", node->op().name,
                                 " is not finite"));
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
        return No(absl::StrCat(name, ": it is no weight of the second model"));
      }
      LEMMA_ASSIGN_OR_RETURN(const NodePtr node, NodeAt(after_.nodes(), after));
      const Value weight(node, after.output);
      LEMMA_ASSIGN_OR_RETURN(const Value formula, Resolve(before));
      const WorkScope work(options_.prover.work, options_.prover.interrupted);
      const auto x = evaluator_.Of(weight), y = evaluator_.Of(formula);
      if (!IsFloat(weight.dtype()) || x == nullptr || !x->exact()) {
        return No(absl::StrCat(name, " has no known elements"));
      }
      if (y == nullptr || formula.type() != weight.type()) {
        return No(absl::StrCat(name, ": its formula does not give such a weight"));
      }
      const WeightComparison all = CompareWeights(weight, x->value, formula, *y);
      if (!all.related()) {
        return No(absl::StrCat(name, ": ", all.unrelated.outside,
                               " elements are outside of what evaluations of its formula give"));
      }
      if (!weights_.emplace(weight, formula).second) return No(absl::StrCat(name, " comes twice"));
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
    for (size_t i = 0; i < nodes.size(); ++i) {
      const NodePtr now = OverMoved(nodes[i], equal_);
      over_equals_.push_back(now);
      for (int o = 0; o < nodes[i]->num_outputs(); ++o) {
        const Value value(nodes[i], o);
        auto weight = weights_.find(value);
        equal_[value] = weight == weights_.end() ? Value(now, o) : weight->second;
      }
      for (; next < certificate_.regions.size(); ++next) {
        const CertifiedRegion& region = certificate_.regions[next];
        if (region.only_output || region.after.position != static_cast<int>(i)) break;
        LEMMA_RETURN_IF_ERROR(Prove(region, &equal_[Value(nodes[i], region.after.output)]));
      }
    }
    ValueMap outputs;
    for (; next < certificate_.regions.size(); ++next) {
      const CertifiedRegion& region = certificate_.regions[next];
      if (!region.only_output) return No(NameOf(region) + " is not in the order of the operands");
      LEMMA_ASSIGN_OR_RETURN(const NodePtr node, NodeAt(nodes, region.after));
      LEMMA_RETURN_IF_ERROR(Prove(region, &outputs[Value(node, region.after.output)]));
    }
    for (size_t o = 0; o < after_.outputs().size(); ++o) {
      const Value& value = after_.outputs()[o];
      auto proved = outputs.find(value);
      const Value& now = proved == outputs.end() ? equal_.at(value) : proved->second;
      if (now == before_.outputs()[o]) continue;
      return No(absl::StrCat("output ", before_.output_names()[o], " is not proved equal"));
    }
    return absl::OkStatus();
  }

  static std::string NameOf(const CertifiedRegion& region) {
    return absl::StrCat("region ", Print(region.after), " = ", Print(region.before));
  }

  // Sets *equal to the value that the region's value is proved equal to.
  absl::Status Prove(const CertifiedRegion& region, Value* equal) {
    const std::string name = NameOf(region);
    if (region.after.graph != ValueName::Graph::kAfter ||
        region.before.graph == ValueName::Graph::kAfter) {
      return No(name + " is not between the two models");
    }
    LEMMA_ASSIGN_OR_RETURN(const Value now, Resolve(region.after));
    LEMMA_ASSIGN_OR_RETURN(const Value before, Resolve(region.before));
    if (now.type() != before.type()) return No(name + ": the types differ");
    absl::flat_hash_map<Value, Known> cuts;
    for (const auto& [at, known] : region.cuts) {
      LEMMA_ASSIGN_OR_RETURN(const Value value, Resolve(at));
      // The first model computes the value, so what is read for it is inside its tensor.
      if (known == Known::kAny && value.node().is_op() && !in_before_.contains(&value.node())) {
        return No(absl::StrCat(name, ": the first model does not compute ", Print(at)));
      }
      if (!cuts.emplace(value, known).second) {
        return No(absl::StrCat(name, ": ", Print(at), " comes twice"));
      }
    }
    auto claim = RegionMaker(cuts, computing_, &evaluator_).Run(before, now);
    if (!claim.ok()) return No(absl::StrCat(name, ": ", claim.status().message()));
    const Verdict verdict = prover_.Prove(*claim, options_.prover.work);
    const auto* proved = std::get_if<Proved>(&verdict);
    if (proved == nullptr) {
      return No(absl::StrCat(name, " is not proved: ", Explanation(verdict)));
    }
    ++parts_.regions;
    parts_.contract = std::max(parts_.contract, proved->contract);
    if (parts_.condition.empty()) parts_.condition = proved->coverage;
    *equal = before;
    return absl::OkStatus();
  }

  static absl::StatusOr<NodePtr> NodeAt(const std::vector<NodePtr>& nodes, const ValueName& name) {
    const auto position = static_cast<size_t>(name.position);
    if (name.position < 0 || position >= nodes.size() || name.output < 0 ||
        name.output >= nodes[position]->num_outputs()) {
      return No(absl::StrCat("there is no value ", Print(name)));
    }
    return nodes[position];
  }

  // A value of kAfter: see ValueName.
  absl::StatusOr<Value> Resolve(const ValueName& name) const {
    const std::vector<NodePtr>& nodes = name.graph == ValueName::Graph::kBefore ? before_.nodes()
                                        : name.graph == ValueName::Graph::kFormulas ? formulas_
                                                                                    : over_equals_;
    LEMMA_ASSIGN_OR_RETURN(const NodePtr node, NodeAt(nodes, name));
    return Value(node, name.output);
  }

  // Executes both graphs on the same random inputs; at several sizes if some are symbolic.
  absl::Status Compare() {
    const std::map<std::string, SizeRange> dims = DimsOf(before_);
    // With formulas in the place of weights, the graphs differ by no rounding of weights.
    const ValueMap moved = AfterReplacing(after_, weights_);
    std::vector<Value> outputs;
    for (const Value& value : after_.outputs()) outputs.push_back(moved.at(value));
    const Graph with_formulas = WithValues(after_, outputs);
    if (dims.empty()) return CompareAt(before_, with_formulas);
    for (int choice = 0; choice < certificate::kChoicesOfSizes; ++choice) {
      if (choice >= certificate::kSmallChoices && result_.samples > 0) break;
      const DimValues sizes = certificate::SizesToTry(dims, options_.seed, choice);
      auto before = Specialize(before_, sizes);
      if (!before.ok()) continue;  // the first model does not run at these sizes
      auto after = Specialize(with_formulas, sizes);
      if (!after.ok()) {
        return No(absl::StrCat("at some sizes only the first model is well-formed: ",
                               after.status().message()));
      }
      LEMMA_RETURN_IF_ERROR(CompareAt(*before, *after));
    }
    if (result_.samples > 0) return absl::OkStatus();
    return No("the first model takes none of the sizes that were tried");
  }

  absl::Status CompareAt(const Graph& before, const Graph& after) {
    certificate::RandomValues random;
    random.threads = options_.threads;
    for (const Graph* graph : {&before, &after}) {
      for (const NodePtr& node : graph->nodes()) {
        if (node->has_payload()) random.kept.insert(node.get());
      }
    }
    for (int sample = 0; sample < options_.samples; ++sample) {
      random.seed = options_.seed + static_cast<uint64_t>(sample);
      for (const bool positive : {true, false}) {
        random.positive = positive;
        LEMMA_RETURN_IF_ERROR(CompareOn(before, after, random));
      }
      ++result_.samples;
    }
    result_.elements = 0;
    for (const Value& v : before.outputs()) result_.elements += v.type().num_elements();
    return absl::OkStatus();
  }

  absl::Status CompareOn(const Graph& before, const Graph& after,
                         const certificate::RandomValues& random) const {
    LEMMA_ASSIGN_OR_RETURN(const Rows a, ValuesOn(before, random));
    LEMMA_ASSIGN_OR_RETURN(const Rows b, ValuesOn(after, random));
    const double largest = Largest(a), difference = Difference(a, b);
    double tolerance = 2e-6 * std::max(1.0, largest);
    if (difference <= tolerance) return absl::OkStatus();
    if (!std::isfinite(difference)) return No("the second model gives infinities or NaN");
    // Numbers of both graphs may be equal but for their rounding, and the model may amplify it.
    constexpr double kTimes = 4;
    constexpr uint64_t kDraws = 4;
    for (uint64_t draw = 0; draw < kDraws; ++draw) {
      certificate::RandomValues same = random;
      const Graph other = WithOtherRoundings(after, draw);
      for (const NodePtr& node : other.nodes()) {
        if (node->has_payload()) same.kept.insert(node.get());
      }
      LEMMA_ASSIGN_OR_RETURN(const Rows c, ValuesOn(other, same));
      const double response = Difference(b, c);
      if (std::isfinite(response)) tolerance = std::max(tolerance, kTimes * response);
    }
    return difference <= tolerance ? absl::OkStatus() : No("the outputs differ on random inputs");
  }

  using Rows = std::vector<std::vector<double>>;
  static absl::StatusOr<Rows> ValuesOn(const Graph& graph, certificate::RandomValues random) {
    auto rows = certificate::Evaluate<double>(graph.outputs(), graph.inputs(), random);
    if (!absl::IsOutOfRange(rows.status())) return rows;
    random.zeros = true;
    return certificate::Evaluate<double>(graph.outputs(), graph.inputs(), random);
  }

  static double Largest(const Rows& rows) {
    double largest = 0;
    for (const auto& row : rows) {
      for (const double x : row)
        largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
    }
    return largest;
  }

  // The largest difference; infinite if an element of `b` is not finite where `a` is, or is another
  // infinity.
  static double Difference(const Rows& a, const Rows& b) {
    double largest = 0;
    for (size_t o = 0; o < a.size(); ++o) {
      for (size_t i = 0; i < a[o].size(); ++i) {
        const double x = a[o][i], y = b[o][i];
        if (x == y || std::isnan(x)) continue;
        if (std::isinf(x) && std::isfinite(y)) continue;
        if (!std::isfinite(x) || !std::isfinite(y)) return std::numeric_limits<double>::infinity();
        largest = std::max(largest, std::abs(x - y));
      }
    }
    return largest;
  }

  const RefereeCertificate& certificate_;
  const Graph& before_;
  const CertificateCheckOptions& options_;
  RegionProver prover_;
  Graph after_;
  ConstantEvaluator evaluator_;
  absl::flat_hash_set<const Node*> in_before_, computing_;  // nodes: of `before_`, of formulas
  std::vector<NodePtr> formulas_;     // by node of the formulas: the same over values of `before_`
  ValueMap weights_;                  // by weight of the second graph: its formula
  std::vector<NodePtr> over_equals_;  // by node of the second graph: over what its operands equal
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
