#include "verifier/certificate/check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "graph/barrier.h"
#include "graph/rebuild.h"
#include "graph/sizes/specialize.h"
#include "rewrite/rules/coverage.h"
#include "rewrite/rules/proof_check.h"
#include "verifier/certificate/compare.h"
#include "verifier/certificate/fold.h"
#include "verifier/certificate/mutant.h"
#include "verifier/certificate/refusal.h"
#include "verifier/certificate/same_graph.h"
#include "verifier/certificate/sizes_to_try.h"
#include "verifier/certificate/step.h"

namespace lemma {
namespace certificate {
namespace {

class Checker {
 public:
  Checker(const Certificate& certificate, const Graph& input, const Graph& output,
          const CertificateCheckOptions& options)
      : certificate_(certificate),
        input_(input),
        output_(output),
        options_(options),
        folder_(options.threads),
        weights_(&folder_),
        last_(input),
        outputs_({input.outputs()}) {}

  CertificateCheck Run() {
    const absl::Status status = All();
    if (!status.ok()) {
      result_.problem = std::string(status.message());
      if (result_.problem.empty()) result_.problem = "it cannot be checked";
    }
    return result_;
  }

 private:
  absl::Status All() {
    if (last_.StructuralHash() != certificate_.input_graph) {
      return Refused("the input is another graph than the certificate's");
    }
    LEMMA_RETURN_IF_ERROR(Rules());
    for (const CertificateStep& step : certificate_.steps) {
      ++result_.step;
      LEMMA_RETURN_IF_ERROR(Step(step));
    }
    result_.step = 0;
    LEMMA_RETURN_IF_ERROR(Folds());
    const bool nothing_done =
        certificate_.steps.empty() && certificate_.folds.empty() && certificate_.bodies.empty();
    if (nothing_done != (certificate_.result == Certificate::Result::kInput)) {
      return Refused(absl::StrCat("the result is not ", Name(certificate_.result)));
    }
    LEMMA_RETURN_IF_ERROR(Compare());
    result_.steps_in_double += in_bodies_.steps_in_double;
    result_.by_steps += in_bodies_.by_steps;
    if (certificate_.steps.empty()) result_.elements = in_bodies_.elements;
    result_.samples += in_bodies_.samples;
    return absl::OkStatus();
  }

  absl::Status Rules() {
    std::vector<std::string> used, listed;
    for (const CertificateStep& step : certificate_.steps) {
      if (std::find(used.begin(), used.end(), step.rule) == used.end()) used.push_back(step.rule);
    }
    for (const Substitution& rule : certificate_.rules) listed.push_back(rule.name);
    if (used != listed) return Refused("the rules are not those of the steps, in their order");
    auto next = listed.begin();
    for (const CertificateMutant& mutant : certificate_.mutants) {
      next = std::find(next, listed.end(), mutant.rule.name);
      if (next == listed.end()) return Refused("a mutant is of no rule, or not in their order");
      ++next;
    }
    for (const Substitution& rule : certificate_.rules) {
      // Reports the first step that uses the rule.
      for (size_t i = certificate_.steps.size(); i-- > 0;) {
        if (certificate_.steps[i].rule == rule.name) result_.step = static_cast<int>(i) + 1;
      }
      std::string problem = ProofProblem(rule);
      if (problem.empty()) problem = Disbelief(rule);
      if (!problem.empty()) return Refused(absl::StrCat("rule ", rule.name, ": ", problem));
      rules_[rule.name] = {&rule, std::make_unique<Coverage>(rule)};
    }
    result_.step = 0;
    return absl::OkStatus();
  }

  // Why the rule is not trusted. The claims about a mutant are computed; about other rules the
  // caller decides.
  std::string Disbelief(const Substitution& rule) {
    for (const CertificateMutant& mutant : certificate_.mutants) {
      if (mutant.rule.name != rule.name) continue;
      auto checked = CheckMutant(rule, mutant, options_.seed, options_.threads);
      if (!checked.ok()) return std::string(checked.status().message());
      result_.mutants.push_back(*checked);
      return "";
    }
    return options_.why_untrusted ? options_.why_untrusted(rule) : "";
  }

  absl::Status Step(const CertificateStep& step) {
    const auto& [rule, coverage] = rules_.at(step.rule);
    auto replaced = CheckMatch(*rule, step, last_, coverage.get(), &weights_);
    if (!replaced.ok()) return Refused(absl::StrCat(rule->name, ": ", replaced.status().message()));
    LEMMA_ASSIGN_OR_RETURN(last_, Replace(last_, replaced->outputs));
    if (last_.StructuralHash() != step.after) {
      return Refused(absl::StrCat(rule->name, " gives another graph than the certificate's"));
    }
    outputs_.push_back(last_.outputs());
    replaced_.push_back(*std::move(replaced));
    return absl::OkStatus();
  }

