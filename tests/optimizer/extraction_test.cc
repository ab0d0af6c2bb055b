// The cheapest graph of an e-graph, compared with all its graphs.
#include "optimizer/extraction/extraction.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "optimizer/cost/cost.h"
#include "tests/rewrite/parse_testutil.h"

namespace lemma::optimizer {
namespace {

// An operator on f32[4] by its name; "two" has two outputs.
NodePtr Head(const std::string& op) {
  const std::string apply =
      op == "two" ? "v: f32[4], w: f32[4] = opaque(x, y) {op_type = \"two\"}"
                  : absl::StrCat("v = ", op, op == "add" || op == "sub" ? "(x, y)" : "(x)");
  return Parse(absl::StrCat("graph h(x: f32[4], y: f32[4]) { ", apply, " return v }"))
      .outputs()[0]
      .node_ptr();
}

// Applies an edit as a rule would.
bool Say(EGraph* egraph, Edit edit, std::vector<int>* made = nullptr) {
  return egraph->Apply(
      std::make_shared<const MatchedEdit>(MatchedEdit{nullptr, {}, std::move(edit)}), made);
}

// Some operators over two inputs, and random equalities of values.
EGraph RandomEGraph(std::mt19937* random) {
  static const std::vector<std::string> kOps = {"relu", "neg", "abs", "add", "sub", "two"};
  auto pick = [&](int n) { return static_cast<int>((*random)() % static_cast<unsigned>(n)); };
  std::string text = "graph g(x0: f32[4], x1: f32[4]) {\n";
  const int num_ops = 2 + pick(4);
  int num_values = 2;
  auto any = [&] { return absl::StrCat("x", pick(num_values)); };
  for (int i = 0; i < num_ops; ++i) {
    const std::string& op = kOps[pick(6)];
    const std::string a = any(), b = any();
    if (op == "two") {
      absl::StrAppend(&text, "x", num_values, ": f32[4], x", num_values + 1, ": f32[4] = opaque(",
                      a, ", ", b, ") {op_type = \"two\"}\n");
      num_values += 2;
    } else {
      absl::StrAppend(&text, "x", num_values++, " = ", op, "(", a,
                      op == "add" || op == "sub" ? absl::StrCat(", ", b, ")\n") : ")\n");
    }
  }
  absl::StrAppend(&text, "return x", num_values - 1, ", x", pick(num_values - 1), "}");
  EGraph egraph(Parse(text), nullptr);
  for (int step = 1 + pick(7); step > 0; --step) {
    auto value = [&] {
      const int node = pick(egraph.num_nodes());
      return ValueRef{node, pick(egraph.Head(node).num_outputs())};
    };
    Edit edit;
    for (int i = pick(3); i > 0; --i) {
      EditNode node{Head(kOps[pick(6)]), {}};
      const bool is_binary = node.head->inputs().size() == 2;
      for (int k = 0; k < (is_binary ? 2 : 1); ++k) {
        const bool of_edit = !edit.nodes.empty() && pick(2) == 0;
        node.operands.push_back(of_edit ? ValueRef{-1, 0} : value());
      }
      edit.nodes.push_back(std::move(node));
    }
    if (edit.nodes.empty()) {
      edit.replaced.emplace_back(value(), value());
    } else {
      const int last = static_cast<int>(edit.nodes.size()) - 1;
      for (int k = 0; k <= pick(edit.nodes[last].head->num_outputs()); ++k) {
        edit.replaced.emplace_back(value(), ValueRef{~last, k});
      }
    }
    Say(&egraph, std::move(edit));
    if (pick(2) == 0) egraph.Rebuild();
  }
  egraph.Rebuild();
  return egraph;
}

std::vector<int64_t> RandomPrices(const EGraph& egraph, bool some_infinite, int64_t scale,
                                  std::mt19937* random) {
  std::vector<int64_t> prices(egraph.num_nodes());
  for (int n = 0; n < egraph.num_nodes(); ++n) {
    const unsigned drawn = (*random)() % 20;
    if (!egraph.Head(n).is_op()) continue;
    prices[n] = some_infinite && drawn == 0 ? Cost::kInfinite : drawn < 5 ? 0 : drawn * scale;
  }
  return prices;
}

// A plain implementation of extraction as its header defines it.
class Plain {
 public:
  Plain(const EGraph& egraph, const std::vector<int64_t>& price) : egraph_(egraph), price_(price) {
    std::vector<std::set<int>> below(egraph.num_values());
    std::function<bool(int, int)> reaches = [&](int from, int to) {
      if (from == to) return true;
      return std::any_of(below[from].begin(), below[from].end(),
                         [&](int next) { return reaches(next, to); });
    };
    allowed_.resize(egraph.num_nodes());
    for (int n = 0; n < egraph.num_nodes(); ++n) {
      if (!egraph.IsLive(n) || price[n] == Cost::kInfinite) continue;
      for (int k = 0; k < egraph.Head(n).num_outputs(); ++k) {
        const int made = egraph.ClassOf({n, k});
        bool closes_cycle = false;
        for (const ValueRef& v : egraph.Operands(n)) {
          if (reaches(egraph.ClassOf(v), made)) closes_cycle = true;
        }
        allowed_[n].push_back(!closes_cycle);
        num_left_out_ += closes_cycle;
        if (closes_cycle) continue;
        for (const ValueRef& v : egraph.Operands(n)) below[made].insert(egraph.ClassOf(v));
      }
    }
  }

