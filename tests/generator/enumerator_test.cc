#include "generator/enumeration/enumerator.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_join.h"
#include "generator/sets/taso_set.h"
#include "generator/sets/terms.h"
#include "gtest/gtest.h"

namespace lemma::generator {
namespace {

std::unique_ptr<OperatorSet> SetOf(const std::vector<std::string>& names) {
  auto set = TasoSet(names);
  EXPECT_TRUE(set.ok()) << set.status();
  return *std::move(set);
}

EnumeratorOptions Ops(int max_ops) {
  EnumeratorOptions options;
  options.max_ops = max_ops;
  return options;
}

// A text that identifies the graph up to what Normalized undoes.
std::string KeyOf(const OperatorSet& set, const NumberedGraph& graph) {
  return ToString(set, Normalized(set, graph).value());
}

// Graphs without reference to the order of their operators: the terms of all their values, sorted.
std::string TermsOf(const OperatorSet& set, const NumberedGraph& graph) {
  std::set<std::string> terms;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    NumberedGraph one = graph;
    one.outputs = {OutputValue(static_cast<int>(i), 0)};
    terms.insert(KeyOf(set, one));
  }
  std::string text;
  for (const std::string& term : terms) text += term + "|";
  return text;
}

// Whether inputs of a group are used in order, from the first on.
bool UsesFirstNames(const OperatorSet& set, const NumberedGraph& graph) {
  std::set<int> used;
  for (const NumberedOp& term : graph.ops) {
    for (int v : term.operands) {
      if (v < 0) used.insert(-1 - v);
    }
  }
  return std::all_of(used.begin(), used.end(), [&](int i) {
    return i == 0 || set.inputs()[i].group != set.inputs()[i - 1].group || used.count(i - 1) > 0;
  });
}

// Every graph by brute force: operators are applied in every order to all values. If `drop` is set,
// terms equal to a value that they depend on are dropped, as the enumerator drops them.
class BruteForce {
 public:
  BruteForce(OperatorSet* set, int max_ops, std::set<std::string> drop)
      : set_(set), max_ops_(max_ops), drop_(std::move(drop)) {}

  std::set<std::string> Run() {
    Extend({}, {});
    return found_;
  }

 private:
  void Extend(const NumberedGraph& graph, const std::vector<int>& types) {
    if (!graph.ops.empty()) {
      if (!seen_.insert(TermsOf(*set_, graph)).second) return;
      if (UsesFirstNames(*set_, graph)) found_.insert(TermsOf(*set_, graph));
    }
    if (static_cast<int>(graph.ops.size()) == max_ops_) return;
    std::vector<int> values;
    for (int i = 0; i < static_cast<int>(set_->inputs().size()); ++i) values.push_back(-1 - i);
    for (int i = 0; i < static_cast<int>(graph.ops.size()); ++i) {
      const int outputs = set_->variants()[graph.ops[i].variant].num_outputs;
      for (int o = 0; o < outputs; ++o) values.push_back(OutputValue(i, o));
    }
    for (int variant = 0; variant < static_cast<int>(set_->variants().size()); ++variant) {
      switch (set_->variants()[variant].num_operands) {
        case 0:
          Add(graph, types, {variant, {}});
          break;
        case 1:
          for (int a : values) Add(graph, types, {variant, {a}});
          break;
        default:
          for (int a : values) {
            for (int b : values) Add(graph, types, {variant, {a, b}});
          }
      }
    }
  }