  absl::Status Folds() {
    Replacements constants;
    std::vector<Value> values;
    std::pair<int, int> before = {-1, 0};
    for (const CertificateFold& fold : certificate_.folds) {
      const std::pair<int, int> at = {fold.value.position, fold.value.output};
      const std::string name = absl::StrCat("fold of %", at.first, ".", at.second);
      if (at <= before) return Refused(name + ": it is not in order");
      before = at;
      LEMMA_ASSIGN_OR_RETURN(const Value value, Resolve(last_, fold.value));
      auto tensor = folder_.ValueOf(value);
      if (!tensor.ok()) return Refused(absl::StrCat(name, ": ", tensor.status().message()));
      const absl::string_view bytes(static_cast<const char*>(tensor->raw()),
                                    static_cast<size_t>(tensor->type().num_bytes()));
      if (tensor->type() != fold.type || Sha256Of(bytes) != fold.sha256) {
        return Refused(name + ": the reference evaluation gives other values");
      }
      constants.emplace_back(value, Value(Node::Constant(*std::move(tensor)), 0));
      values.push_back(value);
    }
    if (Reached(last_, values) != values.size()) return Refused("a fold is of no use");
    LEMMA_ASSIGN_OR_RETURN(Graph graph, Replace(last_, constants));
    FloatContract contract = ContractOf(certificate_.rules, values);
    LEMMA_RETURN_IF_ERROR(Bodies(&graph, &contract));
    if (contract != certificate_.contract) {
      return Refused(absl::StrCat("the float contract is not ", Name(certificate_.contract)));
    }
    return Output(graph);
  }

  // Replaces the bodies of loops. `contract` becomes the loosest contract.
  absl::Status Bodies(Graph* graph, FloatContract* contract) {
    ValueMap replaced;
    int before = -1;
    for (const CertificateBody& body : certificate_.bodies) {
      const std::string name = absl::StrCat("body of %", body.position);
      if (body.position <= before) return Refused(name + ": it is not in order");
      before = body.position;
      if (static_cast<size_t>(body.position) >= graph->nodes().size()) {
        return Refused(name + ": there is no such node");
      }
      const NodePtr& loop = graph->nodes()[static_cast<size_t>(body.position)];
      auto changed = Body(body, *loop, contract);
      if (!changed.ok()) return Refused(absl::StrCat(name, ": ", changed.status().message()));
      for (int i = 0; i < loop->num_outputs(); ++i) {
        replaced[Value(loop, i)] = (*changed)[static_cast<size_t>(i)];
      }
    }
    if (replaced.empty()) return absl::OkStatus();
    auto result = ReplaceValuesEverywhere(*graph, replaced);
    if (!result) return Refused("a body depends on its own loop");
    *graph = *std::move(result);
    return absl::OkStatus();
  }

  // The results of the loop with its new body, after the body's certificate was checked.
  absl::StatusOr<std::vector<Value>> Body(const CertificateBody& body, const Node& loop,
                                          FloatContract* contract) {
    if (!options_.loops) return Refused("bodies of loops are not known");
    const LoopReader& reader = *options_.loops;
    const std::optional<std::string> payload = reader.payload(loop);
    if (!payload) return Refused("the node is no loop");
    LEMMA_ASSIGN_OR_RETURN(const Certificate inner, ParseCertificate(body.certificate));
    if (Sha256Of(*payload) != inner.input_file)
      return Refused("the certificate is of another body");
    if (inner.result == Certificate::Result::kInput) return Refused("the body does not change");
    std::optional<std::string> next;
    for (const NodePtr& node : output_.nodes()) {
      std::optional<std::string> other = reader.payload(*node);
      if (other && Sha256Of(*other) == inner.output_file) next = std::move(other);
    }
    if (!next) return Refused("the output has no loop with the new body");
    std::vector<int> all(loop.inputs().size());
    std::iota(all.begin(), all.end(), 0);
    LEMMA_ASSIGN_OR_RETURN(const LoopIteration from,
                           reader.iteration(*payload, loop.inputs(), all));
    LEMMA_ASSIGN_OR_RETURN(const LoopIteration to,
                           reader.iteration(*next, loop.inputs(), body.reads));
    if (from.frame != to.frame) return Refused("more than the body changes");
    if (!inner.dims.empty() || inner.reseed || !inner.fixed_inputs.empty() ||
        inner.symbolic != InputDimsOf(from.graph)) {
      return Refused("the certificate is of other sizes, weights or inputs");
    }
    CertificateCheckOptions options = options_;
    options.as_written = from.as_written;
    const CertificateCheck checked = CheckCertificate(inner, from.graph, to.graph, options);
    if (!checked.ok()) {
      return Refused(absl::StrCat(checked.step > 0 ? absl::StrCat("step ", checked.step, ": ") : "",
                                  checked.problem));
    }
    result_.mutants.insert(result_.mutants.end(), checked.mutants.begin(), checked.mutants.end());
    in_bodies_.steps_in_double += checked.steps_in_double;
    in_bodies_.samples += checked.samples;
    in_bodies_.by_steps += checked.by_steps;
    in_bodies_.elements = std::max(in_bodies_.elements, checked.elements);
    result_.bodies += 1 + checked.bodies;
    *contract = std::max(*contract, inner.contract);
    return reader.apply(loop, *next, body.reads);
  }

