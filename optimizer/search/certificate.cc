#include "optimizer/search/certificate.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "graph/barrier.h"
#include "rewrite/matching/apply.h"
#include "rewrite/matching/edit_graph.h"
#include "rewrite/matching/match_index.h"
#include "rewrite/matching/match_set.h"
#include "rewrite/matching/rewrite_source.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::optimizer {
namespace {

ValueAt PlaceOf(const Value& value, const MatchIndex& index) {
  return {index.PositionOf(value.node()), value.output()};
}

std::vector<AttrValue> ValuesOf(const SymbolValues& symbols) {
  std::vector<AttrValue> values;
  for (const auto& symbol : symbols) {
    values.push_back(symbol ? ToAttrValue(*symbol).value_or(AttrValue()) : AttrValue());
  }
  return values;
}

// The step as in a certificate, without the resulting graph.
CertificateStep StepOf(const Substitution& rule, const Match& match, const MatchIndex& index) {
  CertificateStep step;
  step.rule = rule.name;
  step.dtype = match.dtype;
  for (const Value& v : match.vars) step.vars.push_back(PlaceOf(v, index));
  for (const NodePtr& node : match.nodes) step.nodes.push_back(index.PositionOf(*node));
  step.symbols = ValuesOf(match.symbols);
  return step;
}

// Compares texts, so that NaN equals itself.
bool SameSymbols(const std::vector<AttrValue>& a, const std::vector<AttrValue>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const AttrValue& x, const AttrValue& y) {
                      return x.index() == y.index() && ToString(x) == ToString(y);
                    });
}

bool SameMatch(const CertificateStep& a, const CertificateStep& b) {
  return a.rule == b.rule && a.dtype == b.dtype && a.vars == b.vars && a.nodes == b.nodes &&
         SameSymbols(a.symbols, b.symbols);
}

// Rules by name, each prepared when it is first needed.
class Rules {
 public:
  explicit Rules(absl::Span<const Substitution> rules) : rules_(rules) {}

  const Substitution* Find(const std::string& name) const {
    auto it = std::find_if(rules_.begin(), rules_.end(),
                           [&](const Substitution& rule) { return rule.name == name; });
    return it == rules_.end() ? nullptr : &*it;
  }

  absl::StatusOr<const PreparedRule*> Prepared(const Substitution& rule) {
    std::unique_ptr<PreparedRule>& prepared = prepared_[rule.name];
    if (prepared == nullptr) {
      LEMMA_ASSIGN_OR_RETURN(Matcher matcher, Matcher::CreateForAllOrders(rule));
      prepared = std::make_unique<PreparedRule>(std::move(matcher));
    }
    return prepared.get();
  }

 private:
  const absl::Span<const Substitution> rules_;
  std::map<std::string, std::unique_ptr<PreparedRule>> prepared_;
};

// Applies one step: among the rule's matches in `graph` that are `wanted`, the first that leads to
// the graph with hash `after`. If `nodes` (those of the source) are given, looks at that place
// only. Sets *step and *where and replaces *graph; returns false if there is no such match.
absl::StatusOr<bool> Advance(const PreparedRule& rule, const std::vector<int>& nodes,
                             uint64_t after, absl::FunctionRef<bool(const CertificateStep&)> wanted,
                             Graph* graph, CertificateStep* step, std::string* where) {
  const MatchIndex index(*graph);
  absl::Status status;
  std::optional<Graph> next;
  auto visit = [&](const Match& match) {
    *step = StepOf(rule.rule(), match, index);
    if (!wanted(*step) || !rule.coverage.Covers(match.symbols, match.dtype)) return true;
    auto applied = Apply(rule.rule(), match, index);
    if (absl::IsFailedPrecondition(applied.status())) return true;
    status = applied.status();
    if (!status.ok()) return false;
    if (applied->StructuralHash() != after) return true;
    std::vector<std::string> names;
    for (const Value& v : match.vars) {
      names.push_back(NameInSteps(graph->LabelOf(v), index.PositionOf(v.node()), v.output()));
    }
    *where = Describe(rule.rule(), names, match.symbols);
    next = *std::move(applied);
    return false;
  };
  const size_t root = static_cast<size_t>(rule.rule().source.outputs[0].node);
  if (root >= nodes.size()) {
    rule.matcher.ForEach(index, visit);
  } else if (nodes[root] >= 0 && nodes[root] < index.num_nodes()) {
    rule.matcher.ForEach(index, nodes[root], visit);
  }
  if (!status.ok()) return status;
  if (!next) return false;
  *graph = *std::move(next);
  step->after = after;
  return true;
}

