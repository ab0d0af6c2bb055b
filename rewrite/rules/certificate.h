// Certificates: how one graph became another, step by step, for others to repeat.
//
// A certificate is text (docs/certificates.md). It names the input and the output, holds the rules
// that were used, and says of each step which rule was applied to which values, and what graph
// came out. optimizer/search/certificate.h makes one, verifier/certificate/check.h repeats it.
#ifndef LEMMA_REWRITE_RULES_CERTIFICATE_H_
#define LEMMA_REWRITE_RULES_CERTIFICATE_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"
#include "rewrite/rules/substitution.h"

namespace lemma {

// A value of a graph: an output of the node at a position in Graph::nodes().
struct ValueAt {
  int position = 0;
  int output = 0;
  friend bool operator==(const ValueAt& a, const ValueAt& b) {
    return a.position == b.position && a.output == b.output;
  }
};

struct CertificateStep {
  std::string rule;
  DType dtype = DType::kF32;       // the rule's common type
  std::vector<ValueAt> vars;       // by variable of the rule
  std::vector<int> nodes;          // by node of the rule's source: a position
  std::vector<AttrValue> symbols;  // by symbol of the rule
  uint64_t after = 0;              // StructuralHash of the graph that the step gives
};

// A value of the last step's graph that became a constant.
struct CertificateFold {
  ValueAt value;
  TensorType type;
  std::string sha256;  // of the constant's bytes
};

// What makes a rule true at its own sizes only: it is a mutant of its source, corrected where that
// differs (docs/pet.md). It has no symbol. Nobody has to believe it: all of it can be computed.
struct CertificateMutant {
  // A range of positions in one dimension: first, number, distance.
  using Range = std::array<int64_t, 3>;
  using Box = std::vector<Range>;

  Substitution rule;         // the rule of the steps, less its record, with the mutant as target
  std::vector<Box> differs;  // where the mutant and the source do, and nowhere else; disjoint
};

struct Certificate {
  // Which graph of the search the output is. Nobody can check that but by the search itself.
  enum class Result {
    kBest,       // the cheapest one
    kDescended,  // what the first descent reached; the cheapest one did not pay when executed
    kReplayed,   // what the steps of another certificate give
    kInput,      // the input: no step, nothing folded
  };

  // SHA-256 of the files, in hexadecimal.
  std::string input_file, output_file;
  // StructuralHash of the input as it was read, and of the graph that was written, without its
  // barriers (graph/barrier.h).
  uint64_t input_graph = 0, output_graph = 0;
  // How the input was read: sizes of symbolic dimensions, and the seed of the weights that replaced
  // its own.
  std::map<std::string, int64_t> dims;
  std::optional<int64_t> reseed;
  Result result = Result::kInput;
  // How input and output may differ in floating-point arithmetic.
  FloatContract contract = FloatContract::kBitExact;
  // Those of the steps, each once, in the order of their first use. Only verdict (kProved or
  // kNone), contract and id of the records are kept, and no documentation.
  std::vector<Substitution> rules;
  std::vector<CertificateMutant> mutants;  // of some of them, in their order
  std::vector<CertificateStep> steps;
  std::vector<CertificateFold> folds;  // by position
};
// "best", "first descent", "replayed", "input".
const char* Name(Certificate::Result result);

// A rule as a certificate keeps it.
Substitution ForCertificate(Substitution rule);

// The contract of a graph whose steps use `rules` and which computes `folded` beforehand: the
// loosest of theirs. Folding is bit_exact where it moves data of one type or computes integers;
// else it reassociates, since intermediate results are not rounded; and it is real_only where such
// a result is compared or rounded to an integer, which may be another one.
FloatContract ContractOf(const std::vector<Substitution>& rules, const std::vector<Value>& folded);

// Ends in a checksum of all that stands before it. Equal certificates give equal text.
std::string PrintCertificate(const Certificate& certificate);

// Whether `text` claims to be a certificate, of any version.
bool IsCertificate(absl::string_view text);

// Reads what PrintCertificate writes, and nothing else: any other text of the same meaning is
// refused. InvalidArgument, which names the line and, where there is one, the step.
absl::StatusOr<Certificate> ParseCertificate(absl::string_view text);

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_CERTIFICATE_H_
