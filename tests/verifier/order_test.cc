// Verdicts do not depend on the order in which a rule states things, nor on its names.
#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

#include "gtest/gtest.h"
#include "rewrite/rules/rule_text.h"
#include "tests/verifier/prover_testutil.h"

namespace lemma {
namespace {

// The nodes in another order, operands still before users.
void ShuffleNodes(Pattern* pattern, std::mt19937_64* random) {
  std::vector<int> place(pattern->nodes.size(), -1);
  std::vector<PatternNode> nodes;
  while (nodes.size() < place.size()) {
    std::vector<size_t> ready;
    for (size_t n = 0; n < place.size(); ++n) {
      const auto& inputs = pattern->nodes[n].inputs;
      const bool is_ready = std::all_of(inputs.begin(), inputs.end(), [&](const PatternValue& v) {
        return v.is_var() || place[v.node] >= 0;
      });
      if (place[n] < 0 && is_ready) ready.push_back(n);
    }
    const size_t n = ready[(*random)() % ready.size()];
    place[n] = static_cast<int>(nodes.size());
    nodes.push_back(pattern->nodes[n]);
  }
  auto move = [&](PatternValue* v) {
    if (!v->is_var()) v->node = place[v->node];
  };
  for (PatternNode& node : nodes) {
    for (PatternValue& v : node.inputs) move(&v);
    if (node.op != nullptr && node.op->commutative && (*random)() % 2 == 0) {
      std::swap(node.inputs[0], node.inputs[1]);
    }
  }
  for (PatternValue& v : pattern->outputs) move(&v);
  pattern->nodes = std::move(nodes);
}

// Outputs, variables and nodes in another order; symbols are numbered in order of occurrence.
Substitution Shuffled(const Substitution& rule, std::mt19937_64* random) {
  Substitution result = rule;
  std::vector<int> order(rule.vars.size()), place(rule.vars.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::shuffle(order.begin(), order.end(), *random);
  for (size_t i = 0; i < order.size(); ++i) {
    result.vars[i] = rule.vars[order[i]];
    place[order[i]] = static_cast<int>(i);
  }
  std::vector<size_t> outputs(rule.source.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = i;
  std::shuffle(outputs.begin(), outputs.end(), *random);
  std::shuffle(result.where.begin(), result.where.end(), *random);
  for (auto side : {&Substitution::source, &Substitution::target}) {
    Pattern& pattern = result.*side;
    for (size_t i = 0; i < outputs.size(); ++i) {
      pattern.outputs[i] = (rule.*side).outputs[outputs[i]];
    }
    auto rename = [&](PatternValue* v) {
      if (v->is_var()) v->index = place[v->index];
    };
    for (PatternNode& node : pattern.nodes) {
      for (PatternValue& v : node.inputs) rename(&v);
    }
    for (PatternValue& v : pattern.outputs) rename(&v);
    ShuffleNodes(&pattern, random);
  }
  return Rules(PrintRule(result)).at(0);
}

TEST(Order, DoesNotMatter) {
  std::ifstream file("tests/verifier/identities.txt");
  std::stringstream text;
  text << file.rdbuf();
  const uint64_t seed = 20261121;
  std::mt19937_64 random(seed);
  for (const Substitution& rule : Rules(text.str())) {
    const Verdict expected = ProveRule(rule);
    ASSERT_TRUE(IsProved(expected)) << rule.name;
    for (int round = 0; round < 2; ++round) {
      const Substitution shuffled = Shuffled(rule, &random);
      const Verdict verdict = ProveRule(shuffled);
      ASSERT_TRUE(IsProved(verdict)) << "seed " << seed << "\n"
                                     << PrintRule(shuffled) << ToString(verdict);
      EXPECT_EQ(std::get<Proved>(verdict).contract, std::get<Proved>(expected).contract)
          << PrintRule(shuffled);
    }
  }
}

}  // namespace
}  // namespace lemma