  // Number of `values` that the outputs reach without passing through another one of them.
  static size_t Reached(const Graph& graph, const std::vector<Value>& values) {
    const absl::flat_hash_set<Value> stops(values.begin(), values.end());
    absl::flat_hash_set<Value> seen;
    absl::flat_hash_set<const Node*> entered;
    size_t reached = 0;
    std::vector<Value> pending = graph.outputs();
    while (!pending.empty()) {
      const Value v = pending.back();
      pending.pop_back();
      if (!seen.insert(v).second) continue;
      if (stops.contains(v)) {
        ++reached;
      } else if (entered.insert(&v.node()).second) {
        pending.insert(pending.end(), v.node().inputs().begin(), v.node().inputs().end());
      }
    }
    return reached;
  }

  absl::Status Output(const Graph& folded) const {
    // Removing barriers merges values that were computed twice.
    const Graph final = WithoutBarriers(folded);
    const Graph output = WithoutBarriers(output_);
    if (final.StructuralHash() != certificate_.output_graph) {
      return Refused("folding gives another graph than the certificate's");
    }
    std::string difference = Difference(final, output);
    if (!difference.empty() && options_.as_written) {
      // With its barriers: they keep operators of which only the sizes of results are used.
      LEMMA_ASSIGN_OR_RETURN(const Graph written, options_.as_written(folded));
      difference = Difference(WithoutBarriers(written), output);
    }
    if (difference.empty()) return absl::OkStatus();
    return Refused(absl::StrCat("the output is not the graph of the last step: ", difference));
  }

  // Compares the input and the graph before folding on random inputs; symbolic ones at their least
  // sizes and at random ones.
  absl::Status Compare() {
    if (certificate_.steps.empty()) return absl::OkStatus();  // the same graph
    const std::map<std::string, SizeRange> dims = DimsOf(input_);
    if (dims.empty()) return CompareNumbers();
    const std::vector<std::vector<Value>> outputs = outputs_;
    const std::vector<Replaced> replaced = replaced_;
    for (int choice = 0; choice < kChoicesOfSizes; ++choice) {
      if (choice >= kSmallChoices && result_.samples > 0) break;
      const DimValues values = SizesToTry(dims, options_.seed, choice);
      absl::Status status = Specialize(outputs, replaced, values);
      if (absl::IsInvalidArgument(status)) continue;
      if (status.ok()) status = CompareNumbers();
      if (!status.ok()) return status;
    }
    if (result_.samples == 0 && options_.samples > 0) {
      return Refused("the model takes none of the sizes that were tried");
    }
    return absl::OkStatus();
  }