  void Add(NumberedGraph graph, std::vector<int> types, const NumberedOp& term) {
    if (set_->variants()[term.variant].distinct && term.operands[0] == term.operands[1]) return;
    std::vector<int> operands;
    for (int v : term.operands) operands.push_back(v < 0 ? set_->inputs()[-1 - v].type : types[v]);
    auto key = std::make_pair(term.variant, operands);
    auto it = applied_.find(key);
    if (it == applied_.end()) {
      auto applied = set_->Apply(term.variant, operands);
      it = applied_.emplace(key, applied.ok() ? applied->types : std::vector<int>()).first;
    }
    if (it->second.empty()) return;
    graph.ops.push_back(term);
    NumberedGraph alone = graph;
    const int op = static_cast<int>(graph.ops.size()) - 1;
    alone.outputs = {OutputValue(op, 0)};
    if (drop_.count(KeyOf(*set_, alone)) > 0) return;
    // Two equal terms count as one.
    for (int i = 0; i < op; ++i) {
      NumberedGraph other = graph;
      other.outputs = {OutputValue(i, 0)};
      if (KeyOf(*set_, other) == KeyOf(*set_, alone)) return;
    }
    types.resize(graph.ops.size() * kMostOutputs, -1);
    for (size_t o = 0; o < it->second.size(); ++o) {
      types[OutputValue(op, static_cast<int>(o))] = it->second[o];
    }
    Extend(graph, types);
  }