  int num_left_out() const { return num_left_out_; }

  // The least price of any graph; `all`: also of values that closed a cycle. nullopt: none.
  std::optional<int64_t> Least(bool all) {
    all_ = all;
    least_.reset();
    num_tried_ = 0;
    std::vector<ValueRef> provider(egraph_.num_values());
    std::vector<int> pending;
    for (const ValueRef& v : egraph_.outputs()) pending.push_back(egraph_.ClassOf(v));
    Choose(provider, pending);
    return least_;
  }
  bool gave_up() const { return num_tried_ > kMaxTried; }

 private:
  static constexpr int kMaxTried = 20000;

  void Choose(std::vector<ValueRef> provider, std::vector<int> pending) {
    while (!pending.empty() && provider[pending.back()].node >= 0) pending.pop_back();
    if (gave_up()) return;
    if (pending.empty()) {
      ++num_tried_;
      const auto price = PriceIfAcyclic(provider);
      if (price && (!least_ || *price < *least_)) least_ = price;
      return;
    }
    const int c = pending.back();
    pending.pop_back();
    for (const ValueRef& v : egraph_.EqualTo(egraph_.ValueOf(c))) {
      if (price_[v.node] == Cost::kInfinite || (!all_ && !allowed_[v.node][v.output])) continue;
      provider[c] = v;
      std::vector<int> next = pending;
      for (const ValueRef& operand : egraph_.Operands(v.node)) {
        next.push_back(egraph_.ClassOf(operand));
      }
      Choose(provider, std::move(next));
    }
  }

  std::optional<int64_t> PriceIfAcyclic(const std::vector<ValueRef>& provider) const {
    enum { kNew, kOpen, kDone };
    std::vector<int> state(egraph_.num_nodes(), kNew);
    int64_t price = 0;
    std::function<bool(int)> visit = [&](int node) {
      if (state[node] != kNew) return state[node] == kDone;
      state[node] = kOpen;
      for (const ValueRef& v : egraph_.Operands(node)) {
        if (!visit(provider[egraph_.ClassOf(v)].node)) return false;
      }
      state[node] = kDone;
      price += price_[node];
      return true;
    };
    for (const ValueRef& v : egraph_.outputs()) {
      if (!visit(provider[egraph_.ClassOf(v)].node)) return std::nullopt;
    }
    return price;
  }