  // Makes the outputs and the steps those for given sizes.
  absl::Status Specialize(const std::vector<std::vector<Value>>& outputs,
                          const std::vector<Replaced>& replaced, const DimValues& values) {
    Specializer specializer(values);
    LEMMA_RETURN_IF_ERROR(specializer.Of(input_).status());  // unused inputs too
    auto change = [&](Value* value) -> absl::Status {
      LEMMA_ASSIGN_OR_RETURN(NodePtr node, specializer.Of(value->node_ptr()));
      *value = Value(std::move(node), value->output());
      return absl::OkStatus();
    };
    outputs_ = outputs;
    for (std::vector<Value>& graph : outputs_) {
      for (Value& v : graph) LEMMA_RETURN_IF_ERROR(change(&v));
    }
    replaced_ = replaced;
    for (Replaced& step : replaced_) {
      for (Value& v : step.vars) LEMMA_RETURN_IF_ERROR(change(&v));
      for (Value& v : step.constants) LEMMA_RETURN_IF_ERROR(change(&v));
      for (auto& [from, to] : step.outputs) {
        LEMMA_RETURN_IF_ERROR(change(&from));
        LEMMA_RETURN_IF_ERROR(change(&to));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CompareNumbers() {
    RandomValues random;
    random.threads = options_.threads;
    for (const Replaced& step : replaced_) {
      for (const Value& v : step.constants) random.kept.insert(&v.node());
    }
    for (int sample = 0; sample < options_.samples; ++sample) {
      random.seed = options_.seed + static_cast<uint64_t>(sample);
      auto agree = AgreeInField(outputs_.front(), outputs_.back(), {}, random);
      if (absl::IsOutOfRange(agree.status())) {
        LEMMA_RETURN_IF_ERROR(CompareSteps(random));
        ++result_.by_steps;
      } else if (!agree.ok()) {
        return agree.status();
      } else if (!*agree) {
        LEMMA_RETURN_IF_ERROR(Explain(random));
      }
      ++result_.samples;
    }
    result_.elements = 0;
    for (const Value& v : outputs_[0]) result_.elements += v.type().num_elements();
    return absl::OkStatus();
  }

  // For graphs that compute an index by a function, such as log: in the field its value is
  // arbitrary, and so is the index.
  absl::Status CompareSteps(const RandomValues& random) {
    int64_t laws = 0;
    for (size_t i = 0; i < replaced_.size(); ++i) {
      LEMMA_ASSIGN_OR_RETURN(const bool holds, Holds(i, random));
      if (!holds) ++laws;
    }
    result_.step = 0;
    result_.steps_in_double = std::max(result_.steps_in_double, laws);
    return absl::OkStatus();
  }

  // Finds the wrong step, or else the steps whose laws the field does not have. The graphs between
  // such steps must agree.
  absl::Status Explain(const RandomValues& random) {
    std::vector<size_t> laws;
    for (size_t i = 0; i < replaced_.size(); ++i) {
      LEMMA_ASSIGN_OR_RETURN(const bool holds, Holds(i, random));
      if (!holds) laws.push_back(i);
    }
    result_.step = 0;
    result_.steps_in_double = std::max(result_.steps_in_double, static_cast<int64_t>(laws.size()));
    size_t from = 0;
    laws.push_back(replaced_.size());
    for (size_t to : laws) {
      LEMMA_ASSIGN_OR_RETURN(const bool agree,
                             AgreeInField(outputs_[from], outputs_[to], {}, random));
      if (!agree) {
        return Refused(absl::StrCat("the graphs before step ", from + 1, " and after step ", to,
                                    " differ in the field"));
      }
      from = to + 1;
    }
    return absl::OkStatus();
  }

  // Whether step `i` by itself holds in the field. FailedPrecondition if it does not hold
  // in double either.
  absl::StatusOr<bool> Holds(size_t i, const RandomValues& random) {
    result_.step = static_cast<int>(i) + 1;
    std::vector<Value> source, target;
    for (const auto& [from, to] : replaced_[i].outputs) {
      source.push_back(from);
      target.push_back(to);
    }
    const auto in_field = AgreeInField(source, target, replaced_[i].vars, random);
    const bool has_index = absl::IsOutOfRange(in_field.status());
    if (!in_field.ok() && !has_index) return in_field.status();
    if (!has_index && *in_field) return true;
    const Substitution& rule = *rules_.at(certificate_.steps[i].rule).first;
    // A rule that only moves data holds in every field.
    bool in_double = has_index || rule.contract != FloatContract::kBitExact;
    if (in_double) {
      LEMMA_ASSIGN_OR_RETURN(in_double, AgreeInDouble(source, target, replaced_[i].vars, random));
    }
    if (!in_double) return Refused(rule.name + ": source and target differ on random values");
    return false;
  }

  const Certificate& certificate_;
  const Graph &input_, &output_;
  const CertificateCheckOptions& options_;
  std::map<std::string, std::pair<const Substitution*, std::unique_ptr<Coverage>>> rules_;
  Folder folder_;
  FiniteWeights weights_;
  Graph last_;                               // after the last step that was checked
  std::vector<std::vector<Value>> outputs_;  // the input's, then those after each step
  std::vector<Replaced> replaced_;
  CertificateCheck result_;
  CertificateCheck in_bodies_;  // sums over the certificates of bodies
};

}  // namespace
}  // namespace certificate

CertificateCheck CheckCertificate(const Certificate& certificate, const Graph& input,
                                  const Graph& output, const CertificateCheckOptions& options) {
  return certificate::Checker(certificate, input, output, options).Run();
}

}  // namespace lemma
