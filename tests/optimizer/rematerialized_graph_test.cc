#include "optimizer/memory/rematerialized_graph.h"

#include <string>

#include "absl/strings/string_view.h"
#include "graph/barrier.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma::optimizer {
namespace {

class RematerializedGraphTest : public testing::Test {
 protected:
  RematerializedGraphTest() {
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      const NodePtr& node = graph_.nodes()[n];
      position_[node.get()] = static_cast<int>(n);
      is_static_.push_back(false);
    }
  }

  std::string With(const std::vector<Recomputation>& list) const {
    auto copied = WithCopies(graph_, position_, is_static_, list);
    if (!copied) return "contradiction";
    EXPECT_EQ(WithoutBarriers(copied->graph).StructuralHash(), graph_.StructuralHash());
    return PrintGraph(copied->graph);
  }
  static std::string Text(absl::string_view body) {
    return PrintGraph(GraphWithWeights(std::string(body)));
  }

  enum { x, a, b, c, d, e };  // positions in nodes()
  const Graph graph_ = GraphWithWeights(R"(graph g(x: f32[4]) {
    a = tanh(x)
    b = sin(a)
    c = mul(b, a)
    d = mul(c, a)
    e = mul(d, a)
    return e
  })");
  absl::flat_hash_map<const Node*, int> position_;
  std::vector<bool> is_static_;
};

TEST_F(RematerializedGraphTest, WhatIsFetchedIsOffloadedOnce) {
  Recomputation second{{a}, {{a, {d, 0}}}, {}, {b, 0}}, third{{a}, {{a, {e, 0}}}, {}, {c, 0}};
  second.fetched = third.fetched = a;
  const std::string both = R"(graph g(x: f32[4]) {
    a = tanh(x)
    b = sin(a)
    c = mul(b, a)
    h = offload(a)
    a2 = barrier(h, b)
    d = mul(c, a2)
    a3 = barrier(h, c)
    e = mul(d, a3)
    return e
  })";
  EXPECT_EQ(With({second, third}), Text(both));
  third.operands[a] = 1;  // what was brought back, offloaded again
  EXPECT_EQ(With({second, third}), Text(R"(graph g(x: f32[4]) {
    a = tanh(x)
    b = sin(a)
    c = mul(b, a)
    h = offload(a)
    a2 = barrier(h, b)
    d = mul(c, a2)
    h2 = offload(a2)
    a3 = barrier(h2, c)
    e = mul(d, a3)
    return e
  })"));
  EXPECT_EQ(With({Recomputation(), third}), Text(R"(graph g(x: f32[4]) {
    a = tanh(x)
    b = sin(a)
    c = mul(b, a)
    d = mul(c, a)
    h = offload(a)
    a3 = barrier(h, c)
    e = mul(d, a3)
    return e
  })"));
}

TEST_F(RematerializedGraphTest, WhatIsFetchedIsReadByRecomputations) {
  Recomputation second{{a}, {{a, {c, 2}}}, {}, {b, 0}};
  second.fetched = a;
  const Recomputation third{{c}, {{c, {d, 0}}}, {}, {b, 0}};
  EXPECT_EQ(With({second, third}), Text(R"(graph g(x: f32[4]) {
    a = tanh(x)
    b = sin(a)
    b2 = barrier(b, b)
    h = offload(a)
    a2 = barrier(h, b)
    a3 = barrier(a2, b)
    c = mul(b2, a3)
    d = mul(c, a)
    e = mul(d, a)
    return e
  })"));
}

TEST_F(RematerializedGraphTest, WhatIsFetchedIsNotJoined) {
  Recomputation second{{a}, {{a, {d, 0}}}, {}, {b, 0}};
  second.fetched = a;
  const Recomputation third{{a}, {{a, {e, 0}}}, {}, {c, 0}};
  const std::vector<Recomputation> list = Joined({second}, third, {1});
  ASSERT_EQ(list.size(), 2);
  EXPECT_EQ(list[0].fetched, a);
  EXPECT_EQ(list[1].nodes, std::set<int>{a});
  EXPECT_EQ(list[1].fetched, -1);
}

