// Defines the operators of operators.txt before the tests of a program are listed, so that tests
// over all examples run on theirs too.
#include <cstdio>
#include <cstdlib>

#include "base/file.h"
#include "graph/define/operator_file.h"

namespace lemma {
namespace {

const bool kDefined = [] {
  const std::string file = "tests/graph/define/operators.txt";
  const auto text = ReadFile(file, int64_t{1} << 20);
  const auto names = text.ok() ? DefineOperators(*text, file) : text.status();
  if (names.ok() && names->size() >= 15) return true;
  std::fprintf(stderr, "%s: %s\n", file.c_str(), names.status().ToString().c_str());
  std::abort();
}();

}  // namespace
}  // namespace lemma