// The elements of `all` that `others` lacks.
std::vector<int> LeftOut(const std::vector<int>& all, const std::vector<int>& others) {
  const absl::flat_hash_set<int> known(others.begin(), others.end());
  std::vector<int> left;
  for (int number : all) {
    if (!known.contains(number)) left.push_back(number);
  }
  return left;
}

// Repeats the search's steps on one graph in place, so that a step costs a walk over the graph and
// not a new graph.
class Repetition {
 public:
  explicit Repetition(const Graph& input) : places_(input) { Begin(input); }

  // Applies `done` where the search says that it was applied. Returns false, without any change, if
  // there is no match at that place that leads to the graph with the step's hash.
  // Adds the labels of the values that were replaced to `replaced`.
  bool AdvanceThere(const PreparedRule& rule, const RewriteStep& done, CertificateStep* step,
                    std::vector<std::string>* replaced) {
    const int root = rule.rule().source.outputs[0].node;
    if (root >= static_cast<int>(done.nodes.size())) return false;
    const int position = done.nodes[root];
    if (position < 0 || position >= static_cast<int>(order_.size())) return false;
    // Collects all matches before one is applied, because the matcher reads the graph meanwhile.
    std::vector<MatchedEditPtr> matched_edits;
    rule.matcher.ForEachAt(*graph_, root, order_[position], [&](const Binding& match) {
      if (!IsThere(match, done) || rule.matcher.Tangled(*graph_, match)) return true;
      if (MatchedEditPtr matched = MatchedEditOf(rule, *graph_, match))
        matched_edits.push_back(std::move(matched));
      return true;
    });
    for (const MatchedEditPtr& matched : matched_edits) {
      CertificateStep found = StepOf(rule.rule(), matched->match);
      std::vector<std::string> labels;
      for (const PatternValue& output : rule.rule().source.outputs) {
        labels.emplace_back(graph_->LabelOf({matched->match.nodes[output.node], output.index}));
      }
      const size_t mark = graph_->mark();
      graph_->Apply(matched->edit);
      std::vector<int> order = graph_->GraphOrder();
      if (graph_->StructuralHash(order) == done.after) {
        *step = std::move(found);
        *replaced = std::move(labels);
        step->after = done.after;
        // A step may also make nodes equal, which become one, and leave nodes that it matched.
        places_.Step(LeftOut(order_, order), LeftOut(order, order_));
        SetOrder(std::move(order));
        return true;
      }
      graph_->UndoTo(mark);
    }
    return false;
  }

  Graph ToGraph() const { return graph_->ToGraph(); }
  // Continues from another graph, to which a step led that AdvanceThere did not find.
  void Continue(const Graph& graph) {
    places_.Forget();
    Begin(graph);
  }
  // `output`: the graph after the last step, with its constants folded.
  StepPlaces PlacesIn(const Graph& output) const {
    std::vector<NodePtr> nodes;
    const Graph last = graph_->ToGraph(&nodes);
    return places_.Finish(nodes, last, output);
  }

 private:
  void Begin(const Graph& graph) {
    graph_ = std::make_unique<EditGraph>(graph, EditGraphOptions());
    SetOrder(graph_->GraphOrder());
  }

  void SetOrder(std::vector<int> order) {
    order_ = std::move(order);
    position_.assign(graph_->num_nodes(), -1);
    for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = static_cast<int>(i);
  }