TEST_F(RematerializedGraphTest, EachCopyHasItsBarrier) {
  const Recomputation second{{a}, {{a, {d, 0}}}, {}, {b, 0}};
  const Recomputation third{{a}, {{a, {e, 0}}}, {}, {c, 0}};
  EXPECT_EQ(With({second, third}), Text(R"(graph g(x: f32[4]) {
    a = tanh(x)
    b = sin(a)
    c = mul(b, a)
    x2 = barrier(x, b)
    a2 = tanh(x2)
    d = mul(c, a2)
    x3 = barrier(x, c)
    a3 = tanh(x3)
    e = mul(d, a3)
    return e
  })"));
}

TEST_F(RematerializedGraphTest, ACopyMayReadACopy) {
  const Recomputation second{{a}, {{a, {d, 0}}}, {}, {c, 0}};
  Recomputation of_b{{b}, {{b, {c, 0}}}, {{a, 1}}, {b, 0}};
  EXPECT_EQ(With({second, of_b}), "contradiction") << "c reads b, which reads what comes after c";
  Recomputation of_c{{c}, {{c, {d, 0}}}, {{a, 1}}, {c, 0}};
  EXPECT_EQ(With({{{a}, {{a, {d, 0}}}, {}, {b, 0}}, of_c}), Text(R"(graph g(x: f32[4]) {
    a = tanh(x)
    b = sin(a)
    c = mul(b, a)
    x2 = barrier(x, b)
    a2 = tanh(x2)
    b2 = barrier(b, c)
    a3 = barrier(a2, c)
    c2 = mul(b2, a3)
    d = mul(c2, a2)
    e = mul(d, a)
    return e
  })"));
}

TEST_F(RematerializedGraphTest, TheLastToNameAReaderCounts) {
  const Recomputation second{{a}, {{a, {d, 0}}, {a, {e, 0}}}, {}, {b, 0}};
  const Recomputation third{{a}, {{a, {e, 0}}}, {}, {c, 0}};
  const std::string both = With({second, third});
  EXPECT_NE(both, With({second}));
  EXPECT_EQ(With({second, Recomputation()}), With({second})) << "undone: the second copy is read";
  EXPECT_EQ(With({Recomputation(), third}), With({third}));
}

// The token of the third copy is a second copy. If that recomputation is emptied, the token is the
// first copy.
TEST_F(RematerializedGraphTest, WhatAnEmptiedRecomputationMadeIsTheFirst) {
  const Recomputation second{{a, b}, {{a, {d, 0}}}, {}, {c, 0}};
  const Recomputation after_copy{{a}, {{a, {e, 0}}}, {}, {a, 1}};
  const Recomputation after_first{{a}, {{a, {e, 0}}}, {}, {a, 0}};
  EXPECT_NE(With({second, after_copy}), With({second, after_first}));
  EXPECT_EQ(With({Recomputation(), after_copy}), With({Recomputation(), after_first}));
}

TEST_F(RematerializedGraphTest, WhatWaitsForItselfIsAContradiction) {
  for (int token : {d, e}) {
    EXPECT_EQ(With({{{a}, {{a, {d, 0}}}, {}, {token, 0}}}), "contradiction") << token;
  }
  // Two recomputations that wait for each other.
  const Recomputation first{{a}, {{a, {c, 0}}}, {}, {b, 2}};
  const Recomputation other{{b}, {{b, {c, 0}}}, {{a, 1}}, {x, 0}};
  EXPECT_EQ(With({first, other}), "contradiction");
}

TEST_F(RematerializedGraphTest, JoinedMakeOneCopy) {
  const Recomputation first{{a}, {{a, {d, 0}}}, {}, {b, 0}};
  const Recomputation reads_it{{c}, {{c, {e, 0}}}, {{a, 1}}, {c, 0}};
  const Recomputation added{{a, b}, {{a, {e, 0}}}, {}, {b, 0}};
  const std::vector<Recomputation> joined = Joined({first, reads_it}, added);
  ASSERT_EQ(joined.size(), 3u);
  EXPECT_TRUE(joined[0].empty());
  EXPECT_EQ(joined[1].operands.at(a), 3);
  EXPECT_EQ(joined[2].nodes, (std::set<int>{a, b}));
  EXPECT_EQ(joined[2].late, (std::set<std::pair<int, Copy>>{{a, {d, 0}}, {a, {e, 0}}}));
  EXPECT_TRUE(Joined({first, reads_it}, added, {2})[1].empty());
}

}  // namespace
}  // namespace lemma::optimizer
