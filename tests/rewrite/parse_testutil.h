// Parses graphs and rules for tests.
#ifndef LEMMA_TESTS_REWRITE_PARSE_TESTUTIL_H_
#define LEMMA_TESTS_REWRITE_PARSE_TESTUTIL_H_

#include <memory>
#include <string>
#include <utility>

#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "rewrite/matching/rewrite_source.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {

// The graph of a text (graph/text/text.h), which must be valid.
inline Graph Parse(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// The rules of a text, which must be valid; they need no proof records.
inline std::unique_ptr<RuleSet> RuleSetOf(const std::string& text) {
  auto rules = ParseRules(text);
  EXPECT_TRUE(rules.ok()) << rules.status();
  auto set = RuleSet::Create(*std::move(rules));
  EXPECT_TRUE(set.ok()) << set.status();
  return *std::move(set);
}

}  // namespace lemma

#endif  // LEMMA_TESTS_REWRITE_PARSE_TESTUTIL_H_