  OperatorSet* set_;
  const int max_ops_;
  const std::set<std::string> drop_;
  std::map<std::pair<int, std::vector<int>>, std::vector<int>> applied_;
  std::set<std::string> seen_, found_;
};

// The pruned terms under all names of inputs.
std::set<std::string> Pruned(const OperatorSet& set, const Enumerator& enumerator) {
  std::set<std::string> keys;
  const int n = static_cast<int>(set.inputs().size());
  for (const Pair& pair : enumerator.identities()) {
    // All maps of inputs to inputs of their groups.
    std::vector<NumberedGraph> named = {pair.source};
    for (int input = 0; input < n; ++input) {
      std::vector<NumberedGraph> more;
      for (const NumberedGraph& graph : named) {
        for (int other = 0; other < n; ++other) {
          if (set.inputs()[other].group != set.inputs()[input].group) continue;
          NumberedGraph renamed = graph;
          bool used = false;
          for (size_t i = 0; i < renamed.ops.size(); ++i) {
            for (size_t k = 0; k < renamed.ops[i].operands.size(); ++k) {
              if (pair.source.ops[i].operands[k] != InputValue(input)) continue;
              renamed.ops[i].operands[k] = InputValue(other);
              used = true;
            }
          }
          if (used || other == input) more.push_back(renamed);
        }
      }
      named = std::move(more);
    }
    for (NumberedGraph& graph : named) {
      graph.outputs = {OutputValue(static_cast<int>(graph.ops.size()) - 1, 0)};
      keys.insert(KeyOf(set, graph));
    }
  }
  return keys;
}

void ExpectSameAsBruteForce(const std::vector<std::string>& names, int max_ops) {
  auto set = SetOf(names);
  Enumerator enumerator(set.get(), Ops(max_ops));
  ASSERT_TRUE(enumerator.Run().ok());
  std::set<std::string> found;
  int64_t count = 0;
  ASSERT_TRUE(enumerator
                  .ForEachGraph([&](const NumberedGraph& graph) {
                    found.insert(TermsOf(*set, graph));
                    ++count;
                  })
                  .ok());
  EXPECT_EQ(count, enumerator.stats().graphs);
  EXPECT_EQ(found.size(), static_cast<size_t>(count)) << "a graph was enumerated twice";
  std::set<std::string> drop;
  for (const std::string& key : Pruned(*set, enumerator)) {
    drop.insert(key);
  }
  const std::set<std::string> expected = BruteForce(set.get(), max_ops, drop).Run();
  EXPECT_EQ(found.size(), expected.size());
  EXPECT_EQ(found, expected);
}

TEST(EnumeratorTest, EveryGraphOnce) {
  ExpectSameAsBruteForce({"matmul", "transpose"}, 2);
  ExpectSameAsBruteForce({"concat0_2d", "split0"}, 2);
  ExpectSameAsBruteForce({"add", "one"}, 2);
  ExpectSameAsBruteForce({"transpose", "identity_matrix"}, 3);
  ExpectSameAsBruteForce({"relu", "enlarge3x3"}, 3);
}

TEST(EnumeratorTest, SeveralOutputsAreOneGraph) {
  auto set = SetOf({"matmul"});
  Enumerator enumerator(set.get(), Ops(2));
  ASSERT_TRUE(enumerator.Run().ok());
  int siblings = 0;
  ASSERT_TRUE(enumerator
                  .ForEachGraph([&](const NumberedGraph& graph) {
                    siblings += ToString(*set, graph) == "matmul(x1, m1), matmul(x1, m2)" ||
                                        ToString(*set, graph) == "matmul(x1, m2), matmul(x1, m1)"
                                    ? 1
                                    : 0;
                  })
                  .ok());
  EXPECT_EQ(siblings, 1);
}

TEST(EnumeratorTest, IdentitiesAreSaidBeforeTheyArePruned) {
  auto set = SetOf({"relu", "transpose", "matmul", "identity_matrix", "split1", "concat1_2d",
                    "conv3x3", "identity_kernel"});
  Enumerator enumerator(set.get(), Ops(2));
  ASSERT_TRUE(enumerator.Run().ok());
  std::set<std::string> said;
  for (const Pair& pair : enumerator.identities()) said.insert(ToString(*set, pair));
  for (const char* identity :
       {"relu(relu(x1)) => relu(x1)", "transpose(transpose(m1)) => m1",
        "matmul(x1, identity_matrix) => x1", "matmul(identity_matrix, m1) => m1",
        "conv3x3(y1, identity_kernel) => y1",
        "split1(concat1_2d(x1, x2)).0, split1(concat1_2d(x1, x2)).1 => x1, x2"}) {
    EXPECT_EQ(said.count(identity), 1u) << identity;
  }
  // relu(s) = s for one sign of the scalar only.
  EXPECT_EQ(said.count("relu(s) => s"), 0u);
}

// The result of an enumeration, in its order.
struct Found {
  EnumeratorStats stats;
  std::vector<std::string> classes, identities;
};
Found FoundBy(const EnumeratorOptions& options) {
  auto set = SetOf({"matmul", "add", "concat1_2d", "split1", "transpose"});
  Enumerator enumerator(set.get(), options);
  const absl::Status status = enumerator.Run();
  EXPECT_TRUE(status.ok()) << status;
  Found found;
  found.stats = enumerator.stats();
  for (const Pair& pair : enumerator.identities()) {
    found.identities.push_back(ToString(*set, pair));
  }
  auto classes = enumerator.Classes();
  EXPECT_TRUE(classes.ok()) << classes.status();
  if (!classes.ok()) return found;
  for (const Enumerator::Class& one : *classes) {
    std::string& text = found.classes.emplace_back();
    for (const NumberedGraph& graph : one.members) text += ToString(*set, graph) + " = ";
  }
  return found;
}

// With classes of decomposable graphs, and without.
class SharedOutTest : public testing::TestWithParam<bool> {
 protected:
  static EnumeratorOptions Options() {
    EnumeratorOptions options = Ops(3);
    options.max_ops_of_decomposable = GetParam() ? 3 : 2;
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Divisible, SharedOutTest, testing::Bool());

TEST_P(SharedOutTest, ThreadsAndMemoryDoNotChangeTheClasses) {
  const Found whole = FoundBy(Options());
  EXPECT_GT(whole.classes.size(), 100u);
  EXPECT_EQ(whole.stats.classes, static_cast<int64_t>(whole.classes.size()));
  EXPECT_EQ(whole.stats.shares, 1);
  EnumeratorOptions threads = Options(), memory = Options();
  threads.threads = 3;
  memory.max_memory = whole.stats.terms_memory + 6 * whole.stats.colliding_graphs;
  memory.threads = 2;
  for (const EnumeratorOptions& options : {threads, memory}) {
    const Found found = FoundBy(options);
    EXPECT_EQ(found.classes, whole.classes);
    EXPECT_EQ(found.stats.graphs, whole.stats.graphs);
    EXPECT_EQ(found.stats.members, whole.stats.members);
    EXPECT_EQ(found.stats.colliding_graphs, whole.stats.colliding_graphs);
    EXPECT_EQ(found.stats.shares > 3, options.max_memory == memory.max_memory);
  }
}

TEST_P(SharedOutTest, ShardsTogetherAreTheWhole) {
  const Found whole = FoundBy(Options());
  std::vector<std::string> classes;
  std::multiset<std::string> identities;
  int64_t colliding_graphs = 0;
  EnumeratorOptions options = Options();
  options.num_shards = 3;
  for (options.shard = 0; options.shard < options.num_shards; ++options.shard) {
    // The last shard also gets little memory.
    if (options.shard == 2) {
      options.max_memory = whole.stats.terms_memory + 6 * whole.stats.colliding_graphs;
    }
    const Found part = FoundBy(options);
    EXPECT_LT(part.classes.size(), whole.classes.size() / 2);
    colliding_graphs += part.stats.colliding_graphs;
    classes.insert(classes.end(), part.classes.begin(), part.classes.end());
    identities.insert(part.identities.begin(), part.identities.end());
  }
  EXPECT_EQ(classes, whole.classes);
  EXPECT_EQ(colliding_graphs, whole.stats.colliding_graphs);
  EXPECT_EQ(identities,
            std::multiset<std::string>(whole.identities.begin(), whole.identities.end()));
}

// A key of all elements of the value.
uint64_t ValueKey(Evaluator* evaluator, const NumberedGraph& graph, int value) {
  NumberedGraph one = graph;
  one.outputs = {value};
  return evaluator->ExactKey(one).value();
}

// Compares the enumerated classes with brute force. A class holds the graphs with equal outputs,
// each output equal to another term. With decomposable graphs left out, a class whose graphs all
// have several outputs and no operator of two is left out too.
void ExpectClassesOfAllGraphs(const std::vector<std::string>& names, bool divide, size_t least) {
  auto set = SetOf(names);
  EnumeratorOptions options = Ops(3);
  options.max_ops_of_decomposable = divide ? 2 : 3;
  Enumerator enumerator(set.get(), options);
  ASSERT_TRUE(enumerator.Run().ok());
  Evaluator& evaluator = enumerator.evaluator();
  std::map<uint64_t, std::set<std::string>> terms;  // by value
  struct Group {
    std::set<std::string> graphs;
    std::vector<uint64_t> outputs;
    bool decomposable = true;
  };
  std::map<std::vector<uint64_t>, Group> groups;
  ASSERT_TRUE(enumerator
                  .ForEachGraph([&](const NumberedGraph& graph) {
                    std::vector<uint64_t> outputs;
                    for (int v : graph.outputs) outputs.push_back(ValueKey(&evaluator, graph, v));
                    std::sort(outputs.begin(), outputs.end());
                    Group& group = groups[outputs];
                    group.graphs.insert(ToString(*set, graph));
                    if (outputs.size() == 1) group.decomposable = false;
                    for (size_t i = 0; i < graph.ops.size(); ++i) {
                      const int num_outputs = set->variants()[graph.ops[i].variant].num_outputs;
                      if (num_outputs > 1) group.decomposable = false;
                      for (int o = 0; o < num_outputs; ++o) {
                        NumberedGraph one = graph;
                        one.outputs = {OutputValue(static_cast<int>(i), o)};
                        terms[ValueKey(&evaluator, graph, one.outputs[0])].insert(KeyOf(*set, one));
                      }
                    }
                  })
                  .ok());
  std::set<std::set<std::string>> expected, found;
  size_t several = 0;
  for (const auto& [outputs, group] : groups) {
    const bool colliding = std::all_of(outputs.begin(), outputs.end(),
                                       [&](uint64_t key) { return terms[key].size() > 1; });
    if (!colliding || (divide && group.decomposable) || group.graphs.size() < 2) continue;
    several += outputs.size() > 1;
    expected.insert(group.graphs);
  }
  ASSERT_TRUE(enumerator
                  .ForEachClass([&](absl::Span<const CompactGraph> members) {
                    std::set<std::string> texts;
                    for (const CompactGraph& member : members) {
                      texts.insert(ToString(*set, Expanded(member)));
                    }
                    found.insert(texts);
                    return absl::OkStatus();
                  })
                  .ok());
  for (const auto& graphs : expected) {
    EXPECT_EQ(found.erase(graphs), 1u) << "not found: " << absl::StrJoin(graphs, " = ");
  }
  for (const auto& graphs : found) ADD_FAILURE() << "too much: " << absl::StrJoin(graphs, " = ");
  EXPECT_GE(several, least);
}

TEST(EnumeratorTest, ClassesHoldAllEqualGraphs) {
  ExpectClassesOfAllGraphs({"matmul", "add", "transpose"}, false, 1);
  ExpectClassesOfAllGraphs({"matmul", "concat1_2d", "split1", "transpose"}, true, 2);
  ExpectClassesOfAllGraphs({"transpose", "concat0_2d", "split1"}, true, 1);
}

// Pooling twice takes the maximum of 25 elements, one of which is almost always positive.
TEST(EnumeratorTest, WhatHoldsOfMostInputsOnlyIsNoIdentity) {
  auto set = SetOf({"relu", "max_pool3x3"});
  Enumerator enumerator(set.get(), Ops(3));
  ASSERT_TRUE(enumerator.Run().ok());
  std::set<std::string> said;
  for (const Pair& pair : enumerator.identities()) said.insert(ToString(*set, pair));
  EXPECT_EQ(said.count("relu(max_pool3x3(relu(y1))) => max_pool3x3(relu(y1))"), 1u);
  EXPECT_EQ(said.count("relu(max_pool3x3(max_pool3x3(y1))) => max_pool3x3(max_pool3x3(y1))"), 0u);
}

TEST(EnumeratorTest, CompactFormIsExact) {
  const NumberedGraph graph = {{{7, {}}, {200, {InputValue(19)}}, {3, {OutputValue(1, 1), 0}}},
                               {OutputValue(2, 0), OutputValue(1, 0)}};
  const NumberedGraph back = Expanded(Compacted(graph));
  EXPECT_EQ(back.ops, graph.ops);
  EXPECT_EQ(back.outputs, graph.outputs);
}

TEST(EnumeratorTest, TooMuchIsAnError) {
  auto set = SetOf({"matmul", "add"});
  auto code = [&](const EnumeratorOptions& options) {
    return Enumerator(set.get(), options).Run().code();
  };
  EnumeratorOptions options = Ops(2);
  options.max_memory = 1000;
  EXPECT_EQ(code(options), absl::StatusCode::kResourceExhausted);
  options = Ops(2);
  options.shard = options.num_shards = 2;
  EXPECT_EQ(code(options), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Ops(kMostOps + 1)), absl::StatusCode::kInvalidArgument);
  std::atomic<bool> interrupted = true;
  options = Ops(4);
  options.interrupted = &interrupted;
  EXPECT_EQ(code(options), absl::StatusCode::kCancelled);
}

TEST(TasoSetTest, VariantsAndInputs) {
  auto set = SetOf({});
  EXPECT_EQ(set->variants().size(), 25u);
  EXPECT_EQ(set->inputs().size(), 20u);
  Enumerator enumerator(set.get(), Ops(2));
  ASSERT_TRUE(enumerator.Run().ok());
  std::set<std::string> graphs;
  ASSERT_TRUE(
      enumerator.ForEachGraph([&](const NumberedGraph& g) { graphs.insert(ToString(*set, g)); })
          .ok());
  for (const char* there : {"conv3x3(y1, w1)", "conv1x3(relu(u1), u1)", "enlarge3x3(v1)",
                            "concat0_4d(y2, y1)", "concat1_4d(w1, k)", "avg_pool3x3(k)"}) {
    EXPECT_EQ(graphs.count(there), 1u) << there;
  }
  // As in TASO's generator: kernels that are inputs are not convolved, only kernels are enlarged,
  // sums and products have two different operands, and no value has more than 512 elements.
  for (const char* not_there : {"conv1x3(u1, u2)", "enlarge3x3(relu(v1))", "add(y1, y1)",
                                "concat0_4d(y1, y1)", "concat0_4d(concat0_4d(y1, y2), y3)"}) {
    EXPECT_EQ(graphs.count(not_there), 0u) << not_there;
  }
  EXPECT_EQ(TasoSet({"matmul", "nosuch"}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace lemma::generator