  bool IsThere(const Binding& match, const RewriteStep& done) const {
    return std::equal(match.nodes.begin(), match.nodes.end(), done.nodes.begin(), done.nodes.end(),
                      [&](int node, int position) { return position_[node] == position; }) &&
           std::equal(match.vars.begin(), match.vars.end(), done.vars.begin(), done.vars.end(),
                      [&](const ValueRef& a, const ValueRef& b) {
                        return position_[a.node] == b.node && a.output == b.output;
                      });
  }

  CertificateStep StepOf(const Substitution& rule, const Binding& match) const {
    CertificateStep step;
    step.rule = rule.name;
    step.dtype = match.dtype;
    for (const ValueRef& v : match.vars) step.vars.push_back({position_[v.node], v.output});
    for (int node : match.nodes) step.nodes.push_back(position_[node]);
    step.symbols = ValuesOf(match.symbols);
    return step;
  }

  std::unique_ptr<EditGraph> graph_;
  std::vector<int> order_, position_;  // the graph's node by position, and the inverse
  PlaceKeeper places_;
};

// The values of `graph` that are constants in `folded`, which is otherwise equal to it.
std::vector<std::pair<Value, Value>> FoldsBetween(const Graph& graph, const Graph& folded) {
  std::vector<std::pair<Value, Value>> folds, pending;
  absl::flat_hash_set<Value> seen;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    pending.emplace_back(graph.outputs()[i], folded.outputs()[i]);
  }
  while (!pending.empty()) {
    const auto [from, to] = pending.back();
    pending.pop_back();
    if (from == to || !seen.insert(from).second) continue;
    if (from.node().is_op() && to.node().kind() == Node::Kind::kConstant) {
      folds.emplace_back(from, to);
      continue;
    }
    const size_t n = std::min(from.node().inputs().size(), to.node().inputs().size());
    for (size_t i = 0; i < n; ++i) {
      pending.emplace_back(from.node().inputs()[i], to.node().inputs()[i]);
    }
  }
  return folds;
}

// "w+b/folded", after the weights and constants that the value depends on; "w+2_more/folded" if it
// depends on more than two.
std::string NameOfFold(const Value& folded, const Graph& graph) {
  std::vector<std::string> names;
  std::vector<const Value*> pending = {&folded};
  absl::flat_hash_set<const Node*> seen;
  while (!pending.empty()) {
    const Value& value = *pending.back();
    pending.pop_back();
    if (!seen.insert(&value.node()).second) continue;
    const std::vector<Value>& inputs = value.node().inputs();
    for (auto it = inputs.rbegin(); it != inputs.rend(); ++it) pending.push_back(&*it);
    if (!value.node().has_payload()) continue;
    absl::string_view name = graph.LabelOf(value);
    if (name.empty() && value.node().kind() == Node::Kind::kWeight) name = value.node().name();
    if (name.empty()) continue;  // a rule's own constant
    names.emplace_back(name);
  }
  if (names.empty()) return "";
  if (names.size() > 2) return absl::StrCat(names[0], "+", names.size() - 1, "_more/folded");
  return absl::StrCat(absl::StrJoin(names, "+"), "/folded");
}

void AddFolds(const Graph& last, const Graph& output, Certificate* certificate,
              Provenance* provenance) {
  const MatchIndex index(last);
  std::vector<Value> folded;
  for (const auto& [from, to] : FoldsBetween(WithoutBarriers(last), output)) {
    const Tensor& tensor = to.node().payload();
    const absl::string_view bytes(static_cast<const char*>(tensor.raw()),
                                  static_cast<size_t>(tensor.type().num_bytes()));
    certificate->folds.push_back({PlaceOf(from, index), tensor.type(), Sha256Of(bytes)});
    folded.push_back(from);
    if (provenance == nullptr) continue;
    if (std::string name = NameOfFold(from, last); !name.empty()) {
      provenance->folded.emplace(tensor.ContentHash(), std::move(name));
    }
  }
  std::sort(certificate->folds.begin(), certificate->folds.end(),
            [](const CertificateFold& a, const CertificateFold& b) {
              return std::make_pair(a.value.position, a.value.output) <
                     std::make_pair(b.value.position, b.value.output);
            });
  certificate->contract = ContractOf(certificate->rules, folded);
}

}  // namespace