  const EGraph& egraph_;
  const std::vector<int64_t>& price_;
  std::vector<std::vector<bool>> allowed_;
  int num_left_out_ = 0, num_tried_ = 0;
  bool all_ = false;
  std::optional<int64_t> least_;
};

// Each class that outputs need has a provider, and no other class has one. There are no cycles. The
// price is the sum over the nodes.
void ExpectIsGraph(const EGraph& egraph, const std::vector<int64_t>& price,
                   const Selection& selection) {
  std::set<int> needed, nodes, open;
  std::function<void(int)> visit = [&](int c) {
    const ValueRef v = selection.provider[c];
    ASSERT_GE(v.node, 0) << "class " << c;
    ASSERT_TRUE(egraph.IsLive(v.node));
    ASSERT_EQ(egraph.ClassOf(v), c);
    ASSERT_TRUE(open.insert(v.node).second) << "node " << v.node << " needs itself";
    needed.insert(c);
    if (nodes.insert(v.node).second) {
      for (const ValueRef& operand : egraph.Operands(v.node)) {
        visit(egraph.ClassOf(operand));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
    open.erase(v.node);
  };
  for (const ValueRef& v : egraph.outputs()) {
    visit(egraph.ClassOf(v));
    if (testing::Test::HasFatalFailure()) return;
  }
  int64_t total = 0;
  for (int n : nodes) total += price[n];
  EXPECT_EQ(selection.price, total);
  for (size_t c = 0; c < selection.provider.size(); ++c) {
    EXPECT_EQ(selection.provider[c].node >= 0, needed.count(static_cast<int>(c)) > 0);
  }
}

// Allows for the rounding of the solver's numbers.
bool IsTight(const Extraction& extraction) {
  return extraction.bound >= extraction.best.price - 1 - extraction.best.price / 100000;
}

TEST(ExtractionTest, IsTheCheapestOfAll) {
  std::mt19937 random(20261122);
  int checked = 0, with_cycles = 0, greedy_is_worse = 0, none = 0, without_left_out = 0;
  for (int seed = 0; seed < 700; ++seed) {
    SCOPED_TRACE(absl::StrCat("number ", seed));
    const EGraph egraph = RandomEGraph(&random);
    const std::vector<int64_t> price =
        RandomPrices(egraph, seed % 3 == 0, seed % 2 == 0 ? 1 : 100003, &random);
    Plain plain(egraph, price);
    const std::optional<int64_t> of_any = plain.Least(/*all=*/true);
    if (plain.gave_up()) continue;
    const std::optional<int64_t> least = plain.Least(/*all=*/false);
    ++checked;
    auto extraction = Extract(egraph, price);
    auto greedy = ExtractGreedily(egraph, price);
    ASSERT_EQ(extraction.ok(), least.has_value()) << extraction.status();
    ASSERT_EQ(greedy.ok(), least.has_value());
    if (!least) {
      EXPECT_EQ(extraction.status().code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_EQ(seed % 3, 0) << "the input can be run";
      ++none;
      continue;
    }
    ExpectIsGraph(egraph, price, extraction->best);
    ExpectIsGraph(egraph, price, *greedy);
    if (HasFatalFailure()) return;
    EXPECT_EQ(extraction->num_left_out, plain.num_left_out());
    EXPECT_EQ(extraction->best.price, *least);
    EXPECT_LE(extraction->bound, *least);
    EXPECT_TRUE(IsTight(*extraction)) << extraction->bound << " of " << *least;
    EXPECT_GE(greedy->price, *least);
    if (plain.num_left_out() == 0) {
      EXPECT_EQ(*least, *of_any);
    }
    with_cycles += plain.num_left_out() > 0;
    without_left_out += *of_any < *least;
    greedy_is_worse += greedy->price > *least;
  }
  // Enough cases were checked.
  EXPECT_GT(checked, 600);
  EXPECT_GT(with_cycles, 100);
  EXPECT_GT(greedy_is_worse, 10);
  EXPECT_GT(none, 10);
  printf("%d checked, %d with cycles, %d where greed fails, %d without a graph, %d less with all\n",
         checked, with_cycles, greedy_is_worse, none, without_left_out);
}

// x -> (p, q) -> add -> …: p and q are each cheapest alone, but together cost more than
// alternatives that share a node.
EGraph Diamonds(int count) {
  std::string text = "graph g(x0: f32[4]) {\n";
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&text, "p", i, " = relu(x", i, ") q", i, " = neg(x", i, ") x", i + 1,
                    " = add(p", i, ", q", i, ")\n");
  }
  EGraph egraph(Parse(absl::StrCat(text, "return x", count, " }")), nullptr);
  const NodePtr tanh = Head("tanh"), exp = Head("exp"), abs = Head("abs");
  std::vector<int> relus, negs;
  for (int n = 0; n < egraph.num_originals(); ++n) {
    if (egraph.Head(n).IsOp("relu")) relus.push_back(n);
    if (egraph.Head(n).IsOp("neg")) negs.push_back(n);
  }
  for (int i = 0; i < count; ++i) {
    const ValueRef x = egraph.Operands(relus[i])[0];
    EXPECT_TRUE(Say(&egraph, {{{tanh, {x}}, {exp, {{-1, 0}}}, {abs, {{-1, 0}}}},
                              {{{relus[i], 0}, {~1, 0}}, {{negs[i], 0}, {~2, 0}}}}));
  }
  egraph.Rebuild();
  return egraph;
}

TEST(ExtractionTest, SharesWhatPaysTogether) {
  for (int count : {1, 2, 60}) {
    const EGraph egraph = Diamonds(count);
    std::vector<int64_t> price(egraph.num_nodes());
    for (int n = 0; n < egraph.num_nodes(); ++n) {
      const Node& head = egraph.Head(n);
      if (head.IsOp("relu") || head.IsOp("neg")) price[n] = 4000;
      if (head.IsOp("tanh")) price[n] = 3000;
      if (head.IsOp("exp") || head.IsOp("abs")) price[n] = 2000;
      if (head.IsOp("add")) price[n] = 10;
    }
    auto greedy = ExtractGreedily(egraph, price);
    ASSERT_TRUE(greedy.ok());
    EXPECT_EQ(greedy->price, 8010 * count);
    auto extraction = Extract(egraph, price);
    ASSERT_TRUE(extraction.ok());
    ExpectIsGraph(egraph, price, extraction->best);
    EXPECT_EQ(extraction->best.price, 7010 * count);
    EXPECT_TRUE(IsTight(*extraction)) << extraction->bound;
    EXPECT_EQ(extraction->num_left_out, 0);
  }
}

TEST(ExtractionTest, SaysABoundThatHoldsWhenItGivesUp) {
  const EGraph egraph = Diamonds(20);
  std::mt19937 random(5);
  const std::vector<int64_t> price = RandomPrices(egraph, false, 100, &random);
  auto all = Extract(egraph, price), little = Extract(egraph, price, {1});
  ASSERT_TRUE(all.ok() && little.ok());
  ExpectIsGraph(egraph, price, little->best);
  EXPECT_GE(little->best.price, all->best.price);
  EXPECT_LE(little->bound, all->best.price);
}

TEST(ExtractionTest, PricesMayBeLarge) {
  const EGraph egraph = Diamonds(3);
  std::vector<int64_t> price(egraph.num_nodes(), int64_t{1} << 40);
  for (int n = 0; n < egraph.num_originals(); ++n) price[n] = 1;
  auto extraction = Extract(egraph, price);
  ASSERT_TRUE(extraction.ok());
  EXPECT_EQ(extraction->best.price, egraph.num_originals());
}

// If a node has two outputs and one closes a cycle, the node can still provide the other one.
TEST(ExtractionTest, TheInputIsAlwaysThere) {
  EGraph egraph(Parse("graph g(x: f32[4]) { a = relu(x) b = neg(a)\n"
                      "c: f32[4], d: f32[4] = opaque(b) {op_type = \"two\"} return c, d }"),
                nullptr);
  int two = 0, relu = 0;
  for (int n = 0; n < egraph.num_nodes(); ++n) {
    if (egraph.Head(n).num_outputs() == 2) two = n;
    if (egraph.Head(n).IsOp("relu")) relu = n;
  }
  ASSERT_TRUE(Say(&egraph, {{}, {{{two, 0}, {relu, 0}}}}));
  egraph.Rebuild();
  std::vector<int64_t> price(egraph.num_nodes(), 1);
  price[0] = 0;
  auto extraction = Extract(egraph, price);
  ASSERT_TRUE(extraction.ok()) << extraction.status();
  ExpectIsGraph(egraph, price, extraction->best);
  EXPECT_EQ(extraction->best.price, 3);
  EXPECT_EQ(extraction->best.provider[egraph.ClassOf({two, 0})].node, relu);
}

}  // namespace
}  // namespace lemma::optimizer
