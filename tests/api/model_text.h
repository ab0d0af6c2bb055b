// Makes models from the text of graphs, for tests of api/.
#ifndef LEMMA_TESTS_API_MODEL_TEXT_H_
#define LEMMA_TESTS_API_MODEL_TEXT_H_

#include <cstdlib>
#include <string>

#include "api/models/model_file.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace lemma {

// A model that holds the graph with this text (graph/text/text.h) and belongs to no file. If the
// text is not valid, the test fails.
inline api::Model ModelOf(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  api::Model model;
  model.graph = *std::move(graph);
  return model;
}

// The path of a new, empty folder.
inline std::string NewTestFolder() {
  std::string folder = testing::TempDir() + "/api_XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder;
}

}  // namespace lemma

#endif  // LEMMA_TESTS_API_MODEL_TEXT_H_