absl::StatusOr<Certificate> Certify(const Graph& input, absl::Span<const RewriteStep> steps,
                                    const Graph& output, absl::Span<const Substitution> rules,
                                    Certificate::Result result, const Deadline& deadline,
                                    Provenance* provenance) {
  Certificate certificate;
  certificate.input_graph = input.StructuralHash();
  const Graph once = WithoutBarriers(output);
  certificate.output_graph = once.StructuralHash();
  certificate.result = result;
  Rules known(rules);
  absl::flat_hash_set<std::string> used;
  Repetition repetition(input);
  for (const RewriteStep& done : steps) {
    if (deadline.interrupted()) return Deadline::Interruption();
    const Substitution* rule = known.Find(done.name);
    if (rule == nullptr) return absl::InternalError("a step by an unknown rule " + done.name);
    LEMMA_ASSIGN_OR_RETURN(const PreparedRule* prepared, known.Prepared(*rule));
    CertificateStep step;
    std::vector<std::string> replaced;
    bool found = repetition.AdvanceThere(*prepared, done, &step, &replaced);
    if (!found) {
      std::string where;
      const Graph before = repetition.ToGraph();
      Graph graph = before;
      auto anywhere = [](const CertificateStep&) { return true; };
      LEMMA_ASSIGN_OR_RETURN(found,
                             Advance(*prepared, {}, done.after, anywhere, &graph, &step, &where));
      if (found) {
        for (const PatternValue& output : rule->source.outputs) {
          const NodePtr& node = before.nodes()[step.nodes[output.node]];
          replaced.emplace_back(before.LabelOf(Value(node, output.index)));
        }
        repetition.Continue(graph);
      }
    }
    if (!found) {
      return absl::InternalError(absl::StrCat("step ", certificate.steps.size() + 1,
                                              " of the search (", done.where,
                                              ") cannot be repeated"));
    }
    if (used.insert(step.rule).second) certificate.rules.push_back(ForCertificate(*rule));
    certificate.steps.push_back(std::move(step));
    if (provenance == nullptr) continue;
    for (const std::string& label : replaced) {
      if (!label.empty()) provenance->made_by[label] = done.name;
    }
  }
  AddFolds(repetition.ToGraph(), once, &certificate, provenance);
  if (provenance != nullptr) provenance->places = repetition.PlacesIn(once);
  return certificate;
}

absl::StatusOr<ReplayedSteps> Replay(const Certificate& certificate, const Graph& input,
                                     absl::Span<const Substitution> rules) {
  if (input.StructuralHash() != certificate.input_graph) {
    return absl::InvalidArgumentError("the certificate is of another input");
  }
  Rules known(rules);
  for (const Substitution& rule : certificate.rules) {
    const Substitution* own = known.Find(rule.name);
    if (own == nullptr || PrintRule(ForCertificate(*own)) != PrintRule(rule)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the certificate's rule ", rule.name, " is none of the rules to be used"));
    }
  }
  ReplayedSteps result{input, {}};
  for (const CertificateStep& step : certificate.steps) {
    LEMMA_ASSIGN_OR_RETURN(const PreparedRule* prepared, known.Prepared(*known.Find(step.rule)));
    RewriteStep done;
    done.name = step.rule;
    done.before = result.graph.StructuralHash();
    done.after = step.after;
    CertificateStep found;
    auto same = [&](const CertificateStep& s) { return SameMatch(s, step); };
    LEMMA_ASSIGN_OR_RETURN(const bool applied, Advance(*prepared, step.nodes, step.after, same,
                                                       &result.graph, &found, &done.where));
    if (!applied) {
      return absl::InvalidArgumentError(absl::StrCat("step ", result.steps.size() + 1,
                                                     " of the certificate (", step.rule,
                                                     ") does not apply"));
    }
    for (const ValueAt& v : found.vars) done.vars.push_back({v.position, v.output});
    done.nodes = found.nodes;
    result.steps.push_back(std::move(done));
  }
  return result;
}

}  // namespace lemma::optimizer
