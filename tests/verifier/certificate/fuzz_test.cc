// Every change of a certificate is noticed: by the checksum or, if that is corrected, by the
// content.
#include <algorithm>
#include <cctype>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/verifier/certificate/certificate_cases.h"

namespace lemma {
namespace {

class Tampering {
 public:
  explicit Tampering(uint64_t seed) : random_(seed) {}

  // The text with one change; *what describes it.
  std::string Changed(const std::string& text, std::string* what) {
    static const char* const kKinds[] = {"bit",        "digit",     "letter",     "insertion",
                                         "deletion",   "line lost", "line twice", "lines swapped",
                                         "line added", "number",    "word",       "words swapped",
                                         "end lost"};
    const size_t kind = Below(std::size(kKinds));
    *what = kKinds[kind];
    std::string changed = text;
    const size_t at = Below(text.size());
    switch (kind) {
      case 0:
        changed[at] = static_cast<char>(changed[at] ^ (1 << Below(8)));
        return changed;
      case 1:
        changed[Place(text, isdigit)] = static_cast<char>('0' + Below(10));
        return changed;
      case 2:
        changed[Place(text, isalpha)] = static_cast<char>('a' + Below(26));
        return changed;
      case 3:
        return changed.insert(at, 1, " \n\t,0a%#"[Below(8)]);
      case 4:
        return changed.erase(at, 1 + Below(3));
      case 9:
        return Words(text, &isdigit, false);
      case 10:
        return Words(text, &isalnum, false);
      case 11:
        return Words(text, &isalnum, true);
      case 12:
        return text.substr(0, at);
      default:
        return Lines(text, kind);
    }
  }

 private:
  size_t Below(size_t n) { return random_() % n; }

  size_t Place(const std::string& text, int (*is)(int)) {
    while (true) {
      const size_t at = Below(text.size());
      if (is(static_cast<unsigned char>(text[at]))) return at;
    }
  }

  std::string Lines(const std::string& text, size_t kind) {
    std::vector<std::string> lines = absl::StrSplit(text, '\n');
    const size_t a = Below(lines.size()), b = Below(lines.size());
    const auto at = lines.begin() + static_cast<long>(a);
    if (kind == 5) lines.erase(at);
    if (kind == 6) lines.insert(at, std::string(*at));
    if (kind == 7) std::swap(lines[a], lines[b]);
    if (kind == 8) lines.insert(at, std::string(lines[b]));
    return absl::StrJoin(lines, "\n");
  }

  // Replaces one word by another one of the text, or exchanges the two.
  std::string Words(const std::string& text, int (*is)(int), bool swap) {
    std::vector<std::pair<size_t, size_t>> words;
    auto in = [&](size_t i) { return is(static_cast<unsigned char>(text[i])) != 0; };
    for (size_t i = 0; i < text.size(); ++i) {
      if (!in(i)) continue;
      if (i == 0 || !in(i - 1)) words.emplace_back(i, 0);
      ++words.back().second;
    }
    auto a = words[Below(words.size())], b = words[Below(words.size())];
    if (a.first > b.first) std::swap(a, b);
    const std::string first = text.substr(a.first, a.second);
    const std::string second = text.substr(b.first, b.second);
    std::string changed = text;
    changed.replace(b.first, b.second, swap ? first : second);
    changed.replace(a.first, a.second, second);
    return changed;
  }

  std::mt19937_64 random_;
};

// The certificate without the line that no checker can check: which graph of the search the output
// is.
std::string WithoutResult(const std::string& text) {
  const size_t at = text.find("\nresult ");
  return text.substr(0, at) + text.substr(text.find('\n', at + 1));
}

struct Count {
  int cases = 0, steps = 0, right = 0, rejected = 0, rejected_anew = 0;
};

// Tampers `each` times with certificates of `cases` random walks.
Count Fuzz(int cases, int each) {
  Count count;
  Tampering tampering(7);
  for (uint64_t seed = 1; count.cases < cases; ++seed) {
    auto graph = RandomInstance(StarterRules(), seed);
    if (!graph) continue;
    const CertificateCase files = RandomWalk(*graph, StarterRules(), 1 + seed % 4, seed);
    const std::string problem = Problem(files);
    EXPECT_EQ(problem, "") << "seed " << seed << "\n" << files.input << files.certificate;
    count.right += problem.empty();
    ++count.cases;
    for (int i = 0; i < each;) {
      std::string what;
      CertificateCase changed = files;
      changed.certificate = tampering.Changed(files.certificate, &what);
      const std::string anew = WithChecksum(changed.certificate);
      if (WithoutResult(anew) == WithoutResult(files.certificate)) continue;
      ++i;
      const bool rejected = !Problem(changed).empty();
      EXPECT_TRUE(rejected) << "seed " << seed << ": " << what;
      count.rejected += rejected;
      changed.certificate = anew;
      const bool rejected_anew = !Problem(changed).empty();
      EXPECT_TRUE(rejected_anew) << "seed " << seed << ": " << what << " with a new checksum\n"
                                 << files.certificate << "became\n"
                                 << anew;
      count.rejected_anew += rejected_anew;
    }
  }
  return count;
}

TEST(CertificateFuzzTest, AThousandCertificatesTamperedWithAreRejected) {
  const Count count = Fuzz(100, 10);
  EXPECT_EQ(count.right, 100);
  EXPECT_EQ(count.rejected, 1000);
  EXPECT_EQ(count.rejected_anew, 1000);
}

}  // namespace
}  // namespace lemma
